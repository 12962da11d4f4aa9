"""What people and programs see: tables and notes, or one JSON document."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aucross.cli.errors import OutputError, printable

if TYPE_CHECKING:
    from aucross.cli.progress import Progress


class Screen:
    """Where the results of a command go.

    Parameters
    ----------
    as_json : bool, default=False
        Print one JSON document instead of text.
    quiet : bool, default=False
        Print neither notes nor progress.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.notes: list[str] = []

    def check_open(self) -> None:
        """Refuse to start where nobody could read the result."""
        if sys.stdout is None:
            raise OutputError("the standard output is closed; open it, or send it to a file or to /dev/null")

    @property
    def progress(self) -> Progress:
        """Where to show what is under way."""
        from aucross.cli.progress import Progress  # noqa: PLC0415  (slow to import, and not needed for --help)

        return Progress(self.quiet)

    def note(self, text: str) -> None:
        """Tell something worth knowing, once; it is part of the JSON document too."""
        text = printable(text)
        if text in self.notes:
            return
        self.notes.append(text)
        self._tell(f"note: {text}")

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

    def document(self, content: Mapping[str, Any]) -> None:
        """Print the JSON document, if that was asked for."""
        if self.as_json:
            import json  # noqa: PLC0415  (not needed for --help)

            from aucross.system.text import json_ready  # noqa: PLC0415  (imports numpy)

            with _to_standard_output():
                print(json.dumps(json_ready({**content, "notes": self.notes}), indent=2, allow_nan=False))  # noqa: T201

    def _print(self, what: Any, **options: Any) -> None:
        from rich.console import Console  # noqa: PLC0415

        class Printer(Console):
            def on_broken_pipe(self) -> None:
                raise  # noqa: PLE0704  (rich calls this where it caught the error, and would end the process)

        with _to_standard_output():
            # Without a terminal there is no width to keep to, and a table must not lose its columns.
            Printer(width=None if sys.stdout.isatty() else 160).print(what, **options)

    def _tell(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def _to_standard_output() -> Iterator[None]:
    """Print at once, and say so if nobody takes it: a pipe that was closed, a disk that is full."""
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
