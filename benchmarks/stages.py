"""What the benchmarks of clusters share: a clock for each stage of a fit, and the memory of this process."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Stages:
    """Seconds by the name of what took them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note what the block takes."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function with a clock."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return function(*args, **kwargs)

        return run


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give an attribute another value for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class Added:
    """The size of something, and what it added to the memory of this process."""

    def __init__(self, make: Callable[[], Any]) -> None:
        before = megabytes_here()
        self.made = make()
        self.of_process = megabytes_here() - before
        self.megabytes = len(pickle.dumps(self.made)) / 1e6


def megabytes_here() -> float:
    """Memory of this process, of Linux."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6
