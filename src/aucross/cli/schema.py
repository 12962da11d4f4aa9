"""Roles of columns, learnt from the training table and stored in the model file."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sklearn
from numpy.typing import NDArray

import aucross
from aucross.cli import column_kinds
from aucross.cli.column_kinds import Kind, NumberFormat, as_text, convert, label_text
from aucross.cli.command_options import Roles, TrainingOptions
from aucross.cli.errors import CommandError, UsageError, listed
from aucross.cli.table_files import TableFile, check_readable, ending_of
from aucross.evaluation.unscored import UnscoredRows
from aucross.files import save
from aucross.files.model_file import load_with_header
from aucross.files.signing import signing_key
from aucross.system.text import json_ready

if TYPE_CHECKING:
    import pandas as pd

    from aucross.core.scored_rows import ScoredRows

Note = Callable[[str], None]

_MOST_RESULT_GROUPS = 100
_AS_USUAL = NumberFormat()
MISSING = "(missing)"
_CLOCKS: tuple[Kind, ...] = ("number", "date")


@dataclass(frozen=True)
class Schema:
    """Columns of the training table: features with their kinds, labels, and other roles."""

    columns: Mapping[str, Kind]  # features in the order that the model gets them
    labels: tuple[str, str]  # the negative and the positive one
    roles: Roles
    left_out: tuple[str, ...] = ()  # columns that the model does not use
    score: str | None = None  # the feature that holds the score, where no model was trained
    numbers: NumberFormat = _AS_USUAL
    familiar: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what the values of the fit were like

    def to_metadata(self) -> dict[str, Any]:
        """Return the schema in the form stored with the model."""
        return {
            "columns": dict(self.columns),
            "labels": {"negative": self.labels[0], "positive": self.labels[1]},
            "roles": asdict(self.roles),
            "left_out": list(self.left_out),
            "score": self.score,
            "numbers": asdict(self.numbers),
            "familiar": {part: dict(values) for part, values in self.familiar.items()},
        }

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any], path: Path) -> Schema:
        """Return the schema stored with a model; refuse a malformed one."""
        try:
            labels, numbers, left_out = metadata["labels"], metadata["numbers"], metadata["left_out"]
            schema = cls(
                metadata["columns"],
                (labels["negative"], labels["positive"]),
                Roles(**metadata["roles"]),
                tuple(left_out) if isinstance(left_out, list) else left_out,
                metadata["score"],
                NumberFormat(numbers["decimal"], numbers["thousands"]),
                metadata.get("familiar", {}),
            )
            schema._check()
        except (KeyError, TypeError, ValueError, AttributeError, UsageError):
            raise CommandError(
                f"{path} was not made by `aucross fit` and does not say which columns the model reads; fit it there, "
                "or use it from Python"
            ) from None
        return schema

    def _check(self) -> None:
        parts = [name for name in asdict(self.roles).values() if name is not None]
        names = [*self.columns, *self.labels, *self.left_out, *parts, *asdict(self.numbers).values()]
        is_named = isinstance(self.left_out, tuple) and (self.score is None or self.score in self.columns)
        if not all(isinstance(name, str) for name in names) or len(set(self.labels)) < 2 or not is_named:
            raise TypeError("names must be text")
        if not self.columns or not all(kind in get_args(Kind) for kind in self.columns.values()):
            raise TypeError("columns must be of a known kind")
        rare, ranges = (self.familiar.get(part, {}) for part in ("rare", "ranges"))
        ends = [end for low, high in ranges.values() for end in (low, high)]
        if not all(isinstance(number, float | int) for number in (*rare.values(), *ends)):
            raise TypeError("familiar values must be numbers")
        if not {*rare, *ranges} <= {*self.columns}:
            raise TypeError("familiar values must be of columns that the model reads")

    def check_columns(self, table: TableFile, note: Note, used: Sequence[str] = ()) -> None:
        """Refuse a table that lacks features of the training data; note columns that are not used."""
        missing = [name for name in self.columns if name not in table.names]
        by_lower_case = {name.casefold(): name for name in table.names}
        found = [by_lower_case[name.casefold()] for name in missing if name.casefold() in by_lower_case]
        hint = f", but {listed(found)}, which differs in capital letters" if found else ""
        if self.score in missing:
            raise CommandError(
                f"{table.path.name} has no column {self.score!r}, the score that the model decides by{hint}; give the "
                "score this name, or fit again with --score on another column"
            )
        if missing:
            options = " ".join(f"--drop {shlex.quote(name)}" for name in missing[:3])
            raise CommandError(
                f"{table.path.name} lacks {_columns(missing)} of the training data{hint}; add what is missing, or fit "
                f"without ({options}{' ...' if len(missing) > 3 else ''})"
            )
        group = self.roles.band_group
        if group is not None and group not in table.names:
            raise CommandError(
                f"{table.path.name} has no column {group!r}, whose groups have bands of their own; add it, or fit "
                "without --band-group"
            )
        known = {*self.columns, *self.left_out, *self.roles.named, *used}
        if extra := [name for name in table.names if name not in known]:
            note(f"{table.path.name} has {_columns(extra)} that the training data had not; not used")


def _columns(names: Sequence[str]) -> str:
    return f"{'the column' if len(names) == 1 else f'{len(names)} columns'} {listed(names)}"


def learn_schema(
    table: TableFile, rows: pa.Table, options: TrainingOptions, note: Note, *, with_other_columns: bool
) -> Schema:
    """Return the role and kind of each training column, or only of the given score if no model reads other columns."""
    roles, score, drop, numbers = options.roles, options.score, options.drop or (), options.numbers or _AS_USUAL
    if table.n_unnamed:
        note(f"{table.path.name} has {table.n_unnamed} column(s) without a name, perhaps row numbers; not used")
    labels = column_kinds.choose_labels(roles.target, label_text(rows[roles.target]), options.positive)
    columns: dict[str, Kind] = {}
    if score is not None:
        column_kinds.check_is_score(score, rows[score], numbers)
        columns[score] = "number"
    features = [name for name in table.names if name not in {*roles.named, *drop, score}]
    for name in features if with_other_columns else ():
        column_kinds.check_has_values(name, rows[name])
        inferred = column_kinds.infer_kind(name, rows[name], numbers)
        if inferred.note:
            note(inferred.note)
        if inferred.kind is not None:
            columns[name] = inferred.kind
    if not columns:
        raise CommandError(f"{table.path.name} has no column left to learn from; drop fewer, or add some")
    left_out = tuple(name for name in table.names if name not in {*columns, *roles.named})
    return Schema(columns, labels, roles, left_out, score, numbers)


def features_of(rows: pa.Table | pa.RecordBatch, schema: Schema, first_row: int = 0) -> pd.DataFrame:
    """Return the features as the model reads them."""
    import pandas as pd  # noqa: PLC0415  (slow to import, and not needed for --help)

    values = {
        name: convert(name, rows.column(name), kind, first_row, schema.numbers) for name, kind in schema.columns.items()
    }
    # Objects on purpose: newer versions would make text columns of a type that older ones do not have.
    return pd.DataFrame(
        {name: pd.Series(column, dtype=column.dtype, copy=False) for name, column in values.items()}, copy=False
    )


@dataclass(frozen=True)
class LabelledRows:
    """Rows to fit or to evaluate on."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    customers: NDArray[Any] | None = None
    times: NDArray[np.float64] | None = None
    by: NDArray[Any] | None = None
    band_groups: NDArray[Any] | None = None
    scored: ScoredRows | None = None  # after the model has seen them, once
    unscored: UnscoredRows | None = None  # cases set apart because they have no score

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_without_score(self) -> int:
        """Number of cases set apart because they have no score."""
        return 0 if self.unscored is None else len(self.unscored)

    @property
    def n_cases(self) -> int:
        """Number of rows to decide on, with or without a score."""
        return len(self) + self.n_without_score

    @property
    def sentence_on_unscored(self) -> str | None:
        """Sentence on what happens to cases without a score; None if there are none."""
        return None if self.unscored is None else self.unscored.sentence(self.n_cases)

    def unscored_apart(self, score: str | None) -> LabelledRows:
        """Return the rows that have a score, and keep the others for review."""
        if score is None or (has_score := self.X[score].notna().to_numpy()).all():
            return self
        others, scored = self.take(np.flatnonzero(~has_score)), self.take(np.flatnonzero(has_score))
        unscored = UnscoredRows(others.y, others.weight, others.customers, others.by).with_weight()
        return replace(scored, unscored=unscored) if len(unscored) else scored

    def scored_by(self, clf: Any) -> LabelledRows:
        """Return the rows with the scores of a classifier, so that later steps need not run its models again."""
        return replace(self, scored=clf.scored(self.X, band_groups=self.band_groups))

    def take(self, positions: NDArray[np.intp]) -> LabelledRows:
        """Return the rows at the given positions."""
        parts = (self.weight, self.customers, self.times, self.by, self.band_groups)
        weight, customers, times, by, bands = (None if part is None else part[positions] for part in parts)
        X = self.X.iloc[positions].reset_index(drop=True)
        return LabelledRows(X, self.y[positions], weight, customers, times, by, bands)


def labelled_rows(
    table: TableFile, rows: pa.Table, schema: Schema, note: Note, *, by: str | None = None
) -> LabelledRows:
    """Return the labelled rows of a table; add a note if rows without a label are left out."""
    roles = schema.roles
    if roles.target not in table.names:
        raise CommandError(
            f"{table.path.name} has no column {roles.target!r}, the target of the model; add the labels of its rows"
        )
    labels = label_text(rows[roles.target])
    if labels.null_count == len(labels):
        raise CommandError(f"target {roles.target!r} has no values in {table.path.name}; add the labels of its rows")
    if labels.null_count:
        note(f"{labels.null_count} of {len(labels)} rows have no value of {roles.target!r} and are left out")
        has_label = labels.is_valid()
        rows, labels = rows.filter(has_label), labels.filter(has_label)
    labelled = LabelledRows(
        features_of(rows, schema),
        column_kinds.is_positive(roles.target, labels, schema.labels),
        weights_of(rows, schema),
        group_names(rows, roles.customer, "--customer"),
        _times(rows, roles.time, schema.numbers),
        group_names(rows, by, "--by"),
        band_groups_of(rows, schema),
    )
    if schema.score is not None and (n_without := int(labelled.X[schema.score].isna().sum())):
        note(
            f"{n_without} of {len(labelled)} rows have no value of {schema.score!r} and go to review: the coverage "
            "counts them, the fit and the AUC leave them out"
        )
    return labelled


def band_groups_of(rows: pa.Table | pa.RecordBatch, schema: Schema) -> NDArray[Any] | None:
    """Return the group of each row; None if groups have no bands of their own."""
    return group_names(rows, schema.roles.band_group, "--band-group")


def weights_of(rows: pa.Table | pa.RecordBatch, schema: Schema) -> NDArray[np.float64] | None:
    """Return the weight of each row; None if the table lacks the weight column of the fit."""
    name = schema.roles.weight
    if name is None or name not in rows.schema.names:
        return None
    weights = convert(name, rows.column(name), "number", numbers=schema.numbers)
    wrong = ~(weights >= 0)  # also where it is missing
    if wrong.any():
        row = int(np.argmax(wrong))
        value = "no value" if np.isnan(weights[row]) else f"{weights[row]:g}"
        raise CommandError(
            f"--weight: column {name!r} must hold numbers of 0 or more, got {value} in row {row}; correct it, or "
            "give 0 to rows that should not count"
        )
    return weights


def _times(rows: pa.Table, name: str | None, numbers: NumberFormat) -> NDArray[np.float64] | None:
    if name is None or name not in rows.column_names:
        return None
    for kind in _CLOCKS:
        try:
            times = convert(name, rows[name], kind, numbers=numbers)
        except CommandError:
            continue
        if not np.isnan(times).any():
            return times
    raise CommandError(
        f"--time-column: column {name!r} must hold a number or a date such as 2024-03-31 in every row; correct the "
        "others, or split at random"
    )


def group_names(rows: pa.Table | pa.RecordBatch, name: str | None, option: str | None) -> NDArray[Any] | None:
    """Return customers or groups as text; refuse missing values if every row needs one, and too many groups to show."""
    if name is None or name not in rows.schema.names:
        return None
    values = rows.column(name)
    text = as_text(values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values)
    if option == "--by" and (count := len(text.unique())) > _MOST_RESULT_GROUPS:
        raise CommandError(
            f"--by: column {name!r} has {count} different values, more than {_MOST_RESULT_GROUPS}; name a column of "
            "groups, or cut this one into bands first"
        )
    if text.null_count and option not in (None, "--by"):
        row = int(np.argmax(~text.is_valid().to_numpy(zero_copy_only=False)))
        raise CommandError(
            f"{option}: column {name!r} has {text.null_count} rows without a value, the first is row {row}; fill "
            "them, with a name of its own for each row that belongs to no other"
        )
    return np.asarray(pc.fill_null(text, MISSING).to_numpy(zero_copy_only=False))


# ---- the model file ----


def save_model(clf: Any, path: Path, schema: Schema, **facts: Any) -> None:
    """Write the model with its schema and further facts about the fit."""
    versions = {"aucross": aucross.__version__, "scikit-learn": sklearn.__version__}
    metadata = {**schema.to_metadata(), **facts, "versions": {**versions, "python": platform.python_version()}}
    save(clf, path, metadata=json_ready(metadata), key=signing_key())


def load_model(path: Path, numbers: NumberFormat | None = None) -> tuple[Any, Schema]:
    """Return the classifier and its schema; numbers are read as in the fit unless a format is given."""
    clf, schema, _ = load_model_with_facts(path)
    return clf, schema if numbers is None else replace(schema, numbers=numbers)


def load_model_with_facts(path: Path) -> tuple[Any, Schema, dict[str, Any]]:
    """Return the classifier, its schema and the facts about its fit, reading the file once."""
    if ending_of(path) is not None:
        raise CommandError(f"{path} is a table, and the model comes first; `aucross fit` makes one of a table")
    check_readable(path, "model file")
    clf, header = load_with_header(path, key=signing_key())
    schema = Schema.from_metadata(header.metadata, path)
    names = getattr(clf, "feature_names_in_", None)
    if list(clf.classes_) != [0, 1] or names is None or list(names) != list(schema.columns):
        raise CommandError(
            f"{path}: its classifier was not fitted on the columns that it names; make it again with `aucross fit`"
        )
    return clf, schema, header.metadata
