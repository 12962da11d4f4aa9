"""Intervals that hold: shares, the AUC, differences, and rows that belong together."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest, gamma, norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, compare_selective, evaluate_selections, evaluate_selective
from aucross.core import RankedScores
from aucross.core.bounds import (
    auc_ends,
    auc_ends_of_units,
    auc_losses,
    ends_by_moments,
    interval,
    lower_bound,
    share_losses_of_units,
    sums_by_unit,
)
from aucross.evaluation import evaluate_group_selections
from aucross.evaluation.catalogue import GROUP_METRICS, STANDARD_METRICS
from aucross.evaluation.ranked_selection import BinarySelections
from tests import strategies
from tests.reference import obvious_auc_interval
from tests.strategies import property_test


def make_rows(n=400, prevalence=0.3, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    return y, rng.normal(size=n) + shift * y


def evaluate(y, score, masks=None, **options):
    masks = {0.8: np.abs(score - 0.7) > 0.3} if masks is None else masks
    return evaluate_selections(y, score, score > 0.7, masks, **options)


def ends(evaluation, name, index=0):
    spread = evaluation.spread(name)
    return spread[f"{name}_low"][index], spread[f"{name}_high"][index]


def ends_of(y, score, weight=None):
    return auc_ends(RankedScores.from_labels(y, score, weight), 0.025)


# ---- the interval of one number ----


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35])
@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_the_auc_equals_the_obvious_one(seed, share):
    y, score = make_rows(90, share, shift=seed, seed=seed)
    score = np.round(score, 1)
    expected = obvious_auc_interval(y, score, 0.025)
    assert ends_of(y, score) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_positive", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("auc", [0.76, 0.9])
def test_the_interval_holds_with_a_handful_of_positives(n_positive, auc):
    rng, shift = np.random.default_rng(5), norm.ppf(auc) * np.sqrt(2)
    y = np.arange(200) < n_positive
    found = np.array([ends_of(y, rng.normal(size=200) + shift * y) for _ in range(200)])
    held = (found[:, 0] <= auc) & (auc <= found[:, 1])
    assert held.mean() >= 0.93
    assert (found[:, 1] - found[:, 0]).min() > 0.05


@pytest.mark.parametrize(("n_positive", "hidden"), [(39, 0.05), (146, 0.013), (30, 0.12)])
@pytest.mark.parametrize("center", [0.0, -9.0])
def test_the_interval_holds_where_a_few_positives_hide_among_the_negatives(n_positive, hidden, center):
    """One sample in seven, or in fifty, shows no hidden positive at all."""
    rng = np.random.default_rng(6)
    y = np.arange(10 * n_positive) < n_positive
    truth = (1 - hidden) * norm.cdf(6 / np.sqrt(2)) + hidden * norm.cdf(center / np.sqrt(2))
    found = []
    for _ in range(300):
        at = np.where(rng.random(len(y)) < hidden, center, 6.0) * y
        found.append(ends_of(y, rng.normal(size=len(y)) + at))
    low, high = np.array(found).T
    assert ((low <= truth) & (truth <= high)).mean() >= 0.93


def test_the_interval_holds_where_weights_fall_with_the_score():
    rng, slope, shift = np.random.default_rng(7), -0.5, 1.5
    y, found = np.arange(500) < 60, []
    for _ in range(300):
        score = rng.normal(size=500) + shift * y
        found.append(ends_of(y, score, np.exp(slope * score + 0.7 * rng.normal(size=500))))
    low, high = np.array(found).T
    truth = norm.cdf(shift / np.sqrt(2))  # both classes are shifted alike
    assert ((low <= truth) & (truth <= high)).mean() >= 0.93


def test_a_handful_of_customers_counts_as_a_handful_of_rows():
    """Ten equal rows of each customer have the interval of the customers, in both classes."""
    y, score = make_rows(60, 0.08, seed=3)
    rows = np.repeat(np.arange(60), 10)
    found = auc_ends_of_units(y[rows], score[rows], None, rows, 0.025)
    assert found == pytest.approx(ends_of(y, score), abs=1e-9)


def test_shares_have_clopper_and_pearsons_interval():
    y, score = make_rows()
    evaluation = evaluate(y, score)
    mask = np.abs(score - 0.7) > 0.3
    right = y == (score > 0.7)
    for name, k, n in (
        ("achieved_coverage", mask.sum(), 400),
        ("selective_accuracy", right[mask].sum(), mask.sum()),
        ("positive_rate", y[mask].sum(), mask.sum()),
    ):
        exact = binomtest(int(k), int(n)).proportion_ci(0.95, "exact")
        assert ends(evaluation, name) == pytest.approx(exact, abs=1e-12)


def test_perfect_ranks_do_not_make_an_interval_of_one_point():
    y = np.arange(100) >= 90
    evaluation = evaluate(y, np.arange(100.0), {1.0: np.ones(100, dtype=bool)})
    low, high = ends(evaluation, "selective_auc")
    assert evaluation.deviations["selective_auc"][0] == 0.0
    assert high == 1.0
    # Ten of ten positives won. Half of the probability that they do so is .025 at the mid-P limit; a promise counts all
    # of it, and its bound is lower.
    assert low == pytest.approx(0.05 ** (1 / 10), abs=0.01)
    assert lower_bound(auc_losses(RankedScores.from_labels(y, range(100))), 0.025) == pytest.approx(0.025 ** (1 / 10))


def test_where_a_sample_says_much_the_interval_is_that_of_the_normal_distribution():
    y, score = make_rows(20_000)
    evaluation = evaluate(y, score)
    for name in STANDARD_METRICS:
        width = 2 * norm.ppf(0.975) * evaluation.deviations[name][0]
        low, high = ends(evaluation, name)
        assert 0.93 * width < high - low < 1.1 * width


@given(strategies.rows(both_classes=True), st.floats(0.05, 0.99))
@property_test
def test_intervals_hold_the_estimate_and_mirror_with_the_labels(rows, level):
    options = {"masks": {1.0: np.ones(len(rows.labels), dtype=bool)}, "confidence_level": level}
    one = evaluate(rows.labels, rows.scores, **options)
    other = evaluate(~rows.labels, rows.scores, **options)
    low, high = ends(one, "selective_auc")
    if isnan(low):
        return
    assert 0 <= low <= one.estimates["selective_auc"][0] <= high <= 1
    if rows.labels.sum() != (~rows.labels).sum():  # of two classes of one size the positive rows are averaged
        assert (1 - high, 1 - low) == pytest.approx(ends(other, "selective_auc"), abs=1e-9)


def test_gini_and_risk_follow_auc_and_accuracy():
    evaluation = evaluate(*make_rows(), metrics=["selective_gini", "selective_risk"])
    auc, accuracy = ends(evaluation, "selective_auc"), ends(evaluation, "selective_accuracy")
    assert ends(evaluation, "selective_gini") == pytest.approx((2 * auc[0] - 1, 2 * auc[1] - 1))
    assert ends(evaluation, "selective_risk") == pytest.approx((1 - accuracy[1], 1 - accuracy[0]))


def test_all_rows_are_certain_and_gain_nothing():
    y, score = make_rows()
    evaluation = evaluate(y, score, {1.0: np.ones(400, dtype=bool), 0.9: np.ones(400, dtype=bool)})
    assert ends(evaluation, "achieved_coverage") == (1.0, 1.0)
    assert ends(evaluation, "auc_gain") == (0.0, 0.0)
    # All rows that happened to be selected for a lower coverage are a sample, and the next positive may be rejected.
    assert ends(evaluation, "achieved_coverage", 1) == pytest.approx((0.025 ** (1 / 400), 1.0))
    low, high = ends(evaluation, "auc_gain", 1)
    assert low < 0 < high < 3 / y.sum()


# ---- paired differences ----


def test_the_gain_is_paired_and_shows_what_two_intervals_hide():
    y, score = make_rows(2000, shift=1.0)
    evaluation = evaluate(y, score, {1.0: np.ones(2000, dtype=bool), 0.8: np.abs(score - 0.8) > 0.25})
    assert ends(evaluation, "selective_auc", 1)[0] < ends(evaluation, "selective_auc", 0)[1]
    assert ends(evaluation, "auc_gain", 1)[0] > 0
    row = evaluation.rows()[1]
    assert row["auc_gain"] == pytest.approx(row["selective_auc"] - evaluation.rows()[0]["selective_auc"])


@property_test
@given(strategies.rows(both_classes=True), st.integers(0, 2**32 - 1))
def test_the_step_of_a_gain_is_that_of_the_row_which_moves_it_most(rows, seed):
    y, score = np.asarray(rows.labels, dtype=bool), np.asarray(rows.scores, dtype=float)
    mask = np.random.default_rng(seed).random(len(y)) < 0.7
    if len({*y[mask]}) < 2:
        return
    part = BinarySelections(y, score, y, {0.5: mask}).selection(mask)

    def auc(own, positive, at):
        """AUC with the share of one more row of a class at a score, whose rows are the others alone."""
        rank = np.array([np.mean((s > score[own & ~y]) + (s == score[own & ~y]) / 2) for s in score[own & y]])
        others = score[own & (y != positive)]
        value = np.mean((at > others) + (at == others) / 2) if positive else np.mean((at < others) + (at == others) / 2)
        count = (own & (y == positive)).sum()
        return (count * rank.mean() + value) / (count + 1)

    everyone, gain, moves = np.ones(len(y), dtype=bool), part.auc - part.everything.auc, [0.0]
    for positive in (True, False):
        anywhere = [] if not mask.all() else [-np.inf, np.inf]
        selected = (*score[mask], -np.inf, np.inf)
        moves += [auc(mask, positive, at) - auc(everyone, positive, at) - gain for at in selected]
        moves += [part.auc - auc(everyone, positive, at) - gain for at in (*score[~mask], *anywhere)]
    shares = [1 / (min((own & y).sum(), (own & ~y).sum()) + 1) for own in (mask, everyone)]
    assert part.gain_steps(tuple(shares)) == pytest.approx((-min(moves), max(moves)), abs=1e-9)


def test_a_rejected_positive_may_raise_a_gain_that_no_sample_shows():
    # All five positives are selected and on top: no resample has a gain, and the next positive may be a rejected one.
    y, score = np.arange(200) >= 195, np.arange(200.0)
    low, high = ends(evaluate(y, score, {0.8: (score < 60) | (score >= 100)}), "auc_gain")
    further_below = ends(evaluate(y, score, {0.8: (score < 10) | (score >= 50)}), "auc_gain")
    assert further_below[0] < low <= 0 < high < further_below[1] < 1


def test_two_perfect_rankings_may_still_differ_and_one_ranking_does_not_differ_from_itself():
    y, everything = np.arange(100) >= 90, {1.0: np.ones(100, dtype=bool)}
    first, second = evaluate(y, np.arange(100.0), everything), evaluate(y, np.arange(100.0) ** 2, everything)
    low, high = (first.minus(second).difference("selective_auc").ends[end][0] for end in (0, 1))
    assert low < 0 < high
    assert first.minus(first).difference("selective_auc").ends.high[0] == 0.0


@pytest.mark.parametrize("coverage", [0.8, 0.5])
def test_the_interval_of_the_gain_holds_where_positives_hide(coverage):
    rng, n, hidden = np.random.default_rng(8), 600, 0.05
    low_end, high_end = norm.ppf([0.5 - (1 - coverage) / 2, 0.5 + (1 - coverage) / 2])

    def draw(n):
        y = rng.random(n) < 0.06
        return y, rng.normal(size=n) + np.where(rng.random(n) < hidden, 0.0, 5.0) * y

    def selects(score):
        return (score < low_end) | (score > high_end)

    y, score = draw(1_000_000)
    kept = selects(score)
    truth = RankedScores.from_labels(y[kept], score[kept]).auc() - RankedScores.from_labels(y, score).auc()
    found = []
    for _ in range(200):
        y, score = draw(n)
        found.append(ends(evaluate(y, score, {coverage: selects(score)}), "auc_gain"))
    low, high = np.array(found).T
    assert ((low <= truth) & (truth <= high)).mean() >= 0.93


def test_a_gain_that_no_row_makes_has_the_bound_of_rare_losses():
    down, up = ends_by_moments(0.0, 0.0, 0.0, (0.01, 0.02), 0.025)
    rows = gamma.ppf(0.975, 2 / 3)  # that a sample without any may lack
    assert (down, up) == pytest.approx((-rows * 0.01, rows * 0.02))
    assert np.exp(-rows) == pytest.approx(0.05, abs=0.004)


def test_moments_of_many_rows_give_the_interval_of_the_normal_distribution():
    low, high = ends_by_moments(0.3, 1e-4, 0.0, (1e-9, 1e-9), 0.025)
    assert (low, high) == pytest.approx((0.3 - 0.01 * norm.ppf(0.975), 0.3 + 0.01 * norm.ppf(0.975)), abs=1e-5)


# ---- rows that belong together ----


def copies(values, times=4):
    return np.tile(values, times)


@given(strategies.rows(both_classes=True, min_size=4))
@example(strategies.Rows(np.array([1, 0, 1, 0], dtype=bool), np.zeros(4), np.ones(4)))
@property_test
def test_copies_within_a_group_say_no_more_than_one_row(rows):
    own = np.arange(len(rows.labels))
    mask = own % 3 > 0
    once = evaluate(rows.labels, rows.scores, {0.7: mask}, customers=own)
    again = evaluate(copies(rows.labels), copies(rows.scores), {0.7: copies(mask)}, customers=copies(own))
    for name in STANDARD_METRICS:
        if name != "auc_gain":
            assert ends(again, name) == pytest.approx(ends(once, name), abs=1e-9, nan_ok=True)


def test_groups_widen_every_interval_of_a_classifier_and_of_a_comparison():
    X, y = make_classification(600, flip_y=0.3, random_state=0)
    clf, rival = (AUCross(LogisticRegression(C=c), random_state=0).fit(X[:300], y[:300]) for c in (1, 0.01))
    X_test, y_test, customer = (np.repeat(part, 5, axis=0) for part in (X[300:], y[300:], np.arange(300)))
    options = {"coverages": [0.8]}
    plain, grouped = (
        evaluate_selective(clf, X_test, y_test, customers=groups, **options).rows()[0] for groups in (None, customer)
    )
    for name in STANDARD_METRICS:
        widths = [row[f"{name}_high"] - row[f"{name}_low"] for row in (plain, grouped)]
        assert widths[1] > 1.8 * widths[0]
    differences = [
        compare_selective([rival, clf], X_test, y_test, customers=groups, **options).rows()[2]["difference_sd"]
        for groups in (None, customer)
    ]
    assert differences[1] > 1.8 * differences[0]


def test_a_report_by_group_takes_units_too():
    y, score = make_rows()
    part = np.where(np.arange(400) % 2, "a", "b")
    arguments = [copies(values) for values in (y, score, score > 0.7)]
    masks, unit = {0.8: copies(np.abs(score - 0.7) > 0.3)}, copies(np.arange(400))
    plain, grouped = (
        evaluate_group_selections(*arguments, masks, copies(part), customers=groups) for groups in (None, unit)
    )
    for narrow, wide in zip(plain.rows(), grouped.rows(), strict=True):
        assert wide["selective_auc_sd"] > 1.5 * narrow["selective_auc_sd"]
    for narrow, wide in zip(plain.gaps().rows(), grouped.gaps().rows(), strict=True):
        assert wide["gap_by_chance"] > 1.5 * narrow["gap_by_chance"]


def test_units_of_weight_0_are_not_drawn():
    y, score = make_rows(200)
    weight = np.where(np.arange(200) < 100, 1.0, 0.0)
    whole = evaluate(y, score, sample_weight=weight, customers=np.arange(200) // 2)
    part = evaluate(y[:100], score[:100], sample_weight=weight[:100], customers=np.arange(100) // 2)
    assert ends(whole, "selective_auc") == pytest.approx(ends(part, "selective_auc"))
    assert whole.n_customers == part.n_customers == 50


# ---- all selections from one pass over the rows ----


def obvious_ends(positive, score, correct, mask, weight, units, failure=0.025):
    """Ends of all intervals of one selection, from the selected rows written out."""

    def share(among, values):
        if not among.any():
            return nan, nan
        if weight is None and units is None:
            return tuple(binomtest(int(values[among].sum()), int(among.sum())).proportion_ci(1 - 2 * failure, "exact"))
        own = np.ones(among.sum()) if weight is None else weight[among]
        groups = np.arange(among.sum()) if units is None else units[among]
        lost = own * ~values[among]
        return interval(share_losses_of_units(*(sums_by_unit(groups, part) for part in (own, lost))), failure)

    found = [share(np.ones(len(mask), dtype=bool), mask)]
    n_positive, n_negative = (mask & positive).sum(), (mask & ~positive).sum()
    if min(n_positive, n_negative) < 1 or max(n_positive, n_negative) < 2:
        found.append((nan, nan))
    else:
        own = None if weight is None else weight[mask]
        found.append(
            ends_of(positive[mask], score[mask], own)
            if units is None
            else auc_ends_of_units(positive[mask], score[mask], own, units[mask], failure)
        )
    return [*found, share(mask, correct), share(mask, positive), share(positive, ~mask)]


@pytest.mark.parametrize("with_units", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("with_weights", [False, True], ids=["counts", "weights"])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_all_selections_equal_those_of_the_selected_rows_written_out(seed, with_weights, with_units):
    rng = np.random.default_rng(seed)
    n = 120
    positive = rng.random(n) < 0.3
    score = np.round(rng.normal(size=n) + positive, 1 if seed else 6)
    predicted = score > 0.5
    masks = np.array(
        [
            *(np.abs(score - middle) > 0.3 for middle in (0.2, 0.5, 0.9)),
            rng.random(n) < 0.7,  # sees more than the score
            score > 0.5,
            positive,
            np.zeros(n, dtype=bool),
            np.ones(n, dtype=bool),
        ]
    )
    weight = rng.lognormal(size=n) if with_weights else None
    units = np.unique(rng.integers(0, 40, n), return_inverse=True)[1] if with_units else None
    selections = {1.0 - number / 100: mask for number, mask in enumerate(masks, start=1)}
    rows = BinarySelections(positive, score, predicted, selections, weight, units)
    found = rows.evaluation(GROUP_METRICS, 0.95, with_intervals=True, seed=0).intervals
    for number, mask in enumerate(masks):
        expected = obvious_ends(positive, score, positive == predicted, mask, weight, units)
        for ends_of_metric, pair in zip(found.values(), expected, strict=True):
            got = ends_of_metric.low[number], ends_of_metric.high[number]
            assert got == pytest.approx(pair, abs=1e-9, nan_ok=True)


def test_powers_of_extreme_weights_are_numbers():
    y, score = make_rows(60)
    for factor in (1e-200, 1e200):
        plain, scaled = (evaluate(y, score, sample_weight=np.where(y, f, 1.0)) for f in (1.0, factor))
        assert ends(scaled, "selective_auc") == pytest.approx(ends(plain, "selective_auc"), abs=1e-9)
