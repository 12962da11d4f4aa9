"""Out-of-bag scores of one forest in place of folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, SCross, load, save

X, y = make_classification(400, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
three_classes = np.digitize(X[:, 0] + y, [-0.5, 1.0])
FOREST = RandomForestClassifier(40, min_samples_leaf=5, random_state=0)
MODELS = {
    "forest": FOREST,
    "extra trees": ExtraTreesClassifier(40, bootstrap=True, min_samples_leaf=5, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(min_samples_leaf=5), 40, max_features=0.7, random_state=0),
}


def mean_of_trees_that_left_out(model, X):
    """Row by row, tree by tree."""
    features = getattr(model, "estimators_features_", None)
    scores = []
    for row in range(len(X)):
        unseen = [tree for tree, rows in enumerate(model.estimators_samples_) if row not in rows]
        columns = [slice(None) if features is None else features[tree] for tree in unseen]
        each = [
            model.estimators_[tree].predict_proba(X[[row]][:, part])[0, 1]
            for tree, part in zip(unseen, columns, strict=True)
        ]
        scores.append(np.mean(each))
    return np.array(scores)


@pytest.mark.parametrize("name", MODELS)
def test_each_row_has_the_mean_score_of_the_trees_that_have_not_seen_it(name):
    clf = AUCross(MODELS[name], cv="oob", random_state=0).fit(X[:120], y[:120])
    again = clone(MODELS[name]).fit(X[:120], y[:120])
    np.testing.assert_allclose(clf.held_out_.scores[:25], mean_of_trees_that_left_out(again, X[:25]), atol=1e-12)
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("method", [AUCross, SCross])
def test_the_model_is_trained_once_and_the_band_has_its_coverage_on_the_held_out_rows(method, monkeypatch):
    trainings = []
    fit = RandomForestClassifier.fit
    monkeypatch.setattr(RandomForestClassifier, "fit", lambda self, *a, **k: trainings.append(1) or fit(self, *a, **k))
    clf = method(FOREST, cv="oob", coverage=0.8, random_state=0).fit(X, y)
    assert len(trainings) == 1
    assert clf.select(clf.fitted_.scored_held_out()).mean() == pytest.approx(0.8, abs=0.01)
    assert 0.6 < clf.select(X).mean() <= 1


def test_the_model_that_answers_is_as_it_was_given_and_can_be_stored(tmp_path):
    clf = AUCross(FOREST, cv="oob", random_state=0).fit(X, y)
    assert clf.estimator_.get_params() == FOREST.get_params()
    assert not hasattr(clf.estimator_, "oob_decision_function_")
    save(clf, tmp_path / "m.aucross")
    np.testing.assert_array_equal(load(tmp_path / "m.aucross").select(X), clf.select(X))


def test_three_classes_weights_and_gates_have_out_of_bag_scores_too():
    assert AUCross(FOREST, cv="oob", random_state=0).fit(X, three_classes).held_out_.responses.shape == (400, 3)
    weight = np.random.default_rng(0).uniform(1, 2, 400)
    assert SCross(FOREST, cv="oob", random_state=0).fit(X, y, sample_weight=weight).held_out_.has_weights
    gate = AUCGate(FOREST, FOREST, cv="oob", random_state=0).fit(X, y)
    assert gate.held_out_.second.shape == (400,)


def test_many_copies_of_a_row_have_the_score_that_new_copies_will_have():
    copies = np.where(np.arange(400)[:, None] % 8 == 0, 0.0, X)
    clf = AUCross(FOREST, cv="oob", random_state=0).fit(copies, y)
    assert len(np.unique(clf.held_out_.scores[::8])) == 1
    assert clf.held_out_.scores[0] == clf.predict_proba(copies[:1])[0, 1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": LogisticRegression()}, "needs a forest or a bagging model with bootstrap=True.*LogisticRegr"),
        (
            {"estimator": ExtraTreesClassifier(50)},
            "bootstrap=True.*got ExtraTreesClassifier as the classifier; pass cv=5",
        ),
        ({"estimator": FrozenEstimator(clone(FOREST).fit(X, y))}, "got FrozenEstimator as the classifier"),
        ({"estimator": RandomForestClassifier(10)}, "n_estimators of at least 29 for 400 rows.*got 10"),
        ({"ensemble": "judge"}, "trains no fold models that could judge new rows"),
        ({"coverage_confidence": 0.95}, "trains no fold models"),
        ({"ties": "split"}, "trains no fold models"),
        ({"cv": "bags"}, "cv must be a number of folds, a splitter, splits or .oob., got 'bags'"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(params, message):
    params = {"estimator": FOREST, "cv": "oob", **params}
    with pytest.raises((ValueError, TypeError), match=message):
        AUCross(**params).fit(X, y)


def test_a_gate_that_leaves_no_rows_out_is_named():
    with pytest.raises(ValueError, match=r"got LogisticRegression as the gate; pass cv=5"):
        AUCGate(FOREST, LogisticRegression(), cv="oob").fit(X, y)


def test_groups_are_refused():
    with pytest.raises(ValueError, match=r"groups must be None.*pass cv=5"):
        AUCross(FOREST, cv="oob").fit(X, y, groups=np.arange(400) // 4)


def test_scores_that_the_whole_forest_would_tell_apart_are_refused():
    rare = (X[:, 0] > np.quantile(X[:, 0], 0.97)).astype(int)
    with pytest.raises(ValueError, match=r"% of the out-of-bag scores are equal.*pass cv=5"):
        AUCross(FOREST, cv="oob").fit(X, rare)
