"""Evaluations and comparisons of fitted selective classifiers against direct computation."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import aucross.evaluation
from aucross import AUCross, PlugIn, SCross, compare_selective, evaluate_selections, evaluate_selective
from aucross.evaluation import SelectiveComparison
from aucross.evaluation.catalogue import METRICS_ON_REQUEST, STANDARD_METRICS, draw_weights
from aucross.evaluation.evaluate import DEFAULT_COVERAGES

COVERAGES = [1.0, 0.7, 0.9]

# The arguments that each metric on request reads.
OF_SCORES = {
    "expected_calibration_error",
    "oracle_gap",
    "selective_average_precision",
    "selective_brier",
    "selective_gini",
    "selective_ks",
    "selective_log_loss",
    "selective_partial_auc",
}
OF_LABELS = {"selective_risk"}
OF_SELECTION = {"base_rate_shift", "positives_for_review"}
# Those that follow from the ranking and need no replicates.
TOLD = ["positives_for_review", "selective_gini", "selective_risk"]


def make_data():
    return make_classification(1600, n_features=6, n_informative=3, flip_y=0.3, weights=[0.7], random_state=0)


X, y = make_data()
X_train, y_train, X_test, y_test = X[:800], y[:800], X[800:], y[800:]


@pytest.fixture(scope="module")
def aucross_clf():
    return AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="module", params=[AUCross, PlugIn])
def clf(request):
    return request.param(LogisticRegression(), random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="module")
def rival():
    """A classifier whose errors are much the same as those of the first."""
    return AUCross(LogisticRegression(C=0.01), random_state=1).fit(X_train, y_train)


class Arrays:
    """Labels, scores, predictions and masks for `evaluate_selections`."""

    def __init__(self, n=60, seed=0):
        rng = np.random.default_rng(seed)
        self.y = rng.random(n) < 0.4
        self.score = np.round(np.clip(0.3 * self.y + 0.7 * rng.random(n), 0, 1), 2)
        self.pred = self.score > 0.5
        self.masks = {0.9: np.abs(self.score - 0.45) > 0.05, 0.6: rng.random(n) < 0.6}
        self.weight = rng.integers(0, 4, n).astype(float)

    def evaluate(self, **options):
        arguments = {"y_true": self.y, "y_score": self.score, "y_pred": self.pred, "selections": self.masks}
        return evaluate_selections(**{**arguments, "n_bootstrap": 0, **options})


def exactly(sentence):
    return f"^{re.escape(sentence)}$"


def beginning(sentence):
    return f"^{re.escape(sentence)}"


def assert_same_numbers(first, second):
    assert list(first) == list(second)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def mean_score(y_true, y_score, selected, sample_weight=None):
    """A metric of the user's own."""
    weight = np.ones(len(y_score)) if sample_weight is None else sample_weight
    total = (weight * selected).sum()
    return float((weight * selected * y_score).sum() / total) if total > 0 else float("nan")


# ---- the table ----


def test_columns_and_their_order(clf):
    expected = ["target_coverage"]
    for name in STANDARD_METRICS:
        expected += [name, f"{name}_sd", f"{name}_low", f"{name}_high"]
    expected += ["n_positive", "n_negative"]
    evaluation = evaluate_selective(clf, X_test, y_test, COVERAGES, n_bootstrap=5, random_state=0)
    assert list(evaluation.to_frame().columns) == expected
    assert [list(row) for row in evaluation.rows()] == [expected] * len(COVERAGES)


def test_metrics_on_request_follow_the_standard_ones_in_the_order_given(clf):
    names = ["selective_ks", "selective_gini"]
    evaluation = evaluate_selective(clf, X_test, y_test, [0.9], metrics=names, n_bootstrap=2, random_state=0)
    assert list(evaluation.estimates) == [*STANDARD_METRICS, *names]
    assert list(evaluation.to_frame().columns)[-6:] == [
        *(f"selective_gini{end}" for end in ("", "_sd", "_low", "_high")),
        "n_positive",
        "n_negative",
    ]


def test_one_row_per_coverage_in_the_order_given(clf):
    frame = evaluate_selective(clf, X_test, y_test, COVERAGES, n_bootstrap=2, random_state=0).to_frame()
    assert frame["target_coverage"].tolist() == COVERAGES
    assert len(frame) == len(COVERAGES)


def test_default_coverages_are_those_of_the_paper_and_all_rows(clf):
    evaluation = evaluate_selective(clf, X_test, y_test, n_bootstrap=0)
    assert evaluation.target_coverage.tolist() == list(DEFAULT_COVERAGES) == [1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75]


@pytest.mark.parametrize("coverages", [(0.9, 0.8), np.array([0.9, 0.8]), iter([0.9, 0.8]), pd.Series([0.9, 0.8])])
def test_coverages_may_be_any_iterable(aucross_clf, coverages):
    evaluation = evaluate_selective(aucross_clf, X_test, y_test, coverages, n_bootstrap=0)
    assert evaluation.target_coverage.tolist() == [0.9, 0.8]


# ---- estimates ----


@pytest.mark.parametrize("weight", [None, np.random.default_rng(0).random(800)], ids=["no weights", "weights"])
def test_estimates_equal_direct_computation(clf, weight):
    evaluation = evaluate_selective(clf, X_test, y_test, COVERAGES, sample_weight=weight, n_bootstrap=3, random_state=0)
    weights = np.ones(len(y_test)) if weight is None else weight
    for row in evaluation.rows():
        selected = clf.select(X_test, coverage=row["target_coverage"])
        kept = {"sample_weight": weights[selected]}
        achieved = weights[selected].sum() / weights.sum()
        assert row["achieved_coverage"] == pytest.approx(achieved)
        assert row["coverage_error"] == pytest.approx(achieved - row["target_coverage"])
        score = clf.predict_proba(X_test)[selected, 1]
        assert row["selective_auc"] == pytest.approx(roc_auc_score(y_test[selected], score, **kept))
        predicted = clf.predict(X_test)[selected]
        assert row["selective_accuracy"] == pytest.approx(accuracy_score(y_test[selected], predicted, **kept))
        assert row["positive_rate"] == pytest.approx(np.average(y_test[selected], weights=weights[selected]))
        assert row["n_positive"] == (y_test[selected] == 1).sum()
        assert row["n_negative"] == (y_test[selected] == 0).sum()


def test_full_coverage_is_the_plain_classifier(aucross_clf):
    row = evaluate_selective(aucross_clf, X_test, y_test, [1.0], n_bootstrap=20, random_state=0).rows()[0]
    plain = LogisticRegression().fit(X_train, y_train)
    assert row["selective_auc"] == pytest.approx(roc_auc_score(y_test, plain.predict_proba(X_test)[:, 1]), abs=1e-12)
    assert row["selective_accuracy"] == pytest.approx(plain.score(X_test, y_test), abs=1e-12)
    assert row["achieved_coverage"] == row["achieved_coverage_low"] == row["achieved_coverage_high"] == 1.0
    assert row["coverage_error"] == row["coverage_error_sd"] == 0.0
    assert row["n_positive"] + row["n_negative"] == len(y_test)


def test_intervals_bracket_the_estimates(clf):
    evaluation = evaluate_selective(clf, X_test, y_test, COVERAGES, n_bootstrap=200, random_state=0)
    for row in evaluation.rows():
        for name in STANDARD_METRICS:
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
            is_certain = row["target_coverage"] == 1 and ("coverage" in name or name == "auc_gain")
            assert (row[f"{name}_sd"] > 0) != is_certain
            assert (row[f"{name}_low"] < row[f"{name}_high"]) != is_certain


def test_a_higher_confidence_level_gives_wider_intervals(aucross_clf):
    widths = []
    for level in (0.5, 0.9, 0.99):
        row = evaluate_selective(
            aucross_clf, X_test, y_test, [0.8], n_bootstrap=200, confidence_level=level, random_state=0
        ).rows()[0]
        widths.append(row["selective_auc_high"] - row["selective_auc_low"])
    assert widths[0] < widths[1] < widths[2]


# ---- weights ----


@pytest.mark.parametrize("seed", range(3))
def test_weight_2_equals_the_row_twice(seed):
    arrays = Arrays(seed=seed)
    metrics = sorted(METRICS_ON_REQUEST)
    weighted = arrays.evaluate(sample_weight=arrays.weight, metrics=metrics)
    twice = np.repeat(np.arange(len(arrays.y)), arrays.weight.astype(int))
    repeated = evaluate_selections(
        arrays.y[twice],
        arrays.score[twice],
        arrays.pred[twice],
        {coverage: mask[twice] for coverage, mask in arrays.masks.items()},
        metrics=metrics,
        n_bootstrap=0,
    )
    for name, estimate in weighted.estimates.items():
        np.testing.assert_allclose(estimate, repeated.estimates[name], rtol=0, atol=1e-10, err_msg=name)


def test_weight_2_equals_the_row_twice_for_a_classifier(clf):
    weight = np.random.default_rng(1).integers(0, 4, len(y_test))
    twice = np.repeat(np.arange(len(y_test)), weight)
    weighted = evaluate_selective(clf, X_test, y_test, COVERAGES, sample_weight=weight, n_bootstrap=0)
    repeated = evaluate_selective(clf, X_test[twice], y_test[twice], COVERAGES, n_bootstrap=0)
    for name, estimate in weighted.estimates.items():
        np.testing.assert_allclose(estimate, repeated.estimates[name], rtol=0, atol=1e-12, err_msg=name)


def test_weights_of_1_change_nothing():
    arrays = Arrays()
    plain, weighted = (arrays.evaluate(sample_weight=w, n_bootstrap=1).to_frame() for w in (None, np.ones(60)))
    pd.testing.assert_frame_equal(plain, weighted, rtol=0, atol=1e-9)


def test_a_row_of_weight_0_takes_no_part_in_estimates_counts_and_draws():
    arrays = Arrays()
    used = arrays.weight > 0
    options = {"metrics": ["selective_gini", "selective_risk"], "n_bootstrap": 4, "random_state": 0}
    weighted = arrays.evaluate(sample_weight=arrays.weight, **options)
    without = evaluate_selections(
        arrays.y[used],
        arrays.score[used],
        arrays.pred[used],
        {coverage: mask[used] for coverage, mask in arrays.masks.items()},
        sample_weight=arrays.weight[used],
        **options,
    )
    assert_same_numbers(weighted.estimates, without.estimates)
    assert_same_numbers(weighted.replicates, without.replicates)
    assert weighted.n_positive.tolist() == without.n_positive.tolist()
    assert weighted.n_negative.tolist() == without.n_negative.tolist()


def test_few_rows_with_weight_leave_no_replicate_without():
    arrays = Arrays()
    weight = np.zeros(60)
    weight[np.flatnonzero(arrays.y)[0]] = weight[np.flatnonzero(~arrays.y)[0]] = 1.0
    evaluation = arrays.evaluate(sample_weight=weight, metrics=["selective_gini"], n_bootstrap=50, random_state=0)
    assert np.isfinite(evaluation.deviations["achieved_coverage"]).all()


# ---- labels and base classifiers ----


def test_string_labels(aucross_clf):
    names = np.array(["repaid", "defaulted"])  # sorted: "defaulted" comes first and is the negative class
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_train, names[1 - y_train])
    evaluation = evaluate_selective(clf, X_test, names[1 - y_test], COVERAGES, n_bootstrap=3, random_state=0)
    expected = evaluate_selective(aucross_clf, X_test, y_test, COVERAGES, n_bootstrap=3, random_state=0)
    assert_same_numbers(evaluation.estimates, expected.estimates)
    assert_same_numbers(evaluation.replicates, expected.replicates)


@pytest.mark.parametrize("wrap", [list, pd.Series, lambda labels: pd.Series(labels, dtype="category")])
def test_labels_in_any_container(aucross_clf, wrap):
    evaluation = evaluate_selective(aucross_clf, X_test, wrap(y_test), [0.8], n_bootstrap=0)
    expected = evaluate_selective(aucross_clf, X_test, y_test, [0.8], n_bootstrap=0)
    assert_same_numbers(evaluation.estimates, expected.estimates)


def test_boolean_labels(aucross_clf):
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train == 1)
    evaluation = evaluate_selective(clf, X_test, y_test == 1, [0.8], n_bootstrap=0)
    expected = evaluate_selective(aucross_clf, X_test, y_test, [0.8], n_bootstrap=0)
    assert_same_numbers(evaluation.estimates, expected.estimates)


@pytest.mark.parametrize("method", [AUCross, PlugIn])
def test_a_base_classifier_without_probabilities(method):
    clf = method(LinearSVC(), random_state=0).fit(X_train, y_train)
    for row in evaluate_selective(clf, X_test, y_test, COVERAGES, n_bootstrap=3, random_state=0).rows():
        selected = clf.select(X_test, row["target_coverage"])
        expected = roc_auc_score(y_test[selected], clf.decision_function(X_test)[selected])
        assert row["selective_auc"] == pytest.approx(expected)
    with pytest.raises(ValueError, match=beginning("y_score must be probabilities in [0, 1], got ")):
        evaluate_selective(clf, X_test, y_test, [0.9], metrics=["selective_brier"], n_bootstrap=0)


class RoundedProbabilities(LogisticRegression):
    """Probabilities that tie where the decision function does not, as saturated ones do."""

    def predict_proba(self, X):
        return np.round(super().predict_proba(X), 1)


@pytest.mark.few_scores
def test_the_auc_is_that_of_the_scores_that_the_classifier_uses():
    clf = AUCross(RoundedProbabilities(), random_state=0).fit(X_train, y_train)
    expected = roc_auc_score(y_test, clf.predict_proba(X_test)[:, 1])
    evaluation = evaluate_selective(clf, X_test, y_test, [1.0], n_bootstrap=0)
    assert evaluation.estimates["selective_auc"][0] == pytest.approx(expected, abs=1e-12)


def test_one_class_in_y_gives_nan_for_the_auc_alone(aucross_clf):
    negatives = y_test == 0
    with pytest.warns(UserWarning, match="rows of 0 alone"):
        evaluation = evaluate_selective(
            aucross_clf, X_test[negatives], y_test[negatives], [0.8], n_bootstrap=3, random_state=0
        )
    row = evaluation.rows()[0]
    assert np.isnan([row[f"selective_auc{end}"] for end in ("", "_sd", "_low", "_high")]).all()
    assert row["positive_rate"] == row["n_positive"] == 0
    assert row["selective_accuracy"] > 0.5


def test_one_row():
    evaluation = evaluate_selections([True], [0.3], [False], {0.5: [True]}, n_bootstrap=3, random_state=0)
    row = evaluation.rows()[0]
    assert (row["achieved_coverage"], row["selective_accuracy"], row["positive_rate"]) == (1.0, 0.0, 1.0)
    assert np.isnan(row["selective_auc"])


# ---- metrics on request ----


def test_every_metric_on_request_is_tested_here():
    assert set(METRICS_ON_REQUEST) == OF_SCORES | OF_LABELS | OF_SELECTION
    assert set(METRICS_ON_REQUEST) <= set(aucross.evaluation.__all__)


def direct(name, y_true, y_score, y_pred, selected, weight):
    function = getattr(aucross.evaluation, name)
    if name in OF_SELECTION:
        return function(y_true, selected, sample_weight=weight)
    return function(y_true, y_score if name in OF_SCORES else y_pred, selected, sample_weight=weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "name", sorted(set(METRICS_ON_REQUEST) - {"selective_gini", "selective_risk", "positives_for_review"})
)
def test_a_metric_by_name_equals_a_direct_call_on_the_rows_and_on_every_replicate(name, weighted):
    arrays = Arrays()
    weight = arrays.weight + 1 if weighted else np.ones(60)
    evaluation = arrays.evaluate(
        metrics=[name], sample_weight=weight if weighted else None, n_bootstrap=3, random_state=2
    )
    table = [evaluation.estimates[name], *evaluation.replicates[name]]
    for values, count in zip(table, [np.ones(60), *draw_weights(np.ones(60), 3, seed=2)], strict=True):
        for value, mask in zip(values, arrays.masks.values(), strict=True):
            expected = direct(name, arrays.y, arrays.score, arrays.pred, mask, weight * count)
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", sorted(METRICS_ON_REQUEST))
def test_a_function_and_its_name_are_the_same_request(name):
    arrays = Arrays()
    function = getattr(aucross.evaluation, name)
    by_name, by_function, by_both = (arrays.evaluate(metrics=m) for m in ([name], [function], [name, function]))
    assert_same_numbers(by_name.estimates, by_function.estimates)
    assert_same_numbers(by_name.estimates, by_both.estimates)


def test_a_function_of_the_user_equals_a_direct_call_on_the_rows_and_on_every_replicate():
    arrays = Arrays()
    evaluation = arrays.evaluate(metrics=[mean_score], n_bootstrap=3, random_state=2)
    table = [evaluation.estimates["mean_score"], *evaluation.replicates["mean_score"]]
    for values, count in zip(table, [np.ones(60), *draw_weights(np.ones(60), 3, seed=2)], strict=True):
        expected = [mean_score(arrays.y, arrays.score, mask, sample_weight=count) for mask in arrays.masks.values()]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_partial_function_goes_by_the_name_of_its_function():
    arrays = Arrays()
    metric = partial(aucross.evaluation.selective_partial_auc, max_fpr=0.5)
    evaluation = arrays.evaluate(metrics=[metric])
    expected = [metric(arrays.y, arrays.score, mask) for mask in arrays.masks.values()]
    np.testing.assert_allclose(evaluation.estimates["selective_partial_auc"], expected)


@pytest.mark.parametrize("metrics", ["selective_gini", aucross.evaluation.selective_gini, iter(["selective_gini"])])
def test_metrics_may_be_one_metric_or_any_iterable(metrics):
    assert list(Arrays().evaluate(metrics=metrics).estimates) == [*STANDARD_METRICS, "selective_gini"]


def test_standard_metrics_may_be_named_too():
    assert list(Arrays().evaluate(metrics=list(STANDARD_METRICS)).estimates) == list(STANDARD_METRICS)


def rows_per_rejected_row(y_true, y_score, selected, *, sample_weight):
    """Infinite where no row is rejected."""
    rejected = sample_weight[~selected].sum()
    return sample_weight.sum() / rejected if rejected else np.inf


def test_infinite_values_give_an_interval_without_warnings():
    evaluation = Arrays().evaluate(
        selections={0.98: np.arange(60) > 0}, metrics=[rows_per_rejected_row], n_bootstrap=60, random_state=0
    )
    row = evaluation.rows()[0]
    assert row["rows_per_rejected_row"] == 60
    assert row["rows_per_rejected_row_high"] == np.inf
    assert row["rows_per_rejected_row_low"] < 30
    assert np.isnan(row["rows_per_rejected_row_sd"])


# ---- the bootstrap's seed and size ----


def test_no_bootstrap_gives_estimates_without_spreads(clf):
    evaluation = evaluate_selective(
        clf, X_test, y_test, COVERAGES, metrics=["selective_gini", mean_score], n_bootstrap=0
    )
    for row in evaluation.rows():
        for name in (*STANDARD_METRICS, "selective_gini", "mean_score"):
            assert np.isfinite(row[name])
            assert np.isnan([row[f"{name}_{end}"] for end in ("sd", "low", "high")]).all()
    assert evaluation.replicates["mean_score"].shape == (0, 3)


def test_one_replicate_has_no_spread():
    row = Arrays().evaluate(metrics=[mean_score], n_bootstrap=1, random_state=0).rows()[0]
    assert np.isnan([row["mean_score_sd"], row["mean_score_low"]]).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TOLD)
def test_what_the_ranking_tells_equals_a_direct_call_and_needs_no_replicates(name, weighted):
    arrays = Arrays()
    weight = arrays.weight + 1 if weighted else None
    evaluation = arrays.evaluate(metrics=[name], sample_weight=weight, n_bootstrap=1)
    for value, mask in zip(evaluation.estimates[name], arrays.masks.values(), strict=True):
        assert value == pytest.approx(direct(name, arrays.y, arrays.score, arrays.pred, mask, weight), abs=1e-12)
    assert not evaluation.replicates
    assert (evaluation.intervals[name].low <= evaluation.estimates[name]).all()


def drawn(**options):
    return Arrays().evaluate(metrics=[mean_score], n_bootstrap=5, **options)


@pytest.mark.parametrize(
    "random_state",
    [lambda: 3, lambda: np.int64(3), lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)],
    ids=["int", "numpy integer", "Generator", "RandomState"],
)
def test_the_same_random_state_gives_the_same_replicates(random_state):
    first, second = (drawn(random_state=random_state()) for _ in range(2))
    assert_same_numbers(first.replicates, second.replicates)


@pytest.mark.parametrize("generator", [np.random.default_rng(3), np.random.RandomState(3)])
def test_a_generator_moves_on(generator):
    first, second = (drawn(random_state=generator) for _ in range(2))
    assert not np.array_equal(first.replicates["mean_score"], second.replicates["mean_score"])


@pytest.mark.parametrize("states", [(3, 4), (None, None)])
def test_other_random_states_give_other_replicates(states):
    first, second = (drawn(random_state=state) for state in states)
    assert not np.array_equal(first.replicates["mean_score"], second.replicates["mean_score"])
    assert_same_numbers(first.estimates, second.estimates)


def test_asking_for_more_metrics_or_coverages_leaves_the_others_as_they_were():
    arrays = Arrays()
    few = arrays.evaluate(selections={0.9: arrays.masks[0.9]}, n_bootstrap=5, random_state=0)
    many = arrays.evaluate(metrics=["selective_gini"], n_bootstrap=5, random_state=0)
    for name in STANDARD_METRICS:
        np.testing.assert_allclose(few.intervals[name].low[0], many.intervals[name].low[0], rtol=0, atol=1e-12)


# ---- refusals ----


def test_unknown_classes_in_y(aucross_clf):
    labels = y_test.copy()
    labels[[3, 5]] = 7, 2
    sentence = (
        "y must hold the classes of the training rows [0, 1], got also [7, 2], the first in row 3; drop those rows, "
    )
    sentence += "or write their labels as in training"
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate_selective(aucross_clf, X_test, labels)


def test_unknown_classes_of_another_type(aucross_clf):
    labels = y_test.astype(object)
    labels[0] = "1"
    with pytest.raises(ValueError, match=re.escape("[0, 1], got also ['1']")):
        evaluate_selective(aucross_clf, X_test, labels)


def test_strings_for_integer_classes(aucross_clf):
    with pytest.raises(ValueError, match=re.escape("[0, 1], got also ['0', '1']")):
        evaluate_selective(aucross_clf, X_test, np.array(["0", "1"])[y_test])


@pytest.mark.parametrize("mark", [np.nan, None, pd.NA], ids=str)
def test_missing_labels(aucross_clf, mark):
    labels = y_test.astype(float if isinstance(mark, float) else object)
    labels[[3, 5]] = mark
    sentence = "y must not contain missing values, got 2 of 800, the first in row 3; drop those rows"
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate_selective(aucross_clf, X_test, labels)


def test_y_of_two_dimensions(aucross_clf):
    sentence = "y must be 1-d, got shape (800, 1); pass np.ravel(y) for a single column"
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate_selective(aucross_clf, X_test, y_test[:, None])


def test_y_of_another_length(aucross_clf):
    with pytest.raises(ValueError, match=exactly("y must hold one label per row of X, got 799 for 800 rows")):
        evaluate_selective(aucross_clf, X_test, y_test[:-1])


def test_a_classifier_that_is_not_fitted():
    with pytest.raises(NotFittedError, match="This AUCross instance is not fitted yet"):
        evaluate_selective(AUCross(LogisticRegression()), X_test, y_test)


@pytest.mark.parametrize("model", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_a_classifier_that_does_not_select(model):
    sentence = f"clf must be a selective classifier such as AUCross, got {type(model).__name__}; wrap the model, with "
    with pytest.raises(TypeError, match=beginning(sentence)):
        evaluate_selective(model.fit(X_train, y_train), X_test, y_test)


def test_a_pipeline_inside_works():
    clf = AUCross(make_pipeline(StandardScaler(), LogisticRegression()), random_state=0).fit(X_train, y_train)
    assert evaluate_selective(clf, X_test, y_test, [0.8], n_bootstrap=0).estimates["selective_auc"][0] > 0.6


COVERAGE_REFUSALS = [
    ([90], ValueError, "each of coverages must be in (0, 1], got 90; for 90 % pass 0.9"),
    ([0.0], ValueError, "each of coverages must be in (0, 1], got 0.0; 1 stands for all"),
    ([0.9, "0.8"], TypeError, "each of coverages must be a number in (0, 1], got '0.8'"),
    ([], ValueError, "coverages must hold at least one target coverage, got none"),
    ([0.9, 0.8, 0.9], ValueError, "coverages must not repeat, got [0.9, 0.8, 0.9]"),
    (0.9, TypeError, "coverages must be a list of target coverages, got 0.9; pass [0.9]"),
]


@pytest.mark.parametrize(("coverages", "kind", "sentence"), COVERAGE_REFUSALS)
def test_coverages_that_cannot_be(aucross_clf, coverages, kind, sentence):
    with pytest.raises(kind, match=exactly(sentence)):
        evaluate_selective(aucross_clf, X_test, y_test, coverages)
    with pytest.raises(kind, match=exactly(sentence)):
        compare_selective([aucross_clf, aucross_clf], X_test, y_test, coverages)


OPTION_REFUSALS = [
    ({"n_bootstrap": -1}, "n_bootstrap must be a whole number, 0 or more, got -1"),
    ({"n_bootstrap": 100.0}, "n_bootstrap must be a whole number, 0 or more, got 100.0"),
    ({"confidence_level": 95}, "confidence_level must be in (0, 1), got 95; for 95 % pass 0.95"),
    ({"confidence_level": 0}, "confidence_level must be in (0, 1), got 0"),
    ({"confidence_level": 1}, "confidence_level must be in (0, 1), got 1"),
    ({"random_state": -1}, "random_state must not be negative, got -1"),
    (
        {"random_state": "a"},
        "random_state must be an integer, a Generator, a RandomState or None, got 'a'",
    ),
]


@pytest.mark.parametrize(("option", "sentence"), OPTION_REFUSALS)
def test_options_that_cannot_be(aucross_clf, option, sentence):
    with pytest.raises(ValueError, match=exactly(sentence)):
        Arrays().evaluate(**option)
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate_selective(aucross_clf, X_test, y_test, [0.9], **option)
    with pytest.raises(ValueError, match=exactly(sentence)):
        compare_selective([aucross_clf, aucross_clf], X_test, y_test, [0.9], **option)


def test_an_unknown_metric_lists_the_known_ones():
    sentence = (
        f"metrics must be functions or names from {sorted(METRICS_ON_REQUEST)}, got 'auc'; "
        "achieved_coverage, coverage_error, selective_auc, auc_gain, selective_accuracy, positive_rate are always there"
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        Arrays().evaluate(metrics=["auc"])


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ("aurc", "'aurc', which reads losses"),
        (aucross.evaluation.hand_till_m, "'hand_till_m', which reads class scores"),
        (aucross.evaluation.expected_cost, "'expected_cost' without review_cost, for which there is functools.partial"),
        (aucross.evaluation.Metric(min, reads="selection"), "'min', which reads selection"),
    ],
)
def test_a_metric_of_what_an_evaluation_does_not_have_is_refused(metric, why):
    with pytest.raises(ValueError, match=f"^metrics must be functions or names from .*, got {re.escape(why)}; "):
        Arrays().evaluate(metrics=[metric])


def positive_rate(y_true, y_score, selected, sample_weight=None):
    """A metric with the name of a standard one."""
    return 0.5


def selective_gini(y_true, y_score, selected, sample_weight=None):
    """A metric with the name of one on request."""
    return 0.5


@pytest.mark.parametrize(
    "metrics",
    [
        [lambda *args, **kw: 1.0, lambda *args, **kw: 2.0],
        [positive_rate],
        ["selective_gini", selective_gini],
        [aucross.evaluation.selective_gini, selective_gini],
    ],
)
def test_no_metric_takes_the_place_of_another_of_its_name(metrics):
    sentence = f"metrics must have names of their own, got a second metric called {metrics[-1].__name__!r}; give "
    with pytest.raises(ValueError, match=beginning(sentence)):
        Arrays().evaluate(metrics=metrics)


MASK_REFUSALS = [
    (np.ones(60, dtype=int), "dtype int64 and shape (60,) for 60 rows"),
    (np.ones(59, dtype=bool), "dtype bool and shape (59,) for 60 rows"),
    (np.ones((60, 1), dtype=bool), "dtype bool and shape (60, 1) for 60 rows"),
    (np.arange(3), "dtype int64 and shape (3,) for 60 rows"),
]


@pytest.mark.parametrize(("mask", "found"), MASK_REFUSALS)
def test_masks_that_cannot_be(mask, found):
    arrays = Arrays()
    sentence = f"the selection for coverage 0.8 must be a boolean mask with one entry per row, got {found}"
    with pytest.raises(ValueError, match=exactly(sentence)):
        arrays.evaluate(selections={**arrays.masks, 0.8: mask})


ROW_REFUSALS = [
    ({"y_score": np.zeros(59)}, "y_score must hold one score per row, got shape (59,) for 60 rows"),
    ({"y_pred": np.zeros(59)}, "y_pred must hold one label per row, got 59 for 60 rows"),
    ({"y_pred": np.zeros((60, 1))}, "y_pred must be 1-d, got shape (60, 1)"),
    ({"y_true": np.zeros((60, 1))}, "y_true must be 1-d, got shape (60, 1)"),
    ({"sample_weight": np.ones(59)}, "sample_weight must hold one weight per row, got shape (59,) for 60 rows"),
    ({"sample_weight": -np.ones(60)}, "sample_weight must not be negative, got -1 in row 0; use 0 to leave a row out"),
    ({"sample_weight": np.zeros(60)}, "sample_weight must not be all zero: no row would count"),
    (
        {"y_score": np.where(np.arange(60) == 4, np.nan, 0.5)},
        "y_score must be finite, got 1 NaN or infinite values among 60, the first in row 4; ",
    ),
    (
        {"y_true": [], "y_score": [], "y_pred": [], "selections": {0.9: np.zeros(0, dtype=bool)}},
        "there must be at least one row to evaluate on, got none",
    ),
    (
        {"y_true": [], "y_score": [], "y_pred": [], "selections": {0.9: np.zeros(0, dtype=bool)}, "sample_weight": []},
        "there must be at least one row to evaluate on, got none",
    ),
    ({"selections": {}}, "coverages must hold at least one target coverage, got none"),
]


@pytest.mark.parametrize(("change", "sentence"), ROW_REFUSALS)
def test_rows_that_cannot_be(change, sentence):
    with pytest.raises(ValueError, match=beginning(sentence)):
        Arrays().evaluate(**change)


def test_predictions_of_other_values():
    with pytest.raises(ValueError, match=re.escape("must be boolean, 0/1 or -1/1, got values such as [2]")):
        Arrays().evaluate(y_pred=np.full(60, 2))


# ---- comparisons ----


def compare(first, second, **options):
    return compare_selective(
        [second, first], X_test, y_test, **{"coverages": [0.9, 0.7], "n_bootstrap": 100, "random_state": 0, **options}
    )


def test_a_comparison_has_one_row_per_coverage_and_metric(aucross_clf, rival):
    frame = compare(aucross_clf, rival, metrics=["selective_gini"]).to_frame()
    assert list(frame.columns) == [
        "target_coverage",
        "metric",
        "classifier",
        "reference",
        "value",
        "reference_value",
        "difference",
        "difference_sd",
        "difference_low",
        "difference_high",
        "share_above_zero",
    ]
    names = [*STANDARD_METRICS, "selective_gini"]
    assert frame["metric"].tolist() == names * 2
    assert frame["target_coverage"].tolist() == [0.9] * len(names) + [0.7] * len(names)


def test_a_comparison_is_antisymmetric(aucross_clf, rival):
    forth, back = compare(aucross_clf, rival).rows(), compare(rival, aucross_clf).rows()
    for one, other in zip(forth, back, strict=True):
        assert (one["value"], one["reference_value"]) == (other["reference_value"], other["value"])
        assert one["difference"] == -other["difference"]
        assert one["difference_sd"] == pytest.approx(other["difference_sd"])
        assert one["difference_low"] == pytest.approx(-other["difference_high"])
        assert one["difference_high"] == pytest.approx(-other["difference_low"])
        assert one["share_above_zero"] == pytest.approx(1 - other["share_above_zero"])


def test_a_classifier_against_itself_differs_by_zero(aucross_clf):
    for row in compare(aucross_clf, aucross_clf, metrics=["selective_log_loss"]).rows():
        assert row["difference"] == row["difference_low"] == row["difference_high"] == row["difference_sd"] == 0.0
        assert row["share_above_zero"] == 0.5


def test_a_comparison_is_that_of_two_evaluations_with_the_same_seed(aucross_clf, rival):
    options = {"metrics": [mean_score], "n_bootstrap": 10, "random_state": 4, "coverages": [0.9, 0.7]}
    one, other = (evaluate_selective(clf, X_test, y_test, **options) for clf in (aucross_clf, rival))
    names = {"classifier": "first", "reference": "second"}
    assert [row | names for row in compare(aucross_clf, rival, **options).rows()] == one.minus(other).rows()


@pytest.mark.parametrize(
    "random_state", [np.random.default_rng(3), np.random.RandomState(3), None], ids=["Generator", "RandomState", "None"]
)
def test_a_generator_gives_both_classifiers_the_same_draws(aucross_clf, random_state):
    comparison = compare(aucross_clf, aucross_clf, metrics=[mean_score], random_state=random_state)
    for metric in comparison.metrics:
        assert (comparison.difference(metric).deviation == 0).all()


def test_metrics_of_other_draws_are_not_compared(aucross_clf, rival):
    one, other = (
        evaluate_selective(clf, X_test, y_test, [0.9], metrics=[mean_score], n_bootstrap=5, random_state=seed)
        for clf, seed in ((aucross_clf, 0), (rival, 1))
    )
    with pytest.raises(
        ValueError, match=r"same bootstrap for mean_score, got \(replicates, seed\) \(5, 0\) and \(5, 1\)"
    ):
        one.minus(other)


def test_the_paired_standard_deviation_is_that_of_new_samples_and_below_that_of_two_samples(aucross_clf, rival):
    one, other = (evaluate_selective(clf, X_test, y_test, [0.9]) for clf in (aucross_clf, rival))
    paired = one.minus(other).difference("selective_auc").deviation[0]
    apart = np.hypot(*(part.deviations["selective_auc"][0] for part in (one, other)))
    assert paired < apart / 2
    scores = [clf.predict_proba(X_test)[:, 1] for clf in (aucross_clf, rival)]
    masks = [clf.select(X_test, 0.9) for clf in (aucross_clf, rival)]
    rng, differences = np.random.default_rng(0), []
    for _ in range(400):
        drawn = rng.integers(0, len(y_test), len(y_test))
        kept = [drawn[mask[drawn]] for mask in masks]
        aucs = [roc_auc_score(y_test[own], score[own]) for own, score in zip(kept, scores, strict=True)]
        differences.append(aucs[0] - aucs[1])
    assert paired == pytest.approx(np.std(differences), rel=0.12)


def test_iterators_serve_both_classifiers(aucross_clf, rival):
    comparison = compare(
        aucross_clf, rival, coverages=iter([0.9, 0.7]), metrics=iter(["selective_gini"]), n_bootstrap=2
    )
    assert comparison.metrics == [*STANDARD_METRICS, "selective_gini"]
    assert comparison.target_coverage.tolist() == [0.9, 0.7]


def test_a_comparison_takes_weights(aucross_clf, rival):
    weight = np.random.default_rng(0).random(len(y_test))
    row = compare(aucross_clf, rival, sample_weight=weight, n_bootstrap=0).rows()[2]
    selected = aucross_clf.select(X_test, 0.9)
    expected = roc_auc_score(
        y_test[selected], aucross_clf.predict_proba(X_test)[selected, 1], sample_weight=weight[selected]
    )
    assert row["metric"] == "selective_auc"
    assert row["value"] == pytest.approx(expected)
    assert np.isnan(row["share_above_zero"])


def test_the_auc_method_beats_the_confidence_method_on_imbalanced_rows(aucross_clf):
    by_confidence = SCross(LogisticRegression(), random_state=0).fit(X_train, y_train)
    row = next(row for row in compare(aucross_clf, by_confidence).rows()[5:] if row["metric"] == "selective_auc")
    assert row["difference"] > 0
    assert row["share_above_zero"] > 0.8


def test_labels_in_another_order_than_the_rows_are_warned_of(aucross_clf):
    rows, labels = pd.DataFrame(X_test), pd.Series(y_test)
    evaluate_selective(aucross_clf, rows, labels, [0.8], n_bootstrap=0)  # no warning
    with pytest.warns(UserWarning, match=r"^y must hold the rows of X in their order, .* pass y\.loc\[X\.index\]"):
        evaluate_selective(aucross_clf, rows, labels.sample(frac=1, random_state=0), [0.8], n_bootstrap=0)


def test_labels_of_one_class_are_warned_of_and_leave_the_auc_undefined(aucross_clf):
    only = y_test == 1
    with pytest.warns(
        UserWarning, match=r"^y should hold rows of at least two classes, got \d+ rows of 1 alone: .* NaN"
    ):
        evaluation = evaluate_selective(aucross_clf, X_test[only], y_test[only], [0.8], n_bootstrap=0)
    assert np.isnan(evaluation.estimates["selective_auc"]).all()


def test_any_number_of_classifiers_is_compared_with_the_reference(aucross_clf, rival):
    by_confidence = SCross(LogisticRegression(), random_state=0).fit(X_train, y_train)
    named = {"ours": aucross_clf, "rival": rival, "usual": by_confidence}
    comparison = compare_selective(named, X_test, y_test, [0.9, 0.7], reference="usual", n_bootstrap=0)
    rows = [row for row in comparison.rows() if row["metric"] == "selective_auc"]
    assert [(row["target_coverage"], row["classifier"]) for row in rows] == [
        (0.9, "ours"),
        (0.9, "rival"),
        (0.7, "ours"),
        (0.7, "rival"),
    ]
    for row in rows:
        alone = evaluate_selective(named[row["classifier"]], X_test, y_test, [row["target_coverage"]], n_bootstrap=0)
        usual = evaluate_selective(by_confidence, X_test, y_test, [row["target_coverage"]], n_bootstrap=0)
        assert row["value"] == alone.estimates["selective_auc"][0]
        assert row["reference"] == "usual"
        assert row["difference"] == row["value"] - usual.estimates["selective_auc"][0]


@pytest.mark.parametrize(
    ("classifiers", "error", "sentence"),
    [
        ([], ValueError, "classifiers must hold two classifiers or more, got 0"),
        (None, TypeError, "classifiers must be a list of fitted classifiers or a dict"),
    ],
)
def test_too_few_classifiers_are_not_compared(classifiers, error, sentence):
    with pytest.raises(error, match=beginning(sentence)):
        compare_selective(classifiers, X_test, y_test)


def test_a_reference_must_be_one_of_the_classifiers(aucross_clf, rival):
    with pytest.raises(
        ValueError, match=beginning("reference must be one of ['AUCross 1', 'AUCross 2'], got 'SCross'")
    ):
        compare_selective([aucross_clf, rival], X_test, y_test, [0.8], reference="SCross")


def advised(first, second, *, coverage=0.8, reached=(0.8, 0.8), of="cases"):
    """Advice on two evaluations whose AUCs, and the ends of whose difference, are given."""
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.4
    noise = rng.normal(size=4000)
    evaluations = {}
    for name, (shift, share) in {"A": (first, reached[0]), "B": (second, reached[1])}.items():
        score = noise + shift * y
        mask = np.arange(4000) < share * 4000
        evaluations[name] = evaluate_selections(y, score, score > 0, {coverage: mask})
    return SelectiveComparison(evaluations, "A").advice(of=of)


def test_advice_names_the_highest_auc_and_says_whether_it_is_clear():
    assert re.fullmatch(
        r"The highest AUC of automatic cases is \.\d{3}, of B; it is clearly above A \(95 % interval of the difference "
        r"\.\d{3} to \.\d{3}\)\.",
        advised(1.0, 1.2),
    )
    assert "of A; all others are clearly behind." in advised(1.2, 1.0)
    assert "of A; not clearly behind: B." in advised(1.0, 1.0)


def test_advice_says_when_the_winner_decides_fewer_cases():
    assert advised(1.0, 1.2, reached=(0.8, 0.7)).endswith(", but decides only 70 % of cases against 80 %.")
    assert advised(1.0, 1.2, reached=(0.8, 0.7), of="the weight").endswith(" 70 % of the weight against 80 %.")
    for share in (0.797, 0.9):  # as many, or more
        assert "but decides only" not in advised(1.0, 1.2, reached=(0.8, share))


def test_advice_on_one_alone_compares_it_with_no_other():
    y = np.arange(8) > 3
    alone = evaluate_selections(y, np.arange(8.0), y, {1.0: np.ones(8, dtype=bool)})
    said = SelectiveComparison({"A": alone}, "A").advice()
    assert said == "The AUC of automatic cases is 1.000, of A, compared with no other."


# ---- a capacity ----


def test_a_capacity_is_evaluated_at_the_share_that_it_leaves(aucross_clf):
    found = evaluate_selective(aucross_clf, X_test, y_test, capacity=[0, 80, 200], n_bootstrap=0)
    n = len(y_test)
    assert found.target_coverage.tolist() == [1.0, 1 - 80 / n, 1 - 200 / n]
    np.testing.assert_array_equal(found.estimates["achieved_coverage"], found.target_coverage)
    for capacity, auc in zip((0, 80, 200), found.estimates["selective_auc"], strict=True):
        selected = aucross_clf.select(X_test, capacity=capacity)
        assert auc == pytest.approx(roc_auc_score(y_test[selected], aucross_clf.predict_proba(X_test)[selected, 1]))
    alone = evaluate_selective(aucross_clf, X_test, y_test, capacity=80, n_bootstrap=0)
    assert alone.rows()[0] == pytest.approx(found.rows()[1], nan_ok=True)


def test_the_target_of_a_capacity_counts_weight(aucross_clf):
    weight = np.random.default_rng(0).random(len(y_test))
    found = evaluate_selective(aucross_clf, X_test, y_test, capacity=80, sample_weight=weight)
    kept = aucross_clf.decide(aucross_clf.scored(X_test, sample_weight=weight), capacity=80).selected
    assert found.target_coverage == pytest.approx(weight[kept].sum() / weight.sum())
    assert not found.missed.any()


def test_capacities_that_cannot_be_evaluated(aucross_clf):
    with pytest.raises(ValueError, match=r"^coverages and capacity must not both be given, got \[0.8\] and 5"):
        evaluate_selective(aucross_clf, X_test, y_test, [0.8], capacity=5)
    with pytest.raises(ValueError, match=r"^capacity must leave rows to evaluate, got 9999 of 800 rows"):
        evaluate_selective(aucross_clf, X_test, y_test, capacity=9999)
    with pytest.raises(ValueError, match=r"^capacity must be a number of rows or hold at least one, got none"):
        evaluate_selective(aucross_clf, X_test, y_test, capacity=[])
