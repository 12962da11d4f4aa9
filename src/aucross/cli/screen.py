"""Output for people and programs: tables, notes and progress, or one JSON document."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from aucross.cli.errors import OutputError, printable


class Screen:
    """Output of a command."""

    def __init__(self, as_json: bool = False, quiet: bool = False, command: str | None = None) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.command = command  # as it was typed, for the report
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Print a note once, and add it to the JSON document."""
        text = printable(text)
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.quiet:
            print(f"note: {text}", file=sys.stderr, flush=True)  # noqa: T201

    def say(self, text: str) -> None:
        """Print a sentence of the result."""
        if not self.as_json:
            self._print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def table(
        self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None = None
    ) -> None:
        """Print a table; one row can be marked."""
        if self.as_json:
            return
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415  (slow to import)
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        # Text objects on purpose: names from a file, such as [low], are no markup.
        table = Table(
            title=Text(printable(title)), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
        )
        for name in header:
            table.add_column(Text(printable(name)))
        for number, cells in enumerate(rows):
            table.add_row(*(Text(printable(cell)) for cell in cells), style="bold" if number == marked else None)
        self._print(table)

    def document(self, content: Mapping[str, Any], *, in_one_line: bool = False) -> None:
        """Print a JSON document at once, if JSON was asked for."""
        if self.as_json and content:
            import json  # noqa: PLC0415  (not needed for --help)

            from aucross.system.text import json_ready  # noqa: PLC0415  (imports numpy)

            ready, indent = json_ready({**content, "notes": self.notes}), None if in_one_line else 2
            with _to_standard_output():
                print(json.dumps(ready, indent=indent, allow_nan=False))  # noqa: T201

    @contextmanager
    def working(self, what: str, count: str = "") -> Iterator[Callable[..., None]]:
        """Show the work in progress on a terminal; yield a function that takes the number done and the total, if known.

        ``count`` says how these numbers are shown, such as "{task.completed:,} rows".
        """
        if self.quiet or not sys.stderr.isatty():
            yield lambda *_: None
            return
        from rich.console import Console  # noqa: PLC0415  (slow to import)
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        texts = TextColumn("{task.description}"), BarColumn(), TextColumn(count)
        columns = (SpinnerColumn(), *texts, TimeElapsedColumn())
        with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, total=None: bars.update(task, completed=done, total=total)

    @contextmanager
    def training(self, what: str, clf: Any) -> Iterator[None]:
        """Show the current step of a fit, if scikit-learn has callbacks (1.9 and later)."""
        trains_nothing = getattr(clf.estimator, "trains_nothing", False) and not hasattr(clf, "gate")
        if trains_nothing or not hasattr(clf, "set_callbacks"):
            with self.working(what):
                yield
            return

        def begun(number: int, total: int, step: str) -> None:
            bar(number - 1, total)
            if not (self.quiet or sys.stderr.isatty()):
                print(f"{what}: step {number} of {total}, {step}", file=sys.stderr, flush=True)  # noqa: T201

        with self.working(what, "{task.completed} of {task.total}") as bar:
            clf.set_callbacks(_Steps(begun))
            try:
                yield
            finally:
                clf.set_callbacks()  # none: they are no part of the model

    def _print(self, what: Any, **options: Any) -> None:
        from rich.console import Console  # noqa: PLC0415

        class Printer(Console):
            def on_broken_pipe(self) -> None:
                raise  # noqa: PLE0704  (rich calls this where it caught the error, and would end the process)

        with _to_standard_output():
            # Without a terminal there is no width to keep to, and a table must not lose its columns.
            Printer(width=None if sys.stdout.isatty() else 160).print(what, **options)


@contextmanager
def _to_standard_output() -> Iterator[None]:
    """Print at once; raise an OutputError if the pipe was closed or the disk is full."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # What is still to be printed goes nowhere, lest Python try once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(
            f"the standard output takes no more ({error.strerror}), and a part of the result was not printed; files "
            "named before are whole"
        ) from None


class _Steps:
    """A callback of scikit-learn that reports when a step of a fit begins."""

    def __init__(self, begun: Callable[[int, int, str], None]) -> None:
        self._begun = begun
        self._number = self._total = 0

    # scikit-learn gives all arguments by name.

    def setup(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """Learn the number of steps."""
        self._number, self._total = 0, context.max_subtasks

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: there is nothing to clean up."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:  # noqa: ARG002
        """Report a step of the fit; the fit as a whole does not count as a step."""
        if context.parent is not None:
            self._number += 1
            self._begun(self._number, self._total, context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
        """Do nothing: the beginning of the next step shows the end of this one."""
