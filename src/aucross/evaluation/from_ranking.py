"""Evaluation and promise from a ranking, for rows that stay where they are: on a cluster, in a warehouse, in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import nan, sqrt
from typing import Any

import numpy as np

from aucross.core.bands import check_coverage
from aucross.core.ranking import RankedScores
from aucross.evaluation.catalogue import STANDARD_METRICS
from aucross.evaluation.evaluate import DEFAULT_COVERAGES
from aucross.evaluation.inputs import BoolArray, check_coverages, check_probability
from aucross.evaluation.promise import SelectivePromise, bounds_of, check_confidence, promise_of_bounds
from aucross.evaluation.ranked_selections import (
    Measured,
    RankedSelection,
    Selection,
    check_rows,
    evaluation_of,
    is_probability,
    selected_of,
    selections_of,
)
from aucross.evaluation.results import SelectiveEvaluation


def evaluate_ranking(
    ranked: RankedScores,
    bands: Any,
    coverages: Iterable[float] | None = None,
    *,
    threshold: float | None = None,
    confidence_level: float = 0.95,
) -> SelectiveEvaluation:
    """Evaluate a selective classifier from a ranking of labelled test rows, without the rows.

    Parameters
    ----------
    ranked : RankedScores
        Ranking of test rows by the score of the classifier: numbers of rows, or powers of their weights. Rankings of
        partitions add up.
    bands : SelectiveClassifier, BandRule, or dict of float to RejectionBand or ranking
        What selects. If bands do not lie on the ranked score (a gate, a judge of its own, bands per group), a dict
        that has the ranking of the *selected* rows for each coverage.
    coverages : iterable of float in (0, 1], optional
        Target coverages; (1, .99, .95, .90, .85, .80, .75) by default, or those of the dict.
    threshold : float, optional
        Rows of a score above it are answered with the positive class. By default one half, or 0 for a classifier whose
        scores are decision values.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals.

    Returns
    -------
    SelectiveEvaluation
        What :func:`aucross.evaluate_selective` gives on the same rows.

    See Also
    --------
    aucross.evaluate_selective : The same from rows, with more metrics, groups of rows and comparisons.

    Notes
    -----
    Rows must be independent of each other: a ranking does not tell which rows belong to one customer, so that for those
    the intervals would be too narrow. Numbers of rows that are weights in truth, such as amounts, cannot be told from
    counts either.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import RankedScores, estimate_auc_bands
    >>> from aucross.evaluation import evaluate_ranking
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(3000) < 0.3
    >>> score = 1 / (1 + np.exp(1 - rng.normal(size=3000) - 1.5 * y))
    >>> parts = [RankedScores.from_labels(y[i::3], score[i::3]) for i in range(3)]
    >>> rule = estimate_auc_bands(parts[0])
    >>> evaluation = evaluate_ranking(parts[1] + parts[2], rule, [1.0, 0.8])
    >>> print(evaluation.estimates["achieved_coverage"].round(2), evaluation.estimates["auc_gain"][1] > 0)
    [1.   0.81] True
    """
    given = bands if isinstance(bands, Mapping) else DEFAULT_COVERAGES
    asked = check_coverages(given if coverages is None else coverages)
    check_probability(confidence_level, "confidence_level", ends=False)
    if check_rows(ranked).totals[:, 0].sum() == 0:
        raise ValueError("ranked must hold at least one row to evaluate on, got none")
    if threshold is None:
        threshold = 0.5 if is_probability(bands) else 0.0
    is_positive = ranked.scores > float(threshold)
    everything = _selection(ranked, ranked, is_positive)
    selections = zip(asked, selections_of(ranked, bands, asked), strict=True)
    return evaluation_of(
        (_measured(coverage, _selection(ranked, part, is_positive), everything) for coverage, part in selections),
        _measured(1.0, everything, everything),
        STANDARD_METRICS,
        confidence_level,
        has_rows=False,
    )


def _selection(ranked: RankedScores, part: RankedScores, is_positive: BoolArray) -> RankedSelection:
    """Selected rows, of which those of high scores are answered with the positive class."""
    positives, negatives = part.class_powers
    return RankedSelection(ranked, part, positives[:, ~is_positive].sum(axis=1) + negatives[:, is_positive].sum(axis=1))


def _measured(coverage: float, part: RankedSelection, everything: RankedSelection) -> Measured:
    return Measured(coverage, part, part.losses(), part.moments(everything))


def promise_ranking(
    ranked: RankedScores,
    bands: Any,
    coverage: float | None = None,
    *,
    promised_coverage: float | None = None,
    confidence: float = 0.95,
) -> SelectivePromise:
    """Say how much of the coverage and of the AUC can be promised, from a ranking of test rows without the rows.

    Parameters
    ----------
    ranked : RankedScores
        As in :func:`evaluate_ranking`: rows that are independent of each other, like those to come, and were used
        neither to train nor to place the band.
    bands : SelectiveClassifier, BandRule, RejectionBand or ranking
        What selects: a band, or the ranking of the selected rows, or what has a band for `coverage`.
    coverage : float in (0, 1], optional
        Target coverage; that of the classifier by default.
    promised_coverage, confidence
        As in :func:`~aucross.evaluation.promise_selective`.

    Returns
    -------
    SelectivePromise
        The same as :func:`~aucross.evaluation.promise_selective` gives on the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import RankedScores, RejectionBand
    >>> from aucross.evaluation import promise_ranking
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> ranked = RankedScores.from_labels(y, rng.normal(size=1000) + 1.5 * y)
    >>> print(promise_ranking(ranked, RejectionBand(0.5, 1.1)))
    At least 79.2 % of cases decided automatically, and an AUC of at least .862 among them, with 95 % confidence
    (1,000 test rows; 227 positives and 591 negatives automatic).
    """
    level = check_confidence(confidence)
    if promised_coverage is not None:
        promised_coverage = check_coverage(promised_coverage, "promised_coverage")
    part, target = _one_selection(check_rows(ranked), bands, coverage)
    if ranked.totals[:, 0].sum() == 0:
        raise ValueError("ranked must hold at least one row to promise from, got none")
    selection = RankedSelection(ranked, part, np.zeros(4))
    failures = (1.0 - level, 1.0 - sqrt(level))
    (positives, negatives), losses = part.totals, selection.losses()
    promise = promise_of_bounds(
        bounds_of(losses["achieved_coverage"], failures),
        bounds_of(losses["selective_auc"], failures),
        promised_coverage,
        confidence=level,
        achieved_coverage=selection.estimates(nan, nan)["achieved_coverage"],
        selective_auc=selection.auc,
        n_rows=int(ranked.totals[:, 0].sum()),
        n_selected=int(positives[0] + negatives[0]),
        n_positive=int(positives[0]),
        n_negative=int(negatives[0]),
        method="delong",
        is_weighted=ranked.is_weighted,
    )
    return replace(promise, target_coverage=target)


def _one_selection(ranked: RankedScores, bands: Any, coverage: float | None) -> tuple[RankedScores, float | None]:
    if isinstance(bands, Selection):
        target = None if coverage is None else check_coverage(coverage)
        return selected_of(ranked, bands), target
    asked = getattr(bands, "coverage", None) if coverage is None else coverage
    if asked is None:
        raise ValueError("coverage must be given with a rule, got none; pass for instance 0.8")
    target = check_coverage(asked)
    return next(iter(selections_of(ranked, bands, [target]))), target
