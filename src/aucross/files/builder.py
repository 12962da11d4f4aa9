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
    """Builds a description that a :class:`~aucross.files.checker.Checker` has let pass.

    Parameters
    ----------
    entries : list
        The description.
    arrays : sequence of bytearray
        The .npy files that it refers to, in order.
    trusted : mapping of name to class or function
        What may be named beside the list.
    """

    def __init__(self, entries: list[Any], arrays: Sequence[bytearray], trusted: Mapping[str, Any]) -> None:
        self._entries = entries
        self._arrays = iter(arrays)
        self._trusted = trusted
        self._built: list[Any] = []

    def build(self) -> Any:
        """The object of the last entry."""
        for entry in self._entries:
            self._built.append(_ENTRIES[kind_of(entry)](self, entry))
        return self._built[-1]

    def value(self, node: Any) -> Any:
        """The value of a node."""
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

    # ---- values ----

    def _reference(self, node: Any) -> Any:
        return self._built[node["@ref"]]

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self.value(node["@tuple"]))

    def _dict(self, node: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(value) for key, value in node["@dict"]}

    def _slice(self, node: Any) -> slice:
        return slice(*self.value(node["@slice"]))

    def _number(self, node: Any) -> Any:
        return getattr(np, node["@number"])(self.value(node["value"]))

    def _moment(self, node: Any) -> Any:
        return np.array(node["value"], dtype=np.int64).astype(node["@moment"])[()]

    def _interval(self, node: Any) -> Any:
        return import_module("pandas").Interval(*self.value(node["@interval"]), closed=node["closed"])

    def _missing(self, node: Any) -> Any:  # noqa: ARG002
        return import_module("pandas").NA

    def _function(self, node: Any) -> Any:
        name = node["@function"]
        return self._trusted[name] if name in self._trusted else function_of(name)

    def _body(self, node: Any) -> Any:
        return body_of(node["@body"], node["options"])


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
    "@ref": Builder._reference,
    "@tuple": Builder._tuple,
    "@dict": Builder._dict,
    "@slice": Builder._slice,
    "@number": Builder._number,
    "@moment": Builder._moment,
    "@interval": Builder._interval,
    "@missing": Builder._missing,
    "@function": Builder._function,
    "@body": Builder._body,
    "@float": lambda _, node: float(node["@float"]),
    "@type": lambda _, node: TYPES[node["@type"]],
    "@dtype": lambda _, node: np.dtype(node["@dtype"]),
    "@date": lambda _, node: date.fromisoformat(node["@date"]),
    "@datetime": lambda _, node: datetime.fromisoformat(node["@datetime"]),
    "@timedelta": lambda _, node: timedelta(*node["@timedelta"]),
    "@decimal": lambda _, node: Decimal(node["@decimal"]),
}
