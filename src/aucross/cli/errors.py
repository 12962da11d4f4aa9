"""Errors of the command line: one line that names the column or option and the remedy, and an exit code."""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from threading import Event, Timer, current_thread, main_thread
from typing import Any

from aucross.system.libraries import import_library

# Libraries of the extra "cli".
EXTRA = ("typer", "rich", "pandas", "pyarrow")
INSTALL = 'pip install "aucross[cli]"'

INTERRUPTED = 128 + signal.SIGINT
OUTPUT_CLOSED = 141  # as of a program that a closed pipe ends


class CommandError(Exception):
    """An error in a file or its contents; the text says what is wrong and how to fix it."""

    exit_code = 1


class UsageError(CommandError):
    """An error in the options given."""

    exit_code = 2


class OutputError(CommandError):
    """An error in writing to the standard output."""

    exit_code = OUTPUT_CLOSED


@contextmanager
def reported(note: Callable[[str], None], *, debug: bool = False) -> Iterator[None]:
    """Turn errors into one line on stderr and an exit code, and warnings into notes."""
    interrupted = Event()
    try:
        with _warnings_as(note), _ended_by_signals(interrupted):
            yield
    except (KeyboardInterrupt, Exception) as error:
        # A library that is being imported may make another error of Ctrl-C.
        is_stopped = interrupted.is_set() or isinstance(error, KeyboardInterrupt)
        if debug and not is_stopped:
            traceback.print_exc()
        told = "stopped: nothing was left half-written" if is_stopped else f"error: {_described(error)}"
        print(told, file=sys.stderr, flush=True)  # noqa: T201
        raise SystemExit(INTERRUPTED if is_stopped else getattr(error, "exit_code", CommandError.exit_code)) from None


def _described(error: BaseException) -> str:
    """Return the text of an error, followed by its type if the type is unexpected."""
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRA:
        return f"the command line needs {error.name}, which is not installed: {INSTALL}"
    if isinstance(error, CommandError | ValueError | TypeError | ImportError):
        return one_line(error)
    return f"{one_line(error)} ({type(error).__name__}; --debug shows the trace)"


def one_line(error: object, longest: int = 600) -> str:
    """Return the text of an error without line breaks, shortened if it is long."""
    text = printable(" ".join(str(error).split()) or type(error).__name__)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def printable(text: str) -> str:
    """Return the text with control characters, and marks of writing direction, written as escapes."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


@contextmanager
def _warnings_as(note: Callable[[str], None]) -> Iterator[None]:
    """Show each warning once, as a note; leave out warnings for programmers."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        from aucross.estimators.strange_values import StrangeValuesWarning  # noqa: PLC0415  (slow, and seldom needed)

        # Of strange values in a batch the commands tell for the whole table.
        if issubclass(category, UserWarning | RuntimeWarning) and not issubclass(category, StrangeValuesWarning):
            note(one_line(message))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


@contextmanager
def _ended_by_signals(interrupted: Event) -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C, and remember that Ctrl-C was pressed."""

    def end(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    def interrupt(_number: int, _frame: Any) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    def unraisable(lost: Any) -> None:
        # Python drops what is raised in some callbacks, of imports for instance: then Ctrl-C comes once more.
        if issubclass(lost.exc_type, KeyboardInterrupt):
            Timer(0.01, signal.raise_signal, [signal.SIGINT]).start()
        else:
            hook(lost)

    if current_thread() is not main_thread():  # whoever started the thread decides about signals
        yield
        return
    wanted = {signal.SIGTERM: end, signal.SIGINT: interrupt}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job of a shell
        del wanted[signal.SIGINT]
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def opened(source: str, *, create: bool = False, backup: Path | None = None) -> Iterator[Any]:
    """Open the record at `source`, or restore it there from `backup`; raise its errors as CommandError."""
    part: Any = import_library("aucross.record", purpose="a record", extra="record")
    try:
        with (
            part.Record.open(source, create=create) if backup is None else part.Record.restore(backup, source) as found
        ):
            yield found
    except (part.RecordError, LookupError) as error:
        raise CommandError(one_line(error.args[0] if error.args else error)) from None


def listed(names: Iterable[object], most: int = 8) -> str:
    """Return names in quotes, as many as fit on a line."""
    from aucross.system.text import first_few  # noqa: PLC0415  (imports numpy)

    return first_few([repr(str(name)) for name in names], most)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint: the column that was probably meant, or a list of all columns."""
    names = list(names)
    by_lower_case = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), by_lower_case, n=1)
    return f"did you mean {by_lower_case[close[0]]!r}?" if close else f"the columns are {listed(names)}"
