"""The commands and their options. Each parses, makes its library calls, writes, and returns an exit code.

So that ``--help`` does not wait, what takes long to import is imported inside the commands, and the options of a
command are read when that command is run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any

import rich  # noqa: F401  (part of the extra: its absence is to be noticed at the start)
import typer
from typer.core import TyperCommand, TyperGroup

from aucross.cli.errors import INTERRUPTED, Exit, UsageError, reported
from aucross.cli.names import Base, EngineName, GivenScore, Method, Ties
from aucross.cli.screen import Screen

_PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
_COMMANDS: dict[str, TyperCommand] = {}


class _Command(TyperCommand):
    """A command whose options typer reads only when it is run, so that all commands are listed quickly."""

    def __init__(self, function: Callable[..., dict[str, Any]], example: str) -> None:
        super().__init__(function.__name__.replace("_", "-"), help=getdoc(function))
        self._function = function
        self._epilog = f"\b\nExample:\n  {example}"

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Hand over to the command with its options."""
        alone = typer.Typer(**_PLAIN)
        alone.command(self.name, epilog=self._epilog)(_with_a_screen(self._function))
        return typer.main.get_command(alone).make_context(*arguments, **options)


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _COMMANDS})


app = typer.Typer(name="aucross", cls=_Group, no_args_is_help=True, **_PLAIN)


def _show_version(asked: bool) -> None:
    if asked:
        from aucross import __version__  # noqa: PLC0415

        typer.echo(f"aucross {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and end.")
]


@app.callback()
def _describe(_version: Version = False) -> None:
    """Classifiers that know when not to answer, judged by the AUC of the answers they give."""


def command(example: str) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    """Make a command of a function of a screen and options, with an example below the options."""

    def register(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        made = _Command(function, example)
        _COMMANDS[str(made.name)] = made
        return function

    return register


# ---- options that several commands share ----

Data = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV (also .gz, .zst) or Parquet.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `aucross fit` wrote.")]
Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column of the two classes.")]
Positive = Annotated[
    str | None,
    typer.Option("--positive", metavar="VALUE", help="The positive class; needed unless the classes are 0 and 1."),
]
Coverage = Annotated[float, typer.Option("--coverage", help="Share of rows to decide automatically, in (0, 1].")]
CoverageOfModel = Annotated[
    float | None,
    typer.Option("--coverage", help="Share of rows to decide automatically, in (0, 1]; by default that of the fit."),
]
TestFile = Annotated[
    Path | None, typer.Option("--test", metavar="TABLE", help="Test on the rows of this file instead of a part.")
]
TestSize = Annotated[float, typer.Option("--test-size", help="Share of rows kept apart to test on.")]
TimeColumn = Annotated[
    str | None,
    typer.Option("--time-column", metavar="COLUMN", help="Test on the latest rows by this column; it is no feature."),
]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="Weights of the rows, 0 or more.")]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Rows that belong together, say of one customer: kept together in random splits, drawn together for "
        "intervals.",
    ),
]
GroupOfModel = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Rows that belong together: intervals and promises count them as one; by default the column of the fit.",
    ),
]
BandGroup = Annotated[
    str | None,
    typer.Option("--band-group", metavar="COLUMN", help="Each group of this column gets a band, and the coverage."),
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the rows; it is no feature.")]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave a column out; can be given repeatedly.")
]
By = Annotated[
    str | None, typer.Option("--by", metavar="COLUMN", help="Show results for each value of this column too.")
]
ScoreOption = Annotated[
    str | None,
    typer.Option("--score", metavar="COLUMN", help="A column that already holds the score: no model is trained."),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", help="The score is in points, and this value parts the two predicted classes."),
]
LowIsPositive = Annotated[
    bool, typer.Option("--low-is-positive", help="Low scores speak for the positive class, high ones against it.")
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator", metavar="MARK", help="Stands between the values of a CSV file; by default the header shows it."
    ),
]
Decimal = Annotated[str | None, typer.Option("--decimal", metavar="MARK", help="Decimal mark, . or a comma.")]
Thousands = Annotated[
    str | None, typer.Option("--thousands", metavar="MARK", help="Mark between thousands: , . ' _ or a space.")
]
Engine = Annotated[
    EngineName | None,
    typer.Option("--engine", help="Work on a folder of Parquet files where a cluster has the rows."),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="The cluster of the engine; by default this machine."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of splits and models.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Folds to fit at the same time; -1 for all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No notes and no progress.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the whole trace of an error.")]


def run(arguments: Sequence[str]) -> int:
    """Run a command with the given arguments and return its exit code."""
    try:
        code = app(list(arguments), prog_name="aucross", standalone_mode=True, obj=list(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return int(code or 0)


def _with_a_screen(function: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """Return the command with the options that all commands share (JSON, quiet, debug), and print its result."""

    @wraps(function)
    def with_a_screen(*, as_json: bool, quiet: bool, debug: bool, **options: Any) -> None:
        screen = Screen(as_json, quiet)
        try:
            with reported(screen.note, debug=debug):
                screen.check_open()
                screen.document(function(screen, **options))
        except Exit as end:
            raise typer.Exit(end.code) from None

    _, *own = signature(function, eval_str=True).parameters.values()
    of_all = {"as_json": Json, "quiet": Quiet, "debug": Debug}
    switches = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for name, kind in of_all.items()
    ]
    vars(with_a_screen)["__signature__"] = Signature([*own, *switches])  # what typer reads
    return with_a_screen


def _reading(separator: str | None, decimal: str | None, thousands: str | None) -> dict[str, Any]:
    """Return the settings for reading a table, from the options that all commands share."""
    from aucross.cli.numbers import number_format  # noqa: PLC0415
    from aucross.cli.table_files import check_separator  # noqa: PLC0415

    return {"separator": check_separator(separator), "numbers": number_format(decimal, thousands)}


def _given_score(column: str | None, threshold: float | None, low_is_positive: bool) -> GivenScore | None:
    """Return the score column that the options name; None if they name none."""
    if column is None:
        if threshold is not None or low_is_positive:
            option = "--threshold" if threshold is not None else "--low-is-positive"
            raise UsageError(f"{option} is about a score in the table; name its column with --score")
        return None
    return GivenScore(column, threshold, low_is_positive)


def _check_scheduler(engine: EngineName | None, scheduler: str | None) -> None:
    if engine is None and scheduler is not None:
        raise UsageError("--scheduler is the address of an engine; name it with --engine dask or --engine spark")


def _refuse_with_engine(options: dict[str, Any]) -> None:
    """Refuse options that need the rows in this process if an engine is used."""
    if given := [option for option, value in options.items() if value is not None]:
        raise UsageError(f"{given[0]} needs the rows in this process and is not for --engine; leave out one of them")


def _spelled(context: typer.Context) -> str | None:
    """Return the command as it was typed, for the report; None if it was not typed."""
    return f"aucross {shlex.join(context.obj)}" if context.obj else None


# ---- the commands ----


@command("aucross fit loans.csv --target default --coverage 0.9 --out model.aucross")
def fit(
    screen: Screen,
    *,
    context: typer.Context,
    data: Data,
    target: Target,
    coverage: Coverage = 0.9,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The model; by default TABLE.aucross.")
    ] = None,
    base: Annotated[
        Base | None, typer.Option("--base", help="The model that answers; hgb by default, logistic with the gate.")
    ] = None,
    method: Annotated[Method, typer.Option("--method", help="How rows for review are chosen.")] = Method.AUCROSS,
    ties: Annotated[
        Ties,
        typer.Option("--ties", help="split: cut through rows of one score by a hash of the row, to meet the coverage."),
    ] = Ties.WHOLE,
    score: ScoreOption = None,
    threshold: Threshold = None,
    low_is_positive: LowIsPositive = False,
    positive: Positive = None,
    test: TestFile = None,
    test_size: TestSize = 0.25,
    time_column: TimeColumn = None,
    weight: Weight = None,
    group: Group = None,
    band_group: BandGroup = None,
    id_column: Id = None,
    drop: Drop = None,
    by: By = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="The report; by default beside the model.")
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    engine: Engine = None,
    scheduler: Scheduler = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
) -> dict[str, Any]:
    """Fit a model that leaves some rows to review, test it on rows kept apart, and save it.

    Text is taken for categories, blanks for missing values. The model is fitted on the rows that are not kept apart.
    """
    from aucross.cli.fit import FitOptions, run_fit  # noqa: PLC0415
    from aucross.cli.schema import Roles  # noqa: PLC0415
    from aucross.cli.table_files import name_without_ending  # noqa: PLC0415

    _check_scheduler(engine, scheduler)
    of_any_fit: dict[str, Any] = {
        "data": data,
        "roles": Roles(target, id=id_column, weight=weight, group=group, time=time_column, band_group=band_group),
        "coverage": coverage,
        "base": base,
        "method": method,
        "test": test,
        "test_size": test_size,
        "drop": drop or (),
        "seed": seed,
        "command": _spelled(context),
    }
    if engine is not None:
        from aucross.cli.engines import EngineFitOptions, run_engine_fit  # noqa: PLC0415

        _refuse_with_engine(
            {"--score": score, "--by": by, "--report": report, "--positive": positive, "--band-group": band_group}
        )
        out = out or Path(f"{data.name}.aucross")
        return run_engine_fit(EngineFitOptions(engine=engine, scheduler=scheduler, out=out, **of_any_fit), screen)
    options = FitOptions(
        out=out or Path(f"{name_without_ending(data)}.aucross"),
        positive=positive,
        by=by,
        score=_given_score(score, threshold, low_is_positive),
        ties=ties,
        report=report,
        with_report=not no_report,
        jobs=jobs,
        **of_any_fit,
        **_reading(separator, decimal, thousands),
    )
    return run_fit(options, screen)


@command("aucross evaluate model.aucross test.csv --by region")
def evaluate(
    screen: Screen,
    *,
    model: Model,
    data: Data,
    coverage: CoverageOfModel = None,
    group: GroupOfModel = None,
    by: By = None,
    engine: Engine = None,
    scheduler: Scheduler = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
) -> dict[str, Any]:
    """Test a model on labelled rows that it was not fitted on."""
    _check_scheduler(engine, scheduler)
    if engine is not None:
        from aucross.cli.engines import run_engine_evaluate  # noqa: PLC0415

        _refuse_with_engine({"--by": by, "--group": group})
        return run_engine_evaluate(engine, scheduler, model=model, data=data, coverage=coverage, screen=screen)
    from aucross.cli.judging import EvaluateOptions, run_evaluate  # noqa: PLC0415

    options = EvaluateOptions(model, data, coverage, by, group=group, **_reading(separator, decimal, thousands))
    return run_evaluate(options, screen)


@command("aucross predict model.aucross new.csv --out decisions.csv")
def predict(
    screen: Screen,
    *,
    model: Model,
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Decisions, CSV or Parquet by the ending.")
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(
            "--record",
            metavar="RECORD",
            help="Record the decisions, in a file such as cases.db, or in PostgreSQL: env:NAME or file:PATH hold its "
            "address.",
        ),
    ] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="NAME", help="Name of the batch, which is decided once.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COLUMN", help="Keep a column in the record, erasable; can be given repeatedly."
        ),
    ] = None,
    shadow: Annotated[
        Path | None,
        typer.Option("--shadow", metavar="MODEL", help="A second model that decides in the record only."),
    ] = None,
    coverage: CoverageOfModel = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            "--capacity",
            help="Send exactly so many rows to review instead of a share; rows without a score come first, and all go.",
        ),
    ] = None,
    recalibrate: Annotated[
        bool, typer.Option("--recalibrate", help="Place the band on the scores of these rows, to meet the coverage.")
    ] = False,
    keep_coverage: Annotated[
        bool, typer.Option("--keep-coverage", help="Move the band from row to row, so that the coverage is kept.")
    ] = False,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column that names the rows; by default that of the fit."),
    ] = None,
    engine: Engine = None,
    scheduler: Scheduler = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
) -> dict[str, Any]:
    """Decide on every row: its score, its prediction, and whether it is automatic or for review.

    The order is that of the input, which may be larger than memory. The output appears when it is complete.
    """
    _check_scheduler(engine, scheduler)
    if (record is None) != (batch is None) or (record is None and (keep or shadow)):
        raise UsageError("--record and --batch belong together, and --keep and --shadow to them; give both, or none")
    if record is not None and batch is not None:
        from aucross.cli.recording import RecordedPredict, run_recorded_predict  # noqa: PLC0415

        if engine is not None or recalibrate or keep_coverage:
            raise UsageError(
                "--record: a batch is decided here and as the model says; leave out --engine, --recalibrate and "
                "--keep-coverage"
            )
        asked = out, coverage, capacity, id_column, tuple(keep or ()), shadow
        reading = _reading(separator, decimal, thousands)
        return run_recorded_predict(RecordedPredict(model, data, record, batch, *asked, **reading), screen)
    if out is None:
        raise UsageError("--out must name the file for the decisions, or --record and --batch where they are recorded")
    if engine is not None:
        from aucross.cli.engines import run_engine_predict  # noqa: PLC0415

        _refuse_with_engine(
            {"--capacity": capacity, "--recalibrate": recalibrate or None, "--keep-coverage": keep_coverage or None}
        )
        return run_engine_predict(
            engine, scheduler, model=model, data=data, out=out, coverage=coverage, id_column=id_column, screen=screen
        )
    from aucross.cli.predict import PredictOptions, run_predict  # noqa: PLC0415

    reading = _reading(separator, decimal, thousands)
    ways = capacity, recalibrate, keep_coverage
    options = PredictOptions(model, data, out, coverage, *ways, id_column, **reading)
    return run_predict(options, screen)


@command("aucross compare loans.csv --target default --base hgb --base logistic")
def compare(
    screen: Screen,
    *,
    data: Data,
    target: Target,
    coverage: Coverage = 0.9,
    base: Annotated[
        list[Base] | None, typer.Option("--base", help="Base models, repeatedly; by default all that are installed.")
    ] = None,
    method: Annotated[
        list[Method] | None, typer.Option("--method", help="Methods, repeatedly; by default all.")
    ] = None,
    score: ScoreOption = None,
    threshold: Threshold = None,
    low_is_positive: LowIsPositive = False,
    positive: Positive = None,
    test: TestFile = None,
    test_size: TestSize = 0.25,
    time_column: TimeColumn = None,
    weight: Weight = None,
    group: Group = None,
    id_column: Id = None,
    drop: Drop = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
) -> dict[str, Any]:
    """Fit all methods with all base models and set them side by side on the same test rows."""
    from aucross.cli.contestants import CompareOptions, run_compare  # noqa: PLC0415
    from aucross.cli.schema import Roles  # noqa: PLC0415

    options = CompareOptions(
        data=data,
        roles=Roles(target, id=id_column, weight=weight, group=group, time=time_column),
        positive=positive,
        coverage=coverage,
        bases=base or (),
        methods=method or (),
        test=test,
        test_size=test_size,
        drop=drop or (),
        score=_given_score(score, threshold, low_is_positive),
        seed=seed,
        jobs=jobs,
        **_reading(separator, decimal, thousands),
    )
    return run_compare(options, screen)


@command("aucross report model.aucross test.csv --out report.html")
def report(
    screen: Screen,
    *,
    context: typer.Context,
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The report, .html, .md or .json; by default beside the model."),
    ] = None,
    coverage: CoverageOfModel = None,
    group: GroupOfModel = None,
    by: By = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
) -> dict[str, Any]:
    """Write the report of a model on labelled rows that it was not fitted on."""
    from aucross.cli.judging import EvaluateOptions, run_report  # noqa: PLC0415

    reading = _reading(separator, decimal, thousands)
    options = EvaluateOptions(model, data, coverage, by, out, _spelled(context), group=group, **reading)
    return run_report(options, screen)


@command("aucross serve model.aucross --record cases.db")
def serve(
    screen: Screen,
    *,
    model: Model,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; others than this machine need a token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option("--port", help="Port to listen at; 0 takes a free one.")] = 8000,
    record: Annotated[
        str | None,
        typer.Option(
            "--record", metavar="RECORD", help="Record of decisions: a file such as cases.db, env:NAME or file:PATH."
        ),
    ] = None,
    shadow: Annotated[
        Path | None, typer.Option("--shadow", metavar="MODEL", help="A second model that decides in the record only.")
    ] = None,
    allow_coverage: Annotated[
        bool, typer.Option("--allow-coverage", help="Let callers ask for another coverage than the model's.")
    ] = False,
    keep_coverage: Annotated[
        bool, typer.Option("--keep-coverage", help="Move the band from row to row, so that the coverage is kept.")
    ] = False,
    webhook_file: Annotated[
        Path | None,
        typer.Option("--webhook-file", metavar="FILE", help="Holds an address that is told of final decisions."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="Holds the token that callers must send.")
    ] = None,
    most_bytes: Annotated[int, typer.Option("--most-bytes", min=1, help="Size of the largest request.")] = 1_000_000,
    most_rows: Annotated[int, typer.Option("--most-rows", min=1, help="Rows of the largest request.")] = 1_000,
    body_seconds: Annotated[
        float, typer.Option("--body-seconds", min=0.001, max=3600, help="Time in which a request must arrive whole.")
    ] = 10.0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A further name by which callers reach the server; can be given repeatedly.",
        ),
    ] = None,
) -> dict[str, Any]:
    """Decide on rows over HTTP: one or many at a time, typed as in the training table, until told to end.

    A decision is handed out when it is in the record. /docs describes the requests, /metrics counts for Prometheus.
    """
    from aucross.cli.serve import ServeCommand, run_serve  # noqa: PLC0415

    names = tuple(allow_host or ())
    limits = most_bytes, most_rows, body_seconds, names
    more = allow_coverage, shadow, webhook_file, keep_coverage
    options = ServeCommand(model, host, port, record, token_file, *limits, *more)
    return run_serve(options, screen)


@command("aucross demo")
def demo(
    screen: Screen,
    *,
    folder: Annotated[Path, typer.Option("--folder", help="Where the files go.")] = Path("demo-output"),
    rows: Annotated[int, typer.Option("--rows", help="Number of loans to make up.")] = 20_000,
) -> dict[str, Any]:
    """See what it is worth on made-up loans, beside the usual rule: a table, a report and a picture."""
    from aucross.cli.demo import run_demo  # noqa: PLC0415

    return run_demo(folder, rows, screen)


@command("aucross walkthrough --folder aucross-walkthrough")
def walkthrough(
    screen: Screen,
    *,
    folder: Annotated[Path, typer.Option("--folder", help="Where the files go.")] = Path("aucross-walkthrough"),
    rows: Annotated[int, typer.Option("--rows", help="Number of loans to make up.")] = 8000,
    seed: Seed = 0,
) -> dict[str, Any]:
    """Watch the commands at work: make up tables of loans, fit, decide and report, in a folder of its own."""
    from aucross.cli.demo import run_walkthrough  # noqa: PLC0415

    return run_walkthrough(folder, rows, seed, screen)


from aucross.cli import record_app  # noqa: E402, F401  (adds the commands of a record to those above)
