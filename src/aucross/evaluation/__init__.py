"""Evaluation from labels, scores and selections; nothing here fits a model."""

from aucross.evaluation.auc_metrics import (
    auc_gain,
    auc_interval,
    oracle_gap,
    selective_auc,
    selective_average_precision,
    selective_gini,
    selective_ks,
    selective_partial_auc,
)
from aucross.evaluation.catalogue import METRICS
from aucross.evaluation.compare import compare_selective
from aucross.evaluation.evaluate import evaluate_folds, evaluate_ranking, evaluate_selections, evaluate_selective
from aucross.evaluation.groups import GroupComparison, GroupEvaluation, evaluate_group_selections, evaluate_groups
from aucross.evaluation.guard import BaseRateCheck, BaseRateGuard, BaseRateWarning
from aucross.evaluation.inputs import TrainingRowsWarning
from aucross.evaluation.metric import Metric, metric
from aucross.evaluation.metrics import (
    achieved_coverage,
    base_rate_shift,
    coverage_error,
    expected_calibration_error,
    expected_cost,
    positive_rate,
    positives_for_review,
    selected_counts,
    selective_accuracy,
    selective_brier,
    selective_log_loss,
    selective_risk,
)
from aucross.evaluation.multiclass import auc_mu, hand_till_m
from aucross.evaluation.plots import (
    AUCSurfaceDisplay,
    BandDisplay,
    CAPDisplay,
    CoverageCurveDisplay,
    GroupGapDisplay,
    RiskCoverageDisplay,
)
from aucross.evaluation.promise import SelectivePromise, promise_ranking, promise_selection, promise_selective
from aucross.evaluation.promise_coverage import CoveragePromise, TriedCoverage, promise_coverage
from aucross.evaluation.risk_curves import (
    augrc,
    aurc,
    excess_aurc,
    generalized_risk_curve,
    normalized_aurc,
    optimal_aurc,
    risk_coverage_curve,
)
from aucross.evaluation.scorer import SelectiveScorer, selective_scorer
from aucross.evaluation.selective_evaluation import SelectiveComparison, SelectiveEvaluation
from aucross.evaluation.team import team_predictions, team_score
from aucross.evaluation.unscored import UnscoredRows

__all__ = [
    "METRICS",
    "AUCSurfaceDisplay",
    "BandDisplay",
    "BaseRateCheck",
    "BaseRateGuard",
    "BaseRateWarning",
    "CAPDisplay",
    "CoverageCurveDisplay",
    "CoveragePromise",
    "GroupComparison",
    "GroupEvaluation",
    "GroupGapDisplay",
    "Metric",
    "RiskCoverageDisplay",
    "SelectiveComparison",
    "SelectiveEvaluation",
    "SelectivePromise",
    "SelectiveScorer",
    "TrainingRowsWarning",
    "TriedCoverage",
    "UnscoredRows",
    "achieved_coverage",
    "auc_gain",
    "auc_interval",
    "auc_mu",
    "augrc",
    "aurc",
    "base_rate_shift",
    "compare_selective",
    "coverage_error",
    "evaluate_folds",
    "evaluate_group_selections",
    "evaluate_groups",
    "evaluate_ranking",
    "evaluate_selections",
    "evaluate_selective",
    "excess_aurc",
    "expected_calibration_error",
    "expected_cost",
    "generalized_risk_curve",
    "hand_till_m",
    "metric",
    "normalized_aurc",
    "optimal_aurc",
    "oracle_gap",
    "positive_rate",
    "positives_for_review",
    "promise_coverage",
    "promise_ranking",
    "promise_selection",
    "promise_selective",
    "risk_coverage_curve",
    "selected_counts",
    "selective_accuracy",
    "selective_auc",
    "selective_average_precision",
    "selective_brier",
    "selective_gini",
    "selective_ks",
    "selective_log_loss",
    "selective_partial_auc",
    "selective_risk",
    "selective_scorer",
    "team_predictions",
    "team_score",
]
