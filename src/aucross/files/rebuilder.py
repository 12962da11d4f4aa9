"""Check a description as a whole, and then build it entry by entry.

The kinds of nodes are a closed list. The check ensures that each node has exactly the parts of its kind; that each
class is listed or trusted and has only allowed attributes; that each object stands where its role permits; and that
nothing exceeds its limit of size or depth. Building calls nothing that a description names: it sets attributes, or runs
steps written in this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from aucross.files import roles
from aucross.files.archive import RefusedError
from aucross.files.description import MOST_DEPTH, array_of, checked_size, is_shape, is_stored_dtype
from aucross.files.forms import TRUSTED_FORM, inherited_attributes
from aucross.files.listed import BODIES, FUNCTIONS, NUMBERS, TYPES, body_of, function_of, listed_classes

MOST_NODES = 5_000_000
# Keys whose hash the author of a file can choose: many of an equal hash would never come to an end.
MOST_COMPOUND_KEYS = 1000
_LARGEST_KEY = 2**60
# What it takes to build with an array, as a multiple of its size: it may be copied, compared and sorted. The text of a
# booster is parsed, and rows of neighbours are put into a tree of their own.
_COPIES = 3
_COPIES_IN = {"text": 32, "_fit_X": 16}

_TEXT_DTYPE = re.compile(r"<U(\d{1,6})")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.+-]{5,30}")
_DECIMAL = re.compile(r"-?[0-9]{1,50}(\.[0-9]{1,50})?(E[+-]?[0-9]{1,4})?|-?Infinity|NaN")
_FLOATS = ("nan", "inf", "-inf")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_LONGEST_NAME = 200
_PLAIN = (bool, int, float, str, type(None))


def kind_of(node: Any) -> str:
    """Return the kind of a node with parts: the first of its names."""
    return next(iter(node), "") if isinstance(node, dict) else ""


class Rebuilder:
    """Checks a description and its arrays entry by entry, limits the memory for building, and builds the object."""

    def __init__(self, entries: Any, arrays: Sequence[bytes | bytearray], limit: int) -> None:
        # What is named beside the list: the caller has to know whether it is trusted.
        self.further_classes: set[str] = set()
        self.further_functions: set[str] = set()
        self.bytes_taken = sum(map(len, arrays))  # by building, as far as it has been checked
        self._entries = entries
        self._arrays = arrays
        self._limit = limit
        self._nodes_left = MOST_NODES
        self._n_arrays = 0
        self._place = "its description"
        # Of the entries checked so far: the roles of what they are, how deep they reach, the bytes of their arrays.
        self._roles: list[frozenset[str]] = []
        self._depths: list[int] = []
        self._sizes: list[int] = []
        # Of the part that is being checked.
        self._found: set[str] = set()
        self._depth = 0
        # Of what is being built.
        self._trusted: Mapping[str, Any] = {}
        self._unread: Iterator[bytearray] = iter(())
        self._built: list[Any] = []

    def check_nodes(self, class_name: str) -> None:
        """Refuse nodes of unknown kinds, in wrong places or of wrong sizes; import nothing.

        ``class_name`` is the class of the last entry, without its module.
        """
        if not isinstance(self._entries, list) or not self._entries:
            self._refuse("it must be a list of entries")
        with self._refusing():
            for number, entry in enumerate(self._entries):
                self._place, self._found, self._depth = f"entry {number}", set(), 0
                self._sizes.append(self._checked_kind(entry, _ENTRIES, "entries").check(self, entry))
                is_object = kind_of(entry) == "@object"
                self._roles.append(frozenset({self._role(entry["@object"])} if is_object else self._found))
                self._depths.append(self._depth + 1)
                if self._depth >= MOST_DEPTH:
                    self._refuse(f"it lies deeper than {MOST_DEPTH} levels")
        if self._n_arrays != len(self._arrays):
            self._refuse("it must refer to every array of the file")
        last = self._entries[-1]
        self._place = "its last entry"
        if kind_of(last) != "@object" or last["@object"].rpartition(".")[2] != class_name:
            self._refuse(f"it must be the {class_name} that the header names")

    def build(self, trusted: Mapping[str, Any]) -> Any:
        """Refuse attributes that a class must not have, then build all entries; return the object of the last entry.

        ``trusted`` maps names to further classes and functions, whose modules are imported.
        """
        for name in self.further_classes | self.further_functions:
            self._place = name
            if isinstance(trusted[name], type) != (name in self.further_classes) or not callable(trusted[name]):
                self._refuse("it is used for something else than it is")
        with self._refusing():
            for entry in self._entries:
                if kind_of(entry) == "@object":
                    self._check_names_of(entry["@object"], entry["state"], trusted)
        self._trusted, self._built = trusted, []
        self._unread = (array if isinstance(array, bytearray) else bytearray(array) for array in self._arrays)
        for entry in self._entries:
            self._built.append(_ENTRIES[kind_of(entry)].build(self, entry))
        built, self._built = self._built[-1], []  # what nothing refers to is not kept
        return built

    def _refuse(self, reason: str) -> NoReturn:
        raise RefusedError(f"{self._place}: {reason}")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn the error of a rule into a refusal that names the place in the description."""
        try:
            yield
        except RefusedError:
            raise
        except ValueError as error:
            self._refuse(str(error))

    # ---- entries ----

    def _check_array(self, entry: Any) -> int:
        if self._n_arrays >= len(self._arrays):
            self._refuse("it refers to an array that is not in the file")
        self._n_arrays += 1
        return checked_size(entry, self._arrays[self._n_arrays - 1])

    def _check_labels(self, entry: Any) -> int:
        self._check_list(entry["@labels"], 1)
        width = 8
        if entry["dtype"] != "|O":
            match = _TEXT_DTYPE.fullmatch(entry["dtype"]) if isinstance(entry["dtype"], str) else None
            if match is None or not all(isinstance(label, str) for label in entry["@labels"]):
                self._refuse("labels must be text, or objects")
            width = 4 * int(match[1])
        self._check_value(entry["codes"], 1)
        codes = self._entries[entry["codes"]["@ref"]] if self._kind_referred_to(entry["codes"]) == "@array" else {}
        if codes.get("@array", "  ")[1] != "u":
            self._refuse("codes must be an array of whole numbers")
        return self._spend(width * (len(entry["@labels"]) + prod(codes["shape"])))

    def _labels(self, entry: Any) -> NDArray[Any]:
        labels = self._value(entry["@labels"])
        distinct, codes = _array_of_objects(labels, [len(labels)]), self._value(entry["codes"])
        if codes.max(initial=0) >= max(len(labels), 1):
            raise ValueError("codes must be among the labels")
        if entry["dtype"] != "|O":
            distinct = distinct.astype(entry["dtype"])
        # One by one and then in shape: of an array without dimensions, indexing would return the label itself.
        taken = distinct[codes.ravel()] if labels else np.empty(codes.size, dtype=distinct.dtype)
        return taken.reshape(codes.shape)

    def _check_objects(self, entry: Any) -> int:
        self._check_list(entry["@objects"], 1)
        if not is_shape(entry["shape"]) or prod(entry["shape"]) != len(entry["@objects"]):
            self._refuse("an array of objects must fill its shape")
        return 8 * len(entry["@objects"])

    def _check_masked(self, entry: Any) -> int:
        for part in ("@masked", "mask"):
            self._check_value(entry[part], 1)
            if self._kind_referred_to(entry[part]) not in ("@array", "@labels", "@objects"):
                self._refuse("a masked array must refer to arrays")
        # numpy makes an array of whatever it is given to fill up with, so it must be plain.
        if type(entry["fill"]) not in _PLAIN and kind_of(entry["fill"]) not in ("@float", "@number", "@moment"):
            self._refuse("a masked array must be filled up with a number or text")
        self._check_value(entry["fill"], 1)
        return self._sizes[entry["@masked"]["@ref"]] + self._sizes[entry["mask"]["@ref"]]

    def _masked(self, entry: Any) -> Any:
        data, mask, fill = (self._value(entry[part]) for part in ("@masked", "mask", "fill"))
        return np.ma.MaskedArray(data, mask=mask, fill_value=fill)

    def _kind_referred_to(self, node: Any) -> str:
        """Return the kind of the entry to which a checked node refers; empty if the node is no reference."""
        return kind_of(self._entries[node["@ref"]]) if kind_of(node) == "@ref" else ""

    def _check_object(self, entry: Any) -> int:
        name, state = entry["@object"], entry["state"]
        if not _is_dotted_name(name) or not isinstance(state, dict):
            self._refuse("an object must have the name of a class and a state")
        self._role(name)
        for attribute, node in state.items():
            self._place, self._found = f"{name}.{attribute}"[:200], set()
            if not attribute.isidentifier():
                self._refuse("it is no name of an attribute")
            self._check_value(node, 1)
            # Whoever trusts a class trusts it with anything on the list; its words are looked at when they are known.
            is_trusted = name in self.further_classes
            wrong = self._found - roles.roles_in(attribute, is_own=name.startswith("aucross."))
            if wrong and not is_trusted:
                self._refuse(f"it must not hold a {min(wrong)}")
            roles.check_plain_value(attribute, node)
            if not is_trusted:
                self._check_words(attribute, node)
            if attribute in _COPIES_IN and kind_of(node) == "@ref":
                self._spend(_COPIES_IN[attribute] * self._sizes[node["@ref"]])
        return 0

    def _check_words(self, attribute: str, node: Any) -> None:
        roles.check_words_of_methods(attribute, node)
        is_plain = "method" in attribute or attribute in roles.OPTIONS  # an array could hide a word, or be written to
        if is_plain and any(self._kind_referred_to(part) not in ("", "@object") for part in roles.nodes_in(node)):
            self._refuse("it must be plain, and not refer to an array")

    def _role(self, name: str) -> str:
        listed = listed_classes().get(name)
        if listed is None or listed.needs_trust:
            self.further_classes.add(name)
        return "model" if listed is None else listed.role

    def _check_names_of(self, name: str, state: Mapping[str, Any], trusted: Mapping[str, Any]) -> None:
        self._place = name
        listed = listed_classes().get(name)
        if listed is not None:
            listed.form.check_names(listed.cls, state)
            return
        TRUSTED_FORM.check_names(trusted[name], state)
        for attribute in state.keys() & inherited_attributes(trusted[name]):
            self._check_words(attribute, state[attribute])

    def _object(self, entry: Any) -> Any:
        listed = listed_classes().get(entry["@object"])
        state = {name: self._value(node) for name, node in entry["state"].items()}
        if listed is None:
            return TRUSTED_FORM.build(self._trusted[entry["@object"]], state)
        return listed.form.build(listed.cls, state)

    # ---- values ----

    def _check_value(self, node: Any, depth: int) -> None:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            self._refuse(f"it has more than {MOST_NODES:,} nodes")
        if depth > MOST_DEPTH:
            self._refuse(f"it lies deeper than {MOST_DEPTH} levels")
        self._depth = max(self._depth, depth)
        if isinstance(node, list):
            self._check_list(node, depth)
        elif type(node) not in _PLAIN:
            self._checked_kind(node, _VALUES, "values").check(self, node, depth)

    def _value(self, node: Any) -> Any:
        """Build the value of a checked node."""
        if isinstance(node, list):
            return [self._value(item) for item in node]
        return _VALUES[kind_of(node)].build(self, node) if isinstance(node, dict) else node

    def _checked_kind(self, node: Any, kinds: Mapping[str, _Kind], name: str) -> _Kind:
        """Return the kind of a node after checking that it has exactly the parts of its kind."""
        if kind_of(node) not in kinds:
            self._refuse(f"there are no {name} of the kind {kind_of(node)!r}")
        kind = kinds[kind_of(node)]
        if set(node) != {kind_of(node), *kind.further}:
            self._refuse(f"it must have the parts {(kind_of(node), *kind.further)}")
        return kind

    def _check_list(self, nodes: Any, depth: int) -> None:
        if not isinstance(nodes, list):
            self._refuse("a list is expected")
        for node in nodes:
            self._check_value(node, depth + 1)

    def _check_reference(self, node: Any, depth: int) -> None:
        number = node["@ref"]
        if type(number) is not int or not 0 <= number < len(self._roles):
            self._refuse("it must refer to an earlier entry")
        self._found |= self._roles[number]
        self._depth = max(self._depth, depth + self._depths[number])
        # What is used may be copied, so each use counts.
        self._spend(_COPIES * self._sizes[number])

    def _spend(self, n_bytes: int) -> int:
        self.bytes_taken += n_bytes
        if self.bytes_taken > self._limit:
            self._refuse("it would take more memory than a file of its size may")
        return n_bytes

    def _check_dict(self, node: Any, depth: int) -> None:
        pairs = node["@dict"]
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            self._refuse("a dictionary must be a list of pairs")
        n_compound = 0
        for key, value in pairs:
            n_compound += self._check_key(key, depth + 1)
            self._check_value(value, depth + 1)
        if n_compound > MOST_COMPOUND_KEYS:
            self._refuse(f"a dictionary must not have more than {MOST_COMPOUND_KEYS} keys with several parts")

    def _check_key(self, node: Any, depth: int) -> bool:
        """Check a key of a dictionary, and return whether it has several parts."""
        self._check_value(node, depth)
        if type(node) in (int, float):
            if abs(node) >= _LARGEST_KEY:
                self._refuse("keys must be text or numbers of usual size")
            return False
        if type(node) in _PLAIN or kind_of(node) in ("@date", "@datetime", "@float"):
            return False
        if kind_of(node) == "@number":
            return self._check_key(node["value"], depth)
        if kind_of(node) == "@tuple":
            for part in node["@tuple"]:
                self._check_key(part, depth + 1)
        elif kind_of(node) not in ("@interval", "@timedelta", "@decimal", "@moment", "@missing"):
            self._refuse("keys must be text, numbers, dates, or tuples of them")
        return True

    def _check_number(self, node: Any, _: int) -> None:
        value = node["value"]
        is_plain = type(value) in (bool, int, float, str) or kind_of(value) == "@float"
        if node["@number"] not in NUMBERS or not is_plain:
            self._refuse("a number of numpy must have a type and a value")
        self._check_value(value, 1)

    def _check_moment(self, node: Any, _: int) -> None:
        if not is_stored_dtype(node["@moment"]) or node["@moment"][1] not in "mM" or type(node["value"]) is not int:
            self._refuse("a moment must have a unit and a count")

    def _check_dtype(self, node: Any, _: int) -> None:
        name = node["@dtype"]
        is_text = isinstance(name, str) and _TEXT_DTYPE.fullmatch(name) is not None
        if not is_stored_dtype(name) and not is_text and name != "|O":
            self._refuse("it must be the type of an array")
        self._found.add("type")

    def _check_function(self, node: Any, _: int) -> None:
        if not _is_dotted_name(node["@function"]):
            self._refuse("a function must have a name")
        if node["@function"] not in FUNCTIONS:
            self.further_functions.add(node["@function"])
        self._found.add("function")

    def _function(self, node: Any) -> Any:
        name = node["@function"]
        return self._trusted[name] if name in self._trusted else function_of(name)

    def _check_body(self, node: Any, _: int) -> None:
        options = node["options"]
        if node["@body"] not in BODIES or not isinstance(options, dict):
            self._refuse("a body must be a network of the list, with options")
        if any(type(value) not in (bool, int, float) for value in options.values()):
            self._refuse("the options of a network must be numbers")
        self._found.add("body")


def _is_dotted_name(name: Any) -> bool:
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def _array_of_objects(items: list[Any], shape: list[int]) -> NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):  # one by one: an assignment at once would look into lists and arrays
        array[number] = item
    return array.reshape(shape)


# ---- kinds ----


class _Kind(NamedTuple):
    """A kind of node: how it is checked and built, and the names of its parts after the first."""

    check: Callable[..., Any]
    build: Callable[[Rebuilder, Any], Any]
    further: tuple[str, ...] = ()


def _word(kind: str, pattern: re.Pattern[str]) -> Callable[[Rebuilder, Any, int], None]:
    def check(rebuilder: Rebuilder, node: Any, _: int) -> None:
        if not isinstance(node[kind], str) or pattern.fullmatch(node[kind]) is None:
            rebuilder._refuse(f"it is not written as a {kind[1:]} is")

    return check


def _choice(kind: str, choices: Any, role: str | None = None) -> Callable[[Rebuilder, Any, int], None]:
    def check(rebuilder: Rebuilder, node: Any, _: int) -> None:
        if not isinstance(node[kind], str) or node[kind] not in choices:
            rebuilder._refuse(f"{node[kind]!r} is no {kind[1:]} of the list")
        rebuilder._found |= {role} if role else set()

    return check


def _parts(kind: str, n_parts: int, is_part: Callable[[Any], bool], rule: str) -> Callable[[Rebuilder, Any, int], None]:
    def check(rebuilder: Rebuilder, node: Any, depth: int) -> None:
        rebuilder._check_list(node[kind], depth)
        if len(node[kind]) != n_parts or not all(map(is_part, node[kind])):
            rebuilder._refuse(rule)
        if node.get("closed", "both") not in ("left", "right", "both", "neither"):
            rebuilder._refuse("an interval must have a closed side")

    return check


def _is_number(node: Any) -> bool:
    return type(node) in (int, float) or kind_of(node) in ("@float", "@number")


_ENTRIES = {
    "@array": _Kind(Rebuilder._check_array, lambda own, entry: array_of(entry, next(own._unread)), ("shape", "order")),
    "@labels": _Kind(Rebuilder._check_labels, Rebuilder._labels, ("codes", "dtype")),
    "@objects": _Kind(
        Rebuilder._check_objects,
        lambda own, entry: _array_of_objects(own._value(entry["@objects"]), entry["shape"]),
        ("shape",),
    ),
    "@masked": _Kind(Rebuilder._check_masked, Rebuilder._masked, ("mask", "fill")),
    "@object": _Kind(Rebuilder._check_object, Rebuilder._object, ("state",)),
}
_VALUES = {
    "@ref": _Kind(Rebuilder._check_reference, lambda own, node: own._built[node["@ref"]]),
    "@tuple": _Kind(
        lambda own, node, depth: own._check_list(node["@tuple"], depth),
        lambda own, node: tuple(own._value(node["@tuple"])),
    ),
    "@dict": _Kind(
        Rebuilder._check_dict, lambda own, node: {own._value(key): own._value(value) for key, value in node["@dict"]}
    ),
    "@slice": _Kind(
        _parts("@slice", 3, lambda _: True, "a slice must have three parts"),
        lambda own, node: slice(*own._value(node["@slice"])),
    ),
    "@number": _Kind(
        Rebuilder._check_number, lambda own, node: getattr(np, node["@number"])(own._value(node["value"])), ("value",)
    ),
    "@moment": _Kind(
        Rebuilder._check_moment,
        lambda _, node: np.array(node["value"], dtype=np.int64).astype(node["@moment"])[()],
        ("value",),
    ),
    "@interval": _Kind(
        _parts("@interval", 2, _is_number, "an interval must have two ends that are numbers"),
        lambda own, node: import_module("pandas").Interval(*own._value(node["@interval"]), closed=node["closed"]),
        ("closed",),
    ),
    "@timedelta": _Kind(
        _parts("@timedelta", 3, lambda part: type(part) is int, "a span must have three whole numbers"),
        lambda _, node: timedelta(*node["@timedelta"]),
    ),
    "@function": _Kind(Rebuilder._check_function, Rebuilder._function),
    "@body": _Kind(Rebuilder._check_body, lambda _, node: body_of(node["@body"], node["options"]), ("options",)),
    "@dtype": _Kind(Rebuilder._check_dtype, lambda _, node: np.dtype(node["@dtype"])),
    "@float": _Kind(_choice("@float", _FLOATS), lambda _, node: float(node["@float"])),
    "@missing": _Kind(_choice("@missing", ("pandas.NA",)), lambda *_: import_module("pandas").NA),
    "@type": _Kind(_choice("@type", TYPES, "type"), lambda _, node: TYPES[node["@type"]]),
    "@date": _Kind(_word("@date", _DATE), lambda _, node: date.fromisoformat(node["@date"])),
    "@datetime": _Kind(_word("@datetime", _DATETIME), lambda _, node: datetime.fromisoformat(node["@datetime"])),
    "@decimal": _Kind(_word("@decimal", _DECIMAL), lambda _, node: Decimal(node["@decimal"])),
}
