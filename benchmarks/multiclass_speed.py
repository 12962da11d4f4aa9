"""Metrics for more than two classes against scikit-learn's one-vs-one score: the minimum of interleaved runs.

    python -m benchmarks.multiclass_speed

Everything is synthetic.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from sklearn.metrics import roc_auc_score

from aucross.evaluation.multiclass import auc_mu, hand_till_m, volume_under_surface
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


def pairs_against_one_versus_one() -> None:
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


def ordered_volume_against_one_versus_one() -> None:
    y, prob = probable_rows(N_ROWS, 3)
    score = prob[:, 2] - prob[:, 0]
    reference, ours = fastest(lambda: one_versus_one(y, prob), lambda: volume_under_surface(y, score))
    what = f"volume_under_surface, one score, {N_ROWS:,} rows: times faster"
    report(what, reference / ours, "roc_auc_score ovo of three classes", "at least 1")


def volume_against_all_trios() -> None:
    n_rows = 600
    y, prob = probable_rows(n_rows, 3)
    assert abs(volume_under_surface(y, prob) - all_trios(y, prob)) < 1e-12
    ours, reference = fastest(lambda: volume_under_surface(y, prob), lambda: all_trios(y, prob))
    what = f"volume_under_surface, three columns, {n_rows} rows: times faster"
    report(what, reference / ours, "all trios as one array", "at least 5")


def volume_growth() -> None:
    """Four times the time for twice the rows would be quadratic."""
    sizes = (2500, 5000, 10_000)
    problems = [probable_rows(n_rows, 3) for n_rows in sizes]
    times = fastest(*(lambda y=y, prob=prob: volume_under_surface(y, prob) for y, prob in problems), repeats=3)
    for n_rows, time, before in zip(sizes[1:], times[1:], times[:-1], strict=True):
        what = f"volume_under_surface, three columns, {n_rows:,} rows, {time:.2f} s"
        report(what, time / before, "half the rows", "at most 4.5")


def all_trios(y: np.ndarray, prob: np.ndarray) -> float:
    """The definition in whole arrays, without ties."""
    a, b, c = (prob[y == label] for label in range(3))
    sums = (a[:, i, None, None] + b[None, :, j, None] + c[None, None, :, k] for i, j, k in permutations(range(3)))
    right = next(sums)
    best = np.ones(right.shape, dtype=bool)
    for other in sums:
        best &= right > other
    return float(best.mean())


def main() -> None:
    pairs_against_one_versus_one()
    ordered_volume_against_one_versus_one()
    volume_against_all_trios()
    volume_growth()


if __name__ == "__main__":
    main()
