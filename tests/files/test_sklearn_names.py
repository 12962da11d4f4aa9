"""The private names of scikit-learn that files need: what the installed release has, and which release brought what."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import sklearn

from aucross.files import boosters, sklearn_names
from aucross.files.listed import listed_classes
from aucross.files.sklearn_names import LEFT_OUT, OF_ESTIMATORS, OF_RUNS, private_names

CLASSES = {name.rpartition(".")[2]: listed for name, listed in listed_classes().items() if name.startswith("sklearn.")}
RELEASES = ("1.8", *sklearn_names._SINCE)
NAMES = {
    *OF_ESTIMATORS,
    *OF_RUNS,
    *(name for part in LEFT_OUT.values() for name in part.split()),
    *(name for class_name in CLASSES for name in private_names(class_name)),
}


def source_of(class_name):
    """What the modules of a class and of the classes above it say."""
    classes = CLASSES[class_name].cls.__mro__
    modules = {inspect.getmodule(cls) for cls in classes if cls.__module__.startswith("sklearn.")}
    return "\n".join(map(inspect.getsource, modules))


def is_used(name, source):
    return re.search(rf"\bself\.{name}\b", source) is not None


@pytest.mark.parametrize("class_name", sorted({*sklearn_names._PRIVATE, *LEFT_OUT}))
def test_the_installed_release_has_the_private_names_of_the_table(class_name):
    source = source_of(class_name)
    expected = {*private_names(class_name, sklearn.__version__), *LEFT_OUT.get(class_name, "").split()}
    gone = {name for name in expected if not is_used(name, source)}
    assert gone == set(), f"scikit-learn {sklearn.__version__} removed or renamed them"
    later = private_names(class_name) - expected
    assert {name for name in later if is_used(name, source)} == set(), "an earlier release has them already"


def test_each_release_says_what_it_brought():
    brought = {
        newer: {name: private_names(name, newer) - private_names(name, older) for name in CLASSES}
        for older, newer in pairwise(RELEASES)
    }
    assert {
        release: {name: sorted(names) for name, names in changes.items() if names}
        for release, changes in brought.items()
    } == {
        "1.9": {
            "ColumnTransformer": ["_transformers_feature_names_out"],
            "ExtraTreesClassifier": ["_sample_weight"],
            "GridSearchCV": ["_checked_cv_orig"],
            "NuSVC": ["_effective_probability"],
            "RandomForestClassifier": ["_sample_weight"],
            "RandomizedSearchCV": ["_checked_cv_orig"],
            "SVC": ["_effective_probability"],
        }
    }
    assert {name for name in (*sklearn_names._PRIVATE, *sklearn_names._SINCE["1.9"]) if name not in CLASSES} == set()


def test_the_private_modules_are_where_the_table_says():
    for name in ("HISTOGRAM", "LOSSES", "OPTIMIZERS", "SPLITS", "TREE"):
        import_module(getattr(sklearn_names, name))
    assert import_module(sklearn_names.TREE).NODE_DTYPE.names
    assert import_module(f"{sklearn_names.HISTOGRAM}.common").PREDICTOR_RECORD_DTYPE.names


def test_attributes_of_every_estimator_are_those_of_the_base_classes():
    source = inspect.getsource(import_module("sklearn.utils._metadata_requests"))
    source += inspect.getsource(import_module("sklearn.utils._set_output")) + inspect.getsource(sklearn.base)
    gone = {name for name in OF_ESTIMATORS | OF_RUNS if not re.search(rf"\b{name}\b", source)}
    if find_spec("sklearn.callback"):  # since 1.9
        support = inspect.getsource(import_module("sklearn.callback._callback_support"))
        gone = {name for name in gone if not re.search(rf"\b{name}\b", support)}
    assert {name for name in gone if find_spec("sklearn.callback") or not name.startswith("_skl_")} == set()


def private_words(tree):
    """Private names that a module reads of other objects, or spells in a text that holds nothing but names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in OWN):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w ]+", node.value):
            yield from node.value.split()


# Objects of this package, which have private names of their own.
OWN = ("self", "own", "rebuilder", "Rebuilder", "description", "Description")


def test_no_other_module_of_files_knows_a_private_name_that_is_not_in_the_table():
    of_others = {*boosters._LIGHTGBM_PRIVATE.split(), "_n_rows", "_LGBMClassifier__is_multiclass"}
    found = {
        f"{path.name}: {name}"
        for path in Path(sklearn_names.__file__).parent.glob("*.py")
        for name in private_words(ast.parse(path.read_text(encoding="utf-8")))
        if re.fullmatch(r"_[a-z]\w*", name) and name not in NAMES | of_others
    }
    assert found == {"sklearn_models.py: _get_curve_scorer"}  # a method, which is called by its own model alone


def test_the_page_on_storage_counts_the_names():
    page = (Path(__file__).parents[2] / "docs/howto/storage.md").read_text(encoding="utf-8")
    assert f"{len(NAMES)} private names of scikit-learn" in " ".join(page.split())
