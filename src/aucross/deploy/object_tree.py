"""Fitted objects as a tree of plain values: what a saved file says about the classes of this package.

::

    AUCross(...)        {"@estimator": "aucross.estimators.auc.AUCross", "parameters": {...}, "attributes": {...}}
    OptimalBands(...)   {"@object": "aucross.core.rules.OptimalBands", "fields": {...}}
    array, base model   {"@leaf": 3}        its number in a list beside the tree

The tree is JSON and can be read without running anything. Objects are rebuilt by calling their class with the fields of
the tree, so every check of a constructor holds for a loaded object too, and fields that a later version adds take their
defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import isabstract, signature
from math import isfinite
from pkgutil import iter_modules
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.estimators.base import SelectiveClassifier

# Dataclasses and estimators of these packages may be rebuilt from a file.
_PACKAGES = ("aucross.core", "aucross.estimators")
_LABEL_TYPES = (str, int, float, bool)


def type_name(cls: type) -> str:
    """Dotted name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


@cache
def listed_classes() -> dict[str, type]:
    """The classes that every file may name; other modules are imported only for types that are listed by name."""
    classes = {}
    for package in map(import_module, _PACKAGES):
        for found in iter_modules(package.__path__, package.__name__ + "."):
            for cls in vars(import_module(found.name)).values():
                if isinstance(cls, type) and cls.__module__ == found.name and _can_be_rebuilt(cls):
                    classes[type_name(cls)] = cls
    return classes


def _can_be_rebuilt(cls: type) -> bool:
    return is_dataclass(cls) or (issubclass(cls, SelectiveClassifier) and not isabstract(cls))


# ---- writing ----


@dataclass(frozen=True)
class ObjectTree:
    """A value taken apart.

    Attributes
    ----------
    root : JSON-ready value
        The tree.
    leaves : list
        What the tree refers to by number: arrays and objects of other libraries. An object met twice is one leaf.
    places : list of str
        Where each leaf was first met, for messages: ``"AUCross.cv"``.
    """

    root: Any
    leaves: list[Any] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict, repr=False)  # by the identity of a leaf

    @classmethod
    def of(cls, value: Any) -> ObjectTree:
        """Take a value apart."""
        tree = cls(None)
        root = tree._node(value, type(value).__name__)
        return cls(root, tree.leaves, tree.places)

    def _node(self, value: Any, place: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind in (float, list, tuple, dict):
            return self._number_or_container(value, place)
        if isinstance(value, SelectiveClassifier):
            return self._estimator(value, place)
        if type_name(kind) in listed_classes():
            stored = {part.name: getattr(value, part.name) for part in fields(value) if not _is_derived(part)}
            return {"@object": type_name(kind), "fields": self._named(stored, place)}
        if kind is np.ndarray and value.dtype == object and value.ndim == 1 and _are_labels(value):
            return self._labels(value, place)
        return self._leaf(value, place)

    def _number_or_container(self, value: Any, place: str) -> Any:
        if isinstance(value, float):
            return value if isfinite(value) else {"@float": repr(value)}  # JSON has no infinities
        if isinstance(value, dict):
            # Pairs, because the keys of JSON objects are text and groups may be numbers, booleans or dates.
            pairs = [[self._node(key, place), self._node(item, f"{place}[{key!r}]")] for key, item in value.items()]
            return {"@dict": pairs}
        items = [self._node(item, f"{place}[{number}]") for number, item in enumerate(value)]
        return items if isinstance(value, list) else {"@tuple": items}

    def _named(self, values: Mapping[str, Any], place: str) -> dict[str, Any]:
        return {name: self._node(value, f"{place}.{name}") for name, value in values.items()}

    def _estimator(self, clf: SelectiveClassifier, place: str) -> dict[str, Any]:
        parameters = clf.get_params(deep=False)
        attributes = {name: value for name, value in vars(clf).items() if name not in parameters}
        return {
            "@estimator": type_name(type(clf)),
            "parameters": self._named(parameters, place),
            "attributes": self._named(attributes, place),
        }

    def _labels(self, labels: NDArray[Any], place: str) -> dict[str, Any]:
        """Distinct labels and a number for each element: an entry of its own for each row takes 100 times the space."""
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault((type(label), label), len(numbers)) for label in labels.tolist()]
        distinct = [self._node(label, place) for _, label in numbers]
        return {"@labels": distinct, "codes": self._leaf(np.array(codes, dtype=np.int64), place)}

    def _leaf(self, value: Any, place: str) -> dict[str, Any]:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.leaves)
            self.leaves.append(value)
            self.places.append(place)
        return {"@leaf": self._numbers[id(value)]}


def _is_derived(part: Field[Any]) -> bool:
    """Whether a field is no part of the value: set by the class itself, or a private one that fills up with use."""
    has_default = part.default is not MISSING or part.default_factory is not MISSING
    return not part.init or (part.name.startswith("_") and has_default)


def _are_labels(values: NDArray[Any]) -> bool:
    return all(type(value) in _LABEL_TYPES for value in values.tolist())


# ---- reading ----


def types_named_in(node: Any) -> Iterator[str]:
    """Names of the classes that a tree would call."""
    if isinstance(node, list):
        for item in node:
            yield from types_named_in(item)
    elif isinstance(node, dict):
        yield from (str(node[key]) for key in ("@object", "@estimator") if key in node)
        for item in node.values():
            yield from types_named_in(item)


@dataclass(frozen=True)
class TreeReader:
    """Builds the value of a tree again.

    Parameters
    ----------
    leaves : sequence
        The leaves of the tree.
    classes : mapping of name to class
        The classes that may be called.
    """

    leaves: Sequence[Any]
    classes: Mapping[str, type]

    def read(self, node: Any) -> Any:
        """The value of a node."""
        if isinstance(node, list):
            return [self.read(item) for item in node]
        if not isinstance(node, dict):
            return node
        kind = next(iter(node), "")
        reader = getattr(self, f"_read_{kind[1:]}", None) if kind.startswith("@") else None
        if reader is None:
            raise ValueError(f"a saved tree must not hold a node of the kind {kind!r}")
        return reader(node)

    def _read_float(self, node: Any) -> float:
        return float(node["@float"])

    def _read_tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self.read(node["@tuple"]))

    def _read_dict(self, node: Any) -> dict[Any, Any]:
        return {self.read(key): self.read(value) for key, value in node["@dict"]}

    def _read_leaf(self, node: Any) -> Any:
        return self.leaves[node["@leaf"]]

    def _read_labels(self, node: Any) -> NDArray[Any]:
        distinct = np.empty(len(node["@labels"]), dtype=object)
        distinct[:] = self.read(node["@labels"])
        return distinct[self.read(node["codes"])]

    def _read_object(self, node: Any) -> Any:
        cls = self._class(node["@object"])
        known = [part.name for part in fields(cls)]
        return cls(**self._known(node["fields"], known, node["@object"]))

    def _read_estimator(self, node: Any) -> Any:
        cls = self._class(node["@estimator"])
        if not issubclass(cls, SelectiveClassifier):
            raise ValueError(f"a saved estimator must be a SelectiveClassifier, got {node['@estimator']}")
        known = list(signature(cls).parameters)
        clf = cls(**self._known(node["parameters"], known, node["@estimator"]))
        for name, value in node["attributes"].items():
            setattr(clf, name, self.read(value))
        return clf

    def _class(self, name: str) -> Any:
        if name not in self.classes:
            raise ValueError(f"a saved tree must name listed classes only, got {name}")
        return self.classes[name]

    def _known(self, values: Mapping[str, Any], known: Sequence[str], name: str) -> dict[str, Any]:
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ValueError(f"{name} has no fields {unknown}: the file was written by a newer aucross; update it")
        return {key: self.read(value) for key, value in values.items()}
