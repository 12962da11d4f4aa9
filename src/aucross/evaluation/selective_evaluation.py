"""Results of an evaluation: a table of estimates with intervals, and paired differences between several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from aucross.core.bounds import Ends, difference_ends
from aucross.core.ranking import FloatArray
from aucross.evaluation.result_table import (
    ResultTable,
    bootstrap_spread,
    estimate_of,
    head_of,
    shown_metrics,
    text_table,
    with_pictures,
)
from aucross.system.notebook import result_html
from aucross.system.text import exact_percent, percent

# Sums of weights in another order differ by less than the second; a coverage asked for may differ from the end of an
# interval by the first.
_ROUNDING = 1e-9
_SUMS = 1e-12

# Coverages that differ by less are the same in a sentence.
_SAME_COVERAGE = 0.005

_COUNTS = ("n_positive", "n_negative", "n_selected", "n_rarest")


@dataclass(frozen=True, eq=False, repr=False)
class SelectiveEvaluation(ResultTable):
    """Metrics of a selective classifier at several coverages, with intervals.

    Attributes
    ----------
    target_coverage : ndarray of shape (n_coverages,)
        The requested coverages.
    estimates : dict of str to ndarray of shape (n_coverages,)
        Each metric on the rows as given.
    replicates : dict of str to ndarray of shape (n_bootstrap, n_coverages)
        Each requested metric on the resampled rows.
    n_positive, n_negative : ndarray of shape (n_coverages,), optional
        Selected rows of each of two classes.
    confidence_level : float
        Level of the intervals.
    n_selected, n_rarest : ndarray of shape (n_coverages,), optional
        With more than two classes: all selected rows, and the selected rows of the class that has the fewest.
    n_customers : int, optional
        Number of customers, if `customers` was given.
    at_least : bool
        Whether target coverages are lower limits, as for a classifier with ``coverage_confidence``.
    drawn_from, deviations, intervals, sizes, influences, has_rows
        Data from which :meth:`spread` and :meth:`difference` compute.
    """

    target_coverage: FloatArray
    estimates: Mapping[str, FloatArray]
    replicates: Mapping[str, FloatArray] = field(default_factory=dict)
    n_positive: NDArray[np.intp] | None = None
    n_negative: NDArray[np.intp] | None = None
    confidence_level: float = 0.95
    drawn_from: tuple[int, int] | None = None  # number of rows, and seed of the bootstrap
    n_selected: NDArray[np.intp] | None = None
    n_rarest: NDArray[np.intp] | None = None
    # Of metrics without replicates: standard deviations, ends of intervals, effective numbers of rows or customers
    # (Kish; for an AUC those of the rarer class), and what each row or customer adds to the metric at a coverage, by
    # which two evaluations of the same rows are paired.
    deviations: Mapping[str, FloatArray] = field(default_factory=dict)
    intervals: Mapping[str, Ends] = field(default_factory=dict)
    sizes: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    influences: Mapping[str, Callable[[float], FloatArray]] = field(default_factory=dict, repr=False)
    has_rows: bool = True  # a ranking does not tell which rows two evaluations share, so that they are not compared
    n_customers: int | None = None
    at_least: bool = False

    @property
    def n_rarer(self) -> NDArray[np.intp]:
        """Number of selected rows of the rarer class at each coverage, for evaluations of two classes."""
        assert self.n_positive is not None
        assert self.n_negative is not None
        return np.minimum(self.n_positive, self.n_negative)

    @property
    def missed(self) -> NDArray[np.bool_]:
        """Whether each requested coverage is outside the interval of the achieved coverage; False without intervals."""
        if "achieved_coverage" not in self.estimates:  # made of metrics of the user alone
            return np.zeros(len(self.target_coverage), dtype=bool)
        ends = self.spread("achieved_coverage")
        too_low = self.target_coverage > ends["achieved_coverage_high"] + _ROUNDING
        too_high = self.target_coverage < ends["achieved_coverage_low"] - _ROUNDING
        return np.asarray(too_low | (too_high & (not self.at_least)))

    def missed_sentence(self, coverages: Iterable[float] | None = None) -> str | None:
        """Say which of the requested coverages were missed; None if none was."""
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
        """Whether the estimates have intervals."""
        return bool(self.intervals) or any(len(replicates) > 1 for replicates in self.replicates.values())

    def spread(self, name: str) -> dict[str, FloatArray]:
        """Return the standard deviation (``_sd``) and interval (``_low``, ``_high``) of a metric at each coverage."""
        if name in self.replicates:
            return bootstrap_spread(name, self.replicates[name], self.confidence_level)
        if name not in self.intervals:
            return {f"{name}_{end}": np.full(len(self.target_coverage), nan) for end in ("sd", "low", "high")}
        ends = self.intervals[name]
        return {f"{name}_sd": self.deviations[name], f"{name}_low": ends.low, f"{name}_high": ends.high}

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per target coverage, with ``_sd``, ``_low`` and ``_high`` beside each metric."""
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
        """Return the evaluation at some of its target coverages, in the given order."""
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
            sizes={name: values[places] for name, values in self.sizes.items()},
            **counts,
        )

    def __repr__(self) -> str:
        return text_table(self.rows(), list(self.estimates))

    def _repr_html_(self) -> str:
        metric, rows = _ranking_metric(self.estimates), self.rows()
        least, most = (choose(rows, key=lambda row: row["target_coverage"]) for choose in (min, max))
        name = head_of(metric)
        sentence = f"{name} of the selected rows: {least[metric]:.4f} at a coverage of {_asked(least)}"
        if most is not least:
            sentence += f", {most[metric]:.4f} at {_asked(most)}"
        table = [{"coverage asked": _asked(row), **shown_metrics(row, self.estimates)} for row in rows]
        sentence = " ".join(filter(None, (f"{sentence}.", self.missed_sentence())))
        intervals = f"In brackets: {exact_percent(self.confidence_level)} intervals. " if self.has_intervals else ""
        return result_html(
            sentence, with_pictures(table, name, most[metric]), f"{intervals}to_frame() has all columns."
        )

    def minus(self, other: SelectiveEvaluation) -> SelectiveComparison:
        """Compare with another evaluation of the same rows and coverages, row by row: this one minus the other."""
        return SelectiveComparison({"first": self, "second": other}, "second")

    def check_paired(self, other: SelectiveEvaluation) -> None:
        """Refuse an evaluation with other rows, coverages or bootstrap draws."""
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
        if self.n_customers != other.n_customers:
            raise ValueError(
                "both evaluations must have the same customers, got numbers of customers "
                f"{self.n_customers} and {other.n_customers}; pass the same customers to both"
            )
        for name in set(self.replicates) & set(other.replicates):
            drawn = [(len(part.replicates[name]), *(part.drawn_from or ())[1:]) for part in (self, other)]
            if drawn[0] != drawn[1]:
                raise ValueError(
                    f"both evaluations must have the same bootstrap for {name}, got (replicates, seed) {drawn[0]} and "
                    f"{drawn[1]}; pass the same n_bootstrap and random_state to both"
                )

    def difference(self, name: str, other: SelectiveEvaluation) -> PairedDifference:
        """Return a metric of this evaluation minus that of another evaluation of the same rows, at each coverage."""
        first, second = self.estimates[name], other.estimates[name]
        difference = _difference(first, second)
        if name in self.replicates and name in other.replicates:
            replicates = _difference(self.replicates[name], other.replicates[name])
            sd, low, high = bootstrap_spread("", replicates, self.confidence_level).values()
            defined = ~np.isnan(replicates)  # equal values count half
            above = np.where(defined, (replicates > 0) + (replicates == 0) / 2.0, 0.0).sum(axis=0)
            share = np.divide(above, defined.sum(axis=0), out=np.full(len(sd), nan), where=defined.any(axis=0))
            return PairedDifference(sd, Ends(low, high, np.zeros(len(sd))), share)
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
        ends = difference_ends(difference, deviation, skewness, step, self.confidence_level)
        distance = np.divide(difference, deviation, out=np.copysign(np.inf, difference), where=deviation > 1e-100)
        return PairedDifference(deviation, ends, ndtr(np.where(np.abs(difference) <= _SUMS, 0.0, distance)))


class PairedDifference(NamedTuple):
    """Standard deviation and interval of a difference, and the probability that it is above 0, at each coverage."""

    deviation: FloatArray
    ends: Ends
    share_above_zero: FloatArray

    def columns(self, name: str, at: int) -> dict[str, float]:
        """Return the standard deviation and the interval at one coverage; keys begin with the given name."""
        found = {"sd": self.deviation, "low": self.ends.low, "high": self.ends.high}
        return {f"{name}_{end}": float(values[at]) for end, values in found.items()}


@dataclass(frozen=True, eq=False, repr=False)
class SelectiveComparison(ResultTable):
    """Paired differences between selective classifiers and a reference classifier, at several coverages.

    Attributes
    ----------
    evaluations : dict of str to SelectiveEvaluation
        The evaluation of each classifier on the same rows, by name.
    reference : str
        Name of the reference; a difference is the value of another classifier minus the value of the reference.
    """

    evaluations: Mapping[str, SelectiveEvaluation]
    reference: str

    def __post_init__(self) -> None:
        if self.reference not in self.evaluations:
            raise ValueError(f"reference must be one of {list(self.evaluations)}, got {self.reference!r}")
        for name in self.others:
            self.evaluations[name].check_paired(self.evaluations[self.reference])

    @property
    def others(self) -> list[str]:
        """Names of the classifiers that are compared with the reference."""
        return [name for name in self.evaluations if name != self.reference]

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that all evaluations have."""
        first, *more = self.evaluations.values()
        return [name for name in first.estimates if all(name in other.estimates for other in more)]

    @property
    def target_coverage(self) -> FloatArray:
        """The requested coverages."""
        return self.evaluations[self.reference].target_coverage

    @property
    def confidence_level(self) -> float:
        """Level of the intervals."""
        return next(iter(self.evaluations.values())).confidence_level

    def difference(self, metric: str, classifier: str | None = None) -> PairedDifference:
        """Return the difference in a metric: a classifier (by default the first other one) minus the reference."""
        other = self.evaluations[self.others[0] if classifier is None else classifier]
        return other.difference(metric, self.evaluations[self.reference])

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each coverage, metric and classifier compared with the reference."""
        theirs = self.evaluations[self.reference].estimates
        found = {(name, metric): self.difference(metric, name) for name in self.others for metric in self.metrics}
        return [
            {
                "target_coverage": float(coverage),
                "metric": metric,
                "classifier": name,
                "reference": self.reference,
                "value": float((ours := self.evaluations[name].estimates)[metric][at]),
                "reference_value": float(theirs[metric][at]),
                "difference": float(_difference(ours[metric][[at]], theirs[metric][[at]])[0]),
                **(paired := found[name, metric]).columns("difference", at),
                "share_above_zero": float(paired.share_above_zero[at]),
            }
            for at, coverage in enumerate(self.target_coverage)
            for metric in self.metrics
            for name in self.others
        ]

    def _rows_of_ranking(self) -> list[dict[str, Any]]:
        """Return the table rows of the AUC, or of the metric that replaces it."""
        metric = _ranking_metric(self.metrics)
        return [row for row in self.rows() if row["metric"] == metric]

    def advice(self, coverage: float | None = None, *, of: str = "cases") -> str:
        """Say which classifier has the highest AUC of the selected rows, and whether that is more than chance.

        Parameters
        ----------
        coverage : float, optional
            One of the target coverages; the lowest by default.
        of : str, default="cases"
            Noun for the rows that coverages are shares of.

        Returns
        -------
        str
            The sentence that ``aucross compare`` prints.
        """
        at = float(min(self.target_coverage)) if coverage is None else coverage
        metric, level = _ranking_metric(self.metrics), exact_percent(self.confidence_level)
        found = {name: evaluation.at([at]).rows()[0] for name, evaluation in self.evaluations.items()}
        best = max(found, key=lambda name: -1.0 if np.isnan(found[name][metric]) else found[name][metric])
        highest = "highest " if self.others else ""
        start = f"The {highest}{head_of(metric)} of automatic cases is {decimal(found[best][metric])}, of {best}"
        if not self.others:
            return f"{start}, compared with no other."
        differences = {row["classifier"]: row for row in self._rows_of_ranking() if row["target_coverage"] == at}
        if best == self.reference:
            rivals = [name for name, row in differences.items() if not row["difference_high"] < 0]
            return f"{start}; " + (
                f"not clearly behind: {', '.join(rivals)}." if rivals else "all others are clearly behind."
            )
        row = differences[best]
        clear = "clearly" if row["difference_low"] > 0 else "not clearly"
        ends = f"{decimal(row['difference_low'])} to {decimal(row['difference_high'])}"
        here, there = (found[name]["achieved_coverage"] for name in (best, self.reference))
        # Whoever decides fewer cases has the easier task.
        fewer = f", but decides only {percent(here)} of {of} against {percent(there)}"
        return (
            f"{start}; it is {clear} above {self.reference} ({level} interval of the difference {ends})"
            f"{fewer if here < there - _SAME_COVERAGE else ''}."
        )

    def __repr__(self) -> str:
        numbers = ("value", "reference_value", "difference")
        return text_table(self._rows_of_ranking(), numbers, ("metric", "classifier", "reference"))

    def _repr_html_(self) -> str:
        metric, rows = _ranking_metric(self.metrics), self._rows_of_ranking()
        lowest = min(self.target_coverage)
        found = [f"{row['classifier']} {row['difference']:+.4f}" for row in rows if row["target_coverage"] == lowest]
        sentence = (
            f"{head_of(metric)} minus that of {self.reference}, at a coverage of {exact_percent(lowest)}: "
            f"{', '.join(found)}; with {exact_percent(self.confidence_level)} intervals below."
        )
        shown = [name for name in dict.fromkeys(("achieved_coverage", metric)) if name in self.metrics]
        at = {coverage: place for place, coverage in enumerate(self.target_coverage.tolist())}
        table = []
        for row in rows:
            cells: dict[str, Any] = {"coverage asked": _asked(row), "classifier": row["classifier"]}
            for name in shown:
                for who, by in ((row["classifier"], ""), (self.reference, f" by {self.reference}")):
                    cells[head_of(name) + by] = float(self.evaluations[who].estimates[name][at[row["target_coverage"]]])
            table.append({**cells, "difference": estimate_of(row, "difference")})
        return result_html(sentence, with_pictures(table, "difference", 0.0))


def _ranking_metric(names: Iterable[str]) -> str:
    """Return the name of the metric that measures the ranking, or the first name if there is none."""
    names = list(names)
    return next((name for name in ("selective_auc", "hand_till_m") if name in names), names[0])


def _asked(row: Mapping[str, Any]) -> str:
    return exact_percent(row["target_coverage"])


def decimal(number: float) -> str:
    """Return a number with three decimals and no leading zero."""
    text = f"{number:.3f}"
    if text == "-0.000":
        return ".000"
    return text.replace("0.", ".", 1) if abs(number) < 0.9995 else text


def _difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return first minus second; 0 if both are the same infinity."""
    return np.subtract(first, second, out=np.zeros(first.shape), where=first != second)
