"""Metrics for more than two classes against scikit-learn's one-vs-one score: the minimum of interleaved runs.

    python -m benchmarks.multiclass_speed

Everything is synthetic.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from aucross.evaluation.multiclass import auc_mu, hand_till_m
from benchmarks.speed import fastest, report

N_ROWS = 100_000


def probable_rows(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and probabilities that know something about them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    latent = rng.normal(size=(n_rows, n_classes))
    latent[np.arange(n_rows), y] += 1
    prob = np.exp(latent)
    return y, prob / prob.sum(axis=1, keepdims=True)


def one_versus_one(y: np.ndarray, prob: np.ndarray) -> float:
    return float(roc_auc_score(y, prob, multi_class="ovo", average="macro"))


def main() -> None:
    weight = np.random.default_rng(1).random(N_ROWS)
    for n_classes in (3, 10):
        y, prob = probable_rows(N_ROWS, n_classes)
        assert abs(hand_till_m(y, prob) - one_versus_one(y, prob)) < 1e-12
        reference, m, weighted, mu = fastest(
            lambda y=y, prob=prob: one_versus_one(y, prob),
            lambda y=y, prob=prob: hand_till_m(y, prob),
            lambda y=y, prob=prob: hand_till_m(y, prob, sample_weight=weight),
            lambda y=y, prob=prob: auc_mu(y, prob),
        )
        for name, time in (("hand_till_m", m), ("hand_till_m with weights", weighted), ("auc_mu", mu)):
            what = f"{name}, {n_classes} classes, {N_ROWS:,} rows: times faster"
            report(what, reference / time, "roc_auc_score ovo", "at least 1")


if __name__ == "__main__":
    main()
