"""Reads labels, scores and selections; never fits anything."""

from aucross.evaluation.areas import (
    auarc,
    augrc,
    aurc,
    excess_aurc,
    normalized_aurc,
    optimal_aurc,
    prediction_rejection_ratio,
)
from aucross.evaluation.calibration import (
    brier_skill,
    expected_calibration_error,
    selective_brier,
    selective_log_loss,
)
from aucross.evaluation.coverage import (
    achieved_coverage,
    base_rate_shift,
    coverage_attainment,
    coverage_error,
    coverage_shortfall,
    positive_rate,
    positives_deferred,
    selected_counts,
)
from aucross.evaluation.curves import (
    accuracy_rejection_curve,
    coverage_at_accuracy,
    coverage_at_risk,
    generalized_risk_curve,
    risk_at_coverage,
    risk_coverage_curve,
)
from aucross.evaluation.decisions import (
    classification_quality,
    expected_cost,
    generalized_risk,
    predict_reject_recall,
    rejection_quality,
    selective_accuracy,
    selective_risk,
)
from aucross.evaluation.evaluate import compare_selective, evaluate_selections, evaluate_selective
from aucross.evaluation.failures import failure_auroc, failure_average_precision, fpr_at_95_tpr
from aucross.evaluation.group_results import GroupComparison, GroupEvaluation
from aucross.evaluation.groups import evaluate_group_selections, evaluate_groups
from aucross.evaluation.guard import BaseRateCheck, BaseRateGuard, BaseRateWarning
from aucross.evaluation.intervals import auc_interval, band_stability, coverage_interval, sgr_bound
from aucross.evaluation.metrics import (
    auc_coverage_area,
    auc_gain,
    oracle_gap,
    selective_auc,
    selective_average_precision,
    selective_gini,
    selective_ks,
    selective_partial_auc,
)
from aucross.evaluation.multiclass import auc_mu, hand_till_m, volume_under_surface
from aucross.evaluation.multiclass_evaluate import evaluate_multiclass_selections
from aucross.evaluation.plots import (
    AUCSurfaceDisplay,
    BandDisplay,
    CAPDisplay,
    CoverageCurveDisplay,
    GroupGapDisplay,
    RiskCoverageDisplay,
)
from aucross.evaluation.promise import PromiseWarning, SelectivePromise, promise_selection, promise_selective
from aucross.evaluation.results import SelectiveComparison, SelectiveEvaluation
from aucross.evaluation.scorer import SelectiveScorer, selective_scorer
from aucross.evaluation.team import team_predictions, team_score

__all__ = [
    "AUCSurfaceDisplay",
    "BandDisplay",
    "BaseRateCheck",
    "BaseRateGuard",
    "BaseRateWarning",
    "CAPDisplay",
    "CoverageCurveDisplay",
    "GroupComparison",
    "GroupEvaluation",
    "GroupGapDisplay",
    "PromiseWarning",
    "RiskCoverageDisplay",
    "SelectiveComparison",
    "SelectiveEvaluation",
    "SelectivePromise",
    "SelectiveScorer",
    "accuracy_rejection_curve",
    "achieved_coverage",
    "auarc",
    "auc_coverage_area",
    "auc_gain",
    "auc_interval",
    "auc_mu",
    "augrc",
    "aurc",
    "band_stability",
    "base_rate_shift",
    "brier_skill",
    "classification_quality",
    "compare_selective",
    "coverage_at_accuracy",
    "coverage_at_risk",
    "coverage_attainment",
    "coverage_error",
    "coverage_interval",
    "coverage_shortfall",
    "evaluate_group_selections",
    "evaluate_groups",
    "evaluate_multiclass_selections",
    "evaluate_selections",
    "evaluate_selective",
    "excess_aurc",
    "expected_calibration_error",
    "expected_cost",
    "failure_auroc",
    "failure_average_precision",
    "fpr_at_95_tpr",
    "generalized_risk",
    "generalized_risk_curve",
    "hand_till_m",
    "normalized_aurc",
    "optimal_aurc",
    "oracle_gap",
    "positive_rate",
    "positives_deferred",
    "predict_reject_recall",
    "prediction_rejection_ratio",
    "promise_selection",
    "promise_selective",
    "rejection_quality",
    "risk_at_coverage",
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
    "sgr_bound",
    "team_predictions",
    "team_score",
    "volume_under_surface",
]
