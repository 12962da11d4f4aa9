"""Curves to compare with: what the best band could do, and what the usual rule does."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from aucross.core import ThresholdBands, best_band
from aucross.core.ranking import FloatArray, RankedScores
from aucross.evaluation.auc_metrics import selective_auc
from aucross.evaluation.plots.inputs import LabelledScores, check_both_classes

ORACLE, MAXIMUM_PROBABILITY = "Oracle", "maximum probability"

Curve = tuple[FloatArray, FloatArray]


def reference_curves(
    rows: LabelledScores,
    coverages: Iterable[float],
    oracle: bool,
    confidence: FloatArray | None,
    sample_weight: ArrayLike | None,
) -> dict[str, Curve]:
    """The best bands on labelled rows, and the rejection of the least confident ones, as asked for; by name."""
    coverages = sorted(coverages, reverse=True)
    curves: dict[str, Curve] = {}
    if oracle:
        ranked = check_both_classes(RankedScores.from_labels(*rows, sample_weight), "the Oracle")
        bands = [best_band(ranked, coverage, width="any") for coverage in coverages]
        curves[ORACLE] = _points([(ranked.coverage(band), ranked.auc(band)) for band in bands])
    if confidence is not None:
        by_confidence = RankedScores.from_labels(rows.positive, confidence, sample_weight)
        rule = ThresholdBands(by_confidence)
        points = []
        for coverage in coverages:
            band = rule.band(coverage)
            auc = selective_auc(*rows, band.selects(confidence), sample_weight=sample_weight)
            points.append((by_confidence.coverage(band), auc))
        curves[MAXIMUM_PROBABILITY] = _points(points)
    return curves


def _points(pairs: list[tuple[float, float]]) -> Curve:
    coverage, value = np.array(pairs, dtype=np.float64).T
    return coverage, value
