"""How large the house is: lines, public names and functions by part; compare two checkouts of the repository.

python -m benchmarks.house_size [FOLDER ...]
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def functions(tree: ast.AST) -> Iterator[int]:
    """Lines of each function without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None
            first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
            yield (node.end_lineno or 0) - first.lineno + 1


def public_names(folder: Path) -> int:
    """Names that the top level exports."""
    for node in ast.parse((folder / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return len(ast.literal_eval(node.value))
    return 0


def describe(root: Path) -> None:
    package = root / "src" / "aucross"
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    parts: dict[str, int] = {}
    for path, text in sources.items():
        first, *below = path.relative_to(package).parts
        part = first if below else "top level"
        parts[part] = parts.get(part, 0) + len(text.splitlines())
    sizes = sorted(size for text in sources.values() for size in functions(ast.parse(text)))
    lines = [len(text.splitlines()) for text in sources.values()]
    with_any = sum(
        "Any" in line
        for path, text in sources.items()
        if path.is_relative_to(package / "estimators")
        for line in text.splitlines()
    )
    print(f"{root}")
    print("  lines by part: " + ", ".join(f"{part} {size:,}" for part, size in sorted(parts.items())))
    print(f"  source lines {sum(lines):,} in {len(lines)} modules, {sum(size < 80 for size in lines)} of them under 80")
    print(f"  public names at the top level: {public_names(package)}")
    print(
        f"  functions: median {statistics.median(sizes):g} lines, nine in ten up to {sizes[int(0.9 * len(sizes))]}, "
        f"longest {sizes[-1]}"
    )
    print(f"  lines with Any in estimators: {with_any}")


def main() -> None:
    for folder in sys.argv[1:] or [str(HERE)]:
        describe(Path(folder))


if __name__ == "__main__":
    main()
