"""False alarms of the drift alarm on streams with seasons and with clumps, and what repairs them.

    python -m benchmarks.streams

Streams without drift, coverage .80, 200 batches of 100 rows, limits of 2,000 reference rows, stated probability .05.
"""

from __future__ import annotations

import numpy as np

from aucross.watch.drift_reference import share_limits
from aucross.watch.sequential import SequentialMeanTest

LEVEL, COVERAGE, ROWS, BATCHES, STREAMS = 0.05, 0.8, 100, 200, 200
SEASON, AMPLITUDE, CLUMP = 50, 0.05, 10


def share_of_alarms(counts: list[tuple[np.ndarray, int]], tolerance: float | str = "auto") -> float:
    """Share of streams with an alarm; each stream is its selected rows in each batch, and the rows of a batch."""
    low, high, level = share_limits(COVERAGE, COVERAGE, 2000, tolerance, LEVEL)
    alarms = []
    for selected, size in counts:
        test = SequentialMeanTest(low, high, level)
        for ones in selected.tolist():
            test = test.after_counts(ones, size)
        alarms.append(test.alarm)
    return float(np.mean(alarms))


def main() -> None:
    rng = np.random.default_rng(0)
    season = COVERAGE + AMPLITUDE * np.sin(2 * np.pi * np.arange(BATCHES) / SEASON)
    steady = [(rng.binomial(ROWS, COVERAGE, BATCHES), ROWS) for _ in range(STREAMS)]
    seasonal = [(rng.binomial(ROWS, season), ROWS) for _ in range(STREAMS)]
    weeks = BATCHES // SEASON * SEASON
    by_week = [(counts[:weeks].reshape(-1, SEASON).sum(axis=1), SEASON * ROWS) for counts, _ in seasonal]
    customers = [rng.binomial(ROWS // CLUMP, COVERAGE, BATCHES) for _ in range(STREAMS)]
    print("stream, what is passed: share of streams with an alarm")
    for name, share in (
        ("independent rows, every row", share_of_alarms(steady)),
        ("season of fifty batches, every batch", share_of_alarms(seasonal)),
        ("season of fifty batches, fifty as one", share_of_alarms(by_week)),
        ("season of fifty batches, tolerance .06", share_of_alarms(seasonal, 0.06)),
        ("ten rows of a customer, every row", share_of_alarms([(CLUMP * each, ROWS) for each in customers])),
        ("ten rows of a customer, one of each", share_of_alarms([(each, ROWS // CLUMP) for each in customers])),
    ):
        print(f"{name + ':':42} {share:.3f}", flush=True)


if __name__ == "__main__":
    main()
