"""The record of decisions: a log of single cases, and decisions on folders of Parquet files."""

from aucross.record.decision_folder import DecisionFolder, PartCounts, write_decisions
from aucross.record.log import DecisionLog, read_decisions
from aucross.record.log_rows import LogDamageWarning

__all__ = ["DecisionFolder", "DecisionLog", "LogDamageWarning", "PartCounts", "read_decisions", "write_decisions"]
