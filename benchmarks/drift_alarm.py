"""The drift alarm: how often it is false, and how long it takes when the coverage or the AUC moves.

    python -m benchmarks.drift_alarm [1 2 3 4]

All streams are simulated, with a stated false-alarm probability of .05. The first, third and fourth part simulate what
the sequential test reads, selected or not and the outcomes of pairs; the second fits a classifier for each stream and
goes through `CoverageMonitor`. Seeds are fixed. Rows come in batches, and an alarm can be given after a batch only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugInAUC
from aucross.core import RankedScores
from aucross.core.bounds import auc_lower_bound
from aucross.watch.drift_reference import PLACEMENT_SHARE, share_limits
from aucross.watch.monitor import CoverageMonitor
from aucross.watch.sequential import Bets, log_evidence, next_log_wealth

LEVEL = 0.05
STREAMS = 1000
HELD_OUT = 10_000  # rows that the automatic tolerance is taken from
QUIET = 100  # batches before a late drift
POSITIVES, NEGATIVES = 50, 450  # selected rows with labels in each batch
DROPS = (0.02, 0.05, 0.10)

Growth = Callable[[int], NDArray[np.float64]]  # batch -> growth of each stream's bets
Limits = tuple[float, float, float]  # low, high, false-alarm probability of the sequential test


def first_alarms(bets: Bets, level: float, growth: Growth, n_streams: int, n_batches: int) -> NDArray[np.intp]:
    """The batch of the first alarm of each stream, 0 for none."""
    wealth, alarm = np.full((n_streams, len(bets)), -np.inf), np.zeros(n_streams, dtype=int)
    for batch in range(1, n_batches + 1):
        wealth = next_log_wealth(wealth, growth(batch), batch)
        alarm[(alarm == 0) & (log_evidence(wealth, batch) >= -np.log(level))] = batch
        if (alarm > 0).all():
            break
    return alarm


def share_streams(
    limits: Limits, share: Callable[[int], Any], size: int, n_batches: int, *, n_streams: int = STREAMS, seed: int = 0
) -> NDArray[np.intp]:
    """First alarms of streams whose rows are selected with probability share(batch)."""
    rng, bets = np.random.default_rng(seed), Bets.against(*limits[:2])

    def growth(batch: int) -> NDArray[np.float64]:
        return bets.log_growth_of_counts(rng.binomial(size, share(batch), n_streams), size)

    return first_alarms(bets, limits[2], growth, n_streams, n_batches)


def auc_streams(limits: Limits, auc: Callable[[int], float], n_batches: int, *, n_streams: int) -> NDArray[np.intp]:
    """First alarms of streams of labelled selected rows with normal scores; each positive meets its own negatives."""
    rng, bets = np.random.default_rng(0), Bets.against(*limits[:2])

    def growth(batch: int) -> NDArray[np.float64]:
        positives = rng.standard_normal((n_streams, POSITIVES, 1), dtype=np.float32) + separation(auc(batch))
        negatives = rng.standard_normal((n_streams, POSITIVES, NEGATIVES // POSITIVES), dtype=np.float32)
        outcomes = (positives > negatives).mean(axis=2)
        factors = [np.log1p(size * (outcomes - limit)) for size, limit in zip(bets.sizes, bets.limits, strict=True)]
        return np.stack([factor.sum(axis=1) for factor in factors], axis=-1)

    return first_alarms(bets, limits[2], growth, n_streams, n_batches)


def separation(auc: float) -> float:
    """Distance of two normal laws of variance 1 with this AUC."""
    return float(np.sqrt(2) * ndtri(auc))


def automatic(coverage: float, n_rows: int) -> Limits:
    return share_limits(coverage, coverage, n_rows, "auto", LEVEL)


def verdict(alarms: NDArray[np.bool_]) -> str:
    limit = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / len(alarms))
    return f"{alarms.mean():.3f} (limit {limit:.3f}: {'kept' if alarms.mean() <= limit else 'BROKEN'})"


def false_alarms() -> None:
    print(f"1. False alarms of the selected share: {STREAMS} streams without drift, stated level {LEVEL}")
    print(f"   {'coverage':>8} {'batch':>6} {'batches':>8}  true share and tolerance: share of streams with an alarm")
    placed = np.random.default_rng(1)
    for coverage in (0.8, 0.95):
        for size, n_batches in ((200, 300), (1000, 300), (1000, 3000)):
            cases: list[tuple[str, Limits, Any]] = [
                ("the target, tolerance 0", (coverage, coverage, LEVEL), coverage),
                ("target - .01, tolerance .01", (coverage - 0.01, coverage + 0.01, LEVEL), coverage - 0.01),
            ]
            for n_rows in (2000, HELD_OUT):
                # What a threshold placed on so many rows selects, for each stream.
                shares = placed.beta(coverage * n_rows, (1 - coverage) * n_rows + 1, STREAMS)
                cases.append((f'placed on {n_rows} rows, "auto"', automatic(coverage, n_rows), shares))
            for name, limits, share in cases[: 4 if n_batches == 300 else 1]:
                alarms = share_streams(limits, lambda _, share=share: share, size, n_batches) > 0
                print(f"   {coverage:8} {size:6} {n_batches:8}  {name + ':':33} {verdict(alarms)}", flush=True)


def population(rng: np.random.Generator, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    X = rng.normal(size=(n_rows, 5))
    return X, rng.random(n_rows) < expit(X @ [1.0, 0.7, 0.5, 0.0, 0.0] - 1.0)


def false_alarms_of_classifiers(n_streams: int = 200, n_batches: int = 60, size: int = 250) -> None:
    print(
        f"\n2. The same through CoverageMonitor: {n_streams} logistic regressions, each fitted on 4000 rows of its own "
        f"and watched for {n_batches} batches of {size} rows, coverage .8, all tolerances automatic"
    )
    for estimator in (
        PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5),
        AUCross(LogisticRegression(), coverage=0.8),
    ):
        rng, alarms = np.random.default_rng(2), []
        for seed in range(n_streams):
            clf = estimator.set_params(random_state=seed).fit(*population(rng, 4000))
            monitor = CoverageMonitor(clf, false_alarm=LEVEL)
            X, y = population(rng, n_batches * size)
            selected, scores = clf.select(X), clf.predict_proba(X)[:, 1]
            for rows in np.split(np.arange(len(y)), n_batches):
                monitor.update_selected(selected[rows])
                monitor.update_labels_selected(y[rows], selected[rows], scores[rows])
            alarms.append((monitor.coverage_alarm, monitor.auc_alarm))
        for name, column in zip(("selected share", "selective AUC"), np.array(alarms).T, strict=True):
            print(f"   {type(estimator).__name__:10} {name:15} {verdict(column)}", flush=True)


def delay(alarm: NDArray[np.intp], quiet: int, size: int) -> str:
    """Median and 10 to 90 % of the delay in rows, among the streams without an alarm before the drift."""
    rows = np.where(alarm == 0, np.inf, (alarm - quiet) * size)[(alarm == 0) | (alarm > quiet)]
    low, median, high = np.quantile(rows, (0.1, 0.5, 0.9), method="inverted_cdf")
    return f"{_number(median)} ({_number(low)} to {_number(high)})"


def _number(rows: float) -> str:
    return "more" if np.isinf(rows) else f"{rows:,.0f}"


def print_delays(name: str, size: int, alarms: Callable[[float, int], NDArray[np.intp]]) -> None:
    """One line per drop: the delay of a drift from the start and of a late one."""
    for drop in DROPS:
        early, late = (delay(alarms(drop, quiet), quiet, size) for quiet in (0, QUIET))
        print(f"   {name} drop {drop:.2f}   {early:30} {late}", flush=True)


def delays() -> None:
    print(
        f"\n3. Rows until the alarm when the selected share falls: median (10 to 90 %) of {STREAMS // 2} streams; "
        f'tolerance "auto" is that of {HELD_OUT:,} held-out rows\n'
        f"   {'coverage batch tolerance':38} {'from the start':30} after {QUIET} quiet batches"
    )
    for coverage in (0.8, 0.95):
        exact = (coverage, coverage, LEVEL)
        for size, tolerance, limits in (
            (200, "auto", automatic(coverage, HELD_OUT)),
            (1000, "auto", automatic(coverage, HELD_OUT)),
            (200, "0", exact),
        ):

            def alarms(
                drop: float, quiet: int, *, size: int = size, limits: Limits = limits, coverage: float = coverage
            ) -> NDArray[np.intp]:
                share = lambda batch: coverage - drop * (batch > quiet)  # noqa: E731
                return share_streams(limits, share, size, quiet + 500, n_streams=STREAMS // 2)

            print_delays(f"{coverage:8} {size:5} {tolerance:9}", size, alarms)


def auc_alarms(auc: float = 0.8) -> None:
    size = POSITIVES + NEGATIVES
    positive = np.arange(HELD_OUT) < HELD_OUT * POSITIVES / size
    scores = np.random.default_rng(3).normal(separation(auc) * positive)
    ranked = RankedScores.from_labels(positive, scores)
    tolerance = ranked.auc() - auc_lower_bound(ranked, PLACEMENT_SHARE * LEVEL)
    exact, auto = (auc, 1.0, LEVEL), (auc - tolerance, 1.0, (1 - PLACEMENT_SHARE) * LEVEL)
    print(
        f"\n4. Selective AUC of {auc}: batches of {size} selected rows with labels, {POSITIVES} of them positive; "
        f'tolerance "auto" is {tolerance:.3f}, from {HELD_OUT:,} held-out rows'
    )
    false = auc_streams(exact, lambda _: auc, 300, n_streams=STREAMS) > 0
    print(f"   false alarms of {STREAMS} streams of 300 batches without drift, tolerance 0: {verdict(false)}")
    print(f"   selected rows until the alarm, {STREAMS // 5} streams of at most 400 batches:")
    for name, limits in (("auto", auto), ("0", exact)):

        def alarms(drop: float, quiet: int, *, limits: Limits = limits) -> NDArray[np.intp]:
            return auc_streams(limits, lambda batch: auc - drop * (batch > quiet), quiet + 400, n_streams=STREAMS // 5)

        print_delays(f"tolerance {name:14}", size, alarms)


PARTS = {"1": false_alarms, "2": false_alarms_of_classifiers, "3": delays, "4": auc_alarms}


def main(names: Iterable[str] = PARTS) -> None:
    start = perf_counter()
    for name in names:
        PARTS[name]()
    print(f"\n{perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:] or PARTS)
