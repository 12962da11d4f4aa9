"""Selective classification for scikit-learn: classifiers that know when not to answer, judged by their AUC."""

from aucross.core import (
    BandRule,
    CenteredBands,
    OptimalBands,
    RankedScores,
    RejectionBand,
    ThresholdBands,
    auc_improving_interval,
    best_band,
    oracle_band,
)
from aucross.estimators import AUCross, CoverageForAUC, PlugIn, PlugInAUC, SCross, SelectiveClassifier
from aucross.evaluation import (
    SelectiveComparison,
    SelectiveEvaluation,
    compare_selective,
    evaluate_selections,
    evaluate_selective,
    selective_scorer,
)

__version__ = "0.1.0"

__all__ = [
    "AUCross",
    "BandRule",
    "CenteredBands",
    "CoverageForAUC",
    "OptimalBands",
    "PlugIn",
    "PlugInAUC",
    "RankedScores",
    "RejectionBand",
    "SCross",
    "SelectiveClassifier",
    "SelectiveComparison",
    "SelectiveEvaluation",
    "ThresholdBands",
    "auc_improving_interval",
    "best_band",
    "compare_selective",
    "evaluate_selections",
    "evaluate_selective",
    "oracle_band",
    "selective_scorer",
]
