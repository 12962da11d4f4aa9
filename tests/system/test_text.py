from __future__ import annotations

import datetime as dt
import json
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from aucross.system.text import down, exact_percent, json_ready, percent, percent_down


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.125, "12.5 %"), (0.8, "80 %"), (1 / 3, "33.3 %"), (0.0, "0 %"), (0.29, "29 %"), (nan, "nan %")],
)
def test_a_measured_share_has_one_decimal_at_most(share, text):
    assert percent(share) == percent(np.float64(share)) == text


@pytest.mark.parametrize(("share", "text"), [(0.95, "95 %"), (0.9995, "99.95 %"), (0.29, "29 %"), (0.975, "97.5 %")])
def test_a_chosen_share_keeps_its_digits(share, text):
    assert exact_percent(share) == text


@pytest.mark.parametrize(
    ("number", "text", "digits"), [(0.8129, "81.2 %", ".812"), (0.9996, "99.9 %", ".999"), (0.29, "29 %", ".290")]
)
def test_a_promised_number_is_rounded_down(number, text, digits):
    assert (percent_down(number), down(number)) == (text, digits)


def test_values_become_what_json_knows():
    value = {
        1: np.float64(0.5),
        "bad": (nan, inf, -inf, np.float32(nan)),
        "array": np.array([[1, 2], [3, 4]]),
        "floats": np.array([0.25, nan]),
        "flag": np.True_,
        "labels": np.array(["a", None], dtype=object),
        "date": dt.date(2024, 2, 29),
        "path": Path("a/b"),
        "none": None,
        "text": np.str_("x"),
    }
    assert json.loads(json.dumps(json_ready(value), allow_nan=False)) == {
        "1": 0.5,
        "bad": [None] * 4,
        "array": [[1, 2], [3, 4]],
        "floats": [0.25, None],
        "flag": True,
        "labels": ["a", None],
        "date": "2024-02-29",
        "path": "a/b",
        "none": None,
        "text": "x",
    }
