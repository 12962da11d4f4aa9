"""Bands on scores, on the surface of the AUC, and what they do to the cumulative accuracy profile."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross
from aucross.core import RankedScores, RejectionBand, oracle_band
from aucross.evaluation import selective_auc
from aucross.evaluation.plots import AUCSurfaceDisplay, BandDisplay, CAPDisplay, auc_surface, cap_curve
from tests.evaluation.drawn_rows import REGION, X_test, X_train, labels_of, y_test, y_train

pytestmark = pytest.mark.usefixtures("_draw_and_close")


# 20 rows by falling score, 7 of them positive, as in the paper's Figure 1.
TWENTY = np.array([1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0])
FALLING = -np.arange(20.0)


# ---- the band on the scores ----


def test_histogram_counts_the_rows_of_each_class(clf, score):
    display = BandDisplay.from_estimator(clf, X_test, y_test, bins=20)
    assert display.negatives.sum() == (y_test == 0).sum()
    assert display.positives.sum() == (y_test == 1).sum()
    np.testing.assert_array_equal(display.positives, np.histogram(score[y_test == 1], display.edges)[0])


def test_band_shades_the_interval_of_the_classifier(clf):
    display = BandDisplay.from_estimator(clf, X_test, y_test, 0.7)
    band = clf.band(0.7)
    assert display.band == band
    assert display.span_.get_x() == pytest.approx(band.lower)
    assert display.span_.get_x() + display.span_.get_width() == pytest.approx(band.upper)
    assert display.rejected_share == pytest.approx(1 - clf.select(X_test, 0.7).mean())
    assert f"{100 * display.rejected_share:.1f}".removesuffix(".0") + " % of rows" in display.text_.get_text()


def test_each_histogram_has_an_area_of_one(clf):
    display = BandDisplay.from_estimator(clf, X_test, y_test)
    for density in display.densities():
        assert density @ np.diff(display.edges) == pytest.approx(1.0)


def test_histogram_in_rows_on_request(clf):
    display = BandDisplay.from_estimator(clf, X_test, y_test, density=False)
    np.testing.assert_array_equal(display.histograms_[1].get_data().values, display.positives)
    assert display.ax_.get_ylabel() == "rows"


def test_classes_are_named_after_their_labels_or_as_told(clf):
    assert labels_of(BandDisplay.from_estimator(clf, X_test, y_test).ax_) == ["class 0", "class 1"]
    named = BandDisplay.from_estimator(clf, X_test, y_test, class_names=("repaid", "default"))
    assert labels_of(named.ax_) == ["repaid", "default"]
    assert named.ax_.get_xlabel() == "score of default"


def test_band_of_a_confidence_rule_lies_on_the_confidence(by_confidence):
    display = BandDisplay.from_estimator(by_confidence, X_test, y_test)
    assert display.edges[0] >= 0.5
    assert display.ax_.get_xlabel() == "confidence in the answer"
    assert display.description.startswith("rejected\nup to ")
    assert np.isfinite(display.span_.get_x())


def test_band_of_one_group(clf):
    grouped = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X_train, y_train, band_groups=REGION)
    rows = REGION == "west"
    display = BandDisplay.from_estimator(grouped, X_test[rows], y_test[rows], band_group="west")
    assert display.band == grouped.band(band_group="west")


@pytest.mark.parametrize(
    ("band", "words"),
    [
        (RejectionBand(), "empty band: nothing is rejected"),
        (RejectionBand(0.5, np.inf), "rejected\nfrom 0.5\n50 % of rows"),
        (RejectionBand(-np.inf, 0.25), "rejected\nup to 0.25\n30 % of rows"),
        (RejectionBand(-np.inf, np.inf), "rejected\nall scores\n100 % of rows"),
        (RejectionBand(7, 8), "rejected\n7 to 8\n0 % of rows"),
        (RejectionBand(0.9, 0.9), "rejected\n0.9 to 0.9\n10 % of rows"),
        (RejectionBand(0, 0), "rejected\n0 to 0\n10 % of rows"),
    ],
)
def test_bands_of_every_kind_are_said_in_words(band, words):
    display = BandDisplay.from_predictions([0, 1] * 5, np.arange(10) / 10, band)
    assert display.text_.get_text() == words
    assert (display.span_ is None) == band.is_empty


@pytest.mark.parametrize(("y_true", "score"), [(np.zeros(10), np.arange(10)), ([0, 1] * 5, np.zeros(10))])
def test_one_class_and_constant_scores_are_drawn(y_true, score):
    display = BandDisplay.from_predictions(y_true, score, RejectionBand(0, 0))
    assert display.negatives.sum() + display.positives.sum() == 10
    assert np.isfinite(display.densities()).all()


def test_weights_count_in_the_histogram_and_the_share():
    display = BandDisplay.from_predictions([0, 1, 1], [0.1, 0.2, 0.3], RejectionBand(0.3, 0.3), sample_weight=[1, 0, 3])
    assert display.positives.sum() == 3
    assert display.rejected_share == pytest.approx(0.75)


def test_a_histogram_needs_rows():
    with pytest.raises(ValueError, match="y_true must hold at least one row to draw, got none"):
        BandDisplay.from_predictions([], [], RejectionBand())


@pytest.mark.parametrize("bins", [0, 2.5, "auto"])
def test_bins_must_be_a_number_or_ends(bins):
    with pytest.raises(ValueError, match="bins must be a positive whole number or the ends of the bins"):
        BandDisplay.from_predictions([0, 1], [0.1, 0.2], RejectionBand(), bins=bins)


def test_ends_of_bins_can_be_given():
    display = BandDisplay.from_predictions([0, 1], [0.1, 0.2], RejectionBand(), bins=[0, 0.15, 1])
    np.testing.assert_array_equal(display.edges, [0, 0.15, 1])


# ---- cumulative accuracy profiles ----


def test_profiles_of_all_and_of_selected_rows(clf, score):
    display = CAPDisplay.from_estimator(clf, X_test, y_test, 0.7)
    assert display.before.auc == pytest.approx(selective_auc(y_test, score))
    assert display.after.auc == pytest.approx(selective_auc(y_test, score, clf.select(X_test, 0.7)))
    np.testing.assert_array_equal(display.selected_line_.get_xydata().T, display.after.points())


def test_legend_of_profiles_gives_share_auc_and_gini():
    display = CAPDisplay.from_predictions(TWENTY, FALLING, np.arange(20) != 12)
    assert labels_of(display.ax_) == [
        "all rows: AUC 0.747, Gini 0.495",
        "selected rows, 95 %: AUC 0.795, Gini 0.590",
        "random ranking",
        "perfect ranking",
    ]


def test_profile_without_a_selection_is_one_line():
    display = CAPDisplay.from_predictions(TWENTY, FALLING, relative=False, areas=True, color="black")
    assert display.after is None
    assert display.selected_line_ is None
    assert display.line_.get_color() == "black"
    assert display.ax_.get_xlim() == (0, 20)
    assert [text.get_text() for text in display.ax_.texts] == ["A", "B"]


def test_groups_of_rows_reach_the_selection():
    grouped = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X_train, y_train, band_groups=REGION)
    display = CAPDisplay.from_estimator(grouped, X_test, y_test, band_groups=REGION)
    assert display.after.n_rows == grouped.select(X_test, band_groups=REGION).sum()


@pytest.mark.parametrize("row", [2, 12], ids=["negative", "positive"])
def test_removal_is_drawn_before_and_after(row):
    display = CAPDisplay.from_predictions(TWENTY, FALLING, np.arange(20) != row).plot_removal()
    left, right = display.axes_
    assert left.get_xlim() == (0, 20)
    assert right.get_xlim() == (0, 19)
    assert left.get_title().startswith("before rejection: AUC 0.747")
    assert np.flatnonzero(display.removed).tolist() == [row]
    assert "cells taken out" in [text.get_text() for text in right.get_legend().get_texts()]


def grey_share(ax, n_rows: int, n_positives: int) -> float:
    """Area of the grey cells, by asking at many points whether they lie in one of the grey shapes."""
    x, y = (np.arange(400) + 0.5) / 400 * n_rows, (np.arange(400) + 0.5) / 400 * n_positives
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    inside = np.zeros(len(points), dtype=bool)
    for shape in ax.collections:
        for path in shape.get_paths():
            if len(path.vertices) > 3:
                inside |= path.contains_points(points)
    return inside.mean() * n_rows * n_positives


@pytest.mark.parametrize("rejected", [[12], [2], [5, 6, 7, 8], [0, 9, 10, 19], list(range(20))])
def test_grey_cells_are_what_the_profile_loses(rejected):
    selected = ~np.isin(np.arange(20), rejected)
    display = CAPDisplay.from_predictions(TWENTY, FALLING, selected)
    _, panels = plt.subplots(1, 2)
    display.plot_removal(panels)
    expected = display.before.area - display.after.area
    assert grey_share(panels[0], 20, 7) == pytest.approx(expected, abs=0.5)


def test_removal_can_be_asked_for_at_once(clf):
    display = CAPDisplay.from_estimator(clf, X_test, y_test, removal=True)
    assert len(display.axes_) == 2
    assert len(plt.get_fignums()) == 1


def test_removal_wants_two_axes():
    display = CAPDisplay.from_predictions(TWENTY, FALLING, np.arange(20) != 2)
    with pytest.raises(ValueError, match="ax must hold one axes for each of 2 panels, got 1"):
        display.plot_removal(display.ax_)


def test_removal_needs_a_selection():
    with pytest.raises(ValueError, match="plot_removal needs a selection"):
        CAPDisplay.from_predictions(TWENTY, FALLING).plot_removal()


def test_removal_cannot_part_a_tie():
    display = CAPDisplay.from_predictions([0, 1, 1], [0.1, 0.1, 0.2], [True, False, True])
    assert display.removed is None
    with pytest.raises(ValueError, match="takes or leaves rows of equal score together"):
        display.plot_removal()


@pytest.mark.parametrize("kept", [0, 1], ids=["negatives", "positives"])
def test_selected_rows_of_one_class_have_no_auc(kept):
    display = CAPDisplay.from_predictions(TWENTY, FALLING, kept == TWENTY, areas=True)
    assert labels_of(display.ax_)[1].endswith("AUC undefined")
    display.plot_removal()


def test_nothing_selected_is_drawn_as_nothing():
    display = CAPDisplay.from_predictions(TWENTY, FALLING, np.zeros(20, dtype=bool)).plot_removal()
    assert display.after.n_rows == 0


def test_constant_scores_give_the_diagonal():
    display = CAPDisplay.from_predictions(TWENTY, np.zeros(20), areas=True)
    assert display.before.gini == 0
    assert [text.get_text() for text in display.ax_.texts] == ["B"]


def test_profile_of_one_class_is_refused():
    with pytest.raises(ValueError, match="y_true must hold both classes, got 0 positives and 20 negatives"):
        CAPDisplay.from_predictions(np.zeros(20), FALLING)


def test_rows_of_weight_zero_do_not_count_as_removed():
    weight = np.where(np.arange(20) == 5, 0.0, 1.0)
    display = CAPDisplay.from_predictions(TWENTY, FALLING, np.arange(20) != 12, sample_weight=weight)
    assert np.flatnonzero(display.removed).tolist() == [11]
    assert display.before.n_rows == 19


# ---- the surface ----


def test_surface_marks_the_oracle_and_the_band_of_the_classifier(clf, score):
    display = AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, n_bins=60)
    assert list(display.bands) == ["Oracle", "AUCross"]
    assert display.bands["Oracle"] == oracle_band(y_test, score, 0.8)
    assert display.bands["AUCross"] == clf.band(0.8)
    np.testing.assert_allclose(display.marks_["AUCross"].get_offsets()[0], display.place(clf.band(0.8)))


def test_legend_of_the_surface_gives_auc_and_coverage(clf, score):
    ranked, band = RankedScores.from_labels(y_test, score), RejectionBand(0.2, 0.3)
    display = AUCSurfaceDisplay.from_predictions(
        y_test, score, 0.7, bands={"mine": band, "none": RejectionBand()}, oracle=False, n_bins=60
    )
    assert labels_of(display.ax_) == [
        f"mine: AUC {ranked.auc(band):.4f}, coverage {ranked.coverage(band):.3f}",
        f"none: AUC {ranked.auc():.4f}, rejects nothing",
    ]


@pytest.mark.parametrize("scale", ["rank", "score"])
def test_marks_lie_in_the_cell_of_their_band(scale):
    y_true, y_score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.9]
    band = RejectionBand(0.2, 0.3)
    display = AUCSurfaceDisplay.from_predictions(y_true, y_score, 0.6, bands={"mine": band}, scale=scale)
    x, y = display.place(band, scale=scale)
    corners = display.surface_.get_coordinates()
    assert corners[0, 1, 0] < x < corners[0, 2, 0]
    assert corners[2, 0, 1] < y < corners[3, 0, 1]
    assert display.surface_.get_array()[2, 1] == pytest.approx(RankedScores.from_labels(y_true, y_score).auc(band))


def test_infeasible_cells_are_not_drawn(clf):
    display = AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, n_bins=60)
    np.testing.assert_array_equal(display.surface_.get_array().mask, np.isnan(display.surface.auc))


def test_bands_without_gain_are_below_the_scale(clf, score):
    display = AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, n_bins=60)
    assert display.surface_.norm.vmin == pytest.approx(selective_auc(y_test, score))
    assert display.colorbar_.extend == "min"


@pytest.mark.parametrize(
    ("y_true", "y_score", "auc"),
    [([0] * 20 + [1] * 20, np.arange(40), 1.0), ([0] * 15 + [1] * 25, [0] * 20 + [1] * 20, 0.5)],
    ids=["perfect", "two values"],
)
def test_surface_without_any_gain_is_drawn(y_true, y_score, auc):
    display = AUCSurfaceDisplay.from_predictions(y_true, y_score, 0.3)
    assert display.surface.best == auc
    assert display.colorbar_.extend == "neither"


def test_surface_refuses_a_band_that_lies_on_another_score(by_confidence):
    with pytest.raises(ValueError, match="clf must place its band on its own score, as AUCross does, got SCross"):
        AUCSurfaceDisplay.from_estimator(by_confidence, X_test, y_test)


def test_surface_refuses_an_unknown_scale(clf):
    with pytest.raises(ValueError, match='scale must be "rank" or "score", got \'log\''):
        AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, scale="log", n_bins=60)


def test_surface_of_numbers_computed_before():
    y_true, y_score = [0, 0, 1, 0, 1, 1], np.arange(6)
    display = AUCSurfaceDisplay(auc_surface(y_true, y_score, 0.8), {}, RankedScores.from_labels(y_true, y_score))
    assert display.plot(name="six rows").ax_.get_title() == "six rows"
    assert display.marks_ == {}


# ---- a gate, whose selection is no band of the score ----


def test_a_gate_can_be_drawn_where_no_band_of_the_score_is_needed():
    gate = AUCGate(LogisticRegression(), LogisticRegression(), coverage=0.8, random_state=0).fit(X_train, y_train)
    assert BandDisplay.from_estimator(gate, X_test, y_test).ax_.get_xlabel() == "selection score"
    assert CAPDisplay.from_estimator(gate, X_test, y_test).after.n_rows == gate.select(X_test).sum()
    with pytest.raises(ValueError, match="got AUCGate, whose band lies on another; draw it with BandDisplay"):
        AUCSurfaceDisplay.from_estimator(gate, X_test, y_test)


def test_profile_of_numbers_computed_before():
    display = CAPDisplay(cap_curve(TWENTY, FALLING), name="twenty rows").plot()
    assert display.ax_.get_title() == "twenty rows"
