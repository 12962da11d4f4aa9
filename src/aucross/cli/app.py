"""The commands and their options. A command calls the library, writes the result, and returns an exit code.

Modules that take long to import are imported inside the commands, and the options of a command are read when it is
run, so that ``--help`` does not wait.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, getdoc, signature
from typing import Annotated, Any

import rich  # noqa: F401  (part of the extra: its absence is to be noticed at the start)
import typer
from typer.core import TyperCommand, TyperGroup

from aucross.cli import command_options as given
from aucross.cli.errors import INTERRUPTED, OutputError, UsageError, reported
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
        """Read the options of the command, and return its context."""
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
    """Turn a function that takes a screen and options into a command, with an example below its help text."""

    def register(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        made = _Command(function, example)
        _COMMANDS[str(made.name)] = made
        return function

    return register


def run(arguments: Sequence[str]) -> int:
    """Run a command with the given arguments and return its exit code."""
    try:
        code = app(list(arguments), prog_name="aucross", standalone_mode=True, obj=list(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return int(code or 0)


_SWITCHES = {
    "as_json": ("--json", "Print one JSON document and nothing else."),
    "quiet": ("--quiet", "No notes and no progress."),
    "debug": ("--debug", "Show the whole trace of an error."),
}


def _with_a_screen(function: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """Return the command with the options that all commands share (JSON, quiet, debug), and print its result."""
    _, *own = signature(function, eval_str=True).parameters.values()
    made: Any = own[0].annotation if is_dataclass(own[0].annotation) else None

    @wraps(function)
    def with_a_screen(*, context: typer.Context, as_json: bool, quiet: bool, debug: bool, **options: Any) -> None:
        screen = Screen(as_json, quiet, f"aucross {shlex.join(context.obj)}" if context.obj else None)
        with reported(screen.note, debug=debug):
            if sys.stdout is None:
                raise OutputError("the standard output is closed; open it, or send it to a file or to /dev/null")
            screen.document(function(screen, **options) if made is None else function(screen, made(**options)))

    shared = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, (option, text) in _SWITCHES.items():
        kind = Annotated[bool, typer.Option(option, help=text)]
        shared.append(Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind))
    # What typer reads.
    vars(with_a_screen)["__signature__"] = Signature([*(own if made is None else given.parameters(made)), *shared])
    return with_a_screen


# ---- the commands ----


def _forward(path: str, options: type, example: str, text: str) -> None:
    """Add a command whose function, in another module, is imported only when the command is run."""
    module, function = path.split(".")

    def forwarded(screen: Screen, options: Any) -> dict[str, Any]:
        return getattr(import_module(f"aucross.cli.{module}"), function)(options, screen)

    forwarded.__name__, forwarded.__doc__ = example.split()[1], text
    forwarded.__annotations__["options"] = options
    command(example)(forwarded)


_forward(
    *("fit.run_fit", given.FitOptions, "aucross fit loans.csv --target default --coverage 0.9 --out model.aucross"),
    "Fit a model that leaves some rows to review, test it on rows kept apart, and save it.\n\nText is taken for "
    "categories, blanks for missing values. The model is fitted on the rows that are not kept apart.",
)
_forward(
    *("judging.run_evaluate", given.EvaluateOptions, "aucross evaluate model.aucross test.csv --by region"),
    "Test a model on labelled rows that it was not fitted on.",
)


@command("aucross predict model.aucross new.csv --out decisions.csv")
def predict(screen: Screen, options: given.PredictOptions) -> dict[str, Any]:
    """Decide on every row: its score, its prediction, and whether it is automatic or for review.

    The order is that of the input, which may be larger than memory. The output appears when it is complete.
    """
    record, batch = options.record, options.batch
    drawn = options.audit is not None or options.strip is not None
    of_record = options.keep or options.shadow or drawn or options.decide_unfamiliar
    if (record is None) != (batch is None) or (record is None and of_record):
        raise UsageError(
            "--record and --batch belong together, and --keep, --shadow, --audit, --strip and --decide-unfamiliar to "
            "them; give both, or none"
        )
    is_on_engine = options.uses_engine("capacity", "recalibrate", "keep_coverage")
    if record is not None and batch is not None:
        from aucross.cli.recording import run_recorded_predict  # noqa: PLC0415

        if is_on_engine or options.recalibrate or options.keep_coverage:
            raise UsageError(
                "--record: a batch is decided here and as the model says; leave out --engine, --recalibrate and "
                "--keep-coverage"
            )
        return run_recorded_predict(options, record, batch, screen)
    if options.out is None:
        raise UsageError("--out must name the file for the decisions, or --record and --batch where they are recorded")
    if is_on_engine:
        from aucross.cli.engines import run_engine_predict  # noqa: PLC0415

        return run_engine_predict(options, options.out, screen)
    from aucross.cli.predict import run_predict  # noqa: PLC0415

    return run_predict(options, options.out, screen)


_forward(
    *(
        "contestants.run_compare",
        given.CompareOptions,
        "aucross compare loans.csv --target default --base hgb --base logistic",
    ),
    "Fit all methods with all base models and set them side by side on the same test rows.",
)
_forward(
    *("judging.run_report", given.ReportOptions, "aucross report model.aucross test.csv --out report.html"),
    "Write the report of a model on labelled rows that it was not fitted on.",
)
_forward(
    *("serve.run_serve", given.ServeCommand, "aucross serve model.aucross --record cases.db"),
    "Decide on rows over HTTP: one or many at a time, typed as in the training table, until told to end.\n\nA decision "
    "is handed out when it is in the record. /docs describes the requests, /metrics counts for Prometheus.",
)
_forward(
    *("demo.run_demo", given.DemoOptions, "aucross demo"),
    "See what it is worth on made-up loans, beside the usual rule: a table, a report and a picture.",
)
_forward(
    *("demo.run_walkthrough", given.WalkthroughOptions, "aucross walkthrough --folder aucross-walkthrough"),
    "Watch the commands at work: make up tables of loans, fit, decide and report, in a folder of its own.",
)

from aucross.cli import desk_app, record_app  # noqa: E402, F401  (add their commands to those above)
