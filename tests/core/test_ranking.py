from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise
from math import floor, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from aucross.core import RankedScores, RejectionBand, best_band
from aucross.core.ranking import effective_size, equal_parts
from tests.reference import delong_standard_error, pairwise_auc, row_at, selected_by, selected_share
from tests.strategies import Rows, bands_between, counts, fractional_weights, property_test, rows

EMPTY = RankedScores([], [], [])
TO_ROUNDING = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}


def rank(given_rows: Rows) -> RankedScores:
    return RankedScores.from_labels(given_rows.labels, given_rows.scores, given_rows.weights)


def repeated(given_rows: Rows) -> Rows:
    """Each row as many times as its weight says."""
    once = given_rows.take(np.repeat(np.arange(len(given_rows.labels)), given_rows.weights.astype(int)))
    return Rows(once.labels, once.scores, np.ones(len(once.labels)))


def assert_same(left: RankedScores, right: RankedScores) -> None:
    for name in ("scores", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


def assert_close(left: RankedScores, right: RankedScores) -> None:
    np.testing.assert_array_equal(left.scores, right.scores)
    np.testing.assert_allclose(left.positives, right.positives, rtol=1e-12, atol=0)
    np.testing.assert_allclose(left.negatives, right.negatives, rtol=1e-12, atol=0)


# ---- against the definitions ----


@property_test
@given(rows(weights=counts))
def test_auc_equals_the_weighted_share_of_pairs_won(given_rows):
    expected = pairwise_auc(*given_rows)
    assert rank(given_rows).auc() == pytest.approx(expected, **TO_ROUNDING)


@property_test
@given(rows(weights=fractional_weights), bands_between())
def test_auc_with_a_band_equals_the_share_of_pairs_won_among_selected_rows(given_rows, ends):
    expected = pairwise_auc(*given_rows, selected_by(ends, given_rows.scores))
    assert rank(given_rows).auc(RejectionBand(*ends)) == pytest.approx(expected, **TO_ROUNDING)


@property_test
@given(rows(weights=st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9]), max_size=8), bands_between())
def test_auc_keeps_its_digits_when_the_band_holds_nearly_all_of_the_weight(given_rows, ends):
    expected = pairwise_auc(*given_rows, selected_by(ends, given_rows.scores))
    assert rank(given_rows).auc(RejectionBand(*ends)) == pytest.approx(expected, **TO_ROUNDING)


@property_test
@given(rows(weights=fractional_weights), bands_between())
def test_coverage_equals_the_selected_share_of_the_weight(given_rows, ends):
    expected = selected_share(given_rows.weights, selected_by(ends, given_rows.scores))
    assert rank(given_rows).coverage(RejectionBand(*ends)) == pytest.approx(expected, **TO_ROUNDING)


@property_test
@given(rows(weights=fractional_weights))
def test_coverage_without_a_band_is_1(given_rows):
    assert rank(given_rows).coverage() == 1.0


@property_test
@given(rows(weights=fractional_weights))
def test_coverage_of_a_band_over_all_scores_is_exactly_0(given_rows):
    assert rank(given_rows).coverage(RejectionBand(-np.inf, np.inf)) == 0.0


@property_test
@given(rows(weights=counts), bands_between())
def test_standard_error_equals_delong_on_repeated_selected_rows(given_rows, ends):
    selected = repeated(given_rows.take(selected_by(ends, given_rows.scores)))
    expected = delong_standard_error(selected.labels, selected.scores)
    assert rank(given_rows).auc_standard_error(RejectionBand(*ends)) == pytest.approx(expected, **TO_ROUNDING)


def test_standard_error_with_many_ties():
    rng = np.random.default_rng(0)
    score = rng.integers(0, 5, 40) / 8
    labels = rng.random(40) < 0.2 + score
    expected = delong_standard_error(labels, score)
    assert RankedScores.from_labels(labels, score).auc_standard_error() == pytest.approx(expected, **TO_ROUNDING)


def test_standard_error_of_a_known_example():
    # Shares of negatives beaten: 0, 1, 1 (variance 1/3); shares of positives above: 2/3, 2/3 (variance 0).
    ranked = RankedScores.from_labels([1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5])
    assert ranked.auc_standard_error() == pytest.approx(np.sqrt(1 / 3 / 3))


@property_test
@given(rows(weights=counts), st.floats(-3.0, 40.0))
def test_score_at_equals_the_score_at_that_position_of_the_sorted_repeated_rows(given_rows, position):
    assert rank(given_rows).score_at(position) == row_at(repeated(given_rows).scores, position)


@property_test
@given(rows(weights=counts))
def test_score_at_is_clipped_to_the_first_and_last_row(given_rows):
    ranked = rank(given_rows)
    assert (ranked.score_at(-1), ranked.score_at(ranked.total)) == (ranked.scores[0], ranked.scores[-1])


@property_test
@given(rows(weights=fractional_weights), st.integers(-5, 5).map(lambda eighths: eighths / 8))
def test_position_of_equals_the_weight_of_lower_scores(given_rows, score):
    expected = given_rows.weights[given_rows.scores < score].sum()
    assert rank(given_rows).position_of(score) == pytest.approx(expected, **TO_ROUNDING)


@property_test
@given(rows(weights=counts))
def test_score_at_position_of_a_score_is_that_score(given_rows):
    ranked = rank(given_rows)
    assert [ranked.score_at(ranked.position_of(score)) for score in ranked.scores] == ranked.scores.tolist()


@property_test
@given(rows(weights=fractional_weights))
def test_prevalence_equals_the_share_of_positive_weight(given_rows):
    expected = given_rows.weights[given_rows.labels].sum() / given_rows.weights.sum()
    assert rank(given_rows).prevalence == pytest.approx(expected, **TO_ROUNDING)


@property_test
@given(rows(weights=counts))
def test_scores_are_the_distinct_scores_of_rows_with_weight(given_rows):
    np.testing.assert_array_equal(rank(given_rows).scores, np.unique(given_rows.scores[given_rows.weights > 0]))


@property_test
@given(rows(weights=counts))
def test_pairs_won_kept_and_lost_grow_with_the_start_and_fall_with_the_stop(given_rows):
    ranked = rank(given_rows)
    ends = np.arange(len(ranked) + 1)
    starts, stops = (grid.ravel() for grid in np.meshgrid(ends, ends, indexing="ij"))
    won, kept = (pairs.reshape(len(ends), len(ends)) for pairs in ranked.pairs(starts, stops))
    for quantity in (won, kept, kept - won):
        assert (np.diff(quantity, axis=0) >= 0).all()
        assert (np.diff(quantity, axis=1) <= 0).all()


@property_test
@given(rows(weights=counts))
def test_a_block_is_the_block_of_its_band(given_rows):
    ranked = rank(given_rows)
    blocks = [(start, stop) for stop in range(len(ranked) + 1) for start in range(stop)]
    assert [ranked.block(ranked.band(*block)) for block in blocks] == blocks


def test_a_band_between_two_scores_rejects_no_entry():
    ranked = RankedScores.from_labels([0, 1], [0.2, 0.8])
    assert ranked.block(RejectionBand(0.4, 0.6)) == (0, 0)


# ---- weights ----


@property_test
@given(rows(weights=counts))
def test_weight_k_equals_the_row_k_times(given_rows):
    assert_same(rank(given_rows), rank(repeated(given_rows)))


@property_test
@given(rows(weights=st.sampled_from([0.0, 0.0, 0.3, 1.7])))
def test_weight_0_equals_the_row_absent(given_rows):
    assert_same(rank(given_rows), rank(given_rows.take(given_rows.weights > 0)))


@property_test
@given(rows(weights=st.just(1.0)))
def test_no_weights_equal_weights_of_1(given_rows):
    assert_same(RankedScores.from_labels(given_rows.labels, given_rows.scores), rank(given_rows))


@property_test
@given(rows(weights=counts), bands_between(), st.sampled_from([0.25, 3.0, 1e6]))
def test_a_common_factor_of_the_weights_changes_neither_auc_nor_coverage(given_rows, ends, factor):
    band = RejectionBand(*ends)
    ranked, scaled = rank(given_rows), rank(given_rows._replace(weights=given_rows.weights * factor))
    assert scaled.auc(band) == pytest.approx(ranked.auc(band), **TO_ROUNDING)
    assert scaled.coverage(band) == pytest.approx(ranked.coverage(band), **TO_ROUNDING)


# ---- merging ----


@property_test
@given(rows(weights=counts), rows(weights=counts))
def test_merging_is_commutative_exactly_for_counts(left, right):
    assert_same(rank(left) + rank(right), rank(right) + rank(left))


@property_test
@given(rows(weights=counts), rows(weights=counts), rows(weights=counts))
def test_merging_is_associative_exactly_for_counts(first, second, third):
    assert_same((rank(first) + rank(second)) + rank(third), rank(first) + (rank(second) + rank(third)))


@property_test
@given(rows(weights=fractional_weights), rows(weights=fractional_weights), rows(weights=fractional_weights))
def test_merging_fractional_weights_is_associative_and_commutative_to_rounding(first, second, third):
    assert_close((rank(first) + rank(second)) + rank(third), rank(third) + (rank(second) + rank(first)))


@property_test
@given(rows(weights=counts), st.data())
def test_merging_the_rankings_of_pieces_equals_ranking_the_whole(given_rows, data):
    size = len(given_rows.labels)
    piece_of_row = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    merged = EMPTY
    for piece in range(4):
        part = given_rows.take(piece_of_row == piece)
        merged += RankedScores.from_labels(*repeated(part)[:2])
    assert_same(merged, rank(given_rows))


@property_test
@given(st.lists(rows(weights=counts), max_size=40))
def test_merging_many_equals_adding_one_after_the_other_exactly_for_counts(parts):
    assert_same(RankedScores.merge(map(rank, parts)), sum(map(rank, parts), EMPTY))


@property_test
@given(st.lists(rows(weights=fractional_weights), max_size=40), st.randoms(use_true_random=False))
def test_merging_many_in_any_order_is_the_same_to_rounding(parts, random):
    rankings = [rank(part) for part in parts]
    expected = RankedScores.merge(rankings)
    random.shuffle(rankings)
    assert_close(RankedScores.merge(rankings), expected)


@property_test
@given(rows(weights=fractional_weights))
def test_merging_with_an_empty_ranking_changes_nothing(given_rows):
    ranked = rank(given_rows)
    assert_same(ranked + EMPTY, ranked)
    assert_same(EMPTY + ranked, ranked)
    assert_same(RankedScores.merge([ranked]), ranked)
    assert_same(RankedScores.merge([]), EMPTY)


def test_merging_with_something_else_is_a_type_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        EMPTY + 1


# ---- what must not matter ----


@property_test
@given(rows(weights=counts), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(given_rows, random):
    order = list(range(len(given_rows.labels)))
    random.shuffle(order)
    assert_same(rank(given_rows.take(order)), rank(given_rows))


@property_test
@given(rows(weights=fractional_weights))
def test_a_strictly_increasing_transform_of_the_scores_keeps_the_auc(given_rows):
    transformed = given_rows._replace(scores=np.exp(3 * given_rows.scores) - 7)
    assert rank(transformed).auc() == pytest.approx(rank(given_rows).auc(), **TO_ROUNDING)


@property_test
@given(rows(weights=counts, both_classes=True))
def test_swapping_labels_and_negating_scores_keeps_the_auc(given_rows):
    mirrored = given_rows._replace(labels=~given_rows.labels, scores=-given_rows.scores)
    assert rank(mirrored).auc() == pytest.approx(rank(given_rows).auc(), **TO_ROUNDING)


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 1], [-1, 1, 1], [False, True, True], [0.0, 1.0, 1.0], np.array([0, 1, 1], dtype=np.uint8)],
    ids=["0/1", "-1/1", "boolean", "float", "unsigned"],
)
def test_every_kind_of_binary_labels_gives_the_same_ranking(labels):
    ranked = RankedScores.from_labels(labels, [0.1, 0.2, 0.3])
    assert (ranked.positives.tolist(), ranked.negatives.tolist()) == ([0, 1, 1], [1, 0, 0])


def test_positive_and_negative_zero_are_one_score():
    assert len(RankedScores.from_labels([0, 1], [0.0, -0.0])) == 1


# ---- isotonic labels ----


@property_test
@given(rows(weights=fractional_weights))
def test_isotonic_keeps_the_weight_at_every_score_and_the_totals_of_both_classes(given_rows):
    ranked = rank(given_rows)
    smooth = ranked.isotonic()
    np.testing.assert_allclose(smooth.positives + smooth.negatives, ranked.positives + ranked.negatives, rtol=1e-12)
    assert smooth.total_positives == pytest.approx(ranked.total_positives, **TO_ROUNDING)
    assert smooth.total_negatives == pytest.approx(ranked.total_negatives, **TO_ROUNDING)


@property_test
@given(rows(weights=fractional_weights))
def test_isotonic_shares_of_positives_never_fall_with_the_score(given_rows):
    smooth = rank(given_rows).isotonic()
    assert (np.diff(smooth.positives / (smooth.positives + smooth.negatives)) >= -1e-12).all()


@property_test
@given(rows(weights=fractional_weights))
def test_isotonic_equals_scikit_learn_on_the_rows(given_rows):
    smooth = rank(given_rows).isotonic()
    model = IsotonicRegression().fit(given_rows.scores, given_rows.labels.astype(float), given_rows.weights)
    expected = model.predict(smooth.scores)
    np.testing.assert_allclose(smooth.positives / (smooth.positives + smooth.negatives), expected, atol=1e-9)


@property_test
@given(rows(weights=counts))
def test_isotonic_twice_is_isotonic_once(given_rows):
    assert_close(rank(given_rows).isotonic().isotonic(), rank(given_rows).isotonic())


def test_isotonic_leaves_out_entries_without_weight():
    smooth = RankedScores([0.1, 0.2, 0.3], [1, 0, 2], [0, 0, 0]).isotonic()
    assert smooth.scores.tolist() == [0.1, 0.3]


def test_isotonic_of_an_empty_ranking_is_empty():
    assert len(EMPTY.isotonic()) == 0


# ---- probabilities instead of labels ----

eighths = st.integers(0, 8).map(lambda count: count / 8)


@st.composite
def probable_rows(draw, weights=counts):
    """Probabilities, tied scores and weights of rows without labels."""
    given_rows = draw(rows(weights=weights))
    n_rows = len(given_rows.labels)
    return np.array(draw(st.lists(eighths, min_size=n_rows, max_size=n_rows))), given_rows


@property_test
@given(probable_rows())
def test_a_probable_row_is_a_part_of_a_positive_and_a_part_of_a_negative(drawn):
    probability, (_, scores, weights) = drawn
    parts = Rows(
        np.repeat([True, False], len(scores)),
        np.tile(scores, 2),
        np.concatenate((weights * probability, weights * (1 - probability))),
    )
    ranked = RankedScores.from_probabilities(probability, scores, weights)
    assert_close(ranked, rank(parts))
    assert ranked.auc() == pytest.approx(pairwise_auc(*parts), **TO_ROUNDING)


@property_test
@given(rows(weights=fractional_weights))
def test_certain_probabilities_are_labels(given_rows):
    labels, scores, weights = given_rows
    assert_close(RankedScores.from_probabilities(labels.astype(float), scores, weights), rank(given_rows))
    assert_same(RankedScores.from_probabilities(labels, scores), RankedScores.from_labels(labels, scores))


@property_test
@given(probable_rows(weights=fractional_weights))
def test_the_weight_at_every_score_does_not_depend_on_the_probabilities(drawn):
    probability, (_, scores, weights) = drawn
    ranked, other = (RankedScores.from_probabilities(p, scores, weights) for p in (probability, 1 - probability))
    assert ranked.positives == pytest.approx(other.negatives, rel=1e-12, abs=1e-12)
    assert ranked.weight_below == pytest.approx(other.weight_below, rel=1e-12)


@pytest.mark.parametrize(
    ("probability", "scores", "weights", "message"),
    [
        ([0.5, 0.5], [0.1], None, "y_score must hold one score per row"),
        ([0.5], [nan], None, "y_score must be finite"),
        ([0.5], [0.1], [-1.0], "sample_weight must"),
        ([1.5], [0.1], None, "must not be negative"),
        ([-0.5], [0.1], None, "must not be negative"),
        ([nan], [0.1], None, "must be a 1-d array of finite numbers"),
    ],
)
def test_probable_rows_that_cannot_be_ranked_raise(probability, scores, weights, message):
    with pytest.raises(ValueError, match=message):
        RankedScores.from_probabilities(probability, scores, weights)


def isotonic_steps(given_rows: Rows) -> list[tuple[Fraction, Fraction]]:
    """Weighted mean score and share of positives of each step, by pooling neighbours while the share does not rise."""
    steps: list[tuple[Fraction, Fraction, Fraction]] = []  # weight, weight * score, positive weight
    for score in np.unique(given_rows.scores[given_rows.weights > 0]):
        here = given_rows.scores == score
        weight, positive = (Fraction(given_rows.weights[rows].sum()) for rows in (here, here & given_rows.labels))
        step = (weight, weight * Fraction(score), positive)
        while steps and steps[-1][2] * step[0] >= step[2] * steps[-1][0]:
            step = tuple(map(sum, zip(steps.pop(), step, strict=True)))
        steps.append(step)
    return [(moment / weight, positive / weight) for weight, moment, positive in steps]


def on_the_line(steps: list[tuple[Fraction, Fraction]], score: float) -> float:
    """Straight lines between the steps, level before the first and after the last."""
    at = min(max(Fraction(score), steps[0][0]), steps[-1][0])
    for (left, low), (right, high) in pairwise(steps):
        if left <= at <= right:
            return float(low + (high - low) * (at - left) / (right - left))
    return float(steps[0][1] if at == steps[0][0] else steps[-1][1])


@property_test
@given(rows(weights=counts), st.lists(st.floats(-1, 1), max_size=5))
def test_the_probability_at_a_score_is_on_the_line_between_the_middles_of_isotonic_steps(given_rows, others):
    scores = np.concatenate((given_rows.scores, others))
    steps = isotonic_steps(given_rows)
    expected = [on_the_line(steps, score) for score in scores]
    assert rank(given_rows).isotonic().probability_at(scores) == pytest.approx(expected, abs=1e-9)


@property_test
@given(rows(weights=fractional_weights))
def test_the_probability_never_falls_with_the_score_and_is_constant_beyond_the_ranking(given_rows):
    smooth = rank(given_rows).isotonic()
    probability = smooth.probability_at(np.linspace(-2, 2, 401))
    assert (np.diff(probability) >= -1e-12).all()
    level = smooth.positives / (smooth.positives + smooth.negatives)
    far = smooth.probability_at(np.array([-1e300, 1e300]))
    assert far == pytest.approx([level[0], level[-1]], abs=1e-12)
    assert probability.min() >= 0
    assert probability.max() <= 1


def test_the_probability_at_scores_that_each_have_their_own_step_is_that_of_the_step():
    smooth = RankedScores([0.1, 0.2, 0.4], [1, 2, 3], [3, 2, 1]).isotonic()
    assert smooth.probability_at(np.array([0.1, 0.2, 0.3, 0.4])) == pytest.approx([0.25, 0.5, 0.625, 0.75])


def test_the_probability_of_a_single_score_is_its_share_everywhere():
    assert RankedScores([0.5], [1], [3]).probability_at(np.array([-9.0, 0.5, 9.0])).tolist() == [0.25] * 3


def test_an_empty_ranking_knows_no_probability():
    assert np.isnan(EMPTY.probability_at(np.array([0.1, 0.2]))).all()
    assert RankedScores([0.5], [1], [3]).probability_at(np.array([])).shape == (0,)


# ---- immutability and pickling ----


@pytest.mark.parametrize("name", ["scores", "positives", "negatives"])
def test_arrays_are_read_only(name):
    ranked = RankedScores([0.1, 0.2], [1.0, 0.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        getattr(ranked, name)[0] = 5.0


@pytest.mark.parametrize("part", ["positives", "negatives", "won"])
@pytest.mark.parametrize("side", ["below", "above"])
def test_cached_sums_are_read_only(part, side):
    sums = getattr(RankedScores([0.1, 0.2], [1.0, 0.0], [0.0, 1.0]), f"{part}_{side}")
    with pytest.raises(ValueError, match="read-only"):
        sums[0] = 5.0


def test_fields_cannot_be_assigned():
    with pytest.raises(AttributeError):
        EMPTY.scores = np.array([1.0])


class OwnsItsArray:
    """A container that hands out the very array it holds, as some data frames do."""

    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("container", [np.array, OwnsItsArray])
def test_the_callers_arrays_stay_writeable_and_unchanged(container):
    columns = [container([0.1, 0.2]), container([1.0, 0.0]), container([0.0, 1.0])]
    before = [np.array(column) for column in columns]
    RankedScores(*columns).isotonic().auc()
    for column, values in zip(columns, before, strict=True):
        assert np.asarray(column).flags.writeable
        np.testing.assert_array_equal(np.asarray(column), values)


def test_ranking_leaves_the_callers_rows_writeable_and_unchanged():
    labels, scores, weights = np.array([True, False, True]), np.array([0.3, 0.1, 0.2]), np.array([1.0, 0.0, 2.0])
    RankedScores.from_labels(labels, scores, weights).auc()
    assert [array.flags.writeable for array in (labels, scores, weights)] == [True, True, True]
    assert (labels.tolist(), scores.tolist(), weights.tolist()) == ([True, False, True], [0.3, 0.1, 0.2], [1, 0, 2])


def test_a_pickle_holds_the_three_arrays_and_no_cached_sums():
    ranked = RankedScores.from_labels([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    ranked.auc(), ranked.coverage()
    assert set(vars(pickle.loads(pickle.dumps(ranked)))) == {"scores", "positives", "negatives", "powers"}


@property_test
@given(rows(weights=fractional_weights), bands_between())
def test_a_pickled_ranking_gives_the_same_answers(given_rows, ends):
    ranked, band = rank(given_rows), RejectionBand(*ends)
    ranked.auc()
    loaded = pickle.loads(pickle.dumps(ranked))
    assert loaded.auc(band) == pytest.approx(ranked.auc(band), rel=0, abs=0, nan_ok=True)
    assert loaded.coverage(band) == ranked.coverage(band)
    assert best_band(loaded, 0.7) == best_band(ranked, 0.7)


def test_a_pickled_ranking_is_read_only():
    loaded = pickle.loads(pickle.dumps(RankedScores([0.1], [1.0], [1.0])))
    assert not loaded.scores.flags.writeable


def test_the_repr_shows_the_sizes():
    ranked = RankedScores.from_labels([0, 1, 1], [0.1, 0.1, 0.3], [1, 1, 0.5])
    assert repr(ranked) == "RankedScores(2 distinct scores, 1.5 positives, 1 negatives)"


# ---- missing classes and empty rankings ----


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_gives_a_nan_auc_and_standard_error(label):
    ranked = RankedScores.from_labels([label] * 3, [0.1, 0.2, 0.3])
    assert np.isnan([ranked.auc(), ranked.auc_standard_error()]).all()


def test_a_band_that_rejects_all_of_one_class_gives_a_nan_auc_and_standard_error():
    ranked = RankedScores.from_labels([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    band = RejectionBand(0.3, 0.4)
    assert np.isnan([ranked.auc(band), ranked.auc_standard_error(band)]).all()


@property_test
@given(rows(weights=fractional_weights))
def test_an_auc_is_nan_exactly_where_a_class_is_missing_even_with_fractional_weights(given_rows):
    ranked = rank(given_rows)
    for upper in ranked.scores:
        band = RejectionBand(ranked.scores[0], upper)
        selected = given_rows.labels[given_rows.scores > upper]
        assert np.isnan(ranked.auc(band)) == (selected.all() or not selected.any())


def test_a_class_of_one_row_gives_an_auc_without_standard_error():
    ranked = RankedScores.from_labels([0, 0, 1], [0.1, 0.2, 0.3])
    assert ranked.auc() == 1.0
    assert np.isnan(ranked.auc_standard_error())


def test_an_empty_ranking_answers_nan_and_has_no_rows():
    answers = [EMPTY.auc(), EMPTY.coverage(), EMPTY.prevalence, EMPTY.auc_standard_error(), EMPTY.score_at(0)]
    assert np.isnan(answers).all()
    assert (len(EMPTY), EMPTY.total, EMPTY.position_of(0.5)) == (0, 0.0, 0.0)


def test_no_rows_give_an_empty_ranking_with_or_without_weights():
    assert_same(RankedScores.from_labels([], []), EMPTY)
    assert_same(RankedScores.from_labels([], [], []), EMPTY)


# ---- errors ----


@pytest.mark.parametrize(
    ("labels", "scores", "weights", "message"),
    [
        ([0, 1], [0.1], None, "y_score must hold one score per row, got shape (1,) for 2 rows"),
        ([0, 1], [[0.1], [0.2]], None, "y_score must hold one score per row, got shape (2, 1) for 2 rows"),
        (
            [0, 1, 1],
            [0.1, nan, np.inf],
            None,
            (
                "y_score must be finite, got 2 NaN or infinite values among 3, the first in row 1; "
                "repair the model or drop those rows"
            ),
        ),
        ([[0, 1]], [[0.1, 0.2]], None, "y_true must be 1-d, got shape (1, 2)"),
        (
            ["yes", "no"],
            [0.1, 0.2],
            None,
            "y_true must be boolean, 0/1 or -1/1, got values such as ['yes', 'no']; pass y_true == positive_class",
        ),
        (
            [1, 2, 2],
            [0.1, 0.2, 0.3],
            None,
            "y_true must be boolean, 0/1 or -1/1, got values such as [1, 2]; pass y_true == positive_class",
        ),
        (
            [-1, 0, 1],
            [0.1, 0.2, 0.3],
            None,
            "y_true must be boolean, 0/1 or -1/1, got values such as [-1, 0, 1]; pass y_true == positive_class",
        ),
        (
            [0.0, nan, 1.0],
            [0.1, 0.2, 0.3],
            None,
            "y_true must be boolean, 0/1 or -1/1, got values such as [0.0, nan, 1.0]; pass y_true == positive_class",
        ),
        (
            [0, None, 1],
            [0.1, 0.2, 0.3],
            None,
            "y_true must be boolean, 0/1 or -1/1, got values such as [0, None, 1]; pass y_true == positive_class",
        ),
        ([0, 1], [0.1, 0.2], [1], "sample_weight must hold one weight per row, got shape (1,) for 2 rows"),
        (
            [0, 1],
            [0.1, 0.2],
            [1, nan],
            "sample_weight must be finite, got NaN or infinite values; drop those rows or set them to 0",
        ),
        (
            [0, 1],
            [0.1, 0.2],
            [1, -2.5],
            "sample_weight must not be negative, got -2.5 in row 1; use 0 to leave a row out",
        ),
        (
            [0, 1],
            [0.1, 0.2],
            [0, 0],
            "sample_weight must not be all zero: no row would count; pass None for equal weights",
        ),
    ],
)
def test_bad_rows_raise_with_the_argument_the_rule_and_the_value(labels, scores, weights, message):
    with pytest.raises(ValueError, match="must") as raised:
        RankedScores.from_labels(labels, scores, weights)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("scores", "positives", "negatives", "message"),
    [
        ([0.1, 0.2], [1], [1, 1], "scores, positives and negatives must have one length, got 2, 1 and 2"),
        ([0.1, nan], [1, 1], [1, 1], "scores must be a 1-d array of finite numbers"),
        ([0.1, 0.2], [1, np.inf], [1, 1], "positives must be a 1-d array of finite numbers"),
        ([0.1, 0.2], [1, 1], [[1, 1]], "negatives must be a 1-d array of finite numbers"),
        ([0.2, 0.1], [1, 1], [1, 1], "scores must be distinct and ascending; RankedScores.from_labels sorts them"),
        ([0.1, 0.1], [1, 1], [1, 1], "scores must be distinct and ascending; RankedScores.from_labels sorts them"),
        ([0.1, 0.2], [1, -1], [1, 1], "positives and negatives must not be negative"),
        ([0.1, 0.2], [1, 1], [-1, 1], "positives and negatives must not be negative"),
    ],
)
def test_bad_entries_raise_with_the_argument_and_the_rule(scores, positives, negatives, message):
    with pytest.raises(ValueError, match="must") as raised:
        RankedScores(scores, positives, negatives)
    assert str(raised.value) == message


def test_counts_above_the_exact_range_of_float32_stay_exact():
    rows_of_each_class = 2**24 + 1
    ranked = RankedScores(
        np.array([0.1, 0.2], dtype=np.float32), np.array([0, rows_of_each_class]), np.array([rows_of_each_class, 0])
    )
    assert floor(ranked.total) == 2 * rows_of_each_class


# ---- rows of unequal weight ----


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_the_effective_size_is_kishs_whatever_the_unit_of_the_weights(scale):
    assert effective_size(np.full(7, scale)) == 7
    assert effective_size(np.array([3.0, 1.0, 0.0]) * scale) == pytest.approx(16 / 10)


def test_equal_parts_hold_equal_weight_and_keep_ties_together():
    score = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert equal_parts(score, np.ones(6), 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert equal_parts(score[::-1], np.array([4.0, 1, 1, 1, 1, 0]), 2).tolist() == [1, 0, 0, 0, 0, 0]
    # The tie of four starts in the first third and ends in the last: its middle is in the second.
    assert equal_parts(np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.9]), np.ones(6), 3).tolist() == [0, 1, 1, 1, 1, 2]
