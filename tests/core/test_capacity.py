from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import RankedScores, RejectionBand
from aucross.core.capacity import (
    best_rows,
    check_capacity,
    lowest_rows,
    rows_around_band,
    share_of_groups,
)
from aucross.core.influence import Contest, PairwiseMetric, worth_of_review
from tests.strategies import property_test

BINARY = (Contest(column=0, winner=1, loser=0),)

# Few distinct scores, so that ties are the rule.
tied_scores = st.lists(st.integers(0, 8), min_size=1, max_size=12).map(lambda drawn: np.array(drawn) / 8)
capacities = st.integers(0, 14)


def logistic(score: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(2 - 4 * score))


def expected_auc(score: np.ndarray, probability: np.ndarray, selected: np.ndarray) -> float:
    """Share of expected pairs in the right order, ties half, from all pairs of selected rows."""
    score, probability = score[selected], probability[selected]
    pairs = np.outer(probability, 1 - probability)
    right = np.greater.outer(score, score) + np.equal.outer(score, score) / 2
    return (pairs * right).sum() / pairs.sum() if pairs.sum() > 0 else -np.inf


def without(n_rows: int, rows: np.ndarray) -> np.ndarray:
    selected = np.ones(n_rows, dtype=bool)
    selected[rows] = False
    return selected


def best_expected_auc(score: np.ndarray, probability: np.ndarray, capacity: int) -> float:
    """Highest expected AUC over all blocks of so many neighbours."""
    by_score = np.argsort(score, kind="stable")
    starts = range(len(score) - capacity + 1)
    return max(
        expected_auc(score, probability, without(len(score), by_score[start : start + capacity])) for start in starts
    )


# ---- the capacity itself ----


@pytest.mark.parametrize("capacity", [0, 300, np.int64(300), np.uint8(3)])
def test_whole_numbers_are_capacities(capacity):
    assert check_capacity(capacity) == capacity
    assert type(check_capacity(capacity)) is int


@pytest.mark.parametrize(
    ("capacity", "remedy"),
    [
        (300.0, "pass 300"),
        (np.float32(12), "pass 12"),
        (0.1, "pass coverage=0.9 instead"),
        (2.5, "pass an int such as 300"),
        (float("nan"), "pass an int such as 300"),
        (float("inf"), "pass the number of rows to reject them all"),
        (True, "pass an int such as 300"),
        (np.True_, "pass an int such as 300"),
        ("300", "pass an int such as 300"),
        ([300], "pass an int such as 300"),
        (None, "pass an int such as 300"),
    ],
)
def test_anything_else_is_refused_with_a_remedy(capacity, remedy):
    with pytest.raises(TypeError, match=f"capacity must be a whole number of rows, got .*{remedy}"):
        check_capacity(capacity)


def test_a_negative_capacity_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match="capacity must not be negative, got -5; pass 0 to reject no row"):
        check_capacity(-5)


# ---- the best block ----


@property_test
@given(tied_scores, capacities)
def test_exactly_the_capacity_is_rejected_or_all_rows(score, capacity):
    rows = best_rows(score, logistic(score), capacity)
    assert len(rows) == min(capacity, len(score))
    assert np.array_equal(rows, np.unique(rows))


@property_test
@given(tied_scores, capacities)
def test_no_other_block_leaves_a_higher_expected_auc(score, capacity):
    capacity = min(capacity, len(score))
    probability = logistic(score)
    selected = without(len(score), best_rows(score, probability, capacity))
    expected = best_expected_auc(score, probability, capacity)
    assert expected_auc(score, probability, selected) == pytest.approx(expected, abs=1e-9)


@property_test
@given(tied_scores, capacities, st.randoms(use_true_random=False))
def test_with_an_order_the_choice_does_not_depend_on_where_rows_stand(score, capacity, random):
    shuffled = np.array(random.sample(range(len(score)), len(score)))
    order = np.arange(len(score))
    chosen = best_rows(score, logistic(score), capacity, order)
    of_shuffled = best_rows(score[shuffled], logistic(score[shuffled]), capacity, order[shuffled])
    assert set(order[shuffled][of_shuffled].tolist()) == set(order[chosen].tolist())


@property_test
@given(tied_scores, capacities, st.randoms(use_true_random=False))
def test_of_rows_with_one_score_those_first_in_order_are_rejected(score, capacity, random):
    order = np.array(random.sample(range(len(score)), len(score)))
    rejected = ~without(len(score), best_rows(score, logistic(score), capacity, order))
    for value in np.unique(score):
        of_tie = np.flatnonzero(score == value)
        in_order = of_tie[np.argsort(order[of_tie])]
        assert not (np.diff(rejected[in_order].astype(int)) > 0).any()


def test_without_an_order_the_first_of_equal_rows_is_rejected():
    score = np.full(5, 0.4)
    assert best_rows(score, logistic(score), 2).tolist() == [0, 1]


def test_of_equal_blocks_the_middle_one_is_rejected():
    score = np.arange(11.0)
    assert best_rows(score, (score >= 5).astype(float), 3).tolist() == [4, 5, 6]


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_rows_of_one_class_are_rejected_around_the_middle(probability):
    assert best_rows(np.arange(5.0), np.full(5, probability), 1).tolist() == [2]


@pytest.mark.parametrize("n_rows", [0, 1, 4])
def test_no_capacity_rejects_nothing_and_too_much_rejects_all(n_rows):
    score = np.arange(n_rows) / 4
    assert best_rows(score, logistic(score), 0).tolist() == []
    assert best_rows(score, logistic(score), 9).tolist() == list(range(n_rows))


# ---- a block around a band ----


@pytest.mark.parametrize(
    ("band", "capacity", "expected"),
    [
        (RejectionBand(3, 5), 3, [3, 4, 5]),
        (RejectionBand(3, 5), 1, [4]),
        (RejectionBand(3, 5), 5, [2, 3, 4, 5, 6]),
        (RejectionBand(0, 1), 4, [0, 1, 2, 3]),
        (RejectionBand(8, 20), 4, [6, 7, 8, 9]),
        (RejectionBand(3.2, 3.8), 2, [3, 4]),
        (RejectionBand(), 2, [4, 5]),
        (RejectionBand(3, 5), 0, []),
        (RejectionBand(3, 5), 99, list(range(10))),
    ],
)
def test_the_block_around_a_band_has_exactly_the_capacity(band, capacity, expected):
    assert rows_around_band(np.arange(10.0), band, capacity).tolist() == expected


def test_around_a_band_ties_are_cut_by_the_order():
    score = np.array([0.1, 0.5, 0.5, 0.5, 0.9])
    order = np.array([0, 3, 2, 1, 4])
    assert rows_around_band(score, RejectionBand(0.5, 0.5), 1, order).tolist() == [3]


# ---- the lowest rows ----


@property_test
@given(tied_scores, capacities)
def test_the_lowest_rows_are_the_first_of_the_sorted_ones(score, capacity):
    rows = lowest_rows(score, capacity)
    assert sorted(score[rows]) == sorted(score)[:capacity]
    assert len(rows) == min(capacity, len(score))


@property_test
@given(tied_scores, st.randoms(use_true_random=False))
def test_more_capacity_only_adds_rows(score, random):
    order = np.array(random.sample(range(len(score)), len(score)))
    chosen = [set(lowest_rows(score, capacity, order).tolist()) for capacity in range(len(score) + 2)]
    assert all(smaller <= larger for smaller, larger in pairwise(chosen))


def test_of_equally_low_rows_the_first_in_order_is_taken():
    assert lowest_rows(np.array([0.3, 0.1, 0.1, 0.1]), 2, np.array([0, 9, 5, 7])).tolist() == [2, 3]
    assert lowest_rows(np.array([0.3, 0.1, 0.1, 0.1]), 2).tolist() == [1, 2]


# ---- groups ----


def test_shares_are_those_of_sainte_lague():
    assert share_of_groups([600, 300, 100], 25) == [15, 8, 2]  # d'Hondt would give 16, 7 and 2


@property_test
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.integers(0, 130))
def test_shares_add_up_and_stay_within_the_groups(sizes, capacity):
    shares = share_of_groups(sizes, capacity)
    assert sum(shares) == min(capacity, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))


@property_test
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_no_group_loses_a_row_to_a_larger_capacity(sizes):
    shares = [share_of_groups(sizes, capacity) for capacity in range(sum(sizes) + 1)]
    assert all((np.diff(pair, axis=0) >= 0).all() for pair in pairwise(shares))


@property_test
@given(st.lists(st.integers(1, 500), min_size=2, max_size=5), st.floats(0, 1))
def test_every_group_gets_its_share_within_a_row_for_each_group(sizes, share):
    capacity = round(share * sum(sizes))
    for size, given_rows in zip(sizes, share_of_groups(sizes, capacity), strict=True):
        assert abs(given_rows - size * capacity / sum(sizes)) <= len(sizes) / 2


def test_of_groups_of_one_size_the_earlier_come_first():
    assert share_of_groups([10, 10, 10], 4) == [2, 1, 1]


# ---- probabilities ----


def test_probabilities_are_linear_between_the_middles_of_isotonic_steps():
    ranked = RankedScores([0, 1, 2, 3], [1, 1, 3, 3], [3, 3, 1, 1]).isotonic()
    assert ranked.probability_at(np.array([-1, 0.5, 1.5, 2.5, 9])).tolist() == [0.25, 0.25, 0.5, 0.75, 0.75]


def test_probabilities_weigh_the_scores_of_a_step():
    ranked = RankedScores([0, 1, 2], [1, 3, 1], [1, 3, 0]).isotonic()
    assert ranked.probability_at(np.array([0.75, 2.0])).tolist() == [0.5, 1.0]


def test_one_step_gives_one_probability():
    assert RankedScores([0.5], [1], [3]).probability_at(np.array([0.1, 0.9])).tolist() == [0.25, 0.25]


def test_probabilities_never_fall_and_stay_between_0_and_1():
    rng = np.random.default_rng(0)
    score = rng.normal(size=3000)
    ranked = RankedScores.from_labels(rng.random(3000) < logistic(score), score).isotonic()
    probability = ranked.probability_at(np.linspace(-5, 5, 1001))
    assert (np.diff(probability) >= 0).all()
    assert 0 <= probability.min() <= probability.max() <= 1
    assert np.abs(probability - logistic(np.linspace(-5, 5, 1001))).mean() < 0.03


# ---- worth ----


def two_classes(probability: np.ndarray) -> np.ndarray:
    return np.column_stack((1 - probability, probability))


def test_worth_is_the_rise_of_the_expected_auc_without_the_row():
    rng = np.random.default_rng(1)
    score = rng.random(150).round(2)
    probability = logistic(score)
    worth = worth_of_review(score[:, None], two_classes(probability), BINARY)
    everyone = expected_auc(score, probability, np.ones(150, dtype=bool))
    rises = [expected_auc(score, probability, without(150, np.array([row]))) - everyone for row in range(40)]
    assert worth[:40] == pytest.approx(rises, abs=4e-5)
    assert np.corrcoef(worth[:40], rises)[0, 1] > 0.999


def test_the_best_block_holds_the_rows_of_most_worth():
    score = np.linspace(0, 1, 400)
    worth = worth_of_review(score[:, None], two_classes(logistic(score)), BINARY)
    rejected = best_rows(score, logistic(score), 40)
    assert set(np.argsort(-worth)[:20].tolist()) <= set(rejected.tolist())


def test_stopping_early_by_worth_leaves_nearly_the_auc_of_the_best_smaller_block():
    score = np.linspace(-1, 1.5, 300)
    probability = logistic(score)
    rejected = best_rows(score, probability, 100)
    worth = worth_of_review(score[:, None], two_classes(probability), BINARY)[rejected]
    half = rejected[np.argsort(-worth)[:50]]
    reached = expected_auc(score, probability, without(300, half))
    assert best_expected_auc(score, probability, 50) - reached < 1e-4


def test_worth_with_more_classes_counts_every_contest():
    rng = np.random.default_rng(2)
    probabilities = rng.dirichlet([1, 1, 1], size=200)
    metric = PairwiseMetric(3)
    worth = worth_of_review(metric.columns(probabilities), probabilities, metric.contests)
    unsure = probabilities.max(axis=1) < 0.45
    assert worth[unsure].mean() > worth[~unsure].mean()


@pytest.mark.parametrize("n_rows", [0, 3])
def test_worth_is_0_where_a_class_is_missing(n_rows):
    worth = worth_of_review(np.arange(float(n_rows))[:, None], two_classes(np.zeros(n_rows)), BINARY)
    assert worth.tolist() == [0.0] * n_rows
