"""Answer questions about automation and review from the record: audits, seeded cases, the strip, labelled periods.

A case drawn for audit has ``would_be`` automatic, ``decision`` review, ``why`` audit. A seeded case, which the team
made itself, has ``why`` seeded and the known answer as its outcome; only the detection rate counts it. The strip holds
the cases near the edges of the band; a random draw decides whether they are reviewed, and the probability is recorded.
If the draw overrules the band, ``decision`` differs from ``would_be``, and ``why`` is strip.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection, text

from aucross import audit
from aucross.audit.audit_draw import AuditDraw
from aucross.core.bands import check_coverage
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.frames import names_of, take_rows
from aucross.record import record_tables as tables
from aucross.record.canonical import as_text, checked_texts
from aucross.record.chain import Chain
from aucross.record.decided_rows import DecidedRows, fingerprints_of
from aucross.record.transfer import condition

# The last verdict on each case of somebody who had not seen the machine's answer: no later one takes its place.
_VERDICTS = f"""SELECT r.case_number AS of_case, r.answer FROM reviews r JOIN (SELECT max(number) AS last FROM reviews
    WHERE coalesce(saw_machine, 0) = 0 AND {tables.IS_ANSWER} AND number NOT IN
    (SELECT replaces FROM reviews WHERE replaces IS NOT NULL AND coalesce(saw_machine, 0) = 0)
    GROUP BY case_number) l ON l.last = r.number"""
_LABELS = {"reviews": "verdicts of people who are not known to have seen the machine's answer", "outcomes": "outcomes"}
# Standard deviations between the known shares of both sides at which the sides of a strip are not comparable.
_UNLIKE_SIDES = 5.0


def with_audit(rows: DecidedRows, draw: AuditDraw, record: str) -> DecidedRows:
    """Return the decisions with some automatic cases drawn for audit and sent to review."""
    would_be, decision, why = (np.array(rows.columns[name], dtype=object) for name in ("would_be", "decision", "why"))
    probability = np.full(len(rows), np.nan)
    if rows.scored is not None:
        probability[rows.has_score] = draw.probability(rows.scored)
    own = np.flatnonzero((would_be == AUTOMATIC) & (decision == AUTOMATIC))
    ids = [rows.ids[at] for at in own.tolist()]
    drawn = own[audit.drawn_for_audit(draw.key, record, rows.event["name"], ids, probability[own])]
    # A case of the strip is seen by a person if the strip or, failing that, the audit draws it.
    by_strip = np.nan_to_num(rows.columns.get("strip_probability", np.zeros(len(rows))))
    probability = by_strip + (1.0 - by_strip) * probability
    probability[(would_be != AUTOMATIC) | ((decision != AUTOMATIC) & (why != tables.STRIP))] = np.nan
    return sent(rows, drawn.tolist(), REVIEW, tables.AUDIT, {"audit_probability": probability})


def with_seeded(rows: DecidedRows, answers: Mapping[Any, Any]) -> DecidedRows:
    """Return the decisions with the seeded cases sent to review and their known answers stored."""
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
    return replace(sent(rows, own, REVIEW, tables.SEEDED, {}), event=event, seeded=known)


def sent(rows: DecidedRows, chosen: Sequence[int], decision: str, why: str, more: Mapping[str, Any]) -> DecidedRows:
    """Return the decisions with `decision` and `why` set for the chosen rows, and with the columns in `more`."""
    columns = {**rows.columns, **more}
    for name, value in (("decision", decision), ("why", why), ("reason", None), ("contributions", None)):
        columns[name] = [None] * len(rows) if columns[name] is None else list(columns[name])
        for at in chosen:
            columns[name][at] = value
    return replace(rows, columns=columns)


def with_strip(
    rows: DecidedRows, clf: SelectiveClassifier, X: Any, share: float, *, key: bytes, record: str
) -> DecidedRows:
    """Return the decisions with review decided at random for the strip: the cases near the edges of the band.

    The strip holds the cases that are automatic if the coverage rises by half the share, but not if it falls by as
    much. Each of them is sent to review with probability 1/2. Cases without a score, seeded cases and cases unlike the
    fitted rows are left out.
    """
    coverage, width = rows.event["coverage"], check_coverage(share, name="strip")
    if coverage is None or not width / 2.0 < coverage < 1.0:
        asked = "a capacity" if coverage is None else f"coverage {coverage:g}"
        raise ValueError(f"strip must be None or less than twice a coverage below 1, got {share!r} with {asked}")
    if isinstance(X, ScoredRows) or names_of(X) is None or clf.fitted_.columns.names is None:
        raise ValueError(
            "strip needs a frame with the column names of the fit, which tells whether rows are like those"
        )
    is_near = np.zeros(len(rows), dtype=bool)
    if rows.scored is not None:
        ends = (coverage - width / 2.0, min(coverage + width / 2.0, 1.0))
        narrow, wide = (clf.decide(rows.scored, end).selected for end in ends)
        is_near[rows.has_score] = wide & ~narrow
    is_near &= np.array([why in (None, tables.BAND) for why in rows.columns["why"]], dtype=bool)
    near = np.flatnonzero(is_near)
    near = near[clf.fitted_.columns.unlike(take_rows(X, near)) == ""]
    probability = np.full(len(rows), np.nan)
    probability[near] = 0.5
    ids = [rows.ids[at] for at in near.tolist()]
    to_person = audit.drawn_for_audit(key, f"strip of {record}", rows.event["name"], ids, probability[near])
    by_band = np.array([rows.columns["would_be"][at] == REVIEW for at in near.tolist()], dtype=bool)
    rows = sent(rows, near[to_person & ~by_band].tolist(), REVIEW, tables.STRIP, {"strip_probability": probability})
    return sent(rows, near[by_band & ~to_person].tolist(), AUTOMATIC, tables.STRIP, {})


def labelled_periods(
    connection: Connection, clf: SelectiveClassifier, coverages: Sequence[float], period: str, complete: float
) -> tuple[list[audit.LabelledPeriod], float | None, int]:
    """Return the labelled periods of a classifier, the coverage of its last batch, and the number of open periods.

    See :meth:`Record.next_coverage`. Labels are the outcomes of cases that were sent to review by the band, the strip
    or an audit. A period is open until enough of them are known.
    """
    if period not in ("batch", "month"):
        raise ValueError(f"period must be 'batch' or 'month', got {period!r}")
    if len(clf.classes_) != 2 or clf.band_rule_.group_labels is not None:
        raise ValueError("clf must tell two classes apart by one band; there is no list of coverages for other rules")
    name = "c.batch" if period == "batch" else "substr(c.decided_at, 1, 7)"
    query = f"""SELECT {name} AS period, b.classes, b.coverage, c.score, c.selection_score, c.would_be, c.decision,
        c.outcome, c.audit_probability, c.strip_probability FROM cases c JOIN batches b ON b.name = c.batch
        WHERE (c.why IS NULL OR c.why NOT IN ('{tables.NO_SCORE}', '{tables.UNFAMILIAR}')) AND b.coverage IS NOT NULL
        AND b.model_fingerprint = :model AND b.rule_fingerprint = :rule ORDER BY c.case_number"""
    model, rule = fingerprints_of(clf)
    rows = connection.execute(text(query), {"model": model, "rule": rule}).fetchall()
    by_period: dict[str, list[Any]] = {}
    for row in rows:
        by_period.setdefault(row.period, []).append(row)
    bands, found, n_open = [clf.band(coverage) for coverage in coverages], [], 0
    for own in by_period.values():
        chance = [row.audit_probability if row.would_be == AUTOMATIC else row.strip_probability or 1.0 for row in own]
        if None in chance:  # without an audit nothing stands for the automatic cases
            continue
        positive, is_due = json.loads(own[0].classes)[1], np.array([row.decision == REVIEW for row in own])
        label = np.array([np.nan if row.outcome is None else float(row.outcome == positive) for row in own])
        label[~is_due] = np.nan
        share = float(np.mean(~np.isnan(label[is_due]))) if is_due.any() else 0.0
        if share < complete:
            n_open += 1
            continue
        score, place = (np.array([getattr(row, name) for row in own]) for name in ("score", "selection_score"))
        selected = np.column_stack([(place < band.lower) | (place > band.upper) for band in bands])
        found.append(audit.LabelledPeriod(score, label, share * np.array(chance), selected))
    return found, rows[-1].coverage if rows else None, n_open


class AuditedRecord(Chain):
    """Record with methods that estimate how good decisions are, what review changes, and which coverage is earned."""

    def audited_auc(
        self,
        labels: str = "reviews",
        *,
        batch: str | None = None,
        answer: str | None = None,
        clf: SelectiveClassifier | None = None,
        eta: Mapping[Any, float] | None = None,
        **options: Any,
    ) -> audit.AuditedAUC:
        """Estimate the AUC of the automatic decisions from the cases that were drawn for audit.

        Parameters
        ----------
        labels : {"reviews", "outcomes"}, default="reviews"
            Source of the labels: outcomes, or the last answers that reviewers gave before seeing the machine's answer.
        batch, answer : str, optional
            Use only cases of this batch, and only those with this answer of the machine; all by default. If declined
            applicants have no outcome, pass the answer that the other applicants got.
        clf : SelectiveClassifier, optional
            Classifier for a second opinion on each case: the share of positives among held-out rows of equal score.
        eta : mapping of id to float, optional
            Probability that each case is positive, from a gate or a second model. It replaces the opinion of `clf`.
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
            of_answer = "" if answer is None else f" with the answer {answer!r}"
            raise ValueError(f"no case of the record{of_answer} could be drawn for audit; pass audit=0.02 to decide")
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
        return audit.audited_auc(score, found, [row.audit_probability for row in rows], opinion, **options)

    def detection_rate(self, confidence_level: float = 0.95) -> tuple[audit.DetectionRate, audit.DetectionRate]:
        """Return the sensitivity and the specificity of reviewers on seeded cases, with intervals."""
        query = f"""SELECT outcome, v.answer, b.classes FROM {tables.EVERY_CASE} JOIN batches b ON b.name = batch
            LEFT JOIN ({_VERDICTS}) v ON v.of_case = case_number
            WHERE why = '{tables.SEEDED}' AND outcome IS NOT NULL"""
        with self.reading() as connection:
            rows = [(row.outcome, row.answer, json.loads(row.classes)) for row in connection.execute(text(query))]
        known = [float(outcome == names[-1]) for outcome, _, names in rows]
        answered = [float(answer == names[-1]) if answer in names else np.nan for _, answer, names in rows]
        return audit.detection_rate(np.array(known), np.array(answered), confidence_level)

    def strip_effect(self, confidence_level: float = 0.95) -> audit.ReviewEffect:
        """Return how review changes the loss at the edges of the band, from cases of the strip with known outcomes.

        The loss is the share of wrong final answers. Outcomes must be as often known for reviewed cases as for others.
        """
        # A case that the strip left to the machine and an audit then took is one of the machine's.
        query = f"""SELECT CASE WHEN decision = '{REVIEW}' AND why <> '{tables.AUDIT}' THEN 1 ELSE 0 END AS reviewed,
            CASE WHEN why = '{tables.AUDIT}' THEN prediction ELSE final_decision END AS used, outcome, strip_probability
            FROM cases WHERE strip_probability IS NOT NULL"""
        with self.reading() as connection:
            rows = connection.execute(text(query)).fetchall()
        reviewed = np.array([row.reviewed == 1 for row in rows], dtype=bool)
        known = np.array([row.outcome is not None and row.used is not None for row in rows], dtype=bool)
        counts = np.array([reviewed.sum(), (~reviewed).sum()])
        if len(rows) and counts.min():
            shares = np.array([known[reviewed].mean(), known[~reviewed].mean()])
            spread = sqrt(known.mean() * (1.0 - known.mean()) * (1.0 / counts).sum())
            if abs(shares[0] - shares[1]) > _UNLIKE_SIDES * spread:
                raise ValueError(
                    f"answers and outcomes must be known alike on both sides of the strip, got {shares[0]:.0%} of the "
                    f"cases that people decide and {shares[1]:.0%} of the others; wait until those of both sides are in"
                )
        used = [row for row, is_known in zip(rows, known.tolist(), strict=True) if is_known]
        wrong, chance = [row.used != row.outcome for row in used], [row.strip_probability for row in used]
        return audit.strip_effect(wrong, reviewed[known], chance, confidence_level=confidence_level)

    def next_coverage(
        self,
        clf: SelectiveClassifier,
        *,
        auc: float,
        coverages: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        confidence_level: float = 0.95,
        period: Literal["batch", "month"] = "batch",
        complete: float = 0.98,
    ) -> audit.EarnedCoverage:
        """Return the coverage that outcomes have earned, from reviewed cases inside the band and audits outside it.

        Parameters
        ----------
        clf : SelectiveClassifier
            The classifier in use, with a single band. Only batches that it decided for a coverage are read.
        auc, coverages, confidence_level
            As in :func:`aucross.audit.next_coverage`. The present coverage is the coverage of the last batch.
        period : {"batch", "month"}, default="batch"
            Length of a period. Batches that were decided without an audit are left out.
        complete : float in (0, 1], default=0.98
            Share of outcomes that must be known, among the reviewed and audited cases of a period, before the period
            counts: early outcomes are not like the rest.

        Returns
        -------
        EarnedCoverage
            The coverage, with a ``sentence`` for a committee.
        """
        with self.reading() as connection:
            periods, present, n_open = labelled_periods(connection, clf, coverages, period, complete)
        if present is None:
            raise ValueError(
                "clf must have decided a batch by its coverage; the record has none of this model and rule"
            )
        return audit.next_coverage(
            periods, auc=auc, present=present, coverages=coverages, confidence_level=confidence_level, n_open=n_open
        )

    def allow(self, who: str, what: str) -> None:
        """Record who allows a change, such as a wider coverage, before it is made; the oversight report shows it."""
        (who,), (what,) = checked_texts([who], "who"), checked_texts([what], "what")
        with self.appending() as appending:
            appending.append(tables.approvals, [{"who": who, "what": what}])
