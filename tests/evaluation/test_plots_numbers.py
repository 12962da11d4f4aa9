"""The numbers behind the pictures: profiles, surfaces and reference curves against slow, obvious versions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given

from aucross.core import RankedScores, RejectionBand, oracle_band
from aucross.evaluation import selective_auc
from aucross.evaluation.plots import CAPDisplay, auc_surface, cap_curve
from aucross.evaluation.plots.coverage_curve import MAXIMUM_PROBABILITY, ORACLE, reference_curves
from tests import strategies
from tests.strategies import property_test

# 20 rows by falling score, 7 of them positive, as in the paper's Figure 1.
TWENTY = np.array([1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0])
FALLING = -np.arange(20.0)


def without(row: int) -> np.ndarray:
    return np.arange(20) != row


# ---- the cumulative accuracy profile ----


def test_profile_counts_positives_among_the_rows_taken():
    curve = cap_curve(TWENTY, FALLING)
    np.testing.assert_array_equal(curve.rows, np.arange(21))
    np.testing.assert_array_equal(curve.positives, np.concatenate(([0], np.cumsum(TWENTY))))


@property_test
@given(strategies.rows(both_classes=True))
def test_gini_is_the_share_of_the_area_of_a_perfect_ranking(rows):
    curve = cap_curve(rows.labels, rows.scores, sample_weight=rows.weights)
    share, found = curve.points()
    prevalence = curve.n_positives / curve.n_rows
    area_to_diagonal = np.trapezoid(found - share, share)
    assert curve.gini == pytest.approx(area_to_diagonal / ((1 - prevalence) / 2), abs=1e-9)


def test_weight_two_is_the_row_twice_in_a_profile():
    y, score, weight = np.array([0, 1, 0, 1]), np.array([0.1, 0.3, 0.5, 0.9]), np.array([1, 2, 0, 3])
    weighted, repeated = cap_curve(y, score, sample_weight=weight), cap_curve(y.repeat(weight), score.repeat(weight))
    np.testing.assert_array_equal(weighted.rows, repeated.rows)
    np.testing.assert_array_equal(weighted.positives, repeated.positives)


@pytest.mark.parametrize("row", range(20))
def test_rejecting_a_row_takes_as_many_cells_as_the_paper_counts(row):
    """Equation 5: (r' - 1) + (t - 1) + 1/2 cells for a positive; for a negative its column, t cells."""
    removed = cap_curve(TWENTY, FALLING).area - cap_curve(TWENTY, FALLING, without(row)).area
    positives_so_far, rank_from_below = TWENTY[: row + 1].sum(), 20 - row
    is_positive = TWENTY[row] == 1
    expected = (rank_from_below - 1) + (positives_so_far - 1) + 0.5 if is_positive else positives_so_far
    assert removed == pytest.approx(expected)


def test_a_perfect_profile_climbs_through_the_positives_first():
    x, y = cap_curve(TWENTY, FALLING).perfect.points()
    np.testing.assert_allclose(x, [0, 7 / 20, 1])
    np.testing.assert_allclose(y, [0, 1, 1])


def test_shares_of_positives_are_nan_where_there_is_none():
    curve = cap_curve([0, 0, 1], [0.1, 0.2, 0.3], [True, True, False])
    assert np.isnan(curve.auc)
    assert np.isnan(curve.points()[1]).all()


def test_a_profile_without_rows_is_one_point():
    curve = cap_curve([0, 1], [0.1, 0.2], [False, False])
    assert curve.rows.tolist() == [0]
    assert np.isnan(curve.points()[0]).all()


def test_mask_of_removed_pieces_must_fit_the_profile():
    with pytest.raises(ValueError, match="one entry per row, got 2 for 20"):
        CAPDisplay(cap_curve(TWENTY, FALLING), removed=[True, False])


# ---- the surface ----


@property_test
@given(strategies.rows(both_classes=True, min_size=4))
def test_surface_of_few_scores_holds_every_band_that_keeps_the_coverage(rows):
    labels, scores, weights = rows.take(rows.weights > 0)
    distinct = np.unique(scores)
    expected = np.full((len(distinct), len(distinct)), np.nan)
    for i, lower in enumerate(distinct):
        for j, upper in enumerate(distinct[i:], start=i):
            kept = (scores < lower) | (scores > upper)
            if weights[kept].sum() >= (0.6 - 1e-9) * weights.sum():
                expected[j, i] = selective_auc(labels, scores, kept, sample_weight=weights)
    if np.isnan(expected).all():
        with pytest.raises(ValueError, match="leaves no band to draw"):
            auc_surface(*rows[:2], 0.6, sample_weight=rows.weights)
        return
    surface = auc_surface(*rows[:2], 0.6, sample_weight=rows.weights)
    np.testing.assert_array_equal(surface.lower, distinct)
    np.testing.assert_array_equal(surface.upper, distinct)
    np.testing.assert_allclose(surface.auc, expected, atol=1e-12)


class Many(NamedTuple):
    """Labels and scores of rows."""

    positive: np.ndarray
    score: np.ndarray


@pytest.fixture(scope="module")
def many() -> Many:
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.3
    return Many(positive, 1 / (1 + np.exp(-rng.normal(positive, 1.0))))


def test_every_point_of_a_binned_surface_is_the_auc_of_its_band(many):
    surface = auc_surface(*many, 0.8, n_bins=20)
    ranked = RankedScores.from_labels(*many)
    assert surface.auc.shape == (20, 20)
    for j, i in np.argwhere(~np.isnan(surface.auc)):
        band = RejectionBand(surface.lower[i], surface.upper[j])
        assert surface.auc[j, i] == pytest.approx(ranked.auc(band))
        assert ranked.coverage(band) >= 0.8


def test_bins_are_quantiles(many):
    surface = auc_surface(*many, 0.8, n_bins=20)
    np.testing.assert_allclose(surface.rank_edges, np.linspace(0, 1, 21), atol=1 / 3000)


def test_no_point_of_the_surface_is_above_the_oracle(many):
    best = RankedScores.from_labels(*many).auc(oracle_band(*many, 0.9))
    surface = auc_surface(*many, 0.9)
    assert surface.best <= best + 1e-12
    assert surface.best == pytest.approx(best, abs=5e-4)


@pytest.mark.parametrize(("coverage", "n_bins"), [(0.5, 300), (0.9, 400), (0.99, 600)])
def test_higher_coverage_gets_a_finer_grid(many, coverage, n_bins):
    assert len(auc_surface(*many, coverage).lower) == pytest.approx(n_bins, abs=1)


def test_a_surface_of_weights_equals_that_of_repeated_rows():
    y, score, weight = np.array([0, 1, 0, 1, 1]), np.arange(5.0), np.array([1, 2, 1, 3, 2])
    weighted = auc_surface(y, score, 0.5, sample_weight=weight)
    repeated = auc_surface(y.repeat(weight), score.repeat(weight), 0.5)
    np.testing.assert_allclose(weighted.auc, repeated.auc)
    np.testing.assert_allclose(weighted.rank_edges, repeated.rank_edges)


@pytest.mark.parametrize(
    ("y", "score", "options", "message"),
    [
        ([0, 0, 0], [1, 2, 3], {}, "y_true must hold both classes, got 0 positives and 3 negatives"),
        ([0, 1, 0, 1], [5, 5, 5, 5], {}, "coverage 0.5 leaves no band to draw: of the 1 distinct scores none"),
        ([0, 1, 0, 1], [1, 2, 3, 4], {"coverage": 1.0}, "coverage must be below 1 for a surface, got 1"),
        ([0, 1, 0, 1], [1, 2, 3, 4], {"coverage": 50}, "for 50 % pass 0.5"),
        ([0, 1, 0, 1], [1, 2, 3, 4], {"n_bins": 0}, "n_bins must be a positive whole number or None, got 0"),
    ],
)
def test_surface_says_what_is_wrong(y, score, options, message):
    with pytest.raises(ValueError, match=message):
        auc_surface(y, score, **{"coverage": 0.5, **options})


# ---- reference curves ----


def test_oracle_curve_holds_the_best_band_of_each_coverage(many):
    coverage, auc = reference_curves(many, [0.8, 1.0, 0.9], True, None, None)[ORACLE]
    ranked = RankedScores.from_labels(*many)
    bands = [oracle_band(*many, target) for target in (1.0, 0.9, 0.8)]
    np.testing.assert_allclose(coverage, [ranked.coverage(band) for band in bands])
    np.testing.assert_allclose(auc, [ranked.auc(band) for band in bands])


def test_maximum_probability_rejects_the_least_confident_rows(many):
    confidence = np.maximum(many.score, 1 - many.score)
    coverage, auc = reference_curves(many, [0.8], False, confidence, None)[MAXIMUM_PROBABILITY]
    kept = confidence > np.sort(confidence)[599]
    assert coverage[0] == pytest.approx(0.8)
    assert auc[0] == pytest.approx(selective_auc(*many, kept))


def test_reference_curves_know_weights(many):
    weight = np.random.default_rng(1).integers(1, 4, len(many.score))
    repeated = Many(many.positive.repeat(weight), many.score.repeat(weight))
    confidence = np.maximum(many.score, 1 - many.score)
    weighted = reference_curves(many, [0.9, 0.7], True, confidence, weight)
    expected = reference_curves(repeated, [0.9, 0.7], True, confidence.repeat(weight), None)
    for name in (ORACLE, MAXIMUM_PROBABILITY):
        np.testing.assert_allclose(weighted[name], expected[name])
