"""The lower bound of an AUC on a ranking."""

import numpy as np
import pytest

from aucross.core import RankedScores
from aucross.core.bounds import auc_ends, auc_ends_of_units, auc_lower_bound
from aucross.evaluation import evaluate_selections, promise_selection


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_rows", [10, 300])
def test_it_is_the_bound_of_the_promise(share, n_rows):
    rng = np.random.default_rng(n_rows)
    positive = rng.random(n_rows) < share
    positive[:2] = (True, False)
    score = (rng.normal(size=n_rows) + positive).round(1)
    expected = promise_selection(positive, score, np.ones(n_rows, dtype=bool), confidence=0.95).auc_alone
    assert auc_lower_bound(RankedScores.from_labels(positive, score), 0.05) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0], [0, 1]])
def test_too_few_rows_of_a_class_have_no_bound(labels):
    assert np.isnan(auc_lower_bound(RankedScores.from_labels(labels, range(len(labels))), 0.05))


def draw(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_rows) < 0.3
    return positive, np.round(rng.normal(size=n_rows) + positive, 1)  # with ties


@pytest.mark.parametrize("times", [1, 5])
def test_rows_that_are_the_same_within_a_unit_count_once(times):
    positive, score = draw()
    units = np.repeat(np.arange(len(score)), times)
    ends = auc_ends_of_units(np.repeat(positive, times), np.repeat(score, times), None, units, 0.025)
    assert ends == pytest.approx(auc_ends(RankedScores.from_labels(positive, score), 0.025), rel=1e-12)


def test_ends_of_units_are_those_of_an_evaluation_with_customers():
    positive, score = draw(400)
    units, weight = np.arange(400) // 4, np.linspace(0.5, 2, 400)
    selections = {1.0: np.ones(400, dtype=bool)}
    evaluation = evaluate_selections(positive, score, positive, selections, sample_weight=weight, customers=units)
    expected = evaluation.intervals["selective_auc"]
    found = auc_ends_of_units(positive, score, weight, units, 0.025)
    assert found == pytest.approx((expected.low[0], expected.high[0]), rel=1e-9)


@pytest.mark.parametrize("positive", [np.zeros(9, bool), np.ones(9, bool)])
def test_ends_of_units_need_both_classes(positive):
    assert np.isnan(auc_ends_of_units(positive, np.arange(9.0), None, np.arange(9), 0.025)).all()


def test_one_unit_has_no_ends():
    assert np.isnan(auc_ends_of_units(np.arange(9) > 4, np.arange(9.0), None, np.zeros(9, int), 0.025)).all()
