"""Tables of an evaluation and of a comparison: spreads, shares, frames, text."""

from __future__ import annotations

import json
import pickle
import re
import sys
from dataclasses import FrozenInstanceError, replace
from math import inf, isnan, nan

import numpy as np
import pandas as pd
import pytest

from aucross import evaluate_selections
from aucross.evaluation import SelectiveComparison, SelectiveEvaluation

INSTALL = 'to_frame needs pandas: pip install "aucross[frames]"; rows() works without'


def make_evaluation(replicates, estimate=0.5, name="selective_auc", **fields) -> SelectiveEvaluation:
    """An evaluation of one metric; `replicates` has one row per replicate and one column per coverage."""
    values = np.array(replicates, dtype=float)
    n_coverages = values.shape[1]
    contents = {
        "target_coverage": np.linspace(0.9, 0.8, n_coverages) if n_coverages > 1 else np.array([0.9]),
        "estimates": {name: np.full(n_coverages, float(estimate))},
        "replicates": {name: values},
        "n_positive": np.arange(n_coverages) + 3,
        "n_negative": np.arange(n_coverages) + 7,
    }
    return SelectiveEvaluation(**{**contents, **fields})


def column(values):
    return np.array(values, dtype=float)[:, None]


@pytest.fixture
def evaluation():
    rng = np.random.default_rng(0)
    y = rng.random(80) < 0.4
    score = rng.random(80) + 0.3 * y
    masks = {1.0: np.ones(80, dtype=bool), 0.75: np.abs(score - 0.6) > 0.1}
    return evaluate_selections(y, score, score > 0.6, masks, n_bootstrap=30, random_state=0)


@pytest.fixture
def comparison(evaluation):
    rng = np.random.default_rng(1)
    y = rng.random(80) < 0.4
    score = rng.random(80)
    masks = {1.0: np.ones(80, dtype=bool), 0.75: score > 0.2}
    return evaluation.minus(evaluate_selections(y, score, score > 0.6, masks, n_bootstrap=30, random_state=0))


# ---- spreads ----


def test_sd_and_percentile_interval_of_the_replicates():
    values = np.random.default_rng(0).random((41, 2))
    rows = make_evaluation(values, confidence_level=0.9).rows()
    for index, row in enumerate(rows):
        assert row["selective_auc_sd"] == pytest.approx(np.std(values[:, index], ddof=1))
        # 41 replicates: the 5 % and 95 % points are the third value from each end.
        assert row["selective_auc_low"] == pytest.approx(np.sort(values[:, index])[2])
        assert row["selective_auc_high"] == pytest.approx(np.sort(values[:, index])[-3])


def test_undefined_replicates_are_left_out_of_the_spread():
    with_gaps, without = make_evaluation(column([0.1, nan, 0.4, 0.2, nan])), make_evaluation(column([0.1, 0.4, 0.2]))
    assert with_gaps.rows() == without.rows()


@pytest.mark.parametrize("values", [[], [0.4], [nan, 0.4, nan], [nan, nan]])
def test_fewer_than_two_defined_replicates_have_no_spread(values):
    row = make_evaluation(np.reshape(values, (-1, 1))).rows()[0]
    assert row["selective_auc"] == 0.5
    assert all(isnan(row[f"selective_auc_{end}"]) for end in ("sd", "low", "high"))


def test_equal_replicates_have_an_interval_of_no_width():
    row = make_evaluation(column([0.25] * 5)).rows()[0]
    assert (row["selective_auc_sd"], row["selective_auc_low"], row["selective_auc_high"]) == (0.0, 0.25, 0.25)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([1.0, 2.0, inf], 1.0, inf), ([inf, inf, inf], inf, inf), ([-inf, 2.0, 3.0], -inf, 3.0)],
)
def test_infinite_replicates_give_ends_that_are_replicates(values, low, high):
    row = make_evaluation(column(values)).rows()[0]
    assert isnan(row["selective_auc_sd"])
    assert (row["selective_auc_low"], row["selective_auc_high"]) == (low, high)


# ---- rows and frames ----


def test_rows_hold_plain_python_numbers(evaluation, comparison):
    for row in evaluation.rows() + comparison.rows():
        assert {type(value) for value in row.values()} <= {int, float, str}
        assert json.loads(json.dumps(row)) == row
    assert type(evaluation.rows()[0]["n_positive"]) is int


@pytest.mark.parametrize("kind", ["evaluation", "comparison"])
def test_the_frame_holds_the_rows(kind, request):
    result = request.getfixturevalue(kind)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("records") == result.rows()
    assert frame.index.tolist() == list(range(len(result.rows())))


@pytest.mark.parametrize("kind", ["evaluation", "comparison"])
def test_without_pandas_to_frame_says_what_to_install_and_the_rest_works(kind, request, monkeypatch):
    result = request.getfixturevalue(kind)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=f"^{re.escape(INSTALL)}$"):
        result.to_frame()
    assert result.rows()
    assert repr(result)


# ---- text ----


def starts_of_cells(line):
    """Where a cell begins: after the start of the line or two blanks."""
    return [match.start() for match in re.finditer(r"(?<![^ ] )(?<![^ ])\S", line)]


def test_the_text_of_an_evaluation_is_an_aligned_table(evaluation):
    lines = repr(evaluation).split("\n")
    assert lines[0].split() == ["target_coverage", *evaluation.estimates]
    assert len(lines) == 3
    assert starts_of_cells(lines[0]) == starts_of_cells(lines[1]) == starts_of_cells(lines[2])
    assert all(line == line.rstrip() for line in lines)
    for line, row in zip(lines[1:], evaluation.rows(), strict=True):
        cells = re.split(r" {2,}", line)
        assert cells[0] == f"{row['target_coverage']:.2f}"
        auc, low, high = (row[f"selective_auc{end}"] for end in ("", "_low", "_high"))
        assert cells[3] == f"{auc:.3f} [{low:.3f}, {high:.3f}]"


def test_the_text_of_a_comparison_is_an_aligned_table_of_the_auc(comparison):
    lines = repr(comparison).split("\n")
    names = ["metric", "classifier", "reference", "target_coverage", "value", "reference_value", "difference"]
    assert lines[0].split() == names
    assert starts_of_cells(lines[0]) == starts_of_cells(lines[1]) == starts_of_cells(lines[2])
    rows = [row for row in comparison.rows() if row["metric"] == "selective_auc"]
    for line, row in zip(lines[1:], rows, strict=True):
        cells = re.split(r" {2,}", line)
        interval = f"[{row['difference_low']:.3f}, {row['difference_high']:.3f}]"
        assert cells[:4] == ["selective_auc", "first", "second", f"{row['target_coverage']:.2f}"]
        numbers = [f"{row['value']:.3f}", f"{row['reference_value']:.3f}", f"{row['difference']:.3f} {interval}"]
        assert cells[4:] == numbers


def test_the_text_has_no_intervals_where_there_are_none():
    lines = repr(make_evaluation(np.empty((0, 2)))).split("\n")
    assert lines == ["target_coverage  selective_auc", "0.90             0.500", "0.80             0.500"]


def test_the_text_tells_an_undefined_estimate():
    assert repr(make_evaluation(column([nan, nan]), estimate=nan)).split() == [
        "target_coverage",
        "selective_auc",
        "0.90",
        "nan",
    ]


def test_the_text_does_not_round_target_coverages():
    coverages = np.array([0.5, 0.975, 0.999, 1.0])
    lines = repr(make_evaluation(np.empty((0, 4)), target_coverage=coverages)).split("\n")[1:]
    assert [line.split()[0] for line in lines] == ["0.50", "0.975", "0.999", "1.00"]


# ---- minus ----


def test_minus_subtracts_replicate_by_replicate():
    first, second = make_evaluation(column([0.5, 0.75, 0.25]), 0.5), make_evaluation(column([0.25, 0.75, 0.5]), 0.25)
    comparison = first.minus(second)
    assert isinstance(comparison, SelectiveComparison)
    row = comparison.rows()[0]
    assert (row["value"], row["reference_value"], row["difference"]) == (0.5, 0.25, 0.25)
    assert row["difference_sd"] == pytest.approx(0.25)
    assert row["share_above_zero"] == 0.5


@pytest.mark.parametrize(
    ("differences", "share"),
    [([1.0, 2.0, 3.0], 1.0), ([-1.0, -2.0], 0.0), ([0.0, 0.0], 0.5), ([1.0, 0.0, -1.0, 1.0], 0.625), ([1.0, nan], 1.0)],
)
def test_share_above_zero_counts_equal_values_half_and_leaves_out_undefined_ones(differences, share):
    zeros = make_evaluation(column([0.0] * len(differences)))
    row = make_evaluation(column(differences)).minus(zeros).rows()[0]
    assert row["share_above_zero"] == share


@pytest.mark.parametrize("values", [[], [nan, nan]])
def test_share_above_zero_is_undefined_without_replicates(values):
    evaluation = make_evaluation(np.reshape(values, (-1, 1)))
    row = evaluation.minus(evaluation).rows()[0]
    assert isnan(row["share_above_zero"])
    assert row["difference"] == 0.0


def test_equal_infinities_differ_by_zero():
    evaluation = make_evaluation(column([inf, 2.0, inf]), estimate=inf)
    row = evaluation.minus(evaluation).rows()[0]
    assert (row["difference"], row["difference_low"], row["share_above_zero"]) == (0.0, 0.0, 0.5)
    finite = make_evaluation(column([1.0, 1.0, 1.0]), estimate=1.0)
    assert evaluation.minus(finite).rows()[0]["difference"] == inf
    assert finite.minus(evaluation).difference("selective_auc").ends.low.tolist() == [-inf]


def test_minus_keeps_the_metrics_that_both_have_and_the_level_of_the_first():
    first = make_evaluation(column([0.5, 0.6]), confidence_level=0.8)
    extra = {"selective_ks": np.array([0.5])}
    replicates = {"selective_ks": column([0.5, 0.6])}
    second = replace(
        first,
        estimates={**extra, **first.estimates},
        replicates={**replicates, **first.replicates},
        confidence_level=0.9,
    )
    assert first.minus(second).metrics == ["selective_auc"]
    assert second.minus(first).metrics == ["selective_auc"]
    assert first.minus(second).confidence_level == 0.8


@pytest.mark.parametrize("other", [[0.9], [0.9, 0.7], [0.8, 0.9]])
def test_minus_refuses_other_target_coverages(other):
    first = make_evaluation(np.zeros((3, 2)))
    second = make_evaluation(np.zeros((3, len(other))), target_coverage=np.array(other))
    sentence = f"both evaluations must have the same target coverages, got [0.9, 0.8] and {other}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        first.minus(second)


def test_minus_refuses_another_number_of_replicates():
    first, second = (make_evaluation(np.zeros((number, 2))) for number in (3, 4))
    sentence = (
        "both evaluations must have the same bootstrap for selective_auc, got (replicates, seed) (3,) and (4,); pass "
        "the same n_bootstrap and random_state to both"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        first.minus(second)


# ---- objects ----


@pytest.mark.parametrize("kind", ["evaluation", "comparison"])
def test_results_are_frozen_compare_by_identity_and_survive_pickling(kind, request):
    result = request.getfixturevalue(kind)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        result.confidence_level = 0.5
    copy = pickle.loads(pickle.dumps(result))
    assert copy != result
    assert result == result  # noqa: PLR0124
    assert len({copy, result}) == 2
    assert copy.rows() == result.rows()
