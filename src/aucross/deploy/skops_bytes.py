"""Models as skops writes them, metadata requests included.

A request refers back to the estimator that it belongs to, and skops cannot store a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zipfile import ZIP_STORED

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from aucross.system.libraries import import_library


def skops_bytes(value: Any, *, compression: int = ZIP_STORED) -> bytes:
    """An array, a model or a list of them in the format of skops."""
    with _owners_by_name(value):
        return skops_io().dumps(value, compression=compression)


def skops_io() -> Any:
    """The module that writes and reads."""
    return import_library("skops.io", purpose="a saved classifier", extra="deploy")


@contextmanager
def _owners_by_name(value: Any) -> Iterator[None]:
    """While it lasts, requests inside a value refer to their owner by the name of its class.

    The owner is there for messages alone, so a loaded request with a name does what it did before.
    """
    owners = [(request, request.owner) for request in _requests_in(value, set())]
    for request, owner in owners:
        request.owner = owner if isinstance(owner, str) else type(owner).__name__
    try:
        yield
    finally:
        for request, owner in owners:
            request.owner = owner


def _requests_in(value: Any, seen: set[int]) -> Iterator[Any]:
    """Every object with an owner among the attributes and items of models, each once."""
    # Splitters and scorers ask for metadata too.
    is_model = isinstance(value, BaseEstimator) or hasattr(value, "_metadata_request")
    is_object_array = isinstance(value, np.ndarray) and value.dtype == object
    holds_some = is_model or is_object_array or isinstance(value, MetadataRequest | Mapping | list | tuple)
    if not holds_some or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, MetadataRequest):
        yield value
        yield from (part for part in vars(value).values() if hasattr(part, "owner"))
        return
    if is_model:
        items = vars(value).values()
    elif is_object_array:
        items = value.flat  # rows of it would be new objects each time
    else:
        items = value.values() if isinstance(value, Mapping) else value
    for item in items:
        yield from _requests_in(item, seen)
