"""Lines of finished work in one table that is kept with the sources, so that another machine goes on from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import store
from experiments.work import Work

FOLDER = Path(__file__).parent / "results" / "finished"
# What a line says of the run of its cell, beside what was measured.
OF_RUN = ["cell", "seconds_of_cell", "code"]


def lines(works: Iterable[Work]) -> Iterator[dict[str, Any]]:
    """Lines of the table of finished works."""
    for work in works:
        if (stored := work.stored()) is None:
            raise LookupError(f"{work.kind} {work.argument} is not finished")
        of_run = dict(zip(OF_RUN, (name_of(work), stored.seconds, stored.code), strict=True))
        yield from ({**row, **of_run} for row in stored.rows)


def write(works: Sequence[Work], path: Path) -> None:
    """Keep all finished works of one kind; no file where none is finished."""
    done = pd.DataFrame(lines(work for work in works if work.stored() is not None))
    if done.empty:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # No date in the file: the same cells give the same bytes.
    done.to_csv(path, index=False, float_format="%.7g", compression={"method": "gzip", "mtime": 0})


def read(path: Path) -> pd.DataFrame:
    """The kept lines; names and stamps of digits alone stay text."""
    return pd.read_csv(path, dtype={"cell": str, "code": str})


def take_over(works: Sequence[Work], path: Path) -> int:
    """Count the cells of an earlier table as done if they ran under the same settings; return how many did."""
    if not path.exists():
        return 0
    earlier = read(path)
    if not set(OF_RUN) <= set(earlier):
        return 0
    found = dict(iter(earlier.fillna({"code": ""}).groupby("cell")))
    taken = 0
    for work in works:
        cell = found.get(name_of(work))
        if cell is not None and work.stored() is None:
            rows = cell.drop(columns=OF_RUN).to_dict("records")
            first = cell.iloc[0]
            store.write(work.kind, work.key, store.Stored(rows, float(first["seconds_of_cell"]), str(first["code"])))
            taken += 1
    return taken


def name_of(work: Work) -> str:
    """A short name of the cell and its settings."""
    return sha256(repr(sorted(work.key.items(), key=lambda item: item[0])).encode()).hexdigest()[:12]
