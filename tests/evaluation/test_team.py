"""Classifier and reviewers together: decisions put together, and any metric over all rows."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    hamming_loss,
    precision_score,
    recall_score,
    roc_auc_score,
    zero_one_loss,
)

from aucross.evaluation import expected_cost, selective_accuracy, selective_risk
from aucross.evaluation.team import LINEAR_METRICS, team_predictions, team_score

COSTS = {"review_cost": 0.0, "cost_matrix": [[0, 1], [5, -1]]}
LINEAR_CALLS = [
    (accuracy_score, {}),
    (accuracy_score, {"normalize": False}),
    (balanced_accuracy_score, {}),
    (expected_cost, COSTS),
    (hamming_loss, {}),
    (recall_score, {}),
    (recall_score, {"average": "macro"}),
    (selective_accuracy, {}),
    (selective_risk, {}),
    (zero_one_loss, {}),
]


class Rows:
    """Random labels and decisions; three quarters of the rows are selected."""

    def __init__(self, seed=0, n=12, classes=(0, 1)):
        rng = np.random.default_rng(seed)
        self.y = rng.choice(classes, n)
        self.y[: len(classes)] = classes
        self.pred = np.where(rng.random(n) < 0.7, self.y, rng.choice(classes, n))
        self.selected = np.arange(n) % 4 != 1
        self.weight = rng.integers(1, 4, n).astype(float)
        self.classes = classes


def expectation_over_all_outcomes(metric, rows, accuracy, weight=None, **params):
    """The mean of the metric over every combination of the reviewers' decisions, by its probability."""
    rejected = np.flatnonzero(~rows.selected)
    total = 0.0
    for labels in product(rows.classes, repeat=len(rejected)):
        decisions, probability = rows.pred.copy(), 1.0
        for row, label in zip(rejected, labels, strict=True):
            decisions[row] = label
            right = accuracy[rows.y[row]] if isinstance(accuracy, dict) else accuracy
            probability *= right if label == rows.y[row] else (1 - right) / (len(rows.classes) - 1)
        weights = {} if weight is None else {"sample_weight": weight}
        total += probability * metric(rows.y, decisions, **weights, **params)
    return total


def mean_precision(y_true, y_pred):
    """Precision of each label, averaged: not linear, and fast enough for many draws."""
    return np.mean([np.mean(y_true[y_pred == label] == label) for label in np.unique(y_pred)])


# ---- decisions ----


def test_rejected_rows_get_the_reviewers_label_and_selected_rows_keep_theirs():
    decisions = team_predictions([0, 1, 0, 1], [True, False, True, False], reviewer_labels=[1, 0, 1, 0])
    assert decisions.tolist() == [0, 0, 0, 0]
    assert decisions.dtype == np.dtype(int)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_labels_of_selected_rows_may_be_missing(missing):
    decisions = team_predictions([0, 1, 1], [True, True, False], reviewer_labels=[missing, missing, 0])
    assert decisions.tolist() == [0, 1, 0]
    assert decisions.dtype == np.dtype(int)


@pytest.mark.parametrize("labels", [[0, 1], np.array([0, 1]), pd.Series([0, 1], index=[11, 13])])
def test_labels_of_the_rejected_rows_alone_are_enough(labels):
    predicted = pd.Series([0, 1, 0, 0], index=[10, 11, 12, 13])
    selected = [True, False, True, False]
    assert team_predictions(predicted, selected, reviewer_labels=labels).tolist() == [0, 0, 0, 1]
    assert team_score(accuracy_score, [0, 0, 1, 1], predicted, selected, reviewer_labels=labels) == 0.75
    y_true, predicted = pd.Series([0, 0, 1, 1], index=[10, 11, 12, 13]), predicted.to_numpy()
    assert team_score(accuracy_score, y_true, predicted, selected, reviewer_labels=labels) == 0.75


def test_labels_of_rejected_rows_in_another_order_are_refused():
    predicted = pd.Series([0, 1, 0, 0], index=[10, 11, 12, 13])
    labels = pd.Series([1, 0], index=[13, 11])
    for name, y_true, y_pred in (("y_pred", [0, 0, 1, 1], predicted), ("y_true", predicted, [0, 1, 0, 0])):
        with pytest.raises(ValueError, match=rf"rows in their order.* pass reviewer_labels\.loc\[{name}\.index"):
            team_score(accuracy_score, y_true, y_pred, [True, False, True, False], reviewer_labels=labels)


def test_longer_strings_of_reviewers_are_kept_whole():
    decisions = team_predictions(["no", "no"], [True, False], reviewer_labels=[None, "perhaps"])
    assert decisions.tolist() == ["no", "perhaps"]


@pytest.mark.parametrize("labels", [[True, False, True], [0.5, 0.25, 0.125], ["a", "b", "c"]])
def test_the_type_of_the_classifiers_labels_is_kept(labels):
    decisions = team_predictions(labels, [True, False, True], reviewer_labels=labels[::-1])
    assert decisions.dtype.kind == np.asarray(labels).dtype.kind
    assert decisions.tolist() == labels


def test_the_arguments_are_not_changed():
    predicted = np.array([0, 1])
    team_predictions(predicted, [False, False], reviewer_labels=[1, 0])
    assert predicted.tolist() == [0, 1]


def test_without_rejected_rows_the_classifiers_decisions_come_back():
    assert team_predictions([0, 1], [True, True], reviewer_labels=[None, None]).tolist() == [0, 1]


# ---- given labels ----


@pytest.mark.parametrize("metric", [accuracy_score, f1_score, precision_score])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_with_given_labels_the_score_is_the_metric_of_the_decisions_of_the_team(metric, weighted):
    rows = Rows(seed=3, n=40)
    reviewers = np.random.default_rng(1).choice([0, 1], 40)
    weights = {"sample_weight": rows.weight} if weighted else {}
    expected = metric(rows.y, np.where(rows.selected, rows.pred, reviewers), **weights)
    assert team_score(metric, rows.y, rows.pred, rows.selected, reviewer_labels=reviewers, **weights) == expected


def test_perfect_reviewers_score_as_their_labels_do():
    rows = Rows(n=40)
    given = team_score(f1_score, rows.y, rows.pred, rows.selected, reviewer_labels=rows.y)
    drawn = {"reviewer_accuracy": 1.0, "n_draws": 3, "random_state": 0}
    assert team_score(f1_score, rows.y, rows.pred, rows.selected, **drawn) == given


def test_scores_of_reviewers_may_replace_scores_of_the_classifier():
    y, score, selected = [0, 1, 0, 1], [0.2, 0.3, 0.6, 0.9], [True, True, False, True]
    assert team_score(roc_auc_score, y, score, selected, reviewer_labels=[np.nan, np.nan, 0.1, np.nan]) == 1.0


def test_parameters_of_the_metric_are_passed_on():
    rows = Rows(n=30)
    direct = f1_score(rows.y, np.where(rows.selected, rows.pred, rows.y), pos_label=0)
    assert team_score(f1_score, rows.y, rows.pred, rows.selected, reviewer_labels=rows.y, pos_label=0) == direct


# ---- assumed accuracy ----


@pytest.mark.parametrize(("metric", "params"), LINEAR_CALLS, ids=lambda value: getattr(value, "__name__", None))
@pytest.mark.parametrize("accuracy", [0.0, 0.8, {0: 0.9, 1: 0.6}], ids=["never right", "0.8", "by class"])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_the_expectation_of_a_linear_metric_is_exact(metric, params, accuracy, weighted):
    rows = Rows(seed=2)
    weight = rows.weight if weighted else None
    expected = expectation_over_all_outcomes(metric, rows, accuracy, weight, **params)
    score = team_score(
        metric, rows.y, rows.pred, rows.selected, reviewer_accuracy=accuracy, sample_weight=weight, **params
    )
    assert score == pytest.approx(expected, abs=1e-12)


def test_every_metric_that_counts_as_linear_is_checked_against_all_outcomes():
    assert {metric for metric, _ in LINEAR_CALLS} == set(LINEAR_METRICS)


def test_with_three_labels_a_wrong_reviewer_takes_any_of_the_other_two():
    rows = Rows(seed=5, n=16, classes=("a", "b", "c"))
    expected = expectation_over_all_outcomes(balanced_accuracy_score, rows, 0.7)
    score = team_score(balanced_accuracy_score, rows.y, rows.pred, rows.selected, reviewer_accuracy=0.7)
    assert score == pytest.approx(expected, abs=1e-12)


def test_team_accuracy_is_the_share_of_right_answers_plus_the_rejected_share_times_the_accuracy():
    y, pred = [1, 0, 1, 0, 1], [1, 1, 1, 0, 0]
    selected = [True, True, True, False, False]
    assert team_score(accuracy_score, y, pred, selected, reviewer_accuracy=0.9) == pytest.approx((2 + 2 * 0.9) / 5)


def test_draws_of_a_metric_that_is_not_linear_approach_its_expectation():
    rows = Rows(seed=7)
    expected = expectation_over_all_outcomes(mean_precision, rows, {0: 0.9, 1: 0.6})
    score = team_score(
        mean_precision,
        rows.y,
        rows.pred,
        rows.selected,
        reviewer_accuracy={0: 0.9, 1: 0.6},
        n_draws=2000,
        random_state=0,
    )
    assert score == pytest.approx(expected, abs=0.01)


def test_draws_with_three_labels_approach_the_expectation():
    rows = Rows(seed=5, n=16, classes=("a", "b", "c"))
    expected = expectation_over_all_outcomes(mean_precision, rows, 0.6)
    score = team_score(
        mean_precision, rows.y, rows.pred, rows.selected, reviewer_accuracy=0.6, n_draws=2000, random_state=0
    )
    assert score == pytest.approx(expected, abs=0.01)


def test_the_same_seed_gives_the_same_draws():
    rows = Rows(n=40)

    def draw(seed):
        return team_score(
            f1_score, rows.y, rows.pred, rows.selected, reviewer_accuracy=0.7, n_draws=5, random_state=seed
        )

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(np.random.RandomState(3)) == draw(np.random.RandomState(3))
    assert draw(np.random.default_rng(3)) == draw(np.random.default_rng(3))


def test_a_metric_of_ones_own_is_computed_exactly_if_it_is_called_linear():
    def share_called_positive(y_true, y_pred, sample_weight=None):
        return np.average(y_pred, weights=sample_weight)

    rows = Rows(seed=2)
    expected = expectation_over_all_outcomes(share_called_positive, rows, 0.8)
    score = team_score(share_called_positive, rows.y, rows.pred, rows.selected, reviewer_accuracy=0.8, linear=True)
    assert score == pytest.approx(expected, abs=1e-12)


def test_a_linear_metric_may_be_drawn_all_the_same():
    rows = Rows(n=40)
    score = partial(
        team_score, accuracy_score, rows.y, rows.pred, rows.selected, reviewer_accuracy=0.8, n_draws=50, random_state=0
    )
    assert score(linear=False) != score()
    assert score(linear=False) == pytest.approx(score(), abs=0.03)


def test_a_partial_of_a_linear_metric_is_linear():
    rows = Rows(n=40)
    score = partial(
        team_score, y_true=rows.y, y_pred=rows.pred, selected=rows.selected, reviewer_accuracy=0.8, n_draws=1
    )
    assert score(partial(recall_score, pos_label=0), random_state=0) == score(recall_score, pos_label=0)


@pytest.mark.parametrize("accuracy", [0.3, 1.0])
def test_weight_2_equals_the_row_twice(accuracy):
    rows = Rows(seed=4, n=30)
    weighted = team_score(
        accuracy_score, rows.y, rows.pred, rows.selected, reviewer_accuracy=accuracy, sample_weight=rows.weight
    )
    y, pred, selected = (np.repeat(values, rows.weight.astype(int)) for values in (rows.y, rows.pred, rows.selected))
    repeated = team_score(accuracy_score, y, pred, selected, reviewer_accuracy=accuracy)
    assert weighted == pytest.approx(repeated, abs=1e-12)


def test_without_rejected_rows_the_score_is_that_of_the_classifier():
    rows = Rows(n=20)
    everything = np.ones(20, dtype=bool)
    for metric in (accuracy_score, f1_score):
        drawn = {"reviewer_accuracy": 0.5, "n_draws": 2, "random_state": 0}
        score = team_score(metric, rows.y, rows.pred, everything, **drawn)
        assert score == metric(rows.y, rows.pred)


def test_one_class_of_rows_can_be_scored_with_perfect_reviewers():
    assert team_score(accuracy_score, [1, 1], [0, 1], [False, True], reviewer_accuracy=1.0) == 1.0


# ---- errors ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either reviewer_labels or reviewer_accuracy must be given, got neither"),
        ({"reviewer_labels": [0, 1, 0], "reviewer_accuracy": 0.9}, "must be given, got both"),
        ({"metric": "accuracy", "reviewer_accuracy": 0.9}, "metric must be a function"),
        ({"reviewer_accuracy": 90}, r"reviewer_accuracy must be in \[0, 1\], got 90; for 90 % pass 0.9"),
        ({"reviewer_accuracy": "high"}, "reviewer_accuracy must be a number in"),
        ({"reviewer_accuracy": {0: 0.9}}, r"an accuracy for every label, got none for \[1\]"),
        ({"reviewer_accuracy": {0: 0.9, 1: -1}}, r"reviewer_accuracy must be in \[0, 1\], got -1"),
        ({"reviewer_labels": [0]}, "one label per row, or one per rejected row, got 1 for 3 rows, 2 of them rejected"),
        ({"reviewer_labels": [[0], [1], [0]]}, r"reviewer_labels must be 1-d, got shape \(3, 1\)"),
        ({"reviewer_labels": [0, None, 1]}, "got 1 missing of 2, the first in row 1"),
        ({"reviewer_labels": [0, np.nan, np.nan]}, "got 2 missing of 2, the first in row 1"),
        ({"reviewer_labels": ["no", "yes", "no"]}, r"labels of the type of y_pred \(int64\)"),
        ({"reviewer_labels": [0.5, 0.5, 0.5]}, r"labels of the type of y_pred \(int64\)"),
        ({"y_pred": ["no", "yes", "no"], "reviewer_labels": [0, 1, 0]}, "labels of the type of y_pred"),
        ({"y_pred": [0, 1], "reviewer_accuracy": 0.9}, "y_pred must hold one label per row, got 2 for 3 rows"),
        ({"selected": [1, 0, 0], "reviewer_accuracy": 0.9}, "selected must be a boolean mask"),
        ({"selected": [True, False], "reviewer_accuracy": 0.9}, "selected must hold one entry per row"),
        ({"sample_weight": [1, -1, 1], "reviewer_accuracy": 0.9}, "sample_weight must not be negative"),
        ({"metric": f1_score, "reviewer_accuracy": 0.9, "n_draws": 0}, "n_draws must be a positive integer, got 0"),
        ({"y_true": [1, 1, 1], "reviewer_accuracy": 0.9}, "y_true must hold at least two labels"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments, message):
    usual = {"metric": accuracy_score, "y_true": [0, 1, 1], "y_pred": [0, 1, 0], "selected": [True, False, False]}
    with pytest.raises(ValueError, match=message):
        team_score(**{**usual, **arguments})
