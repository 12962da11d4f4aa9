"""The peers against our band, on the same model, the same held-out rows and the same test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from aucross import PlugIn, PlugInAUC
from experiments.equal_coverage import AtEqualCoverage
from experiments.peers import installed_peers
from experiments.protocol import CLASSIFIERS, COVERAGES, DATASETS, N_BOOTSTRAP, PAPER_SEED, Run
from experiments.runs import Oracles, evaluate
from experiments.selections import select_each
from experiments.trained_once import FittedModels, TrainedOnce
from experiments.work import Named

OURS = "aucross PlugInAUC"


@dataclass(frozen=True)
class PeerRun(Named):
    """One data set and one base classifier."""

    dataset: str
    classifier: str


def peer_works() -> Iterator[PeerRun]:
    """Two base classifiers on each data set."""
    for dataset in DATASETS:
        for classifier in ("LightGBM", "Logistic"):
            yield PeerRun(dataset, classifier)


def compare_peers(work: PeerRun) -> list[dict[str, Any]]:
    """One row per peer and coverage: what it reached, and our AUC minus its own at that coverage."""
    split = Run(work.dataset).rows()
    train, held = train_test_split(
        np.arange(len(split.y_train)), test_size=0.1, stratify=split.y_train, random_state=PAPER_SEED
    )
    X_held, y_held = split.X_train.iloc[held], split.y_train[held]
    base = TrainedOnce(CLASSIFIERS[work.classifier](), FittedModels())
    ours, confident = (
        method(base, cv=[(train, held)], random_state=PAPER_SEED).fit(split.X_train, split.y_train)
        for method in (PlugInAUC, PlugIn)
    )
    model = ours.estimator_.estimator_
    judge = _Judge(split.y_test, model.predict_proba(split.X_test)[:, 1].astype(float), ours, split.X_test)
    rows: list[dict[str, Any]] = []
    for name, clf in {OURS: ours, "aucross PlugIn": confident}.items():
        chosen = dict(zip(COVERAGES, select_each(clf, split.X_test, COVERAGES), strict=True))
        rows += ({"peer": name, "library": "aucross", "heeds_coverage": True, **row} for row in judge.rows(chosen))
    for peer in installed_peers():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peers' own, about levels that they cannot reach
            chosen = {c: peer.select(model, X_held, y_held, split.X_test, c) for c in COVERAGES}
        about = {"peer": peer.name, "library": peer.library, "heeds_coverage": peer.heeds_coverage}
        about["seconds"] = time.perf_counter() - start
        rows += ({**about, **row} for row in judge.rows(chosen))
    return [{**work.key, **row} for row in rows]


class _Judge:
    """Measures selections of the same scored rows, and ours at the same coverage with the same bootstrap samples."""

    def __init__(self, y_test: np.ndarray, score: np.ndarray, ours: PlugInAUC, X_test: Any) -> None:
        self._rows = y_test, score
        self._oracles = Oracles(y_test, score)
        self._ours = AtEqualCoverage(ours, X_test, y_test, n_bootstrap=N_BOOTSTRAP)

    def rows(self, selections: dict[float, np.ndarray]) -> Iterator[dict[str, Any]]:
        """One row per coverage asked for."""
        y_test, score = self._rows
        evaluation = evaluate(y_test, score, selections, N_BOOTSTRAP)
        for row, matched in zip(evaluation.rows(), self._ours.minus(evaluation, selections), strict=True):
            reached, auc = row["achieved_coverage"], row["selective_auc"]
            yield {
                "target_coverage": row["target_coverage"],
                "coverage": reached,
                "selective_auc": auc,
                "selective_accuracy": row["selective_accuracy"],
                "positive_rate": row["positive_rate"],
                "oracle_distance": self._oracles.exact(reached) - auc if reached else float("nan"),
                "ours_minus_peer": matched["difference"],
                "low": matched["low"],
                "high": matched["high"],
            }
