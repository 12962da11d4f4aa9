"""Errors of the command line: one line that names the column or option and the remedy, and an exit code."""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

# Libraries of the extra "cli".
EXTRA = ("typer", "rich", "pandas", "pyarrow")
INSTALL = 'pip install "aucross[cli]"'

DATA_ERROR = 1
USAGE_ERROR = 2
INTERRUPTED = 128 + signal.SIGINT


class CommandError(Exception):
    """Something is wrong with a file or its contents; the text says what and how to mend it."""

    exit_code = DATA_ERROR


class UsageError(CommandError):
    """Something is wrong with the options given."""

    exit_code = USAGE_ERROR


class Exit(Exception):  # noqa: N818  (it ends a command, whether or not something went wrong)
    """End of a command whose message has been printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def reported(note: Callable[[str], None], *, debug: bool = False) -> Iterator[None]:
    """Turn errors into one line on stderr and an exit code, and warnings into notes.

    Parameters
    ----------
    note : callable
        Prints one note.
    debug : bool, default=False
        Print the whole trace before the line.
    """
    try:
        with _warnings_as(note), _ended_by_signals():
            yield
    except KeyboardInterrupt:
        _print("stopped: nothing was left half-written")
        raise Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            traceback.print_exc()
        _print(f"error: {_described(error)}")
        raise Exit(getattr(error, "exit_code", DATA_ERROR)) from None


def _described(error: Exception) -> str:
    """The text of an error; those of this package say what to do, of others the kind is worth knowing."""
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRA:
        return f"the command line needs {error.name}, which is not installed: {INSTALL}"
    if isinstance(error, CommandError | ValueError | TypeError | ImportError):
        return one_line(error)
    return f"{one_line(error)} ({type(error).__name__}; --debug shows the trace)"


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def one_line(error: object, longest: int = 600) -> str:
    """The text of an error without line breaks, cut where it gets too long."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= longest else text[: longest - 3] + "..."


@contextmanager
def _warnings_as(note: Callable[[str], None]) -> Iterator[None]:
    """Show each warning once, as a note; warnings for programmers are none of the user's business."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning | RuntimeWarning):
            note(one_line(message))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) clean up as Ctrl-C does."""

    def end(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread: whoever started the thread decides about signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def listed(names: Iterable[object], most: int = 8) -> str:
    """Names in quotes, as many as fit on a line."""
    names = list(names)
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint at the column that may be meant, or the columns that there are."""
    names = list(names)
    by_lower_case = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), by_lower_case, n=1)
    return f"did you mean {by_lower_case[close[0]]!r}?" if close else f"the columns are {listed(names)}"
