"""The methods that are compared, by the names that the tables use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import without_correction
from experiments.protocol import CLASSIFIERS, PAPER_SEED, Run
from experiments.trained_once import FittedModels, TrainedOnce

PUBLISHED = ("AUCross", "PlugIn", "PlugInAUC", "SCross")
OURS = ("AUCross optimal", "PlugInAUC optimal", "AUCGate")
METHODS = PUBLISHED + OURS
# Those that random splits with LightGBM compare.
SPLIT_METHODS = (*PUBLISHED, "AUCross optimal", "PlugInAUC optimal")
# Bands of "AUCross optimal" placed again on the test rows, without their labels: what to do when rows drift. Its
# coverage of these rows is exact by construction, so it takes no part in wins and V.
RECALIBRATED = "AUCross recalibrated"
TABLE_METHODS = (*METHODS, RECALIBRATED)
CROSS_FITTED = frozenset({"AUCross", "SCross", "AUCross optimal", "AUCGate", RECALIBRATED})

# Networks that say themselves which rows to reject, by the names of the published tables; the last is not in them.
LEARNT = ("SelNet", "SAT", "DeepGamblers")
# Base models of the networks, by table and image.
NETWORKS = ("ResNet", "VGG16")

Method = Callable[[], Any]


def methods_of(run: Run, models: FittedModels | None = None) -> Mapping[str, Method]:
    """Unfitted methods of a run by name, which share trainings if there is a place for the models.

    Those that hold out rows do not depend on the number of folds.
    """
    base, gate = (
        CLASSIFIERS[name]() if models is None else TrainedOnce(CLASSIFIERS[name](), models)
        for name in (run.classifier, gate_of(run.classifier))
    )
    seed = PAPER_SEED if run.split == "paper" else run.seed
    cross_fitted = {
        "AUCross": lambda: AUCross(base, placement="centered", cv=run.cv, random_state=seed),
        "SCross": lambda: without_correction(SCross(base, cv=run.cv, random_state=seed)),
        "AUCross optimal": lambda: AUCross(base, cv=run.cv, random_state=seed),
        # Not a method of the tables: what the correction for the number of folds brings.
        "AUCross optimal, uncorrected": lambda: without_correction(AUCross(base, cv=run.cv, random_state=seed)),
    }
    if run.cv != 5:
        return cross_fitted
    gated = {"AUCGate": lambda: AUCGate(base, gate, cv=run.cv, random_state=seed)}
    return {
        **cross_fitted,
        "PlugIn": lambda: PlugIn(base, random_state=seed),
        "PlugInAUC": lambda: PlugInAUC(base, placement="centered", random_state=seed),
        "PlugInAUC optimal": lambda: PlugInAUC(base, random_state=seed),
        **(gated if run.split == "paper" or run.classifier != "LightGBM" else {}),
    }


def gate_of(classifier: str) -> str:
    """The model that decides when to defer: the strongest of the others.

    To LightGBM it adds nothing, which the paper's split shows; random splits have it for the other classifiers.
    """
    return "XGBoost" if classifier == "LightGBM" else "LightGBM"
