"""Progress on the terminal: the steps of a fit, the rows read so far, or that something is under way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


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
    def training(self, what: str, clf: Any) -> Iterator[None]:
        """Show which step of a fit is under way, where scikit-learn has callbacks to tell it (1.9 and later).

        Parameters
        ----------
        what : str
            What is fitted.
        clf : SelectiveClassifier
            The classifier that will be fitted within.
        """
        trains_nothing = getattr(clf.estimator, "trains_nothing", False) and not hasattr(clf, "gate")
        if trains_nothing or not hasattr(clf, "set_callbacks"):
            with self.wait(what):
                yield
            return

        def begun(number: int, total: int, step: str) -> None:
            bar(number - 1, total)
            if not (self.quiet or _is_terminal()):
                print(f"{what}: step {number} of {total}, {step}", file=sys.stderr, flush=True)  # noqa: T201

        with self._bar(what, "{task.completed} of {task.total}") as bar:
            clf.set_callbacks(_Steps(begun))
            try:
                yield
            finally:
                clf.set_callbacks()  # none: they are no part of the model

    @contextmanager
    def rows(self, what: str) -> Iterator[Callable[..., None]]:
        """Show how many rows have been read."""
        with self._bar(what, "{task.completed:,} rows") as bar:
            yield bar

    @contextmanager
    def parts(self, what: str) -> Iterator[Callable[..., None]]:
        """Show how many of several files are done."""
        with self._bar(what, "{task.completed} of {task.total} files") as bar:
            yield bar

    @contextmanager
    def wait(self, what: str) -> Iterator[None]:
        """Show that something is under way that cannot be counted."""
        with self._bar(what, ""):
            yield

    @contextmanager
    def _bar(self, what: str, count: str) -> Iterator[Callable[..., None]]:
        """Yield what shows the number done, and the number of all if it is known."""
        if self.quiet or not _is_terminal():
            yield lambda *_: None
            return
        from rich.console import Console  # noqa: PLC0415  (slow to import)
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
        from rich.progress import Progress as Bars  # noqa: PLC0415

        texts = TextColumn("{task.description}"), BarColumn(), TextColumn(count)
        columns = (SpinnerColumn(), *texts, TimeElapsedColumn())
        with Bars(*columns, console=Console(file=sys.stderr), transient=True) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, total=None: bars.update(task, completed=done, total=total)


def _is_terminal() -> bool:
    return sys.stderr.isatty()


class _Steps:
    """A callback of scikit-learn that tells when a step of a fit begins."""

    def __init__(self, begun: Callable[[int, int, str], None]) -> None:
        self._begun = begun
        self._number = self._total = 0

    # scikit-learn gives all arguments by name.

    def setup(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """Learn how many steps there will be."""
        self._number, self._total = 0, context.max_subtasks

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing is left to do."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:  # noqa: ARG002
        """Tell of a step; the fit as a whole is none."""
        if context.parent is not None:
            self._number += 1
            self._begun(self._number, self._total, context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
        """Nothing is shown of the end of a step but the beginning of the next."""
