"""The report per group against direct computation, and what holds for every split into groups."""

from __future__ import annotations

import json
import pickle
import re
import sys
from html import unescape
from math import isnan, nan

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aucross import AUCross, PlugIn, evaluate_selections, evaluate_selective
from aucross.evaluation import positives_for_review, selective_accuracy, selective_auc
from aucross.evaluation.catalogue import GROUP_METRICS
from aucross.evaluation.evaluate import DEFAULT_COVERAGES
from aucross.evaluation.groups import evaluate_group_selections, evaluate_groups
from aucross.evaluation.inputs import ALL_ROWS, MISSING, group_column
from tests import strategies
from tests.strategies import property_test

X, y = make_classification(1600, n_features=6, n_informative=3, flip_y=0.3, weights=[0.7], random_state=0)
X_train, y_train, X_test, y_test = X[:800], y[:800], X[800:], y[800:]
REGION = np.array(["west", "east", "north"])[np.random.default_rng(0).integers(0, 3, 800)]


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="module")
def report(clf):
    return evaluate_groups(clf, X_test, y_test, REGION, [0.9, 0.7])


class Arrays:
    """Labels, scores, predictions, masks and groups for `evaluate_group_selections`."""

    def __init__(self, n=90, seed=0):
        rng = np.random.default_rng(seed)
        self.y = rng.random(n) < 0.4
        self.score = np.round(np.clip(0.3 * self.y + 0.7 * rng.random(n), 0, 1), 2)
        self.pred = self.score > 0.5
        self.masks = {0.9: np.abs(self.score - 0.45) > 0.05, 0.6: rng.random(n) < 0.6}
        self.groups = np.array(["b", "a", "c"])[rng.integers(0, 3, n)]
        self.weight = rng.integers(0, 4, n).astype(float)

    def evaluate(self, **options):
        arguments = {
            "y_true": self.y,
            "y_score": self.score,
            "y_pred": self.pred,
            "selections": self.masks,
            "by": self.groups,
        }
        return evaluate_group_selections(**{**arguments, **options})

    def take(self, index):
        """Arguments for some of the rows, some of them more than once."""
        return {
            "y_true": self.y[index],
            "y_score": self.score[index],
            "y_pred": self.pred[index],
            "selections": {coverage: mask[index] for coverage, mask in self.masks.items()},
            "by": self.groups[index],
        }


def exactly(sentence):
    return f"^{re.escape(sentence)}$"


def assert_same_evaluation(first, second, atol=1e-12):
    assert list(first.estimates) == list(second.estimates)
    for name in first.estimates:
        np.testing.assert_allclose(first.estimates[name], second.estimates[name], rtol=0, atol=atol, err_msg=name)
        for ours, theirs in zip(first.intervals.get(name, ()), second.intervals.get(name, ()), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=max(atol, 1e-7), err_msg=name)
    assert first.n_positive.tolist() == second.n_positive.tolist()
    assert first.n_negative.tolist() == second.n_negative.tolist()


def assert_same_report(first, second, atol=1e-12):
    assert first.groups == second.groups
    assert first.n.tolist() == second.n.tolist()
    for one, other in zip((*first.evaluations, first.overall), (*second.evaluations, second.overall), strict=True):
        assert_same_evaluation(one, other, atol)


# ---- the table ----


def test_columns_and_their_order(report):
    expected = ["target_coverage", "group", "n", "n_positive", "n_negative"]
    for name in GROUP_METRICS:
        expected += [name, f"{name}_sd", f"{name}_low", f"{name}_high"]
    assert [list(row) for row in report.rows()] == [expected] * 8
    assert list(report.to_frame().columns) == expected


def test_one_row_per_coverage_and_group_with_all_rows_last(report):
    frame = report.to_frame()
    assert frame["group"].tolist() == ["east", "north", "west", ALL_ROWS] * 2
    assert frame["target_coverage"].tolist() == [0.9] * 4 + [0.7] * 4
    assert frame["n"].tolist() == [*(int((g == REGION).sum()) for g in ("east", "north", "west")), 800] * 2


def test_default_coverages_are_those_of_the_paper(clf):
    report = evaluate_groups(clf, X_test, y_test, REGION, with_intervals=False)
    assert report.overall.target_coverage.tolist() == list(DEFAULT_COVERAGES)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_of_a_group_equal_direct_computation_on_its_rows(weighted):
    arrays = Arrays()
    weight = arrays.weight + 0.5 if weighted else np.ones(90)
    report = arrays.evaluate(sample_weight=weight if weighted else None)
    for group, evaluation in zip(report.groups, report.evaluations, strict=True):
        own = arrays.groups == group
        for number, count in enumerate([np.ones(90)]):
            table = evaluation.estimates
            for index, mask in enumerate(arrays.masks.values()):
                labels, score, kept = arrays.y[own], arrays.score[own], mask[own]
                weights = {"sample_weight": (weight * count)[own]}
                expected = {
                    "achieved_coverage": np.average(kept, weights=weights["sample_weight"]),
                    "selective_auc": selective_auc(labels, score, kept, **weights),
                    "selective_accuracy": selective_accuracy(labels, arrays.pred[own], kept, **weights),
                    "positive_rate": np.average(labels[kept], weights=weights["sample_weight"][kept]),
                    "positives_for_review": positives_for_review(labels, kept, **weights),
                }
                for name in GROUP_METRICS:
                    value = table[name][index] if number == 0 else table[name][number - 1, index]
                    assert value == pytest.approx(expected[name], abs=1e-12), name


def test_counts_are_of_selected_rows_and_n_is_of_all(report, clf):
    for row in report.rows():
        own = np.ones(800, bool) if row["group"] == ALL_ROWS else row["group"] == REGION
        selected = clf.select(X_test, row["target_coverage"]) & own
        assert row["n"] == own.sum()
        assert row["n_positive"] == (y_test[selected] == 1).sum()
        assert row["n_negative"] == (y_test[selected] == 0).sum()


def test_the_line_of_all_rows_is_the_plain_evaluation(report, clf):
    plain = evaluate_selective(clf, X_test, y_test, [0.9, 0.7], metrics=["positives_for_review"])
    for name in GROUP_METRICS:
        np.testing.assert_allclose(report.overall.estimates[name], plain.estimates[name], rtol=0, atol=1e-12)
        np.testing.assert_allclose(report.overall.intervals[name].low, plain.intervals[name].low, atol=1e-12)


def test_one_group_equals_the_evaluation_of_all_rows(clf):
    report = evaluate_groups(clf, X_test, y_test, ["only"] * 800, [0.9, 0.7])
    assert report.groups == ("only",)
    assert_same_evaluation(report.of("only"), report.overall)
    for row in report.gaps().rows():
        assert (row["gap"], row["gap_low"], row["gap_high"], row["gap_by_chance"]) == (0.0, 0.0, 0.0, 0.0)
        assert (row["ratio"], row["ratio_low"], row["ratio_high"], row["n_groups"]) == (1.0, 1.0, 1.0, 1)


def test_full_coverage_rejects_no_positive():
    arrays = Arrays()
    everything = np.ones(90, dtype=bool)
    weight = arrays.weight / 3 + 0.1
    report = arrays.evaluate(selections={1.0: everything}, sample_weight=weight)
    for evaluation in (*report.evaluations, report.overall):
        assert (evaluation.estimates["positives_for_review"] == 0.0).all()
        assert (evaluation.deviations["positives_for_review"] == 0.0).all()


# ---- laws ----


@st.composite
def grouped_rows(draw):
    rows = draw(strategies.rows(min_size=2))
    n = len(rows.labels)
    selected = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    groups = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n))
    return rows, selected, np.array(groups)


def evaluate_drawn(rows, selected, groups, **options):
    return evaluate_group_selections(
        rows.labels,
        rows.scores,
        rows.scores > 0,
        {0.5: selected},
        groups,
        **{"sample_weight": rows.weights, **options},
    )


def total_weights(rows, groups, labels, of_positives=False):
    chosen = rows.labels if of_positives else np.ones(len(groups), dtype=bool)
    return np.array([rows.weights[(groups == label) & chosen].sum() for label in labels])


@given(grouped_rows())
@property_test
def test_the_mean_of_the_groups_by_weight_is_the_number_of_all_rows(drawn):
    rows, selected, groups = drawn
    report = evaluate_drawn(rows, selected, groups)
    coverages = np.array([part.estimates["achieved_coverage"][0] for part in report.evaluations])
    overall = report.overall.estimates["achieved_coverage"][0]
    assert np.average(coverages, weights=total_weights(rows, groups, report.groups)) == pytest.approx(overall)
    positives = total_weights(rows, groups, report.groups, of_positives=True)
    if positives.sum() > 0:
        rejected = np.array([part.estimates["positives_for_review"][0] for part in report.evaluations])
        mean = np.average(rejected[positives > 0], weights=positives[positives > 0])
        assert mean == pytest.approx(report.overall.estimates["positives_for_review"][0], abs=1e-12)


@given(grouped_rows(), st.randoms(use_true_random=False))
@property_test
def test_the_order_of_the_rows_does_not_matter(drawn, random):
    rows, selected, groups = drawn
    order = list(range(len(groups)))
    random.shuffle(order)
    first = evaluate_drawn(rows, selected, groups, with_intervals=False)
    second = evaluate_drawn(rows.take(order), selected[order], groups[order], with_intervals=False)
    assert_same_report(first, second)
    assert str(first.gaps().rows()) == str(second.gaps().rows())


@given(grouped_rows())
@property_test
def test_weight_2_equals_the_row_twice(drawn):
    rows, selected, groups = drawn
    twice = np.repeat(np.arange(len(groups)), rows.weights.astype(int))
    weighted = evaluate_drawn(rows, selected, groups, with_intervals=False)
    repeated = evaluate_drawn(
        rows.take(twice), selected[twice], groups[twice], with_intervals=False, sample_weight=None
    )
    assert weighted.groups == repeated.groups
    for one, other in zip(weighted.evaluations, repeated.evaluations, strict=True):
        for name in GROUP_METRICS:
            np.testing.assert_allclose(one.estimates[name], other.estimates[name], rtol=0, atol=1e-12)


@given(grouped_rows(), st.floats(0.01, 100))
@property_test
def test_only_the_proportions_of_weights_matter(drawn, factor):
    rows, selected, groups = drawn
    scaled = evaluate_drawn(rows, selected, groups, sample_weight=factor * rows.weights)
    assert_same_report(evaluate_drawn(rows, selected, groups), scaled, atol=1e-9)


@given(grouped_rows())
@property_test
def test_other_names_for_the_groups_change_nothing_else(drawn):
    rows, selected, groups = drawn
    named = evaluate_drawn(rows, selected, groups)
    numbered = evaluate_drawn(rows, selected, np.searchsorted(["a", "b", "c"], groups))
    assert numbered.groups == tuple("abc".index(label) for label in named.groups)
    for one, other in zip(named.evaluations, numbered.evaluations, strict=True):
        assert_same_evaluation(one, other)


def test_a_row_of_weight_0_takes_no_part_and_a_group_of_such_rows_is_none():
    arrays = Arrays()
    arrays.weight[arrays.groups == "c"] = 0.0
    used = arrays.weight > 0
    weighted = arrays.evaluate(sample_weight=arrays.weight)
    without = evaluate_group_selections(**arrays.take(used), sample_weight=arrays.weight[used])
    assert weighted.groups == ("a", "b")
    assert_same_report(weighted, without, atol=0)


def test_what_rows_add_to_their_groups_adds_up_to_what_they_add_to_all_rows():
    arrays = Arrays()
    report = arrays.evaluate()
    for coverage in arrays.masks:
        of_groups = [
            part.influences["achieved_coverage"](coverage) * n / 90
            for part, n in zip(report.evaluations, report.n, strict=True)
        ]
        of_all = report.overall.influences["achieved_coverage"](coverage)
        assert all((np.count_nonzero(added) <= n) for added, n in zip(of_groups, report.n, strict=True))
        # Within a group a row is compared with its group, in all with all: the difference is the group's own.
        rest = (of_all - np.sum(of_groups, axis=0)) * 90
        own = np.array([report.of(group).estimates["achieved_coverage"] for group in report.groups])
        place = list(arrays.masks).index(coverage)
        expected = {
            group: value - report.overall.estimates["achieved_coverage"][place]
            for group, value in zip(report.groups, own[:, place], strict=True)
        }
        np.testing.assert_allclose(rest, [expected[group] for group in arrays.groups], atol=0.05)


# ---- undefined numbers, small groups ----


def test_a_group_without_a_class_has_no_auc_and_is_kept():
    arrays = Arrays()
    lonely = np.flatnonzero(~arrays.y & arrays.masks[0.9])[0]
    arrays.groups = arrays.groups.astype(object)
    arrays.groups[lonely] = "lonely"
    report = arrays.evaluate()
    row = next(row for row in report.rows() if row["group"] == "lonely")
    assert (row["n"], row["n_positive"], row["n_negative"]) == (1, 0, 1)
    assert (row["achieved_coverage"], row["positive_rate"]) == (1.0, 0.0)
    for name in ("selective_auc", "positives_for_review"):
        assert all(isnan(row[f"{name}{end}"]) for end in ("", "_sd", "_low", "_high"))
    # One row that is selected shows little: Clopper and Pearson's interval.
    assert (row["achieved_coverage_low"], row["achieved_coverage_high"]) == (pytest.approx(0.025), 1.0)


def test_a_group_of_which_nothing_is_selected():
    arrays = Arrays()
    report = arrays.evaluate(selections={0.6: arrays.groups != "b"})
    row = next(row for row in report.rows() if row["group"] == "b")
    assert (row["n_positive"], row["n_negative"], row["achieved_coverage"]) == (0, 0, 0.0)
    assert row["positives_for_review"] == row["positives_for_review_high"] == 1.0 > row["positives_for_review_low"]
    assert all(isnan(row[name]) for name in ("selective_auc", "selective_accuracy", "positive_rate"))


def test_gaps_pass_over_groups_in_which_a_metric_is_undefined():
    arrays = Arrays()
    arrays.groups = np.where(arrays.y, arrays.groups, np.where(arrays.groups == "b", "negatives", arrays.groups))
    gaps = arrays.evaluate().gaps().rows()
    aucs = [row for row in gaps if row["metric"] == "selective_auc"]
    assert {row["n_groups"] for row in aucs} == {2}
    assert {row["highest_group"] for row in aucs} | {row["lowest_group"] for row in aucs} <= {"a", "c"}
    assert not any(isnan(row["gap_by_chance"]) for row in aucs)


def test_a_metric_that_no_group_has_gives_a_gap_of_nan_and_names_no_group():
    arrays = Arrays()
    report = arrays.evaluate(by=np.where(arrays.y, "positives", "negatives"))
    row = next(row for row in report.gaps().rows() if row["metric"] == "selective_auc")
    assert (row["highest_group"], row["lowest_group"], row["n_groups"]) == (None, None, 0)
    assert all(isnan(row[name]) for name in ("gap", "gap_low", "ratio", "gap_by_chance", "highest", "lowest"))


# ---- gaps and differences ----


def test_gaps_are_the_highest_less_the_lowest_and_the_lowest_by_the_highest(report):
    frame = report.to_frame()
    gaps = report.gaps().to_frame()
    assert gaps["metric"].tolist() == list(GROUP_METRICS) * 2
    for gap in gaps.itertuples():
        rows = frame[(frame["target_coverage"] == gap.target_coverage) & (frame["group"] != ALL_ROWS)]
        values = rows.set_index("group")[gap.metric]
        assert gap.gap == pytest.approx(values.max() - values.min())
        assert gap.ratio == pytest.approx(values.min() / values.max())
        assert (gap.highest_group, gap.lowest_group) == (values.idxmax(), values.idxmin())
        assert (gap.highest, gap.lowest, gap.n_groups) == (values.max(), values.min(), 3)


def test_the_interval_of_a_gap_is_that_of_the_paired_difference(report):
    differences = {reference: report.differences(reference).rows() for reference in report.groups}
    for gap in report.gaps().rows():
        match = next(
            row
            for row in differences[gap["lowest_group"]]
            if (row["target_coverage"], row["metric"]) == (gap["target_coverage"], gap["metric"])
            and row["group"] == gap["highest_group"]
        )
        for end in ("", "_sd", "_low", "_high"):
            assert gap[f"gap{end}"] == pytest.approx(match[f"difference{end}"])


def test_differences_are_signed_and_paired(report):
    rows = report.differences("north").rows()
    assert len(rows) == 2 * len(GROUP_METRICS) * 3
    assert [row["group"] for row in rows[:3]] == ["east", "north", "west"]
    for row in rows:
        index = [0.9, 0.7].index(row["target_coverage"])
        ours, theirs = (report.of(group) for group in (row["group"], "north"))
        name = row["metric"]
        assert row["value"] == ours.estimates[name][index]
        assert row["reference_value"] == theirs.estimates[name][index]
        assert row["difference"] == pytest.approx(row["value"] - row["reference_value"])
        assert row["ratio"] == pytest.approx(row["value"] / row["reference_value"])
        if row["group"] == "north":
            continue
        # Two groups share no rows.
        deviations = ours.deviations[name][index], theirs.deviations[name][index]
        assert row["difference_sd"] == pytest.approx(np.hypot(*deviations))
        assert row["difference_low"] <= row["difference"] - 1.96 * row["difference_sd"]  # the added row widens it
        relative = np.hypot(
            *(sd / part.estimates[name][index] for sd, part in zip(deviations, (ours, theirs), strict=True))
        )
        assert row["ratio_sd"] == pytest.approx(row["ratio"] * relative)
        assert row["ratio_high"] == pytest.approx(row["ratio"] * np.exp(1.959964 * relative))


def test_a_group_differs_from_itself_by_0(report):
    for reference in report.groups:
        own = [row for row in report.differences(reference).rows() if row["group"] == reference]
        assert len(own) == 2 * len(GROUP_METRICS)
        for row in own:
            assert all(row[f"difference{end}"] == 0.0 for end in ("", "_sd", "_low", "_high"))
            assert all(row[f"ratio{end}"] == 1.0 for end in ("", "_low", "_high"))
            assert row["share_above_zero"] == 0.5


def test_all_rows_may_be_the_reference(report):
    for row in report.differences(ALL_ROWS).rows():
        index = [0.9, 0.7].index(row["target_coverage"])
        assert row["reference"] == ALL_ROWS
        assert row["reference_value"] == report.overall.estimates[row["metric"]][index]


def test_a_ratio_to_0_is_infinite_and_of_0_to_0_undefined():
    arrays = Arrays()
    report = arrays.evaluate(selections={0.6: arrays.groups == "a"}, with_intervals=False)
    rows = {row["group"]: row for row in report.differences("b").rows() if row["metric"] == "achieved_coverage"}
    assert rows["a"]["ratio"] == np.inf
    assert isnan(rows["c"]["ratio"])
    gap = next(row for row in report.gaps().rows() if row["metric"] == "achieved_coverage")
    assert (gap["gap"], gap["ratio"]) == (1.0, 0.0)


def test_groups_that_are_too_small_can_be_left_out_of_the_gaps():
    arrays = Arrays()
    arrays.groups = np.where(np.arange(90) < 5, "few", arrays.groups)
    report = arrays.evaluate()
    assert {row["n_groups"] for row in report.gaps(min_n=6).rows()} == {3}
    ends = {row[end] for row in report.gaps(min_n=6).rows() for end in ("highest_group", "lowest_group")}
    assert "few" not in ends
    largest = report.n.max()
    sentence = f"min_n must leave a group, got 1000, while the largest has {largest} rows"
    with pytest.raises(ValueError, match=exactly(sentence)):
        report.gaps(min_n=1000)


def test_equal_groups_seldom_have_a_gap_beyond_chance():
    rng = np.random.default_rng(0)
    beyond = []
    for _ in range(60):
        positive = rng.random(600) < 0.3
        score = rng.random(600) + 0.4 * positive
        groups = rng.choice(["a", "b", "c", "d"], 600, p=[0.5, 0.25, 0.15, 0.1])
        masks = {0.8: np.abs(score - 0.7) > 0.12}
        report = evaluate_group_selections(positive, score, score > 0.7, masks, groups)
        gaps = {row["metric"]: row for row in report.gaps().rows()}
        assert gaps["achieved_coverage"]["gap"] > 0
        beyond.append([gaps[name]["gap"] > gaps[name]["gap_by_chance"] for name in GROUP_METRICS])
    # 5 % by design; with 60 x 5 tries more than 10 % would be a wrong formula.
    assert np.mean(beyond) < 0.10


def test_a_gap_that_is_there_is_beyond_chance():
    rng = np.random.default_rng(0)
    groups = np.array(["easy", "hard"])[rng.integers(0, 2, 2000)]
    positive = rng.random(2000) < 0.3
    score = rng.random(2000) + np.where(groups == "easy", 1.0, 0.2) * positive
    report = evaluate_group_selections(positive, score, score > 0.7, {1.0: np.ones(2000, bool)}, groups)
    auc = next(row for row in report.gaps().rows() if row["metric"] == "selective_auc")
    assert auc["gap"] > 3 * auc["gap_by_chance"]
    assert (auc["highest_group"], auc["lowest_group"]) == ("easy", "hard")
    assert auc["gap_low"] > 0


def test_two_reports_compare_within_a_group(clf):
    rival = PlugIn(LogisticRegression(), random_state=0).fit(X_train, y_train)
    ours, theirs = (evaluate_groups(each, X_test, y_test, REGION, [0.8]) for each in (clf, rival))
    for row in ours.of("east").minus(theirs.of("east")).rows():
        assert row["difference"] == pytest.approx(row["value"] - row["reference_value"])


# ---- the column of groups ----


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "object array": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "pandas string": lambda values: pd.Series(values, dtype="string"),
    "pandas object": lambda values: pd.Series(values, dtype=object),
    "pandas category": lambda values: pd.Series(values, dtype="category"),
    "pandas Categorical": pd.Categorical,
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars category": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow chunks": lambda values: pa.chunked_array([values[:3], values[3:]]),
    "iterator": iter,
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_groups_in_any_container_with_missing_values(container):
    column = group_column(container(["b", None, "a", "b", None, "a", "c"]), 7)
    assert column.labels == ("a", "b", "c", MISSING)
    assert column.codes.tolist() == [1, 3, 0, 1, 3, 0, 2]
    assert [own.tolist() for own in column.members()] == [[2, 5], [0, 3], [6], [1, 4]]


@pytest.mark.parametrize(
    "values",
    [
        ["a", nan, "b"],
        [1.5, nan, 2.0],
        np.array([1.5, nan, 2.0]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01"])),
        pl.Series([1, None, 2]),
        [pd.NA if value is None else value for value in ("a", None, "b")],
        [float("nan"), float("nan"), "b"],
    ],
)
def test_missing_values_of_every_kind_are_one_group_at_the_end(values):
    column = group_column(values, 3)
    assert column.labels[-1] == MISSING
    assert column.labels.count(MISSING) == 1
    assert column.codes[1] == len(column.labels) - 1


def test_rows_of_missing_groups_are_reported():
    arrays = Arrays()
    report = arrays.evaluate(by=[None if label == "b" else label for label in arrays.groups])
    assert [row["group"] for row in report.rows()][:4] == ["a", "c", MISSING, ALL_ROWS]
    assert_same_evaluation(report.of(MISSING), arrays.evaluate().of("b"))


def test_categories_keep_their_order_and_empty_ones_are_left_out():
    bands = pd.Categorical(["old", "young", "old"], categories=["young", "middle", "old"])
    assert group_column(bands, 3).labels == ("young", "old")
    assert group_column(pd.Series(bands), 3).labels == ("young", "old")


def test_intervals_are_written_as_text():
    arrays = Arrays()
    age = np.linspace(18, 80, 90)
    report = arrays.evaluate(by=pd.cut(age, [0, 30, 60, 99]))
    labels = [row["group"] for row in report.rows()[:4]]
    assert labels == ["(0, 30]", "(30, 60]", "(60, 99]", ALL_ROWS]
    assert {row["reference"] for row in report.differences(report.groups[0]).rows()} == {"(0, 30]"}


def test_labels_of_several_types_have_a_fixed_order():
    assert group_column(["b", 2, "a", 10], 4).labels == group_column([10, "a", 2, "b"], 4).labels


def test_numbers_and_booleans_are_groups(clf):
    report = evaluate_groups(clf, X_test, y_test, X_test[:, 0] > 0, [0.8], with_intervals=False)
    assert report.groups == (False, True)
    assert report.of(True).n_positive[0] == (clf.select(X_test, 0.8) & (X_test[:, 0] > 0) & (y_test == 1)).sum()


REFUSALS = [
    (["a"] * 89, ValueError, "by must hold one value per row, got 89 for 90 rows"),
    ([None] * 90, ValueError, "by must hold at least one value, got 90 missing ones; choose another column"),
    ([ALL_ROWS] * 90, ValueError, "by must not hold '(all rows)', the name of the line of all rows; rename that "),
    ("sex", TypeError, "by must be a column with one value per row, got 'sex'; pass the column itself"),
    (None, TypeError, "by must be a column with one value per row, got None; pass the column itself"),
    (np.zeros((90, 1)), ValueError, "by must be 1-d, got shape (90, 1); pass a single column"),
    (pd.DataFrame({"a": range(90)}), ValueError, "by must be 1-d, got shape (90, 1); pass a single column"),
    ([["a"]] * 90, TypeError, "by must hold one value per row, got lists or arrays inside; pass a single column"),
    ([np.zeros(2)] * 90, TypeError, "by must hold one value per row, got lists or arrays inside; pass a single "),
]


@pytest.mark.parametrize(("values", "kind", "sentence"), REFUSALS)
def test_columns_that_cannot_be(values, kind, sentence):
    with pytest.raises(kind, match=f"^{re.escape(sentence)}"):
        Arrays().evaluate(by=values)


def test_an_unknown_group_or_reference_lists_the_known_ones(report):
    sentence = "must be one of ['east', 'north', 'west', '(all rows)'], got 'North'"
    with pytest.raises(ValueError, match=exactly(f"group {sentence}")):
        report.of("North")
    with pytest.raises(ValueError, match=exactly(f"reference {sentence}")):
        report.differences("North")


# ---- classifiers ----


def test_a_base_classifier_without_probabilities():
    clf = AUCross(LinearSVC(), random_state=0).fit(X_train, y_train)
    report = evaluate_groups(clf, X_test, y_test, REGION, [0.8], with_intervals=False)
    own = REGION == "east"
    selected = clf.select(X_test, 0.8) & own
    expected = selective_auc(y_test == 1, clf.decision_function(X_test), selected)
    assert report.of("east").estimates["selective_auc"][0] == pytest.approx(expected)


def test_string_labels(clf, report):
    names = np.array(["repaid", "defaulted"])
    named = AUCross(LogisticRegression(), random_state=0).fit(X_train, names[1 - y_train])
    same = evaluate_groups(named, X_test, names[1 - y_test], REGION, [0.9, 0.7])
    assert_same_report(same, report)


def test_bands_per_group_reach_the_selection():
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train, band_groups=X_train[:, 0] > 0)
    groups = X_test[:, 0] > 0
    report = evaluate_groups(clf, X_test, y_test, groups, [0.8], band_groups=groups, with_intervals=False)
    selected = clf.select(X_test, 0.8, groups)
    for group in (False, True):
        assert report.of(group).estimates["achieved_coverage"][0] == selected[groups == group].mean()


def test_more_than_two_classes_are_refused():
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_train, np.digitize(X_train[:, 0], [-1, 1]))
    sentence = "clf must have two classes, got 3; for one class against the others pass masks to "
    with pytest.raises(ValueError, match=f"^{sentence}evaluate_group_selections$"):
        evaluate_groups(clf, X_test, y_test, REGION)


def test_y_of_another_length(clf):
    with pytest.raises(ValueError, match=exactly("y must hold one label per row of X, got 799 for 800 rows")):
        evaluate_groups(clf, X_test, y_test[:-1], REGION)


def test_a_classifier_that_does_not_select():
    with pytest.raises(TypeError, match=r"^clf must be a selective classifier such as AUCross"):
        evaluate_groups(LogisticRegression().fit(X_train, y_train), X_test, y_test, REGION)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"confidence_level": 95}, "confidence_level must be in (0, 1), got 95; for 95 % pass 0.95"),
        ({"selections": {}}, "coverages must hold at least one target coverage, got none"),
        ({"sample_weight": np.zeros(90)}, "sample_weight must not be all zero: no row would count"),
        ({"y_score": np.zeros(89)}, "y_score must hold one score per row, got shape (89,) for 90 rows"),
        ({"y_pred": np.zeros(89)}, "y_pred must hold one label per row, got 89 for 90 rows"),
        ({"selections": {0.8: np.ones(89, bool)}}, "the selection for coverage 0.8 must be a boolean mask"),
    ],
)
def test_other_arguments_are_refused_as_in_evaluate_selections(option, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        Arrays().evaluate(**option)
    arguments = {name: value for name, value in option.items() if name != "by"}
    arrays = Arrays()
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        evaluate_selections(
            **{"y_true": arrays.y, "y_score": arrays.score, "y_pred": arrays.pred, "selections": arrays.masks}
            | {"n_bootstrap": 0}
            | arguments
        )


# ---- rows, frames, text ----


def results(report):
    return report, report.gaps(), report.differences("east")


def test_rows_hold_plain_python_values(report):
    for result in results(report):
        for row in result.rows():
            assert {type(value) for value in row.values()} <= {int, float, str}
            assert json.loads(json.dumps(row)) == row


def test_frames_hold_the_rows(report, monkeypatch):
    for result in results(report):
        assert result.to_frame().to_dict("records") == result.rows()
    monkeypatch.setitem(sys.modules, "pandas", None)
    for result in results(report):
        with pytest.raises(ImportError, match=r"^to_frame needs pandas"):
            result.to_frame()
        assert repr(result)


def test_rows_are_copies(report):
    gaps = report.gaps()
    gaps.rows()[0]["gap"] = 7.0
    assert gaps.rows()[0]["gap"] != 7.0


def test_the_text_is_an_aligned_table(report):
    for result, first in zip(results(report), ("group", "metric", "metric"), strict=True):
        lines = repr(result).split("\n")
        assert lines[0].startswith(first)
        if said := getattr(result, "sentence", ""):
            assert lines.pop() == said
        assert len(lines) == len(result.rows()) + 1
        start = lines[0].index("target_coverage")
        assert {line[start : start + 4] for line in lines[1:]} == {"0.90", "0.70"}
        assert all(line == line.rstrip() for line in lines)


def test_reports_survive_pickling(report):
    copy = pickle.loads(pickle.dumps(report))
    assert copy.rows() == report.rows()
    assert copy.gaps().rows() == report.gaps().rows()


def test_a_report_cannot_be_changed(report):
    with pytest.raises(AttributeError):
        report.groups = ()
    with pytest.raises(AttributeError):
        report.gaps().records = ()


def test_small_groups_are_left_out_and_counted():
    rng = np.random.default_rng(0)
    y, score = np.arange(60) % 2, rng.random(60)
    by = ["big"] * 48 + ["five"] * 5 + ["four"] * 4 + ["three"] * 3
    report = evaluate_group_selections(y, score, score > 0.5, {0.8: score > 0.2}, by)
    shown = report.without_small_groups()
    assert [(row["group"], row["n"]) for row in shown.rows()] == [("big", 48), ("five", 5), ("(all rows)", 60)]
    assert (shown.n_hidden_groups, shown.n_hidden_rows) == (2, 7)
    assert shown.rows() == [row for row in report.rows() if row["group"] not in ("four", "three")]
    assert {row["n_groups"] for row in shown.gaps().rows()} <= {1, 2}
    assert report.without_small_groups(4).without_small_groups().n_hidden_rows == 7


# ---- advice ----


def test_one_band_that_is_equal_already_needs_no_others():
    rng = np.random.default_rng(0)
    labels, score = rng.random(2000) < 0.3, rng.random(2000)
    masks = {0.8: rng.random(2000) < 0.8}
    alike = evaluate_group_selections(labels, score, score > 0.5, masks, np.arange(2000) % 3)
    assert alike.band_advice(0.8).endswith("bands of their own add noise.")
    apart = evaluate_group_selections(
        labels, score, score > 0.5, {0.8: score > 0.2}, np.where(score > 0.5, "high", "low")
    )
    assert "bring them closer" in apart.band_advice(0.8)
    with pytest.raises(ValueError, match="coverage must be one of"):
        apart.band_advice(0.7)


def test_gaps_compare_groups_with_enough_rows():
    rng = np.random.default_rng(0)
    labels, score = rng.random(320) < 0.3, rng.random(320)
    by = np.repeat(["a", "b", "tiny"], [150, 150, 20])
    report = evaluate_group_selections(labels, score, score > 0.5, {0.8: score > 0.2}, by)
    assert {row["n_groups"] for row in report.gaps().rows()} == {2}
    assert {row["n_groups"] for row in report.gaps(min_n=1).rows()} == {3}
    few = evaluate_group_selections(labels[:40], score[:40], score[:40] > 0.5, {1.0: [True] * 40}, by[130:170])
    assert {row["n_groups"] for row in few.gaps().rows()} == {2}


def sized(**sizes):
    """A report of groups of such sizes; at 0.8 a small group is selected whole and another not at all."""
    n, by = sum(sizes.values()), np.repeat(list(sizes), list(sizes.values()))
    rng = np.random.default_rng(0)
    labels, score = rng.random(n) < 0.3, rng.random(n)
    selected = (score > 0.2) | (by == "whole")
    selected &= by != "none"
    return evaluate_group_selections(labels, score, score > 0.5, {0.8: selected}, by)


def test_no_headline_comes_from_a_group_that_is_too_small_and_it_is_named_with_its_size():
    report = sized(a=150, b=150, whole=8, none=2)
    page = report._repr_html_()
    headline = unescape(page[: page.index("<table")]).replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"selected, from [\d.]+ % of '[ab]' to [\d.]+ % of '[ab]'\. Not compared", headline)
    left_out = "Not compared, with fewer than 50 rows: none (2 rows), whole (8 rows)."
    assert left_out in headline
    assert report.gaps().sentence.endswith(f" are larger than what chance explains. {left_out}")
    assert report.gaps(min_n=8).sentence.endswith("Not compared, with fewer than 8 rows: none (2 rows).")


def test_groups_that_are_all_too_small_have_no_headline():
    report = sized(a=60, whole=8, none=2)
    said = "No two groups have 50 rows, so that none are compared: a (60 rows), none (2 rows), whole (8 rows)."
    page = report._repr_html_()
    assert unescape(page[: page.index("<table")]).count("of 'none'") == 0
    assert said in page
    assert report.gaps().sentence == said
    assert report.band_advice(0.8) == said


def test_many_small_groups_are_counted():
    sizes = {f"g{number:02d}": 10 for number in range(30)}
    assert sized(a=60, b=60, **sizes).gaps().sentence.endswith("g19 (10 rows) and 10 more.")


def test_the_gap_by_chance_of_a_share_is_that_of_rows_dealt_anew():
    rng = np.random.default_rng(1)
    sizes, positive = [60, 12, 5], rng.random(77) < 0.3
    score, groups = rng.random(77) + 0.4 * positive, np.repeat(["a", "b", "c"], sizes)
    selected = np.abs(score - 0.7) > 0.2
    report = evaluate_group_selections(positive, score, score > 0.7, {0.8: selected}, groups)
    (gap,) = [row for row in report.gaps(min_n=1).rows() if row["metric"] == "achieved_coverage"]
    ranges = []
    for _ in range(4000):
        dealt = rng.permutation(selected)
        shares = [dealt[groups == group].mean() for group in "abc"]
        ranges.append(max(shares) - min(shares))
    below, above = np.quantile(ranges, (0.93, 0.97))
    assert below <= gap["gap_by_chance"] <= above + 1e-9


@pytest.mark.parametrize("by_customer", [False, True])
def test_tiny_groups_that_are_equal_seldom_send_their_few_positives_to_review_beyond_chance(by_customer):
    rng, sizes, beyond = np.random.default_rng(0), (60, 30, 12, 5), []
    for _ in range(80):
        selected = rng.random(sum(sizes)) < 0.6
        report = evaluate_group_selections(
            np.ones(sum(sizes)),
            rng.random(sum(sizes)),
            np.ones(sum(sizes)),
            {0.6: selected},
            np.repeat(np.arange(4), sizes),
            customers=np.arange(sum(sizes)) if by_customer else None,
        )
        (gap,) = [row for row in report.gaps(min_n=1).rows() if row["metric"] == "positives_for_review"]
        beyond.append(gap["gap"] > gap["gap_by_chance"])
    # 5 % by design; resamples of five rows alone exceed it in 10 % and more.
    assert np.mean(beyond) <= 0.08
