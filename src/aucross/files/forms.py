"""Forms of stored objects: by their attributes, by their fields, or by steps written here.

A file cannot choose what is called: it names a class of the list, and the list says which of these forms the class has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, lru_cache
from importlib import import_module
from inspect import Parameter, getattr_static, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.files.sklearn_names import OF_ESTIMATORS
from aucross.system.libraries import import_library

State = dict[str, Any]

_LISTED_LIBRARIES = ("aucross", "catboost", "imblearn", "lightgbm", "sklearn", "xgboost")

# Class attributes that an attribute of an instance may replace: plain defaults.
_PLAIN = (type(None), bool, int, float, str, tuple)


@dataclass(frozen=True)
class ByAttributes:
    """Form of an object given by its attributes, which are set without calling its class."""

    private: frozenset[str] = frozenset()  # beside the parameters and attributes that end in an underscore
    left_out: frozenset[str] = frozenset()  # not stored
    finish: Callable[[Any], None] | None = None  # checks a made object, and adds what was left out
    any_name: bool = False  # whether all names are allowed that the class itself does not have: for trusted classes
    only_parameters: bool = False  # whether objects are stored as they were before their fit

    def state(self, value: Any) -> Mapping[str, Any]:
        """Return the attributes."""
        if self.only_parameters:
            cls: Any = type(value)
            return {name: vars(value)[name] for name in constructor_parameters(cls)}
        return {name: part for name, part in vars(value).items() if name not in self.left_out}

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        """Refuse attributes that are neither parameters nor known fitted ones, and those that would hide a method."""
        parameters = constructor_parameters(cls).keys()
        known = parameters if self.only_parameters else parameters | self.private | OF_ESTIMATORS
        for name in names:
            is_fitted = name.endswith("_") and not name.startswith("_") and not self.only_parameters
            is_known = name.isidentifier() and (name in known or is_fitted or self.any_name)
            if not is_known or name.startswith("__") or name in self.left_out or _hides(cls, name):
                raise ValueError(f"{cls.__name__} cannot have an attribute {name!r}")

    def build(self, cls: type, state: State) -> Any:
        """Make the object and set its attributes; parameters added in a later version take their defaults."""
        made: Any = object.__new__(cls)
        made.__dict__.update(state)
        for name, default in _constructor_defaults(cls).items():
            made.__dict__.setdefault(name, default)
        if self.finish is not None:
            self.finish(made)
        return made


# Of classes that are not on the list and that the caller trusts.
TRUSTED_FORM = ByAttributes(any_name=True)


@lru_cache(maxsize=10_000)
def _hides(cls: type, name: str) -> bool:
    """Return whether an instance attribute would hide a method, a property or the like."""
    return not isinstance(getattr_static(cls, name, None), _PLAIN)


@cache
def constructor_parameters(cls: Any) -> dict[str, Parameter]:
    """Return the constructor parameters of a class and its bases, which are also attribute names."""
    own = [vars(above)["__init__"] for above in reversed(cls.__mro__) if "__init__" in vars(above)]
    by_name = {name: part for function in own[1:] for name, part in signature(function).parameters.items()}
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {name: part for name, part in by_name.items() if name != "self" and part.kind in kinds}


@cache
def inherited_attributes(cls: Any) -> frozenset[str]:
    """Return the attributes that listed libraries read from a trusted class: `name`, `name_`, `_name` per parameter."""
    above = [base for base in cls.__mro__ if base.__module__.partition(".")[0] in _LISTED_LIBRARIES]
    names = {name for base in above for name in constructor_parameters(base)}
    return frozenset(names | {f"{name}_" for name in names} | {f"_{name}" for name in names})


@cache
def _constructor_defaults(cls: Any) -> dict[str, Any]:
    """Return the default of each estimator parameter, which is also an attribute name."""
    parameters = signature(cls).parameters if hasattr(cls, "get_params") else {}
    return {name: part.default for name, part in parameters.items() if part.default is not Parameter.empty}


@dataclass(frozen=True)
class ByFields:
    """Form of a dataclass of this package: its constructor is called, so all its checks apply."""

    unstored: Mapping[str, Any] = field(default_factory=dict)  # fields by name, with the value that takes their place

    def state(self, value: Any) -> Mapping[str, Any]:
        """Return the fields."""
        cls: Any = type(value)
        stored = {name: getattr(value, name) for name in _stored_fields(cls)}
        return {**stored, **{name: part for name, part in self.unstored.items() if name in stored}}

    def check_names(self, cls: Any, names: Iterable[str]) -> None:
        """Refuse fields that the class does not have, and states that lack a field without a default."""
        stored, given = _stored_fields(cls), set(names)
        if unknown := sorted(given - stored.keys()):
            raise ValueError(f"{cls.__name__} has no fields {unknown}: written by a newer aucross; update it")
        if missing := [name for name, has_default in stored.items() if not has_default and name not in given]:
            raise ValueError(f"{cls.__name__} lacks the fields {missing}: written by another aucross")

    def build(self, cls: type, state: State) -> Any:
        """Call the constructor; fields added in a later version take their defaults."""
        return cls(**state)


@cache
def _stored_fields(cls: Any) -> dict[str, bool]:
    """Return the fields of a class, without computed ones and private caches, and whether each has a default."""
    given = [part for part in fields(cls) if part.init]
    has_default = {part.name: part.default is not MISSING or part.default_factory is not MISSING for part in given}
    return {name: has for name, has in has_default.items() if not (has and name.startswith("_"))}


@dataclass(frozen=True)
class BySteps:
    """Form of an object that needs steps of its own: compiled parts, boosters, random states.

    The parameters of ``put_together``, after the class, are exactly the stored parts. The function checks their types
    and sizes, because files may hold anything. By default the parts are attributes of the same names.
    """

    put_together: Callable[..., Any]
    take_apart: Callable[[Any], Mapping[str, Any]] | None = None

    def state(self, value: Any) -> Mapping[str, Any]:
        """Return the parts."""
        if self.take_apart is None:
            return {name: getattr(value, name) for name in _parts_of(self.put_together)}
        return self.take_apart(value)

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        """Refuse an object with missing or additional parts."""
        parts = _parts_of(self.put_together)
        if set(names) != set(parts):
            raise ValueError(f"{cls.__name__} must have the parts {sorted(parts)}, got {sorted(names)}")

    def build(self, cls: type, state: State) -> Any:
        """Put the object together."""
        return self.put_together(cls, **state)


@cache
def _parts_of(put_together: Callable[..., Any]) -> list[str]:
    return list(signature(put_together).parameters)[1:]


@dataclass(frozen=True)
class Listed:
    """A class that files may name."""

    name: str  # in files
    module: str  # where it is defined
    role: str = "model"  # what its objects are, which decides where they may stand: see `roles_in`
    form: ByAttributes | ByFields | BySteps = ByAttributes()  # how objects are taken apart and put together
    needs_trust: bool = False  # a caller has to trust it all the same: its library reads bytes that cannot be checked

    @property
    def cls(self) -> Any:
        """The class, after importing its module."""
        return getattr(imported(self.module), self.name.rpartition(".")[2])


def imported(module: str) -> Any:
    """Import a listed module; for parts of aucross.torch, check first that torch is installed."""
    if module.startswith("aucross.torch"):
        import_library("torch", purpose=f"a model file with a part of {module}", extra="torch")
    return import_module(module)


# ---- what steps ask of the parts that a file gives them ----


def must(condition: Any, rule: str, start: str = "") -> None:
    """Raise an error if a rule does not hold."""
    if not condition:
        raise ValueError(f"{start}{rule}")


def whole_number(value: Any, name: str, low: int, high: int = 2**62) -> int:
    """Return a stored part after checking that it is a whole number in a range."""
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}")
    return value


def plain_array(value: Any, name: str, kinds: str, n_dimensions: int) -> NDArray[Any]:
    """Return a stored part after checking that it is an array of allowed kinds and dimensions."""
    if type(value) is not np.ndarray or value.dtype.kind not in kinds or value.ndim != n_dimensions:
        raise ValueError(f"{name} must be an array of {n_dimensions} dimensions and of the kinds {kinds!r}")
    return value


def is_word(value: Any, word: str) -> bool:
    """Return whether a stored part is this word, and not an array that equals it."""
    return isinstance(value, str) and value == word
