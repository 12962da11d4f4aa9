"""A guard that warns if the share of positives among the selected rows differs from the share among all rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Literal

from numpy.typing import ArrayLike
from scipy.stats import hypergeom

from aucross.core.bounds import has_weights
from aucross.core.ranking import FloatArray, as_positive
from aucross.evaluation.inputs import (
    BoolArray,
    check_probability,
    check_selected,
    group_column,
    row_weights,
    weighted_mean,
)
from aucross.system.notebook import result_html
from aucross.system.text import exact_percent, percent

_MEASURES = ("shift", "relative_shift", "review_ratio")


class BaseRateWarning(UserWarning):
    """The share of positives differs between selected rows and all rows, or the rarer class is rejected too often."""


@dataclass(frozen=True)
class BaseRateCheck:
    """Result of comparing the share of positives among selected rows with the share among all rows.

    Attributes
    ----------
    n : int
        Number of rows, selected or not.
    positive_rate, selected_positive_rate : float
        Share of positives among all rows and among the selected ones.
    shift : float
        `selected_positive_rate` minus `positive_rate`.
    rarer_class : {"positive", "negative"}
        The class with the smaller share of all rows.
    relative_shift : float
        Change of the share of the rarer class, divided by its share of all rows.
    for_review, rarer_for_review : float
        Rejected share of all rows, and rejected share of the rarer class.
    review_ratio : float
        ``rarer_for_review / for_review``: 1 if the rarer class is rejected as often as rows in general.
    chance : float
        Probability that rejecting this number of rows at random gives a number of positives at least this unusual.
    guard : BaseRateGuard
        The guard, with its limits.
    weighted : bool
        Whether rows have different weights; shares are then shares of weight, but `chance` counts rows.
    """

    n: int
    positive_rate: float
    selected_positive_rate: float
    shift: float
    rarer_class: Literal["positive", "negative"]
    relative_shift: float
    for_review: float
    rarer_for_review: float
    review_ratio: float
    chance: float
    guard: BaseRateGuard
    weighted: bool = False

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Names of the limits that are exceeded, by more than chance explains."""
        if self.chance > self.guard.significance:
            return ()
        return tuple(
            f"max_{name}" for name in _MEASURES if abs(getattr(self, name)) > getattr(self.guard, f"max_{name}")
        )

    @property
    def ok(self) -> bool:
        """Whether no limit is exceeded."""
        return not self.exceeded

    def _repr_html_(self) -> str:
        verdict = "Within limits" if self.ok else "Limit exceeded"
        rows = [
            {
                "measure": name.replace("_", " "),
                "value": getattr(self, name),
                "limit": float(getattr(self.guard, f"max_{name}")),
                "verdict": "exceeded" if f"max_{name}" in self.exceeded else "within",
            }
            for name in _MEASURES
        ]
        return result_html(f"{verdict}: {self.message}.", rows)

    @property
    def message(self) -> str:
        """Sentence with the numbers and the limits that are exceeded."""
        if isnan(self.rarer_for_review):
            return f"there are no {self.rarer_class}s among {self.n} rows: nothing to compare"
        if isnan(self.selected_positive_rate):
            return f"none of {self.n} rows is selected: nothing to compare"
        of_rows, of_class, by_weight = ("the weight of ", "that of ", " by weight") if self.weighted else ("", "", "")
        sentence = (
            f"{percent(self.for_review)} of {of_rows}{self.n} rows and {percent(self.rarer_for_review)} of {of_class}"
            f"the {self.rarer_class}s go to review, and the positive rate{by_weight} goes from "
            f"{self.positive_rate:.3f} to {self.selected_positive_rate:.3f}"
        )
        limits = {
            "max_shift": f"a shift of {abs(self.shift):.3f} (limit {self.guard.max_shift:g})",
            "max_relative_shift": f"a share of {self.rarer_class}s changed by {percent(abs(self.relative_shift))} "
            f"(limit {exact_percent(self.guard.max_relative_shift)})",
            "max_review_ratio": f"{self.rarer_class}s go to review {self.review_ratio:.1f} times as often as any "
            f"row (limit {self.guard.max_review_ratio:g})",
        }
        exceeded = "; ".join(limits[name] for name in self.exceeded)
        return f"{sentence}: {exceeded}" if exceeded else sentence


@dataclass(frozen=True)
class BaseRateGuard:
    """Check that warns if selection changes the share of positives by more than chance explains.

    Parameters
    ----------
    max_shift : float in [0, 1], default=0.05
        Largest difference between the positive rates of the selected rows and of all rows, in either direction.
    max_relative_shift : float, default=0.2
        Largest change of the share of the rarer class, divided by its share of all rows. It matters where that class
        is rare: a positive rate that falls from .067 to .019 stays within a `max_shift` of .05.
    max_review_ratio : float of at least 1, default=2.0
        Largest rejection rate of the rarer class, divided by the rejection rate of all rows. It matters at high
        coverage, where rejecting most of a class hardly moves the positive rate.
    significance : float in (0, 1], default=0.01
        A limit counts as exceeded only if `chance`, the probability of so unusual a selection by accident, is at most
        this. It prevents false alarms from small groups; 1 switches it off.

    Notes
    -----
    The limits allow bands placed for the AUC, but not rejection by maximum probability. With LightGBM on Adult,
    UCICredit and GiveMe and coverages from .99 to .75 (``benchmarks/base_rate.py``), :class:`aucross.AUCross` shifts
    the positive rate by at most .028 or 11 % and rejects positives at most 1.7 times as often as rows in general;
    :class:`aucross.SCross` shifts it by up to 71 % and rejects positives up to 7.6 times as often. `chance` counts
    rows, whatever their weights; the other numbers count weight.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.evaluation.guard import BaseRateGuard
    >>> y = np.arange(1000) % 10 == 0
    >>> even, starving = np.arange(1000) % 3 > 0, ~y | (np.arange(1000) % 4 > 0)
    >>> guard = BaseRateGuard()
    >>> print(guard.check(y, even).message)
    33.4 % of 1000 rows and 34 % of the positives go to review, and the positive rate goes from 0.100 to 0.099
    >>> guard.check(y, starving, warn=False).exceeded
    ('max_relative_shift', 'max_review_ratio')
    """

    max_shift: float = 0.05
    max_relative_shift: float = 0.2
    max_review_ratio: float = 2.0
    significance: float = 0.01

    def __post_init__(self) -> None:
        check_probability(self.max_shift, "max_shift")
        if not self.max_relative_shift >= 0:
            raise ValueError(f"max_relative_shift must be 0 or more, got {self.max_relative_shift:g}; 0.2 means 20 %")
        if not self.max_review_ratio >= 1:
            raise ValueError(
                f"max_review_ratio must be at least 1, got {self.max_review_ratio:g}; 1 means as often as any row"
            )
        if not 0 < self.significance <= 1:
            raise ValueError(f"significance must be in (0, 1], got {self.significance:g}; 1 switches it off")

    def check(
        self, y_true: ArrayLike, selected: ArrayLike, *, sample_weight: ArrayLike | None = None, warn: bool = True
    ) -> BaseRateCheck:
        """Compare the selected rows with all rows.

        Parameters
        ----------
        y_true, selected, sample_weight
            As for :func:`~aucross.evaluation.selected_counts`; rows of weight 0 are ignored.
        warn : bool, default=True
            Whether to give a :class:`BaseRateWarning` when a limit is exceeded.

        Returns
        -------
        BaseRateCheck
            Numbers that are undefined (no positives, nothing selected) are NaN and exceed no limit.
        """
        checked = base_rate_check(self, *_with_weight(y_true, selected, sample_weight))
        if warn and not checked.ok:
            warnings.warn(checked.message, BaseRateWarning, stacklevel=2)
        return checked

    def check_groups(
        self,
        y_true: ArrayLike,
        selected: ArrayLike,
        by: Any,
        *,
        sample_weight: ArrayLike | None = None,
        warn: bool = True,
    ) -> dict[Any, BaseRateCheck]:
        """Compare the selected rows of each group with all rows of that group.

        Parameters
        ----------
        y_true, selected, sample_weight
            As in :meth:`check`.
        by : array-like or series of shape (n,)
            The group of each row; missing values form the group ``"(missing)"``.
        warn : bool, default=True
            Whether to give one :class:`BaseRateWarning` for all groups in which a limit is exceeded.
        """
        column = group_column(by, len(as_positive(y_true)))
        positive, mask, weight = _with_weight(y_true, selected, sample_weight)
        column = column.take(row_weights(sample_weight, len(column.codes)) > 0)
        checks = {
            label: base_rate_check(self, positive[own], mask[own], weight[own])
            for label, own in zip(column.labels, column.members(), strict=True)
        }
        alarms = [f"group {label!r}: {checked.message}" for label, checked in checks.items() if not checked.ok]
        if warn and alarms:
            warnings.warn("; ".join(alarms), BaseRateWarning, stacklevel=2)
        return checks


def _with_weight(y_true: ArrayLike, selected: ArrayLike, sample_weight: ArrayLike | None) -> list[Any]:
    """Return checked labels, mask and weights of the rows that carry weight."""
    positive = as_positive(y_true)
    if not len(positive):
        raise ValueError("there must be at least one row to check, got none")
    mask, weight = check_selected(selected, len(positive)), row_weights(sample_weight, len(positive))
    return [part[weight > 0] for part in (positive, mask, weight)]


def base_rate_check(
    guard: BaseRateGuard, positive: BoolArray, selected: BoolArray, weight: FloatArray
) -> BaseRateCheck:
    """Compare checked rows that carry weight with the limits of a guard."""
    overall, rate = weighted_mean(positive, weight), weighted_mean(positive[selected], weight[selected])
    for_review = 1.0 - weighted_mean(selected, weight)
    is_rare = overall <= 0.5
    rarer = positive if is_rare else ~positive
    rarer_for_review = weighted_mean(~selected[rarer], weight[rarer])
    change, share = (rate - overall, overall) if is_rare else (overall - rate, 1.0 - overall)
    # Two-sided probability of the number of rejected positives, if rows were rejected at random.
    drawn, found = (len(positive), int(positive.sum()), int((~selected).sum())), int((positive & ~selected).sum())
    tail = min(hypergeom.cdf(found, *drawn), hypergeom.sf(found - 1, *drawn))
    return BaseRateCheck(
        n=len(positive),
        positive_rate=overall,
        selected_positive_rate=rate,
        shift=rate - overall,
        rarer_class="positive" if is_rare else "negative",
        relative_shift=change / share if share > 0 else nan,
        for_review=for_review,
        rarer_for_review=rarer_for_review,
        review_ratio=rarer_for_review / for_review if for_review > 0 else nan,
        chance=min(1.0, 2.0 * float(tail)),
        guard=guard,
        weighted=has_weights(weight),
    )
