"""Fold models that are kept: one of them judges a row, and together they may answer it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, KFold, RepeatedStratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, CoverageMonitor, SCross, evaluate_selective, load, save
from aucross.estimators import FoldEnsemble
from aucross.estimators.row_hash import hash_rows
from aucross.export import rule_to_sql

X, y = make_classification(900, n_features=5, flip_y=0.2, weights=[0.7], random_state=0)
X_new = np.random.default_rng(1).normal(size=(400, 5)) + X.mean(axis=0)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)


def make(method, estimator=None, **params):
    if method is AUCGate:
        params = {"gate": LogisticRegression(C=0.1), **params}
    return method(TREE if estimator is None else estimator, random_state=0, **params)


every_method = pytest.mark.parametrize("method", [AUCross, SCross, AUCGate])
judged = pytest.mark.parametrize(
    "params",
    [{"ensemble": True}, {"ensemble": "judge"}, {"coverage_confidence": 0.9}],
    ids=["ensemble", "judge", "promise"],
)


class Counting(ClassifierMixin, BaseEstimator):
    """Scores by the first feature, and counts trainings and the rows that it scores."""

    trainings = 0
    scored: list[int] = []  # noqa: RUF012  of all copies on purpose

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        Counting.trainings += 1
        return self

    def predict_proba(self, X):
        Counting.scored.append(len(X))
        positive = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack((1 - positive, positive))

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


# ---- who answers ----


@every_method
def test_the_mean_of_the_fold_models_answers(method):
    clf = make(method, ensemble=True, cv=4).fit(X, y)
    models = clf.estimator_.estimators_
    assert isinstance(clf.estimator_, FoldEnsemble)
    assert len(models) == 4
    mean = np.mean([model.predict_proba(X_new) for model in models], axis=0)
    assert clf.predict_proba(X_new) == pytest.approx(mean, abs=1e-12)
    assert np.array_equal(clf.predict(X_new), clf.classes_[(clf.predict_proba(X_new)[:, 1] > 0.5).astype(int)])
    rows = clf.scored(X_new)
    assert np.array_equal(rows.score, clf.predict_proba(X_new)[:, 1])
    assert np.array_equal(rows.predicted, clf.predict(X_new))
    assert clf.n_features_in_ == 5


@every_method
@pytest.mark.few_scores
def test_fold_models_may_judge_what_a_refitted_model_answers(method):
    clf, together = (make(method, ensemble=ensemble).fit(X, y) for ensemble in ("judge", True))
    assert np.array_equal(clf.predict_proba(X_new), TREE.fit(X, y).predict_proba(X_new))
    for coverage in (0.9, 0.7, 0.5):
        assert np.array_equal(clf.select(X_new, coverage), together.select(X_new, coverage))


@every_method
@pytest.mark.few_scores
def test_with_a_promise_the_refitted_model_answers_and_fold_models_judge(method):
    clf = make(method, coverage_confidence=0.9, coverage=0.5).fit(X, y)
    alone = TREE.fit(X, y)
    assert np.array_equal(clf.predict_proba(X_new), alone.predict_proba(X_new))
    assert np.array_equal(clf.scored(X_new).score, alone.predict_proba(X_new)[:, 1])
    together = make(method, coverage_confidence=0.9, coverage=0.5, ensemble=True).fit(X, y)
    for coverage in (0.9, 0.7, 0.5):
        assert np.array_equal(clf.select(X_new, coverage), together.select(X_new, coverage))


def test_models_with_a_threshold_of_their_own_vote():
    clf = AUCross(FixedThresholdClassifier(LogisticRegression(), threshold=0.3), ensemble=True, random_state=0)
    clf.fit(X, y)
    votes = np.mean([model.predict(X_new) for model in clf.estimator_.estimators_], axis=0)
    assert np.array_equal(clf.predict(X_new), (votes > 0.5).astype(int))
    assert np.array_equal(clf.scored(X_new).predicted, clf.predict(X_new))


def test_trainings_are_those_of_the_folds_and_of_the_model_that_answers():
    for params, n_trainings in (({"ensemble": True}, 5), ({"ensemble": "judge"}, 6), ({"coverage_confidence": 0.9}, 6)):
        Counting.trainings = 0
        AUCross(Counting(), random_state=0, **params).fit(X, y)
        assert Counting.trainings == n_trainings


def test_each_row_passes_each_model_at_most_once():
    clf = AUCross(Counting(), ensemble=True, random_state=0).fit(X, y)
    Counting.scored.clear()
    clf.scored(X_new)
    assert Counting.scored == [400] * 5
    clf = AUCross(Counting(), coverage_confidence=0.9, coverage=0.5, random_state=0).fit(X, y)
    Counting.scored.clear()
    clf.scored(X_new)
    assert Counting.scored[0] == 400
    assert sum(Counting.scored[1:]) == 400
    assert len(Counting.scored) == 6


# ---- who judges ----


@judged
def test_each_row_is_judged_by_the_model_that_its_hash_draws(params):
    clf = AUCross(TREE, coverage=0.5, random_state=0, **params).fit(X, y)
    (judges,) = clf.judges_
    number = judges.judges_of(X_new)
    assert np.array_equal(number, (hash_rows(X_new) / 2.0**64 * 5).astype(int))
    assert set(number) == set(range(5))
    by_fold = np.array([model.predict_proba(X_new)[:, 1] for model in judges.estimators_])
    assert np.array_equal(clf.scored(X_new).rule_input.score, by_fold[number, np.arange(400)])


def test_a_row_has_one_judge_in_any_table_and_batch():
    frame = pd.DataFrame(X_new, columns=list("abcde"))
    clf = AUCross(TREE, ensemble=True, random_state=0).fit(pd.DataFrame(X, columns=list("abcde")), y)
    together = clf.select(frame, 0.7)
    assert together[:100].tolist() == [clf.select(frame.iloc[[row]], 0.7).item() for row in range(100)]
    order = np.random.default_rng(0).permutation(400)
    assert np.array_equal(clf.select(frame.iloc[order], 0.7), together[order])


def test_models_judge_as_often_as_they_scored():
    cv = [(np.arange(300, 900), np.arange(300)), (np.arange(750), np.arange(750, 900))]
    clf = AUCross(TREE, ensemble=True, cv=cv, random_state=0).fit(X, y)
    assert clf.estimator_.shares_ == pytest.approx([2 / 3, 1 / 3])
    assert np.mean(clf.estimator_.judges_of(X_new) == 0) == pytest.approx(2 / 3, abs=0.08)
    weight = np.where(np.arange(900) < 300, 1.0, 4.0)
    clf.fit(X, y, sample_weight=weight)
    assert clf.estimator_.shares_ == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.2] * 6, [np.nan] * 5, [0.5] * 5])
def test_shares_that_do_not_belong_to_the_models_are_refused(shares):
    clf = AUCross(TREE, ensemble="judge", random_state=0).fit(X, y)
    clf.judges_[0].shares_ = np.array(shares)
    with pytest.raises(ValueError, match="shares_ must hold a share for each of the 5 models"):
        clf.select(X_new)


def test_repeated_splits_keep_all_models():
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    clf = AUCross(TREE, ensemble=True, cv=cv, random_state=0).fit(X, y)
    assert len(clf.estimator_.estimators_) == 6
    assert clf.held_out_.n_effective == pytest.approx(900)


@every_method
def test_new_rows_have_the_coverage_whatever_the_model_does_with_more_rows(method):
    """Trees grown to the end have another law in every fold; the refit of the default misses by far more."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12_000, 4))
    labels = (rng.random(12_000) < 1 / (1 + np.exp(-rows[:, 0] - rows[:, 1]))).astype(int)
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    clf = make(method, model, ensemble=True, **({"gate": LogisticRegression()} if method is AUCGate else {}))
    clf.fit(rows[:2000], labels[:2000])
    for coverage in (0.9, 0.8, 0.7):
        # Three standard errors of a band placed on 2,000 rows.
        assert clf.select(rows[2000:], coverage).mean() == pytest.approx(coverage, abs=0.03)


# ---- everything after the fit ----


@judged
@every_method
@pytest.mark.few_scores
def test_saved_and_recalibrated_copies_judge_alike(method, params, tmp_path):
    clf = make(method, coverage=0.5, **params).fit(X, y)
    save(clf, tmp_path / "clf.aucross")
    loaded = load(tmp_path / "clf.aucross")
    rows = clf.scored(X_new)
    for coverage in (0.9, 0.5):
        assert np.array_equal(loaded.select(X_new, coverage), clf.select(rows, coverage))
        assert np.array_equal(loaded.select(rows, coverage), clf.select(rows, coverage))
    assert np.array_equal(loaded.predict_proba(X_new), clf.predict_proba(X_new))
    anew = clf.recalibrate(X_new)
    assert anew.band_rule_.judged_apart
    if "ensemble" in params:
        assert anew.select(X_new, 0.5).mean() == pytest.approx(0.5, abs=0.15)


def test_a_later_fit_without_judges_forgets_them():
    clf = AUCross(TREE, ensemble=True, random_state=0).fit(X, y)
    clf.set_params(ensemble=False).fit(X, y)
    assert not hasattr(clf, "judges_")
    assert not clf.band_rule_.judged_apart


@judged
def test_bands_on_a_judges_score_are_not_handed_to_systems_that_lack_it(params):
    clf = AUCross(TREE, coverage=0.5, random_state=0, **params).fit(X, y)
    with pytest.raises(ValueError, match="takes the models to compute"):
        rule_to_sql(clf, "score")


def test_the_monitor_watches_the_judges_score_and_sees_no_drift_where_there_is_none():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(9_000, 5))
    labels = (rng.random(9_000) < 1 / (1 + np.exp(-rows[:, 0]))).astype(int)
    clf = AUCross(HistGradientBoostingClassifier(max_iter=20), ensemble=True, random_state=0)
    clf.fit(rows[:3000], labels[:3000])
    monitor = CoverageMonitor(clf)
    monitor.update(rows[3000:])
    assert not monitor.alarm
    assert list(monitor.reference.bins) == ["selection_score"]


@pytest.mark.few_scores
def test_groups_weights_classes_and_queues_work():
    groups = np.where(X[:, 0] > 0, "b", "a")
    new_groups = np.where(X_new[:, 0] > 0, "b", "a")
    clf = AUCross(TREE, ensemble=True, random_state=0).fit(X, y, band_groups=groups, sample_weight=np.ones(900))
    assert all(rule.judged_apart for rule in clf.band_rule_.rules.values())
    assert clf.select(X_new, 0.5, new_groups).shape == (400,)
    assert len(clf.review_queue(X_new, 20, band_groups=new_groups)) == 20
    rows, labels = make_classification(900, n_informative=4, n_classes=3, flip_y=0.1, random_state=0)
    many = AUCross(LogisticRegression(), ensemble=True, random_state=0).fit(rows[:600], labels[:600])
    assert many.select(rows[600:], 0.7).mean() == pytest.approx(0.7, abs=0.1)
    assert many.predict_proba(rows).shape == (900, 3)
    promised = AUCross(LogisticRegression(), coverage_confidence=0.9, coverage=0.7, random_state=0)
    assert promised.fit(rows[:600], labels[:600]).select(rows[600:]).mean() > 0.65
    evaluation = evaluate_selective(clf, X_new, (X_new[:, 0] > 0).astype(int), band_groups=new_groups, n_bootstrap=20)
    assert len(evaluation.to_frame()) > 0


@pytest.mark.few_scores
def test_a_frozen_model_needs_no_judges():
    frozen = FrozenEstimator(TREE.fit(X, y))
    for params in ({"ensemble": True}, {"coverage_confidence": 0.9}):
        clf = AUCross(frozen, cv=KFold(3), coverage=0.5, **params).fit(X_new, (X_new[:, 0] > 0).astype(int))
        assert clf.estimator_ is frozen or clf.estimator_.estimator is frozen.estimator
        assert not hasattr(clf, "judges_")


@every_method
@pytest.mark.parametrize("bad", ["yes", None, 1, np.True_])
def test_what_is_neither_yes_nor_no_nor_judge_is_refused(method, bad):
    with pytest.raises(ValueError, match=f'ensemble must be True, False or "judge", got {bad!r}'):
        make(method, ensemble=bad).fit(X, y)


@every_method
def test_there_is_nothing_to_correct(method):
    for ensemble in (True, "judge"):
        assert make(method, ensemble=ensemble).fit(X, y).band_rule_.coverage_map is None
