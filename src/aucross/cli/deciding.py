"""Decisions on a table of any size.

::

    batch of rows ──► scored ──► decide ──► yield           one pass, memory of a batch
    batch of rows ──► scored ──► keep                       capacity, recalibration: all rows are scored first, and
                        all rows ──► decide ──► yield       the scores and the id of each are kept
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from aucross.cli.errors import CommandError, listed
from aucross.cli.schema import Schema, band_groups_of, features_of, weights_of
from aucross.cli.tables import BATCH_ROWS, TableFile, read_batches
from aucross.core.decisions import AUTOMATIC, REVIEW
from aucross.core.scored_rows import ScoredRows

ROW = "row"
DECISION_COLUMNS = ("score", "prediction", "decision")


@dataclass(frozen=True)
class Ids:
    """The first column of the decisions: a column of the table as it is, or row numbers."""

    name: str
    type: pa.DataType
    is_column: bool

    @classmethod
    def of(cls, table: TableFile, asked: str | None, at_fit: str | None) -> Ids:
        """Choose the column asked for, else that of the fit, else row numbers."""
        name = at_fit if asked is None else asked
        if name is None or (name == ROW and ROW not in table.names):
            return cls(ROW, pa.int64(), False)
        if asked is None and name not in table.names:
            raise CommandError(
                f"{table.path.name} has no column {name!r}, which named the rows at the fit; add it, name another with "
                f"--id, or pass --id {ROW} for row numbers"
            )
        table.check_has(name, "--id")
        if name in DECISION_COLUMNS:
            raise CommandError(f"--id: the output has a column {name!r} of its own; rename that of {table.path.name}")
        if table.format == "csv":
            return cls(name, pa.string(), True)
        kind = pyarrow.parquet.read_schema(table.path).field(table.sources[name]).type
        return cls(name, kind.value_type if pa.types.is_dictionary(kind) else kind, True)

    def of_batch(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        """Ids of the rows of a batch."""
        if self.is_column:
            return batch.column(self.name).cast(self.type)
        return pa.array(np.arange(first_row, first_row + batch.num_rows, dtype=np.int64))


class _Batch(NamedTuple):
    """Rows of a table after the model has seen them."""

    ids: pa.Array | pa.ChunkedArray
    has_score: NDArray[np.bool_]
    scored: ScoredRows | None  # the rows that have a score; None if none has
    weight: NDArray[np.float64] | None = (
        None  # of all rows, if the model was fitted with weights and the table has them
    )

    @classmethod
    def of_all(cls, batches: list[_Batch], id_type: pa.DataType) -> _Batch:
        """All rows of a table in one batch."""
        scored = [batch.scored for batch in batches if batch.scored is not None]
        return cls(
            pa.chunked_array([batch.ids for batch in batches], id_type),
            np.concatenate([batch.has_score for batch in batches]),
            ScoredRows.concatenate(scored) if scored else None,
            None if batches[0].weight is None else np.concatenate([batch.weight for batch in batches]),
        )

    def pieces(self, selected: NDArray[np.bool_]) -> Iterator[tuple[_Batch, NDArray[np.bool_]]]:
        """The rows and their decisions again in batches."""
        n_scored = 0
        for start in range(0, len(selected), BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            first, n_scored = n_scored, n_scored + int(self.has_score[rows].sum())
            scored = None if self.scored is None else self.scored.take(slice(first, n_scored))
            weight = None if self.weight is None else self.weight[rows]
            yield _Batch(self.ids[rows].combine_chunks(), self.has_score[rows], scored, weight), selected[rows]


@dataclass(frozen=True)
class TableDecisions:
    """Decisions on the rows of a table, in their order.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier of two classes.
    table : TableFile
        The rows.
    schema : Schema
        What their columns mean.
    ids : Ids
        Names the rows.
    labels : pyarrow array of 2
        The negative and the positive label as they are to be written.
    coverage : float, optional
        Share of rows to decide automatically; that of the classifier by default.
    capacity : int, optional
        Send exactly so many rows of a table to review instead; ids decide between equal scores.
    recalibrate : bool, default=False
        Place the bands on the scores of the rows to decide on.
    """

    clf: Any
    table: TableFile
    schema: Schema
    ids: Ids
    labels: pa.Array
    coverage: float | None = None
    capacity: int | None = None
    recalibrate: bool = False

    @property
    def columns(self) -> pa.Schema:
        """Names and types of the columns of the output."""
        types = (pa.float64(), self.labels.type, pa.string())
        return pa.schema([(self.ids.name, self.ids.type), *zip(DECISION_COLUMNS, types, strict=True)])

    def batches(self) -> Iterator[tuple[pa.RecordBatch, NDArray[np.float64] | None]]:
        """Decisions batch by batch, with the weights of the rows where they have some.

        Of rows without a score neither score nor prediction are known.
        """
        if self.capacity is None and not self.recalibrate:
            for batch in self._scored():
                yield self._written(batch, self._selected(batch)), batch.weight
        elif batches := list(self._scored()):
            # The decision on one row depends on the others.
            together = _Batch.of_all(batches, self.ids.type)
            batches.clear()
            pa.default_memory_pool().release_unused()
            for batch, selected in together.pieces(self._selected(together)):
                yield self._written(batch, selected), batch.weight

    def _scored(self) -> Iterator[_Batch]:
        first_row = 0
        for batch in read_batches(self.table, self._columns_to_read()):
            X = features_of(batch, self.schema, first_row)
            score = self.schema.score
            has_score = np.ones(len(X), dtype=bool) if score is None else X[score].notna().to_numpy()
            known = X if has_score.all() else X[has_score]
            weight, groups = weights_of(batch, self.schema), band_groups_of(batch, self.schema)
            scored = (
                self.clf.scored(
                    known,
                    # All of a batch may weigh nothing; bands are placed anew on all rows together.
                    sample_weight=weight[has_score] if self.recalibrate and weight is not None else None,
                    band_groups=None if groups is None else self._known_groups(groups[has_score]),
                )
                if len(known)
                else None
            )
            yield _Batch(self.ids.of_batch(batch, first_row), has_score, scored, weight)
            first_row += batch.num_rows

    def _columns_to_read(self) -> list[str]:
        roles = self.schema.roles
        named = [self.ids.name if self.ids.is_column else None, roles.weight, roles.band_group]
        return list(dict.fromkeys([*self.schema.columns, *(name for name in named if name in self.table.names)]))

    def _known_groups(self, groups: NDArray[Any]) -> NDArray[Any]:
        """Refuse groups that have no band."""
        known = set(self.clf.band_rule_.group_labels or ())
        if unknown := sorted({*groups} - known):
            raise CommandError(
                f"column {self.schema.roles.band_group!r} must hold groups that were seen at the fit, got "
                f"{listed(unknown)}; send those rows to review yourself, or fit again with rows of them"
            )
        return groups

    def _selected(self, batch: _Batch) -> NDArray[np.bool_]:
        """Whether each decision is automatic; rows without a score are reviewed, and count first in a capacity."""
        selected = np.zeros(len(batch.has_score), dtype=bool)
        if batch.scored is None:
            return selected
        if self.capacity is not None:
            capacity = max(self.capacity - int((~batch.has_score).sum()), 0)
            decisions = self.clf.decide(batch.scored, capacity=capacity, ids=self._order(batch))
        else:
            clf = self.clf.recalibrate(batch.scored) if self.recalibrate else self.clf
            decisions = clf.decide(batch.scored, self.coverage)
        selected[batch.has_score] = decisions.selected
        return selected

    def _order(self, batch: _Batch) -> NDArray[Any] | None:
        """Places among the ids, which say the same as the ids."""
        if not self.ids.is_column:
            return None
        # Which of two rows of one name is reviewed would depend on their order in the file.
        if n_repeated := len(batch.ids) - pc.count_distinct(batch.ids, mode="all").as_py():
            raise CommandError(
                f"--capacity: column {self.ids.name!r} must name each row once, since ids decide between equal scores, "
                f"got {n_repeated:,} repeated ones; remove them, or pass --id {ROW} for row numbers"
            )
        return pc.rank(batch.ids.filter(pa.array(batch.has_score)), tiebreaker="first").to_numpy()

    def _written(self, batch: _Batch, selected: NDArray[np.bool_]) -> pa.RecordBatch:
        score, positive = np.zeros(len(selected)), np.zeros(len(selected), dtype=np.int8)
        if (rows := batch.scored) is not None:
            # Points are written as they are in the table.
            score[batch.has_score] = rows.score if rows.is_probability else self.clf.estimator_.column_value(rows.score)
            positive[batch.has_score] = rows.predicted == rows.classes[1]
        unknown = ~batch.has_score
        columns = [
            batch.ids,
            pa.array(score, mask=unknown),
            self.labels.take(pa.array(positive, mask=unknown)),
            pc.if_else(pa.array(selected), AUTOMATIC, REVIEW),
        ]
        return pa.record_batch(columns, schema=self.columns)
