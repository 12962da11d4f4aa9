"""Population stability index: deciles that keep ties together, an index that survives empty bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.watch.stability import ScoreBins
from tests.strategies import property_test

SCORES = st.lists(st.integers(0, 12).map(lambda score: score / 4), min_size=1, max_size=60).map(np.array)


def compared(bins, scores):
    return bins.compare(bins.counts(scores))


def test_continuous_scores_make_ten_equal_bins():
    bins = ScoreBins.from_scores(np.random.default_rng(0).random(5000))
    assert np.allclose(bins.expected, 0.1)


def test_the_index_is_the_textbook_sum():
    reference = np.linspace(0, 1, 1001)[1:]
    bins = ScoreBins.from_scores(reference)
    new = np.concatenate([np.full(10 + i, i / 10 + 0.05) for i in range(10)])
    observed = (10 + np.arange(10)) / len(new)
    psi = sum((share - 0.1) * np.log(share / 0.1) for share in observed)
    stability = compared(bins, new)
    assert stability.psi == pytest.approx(psi)
    assert stability.observed == pytest.approx(observed)
    assert stability.n == len(new)


@property_test
@given(SCORES, SCORES)
def test_bins_are_distinct_and_shares_add_up(reference, new):
    bins = ScoreBins.from_scores(reference)
    assert (np.diff(bins.edges) > 0).all()
    assert len(bins.expected) == len(bins.edges) + 1
    assert sum(bins.expected) == pytest.approx(1)
    stability = compared(bins, new)
    assert sum(stability.observed) == pytest.approx(1)
    assert stability.psi >= 0


@property_test
@given(SCORES)
def test_the_reference_itself_has_an_index_of_zero(reference):
    assert compared(ScoreBins.from_scores(reference), reference).psi == pytest.approx(0, abs=1e-12)


@property_test
@given(SCORES, st.data())
def test_weight_two_is_the_row_twice(reference, data):
    weight = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(reference), max_size=len(reference))))
    weighted = ScoreBins.from_scores(reference, weight.astype(float), n_effective=float(weight.sum()))
    repeated = ScoreBins.from_scores(np.repeat(reference, weight))
    assert weighted.edges == repeated.edges
    assert weighted.expected == pytest.approx(repeated.expected)


def test_constant_scores_have_bins_for_what_lies_outside():
    bins = ScoreBins.from_scores(np.full(100, 0.5))
    assert compared(bins, np.full(30, 0.5)).psi == 0
    assert compared(bins, np.full(30, 0.6)).psi > 1
    assert compared(bins, np.full(30, 0.4)).psi > 1
    assert compared(bins, np.full(30, 0.5)).psi_by_chance == 0


def test_an_empty_bin_leaves_the_index_finite():
    bins = ScoreBins.from_scores(np.linspace(0, 1, 1000))
    assert np.isfinite(compared(bins, [0.99]).psi)
    assert np.isfinite(compared(bins, np.full(10**6, 5.0)).psi)


def test_no_scores_have_no_index():
    stability = compared(ScoreBins.from_scores(np.linspace(0, 1, 1000)), [])
    assert np.isnan(stability.psi)
    assert stability.n == 0


@pytest.mark.parametrize("n", [200, 2000])
def test_one_index_in_twenty_is_above_chance_without_drift(n):
    rng = np.random.default_rng(0)
    above = []
    for _ in range(400):
        stability = compared(ScoreBins.from_scores(rng.random(2000)), rng.random(n))
        above.append(stability.psi > stability.psi_by_chance)
    assert 0.02 <= np.mean(above) <= 0.09


def test_the_table_shows_one_line_per_bin():
    stability = compared(ScoreBins.from_scores(np.linspace(0, 1, 1000)), np.linspace(0, 1, 500))
    assert len(str(stability).splitlines()) == 12
    assert stability.rows()[0]["lower"] == -np.inf
    assert stability.rows()[-1]["upper"] == np.inf
