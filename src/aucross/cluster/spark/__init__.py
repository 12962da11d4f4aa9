"""Selective classification on Spark, for ``pyspark.ml`` pipelines and for classifiers in memory; extra "spark"."""

# ruff: noqa: E402 - all that follows imports pyspark
from aucross.system.libraries import import_library as _import_library

for _library in ("pyarrow", "pyspark.ml"):
    _import_library(_library, purpose="aucross.cluster.spark", extra="spark")

from aucross.cluster.spark.spark_estimators import SparkAUCross, SparkPlugInAUC, SparkSCross, SparkSelectiveModel
from aucross.cluster.spark.spark_functions import (
    spark_decide,
    spark_evaluate,
    spark_promise,
    spark_recalibrate,
    spark_write_decisions,
)

__all__ = [
    "SparkAUCross",
    "SparkPlugInAUC",
    "SparkSCross",
    "SparkSelectiveModel",
    "spark_decide",
    "spark_evaluate",
    "spark_promise",
    "spark_recalibrate",
    "spark_write_decisions",
]
