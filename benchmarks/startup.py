"""How long one waits for nothing: `aucross --help`, the import of every public name, the first `load` of a process.

    python -m benchmarks.startup

Each figure is the median of fresh processes that take turns, so that other work on the machine falls on both sides.
Loading is timed in seconds of the processor, after the imports of the library and of the model: what is left is what
the first call does and the second does not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.files import save

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


LOAD_TWICE = """
import sys, time
from sklearn.linear_model import LogisticRegression
from aucross.files import load
for _ in range(2):
    start = time.process_time()
    load(sys.argv[1])
    print(time.process_time() - start)
"""


def compare_loads() -> None:
    """The first and the second load of a process."""
    X, y = make_classification(1000, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clf.aucross"
        save(AUCross(LogisticRegression(), random_state=0).fit(X, y), path)
        command = [sys.executable, "-c", LOAD_TWICE, str(path)]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(REPEATS)]
    first, second = (median(times) for times in zip(*(map(float, run.split()) for run in runs), strict=True))
    print(f"{'first load of a process':28} {first / second:6.1f} x the second; {first:.3f} s against {second:.3f} s")


def main() -> None:
    compare_loads()
    compare("aucross --help", ("-m", "aucross", "--help"), "import typer, rich", "at most 1.3")
    compare("import aucross", ("-c", "import aucross"), "pass", "no library is loaded")
    every_name = ("-c", EVERY_NAME)
    compare("every public name of aucross", every_name, "import sklearn.base, sklearn.model_selection", "at most 1.3")


if __name__ == "__main__":
    main()
