"""Evaluations and promises from rankings equal those from the rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, SCross, evaluate_selections, evaluate_selective, promise_selective
from aucross.core import RankedScores, RejectionBand, ScoreRounding
from aucross.evaluation import evaluate_ranking, promise_ranking, promise_selection
from tests import strategies
from tests.strategies import property_test

BANDS = {1.0: RejectionBand(), 0.9: RejectionBand(0.4, 0.6), 0.7: RejectionBand(0.2, 0.7)}


def make_rows(n=2000, seed=0, digits=6):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    score = np.round(1 / (1 + np.exp(0.5 - rng.normal(size=n) - 1.2 * y)), digits)
    return y, score, rng.lognormal(size=n)


def from_rows(y, score, weight=None, bands=BANDS, **options):
    masks = {coverage: band.selects(score) for coverage, band in bands.items()}
    return evaluate_selections(y, score, score > 0.5, masks, sample_weight=weight, **options)


def assert_same(found, expected):
    """Equal estimates, standard deviations and intervals."""
    for name, values in expected.estimates.items():
        np.testing.assert_allclose(found.estimates[name], values, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found.deviations[name], expected.deviations[name], atol=1e-9, err_msg=name)
        for ours, theirs in zip(found.intervals[name], expected.intervals[name], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-7, err_msg=name)
    for name in ("n_positive", "n_negative"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("digits", [6, 1], ids=["distinct", "tied"])
@pytest.mark.parametrize("with_weights", [False, True], ids=["counts", "weights"])
def test_a_ranking_gives_what_the_rows_give(with_weights, digits):
    y, score, weight = make_rows(600, digits=digits)
    weight = weight if with_weights else None
    found = evaluate_ranking(RankedScores.from_labels(y, score, weight), BANDS)
    assert_same(found, from_rows(y, score, weight))


@given(strategies.rows(min_size=2), st.booleans())
@property_test
def test_any_rows_and_bands(rows, with_weights):
    weight = rows.weights if with_weights else None
    if weight is not None and not (weight > 0).any():
        return
    band = RejectionBand(*np.quantile(rows.scores, [0.3, 0.6]))
    found = evaluate_ranking(RankedScores.from_labels(rows.labels, rows.scores, weight), {0.5: band})
    assert_same(found, from_rows(rows.labels, rows.scores, weight, {0.5: band}))


@pytest.mark.parametrize("with_weights", [False, True], ids=["counts", "weights"])
def test_rankings_of_partitions_add_up(with_weights):
    y, score, weight = make_rows(900)
    weight = weight if with_weights else None
    parts = [slice(start, None, 3) for start in range(3)]
    merged = RankedScores.merge(
        RankedScores.from_labels(y[part], score[part], None if weight is None else weight[part]) for part in parts
    )
    assert_same(evaluate_ranking(merged, BANDS), evaluate_ranking(RankedScores.from_labels(y, score, weight), BANDS))


@pytest.mark.parametrize("with_weights", [False, True], ids=["counts", "weights"])
def test_standard_deviations_are_those_of_resamples(with_weights):
    y, score, weight = make_rows(1500)
    weight = weight if with_weights else np.ones(1500)
    found = evaluate_ranking(RankedScores.from_labels(y, score, weight), {0.7: BANDS[0.7]})
    rng, kept, replicates = np.random.default_rng(1), BANDS[0.7].selects(score), []
    for _ in range(600):
        drawn = weight * rng.multinomial(1500, np.full(1500, 1 / 1500))
        resample = RankedScores.from_labels(y, score, drawn)
        auc = resample.auc(BANDS[0.7])
        selected = drawn * kept
        accuracy = (selected @ (y == (score > 0.5))) / selected.sum()
        replicates.append(
            (selected.sum() / drawn.sum(), auc, auc - resample.auc(), accuracy, selected @ y / selected.sum())
        )
    names = ("achieved_coverage", "selective_auc", "auc_gain", "selective_accuracy", "positive_rate")
    for name, deviation in zip(names, np.std(replicates, axis=0), strict=True):
        assert found.deviations[name][0] == pytest.approx(deviation, rel=0.1), name


@pytest.fixture(scope="module")
def fitted():
    X, y = make_classification(3000, flip_y=0.3, random_state=0)
    return (
        X[1500:],
        y[1500:],
        {
            kind.__name__: kind(LogisticRegression(), coverage=0.8, random_state=0).fit(X[:1500], y[:1500])
            for kind in (AUCross, SCross)
        },
    )


@pytest.mark.parametrize("kind", ["AUCross", "SCross"])
def test_a_classifier_is_evaluated_and_promised_from_the_ranking_of_its_scores(fitted, kind):
    X, y, classifiers = fitted
    clf = classifiers[kind]
    ranked = RankedScores.from_labels(y, clf.scored(X).score)
    assert_same(evaluate_ranking(ranked, clf), evaluate_selective(clf, X, y))
    assert_same_promise(promise_ranking(ranked, clf), promise_selective(clf, X, y))
    expected = promise_selective(clf, X, y, 0.9, promised_coverage=0.85, confidence=0.9)
    assert_same_promise(promise_ranking(ranked, clf, 0.9, promised_coverage=0.85, confidence=0.9), expected)


def assert_same_promise(found, expected):
    for field in fields(expected):
        assert getattr(found, field.name) == pytest.approx(getattr(expected, field.name), abs=1e-9, nan_ok=True), field


def test_weighted_promises_equal_those_of_the_rows():
    y, score, weight = make_rows(500)
    band = RejectionBand(0.4, 0.6)
    expected = promise_selection(y, score, band.selects(score), sample_weight=weight)
    assert_same_promise(promise_ranking(RankedScores.from_labels(y, score, weight), band), expected)
    # Equal weights are none.
    plain = promise_selection(y, score, band.selects(score))
    assert_same_promise(promise_ranking(RankedScores.from_labels(y, score, np.full(500, 7.3)), band), plain)


@pytest.mark.parametrize("with_weights", [False, True], ids=["counts", "weights"])
def test_any_selection_is_judged_by_the_ranking_of_its_rows(with_weights):
    y, score, weight = make_rows(600, digits=2)
    weight = weight if with_weights else None
    mask = np.random.default_rng(1).random(600) < 0.7
    own = RankedScores.from_labels(y[mask], score[mask], None if weight is None else weight[mask])
    found = evaluate_ranking(RankedScores.from_labels(y, score, weight), {0.7: own})
    expected = evaluate_selections(y, score, score > 0.5, {0.7: mask}, sample_weight=weight)
    assert_same(found, expected)
    assert_same_promise(
        promise_ranking(RankedScores.from_labels(y, score, weight), own),
        promise_selection(y, score, mask, sample_weight=weight),
    )


def test_bands_of_rounded_scores_select_the_rounded_rows():
    y, score, _ = make_rows()
    rounding = ScoreRounding(20)
    rounded = rounding.round(score)
    band = RejectionBand(*rounding.round([0.4, 0.6]))
    ranked = RankedScores.from_labels(y, rounded)
    assert_same(
        evaluate_ranking(ranked, {0.8: rounding.widen(band)}),
        from_rows(y, rounded, None, {0.8: band}),
    )


def test_what_cannot_be_told_from_a_ranking_is_refused(fitted):
    y, score, weight = make_rows(300)
    ranked = RankedScores.from_labels(y, score)
    sums = RankedScores.from_labels(y, score, weight, as_counts=True)
    with pytest.raises(ValueError, match="pass sample_weight to"):
        evaluate_ranking(sums, BANDS)
    with pytest.raises(ValueError, match="fractional weights"):
        promise_ranking(sums, RejectionBand())
    with pytest.raises(ValueError, match="fractional weights"):
        promise_ranking(sums + RankedScores.from_labels(y, score, weight), RejectionBand())
    with pytest.raises(ValueError, match="must rank some of the rows"):
        evaluate_ranking(ranked, {0.8: RankedScores.from_labels(y, score + 1)})
    with pytest.raises(ValueError, match="must rank some of the rows"):
        evaluate_ranking(ranked, {0.8: ranked + ranked})
    with pytest.raises(ValueError, match="at least one row"):
        evaluate_ranking(RankedScores.merge([]), BANDS)
    with pytest.raises(ValueError, match="at least one row"):
        promise_ranking(RankedScores.merge([]), RejectionBand())
    with pytest.raises(TypeError, match="RankedScores"):
        evaluate_ranking(score, BANDS)
    with pytest.raises(TypeError, match="bands must be"):
        evaluate_ranking(ranked, 0.8)
    with pytest.raises(ValueError, match="coverage must be given"):
        promise_ranking(ranked, fitted[2]["AUCross"].band_rule_)
    one = evaluate_ranking(ranked, BANDS)
    with pytest.raises(ValueError, match="made from rows"):
        one.minus(one)


def test_rules_that_read_more_than_the_score_are_refused():
    X, y = make_classification(600, flip_y=0.3, random_state=0)
    groups = np.where(np.arange(600) % 2, "a", "b")
    clf = AUCross(LogisticRegression(), random_state=0).fit(X, y, band_groups=groups)
    ranked = RankedScores.from_labels(y, clf.predict_proba(X)[:, 1])
    with pytest.raises(ValueError, match="rank the selected rows where they are"):
        evaluate_ranking(ranked, clf)
    split = AUCross(LogisticRegression(), ties="split", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match='ties="split"'):
        promise_ranking(ranked, split)
