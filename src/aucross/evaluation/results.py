"""What an evaluation gives back: tables of estimates with intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from aucross.core.bounds import Ends, difference_ends
from aucross.core.ranking import FloatArray
from aucross.evaluation.bootstrap import bootstrap_spread
from aucross.system.notebook import Estimate, Strip, arrow_stream, result_html, strips
from aucross.system.text import exact_percent, percent

# Sums of weights in another order differ by less than the second; a coverage asked for may differ from the end of an
# interval by the first.
_ROUNDING = 1e-9
_SUMS = 1e-12

_COUNTS = ("n_positive", "n_negative", "n_selected", "n_rarest")


@dataclass(frozen=True, eq=False, repr=False)
class SelectiveEvaluation:
    """Metrics of a selective classifier at several coverages, with intervals.

    Attributes
    ----------
    target_coverage : ndarray of shape (n_coverages,)
        Coverages asked for.
    estimates : dict of str to ndarray of shape (n_coverages,)
        Each metric on the rows as given.
    replicates : dict of str to ndarray of shape (n_bootstrap, n_coverages)
        Each metric that was asked for on the resampled rows.
    n_positive, n_negative : ndarray of shape (n_coverages,), optional
        Selected rows of each of two classes.
    confidence_level : float
        Level of the intervals.
    drawn_from : pair of int, optional
        Number of rows and seed of the bootstrap.
    n_selected, n_rarest : ndarray of shape (n_coverages,), optional
        With more than two classes: selected rows, and those of the class that has the fewest.
    deviations : dict of str to ndarray of shape (n_coverages,)
        Standard deviations of the metrics that have no replicates.
    intervals : dict of str to Ends
        Ends ``low`` and ``high`` of their intervals, arrays of shape (n_coverages,).
    influences : dict of str to callable
        What each row, or each unit, adds to a metric at a target coverage, by which two evaluations of the same rows
        are paired.
    has_rows : bool
        False if it was made from a ranking. Nobody can then tell which rows two evaluations share, so that they are not
        compared.
    n_units : int, optional
        Number of units, such as customers, that were drawn in the place of rows.
    at_least : bool
        Whether the coverages are to be reached at least, as those of a classifier with ``coverage_confidence``.
    """

    target_coverage: FloatArray
    estimates: Mapping[str, FloatArray]
    replicates: Mapping[str, FloatArray] = field(default_factory=dict)
    n_positive: NDArray[np.intp] | None = None
    n_negative: NDArray[np.intp] | None = None
    confidence_level: float = 0.95
    drawn_from: tuple[int, int] | None = None
    n_selected: NDArray[np.intp] | None = None
    n_rarest: NDArray[np.intp] | None = None
    deviations: Mapping[str, FloatArray] = field(default_factory=dict)
    intervals: Mapping[str, Ends] = field(default_factory=dict)
    influences: Mapping[str, Callable[[float], FloatArray]] = field(default_factory=dict, repr=False)
    has_rows: bool = True
    n_units: int | None = None
    at_least: bool = False

    @property
    def missed(self) -> NDArray[np.bool_]:
        """Whether each coverage asked for is outside the interval of the coverage reached; False without intervals."""
        if "achieved_coverage" not in self.estimates:  # made of metrics of the user alone
            return np.zeros(len(self.target_coverage), dtype=bool)
        ends = self.spread("achieved_coverage")
        too_low = self.target_coverage > ends["achieved_coverage_high"] + _ROUNDING
        too_high = self.target_coverage < ends["achieved_coverage_low"] - _ROUNDING
        return np.asarray(too_low | (too_high & (not self.at_least)))

    def missed_sentence(self, coverages: Iterable[float] | None = None) -> str | None:
        """Say which coverages asked for were missed; None if none was.

        Parameters
        ----------
        coverages : iterable of float, optional
            Some of the target coverages; all of them by default.

        Returns
        -------
        str or None
        """
        asked, level = self if coverages is None else self.at(coverages), exact_percent(self.confidence_level)
        missed = [
            f"{_asked(row)} (reached {percent(row['achieved_coverage'])}, {level} interval "
            f"{percent(row['achieved_coverage_low'])} to {percent(row['achieved_coverage_high'])})"
            for row, is_missed in zip(asked.rows(), asked.missed, strict=True)
            if is_missed
        ]
        return f"The coverage asked for was missed: {', '.join(missed)}." if missed else None

    @property
    def has_intervals(self) -> bool:
        """Whether it has more than estimates."""
        return bool(self.intervals) or any(len(replicates) > 1 for replicates in self.replicates.values())

    def spread(self, name: str) -> dict[str, FloatArray]:
        """Standard deviation (``_sd``) and interval (``_low``, ``_high``) of a metric at each coverage."""
        if name in self.replicates:
            return bootstrap_spread(name, self.replicates[name], self.confidence_level)
        if name not in self.intervals:
            return {f"{name}_{end}": np.full(len(self.target_coverage), nan) for end in ("sd", "low", "high")}
        ends = self.intervals[name]
        return {f"{name}_sd": self.deviations[name], f"{name}_low": ends.low, f"{name}_high": ends.high}

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per target coverage, with ``_sd``, ``_low`` and ``_high`` beside each metric."""
        columns: dict[str, NDArray[Any]] = {"target_coverage": self.target_coverage}
        for name, estimate in self.estimates.items():
            columns[name] = estimate
            columns.update(self.spread(name))
        columns |= {name: count for name in _COUNTS if (count := getattr(self, name)) is not None}
        return [
            {name: values[index].item() for name, values in columns.items()}
            for index in range(len(self.target_coverage))
        ]

    def at(self, coverages: Iterable[float]) -> SelectiveEvaluation:
        """The same at some of the target coverages, in the order given."""
        known = {coverage: place for place, coverage in enumerate(self.target_coverage.tolist())}
        asked = list(coverages)
        if missing := [coverage for coverage in asked if coverage not in known]:
            raise ValueError(f"coverages must be some of {list(known)}, got also {missing}; evaluate at them too")
        places = [known[coverage] for coverage in asked]
        counts = {name: count[places] for name in _COUNTS if (count := getattr(self, name)) is not None}
        return replace(
            self,
            target_coverage=self.target_coverage[places],
            estimates={name: values[places] for name, values in self.estimates.items()},
            replicates={name: values[:, places] for name, values in self.replicates.items()},
            deviations={name: values[places] for name, values in self.deviations.items()},
            intervals={name: ends.at(places) for name, ends in self.intervals.items()},
            **counts,
        )

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        return as_frame(self.rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as a stream of Arrow's C interface."""
        return arrow_stream(as_columns(self.rows()), requested_schema)

    def __repr__(self) -> str:
        return text_table(self.rows(), list(self.estimates))

    def _repr_html_(self) -> str:
        metric, rows = _ranking_metric(self.estimates), self.rows()
        least, most = (choose(rows, key=lambda row: row["target_coverage"]) for choose in (min, max))
        name = _METRIC_NAMES.get(metric, metric)
        sentence = f"{name} of the selected rows: {least[metric]:.4f} at a coverage of {_asked(least)}"
        if most is not least:
            sentence += f", {most[metric]:.4f} at {_asked(most)}"
        table = [{"coverage asked": _asked(row), **shown_metrics(row, self.estimates)} for row in rows]
        pictures = strips([estimate_of(row, metric) for row in rows], most[metric])
        sentence = " ".join(filter(None, (f"{sentence}.", self.missed_sentence())))
        return result_html(sentence, with_pictures(table, f"{name} ", pictures), self._further())

    def _further(self) -> str:
        intervals = f"In brackets: {exact_percent(self.confidence_level)} intervals. "
        return f"{intervals if self.has_intervals else ''}to_frame() has all columns."

    def minus(self, other: SelectiveEvaluation) -> SelectiveComparison:
        """Compare with another evaluation of the same rows and coverages, row by row."""
        self._check_paired(other)
        shared = [name for name in self.estimates if name in other.estimates]
        found = {name: self.difference(name, other) for name in shared}
        return SelectiveComparison(
            self.target_coverage,
            {name: (self.estimates[name], other.estimates[name]) for name in shared},
            {name: difference.deviation for name, difference in found.items()},
            {name: difference.ends for name, difference in found.items()},
            {name: difference.share_above_zero for name, difference in found.items()},
            self.confidence_level,
        )

    def _check_paired(self, other: SelectiveEvaluation) -> None:
        if not np.array_equal(self.target_coverage, other.target_coverage):
            raise ValueError(
                f"both evaluations must have the same target coverages, got {self.target_coverage.tolist()} and "
                f"{other.target_coverage.tolist()}"
            )
        if not (self.has_rows and other.has_rows):
            raise ValueError(
                "both evaluations must be made from rows, got one from a ranking, which does not tell the rows that "
                "both share; compare with compare_selective, or evaluate the rows with evaluate_selections"
            )
        ours, theirs = self.drawn_from, other.drawn_from
        if ours is not None and theirs is not None and ours[0] != theirs[0]:
            raise ValueError(
                f"both evaluations must have the same rows, got {ours[0]} and {theirs[0]} rows; pass the same rows to "
                "both"
            )
        if self.n_units != other.n_units:
            raise ValueError(
                "both evaluations must have the same units, got numbers of units "
                f"{self.n_units} and {other.n_units}; pass the same groups to both"
            )
        for name in set(self.replicates) & set(other.replicates):
            drawn = [(len(part.replicates[name]), *(part.drawn_from or ())[1:]) for part in (self, other)]
            if drawn[0] != drawn[1]:
                raise ValueError(
                    f"both evaluations must have the same bootstrap for {name}, got (replicates, seed) {drawn[0]} and "
                    f"{drawn[1]}; pass the same n_bootstrap and random_state to both"
                )

    def difference(self, name: str, other: SelectiveEvaluation) -> PairedDifference:
        """A metric of this evaluation minus that of another one of the same rows, at each coverage."""
        first, second = self.estimates[name], other.estimates[name]
        difference = _difference(first, second)
        if name in self.replicates and name in other.replicates:
            replicates = _difference(self.replicates[name], other.replicates[name])
            sd, low, high = bootstrap_spread("", replicates, self.confidence_level).values()
            return PairedDifference(sd, Ends(low, high, np.zeros(len(sd))), _share_above_zero(replicates))
        if name not in self.intervals or name not in other.intervals:
            nothing = np.full(len(difference), nan)
            return PairedDifference(nothing, Ends(nothing, nothing, nothing), nothing)
        moments, is_same = [], np.isclose(first, second, rtol=0.0, atol=_SUMS, equal_nan=False)
        for place, coverage in enumerate(self.target_coverage.tolist()):
            ours = self.influences[name](coverage)
            influence = ours - other.influences[name](coverage)
            # The same rows that do the same give the same number, unless both are at the end of their range.
            alike = np.abs(influence).max() <= _SUMS * np.abs(ours).max()
            is_same[place] &= alike and (first[place] not in (0.0, 1.0) or self is other)
            squared = influence * influence
            moments.append((0.0, 0.0) if is_same[place] else (squared.sum(), squared @ influence))
        squares, cubes = np.array(moments).T
        deviation = np.sqrt(squares)
        skewness = np.divide(cubes, deviation**3, out=np.zeros(len(cubes)), where=deviation > 1e-100)
        # Half of what an added row does to either: it is added to both, and one of them gets it wrong.
        step = np.where(is_same, 0.0, np.fmax(self.intervals[name].step, other.intervals[name].step) / 2.0)
        ends = difference_ends(difference, deviation, skewness, (step, step), self.confidence_level)
        distance = np.divide(difference, deviation, out=np.copysign(np.inf, difference), where=deviation > 1e-100)
        return PairedDifference(deviation, ends, ndtr(np.where(np.abs(difference) <= _SUMS, 0.0, distance)))


class PairedDifference(NamedTuple):
    """Standard deviation and interval of a difference, and the probability that it is above 0, at each coverage."""

    deviation: FloatArray
    ends: Ends
    share_above_zero: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class SelectiveComparison:
    """Paired differences between two selective classifiers, first minus second, at several coverages.

    Attributes
    ----------
    target_coverage : ndarray of shape (n_coverages,)
        Coverages asked for.
    estimates : dict of str to pair of ndarray of shape (n_coverages,)
        Each metric of the first and of the second classifier.
    deviations : dict of str to ndarray of shape (n_coverages,)
        Standard deviation of each difference.
    intervals : dict of str to Ends
        Interval of each difference.
    shares_above_zero : dict of str to ndarray of shape (n_coverages,)
        Probability that the first classifier has the higher value on another sample, equal values counting half: by
        the normal distribution, of metrics that were asked for the share of the replicates.
    confidence_level : float
        Level of the intervals.
    names : pair of str
        What the classifiers are called.
    """

    target_coverage: FloatArray
    estimates: Mapping[str, tuple[FloatArray, FloatArray]]
    deviations: Mapping[str, FloatArray]
    intervals: Mapping[str, Ends]
    shares_above_zero: Mapping[str, FloatArray]
    confidence_level: float = 0.95
    names: tuple[str, str] = ("first", "second")

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per coverage and metric."""
        rows = []
        for index, coverage in enumerate(self.target_coverage):
            for name, (first, second) in self.estimates.items():
                ends = self.intervals[name]
                rows.append(
                    {
                        "target_coverage": float(coverage),
                        "metric": name,
                        "first": float(first[index]),
                        "second": float(second[index]),
                        "difference": float(_difference(first[[index]], second[[index]])[0]),
                        "difference_sd": float(self.deviations[name][index]),
                        "difference_low": float(ends.low[index]),
                        "difference_high": float(ends.high[index]),
                        "share_above_zero": float(self.shares_above_zero[name][index]),
                    }
                )
        return rows

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        return as_frame(self.rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as a stream of Arrow's C interface."""
        return arrow_stream(as_columns(self.rows()), requested_schema)

    def __repr__(self) -> str:
        metric = _ranking_metric(self.estimates)
        rows = [row for row in self.rows() if row["metric"] == metric]
        return text_table(rows, ["first", "second", "difference"])

    def _repr_html_(self) -> str:
        metric = _ranking_metric(self.estimates)
        first, second = self.names
        rows = [row for row in self.rows() if row["metric"] == metric]
        reached = self.estimates.get("achieved_coverage", (self.target_coverage * np.nan,) * 2)
        least = min(rows, key=lambda row: row["target_coverage"])
        sentence = (
            f"{_METRIC_NAMES.get(metric, metric)} of {first} minus that of {second}: {least['difference']:+.4f} at a "
            f"coverage of {_asked(least)}, with {exact_percent(self.confidence_level)} intervals below."
        )
        differences = [estimate_of(row, "difference") for row in rows]
        table = [
            {
                "coverage asked": _asked(row),
                f"reached by {first}": float(by_first),
                f"reached by {second}": float(by_second),
                first: row["first"],
                second: row["second"],
                "difference": difference,
            }
            for row, by_first, by_second, difference in zip(rows, *reached, differences, strict=True)
        ]
        return result_html(sentence, with_pictures(table, "difference ", strips(differences, 0.0)))


_METRIC_NAMES = {"selective_auc": "AUC", "hand_till_m": "Hand and Till's M"}
# Short heads for narrow tables; other metrics keep their name.
_HEADS = {
    "achieved_coverage": "reached",
    "selective_auc": "AUC",
    "auc_gain": "AUC gain",
    "selective_accuracy": "accuracy",
    "positive_rate": "positive rate",
    "positives_for_review": "positives for review",
    "hand_till_m": "Hand and Till's M",
    "auc_mu": "AUC-mu",
}


def _ranking_metric(estimates: Mapping[str, Any]) -> str:
    return next((name for name in _METRIC_NAMES if name in estimates), next(iter(estimates)))


def _asked(row: Mapping[str, Any]) -> str:
    return exact_percent(row["target_coverage"])


def estimate_of(row: Mapping[str, Any], name: str) -> Estimate:
    """A number of a row with its interval."""
    return Estimate(row[name], *(row.get(f"{name}_{end}", nan) for end in ("low", "high")))


def shown_metrics(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Estimate]:
    """The metrics of a row as cells, without the difference of the coverages asked and reached, which both show."""
    return {head_of(name): estimate_of(row, name) for name in names if name != "coverage_error"}


def head_of(name: str) -> str:
    """A metric in the head of a narrow table."""
    return _HEADS.get(name, name)


def with_pictures(table: list[dict[str, Any]], head: str, pictures: Sequence[Strip]) -> list[dict[str, Any]]:
    """The table with a column of pictures at its end, if there are intervals to draw."""
    if not any(picture.estimate.has_interval for picture in pictures):
        return table
    return [{**row, head: picture} for row, picture in zip(table, pictures, strict=True)]


def as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The rows by column."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def _difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """First minus second; 0 where both are the same infinity."""
    return np.subtract(first, second, out=np.zeros(first.shape), where=first != second)


def _share_above_zero(replicates: FloatArray) -> FloatArray:
    """Share of the replicates above 0 in each column, equal values counting half."""
    defined = ~np.isnan(replicates)
    above = np.where(defined, (replicates > 0) + (replicates == 0) / 2.0, 0.0).sum(axis=0)
    nothing = np.full(replicates.shape[1], np.nan)
    share: FloatArray = np.divide(above, defined.sum(axis=0), out=nothing, where=defined.any(axis=0))
    return share


def as_frame(rows: list[dict[str, Any]]) -> Any:
    """Rows as a pandas DataFrame, or the command that installs pandas."""
    try:
        import pandas as pd  # noqa: PLC0415  (an extra: only this method needs it)
    except ImportError:
        raise ImportError('to_frame needs pandas: pip install "aucross[frames]"; rows() works without') from None
    return pd.DataFrame(rows)


def text_table(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """The estimates with their intervals, aligned in columns."""
    header = ["target_coverage", *names]
    lines = [header]
    for row in rows:
        coverage = row["target_coverage"]
        # More decimals only where two would say something else: 0.975 is not 0.97.
        cells = [f"{coverage:.2f}" if round(coverage, 2) == coverage else f"{coverage:g}"]
        for name in names:
            low, high = (row.get(f"{name}_{end}", float("nan")) for end in ("low", "high"))
            cells.append(f"{row[name]:.3f}" + ("" if np.isnan(low) else f" [{low:.3f}, {high:.3f}]"))
        lines.append(cells)
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
