"""Selective classification for scikit-learn: classifiers that know when not to answer, judged by their AUC.

The names used every day are here. The rest is in its part: rankings, bands, rules and targets in :mod:`aucross.core`,
metrics, plots and results in :mod:`aucross.evaluation`, what happens after the fit in :mod:`aucross.deploy`.
"""

from aucross.deploy import CoverageMonitor, DecisionLog, load, save
from aucross.estimators import AUCGate, AUCross, PlugIn, PlugInAUC, SCross, SelectiveClassifier
from aucross.evaluation import (
    compare_selective,
    evaluate_groups,
    evaluate_selections,
    evaluate_selective,
    promise_selective,
    selective_scorer,
)

__version__ = "0.1.0"

__all__ = [
    "AUCGate",
    "AUCross",
    "CoverageMonitor",
    "DecisionLog",
    "PlugIn",
    "PlugInAUC",
    "SCross",
    "SelectiveClassifier",
    "compare_selective",
    "evaluate_groups",
    "evaluate_selections",
    "evaluate_selective",
    "load",
    "promise_selective",
    "save",
    "selective_scorer",
]
