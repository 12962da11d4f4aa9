"""The directions of imports, read from the source, and what `import aucross` may load."""

from __future__ import annotations

import ast
import importlib
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import aucross

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "aucross"
SOURCES = sorted(PACKAGE.rglob("*.py"))
EXPERIMENTS = sorted((PACKAGE.parents[1] / "experiments").rglob("*.py"))

# Which parts of the package each part may import, besides itself.
ALLOWED = {
    "core": set(),
    "frames": {"core"},
    "system": set(),
    "datasets": set(),
    "estimators": {"frames", "core", "system"},
    "evaluation": {"frames", "core", "system"},
    "files": {"frames", "estimators", "core", "system"},
    "export": {"frames", "files", "estimators", "core", "system"},
    "audit": {"estimators", "core", "system"},
    "watch": {"frames", "estimators", "core", "system"},
    "record": {"frames", "files", "watch", "audit", "cluster", "estimators", "evaluation", "core", "system"},
    "torch": {"frames", "estimators", "core", "system"},
    "cluster": {"frames", "estimators", "core", "files", "evaluation", "system"},
    "report": {"frames", "files", "evaluation", "audit", "record", "system"},
    "mlflow": {"frames", "files", "estimators", "core", "system"},
    "serve": {"frames", "files", "record", "audit", "watch", "estimators", "core", "system"},
    "desk": {"record", "report", "serve", "estimators", "system"},
}
# The public names and the command line stand above all parts.
ABOVE = {"__init__", "__main__", "cli"}

OPTIONAL = [
    *("torch", "dask", "pyspark", "mlflow", "matplotlib", "jinja2", "pandas", "polars", "lightgbm", "xgboost"),
    *("pyarrow", "typer", "tqdm"),  # rich is loaded by scikit-learn where it is installed
]


def part_of(source: Path) -> str:
    """The subpackage of a file, or the file's own name at the top."""
    first, *below = source.relative_to(PACKAGE).parts
    return first if below else Path(first).stem


def package_of(source: Path) -> list[str]:
    """Dotted name, as parts, of the package that a file's relative imports start from."""
    return ["aucross", *source.relative_to(PACKAGE).parts[:-1]]


@cache
def nodes_of(source: Path) -> list[ast.AST]:
    """Everything that a file says, read once for all tests."""
    return list(ast.walk(ast.parse(source.read_text(encoding="utf-8"))))


def imported_names(source: Path) -> Iterator[str]:
    """Every imported name, dotted and absolute: ``from a.b import c`` is ``a.b.c``."""
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package_of(source)[: -(node.level - 1) or None] if node.level else []
            module = ".".join([*start, *(node.module or "").split(".")]).rstrip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def parts_imported(source: Path) -> set[str]:
    """Parts of the package that a file imports; ``aucross`` stands for names taken from the top of the package."""
    parts = {entry.stem if entry.is_file() else entry.name for entry in PACKAGE.iterdir()}
    imported = set()
    for name in imported_names(source):
        top, *below = name.split(".")
        if top == "aucross":
            imported.add(below[0] if below and below[0] in parts else "aucross")
    return imported


def sklearn_attributes(source: Path) -> Iterator[str]:
    """Dotted names that start from the module ``sklearn`` itself, such as ``sklearn.utils.validation``."""
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute) and (name := ast.unparse(node)).startswith("sklearn."):
            yield name


def found_in(sources: Iterable[Path], find: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """What is found in each file where anything is: one test reads all files, and names each that is wrong."""
    found = {source.as_posix(): sorted(find(source)) for source in sources}
    return {source: names for source, names in found.items() if names}


def test_the_package_has_sources():
    assert PACKAGE / "core" / "ranking.py" in SOURCES
    assert PACKAGE.parents[1] / "experiments" / "runs.py" in EXPERIMENTS


def test_every_file_belongs_to_a_part_with_known_directions():
    assert {part_of(source) for source in SOURCES} <= ALLOWED.keys() | ABOVE


def test_imports_point_in_the_allowed_directions():
    def wrong_parts(source):
        part = part_of(source)
        return set() if part in ABOVE else parts_imported(source) - ALLOWED.get(part, set()) - {part}

    assert found_in(SOURCES, wrong_parts) == {}


def test_core_needs_numpy_and_scipy_only():
    def outside(source):
        names = {name.split(".")[0] for name in imported_names(source)}
        return names - sys.stdlib_module_names - {"aucross", "numpy", "scipy"}

    assert found_in([source for source in SOURCES if part_of(source) == "core"], outside) == {}


# An engine is imported by its own files alone, so that the rest of the package needs none.
ENGINES = {"dask": {"dask", "distributed"}, "spark": {"pyspark", "py4j"}}


def test_engines_are_imported_in_their_own_files_only():
    def engines_of_others(source):
        within = source.relative_to(PACKAGE).parts
        others = {name for name in ENGINES if within[:2] != ("cluster", name)}
        libraries = set().union(*(ENGINES[name] for name in others))
        for name in imported_names(source):
            top, *below = name.split(".")
            if top in libraries or (top == "aucross" and below[:1] == ["cluster"] and set(below[1:2]) & others):
                yield name

    assert found_in(SOURCES, engines_of_others) == {}


# What tells frames apart, and what is asked of them.
OF_FRAMES = {"iloc", "loc", "columns", "dtypes", "with_columns", "to_pandas"}


def test_frames_are_told_apart_in_one_file_only():
    def asked_of_frames(source):
        for node in nodes_of(source):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"hasattr", "getattr"}:
                asked = node.args[1]
                if isinstance(asked, ast.Constant) and asked.value in OF_FRAMES:
                    yield ast.unparse(node)

    assert found_in([source for source in SOURCES if part_of(source) != "frames"], asked_of_frames) == {}
    assert found_in([PACKAGE / "frames.py"], asked_of_frames) != {}


def private_names_of_sklearn(source: Path) -> list[str]:
    return [
        name
        for name in (*imported_names(source), *sklearn_attributes(source))
        if name.split(".")[0] == "sklearn"
        and any(piece.startswith("_") and not piece.endswith("__") for piece in name.split("."))
    ]


def test_only_public_names_of_scikit_learn_are_used():
    assert found_in(SOURCES, private_names_of_sklearn) == {}


def test_experiments_use_public_names_only():
    pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

    def not_public(source):
        for name in imported_names(source):
            module, _, imported = name.rpartition(".")
            if name.split(".")[0] == "aucross" and imported not in importlib.import_module(module).__all__:
                yield name

    assert found_in(EXPERIMENTS, not_public) == {}


def private_names_reached_into(source: Path) -> Iterator[str]:
    """Private attributes and imports that are not the file's own: ``clf._score``, ``from x import _y``."""
    nodes = nodes_of(source)
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    own = {part.name for node in classes for part in node.body if isinstance(part, ast.FunctionDef)}
    own |= {
        part.target.id
        for node in classes
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    own |= {
        part.attr
        for part in nodes
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in ("self", "cls")
    }
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aucross"):
            yield from (alias.name for alias in node.names if _is_private(alias.name))


def _is_private(name: str) -> bool:
    # Named tuples have public methods that begin with an underscore, so that they differ from fields; os has _exit.
    public = ("_replace", "_fields", "_asdict", "_exit")
    return name.startswith("_") and not name.endswith("__") and name not in public


# What is stored of a model of scikit-learn is what it holds, private or not.
REBUILDS_MODELS = {PACKAGE / "files" / "sklearn_models.py", PACKAGE / "files" / "sklearn_trees.py"}


def test_nobody_reaches_into_private_names_of_others():
    def reached_into(source):
        # A method of a base class may be called through super(), which is no other.
        return [name for name in private_names_reached_into(source) if not name.startswith("super()")]

    assert set(SOURCES) >= REBUILDS_MODELS
    assert found_in([source for source in SOURCES if source not in REBUILDS_MODELS], reached_into) == {}


def test_the_room_table_of_contributing_names_every_part():
    table = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = {part_of(source) for source in SOURCES} - {"__init__", "__main__"}
    assert sorted(parts - set(re.findall(r"`(\w+)(?:/|\.py`)", table))) == []
    rooms = table[table.index("## Where a line belongs") : table.index("## Style")]
    named = re.findall(r"`([a-z_/]+\.(?:py|sql))`", rooms)
    assert len(named) > 30
    homes = (PACKAGE, PACKAGE.parents[1])
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


def test_the_picture_of_the_parts_is_drawn_from_the_code_as_it_is():
    drawn = runpy.run_path(str(PACKAGE.parents[1] / "docs" / "draw_architecture.py"))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["drawing"](), "run python docs/draw_architecture.py"
    assert set(drawn["PLACES"]) == {part_of(source) for source in SOURCES} - {"__init__", "__main__"}


def test_no_two_classes_share_a_name():
    names = [node.name for source in SOURCES for node in nodes_of(source) if isinstance(node, ast.ClassDef)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_every_benchmark_runs_with_the_others():
    folder = Path(__file__).parents[1] / "benchmarks"
    scripts = {path.stem for path in folder.glob("[a-z]*.py") if '__name__ == "__main__"' in path.read_text()}
    runs = next(
        ast.literal_eval(node.value)
        for node in ast.parse((folder / "__main__.py").read_text()).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "RUNS"
    )
    assert scripts == set(runs)


def test_there_is_no_module_called_utils():
    assert [path for path in PACKAGE.rglob("utils*") if path.stem == "utils"] == []


def printed_by(code: str) -> str:
    """What a fresh interpreter prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


# Names are imported when they are first used, so that only using all of them shows what they load.
USE_EVERY_NAME = "import aucross; [getattr(aucross, name) for name in aucross.__all__]"


# Modules that the public names load on top of scikit-learn, which may load pandas, and modules that the package's own
# files ask for meanwhile, loaded or not.
PRINT_IMPORTS = f"""
import builtins, json, sys, sklearn

before, plain_import, asked = set(sys.modules), builtins.__import__, set()

def recording_import(name, globals=None, *args, **kwargs):
    if str((globals or {{}}).get("__name__")).partition(".")[0] == "aucross":
        asked.add(name)
    return plain_import(name, globals, *args, **kwargs)

builtins.__import__ = recording_import
{USE_EVERY_NAME}
for names in (set(sys.modules) - before, asked):
    print(json.dumps(sorted({{name.partition(".")[0] for name in names}})))
"""


def test_importing_the_package_loads_and_asks_for_no_optional_package():
    loaded, asked_for = (set(json.loads(line)) for line in printed_by(PRINT_IMPORTS).splitlines())
    assert "aucross" in loaded
    assert "numpy" in asked_for
    assert (loaded | asked_for).isdisjoint(OPTIONAL)


def test_the_package_can_be_imported_where_no_optional_package_is_installed():
    code = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
{USE_EVERY_NAME}
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
    names = set(printed_by(code).split())
    assert "aucross" in names
    assert names.isdisjoint(OPTIONAL)


def test_importing_the_package_alone_loads_no_library():
    names = set(
        printed_by(
            "import sys; before = set(sys.modules); import aucross; "
            "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
        ).split()
    )
    assert names - sys.stdlib_module_names == {"aucross"}


def test_importing_the_cluster_part_loads_no_engine():
    code = "import sys, aucross.cluster.classifier; print(*{name.partition('.')[0] for name in sys.modules})"
    assert set(printed_by(code).split()).isdisjoint({"dask", "distributed", "pyspark"})


def test_every_public_name_is_that_of_its_part():
    assert set(aucross.__all__) == set(aucross._PART_OF)
    for name, part in aucross._PART_OF.items():
        module = importlib.import_module(f"aucross.{part}")
        assert name in module.__all__
        assert getattr(aucross, name) is getattr(module, name)


def test_type_checkers_are_told_of_every_public_name():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    told = {(alias.name, node.module) for node in branch.body for alias in node.names}
    assert told == {(name, f"aucross.{part}") for name, part in aucross._PART_OF.items()}


def test_parts_and_names_are_listed_and_others_are_refused():
    assert {*aucross.__all__, "core", "evaluation", "__version__"} <= set(dir(aucross))
    assert not {"Any", "TYPE_CHECKING", "import_module", "_PARTS"} & set(dir(aucross))
    assert printed_by("import aucross; print(aucross.core.__name__)") == "aucross.core\n"
    with pytest.raises(AttributeError, match="module 'aucross' has no attribute 'AUCros'"):
        aucross.AUCros  # noqa: B018


# ---- the readers themselves ----


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("clf._score(X)", ["clf._score"]),
        ("from aucross.core.rules import _blend", ["_blend"]),
        ("self._score = 1\nother._score", []),
        ("def _score(X): ...\nclf._score(X)", ["clf._score"]),
        ("row._replace(a=1)", []),
        ("x.__class__", []),
    ],
)
def test_reaching_into_private_names_is_noticed(statement, expected, tmp_path):
    source = tmp_path / "example.py"
    source.write_text(statement, encoding="utf-8")
    assert list(private_names_reached_into(source)) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import sklearn.utils", "sklearn.utils"),
        ("from sklearn.utils import _safe", "sklearn.utils._safe"),
        ("from aucross.core import RejectionBand", "aucross.core.RejectionBand"),
        ("from . import bands", "aucross.core.bands"),
        ("from .bands import RejectionBand", "aucross.core.bands.RejectionBand"),
        ("from ..estimators import base", "aucross.estimators.base"),
        ("def late():\n    import aucross.report", "aucross.report"),
    ],
)
def test_imports_of_every_form_are_read_as_absolute_names(statement, expected, tmp_path, monkeypatch):
    source = tmp_path / "core" / "example.py"
    source.parent.mkdir()
    source.write_text(statement, encoding="utf-8")
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert list(imported_names(source)) == [expected]
