"""The monitor's run, read from the record: each batch once, by the would-be decision, and labels from outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, text

from aucross.estimators.base import SelectiveClassifier
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.record.canonical import as_text
from aucross.record.case_record import Record
from aucross.watch import AUCReport, CoverageMonitor, CoverageReport

# Requests of a server are batches of few rows; so many of them are one batch of the monitor.
_ROWS_TOGETHER = 200


def watch(
    record: Record, clf: SelectiveClassifier, labels: Sequence[str] | None = None, **options: Any
) -> tuple[CoverageMonitor, CoverageReport | None, AUCReport | None]:
    """Run a monitor over all decisions that a classifier made by its coverage.

    The run is derived from the record whenever it is asked for: a batch that was recorded once counts once.

    Parameters
    ----------
    record : Record
        What was decided and what came of it.
    clf : SelectiveClassifier
        The classifier; batches of other models, other rules and capacities are left out.
    labels : sequence of str, optional
        What the record calls each of ``clf.classes_``, if :meth:`Record.decide` was told.
    **options
        Of :class:`~aucross.CoverageMonitor`.

    Returns
    -------
    tuple
        The monitor, its last report on the selected share, and that on labels; None where there is nothing to report.
    """
    monitor = CoverageMonitor(clf, **options)
    share, of_labels = None, None
    names = [as_text(label) for label in clf.classes_.tolist()] if labels is None else list(labels)
    class_of = dict(zip(names, clf.classes_.tolist(), strict=True))
    with record.reading() as connection:
        for selected, scores in _batches(connection, clf, monitor.reference.coverage):
            share = monitor.update_selected(selected, scores if len(clf.classes_) == 2 else None)
        if len(names) == 2 and monitor.reference.auc is not None:
            for outcomes, selected, scores in _labels(connection, clf, monitor.reference.coverage):
                if unknown := sorted(set(outcomes.tolist()) - set(names)):
                    raise ValueError(
                        f"labels must be what the record calls the classes, got {names}; it has outcomes {unknown}"
                    )
                y = [class_of[outcome] for outcome in outcomes.tolist()]
                of_labels = monitor.update_labels_selected(y, selected, scores)
    return monitor, share, of_labels


_OF_RULE = (
    "b.shadow_of IS NULL AND b.coverage = :coverage AND b.model_fingerprint = :model AND b.rule_fingerprint = :rule"
)


def _asked(clf: SelectiveClassifier, coverage: float) -> dict[str, Any]:
    return {"coverage": coverage, "model": model_fingerprint(clf), "rule": rule_fingerprint(clf)}


def _batches(connection: Connection, clf: SelectiveClassifier, coverage: float) -> Iterator[tuple[Any, Any]]:
    """Yield would-be decisions and scores of batches in the order of recording, without rows that have no score."""
    query = (
        "SELECT d.batch, d.would_be, d.score FROM decisions d JOIN batches b ON b.number = d.batch "
        f"WHERE {_OF_RULE} AND d.score IS NOT NULL ORDER BY d.number"
    )
    rows = connection.execute(text(query), _asked(clf, coverage)).fetchall()
    start = 0
    for stop in range(1, len(rows) + 1):
        is_end = stop == len(rows) or rows[stop].batch != rows[stop - 1].batch
        if is_end and (stop - start >= _ROWS_TOGETHER or stop == len(rows)):
            part, start = rows[start:stop], stop
            yield np.array([row.would_be == "automatic" for row in part]), np.array([row.score for row in part])


def _labels(connection: Connection, clf: SelectiveClassifier, coverage: float) -> Iterator[tuple[Any, Any, Any]]:
    """Yield outcomes with would-be decisions and scores, as they became known; leave out contradictions."""
    query = (
        "SELECT t.number AS known, c.outcome, c.would_be, c.score FROM cases c "
        "JOIN (SELECT case_number, max(number) AS number FROM outcomes GROUP BY case_number) o "
        "ON o.case_number = c.case_number "
        "JOIN transactions t ON o.number >= t.first_event AND o.number < t.first_event + t.n_events "
        "WHERE c.coverage = :coverage AND c.model_fingerprint = :model AND c.rule_fingerprint = :rule "
        "AND c.outcome IS NOT NULL AND c.score IS NOT NULL ORDER BY t.number, c.case_number"
    )
    rows = connection.execute(text(query), _asked(clf, coverage)).fetchall()
    start = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or rows[stop].known != rows[stop - 1].known:
            part, start = rows[start:stop], stop
            columns = [
                np.array(column) for column in zip(*((r.outcome, r.would_be, r.score) for r in part), strict=True)
            ]
            yield columns[0], columns[1] == "automatic", columns[2]
