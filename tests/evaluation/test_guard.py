"""The guard on the base rate: its numbers, its limits, its sentences, and its silence about chance."""

from __future__ import annotations

import re
import warnings
from dataclasses import FrozenInstanceError
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.evaluation import base_rate_shift, positive_rate, positives_for_review
from aucross.evaluation.guard import BaseRateCheck, BaseRateGuard, BaseRateWarning
from aucross.evaluation.inputs import MISSING
from tests import strategies
from tests.strategies import property_test

NUMBERS = ("positive_rate", "selected_positive_rate", "shift", "relative_shift", "for_review", "rarer_for_review")


def make_rows(n=1000, prevalence=0.1):
    """Every k-th row is positive."""
    return np.arange(n) % round(1 / prevalence) == 0


def rejecting(positive, positives=0, negatives=0):
    """A selection that rejects so many of the first positives and negatives."""
    selected = np.ones(len(positive), dtype=bool)
    selected[np.flatnonzero(positive)[:positives]] = False
    selected[np.flatnonzero(~positive)[:negatives]] = False
    return selected


def quiet_check(positive, selected, guard=None, **options):
    return (guard or BaseRateGuard()).check(positive, selected, warn=False, **options)


# ---- numbers ----


def test_numbers_of_a_selection():
    y = make_rows()
    check = quiet_check(y, rejecting(y, positives=30, negatives=70))
    assert check.n == 1000
    assert (check.positive_rate, check.for_review) == pytest.approx((0.1, 0.1))
    assert check.selected_positive_rate == pytest.approx(70 / 900)
    assert check.shift == pytest.approx(70 / 900 - 0.1)
    assert check.relative_shift == pytest.approx((70 / 900 - 0.1) / 0.1)
    assert (check.rarer_class, check.rarer_for_review) == ("positive", 0.3)
    assert check.review_ratio == pytest.approx(3.0)
    assert 0 < check.chance < 1e-6


@st.composite
def selections(draw):
    rows = draw(strategies.rows(min_size=2))
    n = len(rows.labels)
    return rows, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


def assert_same_numbers(first: BaseRateCheck, second: BaseRateCheck):
    for name in (*NUMBERS, "review_ratio"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-12, nan_ok=True), name


@given(selections())
@property_test
def test_numbers_are_those_of_the_metrics(drawn):
    rows, selected = drawn
    check = quiet_check(rows.labels, selected, sample_weight=rows.weights)
    weight = {"sample_weight": rows.weights}
    assert check.positive_rate == pytest.approx(positive_rate(rows.labels, **weight))
    assert check.shift == pytest.approx(base_rate_shift(rows.labels, selected, **weight), abs=1e-12, nan_ok=True)
    if check.rarer_class == "positive":
        expected = positives_for_review(rows.labels, selected, **weight)
        assert check.rarer_for_review == pytest.approx(expected, nan_ok=True)


@given(selections())
@property_test
def test_weight_2_equals_the_row_twice_and_weight_0_no_row(drawn):
    rows, selected = drawn
    twice = np.repeat(np.arange(len(selected)), rows.weights.astype(int))
    weighted = quiet_check(rows.labels, selected, sample_weight=rows.weights)
    assert_same_numbers(weighted, quiet_check(rows.labels[twice], selected[twice]))
    used = rows.weights > 0
    kept = quiet_check(rows.labels[used], selected[used], sample_weight=rows.weights[used])
    assert weighted == kept or str(weighted) == str(kept)


@given(selections())
@property_test
def test_the_other_class_as_positive_gives_the_mirror_image(drawn):
    rows, selected = drawn
    first, second = (quiet_check(labels, selected) for labels in (rows.labels, ~rows.labels))
    assert first.shift == pytest.approx(-second.shift, abs=1e-12, nan_ok=True)
    assert first.chance == pytest.approx(second.chance)
    if rows.labels.mean() != 0.5:
        assert first.rarer_class != second.rarer_class
        assert first.relative_shift == pytest.approx(second.relative_shift, abs=1e-9, nan_ok=True)
        assert first.exceeded == second.exceeded


@given(selections(), st.randoms(use_true_random=False))
@property_test
def test_the_order_of_the_rows_does_not_matter(drawn, random):
    rows, selected = drawn
    order = list(range(len(selected)))
    random.shuffle(order)
    first, second = quiet_check(rows.labels, selected), quiet_check(rows.labels[order], selected[order])
    assert_same_numbers(first, second)
    assert first.chance == pytest.approx(second.chance)


def test_chance_is_the_share_of_random_selections_at_least_as_unusual():
    y = make_rows(60, 0.2)
    check = quiet_check(y, rejecting(y, positives=5, negatives=10))
    rng = np.random.default_rng(0)
    found = np.array([y[rng.permutation(60)[:15]].sum() for _ in range(20_000)])
    assert check.chance == pytest.approx(2 * (found >= 5).mean(), abs=0.02)


# ---- limits ----


def test_a_selection_that_keeps_the_mix_is_silent():
    y = make_rows()
    check = BaseRateGuard().check(y, rejecting(y, positives=25, negatives=225))
    assert check.ok
    assert check.exceeded == ()
    assert check.message == (
        "25 % of 1000 rows and 25 % of the positives go to review, and the positive rate goes from 0.100 to 0.100"
    )


def test_shares_of_weight_are_called_so():
    y = make_rows()
    selected = rejecting(y, positives=25, negatives=225)
    weighted = BaseRateGuard().check(y, selected, sample_weight=np.where(selected, 1.0, 3.0))
    assert weighted.message == (
        "50 % of the weight of 1000 rows and 50 % of that of the positives go to review, and the positive rate by "
        "weight goes from 0.100 to 0.100"
    )
    equal = BaseRateGuard().check(y, selected, sample_weight=np.full(len(y), 3.0))
    assert equal.message.startswith("25 % of 1000 rows and ")


def test_each_limit_alone():
    common, rare = make_rows(4000, 0.5), make_rows(4000, 0.01)
    # Prevalence .5 to .44: 6 points, 12 % of it, 1.3 times as often.
    assert quiet_check(common, rejecting(common, positives=600, negatives=200)).exceeded[:1] == ("max_shift",)
    # Prevalence .010 to .007: .003 points, 28 % of it; rejection share .1 against .35.
    both = quiet_check(rare, rejecting(rare, positives=14, negatives=386))
    assert both.exceeded == ("max_relative_shift", "max_review_ratio")
    # 5 % of the rows, 15 % of the positives: prevalence moves by a tenth only.
    starved = quiet_check(rare, rejecting(rare, positives=6, negatives=194), BaseRateGuard(significance=1.0))
    assert starved.exceeded == ("max_review_ratio",)


def test_a_rate_that_rises_counts_as_well():
    y = make_rows()
    check = quiet_check(y, rejecting(y, negatives=400))
    assert check.shift > 0.05
    assert check.exceeded == ("max_shift", "max_relative_shift")


def test_the_rarer_class_may_be_the_negative_one():
    y = ~make_rows()
    check = quiet_check(y, rejecting(y, negatives=50))
    assert check.rarer_class == "negative"
    assert check.review_ratio == pytest.approx(10.0)
    assert check.relative_shift == pytest.approx((50 / 950 - 0.1) / 0.1)
    assert "50 % of the negatives go to review" in check.message
    assert "negatives go to review 10.0 times as often as any row (limit 2)" in check.message


def test_limits_can_be_set():
    y = make_rows()
    selected = rejecting(y, positives=50)
    assert not quiet_check(y, selected).ok
    assert quiet_check(y, selected, BaseRateGuard(0.1, 0.5, 20)).ok
    assert quiet_check(y, selected, BaseRateGuard(0.1, 0.4, 20)).exceeded == ("max_relative_shift",)


def test_a_number_at_its_limit_is_not_beyond_it():
    y = make_rows()
    check = quiet_check(y, rejecting(y, positives=50, negatives=200))
    assert check.review_ratio == 2.0
    assert "max_review_ratio" not in check.exceeded


def test_small_samples_raise_no_alarm_by_accident():
    y = make_rows(20, 0.1)
    selected = rejecting(y, positives=1, negatives=1)  # half of the positives, a tenth of the rows
    assert quiet_check(y, selected).ok
    assert not quiet_check(y, selected, BaseRateGuard(significance=1.0)).ok


def test_the_alarm_begins_at_a_chance_of_one_in_a_hundred():
    y = make_rows(200, 0.1)
    rarer_than_that, more_often = (quiet_check(y, rejecting(y, positives=6, negatives=n)) for n in (12, 13))
    assert (rarer_than_that.chance, more_often.chance) == pytest.approx((0.0080, 0.0110), abs=5e-5)
    assert rarer_than_that.exceeded == ("max_relative_shift", "max_review_ratio")
    assert more_often.exceeded == ()
    # The limits themselves are passed by both: the chance alone tells them apart.
    assert more_often.review_ratio > 2 < rarer_than_that.review_ratio


def test_random_rejection_is_seldom_beyond_the_limits():
    rng = np.random.default_rng(0)
    guard = BaseRateGuard()
    alarms = [not quiet_check(rng.random(200) < 0.05, rng.random(200) < 0.8, guard).ok for _ in range(400)]
    assert np.mean(alarms) <= 0.01


# ---- warnings and sentences ----


def test_the_warning_says_the_numbers_and_the_limits():
    y = make_rows()
    sentence = (
        "5 % of 1000 rows and 50 % of the positives go to review, and the positive rate goes from 0.100 to 0.053: "
        "a share of positives changed by 47.4 % (limit 20 %); positives go to review 10.0 times as often as any row "
        "(limit 2)"
    )
    with pytest.warns(BaseRateWarning, match=f"^{re.escape(sentence)}$") as caught:
        check = BaseRateGuard().check(y, rejecting(y, positives=50))
    assert check.message == sentence
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert issubclass(BaseRateWarning, UserWarning)


def test_no_warning_where_none_is_wanted():
    y = make_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BaseRateGuard().check(y, rejecting(y, positives=50), warn=False)
        BaseRateGuard().check_groups(y, rejecting(y, positives=50), ["a"] * 1000, warn=False)


# ---- what cannot be compared ----


@pytest.mark.parametrize(
    ("y", "selected", "message"),
    [
        (np.zeros(9, bool), np.arange(9) < 5, "there are no positives among 9 rows: nothing to compare"),
        (np.ones(9, bool), np.arange(9) < 5, "there are no negatives among 9 rows: nothing to compare"),
        (np.arange(9) < 3, np.zeros(9, bool), "none of 9 rows is selected: nothing to compare"),
    ],
)
def test_nothing_to_compare_is_no_alarm(y, selected, message):
    check = BaseRateGuard(significance=1.0).check(y, selected)
    assert check.ok
    assert check.message == message
    assert isnan(check.relative_shift)


def test_full_coverage_is_no_alarm():
    y = make_rows()
    check = BaseRateGuard(0, 0, 1, 1.0).check(y, np.ones(1000, bool))
    assert check.ok
    assert (check.shift, check.for_review, check.chance) == (0.0, 0.0, 1.0)
    assert isnan(check.review_ratio)


# ---- groups ----


def two_groups():
    y = make_rows(2000)
    groups = np.where(np.arange(2000) < 1000, "fair", "starved")
    selected = np.ones(2000, dtype=bool)
    selected[:1000] = rejecting(y[:1000], positives=10, negatives=90)
    selected[1000:] = rejecting(y[1000:], positives=60, negatives=40)
    return y, selected, groups


def test_each_group_is_compared_with_itself():
    y, selected, groups = two_groups()
    with pytest.warns(BaseRateWarning, match=r"^group 'starved': 10 % of 1000 rows and 60 %") as caught:
        checks = BaseRateGuard().check_groups(y, selected, groups)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert list(checks) == ["fair", "starved"]
    for label, check in checks.items():
        own = groups == label
        assert check == quiet_check(y[own], selected[own])
    assert checks["fair"].ok
    assert not checks["starved"].ok


def test_one_warning_names_all_groups():
    y, selected, groups = two_groups()
    with pytest.warns(BaseRateWarning) as caught:
        BaseRateGuard().check_groups(y, selected, np.where(groups == "fair", "fair", np.arange(2000) % 3))
    assert len(caught) == 1
    assert all(f"group '{number}': " in str(caught[0].message) for number in range(3))
    assert "group 'fair'" not in str(caught[0].message)


def test_groups_with_weights_and_missing_values():
    y, selected, groups = two_groups()
    weight = np.random.default_rng(0).integers(0, 3, 2000).astype(float)
    column = [None if label == "starved" else label for label in groups]
    checks = BaseRateGuard().check_groups(y, selected, column, sample_weight=weight, warn=False)
    assert list(checks) == ["fair", MISSING]
    own = groups == "starved"
    assert checks[MISSING] == quiet_check(y[own], selected[own], sample_weight=weight[own])


def test_a_group_without_weight_is_none():
    y, selected, groups = two_groups()
    checks = BaseRateGuard().check_groups(y, selected, groups, sample_weight=(groups == "fair").astype(float))
    assert list(checks) == ["fair"]


# ---- refusals ----


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"max_shift": 5}, "max_shift must be in [0, 1], got 5; for 5 % pass 0.05"),
        ({"max_relative_shift": -0.1}, "max_relative_shift must be 0 or more, got -0.1; 0.2 means 20 %"),
        ({"max_relative_shift": float("nan")}, "max_relative_shift must be 0 or more, got nan; 0.2 means 20 %"),
        ({"max_review_ratio": 0.5}, "max_review_ratio must be at least 1, got 0.5; 1 means as often as any row"),
        ({"significance": 0}, "significance must be in (0, 1], got 0; 1 switches it off"),
        ({"significance": 1.5}, "significance must be in (0, 1], got 1.5; 1 switches it off"),
    ],
)
def test_limits_that_cannot_be(limits, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        BaseRateGuard(**limits)


@pytest.mark.parametrize(
    ("y", "selected", "options", "sentence"),
    [
        ([], np.zeros(0, bool), {}, "there must be at least one row to check, got none"),
        ([0, 1], [True], {}, "selected must hold one entry per row, got 1 for 2 rows"),
        ([0, 1], [1, 0], {}, "selected must be a boolean mask, got dtype int64; pass selected == 1 for 0/1 marks, "),
        ([0, 2], [True, True], {}, "y_true must be boolean, 0/1 or -1/1, got values such as [0, 2]; "),
        ([0, 1], [True, True], {"sample_weight": [1]}, "sample_weight must hold one weight per row, got shape (1,) "),
    ],
)
def test_rows_that_cannot_be(y, selected, options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        BaseRateGuard().check(y, selected, **options)


def test_a_column_of_groups_of_another_length():
    with pytest.raises(ValueError, match=r"^by must hold one value per row, got 1 for 2 rows$"):
        BaseRateGuard().check_groups([0, 1], [True, True], ["a"])


def test_guards_and_checks_cannot_be_changed():
    guard = BaseRateGuard()
    check = quiet_check([0, 1], [True, True], guard)
    for value in (guard, check):
        with pytest.raises(FrozenInstanceError):
            value.n = 3
