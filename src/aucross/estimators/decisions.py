"""Decisions on scored rows: a table with one line for each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray
from aucross.core.scored_rows import Rows, ScoredRows
from aucross.system.notebook import arrow_stream, result_html

# The words of everything that leaves Python: files, logs, reports, databases. In Python rows are selected or rejected.
AUTOMATIC, REVIEW = "automatic", "review"

# Rows that a notebook shows.
_ROWS_SHOWN = 10


class RowTable(ABC):
    """Base of results that are a table with one line for each row."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """Return the columns of the table in order, without absent ones."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain Python values for each row."""
        columns = {name: plain(values) for name, values in self.columns().items()}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        try:
            import pandas as pd  # noqa: PLC0415  (an extra: only this method needs it)
        except ImportError:
            raise ImportError('to_frame needs pandas: pip install "aucross[frames]"; rows() works without') from None
        return pd.DataFrame(self.columns())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as a stream of Arrow's C interface, which pyarrow, polars and DuckDB read."""
        columns = self.columns().items()
        made = {name: np.array(values) if isinstance(values, np.ndarray) else values for name, values in columns}
        return arrow_stream(made, requested_schema)


def plain(values: Any) -> list[Any]:
    """Convert values to plain Python values, including objects inside an array."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values.tolist()
    return [value.item() if isinstance(value, np.generic) else value for value in values]


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(RowTable):
    """The decisions made by ``clf.decide``: which answers to use, and the reasons.

    Attributes
    ----------
    selected : ndarray of shape (n,), bool
        True where the prediction should be used, False where the row goes to a person.
    selection_score : ndarray of shape (n,)
        The score on which the band lies.
    coverage : float or None
        The requested coverage; None if a capacity was requested.
    lower, upper : ndarray of shape (n,) or None
        Ends of each row's band, which are rejected too; ``inf`` and ``-inf`` for the empty band. None with a capacity,
        because then no band decides.
    capacity : int or None
        Requested number of rejected rows; None if a coverage was requested.
    rank : ndarray of shape (n,) or None
        With a capacity, the place of each rejected row in the order of review, from 0; -1 for selected rows.
    reason : tuple of str or None
        With a capacity, why each row was rejected; empty for selected rows.
    scored : ScoredRows or None
        The rows with their scores and predictions.
    id : ndarray of shape (n,) or None
        The ids that were given.
    level : ndarray of shape (n,) or None
        Coverage at which a :class:`~aucross.CoverageKeeper` decided each row.
    counted : tuple of int or None
        Counts of a keeper: rows, selected rows, and rows at which a limit stopped the level from moving.
    unfamiliar : tuple of str or None
        How each row is unlike the fitted rows, ``""`` for familiar rows; None unless such rows go to a person.
    would_be : ndarray of shape (n,), bool, or None
        Whether the band alone would have selected each row; None unless unfamiliar rows go to a person.
    decided_by : object, optional
        The rule that decided, so that a log can refuse decisions of another classifier; it is not pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import Decisions
    >>> decisions = Decisions(np.array([True, False, True]), np.array([0.1, 0.4, 0.8]), coverage=0.7)
    >>> decisions
    Decisions(coverage=0.7: 2 of 3 selected)
    >>> decisions.to_frame()
       selection_score   decision
    0              0.1  automatic
    1              0.4     review
    2              0.8  automatic
    """

    selected: NDArray[np.bool_]
    selection_score: FloatArray
    coverage: float | None = None
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    capacity: int | None = None
    rank: IndexArray | None = None
    reason: tuple[str, ...] | None = None
    scored: ScoredRows | None = None
    id: NDArray[Any] | None = None
    decided_by: object = None
    level: FloatArray | None = None
    counted: tuple[int, int, int] | None = None
    unfamiliar: tuple[str, ...] | None = None
    would_be: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.selected.dtype != np.bool_ or self.selected.shape != self.selection_score.shape:
            raise ValueError(
                "selected must hold one boolean for each selection score, got shape "
                f"{self.selected.shape} of {self.selected.dtype} for {self.selection_score.shape}"
            )

    def __getstate__(self) -> dict[str, Any]:
        # A rule must not travel with its decisions.
        return {**self.__dict__, "decided_by": None}

    def __len__(self) -> int:
        return len(self.selected)

    @property
    def decision(self) -> NDArray[Any]:
        """``"automatic"`` or ``"review"`` for each row."""
        return np.where(self.selected, AUTOMATIC, REVIEW)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table in order, without absent ones.

        Returns
        -------
        dict of str to ndarray or list
            ``id``, ``score`` (``score <class>`` for each class if there are more than two), ``prediction``,
            ``selection_score``, ``decision``, ``reason``, ``lower``, ``upper``, ``level`` and ``rank``.
        """
        columns: dict[str, Any] = {"id": self.id}
        if (scored := self.scored) is not None:
            of_class = {f"score {label}": column for label, column in zip(scored.classes, scored.score.T, strict=False)}
            columns |= of_class if scored.score.ndim > 1 else {"score": scored.score}
            columns["prediction"] = scored.predicted
        columns |= {"selection_score": self.selection_score, "decision": self.decision}
        columns["reason"] = None if self.reason is None else list(self.reason)
        columns |= {"lower": self.lower, "upper": self.upper, "level": self.level, "rank": self.rank}
        return {name: values for name, values in columns.items() if values is not None}

    def take(self, rows: Rows) -> Decisions:
        """Return the decisions for some of the rows."""
        names = ("selected", "selection_score", "lower", "upper", "level", "rank", "id", "would_be")
        parts = {name: getattr(self, name) for name in names}
        taken: dict[str, Any] = {name: values[rows] for name, values in parts.items() if values is not None}
        for name in ("reason", "unfamiliar"):
            if (texts := getattr(self, name)) is not None:
                taken[name] = tuple(np.array(texts, dtype=object)[rows].tolist())
        return replace(self, **taken, scored=None if self.scored is None else self.scored.take(rows))

    def with_unfamiliar(self, unlike: NDArray[Any]) -> Decisions:
        """Return the decisions with unfamiliar rows sent to review; `unlike` is empty for familiar rows."""
        is_like = unlike == ""
        reason = self.reason or ("",) * len(self)
        told = ("; ".join(filter(None, texts)) for texts in zip(unlike.tolist(), reason, strict=True))
        return replace(
            self,
            selected=self.selected & is_like,
            would_be=self.selected,
            unfamiliar=tuple(unlike.tolist()),
            reason=self.reason if is_like.all() else tuple(told),
        )

    def with_unscored(self, has_score: NDArray[np.bool_]) -> Decisions:
        """Return the decisions for a larger table, in which rows without a score go to review.

        `has_score` marks the rows that these decisions are about. The other rows have NaN as selection score and band;
        scores and predictions are left out.
        """
        if has_score.all():
            return self
        selected, columns = np.zeros(len(has_score), dtype=bool), np.full((4, len(has_score)), np.nan)
        selected[has_score] = self.selected
        for column, values in zip(columns, (self.selection_score, self.lower, self.upper, self.level), strict=True):
            column[has_score] = np.nan if values is None else values
        score, lower, upper, level = columns
        made = Decisions(selected, score, self.coverage, lower, upper, decided_by=self.decided_by)
        return made if self.level is None else replace(made, level=level, counted=self.counted)

    def __repr__(self) -> str:
        asked = f"coverage={self.coverage:g}" if self.coverage is not None else f"capacity={self.capacity}"
        n_unlike = sum(map(bool, self.unfamiliar or ()))
        unlike = f"; {n_unlike} unlike the rows of the fit" if n_unlike else ""
        return f"Decisions({asked}: {int(self.selected.sum())} of {len(self)} selected{unlike})"

    def _repr_html_(self) -> str:
        n_shown = min(len(self), _ROWS_SHOWN)
        shown = f"; the first {n_shown} are shown" if n_shown < len(self) else ""
        rows = self.take(slice(n_shown)).rows()
        return result_html(f"{int(self.selected.sum())} of {len(self)} rows are automatic{shown}.", rows)
