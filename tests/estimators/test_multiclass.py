"""More than two classes: the same contract, aimed at Hand and Till's M or at AUC-mu."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.svm import SVC, LinearSVC

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.core.influence import Contest, ExpectedAUC, PairwiseMetric
from aucross.estimators import without_correction
from aucross.evaluation.multiclass import auc_mu, hand_till_m
from tests.reference import select_each

METHODS = [AUCross, PlugInAUC, SCross, PlugIn]
AUC_METHODS = [AUCross, PlugInAUC]
RULES = [
    pytest.param(AUCross, {}, id="AUCross"),
    pytest.param(AUCross, {"target": "auc_mu"}, id="AUCross-mu"),
    pytest.param(PlugInAUC, {"holdout_size": 0.4}, id="PlugInAUC"),
    pytest.param(PlugInAUC, {"holdout_size": 0.4, "target": "auc_mu"}, id="PlugInAUC-mu"),
    pytest.param(SCross, {}, id="SCross"),
    pytest.param(PlugIn, {"holdout_size": 0.4}, id="PlugIn"),
]
COVERAGES = (1.0, 0.9, 0.75, 0.5)
NAMES = np.array(["ash", "birch", "cedar", "dogwood"])

every_method = pytest.mark.parametrize("method", METHODS)
every_rule = pytest.mark.parametrize(("method", "params"), RULES)


def labelled_rows(n_classes=3, n_rows=4000, weights=None, seed=0):
    """Half for fitting, half for looking at; labels are strings whose order is not that of their appearance."""
    X, y = make_classification(
        n_rows,
        n_features=8,
        n_informative=5,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=None if weights is None else list(weights),
        class_sep=0.6,
        flip_y=0.05,
        random_state=seed,
    )
    return train_test_split(X, NAMES[::-1][:n_classes][y], test_size=0.5, stratify=y, random_state=0)


X, X_new, y, y_new = labelled_rows()


def make(method, estimator=None, **params):
    return method(estimator or LogisticRegression(), random_state=0, **params)


def selected_where_placed(clf, coverage) -> np.ndarray:
    """Which of the rows that placed the band it selects."""
    return clf.band(coverage).selects(
        clf.band_rule_.selection_score(clf.fitted_.scored_held_out().rule_input, coverage)
    )


def placed_coverage(clf, coverage) -> float:
    """Share of the rows that placed the band which it selects."""
    held_out = clf.held_out_
    selected = selected_where_placed(clf, coverage)
    weight = np.ones(len(selected)) if held_out.sample_weight is None else held_out.sample_weight
    return float(weight[selected].sum() / weight.sum())


# ---- the contract ----


@every_rule
def test_selection_keeps_the_contract(method, params):
    n_classes = 4  # the other tests have three
    X, X_new, y, y_new = labelled_rows(n_classes, n_rows=2400)
    clf = make(method, coverage=0.8, **params).fit(X, y)
    assert clf.classes_.tolist() == sorted(set(y))
    assert clf.predict_proba(X_new).shape == (len(y_new), n_classes)
    assert (clf.predict(X_new) == y_new).mean() > 1.5 / n_classes
    each = select_each(clf, X_new, COVERAGES)
    order = np.random.default_rng(0).permutation(len(X_new))
    for coverage, selected in zip(COVERAGES, each, strict=True):
        assert selected.dtype == bool
        assert np.array_equal(clf.select(X_new, coverage), selected)
        assert np.array_equal(clf.select(X_new[order], coverage), selected[order])
        assert np.array_equal(clf.band(coverage).selects(clf.decide(X_new, coverage).selection_score), selected)
        # 480 rows place the hold-out bands, and 1200 new ones are looked at: two parts noise.
        assert selected.mean() == pytest.approx(coverage, abs=0.08 if "holdout_size" in params else 0.05)
    assert each[0].all()
    assert np.array_equal(clf.select(X_new), clf.select(X_new, 0.8))
    assert np.array_equal(clf.select(X_new[:1]), clf.select(X_new)[:1])
    assert np.array_equal(select_each(pickle.loads(pickle.dumps(clf)), X_new, COVERAGES), each)


@every_rule
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_on_the_rows_that_place_the_band_is_never_below_the_target(method, params, weighted):
    weight = np.random.default_rng(0).gamma(2.0, size=len(y)) if weighted else None
    clf = without_correction(make(method, **params)).fit(X, y, sample_weight=weight)
    for coverage in (0.95, 0.9, 0.75, 0.5, 0.2):
        # The published confidence threshold is a mean of three quantiles and may miss by a little.
        slack = 0.01 if method is SCross else 1e-9
        assert coverage - slack <= placed_coverage(clf, coverage) <= coverage + 0.01


@every_method
@pytest.mark.parametrize("estimator", [LinearSVC(dual=False), SVC()], ids=["LinearSVC", "SVC"])
def test_decision_values_will_do(method, estimator):
    clf = make(method, estimator).fit(X[:1200], y[:1200])
    assert clf.fitted_.response_method == "decision_function"
    assert clf.held_out_.responses.shape[1:] == (3,)
    for coverage in (0.9, 0.75):
        assert clf.select(X_new, coverage).mean() == pytest.approx(coverage, abs=0.08)


def test_pairwise_decision_values_are_refused():
    X, _, y, _ = labelled_rows(4, n_rows=400)
    with pytest.raises(ValueError, match='pass decision_function_shape="ovr"'):
        make(AUCross, SVC(decision_function_shape="ovo")).fit(X, y)


@every_method
def test_a_frozen_model_is_not_trained_again(method):
    model = LogisticRegression().fit(X, y)
    clf = make(method, FrozenEstimator(model)).fit(X_new, y_new)
    assert np.array_equal(clf.predict_proba(X_new), model.predict_proba(X_new))


@every_method
def test_rejected_rows_are_marked(method):
    clf = make(method).fit(X, y)
    marked = clf.predict_selective(X_new, 0.8)
    assert np.array_equal(marked == "reject", ~clf.select(X_new, 0.8))
    assert np.array_equal(marked[marked != "reject"], clf.predict(X_new)[marked != "reject"])


@pytest.mark.parametrize("method", [AUCross, SCross])
def test_each_group_of_rows_can_have_its_own_band(method):
    group, group_new = np.where(X[:, 0] > 0, "high", "low"), np.where(X_new[:, 0] > 0, "high", "low")
    clf = make(method).fit(X, y, band_groups=group)
    selected = clf.select(X_new, 0.8, band_groups=group_new)
    for label in ("high", "low"):
        assert selected[group_new == label].mean() == pytest.approx(0.8, abs=0.05)
    with pytest.raises(ValueError, match="unseen"):
        clf.select(X_new, 0.8, band_groups=np.full(len(X_new), "unseen"))


@pytest.mark.parametrize(("method", "params"), RULES[:1] + RULES[4:5])
def test_the_unit_of_the_weights_does_not_matter_and_rows_of_weight_zero_do_not_count(method, params):
    weight = np.random.default_rng(0).gamma(2.0, size=len(y))
    model = FrozenEstimator(LogisticRegression().fit(X_new, y_new))
    selected, in_thousands = (
        make(method, model, **params).fit(X, y, sample_weight=weight * unit).select(X_new, 0.8) for unit in (1.0, 1e3)
    )
    assert (selected != in_thousands).mean() < 0.002
    half = np.arange(len(y)) < len(y) // 2
    if method is AUCross:  # the other one splits its rows into random halves
        without = make(method, model, cv=2).fit(X[half], y[half], sample_weight=weight[half])
        with_zeros = make(method, model, cv=2).fit(X, y, sample_weight=weight * half)
        assert (without.select(X_new, 0.8) != with_zeros.select(X_new, 0.8)).mean() < 0.002


@pytest.mark.few_scores
def test_scores_that_all_agree_select_every_row():
    with pytest.warns(UserWarning, match="all held-out scores equal .* every row is selected"):
        clf = make(AUCross, DummyClassifier()).fit(X, y)
    assert clf.select(X_new, 0.5).all()


def test_it_works_inside_scikit_learn():
    iris = load_iris()
    assert cross_val_score(make(AUCross, LogisticRegression(max_iter=1000)), iris.data, iris.target, cv=3).mean() > 0.9
    calibrated = CalibratedClassifierCV(LinearSVC(dual=False), cv=3)
    assert make(AUCross, calibrated).fit(X, y).select(X_new, 0.8).mean() == pytest.approx(0.8, abs=0.05)


# ---- what it is for ----


@pytest.mark.parametrize("shares", [(0.80, 0.15, 0.05), (0.90, 0.07, 0.03)])
@pytest.mark.parametrize(("target", "metric"), [("auc", hand_till_m), ("auc_mu", auc_mu)])
def test_on_imbalanced_rows_our_rule_rises_where_confidence_falls(shares, target, metric):
    X, X_new, y, y_new = labelled_rows(n_rows=12_000, weights=shares, seed=1)
    ours, usual = make(AUCross, target=target).fit(X, y), make(SCross).fit(X, y)
    prob = ours.predict_proba(X_new)
    everything, by_influence, by_confidence = (
        metric(y_new, prob, selected)
        for selected in (np.ones(len(y_new), dtype=bool), ours.select(X_new, 0.75), usual.select(X_new, 0.75))
    )
    assert by_influence > everything + 0.01
    assert by_confidence < everything - 0.01


def test_each_target_is_best_at_its_own_metric_on_the_rows_that_place_it():
    X, _, y, _ = labelled_rows(4, n_rows=8000, weights=(0.6, 0.25, 0.1, 0.05))
    values = {}
    for target in ("auc", "auc_mu"):
        clf = without_correction(make(AUCross, target=target)).fit(X, y)
        selected = selected_where_placed(clf, 0.7)
        held_out = clf.held_out_
        values[target] = [metric(held_out.labels, held_out.responses, selected) for metric in (hand_till_m, auc_mu)]
    assert values["auc"][0] > values["auc_mu"][0] - 0.002
    assert values["auc_mu"][1] > values["auc"][1] - 0.002


# ---- which coverage for which M ----


@every_method
def test_coverage_for_reads_the_metric_of_the_held_out_rows(method):
    clf = make(method, **({"holdout_size": 0.5} if method in (PlugIn, PlugInAUC) else {})).fit(X, y)
    held_out = clf.held_out_

    def held_out_m(coverage):
        return hand_till_m(held_out.labels, held_out.responses, selected_where_placed(clf, coverage))

    goal = max(held_out_m(1.0), held_out_m(0.7))
    answer = clf.coverage_for(auc=goal)
    assert 0 <= answer.low <= answer.value <= answer.high <= 1
    assert answer.value >= 0.7 - 1e-3
    # The scores of many rows are read through quantile bins.
    assert held_out_m(answer.value) >= goal - 2e-4
    assert clf.coverage_for(auc=0.01).value == 1.0
    assert clf.coverage_for(auc=1.0, confidence=0.9).low <= clf.coverage_for(auc=goal, confidence=0.9).low


# ---- two classes ----


def test_with_two_classes_the_binary_rule_is_unchanged():
    two, two_new = np.where(y == y[0], "b", "a"), np.where(y_new == y[0], "b", "a")
    clf = make(AUCross).fit(X, two)
    assert clf.held_out_.responses.ndim == 1
    assert not hasattr(clf, "probability_model_")
    score = clf.predict_proba(X_new)[:, 1]
    mu = make(AUCross, target="auc_mu").fit(X, two)
    for coverage in COVERAGES:
        assert np.array_equal(clf.select(X_new, coverage), clf.band(coverage).selects(score))
        assert mu.band(coverage) == clf.band(coverage)
    assert roc_auc_score(two_new, score) == pytest.approx(hand_till_m(two_new, clf.predict_proba(X_new)))


@pytest.mark.parametrize("name", ["auc", "auc_mu"])
def test_the_metric_of_two_classes_is_the_auc(name):
    metric = PairwiseMetric(2, name)
    assert metric.contests == (Contest(column=0, winner=1, loser=0),)
    rng = np.random.default_rng(0)
    labels, score = rng.integers(0, 2, 200), rng.integers(0, 30, 200) / 30
    objective = ExpectedAUC(metric.columns(score), np.eye(2)[labels], metric.contests)
    assert objective.table(objective.histograms(np.ones(200))).value == pytest.approx(roc_auc_score(labels, score))


# ---- the metric ----


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_contests_and_columns(n_classes):
    m, mu = PairwiseMetric(n_classes), PairwiseMetric(n_classes, "auc_mu")
    n_pairs = n_classes * (n_classes - 1) // 2
    assert (len(m.contests), len({contest.column for contest in m.contests})) == (2 * n_pairs, n_classes)
    assert (len(mu.contests), len({contest.column for contest in mu.contests})) == (n_pairs, n_pairs)
    assert {(contest.winner, contest.loser) for contest in m.contests} == {
        (j, k) for j in range(n_classes) for k in range(n_classes) if j != k
    }
    assert all(contest.column == contest.winner for contest in m.contests)
    assert [(contest.winner, contest.loser) for contest in mu.contests] == list(combinations(range(n_classes), 2))
    responses = np.random.default_rng(0).dirichlet(np.ones(n_classes), 7)
    assert m.columns(responses) is responses
    for contest, column in zip(mu.contests, mu.columns(responses).T, strict=True):
        assert column == pytest.approx(responses[:, contest.winner] - responses[:, contest.loser])


@pytest.mark.parametrize(("name", "function"), [("auc", hand_till_m), ("auc_mu", auc_mu)])
@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_known_labels_the_expected_metric_is_the_metric(name, function, n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    labels, responses = rng.integers(0, n_classes, 300), rng.integers(0, 10, (300, n_classes)) / 10  # with ties
    weight = rng.gamma(2.0, size=300) if weighted else None
    selected = rng.random(300) < 0.7
    metric = PairwiseMetric(n_classes, name)
    objective = ExpectedAUC(metric.columns(responses), np.eye(n_classes)[labels], metric.contests, weight)
    expected = function(labels, responses, selected, sample_weight=weight)
    assert objective.table(objective.histograms(selected)).value == pytest.approx(expected, abs=1e-12)


# ---- what is refused ----


@pytest.mark.parametrize("method", AUC_METHODS)
@pytest.mark.parametrize(
    "params", [{"placement": "centered"}, {"target": "ks"}, {"target": "average_precision"}, {"target": "partial_auc"}]
)
def test_placements_and_targets_of_two_classes_are_refused_before_training(method, params):
    class NeverFitted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            pytest.fail("trained for nothing")

    with pytest.raises(ValueError, match=r'with 3 classes placement must be "optimal" and target "auc" .* or "auc_mu"'):
        make(method, NeverFitted(), **params).fit(X, y)


@pytest.mark.parametrize("method", [AUCross, SCross])
def test_a_class_with_fewer_rows_than_folds_is_refused(method):
    rare = np.concatenate((np.flatnonzero(y != y[0]), np.flatnonzero(y == y[0])[:4]))
    with pytest.raises(ValueError, match=f"every class must have at least 5 rows .* class '{y[0]}' has 4"):
        make(method).fit(X[rare], y[rare])


def test_the_gate_takes_two_classes():
    with pytest.raises(ValueError, match=r"y must hold two classes for AUCGate, got 3: .* or use AUCross"):
        AUCGate(LogisticRegression(), random_state=0).fit(X, y)


def test_separable_classes_still_have_the_coverage_asked_for():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], 400, axis=0)
    labels = np.repeat(["a", "b", "c"], 400)
    points = centres + rng.normal(size=centres.shape)
    clf = AUCross(LogisticRegression(), random_state=0).fit(points, labels)
    for coverage in (0.9, 0.7, 0.5):
        assert clf.select(points, coverage).mean() == pytest.approx(coverage, abs=0.05)


def test_a_class_without_held_out_weight_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"must hold every class with weight above 0, got none of \[2\]"):
        AUCross(LogisticRegression(max_iter=500)).fit(X, y, sample_weight=(y != 2).astype(float))
