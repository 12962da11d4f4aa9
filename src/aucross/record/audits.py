"""Audits in the record: automatic cases drawn for review, and seeded cases.

A drawn case is ``would_be`` automatic, ``decision`` review, ``why`` audit. A seeded case, a team's own, has ``why``
seeded and the known answer as its outcome; it enters no figure and no export but the detection rate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import text

from aucross.audit import AuditedAUC, DetectionRate, audited_auc, detection_rate, drawn_for_audit
from aucross.audit.audit_draw import AuditDraw
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.files.signing import AUDIT_KEY_FILE, audit_key
from aucross.record.chain import Chain
from aucross.record.decided_rows import DecidedRows
from aucross.record.record_tables import AUDIT, EVERY_CASE, SEEDED, STRIP
from aucross.record.transfer import condition


def secret_key(key: bytes | None = None) -> bytes:
    """Return the key by which cases are drawn, that of the environment by default."""
    key = audit_key() if key is None else key
    if key is None:
        raise ValueError(
            f"an audit needs a secret key, which nobody who decides or reviews can read: name a file with at least 16 "
            f"random bytes in {AUDIT_KEY_FILE}, outside the database and the model"
        )
    return key


def with_audit(rows: DecidedRows, draw: AuditDraw, record: str) -> DecidedRows:
    """Return the decisions with the drawn automatic cases sent to review."""
    would_be, decision, why = (np.array(rows.columns[name], dtype=object) for name in ("would_be", "decision", "why"))
    probability = np.full(len(rows), np.nan)
    if rows.scored is not None:
        probability[has_score(rows)] = draw.probability(rows.scored)
    own = np.flatnonzero((would_be == AUTOMATIC) & (decision == AUTOMATIC))
    ids = [rows.ids[at] for at in own.tolist()]
    drawn = own[drawn_for_audit(draw.key, record, rows.event["name"], ids, probability[own])]
    # A case of the strip is seen by a person if the strip or, failing that, the audit draws it.
    by_strip = np.nan_to_num(rows.columns.get("strip_probability", np.zeros(len(rows))))
    probability = by_strip + (1.0 - by_strip) * probability
    probability[(would_be != AUTOMATIC) | ((decision != AUTOMATIC) & (why != STRIP))] = np.nan
    return sent(rows, drawn.tolist(), REVIEW, AUDIT, {"audit_probability": probability})


def has_score(rows: DecidedRows) -> list[bool]:
    """Return whether each row has a score."""
    return [prediction is not None for prediction in rows.columns["prediction"]]


def with_seeded(rows: DecidedRows, answers: Mapping[Any, Any]) -> DecidedRows:
    """Return the decisions with the seeded cases sent to review, beside their known answers."""
    known, classes = {str(name): str(answer) for name, answer in answers.items()}, json.loads(rows.event["classes"])
    if rows.event["capacity"] is not None:
        raise ValueError("seeded must be None with a capacity, of which seeded cases would take places")
    if unknown := sorted(set(known) - set(rows.ids)):
        raise ValueError(f"seeded must name ids of the batch, got {unknown[0]!r}; pass those rows in X, too")
    if wrong := sorted(set(known.values()) - set(classes)):
        raise ValueError(f"seeded must hold the right class of each case, one of {classes}, got {wrong[0]!r}")
    own, event = [at for at, name in enumerate(rows.ids) if name in known], dict(rows.event)
    event["n_would_be_automatic"] -= sum(rows.columns["would_be"][at] == AUTOMATIC for at in own)
    event["n_scored"] -= sum(rows.columns["prediction"][at] is not None for at in own)
    return replace(sent(rows, own, REVIEW, SEEDED, {}), event=event, seeded=known)


def sent(rows: DecidedRows, chosen: Sequence[int], decision: str, why: str, more: Mapping[str, Any]) -> DecidedRows:
    """Return the decisions with the chosen rows sent to review, or to the machine, and further columns."""
    columns = {**rows.columns, **more}
    for name, value in (("decision", decision), ("why", why), ("reason", None), ("contributions", None)):
        columns[name] = [None] * len(rows) if columns[name] is None else list(columns[name])
        for at in chosen:
            columns[name][at] = value
    return replace(rows, columns=columns)


class AuditedRecord(Chain):
    """Record whose cases are audited."""

    def audited_auc(
        self,
        labels: str = "reviews",
        *,
        batch: str | None = None,
        clf: SelectiveClassifier | None = None,
        **options: Any,
    ) -> AuditedAUC:
        """Estimate the AUC of the automatic decisions from the cases that were drawn for audit.

        Parameters
        ----------
        labels : {"reviews", "outcomes"}, default="reviews"
            Whether the last answers of reviewers or outcomes are the labels. Those of other cases are not read.
        batch : str, optional
            Cases of one batch; all by default.
        clf : SelectiveClassifier, optional
            Gives the probabilities that held-out rows had, as a second opinion.
        **options
            Options of :func:`aucross.audited_auc`, such as ``anytime=True``, or ``sensitivity`` and ``specificity``.
        """
        if labels not in ("reviews", "outcomes"):
            raise ValueError(f"labels must be 'reviews' or 'outcomes', got {labels!r}")
        label = "answer" if labels == "reviews" else "outcome"
        with self.reading() as connection:
            query = f"""SELECT c.score, c.audit_probability, b.classes, c.decision,
                CASE WHEN c.decision = '{REVIEW}' THEN c.{label} END AS label
                FROM cases c JOIN batches b ON b.name = c.batch WHERE c.audit_probability IS NOT NULL
                AND c.score IS NOT NULL AND {condition(connection, batch)} ORDER BY c.case_number"""
            rows = connection.execute(text(query)).fetchall()
        if not rows:
            raise ValueError("no case of the record could be drawn for audit; pass audit=0.02 to decide")
        names = json.loads(rows[0].classes)
        if len({row.classes for row in rows}) > 1 or len(names) != 2:
            raise ValueError("the audited batches must have the same two classes; name one batch")
        score = np.array([row.score for row in rows])
        found = [float(row.label == names[1]) if row.label in names else np.nan for row in rows]
        eta = None if clf is None else clf.held_out_.ranked_both_classes().isotonic().probability_at(score)
        options["was_drawn"] = [row.decision == REVIEW for row in rows]
        return audited_auc(score, found, [row.audit_probability for row in rows], eta, **options)

    def detection_rate(self, confidence_level: float = 0.95) -> tuple[DetectionRate, DetectionRate]:
        """Return the sensitivity and the specificity of reviewers on seeded cases, with their intervals."""
        query = f"""SELECT outcome, answer, b.classes FROM {EVERY_CASE} JOIN batches b ON b.name = batch
            WHERE why = '{SEEDED}' AND outcome IS NOT NULL"""
        with self.reading() as connection:
            rows = [(row.outcome, row.answer, json.loads(row.classes)) for row in connection.execute(text(query))]
        known = [float(outcome == names[-1]) for outcome, _, names in rows]
        answered = [float(answer == names[-1]) if answer in names else np.nan for _, answer, names in rows]
        return detection_rate(np.array(known), np.array(answered), confidence_level)
