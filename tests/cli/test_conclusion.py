"""The sentence under the table, which a risk officer signs: it must not say more than the test rows do."""

from __future__ import annotations

import numpy as np
import pytest

from aucross.cli.judging import conclusion
from aucross.evaluation import evaluate_selections

# Scores 0 to 399: positives above, negatives below, and half of each among the 80 rows in the middle.
SCORE = np.arange(400)
MIDDLE = np.abs(SCORE - 199.5) < 40
Y = np.where(MIDDLE, SCORE % 2 == 0, SCORE > 200)


def concluded(y, selected, *, asked=0.8, **options):
    masks = {1.0: np.ones(len(y), dtype=bool), asked: selected}
    evaluation = evaluate_selections(y, SCORE[: len(y)], y, masks, n_bootstrap=200, random_state=0, **options)
    return conclusion(evaluation, asked, is_weighted="sample_weight" in options)


def test_rejecting_rows_in_disorder_raises_the_auc():
    sentence = concluded(Y, ~MIDDLE)
    assert sentence.startswith(
        "Sending 20 % of cases to review raises the AUC of the rest from .980 to 1.000 (95 % inter"
    )
    assert "of the rise .0" in sentence


def test_rejecting_rows_in_order_lowers_the_auc():
    sentence = concluded(Y, (SCORE >= 100) & (SCORE < 300), asked=0.5)
    assert sentence.startswith(
        "Sending 50 % of cases to review lowers the AUC of the rest from .980 to .918 (95 % inter"
    )
    assert "of the fall .0" in sentence


def test_rejecting_rows_of_all_kinds_is_no_clear_rise():
    sentence = concluded(Y, SCORE % 5 > 0)
    assert sentence.startswith("Sending 20 % of cases to review moves the AUC of the rest from .980 to .9")
    assert "which is no clear rise (95 % interval of the change -.0" in sentence


def test_a_coverage_that_was_missed_is_called_so():
    assert concluded(Y, ~MIDDLE, asked=0.9).endswith(
        "). The coverage asked for was missed: 90 % (reached 80 %, 95 % interval 75.7 % to 83.8 %)."
    )
    assert concluded(Y, ~MIDDLE, asked=0.7).endswith("was missed: 70 % (reached 80 %, 95 % interval 75.7 % to 83.8 %).")
    assert "missed" not in concluded(Y, ~MIDDLE, asked=0.8)


def test_an_effect_without_an_interval_is_a_change_and_no_rise():
    masks = {1.0: np.ones(400, dtype=bool), 0.8: ~MIDDLE}
    evaluation = evaluate_selections(Y, SCORE, Y, masks, n_bootstrap=0)
    assert (
        conclusion(evaluation, 0.8) == "Sending 20 % of cases to review changes the AUC of the rest from .980 to 1.000."
    )


@pytest.mark.parametrize("kind", ["positive", "negative"])
def test_nine_rows_of_a_class_are_too_few_to_conclude_from_and_ten_are_not(kind):
    rare = np.isin(SCORE, np.linspace(150, 390, 12).astype(int))
    y = rare if kind == "positive" else ~rare
    places = np.flatnonzero(rare)
    nine, ten = (~np.isin(SCORE, places[:number]) for number in (3, 2))
    assert f" leaves 9 {kind} test rows, too few to tell what it does to the AUC." in concluded(y, nine)
    assert "AUC of the rest from" in concluded(y, ten)


def test_with_weights_their_share_is_told_beside_the_rows():
    sentence = concluded(Y, ~MIDDLE, sample_weight=np.where(MIDDLE, 4.0, 1.0))
    assert sentence.startswith("Sending 50 % of the weight (80 of 400 rows) to review raises the AUC of the rest")


def test_no_row_and_a_single_class():
    missed = "The coverage asked for was missed: 80 % (reached"
    assert concluded(Y, np.ones(400, dtype=bool)).startswith(
        f"No case goes to review at coverage 0.8; the AUC of all is .980. {missed}"
    )
    assert concluded(Y, Y, asked=0.5) == (
        "Sending 50 % of cases to review leaves a single class; no AUC of the rest can be stated."
    )
