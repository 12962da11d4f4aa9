"""Selective classification on Spark: extra ``spark``."""

from aucross.spark.deciding import spark_decide

__all__ = ["spark_decide"]
