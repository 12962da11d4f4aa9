"""Judge a model from the record, with outcomes as labels: the monitor's run, the team score, the calibration."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.evaluation import expected_calibration_error, team_score
from aucross.record.canonical import as_text
from aucross.record.case_record import Record
from aucross.record.decided_rows import fingerprints_of
from aucross.record.transfer import condition
from aucross.watch import AUCReport, CoverageMonitor, CoverageReport
from aucross.watch.keeper import KeptCounts

# Requests of a server are batches of few rows; so many of them are one batch of the monitor.
_ROWS_TOGETHER = 200


def watch(
    record: Record, clf: SelectiveClassifier, labels: Sequence[str] | None = None, **options: Any
) -> tuple[CoverageMonitor, CoverageReport | None, AUCReport | None]:
    """Run a monitor over all decisions that a classifier made for a coverage.

    Each call reads the whole record. Every batch counts once, with the decisions that the band made before
    audits and other draws.

    Parameters
    ----------
    record : Record
        Record of the decisions and outcomes.
    clf : SelectiveClassifier
        The classifier; batches decided by another model, another rule or a capacity are left out.
    labels : sequence of str, optional
        Name of each of ``clf.classes_`` in the record, if given to :meth:`Record.decide`.
    **options
        Options of :class:`~aucross.CoverageMonitor`.

    Returns
    -------
    tuple
        The monitor, its last report on the selected share, and its last report on labels; None in place of a missing
        report.
    """
    monitor = CoverageMonitor(clf, **options)
    share, of_labels = None, None
    names = [as_text(label) for label in clf.classes_.tolist()] if labels is None else list(labels)
    class_of = dict(zip(names, clf.classes_.tolist(), strict=True))
    asked = _asked(clf, monitor.reference.coverage)
    with record.reading() as connection:
        for selected, scores in _batches(connection, asked, clf):
            share = monitor.update_selected(selected, scores if len(clf.classes_) == 2 else None)
        if len(names) == 2 and monitor.reference.auc is not None:
            for outcomes, selected, scores in _labels(connection, asked):
                if unknown := sorted(set(outcomes) - set(names)):
                    raise ValueError(
                        f"labels must be what the record calls the classes, got {names}; it has outcomes {unknown}"
                    )
                y = [class_of[outcome] for outcome in outcomes]
                of_labels = monitor.update_labels_selected(y, selected, scores)
    return monitor, share, of_labels


def kept_counts(record: Record, clf: SelectiveClassifier, coverage: float, after: int = 0) -> tuple[KeptCounts, int]:
    """Return how many rows keepers of a classifier have decided and selected, and the number of the last decision.

    All servers count. Counts can be added: pass the last decision as `after` to count only newer ones.
    """
    query = """SELECT count(*) AS n_rows, count(CASE WHEN d.would_be = 'automatic' THEN 1 END) AS n_selected,
        max(d.number) AS last FROM decisions d JOIN batches b ON b.number = d.batch
        WHERE d.number > :after AND d.level IS NOT NULL AND b.shadow_of IS NULL AND b.coverage = :coverage
        AND b.model_fingerprint = :model AND b.rule_fingerprint = :rule"""
    with record.reading() as connection:
        found = connection.execute(text(query), {**_asked(clf, coverage), "after": after}).one()
    return KeptCounts(int(found.n_rows), int(found.n_selected)), after if found.last is None else int(found.last)


def _asked(clf: SelectiveClassifier, coverage: float) -> dict[str, Any]:
    return {"coverage": coverage, **dict(zip(("model", "rule"), fingerprints_of(clf), strict=True))}


def _batches(connection: Connection, asked: dict[str, Any], clf: SelectiveClassifier) -> Iterator[tuple[Any, Any]]:
    """Yield the band's decisions, and scores, of batches in the order of recording; leave out rows without a score."""
    query = """SELECT d.batch, d.would_be, d.score, d.selection_score, d.level
        FROM decisions d JOIN batches b ON b.number = d.batch
        WHERE b.shadow_of IS NULL AND b.coverage = :coverage AND b.model_fingerprint = :model
        AND b.rule_fingerprint = :rule AND d.score IS NOT NULL
        AND (d.why IS NULL OR d.why <> 'seeded') ORDER BY d.number"""
    part: list[Any] = []
    for _, rows in groupby(connection.execute(text(query), asked), lambda row: row.batch):
        part += rows
        if len(part) >= _ROWS_TOGETHER:
            yield _by_the_fit(part, clf, asked["coverage"]), np.array([row.score for row in part])
            part = []
    if part:
        yield _by_the_fit(part, clf, asked["coverage"]), np.array([row.score for row in part])


def _by_the_fit(rows: Sequence[Any], clf: SelectiveClassifier, coverage: float) -> NDArray[np.bool_]:
    """Return which rows the fitted band selects, also where a keeper decided, because a keeper hides drift."""
    selected = np.array([row.would_be == AUTOMATIC for row in rows])
    kept = np.array([row.level is not None for row in rows])
    if kept.any():
        if clf.band_rule_.group_labels is not None or clf.band_rule_.lies_on == "other":
            raise ValueError(
                "the coverage of these cases was kept by a keeper, and the monitor can tell what the band of the fit "
                "would have decided only for one band on the score or the confidence; watch the level of the keeper"
            )
        scores = np.array([row.selection_score for row in rows], dtype=float)
        selected[kept] = clf.band(coverage).selects(scores[kept])
    return selected


def _labels(connection: Connection, asked: dict[str, Any]) -> Iterator[tuple[list[str], Any, Any]]:
    """Yield outcomes with the band's decisions and scores, in the order they became known, without contradictions."""
    query = """SELECT t.number AS known, c.outcome, c.would_be, c.score FROM cases c
        JOIN (SELECT case_number, max(number) AS number FROM outcomes GROUP BY case_number) o
        ON o.case_number = c.case_number
        JOIN transactions t ON o.number >= t.first_event AND o.number < t.first_event + t.n_events
        WHERE c.coverage = :coverage AND c.model_fingerprint = :model AND c.rule_fingerprint = :rule
        AND c.outcome IS NOT NULL AND c.score IS NOT NULL ORDER BY t.number, c.case_number"""
    for _, rows in groupby(connection.execute(text(query), asked), lambda row: row.known):
        part = list(rows)
        selected = np.array([row.would_be == AUTOMATIC for row in part])
        yield [row.outcome for row in part], selected, np.array([row.score for row in part])


# ---- how good ----


@dataclass(frozen=True)
class RecordedScore:
    """A number computed from cases whose outcome is known.

    Attributes
    ----------
    value : float
        The number.
    n_cases, n_reviewed : int
        Number of these cases, and how many of them a person decided.
    n_unknown, n_open : int
        Number of cases left out: without one clear outcome, and with an outcome but without a final decision.
    """

    value: float
    n_cases: int
    n_reviewed: int
    n_unknown: int
    n_open: int

    def __str__(self) -> str:
        return (
            f"{self.value:.4f} on {self.n_cases:,} cases, of which people decided {self.n_reviewed:,}; left out: "
            f"{self.n_unknown:,} without an outcome, {self.n_open:,} without a final decision"
        )


def recorded_team_score(
    record: Record, metric: Callable[..., float], batch: str | None = None, **metric_params: Any
) -> RecordedScore:
    """Score model and reviewers together: final decisions against outcomes.

    Parameters
    ----------
    record : Record
        Record of decisions, reviews and outcomes.
    metric : callable
        ``metric(y_true, y_pred, **metric_params)``, such as :func:`sklearn.metrics.accuracy_score`. It gets the classes
        as 0, 1, ... in their order; the positive one of two is 1.
    batch : str, optional
        The cases of one batch; all by default.
    **metric_params
        Further arguments of the metric.

    Returns
    -------
    RecordedScore
        The score of :func:`~aucross.evaluation.team_score`, and the number of cases. Only outcomes are labels: a
        reviewer's answer is a decision and never counts as the truth.
    """
    rows, classes, n_unknown = _judged(record, batch)
    decided = [row for row in rows if row.final_decision is not None]
    if not decided:
        raise ValueError(f"{record.name} has no case with an outcome and a final decision; add outcomes and reviews")
    true, final, predicted = (
        np.array([classes.index(getattr(row, name) or row.final_decision) for row in decided])
        for name in ("outcome", "final_decision", "prediction")
    )
    is_reviewed = np.array([row.final_by == REVIEW for row in decided])
    value = team_score(metric, true, predicted, ~is_reviewed, reviewer_labels=final, **metric_params)
    return RecordedScore(value, len(decided), int(is_reviewed.sum()), n_unknown, len(rows) - len(decided))


def recorded_calibration(record: Record, batch: str | None = None, n_bins: int = 10) -> RecordedScore:
    """Return the calibration error of the scores of automatic cases whose outcome is known.

    Parameters
    ----------
    record : Record
        Record of decisions and outcomes, with two classes and probabilities as scores.
    batch : str, optional
        The cases of one batch; all by default.
    n_bins : int, default=10
        Number of bins.

    Returns
    -------
    RecordedScore
        :func:`~aucross.evaluation.expected_calibration_error` of the cases that the band made automatic.
    """
    rows, classes, n_unknown = _judged(record, batch)
    scored = [row for row in rows if row.score is not None and row.would_be == AUTOMATIC]
    if len(classes) != 2 or not scored or not all(0 <= row.score <= 1 for row in scored):
        raise ValueError(
            f"calibration needs automatic cases of two classes with an outcome and a probability, got {len(scored)} of "
            f"{len(classes)} classes; add outcomes, or name a batch"
        )
    true: NDArray[Any] = np.array([classes.index(row.outcome) for row in scored])
    value = expected_calibration_error(true, np.array([row.score for row in scored]), n_bins=n_bins)
    n_reviewed = sum(row.final_by == REVIEW for row in scored)
    return RecordedScore(value, len(scored), n_reviewed, n_unknown, sum(row.final_by is None for row in scored))


def _judged(record: Record, batch: str | None) -> tuple[list[Any], list[str], int]:
    """Return the cases with known outcomes, the classes of their batches, and the number of other cases."""
    with record.reading() as connection:
        where = condition(connection, batch)
        columns = "outcome, final_decision, final_by, prediction, score, would_be"
        query = f"SELECT {columns} FROM cases WHERE {where} AND outcome IS NOT NULL ORDER BY case_number"
        rows = list(connection.execute(text(query)))
        n_cases = connection.execute(text(f"SELECT count(*) FROM cases WHERE {where}")).scalar_one()
        query = f"SELECT DISTINCT classes FROM batches WHERE number IN (SELECT batch FROM decisions WHERE {where})"
        found = connection.execute(text(query.replace("case_number", "number"))).scalars().all()
    if len(found) > 1:
        raise ValueError(f"the batches must have the same classes, got {' and '.join(found[:2])}; name a batch")
    return rows, json.loads(found[0]) if found else [], n_cases - len(rows)
