"""What review changes: on cases with both answers, and on a strip that was drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from aucross.audit import review_effect, strip_effect


def test_effect_is_the_difference_in_right_answers():
    rng = np.random.default_rng(0)
    y, machine, people = (rng.choice(["a", "b", "c"], size=300) for _ in range(3))
    found = review_effect(y, machine, people)
    assert found.effect == pytest.approx(np.mean(people == y) - np.mean(machine == y), abs=1e-12)
    assert found.without_review == pytest.approx(np.mean(machine != y), abs=1e-12)
    assert found.low < found.effect < found.high


def test_effect_in_money():
    y, machine, people = np.array([0, 1, 1, 0] * 5), np.array([1, 0, 1, 0] * 5), np.array([0, 1, 0, 0] * 5)
    found = review_effect(
        y, machine, people, loss=lambda true, said: np.where(said == true, 0, np.where(true, 500, 20))
    )
    assert found.effect == pytest.approx((20 + 500 - 500) / 4)


def test_agreement_is_not_certainty():
    y = np.tile([0, 1], 10)
    found = review_effect(y, y, y)
    assert found.effect == 0.0
    assert found.low < -0.05 < 0.05 < found.high
    assert "not seen to change" in found.sentence


def test_few_cases_get_no_interval():
    found = review_effect([0, 1], [1, 1], [0, 1])
    assert not found.is_known
    assert "Too few cases" in found.sentence
    assert not review_effect([], [], []).is_known


@pytest.mark.parametrize(
    ("right_machine", "right_people", "n_cases"), [(0.7, 0.8, 60), (0.95, 0.97, 100), (0.5, 0.9, 15)]
)
def test_intervals_of_both_answers_hold(right_machine, right_people, n_cases):
    rng = np.random.default_rng(1)
    y, inside = np.zeros(n_cases), 0
    for _ in range(600):
        found = review_effect(y, rng.random(n_cases) > right_machine, rng.random(n_cases) > right_people)
        inside += found.low <= right_people - right_machine <= found.high
    assert inside / 600 >= 0.93


def test_strip_weighs_each_side_by_its_probability():
    rng = np.random.default_rng(2)
    hard = rng.random(200_000) < 0.3
    probability = np.where(hard, 0.8, 0.25)
    drawn = rng.random(200_000) < probability
    loss = rng.random(200_000) < np.where(drawn, 0.05, np.where(hard, 0.5, 0.1))
    found = strip_effect(loss.astype(float), drawn, probability)
    truth = 0.3 * 0.5 + 0.7 * 0.1 - 0.05
    assert found.effect == pytest.approx(truth, abs=0.005)
    assert found.low < truth < found.high
    assert abs(loss[~drawn].mean() - loss[drawn].mean() - truth) > 0.03  # unweighted it is another number


@pytest.mark.parametrize(("machine", "people", "n_cases"), [(0.3, 0.1, 60), (0.02, 0.02, 200)])
def test_intervals_of_the_strip_hold(machine, people, n_cases):
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(600):
        drawn = rng.random(n_cases) < 0.5
        loss = rng.random(n_cases) < np.where(drawn, people, machine)
        found = strip_effect(loss.astype(float), drawn, np.full(n_cases, 0.5))
        inside += found.low <= machine - people <= found.high
    assert inside / 600 >= 0.93


def test_strip_in_money_and_too_few_cases():
    rng = np.random.default_rng(4)
    drawn = np.arange(400) % 2 == 0
    loss = rng.exponential(np.where(drawn, 50.0, 100.0))
    found = strip_effect(loss, drawn, np.full(400, 0.5))
    assert found.effect == pytest.approx(loss[~drawn].mean() - loss[drawn].mean())
    assert found.low > 0
    assert "lowers" in found.sentence
    assert not strip_effect(loss[:12], drawn[:12], np.full(12, 0.5)).is_known
    assert not strip_effect(loss[:30], np.ones(30, dtype=bool), np.full(30, 0.5)).is_known


def test_bad_input_is_refused():
    values, drawn, half = np.zeros(20), np.arange(20) % 2 == 0, np.full(20, 0.5)
    with pytest.raises(ValueError, match="one answer per case"):
        review_effect([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="one finite number per case"):
        review_effect([0, 1], [0, 1], [0, 1], loss=lambda true, said: np.nan * true)
    with pytest.raises(ValueError, match="one number and one boolean"):
        strip_effect(values, drawn.astype(int), half)
    with pytest.raises(ValueError, match="outcome is not known yet"):
        strip_effect(np.where(drawn, np.nan, 0.0), drawn, half)
    with pytest.raises(ValueError, match="below 1"):
        strip_effect(values, drawn, np.ones(20))
    with pytest.raises(ValueError, match="confidence_level"):
        strip_effect(values, drawn, half, confidence_level=95)
