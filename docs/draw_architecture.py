"""Draw the parts of the package and who imports whom, read from the code: ``python docs/draw_architecture.py``.

A test draws it again and compares, so that the picture cannot fall behind.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "aucross"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

# Where each part stands, in columns and rows, and what it is for.
PLACES = {
    "cli": (1.5, 0, "options in, output out"),
    "desk": (1.5, 1, "pages where people decide"),
    "mlflow": (0, 2, "models of MLflow"),
    "serve": (1, 2, "decisions over HTTP"),
    "report": (2, 2, "numbers as a page"),
    "record": (2, 3, "what was decided"),
    "torch": (3, 3, "networks that select"),
    "watch": (1, 4, "is today like yesterday?"),
    "cluster": (2, 4, "rows on Dask and Spark"),
    "audit": (3, 4, "how good are unseen decisions?"),
    "export": (2, 5, "SQL, JSON, points, ONNX"),
    "evaluation": (0, 6, "numbers about decisions"),
    "files": (3, 6, "write, check, build, sign"),
    "estimators": (1.5, 7, "fit · scored · decide"),
    "frames": (1.5, 8, "what is asked of tables"),
    "core": (1.5, 9, "rankings, bands, rules, values"),
    "system": (0, 9, "whole files, missing libraries"),
    "datasets": (3, 9, "synthetic loans"),
}
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 190, 58, 30, 62, 16


def imports() -> set[tuple[str, str]]:
    """Pairs of parts of which the first imports the second, as the source says."""
    found = set()
    for part in PLACES:
        for source in (*(PACKAGE / part).rglob("*.py"), *PACKAGE.glob(f"{part}.py")):
            for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                found |= {(part, name.split(".")[1]) for name in modules if name.startswith("aucross.")}
    return {(user, used) for user, used in found if user != used and used in PLACES}


def drawing() -> str:
    """The picture as SVG text; it takes its colour from the page, so that it can be read on light and dark."""
    boxes = "".join(_box(part) for part in PLACES)
    arrows = "".join(_arrow(user, used) for user, used in sorted(imports()))
    n_rows = 1 + max(row for _, row, _ in PLACES.values())
    width, height = 4 * (_WIDTH + _GAP_X) + _MARGIN, n_rows * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">'
        "<title>The parts of aucross; an arrow points from a part to one that it imports</title>"
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#5a6b7b"/></marker></defs>'
        f"{arrows}{boxes}</svg>\n"
    )


def _corner(part: str) -> tuple[float, float]:
    column, row, _ = PLACES[part]
    return _MARGIN + column * (_WIDTH + _GAP_X), _MARGIN + row * (_HEIGHT + _GAP_Y)


def _box(part: str) -> str:
    (x, y), purpose = _corner(part), PLACES[part][2]
    middle = x + _WIDTH / 2
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef4fa" stroke="#2a5d8f"/>'
        f'<text x="{middle}" y="{y + 24}" text-anchor="middle" font-weight="600" fill="#173a5c">{part}</text>'
        f'<text x="{middle}" y="{y + 43}" text-anchor="middle" font-size="12" fill="#34495e">{purpose}</text>'
    )


def _arrow(user: str, used: str) -> str:
    (x1, y1), (x2, y2) = _corner(user), _corner(used)
    start, end = (x1 + _WIDTH / 2, y1 + _HEIGHT), (x2 + _WIDTH / 2, y2)
    if y1 == y2:
        start, end = (x1 + _WIDTH * (x2 > x1), y1 + _HEIGHT / 2), (x2 + _WIDTH * (x2 < x1), y2 + _HEIGHT / 2)
    return (
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#5a6b7b" stroke-width="1.2" '
        f'marker-end="url(#head)"><desc>{user} imports {used}</desc></line>'
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
