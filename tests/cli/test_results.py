"""The sentences that people sign: what review does to the AUC of the rest, and which method is ahead."""

from __future__ import annotations

import re

import numpy as np
import pytest

from aucross import evaluate_selections
from aucross.cli.compare import Contestant, _conclusion
from aucross.cli.names import Base, Method
from aucross.cli.results import conclusion

N_ROWS = 1000
# Labels follow the score but for the middle, where they are anything.
score = np.linspace(0, 1, N_ROWS)
middle = np.abs(score - 0.5) < 0.15
labels = np.where(middle, np.random.default_rng(0).random(N_ROWS) < 0.5, score > 0.5).astype(int)
everyone = np.ones(N_ROWS, dtype=bool)


def sentence(automatic, *, labels=labels, score=score, **options) -> str:
    selections = {1.0: np.ones(len(score), dtype=bool), 0.7: automatic}
    evaluation = evaluate_selections(labels, score, score > 0.5, selections, n_bootstrap=200, random_state=0)
    return conclusion(evaluation, 0.7, **options)


def test_review_of_the_doubtful_raises_the_auc_of_the_rest():
    assert re.fullmatch(
        r"Sending 30 % of cases to review raises the AUC of the rest from \.9\d\d to 1\.000 \(95 % interval of the "
        r"rise \.0\d\d to \.0\d\d\)\.",
        sentence(~middle),
    )


def test_review_of_the_clear_lowers_the_auc_of_the_rest():
    assert re.fullmatch(
        r"Sending 30 % of cases to review lowers the AUC of the rest from \.9\d\d to \.\d\d\d \(95 % interval of the "
        r"fall \.0\d\d to \.\d\d\d\)\.",
        sentence((score > 0.15) & (score <= 0.85)),
    )


def test_review_at_random_is_no_clear_rise():
    at_random = np.arange(N_ROWS) % 10 < 7
    assert re.match(
        r"Sending 30 % of cases to review moves the AUC of the rest from .* which is no clear rise \(95 % interval of "
        r"the change -\.0\d\d to \.0\d\d\)",
        sentence(at_random),
    )


def test_weights_are_named():
    assert sentence(~middle, is_weighted=True).startswith("Sending 30 % of the weight to review raises")


def test_no_review_leaves_the_auc_of_all():
    assert re.fullmatch(r"No case goes to review at coverage 0\.7; the AUC of all is \.9\d\d\.", sentence(everyone))


def test_a_single_class_has_no_auc():
    assert sentence(score > 0.8).endswith("leaves a single class; no AUC of the rest can be stated.")


@pytest.mark.parametrize("n_positive", [1, 9, 10])
def test_of_few_rows_of_a_class_nothing_is_concluded(n_positive):
    few = np.zeros(200, dtype=int)
    few[-n_positive:] = 1
    found = sentence((np.arange(200) % 2 == 0) | (few == 1), labels=few, score=np.linspace(0, 1, 200))
    is_too_few = f"leaves {n_positive} positive test rows, too few to tell what it does to the AUC." in found
    assert is_too_few == (n_positive < 10)


# ---- compare ----


def ahead(*rows: dict[str, float]) -> str:
    """The sentence about methods of the given results; the first is the reference."""
    contestants = [
        Contestant(method, Base.HGB, evaluation=None, gap_to_oracle=0.0, seconds=1.0)
        for method, _ in zip(Method, rows, strict=False)
    ]
    return _conclusion(contestants, rows)


def result(auc: float, low: float, high: float, coverage: float = 0.9) -> dict[str, float]:
    return {"selective_auc": auc, "difference_low": low, "difference_high": high, "achieved_coverage": coverage}


REFERENCE = result(0.80, 0.0, 0.0)


def test_the_best_is_clearly_or_not_clearly_above_the_first():
    start = "The highest AUC of automatic cases is .820, of plugin-auc with hgb; it is "
    assert ahead(REFERENCE, result(0.82, 0.01, 0.03)) == (
        f"{start}clearly above aucross with hgb (95 % interval of the difference .010 to .030)."
    )
    assert ahead(REFERENCE, result(0.82, -0.01, 0.05)).startswith(f"{start}not clearly above aucross with hgb")


def test_whoever_decides_fewer_cases_is_told_so():
    assert ahead(REFERENCE, result(0.82, 0.01, 0.03, coverage=0.85)).endswith(
        ", but decides only 85 % of cases against 90 %."
    )
    assert "but decides only" not in ahead(REFERENCE, result(0.82, 0.01, 0.03, coverage=0.896))
    assert "but decides only" not in ahead(REFERENCE, result(0.82, 0.01, 0.03, coverage=0.95))


def test_rivals_of_the_first_are_those_not_clearly_behind():
    assert ahead(REFERENCE, result(0.79, -0.02, 0.01), result(0.7, -0.12, -0.08)).endswith(
        "; not clearly behind: plugin-auc with hgb."
    )
    assert ahead(REFERENCE, result(0.7, -0.12, -0.08)).endswith("; all others are clearly behind.")
