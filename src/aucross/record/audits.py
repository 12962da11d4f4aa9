"""Audits in the record: automatic cases drawn for review, and seeded cases.

A drawn case is ``would_be`` automatic, ``decision`` review, ``why`` audit. A seeded case, a team's own, has ``why``
seeded and the known answer as its outcome; it enters no figure but the detection rate.
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
from aucross.record.canonical import as_text
from aucross.record.chain import Chain
from aucross.record.decided_rows import DecidedRows
from aucross.record.record_tables import AUDIT, CANNOT_DECIDE, EVERY_CASE, NEEDS_DOCUMENTS, SEEDED, STRIP
from aucross.record.transfer import condition

# The last verdict on each case of somebody who had not seen the machine's answer: no later one takes its place.
_VERDICTS = f"""SELECT r.case_number AS of_case, r.answer FROM reviews r JOIN (SELECT max(number) AS last FROM reviews
    WHERE coalesce(saw_machine, 0) = 0 AND answer NOT IN ('{CANNOT_DECIDE}', '{NEEDS_DOCUMENTS}') AND number NOT IN
    (SELECT replaces FROM reviews WHERE replaces IS NOT NULL AND coalesce(saw_machine, 0) = 0)
    GROUP BY case_number) l ON l.last = r.number"""
_LABELS = {"reviews": "verdicts of people who had not seen the machine's answer", "outcomes": "outcomes"}


def with_audit(rows: DecidedRows, draw: AuditDraw, record: str) -> DecidedRows:
    """Return the decisions with the drawn automatic cases sent to review."""
    would_be, decision, why = (np.array(rows.columns[name], dtype=object) for name in ("would_be", "decision", "why"))
    probability = np.full(len(rows), np.nan)
    if rows.scored is not None:
        probability[rows.has_score] = draw.probability(rows.scored)
    own = np.flatnonzero((would_be == AUTOMATIC) & (decision == AUTOMATIC))
    ids = [rows.ids[at] for at in own.tolist()]
    drawn = own[drawn_for_audit(draw.key, record, rows.event["name"], ids, probability[own])]
    # A case of the strip is seen by a person if the strip or, failing that, the audit draws it.
    by_strip = np.nan_to_num(rows.columns.get("strip_probability", np.zeros(len(rows))))
    probability = by_strip + (1.0 - by_strip) * probability
    probability[(would_be != AUTOMATIC) | ((decision != AUTOMATIC) & (why != STRIP))] = np.nan
    return sent(rows, drawn.tolist(), REVIEW, AUDIT, {"audit_probability": probability})


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
        answer: str | None = None,
        clf: SelectiveClassifier | None = None,
        eta: Mapping[Any, float] | None = None,
        **options: Any,
    ) -> AuditedAUC:
        """Estimate the AUC of the automatic decisions from the cases that were drawn for audit.

        Parameters
        ----------
        labels : {"reviews", "outcomes"}, default="reviews"
            Whether verdicts of reviewers, the last before they saw the machine's answer, or outcomes are the labels.
        batch, answer : str, optional
            Cases of one batch, and those that the machine answers so; all by default. Where declined applicants have
            no outcome, name the answer of the others.
        clf : SelectiveClassifier, optional
            Gives the probabilities that held-out rows had, as a second opinion.
        eta : mapping of id to float, optional
            Probability of being positive that a gate or a second model gives each case, as a better one.
        **options
            Options of :func:`aucross.audited_auc`, such as ``anytime=True``, or ``sensitivity`` and ``specificity``.
        """
        if labels not in _LABELS:
            raise ValueError(f"labels must be 'reviews' or 'outcomes', got {labels!r}")
        column = "v.answer" if labels == "reviews" else "c.outcome"
        of = f" of batch {batch}" * (batch is not None) + f" for {answer!r}" * (answer is not None)
        options = {"labels": _LABELS[labels], "population": f"automatic decisions{of}", **options}
        with self.reading() as connection:
            query = f"""SELECT c.id, c.score, c.audit_probability, b.classes, c.decision,
                CASE WHEN c.decision = '{REVIEW}' THEN {column} END AS label FROM cases c
                JOIN batches b ON b.name = c.batch LEFT JOIN ({_VERDICTS}) v ON v.of_case = c.case_number
                WHERE c.audit_probability IS NOT NULL AND c.score IS NOT NULL AND {condition(connection, batch)}
                AND c.prediction = coalesce(:answer, c.prediction) ORDER BY c.case_number"""
            rows = connection.execute(text(query), {"answer": answer}).fetchall()
        if not rows:
            raise ValueError("no case of the record could be drawn for audit; pass audit=0.02 to decide")
        names = json.loads(rows[0].classes)
        if len({row.classes for row in rows}) > 1 or len(names) != 2:
            raise ValueError("the audited batches must have the same two classes; name one batch")
        score = np.array([row.score for row in rows])
        found = [float(row.label == names[1]) if row.label in names else np.nan for row in rows]
        opinion = None if clf is None else clf.held_out_.ranked_both_classes().isotonic().probability_at(score)
        if eta is not None:
            known = {as_text(name): value for name, value in eta.items()}
            if missing := [row.id for row in rows if row.id is not None and row.id not in known]:
                raise ValueError(f"eta must hold a probability of every automatic case, got none of {missing[0]!r}")
            opinion = np.array([known.get(row.id, np.nan) for row in rows])
            opinion[np.isnan(opinion)] = np.nanmean(opinion)  # of erased cases nothing is known
        options["was_drawn"] = [row.decision == REVIEW for row in rows]
        return audited_auc(score, found, [row.audit_probability for row in rows], opinion, **options)

    def detection_rate(self, confidence_level: float = 0.95) -> tuple[DetectionRate, DetectionRate]:
        """Return the sensitivity and the specificity of reviewers on seeded cases, with their intervals."""
        query = f"""SELECT outcome, v.answer, b.classes FROM {EVERY_CASE} JOIN batches b ON b.name = batch
            LEFT JOIN ({_VERDICTS}) v ON v.of_case = case_number
            WHERE why = '{SEEDED}' AND outcome IS NOT NULL"""
        with self.reading() as connection:
            rows = [(row.outcome, row.answer, json.loads(row.classes)) for row in connection.execute(text(query))]
        known = [float(outcome == names[-1]) for outcome, _, names in rows]
        answered = [float(answer == names[-1]) if answer in names else np.nan for _, answer, names in rows]
        return detection_rate(np.array(known), np.array(answered), confidence_level)
