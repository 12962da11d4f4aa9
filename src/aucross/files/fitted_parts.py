"""Whether a classifier still consists of the objects that it consisted of before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from aucross.files.fingerprints import MODEL_PARTS, RULE


def fitted_parts(clf: Any) -> list[Any]:
    """The objects that decide on rows: what models hold, down through models within models.

    A fit, also one of a model deep inside, replaces at least one of them. Numbers changed inside an array do not.
    """
    state = vars(clf)
    seen: set[int] = set()
    return list(chain.from_iterable(_parts(state[name], seen) for name in (*MODEL_PARTS, RULE) if name in state))


def same_parts(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Whether both are the same objects, not merely equal ones."""
    return len(ours) == len(theirs) and all(one is other for one, other in zip(ours, theirs, strict=True))


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    yield value
    if id(value) in seen:
        return
    seen.add(id(value))
    inside: Any = ()
    if hasattr(value, "get_params"):
        inside = vars(value).values()
    elif isinstance(value, dict):
        inside = value.values()
    elif isinstance(value, list | tuple):
        inside = value
    for part in inside:
        yield from _parts(part, seen)
