"""The review queue: which rows a person should look at, in which order, and why.

::

    rows of the batch ──► exactly `capacity` of them (core/capacity.py) ──► ordered by worth ──► a reason for each

The reason is one line for the person who opens the case. It names what the selection saw: where the score lies, what
the gate made of the row, how sure the model is, or between which classes it wavers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.influence import PairwiseMetric, worth_of_review
from aucross.core.missing import one_per_row
from aucross.core.ranking import FloatArray, IndexArray
from aucross.estimators.types import Column, Labels
from aucross.system.notebook import arrow_stream, result_html

# Two probabilities nearer than this say the same to a person.
_AGREEMENT = 0.05

# Rows that the text of a queue shows.
_ROWS_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class ReviewQueue:
    """Rows to review, most valuable first.

    Attributes
    ----------
    row : ndarray of shape (n,)
        Position of each row in the batch, from 0.
    score : ndarray of shape (n,)
        Score of the positive class of two, or of the predicted class of more.
    worth : ndarray of shape (n,)
        What the queue is ordered by. For the AUC methods the expected rise of the AUC of the batch if this row alone
        is taken out of it; for the confidence methods how unsure the model is: 1 less its confidence, or the margin of
        the decision with a minus sign.
    probability : ndarray of shape (n,)
        Probability of the positive class of two, or of the predicted class of more, as held-out rows bear it out.
    reason : tuple of str
        Why the row is here, in a sentence. A score that is a column is named there in the unit of the column.
    id : ndarray of shape (n,), optional
        The ids that were given.
    gate_probability : ndarray of shape (n,), optional
        Probability of the positive class by score and gate together, as held-out rows bear it out; only with a gate
        in use.

    Notes
    -----
    Rows of equal worth are in the order of their ids, without ids in that of the batch.
    """

    row: IndexArray
    score: FloatArray
    worth: FloatArray
    probability: FloatArray
    reason: tuple[str, ...]
    id: NDArray[Any] | None = None
    gate_probability: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.row)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per row, of plain Python values, with ids and gate probabilities if there are any."""
        columns = {name: _plain(values) for name, values in self._columns().items()}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        try:
            import pandas as pd  # noqa: PLC0415  (an extra: only this method needs it)
        except ImportError:
            raise ImportError('to_frame needs pandas: pip install "aucross[frames]"; rows() works without') from None
        return pd.DataFrame(self._columns())

    def _columns(self) -> dict[str, Any]:
        columns = {
            "row": self.row,
            "id": self.id,
            "score": self.score,
            "worth": self.worth,
            "probability": self.probability,
            "gate_probability": self.gate_probability,
            "reason": list(self.reason),
        }
        return {name: values for name, values in columns.items() if values is not None}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow's C interface."""
        return arrow_stream(self._columns(), requested_schema)

    def _repr_html_(self) -> str:
        n_rows, n_shown = len(self), min(len(self), _ROWS_SHOWN)
        sentence = f"{n_rows} row{'' if n_rows == 1 else 's'} to review, the one whose review is worth most first"
        shown = f"; the first {n_shown} are shown" if n_shown < n_rows else ""
        name = "row" if self.id is None else "id"
        others = [key for key in ("probability", "gate_probability", "reason") if key in self._columns()]
        rows = [
            {name: str(row[name]), "worth": f"{row['worth']:.3g}", **{key: row[key] for key in others}}
            for row in self.rows()[:n_shown]
        ]
        return result_html(f"{sentence}{shown}.", rows)

    def __repr__(self) -> str:
        title = f"ReviewQueue of {len(self)} row{'' if len(self) == 1 else 's'}"
        if not len(self):
            return title
        name = "row" if self.id is None else "id"
        cases = _plain(self._columns()[name])[:_ROWS_SHOWN]
        width = max(len(name), *(len(str(case)) for case in cases))
        lines = [f"{name:>{width}}  {'worth':>9}  reason"]
        lines += [f"{case!s:>{width}}  {self.worth[at]:>9.3g}  {self.reason[at]}" for at, case in enumerate(cases)]
        hidden = len(self) - len(cases)
        return "\n".join([title, *lines, *([f"... and {hidden} more"] if hidden else [])])


def _plain(values: Any) -> list[Any]:
    """Return Python values, also inside arrays of objects."""
    values = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


@dataclass(frozen=True)
class ReviewFacts:
    """Facts about some rejected rows; arrays and reasons have one element per row, as in `ReviewQueue`."""

    score: FloatArray
    worth: FloatArray
    probability: FloatArray
    reason: Sequence[str]
    gate_probability: FloatArray | None = None


def queue_of(rows: IndexArray, facts: Sequence[ReviewFacts], ids: NDArray[Any] | None = None) -> ReviewQueue:
    """Sort rejected rows by the value of reviewing them.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Positions of the rejected rows in the batch.
    facts : sequence of ReviewFacts
        About the same rows, one part after the other.
    ids : ndarray, optional
        Ids of all rows of the batch, checked by :func:`check_ids`.

    Returns
    -------
    ReviewQueue
    """
    score, worth, probability = (
        np.concatenate([getattr(part, name) for part in facts]) for name in ("score", "worth", "probability")
    )
    by_gate = [part.gate_probability for part in facts if part.gate_probability is not None]
    reason = [text for part in facts for text in part.reason]
    at = np.lexsort((rows if ids is None else order_of(ids)[rows], -worth))
    return ReviewQueue(
        row=rows[at],
        score=score[at],
        worth=worth[at],
        probability=probability[at],
        reason=tuple(reason[place] for place in at),
        id=None if ids is None else ids[rows[at]],
        gate_probability=np.concatenate(by_gate)[at] if len(by_gate) == len(facts) else None,
    )


def facts_of_scores(
    score: FloatArray, rejected: IndexArray, probability: FloatArray, positive: Any, *, shown: FloatArray
) -> ReviewFacts:
    """Return facts on rows rejected by a score band, from the scores of the whole batch and those to show."""
    both = np.column_stack((1 - probability, probability))
    worth = worth_of_review(score[:, None], both, PairwiseMetric(2).contests)
    reasons = score_reasons(shown[rejected], probability[rejected], positive)
    return ReviewFacts(score[rejected], worth[rejected], probability[rejected], reasons)


# ---- ids ----


def check_ids(given: Column, n_rows: int) -> Labels:
    """Return ids as a 1-d array: one per row, all different, of one sortable type, none missing."""
    ids = one_per_row(given, "ids", n_rows, what="id", remedy="give these rows an id")
    order = order_of(ids)
    first, second = np.argsort(order)[:-1], np.argsort(order)[1:]
    repeated = np.flatnonzero(ids[first] == ids[second])
    if len(repeated):
        one, other = sorted((int(first[repeated[0]]), int(second[repeated[0]])))
        raise ValueError(
            f"ids must hold a different id for each row, got {_plain(ids[[one]])[0]!r} in rows {one} and "
            f"{other}; drop repeated rows or add to the id what tells them apart"
        )
    return ids


def order_of(ids: NDArray[Any]) -> IndexArray:
    """Return the place of each row when the rows are sorted by id."""
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


# ---- reasons ----


def score_reasons(score: FloatArray, probability: FloatArray, positive: Any) -> list[str]:
    """Return the reasons for rows of one band, rejected for their score.

    Parameters
    ----------
    score : ndarray of shape (n,)
        Scores of the rejected rows; the lowest and the highest are the ends of the review range.
    probability : ndarray of shape (n,)
        Share of positives among rows with such a score.
    positive : label
        The positive class.
    """
    if not len(score):
        return []
    is_whole = bool((score == np.round(score)).all()) and float(np.abs(score).max()) > 1  # points, not probabilities
    digits = 0 if is_whole else _digits(float(np.ptp(score)))
    lower, upper = f"{score.min():.{digits}f}", f"{score.max():.{digits}f}"
    place = f"lies in the review range {lower} to {upper}" if lower != upper else "is shared by all cases for review"
    of_class = f"of cases with such a score belong to {label_text(positive)}"
    return [
        f"score {value:.{digits}f} {place}; {about(share)} {of_class}"
        for value, share in zip(score.tolist(), probability.tolist(), strict=True)
    ]


def gate_reasons(probability: FloatArray, gate_probability: FloatArray, positive: Any) -> list[str]:
    """Return the reasons for rows rejected by a gate.

    Parameters
    ----------
    probability : ndarray of shape (n,)
        Probability of the positive class by the classifier's score alone.
    gate_probability : ndarray of shape (n,)
        Probability of the positive class by score and gate together, not by the gate alone.
    positive : label
        The positive class.
    """
    label = label_text(positive)
    return [
        f"the score says {percent(by_score)} for {label}, "
        + (
            f"score and gate together say {percent(by_gate)}"
            if abs(by_gate - by_score) >= _AGREEMENT
            else "and so does the gate; cases with such a score are often ranked wrongly"
        )
        for by_score, by_gate in zip(probability.tolist(), gate_probability.tolist(), strict=True)
    ]


def confidence_reasons(confidence: FloatArray, predicted: Sequence[Any], *, is_probability: bool) -> list[str]:
    """Return the reasons for rows rejected for low confidence in the predicted class.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Probability of the predicted class, or the margin of the decision.
    predicted : sequence of length n
        Predicted labels.
    is_probability : bool
        Which of the two `confidence` is.
    """
    labels = [label_text(label) for label in predicted]
    if is_probability:
        return [
            f"the model is {'only ' if value < 0.75 else ''}{percent(value)} sure of {label}"
            for value, label in zip(confidence.tolist(), labels, strict=True)
        ]
    return [
        f"the model decides for {label} by a margin of {value:.3g}"
        for value, label in zip(confidence.tolist(), labels, strict=True)
    ]


def class_reasons(probabilities: FloatArray, classes: Sequence[Any]) -> list[str]:
    """Return the reasons for rows with more than two classes: the two most probable ones.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Probability of each class.
    classes : sequence of length n_classes
        Labels of the classes.
    """
    labels = [label_text(label) for label in classes]
    first, second = np.argsort(-probabilities, axis=1, kind="stable")[:, :2].T
    shares = np.take_along_axis(probabilities, np.column_stack((first, second)), axis=1)
    return [
        f"between {labels[one]} ({percent(share)}) and {labels[other]} ({percent(other_share)})"
        for one, other, (share, other_share) in zip(first, second, shares.tolist(), strict=True)
    ]


def label_text(label: Any) -> str:
    """Format a label for a sentence: text in quotes, numbers with the word class."""
    label = label.item() if isinstance(label, np.generic) else label
    return repr(label) if isinstance(label, str) else f"class {label}"


def about(share: float) -> str:
    """Format an estimated share with "about", unless it is given as a limit."""
    text = percent(share)
    return text if text.startswith(("under", "over")) else f"about {text}"


def percent(share: float) -> str:
    """Format a share in whole per cent, tenths below one, never as 0 % or 100 % by rounding."""
    if share < 0.0005:
        return "under 0.1 %"
    if share < 0.01:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %" if share < 0.995 else "over 99 %"


def _digits(span: float) -> int:
    """Return the decimals that tell the scores of a range apart, to a tenth of the range."""
    at_least = 3 if span < 1 else 0  # as probabilities are usually written
    return min(max(1 - floor(log10(span)), at_least), 12) if span > 0 else at_least
