"""The process that Spark forks its Python workers from, with libraries that each of them would import for seconds."""

from __future__ import annotations

import pyspark.daemon
import xgboost  # noqa: F401

import aucross.cluster.spark
import aucross.record  # noqa: F401

if __name__ == "__main__":
    pyspark.daemon.manager()
