"""Evidence after the decision: audits, AUC from a sample of labels, effect of review, earned coverage."""

from aucross.audit.audit_draw import AuditPlan, audit_plan, audit_probability, drawn_for_audit
from aucross.audit.audited_auc import AUCChange, AuditedAUC, DetectionRate, audited_auc, audited_groups, detection_rate
from aucross.audit.earned_coverage import CoverageStep, EarnedCoverage, LabelledPeriod, next_coverage
from aucross.audit.effect_of_review import ReviewEffect, review_effect, strip_effect
from aucross.audit.selective_estimate import SelectiveEstimate, estimate_selective

__all__ = [
    "AUCChange",
    "AuditPlan",
    "AuditedAUC",
    "CoverageStep",
    "DetectionRate",
    "EarnedCoverage",
    "LabelledPeriod",
    "ReviewEffect",
    "SelectiveEstimate",
    "audit_plan",
    "audit_probability",
    "audited_auc",
    "audited_groups",
    "detection_rate",
    "drawn_for_audit",
    "estimate_selective",
    "next_coverage",
    "review_effect",
    "strip_effect",
]
