"""Curves: AUC against coverage, and risk against coverage."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from aucross import AUCross, evaluate_selective
from aucross.core import RankedScores, oracle_band
from aucross.evaluation import aurc, generalized_risk_curve, risk_coverage_curve, selective_auc
from aucross.evaluation.plots import CoverageCurveDisplay, RiskCoverageDisplay
from aucross.evaluation.plots.display import CURVE_STYLES
from tests.evaluation.drawn_rows import FEW, X_test, X_train, labels_of, y_test, y_train
from tests.reference import select_each

pytestmark = pytest.mark.usefixtures("_draw_and_close")


@pytest.fixture(scope="module")
def evaluation(clf):
    return evaluate_selective(clf, X_test, y_test, [0.7, 1.0, 0.9], **FEW)


# ---- AUC against coverage ----


def test_curve_runs_from_full_coverage_down(evaluation):
    display = CoverageCurveDisplay.from_evaluation(evaluation)
    order = [1, 2, 0]
    np.testing.assert_array_equal(display.coverage, evaluation.estimates["achieved_coverage"][order])
    np.testing.assert_array_equal(display.value, evaluation.estimates["selective_auc"][order])
    np.testing.assert_array_equal(display.line_.get_xdata(), display.coverage)
    assert display.ax_.xaxis.get_inverted()


def test_curve_has_the_intervals_of_the_evaluation(evaluation):
    display = CoverageCurveDisplay.from_evaluation(evaluation)
    rows = {row["target_coverage"]: row for row in evaluation.rows()}
    np.testing.assert_allclose(display.low, [rows[c]["selective_auc_low"] for c in (1.0, 0.9, 0.7)])
    np.testing.assert_allclose(display.high, [rows[c]["selective_auc_high"] for c in (1.0, 0.9, 0.7)])
    assert display.interval_ is not None
    assert "95 % interval" in display.ax_.get_ylabel()


def test_curve_without_bootstrap_has_no_interval(clf):
    display = CoverageCurveDisplay.from_estimator(clf, X_test, y_test, [1.0, 0.8], n_bootstrap=0)
    assert display.low is None
    assert display.interval_ is None


def test_curve_from_an_estimator_equals_that_of_its_selections(clf, score):
    coverages = [1.0, 0.8]
    drawn = CoverageCurveDisplay.from_estimator(clf, X_test, y_test, coverages, **FEW)
    selections = dict(zip(coverages, select_each(clf, X_test, coverages), strict=True))
    by_hand = CoverageCurveDisplay.from_predictions(y_test, score, selections, **FEW)
    np.testing.assert_array_equal(drawn.value, by_hand.value)
    np.testing.assert_array_equal(drawn.low, by_hand.low)


def test_curve_marks_the_value_of_all_rows_once(clf):
    first = CoverageCurveDisplay.from_estimator(clf, X_test, y_test, [1.0, 0.8], **FEW)
    CoverageCurveDisplay.from_estimator(clf, X_test, y_test, [1.0, 0.7], ax=first.ax_, **FEW)
    assert [text.get_text() for text in first.ax_.texts] == ["all rows"]
    assert first.baseline == pytest.approx(selective_auc(y_test, clf.predict_proba(X_test)[:, 1]))


def test_second_curve_on_the_same_axes_looks_different(clf, by_confidence):
    first = CoverageCurveDisplay.from_estimator(clf, X_test, y_test, [1.0, 0.8], **FEW)
    second = CoverageCurveDisplay.from_estimator(by_confidence, X_test, y_test, [1.0, 0.8], ax=first.ax_, **FEW)
    for attribute in ("get_color", "get_linestyle", "get_marker"):
        assert getattr(first.line_, attribute)() != getattr(second.line_, attribute)()
    assert labels_of(first.ax_) == ["AUCross", "SCross"]


def test_styles_differ_in_more_than_colour():
    for part in ("linestyle", "marker", "color"):
        assert len({str(style[part]) for style in CURVE_STYLES}) == len(CURVE_STYLES)


def test_more_curves_than_styles_can_be_drawn():
    _, ax = plt.subplots()
    for number in range(len(CURVE_STYLES) + 2):
        CoverageCurveDisplay([0.9, 0.8], [0.7, 0.8], name=str(number)).plot(ax)
    assert len(labels_of(ax)) == len(CURVE_STYLES) + 2


def test_short_forms_of_line_arguments_win_over_the_defaults():
    display = CoverageCurveDisplay([1.0, 0.8], [0.7, 0.8]).plot(c="black", lw=5, ls="-.")
    assert display.line_.get_color() == "black"
    assert display.line_.get_linewidth() == 5
    assert display.line_.get_linestyle() == "-."


def test_oracle_is_on_or_above_every_band_of_the_score(clf):
    display = CoverageCurveDisplay.from_estimator(clf, X_test, y_test, [1.0, 0.9, 0.8], oracle=True, **FEW)
    coverage, auc = display.references["Oracle"]
    selected = clf.select(X_test, 0.8)
    reached = oracle_band(y_test, clf.predict_proba(X_test)[:, 1], min(selected.mean(), 1.0))
    ranked = RankedScores.from_labels(y_test, clf.predict_proba(X_test)[:, 1])
    assert ranked.auc(reached) >= display.value[-1] - 1e-12
    assert (np.diff(auc) >= 0).all()
    assert (coverage >= np.array([1.0, 0.9, 0.8]) - 1e-12).all()
    assert set(display.reference_lines_) == {"Oracle"}


def test_maximum_probability_of_decision_values_is_their_distance_from_zero(clf, score):
    log_odds = np.log(score / (1 - score))
    masks = {0.8: np.ones(len(score), dtype=bool)}
    options = {"maximum_probability": True, "n_bootstrap": 0}
    of_odds = CoverageCurveDisplay.from_predictions(y_test, log_odds, masks, **options)
    of_probabilities = CoverageCurveDisplay.from_predictions(y_test, score, masks, **options)
    np.testing.assert_allclose(
        of_odds.references["maximum probability"], of_probabilities.references["maximum probability"]
    )


def test_decision_function_inside_0_to_1_is_not_taken_for_probabilities():
    model = AUCross(LinearSVC(C=1e-4), coverage=0.8, random_state=0).fit(X_train, y_train)
    display = CoverageCurveDisplay.from_estimator(model, X_test, y_test, [0.8], maximum_probability=True, **FEW)
    values = model.decision_function(X_test)
    kept = np.abs(values) > np.sort(np.abs(values))[159]
    assert display.references["maximum probability"][1][0] == pytest.approx(selective_auc(y_test, values, kept))


def test_references_of_other_names_are_drawn_too():
    display = CoverageCurveDisplay([1.0], [0.8], references={"random": ([1.0, 0.5], [0.8, 0.8])}).plot()
    assert labels_of(display.ax_) == ["random"]


def test_curve_of_three_classes_shows_hand_till_m(three_classes):
    model, X3, y3 = three_classes
    display = CoverageCurveDisplay.from_estimator(model, model.scored(X3), y3, [1.0, 0.8], **FEW)
    assert display.metric == "hand_till_m"
    assert "Hand-Till M" in display.ax_.get_ylabel()


def test_oracle_of_three_classes_is_refused(three_classes):
    model, X3, y3 = three_classes
    with pytest.raises(ValueError, match="clf must have two classes, got 3"):
        CoverageCurveDisplay.from_estimator(model, X3, y3, [0.8], oracle=True, **FEW)


def test_curve_of_another_metric_of_the_evaluation(evaluation):
    display = CoverageCurveDisplay.from_evaluation(evaluation, metric="selective_accuracy")
    np.testing.assert_array_equal(display.value, evaluation.estimates["selective_accuracy"][[1, 2, 0]])
    assert "accuracy" in display.ax_.get_ylabel()


def test_curve_of_an_unknown_metric_names_the_known_ones(evaluation):
    with pytest.raises(ValueError, match=r"metric must be one of \['achieved_coverage', .*got 'gini'"):
        CoverageCurveDisplay.from_evaluation(evaluation, metric="gini")


def test_curve_of_one_class_says_that_it_is_undefined(score):
    masks = {1.0: np.ones(800, dtype=bool), 0.5: score > np.median(score)}
    display = CoverageCurveDisplay.from_predictions(np.zeros(800), score, masks, **FEW)
    assert np.isnan(display.value).all()
    assert [text.get_text() for text in display.ax_.texts] == ["undefined at every coverage"]


def test_curve_of_constant_scores_is_one_half(score):
    masks = {1.0: np.ones(800, dtype=bool), 0.5: np.arange(800) < 400}
    options = {"oracle": True, "maximum_probability": True, **FEW}
    display = CoverageCurveDisplay.from_predictions(y_test, np.zeros(800), masks, **options)
    np.testing.assert_array_equal(display.value, 0.5)
    np.testing.assert_array_equal(display.references["Oracle"], [[1, 1], [0.5, 0.5]])


def test_curve_leaves_a_gap_where_the_auc_is_undefined(score):
    masks = {1.0: np.ones(800, dtype=bool), 0.5: y_test == 1}
    display = CoverageCurveDisplay.from_predictions(y_test, score, masks, **FEW)
    assert np.isnan(display.line_.get_ydata()).tolist() == [False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 0.8], [0.7]), r"value must have shape \(2,\) like the other numbers, got \(1,\)"),
        (([[1.0, 0.8]], [0.7]), r"coverage must be 1-d, got shape \(1, 2\)"),
    ],
)
def test_numbers_of_a_curve_must_fit_together(arguments, message):
    with pytest.raises(ValueError, match=message):
        CoverageCurveDisplay(*arguments)


def test_an_interval_has_two_ends():
    with pytest.raises(ValueError, match="low and high must both be given or both be None"):
        CoverageCurveDisplay([1.0], [0.7], low=[0.6])


# ---- risk against coverage ----


def test_risk_of_a_classifier_is_one_minus_accuracy(evaluation):
    display = RiskCoverageDisplay.from_evaluation(evaluation)
    np.testing.assert_allclose(display.risk, 1 - evaluation.estimates["selective_accuracy"][[0, 2, 1]])
    rows = {row["target_coverage"]: row for row in evaluation.rows()}
    np.testing.assert_allclose(display.low, [1 - rows[c]["selective_accuracy_high"] for c in (0.7, 0.9, 1.0)])


def test_risk_of_three_classes(three_classes):
    model, X3, y3 = three_classes
    display = RiskCoverageDisplay.from_estimator(model, model.scored(X3), y3, [1.0], **FEW)
    assert display.risk[0] == pytest.approx((model.predict(X3) != y3).mean())


@pytest.mark.parametrize(
    ("kind", "curve", "area"),
    [("selective", risk_coverage_curve, "AURC"), ("generalized", generalized_risk_curve, "AUGRC")],
)
def test_risk_of_a_confidence_is_the_curve_of_every_threshold(score, kind, curve, area):
    loss, confidence = (score > 0.5) != y_test, np.maximum(score, 1 - score)
    display = RiskCoverageDisplay.from_predictions(loss, confidence, kind=kind, name="mine")
    expected = curve(loss, confidence)
    np.testing.assert_array_equal(display.risk, expected.risk)
    np.testing.assert_array_equal(display.coverage, expected.coverage)
    assert labels_of(display.ax_)[0].startswith(f"mine: {area} 0.")


def test_area_in_the_legend_is_the_aurc(score):
    loss, confidence = (score > 0.5) != y_test, np.maximum(score, 1 - score)
    display = RiskCoverageDisplay.from_predictions(loss, confidence)
    assert display.area == aurc(loss, confidence)
    assert labels_of(display.ax_) == [f"AURC {display.area:.4f}"]


def test_best_order_selects_every_correct_row_before_a_wrong_one():
    display = RiskCoverageDisplay.from_predictions([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6], optimal=True)
    np.testing.assert_allclose(display.optimal, [[0.25, 0.5, 0.75, 1.0], [0, 0, 1 / 3, 0.5]])
    assert (display.risk >= np.interp(display.coverage, *display.optimal) - 1e-12).all()


def test_best_order_knows_weights():
    display = RiskCoverageDisplay.from_predictions([1, 0, 3], [1, 2, 3], optimal=True, sample_weight=[2, 1, 0])
    np.testing.assert_allclose(display.optimal, [[1 / 3, 1], [0, 2 / 3]])


def test_constant_confidence_is_one_point(score):
    display = RiskCoverageDisplay.from_predictions(y_test, np.zeros(800), optimal=True)
    assert display.coverage.tolist() == [1.0]
    assert display.line_.get_marker() == "o"


def test_curves_of_many_points_have_no_marks(score):
    assert RiskCoverageDisplay.from_predictions(y_test, score).line_.get_marker() in ("", "None")


def test_risk_needs_rows():
    with pytest.raises(ValueError, match="loss must hold at least one row to draw, got none"):
        RiskCoverageDisplay.from_predictions([], [])


def test_unknown_kind_of_risk_is_refused():
    with pytest.raises(ValueError, match='kind must be "selective" or "generalized", got \'total\''):
        RiskCoverageDisplay.from_predictions([0, 1], [0.1, 0.2], kind="total")
