"""Protocol of an engine for selective classifiers, which ``cluster/dask`` and ``cluster/spark`` implement.

::

    engine.read(folder), or collections ──► ClusterRows ──► train(without_fold=k)    a model
                                                 ├────────► counted(count, merge)    counts, merged in a tree
                                                 └────────► mapped(answer)           a lazy collection
    engine.run_parts(...)                                                            files, written by the workers

``cluster/classifier.py`` counts, places bands and decides in the same way for all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from aucross.cluster.decision_folder import RunParts
from aucross.estimators.hashed_folds import HashedFolds

Sent = TypeVar("Sent")
Counts = TypeVar("Counts")


class LostWorkerError(RuntimeError):
    """Error that a worker was lost during a training, after which the fit has to start again."""


class Part(NamedTuple):
    """Some rows of a cluster in one worker's memory; fields are None if absent or not read."""

    X: Any  # a frame or an array, as a model in memory reads it
    y: Any = None  # this and the next three: columns, as for ``fit`` in memory
    sample_weight: Any = None
    groups: Any = None
    band_groups: Any = None
    fold: Any = None
    half: Any = None  # for methods that blend two halves


class TrainedModel(NamedTuple):
    """A trained model."""

    local: Any  # the model in memory, or a column of scores where the engine itself gives them
    on_engine: Any = None  # the engine's own model, if that gives the scores


class ClusterRows(Protocol):
    """Rows of a cluster, which stay in place."""

    def folded(self, folds: HashedFolds, *, halves: bool) -> AbstractContextManager[ClusterRows]:
        """Compute the fold of each row, and its half on request, and keep both until the context ends."""

    def taken(self, folds: HashedFolds, *, first: bool) -> ClusterRows:
        """Return the rows of the first fold, or of all other folds."""

    def train(self, estimator: Any, *, n_rows: int, without_fold: int | None = None) -> TrainedModel:
        """Train a copy of a classifier on all rows, or on those outside one fold.

        `n_rows` is the number of all rows; how some models train depends on it. Raises :class:`LostWorkerError` if a
        worker was lost; the engine is then ready to start over.
        """

    def held_out(self, models: Sequence[TrainedModel]) -> tuple[ClusterRows, list[Any]]:
        """Return the rows of the folds that `models` left out, and the in-memory model that scores each fold."""

    def counted(
        self,
        count: Callable[[Part, Sent], Counts | None],
        sent: Sent,
        merge: Callable[[Sequence[Counts]], Counts],
        reads: Collection[str] = Part._fields,
    ) -> Counts:
        """Count parts of the rows in place, and merge the counts in a tree, in the order of the rows.

        `count` and `merge` run on the workers. `count` gets those fields of a part that `reads` names, and `sent`,
        which each worker gets once. It returns None if there is nothing to count, and is not called for empty parts.
        """

    def mapped(
        self, answer: Callable[[Part, Sent], Any], sent: Sent, like: Any, reads: Collection[str] = Part._fields
    ) -> Any:
        """Map each part to values for its rows, as a lazy collection of the engine; `like` shows their type."""

    def first(self, n_rows: int) -> Any:
        """Fetch the features of at most `n_rows` rows."""


class Engine(Protocol):
    """A cluster that the command line is connected to."""

    @property
    def about(self) -> str:
        """Description of the cluster, and the address of its dashboard."""

    @property
    def boosters(self) -> tuple[str, ...]:
        """Names of the libraries whose boosters the engine trains on all workers, the default first."""

    def booster(self, library: str, seed: int) -> tuple[Any, Any]:
        """Make the classifier of a library that trains on all workers, and its counterpart in memory."""

    def read(
        self, folder: str, features: Sequence[str], label: str, sample_weight: str | None, groups: str | None
    ) -> ClusterRows:
        """Read a folder of Parquet files, given the names of its columns."""

    def run_parts(self, told: Callable[[int, int], None] | None = None) -> RunParts:
        """Return a runner that applies a function to each part number, for :func:`aucross.cluster.write_decisions`.

        If a worker is lost, its parts run again. `told` is called with the number of finished parts and the total.
        """
