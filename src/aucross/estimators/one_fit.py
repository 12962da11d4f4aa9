"""A method sees one fit from beginning to end, whatever other threads do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


# The copy of one fit on which a method is running in this thread, so that the methods it calls need no other.
_seen: ContextVar[Any] = ContextVar("_seen", default=None)


def of_one_fit(method: Method) -> Method:
    """Let a method see one fit from beginning to end, even if another thread fits the same object meanwhile.

    A fit puts its results in place by one assignment of all attributes, so a copy of them belongs to one fit. The
    outermost method makes the copy, and those that it calls run on the same one.
    """

    @wraps(method)
    def on_a_copy(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _seen.get() is self:
            return method(self, *args, **kwargs)
        seen = object.__new__(type(self))
        seen.__dict__ = self.__dict__.copy()
        token = _seen.set(seen)
        try:
            return method(seen, *args, **kwargs)
        finally:
            _seen.reset(token)

    return cast("Method", on_a_copy)
