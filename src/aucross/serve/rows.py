"""What a caller may send: one typed field for each column that the model reads, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    create_model,
)

from aucross.core.missing import MISSING_TEXTS
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.system.libraries import import_library

ColumnKind = Literal["number", "boolean", "date", "category"]

_SECONDS_PER_DAY = 86_400
_LONGEST_TEXT = 10_000
_MOST_GROUPS_NAMED = 20


def _only_text(value: Any) -> Any:
    # pydantic would take a number for seconds since 1970.
    if not isinstance(value, str):
        raise ValueError("a date must be text such as 2024-03-31")
    return value


Day = Annotated[date | datetime, BeforeValidator(_only_text)]
Number = Annotated[StrictFloat | StrictInt, Field(allow_inf_nan=False)]
Text = Annotated[StrictStr, Field(max_length=_LONGEST_TEXT)]
_TYPES: dict[str, Any] = {"number": Number, "boolean": StrictBool, "date": Day, "category": Text}
_EXAMPLES: dict[str, Any] = {"number": 12.5, "boolean": True, "date": "2024-03-31", "category": "text"}
_MEANING = {
    "number": "a number",
    "boolean": "true or false",
    "date": "a date such as 2024-03-31",
    "category": "text",
}


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
        The negative and the positive label, as callers are told them.
    required : str, optional
        A column that must have a value in every row, since it holds the score.
    group_column : str, optional
        The column that holds the group of a row, if the bands were fitted per group. It may be one that the classifier
        reads, too; if not, it holds text.
    groups : mapping, optional
        The group that each value of this column stands for, where they are not the same.
    """

    clf: SelectiveClassifier
    columns: Mapping[str, ColumnKind]
    labels: tuple[str, str]
    required: str | None = None
    group_column: str | None = None
    groups: Mapping[Any, Any] | None = None

    def __post_init__(self) -> None:
        if len(self.clf.classes_) > 2:
            raise ValueError(f"a model of two classes can be served, got {len(self.clf.classes_)} classes")
        known = self.clf.band_rule_.group_labels
        if (known is None) != (self.group_column is None):
            remedy = "leave it out" if known is None else "pass the column that holds the group of a row"
            raise ValueError(
                "group_column must be given for a classifier with a band for each group and for no other, got "
                f"{self.group_column!r}; {remedy}"
            )
        if known is not None and set(self.group_of.values()) != set(known):
            raise ValueError(
                f"groups must have a value for each group of the fit ({', '.join(map(repr, known))}) and for no other, "
                f"got {list(self.group_of.values())}; pass {{value: group}}"
            )

    @cached_property
    def group_of(self) -> Mapping[Any, Any]:
        """The group that each value of the column of groups stands for; empty if there are no groups."""
        known = self.clf.band_rule_.group_labels or ()
        return {group: group for group in known} if self.groups is None else self.groups

    @cached_property
    def fields(self) -> Mapping[str, ColumnKind]:
        """The columns of a request: those that the classifier reads, and that of the groups."""
        if self.group_column is None or self.group_column in self.columns:
            return self.columns
        return {**self.columns, self.group_column: "category"}

    def may_be_null(self, name: str) -> bool:
        """Whether the value of a column may be missing."""
        return name not in (self.required, self.group_column)

    @cached_property
    def row_type(self) -> type[BaseModel]:
        """The type of one row: every column must be there, null where a value is missing; no other may."""
        fields: dict[str, Any] = {}
        for name, kind in self.fields.items():
            value, about = _TYPES[kind], _MEANING[kind]
            if self.may_be_null(name):
                value, about = value | None, f"{about}, or null if it is missing"
            if name == self.group_column:
                value, about = Annotated[value, AfterValidator(self._of_a_group)], f"{about}: {self._groups_named}"
            described = Field(alias=name, description=about, examples=[self.example(name)])
            fields[self._attributes[name]] = (value, described)
        return create_model("Row", __config__=ConfigDict(extra="forbid"), **fields)

    def _of_a_group(self, value: Any) -> Any:
        """A value of the column of groups, refused if it stands for none: no band decides on such a row."""
        if _CONVERSIONS[self.fields[self.group_column]]([value])[0] not in self.group_of:  # type: ignore[index]
            raise ValueError(f"must be {self._groups_named}; send rows of other groups to review yourself")
        return value

    @cached_property
    def _groups_named(self) -> str:
        named = [str(value) for value in list(self.group_of)[:_MOST_GROUPS_NAMED]]
        more = len(self.group_of) - len(named)
        return f"one of the groups seen in fit, {', '.join(named)}{f' and {more} more' if more else ''}"

    def example(self, name: str) -> Any:
        """A value that a column may have."""
        kind = self.fields[name]
        is_group = name == self.group_column and kind in ("number", "category")
        return next(iter(self.group_of)) if is_group else _EXAMPLES[kind]

    def scored(self, rows: Sequence[BaseModel]) -> ScoredRows:
        """The rows after the classifier has seen them, with their groups if there are any."""
        if self.group_column is None:
            return self.clf.scored(self.table(rows))
        groups = [self.group_of[value] for value in self._values(rows, self.group_column)]
        return self.clf.scored(self.table(rows), band_groups=groups)

    def table(self, rows: Sequence[BaseModel]) -> Any:
        """The rows as the frame that the classifier reads."""
        pandas = import_library("pandas", purpose="serving", extra="serve")
        columns = {name: pandas.Series(self._values(rows, name), copy=False) for name in self.columns}
        return pandas.DataFrame(columns, copy=False)

    def _values(self, rows: Sequence[BaseModel], name: str) -> Any:
        return _CONVERSIONS[self.fields[name]]([getattr(row, self._attributes[name]) for row in rows])

    @cached_property
    def _attributes(self) -> dict[str, str]:
        """Where a typed row keeps each column, whose name may be no word of Python."""
        return {name: f"column_{number}" for number, name in enumerate(self.fields)}


def _numbers(values: list[Any]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _days(values: list[Any]) -> Any:
    return _numbers([None if value is None else _day(value) for value in values])


def _day(value: date | datetime) -> float:
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return moment.timestamp() / _SECONDS_PER_DAY


def _texts(values: list[Any]) -> Any:
    texts = np.empty(len(values), dtype=object)
    # As in tables: blanks around a text do not count, and some texts stand for a missing one.
    texts[:] = [np.nan if value is None or value.strip() in MISSING_TEXTS else value.strip() for value in values]
    return texts


_CONVERSIONS: dict[str, Any] = {"number": _numbers, "boolean": _numbers, "date": _days, "category": _texts}


# ---- requests and answers ----

# One line, as the log writes them, and short enough for any reader.
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["A-17"])]
Coverage = Annotated[
    float | None, Field(gt=0, le=1, description="Share of rows to decide automatically; that of the fit by default.")
]


def request_types(model: ServedModel, most_rows: int) -> tuple[Any, Any]:
    """Types of a request for one row, and of one for many."""
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
    prediction: str
    score: float = Field(description="On which the band lies: the score, or the confidence in the prediction.")
    probability: float | None = Field(description="Of the positive label; null for a model without probabilities.")
    lower: float | None = Field(description="Lower end of the scores that go to review; null if there is none.")
    upper: float | None = Field(description="Upper end; null if there is none.")
    reason: str


class DecidedBy(BaseModel):
    """What decided, and under which names the log and the model file know it."""

    coverage: float
    rule_fingerprint: str
    model_fingerprint: str


class OneAnswer(RowDecision):
    """Answer to a request for one row."""

    decided_by: DecidedBy


class ManyAnswers(BaseModel):
    """Answer to a request for many rows, in their order."""

    decisions: list[RowDecision]
    decided_by: DecidedBy


class Refusal(BaseModel):
    """Why a request was refused."""

    error: str
    details: list[str] = []


def example_row(model: ServedModel) -> dict[str, Any]:
    """A row with a value of the right type in each column."""
    return {name: model.example(name) for name in model.fields}
