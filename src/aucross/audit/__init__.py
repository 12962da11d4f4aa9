"""Audits of decisions that nobody has checked: the draw of cases, and the AUC from a sample of their labels."""

from aucross.audit.audit_draw import AuditPlan, audit_plan, audit_probability, drawn_for_audit
from aucross.audit.audited_auc import AuditedAUC, audited_auc

__all__ = ["AuditPlan", "AuditedAUC", "audit_plan", "audit_probability", "audited_auc", "drawn_for_audit"]
