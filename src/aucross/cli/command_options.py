"""Options of the commands: fields of classes that typer reads; quick to import."""

# ruff: noqa: RUF009  (the calls make fields)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from enum import StrEnum
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from aucross.cli.errors import UsageError

if TYPE_CHECKING:
    from aucross.cli.column_kinds import NumberFormat
    from aucross.cli.table_files import TableFile

# ---- values of options ----


class Base(StrEnum):
    """Base models."""

    HGB = "hgb"
    LIGHTGBM = "lightgbm"
    XGBOOST = "xgboost"
    LOGISTIC = "logistic"
    FOREST = "forest"


class EngineName(StrEnum):
    """Engines that read rows outside of this process."""

    DASK = "dask"
    SPARK = "spark"


class Ties(StrEnum):
    """Ways to treat rows that share a score at the end of the band."""

    WHOLE = "whole"
    SPLIT = "split"


class Method(StrEnum):
    """Selective classifiers."""

    AUCROSS = "aucross"
    PLUGIN_AUC = "plugin-auc"
    SCROSS = "scross"
    PLUGIN = "plugin"
    GATE = "gate"

    @property
    def cross_fits(self) -> bool:
        """Whether the method trains on folds."""
        return self not in (Method.PLUGIN_AUC, Method.PLUGIN)


class GivenScore(NamedTuple):
    """A column that holds the score, so that no model is trained."""

    column: str
    threshold: float | None = None
    low_is_positive: bool = False

    def __str__(self) -> str:
        return self.column


# What answers: a model to train, or a score that is already there.
Answer = Base | GivenScore


@dataclass(frozen=True)
class Roles:
    """Columns named by options; all but the target are optional."""

    target: str
    id: str | None = None
    weight: str | None = None
    customer: str | None = None
    time: str | None = None
    band_group: str | None = None

    def check(self, table: TableFile, dropped: Sequence[str] = ()) -> None:
        """Refuse columns that the table lacks or that are given two roles."""
        spelled = {"time": "time-column", "band_group": "band-group"}
        for part, name in asdict(self).items():
            table.check_has(name or None, f"--{spelled.get(part, part)}")
        for name in dropped:
            table.check_has(name, "--drop")
        if self.target in (self.id, self.weight, self.customer, self.time, self.band_group, *dropped):
            raise UsageError(f"--target {self.target}: the target cannot be another option's column as well")

    @property
    def named(self) -> set[str]:
        """Columns that are not features, except that a band group column may also be a feature."""
        return {name for part, name in asdict(self).items() if name and part != "band_group"}


# ---- fields that are options: `time_column` is --time-column, unless a name is given ----


def option(text: str, default: Any = None, *, metavar: str | None = None, **settings: Any) -> Any:
    """Return a field that is an option."""
    return field(default=default, metadata={"help": text, "metavar": metavar, **settings})


def column(text: str, **settings: Any) -> Any:
    """Return a field that names a column."""
    return option(text, metavar="COLUMN", **settings)


def file(text: str) -> Any:
    """Return a field that names a file."""
    return option(text, metavar="FILE")


def parameters(options: Any) -> Iterator[Parameter]:
    """Yield the fields of an options class as typer reads them, shared options last."""
    kinds = get_type_hints(options, include_extras=True)
    shared = {part.name for above in (EngineOptions, TableMarks) for part in fields(above)}
    for part in sorted(fields(options), key=lambda part: part.name in shared):
        kind, default = kinds[part.name], Parameter.empty if part.default is MISSING else part.default
        if settings := dict(part.metadata):
            name = settings.pop("name", f"--{part.name.replace('_', '-')}")
            kind = Annotated[kind, typer.Option(name, **settings)]
        yield Parameter(part.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


Data = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV (also .gz, .zst) or Parquet.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `aucross fit` wrote.")]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator", metavar="MARK", help="Stands between the values of a CSV file; by default the header shows it."
    ),
]

_BY = "Show results for each value of this column too."
_COVERAGE_OF_MODEL = "Share of rows to decide automatically, in (0, 1]; by default that of the fit."
_DECIDE_UNFAMILIAR = "let the band decide rows unlike those of the fit, too."
_KEEP_COVERAGE = "Move the band from row to row, so that the coverage is kept."
_AUDIT = "Share of automatic cases to draw for review, by the key in AUCROSS_AUDIT_KEY_FILE; 0.02 is usual."
_SHADOW = "A second model that decides in the record only."


@dataclass(frozen=True, kw_only=True)
class TableMarks:
    """Options for the separator of a CSV file and for the decimal and thousands marks of its numbers."""

    separator: Separator = None
    decimal: str | None = option("Decimal mark, . or a comma.", metavar="MARK")
    thousands: str | None = option("Mark between thousands: , . ' _ or a space.", metavar="MARK")

    @property
    def numbers(self) -> NumberFormat | None:
        """Format of numbers; None if no option gives it."""
        from aucross.cli.column_kinds import NumberFormat  # noqa: PLC0415  (slow to import)

        if self.decimal is None and self.thousands is None:
            return None
        return NumberFormat(self.decimal or ".", self.thousands or "")


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The engine that keeps the rows, if they are not in this process."""

    engine: EngineName | None = option("Work on a folder of Parquet files where a cluster has the rows.")
    scheduler: str | None = option("The cluster of the engine; by default this machine.", metavar="ADDRESS")

    def uses_engine(self, *names: str) -> bool:
        """Return whether an engine does the work; if so, refuse the named options, which need rows in this process."""
        if self.engine is None:
            if self.scheduler is not None:
                raise UsageError(
                    "--scheduler is the address of an engine; name it with --engine dask or --engine spark"
                )
            return False
        for name in names:
            if getattr(self, name) is not None and getattr(self, name) is not False:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option} needs the rows in this process and is not for --engine; leave out one of them"
                )
        return True


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(TableMarks):
    """Options of the commands that train."""

    data: Data
    target: Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column of the two classes.")]
    coverage: float = option("Share of rows to decide automatically, in (0, 1].", 0.9)
    score: str | None = column("A column that already holds the score: no model is trained.")
    threshold: float | None = option("The score is in points, and this value separates the two predicted classes.")
    low_is_positive: bool = option("Low scores speak for the positive class, high ones against it.", False)
    positive: str | None = option("The positive class; needed unless the classes are 0 and 1.", metavar="VALUE")
    test: Path | None = option("Test on the rows of this file instead of a part.", metavar="TABLE")
    test_size: float = option("Share of rows kept apart to test on.", 0.25)
    time_column: str | None = column("Test on the latest rows by this column; it is no feature.")
    weight: str | None = column("Weights of the rows, 0 or more.")
    customer: str | None = column(
        "Rows of one customer belong together: on one side of random splits, and counted as one in intervals."
    )
    id_column: str | None = column("Column that names the rows; it is no feature.", name="--id")
    drop: list[str] | None = column("Leave a column out; can be given repeatedly.")
    seed: int = option("Seed of splits and models.", 0, min=0)
    jobs: int = option("Folds to fit at the same time; -1 for all cores.", 1)

    @property
    def roles(self) -> Roles:
        """The columns that are not features."""
        return Roles(self.target, id=self.id_column, weight=self.weight, customer=self.customer, time=self.time_column)

    @property
    def given_score(self) -> GivenScore | None:
        """The score column that the options name; None if they name none."""
        if self.score is not None:
            return GivenScore(self.score, self.threshold, self.low_is_positive)
        if self.threshold is not None or self.low_is_positive:
            option = "--threshold" if self.threshold is not None else "--low-is-positive"
            raise UsageError(f"{option} is about a score in the table; name its column with --score")
        return None


@dataclass(frozen=True, kw_only=True)
class FitOptions(TrainingOptions, EngineOptions):
    """Options of `aucross fit`."""

    out: Path | None = file("The model; by default TABLE.aucross.")
    base: Base | None = option("The model that answers; hgb by default, logistic with the gate.")
    method: Method = option("How rows for review are chosen.", Method.AUCROSS)
    ties: Ties = option("split: cut through rows of one score by a hash of the row, to meet the coverage.", Ties.WHOLE)
    band_group: str | None = column("Each group of this column gets a band, and the coverage.")
    by: str | None = column(_BY)
    report: Path | None = file("The report; by default beside the model.")
    no_report: bool = option("Write no report.", False)

    @property
    def roles(self) -> Roles:
        """The columns that are not features, and the column of band groups."""
        return replace(super().roles, band_group=self.band_group)

    @property
    def model(self) -> Path:
        """The file to write."""
        if self.out is not None:
            return self.out
        from aucross.cli.table_files import ending_of  # noqa: PLC0415  (slow to import)

        # Of loans.2024.csv.gz it is loans.2024.
        ending = "" if self.engine else ending_of(self.data) or self.data.suffix
        return Path(f"{self.data.name[: len(self.data.name) - len(ending)]}.aucross")

    @property
    def answer(self) -> Answer:
        """The requested score or base model; by default boosted trees, or logistic regression if there is a gate."""
        return self.given_score or self.base or (Base.LOGISTIC if self.method is Method.GATE else Base.HGB)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TrainingOptions):
    """Options of `aucross compare`; all methods and base models by default."""

    base: list[Base] | None = option("Base models, repeatedly; by default all that are installed.")
    method: list[Method] | None = option("Methods, repeatedly; by default all.")


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(TableMarks):
    """Options of the commands that test a model on labelled rows."""

    model: Model
    data: Data
    coverage: float | None = option(_COVERAGE_OF_MODEL)
    customer: str | None = column(
        "Rows of one customer: intervals and promises count them as one; by default the column of the fit."
    )
    by: str | None = column(_BY)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(JudgingOptions, EngineOptions):
    """Options of `aucross evaluate`."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(JudgingOptions):
    """Options of `aucross report`."""

    out: Path | None = file("The report, .html, .md or .json; by default beside the model.")
    title: str | None = option("The heading of the report.", metavar="TEXT")
    cases_a_month: float | None = option("Cases to come in a month, by which reviews and errors are told.")
    costs: tuple[float, float, float] | None = option(
        "What a missed positive case, a false alarm and a review cost.", metavar="MISSED ALARM REVIEW"
    )


@dataclass(frozen=True, kw_only=True)
class PredictOptions(TableMarks, EngineOptions):
    """Options of `aucross predict`."""

    model: Model
    data: Data
    out: Path | None = file("Decisions, CSV or Parquet by the ending.")
    record: str | None = option(
        "Record the decisions, in a file such as cases.db, or in PostgreSQL: env:NAME or file:PATH hold its address.",
        metavar="RECORD",
    )
    batch: str | None = option("Name of the batch, which is decided once.", metavar="NAME")
    keep: list[str] | None = column("Keep a column in the record, erasable; can be given repeatedly.")
    shadow: Path | None = option(_SHADOW, metavar="MODEL")
    audit: float | None = option(_AUDIT, metavar="SHARE")
    strip: float | None = option(
        "Share of cases at the edges of the band that go to a person or not by a coin.", metavar="SHARE"
    )
    decide_unfamiliar: bool = option(f"With --record, {_DECIDE_UNFAMILIAR}", False)
    coverage: float | None = option(_COVERAGE_OF_MODEL)
    capacity: int | None = option(
        "Send exactly so many rows to review instead of a share; rows without a score come first, and all go."
    )
    recalibrate: bool = option("Place the band on the scores of these rows, to meet the coverage.", False)
    keep_coverage: bool = option(_KEEP_COVERAGE, False)
    id_column: str | None = column("Column that names the rows; by default that of the fit.", name="--id")


@dataclass(frozen=True, kw_only=True)
class ServeCommand:
    """Options of `aucross serve`."""

    model: Model
    host: str = option("Address to listen at; others than this machine need a token.", "127.0.0.1")
    port: int = option("Port to listen at; 0 takes a free one.", 8000)
    record: str | None = option(
        "Record of decisions: a file such as cases.db, env:NAME or file:PATH.", metavar="RECORD"
    )
    shadow: Path | None = option(_SHADOW, metavar="MODEL")
    audit: float | None = option(_AUDIT, metavar="SHARE")
    allow_coverage: bool = option("Let callers ask for another coverage than the model's.", False)
    keep_coverage: bool = option(_KEEP_COVERAGE, False)
    decide_unfamiliar: bool = option(_DECIDE_UNFAMILIAR.capitalize(), False)
    webhook_file: Path | None = file("Holds an address that is told of final decisions.")
    token_file: Path | None = file("Holds the token that callers must send.")
    most_bytes: int = option("Size of the largest request.", 1_000_000, min=1)
    most_rows: int = option("Rows of the largest request.", 1_000, min=1)
    body_seconds: float = option("Time in which a request must arrive whole.", 10.0, min=0.001, max=3600)
    allow_host: list[str] | None = option(
        "A further name by which callers reach the server; can be given repeatedly.", metavar="NAME"
    )


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of `aucross demo`."""

    folder: Path = option("Where the files go.", Path("demo-output"))
    rows: int = option("Number of loans to make up.", 20_000)


@dataclass(frozen=True, kw_only=True)
class WalkthroughOptions:
    """Options of `aucross walkthrough`."""

    folder: Path = option("Where the files go.", Path("aucross-walkthrough"))
    rows: int = option("Number of loans to make up.", 8000)
    seed: int = option("Seed of splits and models.", 0, min=0)
