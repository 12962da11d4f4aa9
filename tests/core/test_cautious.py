from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, comb, log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from aucross.core import (
    AUCTarget,
    BandRule,
    CenteredBands,
    GroupBands,
    InfluenceBands,
    OptimalBands,
    RankedRule,
    RankedScores,
    RejectionBand,
    RuleInput,
    ThresholdBands,
    estimate_auc_bands,
)
from aucross.core.cautious import (
    Caution,
    _some_block_is_longer,
    check_confidence,
    rejections_that_keep,
    smallest_size_that_keeps,
)
from aucross.core.influence import ExpectedAUC, PairwiseMetric
from tests.strategies import property_test

confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
sizes = st.integers(1, 3000)
shares = st.floats(0.05, 0.995)


def uniform_points(n_rows: int, repetitions: int, seed: int = 0) -> np.ndarray:
    """Sorted uniform points with 0 before and 1 after them, a row per repetition."""
    rng = np.random.Generator(np.random.SFC64(seed))
    inner = np.sort(rng.random((repetitions, n_rows)), axis=1)
    return np.pad(inner, ((0, 0), (1, 1)), constant_values=(0, 1))


def longest_blocks(points: np.ndarray, spacings: int) -> np.ndarray:
    return (points[:, spacings:] - points[:, :-spacings]).max(axis=1)


def binomial_error(share: float, repetitions: int) -> float:
    return float(np.sqrt(share * (1 - share) / repetitions))


def informative_rows(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels and uniform scores: the score is the probability of being positive, so the AUC is 5/6."""
    scores = rng.random(n_rows)
    return rng.random(n_rows) < scores, scores


# ---- the law of the longest block ----


@pytest.mark.parametrize(
    ("n_rows", "rejected", "spacings"),
    [
        (60, 0.1, 1),
        (50, 0.2, 3),
        (50, 0.5, 16),
        (50, 0.7, 26),
        (150, 0.05, 1),
        (200, 0.05, 2),
        (200, 0.1, 9),
        (200, 0.15, 16),
        (200, 0.2, 25),
        (200, 0.4, 62),
        (200, 0.9, 171),
        (1000, 0.05, 28),
        (1000, 0.3, 257),
    ],
)
def test_the_bound_is_the_simulated_chance_of_a_longer_block_or_little_more(n_rows, rejected, spacings):
    repetitions = 20_000 if n_rows < 1000 else 6_000
    simulated = float((longest_blocks(uniform_points(n_rows, repetitions), spacings) > rejected).mean())
    bound = _some_block_is_longer(n_rows, spacings, rejected)
    assert 0.01 < bound < 0.2
    noise = 3 * binomial_error(bound, repetitions)
    assert simulated - noise <= bound <= 1.06 * simulated + noise


@pytest.mark.parametrize(("n_rows", "rejected"), [(20, 0.3), (20, 0.6), (100, 0.09), (1000, 0.011)])
def test_for_single_spacings_the_bound_is_the_known_law_of_the_longest_or_little_more(n_rows, rejected):
    terms = range(1, int(1 / rejected) + 1)
    exact = sum((-1) ** (j + 1) * comb(n_rows + 1, j) * (1 - j * rejected) ** n_rows for j in terms)
    assert exact <= _some_block_is_longer(n_rows, 1, rejected) * (1 + 1e-12) <= 1.05 * exact * (1 + 1e-12)


@pytest.mark.parametrize("n_rows", [30, 1000, 10**6])
def test_the_bound_has_no_jump_where_one_move_becomes_all_there_is(n_rows):
    spacings = n_rows // 2 - 2 * round(n_rows**0.5) + 1
    below, at, above = (_some_block_is_longer(n_rows, spacings, 0.5 + step) for step in (-1e-9, 0.0, 1e-9))
    assert below == pytest.approx(at, rel=1e-3)
    assert above == pytest.approx(at, rel=1e-3)


@pytest.mark.parametrize(("n_rows", "coverage"), [(100, 0.8), (200, 0.9), (200, 0.5), (1000, 0.95)])
def test_the_rows_allowed_keep_the_coverage_wherever_the_band_lies_and_two_more_do_not(n_rows, coverage):
    repetitions = 8_000
    points = uniform_points(n_rows, repetitions, seed=1)[:, 1:-1]
    rows = rejections_that_keep(n_rows, coverage, 0.95)
    kept, kept_by_two_more = (
        float((longest_blocks(points, held - 1) <= 1 - coverage).mean()) for held in (rows, rows + 2)
    )
    assert kept >= 0.95 - 2 * binomial_error(0.95, repetitions)
    assert kept_by_two_more < 0.95


# ---- how many rows ----


@pytest.mark.parametrize("n_rows", [59, 100, 777, 10_000, 10**6])
@pytest.mark.parametrize("coverage", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_a_threshold_follows_the_beta_law_of_order_statistics(n_rows, coverage, confidence):
    rows = rejections_that_keep(n_rows, coverage, confidence, fixed=True)
    if rows:
        assert beta(rows, n_rows + 1 - rows).cdf(1 - coverage) >= confidence
    assert beta(rows + 1, n_rows - rows).cdf(1 - coverage) < confidence


@property_test
@given(sizes, shares, confidences)
def test_ties_cost_two_rows_of_a_search_and_one_of_a_threshold(n_rows, coverage, confidence):
    for fixed, cost in ((False, 2), (True, 1)):
        rows, tied = (
            rejections_that_keep(n_rows, coverage, confidence, fixed=fixed, tied=tie) for tie in (False, True)
        )
        if rows < n_rows - 1:  # where the last row must stay, ties may cost less
            assert tied == max(rows - cost, 0)


@property_test
@given(sizes, shares, confidences, st.booleans())
def test_a_place_fixed_in_advance_allows_no_fewer_rows_and_neither_more_than_the_share(
    n_rows, coverage, confidence, tied
):
    searched, fixed = (
        rejections_that_keep(n_rows, coverage, confidence, fixed=fix, tied=tied) for fix in (False, True)
    )
    assert searched <= fixed + 1  # one, where the search is not worse: a band from row to row loses both outer spacings
    if confidence > 0.5:
        assert searched <= n_rows * (1 - coverage) + 1


@property_test
@given(sizes, shares, confidences, st.booleans(), st.booleans())
def test_more_rows_or_less_asked_never_allows_fewer_rejections(n_rows, coverage, confidence, fixed, tied):
    rows = rejections_that_keep(n_rows, coverage, confidence, fixed=fixed, tied=tied)
    assert rejections_that_keep(n_rows + 1, coverage, confidence, fixed=fixed, tied=tied) >= rows
    assert rejections_that_keep(n_rows, 0.99 * coverage, confidence, fixed=fixed, tied=tied) >= rows
    assert rejections_that_keep(n_rows, coverage, 0.9 * confidence, fixed=fixed, tied=tied) >= rows


@pytest.mark.parametrize("coverage", [0.99, 0.9, 0.8, 0.5])
def test_the_margin_shrinks_as_the_root_of_the_rows_and_is_below_that_of_kuiper(coverage):
    given_up = [
        1 - coverage - rejections_that_keep(n_rows, coverage, 0.95) / n_rows for n_rows in (10**4, 10**6, 10**8)
    ]
    assert all(8 < more / fewer < 12.5 for more, fewer in pairwise(given_up))
    assert all(margin < 1.747 / n_rows**0.5 for margin, n_rows in zip(given_up, (10**4, 10**6, 10**8), strict=True))


@pytest.mark.parametrize("n_rows", [20_000, 10**6, 10**8])
def test_any_number_of_rows_takes_a_few_binomial_terms(n_rows, monkeypatch):
    terms = []
    binomial = rejections_that_keep.__globals__["betainc"]
    monkeypatch.setitem(
        rejections_that_keep.__globals__, "betainc", lambda *args: terms.append(args) or binomial(*args)
    )
    rejections_that_keep(n_rows, 0.9123, 0.95)
    assert len(terms) < 10 * log2(n_rows)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_one_row_or_none_allows_nothing(n_rows):
    assert rejections_that_keep(n_rows, 0.01, 0.01) == 0


def test_full_coverage_allows_nothing():
    assert rejections_that_keep(10**6, 1.0, 0.5) == 0


def test_one_row_always_stays():
    assert rejections_that_keep(5, 0.001, 0.01) == 4


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_the_smallest_size_allows_a_row_and_one_less_does_not(coverage, fixed, tied):
    size = smallest_size_that_keeps(coverage, 0.95, fixed=fixed, tied=tied)
    assert rejections_that_keep(size, coverage, 0.95, fixed=fixed, tied=tied) > 0
    assert rejections_that_keep(size - 1, coverage, 0.95, fixed=fixed, tied=tied) == 0


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95, 0.999])
def test_the_smallest_size_of_a_threshold_is_that_of_one_row_below_the_quantile(coverage):
    assert smallest_size_that_keeps(coverage, 0.95, fixed=True) == ceil(log(0.05) / log(coverage))


# ---- rules with a promise ----


def cautious(rule: BandRule, n_rows: int, confidence: float) -> BandRule:
    """A rule made cautious, with ties where its ranking has any."""
    tied = rule.ranking is None or len(rule.ranking) < n_rows
    return replace(rule, coverage_map=Caution(n_rows, confidence, tied=tied))


def rejections(promised: BandRule, coverage: float) -> int:
    """How many of the rows that place the band it may hold at most."""
    caution = promised.coverage_map
    return rejections_that_keep(
        caution.n_rows, coverage, caution.confidence, fixed=promised.is_fixed, tied=caution.tied
    )


def test_a_searched_band_keeps_its_promise_on_scores_of_known_distribution():
    rng = np.random.default_rng(2)
    kept, kept_without = [], []
    for _ in range(1000):
        rule = OptimalBands(RankedScores.from_labels(*informative_rows(300, rng)).isotonic())
        for shares_kept, chosen in ((kept, cautious(rule, 300, 0.95)), (kept_without, rule)):
            band = chosen.band(0.8)
            shares_kept.append(1 - (band.upper - band.lower) >= 0.8)
    assert np.mean(kept) >= 0.95 - 2 * binomial_error(0.95, 1000)
    assert np.mean(kept_without) < 0.8


def test_a_threshold_keeps_its_promise_and_no_more():
    rng = np.random.default_rng(3)
    kept = []
    for _ in range(2000):
        rule = ThresholdBands(RankedScores.from_labels(*informative_rows(400, rng)))
        kept.append(1 - cautious(rule, 400, 0.9).band(0.8).upper >= 0.8)
    rows = rejections_that_keep(400, 0.8, 0.9, fixed=True)
    law = beta(rows, 400 + 1 - rows).cdf(0.2)
    assert 0.9 <= law < 0.92
    assert abs(np.mean(kept) - law) < 3 * binomial_error(0.9, 2000)


@pytest.mark.parametrize("steps", [20, 100, 1000])
@pytest.mark.parametrize("fixed", [False, True])
def test_with_ties_even_the_worst_band_that_holds_the_rows_keeps_the_coverage(steps, fixed):
    n_rows, repetitions = 400, 3000
    rows = rejections_that_keep(n_rows, 0.8, 0.95, fixed=fixed, tied=True)
    rng = np.random.default_rng(4)
    scores = np.floor(steps * rng.random((repetitions, n_rows)))
    shares = np.array([widest_share(row, rows, steps, from_lowest=fixed) for row in scores])
    assert np.mean(shares <= 0.2 + 1e-12) >= 0.95 - 2 * binomial_error(0.95, repetitions)


def widest_share(scores: np.ndarray, rows: int, steps: int, *, from_lowest: bool) -> float:
    """The largest share of 0, 1, ..., steps - 1 in a band from score to score that holds no more than so many rows."""
    distinct, counts = np.unique(scores, return_counts=True)
    below = np.concatenate(([0], np.cumsum(counts)))
    starts = np.arange(1 if from_lowest else len(distinct))
    stops = np.searchsorted(below, below[starts] + rows, side="right") - 1
    lowest = np.zeros(1) if from_lowest else distinct[starts]
    return float(np.where(stops > starts, distinct[stops - 1] + 1 - lowest, 0.0).max() / steps)


RULES = {
    "optimal": OptimalBands,
    "any width": lambda ranked: OptimalBands(ranked, AUCTarget("any")),
    "ks": lambda ranked: OptimalBands(ranked, "ks"),
    "threshold": ThresholdBands,
}


@pytest.mark.parametrize("rule_of", RULES.values(), ids=RULES.keys())
@property_test
@given(st.integers(100, 800), st.floats(0.3, 0.9), st.booleans())
def test_the_band_holds_exactly_the_rows_allowed_in_spite_of_rounding(rule_of, n_rows, coverage, isotonic):
    labels, scores = informative_rows(n_rows, np.random.default_rng(n_rows))
    ranked = RankedScores.from_labels(labels, scores)
    promised = cautious(rule_of(ranked.isotonic() if isotonic else ranked), n_rows, 0.95)
    held = int(promised.band(coverage).rejects(scores).sum())
    if rule_of in (OptimalBands, ThresholdBands):
        # A full-width band may be cut off at the last row.
        assert held == rejections(promised, coverage) or promised.band(coverage).upper == scores.max()
    assert held <= rejections(promised, coverage)


@property_test
@given(st.integers(50, 800), st.floats(0.1, 0.9), st.sampled_from([3, 10, 10**9]))
def test_centred_bands_hold_no_more_rows_than_allowed_though_they_take_one_more_and_whole_ties(n_rows, coverage, steps):
    labels, scores = informative_rows(n_rows, np.random.default_rng(n_rows))
    scores = np.floor(scores * steps)
    rule = estimate_auc_bands(RankedScores.from_labels(labels, scores), placement="centered")
    promised = cautious(rule, n_rows, 0.95)
    band = promised.band(coverage)
    assert band.rejects(scores).sum() <= rejections(promised, coverage)
    assert promised.coverage_map.tied == (steps < 10**9)
    if not band.is_empty:
        assert band == rule.band(promised.coverage_to_place(coverage))


def test_a_centred_band_uses_the_rows_allowed():
    rule = CenteredBands(RankedScores.from_labels([0, 1] * 500, np.arange(1000)), center=400)
    promised = cautious(rule, 1000, 0.95)
    held = promised.band(0.9).rejects(np.arange(1000)).sum()
    assert rejections(promised, 0.9) == 71
    assert held in (70, 71)


@pytest.mark.parametrize("rule_of", RULES.values(), ids=RULES.keys())
def test_at_full_coverage_nothing_is_rejected(rule_of):
    promised = cautious(rule_of(RankedScores.from_labels([0, 1] * 50, np.arange(100))), 100, 0.95)
    assert promised.band(1.0).is_empty
    assert promised.coverage_to_place(1.0) == 1.0


def test_too_few_rows_give_the_empty_band():
    promised = cautious(OptimalBands(RankedScores.from_labels([0, 1] * 50, np.arange(100))), 100, 0.95)
    assert promised.band(0.95).is_empty
    assert promised.coverage_to_place(0.95) == 1.0
    assert not promised.band(0.9).is_empty


def test_whether_the_place_is_fixed_is_read_from_the_rule():
    distinct = RankedScores.from_labels([0, 1] * 200, np.arange(400))
    assert rejections(cautious(ThresholdBands(distinct), 400, 0.95), 0.9) == rejections_that_keep(
        400, 0.9, 0.95, fixed=True
    )
    assert rejections(cautious(OptimalBands(distinct), 400, 0.95), 0.9) == rejections_that_keep(400, 0.9, 0.95) == 23


def test_ties_are_the_safe_answer():
    distinct = RankedScores.from_labels([0, 1] * 200, np.arange(400))
    assert rejections(OptimalBands(distinct, coverage_map=Caution(400, 0.95)), 0.9) == rejections_that_keep(
        400, 0.9, 0.95, tied=True
    )


def test_the_ranking_of_the_rule_within_is_at_hand():
    ranked = RankedScores.from_labels([0, 1], [1, 2])
    assert cautious(OptimalBands(ranked), 2, 0.9).ranking is ranked


def influence_bands(n_rows: int) -> tuple[InfluenceBands, RuleInput]:
    """A rule on one score column and two class probabilities, and what it reads of its own rows."""
    labels, scores = informative_rows(n_rows, np.random.default_rng(5))
    columns, probabilities = scores[:, None], np.column_stack((1 - scores, scores))
    score_bands = OptimalBands(RankedScores.from_labels(labels, scores).isotonic())
    objective = ExpectedAUC(columns, probabilities, PairwiseMetric(2).contests)
    return InfluenceBands(objective, score_bands), RuleInput(columns, probabilities)


def test_a_rule_on_more_than_one_score_is_asked_for_band_and_score_at_the_same_coverage():
    rule, read = influence_bands(600)
    promised = cautious(rule, 600, 0.95)
    asked = promised.coverage_to_place(0.8)
    assert asked == 1 - rejections(promised, 0.8) / 600
    assert promised.band(0.8) == rule.band(asked)
    score = promised.selection_score(read, 0.8)
    assert (score == rule.selection_score(read, asked)).all()
    assert promised.band(0.8).rejects(score).sum() <= rejections(promised, 0.8)
    assert promised.ranking is None


def test_where_nothing_can_be_promised_a_rule_on_more_than_one_score_rejects_nothing():
    rule, read = influence_bands(50)
    promised = cautious(rule, 50, 0.95)
    assert rejections(promised, 0.95) == 0
    assert promised.band(0.95).selects(promised.selection_score(read, 0.95)).all()


def test_placed_on_other_rows_the_promise_goes_by_their_number_and_ties():
    rng = np.random.default_rng(6)
    promised = cautious(OptimalBands(RankedScores.from_labels(*informative_rows(300, rng))), 300, 0.95)
    scores = rng.random(2000)
    again, tied = (promised.placed_on(RuleInput.of_score(part)) for part in (scores, scores.round(2)))
    assert again.coverage_map == Caution(2000, 0.95, tied=False)
    assert again.is_replaced
    assert not promised.is_replaced
    assert again.band(0.9).rejects(scores).sum() == rejections_that_keep(2000, 0.9, 0.95)
    assert tied.coverage_map.tied
    assert tied.band(0.9).rejects(scores.round(2)).sum() <= rejections_that_keep(2000, 0.9, 0.95, tied=True)


def test_a_promise_is_not_placed_on_weighted_rows():
    promised = cautious(ThresholdBands(RankedScores.from_labels([0, 1], [1, 2])), 2, 0.95)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        promised.placed_on(RuleInput.of_score(np.arange(3.0), np.ones(3)))


def test_a_number_of_rows_to_reject_needs_no_promise():
    rule = ThresholdBands(RankedScores.from_labels([0, 1], [1, 2]))
    scores, order = RuleInput.of_score(np.array([3.0, 1.0, 2.0])), np.arange(3)
    rejected = cautious(rule, 2, 0.95).rows_to_reject(scores, 2, order)
    assert sorted(rejected) == sorted(rule.rows_to_reject(scores, 2, order)) == [1, 2]


@dataclass(frozen=True)
class WholeOrNothing(RankedRule):
    """Rejects every row at any coverage below 1, however small the budget."""

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:
        raise NotImplementedError

    def place(self, coverage: float) -> RejectionBand:
        return RejectionBand(-np.inf, np.inf) if coverage < 1 else RejectionBand()


def test_a_rule_that_never_keeps_its_budget_is_left_with_the_empty_band():
    promised = cautious(WholeOrNothing(RankedScores.from_labels([0, 1] * 50, np.arange(100))), 100, 0.95)
    assert promised.band(0.5).is_empty
    assert promised.coverage_to_place(0.5) == 1.0


def test_a_promise_survives_pickling_and_shows_what_it_is():
    promised = cautious(OptimalBands(RankedScores.from_labels([0, 1] * 50, np.arange(100))), 100, 0.95)
    copy = pickle.loads(pickle.dumps(promised))
    assert copy.band(0.8) == promised.band(0.8)
    assert repr(copy.coverage_map) == "Caution(n_rows=100, confidence=0.95, tied=False)"


# ---- bad input ----


@pytest.mark.parametrize(
    ("confidence", "error", "message"),
    [
        (1.0, ValueError, "coverage_confidence must be below 1, got 1"),
        (0.0, ValueError, "coverage_confidence must be in"),
        (95, ValueError, "for 95 % pass 0.95"),
        ("high", TypeError, "coverage_confidence must be a number"),
    ],
)
def test_a_confidence_that_cannot_be_is_refused(confidence, error, message):
    with pytest.raises(error, match=message):
        check_confidence(confidence, name="coverage_confidence")


@pytest.mark.parametrize("n_rows", [-1, 10.5, "ten"])
def test_a_number_of_rows_that_cannot_be_is_refused(n_rows):
    with pytest.raises(ValueError, match="n_rows must be a whole number"):
        rejections_that_keep(n_rows, 0.9, 0.95)
    with pytest.raises(ValueError, match="n_rows must be a whole number"):
        Caution(n_rows, 0.95)


def test_no_number_of_rows_promises_a_rejection_at_full_coverage():
    with pytest.raises(ValueError, match="coverage must be below 1"):
        smallest_size_that_keeps(1.0, 0.95)


def test_a_coverage_in_per_cent_is_refused():
    with pytest.raises(ValueError, match=r"for 90 % pass 0\.9"):
        rejections_that_keep(100, 90, 0.95)


# ---- what it states ----


def test_a_promise_places_a_higher_coverage_and_states_how_many_rows_it_needs():
    rule, promise = (
        ThresholdBands(RankedScores.from_labels(np.ones(50), np.arange(50))),
        Caution(n_rows=50, confidence=0.95, tied=False),
    )
    cautious = replace(rule, coverage_map=promise)
    assert cautious.coverage_to_place(0.8) > 0.8 == rule.coverage_to_place(0.8)
    assert promise.rows_needed(cautious, 0.99) == smallest_size_that_keeps(0.99, 0.95, fixed=True)
    assert promise.rows_needed(cautious, 0.8) is promise.rows_needed(cautious, 1.0) is None


def test_a_rule_names_the_rules_of_its_groups():
    rule = ThresholdBands(RankedScores.from_labels(np.ones(50), np.arange(50)))
    assert rule.rules_by_group == {None: rule}
    assert GroupBands({"a": rule, "b": rule}).rules_by_group == {"a": rule, "b": rule}
