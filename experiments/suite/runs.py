"""Run one cell: train every model once, select with every method, measure all of them alike."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.equal_coverage import NearestSelections
from experiments.peers import MaxProbability, Peer
from experiments.peers.probabilities import frozen_probabilities
from experiments.runs import Oracles, Selections, evaluate
from experiments.selections import select_each
from experiments.suite.methods import DEFAULT, PLUG_IN_AUC, methods_of, peers_of
from experiments.suite.protocol import COVERAGES, Cell, Rows
from experiments.trained_once import FittedModels

Probabilities = NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """The test rows as one model scores them, with the Oracle of these scores."""

    probabilities: Probabilities
    oracles: Oracles

    @classmethod
    def of(cls, y_test: NDArray[np.int64], probabilities: Probabilities) -> Scored:
        """Score the rows and make room for their Oracle."""
        return cls(probabilities, Oracles(y_test, probabilities[:, 1]))

    @property
    def score(self) -> Probabilities:
        """Probability of the positive class."""
        return self.probabilities[:, 1]


@dataclass(frozen=True)
class Outcome:
    """What one method selected, with whose scores, and what its fit cost."""

    method: str
    scored: Scored
    selections: Selections
    seconds: float


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    """One row per method and coverage."""
    rows, models = cell.rows(), FittedModels()
    with warnings.catch_warnings():
        # Networks that stop early, forests with equal scores, peers that guarantee nothing: all of it is in the rows.
        warnings.simplefilter("ignore")
        fitted, seconds = {}, {}
        for name, build in methods_of(cell, models).items():
            fitted[name], seconds[name] = _fit(build(), rows, models)
        full, held_out = (
            Scored.of(rows.y_test, np.asarray(fitted[name].predict_proba(rows.X_test), dtype=np.float64))
            for name in (DEFAULT, PLUG_IN_AUC)
        )
        of_rows = {name: clf.scored(rows.X_test) for name, clf in fitted.items()}
        outcomes = [
            Outcome(
                name,
                held_out if name in (PLUG_IN_AUC, "PlugIn") else full,
                dict(zip(COVERAGES, select_each(clf, of_rows[name], COVERAGES), strict=True)),
                seconds[name],
            )
            for name, clf in fitted.items()
        ]
        outcomes += _peers(cell, rows, fitted[PLUG_IN_AUC], full=full, held_out=held_out, training=seconds[PLUG_IN_AUC])
        references = {
            "aucross": (NearestSelections(fitted[DEFAULT], of_rows[DEFAULT]), full.score),
            "plug_in": (NearestSelections(fitted[PLUG_IN_AUC], of_rows[PLUG_IN_AUC]), held_out.score),
        }
    about = {**cell.key, "n_train": len(rows.y_train), "n_test": len(rows.y_test), "prevalence": rows.y_test.mean()}
    return [{**about, **row} for outcome in outcomes for row in _measured(outcome, rows.y_test, references)]


def _fit(clf: Any, rows: Rows, models: FittedModels) -> tuple[Any, float]:
    """Fit, and say how much processor time it takes alone, also where another method has trained the models before."""
    start, spent, charged = time.process_time(), models.spent, models.charged
    groups = {} if rows.groups is None else {"groups": rows.groups}
    clf.fit(rows.X_train, rows.y_train, **groups)
    own = time.process_time() - start - (models.spent - spent)
    return clf, own + (models.charged - charged)


def _peers(
    cell: Cell, rows: Rows, plug_in: Any, *, full: Scored, held_out: Scored, training: float
) -> Iterator[Outcome]:
    """Every peer gets the model and the held-out rows of PlugInAUC; what needs no held rows gets the full model."""
    held = plug_in.held_out_.rows
    X_held = np.asarray(plug_in.predict_proba(rows.X_train.iloc[held]), dtype=np.float64)
    for peer in peers_of(cell):
        scored = full if isinstance(peer, MaxProbability) else held_out
        start = time.process_time()
        selections = {c: _selected(peer, X_held, rows.y_train[held], scored, c) for c in COVERAGES}
        yield Outcome(peer.name, scored, selections, training + time.process_time() - start)


def _selected(
    peer: Peer, X_held: Probabilities, y_held: NDArray[np.int64], scored: Scored, coverage: float
) -> NDArray[np.bool_]:
    # The probabilities stand for the rows: no peer of the suite looks at anything else.
    return peer.select(frozen_probabilities(), X_held, y_held, scored.probabilities, coverage)


def _measured(
    outcome: Outcome, y_test: NDArray[np.int64], references: dict[str, tuple[NearestSelections, Probabilities]]
) -> Iterator[dict[str, Any]]:
    """One row per coverage; nothing where no row, or only one class, is selected."""
    score, selections = outcome.scored.score, outcome.selections
    reached = {c: float(selected.mean()) for c, selected in selections.items()}
    aucs = {"auc": evaluate(y_test, score, {1.0: np.ones(len(y_test), dtype=bool), **selections}, 0)}
    for name, (nearest, of_reference) in references.items():
        aucs[name] = evaluate(y_test, of_reference, {c: nearest.at(reached[c]) for c in selections}, 0)
    of_all, *of_selected = aucs.pop("auc").rows()
    others = {name: list(evaluation.rows()) for name, evaluation in aucs.items()}
    for index, row in enumerate(of_selected):
        coverage, auc = row["target_coverage"], row["selective_auc"]
        oracle = outcome.scored.oracles.exact(reached[coverage]) if reached[coverage] else float("nan")
        yield {
            "method": outcome.method,
            "target_coverage": coverage,
            "coverage": reached[coverage],
            "auc": auc,
            "auc_all": of_all["selective_auc"],
            "accuracy": row["selective_accuracy"],
            "accuracy_all": of_all["selective_accuracy"],
            "oracle_distance": oracle - auc,
            # The reference at the coverage reached here, as near as its own scores allow.
            **{f"{name}_auc": rows[index]["selective_auc"] for name, rows in others.items()},
            **{f"{name}_coverage": rows[index]["achieved_coverage"] for name, rows in others.items()},
            "seconds": outcome.seconds,
        }
