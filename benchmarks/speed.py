"""Overheads as ratios measured side by side in one run: the minimum of interleaved runs, one thread.

    python -m benchmarks.speed            all ratios
    python -m benchmarks.speed growth     cost against the number of rows, from 10^4 to 10^7

Fitting reads Adult from AUCROSS_DATA; everything else is synthetic.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from aucross import AUCross, evaluate_selections
from aucross.core import RankedScores, best_band, oracle_band
from aucross.estimators import without_correction
from benchmarks.paper_data import BASE_MODEL, COVERAGES, FOLDER, load

REPEATS = 5


def fastest(*actions: Callable[[], Any], repeats: int = REPEATS) -> list[float]:
    """Shortest time of each action in seconds, over runs that take turns."""
    times = np.empty((repeats, len(actions)))
    for repeat in range(repeats):
        for index, action in enumerate(actions):
            start = time.perf_counter()
            action()
            times[repeat, index] = time.perf_counter() - start
    return list(times.min(axis=0))


def scored_rows(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and distinct scores of a portfolio with about 20 % positives and an AUC near .75."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=n_rows)
    score = 1 / (1 + np.exp(1.8 - latent))
    return rng.random(n_rows) < score, score


def oracle_against_argsort() -> None:
    y, score = scored_rows(445_912)
    for coverage in (0.99, 0.90, 0.75):
        ours, reference = fastest(lambda c=coverage: oracle_band(y, score, c), lambda: np.argsort(score))
        report(f"oracle_band, 445,912 rows, coverage {coverage}", ours / reference, "np.argsort", "at most 4")


def merge_against_sorting(n_rankings: int = 100, n_rows: int = 10_000) -> None:
    labelled = [scored_rows(n_rows, seed) for seed in range(n_rankings)]
    rankings = [RankedScores.from_labels(y, score) for y, score in labelled]
    y, score = (np.concatenate(part) for part in zip(*labelled, strict=True))
    merged, in_a_tree, reference = fastest(
        lambda: RankedScores.merge(rankings),
        lambda: add_in_a_tree(rankings),
        lambda: np.argsort(np.concatenate([ranked.scores for ranked in rankings])),
    )
    what = f"{n_rankings} rankings of {n_rows:,} rows"
    report(f"RankedScores.merge, {what}", merged / reference, "np.argsort of all scores", "at most 2")
    report(f"the same by a + b in a tree, {what}", in_a_tree / reference, "np.argsort of all scores", "for comparison")
    two = [RankedScores.merge(rankings[:50]), RankedScores.merge(rankings[50:])]
    added, reference = fastest(lambda: two[0] + two[1], lambda: RankedScores.from_labels(y, score))
    report("a + b, 500,000 scores each", added / reference, "ranking all rows anew", "below 1")


def add_in_a_tree(rankings: list[RankedScores]) -> RankedScores:
    while len(rankings) > 1:
        rankings = [sum(rankings[start + 1 : start + 2], rankings[start]) for start in range(0, len(rankings), 2)]
    return rankings[0]


def evaluation_against_argsort() -> None:
    """Without replicates the sort should be most of an evaluation."""
    y, score = scored_rows(1_000_000)
    rng = np.random.default_rng(0)
    bands = {c: oracle_band(y, score, c).selects(score) for c in (1.0, *COVERAGES)}
    masks = {c: rng.random(len(y)) < c for c in COVERAGES}
    for what, selections, target in (
        (f"{len(bands)} bands", bands, "at most 3"),
        (f"{len(masks)} masks that follow no score", masks, "at most 7"),
    ):
        ours, reference = fastest(
            lambda selections=selections: evaluate_selections(y, score, score > 0.5, selections, n_bootstrap=0),
            lambda: np.argsort(score),
        )
        name = f"evaluate_selections without replicates, 1,000,000 rows, {what}"
        report(name, ours / reference, "np.argsort", target)


def bootstrap_against_resampling() -> None:
    n_rows, n_replicates, n_resampled = 37_500, 1000, 3
    y, score = scored_rows(n_rows)
    selections = {c: oracle_band(y, score, c).selects(score) for c in (1.0, *COVERAGES)}
    rng = np.random.default_rng(0)

    def resample() -> None:
        for _ in range(n_resampled):
            drawn = rng.integers(0, n_rows, n_rows)
            for selected in selections.values():
                kept = drawn[selected[drawn]]
                roc_auc_score(y[kept], score[kept])

    ours, few = fastest(lambda: evaluate_selections(y, score, score > 0.5, selections), resample)
    # The naive loop does the same work in every resample, so a few of them tell the time of all.
    report(
        "intervals of 7 bands x 37,500 rows, instead of 1,000 resamples: times faster",
        few * n_replicates / n_resampled / ours,
        "roc_auc_score on resamples",
        "at least 80, target 150",
    )


def fit_against_cross_validation() -> None:
    if not FOLDER.is_dir():
        print("AUCross.fit on Adult: skipped, no data in AUCROSS_DATA")
        return
    data = load("Adult")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def by_hand() -> None:
        cross_val_predict(BASE_MODEL, data.X_train, data.y_train, cv=folds, method="predict_proba")
        clone(BASE_MODEL).fit(data.X_train, data.y_train)

    def by_aucross() -> None:
        AUCross(BASE_MODEL, random_state=0).fit(data.X_train, data.y_train)

    def by_folds() -> None:
        without_correction(AUCross(BASE_MODEL, random_state=0)).fit(data.X_train, data.y_train)

    uncorrected, corrected, reference = fastest(by_folds, by_aucross, by_hand)
    by = "cross_val_predict and fit"
    report("AUCross.fit on Adult, without the correction", uncorrected / reference, by, "at most 1.03")
    # The fold models and the refit also score the rows that they have seen: no further training.
    report("AUCross.fit on Adult, with the correction", corrected / reference, by, "at most 1.3")


def select_against_predict_proba() -> None:
    X, y = wide_rows(1_000_000)
    model = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    clf = AUCross(model, random_state=0, cv=2).fit(X[:200_000], y[:200_000])
    ours, reference = fastest(lambda: clf.select(X), lambda: clf.estimator_.predict_proba(X))
    report("select, 1,000,000 rows x 20 features", ours / reference, "predict_proba", "at most 1.03")


def wide_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20))
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(1.8 - X[:, :4].sum(axis=1)))).astype(int)


# Run in a process of its own, because the peak of a process never falls again.
MEMORY_PROBE = """
import resource
from lightgbm import LGBMClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from aucross import AUCross
from benchmarks.speed import wide_rows
X, y = wide_rows(1_000_000)
model = LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1, random_state=0)
{action}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
MEMORY_ACTIONS = (
    "AUCross(model, random_state=0).fit(X, y)",
    "cross_val_predict(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0), method='predict_proba')",
)


def memory_beyond_cross_validation() -> None:
    ours, reference = (int(run_python(MEMORY_PROBE.format(action=action))) for action in MEMORY_ACTIONS)
    report(
        "AUCross.fit, 1,000,000 rows: bytes a row", (ours - reference) / 1e6, "cross_val_predict", "at most 150 more"
    )


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def report(what: str, value: float, reference: str, target: str) -> None:
    print(f"{what:68} {value:8.3f}   against {reference} ({target})", flush=True)


def growth() -> None:
    """Seconds per row and per doubling of the logarithm would be constant for n log n."""
    print("      rows   argsort   rank     full-width band   oracle   total / argsort   nanoseconds per n log2 n")
    for n_rows in (10**4, 10**5, 10**6, 10**7):
        y, score = scored_rows(n_rows)
        ranked = RankedScores.from_labels(y, score)
        best_band(ranked, 0.9)  # computes the prefix sums, which belong to the oracle's time below
        sort, rank, full, oracle = fastest(
            lambda s=score: np.argsort(s),
            lambda y=y, s=score: RankedScores.from_labels(y, s),
            lambda r=ranked: best_band(r, 0.9),
            lambda y=y, s=score: oracle_band(y, s, 0.9),
            repeats=3,
        )
        print(
            f"{n_rows:10,} {sort:9.4f} {rank:8.4f} {full:12.4f} {oracle:13.4f} {oracle / sort:14.1f} "
            f"{oracle / (n_rows * np.log2(n_rows)) * 1e9:20.2f}",
            flush=True,
        )


def main() -> None:
    if sys.argv[1:] == ["growth"]:
        growth()
        return
    oracle_against_argsort()
    merge_against_sorting()
    evaluation_against_argsort()
    bootstrap_against_resampling()
    fit_against_cross_validation()
    select_against_predict_proba()
    memory_beyond_cross_validation()


if __name__ == "__main__":
    main()
