"""The population stability index (PSI): compare new scores with the scores on which the band was placed.

::

    expected   .10  .10  .10  .10  .10  .10  .10  .10  .10  .10     deciles of the reference scores
    observed   .07  .08  .09  .10  .10  .10  .11  .11  .12  .12     share of the new scores in each
                 └──────── sum of (observed - expected) * log(observed / expected) ────────┘
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri

from aucross.core.ranking import FloatArray

# Without drift the index stays below `by_chance` with this probability.
CHANCE_LEVEL = 0.95

# By custom an index above this is looked into; see the Notes of `ScoreBins.compare`.
CUSTOMARY_LIMIT = 0.1


@dataclass(frozen=True)
class ScoreStability:
    """Comparison of new scores with the deciles of the reference scores.

    Attributes
    ----------
    edges : tuple of float
        Upper ends of all bins but the last; the upper end belongs to the bin.
    expected, observed : tuple of float
        Share of the reference and of the new scores in each bin.
    n : int
        Number of new scores.
    psi : float
        Population stability index; NaN without scores.
    psi_by_chance : float
        Upper limit of the index of `n` scores without drift, with probability .95. Compare the index with this limit as
        well as with the customary limits of .1 (look) and .25 (act).
    """

    edges: tuple[float, ...]
    expected: tuple[float, ...]
    observed: tuple[float, ...]
    n: int
    psi: float
    psi_by_chance: float

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per bin: scores above `lower` and up to `upper`, with the expected and the observed share."""
        ends = zip((-inf, *self.edges), (*self.edges, inf), strict=True)
        return [
            {"lower": lower, "upper": upper, "expected": expected, "observed": observed}
            for (lower, upper), expected, observed in zip(ends, self.expected, self.observed, strict=True)
        ]

    def sentence(self, name: str) -> str:
        """Return a sentence about the index; `name` is the name of the score."""
        name = name.replace("_", " ")
        # "No alarm" is about the selected share alone.
        moved = f": the {name}s have moved" if self.psi > max(CUSTOMARY_LIMIT, self.psi_by_chance) else ""
        return f"PSI of the {name} {self.psi:.3f} (by chance up to {self.psi_by_chance:.3f}){moved}."

    def __str__(self) -> str:
        lines = [f"{'score above':>12} {'up to':>12} {'expected':>9} {'observed':>9}"]
        lines += [
            f"{row['lower']:12.6g} {row['upper']:12.6g} {row['expected']:9.4f} {row['observed']:9.4f}"
            for row in self.rows()
        ]
        return "\n".join([*lines, f"PSI {self.psi:.4f} on {self.n} rows (by chance up to {self.psi_by_chance:.4f})"])


@dataclass(frozen=True)
class ScoreBins:
    """Deciles of the reference scores, used as bins for new scores.

    Notes
    -----
    Equal scores share a bin, so ties lead to fewer and unequal bins. If a tenth or more of the reference has the lowest
    (highest) score, scores below (above) it get their own bin, whose expected share is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.watch.stability import ScoreBins
    >>> reference = np.linspace(0, 1, 1001)
    >>> bins = ScoreBins.from_scores(reference)
    >>> same, squared = bins.compare(bins.counts(reference)), bins.compare(bins.counts(reference**2))
    >>> print(round(same.psi, 3), round(squared.psi, 3))
    0.0 0.379
    """

    edges: tuple[float, ...]  # upper ends of all bins but the last, ascending and distinct; a bin holds its upper end
    expected: tuple[float, ...]  # share of the reference in each bin
    n_reference: float  # number of reference scores; the effective number if they have weights

    @classmethod
    def from_scores(
        cls, scores: FloatArray, weight: FloatArray | None = None, *, n_effective: float | None = None
    ) -> ScoreBins:
        """Return bins with about equal shares of the reference scores, except where ties prevent that."""
        weight = np.ones(len(scores)) if weight is None else weight
        order = np.argsort(scores, kind="stable")
        below = np.cumsum(weight[order])
        # The first score at which a share of the weight is reached, with room for rounding of the sums.
        positions = np.searchsorted(below, below[-1] * (np.arange(1, 10) / 10 - 1e-12))
        lowest, edges = scores[order[0]], np.unique(scores[order[positions]])
        if edges[0] == lowest:
            edges = np.concatenate(([np.nextafter(lowest, -inf)], edges))
        counts = np.bincount(np.searchsorted(edges, scores), weights=weight, minlength=len(edges) + 1)
        size = float(len(scores) if n_effective is None else n_effective)
        return cls(tuple(edges.tolist()), tuple((counts / counts.sum()).tolist()), size)

    def counts(self, scores: ArrayLike) -> NDArray[np.intp]:
        """Count the scores in each bin."""
        return np.bincount(np.searchsorted(self.edges, scores), minlength=len(self.expected))

    def compare(self, counts: ArrayLike) -> ScoreStability:
        """Compare new scores, given as counts per bin, with the reference.

        Notes
        -----
        A bin that is empty in one of the samples counts as half a row there, since the logarithm of 0 is infinite; a
        bin that is empty in both is skipped. Without drift the index of n new against m reference rows is distributed
        like ``(1 / n + 1 / m)`` times a chi-squared variable with one degree of freedom less than there are bins (B.
        Yurdakul, *Statistical properties of population stability index*, 2018), which gives `psi_by_chance`. The
        customary limits of .1 and .25 come from N. Siddiqi, *Credit Risk Scorecards*, 2006.
        """
        counts = np.asarray(counts)
        n = int(counts.sum())
        if n == 0:
            return ScoreStability(self.edges, self.expected, (nan,) * len(self.expected), 0, nan, nan)
        expected, observed = np.array(self.expected), counts / n
        used = (expected > 0) | (observed > 0)
        before, now = np.maximum(expected[used], 0.5 / self.n_reference), np.maximum(observed[used], 0.5 / n)
        psi = float((now - before) @ np.log(now / before))
        freedom = int((expected > 0).sum()) - 1
        spread = float(chdtri(freedom, 1 - CHANCE_LEVEL)) if freedom > 0 else 0.0
        by_chance = spread * (1 / n + 1 / self.n_reference)
        return ScoreStability(self.edges, self.expected, tuple(observed.tolist()), n, psi, by_chance)
