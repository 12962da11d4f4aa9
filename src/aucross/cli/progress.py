"""Progress on the terminal: the models of a fit, the rows read so far, or that something is under way.

All that a command knows of it is this module, so that it can follow what the library reports.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Logs a line whenever the model of a fold is trained.
_FOLD_LOGGER = "aucross.estimators.held_out"


@dataclass(frozen=True)
class Progress:
    """What is under way, on the standard error.

    Parameters
    ----------
    quiet : bool, default=False
        Show nothing.
    """

    quiet: bool = False

    @contextmanager
    def training(self, what: str, clf: Any, n_rows: int) -> Iterator[None]:
        """Show which of the models that a fit trains is under way.

        Parameters
        ----------
        what : str
            What is fitted.
        clf : SelectiveClassifier
            The classifier that will be fitted within.
        n_rows : int
            Number of rows that it will be fitted on.
        """
        total = _n_models(clf, n_rows)
        if total is None:
            with self.wait(what):
                yield
            return

        def started(number: int) -> None:
            bar(number - 1)
            if not (self.quiet or _is_terminal()):
                print(f"{what}: model {number} of {max(number, total)}", file=sys.stderr, flush=True)  # noqa: T201

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
        if self.quiet or not _is_terminal():
            yield lambda _: None
            return
        from rich.console import Console  # noqa: PLC0415  (slow to import)
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
        from rich.progress import Progress as Bars  # noqa: PLC0415

        texts = TextColumn("{task.description}"), BarColumn(), TextColumn(count)
        columns = (SpinnerColumn(), *texts, TimeElapsedColumn())
        with Bars(*columns, console=Console(file=sys.stderr), transient=True) as bars:
            task = bars.add_task(what, total=total)
            yield lambda done: bars.update(task, completed=done)


def _is_terminal() -> bool:
    return sys.stderr.isatty()


def _n_models(clf: Any, n_rows: int) -> int | None:
    """How many models a fit trains: those of the folds, of the fewer folds that correct the coverage, and the last.

    None where they cannot be counted: a hold-out method trains one, a given score none, and folds in other processes do
    not say which of them is under way.
    """
    from aucross.estimators.placing import MOST_ROWS_TO_CORRECT  # noqa: PLC0415  (slow to import)

    trains_nothing = getattr(clf.estimator, "trains_nothing", False)
    if trains_nothing or not hasattr(clf, "correct_coverage") or clf.n_jobs != 1:
        return None
    n_of_each = clf.cv + (2 if n_rows <= MOST_ROWS_TO_CORRECT else 0) + 1
    return (2 if hasattr(clf, "gate") else 1) * n_of_each


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
