"""More than two classes: M against coverage for our rule, max probability, margin and entropy.

    python -m benchmarks.multiclass

All four rules reject rows of the same model, with thresholds placed on the same out-of-fold scores. The paired
differences below each table give the other rules exactly as many test rows as ours has, so that none has an easier
task. The digits come
with scikit-learn, the imbalanced sets are synthetic; CIFAR-10 and the loans are read from AUCROSS_DATA and left out,
with a word, where they are missing. The intervals have a level of 95 %.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.special import xlogy
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCross
from aucross.estimators import without_correction
from aucross.evaluation import evaluate_selections
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from benchmarks.paper_data import FOLDER, Split
from experiments.selections import select_each

TARGETS = (1.0, 0.95, 0.90, 0.85, 0.80, 0.75)


class DataMissingError(Exception):
    """A data set cannot be read here; the text says why."""


def margin(prob: np.ndarray) -> np.ndarray:
    second, first = np.partition(prob, -2, axis=1)[:, -2:].T
    return first - second


def negative_entropy(prob: np.ndarray) -> np.ndarray:
    return xlogy(prob, prob).sum(axis=1)


# A confidence each; the rows of lowest confidence are rejected.
CONFIDENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "max probability": lambda prob: prob.max(axis=1),
    "margin": margin,
    "entropy": negative_entropy,
}


# ---- data ----


def digits() -> tuple[Split, Any]:
    """Ten classes, balanced; a model that is held back, since a good one leaves nothing to reject."""
    X, y = load_digits(return_X_y=True)
    # Two components rather than a strong ridge: what a ridge does depends on the number of rows, so out-of-fold scores
    # would be on another scale than those of the final model, and every rule would miss its coverage.
    return split(X, y, test_size=0.5), make_pipeline(StandardScaler(), PCA(2, random_state=0), LogisticRegression())


def imbalanced(*shares: float) -> tuple[Split, Any]:
    X, y = make_classification(30_000, n_informative=5, n_classes=3, weights=list(shares), random_state=0)
    return split(X, y, test_size=0.5), LogisticRegression()


def cifar10() -> tuple[Split, Any]:
    """All ten classes from small grey pictures, colours and edge directions."""
    train, test = (read("cifar10_" + part, ["image", "label"]) for part in ("train", "test"))
    train, test = train.sample(10_000, random_state=0), test.sample(5_000, random_state=0)
    features = [np.array([picture_features(image) for image in part["image"]]) for part in (train, test)]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=50))
    return Split(*features, train["label"].to_numpy(), test["label"].to_numpy()), model


def picture_features(image: Any) -> np.ndarray:
    try:
        from PIL import Image  # noqa: PLC0415  (only this data set needs it)
    except ImportError:
        raise DataMissingError("Pillow is not installed") from None
    encoded = image["bytes"] if isinstance(image, dict) else image
    pixels = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"), dtype=np.float32) / 255
    grey = pixels.mean(axis=2)
    small = grey.reshape(8, 4, 8, 4).mean(axis=(1, 3)).ravel()
    colours = pixels.reshape(4, 8, 4, 8, 3).mean(axis=(1, 3)).ravel()
    return np.concatenate((small, colours, edge_directions(grey)))


def edge_directions(grey: np.ndarray) -> np.ndarray:
    """Strength of eight edge directions in each of 4 x 4 cells."""
    down, across = np.gradient(grey)
    strength = np.hypot(down, across)
    direction = ((np.arctan2(down, across) % np.pi) / np.pi * 8).astype(int) % 8
    cell = np.arange(32) // 8
    place = (cell[:, None] * 4 + cell[None, :]) * 8 + direction
    histogram = np.bincount(place.ravel(), weights=strength.ravel(), minlength=128).reshape(16, 8)
    return (histogram / (np.linalg.norm(histogram, axis=1, keepdims=True) + 0.1)).ravel()


def loan_grades() -> tuple[Split, Any]:
    """Grades A to G from the application; rate, instalment and what came later would give the grade away."""
    names = ["loan_amnt", "term", "emp_length", "home_ownership", "annual_inc", "verification_status", "purpose"]
    frame = read("lending", [*names, "open_acc", "total_acc", "grade"]).sample(30_000, random_state=0)
    y = frame.pop("grade").astype(str).to_numpy()
    for name in frame.columns[~frame.dtypes.map(pd.api.types.is_numeric_dtype)]:
        frame[name] = frame[name].astype("category").cat.codes
    return split(frame.to_numpy(dtype=float), y, test_size=1 / 3), few_trees()


def few_trees() -> LGBMClassifier:
    return LGBMClassifier(n_estimators=30, num_leaves=15, random_state=0, n_jobs=1, verbose=-1)


def split(X: Any, y: np.ndarray, test_size: float) -> Split:
    return Split(*train_test_split(X, y, test_size=test_size, stratify=y, random_state=0))


def read(name: str, columns: list[str]) -> pd.DataFrame:
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        raise DataMissingError(f"there is no {path}; set AUCROSS_DATA to the folder with the data sets")
    return pd.read_parquet(path, columns=columns)


# ---- rules ----


def evaluate_rules(rows: Split, model: Any) -> dict[str, SelectiveEvaluation]:
    # The thresholds of the other rules are not corrected for the number of folds either.
    clf = without_correction(AUCross(model, random_state=0)).fit(rows.X_train, rows.y_train)
    prob, held_out = clf.predict_proba(rows.X_test), clf.held_out_.responses
    selections = {"AUCross": select_each(clf, rows.X_test, TARGETS)}
    for name, confidence in CONFIDENCES.items():
        thresholds = np.quantile(confidence(held_out), 1 - np.array(TARGETS))
        thresholds[np.array(TARGETS) == 1] = -np.inf
        selections[name] = confidence(prob) >= thresholds[:, None]
        # The lines for equal coverage: as many test rows as ours, those of highest confidence.
        rank = np.argsort(np.argsort(-confidence(prob), kind="stable"))
        selections[f"{name}, equal coverage"] = rank < selections["AUCross"].sum(axis=1)[:, None]
    predicted = clf.predict(rows.X_test)
    return {
        name: evaluate_selections(
            rows.y_test,
            prob,
            predicted,
            dict(zip(TARGETS, masks, strict=True)),
            classes=clf.classes_,
        )
        for name, masks in selections.items()
    }


def print_table(results: dict[str, SelectiveEvaluation]) -> None:
    header = "".join(f"{coverage:>22.2f}" for coverage in TARGETS)
    print(f"{'M at coverage':16}{header}   coverage and accuracy at {TARGETS[-1]}")
    for name in ("AUCross", *CONFIDENCES):
        rows = results[name].rows()
        cells = "".join(
            f"{row['hand_till_m']:.3f} [{row['hand_till_m_low']:.3f}, {row['hand_till_m_high']:.3f}]".rjust(22)
            for row in rows
        )
        print(f"{name:16}{cells}   {rows[-1]['achieved_coverage']:.3f} {rows[-1]['selective_accuracy']:.3f}")
    ours = results["AUCross"]
    for name in CONFIDENCES:
        (last,) = [
            row
            for row in ours.minus(results[f"{name}, equal coverage"]).rows()
            if row["metric"] == "hand_till_m" and row["target_coverage"] == TARGETS[-1]
        ]
        print(
            f"AUCross less {name} at {TARGETS[-1]}, equal coverage: {last['difference']:+.4f} "
            f"[{last['difference_low']:+.4f}, {last['difference_high']:+.4f}]"
        )


SETS: dict[str, Callable[[], tuple[Split, Any]]] = {
    "digits, weak model": digits,
    "CIFAR-10": cifar10,
    "loan grades A to G": loan_grades,
    "synthetic .80/.15/.05": lambda: imbalanced(0.80, 0.15, 0.05),
    "synthetic .90/.07/.03": lambda: imbalanced(0.90, 0.07, 0.03),
}


def main() -> None:
    # A regression stopped early is one more weak model.
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, load in SETS.items():
        start = perf_counter()
        try:
            rows, model = load()
        except DataMissingError as missing:
            print(f"\n-- {name}: left out, {missing}")
            continue
        results = evaluate_rules(rows, model)
        n_classes = len(np.unique(rows.y_train))
        print(
            f"\n-- {name}: {n_classes} classes, {len(rows.y_train):,} training and {len(rows.y_test):,} test rows, "
            f"{perf_counter() - start:.0f} s"
        )
        print_table(results)


if __name__ == "__main__":
    main()
