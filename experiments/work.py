"""Do independent pieces of work side by side, keep what is finished, and show how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import joblib
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments import store

Rows = list[dict[str, Any]]


class Keyed(Protocol):
    """Anything that names itself by plain values."""

    @property
    def key(self) -> dict[str, Any]:
        """Plain values that name the piece of work."""
        ...


@dataclass(frozen=True)
class Work:
    """One kind of work: its name in the store, what it needs, and the function that does it."""

    kind: str
    argument: Keyed
    function: Callable[[Any], Rows]

    def stored(self) -> Rows | None:
        """The result of an earlier run of the command."""
        return store.read(self.kind, self.argument.key)

    def finish(self) -> None:
        """Do it and keep the result."""
        store.write(self.kind, self.argument.key, self.function(self.argument))


def finish_all(works: Iterable[Work], *, n_jobs: int) -> None:
    """Do what is not stored yet."""
    missing = [work for work in works if work.stored() is None]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn()) as progress:
        task = progress.add_task("experiments", total=len(missing))
        done = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            joblib.delayed(work.finish)() for work in missing
        )
        for _ in done:
            progress.advance(task)


def results(works: Sequence[Work]) -> Rows:
    """Rows of all works; every work must be finished."""
    rows: Rows = []
    for work in works:
        stored = work.stored()
        if stored is None:
            raise LookupError(f"{work.kind} {work.argument.key} is not finished; run `make paper` again to finish it")
        rows += stored
    return rows
