"""Shares of the classes that have changed, estimated from unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import RankedScores
from aucross.core.label_shift import (
    class_shares,
    estimate_label_shift,
    expected_ranking,
    share_ratio,
    with_share_ratio,
)
from aucross.core.scored_rows import RuleInput
from tests.strategies import property_test


def gaussian_rows(n_rows, shares, seed=0):
    """Rows of classes with different means, and their exact probabilities under any shares."""
    rng = np.random.default_rng(seed)
    label = rng.choice(len(shares), n_rows, p=shares)
    means = 1.5 * np.eye(len(shares))
    features = means[label] + rng.normal(size=(n_rows, len(shares)))

    def probabilities(under):
        likelihood = np.exp(features @ means.T) * np.asarray(under)
        return likelihood / likelihood.sum(axis=1, keepdims=True)

    return label, probabilities


# ---- the estimate ----


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((0.8, 0.2), (0.6, 0.4)),
        ((0.5, 0.5), (0.9, 0.1)),
        ((0.7, 0.3), (0.7, 0.3)),
        ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
        ((0.25, 0.25, 0.25, 0.25), (0.1, 0.2, 0.3, 0.4)),
    ],
    ids=str,
)
def test_a_known_shift_is_found(old, new):
    label, probabilities = gaussian_rows(40_000, new)
    ratio = share_ratio(probabilities(old), np.array(old))
    assert ratio == pytest.approx(np.array(new) / old, abs=0.05)
    corrected = with_share_ratio(probabilities(old), ratio)
    # Where the ratio is exact, so are the probabilities.
    assert with_share_ratio(probabilities(old), np.array(new) / old) == pytest.approx(probabilities(new))
    assert class_shares(corrected) == pytest.approx(np.bincount(label) / len(label), abs=0.02)


def test_without_a_shift_the_ratio_is_about_one():
    _, probabilities = gaussian_rows(40_000, (0.7, 0.3))
    assert share_ratio(probabilities((0.7, 0.3)), np.array([0.7, 0.3])) == pytest.approx(1.0, abs=0.03)


def test_shares_that_are_the_mean_probabilities_are_not_moved():
    _, probabilities = gaussian_rows(2000, (0.5, 0.3, 0.2))
    given_rows = probabilities((0.5, 0.3, 0.2))
    # To the six digits to which rows count as equal.
    assert share_ratio(given_rows, class_shares(given_rows)) == pytest.approx(1.0, abs=1e-4)


def test_new_shares_are_the_mean_of_the_corrected_probabilities():
    _, probabilities = gaussian_rows(3000, (0.4, 0.6))
    given_rows, old = probabilities((0.8, 0.2)), np.array([0.8, 0.2])
    ratio = share_ratio(given_rows, old)
    assert class_shares(with_share_ratio(given_rows, ratio)) == pytest.approx(old * ratio, abs=1e-5)


def test_no_other_shares_are_more_likely():
    _, probabilities = gaussian_rows(2000, (0.4, 0.6))
    given_rows, old = probabilities((0.8, 0.2)), np.array([0.8, 0.2])

    def log_likelihood(share):
        return np.log(given_rows @ (np.array([1 - share, share]) / old)).mean()

    found = float((share_ratio(given_rows, old) * old)[1])
    grid = np.linspace(0.01, 0.99, 197)
    assert log_likelihood(found) >= max(log_likelihood(share) for share in grid) - 1e-7


def test_a_class_that_is_gone_gets_a_share_near_zero():
    _, probabilities = gaussian_rows(20_000, (0.6, 0.4, 0.0))
    old = np.array([0.4, 0.3, 0.3])
    ratio = share_ratio(probabilities(old), old)
    assert np.isfinite(ratio).all()
    assert ratio[2] == pytest.approx(0.1)  # no share falls by more than a factor of ten
    assert ratio[:2] == pytest.approx([1.5, 4 / 3], abs=0.1)


def test_a_class_that_never_was_stays_away():
    probabilities = np.array([[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.5, 0.5, 0.0]])
    ratio = share_ratio(probabilities, np.array([0.5, 0.5, 0.0]))
    assert np.isfinite(ratio).all()
    assert with_share_ratio(probabilities, ratio)[:, 2].tolist() == [0.0, 0.0, 0.0]


def test_rows_that_are_certain_are_counted():
    certain = np.repeat([[1.0, 0.0], [0.0, 1.0]], [30, 10], axis=0)
    assert share_ratio(certain, np.array([0.5, 0.5])) == pytest.approx([1.5, 0.5], abs=1e-6)


def test_weights_count_as_repeated_rows():
    _, probabilities = gaussian_rows(500, (0.4, 0.6))
    given_rows, old = probabilities((0.8, 0.2)), np.array([0.8, 0.2])
    times = np.random.default_rng(0).integers(0, 4, 500)
    by_rows = share_ratio(np.repeat(given_rows, times, axis=0), old)
    for unit in (1.0, 1e6, 1e-6):
        assert share_ratio(given_rows, old, times * unit) == pytest.approx(by_rows, abs=1e-6)
    assert class_shares(given_rows, times.astype(float)) == pytest.approx(
        class_shares(np.repeat(given_rows, times, axis=0))
    )


# ---- probabilities under other shares ----

shares_of_three = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3).map(lambda part: np.array(part) / sum(part))
ratios_of_three = st.lists(st.floats(0.01, 100.0), min_size=3, max_size=3).map(np.array)


@property_test
@given(shares_of_three, ratios_of_three)
def test_odds_are_multiplied_by_the_ratio_of_the_ratios(row, ratio):
    (moved,) = with_share_ratio(row[None, :], ratio)
    assert moved.sum() == pytest.approx(1.0)
    for one, other in ((0, 1), (1, 2), (2, 0)):
        assert moved[one] / moved[other] == pytest.approx(row[one] / row[other] * ratio[one] / ratio[other])


@property_test
@given(shares_of_three, ratios_of_three, ratios_of_three)
def test_two_corrections_are_one_of_the_product(row, first, second):
    twice = with_share_ratio(with_share_ratio(row[None, :], first), second)
    assert twice == pytest.approx(with_share_ratio(row[None, :], first * second), rel=1e-9)


@property_test
@given(shares_of_three, st.floats(0.01, 100.0))
def test_a_common_factor_changes_nothing(row, factor):
    assert with_share_ratio(row[None, :], np.full(3, factor)) == pytest.approx(row[None, :])


def test_a_row_that_only_an_absent_class_explains_keeps_its_probabilities():
    probabilities = np.array([[0.0, 1.0], [0.5, 0.5]])
    before = probabilities.copy()
    assert with_share_ratio(probabilities, np.array([2.0, 0.0])).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert np.array_equal(probabilities, before)


# ---- rankings of unlabelled rows ----


def fitted_ranking(n_rows=4000, share=0.3, seed=1):
    label, _ = gaussian_rows(n_rows, (1 - share, share), seed)
    score = np.random.default_rng(seed).normal(1.5 * label)
    return RankedScores.from_labels(label == 1, score).isotonic()


def unlabelled_scores(n_rows, share, seed=2):
    rng = np.random.default_rng(seed)
    label = rng.random(n_rows) < share
    return label, rng.normal(1.5 * label)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.1])
def test_the_expected_share_of_positives_follows_a_shift_only_if_told_to(share):
    fitted = fitted_ranking()
    label, score = unlabelled_scores(20_000, share)
    still, moved = (expected_ranking(fitted, RuleInput.of_score(score), label_shift=shift) for shift in (False, True))
    assert moved.prevalence == pytest.approx(label.mean(), abs=0.03)
    assert still.total_positives == pytest.approx(fitted.probability_at(score).sum())
    assert (abs(still.prevalence - label.mean()) > 0.05) == (share != 0.3)


def test_every_row_is_ranked_with_its_weight():
    fitted = fitted_ranking()
    _, score = unlabelled_scores(300, 0.3)
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    for shift in (False, True):
        weighted = expected_ranking(fitted, RuleInput.of_score(score, weight), label_shift=shift)
        by_rows = expected_ranking(fitted, RuleInput.of_score(np.repeat(score, weight.astype(int))), label_shift=shift)
        assert np.array_equal(weighted.scores, by_rows.scores)
        assert weighted.positives == pytest.approx(by_rows.positives, abs=1e-6)
        assert weighted.total == pytest.approx(weight.sum())


def test_probabilities_rise_with_the_score_before_and_after_a_shift():
    fitted = fitted_ranking(200)
    _, score = unlabelled_scores(500, 0.7)
    for shift in (False, True):
        ranked = expected_ranking(fitted, RuleInput.of_score(score), label_shift=shift)
        level = ranked.positives / (ranked.positives + ranked.negatives)
        assert (np.diff(level) >= -1e-12).all()
        # Such a ranking can be read as the fitted one was.
        assert ranked.probability_at(ranked.scores)[[0, -1]] == pytest.approx(level[[0, -1]], abs=0.05)


# ---- the estimate, shown ----


def two_normals(n_rows, share, rng, noise=1.0):
    positive = rng.random(n_rows) < share
    return positive, rng.normal(1.5 * positive, noise)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_the_estimate_holds_the_share_in_its_interval_and_is_plausible(share):
    rng = np.random.default_rng(0)
    fitted = RankedScores.from_labels(*two_normals(5000, 0.2, rng))
    found = [estimate_label_shift(fitted, two_normals(2000, share, rng)[1]) for _ in range(20)]
    assert all(shift.is_plausible for shift in found)
    # All twenty read the curve of one fit, whose error they share.
    assert np.mean([shift.low - 0.02 <= share <= shift.high + 0.02 for shift in found]) >= 0.9
    assert "if nothing else has changed" in str(found[0])


def test_a_drift_of_the_scores_is_told_and_the_estimate_stays_within_bounds():
    rng = np.random.default_rng(0)
    fitted = RankedScores.from_labels(*two_normals(5000, 0.06, rng))
    lower = estimate_label_shift(fitted, two_normals(5000, 0.06, rng)[1] - 2)
    higher = estimate_label_shift(fitted, two_normals(5000, 0.06, rng)[1] + 3)
    assert lower.share >= lower.before / 10 - 1e-9
    assert higher.share <= higher.before * 10 + 1e-9
    for shift in (lower, higher):
        assert not shift.is_plausible
        assert "more than the share of positives has changed" in str(shift)


def test_weights_of_any_unit_give_the_same_estimate():
    rng = np.random.default_rng(0)
    fitted = RankedScores.from_labels(*two_normals(2000, 0.2, rng))
    scores = two_normals(500, 0.3, rng)[1]
    weighted, plain = estimate_label_shift(fitted, scores, np.full(500, 7.0)), estimate_label_shift(fitted, scores)
    assert (weighted.share, weighted.low, weighted.chance) == pytest.approx((plain.share, plain.low, plain.chance))


def test_few_rows_of_the_fit_widen_the_interval():
    rng = np.random.default_rng(3)
    widths = []
    for n_fitted in (500, 50_000):
        positive = rng.random(n_fitted) < 0.2
        fitted = RankedScores.from_labels(positive, rng.normal(size=n_fitted) + 1.5 * positive)
        shift = estimate_label_shift(fitted, rng.normal(size=4000) + 1.5 * (rng.random(4000) < 0.3))
        widths.append(shift.high - shift.low)
    assert widths[0] > 1.8 * widths[1]


@pytest.mark.parametrize(("shift", "spread"), [(1.5, 1.0), (0.5, 0.0)])
def test_the_interval_holds_with_weights_that_differ_and_with_a_weak_model(shift, spread):
    """Weights add no rows, and the curve of a weak model follows the chance of its own rows."""
    rng, held = np.random.default_rng(4), []
    for _ in range(60):
        samples = []
        for n_rows, share in ((1000, 0.2), (1000, 0.4)):
            positive = rng.random(n_rows) < share
            weight = rng.lognormal(0.0, spread, n_rows) if spread else None
            samples.append((positive, rng.normal(shift * positive), weight))
        (positive, score, weight), (_, new, new_weight) = samples
        found = estimate_label_shift(RankedScores.from_labels(positive, score, weight), new, new_weight)
        held.append(found.low <= 0.4 <= found.high)
    assert np.mean(held) >= 0.9
