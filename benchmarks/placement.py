"""How close optimal and centred placement come to the Oracle, each at the coverage that it reached on test rows.

    python -m benchmarks.placement [number of splits, default 10]

Default LightGBM, 5 folds. Adult keeps its test rows and changes the fold seed; UCICredit and GiveMe change the split.
Both placements use the same out-of-fold scores, and neither is corrected for the number of folds. Distances are in
1e-4 of AUC, mean over the six coverages; the interval of the ratio is a bootstrap over splits.
"""

from __future__ import annotations

import sys

import numpy as np

from aucross import AUCross
from aucross.core import BandRule, RankedScores, best_band, estimate_auc_bands
from aucross.estimators import without_correction
from aucross.estimators.training_rows import halves_of
from benchmarks.paper_data import BASE_MODEL, COVERAGES, NAMES, Split, splits


def distances_to_oracle(clf: AUCross, data: Split) -> list[float]:
    """Mean distance over coverages, in 1e-4, of optimal and of centred placement on one split."""
    halves = [clf.held_out_.take(half).ranked() for half in halves_of(clf.held_out_.labels, clf.random_state)]
    centered = estimate_auc_bands(clf.held_out_.ranked(), halves, placement="centered")
    ranked = RankedScores.from_labels(data.y_test, clf.predict_proba(data.X_test)[:, 1])
    rules = (clf.band_rule_, centered)
    return [np.mean([gap(ranked, rule, coverage) for coverage in COVERAGES]) * 1e4 for rule in rules]


def gap(ranked: RankedScores, rule: BandRule, coverage: float) -> float:
    """AUC of the best band at the coverage reached, minus the AUC of the rule's band."""
    band = rule.band(coverage)
    oracle = best_band(ranked, ranked.coverage(band), width="any")
    return ranked.auc(oracle) - ranked.auc(band)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rng = np.random.default_rng(0)
    print(f"mean distance to the Oracle in 1e-4 of AUC, {count} splits")
    for name in NAMES:
        rows = []
        for seed, data in splits(name, count):
            clf = without_correction(AUCross(BASE_MODEL, random_state=seed))
            rows.append(distances_to_oracle(clf.fit(data.X_train, data.y_train), data))
        optimal, centered = np.array(rows).T
        drawn = rng.integers(0, count, size=(10_000, count))
        ratios = centered[drawn].mean(axis=1) / optimal[drawn].mean(axis=1)
        low, high = np.quantile(ratios, [0.025, 0.975])
        print(
            f"{name:10} optimal {optimal.mean():5.2f}   centred {centered.mean():5.2f}   "
            f"ratio {centered.mean() / optimal.mean():5.1f} [{low:.1f}, {high:.1f}]",
            flush=True,
        )


if __name__ == "__main__":
    main()
