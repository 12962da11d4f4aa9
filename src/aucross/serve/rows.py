"""What a caller may send: one typed field for each column that the model reads, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
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

from aucross.estimators.base import SelectiveClassifier
from aucross.system.libraries import import_library

ColumnKind = Literal["number", "boolean", "date", "category"]

_SECONDS_PER_DAY = 86_400
_LONGEST_TEXT = 10_000
# Text that stands for a missing category in tables does so here.
_NO_TEXT = ""


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
    """

    clf: SelectiveClassifier
    columns: Mapping[str, ColumnKind]
    labels: tuple[str, str]
    required: str | None = None

    def __post_init__(self) -> None:
        if len(self.clf.classes_) > 2:
            raise ValueError(f"a model of two classes can be served, got {len(self.clf.classes_)} classes")
        if self.clf.band_rule_.group_labels is not None:
            raise ValueError("a model with a band for each group cannot be served; fit it without band_groups")

    @cached_property
    def row_type(self) -> type[BaseModel]:
        """The type of one row: every column must be there, null where a value is missing; no other may."""
        fields: dict[str, Any] = {}
        for number, (name, kind) in enumerate(self.columns.items()):
            value = _TYPES[kind] if name == self.required else _TYPES[kind] | None
            about = f"{_MEANING[kind]}{'' if name == self.required else ', or null if it is missing'}"
            fields[f"column_{number}"] = (value, Field(alias=name, description=about, examples=[_EXAMPLES[kind]]))
        return create_model("Row", __config__=ConfigDict(extra="forbid"), **fields)

    def table(self, rows: Sequence[BaseModel]) -> Any:
        """The rows as the frame that the classifier reads."""
        pandas = import_library("pandas", purpose="serving", extra="serve")
        columns = {}
        for number, (name, kind) in enumerate(self.columns.items()):
            values = [getattr(row, f"column_{number}") for row in rows]
            columns[name] = pandas.Series(_CONVERSIONS[kind](values), copy=False)
        return pandas.DataFrame(columns, copy=False)


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
    # As in tables: blanks around a text do not count, and a blank text is none.
    texts[:] = [np.nan if value is None or value.strip() == _NO_TEXT else value.strip() for value in values]
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
    reason: str


class BandInForce(BaseModel):
    """What decided, and under which names the log and the model file know it."""

    coverage: float
    lower: float | None = Field(description="Lower end of the scores that go to review; null if there is none.")
    upper: float | None = Field(description="Upper end; null if there is none.")
    rule_fingerprint: str
    model_fingerprint: str


class OneAnswer(RowDecision):
    """Answer to a request for one row."""

    band: BandInForce


class ManyAnswers(BaseModel):
    """Answer to a request for many rows, in their order."""

    decisions: list[RowDecision]
    band: BandInForce


class Refusal(BaseModel):
    """Why a request was refused."""

    error: str
    details: list[str] = []


def example_row(model: ServedModel) -> dict[str, Any]:
    """A row with a value of the right type in each column."""
    return {name: _EXAMPLES[kind] for name, kind in model.columns.items()}
