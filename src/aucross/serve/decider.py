"""Decisions for all requests that wait: one pass of the model, one transaction of the record, one wait for the disk.

While a write is forced to the disk, further requests gather; the next turn takes them all. So the more requests there
are, the less each pays for the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.audit.audit_draw import AuditDraw
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW, Decisions
from aucross.estimators.row_hash import hash_rows
from aucross.estimators.score_column import score_column_in
from aucross.record import DecidedRows, Record, RecordedBatch
from aucross.record.audits import with_audit
from aucross.record.decided_rows import decided_rows
from aucross.record.record_tables import AUDIT
from aucross.serve.served_model import ServedModel
from aucross.watch.keeper import CoverageKeeper, KeptCounts


class NotRecordedError(Exception):
    """A decision could not be recorded, and so it must not be handed out."""


class OtherRequestError(Exception):
    """The key of a request was already used by another request."""


@dataclass
class Job:
    """A request that waits for its decisions; its key names its batch in the record."""

    key: str
    ids: Sequence[str]
    rows: Sequence[Any]
    coverage: float
    done: asyncio.Future[Decided] = field(repr=False)


@dataclass(frozen=True)
class Decided:
    """The decisions on the rows of a request; they are on the disk if there is a record."""

    decisions: Decisions  # a row without a score goes to review, and its score and band are NaN
    has_score: NDArray[np.bool_]
    scored: ScoredRows | None  # the rows that have a score; None if none has
    drawn: NDArray[np.bool_] | None = None  # would be automatic, and go to review for an audit; None if none can

    @property
    def automatic(self) -> NDArray[np.bool_]:
        """Rows whose answer is handed out."""
        return self.decisions.selected if self.drawn is None else self.decisions.selected & ~self.drawn


class Decider:
    """Queue of requests; all that wait are decided together."""

    def __init__(
        self,
        model: ServedModel,
        record: Record | None = None,
        shadow: SelectiveClassifier | None = None,
        keeper: CoverageKeeper | None = None,
        *,
        draw: AuditDraw | None = None,
        most_rows: int = 10_000,
    ) -> None:
        self._model = model
        self._record = record
        self._shadow = None if shadow is None else replace(model, clf=shadow)
        self._keeper = keeper
        self._draw = draw
        self._most_rows = most_rows
        self._waiting: asyncio.Queue[Job] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    async def decide(self, key: str, ids: Sequence[str], rows: Sequence[Any], coverage: float) -> Decided:
        """Decide on typed rows; return when the decisions are on the disk."""
        job = Job(key, ids, rows, coverage, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(job)
        return await job.done

    async def check_record(self) -> None:
        """Raise a NotRecordedError if no decision could be recorded now."""
        if self._record is None:
            return
        try:
            await asyncio.to_thread(self._record.check)
        except Exception as error:
            raise NotRecordedError(str(error)) from error

    def start(self) -> None:
        """Begin to take requests, within a running event loop."""
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Stop; requests that still wait get no decision."""
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker

    async def _work(self) -> None:
        while True:
            jobs = [await self._waiting.get()]
            n_rows = len(jobs[0].rows)
            while not self._waiting.empty() and n_rows < self._most_rows:
                jobs.append(self._waiting.get_nowait())
                n_rows += len(jobs[-1].rows)
            outcomes = await asyncio.to_thread(self._outcomes, jobs)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if job.done.cancelled():  # the caller has gone
                    continue
                if isinstance(outcome, Exception):
                    job.done.set_exception(outcome)
                else:
                    job.done.set_result(outcome)

    def _outcomes(self, jobs: Sequence[Job]) -> list[Decided | Exception]:
        """Return the result of each request; refused rows of one request do not affect the others."""
        try:
            return self._recorded(jobs, self._decided(jobs))
        except NotRecordedError as error:
            return [error] * len(jobs)
        except Exception as error:
            return [error] if len(jobs) == 1 else [outcome for job in jobs for outcome in self._outcomes([job])]

    def _decided(self, jobs: Sequence[Job]) -> list[Decided]:
        clf = self._model.clf
        has_score, scored = self._model.scored([row for job in jobs for row in job.rows])
        if self._keeper is not None:
            return self._kept(self._keeper, jobs, has_score, scored)
        asked = np.repeat([job.coverage for job in jobs], [len(job.rows) for job in jobs])
        coverages = dict.fromkeys(job.coverage for job in jobs)
        selected = np.zeros(len(asked), dtype=bool)
        score, lower, upper = np.full((3, len(asked)), np.nan)
        for coverage in coverages:
            here = has_score & (asked == coverage)
            if scored is not None and here.any():
                found = clf.decide(scored.take(here[has_score]), None if coverage == clf.coverage else coverage)
                selected[here], score[here] = found.selected, found.selection_score
                lower[here], upper[here] = found.lower, found.upper

        def decisions(rows: slice, coverage: float) -> Decisions:
            made = selected[rows], score[rows], coverage, lower[rows], upper[rows]
            return Decisions(*made, decided_by=clf.band_rule_)

        return [
            Decided(decisions(own, job.coverage), has_score[own], rows)
            for job, own, rows in _of_each(jobs, has_score, scored)
        ]

    @staticmethod
    def _kept(
        keeper: CoverageKeeper, jobs: Sequence[Job], has_score: NDArray[np.bool_], scored: ScoredRows | None
    ) -> list[Decided]:
        """Decide requests in order, each from the counts that the previous ones leave; count only what is recorded."""
        turn, decided = copy(keeper), []
        for job, own, rows in _of_each(jobs, has_score, scored):
            made = Decisions(np.empty(0, dtype=bool), np.empty(0), keeper.coverage, np.empty(0), np.empty(0))
            if rows is not None:
                names = np.array(job.ids, dtype=object)[has_score[own]]
                made = turn.decided(rows, hash_rows(rows.rule_input.columns), names)
                turn.add(KeptCounts(*made.counted or ()))
            whole = replace(made.with_unscored(has_score[own]), level=made.level, counted=made.counted, scored=None)
            decided.append(Decided(whole, has_score[own], rows))
        return decided

    def _count(self, decided: Decided) -> None:
        if self._keeper is not None:
            self._keeper.add(KeptCounts(*decided.decisions.counted or ()))

    def _recorded(self, jobs: Sequence[Job], decided: Sequence[Decided]) -> list[Decided | Exception]:
        """Record all decisions; a request whose key belongs to another one gets an error instead of a decision."""
        if self._record is None:
            for each in decided:
                self._count(each)
            return list(decided)
        batches = [_batch(self._model, job, each) for job, each in zip(jobs, decided, strict=True)]
        if self._draw is not None:
            batches = [with_audit(batch, self._draw, self._record.record_id) for batch in batches]
        if self._shadow is not None:
            own = [replace(job, coverage=float(self._shadow.clf.coverage)) for job in jobs]
            seconds = Decider(self._shadow)._decided(own)
            batches = [
                batch.beside(_batch(self._shadow, job, second))
                for batch, job, second in zip(batches, jobs, seconds, strict=True)
            ]
        try:
            written = self._record.write(batches)
        except Exception as error:
            raise NotRecordedError(str(error)) from error
        return [self._handed_out(batch, each) for batch, each in zip(written, decided, strict=True)]

    def _handed_out(self, batch: RecordedBatch | ValueError, decided: Decided) -> Decided | Exception:
        if isinstance(batch, ValueError):
            return OtherRequestError(str(batch))
        if batch.is_new:
            self._count(decided)
        elif self._keeper is not None:
            decided = _as_recorded(decided, batch)
        if self._draw is None:
            return decided
        return replace(decided, drawn=np.array([why == AUDIT for why in batch.columns["why"]], dtype=bool))


def _of_each(
    jobs: Sequence[Job], has_score: NDArray[np.bool_], scored: ScoredRows | None
) -> Iterator[tuple[Job, slice, ScoredRows | None]]:
    """Yield each request with the positions of its rows among all, and of its rows that have a score."""
    end = n_scored = 0
    for job in jobs:
        start, end = end, end + len(job.rows)
        first, n_scored = n_scored, n_scored + int(has_score[start:end].sum())
        rows = None if scored is None or first == n_scored else scored.take(slice(first, n_scored))
        yield job, slice(start, end), rows


def _as_recorded(decided: Decided, batch: RecordedBatch) -> Decided:
    """Return the recorded decisions of a repeated request, because the level has moved since."""
    lower, upper = (np.asarray(batch.columns[name], dtype=float) for name in ("lower", "upper"))
    selected = np.array([word == AUTOMATIC for word in batch.columns["would_be"]], dtype=bool)
    made = replace(decided.decisions, selected=selected, lower=lower, upper=upper, level=None, counted=None)
    return replace(decided, decisions=made)


def _batch(model: ServedModel, job: Job, decided: Decided) -> DecidedRows:
    return decided_rows(
        job.key,
        model.clf,
        job.ids,
        decided.decisions,
        scored=decided.scored,
        has_score=decided.has_score,
        labels=model.labels,
        inputs=model.inputs(job.rows),
    )


def answers(model: ServedModel, ids: Sequence[str], decided: Decided, *, blind: bool = False) -> list[dict[str, Any]]:
    """Return the answer for each row of a request; scores in points keep their unit.

    A blind answer tells nothing else about a case for review, so that audits look like other cases.
    """
    nothing = dict.fromkeys(("prediction", "score", "probability", "lower", "upper"))
    missing = f"the score {model.score_name} is missing or far from all of the fit, and such a case goes to review"
    told: list[dict[str, Any]] = [{"id": name, "decision": REVIEW, **nothing, "reason": missing} for name in ids]
    rows, made, known = decided.scored, decided.decisions, decided.has_score
    if rows is None:
        return told
    axis, column = model.clf.band_rule_.axis, score_column_in(model.clf.estimator_)
    judged = np.array([made.selection_score, made.lower, made.upper])[:, known]
    shown, turned = judged, False
    # Confidences are distances from the threshold, in points already.
    if axis == "score" and column is not None and column.threshold is not None:
        shown, turned = np.array([column.column_value(values) for values in judged]), not column.higher_is_positive
    if turned:
        shown = shown[[0, 2, 1]]
    is_positive = (rows.predicted == rows.classes[1]).tolist()
    if blind:
        told = [{**answer, "reason": "the case goes to a person"} for answer in told]
    for number, row in enumerate(np.flatnonzero(known)):
        if blind and not decided.automatic[row]:
            continue
        (score, lower, upper), (own, low, high) = shown[:, number].tolist(), judged[:, number].tolist()
        # Asked of the scores that decided, since points may be rounded.
        place = "among" if low <= own <= high else "above" if (own > high) != turned else "below"
        told[row] |= {
            "decision": AUTOMATIC if decided.automatic[row] else REVIEW,
            "prediction": model.labels[is_positive[number]],
            "score": score,
            "probability": float(rows.score[number]) if rows.is_probability else None,
            "lower": None if isinf(lower) else lower,
            "upper": None if isinf(upper) else upper,
            "reason": reason_of("confidence" if axis == "confidence" else "score", score, lower, upper, place),
        }
    return told


def reason_of(what: str, score: float, lower: float, upper: float, place: str) -> str:
    """Return a sentence on why a row is automatic or goes to review."""
    if lower > upper:
        return "no score goes to review at this coverage"
    band = f"from {lower:.6g} on" if isinf(upper) else f"from {lower:.6g} to {upper:.6g}"
    band = f"up to {upper:.6g}" if isinf(lower) else band
    return f"the {what} {score:.6g} lies {place} those that go to review, {band}"
