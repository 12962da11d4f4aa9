"""Decisions for all requests that wait: one pass of the model, one write to the log, one wait for the disk.

While a write is forced to the disk, further requests gather; the next turn takes them all. So the more requests there
are, the less each pays for the disk.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.scored_rows import ScoredRows
from aucross.estimators.decisions import Decisions
from aucross.record.log import DecisionLog
from aucross.serve.rows import ServedModel


class NotLoggedError(Exception):
    """A decision could not be written to the log, and so it must not be handed out."""


@dataclass
class Job:
    """A request that waits for its decisions."""

    ids: Sequence[str]
    rows: Sequence[Any]
    coverage: float
    done: asyncio.Future[Decided] = field(repr=False)


@dataclass(frozen=True)
class Decided:
    """The decisions on the rows of a request; they are on the disk if there is a log.

    Attributes
    ----------
    decisions : Decisions
        On all rows. One without a score goes to review; its score and its band are NaN.
    has_score : ndarray of bool
        Which rows have a score.
    scored : ScoredRows or None
        Those rows; None if no row has a score.
    """

    decisions: Decisions
    has_score: NDArray[np.bool_]
    scored: ScoredRows | None


class Decider:
    """Takes requests one after the other and decides on all that wait at a time.

    Parameters
    ----------
    model : ServedModel
        Decides.
    log : DecisionLog, optional
        Where decisions go before they are handed out.
    most_rows : int, default=10_000
        Rows that one turn takes, unless a single request has more.
    """

    def __init__(self, model: ServedModel, log: DecisionLog | None = None, most_rows: int = 10_000) -> None:
        self._model = model
        self._log = log
        self._most_rows = most_rows
        self._waiting: asyncio.Queue[Job] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    async def decide(self, ids: Sequence[str], rows: Sequence[Any], coverage: float) -> Decided:
        """Decide on typed rows; returns when the decisions are on the disk."""
        job = Job(ids, rows, coverage, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(job)
        return await job.done

    async def check_log(self) -> None:
        """Raise a NotLoggedError if no decision could be logged now."""
        if self._log is None:
            return
        try:
            await asyncio.to_thread(self._log.check)
        except Exception as error:
            raise NotLoggedError(str(error)) from error

    def start(self) -> None:
        """Begin to take requests, within a running event loop."""
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End; requests that still wait get no decision."""
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker

    async def _work(self) -> None:
        while True:
            jobs = await self._all_waiting()
            outcomes = await asyncio.to_thread(self._outcomes, jobs)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if job.done.cancelled():  # the caller has gone
                    continue
                if isinstance(outcome, Exception):
                    job.done.set_exception(outcome)
                else:
                    job.done.set_result(outcome)

    async def _all_waiting(self) -> list[Job]:
        jobs = [await self._waiting.get()]
        n_rows = len(jobs[0].rows)
        while not self._waiting.empty() and n_rows < self._most_rows:
            jobs.append(self._waiting.get_nowait())
            n_rows += len(jobs[-1].rows)
        return jobs

    def _outcomes(self, jobs: Sequence[Job]) -> list[Decided | Exception]:
        """What comes of each request. Rows that the model refuses must not take those of others with them."""
        try:
            return list(self._decided(jobs))
        except NotLoggedError as error:
            return [error] * len(jobs)
        except Exception as error:
            return [error] if len(jobs) == 1 else [outcome for job in jobs for outcome in self._outcomes([job])]

    def _decided(self, jobs: Sequence[Job]) -> list[Decided]:
        typed = [row for job in jobs for row in job.rows]
        has_score = self._model.has_score(typed)
        known = [row for row, has in zip(typed, has_score.tolist(), strict=True) if has]
        scored = self._model.scored(known) if known else None
        ends = np.cumsum([len(job.rows) for job in jobs])
        places = [slice(end - len(job.rows), end) for end, job in zip(ends, jobs, strict=True)]
        by_coverage: defaultdict[float, list[int]] = defaultdict(list)
        for number, job in enumerate(jobs):
            by_coverage[job.coverage].append(number)
        decided: dict[int, Decided] = {}
        to_log: list[tuple[list[str], Decisions]] = []
        for coverage, numbers in by_coverage.items():
            together = _part(scored, has_score, _positions([places[number] for number in numbers]))
            decisions = self._decisions(*together, coverage)
            to_log.append(([name for number in numbers for name in jobs[number].ids], decisions))
            decided |= _by_job({number: len(jobs[number].rows) for number in numbers}, *together, decisions)
        # After all have been decided: what raises an error is decided again one by one, and must not be logged twice.
        for ids, decisions in to_log:
            self._write(ids, decisions)
        return [decided[number] for number in range(len(jobs))]

    def _decisions(self, rows: ScoredRows | None, has_score: NDArray[np.bool_], coverage: float) -> Decisions:
        """Decisions on rows of one coverage, those without a score among them."""
        clf = self._model.clf
        if rows is None:
            score, lower, upper = np.full((3, len(has_score)), np.nan)
            selected = np.zeros(len(has_score), dtype=bool)
            return Decisions(selected, score, coverage, lower, upper, decided_by=clf.band_rule_)
        known = clf.decide(rows, None if coverage == clf.coverage else coverage)
        return known.with_unscored(has_score)

    def _write(self, ids: Sequence[str], decisions: Decisions) -> None:
        if self._log is None:
            return
        try:
            self._log.append(ids, decisions)
        except Exception as error:
            raise NotLoggedError(str(error)) from error


def _positions(places: Sequence[slice]) -> NDArray[np.intp]:
    return np.concatenate([np.arange(place.start, place.stop) for place in places])


def _part(
    scored: ScoredRows | None, has_score: NDArray[np.bool_], positions: NDArray[np.intp]
) -> tuple[ScoredRows | None, NDArray[np.bool_]]:
    """Some of the rows: those with a score, and which they are."""
    has = has_score[positions]
    if scored is None or not has.any():
        return None, has
    among_scored = np.cumsum(has_score) - 1
    return scored.take(among_scored[positions[has]]), has


def _by_job(
    n_rows: dict[int, int], scored: ScoredRows | None, has_score: NDArray[np.bool_], decisions: Decisions
) -> dict[int, Decided]:
    """Rows and decisions taken apart again, by the number of the request."""
    decided, first = {}, 0
    for number, n in n_rows.items():
        positions = np.arange(first, first + n)
        first += n
        rows, has = _part(scored, has_score, positions)
        decided[number] = Decided(decisions.take(positions), has, rows)
    return decided
