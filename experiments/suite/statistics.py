"""Paired tests: over the splits of one set, which share rows, and over sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]
LEVEL = 0.05


def corrected_p_value(differences: Sequence[float] | FloatArray, test_to_train: float) -> float:
    """Two-sided p-value of the corrected resampled t-test; NaN with fewer than two splits.

    Splits of one set share rows, so their spread understates the variance of the mean. Nadeau and Bengio (2003) add the
    ratio of test to training rows to 1/n.
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return float("nan")
    spread = np.sqrt((1 / len(values) + test_to_train) * values.var(ddof=1))
    if spread == 0:
        return 1.0 if values.mean() == 0 else 0.0
    return float(2 * stats.t.sf(abs(values.mean()) / spread, len(values) - 1))


def signed_rank_p_value(differences: FloatArray) -> float:
    """Two-sided p-value of Wilcoxon's signed ranks over sets; 1 where nothing differs."""
    different = differences[differences != 0]
    return float(stats.wilcoxon(different).pvalue) if len(different) else 1.0


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """P-values adjusted for their number, by Holm's procedure."""
    adjusted, highest = {}, 0.0
    for place, name in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


class Ranking(NamedTuple):
    """Methods from the best to the worst average rank, and which neighbours cannot be told apart.

    Attributes
    ----------
    average : dict of str to float
        Average rank of each method; 1 is best.
    cliques : list of (int, int)
        First and last place of runs of methods without a difference that Holm's procedure finds.
    """

    average: dict[str, float]
    cliques: list[tuple[int, int]]


def rank_methods(values: Mapping[str, FloatArray]) -> Ranking:
    """Rank methods on every set, the highest value first, ties in the middle; compare all pairs by signed ranks."""
    names = list(values)
    ranks = stats.rankdata(-np.column_stack([values[name] for name in names]), axis=1).mean(axis=0)
    order = [names[index] for index in np.argsort(ranks, kind="stable")]
    pairs = {(a, b): (values[a] - values[b]) for i, a in enumerate(order) for b in order[i + 1 :]}
    adjusted = holm({f"{a}|{b}": signed_rank_p_value(difference) for (a, b), difference in pairs.items()})
    alike = {pair for pair in pairs if adjusted["|".join(pair)] > LEVEL}
    return Ranking(dict(zip(order, np.sort(ranks).tolist(), strict=True)), _cliques(order, alike))


def _cliques(order: list[str], alike: set[tuple[str, str]]) -> list[tuple[int, int]]:
    """The longest runs in which every pair is alike."""
    runs = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(
            (order[place], order[last + 1]) in alike for place in range(first, last + 1)
        ):
            last += 1
        if last > first and not any(start <= first and last <= end for start, end in runs):
            runs.append((first, last))
    return runs
