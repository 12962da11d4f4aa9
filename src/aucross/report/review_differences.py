"""Describe who goes to review: their scores, and the columns in which they differ most from automatic rows.

For averaging, each column becomes one or more traits, which are numbers::

    income      (number)     ──► income, income is missing
    region      (category)   ──► region is north, region is south, ...
    issue_date  (date)       ──► days
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import islice
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from aucross.evaluation.groups import LEAST_ROWS_SHOWN
from aucross.evaluation.inputs import MISSING
from aucross.frames import columns_of, date_of, days_of, is_missing, names_of
from aucross.report.rows import BoolArray, FloatArray, ReportRows

N_FEATURES = 10
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# So many traits and rows are added up at a time: enough for fast products of matrices, little enough for memory.
_TRAITS_AT_A_TIME = 16
_ROWS_AT_A_TIME = 2**16

# Names and free text have a level per row; the frequent ones are enough to see a difference.
MAX_LEVELS = 20

Kind = Literal["number", "date", "category", "missing"]


class Trait(NamedTuple):
    """A number for each row, NaN if unknown; for a category, 1 in rows of one level."""

    column: str
    kind: Kind
    level: str | None
    values: FloatArray


def score_summary(rows: ReportRows, chosen: BoolArray) -> dict[str, Any]:
    """Return count, mean and quantiles of the scores of some rows."""
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

    Differences of means (for a category, of shares of one level) are divided by the standard deviation of all rows. A
    column is shown with its most different level, and again if it is missing more or less often in rejected rows. Means
    and levels of fewer than five rows are not shown, to protect single people.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in rows.coverages]
    if X is None:
        return found
    used = (trait._replace(values=trait.values[rows.used]) for trait in traits_of(X))
    traits = (part for part in used if part.level is None or np.count_nonzero(part.values) >= LEAST_ROWS_SHOWN)
    n_rejected = (~rows.selected).sum(axis=1)
    is_shown = np.minimum(n_rejected, rows.selected.shape[1] - n_rejected) >= LEAST_ROWS_SHOWN
    while part := list(islice(traits, _TRAITS_AT_A_TIME)):
        for trait, *means in zip(part, *_means(part, rows), strict=True):
            for entries, shown, *numbers in zip(found, is_shown, *means, strict=True):
                if shown and np.isfinite(numbers).all():
                    entries.append(_entry(trait, *numbers))
    return [_most_telling(entries) for entries in found]


def _means(traits: list[Trait], rows: ReportRows) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means among automatic and among rejected rows, and their differences in standard deviations.

    Each array has shape (n_traits, n_coverages).
    """
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
    return (center + selected).T, (center + rejected).T, difference.T


def _sums_of_review(values: np.ndarray, rows: ReportRows) -> FloatArray:
    """Return the weighted sum of each trait over the rejected rows at each coverage: shape (n_coverages, n_traits)."""
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
    """Return the largest difference of each column, and the difference in how often it is missing."""
    # Two levels of a column differ equally, and rounding must not choose between them: the more frequent comes first.
    ranked = sorted(entries, key=lambda entry: -round(abs(entry["standardised_difference"]), 9))
    first: dict[tuple[str, bool], dict[str, Any]] = {}
    for entry in ranked:
        first.setdefault((entry["feature"], entry["kind"] == "missing"), entry)
    return list(first.values())[:N_FEATURES]


# ---- traits ----


def traits_of(X: Any) -> Iterator[Trait]:
    """Return the traits of all columns of an array, a sparse matrix or a frame, in the order of the columns."""
    names = names_of(X)
    for number, column in enumerate(columns_of(X)):
        name, values = f"x{number}" if names is None else str(names[number]), np.asarray(column)
        if hasattr(getattr(column, "dtype", None), "categories"):  # numbers can be names of categories
            yield from _levels(name, values.tolist())
        elif values.dtype.kind in "iuf":
            yield from _numbers(name, "number", values.astype(np.float64))
        elif values.dtype.kind == "M":
            yield from _numbers(name, "date", days_of(values))
        elif values.dtype.kind == "m":
            yield from _numbers(name, "number", values / np.timedelta64(1, "D"))
        else:
            yield from _traits_of_objects(name, values.tolist())


def _traits_of_objects(name: str, values: list[Any]) -> Iterator[Trait]:
    known = [value for value in values if not is_missing(value)]
    if known and all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
        numbers = [np.nan if is_missing(value) else float(value) for value in values]
        yield from _numbers(name, "number", np.array(numbers))
    elif known and all(isinstance(value, date) for value in known):
        yield from _numbers(name, "date", days_of(values))
    else:
        yield from _levels(name, values)


def _numbers(name: str, kind: Kind, values: FloatArray) -> Iterator[Trait]:
    finite = np.isfinite(values)
    if finite.any():
        yield Trait(name, kind, None, np.where(finite, values, np.nan))
    if not finite.all():
        yield Trait(name, "missing", None, (~finite).astype(np.float64))


def _levels(name: str, values: list[Any]) -> Iterator[Trait]:
    labels = [MISSING if is_missing(value) else str(value) for value in values]
    counts = Counter(labels)
    if set(counts) <= {"True", "False", MISSING}:
        counts.pop("False", None)  # its share says what that of True says
    array = np.array(labels, dtype=object)
    for label, _ in counts.most_common(MAX_LEVELS):
        kind: Kind = "missing" if label == MISSING else "category"
        yield Trait(name, kind, None if label == MISSING else label, (array == label).astype(np.float64))
