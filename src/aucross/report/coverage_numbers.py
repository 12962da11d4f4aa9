"""The numbers of a report at each coverage, with intervals and with what other rules reach at equal coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np

from aucross.evaluation.auc_metrics import ks_of, oracle_curve
from aucross.evaluation.evaluate import evaluate_selections
from aucross.evaluation.guard import BaseRateGuard, base_rate_check
from aucross.evaluation.inputs import weighted_mean
from aucross.evaluation.metrics import calibration_error_of
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.evaluation.unscored import count_unscored
from aucross.report.curves import least_confident_left_out
from aucross.report.rows import BoolArray, FloatArray, ReportRows


def coverage_numbers(
    rows: ReportRows,
    evaluation: SelectiveEvaluation | None,
    *,
    confidence: float,
    with_intervals: bool,
    at_least: bool,
) -> list[dict[str, Any]]:
    """One dictionary per coverage: estimates, intervals (``_low``, ``_high``), counts and what to say of a miss."""
    if evaluation is None:
        evaluation = evaluate_selections(
            rows.positive,
            rows.score,
            rows.predicted,
            dict(zip(rows.coverages, rows.selected, strict=True)),
            sample_weight=rows.weight,
            customers=rows.customers,
            n_bootstrap=1 if with_intervals else 0,
            confidence_level=confidence,
        )
        if rows.unscored is not None:
            evaluation = count_unscored(
                evaluation,
                rows.selected,
                rows.positive,
                rows.unscored,
                sample_weight=rows.weight,
                customers=rows.customers,
            )
    else:
        evaluation = _checked(evaluation.at(rows.coverages), rows, confidence, with_intervals)
    evaluation = replace(evaluation, at_least=at_least)
    oracle = oracle_curve(
        rows.by_score.positive,
        rows.by_score.score,
        _reached_of_scored(rows, evaluation),
        sample_weight=rows.by_score.weight,
    )
    table = []
    for index, (row, mask) in enumerate(zip(evaluation.rows(), rows.by_score.selected, strict=True)):
        auc = row["selective_auc"]
        estimates = {name: value for name, value in row.items() if not name.endswith("_sd")}
        by_confidence = least_confident_left_out(rows, rows.selected[index])[rows.order]
        table.append(
            {
                **_counts(rows.selected_of_all(mask)),
                **estimates,
                "coverage_missed": bool(evaluation.missed[index]),
                "selective_gini": 2 * auc - 1,
                # Without an AUC of its own a selection has none to compare with.
                "oracle_auc": auc if isnan(auc) else float(oracle.auc[index]),
                "max_probability_auc": rows.by_score.ranked(by_confidence).auc(),
                **_further_numbers(rows.by_score, mask),
            }
        )
    return table


def _reached_of_scored(rows: ReportRows, evaluation: SelectiveEvaluation) -> Sequence[float] | FloatArray:
    """Return the coverage among rows that have a score: no band can win back the others."""
    if rows.unscored is None:
        return evaluation.estimates["achieved_coverage"]
    return [weighted_mean(mask, rows.weights) for mask in rows.selected]


def _checked(
    evaluation: SelectiveEvaluation, rows: ReportRows, confidence: float, with_intervals: bool
) -> SelectiveEvaluation:
    """Refuse an evaluation of other rows or levels, whose intervals would stand beside the estimates of these."""
    n_customers = None if rows.customers is None else len(np.unique(rows.customers))
    asked = (len(rows.positive), with_intervals, confidence, n_customers)
    n_rows = (evaluation.drawn_from or (0,))[0]
    given = (n_rows, evaluation.has_intervals, evaluation.confidence_level, evaluation.n_customers)
    n_positive = np.count_nonzero(rows.selected & rows.positive, axis=1)
    coverage = [weighted_mean(mask, rows.weights_of_all) for mask in rows.selected_of_all(rows.selected)]
    of_these_rows = (
        evaluation.n_positive is not None
        and np.array_equal(evaluation.n_positive, n_positive)
        and np.allclose(evaluation.estimates["achieved_coverage"], coverage)
    )
    if given != asked or not of_these_rows:
        raise ValueError(
            "evaluation must be of the rows of the report and have its (rows, with_intervals, confidence, customers) "
            f"{asked}, got {given}{'' if of_these_rows else ' of other rows'}; leave it out to evaluate anew"
        )
    return evaluation


def _counts(mask: BoolArray) -> dict[str, int]:
    selected = int(mask.sum())
    return {"n_automatic": selected, "n_review": len(mask) - selected}


def _further_numbers(rows: ReportRows, mask: BoolArray) -> dict[str, Any]:
    kept = rows.positive[mask], rows.score[mask], rows.weights[mask]
    positive, weight = rows.positive_of_all, rows.weights_of_all
    squares = (rows.score[mask] - rows.positive[mask]) ** 2
    return {
        "selective_ks": ks_of(rows.ranked(mask)),
        "positives_for_review": weighted_mean(~rows.selected_of_all(mask)[positive], weight[positive]),
        "selective_brier": weighted_mean(squares, rows.weights[mask]) if rows.is_probability else None,
        "expected_calibration_error": calibration_error_of(*kept) if rows.is_probability else None,
    }


def base_rate(rows: ReportRows, mask: BoolArray) -> dict[str, Any]:
    """Return what the selection does to the share of positives, with the limits of the guard and its verdict."""
    check = base_rate_check(BaseRateGuard(), rows.positive_of_all, rows.selected_of_all(mask), rows.weights_of_all)
    names = ("positive_rate", "shift", "rarer_class", "relative_shift", "for_review")
    numbers = {name: getattr(check, name) for name in (*names, "rarer_for_review", "review_ratio", "chance")}
    limits = {name: getattr(check.guard, name) for name in ("max_shift", "max_relative_shift", "max_review_ratio")}
    return {
        **numbers,
        "automatic_positive_rate": check.selected_positive_rate,
        **limits,
        "significance": check.guard.significance,
        "exceeded": list(check.exceeded),
        "ok": check.ok,
        "message": check.message,
    }
