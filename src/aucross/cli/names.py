"""Names of base models and methods on the command line; nothing here is slow to import."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Base(StrEnum):
    """Base models."""

    HGB = "hgb"
    LIGHTGBM = "lightgbm"
    XGBOOST = "xgboost"
    LOGISTIC = "logistic"
    FOREST = "forest"


class EngineName(StrEnum):
    """Engines that read rows outside of this process."""

    DASK = "dask"
    SPARK = "spark"


class Ties(StrEnum):
    """Ways to treat rows that share a score at the end of the band."""

    WHOLE = "whole"
    SPLIT = "split"


class GivenScore(NamedTuple):
    """A column that holds the score, where no model is to be trained."""

    column: str
    threshold: float | None = None
    low_is_positive: bool = False

    def __str__(self) -> str:
        return self.column


# What answers: a model to train, or a score that is already there.
Answer = Base | GivenScore


class Method(StrEnum):
    """Selective classifiers."""

    AUCROSS = "aucross"
    PLUGIN_AUC = "plugin-auc"
    SCROSS = "scross"
    PLUGIN = "plugin"
    GATE = "gate"

    @property
    def cross_fits(self) -> bool:
        """Whether the method trains on folds."""
        return self not in (Method.PLUGIN_AUC, Method.PLUGIN)
