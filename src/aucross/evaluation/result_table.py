"""Base class of result tables: as dictionaries, pandas, Arrow, aligned text and notebook cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

import numpy as np

from aucross.core.ranking import FloatArray
from aucross.system.notebook import Estimate, arrow_stream, strips

# Short heads for narrow tables; other metrics keep their name.
_HEADS = {
    "achieved_coverage": "reached",
    "selective_auc": "AUC",
    "auc_gain": "AUC gain",
    "selective_accuracy": "accuracy",
    "positive_rate": "positive rate",
    "positives_for_review": "positives for review",
    "hand_till_m": "Hand and Till's M",
    "auc_mu": "AUC-mu",
}


class ResultTable:
    """Base class of tables of results; a subclass defines the rows."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        try:
            import pandas as pd  # noqa: PLC0415  (an extra: only this method needs it)
        except ImportError:
            raise ImportError('to_frame needs pandas: pip install "aucross[frames]"; rows() works without') from None
        return pd.DataFrame(self.rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow's C interface."""
        rows = self.rows()
        return arrow_stream({name: [row[name] for row in rows] for name in rows[0]}, requested_schema)


def text_table(rows: Sequence[Mapping[str, Any]], numbers: Sequence[str], labels: Sequence[str] = ()) -> str:
    """Return rows as aligned text: labels, target coverage, and estimates with their intervals."""
    lines = [[*labels, "target_coverage", *numbers]]
    for row in rows:
        coverage = row["target_coverage"]
        # More decimals only where two would say something else: 0.975 is not 0.97.
        cells = [str(row[name]) for name in labels]
        cells.append(f"{coverage:.2f}" if round(coverage, 2) == coverage else f"{coverage:g}")
        for name in numbers:
            low, high = (row.get(f"{name}_{end}", nan) for end in ("low", "high"))
            cells.append(f"{row[name]:.3f}" + ("" if isnan(low) else f" [{low:.3f}, {high:.3f}]"))
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def estimate_of(row: Mapping[str, Any], name: str) -> Estimate:
    """Return a number of a row with its interval."""
    return Estimate(row[name], *(row.get(f"{name}_{end}", nan) for end in ("low", "high")))


def shown_metrics(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Estimate]:
    """Return the metrics of a row as cells, without the coverage error, which follows from two other cells."""
    return {head_of(name): estimate_of(row, name) for name in names if name != "coverage_error"}


def head_of(name: str) -> str:
    """Return the short name of a metric for the head of a narrow table."""
    return _HEADS.get(name, name)


def with_pictures(table: list[dict[str, Any]], head: str, mark: float) -> list[dict[str, Any]]:
    """Append small interval plots of one column, with a line at `mark`; do nothing if there are no intervals."""
    if not any(row[head].has_interval for row in table):
        return table
    pictures = strips([row[head] for row in table], mark)
    return [{**row, f"{head} ": picture} for row, picture in zip(table, pictures, strict=True)]


def bootstrap_spread(name: str, replicates: FloatArray, confidence_level: float) -> dict[str, FloatArray]:
    """Return the standard deviation and percentile interval of each column, over the replicates where it is defined."""
    tail = (1 - confidence_level) / 2
    sd, low, high = (np.full(replicates.shape[1], np.nan) for _ in range(3))
    for column, values in enumerate(replicates.T):
        defined = np.ascontiguousarray(values[~np.isnan(values)])
        if len(defined) < 2:
            continue
        if np.isfinite(defined).all():
            sd[column] = defined.std(ddof=1)
            low[column], high[column] = np.quantile(defined, [tail, 1 - tail])
        else:
            # An odds ratio, say, can be infinite: nothing lies between a number and infinity.
            low[column] = np.quantile(defined, tail, method="lower")
            high[column] = np.quantile(defined, 1 - tail, method="higher")
    return {f"{name}_sd": sd, f"{name}_low": low, f"{name}_high": high}
