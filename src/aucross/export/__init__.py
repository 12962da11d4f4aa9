"""The rule for systems without Python, as SQL and JSON, and rankings from warehouses and files.

ONNX graphs are in :mod:`aucross.export.onnx`, which needs the extra ``onnx``.
"""

from aucross.export.band_text import band_from_json, band_to_json, band_to_sql
from aucross.export.rank_files import rank_parquet
from aucross.export.ranking_query import ranking_query, read_ranking
from aucross.export.rule_text import rule_to_json, rule_to_sql

__all__ = [
    "band_from_json",
    "band_to_json",
    "band_to_sql",
    "rank_parquet",
    "ranking_query",
    "read_ranking",
    "rule_to_json",
    "rule_to_sql",
]
