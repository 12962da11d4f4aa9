"""Decisions on a folder of Parquet files, written by the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dask.delayed import delayed
from distributed import Client, as_completed, default_client

from aucross.record.decision_folder import PartCounts, RunParts
from aucross.record.decision_folder import write_decisions as write_parts


def write_decisions(
    clf: Any,
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    coverage: float | None = None,
    columns: Sequence[str] = (),
    band_groups: str | None = None,
    client: Client | None = None,
) -> list[PartCounts]:
    """Decide on every row of a folder of Parquet files with the workers of a cluster.

    Parameters
    ----------
    clf : DaskSelectiveClassifier or SelectiveClassifier
        A fitted classifier, of the cluster or in memory.
    source, folder : path-like
        Folder of the rows and folder of the decisions, which all workers see under these paths.
    coverage, columns, band_groups
        As for :func:`aucross.record.write_decisions`, whose files and manifest these are.
    client : distributed.Client, optional
        The cluster; the current client by default.

    Returns
    -------
    list of PartCounts
        Rows and automatic decisions of each file. A second call finishes what a first one left, and refuses to mix the
        decisions of two models, or decisions on rows that have changed.
    """
    local = clf.to_local() if hasattr(clf, "to_local") else clf
    run = parts_on_workers(default_client() if client is None else client)
    return write_parts(local, source, folder, coverage=coverage, columns=columns, band_groups=band_groups, run=run)


def parts_on_workers(client: Client, told: Callable[[int, int], None] | None = None) -> RunParts:
    """Run a function on each of some numbers of parts, on the workers; a part whose worker is lost runs again.

    Parameters
    ----------
    client : Client
        The cluster.
    told : callable, optional
        Called with the number of parts that are done and with that of all.

    Returns
    -------
    callable
    """

    def run(function: Callable[[int], Any], parts: Sequence[int]) -> Iterable[Any]:
        # The function holds the classifier and is sent once, as a part of the graph.
        sent = delayed(function, traverse=False)
        futures = client.compute([sent(part) for part in parts])
        for done, (_, result) in enumerate(as_completed(futures, with_results=True), start=1):
            if told is not None:
                told(done, len(parts))
            yield result

    return run
