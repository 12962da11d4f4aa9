"""Curves over confidence, the areas under them, and confidence as a detector of failures."""

from itertools import permutations
from math import isnan, log, nan

import numpy as np
import pytest

from aucross.evaluation import (
    accuracy_rejection_curve,
    auarc,
    augrc,
    aurc,
    coverage_at_accuracy,
    coverage_at_risk,
    excess_aurc,
    failure_auroc,
    failure_average_precision,
    fpr_at_95_tpr,
    generalized_risk_curve,
    normalized_aurc,
    optimal_aurc,
    prediction_rejection_ratio,
    risk_at_coverage,
    risk_coverage_curve,
)

SEEDS = range(8)
CONVENTIONS = ["grouped", "mean", "trapezoid", "trapezoid_origin"]

CONFIDENCE = [0.99, 0.95, 0.9, 0.9, 0.9, 0.8, 0.7, 0.7, 0.6, 0.55]
ERRORS = [0, 0, 1, 0, 0, 0, 1, 0, 1, 1]

TIE_SAFE = {
    "aurc": aurc,
    "excess": excess_aurc,
    "excess_limit": lambda *args, **kw: excess_aurc(*args, optimum="limit", **kw),
    "normalized": normalized_aurc,
    "augrc": augrc,
    "auarc": auarc,
    "ratio": prediction_rejection_ratio,
    "auroc": failure_auroc,
    "ap_error": failure_average_precision,
    "ap_success": lambda *args, **kw: failure_average_precision(*args, target="success", **kw),
    "fpr": fpr_at_95_tpr,
    "risk_at_coverage": lambda *args, **kw: risk_at_coverage(*args, 0.6, **kw),
    "coverage_at_risk": lambda *args, **kw: coverage_at_risk(*args, 0.4, **kw),
    "coverage_at_accuracy": lambda *args, **kw: coverage_at_accuracy(*args, 0.6, **kw),
}


class Rows:
    """Random errors that are more frequent at low confidence, with ties and small integer weights (some 0)."""

    def __init__(self, seed, n=30, distinct=False):
        rng = np.random.default_rng(seed)
        self.confidence = rng.permutation(n) / n if distinct else np.round(rng.random(n), 1)
        self.error = rng.random(n) < 0.75 - 0.6 * self.confidence
        self.error[:2] = True, False
        self.y = rng.random(n) < 0.4
        self.weight = rng.integers(0, 4, n).astype(float)
        self.weight[:2] = 1.0


def loop_curve(loss, confidence, weight):
    """(coverage, selective risk, generalised risk) for each distinct confidence, from the highest down."""
    points = []
    for threshold in sorted({c for c, w in zip(confidence, weight, strict=True) if w}, reverse=True):
        rows = [(v, w) for v, c, w in zip(loss, confidence, weight, strict=True) if c >= threshold]
        accepted, lost = sum(w for _, w in rows), sum(v * w for v, w in rows)
        points.append((accepted / sum(weight), lost / accepted, lost / sum(weight)))
    return points


def loop_aurc(loss_in_order, convention):
    """The three conventions over single rows, point by point as they are described."""
    n = len(loss_in_order)
    risks = [sum(loss_in_order[:k]) / k for k in range(1, n + 1)]
    coverages = [k / n for k in range(1, n + 1)]
    if convention == "mean":
        return sum(risks) / n
    if convention == "trapezoid":
        return np.trapezoid(risks, coverages) / (1 - 1 / n)
    if convention == "trapezoid_origin":
        return np.trapezoid([0, *risks], [0, *coverages])
    return np.trapezoid([risks[0], *risks], [0, *coverages])


@pytest.mark.parametrize(
    ("convention", "value"),
    [("grouped", 0.1558), ("mean", 0.2219), ("trapezoid", 0.2243), ("trapezoid_origin", 0.2019)],
)
def test_the_four_conventions_of_the_area_on_one_example(convention, value):
    assert aurc(ERRORS, CONFIDENCE, convention=convention) == pytest.approx(value, abs=5e-5)


def test_the_convention_for_ties_is_the_order_given_except_for_grouped():
    order = [0, 1, 3, 4, 2, 5, 7, 6, 8, 9]  # the same ties with their errors last
    errors, confidence = np.array(ERRORS)[order], np.array(CONFIDENCE)[order]
    assert aurc(errors, confidence) == pytest.approx(aurc(ERRORS, CONFIDENCE))
    for convention in CONVENTIONS[1:]:
        better = aurc(errors, confidence, convention=convention)
        assert better == pytest.approx(loop_aurc(errors.tolist(), convention))
        assert better < aurc(ERRORS, CONFIDENCE, convention=convention) - 0.01


@pytest.mark.parametrize("seed", SEEDS)
class TestAgainstLoops:
    def test_curves(self, seed):
        rows = Rows(seed)
        expected = np.array(loop_curve(rows.error, rows.confidence, rows.weight))
        curve = risk_coverage_curve(rows.error, rows.confidence, sample_weight=rows.weight)
        general = generalized_risk_curve(rows.error, rows.confidence, sample_weight=rows.weight)
        np.testing.assert_allclose(curve.coverage, expected[:, 0])
        np.testing.assert_allclose(curve.risk, expected[:, 1], atol=1e-15)
        np.testing.assert_allclose(general.coverage, expected[:, 0])
        np.testing.assert_allclose(general.risk, expected[:, 2], atol=1e-15)
        accuracy = accuracy_rejection_curve(~rows.error, rows.confidence, sample_weight=rows.weight)
        np.testing.assert_allclose(accuracy.rejection, 1 - expected[::-1, 0], atol=1e-15)
        np.testing.assert_allclose(accuracy.accuracy, 1 - expected[::-1, 1])
        np.testing.assert_array_equal(accuracy.threshold[::-1], curve.threshold)

    def test_thresholds_reproduce_the_points(self, seed):
        rows = Rows(seed)
        curve = risk_coverage_curve(rows.error, rows.confidence)
        for coverage, risk, threshold in zip(*curve, strict=True):
            accepted = rows.confidence >= threshold
            assert accepted.mean() == pytest.approx(coverage)
            assert rows.error[accepted].mean() == pytest.approx(risk)

    def test_grouped_area(self, seed):
        rows = Rows(seed)
        points = loop_curve(rows.error, rows.confidence, rows.weight)
        coverage, risk = [0, *(p[0] for p in points)], [points[0][1], *(p[1] for p in points)]
        expected = np.trapezoid(risk, coverage)
        assert aurc(rows.error, rows.confidence, sample_weight=rows.weight) == pytest.approx(expected)

    @pytest.mark.parametrize("convention", CONVENTIONS[1:])
    def test_areas_over_rows(self, seed, convention):
        rows = Rows(seed)
        order = sorted(range(len(rows.error)), key=lambda i: -rows.confidence[i])  # sorted() is stable
        expected = loop_aurc([float(rows.error[i]) for i in order], convention)
        assert aurc(rows.error, rows.confidence, convention=convention) == pytest.approx(expected)

    @pytest.mark.parametrize("convention", CONVENTIONS)
    def test_optimum_is_the_area_of_rows_sorted_by_loss(self, seed, convention):
        rows = Rows(seed)
        expected = loop_aurc(sorted(rows.error.astype(float)), convention)
        assert optimal_aurc(rows.error, convention=convention) == pytest.approx(expected)
        graded = np.random.default_rng(seed).random(20)
        assert optimal_aurc(graded, convention=convention) == pytest.approx(loop_aurc(sorted(graded), convention))
        best_confidence = -graded
        assert excess_aurc(graded, best_confidence, convention=convention) == pytest.approx(0, abs=1e-12)
        assert normalized_aurc(graded, best_confidence, convention=convention) == pytest.approx(0, abs=1e-12)

    def test_operating_points(self, seed):
        rows = Rows(seed)
        points = loop_curve(rows.error, rows.confidence, rows.weight)
        weighted = {"sample_weight": rows.weight}
        for target in (0.05, 0.3, 0.75, 1.0):
            expected = next(risk for coverage, risk, _ in points if coverage >= target - 1e-12)
            assert risk_at_coverage(rows.error, rows.confidence, target, **weighted) == pytest.approx(expected)
        for allowed in (0.0, 0.2, 0.4, 1.0):
            expected = max((coverage for coverage, risk, _ in points if risk <= allowed + 1e-12), default=nan)
            ours = coverage_at_risk(rows.error, rows.confidence, allowed, **weighted)
            assert ours == pytest.approx(expected, nan_ok=True)
            same = coverage_at_accuracy(~rows.error, rows.confidence, 1 - allowed, **weighted)
            assert same == pytest.approx(expected, nan_ok=True)

    def test_balanced_areas(self, seed):
        rows = Rows(seed)
        total, risks, general, coverages = rows.weight.sum(), [], [], []
        for threshold in sorted(set(rows.confidence[rows.weight > 0]), reverse=True):
            accepted = rows.confidence >= threshold
            by_class, lost = [], 0.0
            for label in (False, True):
                inside = rows.y == label
                weight = rows.weight[accepted & inside].sum()
                loss = (rows.weight * rows.error)[accepted & inside].sum()
                by_class.append(loss / weight if weight else 0.0)
                lost += loss / rows.weight[inside].sum() / 2
            risks.append(sum(by_class) / 2)
            general.append(lost)
            coverages.append(rows.weight[accepted].sum() / total)
        given = {"balance_by": rows.y, "sample_weight": rows.weight}
        area = np.trapezoid([risks[0], *risks], [0, *coverages])
        assert aurc(rows.error, rows.confidence, **given) == pytest.approx(area)
        area = np.trapezoid([0, *general], [0, *coverages])
        assert augrc(rows.error, rows.confidence, **given) == pytest.approx(area)
        # At full coverage both are 1 - balanced accuracy.
        assert risks[-1] == pytest.approx(general[-1])
        curve = generalized_risk_curve(rows.error, rows.confidence, **given)
        np.testing.assert_allclose(curve.risk, general, atol=1e-15)

    def test_failure_detection(self, seed):
        rows = Rows(seed)
        right = [(c, w) for c, e, w in zip(rows.confidence, rows.error, rows.weight, strict=True) if not e]
        wrong = [(c, w) for c, e, w in zip(rows.confidence, rows.error, rows.weight, strict=True) if e]
        weighted = {"sample_weight": rows.weight}
        n_right, n_wrong = sum(w for _, w in right), sum(w for _, w in wrong)
        won = sum(w * v * ((c > d) + (c == d) / 2) for c, w in right for d, v in wrong)
        auroc = failure_auroc(~rows.error, rows.confidence, **weighted)
        assert auroc == pytest.approx(won / (n_right * n_wrong))

        expected, recall_before = 0.0, 0.0
        for threshold in sorted(set(rows.confidence[rows.weight > 0])):
            found = sum(w for c, w in wrong if c <= threshold)
            flagged = found + sum(w for c, w in right if c <= threshold)
            expected += (found / n_wrong - recall_before) * found / flagged
            recall_before = found / n_wrong
        assert failure_average_precision(~rows.error, rows.confidence, **weighted) == pytest.approx(expected)

        expected, recall_before = 0.0, 0.0
        for threshold in sorted(set(rows.confidence[rows.weight > 0]), reverse=True):
            found = sum(w for c, w in right if c >= threshold)
            accepted = found + sum(w for c, w in wrong if c >= threshold)
            expected += (found / n_right - recall_before) * found / accepted
            recall_before = found / n_right
        success = failure_average_precision(~rows.error, rows.confidence, target="success", **weighted)
        assert success == pytest.approx(expected)

        threshold = max(t for t in rows.confidence if sum(w for c, w in right if c >= t) / n_right >= 0.95)
        expected = sum(w for c, w in wrong if c >= threshold) / n_wrong
        assert fpr_at_95_tpr(~rows.error, rows.confidence, **weighted) == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
class TestIdentities:
    def test_mean_area_is_a_sum_over_harmonic_numbers(self, seed):
        rows = Rows(seed)
        order = np.argsort(-rows.confidence, kind="stable")
        n = len(order)
        harmonic = np.append(0, np.cumsum(1 / np.arange(1, n + 1)))
        expected = sum(rows.error[row] * (harmonic[n] - harmonic[i]) for i, row in enumerate(order)) / n
        assert aurc(rows.error, rows.confidence, convention="mean") == pytest.approx(expected)

    def test_exact_optimum_of_0_1_losses(self, seed):
        error = Rows(seed).error
        n, m = len(error), int(error.sum())
        expected = sum(max(0, (k - (n - m)) / k) for k in range(1, n + 1)) / n
        assert optimal_aurc(error, convention="mean") == pytest.approx(expected)

    def test_limit_optimum_of_0_1_losses(self, seed):
        rows = Rows(seed)
        r = np.average(rows.error, weights=rows.weight)
        ours = optimal_aurc(rows.error, optimum="limit", sample_weight=rows.weight)
        assert ours == pytest.approx(r + (1 - r) * log(1 - r))

    @pytest.mark.parametrize("convention", CONVENTIONS)
    def test_the_exact_optimum_tends_to_the_limit(self, seed, convention):
        loss = np.random.default_rng(seed).choice([0, 0.3, 1], size=20)
        many = np.repeat(loss, 5000)
        limit = optimal_aurc(loss, optimum="limit")
        assert optimal_aurc(many, convention=convention) == pytest.approx(limit, abs=2e-5)

    def test_augrc_from_failure_auroc_and_accuracy(self, seed):
        rows = Rows(seed)
        weighted = {"sample_weight": rows.weight}
        a = 1 - np.average(rows.error, weights=rows.weight)
        auroc = failure_auroc(~rows.error, rows.confidence, **weighted)
        expected = (1 - auroc) * a * (1 - a) + (1 - a) ** 2 / 2
        assert augrc(rows.error, rows.confidence, **weighted) == pytest.approx(expected)
        assert augrc(rows.error, -rows.error.astype(float), **weighted) == pytest.approx((1 - a) ** 2 / 2)

    def test_areas_of_accuracy_and_risk_add_up_to_1_where_nothing_ties(self, seed):
        rows = Rows(seed, distinct=True)
        area = aurc(rows.error, rows.confidence, convention="mean")
        assert auarc(~rows.error, rows.confidence) == pytest.approx(1 - area)
        ratio = prediction_rejection_ratio(~rows.error, rows.confidence)
        assert ratio == pytest.approx(1 - normalized_aurc(rows.error, rows.confidence, convention="mean"))

    def test_grouped_equals_the_area_over_rows_where_nothing_ties(self, seed):
        rows = Rows(seed, distinct=True)
        order = np.argsort(-rows.confidence)
        expected = loop_aurc(rows.error[order].astype(float).tolist(), "grouped")
        assert aurc(rows.error, rows.confidence) == pytest.approx(expected)

    def test_accuracy_area_is_the_mean_over_all_orders_of_the_ties(self, seed):
        rng = np.random.default_rng(seed)
        quality, confidence = rng.choice([0.0, 0.5, 1.0], 6), rng.choice([0.3, 0.6, 0.9], 6)
        areas = []
        for permutation in permutations(range(6)):
            order = sorted(permutation, key=lambda i: -confidence[i])
            areas.append(1 - loop_aurc([1 - quality[i] for i in order], "mean"))
        assert auarc(quality, confidence) == pytest.approx(np.mean(areas))


@pytest.mark.parametrize("seed", SEEDS)
class TestInvariances:
    @pytest.mark.parametrize("name", TIE_SAFE)
    def test_row_order_does_not_matter(self, seed, name):
        rows = Rows(seed)
        order = np.random.default_rng(seed).permutation(len(rows.error))
        before = TIE_SAFE[name](rows.error, rows.confidence, sample_weight=rows.weight)
        after = TIE_SAFE[name](rows.error[order], rows.confidence[order], sample_weight=rows.weight[order])
        assert before == pytest.approx(after, nan_ok=True)

    @pytest.mark.parametrize("name", TIE_SAFE)
    def test_weight_2_is_the_row_twice(self, seed, name):
        rows = Rows(seed)
        times = rows.weight.astype(int)
        weighted = TIE_SAFE[name](rows.error, rows.confidence, sample_weight=rows.weight)
        repeated = TIE_SAFE[name](np.repeat(rows.error, times), np.repeat(rows.confidence, times))
        assert weighted == pytest.approx(repeated, nan_ok=True)

    @pytest.mark.parametrize("function", [aurc, excess_aurc, normalized_aurc])
    @pytest.mark.parametrize("convention", CONVENTIONS)
    def test_weight_2_is_the_row_twice_in_every_convention(self, seed, convention, function):
        rows = Rows(seed)
        times = rows.weight.astype(int)
        weighted = function(rows.error, rows.confidence, convention=convention, sample_weight=rows.weight)
        repeated = function(np.repeat(rows.error, times), np.repeat(rows.confidence, times), convention=convention)
        assert weighted == pytest.approx(repeated)

    def test_fractional_weights_lie_between_their_integer_neighbours(self, seed):
        rows = Rows(seed)
        row = 2 + int(np.argmax(rows.confidence[2:]))
        areas = []
        for weight in (1.0, 1.5, 2.0):
            rows.weight[row] = weight
            areas.append(aurc(rows.error, rows.confidence, convention="mean", sample_weight=rows.weight))
        assert min(areas[0], areas[2]) < areas[1] < max(areas[0], areas[2])

    def test_losses_of_one_value_have_that_area(self, seed):
        rows = Rows(seed)
        weight = np.random.default_rng(seed).random(30) * 3
        for convention in ("grouped", "mean", "trapezoid"):
            area = aurc(np.full(30, 0.3), rows.confidence, convention=convention, sample_weight=weight)
            assert area == pytest.approx(0.3)

    def test_confidence_that_says_nothing_has_the_area_of_the_mean_loss(self, seed):
        rows = Rows(seed)
        constant = np.full(30, 0.5)
        assert aurc(rows.error, constant) == pytest.approx(rows.error.mean())
        assert normalized_aurc(rows.error, constant) == pytest.approx(1)
        assert prediction_rejection_ratio(~rows.error, constant) == pytest.approx(0)
        assert failure_auroc(~rows.error, constant) == 0.5


def test_a_large_weighted_area_is_accurate():
    rng = np.random.default_rng(0)
    loss, confidence = rng.random(200_000) < 0.2, rng.random(200_000)
    once = aurc(loss, confidence, convention="mean")
    twice = aurc(loss, confidence, convention="mean", sample_weight=np.full(200_000, 2.0))
    order = np.argsort(-confidence)
    repeated = np.repeat(loss[order], 2)
    assert once == pytest.approx(np.mean(np.cumsum(loss[order]) / np.arange(1, 200_001)), rel=1e-12)
    assert twice == pytest.approx(np.mean(np.cumsum(repeated) / np.arange(1, 400_001)), rel=1e-10)


def test_ties_can_make_the_excess_over_the_exact_optimum_negative_with_grouped():
    errors = np.array([0, 0, 1, 1])
    assert excess_aurc(errors, [0.9, 0.9, 0.1, 0.1]) < 0
    assert excess_aurc(errors, [0.9, 0.9, 0.1, 0.1], convention="mean") == pytest.approx(0, abs=1e-15)


def test_the_best_and_the_worst_confidence():
    correct = [True, True, False, False]
    assert failure_auroc(correct, [4, 3, 2, 1]) == 1
    assert prediction_rejection_ratio(correct, [4, 3, 2, 1]) == pytest.approx(1)
    assert prediction_rejection_ratio(correct, [1, 2, 3, 4]) == pytest.approx(-1)  # half of the rows are wrong
    assert fpr_at_95_tpr(correct, [4, 3, 2, 1]) == 0
    assert fpr_at_95_tpr(correct, [1, 2, 3, 4]) == 1


def test_19_of_20_correct_rows_are_95_percent():
    correct = [True] * 19 + [False, True]
    assert fpr_at_95_tpr(correct, list(range(21, 0, -1))) == 0


class TestUndefined:
    @pytest.mark.parametrize("name", TIE_SAFE)
    def test_nan_without_rows(self, name):
        assert isnan(TIE_SAFE[name]([], []))

    def test_empty_curves_without_rows(self):
        for curve in (risk_coverage_curve([], []), generalized_risk_curve([], []), accuracy_rejection_curve([], [])):
            assert all(len(values) == 0 for values in curve)
        assert len(risk_coverage_curve([], [], balance_by=[]).risk) == 0

    def test_optimum_without_rows(self):
        assert isnan(optimal_aurc([]))
        assert isnan(optimal_aurc([], optimum="limit"))

    def test_trapezoid_of_one_row(self):
        assert isnan(aurc([1], [0.5], convention="trapezoid"))
        assert aurc([1], [0.5], convention="mean") == 1

    @pytest.mark.parametrize("correct", [[True, True], [False, False]])
    def test_one_kind_of_row(self, correct):
        confidence = [0.1, 0.2]
        assert isnan(failure_auroc(correct, confidence))
        assert isnan(fpr_at_95_tpr(correct, confidence))
        assert isnan(prediction_rejection_ratio(correct, confidence))
        assert isnan(normalized_aurc(np.logical_not(correct), confidence))
        missing = "error" if correct[0] else "success"
        assert isnan(failure_average_precision(correct, confidence, target=missing))

    def test_a_risk_that_no_threshold_keeps(self):
        assert isnan(coverage_at_risk([1, 1, 0], [0.9, 0.8, 0.7], 0.1))
        assert isnan(coverage_at_accuracy([False, False, True], [0.9, 0.8, 0.7], 0.9))

    def test_no_error_has_area_0_and_all_errors_area_1(self):
        assert aurc([0, 0], [0.1, 0.2]) == 0
        assert aurc([1, 1], [0.1, 0.2]) == 1
        assert optimal_aurc([1, 1], optimum="limit") == 1


class TestErrors:
    @pytest.mark.parametrize("function", [aurc, augrc, risk_coverage_curve, generalized_risk_curve, excess_aurc])
    @pytest.mark.parametrize(
        ("loss", "confidence", "text"),
        [
            ([0, 1], [0.1], r"confidence must hold one score per row, got shape \(1,\) for 2 rows"),
            ([0, 1], [0.1, nan], "confidence must be finite, got 1 NaN or infinite values among 2, the first in row 1"),
            ([0, nan], [0.1, 0.2], "loss must be finite, got 1 NaN or infinite values among 2, the first in row 1"),
            ([0, -1], [0.1, 0.2], "loss must not be negative, got -1 in row 1"),
            ([[0, 1]], [[0.1, 0.2]], r"loss must be 1-d, got shape \(1, 2\)"),
        ],
    )
    def test_losses(self, function, loss, confidence, text):
        with pytest.raises(ValueError, match=text):
            function(loss, confidence)

    @pytest.mark.parametrize("function", [auarc, prediction_rejection_ratio, accuracy_rejection_curve])
    @pytest.mark.parametrize(
        ("correct", "text"),
        [
            ([1, 2], r"correct must be boolean or a quality in \[0, 1\], got values from 1 to 2"),
            ([1, nan], "correct must be finite, got 1 NaN or infinite values among 2, the first in row 1"),
            ([[1, 0]], r"correct must be 1-d, got shape \(1, 2\)"),
        ],
    )
    def test_qualities(self, function, correct, text):
        with pytest.raises(ValueError, match=text):
            function(correct, [0.1, 0.2])

    @pytest.mark.parametrize("function", [failure_auroc, failure_average_precision, fpr_at_95_tpr])
    def test_failures(self, function):
        with pytest.raises(ValueError, match="correct must be boolean, 0/1 or -1/1, got values such as"):
            function([0.2, 0.7], [0.1, 0.2])
        with pytest.raises(ValueError, match=r"confidence must hold one score per row, got shape \(1,\) for 2 rows"):
            function([True, False], [0.1])
        with pytest.raises(ValueError, match="sample_weight must not be negative"):
            function([True, False], [0.1, 0.2], sample_weight=[1, -1])

    def test_options(self):
        with pytest.raises(
            ValueError, match="convention must be one of grouped, mean, trapezoid, trapezoid_origin, got"
        ):
            aurc([0, 1], [0.1, 0.2], convention="simpson")
        with pytest.raises(ValueError, match='optimum must be "exact" or "limit", got \'best\''):
            optimal_aurc([0, 1], optimum="best")
        with pytest.raises(ValueError, match='target must be "error" or "success", got \'both\''):
            failure_average_precision([True, False], [0.1, 0.2], target="both")
        with pytest.raises(ValueError, match="balance_by needs convention=\"grouped\", got convention='mean'"):
            aurc([0, 1], [0.1, 0.2], convention="mean", balance_by=[0, 1])
        with pytest.raises(ValueError, match=r"balance_by must hold one class per row, got shape \(3,\) for 2 rows"):
            augrc([0, 1], [0.1, 0.2], balance_by=[0, 1, 1])

    def test_targets(self):
        with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\], got 90; for 90 % pass 0.9"):
            risk_at_coverage([0, 1], [0.1, 0.2], 90)
        with pytest.raises(ValueError, match=r"risk must not be negative, got -0\.1"):
            coverage_at_risk([0, 1], [0.1, 0.2], -0.1)
        with pytest.raises(ValueError, match=r"accuracy must be in \[0, 1\], got 95; for 95 % pass 0.95"):
            coverage_at_accuracy([True, False], [0.1, 0.2], 95)
