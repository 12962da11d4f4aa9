"""Do independent pieces of work side by side, keep what is finished, and show how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import joblib
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments import store
from experiments.stamps import accepts, code_of

Rows = list[dict[str, Any]]


class Keyed(Protocol):
    """Anything that names itself by plain values."""

    @property
    def key(self) -> dict[str, Any]:
        """Plain values that name the piece of work."""
        ...


@dataclass(frozen=True, order=True)
class Named:
    """What names itself by its own values, in tables and in the cache."""

    @property
    def key(self) -> dict[str, Any]:
        """The values by their names."""
        return asdict(self)


@dataclass(frozen=True)
class Work:
    """One piece of work: the kind, what it is about, under which settings, and the function that does it.

    Settings are part of the name under which the result is kept: with others it is done again.
    """

    kind: str
    argument: Keyed
    function: Callable[[Any], Rows]
    settings: str = ""

    @property
    def key(self) -> dict[str, Any]:
        """What names the result."""
        return {**self.argument.key, "settings": self.settings}

    def stored(self) -> store.Stored | None:
        """The result of an earlier run of the command."""
        return store.read(self.kind, self.key)

    @property
    def code(self) -> str:
        """The stamp of the code that does it today."""
        return code_of(self.function.__module__)

    def is_current(self) -> bool:
        """Whether there is a result, and today's code stands behind it."""
        stored = self.stored()
        return stored is not None and accepts(self.kind, stored.code)

    def finish(self) -> str | None:
        """Do it and keep the result; a failure is returned, so that the other work goes on."""
        start = time.process_time()
        try:
            rows = self.function(self.argument)
        except Exception as error:
            return f"{self.kind} {self.argument}: {type(error).__name__}: {error}"
        store.write(self.kind, self.key, store.Stored(rows, time.process_time() - start, self.code))
        return None


def finish_all(works: Iterable[Work], *, n_jobs: int, keep: bool = False) -> None:
    """Do what is not stored yet, or was done by other code unless `keep`; failures are told at the end."""
    missing = [work for work in works if (work.stored() is None if keep else not work.is_current())]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    failures = []
    with Progress(*columns, TimeRemainingColumn()) as progress:
        task = progress.add_task("experiments", total=len(missing))
        done = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            joblib.delayed(work.finish)() for work in missing
        )
        for failure in done:
            failures += [failure] if failure else []
            progress.advance(task)
    if failures:
        raise RuntimeError(f"{len(failures)} of {len(missing)} pieces of work failed:\n" + "\n".join(failures))


def results(works: Sequence[Work]) -> Rows:
    """Rows of all works; every work must be finished."""
    return [row for stored in _finished(works) for row in stored.rows]


def seconds(works: Sequence[Work]) -> float:
    """How long all works took together, one after the other."""
    return sum(stored.seconds for stored in _finished(works))


def _finished(works: Sequence[Work]) -> Iterable[store.Stored]:
    for work in works:
        stored = work.stored()
        if stored is None:
            raise LookupError(f"{work.kind} {work.argument} is not finished; run `make paper` again to finish it")
        yield stored
