"""The command `aucross` (extra ``cli``): options in, library calls, output and an exit code out."""

from __future__ import annotations

import sys

from aucross.cli.errors import INSTALL


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from aucross.cli.app import run  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "aucross":
            raise
        print(f"the command line needs {error.name}, which is not installed: {INSTALL}", file=sys.stderr)  # noqa: T201
        raise SystemExit(1) from None
    raise SystemExit(run(sys.argv[1:]))
