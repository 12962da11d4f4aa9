"""Decisions on a table of any size.

::

    batch of rows ──► scored ──► decide ──► yield           one pass, memory of a batch
    batch of rows ──► scored ──► keep the scores            capacity, recalibration: all rows are scored first
                        all rows ──► decide
    ids of a batch ──────────────────────► yield            then the ids are read again, batch after batch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from aucross.cli.errors import CommandError, listed
from aucross.cli.schema import Schema, band_groups_of, features_of, weights_of
from aucross.cli.table_files import BATCH_ROWS, TableFile, read_batches
from aucross.core.ranking import IndexArray
from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.recalibrate import refuse_too_few
from aucross.estimators.row_hash import Hashes, hash_rows
from aucross.estimators.score_column import score_column_in
from aucross.files.rows_digest import RowsDigest
from aucross.watch.keeper import CoverageKeeper, KeptCounts

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
        """Choose the column asked for, else the id column of the fit, else row numbers."""
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
        kind = pyarrow.parquet.read_schema(table.files[0]).field(table.sources[name]).type
        return cls(name, kind.value_type if pa.types.is_dictionary(kind) else kind, True)

    def of_batch(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        """Return the ids of the rows of a batch."""
        if self.is_column:
            return batch.column(self.name).cast(self.type)
        return pa.array(np.arange(first_row, first_row + batch.num_rows, dtype=np.int64))


class _Batch(NamedTuple):
    """Rows of a table after the model has seen them."""

    ids: pa.Array
    has_score: NDArray[np.bool_]
    scored: ScoredRows | None  # the rows that have a score; None if none has
    # Of all rows, if the model was fitted with weights and the table has them.
    weight: NDArray[np.float64] | None = None
    hashes: Hashes | None = None  # of the rows that have a score, if a keeper decides on them


class _AllRows(NamedTuple):
    """All rows of a table after the model has seen them, with a digest in place of their ids."""

    has_score: NDArray[np.bool_]
    scored: ScoredRows | None
    weight: NDArray[np.float64] | None
    ids: str

    def with_ids(self, ids: Iterator[pa.Array]) -> Iterator[_Batch]:
        """Yield the rows in batches with their ids."""
        first = n_scored = 0
        for part in ids:
            rows = slice(first, first + len(part))
            start, n_scored = n_scored, n_scored + int(self.has_score[rows].sum())
            scored = None if self.scored is None else self.scored.take(slice(start, n_scored))
            yield _Batch(part, self.has_score[rows], scored, None if self.weight is None else self.weight[rows])
            first += len(part)


@dataclass(frozen=True)
class TableDecisions:
    """Decisions on the rows of a table, in their order."""

    clf: Any
    table: TableFile
    schema: Schema
    ids: Ids
    labels: pa.Array  # the negative and the positive one, as they are to be written
    coverage: float | None = None  # that of the classifier by default
    capacity: int | None = None  # send exactly so many rows to review instead; ids decide between equal scores
    recalibrate: bool = False  # place the bands on the scores of the rows to decide on
    look: Callable[[pd.DataFrame], None] | None = None  # is shown the features of each batch, once
    keeper: CoverageKeeper | None = None  # decides in place of the fixed band

    @property
    def columns(self) -> pa.Schema:
        """Names and types of the columns of the output."""
        types = (pa.float64(), self.labels.type, pa.string())
        return pa.schema([(self.ids.name, self.ids.type), *zip(DECISION_COLUMNS, types, strict=True)])

    def batches(self) -> Iterator[tuple[pa.RecordBatch, NDArray[np.float64] | None]]:
        """Yield decisions batch by batch, with the weights of the rows if they have any.

        Rows without a score have no prediction either.
        """
        if self.capacity is None and not self.recalibrate:
            for batch in self._scored():
                selected = self._selected_by_coverage(batch.has_score, batch.scored, self.clf, batch.hashes)
                yield self._written(batch, selected), batch.weight
            return
        # The decision on one row depends on the others.
        names, rows = self._all_rows()
        selected = self._selected(rows, names)
        pa.default_memory_pool().release_unused()
        first = 0
        for batch in rows.with_ids(self._ids(len(selected), rows.ids)):
            yield self._written(batch, selected[first : first + len(batch.ids)]), batch.weight
            first += len(batch.ids)

    def _takes(self, score: Any) -> NDArray[np.bool_]:
        """Return which rows have a score in the unit of the fit, so that a band can decide on them."""
        column = score_column_in(self.clf.estimator_)
        return score.notna().to_numpy() if column is None else column.takes(score.to_numpy(dtype=np.float64))

    def _scored(self) -> Iterator[_Batch]:
        first_row = 0
        for batch in read_batches(self.table, self._columns_to_read()):
            X = features_of(batch, self.schema, first_row)
            if self.look is not None:
                self.look(X)
            score = self.schema.score
            has_score = np.ones(len(X), dtype=bool) if score is None else self._takes(X[score])
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
            hashes = None if self.keeper is None or scored is None else hash_rows(known)
            yield _Batch(self.ids.of_batch(batch, first_row), has_score, scored, weight, hashes)
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

    def _all_rows(self) -> tuple[IdNames | None, _AllRows]:
        """Score all rows; keep short names of their ids only if ids decide between equal scores."""
        names = IdNames() if self.capacity is not None and self.ids.is_column else None
        has_score, scored, weight = [np.empty(0, dtype=bool)], [], []
        digest = RowsDigest([self.ids.name])
        for batch in self._scored():
            digest.add(pa.record_batch([batch.ids], [self.ids.name]))
            has_score.append(batch.has_score)
            if batch.scored is not None:
                scored.append(batch.scored)
            if batch.weight is not None:
                weight.append(batch.weight)
            if names is not None:
                names.add(batch.ids)
        return names, _AllRows(
            np.concatenate(has_score),
            ScoredRows.concatenate(scored) if scored else None,
            np.concatenate(weight) if weight else None,
            digest.hexdigest(),
        )

    def _ids(self, n_rows: int, expected: str) -> Iterator[pa.Array]:
        """Yield the ids of all rows, batch by batch; refuse a file that changed since its rows were scored."""
        if not self.ids.is_column:
            for first in range(0, n_rows, BATCH_ROWS):
                yield pa.array(np.arange(first, min(first + BATCH_ROWS, n_rows), dtype=np.int64))
            return
        digest = RowsDigest([self.ids.name])
        for ids in self._ids_again():
            digest.add(pa.record_batch([ids], [self.ids.name]))
            yield ids
        if digest.hexdigest() != expected:
            raise CommandError(f"{self.table.path.name} changed while it was read; run the command again")

    def _selected_by_coverage(
        self, has_score: NDArray[np.bool_], scored: ScoredRows | None, clf: Any, hashes: Hashes | None = None
    ) -> NDArray[np.bool_]:
        """Return whether each row is decided automatically at a coverage; rows without a score go to review."""
        selected = np.zeros(len(has_score), dtype=bool)
        if scored is not None:
            if self.keeper is not None and hashes is not None:
                kept = self.keeper.decided(scored, hashes)
                self.keeper.add(KeptCounts(*kept.counted or ()))
                selected[has_score] = kept.selected
            else:
                selected[has_score] = clf.decide(scored, self.coverage).selected
        return selected

    def _placed_on(self, scored: ScoredRows) -> Any:
        """Return the classifier with its bands placed on these rows; refuse too few rows for the coverage."""
        try:
            refuse_too_few(scored, self.clf.coverage if self.coverage is None else self.coverage)
            return self.clf.recalibrate(scored)
        except ValueError as error:
            said = str(error).replace("X must hold", f"{self.table.path.name} must hold", 1)
            raise CommandError(f"--recalibrate: {said}; without --recalibrate the bands of the fit decide") from error

    def _selected(self, rows: _AllRows, names: IdNames | None) -> NDArray[np.bool_]:
        """Return whether each row is decided automatically; rows without a score take places for review first."""
        if self.capacity is None:
            clf = self.clf if rows.scored is None else self._placed_on(rows.scored)
            return self._selected_by_coverage(rows.has_score, rows.scored, clf)
        if names is not None:
            self._check_names(names)
        selected = rows.has_score.copy()
        if rows.scored is not None:
            capacity = max(self.capacity - int((~rows.has_score).sum()), 0)
            scored = np.flatnonzero(rows.has_score)
            selected[scored[self._rejected(rows.scored, capacity, scored)]] = False
        return selected

    def _rejected(self, scored: ScoredRows, capacity: int, rows: IndexArray) -> IndexArray:
        """Return the positions of the rows that a capacity sends to review; ids decide between equal scores."""
        rule, read = self.clf.band_rule_, replace(scored.rule_input.without_noise(), sample_weight=None)
        order = np.arange(len(scored))
        rejected = rule.rows_to_reject(read, capacity, order)
        tied = tied_rows(read, rejected) if self.ids.is_column else np.empty(0, dtype=np.intp)
        if not len(tied):
            return np.asarray(rejected)
        order[tied] = self._places_of_ids(rows[tied])
        return np.asarray(rule.rows_to_reject(read, capacity, order))

    def _places_of_ids(self, rows: IndexArray) -> IndexArray:
        """Return the ranks of some rows by id."""
        found, first = [], 0
        for ids in self._ids_again():
            own = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + len(ids))]
            found.append(ids.take(pa.array(own - first)))
            first += len(ids)
        return np.asarray(pc.rank(pa.chunked_array(found, self.ids.type), tiebreaker="first").to_numpy())

    def _ids_again(self) -> Iterator[pa.Array]:
        for batch in read_batches(self.table, [self.ids.name]):
            yield self.ids.of_batch(batch, 0)

    def _check_names(self, names: IdNames) -> None:
        """Refuse repeated ids: the order in the file would decide which of two rows with one id is reviewed."""
        if n_repeated := names.n_repeated(self._ids_again):
            raise CommandError(
                f"--capacity: column {self.ids.name!r} must name each row once, since ids decide between equal scores, "
                f"got {n_repeated:,} repeated ones; remove them, or pass --id {ROW} for row numbers"
            )

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


class IdNames:
    """Hashes of ids, eight bytes each, which find repeated ids without keeping the ids."""

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] = []

    def add(self, ids: pa.Array) -> None:
        """Add the hashes of some ids."""
        self._hashes.append(_hashed(ids))

    def n_repeated(self, ids_again: Callable[[], Iterator[pa.Array]]) -> int:
        """Return the number of repeated ids; read the ids again only if hashes repeat."""
        hashes = np.concatenate([np.empty(0, dtype=np.uint64), *self._hashes])
        self._hashes = []
        hashes.sort()
        repeated = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        if not len(repeated):
            return 0
        # By sorting: the table that numpy 2.0 would make instead overflows with numbers of 64 bits.
        found = [ids.filter(pa.array(np.isin(_hashed(ids), repeated, kind="sort"))) for ids in ids_again()]
        return sum(map(len, found)) - int(pc.count_distinct(pa.chunked_array(found), mode="all").as_py())


def _hashed(ids: pa.Array) -> NDArray[np.uint64]:
    return pd.util.hash_array(ids.to_numpy(zero_copy_only=False))


def tied_rows(read: RuleInput, rejected: IndexArray) -> IndexArray:
    """Return rows that a rule cannot tell from rows on the other side of its decision, ascending.

    For a rule that reads more than one number, all rows are returned.
    """
    if read.probabilities is not None or read.columns.shape[1] > 1:
        return np.arange(len(read))
    score = read.score
    others = np.ones(len(score), dtype=bool)
    others[rejected] = False
    on_both_sides = np.intersect1d(score[rejected], score[others])
    return np.flatnonzero(np.isin(score, on_both_sides)) if len(on_both_sides) else np.empty(0, dtype=np.intp)
