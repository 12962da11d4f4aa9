"""Who goes to review: their scores, and the columns in which they differ most from the rows that are answered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from aucross.evaluation.group_evaluation import LEAST_ROWS_SHOWN
from aucross.frames import date_of
from aucross.report.columns import Trait, traits_of
from aucross.report.rows import BoolArray, FloatArray, ReportRows

N_FEATURES = 10
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# So many traits and rows are added up at a time: enough for fast products of matrices, little enough for memory.
_TRAITS_AT_A_TIME = 16
_ROWS_AT_A_TIME = 2**16


class _Means(NamedTuple):
    """Mean of a trait among answered and rejected rows at each coverage, and the difference in standard deviations."""

    trait: Trait
    selected: FloatArray
    rejected: FloatArray
    difference: FloatArray


def score_summary(rows: ReportRows, chosen: BoolArray) -> dict[str, Any]:
    """Return number, mean and quantiles of the scores of some rows; rows must be sorted by score."""
    score, weight = rows.score[chosen], rows.weights[chosen]
    if not len(score):
        return {"n": 0, "mean": None, "quantiles": None}
    share = np.cumsum(weight) / weight.sum()
    quantiles = score[np.minimum(np.searchsorted(share, QUANTILES), len(score) - 1)]
    return {
        "n": len(score),
        "mean": float(np.average(score, weights=weight)),
        "quantiles": {f"{share:g}": value for share, value in zip(QUANTILES, quantiles.tolist(), strict=True)},
    }


def feature_differences(rows: ReportRows, X: Any) -> list[list[dict[str, Any]]]:
    """Return, for each coverage, the columns in which rejected and automatic rows differ most, largest first.

    Differences are between means (for a category, between shares of one level) in standard deviations of all rows. A
    column enters with its most telling level, and again if rejected rows miss it more or less often. Means and levels
    of fewer than five rows are not shown, to protect single people.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in rows.coverages]
    if X is None:
        return found
    used = (trait._replace(values=trait.values[rows.used]) for trait in traits_of(X))
    traits = (part for part in used if part.level is None or np.count_nonzero(part.values) >= LEAST_ROWS_SHOWN)
    n_rejected = (~rows.selected).sum(axis=1)
    is_shown = np.minimum(n_rejected, rows.selected.shape[1] - n_rejected) >= LEAST_ROWS_SHOWN
    while part := list(islice(traits, _TRAITS_AT_A_TIME)):
        for means in _means(part, rows):
            columns = (found, is_shown, means.selected, means.rejected, means.difference)
            for entries, shown, *numbers in zip(*columns, strict=True):
                if shown and np.isfinite(numbers).all():
                    entries.append(_entry(means.trait, *numbers))
    return [_most_telling(entries) for entries in found]


def _means(traits: list[Trait], rows: ReportRows) -> Iterator[_Means]:
    values = np.array([trait.values for trait in traits])
    known = ~np.isnan(values)
    values[~known] = 0.0
    weight = known @ rows.weights
    center, spread = np.zeros(len(traits)), np.zeros(len(traits))
    np.divide(values @ rows.weights, weight, out=center, where=weight > 0)
    # Distances from the mean add up without loss of digits, whatever the unit of the column.
    values = np.where(known, values - center[:, None], 0.0)
    np.divide(values**2 @ rows.weights, weight, out=spread, where=weight > 0)
    total = values @ rows.weights  # 0 but for the rounding of the mean
    sums, weights = _sums_of_review(values, rows), _sums_of_review(known, rows)
    with np.errstate(invalid="ignore", divide="ignore"):  # none rejected, or a constant: NaN, left out later
        rejected, selected = sums / weights, (total - sums) / (weight - weights)
        difference = (rejected - selected) / np.sqrt(spread)
    for trait, *numbers in zip(traits, (center + selected).T, (center + rejected).T, difference.T, strict=True):
        yield _Means(trait, *numbers)


def _sums_of_review(values: np.ndarray, rows: ReportRows) -> FloatArray:
    """Return the weighted sum of each trait over the rows rejected at each coverage: shape (n_coverages, n_traits)."""
    total = np.zeros((len(rows.coverages), len(values)))
    for start in range(0, len(rows.score), _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        total += (~rows.selected[:, part] * rows.weights[part]) @ values[:, part].T
    return total


def _entry(trait: Trait, selected: float, rejected: float, difference: float) -> dict[str, Any]:
    return {
        "feature": trait.column,
        "kind": trait.kind,
        "level": trait.level,
        "automatic": date_of(selected).date().isoformat() if trait.kind == "date" else float(selected),
        "review": date_of(rejected).date().isoformat() if trait.kind == "date" else float(rejected),
        "standardised_difference": float(difference),
    }


def _most_telling(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the largest difference of each column, and that of its missing values."""
    ranked = sorted(entries, key=lambda entry: -abs(entry["standardised_difference"]))
    first: dict[tuple[str, bool], dict[str, Any]] = {}
    for entry in ranked:
        first.setdefault((entry["feature"], entry["kind"] == "missing"), entry)
    return list(first.values())[:N_FEATURES]
