"""The scorer inside scikit-learn's model selection."""

from __future__ import annotations

import pickle
import re
from functools import partial

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from aucross import AUCross, PlugIn, PlugInAUC, evaluate_selective, selective_scorer
from aucross.evaluation import Metric, SelectiveScorer, expected_cost
from aucross.evaluation.catalogue import METRICS_ON_REQUEST, MULTICLASS_METRICS, STANDARD_METRICS

LOSSES = {
    "expected_calibration_error",
    "oracle_gap",
    "positives_for_review",
    "selective_brier",
    "selective_log_loss",
    "selective_risk",
}
DEVIATIONS = {"base_rate_shift", "coverage_error"}
WITH_A_BETTER_SIDE = sorted({*STANDARD_METRICS, *METRICS_ON_REQUEST} - {"positive_rate"})

X, y = make_classification(600, n_features=6, n_informative=3, flip_y=0.25, random_state=0)
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), coverage=0.7, cv=3, random_state=0).fit(X_train, y_train)


def test_the_default_is_the_auc_at_the_coverage_of_the_classifier(clf):
    selected = clf.select(X_test, coverage=0.7)
    expected = roc_auc_score(y_test[selected], clf.predict_proba(X_test)[selected, 1])
    score = selective_scorer()(clf, X_test, y_test)
    assert score == pytest.approx(expected, abs=1e-12)
    assert type(score) is float


@pytest.mark.parametrize("coverage", [0.5, 1.0])
def test_another_coverage_may_be_asked_for(clf, coverage):
    selected = clf.select(X_test, coverage=coverage)
    expected = roc_auc_score(y_test[selected], clf.predict_proba(X_test)[selected, 1])
    assert selective_scorer(coverage=coverage)(clf, X_test, y_test) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", WITH_A_BETTER_SIDE)
def test_greater_is_better_for_every_metric(clf, metric):
    requested = [metric] if metric in METRICS_ON_REQUEST else []
    evaluation = evaluate_selective(clf, X_test, y_test, [0.8], metrics=requested, n_bootstrap=0)
    value = evaluation.estimates[metric][0]
    expected = -value if metric in LOSSES else -abs(value) if metric in DEVIATIONS else value
    assert selective_scorer(metric, coverage=0.8)(clf, X_test, y_test) == expected


def defaults_per_row(y_true, y_score, selected, *, sample_weight):
    """A metric of the user."""
    return float((y_true * selected * sample_weight).sum() / sample_weight.sum())


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_function_of_the_user_is_scored_as_it_is_evaluated(clf, better):
    metric = defaults_per_row if better == "higher" else Metric(defaults_per_row, better="lower")
    evaluation = evaluate_selective(clf, X_test, y_test, [0.8], metrics=[metric], n_bootstrap=0)
    value = evaluation.estimates["defaults_per_row"][0]
    assert value == (y_test * clf.select(X_test, 0.8)).mean()
    scorer = selective_scorer(metric, coverage=0.8)
    assert scorer(clf, X_test, y_test) == (value if better == "higher" else -value)
    assert pickle.loads(pickle.dumps(scorer))(clf, X_test, y_test) == scorer(clf, X_test, y_test)
    assert clone(scorer).get_params() == scorer.get_params()


def test_a_cost_is_scored_with_its_arguments_and_its_sign(clf):
    costs = partial(expected_cost, review_cost=0.2, cost_matrix=[[0, 1], [5, 0]])
    expected = costs(y_test, clf.predict(X_test), clf.select(X_test))
    assert selective_scorer(costs)(clf, X_test, y_test) == pytest.approx(-expected)
    with pytest.raises(
        ValueError, match=r"got 'expected_cost' without review_cost, for which there is functools\.partial"
    ):
        selective_scorer(expected_cost)(clf, X_test, y_test)


def test_a_deviation_is_worse_on_both_sides(clf):
    scorer = selective_scorer("coverage_error", coverage=0.7)
    selected = clf.select(X_test, coverage=0.7)
    assert scorer(clf, X_test[selected], y_test[selected]) == pytest.approx(-0.3)
    assert scorer(clf, X_test[~selected], y_test[~selected]) == pytest.approx(-0.7)


@pytest.mark.parametrize("more_positives_selected", [True, False])
def test_a_shift_of_the_base_rate_is_worse_in_both_directions(clf, more_positives_selected):
    selected = clf.select(X_test)
    rows = (selected == (y_test == 1)) == more_positives_selected  # one class is selected, the other rejected
    shift = y_test[rows & selected].mean() - y_test[rows].mean()
    assert (shift > 0) == more_positives_selected
    assert selective_scorer("base_rate_shift")(clf, X_test[rows], y_test[rows]) == pytest.approx(-abs(shift))


def test_weights_of_the_scored_rows_count(clf):
    weight = np.random.default_rng(0).integers(0, 4, len(y_test))
    twice = np.repeat(np.arange(len(y_test)), weight)
    for metric in ("selective_auc", "selective_gini", "coverage_error"):
        scorer = selective_scorer(metric)
        by_weight = scorer(clf, X_test, y_test, sample_weight=weight)
        assert by_weight == pytest.approx(scorer(clf, X_test[twice], y_test[twice]), abs=1e-12)
        assert by_weight != scorer(clf, X_test, y_test)


def test_the_same_rows_give_the_same_score(clf):
    assert len({selective_scorer()(clf, X_test, y_test) for _ in range(3)}) == 1


def test_one_class_among_the_selected_rows_gives_nan(clf):
    with pytest.warns(UserWarning, match="y should hold rows of at least two classes"):
        assert np.isnan(selective_scorer()(clf, X_test[y_test == 0], y_test[y_test == 0]))


# ---- in scikit-learn ----


def test_cross_val_score_gives_the_score_of_each_fold():
    model = AUCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0)
    splitter = StratifiedKFold(3)
    scores = cross_val_score(model, X, y, scoring=selective_scorer(), cv=splitter, error_score="raise")
    for score, (train, test) in zip(scores, splitter.split(X, y), strict=True):
        fitted = clone(model).fit(X[train], y[train])
        selected = fitted.select(X[test])
        expected = roc_auc_score(y[test][selected], fitted.predict_proba(X[test])[selected, 1])
        assert score == pytest.approx(expected, abs=1e-12)


def test_grid_search_chooses_the_base_model_with_the_best_selective_metric():
    search = GridSearchCV(
        PlugIn(LogisticRegression(), coverage=0.8, holdout_size=0.3, random_state=0),
        {"estimator__C": [1e-6, 1.0]},
        scoring=selective_scorer("selective_log_loss"),
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"estimator__C": 1.0}
    assert (search.cv_results_["mean_test_score"] < 0).all()


def test_grid_search_over_the_coverage_scores_each_at_its_own():
    search = GridSearchCV(
        AUCross(LogisticRegression(), cv=3, random_state=0),
        {"coverage": [1.0, 0.6]},
        scoring={"auc": selective_scorer(), "share": selective_scorer("achieved_coverage")},
        refit="auc",
        cv=3,
        error_score="raise",
    )
    with pytest.warns(UserWarning, match=r"^classifiers of coverage 1 and 0\.6 are scored"):
        search.fit(X, y)
    full, partly = search.cv_results_["mean_test_share"]
    assert full == 1.0
    assert partly == pytest.approx(0.6, abs=0.06)
    assert search.best_params_ == {"coverage": 0.6}


def test_string_labels_in_cross_validate():
    labels = np.array(["no", "yes"])[y]
    model = AUCross(LogisticRegression(), cv=3, random_state=0)
    by_name, by_number = (
        cross_validate(model, X, target, scoring=selective_scorer(coverage=0.8), cv=3, error_score="raise")
        for target in (labels, y)
    )
    np.testing.assert_array_equal(by_name["test_score"], by_number["test_score"])


def test_metadata_routing_does_not_stand_in_the_way():
    model = AUCross(LogisticRegression(), cv=3, random_state=0)
    options = {"scoring": selective_scorer(coverage=0.8), "cv": 3, "error_score": "raise"}
    plain = cross_val_score(model, X, y, **options)
    with config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(cross_val_score(model, X, y, **options), plain)


# ---- the object ----


def test_a_scorer_can_be_pickled_cloned_compared_and_read(clf):
    scorer = selective_scorer("selective_gini", coverage=0.8)
    copies = [pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)]
    for copy in copies:
        assert copy.get_params() == scorer.get_params()
        assert copy(clf, X_test, y_test) == scorer(clf, X_test, y_test)
    assert isinstance(scorer, SelectiveScorer)
    assert repr(scorer) == "SelectiveScorer(coverage=0.8, metric='selective_gini')"
    assert scorer != selective_scorer("selective_gini")


def test_a_search_with_a_scorer_can_be_pickled():
    search = GridSearchCV(
        AUCross(LogisticRegression(), cv=3, random_state=0), {"coverage": [0.9]}, scoring=selective_scorer(), cv=3
    ).fit(X_train, y_train)
    assert pickle.loads(pickle.dumps(search)).score(X_test, y_test) == search.score(X_test, y_test)


# ---- refusals ----


@pytest.mark.parametrize("metric", ["auc", "roc_auc", "", None])
def test_an_unknown_metric_lists_the_known_ones(metric):
    known = sorted({*STANDARD_METRICS, *METRICS_ON_REQUEST, *MULTICLASS_METRICS})
    sentence = f"metric must be a function or one of {known}, got {metric!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        selective_scorer(metric)


def test_a_metric_without_a_better_side_is_refused_at_once():
    with pytest.raises(
        ValueError, match=r"^metric must have a better and a worse, got 'positive_rate', which has none$"
    ):
        selective_scorer("positive_rate")


def test_a_coverage_in_percent_is_refused_at_once():
    with pytest.raises(ValueError, match=r"^coverage must be in \(0, 1\], got 90; for 90 % pass 0.9$"):
        selective_scorer(coverage=90)
    with pytest.raises(TypeError, match=r"^coverage must be a number in \(0, 1\], got '0.9'$"):
        selective_scorer(coverage="0.9")


@pytest.mark.parametrize("coverage", [None, 0.8])
def test_a_classifier_that_does_not_select_is_refused(coverage):
    model = make_pipeline(StandardScaler(), AUCross(LogisticRegression())).fit(X_train, y_train)
    with pytest.raises(TypeError, match=r"^clf must be a selective classifier such as AUCross, got Pipeline; wrap"):
        selective_scorer(coverage=coverage)(model, X_test, y_test)


def test_a_classifier_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        selective_scorer()(AUCross(LogisticRegression()), X_test, y_test)


def test_probabilities_are_asked_for_where_a_metric_needs_them(clf):
    model = AUCross(LinearSVC(random_state=0), cv=3).fit(X_train, y_train)
    with pytest.raises(ValueError, match=r"^y_score must be probabilities in \[0, 1\]"):
        selective_scorer("selective_brier")(model, X_test, y_test)


def test_a_grid_of_coverages_is_warned_of_unless_all_are_scored_at_one():
    rows, labels = make_classification(400, flip_y=0.3, random_state=0)
    clf = PlugInAUC(LogisticRegression(), holdout_size=0.3, random_state=0)
    grid = {"coverage": [0.7, 0.8, 0.9]}
    with pytest.warns(
        UserWarning, match=r"^classifiers of coverage 0\.7 and 0\.8 are scored .* one coverage for all"
    ) as caught:
        GridSearchCV(clf, grid, scoring=selective_scorer(), cv=2).fit(rows, labels)
    assert len(caught) == 1
    GridSearchCV(clf, grid, scoring=selective_scorer(coverage=0.8), cv=2).fit(rows, labels)
    GridSearchCV(clf, {"estimator__C": [0.1, 1.0]}, scoring=selective_scorer(), cv=2).fit(rows, labels)
