"""Label-free re-placement on LendingClub: trained on loans before 2014, placed on and applied to loans of 2014.

The fitted bands, the published (centred) ones and the re-placed ones are compared at the coverage that each reaches:
the distance to the Oracle is the AUC of the best band with that coverage less the AUC of the selected rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from aucross import AUCross
from aucross.core import RankedScores, oracle_band
from aucross.core.ranking import FloatArray
from benchmarks.paper_data import BASE_MODEL, COVERAGES, FOLDER

BATCH = 5_000
N_HALVES = 10


def load(with_leak: bool) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Loans before 2014 and of 2014; `total_pymnt` is known only after the outcome."""
    frame = pd.read_parquet(FOLDER / "lending.parquet")
    if not with_leak:
        frame = frame.drop(columns="total_pymnt")
    text = frame.columns[frame.dtypes.map(pd.api.types.is_string_dtype)].drop("issue_block")
    frame = frame.astype(dict.fromkeys(text, "category"))
    is_new = (frame.pop("issue_block") == "2014").to_numpy()
    y = frame.pop("target").to_numpy()
    return frame[~is_new], y[~is_new], frame[is_new], y[is_new]


def distance(y: np.ndarray, score: FloatArray, selected: np.ndarray) -> float:
    """AUC of the Oracle at the coverage reached, less the AUC of the selected rows."""
    ranked = RankedScores.from_labels(y, score)
    best = ranked.auc(oracle_band(y, score, float(selected.mean())))
    return best - RankedScores.from_labels(y[selected], score[selected]).auc()


def batches(X: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows as a stream would bring them."""
    for start in range(0, len(X), BATCH):
        yield X.iloc[start : start + BATCH]


def random_halves(n_rows: int) -> Iterator[np.ndarray]:
    """Masks of the rows to place on; the other rows are reported on."""
    for seed in range(N_HALVES):
        yield np.random.default_rng(seed).permutation(n_rows) < n_rows // 2


def report(with_leak: bool) -> None:
    X_old, y_old, X_new, y_new = load(with_leak)
    fitted = AUCross(BASE_MODEL, random_state=42).fit(X_old, y_old)
    published = AUCross(BASE_MODEL, placement="centered", random_state=42).fit(X_old, y_old)
    score = fitted.predict_proba(X_new)[:, 1]
    found: dict[str, list[np.ndarray]] = {}
    for half in random_halves(len(y_new)):
        rules = {
            "published": published,
            "fitted": fitted,
            "re-placed": fitted.recalibrate(batches(X_new[half])),
            "re-placed, label shift": fitted.recalibrate(X_new[half], label_shift=True),
        }
        for name, clf in rules.items():
            # A band is a question to the scores: the test rows are scored once for all.
            selections = [clf.band(coverage).selects(score[~half]) for coverage in COVERAGES]
            reached = [selected.mean() for selected in selections]
            distances = [1e4 * distance(y_new[~half], score[~half], selected) for selected in selections]
            found.setdefault(name, []).append(np.array([reached, distances]))
    leak = "with" if with_leak else "without"
    n_half = len(y_new) // 2
    print(f"\nLendingClub {leak} total_pymnt: {len(y_old):,} loans before 2014; placed on {n_half:,} of 2014 without")
    print(f"labels, reported on the other {len(y_new) - n_half:,}; {N_HALVES} random halves; LightGBM, 5 folds. Mean")
    print("coverage, largest error of a half; mean distance to the Oracle at the coverage reached, in 1e-4 of AUC.")
    print(f"{'placement':24}" + "".join(f"{f'c = {coverage}':>21}" for coverage in COVERAGES) + "  mean, c <= .95")
    for name, halves in found.items():
        reached, distances = np.array(halves).transpose(1, 0, 2)
        worst = np.abs(reached - np.array(COVERAGES)).max(axis=0)
        cells = [
            f"{share:.4f} {error:.4f} {away:5.1f}"
            for share, error, away in zip(reached.mean(axis=0), worst, distances.mean(axis=0), strict=True)
        ]
        print(f"{name:24}" + "".join(f"{cell:>21}" for cell in cells) + f"  {distances[:, 1:].mean():8.2f}")
    exact = [band.selects(score).mean() for band in map(fitted.recalibrate(X_new).band, COVERAGES)]
    print(f"{'on the batch itself':24}" + "".join(f"{value:>21.6f}" for value in exact))


def main() -> None:
    report(with_leak=False)
    report(with_leak=True)


if __name__ == "__main__":
    main()
