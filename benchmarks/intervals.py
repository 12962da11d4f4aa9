"""Do the intervals of an evaluation hold, and how wide are they? Samples from populations whose truth is known exactly.

    python -m benchmarks.intervals [part ...] [--samples 1000]

Parts, all by default:

cells       intervals of `evaluate_selections`: AUC, gain, accuracy, positive rate
large       the same on 100,000 rows, where positives may still be few
claims      cells in which an earlier version broke a claim: hidden positives of real rows, weights, refits, ties
search      the worst cell over sizes, shares, hidden shares and weights, by random steps
few         the interval of the AUC with 1 to 20 positives among 300 negatives
coverage_for the interval of `coverage_for`, and whether the band at its lower end really reaches the AUC
compare     the paired difference of two classifiers
customers   the same for ten rows a customer, and the joint promise, with and without `groups`
gaps        how often equal groups are further apart than `gap_by_chance`
shares      the same for shares of rows alone
folds       `evaluate_folds`: models tested on repeated folds of 300 rows
speed       time at 15,000 and at a million rows, in multiples of one np.argsort

Bands are placed once, for each coverage, on 20,000 rows of their own. *Holds* is the share of samples in which the 95 %
interval holds the truth, *width* its mean width divided by that of an interval that knows the law: 3.92 standard
deviations of the estimate over all samples. *Normal* are 1.96 standard deviations to either side of the estimate, as
they stand in the same table. *Before* are lines that this file printed when the added row of an interval lost little
more than the rows of the sample; they are kept as they were. `!` marks what misses the aim: at least .93, at most 2.
Seeds are fixed; every finished line is kept in benchmarks/results/intervals.csv and not computed again.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

from aucross import AUCross, evaluate_selections
from aucross.core import RankedScores, RejectionBand, estimate_auc_bands
from aucross.core.bounds import auc_ends
from aucross.estimators.coverage_for import largest_coverage
from aucross.evaluation import (
    evaluate_folds,
    evaluate_group_selections,
    promise_selection,
    selective_auc,
)
from benchmarks.auc_promise import POPULATIONS, Population, placed_band
from benchmarks.claims import CLAIMS, SEARCHES, worst_cells
from benchmarks.customers import draw_customers

RESULTS = Path(__file__).parent / "results" / "intervals.csv"
LEVEL = 0.95

# Name: population, rows, coverages.
CELLS = {
    "20 % positives": (Population(0.2, {1.0: 1.0}), 3000, (1.0, 0.8)),
    "1 % positives": (Population(0.01, {1.0: 1.0}), 3000, (1.0, 0.8)),
    "AUC .995, few rows": (Population(0.05, {3.643: 1.0}), 300, (1.0, 0.95, 0.8)),
    "AUC .995": (Population(0.05, {3.643: 1.0}), 3000, (1.0, 0.95, 0.8)),
    "near separation, few rows": (Population(0.1, {3.0: 1.0}), 300, (1.0, 0.8)),
    "near separation": (Population(0.1, {3.0: 1.0}), 3000, (1.0, 0.8)),
    "heavy tails": (Population(0.1, {2.0: 1.0}, scatter=t(1.5)), 1000, (1.0, 0.8)),
    "hidden positives": (Population(0.05, {4.0: 0.85, -1.0: 0.15}), 1000, (1.0, 0.8)),
    "hidden positives, few rows": (Population(0.05, {4.0: 0.85, -1.0: 0.15}), 300, (1.0, 0.8)),
    "tied scores": (Population(0.2, {1.0: 1.0}, step=0.5), 300, (1.0, 0.8)),
}
LARGE = {
    ".1 % positives": (Population(0.001, {2.0: 1.0}), 100_000, (1.0, 0.8)),
    "AUC .995, .1 %": (Population(0.001, {3.643: 1.0}), 100_000, (1.0, 0.95)),
    "20 % positives": (Population(0.2, {1.0: 1.0}), 100_000, (1.0, 0.8)),
}
CUSTOMERS = {
    "20 % positives": (Population(0.2, {1.0: 1.0}), 3000, (1.0, 0.8)),
    "5 % positives": (Population(0.05, {2.0: 1.0}), 3000, (1.0, 0.8)),
}
METRICS = ("selective_auc", "auc_gain", "selective_accuracy", "positive_rate")

Bands = dict[float, RejectionBand]


def placed_bands(population: Population, coverages: Sequence[float]) -> Bands:
    rows = population.draw(np.random.default_rng(0), 20_000)
    rule = estimate_auc_bands(RankedScores.from_labels(rows.positive, rows.score, rows.weight))
    return {coverage: rule.band(coverage) for coverage in coverages}


def threshold_of(population: Population) -> float:
    """Rows above are predicted positive."""
    return max(population.centers) / 2 + 0.7


def truths(population: Population, bands: Bands) -> dict[str, np.ndarray]:
    """The metrics of the population itself, an entry per coverage."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for band in bands.values():
        exact = population.exact(band)
        kept, above = band.selects(exact.scores), exact.scores > threshold_of(population)
        positives, negatives = exact.positives[kept], exact.negatives[kept]
        total = positives.sum() + negatives.sum()
        found["selective_auc"].append(exact.auc(band))
        found["auc_gain"].append(exact.auc(band) - exact.auc())
        found["positive_rate"].append(positives.sum() / total)
        found["selective_accuracy"].append((positives[above[kept]].sum() + negatives[~above[kept]].sum()) / total)
    return {name: np.array(values) for name, values in found.items()}


def evaluated(population: Population, bands: Bands, rows, *, groups=None):
    return evaluate_selections(
        rows.positive,
        rows.score,
        rows.score > threshold_of(population),
        {coverage: band.selects(rows.score) for coverage, band in bands.items()},
        customers=groups,
    )


# ---- lines ----


class Table:
    """Lines of a part, kept in a file from run to run."""

    def __init__(self, part: str, n_samples: int) -> None:
        self.part, self.n_samples, self.kept = part, n_samples, {}
        if RESULTS.exists():
            with RESULTS.open() as file:
                self.kept = {tuple(line[:3]): line[3:] for line in csv.reader(file)}

    def lines(self, cell: str, compute: Callable[[], list[list[str]]], beside: Sequence[str] = ()) -> None:
        """Print the lines of a cell, computed unless they are there; at the end of each what stands `beside` it."""
        key = (self.part, cell, str(self.n_samples))
        if key not in self.kept:
            self.kept[key] = [";".join(line) for line in compute()]
            RESULTS.parent.mkdir(exist_ok=True)
            with RESULTS.open("a", newline="") as file:
                csv.writer(file).writerow([*key, *self.kept[key]])
        for line, other in zip_longest(self.kept[key], beside, fillvalue=""):
            print(" ".join([f"{cell:27}", *line.split(";"), "   ", *other.split(";")[2:]]).rstrip(), flush=True)


def held(low: np.ndarray, high: np.ndarray, truth: float) -> str:
    """Share of intervals that hold the truth; those of samples without a class are left out."""
    defined = ~np.isnan(low)
    share = float(((low <= truth + 1e-9) & (truth - 1e-9 <= high))[defined].mean())
    return f"{share:6.3f}{'!' if share < 0.93 else ' '}"


def against_law(low: np.ndarray, high: np.ndarray, estimates: np.ndarray) -> str:
    ratio = np.nanmean(high - low) / (3.92 * np.nanstd(estimates))
    return f"{ratio:5.2f}{'!' if ratio > 2 else ' '}"


def measured(found: Sequence[Sequence[np.ndarray]], truth: np.ndarray, coverages: Sequence[float], name: str):
    """Lines of one metric: `found` has (estimates, low, high, normal low, normal high) for every sample."""
    numbers = np.array(found)  # samples, 5, coverages
    for index, coverage in enumerate(coverages):
        estimates, low, high, normal_low, normal_high = numbers[:, :, index].T
        if np.nanstd(estimates) == 0:
            continue  # the gain of all rows over themselves
        yield [
            f"{coverage:4g} {name:18}",
            f"{truth[index]:7.4f}",
            held(normal_low, normal_high, truth[index]),
            against_law(normal_low, normal_high, estimates),
            held(low, high, truth[index]),
            against_law(low, high, estimates),
        ]


def numbers_of(evaluation, name: str) -> list[np.ndarray]:
    spread = evaluation.spread(name)
    estimate, margin = evaluation.estimates[name], norm.ppf((1 + LEVEL) / 2) * spread[f"{name}_sd"]
    return [
        estimate,
        *(spread[f"{name}_{end}"] for end in ("low", "high")),
        estimate - margin,
        estimate + margin,
    ]


HEADER = f"{'':27} cov. {'metric':18}   truth  normal  width holds   width      before: holds, width"


# ---- parts ----


def cells(n_samples: int) -> None:
    held_in_cells("cells", CELLS, n_samples)


def large(n_samples: int) -> None:
    held_in_cells("large", LARGE, min(n_samples, 400))


def held_in_cells(part: str, populations: dict[str, Any], n_samples: int) -> None:
    print(f"\n{part}: {n_samples} samples a line; 95 % intervals\n{HEADER}")
    table, before = Table(part, n_samples), Table(f"{part} before", n_samples)
    for cell, (population, n_rows, coverages) in populations.items():

        def compute(population=population, n_rows=n_rows, coverages=coverages):
            bands, rng = placed_bands(population, coverages), np.random.default_rng(21)
            truth, found = truths(population, bands), {name: [] for name in METRICS}
            for _ in range(n_samples):
                evaluation = evaluated(population, bands, population.draw(rng, n_rows))
                for name in METRICS:
                    found[name].append(numbers_of(evaluation, name))
            return [line for name in METRICS for line in measured(found[name], truth[name], coverages, name)]

        name = f"{cell}, n {n_rows:,}"[:27]
        table.lines(name, compute, before.kept.get((before.part, name, str(n_samples)), ()))


def claims(n_samples: int) -> None:
    """Cells of `benchmarks.claims`; beside them what this file printed at the last version with another added row."""
    n_samples = min(n_samples, 400)
    print(f"\nclaims: {n_samples} samples a line (alarms a tenth, folds a fifth, gaps twice of them); aim .93")
    print(f"{'':31} {'':28}   truth  holds   width  of the law     before: holds, width, of the law")
    table, before = Table("claims", n_samples), Table("claims before", n_samples)
    for cell, found in CLAIMS:
        known = before.kept.get((before.part, cell, str(n_samples)), [])
        table.lines(cell, lambda found=found: [line_of_claim(*numbers) for numbers in found(n_samples)], known)


def line_of_claim(name: str, estimates, low, high, truth: float) -> list[str]:
    if low is None:
        return [f"{name:28}", f"{truth:7.4f}", f"{np.mean(estimates):6.3f}{'!' if np.mean(estimates) < 0.93 else ' '}"]
    width = f"{np.nanmean(high - low):7.4f}"
    return [f"{name:28}", f"{truth:7.4f}", held(low, high, truth), width, against_law(low, high, estimates)]


def search(n_samples: int) -> None:
    print("\nsearch: the five worst of 300 cells, again on fresh samples: holds, width of the law")
    table = Table("search", n_samples)
    for kind in SEARCHES:

        def compute(kind=kind):
            worst = worst_cells(300, min(n_samples, 200), SEARCHES[kind])
            return [
                [f"{holds:6.3f} {width:6.2f}  ", " ".join(f"{name} {value:.4g}" for name, value in cell.items())]
                for cell, holds, width in worst
            ]

        table.lines(kind, compute)


def few(n_samples: int) -> None:
    print(f"\nfew: {n_samples} samples a line of 300 negatives; width is the mean width, in units of the AUC")
    print(f"{'':27}  holds   width")
    table = Table("few", n_samples)
    for auc in (0.76, 0.9):
        for n_positive in (1, 2, 3, 5, 10, 15, 20):
            cell = f"AUC {auc:g}, {n_positive} positives"
            table.lines(cell, lambda auc=auc, n_positive=n_positive: [line_of_few(auc, n_positive, n_samples)])


def line_of_few(auc: float, n_positive: int, n_samples: int) -> list[str]:
    rng, center = np.random.default_rng(31), norm.ppf(auc) * np.sqrt(2)
    positive = np.arange(300 + n_positive) < n_positive
    found = []
    for _ in range(n_samples):
        score = rng.normal(size=len(positive)) + center * positive
        found.append(auc_ends(RankedScores.from_labels(positive, score), (1 - LEVEL) / 2))
    low, high = np.array(found).T
    return [f"{held(low, high, auc)} {np.mean(high - low):6.2f}"]


def coverage_for(n_samples: int) -> None:
    print(f"\ncoverage_for: {n_samples} samples a line, AUC of all rows .76, 95 % interval; first DeLong's interval")
    print("holds: low <= largest coverage of the population that reaches the AUC <= high; kept: the band at low does")
    print("reach it, or low is 0 (none): the share of these follows, and the median low of the others")
    print(f"{'':27}  truth estimate  DeLong: holds, kept, none, low      now: holds, kept, none, low")
    table = Table("coverage_for", n_samples)
    for n_positive, n_negative, auc in (
        (5, 200, 0.85),
        (10, 200, 0.85),
        (30, 600, 0.65),
        (30, 600, 0.85),
        (30, 600, 0.8),
        (100, 500, 0.85),
        (100, 500, 0.8),
        (100, 500, 0.7),
        (300, 1500, 0.8),
        (300, 1500, 0.74),
        (800, 4000, 0.85),
        (800, 4000, 0.8),
    ):
        sizes = n_positive, n_negative
        table.lines(
            f"{n_positive} + {n_negative:,}, AUC {auc:g}",
            lambda sizes=sizes, auc=auc: [line_of_coverage_for(*sizes, auc, n_samples)],
        )


def line_of_coverage_for(n_positive: int, n_negative: int, auc: float, n_samples: int) -> list[str]:
    """Bands placed on the rows that also answer, as in a fit; the score is the model, so that nothing is trained."""
    rng, center = np.random.default_rng(32), norm.ppf(0.76) * np.sqrt(2)
    exact = Population(n_positive / (n_positive + n_negative), {center: 1.0}).exact(RejectionBand())
    best = estimate_auc_bands(exact)
    reached = exact.auc() >= auc
    truth = 1.0 if reached else brentq(lambda at: exact.auc(best.band(at)) - auc, 0.02, 0.999, xtol=1e-4)
    positive = np.arange(n_positive + n_negative) < n_positive
    found = []
    for _ in range(n_samples):
        ranked = RankedScores.from_labels(positive, rng.normal(size=len(positive)) + center * positive)
        band = estimate_auc_bands(ranked).band
        for limits in (ranked.auc_bounds, lambda alpha, at, ranked=ranked: auc_ends(ranked, alpha, at)):

            def curve_at(failure, band=band, limits=limits, ranked=ranked):
                return lambda coverage: (ranked.auc(band(coverage)), *limits(failure, band(coverage)))

            answer = largest_coverage(curve_at, n_positive, auc=auc, confidence=LEVEL)
            kept = answer.low == 0 or exact.auc(band(answer.low)) >= auc
            found.append((answer.value, answer.low, answer.high, kept))
    numbers = np.array(found, dtype=float).reshape(n_samples, 2, 4).transpose(1, 2, 0)
    lines = [f"{truth:6.3f} {np.median(numbers[0, 0]):8.3f} "]
    for _, low, high, kept in numbers:
        share = f"{kept.mean():6.3f}{'!' if kept.mean() < 0.93 else ' '}"
        shown = np.median(low[low > 0]) if (low > 0).any() else np.nan
        lines.append(f"{held(low, high, truth)} {share} {(low == 0).mean():6.2f} {shown:6.2f}     ")
    return lines


def compare(n_samples: int) -> None:
    print(f"\ncompare: {n_samples} samples a line; first minus second classifier on the same rows\n{HEADER}")
    table = Table("compare", n_samples)
    for cell, (population, n_rows, coverages) in CELLS.items():
        if population.scatter.dist.name != "norm" or len(population.centers) > 1 or population.step is not None:
            continue  # the second score is a normal mixture of the first

        def compute(population=population, n_rows=n_rows, coverages=coverages):
            (center,) = population.centers
            rival = Population(population.share_of_positives, {center - 0.3: 1.0})
            bands, rivals = placed_bands(population, coverages), placed_bands(rival, coverages)
            truth = truths(population, bands)["selective_auc"] - truths(rival, rivals)["selective_auc"]
            rng, found = np.random.default_rng(2), []
            for _ in range(n_samples):
                rows = population.draw(rng, n_rows)
                scatter = 0.9 * (rows.score - center * rows.positive) + np.sqrt(0.19) * rng.normal(size=n_rows)
                second = type(rows)(rows.positive, scatter + (center - 0.3) * rows.positive, None)
                difference = evaluated(population, bands, rows).minus(evaluated(rival, rivals, second))
                lines = [row for row in difference.rows() if row["metric"] == "selective_auc"]
                estimate, low, high, deviation = (
                    np.array([line[f"difference{end}"] for line in lines]) for end in ("", "_low", "_high", "_sd")
                )
                margin = norm.ppf((1 + LEVEL) / 2) * deviation
                found.append([estimate, low, high, estimate - margin, estimate + margin])
            return list(measured(found, truth, coverages, "difference of AUC"))

        table.lines(f"{cell}, n {n_rows:,}"[:27], compute)


def customers(n_samples: int) -> None:
    print(f"\ncustomers: {n_samples} samples a line, ten rows a customer; normal is without groups\n{HEADER}")
    table = Table("customers", n_samples)
    for cell, (population, n_rows, coverages) in CUSTOMERS.items():

        def compute(population=population, n_rows=n_rows, coverages=coverages):
            bands, rng = placed_bands(population, coverages), np.random.default_rng(3)
            truth, found = truths(population, bands), {name: [] for name in METRICS}
            for _ in range(n_samples):
                rows, customer = draw_customers(population, rng, n_rows)
                plain, grouped = (evaluated(population, bands, rows, groups=groups) for groups in (None, customer))
                for name in METRICS:
                    found[name].append([*numbers_of(grouped, name)[:3], *numbers_of(plain, name)[3:]])
            return [line for name in METRICS for line in measured(found[name], truth[name], coverages, name)]

        table.lines(f"{cell}, n {n_rows:,}", compute)
    print("\njoint promise at .95, 2,000 rows of 200 customers: share of samples in which both bounds hold, and the")
    print(f"median gap of the AUC\n{'':27}  without groups   with groups")
    table = Table("promise", n_samples)
    for cell, population in POPULATIONS.items():
        table.lines(cell, lambda population=population: promises_of_customers(population, n_samples))


def promises_of_customers(population: Population, n_samples: int) -> list[list[str]]:
    band, rng, found = placed_band(population), np.random.default_rng(4), []
    exact = population.exact(band)
    coverage, auc = exact.coverage(band), exact.auc(band)
    for _ in range(n_samples):
        rows, customer = draw_customers(population, rng, 2000)
        for groups in (None, customer):
            promise = promise_selection(
                rows.positive, rows.score, band.selects(rows.score), sample_weight=rows.weight, customers=groups
            )
            holds = promise.coverage_at_least <= coverage and not promise.auc_at_least > auc
            found.append((holds, auc - promise.auc_at_least))
    plain, grouped = np.array(found, dtype=float).reshape(n_samples, 2, 2).swapaxes(0, 1)
    return [[f"{part[:, 0].mean():8.3f} {np.nanmedian(part[:, 1]):7.4f}" for part in (plain, grouped)]]


GROUPS = {
    "20 % positives": (1500, 800, 400, 200, 100),
    "AUC .995": (1500, 800, 400, 200, 100),
    "near separation": (2000, 1000, 500, 300, 200),
    "1 % positives": (4000, 3000, 2000, 1500, 1000),
    "hidden positives": (1500, 800, 400, 200, 100),
}


def gaps(n_samples: int) -> None:
    print(f"\ngaps: {n_samples} samples a line; share in which five equal groups are further apart than gap_by_chance")
    print("(aim: .05)")
    names = ("achieved_coverage", "selective_auc", "selective_accuracy", "positive_rate", "positives_for_review")
    print(f"{'':27} sizes                    " + " ".join(f"{name:>22}" for name in names))
    table = Table("gaps", n_samples)
    for cell, sizes in GROUPS.items():

        def compute(cell=cell, sizes=sizes):
            population = CELLS[cell][0]
            bands, rng, beyond = placed_bands(population, [0.8]), np.random.default_rng(5), []
            for _ in range(n_samples):
                rows = population.draw(rng, sum(sizes))
                report = evaluate_group_selections(
                    rows.positive,
                    rows.score,
                    rows.score > threshold_of(population),
                    {0.8: bands[0.8].selects(rows.score)},
                    np.repeat(np.arange(len(sizes)), sizes),
                )
                beyond.append([row["gap"] > row["gap_by_chance"] for row in report.gaps().rows()])
            return [[f"{sizes!s:24}", *(f"{share:22.3f}" for share in np.mean(beyond, axis=0))]]

        table.lines(cell, compute)


def shares(n_samples: int) -> None:
    names = ("achieved_coverage", "selective_accuracy", "positive_rate", "positives_for_review")
    print(
        f"\nshares: {n_samples} samples a line; share in which five equal groups are further apart than gap_by_chance"
    )
    print(f"(aim: at most .05)\n{'':27} sizes                    " + " ".join(f"{name:>22}" for name in names))
    table = Table("shares", n_samples)
    for cell, sizes in GROUPS.items():

        def compute(cell=cell, sizes=sizes):
            population = CELLS[cell][0]
            (band,), rng, beyond = placed_bands(population, [0.8]).values(), np.random.default_rng(6), []
            for _ in range(n_samples):
                rows = population.draw(rng, sum(sizes))
                report = evaluate_group_selections(
                    rows.positive,
                    rows.score,
                    rows.score > threshold_of(population),
                    {0.8: band.selects(rows.score)},
                    np.repeat(np.arange(len(sizes)), sizes),
                )
                found = {row["metric"]: row["gap"] > row["gap_by_chance"] for row in report.gaps().rows()}
                beyond.append([found[name] for name in names])
            return [[f"{sizes!s:24}", *(f"{share:22.3f}" for share in np.mean(beyond, axis=0))]]

        table.lines(cell, compute)


def folds(n_samples: int) -> None:
    n_samples = min(n_samples, 200)
    print(f"\nfolds: {n_samples} data sets of 300 rows, 5 folds repeated twice, logistic regression, coverage .8;")
    print("truth: mean AUC of the ten models on 20,000 new rows, in this data set or over all of them")
    print(f"{'':27}  holds in this, over all   width")
    table = Table("folds", n_samples)
    for cell, share in {"30 % positives": 0.3, "10 % positives": 0.1}.items():
        table.lines(cell, lambda share=share: evaluations_of_folds(share, n_samples))


def evaluations_of_folds(share: float, n_samples: int) -> list[list[str]]:
    rng, found = np.random.default_rng(8), []
    X_new, y_new = labelled_rows(share, 20_000, rng)
    for seed in range(n_samples):
        X, y = labelled_rows(share, 300, rng)
        cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=seed)
        fitted = [
            (AUCross(LogisticRegression(), cv=3, random_state=seed).fit(X[train], y[train]), X[test], test)
            for train, test in cv.split(X, y)
        ]
        aucs = [selective_auc(y_new, clf.predict_proba(X_new)[:, 1], clf.select(X_new, 0.8)) for clf, _, _ in fitted]
        row = evaluate_folds(fitted, y, [0.8]).rows()[0]
        found.append([np.mean(aucs), *(row[f"selective_auc{end}"] for end in ("", "_low", "_high"))])
    truth, estimates, low, high = np.array(found).T
    holds_here = float(((low <= truth) & (truth <= high)).mean())
    return [[f"{holds_here:14.3f}", held(low, high, float(truth.mean())), against_law(low, high, estimates)]]


def labelled_rows(share: float, n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = (rng.random(n_rows) < share).astype(int)
    return rng.normal(size=(n_rows, 5)) + y[:, None] * np.array([0.8, 0.5, 0.3, 0.0, 0.0]), y


def speed(n_samples: int) -> None:  # noqa: ARG001
    """Time of an evaluation at seven coverages."""
    population = CELLS["20 % positives"][0]
    coverages = (1.0, 0.99, 0.95, 0.9, 0.85, 0.8, 0.75)
    bands = placed_bands(population, coverages)
    print("\nspeed: evaluate_selections at seven coverages; seconds of one processor, median of 3")
    print("     rows   argsort   estimates alone   with intervals   in sorts")
    for n_rows in (15_000, 100_000, 1_000_000):
        rng = np.random.default_rng(6)
        rows = population.draw(rng, n_rows)
        masks = {coverage: band.selects(rows.score) for coverage, band in bands.items()}
        arguments = (rows.positive, rows.score, rows.score > threshold_of(population), masks)
        sort = seconds(lambda rows=rows: np.argsort(rows.score))
        for kind, options in (
            ("", {}),
            ("weights", {"sample_weight": rng.exponential(size=n_rows)}),
            ("groups of five", {"groups": rng.integers(0, n_rows // 5, n_rows)}),
        ):

            def call(n_bootstrap, arguments=arguments, options=options):
                return evaluate_selections(*arguments, n_bootstrap=n_bootstrap, **options)

            alone, full = (seconds(lambda n=n, call=call: call(n)) for n in (0, 1))
            print(f"{n_rows:9,} {sort:8.4f} s {alone:14.3f} s {full:13.3f} s {full / sort:10.1f}  {kind}", flush=True)


def seconds(call: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = process_time()
        call()
        times.append(process_time() - start)
    return sorted(times)[1]


PARTS = {
    "cells": cells,
    "large": large,
    "claims": claims,
    "search": search,
    "few": few,
    "coverage_for": coverage_for,
    "compare": compare,
    "customers": customers,
    "gaps": gaps,
    "shares": shares,
    "folds": folds,
    "speed": speed,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=[], choices=[[], *PARTS])
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args(arguments)
    for part in options.parts or PARTS:
        PARTS[part](options.samples)


if __name__ == "__main__":
    main()
