"""After the fit: storage of fitted classifiers and rules, the log of decisions, the watch over coverage."""

from aucross.deploy.band_text import band_from_json, band_to_json, band_to_sql
from aucross.deploy.decision_folder import DecisionFolder, PartCounts, write_decisions
from aucross.deploy.drift_reports import AUCReport, CoverageReport
from aucross.deploy.fingerprints import model_fingerprint, rule_fingerprint
from aucross.deploy.log import DecisionLog, read_decisions
from aucross.deploy.log_rows import LogDamageWarning
from aucross.deploy.monitor import CoverageMonitor
from aucross.deploy.rank_files import rank_parquet
from aucross.deploy.ranking_query import ranking_query, read_ranking
from aucross.deploy.rule_text import rule_to_json, rule_to_sql
from aucross.deploy.sequential import SequentialMeanTest
from aucross.deploy.stability import ScoreStability
from aucross.deploy.storage import FileHeader, load, read_header, read_metadata, save

__all__ = [
    "AUCReport",
    "CoverageMonitor",
    "CoverageReport",
    "DecisionFolder",
    "DecisionLog",
    "FileHeader",
    "LogDamageWarning",
    "PartCounts",
    "ScoreStability",
    "SequentialMeanTest",
    "band_from_json",
    "band_to_json",
    "band_to_sql",
    "load",
    "model_fingerprint",
    "rank_parquet",
    "ranking_query",
    "read_decisions",
    "read_header",
    "read_metadata",
    "read_ranking",
    "rule_fingerprint",
    "rule_to_json",
    "rule_to_sql",
    "save",
    "write_decisions",
]
