"""Run the benchmarks, one after the other, each in a process of its own: python -m benchmarks [NAME ...].

Some are run in part or are small here; `LONGER` says which take hours and how they are run.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

# What each is asked for.
RUNS: dict[str, tuple[str, ...]] = {
    "published_figures": (),
    "placement": (),
    "heavy_ties": (),
    "gate": (),
    "groups_adult": (),
    "base_rate": (),
    "missing_indicators": (),
    "multiclass": (),
    "multiclass_speed": (),
    "auc_promise": (),
    "promise_coverage": (),
    "recalibrate": (),
    "reasons": (),
    "unfamiliar": (),
    "keeper": (),
    "drift_alarm": (),
    "streams": (),
    "startup": (),
    "speed": (),
    "ratios": (),
    "install": (),
    "corridor": (),
    "command_line": (),
    "intervals": (),
    "coverage_promise": ("rules", "weights"),
    "operations": (),
    "audit": (),
    "crossfit_coverage": (),
    "figures": (),
    "out_of_core": (),
    "serve_load": (),
    "record": ("--rows", "100000"),
    "desk": ("--minutes", "0.5", "--cases", "10000"),
    "earned": ("--streams", "100"),
    "strip": (),
    "physicians": (),
    "reading": (),
    "onnx_suite": (),
    "dask_scale": (),
    "spark_scale": (),
    "torch_speed": (),
    "torch_auc": (),
    "house_size": (),
    "house_paths": (),
}
LIBRARIES = {
    "ratios": "sqlalchemy",
    "house_paths": "fastapi",
    "serve_load": "fastapi",
    "record": "sqlalchemy",
    "desk": "fastapi",
    "onnx_suite": "onnx",
    "dask_scale": "dask",
    "spark_scale": "pyspark",
    "torch_speed": "torch",
    "torch_auc": "torch",
}
LONGER = """
python -m benchmarks.earned                                  1,000 streams of each law, hours
python -m benchmarks.speed growth
python -m benchmarks.coverage_promise                        all parts, about an hour
python -m benchmarks.crossfit_coverage run                   hours; above are the tables of benchmarks/results
python -m benchmarks.record                                 a million decisions, on both databases
python -m benchmarks.desk --out benchmarks/results/desk.md   five minutes of work on each database
python -m benchmarks.keeper scores; python -m benchmarks.keeper steps     above are the tables of benchmarks/results
python -m benchmarks.keeper hostile
python -m benchmarks.onnx_suite FOLDER                       above is the table of benchmarks/results
python -m benchmarks.out_of_core --rows 100000000
python -m benchmarks.dask_scale --rows 1000000,5000000,20000000
"""


def main(names: list[str]) -> int:
    """Run benchmarks and return the number of those that failed."""
    if unknown := [name for name in names if name not in RUNS]:
        raise SystemExit(f"there is no benchmark {', '.join(unknown)}; the names are {', '.join(RUNS)}")
    failed = []
    for name in names or RUNS:
        print(f"\n== benchmarks.{name} {' '.join(RUNS[name])}".rstrip(), flush=True)
        if (library := LIBRARIES.get(name)) and find_spec(library) is None:
            print(f"not run: it needs {library}")
            continue
        command = [sys.executable, "-m", f"benchmarks.{name}", *RUNS[name]]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    print(f"\nnot run here:{LONGER}" + (f"\nfailed: {', '.join(failed)}" if failed else ""), end="")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
