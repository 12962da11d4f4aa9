"""Decide all waiting requests together: one pass of the model, one transaction of the record, one disk write.

While a write waits for the disk, further requests gather; the next turn takes them all. So the more requests there are,
the less each waits for the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
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
from aucross.record import Record, RecordedBatch
from aucross.record.audits import with_audit
from aucross.record.decided_rows import DecidedRows, decided_rows, explained, nothing_decided
from aucross.record.record_tables import AUDIT
from aucross.record.watching import kept_counts
from aucross.serve.served_model import ServedModel
from aucross.watch.keeper import CoverageKeeper, KeptCounts

# Rows that are decided together; further requests wait for the next turn.
_MOST_ROWS = 10_000


class NotRecordedError(Exception):
    """Error for a decision that could not be recorded and must therefore not be sent."""


class OtherRequestError(Exception):
    """Error for a request whose key another request has already used."""


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
    """The decisions on the rows of a request; they are on disk if there is a record."""

    decisions: Decisions  # a row without a score goes to review, and its score and band are NaN
    has_score: NDArray[np.bool_]
    scored: ScoredRows | None  # the rows that have a score; None if none has
    drawn: NDArray[np.bool_] | None = None  # would be automatic, and go to review for an audit; None if none can

    @property
    def automatic(self) -> NDArray[np.bool_]:
        """Whether each row is decided automatically and not drawn for an audit."""
        return self.decisions.selected if self.drawn is None else self.decisions.selected & ~self.drawn


class Decider:
    """Queue of requests; all waiting requests are decided together."""

    def __init__(
        self,
        model: ServedModel,
        record: Record | None = None,
        shadow: SelectiveClassifier | None = None,
        keeper: CoverageKeeper | None = None,
        *,
        draw: AuditDraw | None = None,
        sends_unfamiliar: bool = True,
    ) -> None:
        self._model, self._record, self._keeper, self._draw = model, record, keeper, draw
        self._shadow = None if shadow is None else replace(model, clf=shadow)
        if self._shadow is not None:
            self._shadow.check_scores()
        # A classifier that was fitted without names, or on scores alone, knows nothing that rows could be unlike.
        self._sends_unfamiliar = sends_unfamiliar and model.clf.fitted_.columns.names is not None
        self._last_counted = 0
        self._count()
        self._waiting: asyncio.Queue[Job] = asyncio.Queue()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Take requests while the context is open; requests that still wait when it closes get no decision."""
        self._waiting = asyncio.Queue()  # of the event loop that is running now
        worker = asyncio.create_task(self._work())
        try:
            yield
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    async def decide(self, key: str, ids: Sequence[str], rows: Sequence[Any], coverage: float) -> Decided:
        """Decide on typed rows; return when the decisions are on the disk."""
        job = Job(key, ids, rows, coverage, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(job)
        return await job.done

    async def _work(self) -> None:
        while True:
            jobs = [await self._waiting.get()]
            n_rows = len(jobs[0].rows)
            while not self._waiting.empty() and n_rows < _MOST_ROWS:
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
            self._count()
            return self._recorded(jobs, self._decided(jobs))
        except NotRecordedError as error:
            return [error] * len(jobs)
        except Exception as error:
            return [error] if len(jobs) == 1 else [outcome for job in jobs for outcome in self._outcomes([job])]

    def _decided(self, jobs: Sequence[Job]) -> list[Decided]:
        """Decide requests in order; with a keeper, its counts are updated after each request."""
        model, clf, keeper = self._model, self._model.clf, copy(self._keeper)
        has_score, X, scored = model.scored([row for job in jobs for row in job.rows])
        unlike = np.full(len(has_score), "", dtype=object)
        if self._sends_unfamiliar and X is not None:
            unlike[has_score] = clf.fitted_.columns.unlike(X)
        decided, end, n_scored = [], 0, 0
        for job in jobs:
            start, end = end, end + len(job.rows)
            has = has_score[start:end]
            first, n_scored = n_scored, n_scored + int(has.sum())
            rows = None if scored is None or first == n_scored else scored.take(slice(first, n_scored))
            if rows is None:
                known = nothing_decided(clf, job.coverage)
            elif keeper is None:
                known = clf.decide(rows, None if job.coverage == clf.coverage else job.coverage)
            else:
                known = keeper.decided(rows, hash_rows(rows.rule_input.columns), np.array(job.ids, dtype=object)[has])
                keeper.add(KeptCounts(*known.counted or ()))
            made = explained(clf, known, has, unlike=unlike[start:end], labels=model.labels)
            decided.append(Decided(made, has, rows))
        return decided

    def _count(self, decided: Sequence[Decided] = ()) -> None:
        """Update the keeper's counts from the record, for decisions of all servers, or else from `decided`."""
        if (keeper := self._keeper) is None:
            return
        if self._record is None:
            for each in decided:
                keeper.add(KeptCounts(*each.decisions.counted or ()))
            return
        try:
            new, self._last_counted = kept_counts(self._record, keeper.clf, keeper.coverage, self._last_counted)
        except Exception as error:
            raise NotRecordedError(str(error)) from error
        keeper.add(new)

    def _recorded(self, jobs: Sequence[Job], decided: Sequence[Decided]) -> list[Decided | Exception]:
        """Record all decisions; a request whose key belongs to another one gets an error instead of a decision."""
        if self._record is None:
            self._count(decided)
            return list(decided)
        batches = _batches(self._model, jobs, decided)
        if self._draw is not None:
            batches = [with_audit(batch, self._draw, self._record.record_id) for batch in batches]
        if self._shadow is not None:
            own = [replace(job, coverage=float(self._shadow.clf.coverage)) for job in jobs]
            seconds = Decider(self._shadow, sends_unfamiliar=self._sends_unfamiliar)._decided(own)
            shadows = _batches(self._shadow, jobs, seconds)
            batches = [batch.beside(shadow) for batch, shadow in zip(batches, shadows, strict=True)]
        try:
            written = self._record.write(batches)
            self._count()
        except Exception as error:
            raise NotRecordedError(str(error)) from error
        return [self._handed_out(batch, each) for batch, each in zip(written, decided, strict=True)]

    def _handed_out(self, batch: RecordedBatch | ValueError, decided: Decided) -> Decided | Exception:
        if isinstance(batch, ValueError):
            return OtherRequestError(str(batch))
        columns = batch.columns
        is_audit = np.array([why == AUDIT for why in columns["why"]], dtype=bool)
        if not batch.is_new:
            # A request that comes again gets what was decided then: the level of a keeper has moved since.
            made: dict[str, Any] = {name: np.asarray(columns[name], dtype=float) for name in ("lower", "upper")}
            would_be = np.array([word == AUTOMATIC for word in columns["would_be"]], dtype=bool)
            reason = tuple(text or "" for text in columns["reason"])
            made |= {"selected": batch.selected | is_audit, "would_be": would_be, "level": None, "counted": None}
            decided = replace(decided, decisions=replace(decided.decisions, **made, reason=reason))
        return replace(decided, drawn=is_audit)


def _batches(model: ServedModel, jobs: Sequence[Job], decided: Sequence[Decided]) -> list[DecidedRows]:
    return [
        decided_rows(
            *(job.key, model.clf, job.ids, each.decisions),
            scored=each.scored,
            has_score=each.has_score,
            labels=model.labels,
            inputs=model.inputs(job.rows),
            band_groups=model.groups(job.rows),
        )
        for job, each in zip(jobs, decided, strict=True)
    ]


def answers(model: ServedModel, ids: Sequence[str], decided: Decided, *, blind: bool = False) -> list[dict[str, Any]]:
    """Return the answer for each row of a request; scores given in points are answered in points.

    A blind answer for a case sent to review says only that, so that audits look like other cases.
    """
    nothing = dict.fromkeys(("prediction", "score", "probability", "lower", "upper"))
    rows, made, known = decided.scored, decided.decisions, decided.has_score
    reasons = [text or None for text in made.reason or ()]
    if blind:
        reasons = ["the case goes to a person"] * len(ids)
    told: list[dict[str, Any]] = [
        {"id": name, "decision": REVIEW, **nothing, "reason": reason} for name, reason in zip(ids, reasons, strict=True)
    ]
    if rows is None:
        return told
    column = score_column_in(model.clf.estimator_)
    shown = np.array([made.selection_score, made.lower, made.upper])[:, known]
    # Confidences are distances from the threshold, in points already.
    if column is not None and column.threshold is not None and model.clf.band_rule_.axis == "score":
        shown = np.array([column.column_value(values) for values in shown])
        shown = shown if column.higher_is_positive else shown[[0, 2, 1]]
    is_positive = (rows.predicted == rows.classes[1]).tolist()
    for number, row in enumerate(np.flatnonzero(known)):
        is_automatic = bool(decided.automatic[row])
        if blind and not is_automatic:
            continue
        score, lower, upper = shown[:, number].tolist()
        told[row] |= {
            "decision": AUTOMATIC if is_automatic else REVIEW,
            "prediction": model.labels[is_positive[number]],
            "score": score,
            "probability": float(rows.score[number]) if rows.is_probability else None,
            "lower": None if isinf(lower) else lower,
            "upper": None if isinf(upper) else upper,
            "reason": None if is_automatic else told[row]["reason"],
        }
    return told
