"""Risk over confidence, and the areas under the curve."""

from math import isnan, log, nan

import numpy as np
import pytest

from aucross.evaluation import (
    augrc,
    aurc,
    excess_aurc,
    generalized_risk_curve,
    normalized_aurc,
    optimal_aurc,
    risk_coverage_curve,
    selective_auc,
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
        selected, lost = sum(w for _, w in rows), sum(v * w for v, w in rows)
        points.append((selected / sum(weight), lost / selected, lost / sum(weight)))
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

    def test_thresholds_reproduce_the_points(self, seed):
        rows = Rows(seed)
        curve = risk_coverage_curve(rows.error, rows.confidence)
        for coverage, risk, threshold in zip(*curve, strict=True):
            selected = rows.confidence >= threshold
            assert selected.mean() == pytest.approx(coverage)
            assert rows.error[selected].mean() == pytest.approx(risk)

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
        auroc = selective_auc(~rows.error, rows.confidence, **weighted)
        expected = (1 - auroc) * a * (1 - a) + (1 - a) ** 2 / 2
        assert augrc(rows.error, rows.confidence, **weighted) == pytest.approx(expected)
        assert augrc(rows.error, -rows.error.astype(float), **weighted) == pytest.approx((1 - a) ** 2 / 2)

    def test_grouped_equals_the_area_over_rows_where_nothing_ties(self, seed):
        rows = Rows(seed, distinct=True)
        order = np.argsort(-rows.confidence)
        expected = loop_aurc(rows.error[order].astype(float).tolist(), "grouped")
        assert aurc(rows.error, rows.confidence) == pytest.approx(expected)


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


class TestUndefined:
    @pytest.mark.parametrize("name", TIE_SAFE)
    def test_nan_without_rows(self, name):
        assert isnan(TIE_SAFE[name]([], []))

    def test_empty_curves_without_rows(self):
        for curve in (risk_coverage_curve([], []), generalized_risk_curve([], [])):
            assert all(len(values) == 0 for values in curve)

    def test_optimum_without_rows(self):
        assert isnan(optimal_aurc([]))
        assert isnan(optimal_aurc([], optimum="limit"))

    def test_trapezoid_of_one_row(self):
        assert isnan(aurc([1], [0.5], convention="trapezoid"))
        assert aurc([1], [0.5], convention="mean") == 1

    @pytest.mark.parametrize("loss", [[0, 0], [1, 1]])
    def test_nothing_to_normalise_where_all_losses_are_equal(self, loss):
        assert isnan(normalized_aurc(loss, [0.1, 0.2]))

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

    def test_options(self):
        with pytest.raises(
            ValueError, match="convention must be one of grouped, mean, trapezoid, trapezoid_origin, got"
        ):
            aurc([0, 1], [0.1, 0.2], convention="simpson")
        with pytest.raises(ValueError, match='optimum must be "exact" or "limit", got \'best\''):
            optimal_aurc([0, 1], optimum="best")
