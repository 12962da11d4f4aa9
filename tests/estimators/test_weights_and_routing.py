"""Weights reach training, ranking and coverage, on the direct way and through scikit-learn's metadata routing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, PredefinedSplit, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from aucross.core import RankedScores

METHODS = [AUCross, PlugInAUC, SCross, PlugIn]
CROSS_FITTED = [AUCross, SCross]
COVERAGES = (0.95, 0.9, 0.8, 0.6, 0.4)

X, y = make_classification(400, n_features=5, weights=[0.6], flip_y=0.2, random_state=0)
WEIGHT = np.random.default_rng(1).gamma(1.0, size=len(y)) * np.where(y, 3.0, 1.0)

every_method = pytest.mark.parametrize("method", METHODS)


def frozen():
    """A model trained elsewhere: weights then count in ranking and coverage alone."""
    elsewhere = make_classification(400, n_features=5, weights=[0.6], flip_y=0.2, random_state=0)
    return FrozenEstimator(LogisticRegression(C=0.1).fit(*elsewhere))


def bands(clf):
    return [(band.lower, band.upper) for band in map(clf.band, COVERAGES)]


def ranking_of_held_out_rows(clf, weight) -> RankedScores:
    """What the band is placed on, from the held-out rows and the weights given."""
    held_out = clf.held_out_
    if isinstance(clf, (AUCross, PlugInAUC)):
        return RankedScores.from_labels(held_out.positive, held_out.scores, weight[held_out.rows])
    correct = (held_out.scores > 0.5) == held_out.positive
    return RankedScores.from_labels(correct, np.maximum(held_out.scores, 1 - held_out.scores), weight[held_out.rows])


# ---- what weights do ----


@every_method
def test_weights_reach_the_training_of_every_model(method):
    clf = method(LogisticRegression(), random_state=0).fit(X, y, sample_weight=WEIGHT)
    if method in CROSS_FITTED:
        scores = np.empty(len(y))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            model = LogisticRegression().fit(X[train], y[train], sample_weight=WEIGHT[train])
            scores[test] = model.predict_proba(X[test])[:, 1]
        assert np.array_equal(clf.held_out_.scores, scores[clf.held_out_.rows])
        expected = LogisticRegression().fit(X, y, sample_weight=WEIGHT)
        assert np.array_equal(clf.estimator_.coef_, expected.coef_)
    else:
        train = np.setdiff1d(np.arange(len(y)), clf.held_out_.rows)
        expected = LogisticRegression(tol=1e-8).fit(X[train], y[train], sample_weight=WEIGHT[train])
        assert clf.estimator_.coef_ == pytest.approx(expected.coef_, abs=1e-2)
        unweighted = method(LogisticRegression(), random_state=0).fit(X, y)
        assert clf.estimator_.coef_ != pytest.approx(unweighted.estimator_.coef_, abs=1e-2)


@every_method
def test_weights_reach_the_ranking(method):
    clf = method(frozen(), random_state=0).fit(X, y, sample_weight=WEIGHT)
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])
    ranked, expected = clf.band_rule_.ranked, ranking_of_held_out_rows(clf, WEIGHT)
    assert np.array_equal(ranked.scores, expected.scores)
    assert ranked.weight_below == pytest.approx(expected.weight_below)
    assert ranked.total_positives == pytest.approx(expected.total_positives)


@every_method
def test_coverage_is_a_share_of_weight(method):
    clf = method(frozen(), random_state=0, cv=PredefinedSplit(np.arange(len(y)) % 2)).fit(X, y, sample_weight=WEIGHT)
    rows = clf.held_out_.rows
    for coverage in COVERAGES:
        selected = clf.select(X[rows], coverage)
        achieved = np.average(selected, weights=WEIGHT[rows])
        assert achieved >= coverage - 1e-9
        # A band ends at a row: what is left of the budget is less than the row that comes next.
        if method is not SCross:
            assert achieved <= coverage + WEIGHT.max() / WEIGHT[rows].sum()


# The centred AUCross draws its random halves from other rows when some are left out.
@pytest.mark.parametrize(
    ("method", "placement"), [(AUCross, "optimal"), (PlugInAUC, "optimal"), (PlugInAUC, "centered")]
)
def test_rows_of_weight_zero_place_no_band(method, placement):
    counted = np.arange(len(y)) % 4 > 0
    splits = [(np.arange(2), np.arange(len(y)))]
    weighted = method(frozen(), placement=placement, cv=splits, random_state=0)
    weighted.fit(X, y, sample_weight=counted.astype(float))
    splits = [(np.arange(2), np.arange(counted.sum()))]
    left_out = method(frozen(), placement=placement, cv=splits, random_state=0).fit(X[counted], y[counted])
    assert np.allclose(bands(weighted), bands(left_out), atol=1e-12)


@pytest.mark.parametrize("method", [AUCross, PlugInAUC, PlugIn])
def test_weight_two_is_the_row_twice_where_nothing_is_drawn_at_random(method):
    times = np.random.default_rng(0).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), times)
    first = method(frozen(), cv=[(np.arange(2), np.arange(len(y)))]).fit(X, y, sample_weight=times)
    second = method(frozen(), cv=[(np.arange(2), np.arange(len(repeated)))]).fit(X[repeated], y[repeated])
    assert np.allclose(bands(first), bands(second), atol=1e-12)


@every_method
def test_the_unit_of_weights_does_not_matter_to_the_bands(method):
    first, second = (method(frozen(), random_state=0).fit(X, y, sample_weight=WEIGHT * unit) for unit in (1.0, 1024.0))
    assert bands(first) == bands(second)


@every_method
def test_equal_weights_are_no_weights(method):
    without = method(LogisticRegression(tol=1e-8), random_state=0).fit(X, y)
    ones = method(LogisticRegression(tol=1e-8), random_state=0).fit(X, y, np.ones(len(y)))
    assert np.allclose(bands(without), bands(ones), atol=1e-5)
    assert np.array_equal(without.held_out_.rows, ones.held_out_.rows)


@every_method
def test_weights_may_be_a_list_or_a_series_of_any_type_and_index(method):
    pd = pytest.importorskip("pandas")
    whole = np.ceil(WEIGHT).astype(int)
    expected = method(LogisticRegression(), random_state=0).fit(X, y, sample_weight=whole.astype(float))
    shuffled = pd.Series(whole, index=np.random.default_rng(0).permutation(len(y)))
    for given in (whole, whole.tolist(), whole.astype(np.float32), shuffled):
        clf = method(LogisticRegression(), random_state=0).fit(X, y, sample_weight=given)
        assert bands(clf) == bands(expected)


# ---- base models that cannot take weights by themselves ----


NAMED = r"sample_weight cannot reach the base model: {}\.fit .* sklearn\.set_config\(enable_metadata_routing=True\)"


@every_method
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
    ],
    ids=["Pipeline", "KNeighborsClassifier", "GridSearchCV"],
)
def test_a_base_model_that_cannot_take_weights_is_named_with_the_remedy(method, estimator):
    with pytest.raises(ValueError, match=NAMED.format(type(estimator).__name__)):
        method(estimator, random_state=0).fit(X, y, sample_weight=WEIGHT)


@every_method
@pytest.mark.few_scores
def test_without_weights_these_base_models_work(method):
    for estimator in (make_pipeline(StandardScaler(), LogisticRegression()), KNeighborsClassifier()):
        assert method(estimator, random_state=0).fit(X, y).select(X).any()


@every_method
def test_a_frozen_model_takes_weights_for_the_ranking_alone(method):
    model = frozen()
    coefficients = model.estimator.coef_.copy()
    weighted, unweighted = (method(model, random_state=0).fit(X, y, sample_weight=w) for w in (WEIGHT, None))
    assert np.array_equal(model.estimator.coef_, coefficients)
    assert np.array_equal(weighted.held_out_.scores, unweighted.held_out_.scores)
    assert bands(weighted) != bands(unweighted)


@every_method
def test_calibrated_models_take_weights(method):
    clf = method(CalibratedClassifierCV(LogisticRegression(), cv=2), random_state=0)
    assert np.array_equal(clf.fit(X, y, sample_weight=WEIGHT).held_out_.sample_weight, WEIGHT[clf.held_out_.rows])


# ---- metadata routing ----


def weighted_pipeline():
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    return make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True))


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@every_method
def test_weights_reach_a_step_of_a_pipeline_that_requests_them(method, routing):
    clf = method(weighted_pipeline(), random_state=0).fit(X, y, sample_weight=WEIGHT)
    train = np.arange(len(y)) if method in CROSS_FITTED else np.setdiff1d(np.arange(len(y)), clf.held_out_.rows)
    scaled = StandardScaler().fit_transform(X[train])
    expected = LogisticRegression().fit(scaled, y[train], sample_weight=WEIGHT[train])
    assert clf.estimator_[-1].coef_ == pytest.approx(expected.coef_, abs=1e-2)
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])
    unweighted = method(weighted_pipeline(), random_state=0).fit(X, y)
    assert clf.estimator_[-1].coef_ != pytest.approx(unweighted.estimator_[-1].coef_, abs=1e-2)


@every_method
def test_a_base_model_that_requests_no_weights_is_trained_without_them(method, routing):
    base = LogisticRegression().set_fit_request(sample_weight=False)
    clf = method(base, random_state=0).fit(X, y, sample_weight=WEIGHT)
    unweighted = method(LogisticRegression(), random_state=0).fit(X, y)
    assert np.array_equal(clf.estimator_.coef_, unweighted.estimator_.coef_)
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])


@every_method
def test_with_routing_a_base_model_that_says_nothing_about_weights_is_refused(method, routing):
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        method(LogisticRegression(), random_state=0).fit(X, y, sample_weight=WEIGHT)


@every_method
def test_routed_weights_pass_through_a_pipeline_around(method, routing):
    base = LogisticRegression().set_fit_request(sample_weight=True)
    clf = method(base, random_state=0).set_fit_request(sample_weight=True, groups=True)
    around = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
    groups = np.arange(len(y)) // 4
    around.fit(X, y, sample_weight=WEIGHT, groups=groups)
    direct = method(base, random_state=0).fit(StandardScaler().fit_transform(X), y, sample_weight=WEIGHT, groups=groups)
    assert bands(around[-1]) == bands(direct)
    assert np.array_equal(around[-1].held_out_.rows, direct.held_out_.rows)


@every_method
def test_routed_weights_pass_through_searches_around_and_inside(method, routing):
    base = LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    around = GridSearchCV(
        method(base, random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
        {"estimator__C": [0.1, 1.0]},
        cv=2,
    ).fit(X, y, sample_weight=WEIGHT)
    assert around.best_estimator_.held_out_.sample_weight is not None
    inside = method(GridSearchCV(base, {"C": [0.1, 1.0]}, cv=2), random_state=0).fit(X, y, sample_weight=WEIGHT)
    assert inside.estimator_.best_params_["C"] in (0.1, 1.0)


@every_method
def test_groups_alone_need_no_request(method, routing):
    groups = np.arange(len(y)) // 4
    routed = method(LogisticRegression(), random_state=0, cv=GroupKFold(3)).fit(X, y, groups=groups)
    _, test = next(GroupKFold(3).split(X, y, groups))
    assert np.array_equal(routed.held_out_.rows[: len(test)], test)


def test_cross_val_predict_routes_weights_to_every_fit(routing):
    base = LogisticRegression().set_fit_request(sample_weight=True)
    clf = PlugIn(base, random_state=0).set_fit_request(sample_weight=True)
    predicted = cross_val_predict(clf, X, y, cv=StratifiedKFold(2), params={"sample_weight": WEIGHT})
    for train, test in StratifiedKFold(2).split(X, y):
        alone = PlugIn(base, random_state=0).fit(X[train], y[train], sample_weight=WEIGHT[train])
        assert np.array_equal(predicted[test], alone.predict(X[test]))
