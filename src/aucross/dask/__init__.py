"""Selective classifiers on a Dask cluster: the same contract over partitions; needs the extra "dask"."""

# ruff: noqa: E402 - all that follows imports dask
from aucross.system.libraries import import_library as _import_library

for _library in ("dask.dataframe", "distributed"):
    _import_library(_library, purpose="aucross.dask", extra="dask")

from aucross.dask.estimators import DaskAUCross, DaskPlugInAUC, DaskSCross
from aucross.dask.evaluation import evaluate_selective, promise_selective
from aucross.dask.writing import write_decisions

__all__ = [
    "DaskAUCross",
    "DaskPlugInAUC",
    "DaskSCross",
    "evaluate_selective",
    "promise_selective",
    "write_decisions",
]
