"""What the record tells of review and of wider automation: the strip at the edges of the band, and labelled periods.

A case of the strip has the probability with which it goes to a person. Where the draw differs from what the band says,
``decision`` is not ``would_be``, and ``why`` is strip.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import sqrt
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection, text

from aucross.audit import EarnedCoverage, LabelledPeriod, ReviewEffect, drawn_for_audit, next_coverage, strip_effect
from aucross.core.bands import check_coverage
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.frames import names_of, take_rows
from aucross.record.audits import sent
from aucross.record.canonical import checked_texts
from aucross.record.chain import Chain
from aucross.record.decided_rows import DecidedRows, fingerprints_of
from aucross.record.record_tables import AUDIT, BAND, NO_SCORE, STRIP, UNFAMILIAR, approvals

# Standard deviations between the known shares of both sides at which the sides of a strip are not comparable.
_UNLIKE_SIDES = 5.0


def with_strip(
    rows: DecidedRows, clf: SelectiveClassifier, X: Any, share: float, *, key: bytes, record: str
) -> DecidedRows:
    """Return the decisions with those near the edges of the band drawn: each goes to either side with probability 1/2.

    The strip is what is automatic at a coverage of half the share more, and not at one of half the share less. Cases
    without a score, seeded cases and cases unlike those of the fit are not in it.
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
    is_near &= np.array([why in (None, BAND) for why in rows.columns["why"]], dtype=bool)
    near = np.flatnonzero(is_near)
    near = near[clf.fitted_.columns.unlike(take_rows(X, near)) == ""]
    probability = np.full(len(rows), np.nan)
    probability[near] = 0.5
    ids = [rows.ids[at] for at in near.tolist()]
    to_person = drawn_for_audit(key, f"strip of {record}", rows.event["name"], ids, probability[near])
    by_band = np.array([rows.columns["would_be"][at] == REVIEW for at in near.tolist()], dtype=bool)
    rows = sent(rows, near[to_person & ~by_band].tolist(), REVIEW, STRIP, {"strip_probability": probability})
    return sent(rows, near[by_band & ~to_person].tolist(), AUTOMATIC, STRIP, {})


def labelled_periods(
    connection: Connection, clf: SelectiveClassifier, coverages: Sequence[float], period: str, complete: float
) -> tuple[list[LabelledPeriod], float | None, int]:
    """Return the labelled periods of a classifier, the coverage of its last batch, and the number of open periods.

    See :meth:`Record.next_coverage`. A label is known of a case that a person saw: one of the band, which the strip may
    have left to the machine, or one that an audit drew.
    """
    if period not in ("batch", "month"):
        raise ValueError(f"period must be 'batch' or 'month', got {period!r}")
    if len(clf.classes_) != 2 or clf.band_rule_.group_labels is not None:
        raise ValueError("clf must tell two classes apart by one band; there is no list of coverages for other rules")
    name = "c.batch" if period == "batch" else "substr(c.decided_at, 1, 7)"
    query = (
        f"SELECT {name} AS period, b.classes, b.coverage, c.score, c.selection_score, c.would_be, c.decision, "
        "c.outcome, c.audit_probability, c.strip_probability FROM cases c JOIN batches b ON b.name = c.batch "
        f"WHERE (c.why IS NULL OR c.why NOT IN ('{NO_SCORE}', '{UNFAMILIAR}')) AND b.coverage IS NOT NULL "
        "AND b.model_fingerprint = :model AND b.rule_fingerprint = :rule ORDER BY c.case_number"
    )
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
        found.append(LabelledPeriod(score, label, share * np.array(chance), selected))
    return found, rows[-1].coverage if rows else None, n_open


class EarningRecord(Chain):
    """Record that tells what review changes, and which coverage is earned."""

    def strip_effect(self, confidence_level: float = 0.95) -> ReviewEffect:
        """Return what review changes at the edges of the band, from the cases of the strip whose outcome is known.

        The loss is the share of wrong answers among those that were used. Outcomes must become known alike on both
        sides.
        """
        # A case that the strip left to the machine and an audit then took is one of the machine's.
        query = f"""SELECT CASE WHEN decision = '{REVIEW}' AND why <> '{AUDIT}' THEN 1 ELSE 0 END AS reviewed, outcome,
            CASE WHEN why = '{AUDIT}' THEN prediction ELSE final_decision END AS used, strip_probability
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
        return strip_effect(wrong, reviewed[known], chance, confidence_level=confidence_level)

    def next_coverage(
        self,
        clf: SelectiveClassifier,
        *,
        auc: float,
        coverages: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        confidence_level: float = 0.95,
        period: Literal["batch", "month"] = "batch",
        complete: float = 0.98,
    ) -> EarnedCoverage:
        """Return the coverage that outcomes have earned: those of reviewed cases inside the band, of audits outside it.

        Parameters
        ----------
        clf : SelectiveClassifier
            The classifier in force, with one band; batches that it decided by a coverage are read.
        auc, coverages, confidence_level
            As in :func:`aucross.audit.next_coverage`. The present coverage is that of the last batch.
        period : {"batch", "month"}, default="batch"
            What makes a period. Batches that were decided without an audit are left out.
        complete : float in (0, 1], default=0.98
            Share of the reviewed and audited cases of a period whose outcome must be known before it counts: the first
            outcomes that come in are not like the rest.

        Returns
        -------
        EarnedCoverage
            With a ``sentence`` for a committee.
        """
        with self.reading() as connection:
            periods, present, n_open = labelled_periods(connection, clf, coverages, period, complete)
        if present is None:
            raise ValueError(
                "clf must have decided a batch by its coverage; the record has none of this model and rule"
            )
        return next_coverage(
            periods, auc=auc, present=present, coverages=coverages, confidence_level=confidence_level, n_open=n_open
        )

    def allow(self, who: str, what: str) -> None:
        """Record who allows a change, such as a wider coverage, before it is made; the oversight report shows it."""
        texts = [*checked_texts([who], "who"), *checked_texts([what], "what")]
        with self.appending() as appending:
            appending.append(approvals, {"who": [texts[0]], "what": [texts[1]], "time": [appending.time]}, 1)
