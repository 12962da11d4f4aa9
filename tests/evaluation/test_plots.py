"""What all displays have in common: axes, names, input that cannot be drawn, a missing matplotlib."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.evaluation.plots import (
    AUCSurfaceDisplay,
    BandDisplay,
    CAPDisplay,
    CoverageCurveDisplay,
    GroupGapDisplay,
    RiskCoverageDisplay,
)
from tests.evaluation.drawn_rows import FEW, REGION, X_test, X_train, labels_of, y_test, y_train

pytestmark = pytest.mark.usefixtures("_draw_and_close")


def each_display(**calls):
    return pytest.mark.parametrize("draw", calls.values(), ids=calls.keys())


FROM_ESTIMATOR = {
    "coverage": lambda clf, **options: CoverageCurveDisplay.from_estimator(
        clf, X_test, y_test, [1, 0.8], **FEW, **options
    ),
    "band": lambda clf, **options: BandDisplay.from_estimator(clf, X_test, y_test, **options),
    "cap": lambda clf, **options: CAPDisplay.from_estimator(clf, X_test, y_test, **options),
    "surface": lambda clf, **options: AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, n_bins=60, **options),
    "risk": lambda clf, **options: RiskCoverageDisplay.from_estimator(clf, X_test, y_test, [1, 0.8], **FEW, **options),
    "groups": lambda clf, **options: GroupGapDisplay.from_estimator(
        clf, X_test, y_test, REGION, metrics=["selective_auc"], **options
    ),
}


@each_display(**FROM_ESTIMATOR)
def test_display_keeps_axes_and_figure(draw, clf):
    display = draw(clf)
    assert display.ax_.figure is display.figure_
    assert display.ax_ in plt.gcf().axes


@each_display(**FROM_ESTIMATOR)
def test_display_draws_into_the_axes_given(draw, clf):
    _, ax = plt.subplots()
    assert draw(clf, ax=ax).ax_ is ax
    assert len(plt.get_fignums()) == 1


@each_display(**FROM_ESTIMATOR)
def test_display_can_be_drawn_again(draw, clf):
    display = draw(clf)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first


@each_display(**FROM_ESTIMATOR)
def test_display_names_the_class_by_default(draw, clf):
    display = draw(clf)
    words = [*labels_of(display.ax_), display.ax_.get_title()]
    assert any("AUCross" in word for word in words)


@each_display(**FROM_ESTIMATOR)
def test_display_takes_another_name(draw, clf):
    display = draw(clf, name="scorecard")
    words = [*labels_of(display.ax_), display.ax_.get_title()]
    assert any("scorecard" in word for word in words)


@each_display(**FROM_ESTIMATOR)
def test_every_axis_says_what_it_shows(draw, clf):
    display = draw(clf)
    assert display.ax_.get_xlabel()
    # Where the rows of a chart are named one by one, the names say it.
    named = any(character.isalpha() for tick in display.ax_.get_yticklabels() for character in tick.get_text())
    assert named != bool(display.ax_.get_ylabel())


@each_display(**FROM_ESTIMATOR)
def test_display_refuses_a_plain_classifier(draw):
    model = LogisticRegression().fit(X_train, y_train)
    with pytest.raises(TypeError, match="clf must be a selective classifier such as AUCross, got LogisticRegression"):
        draw(model)


@each_display(**FROM_ESTIMATOR)
def test_display_reads_frames_and_string_labels(draw, monkeypatch):
    columns = list("abcdef")
    frame, labels = pd.DataFrame(X_train, columns=columns), np.where(y_train == 1, "paid", "late")
    named = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(frame, labels)
    monkeypatch.setitem(globals(), "X_test", pd.DataFrame(X_test, columns=columns))
    monkeypatch.setitem(globals(), "y_test", pd.Series(np.where(y_test == 1, "paid", "late")))
    assert draw(named).figure_ is plt.gcf()


@each_display(**FROM_ESTIMATOR)
def test_display_refuses_labels_of_another_kind(draw, clf, monkeypatch):
    monkeypatch.setitem(globals(), "y_test", np.where(y_test == 1, "paid", "late"))
    with pytest.raises(ValueError, match="y must hold the classes of the training rows"):
        draw(clf)


@each_display(**{name: call for name, call in FROM_ESTIMATOR.items() if name in ("band", "cap", "surface", "groups")})
def test_display_of_two_classes_refuses_three(draw, three_classes, monkeypatch):
    model, X3, y3 = three_classes
    monkeypatch.setitem(globals(), "X_test", X3)
    monkeypatch.setitem(globals(), "y_test", y3)
    with pytest.raises(ValueError, match="clf must have two classes, got 3"):
        draw(model)


@each_display(**{name: call for name, call in FROM_ESTIMATOR.items() if name != "groups"})
def test_display_says_which_row_counts_differ(draw, clf, monkeypatch):
    monkeypatch.setitem(globals(), "y_test", y_test[:-1])
    with pytest.raises(ValueError, match="y must hold one label per row of X, got 799 for 800 rows"):
        draw(clf)


def test_missing_matplotlib_gives_one_sentence_with_the_command():
    code = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
from aucross.core import RejectionBand
from aucross.evaluation.plots import BandDisplay, CAPDisplay, CoverageCurveDisplay, RiskCoverageDisplay

display = CoverageCurveDisplay([1.0, 0.8], [0.7, 0.8])
for draw in (
    display.plot,
    lambda: BandDisplay.from_predictions([0, 1], [0.1, 0.2], RejectionBand()),
    lambda: CAPDisplay.from_predictions([0, 1], [0.1, 0.2]),
    lambda: RiskCoverageDisplay.from_predictions([0, 1], [0.1, 0.2]),
):
    try:
        draw()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ['plots need matplotlib: pip install "aucross[plots]"'] * 4
