"""The command `aucross` (extra ``cli``): options in, library calls, output and an exit code out."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a shell's background jobs ignore it
        signal.signal(signal.SIGINT, _stop_at_once)
    if sys.stderr is None:  # closed by the caller; the next file to be opened must not take its place
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open to the end)
    from aucross.cli.errors import INSTALL  # noqa: PLC0415

    try:
        from aucross.cli.app import run  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "aucross":
            raise
        if sys.argv[1:] == ["demo"]:
            from aucross.cli import demo  # noqa: PLC0415  (takes seconds to import, and works without the extra)

            demo.print_comparison(demo.compare_on_loans(demo.N_LOANS), print)
            print(f"\n{demo.MORE}")  # noqa: T201
            raise SystemExit(0) from None
        print(f"the command line needs {error.name}, which is not installed: {INSTALL}", file=sys.stderr)  # noqa: T201
        raise SystemExit(1) from None
    raise SystemExit(run(sys.argv[1:]))


def _stop_at_once(number: int, _frame: Any) -> None:
    """End at once on Ctrl-C while modules are imported, when nothing is being written yet."""
    os.write(2, b"stopped: nothing was left half-written\n")
    os._exit(128 + number)
