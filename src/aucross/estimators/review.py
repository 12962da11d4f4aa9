"""The review queue: which rows a person should look at, in which order, and why.

::

    rows of the batch ──► exactly `capacity` of them (core/capacity.py) ──► ordered by worth ──► a reason for each

The reason is one line for the person who opens the case, made in :mod:`aucross.estimators.reasons`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.influence import PairwiseMetric, worth_of_review
from aucross.core.ranking import FloatArray, IndexArray
from aucross.estimators.decisions import RowTable, plain
from aucross.estimators.fitted import Fitted
from aucross.estimators.reasons import Wording, score_reasons
from aucross.estimators.score_column import as_in_the_column
from aucross.estimators.types import Column, Labels, Table
from aucross.frames import columns_of, names_of, one_per_row, values_of
from aucross.system.notebook import result_html

# Rows that the text of a queue shows.
_ROWS_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class ReviewQueue(RowTable):
    """Rows to review, most valuable first.

    Attributes
    ----------
    row : ndarray of shape (n,)
        Position of each row in the batch, from 0.
    score : ndarray of shape (n,)
        Score of the positive class (of the predicted class, if there are more than two).
    worth : ndarray of shape (n,)
        Value that orders the queue. AUC methods: the expected rise of the batch's AUC if only this row is removed.
        Confidence methods: 1 minus the model's confidence, or minus the margin of its decision.
    probability : ndarray of shape (n,)
        Calibrated probability, from held-out rows, of the positive class (of the predicted class, if there are more
        than two).
    reason : tuple of str
        Why the row is here, in a sentence. A score that is a column of X is given in the unit of the column.
    id : ndarray of shape (n,), optional
        The ids that were given.
    gate_probability : ndarray of shape (n,), optional
        Calibrated probability of the positive class from score and gate together; only if a gate is in use.
    kept : mapping of str to sequence
        Requested columns of the table.

    Notes
    -----
    Rows of equal worth are sorted by id, or keep their order in the batch if there are no ids.
    """

    row: IndexArray
    score: FloatArray
    worth: FloatArray
    probability: FloatArray
    reason: tuple[str, ...]
    id: NDArray[Any] | None = None
    gate_probability: FloatArray | None = None
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.row)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table in order, without absent ones."""
        columns = {
            "rank": np.arange(1, len(self) + 1),
            "row": self.row,
            "id": self.id,
            "score": self.score,
            "worth": self.worth,
            "probability": self.probability,
            "gate_probability": self.gate_probability,
            "reason": list(self.reason),
            **self.kept,
        }
        return {name: values for name, values in columns.items() if values is not None}

    def with_columns(self, X: Table, names: Sequence[Any]) -> ReviewQueue:
        """Return the queue with columns of X beside each case."""
        known = names_of(X) or []
        if isinstance(names, str) or (unknown := [name for name in names if name not in known]):
            got = repr(names) if isinstance(names, str) else str(unknown)
            raise ValueError(f"keep must list columns of X, got {got}; pass some of {known}")
        if taken := [name for name in names if name in self.columns()]:
            raise ValueError(f"keep must not name columns of the queue itself, got {taken}; rename them in X")
        by_name = zip(known, columns_of(X), strict=True) if len(names) else ()
        values = {str(name): values_of(column) for name, column in by_name if name in names}
        kept = {name: [values[name][row] for row in self.row.tolist()] for name in map(str, names)}
        return replace(self, kept=kept) if kept else self

    def _repr_html_(self) -> str:
        n_rows, n_shown = len(self), min(len(self), _ROWS_SHOWN)
        sentence = f"{n_rows} row{'' if n_rows == 1 else 's'} to review, the one whose review is worth most first"
        shown = f"; the first {n_shown} are shown" if n_shown < n_rows else ""
        name = "row" if self.id is None else "id"
        others = [key for key in ("probability", "gate_probability", "reason", *self.kept) if key in self.columns()]
        rows = [
            {"rank": row["rank"], name: str(row[name]), **{key: row[key] for key in others}}
            for row in self.rows()[:n_shown]
        ]
        return result_html(f"{sentence}{shown}.", rows)

    def __repr__(self) -> str:
        title = f"ReviewQueue of {len(self)} row{'' if len(self) == 1 else 's'}"
        if not len(self):
            return title
        name = "row" if self.id is None else "id"
        cases = plain(self.columns()[name])[:_ROWS_SHOWN]
        width = max(len(name), *(len(str(case)) for case in cases))
        lines = [f"rank  {name:>{width}}  reason"]
        lines += [f"{at + 1:>4}  {case!s:>{width}}  {self.reason[at]}" for at, case in enumerate(cases)]
        hidden = len(self) - len(cases)
        return "\n".join([title, *lines, *([f"... and {hidden} more"] if hidden else [])])


def queue_of(parts: Sequence[ReviewQueue], ids: NDArray[Any] | None = None) -> ReviewQueue:
    """Sort the rejected rows of all parts by their worth, highest first; `ids` name the rows of the whole batch."""
    rows, score, worth, probability = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "score", "worth", "probability")
    )
    by_gate = [part.gate_probability for part in parts if part.gate_probability is not None]
    reason = [text for part in parts for text in part.reason]
    at = np.lexsort((rows if ids is None else order_of(ids)[rows], -worth))
    return ReviewQueue(
        row=rows[at],
        score=score[at],
        worth=worth[at],
        probability=probability[at],
        reason=tuple(reason[place] for place in at),
        id=None if ids is None else ids[rows[at]],
        gate_probability=np.concatenate(by_gate)[at] if len(by_gate) == len(parts) else None,
    )


def facts_of_scores(
    fitted: Fitted, score: FloatArray, rejected: IndexArray, probability: FloatArray, wording: Wording
) -> ReviewQueue:
    """Collect facts about rows rejected by a score band, from all scores of the batch and the wording."""
    positive = fitted.classes[1]
    shown = partial(as_in_the_column, fitted.estimator, positive=positive)
    both = np.column_stack((1 - probability, probability))
    worth = worth_of_review(score[:, None], both, PairwiseMetric(2).contests)
    ends = None if wording.ends is None else (shown(wording.ends[0]), shown(wording.ends[1]))
    if ends is not None and len(rejected) and (ends[0] > ends[1]).any():  # points that fall with the score
        ends = ends[::-1]
    reasons = score_reasons(shown(score[rejected]), probability[rejected], positive, ends, wording.names)
    return ReviewQueue(rejected, score[rejected], worth[rejected], probability[rejected], tuple(reasons))


# ---- ids ----


def check_ids(given: Column, n_rows: int) -> Labels:
    """Return ids as a 1-d array after checking them: one per row, all different, sortable, none missing."""
    ids = one_per_row(given, "ids", n_rows, what="id", remedy="give these rows an id")
    order = order_of(ids)
    first, second = np.argsort(order)[:-1], np.argsort(order)[1:]
    repeated = np.flatnonzero(ids[first] == ids[second])
    if len(repeated):
        one, other = sorted((int(first[repeated[0]]), int(second[repeated[0]])))
        raise ValueError(
            f"ids must hold a different id for each row, got {plain(ids[[one]])[0]!r} in rows {one} and "
            f"{other}; drop repeated rows or add to the id what tells them apart"
        )
    return ids


def order_of(ids: NDArray[Any]) -> IndexArray:
    """Return the position of each row after sorting by id."""
    if ids.dtype.kind != "O":
        ascending = np.argsort(ids, kind="stable")
    else:
        kinds = {"number" if isinstance(value, Real) else type(value).__name__ for value in ids}
        if len(kinds) > 1:
            raise TypeError(
                f"ids must hold ids of one type, got {' and '.join(sorted(kinds))}, which have no common "
                "order; pass them all as text, [str(value) for value in ids]"
            )
        try:
            ascending = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
        except TypeError as error:
            raise TypeError(
                f"ids must hold ids that can be sorted, got {type(ids[0]).__name__}; pass numbers or text"
            ) from error
    places = np.empty(len(ids), dtype=np.intp)
    places[ascending] = np.arange(len(ids))
    return places
