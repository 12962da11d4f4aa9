"""Which class is positive, labels of nullable types, weights that count in the coverage alone, capacity in weight."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import get_scorer
from xgboost import XGBClassifier

from aucross import (
    AUCGate,
    AUCross,
    CoverageMonitor,
    PlugIn,
    PlugInAUC,
    ScoreColumn,
    SCross,
    evaluate_selective,
    load,
    save,
)
from aucross.core import ExpectedCost, RankedScores
from aucross.estimators import classifier_from_ranking
from aucross.export import rule_to_json
from aucross.files import model_fingerprint

X, positive = make_classification(600, n_features=5, weights=[0.7], flip_y=0.3, random_state=0)
# "bad" is sorted before "good"; the same rows under names of which the positive one is sorted second.
REVERSED = np.where(positive == 1, "bad", "good")
SORTED = np.where(positive == 1, "late", "good")
NEW = X[:200] + 0.01
FRESH = X + np.random.default_rng(1).normal(scale=0.01, size=X.shape)  # rows that took no part in a fit
SPLIT = [(np.arange(0, 600, 2), np.arange(1, 600, 2))]  # a drawn one would depend on the order of the labels

TREES = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=5, random_state=0)
CASES = {
    "AUCross": AUCross(LogisticRegression(), coverage=0.7, random_state=0),
    "decision values": AUCross(RidgeClassifier(), random_state=0),
    "centered": AUCross(LogisticRegression(), placement="centered", random_state=0),
    "ensemble": AUCross(TREES, ensemble=True, coverage=0.7, cv=2, random_state=0),
    "judges": AUCross(TREES, ensemble="judge", coverage=0.7, cv=2, random_state=0),
    "costs": AUCross(LogisticRegression(), target=ExpectedCost(review=0.2, false_negative=5), random_state=0),
    "PlugInAUC": PlugInAUC(LogisticRegression(), coverage=0.7, cv=SPLIT),
    "SCross": SCross(LogisticRegression(), coverage=0.7, random_state=0),
    "PlugIn": PlugIn(LogisticRegression(), coverage=0.7, cv=SPLIT),
    "AUCGate": AUCGate(LogisticRegression(), TREES, coverage=0.7, cv=2, random_state=0),
    "XGBoost": PlugInAUC(XGBClassifier(n_estimators=3), coverage=0.7, cv=SPLIT),
    "out of bag": AUCross(RandomForestClassifier(40, min_samples_leaf=5, random_state=0), cv="oob", random_state=0),
    "column": AUCross(ScoreColumn(5), coverage=0.7, random_state=0),
}


def rows(X):
    """Features with a probability of the positive class beside them."""
    return np.column_stack((X, 1 / (1 + np.exp(-X[:, 0]))))


def named(clf, **params):
    """The case for labels of which the positive one is sorted first."""
    params = {**params, "pos_label": "bad"}
    if isinstance(clf.estimator, ScoreColumn):
        params["estimator__pos_label"] = "bad"
    return clone(clf).set_params(**params)


@pytest.mark.few_scores
@pytest.mark.parametrize("case", CASES)
@pytest.mark.few_scores
def test_the_positive_class_that_is_sorted_first_is_decided_on_as_if_it_were_second(case, tmp_path):
    second = clone(CASES[case]).fit(rows(X), SORTED)
    first = named(CASES[case]).fit(rows(X), REVERSED)
    assert first.classes_.tolist() == ["bad", "good"]
    assert first.fitted_.classes.tolist() == ["good", "bad"]
    scored, same = first.scored(rows(NEW)), second.scored(rows(NEW))
    assert np.allclose(scored.score, same.score, atol=1e-4)
    assert np.array_equal(scored.predicted == "bad", same.predicted == "late")
    assert np.array_equal(first.predict(rows(NEW)) == "bad", second.predict(rows(NEW)) == "late")
    for coverage in (0.5, 0.9):
        assert (first.select(scored, coverage=coverage) == second.select(same, coverage=coverage)).mean() > 0.98
    of_first = evaluate_selective(first, rows(FRESH), REVERSED, [1.0, 0.7], n_bootstrap=0).estimates
    of_second = evaluate_selective(second, rows(FRESH), SORTED, [1.0, 0.7], n_bootstrap=0).estimates
    assert np.allclose(of_first["selective_auc"], of_second["selective_auc"], atol=0.01)
    save(first, tmp_path / "clf.aucross")
    loaded = load(tmp_path / "clf.aucross")
    assert np.array_equal(loaded.select(rows(NEW)), first.select(rows(NEW)))
    assert loaded.fitted_.classes.tolist() == ["good", "bad"]


def test_columns_of_probabilities_stay_sorted_so_that_scorers_of_scikit_learn_hold():
    clf = named(CASES["AUCross"]).fit(rows(X), REVERSED)
    assert np.array_equal(clf.predict_proba(rows(NEW))[:, 0], clf.scored(rows(NEW)).score)
    assert get_scorer("roc_auc")(clf, rows(X), REVERSED) > 0.6


def test_texts_and_monitors_speak_of_the_positive_class():
    clf = named(CASES["PlugInAUC"]).fit(rows(X), REVERSED)
    assert json.loads(rule_to_json(clf, [0.8]))["positive_class"] == "bad"
    assert "bad" in clf.review_queue(rows(NEW), 3).reason[0]
    monitor = CoverageMonitor(clf, auc=0.6)
    watched = monitor.update_labels(rows(FRESH), REVERSED)
    other = CoverageMonitor(clone(CASES["PlugInAUC"]).fit(rows(X), SORTED), auc=0.6)
    assert watched.auc == pytest.approx(other.update_labels(rows(FRESH), SORTED).auc, abs=0.01)


def test_the_positive_class_is_part_of_the_models_name():
    two = [
        AUCross(FrozenEstimator(LogisticRegression().fit(X, REVERSED)), pos_label=label) for label in ("bad", "good")
    ]
    first, second = (clf.fit(X, REVERSED) for clf in two)
    assert model_fingerprint(first) != model_fingerprint(second)
    assert np.allclose(first.scored(NEW).score, 1 - second.scored(NEW).score)


def test_a_fit_without_a_positive_class_forgets_that_of_the_fit_before():
    clf = named(CASES["AUCross"]).fit(rows(X), REVERSED).set_params(pos_label=None).fit(rows(X), REVERSED)
    assert clf.fitted_.classes.tolist() == ["bad", "good"]


@pytest.mark.parametrize(
    ("pos_label", "y", "message"),
    [
        (
            "late",
            REVERSED,
            r"pos_label must be one of the classes \['bad', 'good'\], got 'late'; pass the one that high scores",
        ),
        ("Bad", REVERSED, r"one of the classes \['bad', 'good'\], got 'Bad'; pass pos_label='bad'"),
        ("gooD", REVERSED, r"one of the classes \['bad', 'good'\], got 'gooD'; pass pos_label='good'"),
        ("1", np.arange(600) % 2, r"one of the classes \[0, 1\], got '1'; pass pos_label=1"),
        (1, np.arange(600) % 3, r"pos_label must be None unless there are two classes, got 1 for 3 classes"),
    ],
)
def test_a_positive_class_that_cannot_be_is_refused(pos_label, y, message):
    with pytest.raises(ValueError, match=message):
        AUCross(LogisticRegression(), pos_label=pos_label).fit(X, y)


def test_a_column_that_speaks_for_another_class_is_refused():
    with pytest.raises(ValueError, match=r"speaks for .*good.* positive class is 'bad'; pass pos_label='bad' to both"):
        AUCross(ScoreColumn(5), pos_label="bad").fit(rows(X), REVERSED)
    with pytest.raises(ValueError, match=r"pos_label must be one of the classes .* got 'BAD'; pass pos_label='bad'"):
        ScoreColumn(5, pos_label="BAD").fit(rows(X), REVERSED)


def test_counts_of_scores_know_no_other_positive_class():
    ranked = RankedScores.from_labels([True, False], [0.7, 0.2])
    for clf in (AUCross(ScoreColumn("pd"), pos_label=0), AUCross(ScoreColumn("pd", pos_label=0))):
        with pytest.raises(ValueError, match="pos_label must be None where scores are counted"):
            classifier_from_ranking(clf, ranked)


# ---- labels as they come ----


def test_the_higher_one_of_ordered_categories_is_positive():
    order = pd.Series(pd.Categorical(REVERSED, categories=["good", "bad"], ordered=True))
    plain = pd.Series(pd.Categorical(REVERSED, categories=["good", "bad"]))
    assert AUCross(LogisticRegression(), random_state=0).fit(X, order).fitted_.classes.tolist() == ["good", "bad"]
    assert AUCross(LogisticRegression(), random_state=0).fit(X, plain).fitted_.classes.tolist() == ["bad", "good"]
    named_good = AUCross(LogisticRegression(), pos_label="good", random_state=0).fit(X, order)
    assert named_good.fitted_.classes.tolist() == ["bad", "good"]


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "boolean", "Float64", "int64[pyarrow]"])
def test_nullable_labels_keep_their_type(dtype):
    y = pd.Series(positive == 1 if dtype == "boolean" else positive).astype(dtype)
    clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    wanted = np.dtype(y.dtype.numpy_dtype)
    assert clf.classes_.dtype == wanted
    assert clf.predict(X).dtype == wanted
    table = evaluate_selective(clf, FRESH, y, [0.8], n_bootstrap=0)
    assert table.estimates["achieved_coverage"][0] == clf.select(FRESH, coverage=0.8).mean()


def test_missing_nullable_labels_are_refused():
    y = pd.Series(positive).astype("Int64")
    y[7] = pd.NA
    with pytest.raises(ValueError, match="y must not contain missing values, got 1 of 600, the first in row 7"):
        AUCross(LogisticRegression()).fit(X, y)


# ---- weights ----

amount = np.exp(np.random.default_rng(0).normal(size=600))


@pytest.mark.parametrize("case", ["AUCross", "PlugInAUC", "SCross", "AUCGate"])
def test_coverage_is_a_share_of_weight_and_the_models_are_trained_without(case):
    plain = clone(CASES[case]).fit(X, positive)
    clf = clone(CASES[case]).fit(X, positive, coverage_weight=amount)
    assert np.array_equal(clf.predict_proba(NEW), plain.predict_proba(NEW))
    held_out = clf.fitted_.scored_held_out()
    selected = clf.select(held_out)
    assert np.array_equal(held_out.sample_weight, amount[clf.held_out_.rows])
    # Corrections for the number of folds move the coverage a little; a row may weigh a little, too.
    assert np.average(selected, weights=held_out.sample_weight) == pytest.approx(0.7, abs=0.06)


def test_weights_of_the_training_and_of_the_coverage_can_be_given_apart():
    weight = np.where(positive == 1, 3.0, 1.0)
    clf = clone(CASES["PlugInAUC"]).fit(X, positive, sample_weight=weight, coverage_weight=amount)
    trained = clone(CASES["PlugInAUC"]).fit(X, positive, sample_weight=weight)
    counted = clone(CASES["PlugInAUC"]).fit(X, positive, coverage_weight=amount)
    assert np.array_equal(clf.predict_proba(NEW), trained.predict_proba(NEW))
    assert not np.array_equal(clf.predict_proba(NEW), counted.predict_proba(NEW))
    assert np.array_equal(clf.held_out_.sample_weight, counted.held_out_.sample_weight)


@pytest.mark.few_scores
def test_weights_of_the_coverage_reach_models_that_take_none_and_exclude_a_promise():
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415

    PlugInAUC(KNeighborsClassifier(), random_state=0).fit(X, positive, coverage_weight=amount)
    with pytest.raises(ValueError, match="must be None with sample_weight or coverage_weight"):
        PlugInAUC(LogisticRegression(), coverage_confidence=0.9).fit(X, positive, coverage_weight=amount)
    with pytest.raises(ValueError, match="coverage_weight must hold one weight per row"):
        PlugInAUC(LogisticRegression()).fit(X, positive, coverage_weight=amount[:5])


@pytest.mark.parametrize("case", ["AUCross", "SCross", "AUCGate", "costs"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 1.0])
def test_a_capacity_in_weight_takes_as_many_rows_as_fit_into_it(case, share):
    clf = clone(CASES[case]).fit(X, positive)
    scored = clf.scored(NEW, sample_weight=amount[:200])
    limit = share * amount[:200].sum() * (1 + 1e-12)
    taken = ~clf.select(scored, capacity_weight=limit)
    assert amount[:200][taken].sum() <= limit
    assert np.array_equal(taken, ~clf.select(scored, capacity=int(taken.sum())))
    if taken.sum() < 200:
        one_more = ~clf.select(scored, capacity=int(taken.sum()) + 1)
        assert amount[:200][one_more].sum() > limit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity_weight": 3.0, "capacity": 3}, "capacity and capacity_weight must not both be given"),
        ({"capacity_weight": 3.0, "coverage": 0.8}, "coverage and capacity must not both be given"),
        ({"capacity_weight": -1.0}, "capacity_weight must be a weight of at least 0, got -1.0"),
        ({"capacity_weight": float("nan")}, "capacity_weight must be a weight of at least 0, got nan"),
        ({"capacity_weight": "3"}, "capacity_weight must be a weight of at least 0, got '3'"),
    ],
)
def test_a_capacity_in_weight_that_cannot_be_is_refused(options, message):
    clf = clone(CASES["PlugInAUC"]).fit(X, positive)
    with pytest.raises(ValueError, match=message):
        clf.select(clf.scored(NEW, sample_weight=amount[:200]), **options)


def test_a_capacity_in_weight_needs_rows_with_weights():
    clf = clone(CASES["PlugInAUC"]).fit(X, positive)
    with pytest.raises(ValueError, match=r"must be None for rows without weights; pass clf.scored\(X, sample_weight"):
        clf.select(NEW, capacity_weight=3.0)
