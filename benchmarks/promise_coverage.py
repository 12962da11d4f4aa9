"""The highest coverage whose AUC is promised, chosen on the test rows, and how often the whole statement is true.

    python -m benchmarks.promise_coverage [test samples for each line, default 400]

Logistic regressions on five normal features (`AUCross` on 2,000 rows, a new one for every 20 test samples), whose
coverage and AUC at every band follow from the law of the rows. The AUC to promise is the true one of the first
classifier at coverage .90 or .70, so that all higher coverages would be wrong.

Promised is the share of samples with a promise, kept the share in which nothing that was said is wrong, coverage the
median of the target promised, and coverage at least that of its bound. Two standard errors of .95 are .022 in 400
samples.
"""

from __future__ import annotations

import sys
from math import sqrt

import numpy as np
from scipy.special import expit, ndtri
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.core import RankedScores
from aucross.evaluation.promise_coverage import promise_coverage

CONFIDENCE = 0.95
SAMPLES_OF_ONE_FIT = 20
WEIGHTS = np.array([1.0, -0.5, 0.5, 0.2, 0.0])
NORMAL = ndtri((np.arange(4000) + 0.5) / 4000)
NOISE = ndtri((np.arange(61) + 0.5) / 61)


def draw(rng: np.random.Generator, n_rows: int, intercept: float) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n_rows, 5))
    return X, rng.random(n_rows) < expit(intercept + 1.5 * X @ WEIGHTS)


def law(clf: AUCross, intercept: float) -> RankedScores:
    """Scores of all rows, each with its probability of being positive."""
    weights, shift = clf.estimator_.coef_[0], clf.estimator_.intercept_[0]
    scale = np.linalg.norm(weights)
    shared = 1.5 * WEIGHTS @ weights / scale
    hidden = sqrt(max(2.25 * WEIGHTS @ WEIGHTS - shared**2, 0.0))
    probability = expit(intercept + shared * NORMAL[:, None] + hidden * NOISE).mean(axis=1)
    return RankedScores.from_probabilities(probability, expit(shift + scale * NORMAL))


def report(name: str, intercept: float, n_rows: int, at: float, n_samples: int) -> None:
    rng = np.random.default_rng([n_rows, round(100 * at)])
    auc, said_of = np.nan, []
    for sample in range(n_samples):
        if sample % SAMPLES_OF_ONE_FIT == 0:
            clf = AUCross(LogisticRegression(solver="newton-cholesky"), random_state=sample)
            truth = law(clf.fit(*draw(rng, 2000, intercept)), intercept)
            auc = truth.auc(clf.band(at)) if np.isnan(auc) else auc
        X, y = draw(rng, n_rows, intercept)
        scored = clf.scored(X)
        promise = promise_coverage(clf, scored, y, auc=auc, confidence=CONFIDENCE)
        right = True
        if promise.is_supported:
            band = clf.band(promise.target_coverage)
            right = truth.auc(band) >= auc - 1e-9 and truth.coverage(band) >= promise.coverage_at_least
        said_of.append((promise.is_supported, right, promise.target_coverage, promise.coverage_at_least))
    said, right, target, least = np.array(said_of, dtype=float).T
    print(
        f"| {name} | {n_rows:,} | {auc:.3f} ({at:.2f}) | {said.mean():.3f} | {right.mean():.3f} "
        f"| {np.nanmedian(target):.2f} | {np.nanmedian(least):.3f} |",
        flush=True,
    )


def main() -> None:
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(
        "| positives | test rows | AUC to promise (at coverage) | promised | kept | coverage | coverage at least |\n"
        "|---|---:|---:|---:|---:|---:|---:|"
    )
    for name, intercept in (("30 %", -1.5), ("5 %", -4.5)):
        for n_rows in (1_000, 4_000):
            for at in (0.9, 0.7):
                report(name, intercept, n_rows, at, n_samples)


if __name__ == "__main__":
    main()
