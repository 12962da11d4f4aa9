"""Selective classification on Spark: extra ``spark``.

Estimators and models for pipelines of ``pyspark.ml``, and functions that apply a classifier which was fitted in memory.
"""

# ruff: noqa: E402 - all that follows imports pyspark
from aucross.system.libraries import import_library as _import_library

for _library in ("pyarrow", "pyspark.ml"):
    _import_library(_library, purpose="aucross.spark", extra="spark")

from aucross.spark.deciding import spark_decide, spark_recalibrate
from aucross.spark.estimators import SparkAUCross, SparkPlugInAUC, SparkSCross, SparkSelectiveModel
from aucross.spark.evaluating import spark_evaluate, spark_promise
from aucross.spark.writing import spark_write_decisions

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
