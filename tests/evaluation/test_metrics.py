"""Numbers over selected rows: coverage, the AUC family, decisions and calibration."""

from itertools import pairwise
from math import inf, isnan, log, nan

import numpy as np
import pytest

from aucross.core import RankedScores, RejectionBand
from aucross.evaluation import (
    achieved_coverage,
    auc_gain,
    base_rate_shift,
    coverage_error,
    expected_calibration_error,
    expected_cost,
    oracle_gap,
    positive_rate,
    positives_for_review,
    selected_counts,
    selective_accuracy,
    selective_auc,
    selective_average_precision,
    selective_brier,
    selective_gini,
    selective_ks,
    selective_log_loss,
    selective_partial_auc,
    selective_risk,
)

SEEDS = range(8)

SCORE_METRICS = {
    "auc": selective_auc,
    "gini": selective_gini,
    "ks": selective_ks,
    "average_precision": selective_average_precision,
    "partial_auc": lambda *args, **kw: selective_partial_auc(*args, max_fpr=0.3, **kw),
    "gain": auc_gain,
    "oracle_gap": oracle_gap,
    "brier": selective_brier,
    "log_loss": selective_log_loss,
    "ece_uniform": expected_calibration_error,
    "ece_quantile": lambda *args, **kw: expected_calibration_error(*args, n_bins=4, strategy="quantile", **kw),
}
LABEL_METRICS = {
    "accuracy": selective_accuracy,
    "risk": selective_risk,
    "expected_cost": lambda *args, **kw: expected_cost(*args, review_cost=(0.25, 0.5), **kw),
}
CLASS_METRICS = {
    "positive_rate": positive_rate,
    "base_rate_shift": base_rate_shift,
    "positives_for_review": positives_for_review,
    "counts": selected_counts,
}


class Rows:
    """Random rows with heavy ties, small integer weights (some 0) and a selection of about two thirds."""

    def __init__(self, seed, n=40):
        rng = np.random.default_rng(seed)
        self.y = rng.random(n) < 0.4
        self.score = np.round(np.clip(0.3 * self.y + 0.7 * rng.random(n), 0, 1), 1)
        self.pred = self.score > 0.5
        self.selected = rng.random(n) < 0.65
        self.weight = rng.integers(0, 4, n).astype(float)
        self.y[:2], self.selected[:2], self.weight[:2] = (True, False), True, 1.0

    def kept(self):
        """(y, score, weight) of the selected rows as plain tuples, for loops."""
        rows = zip(self.y, self.score, self.weight, self.selected, strict=True)
        return [(bool(y), float(s), float(w)) for y, s, w, g in rows if g]


def loop_auc(rows):
    won = pairs = 0.0
    for y, s, w in rows:
        for other_y, other_s, other_w in rows:
            if y and not other_y:
                pairs += w * other_w
                won += w * other_w * (1.0 if s > other_s else 0.5 if s == other_s else 0.0)
    return won / pairs if pairs else nan


def loop_roc(rows):
    """Points (FPR, TPR) from the strictest threshold down, one per distinct score."""
    positives = sum(w for y, _, w in rows if y)
    negatives = sum(w for y, _, w in rows if not y)
    points = [(0.0, 0.0)]
    for threshold in sorted({s for _, s, w in rows if w}, reverse=True):
        above = [(y, w) for y, s, w in rows if s >= threshold]
        points.append((sum(w for y, w in above if not y) / negatives, sum(w for y, w in above if y) / positives))
    return points


@pytest.mark.parametrize("seed", SEEDS)
class TestAgainstLoops:
    def test_coverage_and_class_shares(self, seed):
        rows = Rows(seed)
        total = sum(rows.weight)
        kept = rows.kept()
        kept_weight = sum(w for *_, w in kept)
        kept_positive = sum(w for y, _, w in kept if y)
        all_positive = sum(rows.weight[rows.y])
        assert achieved_coverage(rows.selected, rows.weight) == pytest.approx(kept_weight / total)
        assert coverage_error(rows.selected, 0.9, rows.weight) == pytest.approx(kept_weight / total - 0.9)
        weighted = {"sample_weight": rows.weight}
        assert positive_rate(rows.y, rows.selected, **weighted) == pytest.approx(kept_positive / kept_weight)
        shift = kept_positive / kept_weight - all_positive / total
        assert base_rate_shift(rows.y, rows.selected, **weighted) == pytest.approx(shift)
        assert positives_for_review(rows.y, rows.selected, **weighted) == pytest.approx(
            1 - kept_positive / all_positive
        )
        counts = selected_counts(rows.y, rows.selected, **weighted)
        assert counts == (kept_positive, kept_weight - kept_positive)

    def test_auc_gini_and_gain(self, seed):
        rows = Rows(seed)
        auc = selective_auc(rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        everything = loop_auc(list(zip(rows.y, rows.score, rows.weight, strict=True)))
        assert auc == pytest.approx(loop_auc(rows.kept()))
        assert selective_gini(rows.y, rows.score, rows.selected, sample_weight=rows.weight) == 2 * auc - 1
        assert selective_auc(rows.y, rows.score, sample_weight=rows.weight) == pytest.approx(everything)
        gain = auc_gain(rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        assert gain == pytest.approx(auc - everything)

    def test_ks(self, seed):
        rows = Rows(seed)
        expected = max(tpr - fpr for fpr, tpr in loop_roc(rows.kept()))
        assert selective_ks(rows.y, rows.score, rows.selected, sample_weight=rows.weight) == pytest.approx(expected)

    def test_average_precision(self, seed):
        rows = Rows(seed)
        kept = rows.kept()
        positives = sum(w for y, _, w in kept if y)
        expected = recall_before = 0.0
        for threshold in sorted({s for _, s, w in kept if w}, reverse=True):
            above = [(y, w) for y, s, w in kept if s >= threshold]
            found = sum(w for y, w in above if y)
            expected += (found / positives - recall_before) * found / sum(w for _, w in above)
            recall_before = found / positives
        ours = selective_average_precision(rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        assert ours == pytest.approx(expected)

    @pytest.mark.parametrize("max_fpr", [0.1, 0.37, 1.0])
    def test_partial_auc(self, seed, max_fpr):
        rows = Rows(seed)
        area, points = 0.0, loop_roc(rows.kept())
        for (x0, y0), (x1, y1) in pairwise(points):
            if x0 >= max_fpr or x1 == x0:
                continue
            stop = min(x1, max_fpr)
            area += (stop - x0) * (y0 + (y0 + (y1 - y0) * (stop - x0) / (x1 - x0))) / 2
        chance = max_fpr**2 / 2
        expected = area if max_fpr == 1 else (1 + (area - chance) / (max_fpr - chance)) / 2
        weighted = {"max_fpr": max_fpr, "sample_weight": rows.weight}
        assert selective_partial_auc(rows.y, rows.score, rows.selected, **weighted) == pytest.approx(expected)

    def test_oracle_gap(self, seed):
        rows = Rows(seed)
        reached = achieved_coverage(rows.selected, rows.weight)
        ends = sorted(set(rows.score))
        bands = [RejectionBand()] + [RejectionBand(a, b) for a in ends for b in ends if a <= b]
        ranked = RankedScores.from_labels(rows.y, rows.score, rows.weight)
        best = np.nanmax([ranked.auc(band) for band in bands if ranked.coverage(band) >= reached - 1e-12])
        ours = selective_auc(rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        gap = oracle_gap(rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        assert gap == pytest.approx(best - ours)

    def test_accuracy_and_risk(self, seed):
        rows = Rows(seed)
        kept = [(y == p, w) for y, p, g, w in zip(rows.y, rows.pred, rows.selected, rows.weight, strict=True) if g]
        args, weighted = (rows.y, rows.pred, rows.selected), {"sample_weight": rows.weight}
        accuracy = sum(w for right, w in kept if right) / sum(w for _, w in kept)
        assert selective_accuracy(*args, **weighted) == pytest.approx(accuracy)
        assert selective_risk(*args, **weighted) == pytest.approx(1 - accuracy)

    def test_expected_cost(self, seed):
        rows = Rows(seed)
        costs, review = [[-1, 2], [5, 0.5]], (0.3, 0.7)
        expected = 0.0
        for y, p, g, w in zip(rows.y, rows.pred, rows.selected, rows.weight, strict=True):
            expected += w * (costs[int(y)][int(p)] if g else review[int(y)])
        given = {"cost_matrix": costs, "review_cost": review, "sample_weight": rows.weight}
        assert expected_cost(rows.y, rows.pred, rows.selected, **given) == pytest.approx(expected / rows.weight.sum())

    def test_brier_and_log_loss(self, seed):
        rows = Rows(seed)
        score = np.clip(rows.score, 0.05, 0.95)
        kept = [(y, min(max(s, 0.05), 0.95), w) for y, s, w in rows.kept()]
        total = sum(w for *_, w in kept)
        brier = sum(w * (s - y) ** 2 for y, s, w in kept) / total
        log_loss = -sum(w * log(s if y else 1 - s) for y, s, w in kept) / total
        args, weighted = (rows.y, score, rows.selected), {"sample_weight": rows.weight}
        assert selective_brier(*args, **weighted) == pytest.approx(brier)
        assert selective_log_loss(*args, **weighted) == pytest.approx(log_loss)

    @pytest.mark.parametrize("n_bins", [1, 4, 7])
    def test_calibration_error_with_bins_of_equal_width(self, seed, n_bins):
        rows = Rows(seed)
        kept = rows.kept()
        expected = 0.0
        for index in range(n_bins):
            low, high = index / n_bins, (index + 1) / n_bins
            inside = [(y, s, w) for y, s, w in kept if low < s <= high or (index == 0 and s == 0)]
            if weight := sum(w for *_, w in inside):
                score = sum(w * s for _, s, w in inside) / weight
                rate = sum(w * y for y, _, w in inside) / weight
                expected += weight * abs(score - rate)
        given = {"n_bins": n_bins, "sample_weight": rows.weight}
        ours = expected_calibration_error(rows.y, rows.score, rows.selected, **given)
        assert ours == pytest.approx(expected / sum(w for *_, w in kept))


@pytest.mark.parametrize("seed", SEEDS)
class TestInvariances:
    @pytest.mark.parametrize("name", SCORE_METRICS)
    def test_weight_2_is_the_row_twice_for_scores(self, seed, name):
        rows = Rows(seed)
        times = rows.weight.astype(int)
        weighted = SCORE_METRICS[name](rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        repeated = (np.repeat(values, times) for values in (rows.y, rows.score, rows.selected))
        assert weighted == pytest.approx(SCORE_METRICS[name](*repeated), abs=1e-12)

    @pytest.mark.parametrize("name", LABEL_METRICS)
    def test_weight_2_is_the_row_twice_for_labels(self, seed, name):
        rows = Rows(seed)
        times = rows.weight.astype(int)
        weighted = LABEL_METRICS[name](rows.y, rows.pred, rows.selected, sample_weight=rows.weight)
        repeated = (np.repeat(values, times) for values in (rows.y, rows.pred, rows.selected))
        assert weighted == pytest.approx(LABEL_METRICS[name](*repeated), abs=1e-12)

    @pytest.mark.parametrize("name", CLASS_METRICS)
    def test_weight_2_is_the_row_twice_for_classes(self, seed, name):
        rows = Rows(seed)
        times = rows.weight.astype(int)
        weighted = CLASS_METRICS[name](rows.y, rows.selected, sample_weight=rows.weight)
        repeated = CLASS_METRICS[name](np.repeat(rows.y, times), np.repeat(rows.selected, times))
        assert weighted == pytest.approx(repeated, abs=1e-12)

    @pytest.mark.parametrize("name", SCORE_METRICS)
    def test_row_order_does_not_matter(self, seed, name):
        rows = Rows(seed)
        order = np.random.default_rng(seed).permutation(len(rows.y))
        before = SCORE_METRICS[name](rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        shuffled = (rows.y[order], rows.score[order], rows.selected[order])
        assert before == pytest.approx(SCORE_METRICS[name](*shuffled, sample_weight=rows.weight[order]), abs=1e-12)

    # Gain and oracle gap compare with the rows that were not selected.
    @pytest.mark.parametrize("name", [name for name in SCORE_METRICS if name not in ("gain", "oracle_gap")])
    def test_the_metric_of_selected_rows_is_the_metric_of_those_rows_alone(self, seed, name):
        rows = Rows(seed)
        ours = SCORE_METRICS[name](rows.y, rows.score, rows.selected, sample_weight=rows.weight)
        alone = (rows.y[rows.selected], rows.score[rows.selected])
        assert ours == SCORE_METRICS[name](*alone, sample_weight=rows.weight[rows.selected])

    def test_labels_may_be_0_1_or_minus_1_1_and_boolean(self, seed):
        rows = Rows(seed)
        auc = selective_auc(rows.y, rows.score, rows.selected)
        accuracy = selective_accuracy(rows.y, rows.pred, rows.selected)
        assert selective_auc(rows.y.astype(int), rows.score, rows.selected) == auc
        assert selective_auc(np.where(rows.y, 1, -1), rows.score, rows.selected) == auc
        assert selective_accuracy(np.where(rows.y, 1, -1), rows.pred.astype(int), rows.selected) == accuracy


@pytest.mark.parametrize("name", ["auc", "gini", "ks", "partial_auc", "gain", "oracle_gap"])
@pytest.mark.parametrize("selected", [[False] * 4, [True, False, True, False], [False, True, False, True]])
def test_ranking_metrics_are_nan_where_a_class_is_missing(name, selected):
    assert isnan(SCORE_METRICS[name]([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], selected))


@pytest.mark.parametrize("name", SCORE_METRICS)
def test_score_metrics_are_nan_where_nothing_is_selected_or_all_weights_selected_are_0(name):
    metric = SCORE_METRICS[name]
    assert isnan(metric([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], [False] * 4))
    selected, weight = [True, True, False, False], [0, 0, 1, 1]
    assert isnan(metric([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], selected, sample_weight=weight))


@pytest.mark.parametrize("name", ["accuracy", "risk"])
def test_accuracy_and_risk_are_nan_where_nothing_is_selected(name):
    assert isnan(LABEL_METRICS[name]([0, 1], [0, 1], [False, False]))


@pytest.mark.parametrize("name", [*SCORE_METRICS, *LABEL_METRICS])
def test_metrics_are_nan_without_rows(name):
    metric = (SCORE_METRICS | LABEL_METRICS)[name]
    assert isnan(metric([], []))


def test_class_shares_are_nan_where_undefined():
    assert isnan(achieved_coverage(np.array([], dtype=bool)))
    assert isnan(positive_rate([0, 1], [False, False]))
    assert isnan(base_rate_shift([0, 1], [False, False]))
    assert isnan(positives_for_review([0, 0], [True, False]))


def test_average_precision_needs_a_positive_only():
    assert isnan(selective_average_precision([0, 0, 1], [0.1, 0.2, 0.3], [True, True, False]))
    assert selective_average_precision([1, 1, 0], [0.1, 0.2, 0.3], [True, True, False]) == 1


def test_constant_scores_have_the_auc_of_chance():
    assert selective_auc([0, 1, 1], [0.5, 0.5, 0.5]) == 0.5
    assert selective_ks([0, 1, 1], [0.5, 0.5, 0.5]) == 0


def test_everything_selected_is_coverage_1_exactly_with_any_weights():
    weight = np.random.default_rng(0).random(1001)
    assert achieved_coverage(np.ones(1001, dtype=bool), weight) == 1.0


def test_the_oracle_itself_has_no_gap_and_other_bands_a_positive_one():
    rng = np.random.default_rng(3)
    y = rng.random(60) < 0.4
    score = np.round(0.4 * y + rng.random(60), 1)
    gaps = []
    for lower in (0.2, 0.5, 0.8):
        selected = RejectionBand(lower, lower + 0.2).selects(score)
        gaps.append(oracle_gap(y, score, selected))
    assert min(gaps) >= -1e-12
    assert max(gaps) > 0.01
    assert oracle_gap(y, score) >= 0


def test_a_selection_that_sees_the_labels_beats_the_oracle_of_bands():
    y, score = np.array([0, 1, 0, 1, 0, 1]), np.array([0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
    assert oracle_gap(y, score, [True, False, False, False, False, True]) < 0


def test_log_loss_of_certain_and_wrong_rows_is_finite():
    assert selective_log_loss([0, 1], [1.0, 0.0]) == pytest.approx(36.04, abs=0.01)


def test_log_loss_of_one_class_is_defined():
    assert selective_log_loss([1, 1], [0.5, 0.5]) == pytest.approx(log(2))


class TestCalibrationError:
    def test_quantile_bins_hold_equal_numbers_of_distinct_scores(self):
        rng = np.random.default_rng(0)
        score = np.sort(rng.random(20) ** 3)
        y = rng.random(20) < 0.5
        expected = sum(abs((score[part] - y[part]).sum()) for part in np.split(np.arange(20), 5)) / 20
        assert expected_calibration_error(y, score, n_bins=5, strategy="quantile") == pytest.approx(expected)

    def test_quantile_bins_keep_ties_together(self):
        # All rows tie: one bin, whose mean is perfectly calibrated.
        assert expected_calibration_error([0, 1, 0, 1], [0.5] * 4, n_bins=4, strategy="quantile") == 0

    def test_perfect_certainty_has_no_error(self):
        assert expected_calibration_error([0, 1], [0.0, 1.0]) == 0


class TestErrors:
    def raises(self, text):
        return pytest.raises(ValueError, match=text)

    def test_scores_and_labels_of_different_lengths(self):
        with self.raises(r"y_score must hold one score per row, got shape \(3,\) for 2 rows"):
            selective_auc([0, 1], [0.1, 0.2, 0.3])
        with self.raises("y_pred must hold one label per row, got 3 for 2 rows"):
            selective_accuracy([0, 1], [0, 1, 1])

    @pytest.mark.parametrize("metric", SCORE_METRICS.values())
    def test_nan_scores(self, metric):
        with self.raises("y_score must be finite, got 1 NaN or infinite values among 3, the first in row 1"):
            metric([0, 1, 1], [0.1, nan, 0.3])

    @pytest.mark.parametrize("metric", [selective_auc, selective_brier])
    def test_masks_that_are_not_boolean(self, metric):
        with self.raises(r"selected must be a boolean mask, got dtype int64; pass selected == 1 for 0/1 marks"):
            metric([0, 1, 1], [0.1, 0.2, 0.3], [1, 0, 1])

    def test_a_mask_that_is_missing_where_it_is_the_only_argument(self):
        with self.raises("selected must be a boolean mask, got dtype object"):
            achieved_coverage(None)

    def test_masks_of_the_wrong_shape(self):
        with self.raises("selected must hold one entry per row, got 2 for 3 rows"):
            selective_auc([0, 1, 1], [0.1, 0.2, 0.3], [True, False])
        with self.raises(r"selected must be 1-d, got shape \(1, 3\)"):
            achieved_coverage([[True, False, True]])

    def test_labels_of_another_kind(self):
        with self.raises("y_true must be boolean, 0/1 or -1/1, got values such as"):
            selective_auc(["good", "bad"], [0.1, 0.2])
        with self.raises("y_pred must be boolean, 0/1 or -1/1, got values such as .*; pass y_pred == positive_class"):
            selective_accuracy([0, 1], [0.2, 0.7])

    @pytest.mark.parametrize(
        ("weight", "text"),
        [
            ([1.0], r"sample_weight must hold one weight per row, got shape \(1,\) for 2 rows"),
            ([1.0, -1.0], "sample_weight must not be negative, got -1 in row 1"),
            ([1.0, nan], "sample_weight must be finite"),
            ([0.0, 0.0], "sample_weight must not be all zero"),
        ],
    )
    def test_weights(self, weight, text):
        with self.raises(text):
            selective_auc([0, 1], [0.1, 0.2], sample_weight=weight)
        with self.raises(text):
            selective_accuracy([0, 1], [0, 1], sample_weight=weight)
        with self.raises(text):
            positive_rate([0, 1], sample_weight=weight)
        with self.raises(text):
            achieved_coverage([True, False], weight)

    def test_target_coverage_in_percent(self):
        with self.raises(r"target_coverage must be in \(0, 1\], got 90; for 90 % pass 0.9"):
            coverage_error([True], 90)

    def test_probabilities_outside_0_to_1(self):
        with self.raises(r"y_score must be probabilities in \[0, 1\], got 1.5; pass predict_proba"):
            selective_brier([0, 1], [0.5, 1.5])

    def test_options(self):
        y, score = [0, 1], [0.1, 0.2]
        with self.raises(r"max_fpr must be in \(0, 1\], got 0"):
            selective_partial_auc(y, score, max_fpr=0)
        with self.raises("n_bins must be at least 1, got 0"):
            expected_calibration_error(y, score, n_bins=0)
        with self.raises('strategy must be "uniform" or "quantile", got \'kmeans\''):
            expected_calibration_error(y, score, strategy="kmeans")

    def test_costs(self):
        with self.raises(
            r"cost_matrix must be a finite 2 x 2 array, cost_matrix\[true\]\[predicted\], got shape \(3,\)"
        ):
            expected_cost([0, 1], [0, 1], review_cost=1, cost_matrix=[1, 2, 3])
        with self.raises(r"review_cost must be one finite number or a pair \(negatives, positives\), got"):
            expected_cost([0, 1], [0, 1], review_cost=inf)
