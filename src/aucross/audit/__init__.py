"""Proof after the decision: audits, the AUC from a sample of labels, the effect of review, coverage that is earned."""

from aucross.audit.audit_draw import AuditPlan, audit_plan, audit_probability, drawn_for_audit
from aucross.audit.audited_auc import AuditedAUC, audited_auc
from aucross.audit.earned_coverage import CoverageStep, EarnedCoverage, LabelledPeriod, next_coverage
from aucross.audit.effect_of_review import ReviewEffect, review_effect, strip_effect

__all__ = [
    "AuditPlan",
    "AuditedAUC",
    "CoverageStep",
    "EarnedCoverage",
    "LabelledPeriod",
    "ReviewEffect",
    "audit_plan",
    "audit_probability",
    "audited_auc",
    "drawn_for_audit",
    "next_coverage",
    "review_effect",
    "strip_effect",
]
