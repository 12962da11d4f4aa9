"""Bands placed on counts of held-out scores equal those placed on the rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from aucross import AUCross, HashedFolds, PlugInAUC, SCross, load, save
from aucross.core import ScoreRounding
from aucross.estimators import HeldOutScores, PlugIn, ScoreCounts
from aucross.estimators.fitting import blends_halves, counts_of, fit_on_counts
from aucross.estimators.score_counts import count_rows, merge_counted

ROWS, LABELS = make_classification(6500, n_features=6, n_informative=4, flip_y=0.2, weights=[0.8], random_state=0)
X, y = ROWS[:3000], LABELS[:3000]
# New rows of the same kind, with more positives.
NEW = ROWS[3000:][(LABELS[3000:] == 1) | (np.arange(3500) % 10 > 1)][:2500]
NEW = np.vstack((NEW, NEW[:500]))
WEIGHT = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)  # borrowing counts rows of weight 0 in memory
GROUPS = np.where(X[:, 0] > 1.2, "rare", np.where(X[:, 1] > 0, "north", "south"))


class Float32Logistic(LogisticRegression):
    """Scores as XGBoost gives them, so that counting float32 scores loses nothing."""

    def predict_proba(self, X):
        return super().predict_proba(X).astype(np.float32).astype(np.float64)


METHODS = {
    "AUCross": AUCross(Float32Logistic(), cv=HashedFolds(3)),
    "centered": AUCross(Float32Logistic(), cv=HashedFolds(3), placement="centered"),
    "nested": AUCross(Float32Logistic(), cv=HashedFolds(3), nested=True),
    "cost": AUCross(Float32Logistic(), cv=HashedFolds(3), target="ks"),
    "SCross": SCross(Float32Logistic(), cv=HashedFolds(3)),
    "PlugInAUC": PlugInAUC(Float32Logistic(), cv=HashedFolds(5)),
    "PlugIn": PlugIn(Float32Logistic(), cv=HashedFolds(5)),
    "decision values": AUCross(RidgeClassifier(), cv=HashedFolds(3)),
}
every_method = pytest.mark.parametrize("name", METHODS)


def counted(clf, n_parts=4, bits=32, seed=0):
    """What engines do: count the held-out scores of parts, in any order, and merge."""
    held_out: HeldOutScores = clf.held_out_
    half = clf.cv.half_of(X)[held_out.rows] if blends_halves(clf) else None
    parts = np.array_split(np.random.default_rng(seed).permutation(len(held_out.rows)), n_parts)
    counts = [
        counts_of(
            clf,
            held_out.take(part),
            ScoreRounding(bits),
            response_method=clf.fitted_.response_method,
            half=None if half is None else half[part],
        )
        for part in parts
    ]
    return ScoreCounts.merge(counts)


def on_counts(clf, **options):
    again = type(clf)(**clf.get_params(deep=False))
    return fit_on_counts(again, clf.estimator_, counted(clf, **options), classes=clf.classes_)


@every_method
@pytest.mark.parametrize("extras", ["plain", "weights", "groups", "both"])
def test_decisions_equal_those_of_the_fit_on_rows(name, extras):
    clf = METHODS[name]
    weight = WEIGHT if extras in ("weights", "both") else None
    groups = GROUPS if extras in ("groups", "both") else None
    clf.fit(X, y, sample_weight=weight, band_groups=groups)
    again = on_counts(clf)
    for coverage in (0.95, 0.8, 0.5):
        if name == "decision values":  # float64 scores: equal but for rows that share a float32
            same = again.select(NEW, coverage, groups) == clf.select(NEW, coverage, groups)
            assert same.mean() > 0.999
            continue
        np.testing.assert_array_equal(again.select(NEW, coverage, groups), clf.select(NEW, coverage, groups))
    assert again.fitted_.n_placing_rows == pytest.approx(clf.fitted_.n_placing_rows)
    group = None if groups is None else "north"
    assert again.expected_coverage(0.8, group).value == pytest.approx(clf.expected_coverage(0.8, group).value)
    if name != "decision values":
        found, of_rows = again.held_out_auc(0.8), clf.held_out_auc(0.8)
        assert (found.value, found.low, found.high) == pytest.approx((of_rows.value, of_rows.low, of_rows.high))


@pytest.mark.parametrize("name", ["AUCross", "SCross"])
@pytest.mark.parametrize("n_parts", [1, 4, 64])
def test_the_cut_into_parts_and_their_order_do_not_matter(name, n_parts):
    clf = METHODS[name].fit(X, y)
    first, second = on_counts(clf, n_parts=1), on_counts(clf, n_parts=n_parts, seed=5)
    assert first.band(0.8) == second.band(0.8)
    assert first.held_out_.fingerprint == second.held_out_.fingerprint


def test_short_scores_keep_coverage_and_auc():
    clf = METHODS["AUCross"].fit(X, y)
    again = on_counts(clf, bits=20)
    assert len(again.held_out_.rows) < len(clf.held_out_.rows)
    for coverage in (0.9, 0.7):
        exact, short = clf.select(NEW, coverage), again.select(NEW, coverage)
        assert short.mean() == pytest.approx(exact.mean(), abs=3e-3)
        assert again.held_out_auc(coverage).value == pytest.approx(clf.held_out_auc(coverage).value, abs=1e-3)


@pytest.mark.parametrize("name", ["AUCross", "SCross"])
@pytest.mark.parametrize("extras", ["plain", "weights", "groups"])
@pytest.mark.parametrize("label_shift", [False, True])
def test_recalibration_on_counted_rows_equals_that_on_rows(name, extras, label_shift):
    weight = WEIGHT if extras == "weights" else None
    groups = GROUPS if extras == "groups" else None
    clf = on_counts(METHODS[name].fit(X, y, sample_weight=weight, band_groups=groups))
    scored = clf.scored(NEW, sample_weight=weight, band_groups=groups)
    rounding = ScoreRounding()
    parts = [count_rows(scored.take(part), clf.fitted_.reader, rounding) for part in np.array_split(np.arange(3000), 7)]
    by_counts = clf.recalibrate(merge_counted(parts), label_shift=label_shift)
    by_rows = clf.recalibrate(scored, label_shift=label_shift)
    for group in (None,) if groups is None else ("north", "south", "rare"):
        assert by_counts.band(0.8, group) == by_rows.band(0.8, group)
    if label_shift and name == "AUCross" and extras == "plain":
        assert by_counts.fitted_.label_shift.low == pytest.approx(by_rows.fitted_.label_shift.low)
        assert by_counts.fitted_.label_shift.chance == pytest.approx(by_rows.fitted_.label_shift.chance)
    assert by_counts.fitted_.n_placing_rows == pytest.approx(by_rows.fitted_.n_placing_rows)


def test_a_promise_with_confidence_is_that_of_as_many_rows():
    clf = PlugIn(Float32Logistic(), cv=HashedFolds(3), coverage_confidence=0.95).fit(X, y)
    again = on_counts(clf)
    assert again.band_rule_.coverage_map.n_rows == clf.band_rule_.coverage_map.n_rows == clf.held_out_.n_rows
    np.testing.assert_array_equal(again.select(NEW, 0.8), clf.select(NEW, 0.8))


def test_a_classifier_fitted_on_counts_is_stored(tmp_path):
    clf = on_counts(AUCross(LogisticRegression(), cv=HashedFolds(3)).fit(X, y))
    save(clf, tmp_path / "model.aucross")
    again = load(tmp_path / "model.aucross")
    assert again.held_out_.counts is not None
    assert again.held_out_.n_rows == 3000
    np.testing.assert_array_equal(again.select(NEW, 0.8), clf.select(NEW, 0.8))


def test_what_counts_cannot_do_is_refused():
    clf = METHODS["AUCross"].fit(X, y)
    counts = counted(clf)
    for options, sentence in (
        ({"ties": "split"}, 'ties must be "whole"'),
        ({"ensemble": "judge"}, "ensemble must be False"),
        ({"coverage_confidence": 0.9}, "coverage_confidence None"),
    ):
        with pytest.raises(ValueError, match=sentence):
            fit_on_counts(AUCross(clf.estimator, **options), clf.estimator_, counts, classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be two labels"):
        fit_on_counts(AUCross(clf.estimator), clf.estimator_, counts, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="rounded in one way"):
        ScoreCounts.merge([counts, counted(clf, bits=20)])
    extreme = HeldOutScores(np.arange(2), np.arange(2), np.array([0.1, 0.2]), np.array([1e40, 1.0]))
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        counts_of(clf, extreme, ScoreRounding(), response_method="predict_proba")


def test_parts_without_rows_or_without_weight_add_nothing():
    clf = METHODS["AUCross"].fit(X, y)
    whole = counted(clf)
    nothing = counts_of(clf, clf.held_out_.take(slice(0, 0)), ScoreRounding(), response_method="predict_proba")
    (merged, _), (alone, _) = ScoreCounts.merge([nothing, whole, nothing]).held_out(), whole.held_out()
    assert merged.fingerprint == alone.fingerprint
    with pytest.raises(ValueError, match="both classes"):
        fit_on_counts(AUCross(clf.estimator), clf.estimator_, nothing, classes=[0, 1])
