"""What the values of the fit were like, and a note where those of another table are of another kind.

A model takes any category that it does not know for a missing one, and any number as it is. Where a table spells its
categories in another way, or counts days instead of years, nothing else would tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from aucross.cli.errors import listed
from aucross.cli.models import known_categories
from aucross.cli.schema import LabelledRows, Schema
from aucross.system.text import percent

if TYPE_CHECKING:
    import pandas as pd

# Beyond the ends of a range lie so many rows of the fit, since its ends must not be those of single people.
_ROWS_BEYOND = 5
# Of fewer values, all may lie outside of a range by chance.
_FEWEST_VALUES = 10
_MOST_UNKNOWN = 0.5
_EXAMPLES = 3


def familiar_values(clf: Any, schema: Schema, rows: LabelledRows) -> dict[str, dict[str, Any]]:
    """What is kept with a model: the range of each number, and which share of each column was too rare to be known."""
    rare = {name: _share_unknown(rows.X[name], known) for name, known in known_categories(clf).items()}
    ranges = {name: range_of(rows.X[name].to_numpy()) for name, kind in schema.columns.items() if kind == "number"}
    return {"rare": rare, "ranges": {name: ends for name, ends in ranges.items() if ends is not None}}


def _share_unknown(column: pd.Series[Any], known: list[str]) -> float:
    values = column.dropna()
    return float((~values.isin(known)).mean()) if len(values) else 0.0


def range_of(values: Any) -> list[float] | None:
    """Where nearly all of some numbers lie; None of too few."""
    values = np.sort(values[np.isfinite(values)])
    if len(values) <= 2 * _ROWS_BEYOND:
        return None
    low, high = values[[_ROWS_BEYOND, -1 - _ROWS_BEYOND]].tolist()
    return [_rounded(low, floor), _rounded(high, ceil)]


def _rounded(value: float, outwards: Callable[[float], int]) -> float:
    """Two digits, away from the range: enough to tell years from days, and nobody's own number."""
    if not value:
        return 0.0
    unit = 10.0 ** (floor(log10(abs(value))) - 1)
    return float(outwards(value / unit) * unit)


@dataclass
class StrangeValues:
    """Counts, batch after batch, the values of a table that are unlike those of the fit.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier.
    familiar : dict
        From :func:`familiar_values`, as the model file keeps it.
    """

    clf: Any
    familiar: Mapping[str, Mapping[str, Any]]
    _n_values: Counter[str] = field(default_factory=Counter)
    _n_strange: Counter[str] = field(default_factory=Counter)
    _examples: dict[str, dict[str, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known = {name: set(values) for name, values in known_categories(self.clf).items()}
        self._ranges = dict(self.familiar.get("ranges", {}))

    def add(self, X: pd.DataFrame) -> None:
        """Look at some more rows."""
        for name, known in self._known.items():
            values = X[name].dropna()
            unknown = values[~values.isin(known)]
            self._n_values[name] += len(values)
            self._n_strange[name] += len(unknown)
            examples = self._examples.setdefault(name, {})
            if len(unknown) and len(examples) < _EXAMPLES:
                examples |= dict.fromkeys(unknown.unique()[:_EXAMPLES])
        for name, (low, high) in self._ranges.items():
            numbers = X[name].to_numpy()
            numbers = numbers[np.isfinite(numbers)]
            self._n_values[name] += len(numbers)
            self._n_strange[name] += int(np.count_nonzero((numbers < low) | (numbers > high)))

    def notes(self) -> list[str]:
        """One sentence for each column whose values are unlike those of the fit."""
        of_categories = [self._on_category(name) for name in self._known]
        return [note for note in (*of_categories, *map(self._on_number, self._ranges)) if note is not None]

    def _on_category(self, name: str) -> str | None:
        n_values, share_at_fit = self._n_values[name], self.familiar.get("rare", {}).get(name, 0.0)
        share = self._n_strange[name] / n_values if n_values else 0.0
        # Half of the values that would be known if the table were like that of the fit. Of a column of rare values the
        # model did not know most of those of the fit either, and nothing can be told from it.
        if share_at_fit > _MOST_UNKNOWN or share <= share_at_fit + (1 - share_at_fit) * _MOST_UNKNOWN:
            return None
        found, known = listed(list(self._examples[name])[:_EXAMPLES]), listed(sorted(self._known[name]), _EXAMPLES)
        return (
            f"column {name!r}: {percent(share)} of its values, such as {found}, are unknown to the model and count as "
            f"missing; it knows {known}; spell them as at the fit"
        )

    def _on_number(self, name: str) -> str | None:
        n_values = self._n_values[name]
        if n_values < _FEWEST_VALUES or self._n_strange[name] < n_values:
            return None
        low, high = self._ranges[name]
        return (
            f"column {name!r}: all of its {n_values:,} values lie outside of {low:g} to {high:g}, where nearly all of "
            "the fit lay; is it in another unit?"
        )
