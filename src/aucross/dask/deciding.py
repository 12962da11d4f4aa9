"""What a classifier in memory does to the rows of one partition, where they lie: answer, count and rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import ScoredRows
from aucross.dask.partitions import Rows
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.rankings_by_coverage import RankingsByCoverage
from aucross.estimators.score_counts import count_rows, merge_counted, weighed

# Taken from by number: texts that pandas would make of an array take longer than a small model to score.
_DECISIONS = pd.Series([REVIEW, AUTOMATIC]).array


def empty_labels(classes: Any) -> pd.Series:
    """The column of labels without rows: what a lazy collection says of itself."""
    label = np.empty(0, dtype=classes.dtype)
    return pd.Series(label.astype(object) if label.dtype.kind == "U" else label, name="prediction")


def empty_decisions(classes: Any) -> pd.DataFrame:
    """The table of decisions without rows."""
    return pd.DataFrame(
        {
            "score": np.empty(0),
            "prediction": empty_labels(classes),
            "decision": _DECISIONS[:0],
            "lower": np.empty(0),
            "upper": np.empty(0),
        }
    )


def decide(decider: Any, X: Any, groups: Any) -> pd.DataFrame:
    """Score, label, decision and the ends of the band of each row."""
    if not len(X):
        return empty_decisions(decider.classes_).set_index(_index_of(X))
    scored = decider.scored(X, band_groups=groups)
    decisions = decider.decide(scored)
    columns = {
        "score": scored.score,
        "prediction": scored.predicted,
        "decision": _DECISIONS.take(decisions.selected.view(np.int8)),
        "lower": decisions.lower,
        "upper": decisions.upper,
    }
    return pd.DataFrame(columns, index=_index_of(X))


def select(decider: Any, X: Any, groups: Any) -> pd.Series:
    """Whether the prediction of each row should be used."""
    selected = decider.select(X, band_groups=groups) if len(X) else np.empty(0, dtype=bool)
    return pd.Series(selected, index=_index_of(X), name="selected")


def predict_selective(decider: Any, X: Any, groups: Any, mark: Any) -> pd.Series:
    """Labels, with a mark on the rejected rows."""
    labels = decider.predict_selective(X, reject_label=mark, band_groups=groups) if len(X) else decider.classes_[:0]
    return pd.Series(labels, index=_index_of(X), name="prediction")


def predict(decider: Any, X: Any, groups: Any) -> pd.Series:  # noqa: ARG001
    """Labels of all rows."""
    labels = decider.predict(X) if len(X) else decider.classes_[:0]
    return pd.Series(labels, index=_index_of(X), name="prediction")


def predict_proba(model: Any, X: Any) -> Any:
    """Probabilities of the base model."""
    return np.asarray(model.predict_proba(X), dtype=np.float64) if len(X) else np.empty((0, 2))


def count_unlabelled(rows: Rows, decider: Any, rounding: ScoreRounding) -> ScoredRows | None:
    """Count the scores of a partition; None if it has no rows."""
    return count_rows(_scored(decider, rows), decider.fitted_.reader, rounding) if len(rows.X) else None


def rank(rows: Rows, deciding: Mapping[float, Any], rounding: ScoreRounding) -> RankingsByCoverage | None:
    """Rank a partition: all rows, and those that are selected at each coverage; None if it has no rows."""
    if not len(rows.X):
        return None
    scored = _scored(next(iter(deciding.values())), rows)
    return RankingsByCoverage.of(scored, rows.y, deciding, rounding)


def merge_filled(parts: list[Any]) -> Any:
    """Merge what partitions with rows have given; None if there are none."""
    filled = [part for part in parts if part is not None]
    if not filled:
        return None
    return merge_counted(filled) if isinstance(filled[0], ScoredRows) else type(filled[0]).merge(filled)


def _scored(decider: Any, rows: Rows) -> Any:
    return weighed(decider.scored(rows.X, band_groups=rows.band_groups), rows.sample_weight)


def _index_of(X: Any) -> Any:
    return X.index if isinstance(X, pd.DataFrame) else None
