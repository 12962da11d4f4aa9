"""All metrics by name, the metrics that users may request, and the bootstrap for their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation import auc_metrics, metrics, multiclass, risk_curves
from aucross.evaluation.metric import Metric, as_metric

AnyMetric = Metric[...]
MetricLike = str | Callable[..., float]

METRICS: Mapping[str, AnyMetric] = MappingProxyType(
    {
        name: value
        for module in (metrics, auc_metrics, multiclass, risk_curves)
        for name, value in vars(module).items()
        if isinstance(value, Metric) and value.__module__ == module.__name__
    }
)

# Read from rankings; always part of an evaluation of two classes, of more, of a group.
STANDARD_METRICS = (
    *("achieved_coverage", "coverage_error", "selective_auc"),
    *("auc_gain", "selective_accuracy", "positive_rate"),
)
MULTICLASS_METRICS = ("achieved_coverage", "coverage_error", "hand_till_m", "auc_mu", "selective_accuracy")
GROUP_METRICS = (
    *("achieved_coverage", "selective_auc", "selective_accuracy"),
    *("positive_rate", "positives_for_review"),
)

# What can be asked for beside them, with two classes; it is computed in every replicate, hence slower.
METRICS_ON_REQUEST = tuple(
    name
    for name, metric in METRICS.items()
    if metric.reads in ("scores", "labels", "outcomes") and not metric.needs and name not in STANDARD_METRICS
)


def words_for(name: str, *, positive: str = "positives") -> str:
    """Return a readable name for a column of an evaluation: a metric's label, or the name with spaces."""
    return METRICS[name].words(positive=positive) if name in METRICS else name.replace("_", " ")


def listed_metrics(metrics: Iterable[MetricLike] | MetricLike) -> list[MetricLike]:
    """Return one metric or several as a list."""
    return [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)


def metrics_on_request(metrics: Iterable[MetricLike], *, two_classes: bool) -> dict[str, AnyMetric]:
    """Return the requested additional metrics by name; refuse those that do not suit the rows."""
    standard, names = (STANDARD_METRICS, METRICS_ON_REQUEST) if two_classes else (MULTICLASS_METRICS, ())
    found: dict[str, AnyMetric] = {}
    for entry in listed_metrics(metrics):
        metric = as_metric(entry) if callable(entry) else METRICS.get(entry)
        is_ours = metric is not None and METRICS.get(metric.name) is metric
        unread = ("selection", "losses", *(("class_scores",) if two_classes else ()))
        if metric is None or (
            metric.name not in (*standard, *names) if is_ours else metric.needs or metric.reads in unread
        ):
            possible = f"functions or names from {sorted(names)}" if names else "functions of your own"
            if metric is None:
                found_instead = repr(entry)
            elif metric.needs:
                found_instead = f"{metric.name!r} without {metric.needs[0]}, for which there is functools.partial"
            else:
                found_instead = f"{metric.name!r}, which reads {metric.reads.replace('_', ' ')}"
            raise ValueError(f"metrics must be {possible}, got {found_instead}; {', '.join(standard)} are always there")
        if is_ours and metric.name in standard:
            continue
        if metric.name in standard or found.get(metric.name, metric) != metric:
            raise ValueError(
                f"metrics must have names of their own, got a second metric called {metric.name!r}; give the function "
                f"another name; {', '.join(standard)} are always there"
            )
        found[metric.name] = metric
    return found


# ---- the bootstrap: rows or units are drawn, and their weights change ----


def measure(
    metrics: Mapping[str, AnyMetric], masks: Sequence[Any], weights: Iterable[FloatArray], rows: Mapping[str, Any]
) -> dict[str, FloatArray]:
    """Compute each metric for every row weighting and selection, as an array (n_weightings, n_selections)."""
    values = [
        [[metric.of(mask, **rows, sample_weight=weight) for mask in masks] for metric in metrics.values()]
        for weight in weights
    ]
    table = np.array(values, dtype=np.float64).reshape(-1, len(metrics), len(masks))
    return {name: table[:, index] for index, name in enumerate(metrics)}


def draw_weights(
    weight: FloatArray, n_bootstrap: int, seed: int, units: IndexArray | None = None
) -> Iterator[FloatArray]:
    """Yield bootstrap weights: each row's weight times the number of draws of the row, or of its customer."""
    n_drawn = len(weight) if units is None else int(units.max()) + 1
    # Drawing is half the time of a replicate: SFC64 with 32-bit numbers took half as long as the default.
    rng = np.random.Generator(np.random.SFC64(seed))
    dtype = np.uint32 if n_drawn < 2**32 else np.uint64
    for _ in range(n_bootstrap):
        drawn = rng.integers(0, n_drawn, size=n_drawn, dtype=dtype)
        counts = np.bincount(drawn.astype(np.intp), minlength=n_drawn)
        yield weight * (counts if units is None else counts.take(units))
