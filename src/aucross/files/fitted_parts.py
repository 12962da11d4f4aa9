"""Whether a classifier still consists of the objects that it consisted of before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

# A longer list holds the members of an ensemble; a fit replaces the whole list.
_LONGEST_LIST = 20


def fitted_parts(clf: Any) -> list[Any]:
    """List what a fit replaces: the fitted value, and what its models hold, down through models within models.

    A fit of the classifier puts another fitted value in its place. A model that was kept as it is and is trained again
    elsewhere gets other attributes. Numbers changed inside an array are not noticed.
    """
    fitted, seen = clf.fitted_, set[int]()
    models = [fitted.estimator, fitted.gate, *fitted.judges]
    return [fitted, *(part for model in models for part in _parts(model, seen))]


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
    elif isinstance(value, list | tuple) and len(value) <= _LONGEST_LIST:
        inside = value
    for part in inside:
        yield from _parts(part, seen)
