from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import RejectionBand
from aucross.core.bands import check_coverage
from tests.reference import selected_by
from tests.strategies import bands_between, property_test

finite = st.floats(allow_nan=False, allow_infinity=False)


def test_both_ends_are_rejected():
    band = RejectionBand(0.2, 0.4)
    assert band.rejects([0.2, 0.4]).tolist() == [True, True]


def test_the_floats_next_to_the_ends_are_selected():
    band = RejectionBand(0.2, 0.4)
    assert band.selects([np.nextafter(0.2, 0), np.nextafter(0.4, 1)]).tolist() == [True, True]


def test_a_band_of_equal_ends_rejects_that_score_only():
    assert RejectionBand(0.3, 0.3).rejects([0.2, 0.3, 0.4]).tolist() == [False, True, False]


@property_test
@given(ends=st.tuples(finite, finite).map(sorted), scores=st.lists(finite, max_size=8))
def test_rejects_exactly_the_scores_between_the_ends(ends, scores):
    band = RejectionBand(*ends)
    assert band.selects(scores).tolist() == selected_by(tuple(ends), scores)


@property_test
@given(ends=bands_between(), scores=st.lists(finite, max_size=8))
def test_rejects_and_selects_are_complements(ends, scores):
    band = RejectionBand(*ends)
    assert (band.rejects(scores) == ~band.selects(scores)).all()


def test_masks_are_boolean_arrays_of_the_length_of_the_scores():
    mask = RejectionBand(0.2, 0.4).selects([0.1, 0.3, 0.5])
    assert mask.dtype == np.bool_
    assert mask.shape == (3,)


def test_no_scores_give_an_empty_mask():
    assert RejectionBand(0.2, 0.4).rejects([]).shape == (0,)


def test_the_default_band_is_empty():
    assert RejectionBand().is_empty


def test_the_empty_band_selects_every_score_including_infinite_ones():
    assert RejectionBand().selects([-inf, -1.0, 0.0, 1.0, inf]).all()


@pytest.mark.parametrize("ends", [(0.2, 0.4), (0.3, 0.3), (-inf, 0.1), (0.1, inf), (-inf, inf), (inf, inf)])
def test_a_band_with_ordered_ends_is_not_empty(ends):
    assert not RejectionBand(*ends).is_empty


def test_a_lower_end_of_minus_infinity_rejects_everything_up_to_the_upper_end():
    assert RejectionBand(-inf, 0.3).rejects([-1e308, 0.3, 0.31]).tolist() == [True, True, False]


def test_an_upper_end_of_infinity_rejects_everything_from_the_lower_end_on():
    assert RejectionBand(0.3, inf).rejects([0.29, 0.3, 1e308]).tolist() == [False, True, True]


def test_float32_scores_are_compared_as_float64():
    # The nearest float32 to 0.1 is above 0.1; compared as float32 it would be equal and rejected.
    assert RejectionBand(0.0, 0.1).selects(np.array([0.1], dtype=np.float32)).tolist() == [True]


def test_ends_taken_from_float32_scores_reject_these_scores():
    scores = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    assert RejectionBand(scores[0], scores[2]).rejects(scores).all()


def test_ends_are_plain_floats_whatever_came_in():
    band = RejectionBand(np.float32(0.5), 1)
    assert (type(band.lower), type(band.upper)) == (float, float)


def test_the_repr_can_be_evaluated():
    band = RejectionBand(np.float64(0.25), 0.5)
    assert eval(repr(band)) == band


@pytest.mark.parametrize("method", ["rejects", "selects"])
def test_nan_scores_raise_with_their_number_and_a_remedy(method):
    with pytest.raises(ValueError, match=r"scores must not contain NaN, got 2 of 3; impute the features or drop"):
        getattr(RejectionBand(0.2, 0.4), method)([nan, 0.3, nan])


def test_nan_scores_raise_for_the_empty_band_too():
    with pytest.raises(ValueError, match="scores must not contain NaN"):
        RejectionBand().selects([nan])


@pytest.mark.parametrize("ends", [(nan, 0.4), (0.2, nan), (nan, nan)])
def test_nan_ends_raise(ends):
    with pytest.raises(ValueError, match="ends of a RejectionBand must not be NaN"):
        RejectionBand(*ends)


@pytest.mark.parametrize("ends", [(0.4, 0.2), (inf, 0.2), (0.2, -inf)])
def test_reversed_ends_raise_and_name_the_empty_band(ends):
    with pytest.raises(
        ValueError, match=r"lower must not exceed upper, got lower=.*, upper=.*; RejectionBand\(\) is the empty band"
    ):
        RejectionBand(*ends)


def test_bands_of_equal_ends_are_equal_and_share_a_hash():
    assert len({RejectionBand(0.2, 0.4), RejectionBand(np.float64(0.2), 0.4), RejectionBand(), RejectionBand()}) == 2


def test_bands_of_different_ends_differ():
    assert RejectionBand(0.2, 0.4) != RejectionBand(0.2, 0.5)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_ends_cannot_be_assigned(end):
    with pytest.raises(FrozenInstanceError):
        setattr(RejectionBand(0.2, 0.4), end, 0.3)


@pytest.mark.parametrize("band", [RejectionBand(), RejectionBand(0.2, 0.4), RejectionBand(-inf, 0.1)])
def test_a_pickled_band_is_equal(band):
    assert pickle.loads(pickle.dumps(band)) == band


@pytest.mark.parametrize(
    "coverage", [0.9, 1.0, 1, np.float32(0.5), np.float64(0.5), np.int64(1), Fraction(1, 2), 5e-324]
)
def test_numbers_above_0_up_to_1_are_coverages_and_come_back_as_floats(coverage):
    checked = check_coverage(coverage)
    assert checked == coverage
    assert type(checked) is float


@pytest.mark.parametrize(
    ("coverage", "message"),
    [
        (90, "coverage must be in (0, 1], got 90; for 90 % pass 0.9"),
        (100, "coverage must be in (0, 1], got 100; for 100 % pass 1"),
        (99.5, "coverage must be in (0, 1], got 99.5; for 99.5 % pass 0.995"),
        (np.float64(90), "coverage must be in (0, 1], got 90.0; for 90.0 % pass 0.9"),
        (101, "coverage must be in (0, 1], got 101; 1 stands for all"),
        (1.5, "coverage must be in (0, 1], got 1.5; 1 stands for all"),
        (0, "coverage must be in (0, 1], got 0; 1 stands for all"),
        (0.0, "coverage must be in (0, 1], got 0.0; 1 stands for all"),
        (-1, "coverage must be in (0, 1], got -1; 1 stands for all"),
        (nan, "coverage must be in (0, 1], got nan; 1 stands for all"),
        (inf, "coverage must be in (0, 1], got inf; 1 stands for all"),
    ],
)
def test_numbers_outside_raise_with_the_value_and_for_percentages_the_share_to_pass(coverage, message):
    with pytest.raises(ValueError, match="coverage") as raised:
        check_coverage(coverage)
    assert str(raised.value) == message


def test_a_coverage_just_above_1_is_shown_with_all_its_digits():
    with pytest.raises(ValueError, match=r"got 1\.0000001"):
        check_coverage(1.0000001)


@pytest.mark.parametrize("coverage", [True, False, np.True_, "0.9", None, [0.9], np.array(0.9), 0.9 + 0j])
def test_what_is_not_a_number_is_a_type_error_that_shows_it(coverage):
    with pytest.raises(TypeError, match=r"coverage must be a number in \(0, 1\], got ") as raised:
        check_coverage(coverage)
    assert repr(coverage) in str(raised.value)


def test_the_name_of_the_argument_appears_in_the_message():
    with pytest.raises(ValueError, match=r"^target must be in \(0, 1\], got 2"):
        check_coverage(2, name="target")
