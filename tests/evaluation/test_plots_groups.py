"""Groups as dots with intervals, and their gaps."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from aucross.evaluation.groups import evaluate_group_selections, evaluate_groups
from aucross.evaluation.plots import GroupGapDisplay
from tests.evaluation.drawn_rows import REGION, X_test, labels_of, y_test

pytestmark = pytest.mark.usefixtures("_draw_and_close")


@pytest.fixture(scope="module")
def report(clf):
    return evaluate_groups(clf, X_test, y_test, REGION, [0.9, 0.7])


def test_groups_have_the_numbers_of_the_report(report):
    display = GroupGapDisplay.from_evaluation(report, 0.7)
    rows = [row for row in report.rows() if row["target_coverage"] == 0.7]
    for metric in ("achieved_coverage", "selective_auc"):
        np.testing.assert_array_equal(display.values[metric], [row[metric] for row in rows[:-1]])
        np.testing.assert_allclose(display.low[metric], [row[f"{metric}_low"] for row in rows[:-1]])
        np.testing.assert_allclose(display.high[metric], [row[f"{metric}_high"] for row in rows[:-1]])
        assert display.overall[metric] == rows[-1][metric]


def test_gaps_stand_above_the_panels(report):
    display = GroupGapDisplay.from_evaluation(report, 0.7, metrics=["positives_for_review"], name="AUCross")
    gap = next(
        row for row in report.gaps().rows() if row["metric"] == "positives_for_review" and row["target_coverage"] == 0.7
    )
    words = f"AUCross: gap {gap['gap']:.3f}, by chance under {gap['gap_by_chance']:.3f}"
    assert words in labels_of(display.ax_)


def test_groups_are_named_with_their_sizes(report):
    display = GroupGapDisplay.from_evaluation(report, 0.7)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"{group} (n = {n})" for group, n in zip(report.groups, report.n, strict=True)]


def test_groups_that_are_too_small_for_the_gap_say_so():
    y, score = np.arange(180) % 2, np.random.default_rng(0).random(180)
    by = np.repeat(["a", "b", "tiny"], [80, 80, 20])
    report = evaluate_group_selections(y, score, score > 0.5, {0.8: score > 0.2}, by)
    labels = [label.get_text() for label in GroupGapDisplay.from_evaluation(report).ax_.get_yticklabels()]
    assert labels == ["a (n = 80)", "b (n = 80)", "tiny (n = 20, not in the gap)"]
    y, score, by = y[80:], score[80:], by[80:]
    report = evaluate_group_selections(y, score, score > 0.5, {0.8: score > 0.2}, by)
    assert GroupGapDisplay.from_evaluation(report).gaps == {}  # no two groups are large enough


def test_a_report_of_several_coverages_needs_one_named(report):
    with pytest.raises(ValueError, match=r"coverage must be one of \[0.9, 0.7\], got None"):
        GroupGapDisplay.from_evaluation(report)
    with pytest.raises(ValueError, match=r"coverage must be one of \[0.9, 0.7\], got 0.8"):
        GroupGapDisplay.from_evaluation(report, 0.8)


def test_unknown_group_metric_names_the_known_ones(report):
    with pytest.raises(ValueError, match=r"metrics must be from \['achieved_coverage'.*got 'gini'"):
        GroupGapDisplay.from_evaluation(report, 0.7, metrics=["gini"])


def test_second_display_on_the_same_panels_is_moved_aside(report):
    first = GroupGapDisplay.from_evaluation(report, 0.9, name="0.9", color="black")
    second = GroupGapDisplay.from_evaluation(report, 0.7, name="0.7", ax=first.axes_)
    ours, theirs = (display.points_["selective_auc"].lines[0].get_ydata() for display in (first, second))
    assert (theirs > ours).all()
    assert len(first.axes_[0].get_legend().get_texts()) == 3


def test_an_undefined_metric_is_written_as_such(score):
    defined = ~((y_test == 1) & (REGION == "west"))
    display = GroupGapDisplay.from_predictions(y_test, score, score > 0.5, defined, REGION)
    assert np.isnan(display.values["selective_auc"][display.groups.index("west")])
    assert [text.get_text() for text in display.axes_[1].texts] == ["undefined"]


def test_one_group_has_no_gap(score):
    display = GroupGapDisplay.from_predictions(y_test, score, score > 0.5, score > 0.1, ["all"] * 800)
    assert display.gaps == {}
    assert labels_of(display.ax_) == ["all rows"]


def test_groups_without_bootstrap_have_no_bars(score):
    display = GroupGapDisplay.from_predictions(y_test, score, score > 0.5, score > 0.1, REGION, with_intervals=False)
    assert labels_of(display.ax_)[1].startswith("gap ")
    assert "chance" not in labels_of(display.ax_)[1]


def test_groups_need_a_selected_row(score):
    with pytest.raises(ValueError, match="selected must select at least one row with weight, got none"):
        GroupGapDisplay.from_predictions(y_test, score, score > 0.5, np.zeros(800, dtype=bool), REGION)


def test_groups_need_a_metric():
    with pytest.raises(ValueError, match="values must hold at least one metric to draw, got none"):
        GroupGapDisplay(["a"], {})


def test_groups_want_an_axes_for_each_metric(report):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax must hold one axes for each of 2 panels, got 1"):
        GroupGapDisplay.from_evaluation(report, 0.7, ax=ax)
