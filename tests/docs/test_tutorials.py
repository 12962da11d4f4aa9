"""The tutorials run, and what they say about their output holds."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"


@cache
def names_of(tutorial):
    """The names that a tutorial leaves behind."""
    with mpl.rc_context():
        plt.switch_backend("Agg")
        try:
            return runpy.run_path(str(FOLDER / f"{tutorial}.py"))
        finally:
            plt.close("all")


def test_every_tutorial_has_its_place_in_the_reading_order():
    order = runpy.run_path(str(FOLDER.parent / "_extensions" / "reading_order.py"))
    scripts = sorted((path.name for path in FOLDER.glob("*.py")), key=order["ReadingOrder"](FOLDER))
    assert [name.removesuffix(".py") for name in scripts] == list(order["TUTORIALS"])


def test_ten_minutes():
    names = names_of("ten_minutes")
    assert names["auc_of_selected"] > names["auc_of_all"] + 0.02
    assert abs(names["selected"].mean() - 0.8) < 0.02
    band = names["clf"].band()
    assert 0 < band.lower < band.upper < 0.3
    rows = names["evaluation"].rows()
    assert [row["target_coverage"] for row in rows] == [1.0, 0.9, 0.8, 0.7]
    assert all(row["auc_gain_low"] > 0 for row in rows[1:])
    by_metric = {(row["metric"], row["target_coverage"]): row for row in names["comparison"].rows()}
    auc = by_metric["selective_auc", 0.8]
    assert auc["difference_low"] > 0
    assert auc["second"] < rows[0]["selective_auc"]
    assert by_metric["selective_accuracy", 0.8]["difference"] < 0
    answer = names["answer"]
    assert 0 < answer.low < answer.coverage < answer.high <= 1
    assert answer.high - answer.low > 0.2
    assert names["table"]["reviews a week"].is_monotonic_increasing
    assert (names["frozen"].predict(names["X_rest"]) == names["base"].predict(names["X_rest"])).all()
