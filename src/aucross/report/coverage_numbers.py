"""The numbers of a report at each coverage, with intervals and with what other rules reach at equal coverage."""

from __future__ import annotations

from typing import Any

from aucross.evaluation.auc_metrics import oracle_gap, selective_auc, selective_ks
from aucross.evaluation.calibration import expected_calibration_error, selective_brier
from aucross.evaluation.coverage import positives_deferred
from aucross.evaluation.evaluate import evaluate_selections
from aucross.evaluation.guard import BaseRateCheck, BaseRateGuard
from aucross.evaluation.results import bootstrap_spread
from aucross.report.curves import least_confident_left_out
from aucross.report.rows import BoolArray, ReportRows


def coverage_numbers(
    rows: ReportRows, *, confidence: float, n_bootstrap: int, random_state: int
) -> list[dict[str, Any]]:
    """One dictionary per coverage: estimates, bootstrap intervals (``_low``, ``_high``) and counts."""
    evaluation = evaluate_selections(
        rows.positive,
        rows.score,
        rows.predicted,
        dict(zip(rows.coverages, rows.selected, strict=True)),
        sample_weight=rows.weight,
        n_bootstrap=n_bootstrap,
        confidence_level=confidence,
        random_state=random_state,
    )
    # The last coverage is 1: all rows, in the same resamples, so that the interval of the gain is a paired one.
    replicates = evaluation.replicates["selective_auc"]
    gains = bootstrap_spread("auc_gain", replicates - replicates[:, -1:], confidence)
    table = []
    for index, (row, mask) in enumerate(zip(evaluation.rows(), rows.selected, strict=True)):
        row["auc_gain"] = row["selective_auc"] - float(evaluation.estimates["selective_auc"][-1])
        row |= {name: values[index] for name, values in gains.items()}
        estimates = {name: value for name, value in row.items() if not name.endswith("_sd")}
        table.append({**_counts(mask), **estimates, **_further_numbers(rows, mask, row["selective_auc"])})
    return table


def _counts(mask: BoolArray) -> dict[str, int]:
    accepted = int(mask.sum())
    return {"n_accepted": accepted, "n_deferred": len(mask) - accepted}


def _further_numbers(rows: ReportRows, mask: BoolArray, auc: float) -> dict[str, Any]:
    by_confidence = least_confident_left_out(rows, mask)
    numbers = {
        "selective_gini": 2 * auc - 1,
        "selective_ks": selective_ks(rows.positive, rows.score, mask, sample_weight=rows.weight),
        "positives_deferred": positives_deferred(rows.positive, mask, sample_weight=rows.weight),
        "oracle_auc": auc + oracle_gap(rows.positive, rows.score, mask, sample_weight=rows.weight),
        "max_probability_auc": selective_auc(rows.positive, rows.score, by_confidence, sample_weight=rows.weight),
        "selective_brier": None,
        "expected_calibration_error": None,
    }
    if rows.is_probability:
        calibration = (selective_brier, expected_calibration_error)
        numbers |= {f.__name__: f(rows.positive, rows.score, mask, sample_weight=rows.weight) for f in calibration}
    return numbers


def base_rate(rows: ReportRows, mask: BoolArray) -> dict[str, Any]:
    """What the selection does to the share of positives, with the limits of the guard and its verdict."""
    check: BaseRateCheck = BaseRateGuard().check(rows.positive, mask, sample_weight=rows.weight, warn=False)
    names = ("positive_rate", "selected_positive_rate", "shift", "rarer_class", "relative_shift", "deferred")
    numbers = {name: getattr(check, name) for name in (*names, "rarer_deferred", "deferral_ratio", "chance")}
    limits = {name: getattr(check.guard, name) for name in ("max_shift", "max_relative_shift", "max_deferral_ratio")}
    return {
        **numbers,
        **limits,
        "significance": check.guard.significance,
        "exceeded": list(check.exceeded),
        "ok": check.ok,
        "message": check.message,
    }
