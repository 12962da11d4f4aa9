"""Automation that is earned: how often it widens wrongly, and how long it takes. ``python -m benchmarks.earned``.

Each stream has 24 months. Scores of positives and negatives are normal, and the bands are those of the law without
drift. All reviewed cases are followed, automatic ones are audited with a stated probability. The promise lies between
the mean AUC of two steps, so that .8 keeps it over all months and .9 breaks it: midway, or at the edge, where .9 misses
it by a hair, which is where a wrong step is likeliest.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import nan
from pathlib import Path

import numpy as np

from aucross.audit import AuditedAUC, LabelledPeriod, earned_coverage, next_coverage
from aucross.core import RankedScores, best_band

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MONTHS = 24
DRIFTS = ("none", "slow fall", "seasons", "sudden fall")
PROMISES = {"midway": 0.5, "edge": 0.02}


@dataclass
class Law:
    """Distance of the classes by month, and what the labels cost."""

    drift: str
    distance: float
    prevalence: float
    cases: int
    audit: float

    def distances(self) -> np.ndarray:
        """Distance of positives from negatives in each month."""
        month = np.arange(MONTHS)
        change = {
            "none": np.zeros(MONTHS),
            "slow fall": -0.25 * month / MONTHS,
            "seasons": 0.2 * np.sin(2 * np.pi * month / 12),
            "sudden fall": np.where(month < 12, 0.0, -0.6),
        }
        return self.distance + change[self.drift]

    def month(
        self, distance: float, n_cases: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, classes, and the coverage from which on each case is automatic."""
        positive = rng.random(n_cases) < self.prevalence
        score = rng.normal(size=n_cases) + distance * positive
        low, high = self.ends
        reach = np.ones(n_cases)
        for coverage, (lower, upper) in zip(COVERAGES[::-1], zip(low[::-1], high[::-1], strict=True), strict=True):
            reach[(score < lower) | (score > upper)] = coverage
        return score, positive, reach

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the band at each coverage: those that make the AUC of the law without drift largest."""
        rng = np.random.default_rng(0)
        positive = rng.random(100_000) < self.prevalence
        ranked = RankedScores.from_labels(positive, rng.normal(size=100_000) + self.distance * positive)
        bands = [best_band(ranked, coverage) for coverage in COVERAGES]
        return np.array([band.lower for band in bands]), np.array([band.upper for band in bands])


def auc(score: np.ndarray, positive: np.ndarray) -> float:
    """Share of pairs in the right order."""
    ranks = np.argsort(np.argsort(score)) + 1.0
    n_positive = positive.sum()
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / n_positive / (~positive).sum())


def true_aucs(law: Law) -> np.ndarray:
    """AUC of the law in each month at each coverage."""
    rng, found, known = np.random.default_rng(1), np.empty((MONTHS, len(COVERAGES))), {}
    for month, distance in enumerate(law.distances()):
        if distance not in known:
            score, positive, reach = law.month(distance, 400_000, rng)
            known[distance] = [auc(score[reach <= c + 1e-9], positive[reach <= c + 1e-9]) for c in COVERAGES]
        found[month] = known[distance]
    return found


def quick_auc(score: np.ndarray, label: np.ndarray, probability: np.ndarray) -> AuditedAUC:
    """AUC and standard error of the labels as :func:`audited_auc` gives them, without its interval and its checks."""
    known = ~np.isnan(label)
    order = np.argsort(score[known])
    positive, weight = label[known][order] == 1, 1.0 / probability[known][order]
    below = np.cumsum(weight * ~positive)  # scores are continuous: no ties
    above = (weight * positive).sum() - np.cumsum(weight * positive)
    n_positive, n_negative = (weight * positive).sum(), below[-1]
    found = float((weight * positive) @ below / (n_positive * n_negative))
    influence = np.where(positive, (below / n_negative - found) / n_positive, (above / n_positive - found) / n_negative)
    error = float(np.linalg.norm(weight * influence)) * weight.sum() / len(score)
    ends, counts = (nan, nan, error, nan), (int(known.sum()), int(positive.sum()), len(score))
    return AuditedAUC(found, *ends, *counts, opinion_share=0.0, confidence_level=0.95)


def stream(law: Law, promise: float, truth: np.ndarray, seed: int, *, quick: bool = True) -> tuple[bool, list[float]]:
    """Whether a step up was ever wrong, and the coverage of each month.

    A block of past months is judged once, not again in each month after it. `quick` leaves out intervals of single
    blocks; `main` compares the first streams with the package's own function.
    """
    rng, periods, present, taken, is_wrong = np.random.default_rng(seed), [], COVERAGES[0], [], False
    was = earned_coverage._block, earned_coverage.audited_auc
    earned_coverage._block = lru_cache(maxsize=None)(was[0])
    earned_coverage.audited_auc = quick_auc if quick else was[1]
    try:
        for month, distance in enumerate(law.distances()):
            taken.append(present)
            score, positive, reach = law.month(distance, law.cases, rng)
            probability = np.where(reach <= present + 1e-9, law.audit, 1.0)
            known = np.where(rng.random(len(score)) < probability, positive, np.nan)
            selected = reach[:, None] <= np.array(COVERAGES) + 1e-9
            periods.append(LabelledPeriod(score, known, probability, selected))
            found = next_coverage(periods, auc=promise, present=present, coverages=COVERAGES)
            if found.coverage > present:
                is_wrong |= bool(truth[: month + 1, COVERAGES.index(found.coverage)].mean() < promise)
            present = found.coverage
    finally:
        earned_coverage._block, earned_coverage.audited_auc = was
    return is_wrong, taken


def main() -> None:
    """Print one line for each law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first stream; the rule was chosen on 0 to 999"
    )
    parser.add_argument("--only", default="", help="part of the name of the laws to run, such as 'none' or '6%%'")
    parser.add_argument("--promise", choices=PROMISES, help="one place of the promise instead of both")
    parser.add_argument("--keep", type=Path, help="file of the streams that are done, from which a stopped run goes on")
    options = parser.parse_args()
    done = {}
    if options.keep and options.keep.exists():
        lines = [json.loads(line) for line in options.keep.read_text().splitlines()]
        done = {(line["law"], line["seed"]): (line["wrong"], line["taken"]) for line in lines}
    print(f"{'law':<40}{'promise':>18}{'wrong ever':>12}{'reached':>9}{'months (oracle)':>17}{'last':>6}")
    places = [options.promise] if options.promise else PROMISES
    for (prevalence, cases), place, drift in product(((0.2, 4000), (0.06, 10_000)), places, DRIFTS):
        law, name = Law(drift, 1.6, prevalence, cases, 0.1), f"{drift}, {prevalence:.0%} of {cases:,} a month"
        if options.only not in name:
            continue
        truth = true_aucs(law)
        means = truth.mean(axis=0)
        promise = float(PROMISES[place] * means[3] + (1.0 - PROMISES[place]) * means[4])
        runs = []
        for seed in range(options.first, options.first + options.streams):
            key = (f"{name}, {place}", seed)
            if key not in done:
                done[key] = stream(law, promise, truth, seed)
                if seed < options.first + 2:
                    assert done[key] == stream(law, promise, truth, seed, quick=False)
                if options.keep:
                    line = {"law": key[0], "seed": seed, "wrong": done[key][0], "taken": done[key][1]}
                    with options.keep.open("a") as file:
                        file.write(json.dumps(line) + "\n")
            runs.append(done[key])
        wrong = np.mean([is_wrong for is_wrong, _ in runs])
        reached = [next((m for m, c in enumerate(taken) if c >= 0.8 - 1e-9), None) for _, taken in runs]
        months = [m for m in reached if m is not None]
        median = f"{np.median(months):.0f}" if months else "-"
        last = np.mean([taken[-1] for _, taken in runs])
        print(
            f"{name:<40}{place:>10}{promise:>8.4f}{wrong:>12.3f}{len(months) / len(runs):>9.3f}"
            f"{f'{median} ({oracle_months(truth, promise)})':>17}{last:>6.2f}",
            flush=True,
        )


def oracle_months(truth: np.ndarray, promise: float) -> int | None:
    """Months until the target if the law is known: one step a month, each as soon as it is right."""
    at = 0
    for month in range(MONTHS):
        if COVERAGES[at] >= 0.8 - 1e-9:
            return month
        if truth[: month + 1, at + 1].mean() >= promise:
            at += 1
    return None


if __name__ == "__main__":
    main()
