"""Make a batch of decisions, and record it once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal
from weakref import ref

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from sqlalchemy import Connection, and_, select

from aucross.core.bands import check_coverage
from aucross.core.capacity import check_capacity
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import AUTOMATIC, REVIEW, Decisions
from aucross.estimators.fitted import unlike_rows
from aucross.estimators.reasons import columns_behind
from aucross.estimators.score_column import score_column_in
from aucross.files.fingerprints import fitted_parts, model_fingerprint, rule_fingerprint
from aucross.frames import columns_of, names_of, take_rows, values_of
from aucross.record import record_tables as tables
from aucross.record.canonical import SALT_BYTES, as_text, canonical_rows, checked_texts, commitment, plain, shortened
from aucross.record.chain import Appending, beside_commitment

LONGEST_NAME = 200
_UNSCORED = "the case has no score: it is missing, or far from all of the fit"
# Names of the batches of shadow models begin like this.
SHADOW = "shadow:"


@dataclass(frozen=True, eq=False)
class DecidedRows:
    """Decisions that are ready to be recorded as one batch."""

    event: Mapping[str, Any]  # the columns of the batch itself
    columns: Mapping[str, Any]  # those of its decisions
    ids: Sequence[str]  # all different
    kept: Sequence[str | None]  # kept columns of each row, as JSON
    rows: Sequence[bytes]  # canonical bytes of the inputs, for the commitments
    shadow: DecidedRows | None = None  # decisions of a second model on these rows
    scored: ScoredRows | None = None  # the rows that have a score
    seeded: Mapping[str, str] = field(default_factory=dict)  # known answers of the seeded cases, by id

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_score(self) -> list[bool]:
        """Whether each row has a score."""
        return [prediction is not None for prediction in self.columns["prediction"]]

    def beside(self, shadow: DecidedRows) -> DecidedRows:
        """Return these decisions together with those of a second model, which are recorded beside them."""
        if shadow.event["classes"] != self.event["classes"]:
            raise ValueError(f"shadow must know the classes {self.event['classes']}, got {shadow.event['classes']}")
        return replace(self, shadow=shadow)


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
    unfamiliar: Literal["review"] | None = None,
) -> DecidedRows:
    """Decide on the rows of a batch, including those without a score; see :meth:`Record.decide`."""
    if not hasattr(clf, "band_rule_"):  # to ask scikit-learn first takes a thirtieth of a single decision
        check_is_fitted(clf, "band_rule_")
    name, capacity = checked_batch_name(batch), None if capacity is None else check_capacity(capacity)
    n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    names, labels = checked_ids(ids, n_rows), None if labels is None else _checked_labels(clf, labels)
    has_score = _has_score(clf, X, n_rows)
    n_missing, scored, is_whole = int((~has_score).sum()), None, bool(has_score.all())
    unlike = None if unfamiliar is None else unlike_rows(clf.fitted_, X, unfamiliar, capacity)
    if n_missing < n_rows:
        groups = band_groups if band_groups is None or is_whole else np.asarray(band_groups)[has_score]
        scored = clf.scored(X if is_whole else take_rows(X, np.flatnonzero(has_score)), band_groups=groups)
        own = None if capacity is None else np.array(names, dtype=object)[has_score].tolist()
        left = None if capacity is None else max(capacity - n_missing, 0)
        known = clf.decide(scored, coverage, capacity=left, ids=own)
    else:
        known = nothing_decided(clf, check_coverage(clf.coverage if coverage is None else coverage))
    inputs = None if isinstance(X, ScoredRows) else X
    made = explained(clf, known, has_score, unlike=unlike, labels=labels, X=inputs)
    if capacity is not None:
        # Rows without a score come first: nothing else is known of them.
        rank = np.cumsum(~has_score) - 1
        rank[has_score] = -1 if known.rank is None else np.where(known.rank < 0, -1, known.rank + n_missing)
        made = replace(made, coverage=None, capacity=capacity, rank=rank)
    more: dict[str, Any] = {"labels": labels, "inputs": inputs, "band_groups": band_groups}
    kept = _kept(keep, X, n_rows)
    return decided_rows(name, clf, names, made, scored=scored, has_score=has_score, kept=kept, **more)


def decided_rows(
    name: str,
    clf: SelectiveClassifier,
    ids: Sequence[str],
    decided: Decisions,
    *,
    scored: ScoredRows | None,
    has_score: NDArray[np.bool_],
    labels: Sequence[str] | None = None,
    inputs: Any = None,
    band_groups: Any = None,
    kept: Mapping[str, Sequence[Any]] | None = None,
) -> DecidedRows:
    """Return the events of a decided batch.

    A row without a score (`has_score` False) is rejected and has NaN as its selection score; `scored` holds the other
    rows. `labels` name the classes in the record. The hashes in the record commit to `inputs` and `band_groups`.
    """
    labels = _checked_labels(clf, labels)
    score, prediction = np.full(len(ids), np.nan), np.full(len(ids), None, dtype=object)
    if scored is not None:
        place_of = np.searchsorted(scored.classes, scored.predicted)
        score[has_score] = scored.score if scored.score.ndim == 1 else scored.score[np.arange(len(scored)), place_of]
        prediction[has_score] = np.array(labels, dtype=object)[place_of]
    words = decided.decision.tolist()
    would_be = decided.selected if decided.would_be is None else decided.would_be
    by_band = np.where(would_be, AUTOMATIC, REVIEW).tolist()
    asked = tables.BAND if decided.capacity is None else tables.CAPACITY
    whys: list[str | None] = np.where(has_score, asked, tables.NO_SCORE).astype(object).tolist()
    whys = [
        None if selected else tables.UNFAMILIAR if would else why
        for selected, would, why in zip(decided.selected.tolist(), would_be.tolist(), whys, strict=True)
    ]
    columns = {
        "prediction": prediction,
        "score": score,
        **{name: getattr(decided, name) for name in ("selection_score", "lower", "upper", "level")},
        "rank": None if decided.rank is None else [None if place < 0 else place for place in decided.rank.tolist()],
        "reason": None if decided.reason is None else [str(text) or None for text in decided.reason],
        "contributions": [json.dumps(known) if known else None for known in map(columns_behind, decided.reason or ())]
        or None,
        "would_be": by_band,
        "decision": words,
        "why": whys,
    }
    # Of rows that came scored nothing else is known.
    given = {"score": score, "selection_score": decided.selection_score} if inputs is None else inputs
    features, rows = canonical_rows(given)
    if band_groups is not None:
        grouped = zip(rows, values_of(band_groups), strict=True)
        rows = [row + b"\0" + as_text(group).encode() for row, group in grouped]
    listed = {"classes": labels, "features": features, "kept": kept or ()}
    event = batch_event(name, type(clf).__name__, fingerprints_of(clf), **listed)
    event |= {"coverage": decided.coverage, "capacity": decided.capacity, "n_rows": len(ids)}
    event |= {"n_scored": int(has_score.sum()), "n_would_be_automatic": by_band.count(AUTOMATIC)}
    texts: list[str | None] = [None] * len(ids)
    if kept:
        cells = zip(*kept.values(), strict=True)
        texts = [json.dumps(dict(zip(kept, map(plain, row), strict=True)), ensure_ascii=False) for row in cells]
    return DecidedRows(event, columns, ids, texts, rows, scored=scored)


def _checked_labels(clf: SelectiveClassifier, labels: Sequence[str] | None) -> list[str]:
    names = checked_texts(clf.classes_.tolist() if labels is None else labels, "labels")
    if not len(set(names)) == len(names) == len(clf.classes_) or set(names) & set(tables.OPEN_ANSWERS):
        others = " or ".join(map(repr, tables.OPEN_ANSWERS))
        raise ValueError(f"labels must be {len(clf.classes_)} different names, none of them {others}, got {names}")
    return names


def batch_event(name: str, method: str, fingerprints: Sequence[str], **lists: Iterable[Any]) -> dict[str, Any]:
    """Return the columns of a batch that say how it was decided; lists of names are stored as JSON."""
    model, rule = fingerprints
    told = {"name": name, "method": method, "model_fingerprint": model, "rule_fingerprint": rule}
    return told | {key: json.dumps(list(values), ensure_ascii=False) for key, values in lists.items()}


def nothing_decided(clf: SelectiveClassifier, coverage: float) -> Decisions:
    """Return empty decisions, for a batch in which no row has a score."""
    none = np.empty(0)
    return Decisions(none.astype(bool), none, coverage, none, none, decided_by=clf.band_rule_)


def explained(
    clf: SelectiveClassifier,
    known: Decisions,
    has_score: NDArray[np.bool_],
    *,
    unlike: NDArray[Any] | None = None,
    labels: Sequence[str] | None = None,
    X: Any = None,
) -> Decisions:
    """Return decisions on all rows with their reasons, given the band's decisions on rows that have a score.

    `unlike` says how each row is unlike the fitted rows; if X is given, reasons name columns.
    """
    whole, texts = known.with_unscored(has_score), iter(tuple[str, ...]())
    whole = whole if unlike is None else whole.with_unfamiliar(unlike)
    if known.scored is not None:
        X = X if X is None or has_score.all() else take_rows(X, np.flatnonzero(has_score))
        names = None if labels is None else dict(zip(clf.classes_.tolist(), labels, strict=True))
        told = known if unlike is None else known.with_unfamiliar(unlike[has_score])
        texts = iter(clf.reasons(told, X, class_names=names))
    return replace(whole, reason=tuple(next(texts) if has else _UNSCORED for has in has_score.tolist()))


# The fingerprints of a classifier are computed again only if its parts have changed.
_known: dict[int, tuple[Any, list[Any], tuple[str, str]]] = {}


def fingerprints_of(clf: SelectiveClassifier) -> tuple[str, str]:
    """Return the fingerprints of a classifier's model and rule."""
    parts, number = fitted_parts(clf), id(clf)
    known = _known.get(number)
    if known is None or known[0]() is not clf or [*map(id, parts)] != [*map(id, known[1])]:
        names = model_fingerprint(clf), rule_fingerprint(clf)
        known = _known[number] = ref(clf, lambda _: _known.pop(number, None)), parts, names
    return known[2]


def checked_batch_name(name: Any) -> str:
    """Return the name of a batch after checking it."""
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
                raise ValueError(
                    f"ids must hold a different id for each row of a batch, got {shortened(name)!r} in rows {earlier} "
                    f"and {row}; drop repeated rows or add to the id what tells them apart"
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
    """A batch of decisions as recorded.

    Attributes
    ----------
    name, time : str
        Name of the batch, and when it was recorded.
    is_new : bool
        Whether this call recorded it; False if it was recorded before.
    model_fingerprint, rule_fingerprint : str
        Fingerprints of the scoring model and of the rule that placed the band.
    coverage, capacity : float or int or None
        Requested coverage or capacity.
    columns : mapping of str to sequence
        ``case_number``, ``id``, ``prediction``, ``score``, ``selection_score``, ``lower``, ``upper``, ``level``,
        ``rank``, ``reason``, ``would_be``, ``decision`` and ``why`` of each row, in the order of the rows given.
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
        """Whether each row was decided automatically."""
        return np.array([word == AUTOMATIC for word in self.columns["decision"]], dtype=bool)

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table, with batch and fingerprints in its metadata."""
        fingerprints = {"model_fingerprint": self.model_fingerprint, "rule_fingerprint": self.rule_fingerprint}
        types = tables.ARROW_TYPES
        columns = {name: pa.array(values, types[name], from_pandas=True) for name, values in self.columns.items()}
        return pa.table(columns).replace_schema_metadata({"batch": self.name, **fingerprints})

    def to_frame(self) -> Any:
        """Return the columns as a pandas DataFrame."""
        return self.to_arrow().to_pandas()


# ---- recording ----

# What stands beside the id of a case, and not in its decision.
_BESIDE = ("reason", "contributions")
_FACTS = ("name", "time", "model_fingerprint", "rule_fingerprint", "coverage", "capacity")


def append_batch(appending: Appending, batch: DecidedRows) -> RecordedBatch | ValueError:
    """Append a batch, and its shadow if any; return it, the batch recorded before, or the error that refuses it."""
    event, n_rows = {**batch.event, "time": appending.time}, len(batch)
    if (stored := appending.known.get(event["name"])) is not None:
        appending.flush()
        return _recorded_before(appending.connection, batch, stored)
    number = appending.append(tables.batches, [event])
    appending.known[event["name"]] = {**event, "number": number}
    content = os.urandom(SALT_BYTES * n_rows)
    salts = [content[start : start + SALT_BYTES] for start in range(0, len(content), SALT_BYTES)]
    # A reason names values of the case: it stands beside the id, and can be erased with it.
    told = [batch.columns.get(name) or [None] * n_rows for name in _BESIDE]
    beside = list(zip([number] * n_rows, batch.ids, batch.kept, *told, strict=True))
    columns = {**batch.columns, "batch": [number] * n_rows, "inputs_commitment": _commitments(batch, salts)}
    columns["personal_commitment"] = [beside_commitment(row, salt) for row, salt in zip(beside, salts, strict=True)]
    first = appending.append_columns(tables.decisions, columns, n_rows)
    numbers = range(first, first + n_rows)
    appending.insert(tables.personal, [(n, *row, salt) for n, row, salt in zip(numbers, beside, salts, strict=True)])
    if batch.shadow is not None:
        name = f"{SHADOW}{batch.shadow.event['model_fingerprint'][:12]}:{event['name']}"
        second = appending.append(tables.batches, [{**batch.shadow.event, "name": name, "shadow_of": number}])
        columns = {**batch.shadow.columns, "batch": [second] * n_rows, "shadow_of": numbers}
        appending.append_columns(tables.decisions, columns, n_rows)
    known = [(n, batch.seeded[name]) for n, name in zip(numbers, batch.ids, strict=True) if name in batch.seeded]
    answers = [{"case_number": n, "outcome": value, "known_at": appending.time} for n, value in known]
    appending.append(tables.outcomes, answers)
    return _recorded(event, numbers, batch.ids, batch.columns, is_new=True)


def _recorded(
    event: Mapping[str, Any], numbers: Sequence[int], ids: Sequence[str], columns: Mapping[str, Any], *, is_new: bool
) -> RecordedBatch:
    told: dict[str, Any] = {"case_number": list(numbers), "id": ids}
    for name, values in columns.items():
        listed = [None] * len(ids) if values is None else values
        is_number = tables.ARROW_TYPES[name] == pa.float64()
        told[name] = np.array(listed, dtype=float) if is_number else list(listed)
    return RecordedBatch(is_new=is_new, columns=told, **{name: event[name] for name in _FACTS})


def _commitments(batch: DecidedRows, salts: Sequence[bytes]) -> list[bytes]:
    """Return a commitment for each row, to the names and values of its inputs."""
    names = batch.event["features"].encode()
    return [commitment(names + row, salt) for row, salt in zip(batch.rows, salts, strict=True)]


def _recorded_before(
    connection: Connection, batch: DecidedRows, stored: Mapping[str, Any]
) -> RecordedBatch | ValueError:
    """Return the batch already recorded under this name, or an error if the given batch differs from it."""
    p, o, number = tables.personal.c, tables.outcomes.c, tables.decisions.c.number
    query = select(tables.decisions, p.id, p.kept, *(p[name] for name in _BESIDE), p.salt, o.outcome)
    query = query.outerjoin(tables.personal, p.case_number == number)
    query = query.outerjoin(tables.outcomes, and_(o.case_number == number, o.time == stored["time"])).order_by(number)
    query = query.where(number.between(stored["number"] + 1, stored["number"] + stored["n_rows"]))
    found = connection.execute(query).mappings().all()
    if n_erased := sum(row["id"] is None for row in found):
        return ValueError(
            f"batch {stored['name']!r} is recorded, and {n_erased} of its cases were erased since, so that it cannot "
            "be compared with the rows given; read it with cases(batch=...), or name another batch"
        )
    by_id = {row["id"]: row for row in found}
    for what, recorded, given in _compared(connection, batch, stored, by_id):
        if recorded != given:
            return ValueError(
                f"batch {stored['name']!r} was decided with {f'{what} {recorded}'.strip()}, got "
                f"{f'{what} {given}'.strip()}; a batch is decided once: pass what it was decided with, or name another "
                "batch"
            )
    ordered = [by_id[name] for name in batch.ids]
    made = {name: [row[name] for row in ordered] for name in batch.columns}
    return _recorded(stored, [row["number"] for row in ordered], batch.ids, made, is_new=False)


def _compared(
    connection: Connection, batch: DecidedRows, stored: Mapping[str, Any], by_id: Mapping[str, Mapping[Any, Any]]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, recorded value and given value of what must be equal; each assumes that earlier ones are equal."""
    given = batch.event
    yield "model", stored["model_fingerprint"], given["model_fingerprint"]
    yield "rule", stored["rule_fingerprint"], given["rule_fingerprint"]
    yield "", _asked(stored), _asked(given)
    yield "kept columns", stored["kept"], given["kept"]
    if batch.shadow is not None:
        b = tables.batches.c
        beside = select(b.model_fingerprint, b.rule_fingerprint).where(b.shadow_of == stored["number"])
        shadow = [", ".join(row) for row in connection.execute(beside)]
        own = ", ".join(batch.shadow.event[f"{part}_fingerprint"] for part in ("model", "rule"))
        yield "shadow", shadow[0] if shadow else "none", own
    salts = [by_id[name]["salt"] if name in by_id else bytes(SALT_BYTES) for name in batch.ids]
    mine = sorted(zip(batch.ids, batch.kept, _commitments(batch, salts), strict=True))
    known = sorted((name, row["kept"], row["inputs_commitment"]) for name, row in by_id.items())
    yield "inputs", _hash_of(known), _hash_of(mine)
    # The level of a keeper moves: what follows from the band is compared where the band says the same again.
    rows = [(at, by_id[name]) for at, name in enumerate(batch.ids)]
    rows = [(at, row) for at, row in rows if row["would_be"] == batch.columns["would_be"][at]]
    for what in ("strip", "audit"):
        name, new = f"{what}_probability", batch.columns.get(f"{what}_probability", [None] * len(batch))
        yield what, _mean_chance(row[name] for _, row in rows), _mean_chance(new[at] for at, _ in rows)
    seeded = {name: row["outcome"] for name, row in by_id.items() if row["why"] == tables.SEEDED}
    yield "seeded cases", _hash_of(sorted(seeded.items())), _hash_of(sorted(batch.seeded.items()))
    whys = [(row["why"], batch.columns["why"][at]) for at, row in rows]
    then, now = ([why[side] for why in whys].count(tables.UNFAMILIAR) for side in (0, 1))
    yield "unfamiliar cases", then, now


def _mean_chance(probabilities: Iterable[float | None]) -> str:
    known = [value for value in probabilities if value is not None and value == value]  # noqa: PLR0124
    return f"of {len(known)} cases, {sum(known) / len(known):.6g} on average" if known else "none"


def _asked(event: Mapping[str, Any]) -> str:
    return f"coverage {event['coverage']}" if event["capacity"] is None else f"capacity {event['capacity']}"


def _hash_of(rows: Sequence[tuple[Any, ...]]) -> str:
    return sha256(repr(rows).encode()).hexdigest() if rows else "none"
