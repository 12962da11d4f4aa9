"""Names of base models and methods on the command line; nothing here is slow to import."""

from __future__ import annotations

from enum import StrEnum


class Base(StrEnum):
    """Base models."""

    HGB = "hgb"
    LIGHTGBM = "lightgbm"
    XGBOOST = "xgboost"
    LOGISTIC = "logistic"
    FOREST = "forest"


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
