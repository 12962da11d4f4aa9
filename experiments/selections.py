"""Selections of one classifier at many coverages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def select_each(clf: Any, X: Any, coverages: Iterable[float], band_groups: Any = None) -> np.ndarray:
    """Return the rows that a classifier selects at each coverage; they are scored once, and nothing is warned of."""
    if not hasattr(clf, "scored"):  # a network whose scores are stored
        return np.array([clf.select(X, coverage) for coverage in coverages])
    rows = clf.scored(X, band_groups=band_groups).rule_input
    selections = [clf.band_rule_.bands_of(rows, coverage).selected for coverage in coverages]
    return np.array(selections, dtype=bool).reshape(len(selections), len(rows))
