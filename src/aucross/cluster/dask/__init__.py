"""Selective classifiers on a Dask cluster, which take and return collections; needs the extra "dask"."""

# ruff: noqa: E402 - all that follows imports dask
from aucross.system.libraries import import_library as _import_library

for _library in ("dask.dataframe", "distributed"):
    _import_library(_library, purpose="aucross.cluster.dask", extra="dask")

from aucross.cluster.dask.dask_classifiers import (
    DaskAUCross,
    DaskPlugInAUC,
    DaskSCross,
    evaluate_selective,
    promise_selective,
    write_decisions,
)

__all__ = ["DaskAUCross", "DaskPlugInAUC", "DaskSCross", "evaluate_selective", "promise_selective", "write_decisions"]
