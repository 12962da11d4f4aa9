"""Types of requests, with one typed field for each column that the model reads, and their conversion."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from math import isfinite
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, create_model

from aucross.core.bands import check_coverage
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.fitted import names_checked_before
from aucross.estimators.score_column import score_column_in
from aucross.frames import MISSING_TEXTS, date_of, days_of, is_missing, moment_of

ColumnKind = Literal["number", "boolean", "date", "category"]

_LONGEST_TEXT = 10_000
_MOST_NAMED = 20


def _moment(value: Any) -> datetime:
    # pydantic would take numbers, and text of digits, for seconds since 1970.
    if not isinstance(value, str):
        raise ValueError("must be a date as text, such as 2024-03-31")
    return moment_of(value)


def _number(value: Any) -> float:
    # pydantic would take true, and text that looks like a number.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    try:
        number = float(value)
    except OverflowError:  # JSON has whole numbers of any length
        number = float("inf")
    if not isfinite(number):
        raise ValueError("must be a finite number that double precision can hold")
    return number


def _coverage(value: Any) -> float:
    _number(value)
    return check_coverage(value)  # as it was written: the error repeats it


Day = Annotated[date | datetime, BeforeValidator(_moment)]
Number = Annotated[float, BeforeValidator(_number)]
Text = Annotated[StrictStr, Field(max_length=_LONGEST_TEXT)]
_TYPES: dict[str, Any] = {"number": Number, "boolean": StrictBool, "date": Day, "category": Text}
# The number is one that a column of probabilities takes, too.
_EXAMPLES: dict[str, Any] = {"number": 0.5, "boolean": True, "date": "2024-03-31", "category": "text"}
_MEANING = {"number": "a number", "boolean": "true or false", "date": "a date such as 2024-03-31", "category": "text"}


@dataclass(frozen=True)
class ServedModel:
    """A fitted classifier of two classes and the columns that it reads.

    Parameters
    ----------
    clf : SelectiveClassifier
        The classifier.
    columns : mapping of str to {"number", "boolean", "date", "category"}
        Columns in the order of the fit. Dates become days since 1 January 1970, true and false 1 and 0.
    labels : pair of str
        The negative and the positive label, as sent to callers.
    required : str, optional
        The column that holds the score; by default the column that a :class:`~aucross.ScoreColumn` names. A row in
        which it is null goes to review.
    band_group_column : str, optional
        The column that holds the group of a row, if the bands were fitted per group. A column that the classifier
        does not read must hold text.
    band_groups : mapping, optional
        The group for each value of this column, if the values are not the groups themselves.
    categories : mapping of str to sequence, optional
        The categories of columns that the classifier read as categories of pandas, in the order of the fit:
        ``X["branch"].cat.categories``. Other values of these columns are refused.
    known_values : mapping of str to sequence, optional
        The values that further columns had in the fit. Other values are refused: the classifier would have to guess.
    """

    clf: SelectiveClassifier
    columns: Mapping[str, ColumnKind]
    labels: tuple[str, str]
    required: str | None = None
    band_group_column: str | None = None
    band_groups: Mapping[Any, Any] | None = None
    categories: Mapping[str, Sequence[Any]] | None = None
    known_values: Mapping[str, Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        for argument in ("categories", "known_values"):
            if unknown := [name for name in getattr(self, argument) or () if name not in self.columns]:
                raise ValueError(
                    f"{argument} must be of columns that the classifier reads, got {unknown}; leave them out"
                )
        if self.required is not None and self.required not in self.columns:
            raise ValueError(
                f"required must be a column that the classifier reads, got {self.required!r}; name one of "
                f"{list(self.columns)}"
            )
        if len(self.clf.classes_) > 2:
            raise ValueError(f"a model of two classes can be served, got {len(self.clf.classes_)} classes")
        known = self.clf.band_rule_.group_labels
        if (known is None) != (self.band_group_column is None):
            remedy = "leave it out" if known is None else "pass the column that holds the group of a row"
            raise ValueError(
                "band_group_column must be given for a classifier with a band for each group and for no other, got "
                f"{self.band_group_column!r}; {remedy}"
            )
        if known is not None and set(self.group_of.values()) != set(known):
            raise ValueError(
                f"band_groups must have a value for each group of the fit ({', '.join(map(repr, known))}) and for no "
                f"other, got {list(self.group_of.values())}; pass {{value: group}}"
            )

    @cached_property
    def group_of(self) -> Mapping[Any, Any]:
        """The group of each value in the group column; empty if there are no groups."""
        known = self.clf.band_rule_.group_labels or ()
        return {group: group for group in known} if self.band_groups is None else self.band_groups

    @cached_property
    def fields(self) -> Mapping[str, ColumnKind]:
        """Columns of a request: those that the classifier reads, and the group column."""
        if self.band_group_column is None or self.band_group_column in self.columns:
            return self.columns
        return {**self.columns, self.band_group_column: "category"}

    @cached_property
    def score_name(self) -> str | None:
        """The column without which a row has no score; None if a model scores every row."""
        column = score_column_in(self.clf.estimator_)
        if self.required is not None or column is None:
            return self.required
        return column.column if isinstance(column.column, str) else list(self.columns)[column.column]

    @cached_property
    def row_type(self) -> type[BaseModel]:
        """Type of one row: it must name every column and no other; null stands for a missing value."""
        fields: dict[str, Any] = {}
        for name, kind in self.fields.items():
            value, about = _TYPES[kind], _MEANING[kind]
            if name != self.band_group_column:
                to_review = ": then the row goes to review" if name == self.score_name else ""
                value, about = value | None, f"{about}, or null if it is missing{to_review}"
            for what, known in self._allowed(name):
                named = f"one of the {what} of the fit, {_listed(known)}"
                value, about = (
                    Annotated[value, AfterValidator(_check_of(kind, what, known, named))],
                    f"{about}: {named}",
                )
            described = Field(alias=name, description=about, examples=[self.example(name)])
            fields[self._attributes[name]] = (value, described)
        return create_model("Row", __config__=ConfigDict(extra="forbid"), **fields)

    def _allowed(self, name: str) -> list[tuple[str, Iterable[Any]]]:
        """Return the lists of allowed values of a column, each with its name; none if any value is allowed."""
        categories = {**(self.known_values or {}), **(self.categories or {})}
        allowed: list[tuple[str, Iterable[Any]]] = [("categories", categories[name])] if name in categories else []
        return [*allowed, ("groups", self.group_of)] if name == self.band_group_column else allowed

    def example(self, name: str) -> Any:
        """Return an example value of a column, as a caller writes it."""
        kind = self.fields[name]
        for _, known in reversed(self._allowed(name)):
            return _AS_SENT[kind](next(iter(known)))
        column = score_column_in(self.clf.estimator_)
        if column is not None and column.threshold is not None and name == self.score_name:
            return float(getattr(column, "column_range_", [column.threshold])[0])  # 0.5 would be no score in points
        return _EXAMPLES[kind]

    def example_row(self) -> dict[str, Any]:
        """Return a row with an example value in each column."""
        return {name: self.example(name) for name in self.fields}

    def check_scores(self) -> None:
        """Refuse a classifier that cannot score rows as requests give them."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the values are made up
                example = [self.row_type(**self.example_row())]
                self.clf.fitted_.check_names(self.table(example))  # as they are in the table of every request
                self.scored(example)
        except Exception as error:
            reason = textwrap.shorten(f"{type(error).__name__}: {error}", 300)
            raise ValueError(
                f"clf must score a row of the columns that are named, and fails at an example ({reason}); name each "
                "column with its kind as in the fit, and pass the categories of those that were categories of pandas "
                'or that take known values alone: categories={"branch": X["branch"].cat.categories}'
            ) from error

    def scored(self, rows: Sequence[BaseModel]) -> tuple[NDArray[np.bool_], Any, ScoredRows | None]:
        """Return which rows have a score, these rows as a frame, and these rows scored; both None if there are none."""
        has_score = np.ones(len(rows), dtype=bool)
        if self.score_name is not None:
            values = [getattr(row, self._attributes[self.score_name]) for row in rows]
            column = score_column_in(self.clf.estimator_)
            if column is not None and column.column_name == self.score_name:
                has_score = column.takes(_numbers(values))
            else:
                has_score = np.array([value is not None for value in values], dtype=bool)
            rows = [row for row, has in zip(rows, has_score.tolist(), strict=True) if has]
        if not rows:
            return has_score, None, None
        X = self.table(rows)
        with names_checked_before():
            return has_score, X, self.clf.scored(X, band_groups=self.groups(rows))

    def groups(self, rows: Sequence[BaseModel]) -> list[Any] | None:
        """Return the group of each row; None if there are no groups."""
        if self.band_group_column is None:
            return None
        values = [getattr(row, self._attributes[self.band_group_column]) for row in rows]
        return [self.group_of[value] for value in _CONVERSIONS[self.fields[self.band_group_column]](values)]

    def inputs(self, rows: Sequence[BaseModel]) -> dict[str, Any]:
        """Return the values of each column as the classifier reads them: numbers as arrays, texts as lists."""
        return {
            name: _CONVERSIONS[kind]([getattr(row, self._attributes[name]) for row in rows])
            for name, kind in self.columns.items()
        }

    def table(self, rows: Sequence[BaseModel]) -> Any:
        """Return the rows as the frame that the classifier reads."""
        # Texts as objects, as a table of the fit has them.
        columns = {
            name: pd.Series(values, dtype=object if isinstance(values, list) else None, copy=False)
            for name, values in self.inputs(rows).items()
        }
        for name, values in (self.categories or {}).items():
            columns[name] = columns[name].astype(pd.CategoricalDtype(list(values)))
        return pd.DataFrame(columns, copy=False)

    @cached_property
    def _attributes(self) -> dict[str, str]:
        """Attribute name of each column in a typed row, because column names may be invalid in Python."""
        return {name: f"column_{number}" for number, name in enumerate(self.fields)}


def _check_of(kind: str, what: str, known: Iterable[Any], named: str) -> Callable[[Any], Any]:
    """Return a check that refuses unknown values, which would otherwise be read as missing or have no band."""
    known = set(known)

    def check(value: Any) -> Any:
        converted = _CONVERSIONS[kind]([value])[0]
        is_left_out = what == "categories" and is_missing(converted)
        if not is_left_out and converted not in known:
            raise ValueError(f"must be {named}; send rows of other {what} to review yourself")
        return value

    return check


def _listed(values: Iterable[Any]) -> str:
    texts = [str(value) for value in values]
    more = len(texts) - _MOST_NAMED
    return f"{', '.join(texts[:_MOST_NAMED])}{f' and {more} more' if more > 0 else ''}"


def _numbers(values: list[Any]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _days(values: list[Any]) -> Any:
    return days_of(np.array(values, dtype=object))


def _texts(values: list[Any]) -> list[Any]:
    # As in tables: blanks around a text do not count, and some texts stand for a missing one.
    return [np.nan if value is None or value.strip() in MISSING_TEXTS else value.strip() for value in values]


# Values as the model reads them, and back as a caller sends them.
_CONVERSIONS: dict[str, Any] = {"number": _numbers, "boolean": _numbers, "date": _days, "category": _texts}
_AS_SENT: dict[str, Any] = {
    "number": float,
    "boolean": bool,
    "date": lambda days: date_of(days).isoformat(),
    "category": str,
}


# ---- requests and answers ----

# One line, as the log writes them, and short enough for any reader.
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["A-17"])]
Coverage = Annotated[
    # The limits are those of the number: null is a value, too, and cannot be compared.
    Annotated[float, BeforeValidator(_coverage), Field(gt=0, le=1)] | None,
    Field(description="Share of rows to decide automatically; that of the fit by default."),
]


def request_types(model: ServedModel, most_rows: int) -> tuple[Any, Any]:
    """Return the types of a request for one row, and of a request for many."""
    strict = ConfigDict(extra="forbid")
    row = model.row_type
    one = create_model("DecideOne", __config__=strict, row=(row, ...), id=(Id | None, None), coverage=(Coverage, None))
    rows = Annotated[list[row], Field(min_length=1, max_length=most_rows)]  # type: ignore[valid-type]
    ids = Annotated[list[Id], Field(max_length=most_rows)]
    many = create_model(
        "DecideMany", __config__=strict, rows=(rows, ...), ids=(ids | None, None), coverage=(Coverage, None)
    )
    return one, many


class RowDecision(BaseModel):
    """The decision on one row."""

    id: str
    decision: Literal["automatic", "review"]
    prediction: str | None = Field(description="The label; null for a row without a score.")
    score: float | None = Field(
        description="On which the band lies: the score, in points if it was sent in points, or the confidence in the "
        "prediction; null for a row without a score."
    )
    probability: float | None = Field(description="Of the positive label; null for a model without probabilities.")
    lower: float | None = Field(
        description="Lower end of the scores that go to review, in the unit of the score; null if there is none."
    )
    upper: float | None = Field(description="Upper end; null if there is none.")
    reason: str | None = Field(description="Why the case goes to a person, as in the record; null if it does not.")


class FinalDecision(BaseModel):
    """Final decision on a case: the automatic answer or a person's."""

    id: str
    batch: str
    decision: Literal["automatic", "review"]
    final_decision: str | None = Field(description="The label; null while nobody has decided.")
    final_by: Literal["automatic", "review"] | None


class AskedCase(BaseModel):
    """A case by its id, and by its batch if the id occurs in several."""

    model_config = ConfigDict(extra="forbid")
    id: Id
    batch: Id | None = None


class DecidedBy(BaseModel):
    """Fingerprints of the model and the rule that decided, as in the record and the model file."""

    batch: str | None = Field(default=None, description="The batch of the record; null if nothing is recorded.")
    coverage: float
    rule_fingerprint: str
    model_fingerprint: str


class OneAnswer(RowDecision):
    """Answer to a request with one row."""

    decided_by: DecidedBy


class ManyAnswers(BaseModel):
    """Answer to a request with many rows, in their order."""

    decisions: list[RowDecision]
    decided_by: DecidedBy


class Refusal(BaseModel):
    """Why a request was refused."""

    error: str
    details: list[str] = []
