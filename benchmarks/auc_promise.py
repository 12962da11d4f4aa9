"""Do promised bounds hold? Test samples from populations whose coverage and selective AUC are known exactly.

    python -m benchmarks.auc_promise [number of samples, default 2000]
    python -m benchmarks.auc_promise wrong-sides

The band is placed once for coverage .80, on 20,000 rows of its own, and stays. Then, for test samples of 500, 2,000 and
10,000 rows, `promise_selection` at confidence .95: how often the bound of the coverage, that of the AUC, and both lie
below the truth, and how far below it the bound of the AUC lies (median, in 1e-3). Asked for are .9747 (the square root
of .95) of each alone and .95 of both; `!` marks shares that are more than two standard errors short. With a promised
coverage of .78 each bound stands at .95; `stated` is how often 78 % was supported, `right` how often no statement was
wrong. The plain methods, DeLong's normal bound and the quantile of a bootstrap, are shown at .9747 for comparison.
Bootstraps have 79 replicates, which widens the gap but not the level; with 10,000 rows they run on a quarter of the
samples, and the plain one runs with 500 rows only. Seeds are fixed.

The second command tries to break the bound of the AUC: all rows are ranked perfectly but for a few, which lie on the
wrong side of every row of the other class. It prints the lowest share of samples in which the bound at .95 holds.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.stats import norm, t

from aucross.core import RankedScores, RejectionBand, estimate_auc_bands
from aucross.core.bounds import (
    auc_lower_bound,
    auc_under_exponential_weights,
    bootstrap_auc_bounds,
    replicate_below,
)
from aucross.evaluation import auc_interval
from aucross.evaluation.inputs import selected_rows
from aucross.evaluation.promise import SelectivePromise, promise_selection

SIZES = (500, 2_000, 10_000)
CONFIDENCE = 0.95
ALONE = sqrt(CONFIDENCE)
PROMISED_COVERAGE = 0.78
N_BOOTSTRAP = 79
ONE_BOOTSTRAP_IN = {500: 1, 2_000: 1, 10_000: 4}  # samples


@dataclass(frozen=True)
class Rows:
    """A sample."""

    positive: np.ndarray
    score: np.ndarray
    weight: np.ndarray | None


@dataclass(frozen=True)
class Population:
    """Negatives scatter around 0, positives around one or more centres; scores may be rounded, rows weighted."""

    share_of_positives: float
    centers: dict[float, float]  # centre: share of the positives
    scatter: object = field(default_factory=norm)
    step: float | None = None  # scores are rounded to multiples of it
    slope_of_weight: float | None = None  # weights are exp(slope * score), times log-normal noise of mean 1

    def draw(self, rng: np.random.Generator, n_rows: int) -> Rows:
        """Draw independent rows."""
        positive = rng.random(n_rows) < self.share_of_positives
        centers = rng.choice(list(self.centers), size=n_rows, p=list(self.centers.values()))
        score = self.scatter.rvs(n_rows, random_state=rng) + np.where(positive, centers, 0.0)
        if self.step is not None:
            score = self.step * np.round(score / self.step)
        if self.slope_of_weight is None:
            return Rows(positive, score, None)
        return Rows(positive, score, np.exp(self.slope_of_weight * score - 0.5) * rng.lognormal(size=n_rows))

    def exact(self, band: RejectionBand) -> RankedScores:
        """The population itself, cut into cells so narrow (or, with steps, so placed) that nothing is lost."""
        edges = self._edges(band)
        cells = np.concatenate(([edges[0] - 1e-9], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 1e-9]))
        negatives = self._mass(edges, 0.0)
        positives = sum(share * self._mass(edges, center) for center, share in self.centers.items())
        weight = 1.0 if self.slope_of_weight is None else np.exp(self.slope_of_weight * cells)
        prevalence = self.share_of_positives
        return RankedScores(cells, prevalence * positives * weight, (1.0 - prevalence) * negatives * weight)

    def _edges(self, band: RejectionBand) -> np.ndarray:
        if self.step is not None:
            return self.step * (np.arange(-40, 40) + 0.5)
        quantiles = self.scatter.ppf(np.linspace(0.0, 1.0, 40_001)[1:-1])
        return np.unique(np.concatenate([quantiles + center for center in (0.0, *self.centers)] + [band_ends(band)]))

    def _mass(self, edges: np.ndarray, center: float) -> np.ndarray:
        return np.diff(np.concatenate(([0.0], self.scatter.cdf(edges - center), [1.0])))


def band_ends(band: RejectionBand) -> np.ndarray:
    ends = np.array([band.lower, band.upper])
    return ends[np.isfinite(ends)]


POPULATIONS = {
    "half positives": Population(0.5, {1.0: 1.0}),
    "10 % positives": Population(0.1, {1.5: 1.0}),
    "2 % positives": Population(0.02, {1.0: 1.0}),
    "nearly separated": Population(0.1, {3.0: 1.0}),
    "heavy tails": Population(0.1, {2.0: 1.0}, scatter=t(1.5)),
    "tied scores": Population(0.2, {1.0: 1.0}, step=0.5),
    "hidden positives": Population(0.05, {4.0: 0.85, -1.0: 0.15}),
    "weighted rows": Population(0.1, {1.5: 1.0}, slope_of_weight=-0.5),
}


def placed_band(population: Population) -> RejectionBand:
    rows = population.draw(np.random.default_rng(0), 20_000)
    return estimate_auc_bands(RankedScores.from_labels(rows.positive, rows.score, rows.weight)).band(0.8)


def promised(rows: Rows, selected: np.ndarray, method: str, seed: int) -> SelectivePromise:
    return promise_selection(
        rows.positive,
        rows.score,
        selected,
        confidence=CONFIDENCE,
        method=method,
        sample_weight=rows.weight,
        n_bootstrap=N_BOOTSTRAP,
        random_state=seed,
    )


def plain_bound(rows: Rows, selected: np.ndarray, method: str, seed: int) -> float:
    """The bound of the AUC without the added row; NaN where there is none."""
    if method == "delong":
        return auc_interval(
            rows.positive, rows.score, selected, level=ALONE, side="lower", sample_weight=rows.weight
        ).lower
    if len(rows.score) > SIZES[0]:
        return np.nan
    kept = selected_rows(rows.positive, rows.score, selected, rows.weight)
    if kept[0].all() or not kept[0].any():
        return np.nan
    replicates = auc_under_exponential_weights(*kept, n_bootstrap=N_BOOTSTRAP, seed=seed)
    return float(np.sort(replicates)[replicate_below(N_BOOTSTRAP, 1 - ALONE) - 1])


def table_row(promises: list[SelectivePromise], plain: np.ndarray, coverage: float, auc: float) -> str:
    """Shares of samples in which the bounds lie below the true coverage and AUC, with the median gaps of the AUC."""
    coverage_holds = np.array([promise.coverage_at_least <= coverage for promise in promises])
    bounds = np.array([promise.auc_at_least for promise in promises])
    auc_holds = ~(bounds > auc)  # where nothing is promised, nothing is broken
    stated = np.array([promise.coverage_alone >= PROMISED_COVERAGE for promise in promises])
    wrong_auc = np.array([promise.auc_alone > auc for promise in promises])
    wrong_coverage = np.array([promise.coverage_alone > coverage for promise in promises])
    right = ~np.where(stated, wrong_auc | (coverage < PROMISED_COVERAGE), wrong_coverage)
    shown = [
        shown_share(coverage_holds, ALONE),
        shown_share(auc_holds, ALONE),
        shown_share(coverage_holds & auc_holds, CONFIDENCE),
        f"{1e3 * np.nanmedian(auc - bounds):6.1f} ",
        f"{stated.mean():6.3f} ",
        shown_share(right, CONFIDENCE),
    ]
    if not np.isnan(plain).all():
        shown += [shown_share(~(plain > auc), ALONE), f"{1e3 * np.nanmedian(auc - plain):6.1f}"]
    return " ".join(shown)


def shown_share(holds: np.ndarray, level: float) -> str:
    is_short = holds.mean() < level - 2 * sqrt(level * (1 - level) / len(holds))
    return f"{holds.mean():6.3f}{'!' if is_short else ' '}"


def report(population: Population, band: RejectionBand, n_rows: int, n_samples: int) -> None:
    exact = population.exact(band)
    rng = np.random.default_rng(n_rows)
    promises: dict[str, list[SelectivePromise]] = {"delong": [], "bootstrap": []}
    plain: dict[str, list[float]] = {"delong": [], "bootstrap": []}
    smaller = []
    for number in range(n_samples):
        rows = population.draw(rng, n_rows)
        selected = band.selects(rows.score)
        smaller.append(np.bincount(rows.positive[selected], minlength=2).min())
        for method in promises if number % ONE_BOOTSTRAP_IN[n_rows] == 0 else ("delong",):
            promises[method].append(promised(rows, selected, method, number))
            plain[method].append(plain_bound(rows, selected, method, number))
    for method, bounds in plain.items():
        shown = table_row(promises[method], np.array(bounds), exact.coverage(band), exact.auc(band))
        print(f"{n_rows:6,} {np.mean(smaller):7.0f}  {method:10}", shown, flush=True)


def wrong_sides(n_samples: int = 1_000) -> None:
    two_errors = 2 * sqrt(CONFIDENCE * (1 - CONFIDENCE) / n_samples)
    print(f"bound of the AUC at .95, {n_samples} samples per case; two standard errors: {two_errors:.3f}")
    print("smaller  larger  wrong rows expected (1, 2, 2.6, 3, 4, 6): share of samples in which the bound holds")
    rng = np.random.default_rng(0)
    for n_positive in (10, 30, 100):
        for n_negative in (n_positive, 2 * n_positive, 10 * n_positive):
            for side, share_of_positives in {"smaller": 1.0, "larger": 0.0, "both": 0.5}.items():
                levels = [
                    level_with_wrong_rows(
                        rng,
                        (n_positive, expected * share_of_positives / n_positive),
                        (n_negative, expected * (1.0 - share_of_positives) / n_negative),
                        n_samples,
                    )
                    for expected in (1.0, 2.0, 2.6, 3.0, 4.0, 6.0)
                ]
                for method, shares in zip(("delong", "bootstrap"), np.transpose(levels), strict=True):
                    shown = " ".join(f"{share:.3f}" for share in shares)
                    print(
                        f"{n_positive:7} {n_negative:7}  {side:8} {method:10} {shown}  lowest {shares.min():.3f}",
                        flush=True,
                    )


def level_with_wrong_rows(
    rng: np.random.Generator, positives: tuple[int, float], negatives: tuple[int, float], n_samples: int
) -> tuple[float, float]:
    """Share of samples in which the bounds by DeLong and by bootstrap hold; classes are (rows, chance to be wrong)."""
    (n_positive, wrong_positives), (n_negative, wrong_negatives) = positives, negatives
    auc = (1.0 - wrong_positives) * (1.0 - wrong_negatives)
    positive = np.arange(n_positive + n_negative) < n_positive
    holds = []
    for seed in range(n_samples):
        drawn = rng.random(len(positive))
        score = np.where(positive, np.where(drawn < wrong_positives, 0, 2), np.where(drawn < wrong_negatives, 3, 1))
        rows, failure = (positive, score.astype(np.float64)), 1 - CONFIDENCE
        bounds = [
            auc_lower_bound(RankedScores.from_labels(*rows), failure),
            *bootstrap_auc_bounds(*rows, np.ones(len(score)), [failure], n_bootstrap=399, seed=seed),
        ]
        holds.append([bound <= auc + 1e-9 for bound in bounds])
    by_delong, by_bootstrap = np.mean(holds, axis=0)
    return float(by_delong), float(by_bootstrap)


def main() -> None:
    if sys.argv[1:] == ["wrong-sides"]:
        wrong_sides()
        return
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print(f"{n_samples} test samples for each size, confidence {CONFIDENCE}, target coverage .80")
    print("  rows smaller  method      cover.   AUC    both     gap   stated  right  plain AUC  gap")
    for name, population in POPULATIONS.items():
        band = placed_band(population)
        exact = population.exact(band)
        print(f"{name}: true coverage {exact.coverage(band):.4f}, true AUC {exact.auc(band):.4f}")
        for n_rows in SIZES:
            report(population, band, n_rows, n_samples)


if __name__ == "__main__":
    main()
