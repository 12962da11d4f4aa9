"""What an installation takes: megabytes of the core and of each extra, and the processor time of pip.

    python -m benchmarks.install              # sizes, from what is installed here; writes benchmarks/results/install.md
    python -m benchmarks.install core cli     # the same, with an installation of these into empty environments

Sizes are those of the files of every distribution that the extra needs, each counted once. An installation compiles
nothing and fetches wheels, so its time by the clock is that of the network; the processor time is pip's own.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from experiments import markdown

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "install.md"
EXTRAS = (
    *("frames", "plots", "arrow", "report", "cli", "demo", "record", "serve", "desk"),
    *("onnx", "mlflow", "dask", "spark", "torch"),
)


def needed(name: str, extra: str = "", found: set[str] | None = None) -> set[str]:
    """Distributions that an extra of a distribution needs, itself included."""
    found = set() if found is None else found
    key = re.sub(r"[-_.]+", "-", name).lower()
    if f"{key}[{extra}]" in found:
        return found
    found |= {f"{key}[]", f"{key}[{extra}]"}
    try:
        requirements = [Requirement(text) for text in distribution(key).requires or ()]
    except PackageNotFoundError:
        return found
    for requirement in requirements:
        markers = [{"extra": extra}, {"extra": ""}] if extra else [{"extra": ""}]
        if requirement.marker is None or any(requirement.marker.evaluate(marker) for marker in markers):
            for further in ("", *requirement.extras):
                needed(requirement.name, further, found)
    return found


def megabytes(names: set[str]) -> float:
    """Size of the files of distributions, each once; those of this project are counted in its sources."""
    own = sum(path.stat().st_size for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc")
    total = own
    for name in {name.partition("[")[0] for name in names} - {"aucross"}:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
        total += sum(path.stat().st_size for path in paths if path.is_file())
    return total / 1e6


def seconds_of(extra: str) -> float:
    """Processor time of an installation into an empty environment."""
    what = str(ROOT) if extra == "core" else f"{ROOT}[{extra}]"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*pip, what], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(timed: list[str]) -> None:
    """Print and write the table."""
    core = needed("aucross")
    lines = []
    for name in ("core", *EXTRAS):
        names = needed("aucross", "" if name == "core" else name)
        n_others = len({needs.partition("[")[0] for needs in names}) - 1
        more = "" if name == "core" else f"{megabytes(names) - megabytes(core):+.0f}"
        took = f"{seconds_of(name):.0f} s" if name in timed else ""
        lines.append([f"`{name}`", str(n_others), f"{megabytes(names):.0f} MB", more, took])
        print(" | ".join(lines[-1]), flush=True)
    header = ["extra", "other packages", "size", "more than the core, MB", "processor time of pip"]
    RESULTS.write_text(markdown.table(header, lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
