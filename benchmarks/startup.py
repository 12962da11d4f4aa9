"""How long one waits for nothing: `aucross --help` and the import of every public name, as ratios to their libraries.

    python -m benchmarks.startup

Each figure is the median of fresh processes that take turns, so that other work on the machine falls on both sides.
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from time import perf_counter

REPEATS = 15
EVERY_NAME = "import aucross; [getattr(aucross, name) for name in aucross.__all__]"


def seconds(*arguments: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return perf_counter() - start


def compare(what: str, ours: tuple[str, ...], reference: str, target: str) -> None:
    runs = [(seconds(*ours), seconds("-c", reference)) for _ in range(REPEATS)]
    our_time, their_time = (median(times) for times in zip(*runs, strict=True))
    ratio = median(one / other for one, other in runs)
    times = f"{1000 * our_time:6.0f} ms against {1000 * their_time:6.0f} ms"
    print(f"{what:28} {ratio:6.3f} x `{reference}` ({target}); {times}", flush=True)


def main() -> None:
    compare("aucross --help", ("-m", "aucross", "--help"), "import typer, rich", "at most 1.3")
    compare("import aucross", ("-c", "import aucross"), "pass", "no library is loaded")
    every_name = ("-c", EVERY_NAME)
    compare("every public name of aucross", every_name, "import sklearn.base, sklearn.model_selection", "at most 1.3")


if __name__ == "__main__":
    main()
