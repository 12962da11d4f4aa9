"""How far the Oracle runs ahead because it has seen the test labels: the fewer test rows, the further.

The Oracle picks the best band *on the rows that it is judged on*. On m rows it is compared with the band that optimal
placement finds on the labels of the other test rows, at the coverage that this band reaches on the m rows. That band
comes from the same distribution and from many rows, so the Oracle's lead over it is, but for the noise of the other
rows, what seeing the labels of the m rows is worth; no rule that has not seen them can make it up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aucross import AUCross
from aucross.core import OptimalBands, RankedScores, best_band
from experiments.protocol import CLASSIFIERS, COVERAGES, DATASETS, Run
from experiments.work import Named

TEST_SIZES = (500, 1000, 2000, 4000, 8000, 16_000)
N_DRAWS = 20


@dataclass(frozen=True)
class Optimism(Named):
    """Random test samples of one data set."""

    dataset: str
    seed: int


def optimism_works(n_splits: int = 3) -> Iterator[Optimism]:
    """Several splits of each data set."""
    for seed in range(n_splits):
        for dataset in DATASETS[:4]:
            yield Optimism(dataset, seed)


def measure_optimism(work: Optimism) -> list[dict[str, Any]]:
    """Distances to the Oracle on samples of the test rows, of the fitted rule and of the best band of the others."""
    split = Run(work.dataset, split="random", seed=work.seed).rows()
    clf = AUCross(CLASSIFIERS["LightGBM"](), random_state=work.seed).fit(split.X_train, split.y_train)
    score = clf.predict_proba(split.X_test)[:, 1]
    bands = {coverage: clf.band(coverage) for coverage in COVERAGES}
    rng = np.random.default_rng(work.seed)
    rows = []
    for n_test in (size for size in TEST_SIZES if size <= len(score) // 2):
        for draw in range(N_DRAWS):
            sampled = _sample(split.y_test, score, bands, n_test, rng)
            rows += [{**work.key, "n_test": n_test, "draw": draw, **row} for row in sampled]
    return rows


def _sample(
    y_test: np.ndarray, score: np.ndarray, bands: dict[float, Any], n_test: int, rng: np.random.Generator
) -> Iterator[dict[str, float]]:
    drawn = np.zeros(len(score), dtype=bool)
    drawn[rng.choice(len(score), n_test, replace=False)] = True
    sample = RankedScores.from_labels(y_test[drawn], score[drawn])
    of_others = OptimalBands(RankedScores.from_labels(y_test[~drawn], score[~drawn]).isotonic())
    for coverage, band in bands.items():
        yield {
            "target_coverage": coverage,
            "fitted_distance": _distance(sample, band),
            "optimism": _distance(sample, of_others.band(coverage)),
        }


def _distance(sample: RankedScores, band: Any) -> float:
    """AUC of the best band at the coverage reached, minus the AUC of the given one."""
    best = best_band(sample, sample.coverage(band), width="any")
    return sample.auc(best) - sample.auc(band)
