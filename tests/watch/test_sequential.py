"""The sequential test: bets that are fair without drift, evidence that may be looked at after every batch."""

import itertools
import json
import pickle
from dataclasses import asdict, fields
from math import comb, exp, log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.watch.sequential import (
    Bets,
    SequentialMeanTest,
    log_evidence,
    next_log_wealth,
    paired_outcomes,
    share_from,
    start_share,
)
from tests.strategies import property_test

LIMITS = st.tuples(st.floats(0.02, 0.98), st.floats(0.02, 0.98)).map(sorted)


def after_each(test, counts, n=50):
    for count in counts:
        test = test.after_counts(count, n)
    return test


def evidence_by_hand(test, batches):
    """The mixture over sizes, limits and starts, written out."""
    factors = [
        [
            prod(1 + size * (value - limit) for value in batch)
            for size, limit in zip(test.bets.sizes, test.bets.limits, strict=True)
        ]
        for batch in batches
    ]
    by_bet = []
    for bet in range(len(test.bets)):
        started = sum(
            start_share(start + 1) * prod(factor[bet] for factor in factors[start:]) for start in range(len(batches))
        )
        by_bet.append(started + share_from(len(batches) + 1))
    return np.mean(by_bet)


# ---- bets ----


@property_test
@given(LIMITS, st.floats(0, 1))
def test_no_bet_is_expected_to_win_while_the_mean_is_within_the_limits(limits, position):
    low, high = limits
    mean = low + position * (high - low)
    bets = Bets.against(low, high)
    expected = (1 - mean) * np.exp(bets.log_growth_of_counts(0, 1)) + mean * np.exp(bets.log_growth_of_counts(1, 1))
    assert (expected <= 1 + 1e-12).all()


@property_test
@given(LIMITS)
def test_capital_never_becomes_negative(limits):
    bets = Bets.against(*limits)
    assert (1 + bets.sizes * (0 - bets.limits) > 0).all()
    assert (1 + bets.sizes * (1 - bets.limits) > 0).all()


def test_a_limit_that_cannot_be_passed_gets_no_bets():
    assert (Bets.against(0.8, 1.0).sizes < 0).all()
    assert (Bets.against(0.0, 0.8).sizes > 0).all()
    assert len(Bets.against(0.0, 1.0)) == 0


@property_test
@given(LIMITS, st.lists(st.booleans(), min_size=1, max_size=30))
def test_counts_and_values_grow_the_capital_alike(limits, values):
    bets = Bets.against(*limits)
    by_values = bets.log_growth(np.array(values, dtype=float))
    assert np.allclose(by_values, bets.log_growth_of_counts(sum(values), len(values)), rtol=1e-9, atol=1e-9)


def test_counts_of_many_streams_can_be_given_at_once():
    bets = Bets.against(0.7, 0.9)
    together = bets.log_growth_of_counts([3, 5], 6)
    assert np.array_equal(together, [bets.log_growth_of_counts(3, 6), bets.log_growth_of_counts(5, 6)])


def test_shares_of_the_starts_add_up_to_one():
    spent = sum(start_share(batch) for batch in range(1, 1001))
    assert spent + share_from(1001) == pytest.approx(1, abs=1e-12)
    assert share_from(10**12) < 0.04


# ---- evidence ----


@property_test
@given(LIMITS, st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1, max_size=6))
def test_evidence_is_the_mixture_over_sizes_sides_and_starts(limits, batches):
    test = SequentialMeanTest(*limits, false_alarm=0.05)
    for batch in batches:
        test = test.after(batch)
    assert test.evidence == pytest.approx(evidence_by_hand(test, batches), rel=1e-9)


def test_evidence_is_a_martingale_at_a_limit():
    probability, size = 0.7, 3
    test = SequentialMeanTest(probability, 1.0, false_alarm=0.05)
    law = [comb(size, ones) * probability**ones * (1 - probability) ** (size - ones) for ones in range(size + 1)]
    for path in itertools.product(range(size + 1), repeat=2):
        seen = after_each(test, path, size)
        expected = sum(chance * seen.after_counts(ones, size).evidence for ones, chance in enumerate(law))
        assert expected == pytest.approx(seen.evidence, rel=1e-12)


def test_evidence_starts_at_one_and_an_empty_batch_changes_nothing():
    test = SequentialMeanTest(0.7, 0.9, false_alarm=0.05)
    assert test.evidence == 1
    assert test.after([]) == test
    assert test.after_counts(0, 0) == test


def test_without_a_limit_that_can_be_passed_there_is_never_evidence():
    test = after_each(SequentialMeanTest(0, 1, false_alarm=0.05), [0, 50, 0])
    assert (test.evidence, test.alarm, test.n_batches, test.mean) == (1, False, 3, 1 / 3)


def test_evidence_stays_finite_whatever_happens():
    test = after_each(SequentialMeanTest(0.9, 0.95, false_alarm=0.05), [0] * 20, 10**6)
    assert np.isfinite(test.evidence)
    back = after_each(test, [920_000] * 20, 10**6)
    assert np.isfinite(back.log_evidence)


@pytest.mark.parametrize(("count", "direction"), [(35, "below"), (48, "above")])
def test_alarm_names_the_side_and_the_start(count, direction):
    test = after_each(SequentialMeanTest(0.79, 0.81, false_alarm=0.05), [40, 40, 41, 39] * 5 + [count] * 15)
    assert test.alarm
    assert test.direction == direction
    assert abs(test.drift_since - 21) <= 1
    assert test.alarm_batch > 21


@pytest.mark.parametrize(("first", "later", "direction"), [(640, 800, "below"), (800, 640, "above")])
def test_the_alarm_keeps_its_side_and_start_when_the_drift_turns_round(first, later, direction):
    test = SequentialMeanTest(0.85, 0.89, 0.05)
    for count in [first] * 10 + [later] * 30:
        test = test.after_counts(count, 800)
    assert (test.alarm_batch, test.direction, test.drift_since) == (1, direction, 1)


def test_side_and_start_belong_together_and_need_evidence():
    rng = np.random.default_rng(0)
    for _ in range(20):
        test, counts = SequentialMeanTest(0.84, 0.86, 1e-6), []
        for share in rng.choice([0.82, 0.85, 0.88], 12):
            counts.append(int(rng.binomial(400, share)))
            test = test.after_counts(counts[-1], 400)
            if test.evidence <= 1:
                assert (test.direction, test.drift_since) == ("", None)
            else:
                since = np.mean(counts[test.drift_since - 1 :]) / 400
                assert since < 0.84 if test.direction == "below" else since > 0.86


def test_alarm_stays_when_the_stream_comes_back():
    test = after_each(SequentialMeanTest(0.79, 0.81, false_alarm=0.05), [30] * 5)
    back = after_each(test, [40] * 100)
    assert back.evidence < back.alarm_at
    assert back.alarm_batch == test.alarm_batch


def test_alarm_is_given_at_the_stated_evidence():
    test = SequentialMeanTest(0.79, 0.81, false_alarm=0.01)
    while not test.alarm:
        before, test = test, test.after_counts(36, 50)
    assert before.evidence < 100 <= test.evidence


def test_delay_after_a_long_quiet_time_grows_slowly():
    def delay(quiet):
        test = after_each(SequentialMeanTest(0.79, 0.81, false_alarm=0.05), [40] * quiet)
        while not test.alarm:
            test = test.after_counts(36, 50)
        return test.n_batches - quiet

    assert delay(2000) <= 3 * delay(0)


def test_false_alarms_stay_within_the_level_at_the_limit():
    streams, level, limit = 1000, 0.1, 0.8
    rng = np.random.default_rng(0)
    bets = Bets.against(limit, 0.9)
    wealth, highest = np.full((streams, len(bets)), -np.inf), np.zeros(streams)
    for batch in range(1, 151):
        growth = bets.log_growth_of_counts(rng.binomial(100, limit, streams), 100)
        wealth = next_log_wealth(wealth, growth, batch)
        highest = np.maximum(highest, log_evidence(wealth, batch))
    share = (highest >= -log(level)).mean()
    assert share <= level + 2 * np.sqrt(level * (1 - level) / streams)


# ---- state ----


@pytest.mark.parametrize("batches", [[], [40, 41, 30, 20]])
def test_fields_survive_json_and_pickling_without_loss(batches):
    test = after_each(SequentialMeanTest(0.79, 0.81, false_alarm=0.05), batches)
    content = json.loads(json.dumps(asdict(test), allow_nan=False))
    values = (content[field.name] for field in fields(SequentialMeanTest))
    read = SequentialMeanTest(*(tuple(value) if isinstance(value, list) else value for value in values))
    assert read == test
    assert pickle.loads(pickle.dumps(test)).after_counts(33, 50) == test.after_counts(33, 50)


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.6, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_limits_outside_the_unit_interval_are_refused(low, high):
    with pytest.raises(ValueError, match="0 <= low <= high <= 1, got low="):
        SequentialMeanTest(low, high, false_alarm=0.05)


@pytest.mark.parametrize("false_alarm", [0, 1, -1, float("nan")])
def test_false_alarm_must_be_a_probability(false_alarm):
    with pytest.raises(ValueError, match=r"false_alarm must be in \(0, 1\), got"):
        SequentialMeanTest(0.1, 0.2, false_alarm=false_alarm)


def test_values_outside_the_unit_interval_are_refused():
    test = SequentialMeanTest(0.1, 0.2, false_alarm=0.05)
    for values in ([1.5], [-0.1], [float("nan")]):
        with pytest.raises(ValueError, match=r"values must lie in \[0, 1\]"):
            test.after(values)
    with pytest.raises(ValueError, match="ones must lie between 0 and total, got 3 of 2"):
        test.after_counts(3, 2)


# ---- outcomes of pairs ----


@property_test
@given(
    st.lists(st.integers(0, 5), max_size=8).map(lambda scores: np.array(scores, dtype=float)),
    st.lists(st.integers(0, 5), max_size=8).map(lambda scores: np.array(scores, dtype=float)),
)
def test_there_are_as_many_outcomes_as_rows_of_the_rarer_class(positives, negatives):
    outcomes = paired_outcomes(positives, negatives)
    assert len(outcomes) == min(len(positives), len(negatives))
    assert ((outcomes >= 0) & (outcomes <= 1)).all()
    assert np.allclose(outcomes, 1 - paired_outcomes(negatives, positives))


def test_the_mean_of_outcomes_is_the_auc_whatever_the_ratio_of_the_classes():
    rng = np.random.default_rng(0)
    for n_positive, n_negative in ((2000, 2000), (500, 9000), (9000, 500)):
        positives, negatives = rng.normal(1, 1, n_positive), rng.normal(0, 1, n_negative)
        outcomes = paired_outcomes(positives, negatives)
        auc = (positives[:, None] > negatives).mean()
        assert abs(outcomes.mean() - auc) < 4 * outcomes.std() / np.sqrt(len(outcomes))


def test_tied_scores_count_half():
    assert paired_outcomes(np.ones(3), np.ones(7)).tolist() == [0.5] * 3


def test_an_upper_limit_of_one_means_evidence_against_lower_values_only():
    test = SequentialMeanTest(0.8, 1.0, false_alarm=0.05).after(np.full(200, 0.95))
    assert test.evidence < 1
    assert test.after(np.full(200, 0.5)).alarm
    assert test.evidence == pytest.approx(exp(test.log_evidence))
