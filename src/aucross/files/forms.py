"""How objects are taken apart and put together again: by their attributes, by their fields, or by steps written here.

Nothing here is called because a file says so. A file names a class of the list, and the list says which of these forms
the class has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache, lru_cache
from inspect import Parameter, getattr_static, signature
from typing import Any, Protocol

from aucross.files.sklearn_names import OF_ESTIMATORS

State = Mapping[str, Any]

_LISTED_LIBRARIES = ("aucross", "catboost", "imblearn", "lightgbm", "sklearn", "xgboost")

# Class attributes that an attribute of an instance may replace: plain defaults.
_PLAIN = (type(None), bool, int, float, str, tuple)


class Form(Protocol):
    """A way to take objects apart and to put them together."""

    def state(self, value: Any) -> State:
        """What is stored of an object, by name."""

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        """Refuse names that no stored object of a class has."""

    def build(self, cls: type, state: dict[str, Any]) -> Any:
        """Make an object of checked parts."""


@dataclass(frozen=True)
class ByAttributes:
    """An object is its attributes: it is made without a call of its class, and its attributes are put in their place.

    Parameters
    ----------
    private : frozenset of str
        Attributes beside the parameters of the constructor and those that end in an underscore.
    left_out : frozenset of str
        Attributes that are not stored.
    finish : function, optional
        Checks a made object, and adds what was left out.
    any_name : bool, default=False
        Whether all names are allowed that the class itself does not have: for classes that somebody trusts.
    """

    private: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    finish: Callable[[Any], None] | None = None
    any_name: bool = False

    def state(self, value: Any) -> State:
        """The attributes."""
        return {name: part for name, part in vars(value).items() if name not in self.left_out}

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        """Refuse attributes that are neither parameters nor known fitted ones, and all that would hide a method."""
        known = constructor_parameters(cls).keys() | self.private | OF_ESTIMATORS
        for name in names:
            is_fitted = name.endswith("_") and not name.startswith("_")
            is_known = name.isidentifier() and (name in known or is_fitted or self.any_name)
            if not is_known or name.startswith("__") or name in self.left_out or _hides(cls, name):
                raise ValueError(f"{cls.__name__} cannot have an attribute {name!r}")

    def build(self, cls: type, state: dict[str, Any]) -> Any:
        """Put attributes in their place; parameters that came with a later version take their defaults."""
        made: Any = object.__new__(cls)
        made.__dict__.update(state)
        for name, default in constructor_defaults(cls).items():
            made.__dict__.setdefault(name, default)
        if self.finish is not None:
            self.finish(made)
        return made


@dataclass(frozen=True)
class ByParameters(ByAttributes):
    """An object is stored as it was before its fit: the parameters of its constructor alone."""

    def state(self, value: Any) -> State:
        """The parameters."""
        cls: Any = type(value)
        return {name: vars(value)[name] for name in constructor_parameters(cls)}

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        """Refuse all but parameters."""
        further = sorted(set(names) - constructor_parameters(cls).keys())
        if further:
            raise ValueError(f"{cls.__name__} cannot have an attribute {further[0]!r}")
        super().check_names(cls, names)


# Of classes that are not on the list and that the caller trusts.
TRUSTED_FORM = ByAttributes(any_name=True)


@lru_cache(maxsize=10_000)
def _hides(cls: type, name: str) -> bool:
    """Whether an attribute of an instance would replace a method, a property or the like."""
    found = getattr_static(cls, name, None)
    return not isinstance(found, _PLAIN)


@cache
def constructor_parameters(cls: Any) -> dict[str, Parameter]:
    """Parameters of the constructors of a class and of those above it, which set attributes of the same names."""
    own = [vars(above)["__init__"] for above in reversed(cls.__mro__) if "__init__" in vars(above)]
    by_name = {name: part for function in own[1:] for name, part in signature(function).parameters.items()}
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {name: part for name, part in by_name.items() if name != "self" and part.kind in kinds}


@cache
def inherited_attributes(cls: Any) -> frozenset[str]:
    """Attributes that a trusted class has from listed libraries, whose code reads them: parameters, also as fitted."""
    above = [base for base in cls.__mro__ if base.__module__.partition(".")[0] in _LISTED_LIBRARIES]
    names = {name for base in above for name in constructor_parameters(base)}
    return frozenset(names | {f"{name}_" for name in names} | {f"_{name}" for name in names})


@cache
def constructor_defaults(cls: Any) -> dict[str, Any]:
    """Defaults of the parameters of an estimator, each of which is an attribute of the same name."""
    if not hasattr(cls, "get_params"):
        return {}
    parameters = signature(cls).parameters
    return {name: part.default for name, part in parameters.items() if part.default is not Parameter.empty}


@dataclass(frozen=True)
class ByFields:
    """A dataclass of this package is its fields: its constructor is called, so every check of it holds."""

    unstored: Mapping[str, Any] = field(default_factory=dict)  # fields by name, with the value that takes their place

    def state(self, value: Any) -> State:
        """The fields."""
        stored = {part.name: getattr(value, part.name) for part in fields(value) if not _is_derived(part)}
        return {**stored, **{name: part for name, part in self.unstored.items() if name in stored}}

    def check_names(self, cls: Any, names: Iterable[str]) -> None:
        """Refuse fields that the class does not have, and missing ones without a default."""
        stored = [part for part in fields(cls) if not _is_derived(part)]
        unknown = sorted(set(names) - {part.name for part in stored})
        if unknown:
            raise ValueError(f"{cls.__name__} has no fields {unknown}: written by a newer aucross; update it")
        missing = [part.name for part in stored if not _has_default(part) and part.name not in set(names)]
        if missing:
            raise ValueError(f"{cls.__name__} lacks the fields {missing}: written by another aucross")

    def build(self, cls: type, state: dict[str, Any]) -> Any:
        """Call the constructor; fields that came with a later version take their defaults."""
        return cls(**state)


def _has_default(part: Field[Any]) -> bool:
    return part.default is not MISSING or part.default_factory is not MISSING


def _is_derived(part: Field[Any]) -> bool:
    """Whether a field is no part of the value: set by the class itself, or a private one that fills up with use."""
    return not part.init or (part.name.startswith("_") and _has_default(part))


@dataclass(frozen=True)
class BySteps:
    """An object that takes steps of its own: compiled parts, boosters, random states.

    Parameters
    ----------
    names : frozenset of str
        What is stored, no more and no less.
    take_apart : function
        From an object to its parts.
    put_together : function
        From the class and the parts to an object; it checks types and sizes, since files may hold anything there.
    """

    names: frozenset[str]
    take_apart: Callable[[Any], State]
    put_together: Callable[[Any, dict[str, Any]], Any]

    def state(self, value: Any) -> State:
        """The parts."""
        return self.take_apart(value)

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        """Refuse missing and further parts."""
        if set(names) != self.names:
            raise ValueError(f"{cls.__name__} must have the parts {sorted(self.names)}, got {sorted(names)}")

    def build(self, cls: type, state: dict[str, Any]) -> Any:
        """Take the steps."""
        return self.put_together(cls, state)
