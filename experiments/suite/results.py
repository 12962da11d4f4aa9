"""The results of the suite as one tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.work import Work, results


def write_results(works: Sequence[Work], output: Path) -> None:
    """Write the table of all finished cells."""
    output.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(results(works)).to_csv(output / "cells.csv.gz", index=False, float_format="%.6g")
