"""What people and programs see: tables, notes and progress, or one JSON document."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aucross.system.text import json_ready

# Logs a line whenever the model of a fold is trained.
_FOLD_LOGGER = "aucross.estimators.held_out"


@dataclass
class Screen:
    """Where the results of a command go.

    Parameters
    ----------
    as_json : bool, default=False
        Print one JSON document instead of text.
    quiet : bool, default=False
        Print neither notes nor progress.
    """

    as_json: bool = False
    quiet: bool = False
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Tell something worth knowing, once; it is part of the JSON document too."""
        if text in self.notes:
            return
        self.notes.append(text)
        self._tell(f"note: {text}")

    def say(self, text: str) -> None:
        """Print a sentence of the result."""
        if not self.as_json:
            self._console().print(text, highlight=False, markup=False, soft_wrap=True)

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
        table = Table(title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        for name in header:
            table.add_column(Text(name))
        for number, cells in enumerate(rows):
            table.add_row(*map(Text, cells), style="bold" if number == marked else None)
        self._console().print(table)

    def document(self, content: Mapping[str, Any]) -> None:
        """Print the JSON document, if that was asked for."""
        if self.as_json:
            print(json.dumps(json_ready({**content, "notes": self.notes}), indent=2, allow_nan=False))  # noqa: T201

    @contextmanager
    def folds(self, what: str, total: int) -> Iterator[None]:
        """Show which of the models to train is under way, as the folds say so in the log of this process."""

        def started(number: int) -> None:
            bar(number - 1)
            if not self._is_terminal():
                self._tell(f"{what}: model {number} of {max(number, total)}")

        with self._bar(what, "{task.completed} of {task.total}", total) as bar, _each_fold(started):
            yield

    @contextmanager
    def rows(self, what: str) -> Iterator[Callable[[int], None]]:
        """Show how many rows have been read."""
        with self._bar(what, "{task.completed:,} rows") as bar:
            yield bar

    @contextmanager
    def wait(self, what: str) -> Iterator[None]:
        """Show that something is under way that cannot be counted."""
        with self._bar(what, ""):
            yield

    @contextmanager
    def _bar(self, what: str, count: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        if self.quiet or not self._is_terminal():
            yield lambda _: None
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        texts = TextColumn("{task.description}"), BarColumn(), TextColumn(count)
        columns = (SpinnerColumn(), *texts, TimeElapsedColumn())
        with Progress(*columns, console=self._console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda done: progress.update(task, completed=done)

    def _is_terminal(self) -> bool:
        return sys.stderr.isatty()

    def _console(self, *, stderr: bool = False) -> Any:
        from rich.console import Console  # noqa: PLC0415

        stream = sys.stderr if stderr else sys.stdout
        # Without a terminal there is no width to keep to, and a table must not lose its columns.
        return Console(file=stream, width=None if stream.isatty() else 160)

    def _tell(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def _each_fold(started: Callable[[int], None]) -> Iterator[None]:
    """Call with 1, 2, ... whenever the library logs that it trains the model of a fold."""
    logger = logging.getLogger(_FOLD_LOGGER)
    handler = _Counting(started)
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


class _Counting(logging.Handler):
    def __init__(self, started: Callable[[int], None]) -> None:
        super().__init__(logging.DEBUG)
        self._started = started
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count the folds; other lines of the log are of no interest here."""
        if "training on" in record.msg:
            self._count += 1
            self._started(self._count)
