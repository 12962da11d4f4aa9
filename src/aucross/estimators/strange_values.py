"""Find rows and columns unlike those of the fit, and the categories that fitted models know.

A model treats an unknown category as missing and takes any number. So it says nothing if a table spells its
categories differently, counts days instead of years, or leaves a column blank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

from aucross.estimators.column_names import readers_of
from aucross.estimators.fold_ensemble import FoldEnsemble
from aucross.estimators.types import Table
from aucross.frames import (
    columns_of,
    count_rows,
    is_missing,
    kind_of,
    kinds_of,
    numbers_of,
    text_names_of,
    types_of,
    values_of,
)
from aucross.system.text import first_few, percent, warn_user

_MOST_UNKNOWN = 0.5
_EXAMPLES = 3
# Beyond the ends of a range lie so many rows of the fit, since its ends must not be those of single people.
_ROWS_BEYOND = 5
# Part of the width of a range by which a number must lie beyond its ends to be unlike the rows of the fit.
_MARGIN = 0.5
# Share of rows with values too rare to keep, above which a column has no usual values.
_MOST_RARE = 0.01
# Of fewer values, all may lie outside of a range, or be missing, by chance.
FEWEST_VALUES = 10


class StrangeValuesWarning(UserWarning):
    """Values of new rows are unlike those of the fit: unknown categories, or a blank column."""


class EncodedColumn(NamedTuple):
    """A column that a fitted model reads as categories, those it knows, and whether the fit had no other categories."""

    name: str
    categories: list[Any]
    is_complete: bool


def known_categories(models: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the categories that fitted models know, by column; if two models read a column, the longer list."""
    found: dict[str, list[Any]] = {}
    for model in models:
        for column in encoded_columns(model):
            found[column.name] = max(found.get(column.name, []), column.categories, key=len)
    return found


def encoded_columns(
    model: Any, names: Sequence[Any] | None = None, *, keeps: Callable[[Any], Any] = lambda _: None
) -> Iterator[EncodedColumn]:
    """Yield the columns whose categories a fitted model knows, from its first encoders or from models that it wraps.

    `names` are the columns that a step gets; `keeps` returns the categories stored by a model without an encoder.
    """
    if wrapped := _wrapped(model):
        for each in wrapped:
            yield from encoded_columns(each, names, keeps=keeps)
        return
    names = getattr(model, "feature_names_in_", None) if names is None else names
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            names = getattr(step, "feature_names_in_", None) if names is None else names
            found = list(encoded_columns(step, names, keeps=keeps))
            yield from found
            if found or isinstance(step, ColumnTransformer | FeatureUnion):  # others read what these have made
                return
    elif isinstance(model, ColumnTransformer):
        for _, part, columns in getattr(model, "transformers_", ()):
            yield from () if isinstance(part, str) else encoded_columns(part, _chosen(columns, names), keeps=keeps)
    elif names is not None:
        yield from _encoded_by(model, names, keeps)


def _encoded_by(encoder: Any, names: Sequence[Any], keeps: Callable[[Any], Any]) -> Iterator[EncodedColumn]:
    known = getattr(encoder, "categories_", None)
    known = keeps(encoder) if known is None else known
    if known is None or len(known) != len(names):
        return
    is_complete = isinstance(getattr(encoder, "categories", "auto"), str)  # others were told what to know
    for name, values in zip(names, known, strict=True):
        found = [value for value in np.asarray(values, dtype=object).tolist() if not is_missing(value)]
        yield EncodedColumn(str(name), found, is_complete)


def _wrapped(model: Any) -> list[Any]:
    """Return the fitted models to which a model passes its rows unchanged; trees of a forest are left out."""
    if isinstance(model, FeatureUnion):
        return [part for _, part in model.transformer_list]
    if isinstance(calibrated := getattr(model, "calibrated_classifiers_", None), list):
        return [each.estimator for each in calibrated]
    if isinstance(model, VotingClassifier | StackingClassifier | FoldEnsemble):
        return list(getattr(model, "estimators_", ()))
    found = [getattr(model, name, None) for name in ("best_estimator_", "estimator_")]
    found.append(model.estimator if isinstance(model, FrozenEstimator) else None)
    return [each for each in found if each is not None][:1]


def _chosen(columns: Any, names: Sequence[Any] | None) -> Sequence[Any]:
    """Return the column names of a part of a ColumnTransformer, which gives them by name, position or mask."""
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):
        known = list(names if names is not None else ())
        first, last = (None if end is None else known.index(end) for end in (columns.start, columns.stop))
        return known[first : None if last is None else last + 1]
    chosen = columns if isinstance(columns, slice) else np.atleast_1d(np.asarray(columns))
    if isinstance(chosen, np.ndarray) and (chosen.dtype.kind not in "iub" or not len(chosen)):
        return list(chosen)
    return [] if names is None else list(np.asarray(names, dtype=object)[chosen])


def categories_of_trees(models: Iterable[Any], X: Table) -> dict[str, list[str]]:
    """Return the text categories in X if histogram boosting encodes them, because its own list is private.

    Other models raise on unknown categories or are covered by :func:`known_categories`.
    """
    readers = [reader for model in models for reader in readers_of(model)]
    if not any(isinstance(reader, HistGradientBoostingClassifier) for reader in readers):
        return {}
    values = {name: _counts(X[name]) for name, kind in kinds_of(X).items() if kind == "category"}
    return {name: sorted(found) for name, found in values.items() if found and all(isinstance(v, str) for v in found)}


def shares_unknown(models: Iterable[Any], X: Table) -> dict[str, float]:
    """Return the share of unknown values in each column whose categories are known."""
    names, shares = text_names_of(X) or (), {}
    for name, known in known_categories(models).items():
        if name in names:
            counts = _counts(X[name])
            unknown = counts.total() - sum(counts[value] for value in set(known))
            shares[name] = unknown / counts.total() if counts else 0.0
    return shares


def mostly_missing(X: Table, whole: Collection[str] = ()) -> list[str]:
    """Return the numeric columns so often missing that a blank column is not unusual; leave out columns in `whole`."""
    names = [name for name, kind in kinds_of(X).items() if kind == "number" and name not in whole]
    numbers = {name: np.asarray(X[name]) for name in names}
    some = {name: values[:: max(1, len(values) // 1000)].tolist() for name, values in numbers.items()}
    return [name for name, values in some.items() if sum(map(is_missing, values)) > _MOST_UNKNOWN * len(values)]


def _counts(column: Any) -> Counter[Any]:
    counts = Counter(np.asarray(column, dtype=object).tolist())
    return Counter({value: count for value, count in counts.items() if not is_missing(value)})


def familiar_values(models: Iterable[Any], X: Table, numbers: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the facts stored with a model: the range of each number, and the share of rare values in each column."""
    ranges = {name: range_of(np.asarray(X[name])) for name in numbers}
    return {
        "rare": shares_unknown(models, X),
        "ranges": {name: ends for name, ends in ranges.items() if ends is not None},
    }


@dataclass
class StrangeValues:
    """Counts of values that are unlike those of the fit, batch by batch."""

    known: Mapping[str, Collection[Any]]  # categories by column, from `known_categories`
    rare: Mapping[str, float]  # share of each column's values that was too rare to be known at the fit
    ranges: Mapping[str, list[float] | None]  # of each number; None for one whose range is not known
    _n_values: Counter[str] = field(default_factory=Counter)
    _n_strange: Counter[str] = field(default_factory=Counter)
    _n_rows: int = 0
    _examples: dict[str, dict[Any, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {name: set(values) for name, values in self.known.items() if values}

    def add(self, X: Table) -> None:
        """Count the values of more rows."""
        self._n_rows += len(X)
        for name, known in self.known.items():
            counts = _counts(X[name])
            unknown = {value: count for value, count in counts.items() if value not in known}
            self._n_values[name] += counts.total()
            self._n_strange[name] += sum(unknown.values())
            examples = self._examples.setdefault(name, {})
            if unknown and len(examples) < _EXAMPLES:
                examples |= dict.fromkeys(list(unknown)[:_EXAMPLES])
        for name, ends in self.ranges.items():
            if ends is None:
                self._n_values[name] += 0 if _is_blank(X[name]) else 1
                continue
            numbers = np.asarray(X[name], dtype=np.float64)
            numbers = numbers[np.isfinite(numbers)]
            self._n_values[name] += len(numbers)
            self._n_strange[name] += int(np.count_nonzero((numbers < ends[0]) | (numbers > ends[1])))

    def notes(self) -> list[str]:
        """Return one sentence for each column whose values are unlike those in the fit."""
        notes = [*map(self._on_category, self.known), *map(self._on_number, self.ranges)]
        return [note for note in notes if note is not None]

    def _on_category(self, name: str) -> str | None:
        n_values, share_at_fit = self._n_values[name], self.rare.get(name, 0.0)
        share = self._n_strange[name] / n_values if n_values else 0.0
        # Half of the values that would be known if the table were like that of the fit. Of a column of rare values the
        # model did not know most of those of the fit either, and nothing can be told from it.
        if share_at_fit > _MOST_UNKNOWN or share <= share_at_fit + (1 - share_at_fit) * _MOST_UNKNOWN:
            return None
        found, known = (
            first_few([repr(str(value)) for value in values], _EXAMPLES)
            for values in (self._examples[name], sorted(self.known[name], key=str))
        )
        return (
            f"column {name!r}: {percent(share)} of its values, such as {found}, are unknown to the model and count as "
            f"missing; it knows {known}; spell them as at the fit"
        )

    def _on_number(self, name: str) -> str | None:
        n_values, ends = self._n_values[name], self.ranges[name]
        if not n_values and self._n_rows >= FEWEST_VALUES:
            return (
                f"column {name!r}: all of its {self._n_rows:,} values are missing, and the fit had numbers there; is "
                "it filled in?"
            )
        if ends is None or n_values < FEWEST_VALUES or self._n_strange[name] < n_values:
            return None
        low, high = ends
        return (
            f"column {name!r}: all of its {n_values:,} values lie outside of {low:g} to {high:g}, where nearly all of "
            "the fit lay; is it in another unit?"
        )


def _is_blank(column: Any) -> bool:
    """Return whether all values are missing; for most columns the first one decides."""
    return all(all(map(is_missing, np.asarray(part, dtype=object))) for part in (column[:1], column))


def warn_of_strange_values(
    models: Iterable[Any],
    X: Table,
    rare: Mapping[str, float],
    numbers: Iterable[str],
    categories: Mapping[str, list[str]],
) -> None:
    """Warn once, for all columns, of values unlike those of the fit in a table with column names.

    `rare` comes from :func:`shares_unknown` and `categories` from :func:`categories_of_trees`, both for the rows of the
    fit; `numbers` are the columns that mostly held numbers there.
    """
    names = text_names_of(X)
    if names is None or not len(X):
        return
    known = {name: values for name, values in {**categories, **known_categories(models)}.items() if name in names}
    blank = dict.fromkeys((name for name in numbers if name in names), None) if len(X) >= FEWEST_VALUES else {}
    if not (known or blank):
        return
    strange = StrangeValues(known, rare, blank)
    strange.add(X)
    if notes := strange.notes():
        warn_user("; ".join(notes), StrangeValuesWarning)


# ---- rows: a category that is new, a number far outside of its range, a column newly missing ----


def values_seen(X: Table) -> tuple[dict[str, list[float]], dict[str, list[str]], list[str]]:
    """Return the ranges of numbers, the values of other columns, and the columns that were never missing.

    Values that fewer than five rows share are left out, since they could identify people; a later row with such a value
    is reported as if the value were new. A column is left out whole if more than one row in a hundred has such values.
    """
    ranges: dict[str, list[float]] = {}
    values: dict[str, list[str]] = {}
    whole: list[str] = []
    for name, dtype, column in zip(text_names_of(X) or (), types_of(X), columns_of(X), strict=True):
        kind = kind_of(dtype)
        if kind == "date":
            continue
        if kind == "number":
            numbers = numbers_of(column)
            n_missing = int(np.isnan(numbers).sum())
            if (ends := range_of(numbers)) is not None:
                ranges[name] = ends
        else:
            counts = Counter(str(value) for value in values_of(column) if not is_missing(value))
            n_missing = len(column) - counts.total()
            often = {value: n_rows for value, n_rows in counts.items() if n_rows >= _ROWS_BEYOND}
            if often and sum(often.values()) >= (1.0 - _MOST_RARE) * counts.total():
                values[name] = sorted(often)
        if not n_missing and len(column) >= FEWEST_VALUES:
            whole.append(name)
    return ranges, values, whole


def unlike_the_fit(
    X: Table, ranges: Mapping[str, list[float]], values: Mapping[str, list[str]], whole: Collection[str]
) -> NDArray[Any]:
    """Return how each row is unlike the rows of the fit; an empty text for familiar rows."""
    found = np.full(count_rows(X) or 0, "", dtype=object)
    for name, column in zip(text_names_of(X) or (), columns_of(X), strict=False):
        known, numbers = set(values.get(name, ())), None
        if name in ranges:
            with suppress(TypeError, ValueError):  # text where the fit had numbers: each value is new
                numbers = numbers_of(column)
        if numbers is not None:
            (low, high), is_missing_here = ranges[name], np.isnan(numbers)
            # Rows of the fit lie just beyond the ends, too: only what is farther away is unlike all of them.
            margin = _MARGIN * (high - low)
            for row in np.flatnonzero((numbers < low - margin) | (numbers > high + margin)).tolist():
                found[row] += f"; {name} {numbers[row]:.6g} lies outside of {low:g} to {high:g}"
        else:
            given = values_of(column) if known or name in whole or name in ranges else []
            is_missing_here = np.array([is_missing(value) for value in given], dtype=bool)
            for row, value in enumerate(given if known or name in ranges else ()):
                if not is_missing_here[row] and str(value) not in known:
                    found[row] += f"; {name} {str(value)!r} is new or rare"
        if name in whole:
            found[is_missing_here] += f"; {name} is missing and never was"
    return np.array([text and f"unlike the rows of the fit: {text[2:]}" for text in found.tolist()], dtype=object)


def range_of(values: Any) -> list[float] | None:
    """Return the range of nearly all of the numbers; None if there are too few."""
    values = np.sort(values[np.isfinite(values)])
    enough = len(values) > 2 * _ROWS_BEYOND
    return outwards(*values[[_ROWS_BEYOND, -1 - _ROWS_BEYOND]].tolist()) if enough else None


def outwards(low: float, high: float) -> list[float]:
    """Round the ends of a range to two digits, outwards, so that no person's exact value is stored."""
    ends = []
    for value, away in ((low, floor), (high, ceil)):
        unit = 10.0 ** (floor(log10(abs(value))) - 1) if value else 1.0
        ends.append(float(away(value / unit) * unit))
    return ends
