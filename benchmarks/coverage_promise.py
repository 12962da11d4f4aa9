"""Coverage with confidence: how often new rows have the coverage asked for, and what the promise costs.

    python -m benchmarks.coverage_promise               # all parts, about an hour
    python -m benchmarks.coverage_promise rules         # one of: rules, weights, held_out, cross_fitted, boosting, path

Confidence .95. For each band, number of held-out rows and target coverage:

- kept: share of data sets whose coverage on new rows is at least the target, without and with the promise;
- mean: mean coverage with the promise;
- budget: rejected share of the held-out rows with the promise, and what of 1 - target is given up for it;
- Kuiper: the budget that a margin of 1.747 / sqrt(n) for all intervals would leave.

=============  =========  ==========================================================================================
part           data sets  what is measured
=============  =========  ==========================================================================================
rules          1,000      Bands on uniform scores that are the probability of being positive. "widest" (10,000 data
                          sets) is the widest band of as many rows as allowed, the worst that a search could pick.
weights        1,000      The same with log-normal weights, which the promise does not cover.
held_out       1,000      PlugInAUC and PlugIn with logistic regression on five normal features, half of 2 n rows
                          held out. With three classes (300 data sets) half of the held-out rows place the threshold.
cross_fitted   1,000      AUCross and SCross with the same model, n rows in five folds.
boosting       100        AUCross and SCross with LightGBM, and AUCGate with LightGBM as the gate of a logistic
                          regression.
path           400        What the promise leaves of the gain: PlugInAUC with a band searched on the held-out rows, and
                          with one along a path that the training rows fixed, against the best band for the known law.
=============  =========  ==========================================================================================

Two binomial standard errors of a share of .95 are .004 in 10,000 data sets, .014 in 1,000, .025 in 300 and .044 in 100.
Coverage on new rows is computed from the known distribution of the scores; with three classes and with LightGBM it is
counted on 50,000 and 20,000 new rows, drawn anew for each data set.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt

import numpy as np
from lightgbm import LGBMClassifier
from scipy.special import expit, logit, ndtr, ndtri
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross, SelectiveClassifier
from aucross.core.band_rule import BandRule
from aucross.core.bands import RejectionBand
from aucross.core.cautious import Caution, rejections_that_keep
from aucross.core.ranking import RankedScores
from aucross.core.rules import OptimalBands, ThresholdBands, estimate_auc_bands
from aucross.core.search import best_band
from experiments.selections import select_each

SIZES = (500, 2_000, 10_000)
COVERAGES = (0.95, 0.90, 0.80)
CONFIDENCE = 0.95
DATA_SETS = 1_000
LOGISTIC = LogisticRegression(solver="newton-cholesky")  # fast on few features
LOGISTIC_OF_MANY = LogisticRegression()
KUIPER = 1.747  # quantile of order .95 of Kuiper's statistic times sqrt(n)


@dataclass(frozen=True)
class Outcome:
    """One data set at one target: true coverage without and with the promise, and its budget."""

    without: float
    promised: float
    budget: float


HEADER = (
    "| band | rows | target | kept without | kept with | mean coverage | budget | given up | Kuiper |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def print_line(name: str, n_rows: int, target: float, outcomes: Iterable[Outcome]) -> None:
    without, promised, budget = np.array([(one.without, one.promised, one.budget) for one in outcomes]).T
    kept_without, kept = (np.mean(coverage >= target - 1e-12) for coverage in (without, promised))
    kuiper = max(1 - target - KUIPER / sqrt(n_rows), 0.0)
    print(
        f"| {name} | {n_rows:,} | {target:.2f} | {kept_without:.3f} | {kept:.3f} | {promised.mean():.4f} "
        f"| {budget.mean():.4f} | {1 - target - budget.mean():.4f} | {kuiper:.4f} |",
        flush=True,
    )


def print_lines(name: str, n_rows: int, data_sets: Iterable[list[Outcome]]) -> None:
    """One line per target from outcomes at all targets, data set after data set."""
    for target, outcomes in zip(COVERAGES, zip(*data_sets, strict=True), strict=True):
        print_line(name, n_rows, target, outcomes)


# ---- rules on scores of known distribution ----


def uniform_rows(n_rows: int, decimals: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(n_rows)
    for _ in range(DATA_SETS):
        scores = rng.random(n_rows)
        labels = rng.random(n_rows) < scores
        yield labels, scores if decimals is None else scores.round(decimals)


def uniform_coverage(band: RejectionBand, decimals: int | None = None) -> float:
    """Selected share of uniform scores, rounded or not."""
    if band.is_empty:
        return 1.0
    half_a_step = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    return 1.0 - (min(band.upper + half_a_step, 1.0) - max(band.lower - half_a_step, 0.0))


def outcomes_of(rule: BandRule, n_rows: int, coverage_of: Callable[[RejectionBand], float]) -> list[Outcome]:
    tied = rule.ranking is None or len(rule.ranking) < n_rows
    promised = replace(rule, coverage_map=Caution(n_rows, CONFIDENCE, tied=tied))
    return [
        Outcome(
            coverage_of(rule.band(c)),
            coverage_of(promised.band(c)),
            rejections_that_keep(n_rows, c, CONFIDENCE, fixed=rule.is_fixed, tied=tied) / n_rows,
        )
        for c in COVERAGES
    ]


RULES: dict[str, tuple[Callable[[RankedScores], BandRule], int | None]] = {
    "optimal": (lambda ranked: OptimalBands(ranked.isotonic()), None),
    "centred": (lambda ranked: estimate_auc_bands(ranked, placement="centered"), None),
    "threshold": (ThresholdBands, None),
    "optimal, two decimals": (lambda ranked: OptimalBands(ranked.isotonic()), 2),
    "threshold, two decimals": (ThresholdBands, 2),
}


def rules() -> None:
    print("\nHeld-out rules, scores of known distribution\n")
    print(HEADER)
    for n_rows in SIZES:
        print_lines("widest", n_rows, widest_bands(n_rows))
    for name, (rule_of, decimals) in RULES.items():
        coverage_of = partial(uniform_coverage, decimals=decimals)
        for n_rows in SIZES:
            rankings = (RankedScores.from_labels(*rows) for rows in uniform_rows(n_rows, decimals))
            print_lines(name, n_rows, (outcomes_of(rule_of(ranked), n_rows, coverage_of) for ranked in rankings))


def widest_bands(n_rows: int, data_sets: int = 10 * DATA_SETS) -> Iterator[list[Outcome]]:
    """Sums of exponential spacings are sorted uniform scores once divided by the last, and cheap."""
    rng = np.random.default_rng(n_rows)
    for _ in range(data_sets):
        ends = np.cumsum(rng.standard_exponential(n_rows + 1))
        yield widest_outcomes(ends[:-1] / ends[-1])


def widest_outcomes(scores: np.ndarray) -> list[Outcome]:
    n_rows = len(scores)

    def coverage_of(count: int) -> float:
        return 1.0 - float((scores[count - 1 :] - scores[: n_rows - count + 1]).max())

    allowed = [rejections_that_keep(n_rows, c, CONFIDENCE) for c in COVERAGES]
    return [
        Outcome(coverage_of(round((1 - c) * n_rows)), coverage_of(count), count / n_rows)
        for c, count in zip(COVERAGES, allowed, strict=True)
    ]


def weights() -> None:
    """Weights independent of the score: the weighted coverage of new rows is the unweighted one."""
    print("\nWeights with a coefficient of variation of 2.9: not covered by the promise\n")
    print(HEADER)
    for name, rule_of in (("optimal", lambda ranked: OptimalBands(ranked.isotonic())), ("threshold", ThresholdBands)):
        for n_rows in SIZES:
            rng = np.random.default_rng(1)
            rankings = (
                RankedScores.from_labels(*rows, np.exp(1.5 * rng.standard_normal(n_rows)))
                for rows in uniform_rows(n_rows)
            )
            print_lines(name, n_rows, (outcomes_of(rule_of(ranked), n_rows, uniform_coverage) for ranked in rankings))


# ---- estimators ----


def normal_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n_rows, seed])
    X = rng.standard_normal((n_rows, 5))
    return X, rng.random(n_rows) < 1 / (1 + np.exp(1 - X @ [1.0, -0.5, 0.5, 0.2, 0.0]))


def three_classes(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of about .63, .25 and .12."""
    rng = np.random.default_rng([n_rows, seed])
    X = rng.standard_normal((n_rows, 5))
    return X, np.digitize(X @ [1.0, -0.5, 0.5, 0.2, 0.0] + rng.standard_normal(n_rows), [0.5, 1.8])


def held_out() -> None:
    print("\nHold-out methods, logistic regression\n")
    print(HEADER)
    for method in (PlugInAUC, PlugIn):
        for n_rows in SIZES:
            searched = {"placement": OptimalBands} if method is PlugInAUC else {}
            clf = method(LOGISTIC, holdout_size=0.5, coverage_confidence=CONFIDENCE, random_state=0, **searched)
            rows = (normal_rows(2 * n_rows, seed) for seed in range(DATA_SETS))
            print_lines(method.__name__, n_rows, (logistic_outcomes(clf.fit(*each)) for each in rows))
    for n_rows in SIZES[:2]:
        clf = PlugInAUC(LOGISTIC_OF_MANY, holdout_size=0.5, coverage_confidence=CONFIDENCE, random_state=0)
        print_counted("PlugInAUC, three classes", clf, n_rows, partial(three_classes, 4 * n_rows), n_data_sets=300)


def cross_fitted() -> None:
    print("\nCross-fitted methods, logistic regression\n")
    print(HEADER)
    for method in (AUCross, SCross):
        for n_rows in SIZES:
            clf = method(LOGISTIC, coverage_confidence=CONFIDENCE, random_state=0)
            rows = (normal_rows(n_rows, seed) for seed in range(DATA_SETS))
            print_lines(method.__name__, n_rows, (logistic_outcomes(clf.fit(*each)) for each in rows))


def boosting() -> None:
    print("\nCross-fitted methods, LightGBM\n")
    print(HEADER)
    trees = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    settings = {"coverage_confidence": CONFIDENCE, "random_state": 0}
    for clf in (AUCross(trees, **settings), SCross(trees, **settings), AUCGate(LOGISTIC, trees, **settings)):
        for n_rows in SIZES[:2]:
            print_counted(
                type(clf).__name__, clf, n_rows, partial(normal_rows, n_rows), n_data_sets=100, n_new_rows=20_000
            )


def logistic_outcomes(clf: SelectiveClassifier) -> list[Outcome]:
    """A fit without and with its promise, by the normal distribution of its log-odds."""
    promised = clf.band_rule_
    return [
        Outcome(
            logistic_coverage(clf, promised.rule.band(c)),
            logistic_coverage(clf, promised.band(c)),
            promised.rejections(c) / promised.n_rows,
        )
        for c in COVERAGES
    ]


def logistic_coverage(clf: SelectiveClassifier, band: RejectionBand) -> float:
    """Selected share of all normal rows; fold models judge as many each as they scored."""
    if band.is_empty:
        return 1.0
    upper = logit(band.upper)
    lower = -upper if isinstance(clf, PlugIn | SCross) else logit(band.lower)  # a confidence has two sides

    def rejected(model: LogisticRegression) -> float:
        mean, scale = model.intercept_[0], np.linalg.norm(model.coef_)
        return float(ndtr((upper - mean) / scale) - ndtr((lower - mean) / scale))

    if not hasattr(clf, "judges_"):
        return 1.0 - rejected(clf.estimator_)
    (judges,) = clf.judges_
    return 1.0 - float(np.dot(judges.shares_, [rejected(model) for model in judges.estimators_]))


def print_counted(
    name: str,
    clf: SelectiveClassifier,
    n_rows: int,
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]],
    *,
    n_data_sets: int,
    n_new_rows: int = 50_000,
) -> None:
    fits = (counted_outcomes(clf.fit(*draw(seed)), normal_rows(n_new_rows, seed)[0]) for seed in range(n_data_sets))
    print_lines(name, n_rows, fits)


def counted_outcomes(clf: SelectiveClassifier, X_new: np.ndarray) -> list[Outcome]:
    promised = clf.band_rule_
    with_promise = select_each(clf, X_new, COVERAGES).mean(axis=1)
    clf.fitted_ = replace(clf.fitted_, rule=replace(promised, coverage_map=None))
    without = select_each(clf, X_new, COVERAGES).mean(axis=1)
    budgets = [promised.rejections(c) / promised.n_rows for c in COVERAGES]
    return [Outcome(*values) for values in zip(without, with_promise, budgets, strict=True)]


# ---- what the promise leaves of the gain ----

WEIGHTS, INTERCEPT = np.array([1.0, -0.5, 0.5, 0.2, 0.0]), -1.0
PATH_DATA_SETS = 400
NORMAL = ndtri((np.arange(4000) + 0.5) / 4000)
NOISE = ndtri((np.arange(61) + 0.5) / 61)


def logistic_law(clf: SelectiveClassifier) -> RankedScores:
    """Scores of all normal rows by a logistic regression, each with its probability of being positive."""
    weights, intercept = clf.estimator_.coef_[0], clf.estimator_.intercept_[0]
    scale = np.linalg.norm(weights)
    shared = WEIGHTS @ weights / scale
    hidden = sqrt(max(WEIGHTS @ WEIGHTS - shared**2, 0.0))
    probability = expit(INTERCEPT + shared * NORMAL[:, None] + hidden * NOISE).mean(axis=1)
    return RankedScores.from_probabilities(probability, expit(intercept + scale * NORMAL))


def counted_law(clf: SelectiveClassifier) -> RankedScores:
    """The same for any model, on 100,000 rows."""
    X_new, _ = normal_rows(100_000, 12345)
    return RankedScores.from_probabilities(expit(INTERCEPT + X_new @ WEIGHTS), clf.predict_proba(X_new)[:, 1])


def path(target: float = 0.95) -> None:
    print(f"\nShare of the best band's gain in AUC at coverage {target}, confidence {CONFIDENCE}\n")
    print(
        "| model | held-out rows | as many trained on | data sets | searched: kept | share of gain | path: kept "
        "| share of gain |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    trees = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    for name, model, n_rows, law, n_data_sets in (
        ("logistic regression", LOGISTIC, 200, logistic_law, PATH_DATA_SETS),
        ("logistic regression", LOGISTIC, 1_000, logistic_law, PATH_DATA_SETS),
        ("logistic regression", LOGISTIC, 4_000, logistic_law, PATH_DATA_SETS),
        ("LightGBM", trees, 500, counted_law, PATH_DATA_SETS // 4),
    ):
        kept, gains = [], []
        for seed in range(n_data_sets):
            rows = normal_rows(2 * n_rows, seed)
            settings = {"holdout_size": 0.5, "coverage_confidence": CONFIDENCE, "coverage": target, "random_state": 0}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 200 rows are too few for a searched band in ties
                searched = PlugInAUC(model, placement=OptimalBands, **settings).fit(*rows)
            along = PlugInAUC(model, **settings).fit(*rows)
            ranked = law(along)
            bands = (searched.band(), along.band(), best_band(ranked, target))
            gains.append([ranked.auc(band) - ranked.auc() for band in bands])
            kept.append([ranked.coverage(band) >= target - 1e-12 for band in bands])
        share, kept_share = np.mean(gains, axis=0) / np.mean(gains, axis=0)[2], np.mean(kept, axis=0)
        print(
            f"| {name} | {n_rows:,} | {n_rows:,} | {n_data_sets} | {kept_share[0]:.3f} | {share[0]:.2f} "
            f"| {kept_share[1]:.3f} | {share[1]:.2f} |",
            flush=True,
        )


PARTS = {
    "rules": rules,
    "weights": weights,
    "held_out": held_out,
    "cross_fitted": cross_fitted,
    "boosting": boosting,
    "path": path,
}


def main(names: Iterable[str] = PARTS) -> None:
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:] or PARTS)
