"""A batch of decisions: before it is recorded, and as it is recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.ranking import FloatArray
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW, Decisions
from aucross.estimators.score_column import score_column_in
from aucross.frames import columns_of, names_of, take_rows, values_of
from aucross.record.canonical import (
    SALT_BYTES,
    as_text,
    canonical_rows,
    checked_texts,
    commitments,
    kept_rows,
    personal_rows,
)
from aucross.record.event_tables import BAND, CAPACITY, NO_SCORE, arrow_types
from aucross.system.libraries import import_library

LONGEST_NAME = 200
# Names of the batches of shadow models begin like this.
SHADOW = "shadow:"


@dataclass(frozen=True, eq=False)
class DecidedRows:
    """Decisions that are ready to be recorded as one batch.

    Attributes
    ----------
    name : str
        Name of the batch.
    clf : SelectiveClassifier
        What decided.
    ids : sequence of str
        Names of the rows, all different.
    decisions : Decisions
        On all rows; one without a score is rejected and has NaN as its selection score.
    scored : ScoredRows or None
        The rows that have a score.
    has_score : ndarray of bool
        Which rows those are.
    labels : sequence of str
        Each class of the classifier in the words of the record.
    inputs : table or None
        What the classifier was given, for the commitments.
    kept : mapping of str to sequence
        Columns that are kept beside the ids.
    shadow : DecidedRows or None
        What a second model says of the same rows.
    """

    name: str
    clf: SelectiveClassifier
    ids: Sequence[str]
    decisions: Decisions
    scored: ScoredRows | None
    has_score: NDArray[np.bool_]
    labels: Sequence[str]
    inputs: Any = None
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    shadow: DecidedRows | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the decisions without numbers and commitments."""
        decided, n_rows = self.decisions, len(self)
        score: FloatArray = np.full(n_rows, np.nan)
        prediction: list[str | None] = [None] * n_rows
        if self.scored is not None:
            rows = self.scored
            text_of = dict(zip(rows.classes.tolist(), self.labels, strict=True))
            at = np.flatnonzero(self.has_score)
            if rows.score.ndim == 1:
                score[at] = rows.score
            else:
                score[at] = rows.score[np.arange(len(rows)), np.searchsorted(rows.classes, rows.predicted)]
            for place, label in zip(at.tolist(), rows.predicted.tolist(), strict=True):
                prediction[place] = text_of[label]
        words = np.where(decided.selected, AUTOMATIC, REVIEW).tolist()
        asked = BAND if decided.capacity is None else CAPACITY
        whys = [
            None if selected else asked if has_score else NO_SCORE
            for selected, has_score in zip(decided.selected.tolist(), self.has_score.tolist(), strict=True)
        ]
        rank = None if decided.rank is None else [None if place < 0 else place for place in decided.rank.tolist()]
        reason = _band_reasons(decided, whys) if decided.reason is None else [why or None for why in decided.reason]
        nothing = [None] * n_rows
        return {
            "prediction": prediction,
            "score": score,
            "selection_score": decided.selection_score,
            "lower": nothing if decided.lower is None else decided.lower,
            "upper": nothing if decided.upper is None else decided.upper,
            "rank": nothing if rank is None else rank,
            "reason": reason,
            "would_be": words,
            "decision": words,
            "why": whys,
        }

    def prepared(self, model: str, rule: str) -> PreparedBatch:
        """Return the events of the batch, given the fingerprints of model and rule."""
        columns = self.columns()
        inputs = self.inputs
        if inputs is None:  # of rows that came scored nothing else is known
            inputs = {name: np.asarray(columns[name], dtype=float) for name in ("score", "selection_score")}
        names, rows = canonical_rows(inputs)
        event = {
            "name": self.name,
            "method": type(self.clf).__name__,
            "model_fingerprint": model,
            "rule_fingerprint": rule,
            "classes": json.dumps(list(self.labels), ensure_ascii=False),
            "features": json.dumps(names, ensure_ascii=False),
            "kept": json.dumps(list(self.kept), ensure_ascii=False),
            "coverage": self.decisions.coverage,
            "capacity": self.decisions.capacity,
            "n_rows": len(self),
            "n_scored": int(self.has_score.sum()),
            "n_would_be_automatic": int(self.decisions.selected.sum()),
        }
        return PreparedBatch(event, columns, self.ids, kept_rows(self.kept, len(self)), names, rows)


def _band_reasons(decided: Decisions, whys: Sequence[str | None]) -> list[str | None]:
    """Return why each row goes to review if a band decides; None for automatic rows."""
    reasons: list[str | None] = [None if why is None or why == BAND else f"the case has {why}" for why in whys]
    assert decided.lower is not None
    assert decided.upper is not None
    for at in np.flatnonzero([why == BAND for why in whys]).tolist():
        ends = f"{decided.lower[at]:.4g} to {decided.upper[at]:.4g}"
        reasons[at] = f"{decided.selection_score[at]:.4g} lies in the review range {ends}"
    return reasons


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """Events of a batch without their numbers, made before the lock of the chain is taken.

    Attributes
    ----------
    event : mapping
        Columns of the batch itself.
    columns : mapping of str to sequence
        Columns of its decisions.
    ids, kept : sequence of str
        What goes into the side table.
    names, rows : sequence of str, sequence of bytes
        Names of the input columns, and the canonical bytes of each row.
    """

    event: Mapping[str, Any]
    columns: Mapping[str, Any]
    ids: Sequence[str]
    kept: Sequence[str | None]
    names: Sequence[str]
    rows: Sequence[bytes]

    def new_salts(self) -> list[bytes]:
        """Return a salt for each row."""
        content = os.urandom(SALT_BYTES * len(self.ids))
        return [content[start : start + SALT_BYTES] for start in range(0, len(content), SALT_BYTES)]

    def commitments(self, salts: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return commitments to ids and kept columns, and to the inputs."""
        return commitments(personal_rows(self.ids, self.kept), salts), commitments(self.rows, salts, self.names)


def with_shadow(rows: DecidedRows, shadow: DecidedRows) -> DecidedRows:
    """Return decisions together with those of a second model, which are recorded beside them."""
    if list(shadow.labels) != list(rows.labels):
        raise ValueError(f"shadow must know the classes {list(rows.labels)}, got {list(shadow.labels)}")
    return replace(rows, shadow=shadow)


def decide_rows(
    clf: SelectiveClassifier,
    X: Any,
    *,
    batch: str,
    ids: Any,
    coverage: float | None = None,
    capacity: int | None = None,
    band_groups: Any = None,
    keep: Sequence[str] | Mapping[str, Any] = (),
    labels: Sequence[str] | None = None,
    inputs: Any = None,
) -> DecidedRows:
    """Decide on the rows of a batch, including those without a score; see :meth:`Record.decide`."""
    check_is_fitted(clf, "band_rule_")
    name = checked_batch_name(batch)
    n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    names = checked_ids(ids, n_rows)
    has_score = _has_score(clf, X, n_rows)
    scored = None
    if has_score.any():
        is_whole = bool(has_score.all())
        groups = band_groups if band_groups is None or is_whole else np.asarray(band_groups)[has_score]
        scored = clf.scored(X if is_whole else take_rows(X, np.flatnonzero(has_score)), band_groups=groups)
    return DecidedRows(
        name,
        clf,
        names,
        decisions_on(clf, scored, has_score, names, coverage=coverage, capacity=capacity),
        scored,
        has_score,
        [as_text(label) for label in clf.classes_.tolist()] if labels is None else list(labels),
        None if isinstance(X, ScoredRows) else X if inputs is None else inputs,
        _kept(keep, X, n_rows),
    )


def decisions_on(
    clf: SelectiveClassifier,
    scored: ScoredRows | None,
    has_score: NDArray[np.bool_],
    ids: Sequence[str],
    *,
    coverage: float | None,
    capacity: int | None,
) -> Decisions:
    """Return decisions on all rows; those without a score go to review, and take places of a capacity first."""
    known, n_missing = None, int((~has_score).sum())
    if scored is not None:
        if capacity is None:
            known = clf.decide(scored, coverage)
        else:
            own = [name for name, has in zip(ids, has_score.tolist(), strict=True) if has]
            known = clf.decide(scored, coverage, capacity=max(capacity - n_missing, 0), ids=own)
        if not n_missing:
            return known
    selected = np.zeros(len(has_score), dtype=bool)
    score, lower, upper = np.full((3, len(has_score)), np.nan)
    rank, reason = np.full(len(has_score), -1), np.full(len(has_score), "", dtype=object)
    if known is not None:
        selected[has_score], score[has_score] = known.selected, known.selection_score
        if known.lower is not None:
            lower[has_score], upper[has_score] = known.lower, known.upper
        if known.rank is not None:
            # Rows without a score come first: nothing else is known of them.
            rank[has_score] = np.where(known.rank < 0, -1, known.rank + n_missing)
            reason[has_score] = known.reason
    if capacity is None:
        asked = clf.coverage if coverage is None else coverage
        return Decisions(selected, score, asked, lower, upper, decided_by=clf.band_rule_)
    rank[~has_score] = np.arange(n_missing)
    reason[~has_score] = "the case has no score"
    return Decisions(
        selected, score, capacity=capacity, rank=rank, reason=tuple(reason.tolist()), decided_by=clf.band_rule_
    )


def checked_batch_name(name: Any) -> str:
    """Return the name of a batch, or refuse it."""
    if not isinstance(name, str):
        raise TypeError(f'batch must be a name such as "2026-10", got {name!r}')
    (checked,) = checked_texts([name], "batch", LONGEST_NAME)
    if checked.startswith(SHADOW):
        raise ValueError(f"batch must not begin with {SHADOW!r}, which names batches of shadow models, got {name!r}")
    return checked


def checked_ids(ids: Any, n_rows: int) -> list[str]:
    """Return ids as text: one for each row, all different."""
    if isinstance(ids, str) or ids is None:
        raise TypeError(f"ids must hold one name per row, got {ids!r}; pass a list or a column")
    values = values_of(ids)
    if len(values) != n_rows:
        raise ValueError(f"ids must hold one name per row, got {len(values)} for {n_rows} rows")
    names = checked_texts(values, "ids")
    if len(set(names)) < n_rows:
        first: dict[str, int] = {}
        for row, name in enumerate(names):
            if (earlier := first.setdefault(name, row)) != row:
                shown = name if len(name) <= 60 else name[:57] + "..."
                raise ValueError(
                    f"ids must hold a different id for each row of a batch, got {shown!r} in rows {earlier} and {row}; "
                    "drop repeated rows or add to the id what tells them apart"
                )
    return names


def _has_score(clf: SelectiveClassifier, X: Any, n_rows: int) -> NDArray[np.bool_]:
    column = score_column_in(clf.estimator_)
    if column is None or isinstance(X, ScoredRows):
        return np.ones(n_rows, dtype=bool)
    values = X[column.column] if isinstance(column.column, str) else np.asarray(X)[:, column.column]
    numbers = np.array([np.nan if value is None else value for value in np.asarray(values).tolist()], dtype=float)
    return np.asarray(column.takes(numbers))


def _kept(keep: Sequence[str] | Mapping[str, Any], X: Any, n_rows: int) -> dict[str, Any]:
    if isinstance(keep, str):
        raise TypeError(f"keep must be a list of columns, got {keep!r}; pass [{keep!r}]")
    columns: dict[str, Any] = dict(keep) if isinstance(keep, Mapping) else {}
    if not isinstance(keep, Mapping):
        known = names_of(X) or []
        if unknown := [name for name in keep if name not in known]:
            raise ValueError(f"keep must name columns of X, got {unknown}; pass a mapping for columns of another table")
        by_name = dict(zip(known, columns_of(X), strict=True)) if keep else {}
        columns = {str(name): by_name[name] for name in keep}
    listed = {name: values_of(values) for name, values in columns.items()}
    for name, values in listed.items():
        if len(values) != n_rows:
            raise ValueError(f"keep must hold one value per row, got {len(values)} of {name!r} for {n_rows} rows")
    return listed


@dataclass(frozen=True, eq=False)
class RecordedBatch:
    """A batch as the record has it.

    Attributes
    ----------
    name, time : str
        Name of the batch, and when it was recorded.
    is_new : bool
        Whether this call recorded it; False where it was there already.
    model_fingerprint, rule_fingerprint : str
        What scored, and what placed the band.
    coverage, capacity : float or int or None
        What was asked for.
    columns : mapping of str to sequence
        ``case_number``, ``id``, ``prediction``, ``score``, ``selection_score``, ``lower``, ``upper``, ``rank``,
        ``reason``, ``would_be``, ``decision`` and ``why`` of each row, in the order of the rows that were given.
    """

    name: str
    time: str
    is_new: bool
    model_fingerprint: str
    rule_fingerprint: str
    coverage: float | None
    capacity: int | None
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.columns["id"])

    def __repr__(self) -> str:
        n_automatic = int(self.selected.sum())
        there = "" if self.is_new else ", recorded before"
        return f"RecordedBatch({self.name!r}: {n_automatic} of {len(self)} automatic{there})"

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Whether each row is automatic."""
        return np.array([word == AUTOMATIC for word in self.columns["decision"]], dtype=bool)

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table, with batch and fingerprints in its metadata."""
        arrow = import_library("pyarrow", purpose="a table of decisions", extra="record")
        facts = {
            "batch": self.name,
            "model_fingerprint": self.model_fingerprint,
            "rule_fingerprint": self.rule_fingerprint,
        }
        columns = {
            name: arrow.array(list(values), arrow_types()[name], from_pandas=True)
            for name, values in self.columns.items()
        }
        return arrow.table(columns).replace_schema_metadata(facts)

    def to_frame(self) -> Any:
        """Return the columns as a pandas DataFrame."""
        return self.to_arrow().to_pandas()
