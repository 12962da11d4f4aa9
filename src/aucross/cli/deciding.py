"""Decisions on a table of any size.

::

    batch of rows ──► score ──► decide ──► yield            one pass, memory of a batch
    batch of rows ──► score ──► keep                        capacity, recalibration: all rows are scored first, and
                        all scores ──► decide ──► yield     8 bytes and the id of each are kept
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from aucross.cli.errors import CommandError
from aucross.cli.schema import Schema, features_of
from aucross.cli.tables import BATCH_ROWS, TableFile, read_batches

ROW = "row"
DECISION_COLUMNS = ("score", "prediction", "decision")
AUTOMATIC, REVIEW = "automatic", "review"

Floats = NDArray[np.float64]


class GivenScores:
    """Stands in for a model whose scores are known: each row of `X` holds them, one column per model."""

    def __init__(self, classes: NDArray[Any], column: int) -> None:
        self.classes_ = classes
        self._column = column

    def predict_proba(self, X: Floats) -> Floats:
        """Probability of the positive class alone, which is all that the selection reads: a copy less of all rows."""
        return X[:, self._column]

    decision_function = predict_proba


class Decider:
    """Scores rows once, and decides from the scores as the classifier would from the rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier of two classes.
    coverage : float, optional
        Share of rows to decide automatically; that of the classifier by default.
    capacity : int, optional
        Send exactly so many rows of a table to review instead; ids decide between equal scores.
    recalibrate : bool, default=False
        Place the bands on the scores of the rows to decide on.
    score_column : str, optional
        The feature that holds the score, where no model was trained. Rows without it go to review.
    """

    def __init__(
        self,
        clf: Any,
        coverage: float | None = None,
        capacity: int | None = None,
        *,
        recalibrate: bool = False,
        score_column: str | None = None,
    ) -> None:
        self._score_column = score_column
        self._is_probability = clf.response_method_ == "predict_proba"
        self._models = [clf.estimator_, *([clf.gate_] if hasattr(clf, "gate_") else [])]
        # A copy whose models read scores, so that the classifier itself still says how to select.
        self._selector = copy.copy(clf)
        self._selector.estimator_ = GivenScores(clf.classes_, 0)
        if len(self._models) > 1:
            self._selector.gate_ = GivenScores(clf.classes_, 1)
        self._coverage = coverage
        self._capacity = capacity
        self._recalibrate = recalibrate

    @property
    def needs_all_rows(self) -> bool:
        """Whether the decision on one row depends on the others."""
        return self._capacity is not None or self._recalibrate

    def score(self, X: Any) -> Floats:
        """Scores of the positive class, one column for each model that the selection reads; NaN without a score."""
        if self._score_column is None:
            return self._scores(X)
        known = X[self._score_column].notna().to_numpy()
        scores = np.full((len(X), len(self._models)), np.nan)
        if known.any():
            scores[known] = self._scores(X[known])
        return scores

    def _scores(self, X: Any) -> Floats:
        return np.column_stack([_positive_score(model, X) for model in self._models])

    def select(self, scores: Floats, ids: pa.ChunkedArray | None = None) -> NDArray[np.bool_]:
        """Whether each prediction should be used, from what `score` gave for all rows that matter."""
        known = ~np.isnan(scores[:, 0])
        if known.all():
            return self._select(scores, ids, self._capacity)
        selected = np.zeros(len(scores), dtype=bool)
        if known.any():
            # Rows without a score are reviewed first.
            capacity = None if self._capacity is None else max(self._capacity - int((~known).sum()), 0)
            ids = None if ids is None else ids.filter(pa.array(known))
            selected[known] = self._select(scores[known], ids, capacity)
        return selected

    def _select(self, scores: Floats, ids: pa.ChunkedArray | None, capacity: int | None) -> NDArray[np.bool_]:
        if capacity is not None:
            # Places among the ids say the same as the ids, and differ even where those do not.
            places = None if ids is None else pc.rank(ids, tiebreaker="first").to_numpy()
            return self._selector.select(scores, capacity=capacity, ids=places)
        selector = self._selector.recalibrate(scores) if self._recalibrate else self._selector
        return selector.select(scores, self._coverage)

    def predicts_positive(self, score: Floats) -> NDArray[np.bool_]:
        """Whether the prediction is the positive class."""
        return score > (0.5 if self._is_probability else 0.0)

    def shown(self, score: Floats) -> Floats:
        """The score as it is written: the probability of the positive class, or points as they were given."""
        return score if self._is_probability else self._models[0].column_value(score)


def _positive_score(model: Any, X: Any) -> Floats:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    return np.asarray(model.decision_function(X), dtype=np.float64)


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


class _Decided(NamedTuple):
    ids: pa.Array
    score: Floats
    selected: NDArray[np.bool_]


@dataclass(frozen=True)
class Decisions:
    """Decisions on the rows of a table, in their order.

    Parameters
    ----------
    table : TableFile
        The rows.
    schema : Schema
        What their columns mean.
    decider : Decider
        Scores and decides.
    ids : Ids
        Names the rows.
    labels : pyarrow array of 2
        The negative and the positive label as they are to be written.
    """

    table: TableFile
    schema: Schema
    decider: Decider
    ids: Ids
    labels: pa.Array

    @property
    def columns(self) -> pa.Schema:
        """Names and types of the columns of the output."""
        types = (pa.float64(), self.labels.type, pa.string())
        return pa.schema([(self.ids.name, self.ids.type), *zip(DECISION_COLUMNS, types, strict=True)])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Decisions batch by batch; without a score neither score nor prediction are known."""
        for ids, score, selected in self._together() if self.decider.needs_all_rows else self._batch_by_batch():
            unknown = np.isnan(score)
            # The models of the command line predict the class of the higher probability, the negative one if equal.
            positive = self.decider.predicts_positive(score)
            prediction = self.labels.take(pa.array(positive.astype(np.int8), mask=unknown))
            decision = pc.if_else(pa.array(selected), AUTOMATIC, REVIEW)
            columns = [ids, pa.array(self.decider.shown(score), mask=unknown), prediction, decision]
            yield pa.record_batch(columns, schema=self.columns)

    def _scored(self) -> Iterator[tuple[pa.Array, Floats]]:
        """Ids and scores, batch by batch."""
        first_row = 0
        for batch in read_batches(self.table, [*self.schema.columns, *([self.ids.name] if self.ids.is_column else [])]):
            yield self.ids.of_batch(batch, first_row), self.decider.score(features_of(batch, self.schema, first_row))
            first_row += batch.num_rows

    def _batch_by_batch(self) -> Iterator[_Decided]:
        for ids, scores in self._scored():
            yield _Decided(ids, scores[:, 0], self.decider.select(scores))

    def _together(self) -> Iterator[_Decided]:
        """Score all rows, then decide on them."""
        scored = list(self._scored())
        if not scored:
            return
        ids = pa.chunked_array([batch for batch, _ in scored], self.ids.type)
        scores = np.concatenate([batch for _, batch in scored])
        scored.clear()
        pa.default_memory_pool().release_unused()
        selected = self.decider.select(scores, ids if self.ids.is_column else None)
        for start in range(0, len(scores), BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            yield _Decided(ids[rows].combine_chunks(), scores[rows, 0], selected[rows])
