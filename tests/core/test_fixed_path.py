"""Bands along a path that other rows have fixed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import FixedPathBands, NestedBands, RankedScores, RejectionBand, RuleInput

coverages = st.floats(0.05, 1.0)


def rows(seed: int, n_rows: int = 60, decimals: int = 6) -> RankedScores:
    rng = np.random.default_rng(seed)
    scores = rng.random(n_rows).round(decimals)
    labels = rng.random(n_rows) < scores
    labels[:2] = (False, True)
    return RankedScores.from_labels(labels, scores).isotonic()


@given(seed=st.integers(0, 500), coverage=coverages, decimals=st.sampled_from([1, 2, 6]), n_rows=st.integers(2, 80))
def test_the_band_takes_the_rows_that_the_path_meets_first_within_the_budget(seed, coverage, decimals, n_rows):
    path, ranked = rows(seed), rows(seed + 1000, n_rows, decimals)
    band = FixedPathBands(ranked, path).band(coverage)
    inside = band.rejects(ranked.scores)
    depth = NestedBands(path, coverage).depth(ranked.scores)
    assert ranked.coverage(band) >= coverage - 1e-9
    if inside.any():
        assert depth[inside].max() < depth[~inside].min()


@given(seed=st.integers(0, 500), depth=st.floats(0.0, 1.2))
def test_the_band_of_a_depth_holds_the_scores_up_to_it_and_no_others(seed, depth):
    path = NestedBands(rows(seed), 0.8)
    scores = np.concatenate((np.linspace(-0.1, 1.1, 501), path.ranked.scores))
    band = path.band_of_depth(depth)
    known = path.depth(scores)
    limit = min(depth, path.greatest_depth)
    apart = np.abs(known - limit) > 1e-9  # at the depth itself rounding decides
    assert np.array_equal(band.rejects(scores)[apart], (known <= limit)[apart])


@given(seed=st.integers(0, 200), low=coverages, high=coverages)
def test_with_a_reference_the_bands_are_nested(seed, low, high):
    low, high = sorted((low, high))
    rule = FixedPathBands(rows(seed + 1), rows(seed), reference=0.8)
    wide, narrow = rule.band(low), rule.band(high)
    assert narrow.is_empty or (wide.lower <= narrow.lower <= narrow.upper <= wide.upper)


def test_labels_of_the_rows_that_say_how_far_to_go_do_not_matter():
    path, scores = rows(0), np.random.default_rng(1).random(50)
    first, second = (FixedPathBands(RankedScores.from_labels(y, scores), path) for y in (scores > 0.5, scores < 0.7))
    assert first.band(0.7) == second.band(0.7)
    assert first.is_fixed


def test_rows_that_the_path_never_meets_are_not_rejected():
    path = RankedScores.from_labels([0, 1, 0, 1], [0.4, 0.45, 0.5, 0.55]).isotonic()
    far = RankedScores.from_labels([0, 1, 0, 1], [0.0, 0.1, 0.9, 1.0])
    assert FixedPathBands(far, path).band(0.3) == RejectionBand()


def test_placed_on_other_rows_the_path_stays():
    rule = FixedPathBands(rows(1), rows(0))
    new = rule.placed_on(RuleInput.of_score(np.random.default_rng(2).random(200)))
    assert isinstance(new, FixedPathBands)
    assert new.path is rule.path
    assert new.is_replaced
    assert new.ranked.total == pytest.approx(200)


def test_after_a_label_shift_the_rows_of_the_path_count_by_the_new_shares():
    rng = np.random.default_rng(3)
    scores = rng.random(4000)
    positive = rng.random(4000) < scores
    path = RankedScores.from_labels(positive, scores).isotonic()
    # Every second positive is gone: the share falls from a half to a third.
    kept = ~positive | (rng.random(4000) < 0.5)
    new = FixedPathBands(path, path).placed_on(RuleInput.of_score(scores[kept]), label_shift=True)
    assert isinstance(new, FixedPathBands)
    assert new.path.prevalence == pytest.approx(1 / 3, abs=0.04)


@pytest.mark.parametrize("reference", [0.0, 1.5])
def test_a_reference_is_a_coverage(reference):
    with pytest.raises(ValueError, match="reference must be in"):
        FixedPathBands(rows(0), rows(1), reference)
