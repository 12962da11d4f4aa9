"""Evaluation per group: coverage and quality in each group, and the gaps between groups.

The interval of a difference between two groups, or between a group and all rows, is paired: it uses what each row
contributes to both numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucross.core.bounds import has_weights
from aucross.core.ranking import IndexArray
from aucross.evaluation.catalogue import GROUP_METRICS
from aucross.evaluation.evaluate import DEFAULT_COVERAGES
from aucross.evaluation.inputs import (
    ALL_ROWS,
    check_coverages,
    check_probability,
    check_two_classes,
    group_column,
    label_rows,
    row_weights,
    selections_at,
)
from aucross.evaluation.ranked_selection import BinarySelections
from aucross.evaluation.result_table import ResultTable, estimate_of, head_of, shown_metrics, text_table, with_pictures
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.system.notebook import result_html
from aucross.system.text import exact_percent, percent, plural

# Groups of fewer rows stay unnamed where results leave Python: their numbers are those of single people.
LEAST_ROWS_SHOWN = 5

# Rows of a group from which on it is compared with others, unless another number is asked for.
ENOUGH_ROWS = 50
_MOST_NAMED = 20

# Number of random assignments of rows to groups, and of draws of the groups' deviations.
_N_DEALT = 2000
_N_DRAWN = 10_000
# Two shares that are equal may differ by rounding.
_ROUNDING = 1e-12


def evaluate_groups(
    clf: Any,
    X: Any,
    y: ArrayLike,
    by: Any,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    band_groups: Any = None,
    sample_weight: ArrayLike | None = None,
    customers: Any = None,
    with_intervals: bool = True,
    confidence_level: float = 0.95,
) -> GroupEvaluation:
    """Evaluate a fitted selective classifier in each group of the rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier of two classes, for instance :class:`aucross.AUCross`.
    X, y, coverages, band_groups, sample_weight, customers, confidence_level
        As in :func:`aucross.evaluate_selective`.
    by : array-like or series of shape (n_samples,)
        The group of each row: strings, numbers, categories. It need not be a feature. Missing values form the group
        ``"(missing)"``. Every distinct value is a group, so cut a continuous column into bands first.
    with_intervals : bool, default=True
        Whether to compute intervals.

    Returns
    -------
    GroupEvaluation
        ``to_frame()`` gives one row per target coverage and group; ``gaps()`` and ``differences(reference)`` show how
        far the groups are apart.

    See Also
    --------
    BaseRateGuard : Warns when the selection shifts the share of positives, in all rows or in each group.

    Notes
    -----
    The AUC of a group compares its positives with its negatives only. Each group can be ranked well while rows of
    different groups are in the wrong order; the AUC of all rows shows that.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.evaluation.groups import evaluate_groups
    >>> X, y = make_classification(3000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:2000], y[:2000])
    >>> region = ["north" if row[0] > 0 else "south" for row in X[2000:]]
    >>> report = evaluate_groups(clf, X[2000:], y[2000:], region, [0.8])
    >>> [(row["group"], row["n"]) for row in report.rows()]
    [('north', 500), ('south', 500), ('(all rows)', 1000)]
    """
    coverages = check_coverages(coverages)
    check_two_classes(clf, "for one class against the others pass masks to evaluate_group_selections")
    rows = label_rows(clf, X, y, sample_weight=sample_weight, band_groups=band_groups)
    return evaluate_group_selections(
        *(rows.positive, rows.score, rows.answered_positive, selections_at(clf, rows, coverages), by),
        sample_weight=rows.sample_weight,
        customers=customers,
        with_intervals=with_intervals,
        confidence_level=confidence_level,
    )


def evaluate_group_selections(
    y_true: ArrayLike,
    y_score: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    by: Any,
    *,
    sample_weight: ArrayLike | None = None,
    customers: Any = None,
    with_intervals: bool = True,
    confidence_level: float = 0.95,
) -> GroupEvaluation:
    """Evaluate selections made by any method, in each group of the rows.

    Parameters
    ----------
    y_true, y_score, y_pred, selections
        As in :func:`aucross.evaluate_selections`.
    by, sample_weight, customers, with_intervals, confidence_level
        As in :func:`evaluate_groups`.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.evaluation.groups import evaluate_group_selections
    >>> y, score = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> sure, side = np.abs(score - 0.5) > 0.15, ["left", "left", "left", "right", "right", "right"]
    >>> evaluate_group_selections(y, score, score > 0.5, {0.8: sure}, side, with_intervals=False)
    group       n  target_coverage  achieved_coverage  selective_auc  selective_accuracy  positive_rate  positives_...
    left        3  0.80             1.000              1.000          0.667               0.333          0.000
    right       3  0.80             0.667              nan            1.000               1.000          0.000
    (all rows)  6  0.80             0.833              1.000          0.800               0.600          0.000
    """
    check_probability(confidence_level, "confidence_level", ends=False)
    n_rows = len(np.asarray(y_true))
    column = group_column(by, n_rows)
    given = {"sample_weight": sample_weight, "customers": customers}
    rows = BinarySelections.checked(y_true, y_score, y_pred, selections, **given)
    column = column.take(row_weights(sample_weight, n_rows) > 0)
    members = column.members()
    overall, *evaluations = (
        part.evaluation(GROUP_METRICS, confidence_level, with_intervals=with_intervals, seed=0)
        for part in (rows, *(replace(rows, members=own) for own in members))
    )
    sizes = np.array([len(own) for own in members])
    is_alike = rows.units is None and (rows.weight is None or not has_weights(rows.weight))
    return GroupEvaluation(column.labels, sizes, tuple(evaluations), overall, rows_count_alike=is_alike)


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(ResultTable):
    """Table that compares groups, made by :meth:`GroupEvaluation.gaps` and :meth:`GroupEvaluation.differences`.

    Attributes
    ----------
    records : tuple of dict
        One per row of the table.
    label_columns, number_columns : tuple of str
        Columns that the text of the table shows.
    sentence : str
        The table's message in words.
    """

    records: tuple[Mapping[str, Any], ...]
    label_columns: tuple[str, ...]
    number_columns: tuple[str, ...]
    sentence: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(record) for record in self.records]

    def __repr__(self) -> str:
        table = text_table(self.rows(), self.number_columns, self.label_columns)
        return f"{table}\n{self.sentence}" if self.sentence else table

    def _repr_html_(self) -> str:
        table = [
            {
                "coverage asked": exact_percent(row["target_coverage"]),
                **{name.replace("_", " "): str(row[name]) for name in self.label_columns},
                "metric": head_of(row["metric"]),
                **{name.replace("_", " "): estimate_of(row, name) for name in self.number_columns},
            }
            for row in self.rows()
        ]
        return result_html(self.sentence, table)


@dataclass(frozen=True, eq=False, repr=False)
class GroupEvaluation(ResultTable):
    """Metrics of a selective classifier in each group, at several coverages, with intervals.

    Attributes
    ----------
    groups : tuple
        Labels of the groups.
    n : ndarray of shape (n_groups,)
        Rows of each group, selected or not.
    evaluations : tuple of SelectiveEvaluation
        One evaluation per group.
    overall : SelectiveEvaluation
        Evaluation of all rows.
    n_hidden_groups, n_hidden_rows : int
        Groups that :meth:`without_small_groups` left out, and their rows.
    hidden_beside : tuple
        Hidden groups that are not small: if they were shown, the numbers of a small group would follow from theirs.
    rows_count_alike : bool
        Whether all rows have equal weight and are independent of each other.
    """

    groups: tuple[Any, ...]
    n: NDArray[np.intp]
    evaluations: tuple[SelectiveEvaluation, ...]
    overall: SelectiveEvaluation
    n_hidden_groups: int = 0
    n_hidden_rows: int = 0
    hidden_beside: tuple[Any, ...] = ()
    rows_count_alike: bool = False

    def without_small_groups(self, least: int = LEAST_ROWS_SHOWN) -> GroupEvaluation:
        """Leave out groups of fewer than `least` rows, for readers who must not learn about single people.

        The report and the command line show groups like this. The line of all rows still counts every row, so larger
        groups are left out too, until two or more groups with at least `least` rows in all are left out.
        """
        by_size, n_small = np.argsort(self.n, kind="stable"), int((self.n < least).sum())
        groups, rows, n_left_out = self.n_hidden_groups, self.n_hidden_rows + np.cumsum(self.n[by_size]), n_small
        while 0 < n_left_out < len(by_size) and (groups + n_left_out == 1 or rows[n_left_out - 1] < least):
            n_left_out += 1
        kept = np.sort(by_size[n_left_out:])
        return replace(
            self,
            groups=tuple(self.groups[number] for number in kept),
            n=self.n[kept],
            evaluations=tuple(self.evaluations[number] for number in kept),
            n_hidden_groups=self.n_hidden_groups + len(self.n) - len(kept),
            n_hidden_rows=self.n_hidden_rows + int(self.n.sum() - self.n[kept].sum()),
            hidden_beside=(*self.hidden_beside, *(self.groups[number] for number in by_size[n_small:n_left_out])),
        )

    def of(self, group: Any) -> SelectiveEvaluation:
        """Return the evaluation of one group, or of ``"(all rows)"``.

        ``first.of(group).minus(second.of(group))`` compares two classifiers within a group.
        """
        if isinstance(group, str) and group == ALL_ROWS:
            return self.overall
        if group not in self.groups:
            raise ValueError(f"group must be one of {[*self.groups, ALL_ROWS]}, got {group!r}")
        return self.evaluations[self.groups.index(group)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per target coverage and group, the line of all rows last.

        ``n`` counts the rows of the group; ``n_positive`` and ``n_negative`` count its selected rows by class. Each
        metric has ``_sd``, ``_low`` and ``_high`` beside it; an undefined number is NaN.
        """
        labels = [*(_plain(group) for group in self.groups), ALL_ROWS]
        sizes = [*self.n.tolist(), int(self.n.sum()) + self.n_hidden_rows]
        tables = [evaluation.rows() for evaluation in (*self.evaluations, self.overall)]
        return [
            {
                "target_coverage": float(coverage),
                "group": label,
                "n": size,
                "n_positive": table[index]["n_positive"],
                "n_negative": table[index]["n_negative"],
                **table[index],
            }
            for index, coverage in enumerate(self.overall.target_coverage)
            for label, size, table in zip(labels, sizes, tables, strict=True)
        ]

    def __repr__(self) -> str:
        return text_table(self.rows(), GROUP_METRICS, ("group", "n"))

    def _repr_html_(self) -> str:
        rows = self.rows()
        lowest = min(rows, key=lambda row: row["target_coverage"])["target_coverage"]
        reached = {row["group"]: row["achieved_coverage"] for row in rows if row["target_coverage"] == lowest}
        of_all = reached.pop(ALL_ROWS)
        sentence = f"At a coverage of {exact_percent(lowest)}, {percent(of_all)} of all rows are selected"
        reached = {_plain(self.groups[number]): reached[_plain(self.groups[number])] for number in self.large_groups()}
        if reached:
            least, most = (choose(reached, key=lambda group: reached[group]) for choose in (min, max))
            sentence += f", from {percent(reached[least])} of '{least}' to {percent(reached[most])} of '{most}'"
        sentence = " ".join(filter(None, (f"{sentence}.", self.small_groups_sentence())))
        table = [
            {
                "coverage asked": exact_percent(row["target_coverage"]),
                "group": str(row["group"]),
                "rows": row["n"],
                **shown_metrics(row, GROUP_METRICS),
            }
            for row in rows
        ]
        return result_html(sentence, with_pictures(table, "reached", of_all))

    def large_groups(self) -> IndexArray:
        """Return the indices of groups with at least 50 rows; none unless two or more groups are that large.

        Headlines and the gaps of a report compare only these groups.
        """
        large = np.flatnonzero(self.n >= ENOUGH_ROWS)
        return large if len(large) > 1 else large[:0]

    def small_groups_sentence(self, least: int = ENOUGH_ROWS) -> str | None:
        """Return a sentence that names the groups of fewer than `least` rows, which are not compared; None if none."""
        is_small = self.n < least
        too_few = np.count_nonzero(~is_small) < 2
        named = np.flatnonzero(is_small | too_few)
        if not np.count_nonzero(is_small):
            return None
        sizes = [(_plain(self.groups[number]), int(self.n[number])) for number in named[:_MOST_NAMED]]
        names = [f"{group} ({size:,} {plural('row', size)})" for group, size in sizes]
        more = f" and {len(named) - _MOST_NAMED:,} more" if len(named) > _MOST_NAMED else ""
        start = f"Not compared, with fewer than {least:,} rows"
        if too_few:
            start = f"No two groups have {least:,} rows, so that none are compared"
        return f"{start}: {', '.join(names)}{more}."

    def band_advice(self, coverage: float) -> str:
        """Return a sentence on whether ``fit(..., band_groups=...)`` pays off at a coverage."""
        found = [row for row in self.gaps().records if row["metric"] == "achieved_coverage"]
        gap = next((row for row in found if row["target_coverage"] == coverage), None)
        if gap is None:
            raise ValueError(f"coverage must be one of {self.overall.target_coverage.tolist()}, got {coverage!r}")
        if not len(self.large_groups()) and (said := self.small_groups_sentence()):
            return said
        sizes = f"{gap['gap']:.3f} between groups, {gap['gap_by_chance']:.3f} by chance"
        if not gap["gap"] > gap["gap_by_chance"]:
            return f"One band selects about the same share of every group ({sizes}): bands of their own add noise."
        return (
            f"One band selects different shares of the groups ({sizes}): bands of their own, by band_groups, bring "
            "them closer for groups of about 500 rows or more."
        )

    def gaps(self, *, min_n: int | None = None) -> GroupComparison:
        """Return the largest difference between two groups, for each coverage and metric.

        Parameters
        ----------
        min_n : int, optional
            Groups with fewer rows are not compared. By default 50, or 1 if fewer than two groups have 50 rows.

        Returns
        -------
        GroupComparison
            One row per coverage and metric. ``gap`` is the highest value minus the lowest, ``ratio`` the lowest divided
            by the highest, both with ``_sd``, ``_low`` and ``_high``; ``highest_group`` and ``lowest_group`` name the
            groups; ``n_groups`` counts the groups in which the metric is defined. If groups of these sizes do not
            differ, the gap stays below ``gap_by_chance`` with probability `confidence_level`.

        Notes
        -----
        The highest of many noisy numbers is too high and the lowest too low, so the gap is biased upwards, most of all
        with many or small groups. The interval does not correct this: it belongs to the two named groups, which were
        chosen because they are far apart. Compare the gap with ``gap_by_chance``, which allows for that choice. For
        shares of rows it assigns rows at random to groups of these sizes, which is exact for any size. For the AUC, for
        weighted rows and for customers, it draws normal deviations of the groups, with the spread that all rows would
        have in a group of that size. Use :meth:`differences` to compare with a group chosen in advance.
        """
        small = self.small_groups_sentence(ENOUGH_ROWS if min_n is None else min_n)
        can_conclude = min_n is not None or len(self.large_groups()) > 0 or small is None
        if min_n is None:
            min_n = ENOUGH_ROWS if len(self.large_groups()) else 1
        taking_part = np.flatnonzero(self.n >= min_n)
        if not len(taking_part):
            raise ValueError(f"min_n must leave a group, got {min_n}, while the largest has {self.n.max()} rows")
        records = [
            self._gap(name, index, taking_part)
            for index in range(len(self.overall.target_coverage))
            for name in GROUP_METRICS
        ]
        labels = ("metric", "highest_group", "lowest_group")
        n_larger = sum(row["gap"] > row["gap_by_chance"] for row in records)
        found = f"{n_larger} of {len(records)} gaps between groups are larger than what chance explains."
        sentence = " ".join(filter(None, (found if can_conclude else None, small)))
        return GroupComparison(tuple(records), labels, ("highest", "lowest", "gap", "gap_by_chance", "ratio"), sentence)

    def _gap(self, name: str, index: int, taking_part: IndexArray) -> dict[str, Any]:
        chosen = [self.evaluations[group] for group in taking_part]
        estimates = np.array([evaluation.estimates[name][index] for evaluation in chosen])
        defined = ~np.isnan(estimates)
        high = int(np.argmax(np.where(defined, estimates, -np.inf)))
        low = int(np.argmin(np.where(defined, estimates, np.inf)))
        label = {end: _plain(self.groups[taking_part[end]]) if defined.any() else None for end in (high, low)}
        coverage = [float(self.overall.target_coverage[index])]
        lowest = chosen[low].at(coverage)
        gap = (lowest if high == low else chosen[high].at(coverage)).difference(name, lowest)
        return {
            "target_coverage": float(self.overall.target_coverage[index]),
            "metric": name,
            "gap": float(estimates[high] - estimates[low]),
            **gap.columns("gap", 0),
            **_ratio(chosen[low], chosen[high], name, index),
            "gap_by_chance": self._gap_by_chance(name, index, taking_part),
            "highest": float(estimates[high]),
            "highest_group": label[high],
            "lowest": float(estimates[low]),
            "lowest_group": label[low],
            "n_groups": int(defined.sum()),
        }

    def _gap_by_chance(self, name: str, index: int, taking_part: IndexArray) -> float:
        """Return the upper limit of the gap if groups do not differ, at the confidence level; NaN without intervals."""
        level, chosen = self.overall.confidence_level, [self.evaluations[group] for group in taking_part]
        found = np.array([evaluation.estimates[name][index] for evaluation in chosen])
        if not self.overall.has_intervals:
            return nan
        size_of_all, *sizes = (evaluation.sizes[name][index] for evaluation in (self.overall, *chosen))
        if name != "selective_auc" and self.rows_count_alike:
            # Rows are assigned to groups at random.
            n_rows = np.rint(np.nan_to_num(sizes)).astype(np.intp)
            total, n_rows = int(np.rint(np.nan_to_num(found) * n_rows)[n_rows > 0].sum()), n_rows[n_rows > 0]
            if not len(n_rows):
                return nan
            rng = np.random.default_rng([total, *n_rows.tolist()])
            dealt = rng.multivariate_hypergeometric(n_rows, total, size=_N_DEALT, method="marginals") / n_rows
            # The next of the ranges that occur, not a point between two of them: equal groups are seldom above it.
            by_chance = np.quantile(dealt.max(axis=1) - dealt.min(axis=1), level, method="higher")
            return float(by_chance) * (1.0 + _ROUNDING)
        # Equal groups vary as all rows do, the more the fewer of the rows in question they have. By itself a small
        # group seems to vary too little, since it knows no other rows than its own.
        scale = np.sqrt((size_of_all - 1.0) / np.maximum(np.array(sizes) - 1.0, 1.0))
        errors = np.where(np.isnan(found), nan, scale) * self.overall.deviations[name][index]
        defined = ~np.isnan(errors)
        if not defined.any():
            return nan
        correlation = np.eye(len(chosen))
        if self.overall.n_customers is not None:  # which groups may share
            coverage = float(self.overall.target_coverage[index])
            influences = np.nan_to_num([evaluation.influences[name](coverage) for evaluation in chosen])
            size = np.sqrt((influences**2).sum(axis=1))
            influences /= np.where(size > 0, size, 1.0)[:, None]
            correlation = influences @ influences.T
            np.fill_diagonal(correlation, 1.0)
        values, vectors = np.linalg.eigh(correlation[np.ix_(defined, defined)])
        root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        drawn = np.random.default_rng(0).normal(size=(_N_DRAWN, int(defined.sum())))
        return float(np.quantile(np.ptp(drawn @ root * errors[defined], axis=1), level))

    def differences(self, reference: Any) -> GroupComparison:
        """Return each group minus a reference group, for each coverage and metric.

        Parameters
        ----------
        reference : label
            One of the groups, or ``"(all rows)"``.

        Returns
        -------
        GroupComparison
            One row per coverage, metric and group, the reference included. ``difference`` is the value of the group
            minus ``reference_value``, ``ratio`` the first divided by the second, both with ``_sd``, ``_low`` and
            ``_high``, paired; ``share_above_zero`` is the probability that the group has the higher value on another
            sample, by the normal distribution.
        """
        if reference not in (*self.groups, ALL_ROWS):
            raise ValueError(f"reference must be one of {[*self.groups, ALL_ROWS]}, got {reference!r}")
        base = self.of(reference)
        coverages = base.target_coverage.tolist()
        tables = [evaluation.minus(base).rows() for evaluation in self.evaluations]
        records = [
            {
                "target_coverage": row["target_coverage"],
                "metric": row["metric"],
                "group": _plain(group),
                "reference": _plain(reference),
                **{
                    name: value for name, value in row.items() if name.startswith(("value", "reference_", "difference"))
                },
                **_ratio(evaluation, base, row["metric"], coverages.index(row["target_coverage"])),
                "share_above_zero": row["share_above_zero"],
            }
            for of_groups in zip(*tables, strict=True)
            for group, evaluation, row in zip(self.groups, self.evaluations, of_groups, strict=True)
        ]
        labels, numbers = ("metric", "group", "reference"), ("value", "reference_value", "difference", "ratio")
        return GroupComparison(tuple(records), labels, numbers, f"Each group minus {_plain(reference)}.")


def _plain(label: Any) -> Any:
    """Return a label in a form that JSON can store; intervals, dates and other objects become text."""
    return label if isinstance(label, str | int | float) else str(label)


def _ratio(part: SelectiveEvaluation, whole: SelectiveEvaluation, name: str, index: int) -> dict[str, float]:
    """Return the ratio of a metric in two evaluations, with an interval; NaN for 0 divided by 0.

    The interval is normal on the logarithm of the ratio, so that no end is below 0.
    """
    above, below = part.estimates[name][index], whole.estimates[name][index]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.divide(above, below))
    error = nan
    if name in part.influences and name in whole.influences and np.isfinite(ratio):
        coverage = float(part.target_coverage[index])
        influence = (part.influences[name](coverage) - ratio * whole.influences[name](coverage)) / below
        error = float(np.sqrt(influence @ influence))
    margin = float(ndtri((1.0 + part.confidence_level) / 2.0)) * error / (ratio or 1.0)
    return {"ratio": ratio, "ratio_sd": error, "ratio_low": ratio * exp(-margin), "ratio_high": ratio * exp(margin)}
