"""Selective classifiers for rows that lie on a cluster: ``aucross.cluster.dask`` and ``aucross.cluster.spark``.

Each engine is a module of its own, so that importing this package needs neither Dask nor Spark.
"""
