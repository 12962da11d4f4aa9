"""The check of a description, done before anything of it is built.

It knows a closed list of kinds of nodes. It sees to it that each node has exactly the parts of its kind; that each
class is on the list, or trusted by the caller, and has attributes that it may have; that each object stands where
objects of its role may stand; and that nothing is larger or deeper than its limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NoReturn

from aucross.files.archive import RefusedError
from aucross.files.description import MOST_DEPTH
from aucross.files.forms import TRUSTED_FORM, inherited_attributes
from aucross.files.listed import BODIES, FUNCTIONS, NUMBERS, TYPES, listed_classes
from aucross.files.npy import checked_size, is_shape, is_stored_dtype
from aucross.files.roles import (
    check_plain_value,
    check_words_of_methods,
    is_without_arrays,
    nodes_in,
    roles_in,
)

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
_NOTHING: frozenset[str] = frozenset()


def kind_of(node: Any) -> str:
    """Return the kind of a node with parts: the first of its names."""
    return next(iter(node), "") if isinstance(node, dict) else ""


def _is_dotted_name(name: Any) -> bool:
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


class Checker:
    """Checks a description against its arrays, in order, and limits the bytes that building may take."""

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

    def check_nodes(self, class_name: str) -> None:
        """Refuse nodes of unknown kinds, in wrong places or of wrong sizes; import nothing.

        ``class_name`` is that of the last entry, without its module.
        """
        if not isinstance(self._entries, list) or not self._entries:
            self._refuse("it must be a list of entries")
        for entry in self._entries:
            with self._refusing():
                self._check_entry(entry)
        if self._n_arrays != len(self._arrays):
            self._refuse("it must refer to every array of the file")
        last = self._entries[-1]
        self._place = "its last entry"
        if kind_of(last) != "@object" or last["@object"].rpartition(".")[2] != class_name:
            self._refuse(f"it must be the {class_name} that the header names")

    def check_attributes(self, trusted: Mapping[str, Any]) -> None:
        """Refuse attributes that a class must not have; imports the modules of the classes."""
        for name in self.further_classes | self.further_functions:
            self._place = name
            if isinstance(trusted[name], type) != (name in self.further_classes) or not callable(trusted[name]):
                self._refuse("it is used for something else than it is")
        for entry in self._entries:
            if kind_of(entry) == "@object":
                with self._refusing():
                    self._check_names_of(entry["@object"], entry["state"], trusted)

    def _refuse(self, reason: str) -> NoReturn:
        raise RefusedError(f"{self._place}: {reason}")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Say of what a rule refuses where it stands."""
        try:
            yield
        except RefusedError:
            raise
        except ValueError as error:
            self._refuse(str(error))

    # ---- entries ----

    def _check_entry(self, entry: Any) -> None:
        self._place, self._found, self._depth = f"entry {len(self._roles)}", set(), 0
        size = self._check_of(entry, _ENTRIES, "entries")(self, entry)
        roles = {self._role(entry["@object"])} if kind_of(entry) == "@object" else self._found
        self._roles.append(frozenset(roles))
        self._sizes.append(size)
        self._depths.append(self._depth + 1)
        if self._depth >= MOST_DEPTH:
            self._refuse(f"it lies deeper than {MOST_DEPTH} levels")

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
        return self._spend(width * (len(entry["@labels"]) + self._n_elements(entry["codes"])))

    def _n_elements(self, reference: Any) -> int:
        """Return the number of elements in the array of codes to which a node refers."""
        self._check_value(reference, 1)
        codes = self._entries[reference["@ref"]] if self._kind_referred_to(reference) == "@array" else {}
        if codes.get("@array", "  ")[1] != "u":
            self._refuse("codes must be an array of whole numbers")
        return prod(codes["shape"])

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

    def _kind_referred_to(self, node: Any) -> str:
        """Return the kind of the entry to which a checked node refers; empty for other nodes."""
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
            self._check_roles(name, attribute)
            check_plain_value(attribute, node)
            if name not in self.further_classes:  # those have words of their own, and are looked at when they are known
                self._check_words(attribute, node)
            if attribute in _COPIES_IN and kind_of(node) == "@ref":
                self._spend(_COPIES_IN[attribute] * self._sizes[node["@ref"]])
        return 0

    def _check_words(self, attribute: str, node: Any) -> None:
        check_words_of_methods(attribute, node)
        if is_without_arrays(attribute) and any(
            kind_of(part) == "@ref" and self._kind_referred_to(part) != "@object" for part in nodes_in(node)
        ):
            self._refuse("it must be plain, and not refer to an array")

    def _role(self, name: str) -> str:
        listed = listed_classes().get(name)
        if listed is None or listed.needs_trust:
            self.further_classes.add(name)
        return "model" if listed is None else listed.role

    def _check_roles(self, name: str, attribute: str) -> None:
        if name in self.further_classes:  # whoever trusts a class trusts it with anything on the list
            return
        wrong = self._found - roles_in(attribute, is_own=name.startswith("aucross."))
        if wrong:
            self._refuse(f"it must not hold a {min(wrong)}")

    def _check_names_of(self, name: str, state: Mapping[str, Any], trusted: Mapping[str, Any]) -> None:
        self._place = name
        listed = listed_classes().get(name)
        if listed is not None:
            listed.form.check_names(listed.cls, state)
            return
        TRUSTED_FORM.check_names(trusted[name], state)
        for attribute in state.keys() & inherited_attributes(trusted[name]):
            self._check_words(attribute, state[attribute])

    # ---- values ----

    def _check_value(self, node: Any, depth: int) -> None:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            self._refuse(f"it has more than {MOST_NODES:,} nodes")
        if depth > MOST_DEPTH:
            self._refuse(f"it lies deeper than {MOST_DEPTH} levels")
        self._depth = max(self._depth, depth)
        if type(node) in _PLAIN:
            return
        if isinstance(node, list):
            self._check_list(node, depth)
            return
        self._check_of(node, _VALUES, "values")(self, node, depth)

    def _check_of(self, node: Any, kinds: Mapping[str, tuple[Any, ...]], name: str) -> Callable[..., Any]:
        """Return the check of a node that has exactly the parts of its kind."""
        if kind_of(node) not in kinds:
            self._refuse(f"there are no {name} of the kind {kind_of(node)!r}")
        check, *further = kinds[kind_of(node)]
        if set(node) != {kind_of(node), *further}:
            self._refuse(f"it must have the parts {(kind_of(node), *further)}")
        return check

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
        n_compound = 0
        for key, value in self._pairs(node["@dict"]):
            n_compound += self._check_key(key, depth + 1)
            self._check_value(value, depth + 1)
        if n_compound > MOST_COMPOUND_KEYS:
            self._refuse(f"a dictionary must not have more than {MOST_COMPOUND_KEYS} keys with several parts")

    def _pairs(self, pairs: Any) -> list[Any]:
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            self._refuse("a dictionary must be a list of pairs")
        return pairs

    def _check_key(self, node: Any, depth: int) -> bool:
        """Check a key, and say whether it has several parts."""
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

    def _check_body(self, node: Any, _: int) -> None:
        options = node["options"]
        if node["@body"] not in BODIES or not isinstance(options, dict):
            self._refuse("a body must be a network of the list, with options")
        if any(type(value) not in (bool, int, float) for value in options.values()):
            self._refuse("the options of a network must be numbers")
        self._found.add("body")


# ---- kinds ----


def _word(kind: str, pattern: re.Pattern[str]) -> Callable[[Checker, Any, int], None]:
    def check(checker: Checker, node: Any, _: int) -> None:
        if not isinstance(node[kind], str) or pattern.fullmatch(node[kind]) is None:
            checker._refuse(f"it is not written as a {kind[1:]} is")

    return check


def _choice(kind: str, choices: Any, role: str | None = None) -> Callable[[Checker, Any, int], None]:
    def check(checker: Checker, node: Any, _: int) -> None:
        if not isinstance(node[kind], str) or node[kind] not in choices:
            checker._refuse(f"{node[kind]!r} is no {kind[1:]} of the list")
        checker._found |= {role} if role else _NOTHING

    return check


def _parts(kind: str, n_parts: int, is_part: Callable[[Any], bool], rule: str) -> Callable[[Checker, Any, int], None]:
    def check(checker: Checker, node: Any, depth: int) -> None:
        checker._check_list(node[kind], depth)
        if len(node[kind]) != n_parts or not all(map(is_part, node[kind])):
            checker._refuse(rule)
        if node.get("closed", "both") not in ("left", "right", "both", "neither"):
            checker._refuse("an interval must have a closed side")

    return check


def _is_number(node: Any) -> bool:
    return type(node) in (int, float) or kind_of(node) in ("@float", "@number")


# Every kind of entry and of value, with its check and its parts beside the one that is called as the kind is.
_ENTRIES: dict[str, tuple[Any, ...]] = {
    "@array": (Checker._check_array, "shape", "order"),
    "@labels": (Checker._check_labels, "codes", "dtype"),
    "@objects": (Checker._check_objects, "shape"),
    "@masked": (Checker._check_masked, "mask", "fill"),
    "@object": (Checker._check_object, "state"),
}
_VALUES: dict[str, tuple[Any, ...]] = {
    "@ref": (Checker._check_reference,),
    "@tuple": (lambda checker, node, depth: checker._check_list(node["@tuple"], depth),),
    "@dict": (Checker._check_dict,),
    "@slice": (_parts("@slice", 3, lambda _: True, "a slice must have three parts"),),
    "@number": (Checker._check_number, "value"),
    "@moment": (Checker._check_moment, "value"),
    "@dtype": (Checker._check_dtype,),
    "@interval": (_parts("@interval", 2, _is_number, "an interval must have two ends that are numbers"), "closed"),
    "@timedelta": (_parts("@timedelta", 3, lambda part: type(part) is int, "a span must have three whole numbers"),),
    "@function": (Checker._check_function,),
    "@body": (Checker._check_body, "options"),
    "@float": (_choice("@float", _FLOATS),),
    "@missing": (_choice("@missing", ("pandas.NA",)),),
    "@type": (_choice("@type", TYPES, "type"),),
    "@date": (_word("@date", _DATE),),
    "@datetime": (_word("@datetime", _DATETIME),),
    "@decimal": (_word("@decimal", _DECIMAL),),
}
