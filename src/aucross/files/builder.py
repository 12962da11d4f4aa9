"""The building of a checked description, entry after entry.

Nothing that the description names is called: attributes are put in their place, or the steps are taken that are written
in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.files.checker import kind_of
from aucross.files.forms import TRUSTED_FORM
from aucross.files.listed import TYPES, body_of, function_of, listed_classes
from aucross.files.npy import array_of


class Builder:
    """Builds an object from a description that a :class:`~aucross.files.checker.Checker` has passed.

    ``trusted`` holds further classes and functions that may be named, by name.
    """

    def __init__(self, entries: list[Any], arrays: Sequence[bytearray], trusted: Mapping[str, Any]) -> None:
        self._entries = entries
        self._arrays = iter(arrays)
        self._trusted = trusted
        self._built: list[Any] = []

    def build(self) -> Any:
        """Build all entries, and return the object of the last one."""
        for entry in self._entries:
            self._built.append(_ENTRIES[kind_of(entry)](self, entry))
        return self._built[-1]

    def value(self, node: Any) -> Any:
        """Build the value of a node."""
        if isinstance(node, list):
            return [self.value(item) for item in node]
        return _VALUES[kind_of(node)](self, node) if isinstance(node, dict) else node

    # ---- entries ----

    def _array(self, entry: Any) -> NDArray[Any]:
        return array_of(entry, next(self._arrays))

    def _labels(self, entry: Any) -> NDArray[Any]:
        labels = [self.value(label) for label in entry["@labels"]]
        distinct = _array_of_objects(labels, [len(labels)])
        codes = self.value(entry["codes"])
        if codes.max(initial=0) >= max(len(labels), 1):
            raise ValueError("codes must be among the labels")
        if entry["dtype"] != "|O":
            distinct = distinct.astype(entry["dtype"])
        # One by one and then in shape: of an array without dimensions, indexing would return the label itself.
        taken = distinct[codes.ravel()] if labels else np.empty(codes.size, dtype=distinct.dtype)
        return taken.reshape(codes.shape)

    def _objects(self, entry: Any) -> NDArray[Any]:
        return _array_of_objects([self.value(item) for item in entry["@objects"]], entry["shape"])

    def _masked(self, entry: Any) -> Any:
        data, mask, fill = (self.value(entry[part]) for part in ("@masked", "mask", "fill"))
        return np.ma.MaskedArray(data, mask=mask, fill_value=fill)

    def _object(self, entry: Any) -> Any:
        listed = listed_classes().get(entry["@object"])
        state = {name: self.value(node) for name, node in entry["state"].items()}
        if listed is None:
            return TRUSTED_FORM.build(self._trusted[entry["@object"]], state)
        return listed.form.build(listed.cls, state)

    def _function(self, node: Any) -> Any:
        name = node["@function"]
        return self._trusted[name] if name in self._trusted else function_of(name)


def _array_of_objects(items: list[Any], shape: list[int]) -> NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):  # one by one: an assignment at once would look into lists and arrays
        array[number] = item
    return array.reshape(shape)


_ENTRIES: dict[str, Callable[[Builder, Any], Any]] = {
    "@array": Builder._array,
    "@labels": Builder._labels,
    "@objects": Builder._objects,
    "@masked": Builder._masked,
    "@object": Builder._object,
}
_VALUES: dict[str, Callable[[Builder, Any], Any]] = {
    "@ref": lambda builder, node: builder._built[node["@ref"]],
    "@tuple": lambda builder, node: tuple(builder.value(node["@tuple"])),
    "@dict": lambda builder, node: {builder.value(key): builder.value(value) for key, value in node["@dict"]},
    "@slice": lambda builder, node: slice(*builder.value(node["@slice"])),
    "@number": lambda builder, node: getattr(np, node["@number"])(builder.value(node["value"])),
    "@moment": lambda _, node: np.array(node["value"], dtype=np.int64).astype(node["@moment"])[()],
    "@interval": lambda builder, node: import_module("pandas").Interval(
        *builder.value(node["@interval"]), closed=node["closed"]
    ),
    "@missing": lambda _, node: import_module("pandas").NA,  # noqa: ARG005
    "@function": Builder._function,
    "@body": lambda _, node: body_of(node["@body"], node["options"]),
    "@float": lambda _, node: float(node["@float"]),
    "@type": lambda _, node: TYPES[node["@type"]],
    "@dtype": lambda _, node: np.dtype(node["@dtype"]),
    "@date": lambda _, node: date.fromisoformat(node["@date"]),
    "@datetime": lambda _, node: datetime.fromisoformat(node["@datetime"]),
    "@timedelta": lambda _, node: timedelta(*node["@timedelta"]),
    "@decimal": lambda _, node: Decimal(node["@decimal"]),
}
