"""The private names of scikit-learn that files need: what the installed release has, and which release brought what."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from itertools import pairwise

import pytest
import sklearn

from aucross.files import sklearn_names
from aucross.files.listed import listed_classes
from aucross.files.sklearn_names import LEFT_OUT, private_names

MODELS = {
    name.rpartition(".")[2]: listed.module
    for name, listed in listed_classes().items()
    if name.startswith("sklearn.") and listed.role == "model"
}
RELEASES = ("1.8", *sklearn_names._SINCE)


def source_of(class_name):
    """What the modules of a class and of the classes above it say."""
    classes = getattr(import_module(MODELS[class_name]), class_name).__mro__
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
        newer: {name: private_names(name, newer) - private_names(name, older) for name in MODELS}
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
    assert {name for name in (*sklearn_names._PRIVATE, *sklearn_names._SINCE["1.9"]) if name not in MODELS} == set()


def test_the_private_modules_are_where_the_table_says():
    for name in ("HISTOGRAM", "LOSSES", "OPTIMIZERS", "SPLITS", "TREE"):
        import_module(getattr(sklearn_names, name))
    assert import_module(sklearn_names.TREE).NODE_DTYPE.names
    assert import_module(f"{sklearn_names.HISTOGRAM}.common").PREDICTOR_RECORD_DTYPE.names


def test_attributes_of_every_estimator_are_those_of_the_base_classes():
    source = inspect.getsource(import_module("sklearn.utils._metadata_requests"))
    source += inspect.getsource(import_module("sklearn.utils._set_output")) + inspect.getsource(sklearn.base)
    assert {name for name in sklearn_names.OF_ESTIMATORS if not re.search(rf"\b{name}\b", source)} == set()
