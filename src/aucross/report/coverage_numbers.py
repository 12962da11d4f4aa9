"""Compute a report's numbers at each coverage: intervals, other rules at equal coverage, tables by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from aucross.evaluation.auc_metrics import ks_of, oracle_curve, wilson_interval
from aucross.evaluation.evaluate import evaluate_selections
from aucross.evaluation.groups import LEAST_ROWS_SHOWN, GroupEvaluation
from aucross.evaluation.guard import BaseRateGuard, base_rate_check
from aucross.evaluation.inputs import ALL_ROWS, group_column, weighted_mean
from aucross.evaluation.metrics import calibration_error_of
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.evaluation.unscored import count_unscored, evaluate_groups_of_all
from aucross.report.curves import least_confident_left_out
from aucross.report.rows import BoolArray, ReportRows
from aucross.system.text import plural


class Costs(NamedTuple):
    """Costs of answers by true and predicted class, negatives first (None if unknown), and the cost of a review."""

    matrix: Sequence[Sequence[float]] | None
    review: float


def coverage_numbers(
    rows: ReportRows, evaluation: SelectiveEvaluation | None, *, confidence: float, with_intervals: bool, at_least: bool
) -> list[dict[str, Any]]:
    """Return a dictionary for each coverage: estimates, intervals (``_low``, ``_high``), counts, missed coverage."""
    if evaluation is None:
        units: dict[str, Any] = {"sample_weight": rows.weight, "customers": rows.customers}
        evaluation = evaluate_selections(
            *(rows.positive, rows.score, rows.predicted, dict(zip(rows.coverages, rows.selected, strict=True))),
            n_bootstrap=1 if with_intervals else 0,
            confidence_level=confidence,
            **units,
        )
        if rows.unscored is not None:
            evaluation = count_unscored(evaluation, rows.selected, rows.positive, rows.unscored, **units)
    else:
        evaluation = _checked(evaluation.at(rows.coverages), rows, confidence, with_intervals)
    evaluation = replace(evaluation, at_least=at_least)
    reached: Any = evaluation.estimates["achieved_coverage"]
    if rows.unscored is not None:  # no band can win back cases without a score
        reached = [weighted_mean(mask, rows.weights) for mask in rows.selected]
    _, oracle = oracle_curve(rows.positive, rows.score, reached, sample_weight=rows.weight)
    table = []
    for index, (row, mask) in enumerate(zip(evaluation.rows(), rows.selected, strict=True)):
        auc = row["selective_auc"]
        estimates = {name: value for name, value in row.items() if not name.endswith("_sd")}
        table.append(
            {
                "n_automatic": int(mask.sum()),
                "n_review": len(rows.positive_of_all) - int(mask.sum()),
                **estimates,
                "coverage_missed": bool(evaluation.missed[index]),
                "selective_gini": 2 * auc - 1,
                # Without an AUC of its own a selection has none to compare with.
                "oracle_auc": auc if isnan(auc) else float(oracle[index]),
                "max_probability_auc": rows.ranked(least_confident_left_out(rows, mask)).auc(),
                **_further_numbers(rows, mask),
            }
        )
    return table


def _checked(
    evaluation: SelectiveEvaluation, rows: ReportRows, confidence: float, with_intervals: bool
) -> SelectiveEvaluation:
    """Return the evaluation; refuse one of other rows or options, whose intervals would not fit these estimates."""
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
            f"{asked}, got {given}{'' if of_these_rows else ' of other rows'}; leave it out to evaluate again"
        )
    return evaluation


def _further_numbers(rows: ReportRows, mask: BoolArray) -> dict[str, Any]:
    kept = rows.positive[mask], rows.score[mask], rows.weights[mask]
    all_, squares = rows.positive_of_all, (kept[1] - kept[0]) ** 2
    return {
        "selective_ks": ks_of(rows.ranked(mask)),
        "positives_for_review": weighted_mean(~rows.selected_of_all(mask)[all_], rows.weights_of_all[all_]),
        "selective_brier": weighted_mean(squares, kept[2]) if rows.is_probability else None,
        "expected_calibration_error": calibration_error_of(*kept) if rows.is_probability else None,
    }


def lanes(
    rows: ReportRows, mask: BoolArray, bands: Sequence[Mapping[str, Any]], confidence: float | None
) -> list[dict[str, Any]]:
    """Return the three lanes of cases: automatic with low scores, review, automatic with high scores.

    If there is no single band, the predicted class separates low from high scores. Cases without a score go to review.
    If a confidence is given, rates get Wilson's interval.
    """
    band = bands[0] if len(bands) == 1 and not bands[0]["empty"] else None
    high = rows.predicted if band is None else rows.score > (band["lower"] + band["upper"]) / 2.0
    automatic, positive, weight = rows.selected_of_all(mask), rows.positive_of_all, rows.weights_of_all
    high, answered = rows.selected_of_all(high), rows.selected_of_all(rows.predicted)
    found = []
    for name, own in (("low", automatic & ~high), ("review", ~automatic), ("high", automatic & high)):
        rate = weighted_mean(positive[own], weight[own])
        ends: tuple[float | None, float | None] = (None, None)
        if own.any() and confidence is not None:
            ends = wilson_interval(rate, weight[own], confidence)
        found.append(
            {
                "lane": name,
                "by": "answer" if band is None else "band",
                "n": int(own.sum()),
                "share": weighted_mean(own, weight),
                "n_positive": int(positive[own].sum()),
                "n_answered_positive": None if name == "review" else int(answered[own].sum()),
                "positive_rate": rate,
                "positive_rate_low": ends[0],
                "positive_rate_high": ends[1],
            }
        )
    return found


def errors(rows: ReportRows, mask: BoolArray, costs: Costs) -> dict[str, Any]:
    """Count the wrong answers among the automatic rows, in rows and, if costs are given, in money."""
    missed, alarm = mask & rows.positive & ~rows.predicted, mask & ~rows.positive & rows.predicted
    found = {"n_missed": int(missed.sum()), "n_false_alarm": int(alarm.sum()), "cost": None, "review_cost": None}
    if costs.matrix is None:
        return found
    of_answers = np.asarray(costs.matrix)[rows.positive.astype(int), rows.predicted.astype(int)]
    in_review = rows.weights_of_all[~rows.selected_of_all(mask)].sum()
    return found | {
        "cost": float((rows.weights * of_answers)[mask].sum()),
        "review_cost": costs.review * float(in_review),
    }


def base_rate(rows: ReportRows, mask: BoolArray) -> dict[str, Any]:
    """Return how selection changes the positive rate, with the limits of BaseRateGuard and whether they are kept."""
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


# ---- by group ----


def group_tables(rows: ReportRows, by: Any, **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Return ``groups`` and ``group_gaps`` for each coverage, and sentences about groups that are too small."""
    if by is None:
        return [{"groups": [], "group_gaps": []} for _ in rows.coverages], []
    used, of_all, n_given = rows.used, by, rows.n_given
    if rows.unscored is not None:  # cases without a score come last
        n_given, of_all = rows.n_given + len(rows.unscored), rows.unscored.part_after(by, "by")
        used = np.append(used, np.arange(rows.n_given, n_given))
    column = group_column(of_all, n_given).take(used)
    selections = dict(zip(rows.coverages, rows.selected, strict=True))
    report = evaluate_groups_of_all(
        *(rows.positive, rows.score, rows.predicted, selections, column),
        unscored=rows.unscored,
        sample_weight=rows.weight,
        customers=rows.customers,
        **options,
    ).without_small_groups()
    entries: dict[float, list[dict[str, Any]]] = {coverage: [] for coverage in rows.coverages}
    for row in report.rows():
        if row["group"] != ALL_ROWS:
            entries[row.pop("target_coverage")].append({**row, "group": str(row["group"])})
    gaps: dict[float, list[dict[str, Any]]] = {coverage: [] for coverage in rows.coverages}
    for row in report.gaps().rows() if len(report.large_groups()) else ():
        gaps[row.pop("target_coverage")].append(row)
    positive, weight_of_all = rows.positive_of_all, rows.weight_of_all
    guard, by_label = BaseRateGuard(), dict(zip(column.labels, column.members(), strict=True))
    members = [by_label[label] for label in report.groups]
    for coverage, mask in zip(rows.coverages, rows.selected, strict=True):
        for entry, own in zip(entries[coverage], members, strict=True):
            weight = None if weight_of_all is None else weight_of_all[own]
            selected = rows.selected_of_all(mask)[own]
            check = guard.check(positive[own], selected, sample_weight=weight, warn=False)
            entry |= {"base_rate_ok": check.ok, "base_rate_message": check.message}
    tables = [{"groups": entries[coverage], "group_gaps": gaps[coverage]} for coverage in rows.coverages]
    return tables, list(filter(None, (report.small_groups_sentence(), hidden_groups_sentence(report))))


def hidden_groups_sentence(report: GroupEvaluation) -> str | None:
    """Say which groups are not shown, if any."""
    if not report.n_hidden_groups:
        return None
    n_small = report.n_hidden_groups - len(report.hidden_beside)
    groups = f"{n_small} {plural('group', n_small)} of fewer than {LEAST_ROWS_SHOWN} rows"
    if report.hidden_beside:
        groups += f", and {', '.join(map(str, report.hidden_beside))}, from which their numbers would follow"
    return f"{groups} ({report.n_hidden_rows} in all) not shown: numbers of so few are those of single people."
