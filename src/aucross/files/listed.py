"""The list of every class, type and function that a file may name, with the content allowed for each class.

A file that names anything else is refused before anything is built, unless the caller trusts it by name. Classes are
listed by their public names, so that a library may move them; a module is imported only if a file names one of its
classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache, partial
from importlib import import_module
from inspect import isabstract, signature
from itertools import takewhile
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.utils import check_array

from aucross.estimators.base import SelectiveClassifier
from aucross.files import boosters, pandas_tables, sklearn_models
from aucross.files.forms import ByAttributes, ByFields, BySteps, Listed, imported, must

# Dataclasses and estimators of these packages are listed as they are.
_OWN_PACKAGES = ("aucross.core", "aucross.estimators")


# ---- classes of this package ----


def _own() -> Iterator[Listed]:
    """Yield every public dataclass of the core and the estimators, and the estimators themselves."""
    for package in map(import_module, _OWN_PACKAGES):
        for found in iter_modules(package.__path__, f"{package.__name__}."):
            for name, cls in vars(import_module(found.name)).items():
                is_here = isinstance(cls, type) and cls.__module__ == found.name and not name.startswith("_")
                if is_here and not isabstract(cls):
                    if issubclass(cls, SelectiveClassifier):
                        yield Listed(f"aucross.{name}", found.name)
                    elif is_dataclass(cls):
                        yield Listed(f"aucross.{name}", found.name, "value", ByFields())


def _networks() -> Iterator[Listed]:
    """Yield the classes of networks by name, so that torch is imported only for files that hold a network."""
    for name in ("DeepGamblers", "SelectiveNet", "SelfAdaptiveTraining"):
        yield Listed(f"aucross.{name}", "aucross.torch.selective_networks", form=ByAttributes(frozenset({"_n_rows"})))
    for name in ("ResNetClassifier", "SelectiveNetwork", "VGGClassifier"):
        yield Listed(f"aucross.{name}", "aucross.torch.network_classifier")
    for module, names in (
        ("fitted_network", "RowReader"),
        ("images", "ImageScale"),
        ("methods", "CrossEntropy GamblersMethod SelectiveNetMethod SelfAdaptiveMethod"),
        ("table_encoder", "TableEncoder"),
    ):
        for name in names.split():
            yield Listed(f"aucross.{name}", f"aucross.torch.{module}", "value", ByFields())
    options = ByFields({"checkpoint_folder": None})
    yield Listed("aucross.NetworkOptions", "aucross.torch.options", "value", options)
    network = BySteps(_put_network, lambda network: network.__getstate__())
    yield Listed("aucross.FittedNetwork", "aucross.torch.fitted_network", "network", network)


def _put_network(cls: Any, *, reader: Any, body: Any, method: Any, options: Any, n_classes: Any, weights: Any) -> Any:
    is_whole = isinstance(weights, dict) and all(type(values) is np.ndarray for values in weights.values())
    must(is_whole, "the weights of a network must be arrays")
    return cls.of_weights(weights, reader=reader, body=body, method=method, options=options, n_classes=n_classes)


@cache
def listed_classes() -> Mapping[str, Listed]:
    """Return all classes by their names in files."""
    found: dict[str, Listed] = {}
    for group in (sklearn_models.classes(), boosters.CLASSES, pandas_tables.CLASSES, _own(), _networks()):
        for listed in group:
            if listed.name in found:
                raise ValueError(f"{listed.name} is listed twice, in {found[listed.name].module} and {listed.module}")
            found[listed.name] = listed
    return found


def name_in_files(cls: type) -> tuple[str, Listed | None]:
    """Return the name of a class in files, and its entry in the list, if it has one."""
    public, short = list(takewhile(lambda part: part[:1] != "_", cls.__module__.split("."))), cls.__qualname__
    for length in (len(public), 1, 2):
        name = ".".join([*public[:length], short])
        listed = listed_classes().get(name)
        if listed is not None and listed.cls is cls:
            return name, listed
    return f"{cls.__module__}.{short}", None


# ---- types and functions ----

# Types of single numbers, as numpy names them.
NUMBERS = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "str_"),
    }
)
TYPES: Mapping[str, type] = {
    **{f"builtins.{kind.__name__}": kind for kind in (bool, float, int, object, str)},
    **{f"numpy.{name}": getattr(np, name) for name in (*NUMBERS, "integer", "floating", "number", "object_")},
}

_FUNCTIONS_OF_NUMPY = (
    *("abs", "absolute", "arcsinh", "cbrt", "ceil", "cos", "exp", "exp2", "expm1", "floor", "isfinite", "isnan", "log"),
    *("log10", "log1p", "log2", "nan_to_num", "negative", "positive", "reciprocal", "rint", "sign", "sin", "sqrt"),
    *("square", "tanh"),
)
_FUNCTIONS_OF_SELECTION = ("chi2", "f_classif", "mutual_info_classif")

# Histogram boosting checks columns of numbers like this, beside those of categories.
_CHECKED_NUMBERS = "sklearn.ensemble.checked_numbers"
_CHECK_OPTIONS = {"dtype": [np.float64], "ensure_all_finite": False}

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    **{f"numpy.{name}": ("numpy", name) for name in _FUNCTIONS_OF_NUMPY},
    **{f"sklearn.feature_selection.{name}": ("sklearn.feature_selection", name) for name in _FUNCTIONS_OF_SELECTION},
    # Of the gate that is used if none is given.
    "aucross.frames.without_pandas_na": ("aucross.frames", "without_pandas_na"),
    _CHECKED_NUMBERS: ("", ""),
}


# What functions are made of: Python, and two kinds of numpy's own.
FUNCTION_TYPES = (FunctionType, np.ufunc, type(np.nan_to_num), partial)


def function_name(function: Any) -> str | None:
    """Return the name of a function, listed or not; None for other objects."""
    if isinstance(function, partial):
        is_check = function.func is check_array and not function.args and function.keywords == _CHECK_OPTIONS
        return _CHECKED_NUMBERS if is_check else None
    module = "numpy" if isinstance(function, np.ufunc) else function.__module__.partition("._")[0]
    name = f"{module}.{function.__name__}"
    if name in FUNCTIONS and function_of(name) is function:
        return name
    return full_name(function) if isinstance(function, FunctionType) else None


def function_of(name: str) -> Any:
    """Return the function that is listed under a name."""
    if name == _CHECKED_NUMBERS:
        return partial(check_array, **_CHECK_OPTIONS)
    module, attribute = FUNCTIONS[name]
    return getattr(import_module(module), attribute)


def full_name(value: Any) -> str:
    """Return the module and name under which a class or function is defined."""
    return f"{value.__module__}.{value.__qualname__}"


# Bodies of networks.
BODIES = ("MLP", "ResNet", "VGG16")


def body_of(name: str, options: Mapping[str, Any]) -> partial[Any]:
    """Return the body of a network by its checked name, after checking that its options are numbers."""
    network = getattr(imported("aucross.torch.networks"), name)
    known = set(signature(network).parameters) - {"n_inputs"}
    for option, value in options.items():
        if option not in known or not isinstance(value, int | float):
            raise ValueError(f"{name} takes no option {option}={value!r}")
    return partial(network, **options)
