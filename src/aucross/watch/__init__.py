"""The watch over drift: whether the selected share, the AUC and the spread of scores are still what they were."""

from aucross.watch.drift_reports import AUCReport, CoverageReport
from aucross.watch.monitor import CoverageMonitor
from aucross.watch.sequential import SequentialMeanTest
from aucross.watch.stability import ScoreStability

__all__ = ["AUCReport", "CoverageMonitor", "CoverageReport", "ScoreStability", "SequentialMeanTest"]
