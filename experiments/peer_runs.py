"""The peers against our band, on the same model, the same held-out rows and the same test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from aucross import PlugIn, PlugInAUC, SelectiveEvaluation, evaluate_selections
from experiments.peers import PEERS
from experiments.protocol import CLASSIFIERS, COVERAGES, DATASETS, N_BOOTSTRAP, PAPER_SEED, Run
from experiments.runs import BOOTSTRAP_SEED, Oracles
from experiments.trained_once import FittedModels, TrainedOnce

OURS = "aucross PlugInAUC"


@dataclass(frozen=True)
class PeerRun:
    """One data set and one base classifier."""

    dataset: str
    classifier: str

    @property
    def key(self) -> dict[str, Any]:
        """What names it in the cache."""
        return asdict(self)


def peer_works() -> Iterator[PeerRun]:
    """Two base classifiers on each data set."""
    for dataset in DATASETS:
        for classifier in ("LightGBM", "Logistic"):
            yield PeerRun(dataset, classifier)


def compare_peers(work: PeerRun) -> list[dict[str, Any]]:
    """One row per peer and coverage: what it reached, and our AUC minus its own with a paired interval."""
    split = Run(work.dataset).rows()
    base = TrainedOnce(CLASSIFIERS[work.classifier](), FittedModels())
    ours = PlugInAUC(base, random_state=PAPER_SEED).fit(split.X_train, split.y_train)
    model = ours.estimator_.estimator_
    # The rows that our method held out of its training.
    _, X_held, _, y_held = train_test_split(
        split.X_train, split.y_train, test_size=0.1, stratify=split.y_train, random_state=PAPER_SEED
    )
    score = model.predict_proba(split.X_test)[:, 1].astype(float)
    judge = _Judge(split.y_test, score)
    plain = PlugIn(base, random_state=PAPER_SEED).fit(split.X_train, split.y_train)
    rows = []
    reference = judge.evaluate(dict(zip(COVERAGES, ours.select_each(split.X_test, COVERAGES), strict=True)))
    rows += judge.rows(OURS, "aucross", reference, reference, 0.0)
    confident = judge.evaluate(dict(zip(COVERAGES, plain.select_each(split.X_test, COVERAGES), strict=True)))
    rows += judge.rows("aucross PlugIn", "aucross", confident, reference, 0.0)
    for peer in PEERS:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peers' own, about levels that they cannot reach
            chosen = {c: peer.select(model, X_held, y_held, split.X_test, c) for c in COVERAGES}
        seconds = time.perf_counter() - start
        rows += judge.rows(peer.name, peer.library, judge.evaluate(chosen), reference, seconds)
    return [{**work.key, **row} for row in rows]


class _Judge:
    """Evaluates selections of the same scored rows with the same bootstrap samples."""

    def __init__(self, y_test: np.ndarray, score: np.ndarray) -> None:
        self._rows = y_test, score
        self._oracles = Oracles(y_test, score)

    def evaluate(self, selections: dict[float, np.ndarray]) -> SelectiveEvaluation:
        y_test, score = self._rows
        return evaluate_selections(
            y_test, score, score > 0.5, selections, n_bootstrap=N_BOOTSTRAP, random_state=BOOTSTRAP_SEED
        )

    def rows(
        self, name: str, library: str, evaluation: SelectiveEvaluation, ours: SelectiveEvaluation, seconds: float
    ) -> Iterator[dict[str, Any]]:
        compared = {
            row["target_coverage"]: row for row in ours.minus(evaluation).rows() if row["metric"] == "selective_auc"
        }
        for row in evaluation.rows():
            reached, auc = row["achieved_coverage"], row["selective_auc"]
            difference = compared[row["target_coverage"]]
            yield {
                "peer": name,
                "library": library,
                "target_coverage": row["target_coverage"],
                "coverage": reached,
                "selective_auc": auc,
                "selective_accuracy": row["selective_accuracy"],
                "positive_rate": row["positive_rate"],
                "oracle_distance": self._oracles.exact(reached) - auc if reached else float("nan"),
                "ours_minus_peer": difference["difference"],
                "low": difference["difference_low"],
                "high": difference["difference_high"],
                "seconds": seconds,
            }
