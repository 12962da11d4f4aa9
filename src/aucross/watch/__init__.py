"""Drift: a keeper that holds the coverage of a stream, and a monitor of coverage, AUC and scores."""

from aucross.watch.drift_reports import AUCReport, CoverageReport
from aucross.watch.keeper import CoverageKeeper, KeptCounts
from aucross.watch.monitor import CoverageMonitor
from aucross.watch.sequential import SequentialMeanTest
from aucross.watch.stability import ScoreStability

__all__ = [
    "AUCReport",
    "CoverageKeeper",
    "CoverageMonitor",
    "CoverageReport",
    "KeptCounts",
    "ScoreStability",
    "SequentialMeanTest",
]
