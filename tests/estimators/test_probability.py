"""The additive model that turns held-out scores into class probabilities."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from aucross.estimators.reading import (
    SMALLEST_PROBABILITY,
    ProbabilityModel,
    as_evidence,
    fit_with_further_score,
)


def log_odds(probability):
    return np.log(probability / (1 - probability))


def draw(n_rows=4000, seed=0):
    """Two pieces of evidence that add up, and labels."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(n_rows, 2))
    chance = 1 / (1 + np.exp(1.0 - evidence[:, 0] - np.tanh(2 * evidence[:, 1])))
    return evidence, rng.random(n_rows) < chance, chance


def probability_of(model, evidence):
    return model.predict(evidence)[:, 1]


# ---- probabilities ----


def test_there_is_a_probability_for_each_class_and_they_sum_to_one():
    evidence, labels, _ = draw(500)
    probabilities = ProbabilityModel.fit(evidence, labels).predict(evidence)
    assert probabilities.shape == (500, 2)
    assert probabilities.dtype == np.float64
    assert probabilities.min() >= 0
    assert probabilities.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_labels_may_be_of_more_than_two_classes():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    probabilities = ProbabilityModel.fit(np.eye(3)[labels] + rng.normal(size=(900, 3)), labels).predict(np.eye(3) * 3)
    assert probabilities.shape == (3, 3)
    assert probabilities.argmax(axis=1).tolist() == [0, 1, 2]


def test_curves_of_both_scores_are_found():
    evidence, labels, chance = draw()
    new, _, truth = draw(seed=1)
    model = ProbabilityModel.fit(evidence, labels)
    assert np.abs(probability_of(model, evidence) - chance).mean() < 0.02
    assert np.abs(probability_of(model, new) - truth).mean() < 0.02


@pytest.mark.parametrize("distortion", [lambda z: 3 * z + 2, np.cbrt, lambda z: np.where(z > 0, 4 * z, z / 4)])
def test_scores_that_are_not_calibrated_are_calibrated(distortion):
    evidence, labels, _ = draw()
    distorted = np.column_stack((distortion(evidence[:, 0]), evidence[:, 1]))
    probability = probability_of(ProbabilityModel.fit(distorted, labels), distorted)
    by_tenths = np.array_split(np.argsort(probability), 10)
    for rows in by_tenths:
        assert labels[rows].mean() == pytest.approx(probability[rows].mean(), abs=0.05)
    assert labels.mean() == pytest.approx(probability.mean(), abs=1e-3)


def test_a_score_given_twice_is_as_good_as_once():
    evidence, labels, _ = draw()
    once = probability_of(ProbabilityModel.fit(evidence[:, :1], labels), evidence[:, :1])
    twice = probability_of(ProbabilityModel.fit(evidence[:, [0, 0]], labels), evidence[:, [0, 0]])
    assert twice == pytest.approx(once, abs=0.01)


# ---- columns that leave little to fit ----


def test_a_constant_column_is_left_out():
    evidence, labels, _ = draw(500)
    constant = np.column_stack((evidence[:, 0], np.full(500, 0.3)))
    model = ProbabilityModel.fit(constant, labels)
    assert model.columns == (0,)
    alone = ProbabilityModel.fit(evidence[:, :1], labels)
    assert np.array_equal(model.predict(constant), alone.predict(evidence[:, :1]))
    # Whatever a model that was constant before says of new rows, nothing is known about it.
    constant[:, 1] = 99.0
    assert np.array_equal(model.predict(constant), alone.predict(evidence[:, :1]))


def test_constant_columns_alone_give_the_share_of_each_class():
    labels = np.arange(100) < 30
    model = ProbabilityModel.fit(np.ones((100, 2)), labels)
    assert model.columns == ()
    assert model.predict(np.ones((3, 2))) == pytest.approx(np.tile([0.7, 0.3], (3, 1)), abs=1e-3)


@pytest.mark.parametrize("n_values", [2, 3, 4, 9])
def test_scores_of_few_distinct_values_get_the_share_of_positives_at_each(n_values):
    rng = np.random.default_rng(0)
    values = rng.integers(0, n_values, 8000)
    shares = np.linspace(0.2, 0.7, n_values)
    labels = rng.random(8000) < shares[values]
    model = ProbabilityModel.fit(values[:, None].astype(float), labels)
    found = probability_of(model, np.arange(n_values, dtype=float)[:, None])
    expected = [labels[values == value].mean() for value in range(n_values)]
    assert found == pytest.approx(expected, abs=0.03)


def test_one_frequent_value_among_many():
    evidence, labels, _ = draw()
    evidence[np.random.default_rng(0).random(len(labels)) < 0.9, 1] = 0.0  # its quantiles are nearly all equal
    probability = probability_of(ProbabilityModel.fit(evidence, labels), evidence)
    assert np.isfinite(probability).all()
    assert roc_auc_score(labels, probability) >= roc_auc_score(labels, evidence[:, 0]) - 1e-3


@pytest.mark.parametrize("gap", [1e-15, 1e-9, 1e-3])
def test_scores_outside_the_range_get_the_probability_at_its_end(gap):
    # Values that lie close together, as those of leaves of a tree in several folds: a slope there means nothing.
    rng = np.random.default_rng(0)
    evidence = np.maximum(rng.normal(size=4000), -0.5)
    labels = rng.random(4000) < 1 / (1 + np.exp(-evidence))
    evidence[(evidence == -0.5) & (rng.random(4000) < 0.5)] += gap
    model = ProbabilityModel.fit(evidence[:, None], labels)
    ends = probability_of(model, np.array([[evidence.min()], [evidence.max()]]))
    outside = probability_of(model, np.array([[evidence.min() - 0.1], [evidence.max() + 0.1]]))
    assert outside == pytest.approx(ends, abs=1e-12)
    assert 0.3 < outside[0] < 0.45
    assert outside[1] > 0.8


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_the_unit_of_decision_values_does_not_matter(scale):
    evidence, labels, _ = draw(1000)
    expected = probability_of(ProbabilityModel.fit(evidence, labels), evidence)
    scaled = probability_of(ProbabilityModel.fit(evidence * scale, labels), evidence * scale)
    assert scaled == pytest.approx(expected, abs=1e-6)


# ---- a further score ----


@pytest.mark.parametrize("n_rows", [300, 1000, 4000])
def test_a_useless_score_is_left_out(n_rows):
    for seed in range(10):
        evidence, labels, _ = draw(n_rows, seed)
        evidence[:, 1] = np.random.default_rng(seed + 100).normal(size=n_rows)
        model = fit_with_further_score(evidence, labels, n_effective=n_rows)
        alone = ProbabilityModel.fit(evidence[:, :1], labels)
        assert model.columns == (0,)
        assert np.array_equal(model.predict(evidence), alone.predict(evidence[:, :1]))


@pytest.mark.parametrize("further", [lambda z: z, np.exp, np.round, lambda z: 0 * z])
def test_a_score_that_follows_from_the_first_is_left_out(further):
    evidence, labels, _ = draw()
    evidence[:, 1] = further(evidence[:, 0])
    assert fit_with_further_score(evidence, labels, n_effective=len(labels)).columns == (0,)


def test_a_score_that_knows_more_is_used():
    for n_rows in (1000, 4000):
        evidence, labels, _ = draw(n_rows)
        model = fit_with_further_score(evidence, labels, n_effective=n_rows)
        assert model.columns == (0, 1)
        assert np.array_equal(model.predict(evidence), ProbabilityModel.fit(evidence, labels).predict(evidence))


def test_weights_are_worth_the_rows_that_they_are_said_to_be_worth():
    evidence, labels, _ = draw(1000)
    repeated = np.repeat(np.arange(1000), 50)
    assert fit_with_further_score(evidence[repeated], labels[repeated], n_effective=20).columns == (0,)
    assert fit_with_further_score(evidence[repeated], labels[repeated], n_effective=1000).columns == (0, 1)


def test_the_likelihood_is_the_mean_log_probability_of_the_classes_that_came():
    evidence, labels, _ = draw(500)
    weight = np.linspace(0, 2, 500)
    model = ProbabilityModel.fit(evidence, labels)
    for given in (None, weight):
        expected = -log_loss(labels, model.predict(evidence), sample_weight=given)
        assert model.log_likelihood(evidence, labels, given) == pytest.approx(expected, rel=1e-12)


# ---- weights ----


def test_weights_count():
    evidence, labels, _ = draw()
    weight = np.where(labels, 3.0, 1.0)
    weighted = probability_of(ProbabilityModel.fit(evidence, labels, weight), evidence)
    assert np.average(weighted, weights=weight) == pytest.approx(np.average(labels, weights=weight), abs=1e-3)
    plain = probability_of(ProbabilityModel.fit(evidence, labels), evidence)
    assert (log_odds(weighted) - log_odds(plain)).mean() == pytest.approx(np.log(3), abs=0.1)


def test_weight_two_is_the_row_twice_up_to_the_knots_and_the_ridge():
    evidence, labels, _ = draw()
    times = np.random.default_rng(0).integers(1, 4, len(labels))
    weighted = ProbabilityModel.fit(evidence, labels, times.astype(float))
    repeated = ProbabilityModel.fit(np.repeat(evidence, times, axis=0), np.repeat(labels, times))
    assert probability_of(weighted, evidence) == pytest.approx(probability_of(repeated, evidence), abs=0.02)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_unit_of_weights_does_not_matter(unit):
    evidence, labels, _ = draw(1000)
    weight = np.random.default_rng(0).gamma(2.0, size=1000)
    expected = probability_of(ProbabilityModel.fit(evidence, labels, weight / weight.sum()), evidence)
    assert probability_of(ProbabilityModel.fit(evidence, labels, weight * unit), evidence) == pytest.approx(
        expected, abs=1e-6
    )


def test_equal_weights_are_no_weights():
    evidence, labels, _ = draw(1000)
    plain, equal = (ProbabilityModel.fit(evidence, labels, weight) for weight in (None, np.full(1000, 0.2)))
    assert probability_of(equal, evidence) == pytest.approx(probability_of(plain, evidence), abs=1e-9)


def test_rows_of_weight_zero_do_not_count():
    evidence, labels, _ = draw(1000)
    counted = np.arange(1000) % 3 > 0
    evidence[~counted] *= 100
    weighted = ProbabilityModel.fit(evidence, labels, counted.astype(float))
    left_out = ProbabilityModel.fit(evidence[counted], labels[counted])
    assert probability_of(weighted, evidence) == pytest.approx(probability_of(left_out, evidence), abs=1e-9)


# ---- evidence ----


def test_probabilities_become_log_odds_and_decision_values_stay():
    score = np.array([0.0, 1e-9, 0.25, 0.5, 0.75, 1.0])
    evidence = as_evidence(score, "predict_proba")
    assert np.isfinite(evidence).all()
    assert evidence[2:5] == pytest.approx([-np.log(3), 0.0, np.log(3)])
    assert evidence[0] == evidence[1] == pytest.approx(log_odds(SMALLEST_PROBABILITY))
    assert evidence[-1] == pytest.approx(-evidence[0])
    decisions = np.array([-7.0, 0.0, 12.5])
    assert np.array_equal(as_evidence(decisions, "decision_function"), decisions)


# ---- copies ----


def test_fits_are_deterministic_and_survive_pickling():
    evidence, labels, _ = draw(1000)
    first, second = (ProbabilityModel.fit(evidence, labels) for _ in range(2))
    assert np.array_equal(first.predict(evidence), second.predict(evidence))
    assert np.array_equal(first.predict(evidence), pickle.loads(pickle.dumps(first)).predict(evidence))


def test_neither_scores_nor_weights_are_changed():
    evidence, labels, _ = draw(300)
    weight = np.linspace(1, 2, 300)
    copies = evidence.copy(), labels.copy(), weight.copy()
    ProbabilityModel.fit(evidence, labels, weight).predict(evidence)
    for given, copy in zip((evidence, labels, weight), copies, strict=True):
        assert np.array_equal(given, copy)


# ---- more than two classes ----


def draw_skewed_classes(n_rows, seed):
    """Log-odds of three classes with long tails to one side, and the probabilities that labels are drawn from."""
    rng = np.random.default_rng(seed)
    chance = np.exp(0.6 * rng.gamma(1.0, size=(n_rows, 3)))
    chance /= chance.sum(axis=1, keepdims=True)
    return log_odds(chance), (rng.random(n_rows)[:, None] > chance.cumsum(axis=1)).sum(axis=1), chance


@pytest.mark.parametrize("seed", range(5))
def test_curves_of_several_classes_do_not_bend_wildly_beyond_nearly_all_rows(seed):
    evidence, labels, _ = draw_skewed_classes(1200, seed)
    new, _, truth = draw_skewed_classes(20_000, seed + 100)
    most_extreme = np.unique(np.argsort(new, axis=0)[-100:])  # half a percent for each class

    def worst_error(model):
        return np.abs(model.predict(new) - truth)[most_extreme].max()

    assert worst_error(ProbabilityModel.fit_classes(evidence, labels)) < 0.3
    assert worst_error(ProbabilityModel.fit(evidence, labels)) > 0.5  # what the curves of the gate would do


def test_curves_of_several_classes_are_constant_beyond_the_twentieth_row():
    evidence, labels, _ = draw_skewed_classes(1200, seed=0)
    model = ProbabilityModel.fit_classes(evidence, labels)
    ends = np.sort(evidence, axis=0)[[20, -21]]
    beyond = ends + np.array([[-3.0], [3.0]])
    assert model.predict(ends) == pytest.approx(model.predict(beyond), abs=0.01)


def test_of_few_rows_a_tenth_at_most_lies_beyond_the_curves():
    evidence, labels, _ = draw_skewed_classes(60, seed=0)
    model = ProbabilityModel.fit_classes(evidence, labels)
    low, high = np.quantile(evidence, [0.15, 0.85], axis=0)
    assert np.abs(model.predict(low[None]) - model.predict(high[None])).max() > 0.01


def test_curves_of_several_classes_are_constant_at_their_ends_where_most_rows_have_one_value():
    rng = np.random.default_rng(0)
    evidence = np.where(rng.random((900, 1)) < 0.7, 0.0, rng.gamma(2.0, size=(900, 1)))
    labels = np.minimum((evidence[:, 0] + rng.random(900)).astype(int), 2)
    model = ProbabilityModel.fit_classes(evidence, labels)
    twentieth = np.sort(evidence[:, 0])[-20]
    beyond = model.predict(np.array([[twentieth + 1.0], [twentieth + 100.0]]))
    np.testing.assert_allclose(beyond[0], beyond[1])
