"""Selective classifiers for rows on a cluster: ``aucross.cluster.dask`` and ``aucross.cluster.spark``.

Each engine is a module of its own, so that importing this package needs neither Dask nor Spark. Decisions on folders of
Parquet files need no engine.
"""

from aucross.cluster.decision_folder import DecisionFolder, PartCounts, write_decisions

__all__ = ["DecisionFolder", "PartCounts", "write_decisions"]
