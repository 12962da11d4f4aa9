"""What the benchmarks of clusters share: a clock for each stage of a fit, and the memory of this process."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aucross.cluster.engine import Part
from aucross.core import ScoreRounding

READ, TRAIN, COUNT, OTHER = "reading, folds", "training", "scores and counts", "the other statistic"


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


@contextmanager
def timed_verbs(rows: type, stages: Stages, sizes: dict[int, Added]) -> Iterator[None]:
    """Time what a fit asks of an engine's rows; held-out scores of the same models are counted by both statistics."""
    count: Any = rows.counted  # type: ignore[attr-defined]

    def counted(self: Any, part: Any, sent: Any, merge: Any, reads: Any = Part._fields) -> Any:
        if "X" not in reads:
            with stages.stage(READ):
                return count(self, part, sent, merge, reads)
        with stages.stage(COUNT):
            sizes[20] = Added(lambda: count(self, part, sent, merge, reads))
        with stages.stage(OTHER):
            other = sent._replace(rounding=ScoreRounding(32))
            sizes[32] = Added(lambda: count(self, part, other, merge, reads))
        return sizes[20].made

    trained = stages.timed(TRAIN, rows.train)  # type: ignore[attr-defined]
    with replaced(rows, "counted", counted), replaced(rows, "train", trained):
        yield


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
