"""Estimates of re-weighted rows against the obvious: repeat the rows, then compute each metric on each selection."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from aucross.evaluation import evaluate_selections, selective_auc
from aucross.evaluation.catalogue import draw_weights
from tests.strategies import bands_between, counts, fractional_weights, no_weights, property_test, rows

METRICS = ("achieved_coverage", "selective_auc", "selective_accuracy", "positive_rate")


class EvaluationRows(NamedTuple):
    """Labels, scores and answers."""

    positive: np.ndarray
    score: np.ndarray
    predicted: np.ndarray

    @property
    def correct(self):
        return self.positive == self.predicted

    def take(self, rows):
        return EvaluationRows(*(values[rows] for values in self))


def draw_counts(n_rows, n_bootstrap, seed):
    return (weight.astype(int) for weight in draw_weights(np.ones(n_rows), n_bootstrap, seed))


def judged_rows(positive, score, correct) -> EvaluationRows:
    """Rows whose predictions are right where they are said to be."""
    return EvaluationRows(positive, score, positive == correct)


def selection_statistics(given_rows, masks, counts, weight=None) -> SimpleNamespace:
    """The metrics of every selection (columns) under every weighting of the rows (rows)."""
    selections = {1.0 - number / 1000: mask for number, mask in enumerate(masks)}
    found = []
    for count in counts:
        own = count * (1.0 if weight is None else weight)
        if own.any():
            evaluation = evaluate_selections(*given_rows, selections, sample_weight=own, n_bootstrap=0)
            found.append([evaluation.estimates[name] for name in METRICS])
        else:
            found.append(np.full((len(METRICS), len(masks)), nan))
    return SimpleNamespace(**dict(zip(METRICS, np.array(found).swapaxes(0, 1), strict=True)))


def obvious(given_rows: EvaluationRows, mask, count, weight=None) -> tuple[float, ...]:
    """The four metrics on the resample itself."""
    resample = np.repeat(np.arange(len(count)), count)
    if weight is not None:
        resample = resample[weight[resample] > 0]
    drawn_weight = np.ones(len(resample)) if weight is None else weight[resample]
    coverage = drawn_weight[mask[resample]].sum() / drawn_weight.sum() if len(resample) else nan
    kept, kept_weight = resample[mask[resample]], drawn_weight[mask[resample]]
    if not len(kept):
        return coverage, nan, nan, nan
    positive = given_rows.positive[kept]
    both = positive.any() and not positive.all()
    return (
        coverage,
        roc_auc_score(positive, given_rows.score[kept], sample_weight=kept_weight) if both else nan,
        np.average(given_rows.correct[kept], weights=kept_weight),
        np.average(positive, weights=kept_weight),
    )


def assert_obvious(given_rows, masks, replicates, weight=None, tolerance=1e-10):
    statistics = selection_statistics(given_rows, masks, iter(replicates), weight)
    for name in METRICS:
        assert getattr(statistics, name).shape == (len(replicates), len(masks))
    for number, count in enumerate(replicates):
        for column, mask in enumerate(masks):
            found = [getattr(statistics, name)[number, column] for name in METRICS]
            expected = obvious(given_rows, mask, count, weight)
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=f"mask {column}")


def make_rows(n, distinct=None, seed=0) -> EvaluationRows:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.35
    score = rng.random(n) + 0.4 * positive
    if distinct is not None:
        score = np.floor(score * distinct) / distinct
    return judged_rows(positive, score, rng.random(n) < 0.8)


def bands(given_rows, half_widths=(0.02, 0.05, 0.1, 0.2, 0.4), center=0.6):
    return [np.abs(given_rows.score - center) > half_width for half_width in half_widths]


def half_of_each_tie(given_rows):
    """Select every second row of each score."""
    order = np.argsort(given_rows.score, kind="stable")
    mask = np.zeros(len(order), dtype=bool)
    mask[order[::2]] = True
    return mask


def masks_of_every_kind(given_rows):
    rng = np.random.default_rng(99)
    n = len(given_rows.score)
    return {
        "bands": bands(given_rows),
        "one band": bands(given_rows, [0.1]),
        "one-sided": [given_rows.score > 0.5, given_rows.score <= 0.7],
        "splits ties": [half_of_each_tie(given_rows)],
        "gate": [rng.random(n) < share for share in (0.5, 0.9)],
        "empty": [np.zeros(n, dtype=bool)],
        "all": [np.ones(n, dtype=bool)],
        "one class": [given_rows.positive, ~given_rows.positive],
        "one row": [np.arange(n) == n // 2],
    }


KINDS = list(masks_of_every_kind(make_rows(4)))
WEIGHTS = {
    "no weights": lambda n: None,
    "counts": lambda n: np.random.default_rng(5).integers(0, 4, n).astype(float),
    "fractions": lambda n: np.random.default_rng(6).lognormal(0, 2, n),
}


# ---- against resampled rows ----


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("distinct", [None, 8, 1], ids=["distinct scores", "ties", "one score"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_replicate_equals_the_metrics_of_the_resampled_rows(kind, distinct, weights):
    given_rows = make_rows(120, distinct)
    masks = np.array(masks_of_every_kind(given_rows)[kind])
    assert_obvious(given_rows, masks, list(draw_counts(120, 3, seed=1)), WEIGHTS[weights](120))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("distinct", [None, 8])
def test_masks_of_all_kinds_together_equal_each_alone(distinct, weights):
    given_rows, weight = make_rows(90, distinct), WEIGHTS[weights](90)
    masks = np.array([mask for masks in masks_of_every_kind(given_rows).values() for mask in masks])
    replicates = list(draw_counts(90, 5, seed=2))
    together = selection_statistics(given_rows, masks, iter(replicates), weight)
    for column, mask in enumerate(masks):
        alone = selection_statistics(given_rows, mask[None, :], iter(replicates), weight)
        for name in METRICS:
            np.testing.assert_allclose(
                getattr(together, name)[:, column], getattr(alone, name)[:, 0], rtol=0, atol=1e-12
            )


@st.composite
def selections(draw, scores, max_size=4):
    """Masks that are bands and masks that follow no score."""
    n = len(scores)
    masks = []
    for _ in range(draw(st.integers(1, max_size))):
        if draw(st.booleans()):
            lower, upper = draw(bands_between())
            masks.append(~((scores >= lower) & (scores <= upper)))
        else:
            masks.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
    return np.array(masks)


@pytest.mark.parametrize("weights", [no_weights, counts, fractional_weights], ids=["none", "counts", "fractions"])
@property_test
@given(data=st.data())
def test_any_rows_masks_and_counts_equal_the_metrics_of_the_resampled_rows(weights, data):
    labels, scores, weight = data.draw(rows(weights=weights))
    masks = data.draw(selections(scores))
    n = len(labels)
    correct = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    one_count = st.lists(st.integers(0, 3), min_size=n, max_size=n).map(np.array)
    replicates = data.draw(st.lists(one_count, min_size=1, max_size=3))
    assert_obvious(judged_rows(labels, scores, correct), masks, replicates, weight)


@property_test
@given(data=st.data())
def test_a_weight_of_k_equals_k_draws(data):
    labels, scores, weight = data.draw(rows(weights=counts))
    masks = data.draw(selections(scores))
    given_rows = judged_rows(labels, scores, labels)
    ones, drawn = np.ones(len(labels), dtype=int), weight.astype(int)
    by_weight = selection_statistics(given_rows, masks, iter([ones]), weight)
    by_count = selection_statistics(given_rows, masks, iter([drawn]))
    for name in METRICS:
        np.testing.assert_allclose(getattr(by_weight, name), getattr(by_count, name), rtol=0, atol=1e-12)


def test_the_order_of_the_rows_does_not_matter():
    given_rows = make_rows(80, distinct=6)
    masks = np.array([*bands(given_rows), half_of_each_tie(given_rows)])
    count = next(draw_counts(80, 1, seed=4))
    shuffled = np.random.default_rng(0).permutation(80)
    moved = selection_statistics(given_rows.take(shuffled), masks[:, shuffled], iter([count[shuffled]]))
    still = selection_statistics(given_rows, masks, iter([count]))
    for name in METRICS:
        np.testing.assert_allclose(getattr(moved, name), getattr(still, name), rtol=0, atol=1e-14)


@pytest.mark.parametrize("n_bootstrap", [0, 3])
def test_the_scores_are_sorted_once(monkeypatch, n_bootstrap):
    given_rows = make_rows(300)
    masks = [*bands(given_rows), *masks_of_every_kind(given_rows)["gate"]]
    selections = {0.9 - number / 100: mask for number, mask in enumerate(masks)}
    sorted_sizes, argsort = [], np.argsort
    monkeypatch.setattr(np, "argsort", lambda values, **options: sorted_sizes.append(len(values)) or argsort(values))
    evaluate_selections(*given_rows, selections, n_bootstrap=n_bootstrap, random_state=0)
    assert sorted_sizes == [300]


# ---- the ends ----


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("is_selected", [True, False])
def test_one_row(positive, is_selected):
    given_rows = judged_rows(np.array([positive]), np.array([0.3]), np.array([True]))
    statistics = selection_statistics(given_rows, np.array([[is_selected]]), draw_counts(1, 2, seed=0))
    assert statistics.achieved_coverage.tolist() == [[float(is_selected)]] * 2
    assert np.isnan(statistics.selective_auc).all()
    if is_selected:
        assert statistics.selective_accuracy.tolist() == [[1.0]] * 2
        assert statistics.positive_rate.tolist() == [[float(positive)]] * 2
    else:
        assert np.isnan(statistics.selective_accuracy).all()
        assert np.isnan(statistics.positive_rate).all()


def test_an_empty_mask_has_coverage_0_and_no_other_metric():
    given_rows = make_rows(30)
    statistics = selection_statistics(given_rows, np.zeros((1, 30), dtype=bool), draw_counts(30, 3, seed=0))
    assert statistics.achieved_coverage.tolist() == [[0.0]] * 3
    for name in METRICS[1:]:
        assert np.isnan(getattr(statistics, name)).all()


def test_one_class_among_the_selected_rows_has_no_auc_but_an_accuracy():
    given_rows = make_rows(30)
    statistics = selection_statistics(given_rows, given_rows.positive[None, :], draw_counts(30, 3, seed=0))
    assert np.isnan(statistics.selective_auc).all()
    assert np.isfinite(statistics.selective_accuracy).all()
    assert statistics.positive_rate.tolist() == [[1.0]] * 3


def test_a_class_that_was_not_drawn_has_no_auc_in_that_replicate_alone():
    given_rows = judged_rows(np.array([False, True, True]), np.array([0.1, 0.2, 0.3]), np.ones(3, dtype=bool))
    replicates = [np.array([0, 2, 1]), np.array([1, 1, 1])]
    statistics = selection_statistics(given_rows, np.ones((2, 3), dtype=bool), iter(replicates))
    assert np.isnan(statistics.selective_auc[0]).all()
    assert statistics.selective_auc[1].tolist() == [1.0, 1.0]


def test_inputs_are_left_as_they_are():
    given_rows, weight = make_rows(40), np.random.default_rng(0).random(40)
    masks, count = np.array(bands(given_rows)), next(draw_counts(40, 1, seed=0))
    arrays = (*given_rows[:3], masks, count, weight)
    before = [values.copy() for values in arrays]
    selection_statistics(given_rows, masks, iter([count]), weight)
    for now, then in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(now, then)


# ---- rounding ----


def test_shares_of_fractional_weights_stay_between_0_and_1():
    rng = np.random.default_rng(0)
    for _ in range(100):
        positive = rng.random(40) < 0.5
        score = positive + 0.5 * rng.random(40)  # an AUC of 1, and every prediction wrong
        given_rows = judged_rows(positive, score, np.zeros(40, dtype=bool))
        masks = np.array([np.ones(40, dtype=bool), score > 0.1])
        statistics = selection_statistics(given_rows, masks, draw_counts(40, 3, seed=1), rng.random(40))
        assert statistics.selective_auc.max() <= 1.0
        assert statistics.achieved_coverage.max() <= 1.0
        assert statistics.selective_accuracy.min() >= 0.0


@pytest.mark.parametrize(("ratio", "tolerance"), [(1e3, 1e-12), (1e6, 1e-8), (1e9, 1e-5)])
def test_heavy_rejected_rows_leave_the_metrics_of_light_selected_rows_exact(ratio, tolerance):
    given_rows = make_rows(1000)
    inside = np.abs(given_rows.score - 0.6) <= 0.1
    weight = np.random.default_rng(0).random(1000) * np.where(inside, ratio, 1.0)
    masks = np.array([~inside, *bands(given_rows, [0.12, 0.15])])
    assert_obvious(given_rows, masks, [np.ones(1000, dtype=int)], weight, tolerance)


# ---- draws ----


def test_draws_sum_to_the_number_of_rows():
    for count in draw_counts(37, 50, seed=0):
        assert count.shape == (37,)
        assert count.min() >= 0
        assert count.sum() == 37


def test_draws_are_multinomial():
    n, n_bootstrap = 12, 20_000
    drawn = np.array(list(draw_counts(n, n_bootstrap, seed=0)))
    spread = np.sqrt((1 - 1 / n) / n_bootstrap)
    assert np.abs(drawn.mean(axis=0) - 1).max() < 4.5 * spread
    covariance = np.cov(drawn.T)
    assert np.abs(np.diag(covariance) - (1 - 1 / n)).max() < 0.06
    assert np.abs(covariance[~np.eye(n, dtype=bool)] + 1 / n).max() < 0.04
    # A row is left out of a replicate with probability (1 - 1/n)^n.
    assert (drawn == 0).mean() == pytest.approx((1 - 1 / n) ** n, abs=0.005)


def test_replicates_are_independent():
    drawn = np.array(list(draw_counts(50, 2000, seed=0)))
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.015


def test_the_same_seed_gives_the_same_draws_and_another_seed_others():
    first, again, other = (np.array(list(draw_counts(30, 5, seed))) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_more_replicates_begin_with_the_same_ones():
    few, many = (np.array(list(draw_counts(30, n_bootstrap, seed=3))) for n_bootstrap in (4, 9))
    np.testing.assert_array_equal(few, many[:4])


# ---- spreads ----


def test_the_95_percent_interval_covers_the_true_auc_about_as_often():
    rng = np.random.default_rng(7)
    true_auc = norm.cdf(1 / np.sqrt(2))
    covered = 0
    for _ in range(200):
        positive = rng.random(400) < 0.3
        score = rng.normal(positive, 1.0)
        evaluation = evaluate_selections(positive, score, score > 0.5, {1.0: np.ones(400, dtype=bool)})
        row = evaluation.rows()[0]
        covered += row["selective_auc_low"] <= true_auc <= row["selective_auc_high"]
    assert 0.90 <= covered / 200 <= 0.99


def test_the_standard_deviation_is_near_that_of_new_samples():
    rng = np.random.default_rng(8)

    def sample():
        positive = rng.random(500) < 0.4
        return positive, rng.normal(positive, 1.0)

    def outside(score):
        return np.abs(score - 0.5) > 0.4

    aucs = []
    for _ in range(400):
        positive, score = sample()
        aucs.append(selective_auc(positive, score, outside(score)))
    positive, score = sample()
    evaluation = evaluate_selections(positive, score, score > 0.5, {0.7: outside(score)})
    assert evaluation.rows()[0]["selective_auc_sd"] == pytest.approx(np.std(aucs), rel=0.25)
