"""What an evaluation gives back: tables of estimates with intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray
from aucross.evaluation.intervals import Ends, difference_ends
from aucross.system.notebook import Estimate, Strip, arrow_stream, result_html, strips
from aucross.system.text import exact_percent, percent

# A coverage asked for may differ from the end of an interval by rounding.
_ROUNDING = 1e-9
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
        Each metric on the resampled rows.
    n_positive, n_negative : ndarray of shape (n_coverages,), optional
        Selected rows of each of two classes.
    confidence_level : float
        Level of the intervals.
    drawn_from : pair of int, optional
        Number of rows and seed of the bootstrap; two evaluations are paired if both agree.
    n_selected, n_rarest : ndarray of shape (n_coverages,), optional
        With more than two classes: selected rows, and those of the class that has the fewest.
    intervals : dict of str to Ends
        Ends ``low`` and ``high``, arrays of shape (n_coverages,), of the metrics whose intervals do not come from the
        percentiles of the replicates.
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
    replicates: Mapping[str, FloatArray]
    n_positive: NDArray[np.intp] | None = None
    n_negative: NDArray[np.intp] | None = None
    confidence_level: float = 0.95
    drawn_from: tuple[int, int] | None = None
    n_selected: NDArray[np.intp] | None = None
    n_rarest: NDArray[np.intp] | None = None
    intervals: Mapping[str, Ends] = field(default_factory=dict)
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

    def spread(self, name: str) -> dict[str, FloatArray]:
        """Standard deviation (``_sd``) and interval (``_low``, ``_high``) of a metric at each coverage."""
        spread = bootstrap_spread(name, self.replicates[name], self.confidence_level)
        return spread | _named_ends(name, self.intervals.get(name))

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
        has_replicates = any(len(replicates) > 1 for replicates in self.replicates.values())
        return f"{intervals if has_replicates else ''}to_frame() has all columns."

    def minus(self, other: SelectiveEvaluation) -> SelectiveComparison:
        """Compare with another evaluation of the same rows, coverages and bootstrap seed, replicate by replicate."""
        if not np.array_equal(self.target_coverage, other.target_coverage):
            raise ValueError(
                f"both evaluations must have the same target coverages, got {self.target_coverage.tolist()} and "
                f"{other.target_coverage.tolist()}"
            )
        if None not in (self.drawn_from, other.drawn_from) and self.drawn_from != other.drawn_from:
            raise ValueError(
                "both evaluations must have the same rows and bootstrap seed, got (rows, seed) "
                f"{self.drawn_from} and {other.drawn_from}; pass the same rows and random_state to both"
            )
        if self.n_units != other.n_units:
            raise ValueError(
                "both evaluations must draw the same units, got numbers of units "
                f"{self.n_units} and {other.n_units}; pass the same groups to both"
            )
        if not (self.has_rows and other.has_rows):
            raise ValueError(
                "both evaluations must be made from rows, got one from a ranking, which does not tell the rows that "
                "both share; compare with compare_selective, or evaluate the rows with evaluate_selections"
            )
        shared = [name for name in self.estimates if name in other.estimates]
        for name in shared:
            ours, theirs = len(self.replicates[name]), len(other.replicates[name])
            if ours != theirs:
                raise ValueError(
                    f"both evaluations must have the same number of bootstrap replicates, got {ours} and {theirs}; "
                    "pass the same n_bootstrap and random_state to both"
                )
        return SelectiveComparison(
            self.target_coverage,
            {name: (self.estimates[name], other.estimates[name]) for name in shared},
            {name: _difference(self.replicates[name], other.replicates[name]) for name in shared},
            self.confidence_level,
            intervals={
                name: self.ends_of_difference(name, other)
                for name in shared
                if name in self.intervals and name in other.intervals
            },
        )

    def ends_of_difference(self, name: str, other: SelectiveEvaluation) -> Ends:
        """Interval of a metric of this evaluation minus that of another of the same draws, at each coverage."""
        first, second = self.estimates[name], other.estimates[name]
        replicates = _difference(self.replicates[name], other.replicates[name])
        # The same number in every resample is the same number, unless both are at the end of their range.
        is_same = (replicates == 0.0).all(axis=0) & (first == second) & (~np.isin(first, (0.0, 1.0)) | (self is other))
        # Half of what an added row does to either: it is added to both, and one of them gets it wrong.
        step = np.where(is_same, 0.0, np.fmax(self.intervals[name].step, other.intervals[name].step) / 2.0)
        return difference_ends(_difference(first, second), replicates, (step, step), self.confidence_level)


@dataclass(frozen=True, eq=False, repr=False)
class SelectiveComparison:
    """Paired differences between two selective classifiers, first minus second, at several coverages.

    Attributes
    ----------
    target_coverage : ndarray of shape (n_coverages,)
        Coverages asked for.
    estimates : dict of str to pair of ndarray of shape (n_coverages,)
        Each metric of the first and of the second classifier.
    differences : dict of str to ndarray of shape (n_bootstrap, n_coverages)
        Differences on the same resampled rows.
    confidence_level : float
        Level of the intervals.
    names : pair of str
        What the classifiers are called.
    intervals : dict of str to Ends
        Ends of the intervals of the differences that do not come from percentiles.
    """

    target_coverage: FloatArray
    estimates: Mapping[str, tuple[FloatArray, FloatArray]]
    differences: Mapping[str, FloatArray]
    confidence_level: float = 0.95
    names: tuple[str, str] = ("first", "second")
    intervals: Mapping[str, Ends] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per coverage and metric.

        ``share_above_zero`` is the share of replicates in which the first classifier has the higher value, equal
        values counting half.
        """
        rows = []
        for index, coverage in enumerate(self.target_coverage):
            for name, (first, second) in self.estimates.items():
                differences = self.differences[name][:, [index]]
                ends = self.intervals.get(name)
                spread = bootstrap_spread("difference", differences, self.confidence_level)
                spread |= _named_ends("difference", None if ends is None else ends.at([index]))
                rows.append(
                    {
                        "target_coverage": float(coverage),
                        "metric": name,
                        "first": float(first[index]),
                        "second": float(second[index]),
                        "difference": float(_difference(first[[index]], second[[index]])[0]),
                        **{column: float(values[0]) for column, values in spread.items()},
                        "share_above_zero": _share_above_zero(differences),
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


def bootstrap_spread(name: str, replicates: FloatArray, confidence_level: float) -> dict[str, FloatArray]:
    """Standard deviation and percentile interval of each column, over the replicates where it is defined.

    A metric of the user can be infinite (an odds ratio, say): the standard deviation is then NaN, and the ends of the
    interval are values of replicates, since nothing lies between a number and infinity.
    """
    tail = (1 - confidence_level) / 2
    sd, low, high = (np.full(replicates.shape[1], np.nan) for _ in range(3))
    # Columns of numbers alone, which are most, take one call for all.
    is_finite = np.isfinite(replicates).all(axis=0) & (len(replicates) > 1)
    finite = np.ascontiguousarray(replicates.T[is_finite])
    if len(finite):
        sd[is_finite] = finite.std(ddof=1, axis=1)
        low[is_finite], high[is_finite] = np.quantile(finite, [tail, 1 - tail], axis=1)
    for column in np.flatnonzero(~is_finite):
        defined = replicates[~np.isnan(replicates[:, column]), column]
        if len(defined) < 2:
            continue
        if np.isfinite(defined).all():
            sd[column] = defined.std(ddof=1)
            low[column], high[column] = np.quantile(defined, [tail, 1 - tail])
        else:
            low[column] = np.quantile(defined, tail, method="lower")
            high[column] = np.quantile(defined, 1 - tail, method="higher")
    return {f"{name}_sd": sd, f"{name}_low": low, f"{name}_high": high}


def _named_ends(name: str, ends: Ends | None) -> dict[str, FloatArray]:
    return {} if ends is None else {f"{name}_low": ends.low, f"{name}_high": ends.high}


def _difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """First minus second; 0 where both are the same infinity."""
    return np.subtract(first, second, out=np.zeros(first.shape), where=first != second)


def _share_above_zero(differences: FloatArray) -> float:
    defined = differences[~np.isnan(differences)]
    if not len(defined):
        return float("nan")
    return float((defined > 0).mean() + (defined == 0).mean() / 2)


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
