"""The peers at work, and what `docs/evidence/peers.md` says of each library, checked on the library itself."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from aucross import AUCross, PlugInAUC
from experiments.peers import MODULES, PEERS, installed_peers
from experiments.peers.fallback import FallbackRate, ThresholdPerClass, threshold_pairs
from experiments.peers.probabilities import GivenProbabilities, frozen_probabilities
from experiments.peers.risk_control import (
    GuaranteedCoverage,
    GuaranteedPrecisions,
    PredictionSets,
    accuracy_of_answered,
    answer_or_abstain,
    pairs_at_coverage,
)
from experiments.peers.tuned_threshold import TunedDecisionThreshold

COVERAGES = (0.95, 0.75)
BY_SCORE = [peer for peer in PEERS if "anomalies" not in peer.name]


def needs(library):
    """Import a peer's module, or skip the test and say what to install."""
    with warnings.catch_warnings():  # scikit-fallback resets the filters of the process
        return pytest.importorskip(
            MODULES[library], reason=f'{library} is not installed: pip install "aucross[experiments]"'
        )


@pytest.fixture(scope="module")
def rows():
    """One positive in seven; a model, held and test rows, and scores of the test rows."""
    X, y = make_classification(9000, n_informative=4, weights=[0.85], flip_y=0.1, random_state=0)
    model = LogisticRegression().fit(X[:2000], y[:2000])
    return {"model": model, "held": (X[2000:5000], y[2000:5000]), "test": (X[5000:], y[5000:])}


def select(peer, rows, coverage):
    needs(peer.library)
    return peer.select(rows["model"], *rows["held"], rows["test"][0], coverage)


def auc_of(selected, rows):
    X, y = rows["test"]
    return roc_auc_score(y[selected], rows["model"].predict_proba(X)[selected, 1])


# The peers


def test_names_are_unique_and_libraries_known():
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert {peer.library for peer in PEERS} <= set(MODULES)
    assert set(installed_peers()) <= set(PEERS)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_mask_is_boolean_and_the_same_again(peer, rows):
    selected = select(peer, rows, 0.8)
    assert selected.dtype == bool
    assert selected.shape == (len(rows["test"][1]),)
    np.testing.assert_array_equal(selected, select(peer, rows, 0.8))


@pytest.mark.parametrize("coverage", COVERAGES)
@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.heeds_coverage], ids=lambda peer: peer.name)
def test_coverage_is_nearly_reached(peer, rows, coverage):
    assert select(peer, rows, coverage).mean() == pytest.approx(coverage, abs=0.035)


@pytest.mark.parametrize("peer", [peer for peer in PEERS if not peer.heeds_coverage], ids=lambda peer: peer.name)
def test_without_a_coverage_to_heed_the_rows_are_the_same(peer, rows):
    np.testing.assert_array_equal(select(peer, rows, 0.9), select(peer, rows, 0.5))


@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.heeds_coverage], ids=lambda peer: peer.name)
def test_full_coverage_rejects_next_to_nothing(peer, rows):
    assert select(peer, rows, 1.0).mean() > 0.99


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_coverage_in_per_cent_is_refused(peer, rows):
    with pytest.raises(ValueError, match=r"for 90 % pass 0\.9"):
        select(peer, rows, 90)


@pytest.mark.parametrize("peer", BY_SCORE, ids=lambda peer: peer.name)
def test_names_of_classes_do_not_matter(peer, rows):
    names = np.array(["repaid", "unpaid"])
    X_held, y_held = rows["held"]
    needs(peer.library)
    named = FrozenEstimator(rows["model"])
    named_model = LogisticRegression().fit(X_held, names[y_held])
    named_model.coef_, named_model.intercept_ = rows["model"].coef_, rows["model"].intercept_
    expected = peer.select(named, X_held, y_held, rows["test"][0], 0.8)
    np.testing.assert_array_equal(peer.select(named_model, X_held, names[y_held], rows["test"][0], 0.8), expected)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_frame_with_categories_and_gaps_is_taken(peer):
    needs(peer.library)
    X, y = make_classification(1500, n_informative=4, random_state=0)
    frame = pd.DataFrame(X, columns=[f"number {i}" for i in range(X.shape[1])]).astype({"number 0": "float32"})
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "a", "b"))
    frame.loc[::7, "kind"] = None
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(frame[:500], y[:500])
    selected = peer.select(model, frame[500:1000], y[500:1000], frame[1000:], 0.8)
    assert selected.shape == (500,)
    if peer.heeds_coverage:
        assert selected.mean() == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("peer", BY_SCORE, ids=lambda peer: peer.name)
def test_heavily_tied_scores_are_taken(peer, rows):
    needs(peer.library)
    X, y = rows["held"]
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X[:1000], y[:1000])
    selected = peer.select(forest, X[1000:], y[1000:], rows["test"][0], 0.8)
    scores = forest.predict_proba(rows["test"][0])[:, 1]
    decisions = {(score, chosen) for score, chosen in zip(scores, selected, strict=True)}
    assert len(decisions) == len(np.unique(scores)) < len(scores) / 2  # rows of one score share their fate


def test_probabilities_as_features_change_nothing_for_the_fallback_rate(rows):
    skfb = needs("scikit-fallback")
    frozen = FrozenEstimator(rows["model"])
    direct = skfb.estimators.RateFallbackClassifierCV(frozen, fallback_rate=1 - 0.8, cv=5).fit(*rows["held"])
    expected = direct.predict(rows["test"][0]).get_dense_neg_fallback_mask()
    np.testing.assert_array_equal(select(FallbackRate(), rows, 0.8), expected)


def test_given_probabilities_are_returned():
    proba = np.array([[0.3, 0.7], [0.6, 0.4]])
    np.testing.assert_array_equal(frozen_probabilities().predict_proba(proba), proba)
    np.testing.assert_array_equal(GivenProbabilities().fit(proba, ["no", "yes"]).predict(proba), ["yes", "no"])


def test_pairs_of_class_thresholds_reject_around_or_beside_one_half(rows):
    held = rows["model"].predict_proba(rows["held"][0])
    for zero, one in threshold_pairs(held, 0.8, 9):
        rejected = held.max(axis=1) < np.where(held[:, 1] > 0.5, one, zero)
        assert rejected.sum() == round(0.2 * len(held))


def test_pairs_of_ends_reject_the_share(rows):
    held = rows["model"].predict_proba(rows["held"][0])[:, 1]
    for pair in pairs_at_coverage(held, 0.8, 9):
        assert np.isnan(answer_or_abstain(held, *pair)).mean() == pytest.approx(0.2)


# scikit-fallback, as docs/evidence/peers.md describes it


def test_fallback_can_ask_for_a_rate_and_reads_it_at_fit(rows):
    skfb = needs("scikit-fallback")
    rejector = skfb.estimators.RateFallbackClassifierCV(FrozenEstimator(rows["model"]), fallback_rate=0.2, cv=5)
    at_fit = rejector.fit(*rows["held"]).predict(rows["test"][0]).fallback_rate
    assert at_fit == pytest.approx(0.2, abs=0.03)
    assert rejector.set_params(fallback_rate=0.5).predict(rows["test"][0]).fallback_rate == at_fit


def test_fallback_threshold_can_be_changed_without_a_new_fit(rows):
    skfb = needs("scikit-fallback")
    rejector = skfb.estimators.ThresholdFallbackClassifier(rows["model"], threshold=0.6)
    few = rejector.predict(rows["test"][0]).fallback_rate
    assert rejector.set_params(threshold=0.9).predict(rows["test"][0]).fallback_rate > few


def test_fallback_tuning_sees_labels_and_not_scores(rows):
    skfb = needs("scikit-fallback")
    seen = []

    def scoring(y_true, y_pred):
        seen.append(set(np.unique(np.asarray(y_pred))))
        return 0.0

    tuned = skfb.estimators.ThresholdFallbackClassifierCV
    tuned(FrozenEstimator(rows["model"]), cv=2, thresholds=2, scoring=scoring).fit(*rows["held"])
    assert all(values <= {0, 1} for values in seen)
    with pytest.raises(TypeError, match="y_true"):
        tuned(FrozenEstimator(rows["model"]), cv=2, thresholds=2, scoring="roc_auc").fit(*rows["held"])


def test_fallback_tuning_rejects_nothing_by_default(rows):
    skfb = needs("scikit-fallback")
    tuned = skfb.estimators.ThresholdFallbackClassifierCV(FrozenEstimator(rows["model"]), cv=5).fit(*rows["held"])
    assert tuned.predict(rows["test"][0]).fallback_rate == 0


def test_fallback_can_measure_the_auc_of_answered_rows(rows):
    skfb = needs("scikit-fallback")
    proba = skfb.estimators.ThresholdFallbackClassifier(rows["model"], threshold=0.8).predict_proba(rows["test"][0])
    quality = skfb.metrics.prediction_quality(rows["test"][1], proba[:, 1], roc_auc_score)
    assert quality == pytest.approx(auc_of(proba.get_dense_neg_fallback_mask(), rows))


def test_fallback_curve_depends_on_the_order_of_rows_and_refuses_ties(rows):
    skfb = needs("scikit-fallback")
    X, y = rows["held"]
    y, proba = y[:300], rows["model"].predict_proba(X[:300])
    area = skfb.metrics.fallback_quality_auc_score
    assert area(y, proba) != pytest.approx(area(y[::-1], proba[::-1]), abs=1e-3)
    with pytest.raises(ValueError, match="Mask size"):
        area(np.tile(y, 2), np.tile(proba, (2, 1)))


def test_fallback_bands_hold_one_half_or_end_there(rows):
    skfb = needs("scikit-fallback")
    score = rows["model"].predict_proba(rows["test"][0])[:, 1]
    rng = np.random.default_rng(0)
    for thresholds in rng.uniform(0.5, 1, (20, 2)):
        rejector = skfb.estimators.MultiThresholdFallbackClassifier(rows["model"], thresholds=thresholds)
        rejected = score[rejector.predict(rows["test"][0]).get_dense_fallback_mask()]
        between = (score > min(rejected.min(), 0.5)) & (score < max(rejected.max(), 0.5))
        assert np.isin(score[between], rejected).all()


def test_fallback_rule_can_be_written_for_any_band(rows):
    skfb = needs("scikit-fallback")

    class Band(skfb.estimators.FallbackRuleClassifier):
        def _predict(self, X):
            score = rows["model"].predict_proba(X)[:, 1]
            return np.where((score >= 0.1) & (score <= 0.2), -1, score > 0.5)

    answers = Band().fit(*rows["held"]).predict(rows["test"][0])
    score = rows["model"].predict_proba(rows["test"][0])[:, 1]
    np.testing.assert_array_equal(answers == -1, (score >= 0.1) & (score <= 0.2))


def test_fallback_search_of_class_thresholds_ranks_folds_and_not_pairs(rows):
    needs("scikit-fallback")
    from skfb import estimators  # noqa: PLC0415
    from skfb.experimental import enable_multi_threshold_fallback_classifier_cv  # noqa: F401, PLC0415

    search = estimators.MultiThresholdFallbackClassifierCV(
        FrozenEstimator(rows["model"]), cv=2, n_iter=20, random_state=0
    )
    search.fit(*rows["held"])
    assert search.cv_scores_.shape == (2, 20)
    assert search.best_score_ == search.cv_scores_.mean(axis=1).max()
    assert search.best_score_ < search.cv_scores_.mean(axis=0).max()


def test_fallback_probabilities_with_class_thresholds_raise(rows):
    skfb = needs("scikit-fallback")
    rejector = skfb.estimators.MultiThresholdFallbackClassifier(rows["model"], thresholds=(0.9, 0.7))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        rejector.predict_proba(rows["test"][0])


def test_fallback_weights_do_not_move_the_threshold(rows):
    skfb = needs("scikit-fallback")
    X, y = rows["held"]
    weight = np.where(rows["model"].predict_proba(X).max(axis=1) < 0.8, 100.0, 1.0)
    rejector = skfb.estimators.RateFallbackClassifierCV(FrozenEstimator(rows["model"]), fallback_rate=0.2, cv=5)
    assert rejector.fit(X, y, sample_weight=weight).threshold_ == rejector.fit(X, y).threshold_


def test_fallback_takes_several_classes():
    skfb = needs("scikit-fallback")
    X, y = make_classification(900, n_classes=3, n_informative=5, random_state=0)
    rejector = skfb.estimators.RateFallbackClassifierCV(LogisticRegression(), fallback_rate=0.2, cv=3).fit(X, y)
    assert rejector.predict(X).fallback_rate == pytest.approx(0.2, abs=0.03)


def test_fallback_frames_pass_a_threshold_and_become_arrays_when_it_is_learned():
    skfb = needs("scikit-fallback")
    X, y = make_classification(300, random_state=0)
    frame = pd.DataFrame(X).add_prefix("column ")
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "a", "b"))
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(frame, y)
    assert skfb.estimators.ThresholdFallbackClassifier(model, threshold=0.7).predict(frame).fallback_rate > 0
    with pytest.raises(ValueError, match="columns using strings"):
        skfb.estimators.RateFallbackClassifierCV(model, cv=2).fit(frame, y)
    with pytest.raises(KeyError):
        skfb.estimators.ThresholdFallbackClassifierCV(model, cv=2).fit(frame, y)


def test_fallback_is_cloned_searched_and_pickled_but_its_predictions_are_not(rows):
    skfb = needs("scikit-fallback")
    X, y = rows["held"]
    rejector = skfb.estimators.ThresholdFallbackClassifier(LogisticRegression(), threshold=0.7)
    search = GridSearchCV(clone(rejector), {"threshold": [0.6, 0.8]}, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    predictions = again.predict(X)
    assert predictions.fallback_rate == search.best_estimator_.predict(X).fallback_rate
    with pytest.raises(AttributeError, match="_fallback_mask"):
        _ = pickle.loads(pickle.dumps(predictions)).fallback_rate


# MAPIE


def controller(scores, labels, pairs, **settings):
    mapie = needs("MAPIE")
    import mapie.risk_control  # noqa: PLC0415, F811 - a submodule

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return mapie.risk_control.BinaryClassificationController(
            answer_or_abstain, list_predict_params=np.asarray(pairs), **settings
        ).calibrate(scores, labels)


@pytest.fixture
def held(rows):
    X, y = rows["held"]
    return rows["model"].predict_proba(X)[:, 1], y


def test_mapie_never_abstains_with_one_threshold(rows):
    needs("MAPIE")
    from mapie.risk_control import BinaryClassificationController  # noqa: PLC0415

    one = BinaryClassificationController(rows["model"].predict_proba, "recall", 0.5).calibrate(*rows["held"])
    assert set(np.unique(one.predict(rows["test"][0]))) == {0, 1}


def test_mapie_can_guarantee_a_coverage(rows):
    selected = select(GuaranteedCoverage(), rows, 0.8)
    assert 0.8 < selected.mean() < 0.9


def test_mapie_counts_abstaining_as_an_error_of_its_accuracy(held):
    pairs = [(0.5, 0.5), (0.2, 0.8)]
    settings = {"risk": "abstention_rate", "target_level": 0.9}
    own = controller(*held, pairs, best_predict_param_choice="accuracy", **settings)
    answered = controller(*held, pairs, best_predict_param_choice=accuracy_of_answered(), **settings)
    assert own.best_predict_param == (0.5, 0.5)
    assert answered.best_predict_param == (0.2, 0.8)


def test_mapie_takes_any_band_and_certifies_one_placed_elsewhere(rows, held):
    X, y = rows["held"]
    placed = PlugInAUC(FrozenEstimator(rows["model"]), random_state=0).fit(X[:1000], y[:1000]).band(0.8)
    assert placed.upper < 0.5
    fresh = (held[0][1000:], held[1][1000:], [(placed.lower, placed.upper)])
    settings = {"risk": "abstention_rate", "best_predict_param_choice": "abstention_rate"}
    assert controller(*fresh, target_level=0.3, **settings).best_predict_param == (placed.lower, placed.upper)
    assert controller(*fresh, target_level=0.1, **settings).best_predict_param is None


def test_mapie_risks_are_shares_of_rows(held):
    needs("MAPIE")
    from mapie.risk_control import BinaryRisk  # noqa: PLC0415

    risk = BinaryRisk(lambda y_true, y_pred: y_true * 0.5, lambda y_true, y_pred: y_true == 1, higher_is_better=True)
    with pytest.raises(ValueError, match="binary indicators"):
        controller(*held, [(0.2, 0.4)], risk=risk, target_level=0.3, best_predict_param_choice="accuracy")


def test_mapie_keeps_its_guarantee_on_new_rows():
    peer = GuaranteedPrecisions()
    needs(peer.library)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 1))
    y = (2 * X[:, 0] + rng.logistic(size=9000) > 0).astype(int)
    model = LogisticRegression().fit(X[:1000], y[:1000])
    selected = peer.select(model, X[1000:5000], y[1000:5000], X[5000:], 0.8)
    positive, score = y[5000:] == 1, model.predict_proba(X)[:, 1]
    levels = peer.target_levels(score[1000:5000], y[1000:5000])
    assert 0.5 < selected.mean() < 1
    assert positive[selected & (score[5000:] > 0.5)].mean() > levels[0]
    assert 1 - positive[selected & (score[5000:] <= 0.5)].mean() > levels[1]


def test_mapie_that_can_guarantee_nothing_answers_nothing(rows):
    assert not select(GuaranteedPrecisions(errors_left=0.01), rows, 0.8).any()


def test_mapie_stops_at_a_pair_that_never_gives_the_answer(held):
    fine, never = (0.1, 0.3), (0.1, 1.1)
    settings = {"risk": "precision", "target_level": 0.3}
    assert controller(*held, [fine], **settings).best_predict_param == fine
    assert controller(*held, [fine, never], **settings).best_predict_param is None
    assert controller(*held, [fine, never], fwer_method="bonferroni", **settings).best_predict_param == fine


def test_mapie_prediction_sets_threshold_the_probability_of_the_predicted_class(rows):
    selected = select(PredictionSets(), rows, 0.8)
    confidence = rows["model"].predict_proba(rows["test"][0]).max(axis=1)
    assert confidence[~selected].max() < confidence[selected].min()


def test_mapie_takes_several_classes():
    needs("MAPIE")
    from mapie.risk_control import MultiClassificationLTTController, abstention_rate  # noqa: PLC0415

    X, y = make_classification(900, n_classes=3, n_informative=5, random_state=0)
    model = LogisticRegression().fit(X, y)
    thresholds = np.array([0.5, 0.99])
    several = MultiClassificationLTTController(
        model.predict_proba, [abstention_rate], [0.5], list_predict_params=thresholds, classes=model.classes_
    ).calibrate(X, y)
    assert 0 < np.isnan(several.predict(X)).mean() < 0.5


def test_mapie_has_no_weights_and_takes_labels_0_and_1_only(held):
    with pytest.raises(TypeError, match="sample_weight"):
        controller(*held, [(0.1, 0.3)], risk="precision", target_level=0.1).calibrate(
            *held, sample_weight=np.ones(len(held[1]))
        )
    with pytest.raises(ValueError, match="invalid literal"):
        controller(held[0], np.array(["no", "yes"])[held[1]], [(0.1, 0.3)], risk="precision", target_level=0.1)


def test_mapie_controllers_are_no_estimators_and_are_not_pickled(held):
    calibrated = controller(*held, [(0.1, 0.3)], risk="precision", target_level=0.1)
    with pytest.raises(TypeError, match="Cannot clone"):
        clone(calibrated)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(calibrated)


def test_mapie_hands_frames_on_as_they_are():
    needs("MAPIE")
    from mapie.risk_control import BinaryClassificationController  # noqa: PLC0415

    frame = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 200)})
    seen = []

    def score(X):
        seen.append(X)
        return np.tile([0.4, 0.6], (len(X), 1))

    BinaryClassificationController(score, "recall", 0.5).calibrate(frame, np.tile([0, 1], 200)).predict(frame)
    assert all(X is frame for X in seen)


def test_mapie_can_watch_a_risk_in_a_stream():
    needs("MAPIE")
    from mapie.exchangeability_testing import RiskMonitoring  # noqa: PLC0415

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    monitor = RiskMonitoring(risk="accuracy", reference_data=(labels, labels), warn=False)
    assert not monitor.update(labels[:200], labels[:200]).harmful_shift_detected
    assert monitor.update(labels[:500], 1 - labels[:500]).harmful_shift_detected


# scikit-learn


def test_tuned_threshold_answers_all_rows_and_keeps_the_auc(rows):
    X, y = rows["test"]
    assert select(TunedDecisionThreshold(), rows, 0.8).all()
    tuned = TunedDecisionThreshold().tune(rows["model"], *rows["held"])
    assert tuned.best_threshold_ != 0.5
    assert roc_auc_score(y, tuned.predict_proba(X)[:, 1]) == auc_of(np.ones(len(y), dtype=bool), rows)


def test_tuned_threshold_follows_weights_with_metadata_routing(rows):
    X, y = rows["held"]
    with config_context(enable_metadata_routing=True):
        scoring = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        tuned = TunedThresholdClassifierCV(LogisticRegression().set_fit_request(sample_weight=False), scoring=scoring)
        plain = clone(tuned).fit(X, y, sample_weight=np.ones(len(y))).best_threshold_
        assert clone(tuned).fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0)).best_threshold_ < plain


def test_tuned_threshold_is_for_two_classes():
    X, y = make_classification(300, n_classes=3, n_informative=5, random_state=0)
    with pytest.raises(ValueError, match="Only binary"):
        TunedThresholdClassifierCV(LogisticRegression()).fit(X, y)


# aucross, the same questions


@pytest.fixture(scope="module")
def ours(rows):
    return PlugInAUC(FrozenEstimator(rows["model"]), cv=[([0], np.arange(3000))], random_state=0).fit(*rows["held"])


def test_aucross_answers_any_coverage_from_one_fit(ours, rows):
    for coverage in COVERAGES:
        assert ours.select(rows["test"][0], coverage=coverage).mean() == pytest.approx(coverage, abs=0.03)


def test_aucross_bands_lie_anywhere(ours):
    assert ours.band(0.8).upper < 0.5


@pytest.mark.parametrize("peer", [FallbackRate(), ThresholdPerClass()], ids=lambda peer: peer.name)
def test_aucross_has_the_higher_auc_where_the_best_band_is_far_from_one_half(ours, rows, peer):
    selected = ours.select(rows["test"][0], coverage=0.75)
    assert auc_of(selected, rows) > auc_of(select(peer, rows, 0.75), rows)


def test_aucross_weights_move_the_band(rows):
    X, y = rows["held"]
    weight = np.where(rows["model"].predict_proba(X)[:, 1] < 0.1, 5.0, 1.0)
    frozen = FrozenEstimator(rows["model"])
    rule = PlugInAUC(frozen, random_state=0)
    assert clone(rule).fit(X, y, sample_weight=weight).band(0.8) != clone(rule).fit(X, y).band(0.8)


def test_aucross_takes_several_classes():
    X, y = make_classification(900, n_classes=3, n_informative=5, random_state=0)
    several = AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y)
    assert several.select(X, coverage=0.8).mean() == pytest.approx(0.8, abs=0.05)


def test_aucross_hands_frames_on_and_is_cloned_searched_and_pickled():
    X, y = make_classification(400, random_state=0)
    frame = pd.DataFrame(X).add_prefix("column ")
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "a", "b"))
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    clf = AUCross(make_pipeline(encoder, LogisticRegression(max_iter=1000)), cv=3, random_state=0)
    search = GridSearchCV(clone(clf), {"coverage": [0.8, 0.9]}, cv=2).fit(frame, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.select(frame), search.best_estimator_.select(frame))


def test_aucross_follows_drift_without_labels(ours, rows):
    X = rows["test"][0]
    drifted = X + 0.5 * rows["model"].coef_ / np.linalg.norm(rows["model"].coef_)
    assert abs(ours.select(drifted, coverage=0.8).mean() - 0.8) > 0.02
    assert ours.recalibrate(drifted).select(drifted, coverage=0.8).mean() == pytest.approx(0.8, abs=0.01)


# The page


def test_every_test_that_the_page_names_is_here():
    page = Path(__file__).parents[2] / "docs" / "evidence" / "peers.md"
    named = set(re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8")))
    assert named
    assert named <= set(globals())


def test_every_peer_is_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "evidence" / "peers.md").read_text(encoding="utf-8")
    assert all(peer.name in page for peer in PEERS)
