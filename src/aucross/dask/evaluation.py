"""Evaluation and promise for rows that lie on a cluster, from their rankings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from aucross.evaluation import SelectiveEvaluation, evaluate_ranking, promise_ranking
from aucross.evaluation.evaluate import DEFAULT_COVERAGES, asks_for_at_least


def evaluate_selective(
    clf: Any,
    X: Any,
    y: Any,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    sample_weight: Any = None,
    band_groups: Any = None,
    **options: Any,
) -> SelectiveEvaluation:
    """Metrics at several coverages for labelled rows of a cluster, as :func:`aucross.evaluate_selective` in memory.

    Parameters
    ----------
    clf : DaskAUCross, DaskPlugInAUC or DaskSCross
        A fitted classifier.
    X : Dask DataFrame or Array of shape (n_samples, n_features)
        Test rows.
    y : Dask Series or Array of shape (n_samples,)
        Their labels.
    coverages : iterable of float in (0, 1], default=(1, .99, .95, .90, .85, .80, .75)
        Target coverages.
    sample_weight : Dask Series or Array of shape (n_samples,), optional
        Weights of the rows.
    band_groups : Dask Series or Array of shape (n_samples,), optional
        Group of each row, if the bands were fitted per group.
    **options : dict
        ``threshold`` and ``confidence_level`` of :func:`aucross.evaluation.evaluate_ranking`.

    Returns
    -------
    SelectiveEvaluation
        One row for each coverage. Rows are ranked where they lie, and only rankings travel.
    """
    asked = list(coverages)
    ranked = clf.rankings(X, y, asked, sample_weight=sample_weight, band_groups=band_groups)
    if "threshold" not in options and clf.to_local().response_method_ != "predict_proba":
        options["threshold"] = 0.0
    evaluation = evaluate_ranking(ranked.everything, ranked.selected, asked, **options)
    return replace(evaluation, at_least=asks_for_at_least(clf))


def promise_selective(
    clf: Any,
    X: Any,
    y: Any,
    coverage: float | None = None,
    *,
    sample_weight: Any = None,
    band_groups: Any = None,
    **options: Any,
) -> Any:
    """Promise a coverage and an AUC, as :func:`~aucross.evaluation.promise_selective` does in memory.

    Parameters
    ----------
    clf : DaskAUCross, DaskPlugInAUC or DaskSCross
        A fitted classifier.
    X : Dask DataFrame or Array of shape (n_samples, n_features)
        Test rows, unseen by the fit.
    y : Dask Series or Array of shape (n_samples,)
        Their labels.
    coverage : float in (0, 1], optional
        Target coverage; that of the classifier by default.
    sample_weight, band_groups
        As for :func:`evaluate_selective`.
    **options : dict
        ``promised_coverage`` and ``confidence`` of :func:`aucross.evaluation.promise_ranking`.

    Returns
    -------
    SelectivePromise
    """
    asked = clf.coverage if coverage is None else coverage
    ranked = clf.rankings(X, y, [asked], sample_weight=sample_weight, band_groups=band_groups)
    return promise_ranking(ranked.everything, ranked.selected[asked], coverage=asked, **options)
