"""One machine to its limit: a hundred million scores in a Parquet file are ranked, a band is placed and judged.

    python -m benchmarks.out_of_core [--rows 10000000] [--folder /tmp]

Writes a file of scores (float64), labels and weights under a temporary folder, then runs each of these in a process of
its own and prints its seconds and the most memory that it took:

polars      reads scores and labels and sorts them by score
duckdb      does the same, into a table
aucross     `rank_parquet`, the band at coverage .9, `evaluate_ranking` at seven coverages with intervals, a promise
weights     the same with weights

Seconds are of the clock, and of all processors together, which a busy machine changes less. The file is in the cache of
the system for all. The aim: at most 3 times the faster sort, by either. The last lines compare the numbers of 20
bits with those of scores as they are, on the first 2 million rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHUNK = 2_000_000
COMPARED_ROWS = 2_000_000


def write(path: Path, n_rows: int) -> None:
    """Scores of a model of AUC .8 with 10 % positives, as probabilities."""
    rng = np.random.default_rng(0)
    schema = pa.schema([("score", pa.float64()), ("label", pa.bool_()), ("weight", pa.float64())])
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as writer:
        for first in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - first)
            label = rng.random(n) < 0.1
            score = 1.0 / (1.0 + np.exp(2.7 - rng.normal(size=n) - 1.2 * label))
            columns = [pa.array(score), pa.array(label), pa.array(np.round(rng.lognormal(size=n), 2) + 0.01)]
            writer.write_batch(pa.record_batch(columns, schema=schema))


# ---- what is measured, each in a process of its own ----


def sort_by_polars(path: str) -> dict[str, float]:
    import polars as pl  # noqa: PLC0415  (only this process needs it)

    start = perf_counter()
    table = pl.read_parquet(path, columns=["score", "label"]).sort("score")
    assert table.height
    return {"sorted": perf_counter() - start}


def sort_by_duckdb(path: str) -> dict[str, float]:
    import duckdb  # noqa: PLC0415

    with duckdb.connect() as connection:
        start = perf_counter()
        connection.execute("CREATE TABLE sorted AS SELECT score, label FROM read_parquet(?) ORDER BY score", [path])
        return {"sorted": perf_counter() - start}


def rank_by_aucross(path: str, weight: str | None = None) -> dict[str, float]:
    from aucross import AUCross, ScoreColumn  # noqa: PLC0415
    from aucross.estimators import classifier_from_ranking  # noqa: PLC0415
    from aucross.evaluation import evaluate_ranking, promise_ranking  # noqa: PLC0415
    from aucross.export import rank_parquet  # noqa: PLC0415

    start = perf_counter()
    ranked = rank_parquet(path, score="score", label="label", weight=weight)
    at = {"ranked": perf_counter() - start}
    clf = classifier_from_ranking(AUCross(ScoreColumn("score"), coverage=0.9), ranked)
    clf.band()
    at["placed"] = perf_counter() - start
    evaluation = evaluate_ranking(ranked, clf)
    promise_ranking(ranked, clf)
    at["judged"] = perf_counter() - start
    row = evaluation.rows()[3]
    at |= {name: row[f"selective_auc{name}"] for name in ("", "_low", "_high")}
    return at | {"entries": float(len(ranked))}


def compare(path: str) -> dict[str, float]:
    """Bands placed on 20 bits and on scores as they are, both judged on scores as they are."""
    from aucross.core import RankedScores, ScoreRounding, estimate_auc_bands  # noqa: PLC0415

    rows = next(pq.ParquetFile(path).iter_batches(COMPARED_ROWS, columns=["score", "label"]))
    score, label = rows["score"].to_numpy(), rows["label"].to_numpy(zero_copy_only=False)
    rounding = ScoreRounding(20)
    exact, binned = (RankedScores.from_labels(label, values) for values in (score, rounding.round(score)))
    band = rounding.widen(estimate_auc_bands(binned).band(0.9))
    ours = estimate_auc_bands(exact).band(0.9)
    return {
        "coverage counted in 20 bits - exact": binned.coverage(band) - exact.coverage(band),
        "AUC counted in 20 bits - exact": binned.auc(band) - exact.auc(band),
        "AUC of the band of 20 bits - of the exact band": exact.auc(band) - exact.auc(ours),
    }


PARTS: dict[str, Callable[[str], dict[str, float]]] = {
    "polars": sort_by_polars,
    "duckdb": sort_by_duckdb,
    "aucross": rank_by_aucross,
    "weights": lambda path: rank_by_aucross(path, "weight"),
    "compare": compare,
}


def measured(part: str, path: Path) -> dict[str, Any]:
    """Run a part in a process of its own; its times, and the most memory that it took."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--part", part, "--file", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--file")
    options = parser.parse_args()
    if options.part is not None:
        before = process_time()
        found = PARTS[options.part](options.file)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"found": found, "processor": process_time() - before, "megabytes": peak}))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "scores.parquet"
        write(path, options.rows)
        with path.open("rb") as file:  # into the cache, for all alike; a process starts with the peak of its parent
            while file.read(2**24):
                pass
        report(path, options.rows)


def report(path: Path, n_rows: int) -> None:
    print(f"{n_rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB of Parquet, {os.cpu_count()} processors")
    print("            clock  processors   memory")
    clock, processor = {}, {}
    for part in ("polars", "duckdb", "aucross", "weights"):
        result = measured(part, path)
        found = result["found"]
        clock[part], processor[part] = found.get("sorted", found.get("judged")), result["processor"]
        stages = [f"{name} after {found[name]:.1f} s" for name in ("ranked", "placed", "judged") if name in found]
        line = f"{part:8} {clock[part]:7.1f} s {processor[part]:9.1f} s {result['megabytes']:6,.0f} MB"
        print(f"{line}  {', '.join(stages)}", flush=True)
        if part == "aucross":
            print(f"{'':9}AUC at coverage .9: {found['']:.5f} [{found['_low']:.5f}, {found['_high']:.5f}]; ", end="")
            print(f"{found['entries']:,.0f} distinct scores of 20 bits")
    for name, seconds in (("clock", clock), ("processors", processor)):
        times = seconds["aucross"] / min(seconds["polars"], seconds["duckdb"])
        print(f"aucross takes {times:.2f} times the faster sort by the {name} (aim: at most 3)")
    for name, value in measured("compare", path)["found"].items():
        print(f"{name}: {value:.1e}")


if __name__ == "__main__":
    main()
