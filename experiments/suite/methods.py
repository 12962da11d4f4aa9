"""The methods of the suite by name: ours, and the peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from experiments.peers import (
    MODULES,
    FallbackRate,
    GuaranteedCoverage,
    MatchedRisk,
    MaxProbability,
    Peer,
    PredictionSets,
    RejectPolicy,
    ThresholdPerClass,
    WindowPriority,
)
from experiments.suite.protocol import FAMILIES, GATE, GATED, N_SPLITS_OF_SLOW_PEERS, Cell
from experiments.trained_once import FittedModels, TrainedOnce

DEFAULT = "AUCross"
PLUG_IN_AUC = "PlugInAUC"
OURS = (DEFAULT, "AUCross published", "AUCross judged", PLUG_IN_AUC, "SCross", "PlugIn", "AUCGate")

# Peers that can be asked for a coverage. Those of the libraries that cannot, or that look at the features and not at
# the score, are in the study of the paper's tables.
PEERS: tuple[Peer, ...] = (
    MaxProbability(),
    FallbackRate(),
    ThresholdPerClass(),
    MatchedRisk("accuracy"),
    PredictionSets(),
    GuaranteedCoverage(),
    WindowPriority(),
)
SLOW_PEERS: tuple[Peer, ...] = (RejectPolicy(),)

Method = Callable[[], Any]


def methods_of(cell: Cell, models: FittedModels) -> Mapping[str, Method]:
    """Our unfitted methods, as a user would write them, which share every training that they have in common."""
    base, seed = TrainedOnce(FAMILIES[cell.family](), models), cell.split
    gate = TrainedOnce(FAMILIES[GATE](), models)
    gated = {"AUCGate": lambda: AUCGate(base, gate, random_state=seed)}
    return {
        DEFAULT: lambda: AUCross(base, random_state=seed),
        "AUCross published": lambda: AUCross(base, placement="centered", random_state=seed),
        "AUCross judged": lambda: AUCross(base, ensemble="judge", random_state=seed),
        PLUG_IN_AUC: lambda: PlugInAUC(base, random_state=seed),
        "SCross": lambda: SCross(base, random_state=seed),
        "PlugIn": lambda: PlugIn(base, random_state=seed),
        **(gated if cell.family == GATED else {}),
    }


def peers_of(cell: Cell) -> list[Peer]:
    """The peers of a cell whose library is installed."""
    slow = SLOW_PEERS if cell.split < N_SPLITS_OF_SLOW_PEERS else ()
    return [peer for peer in (*PEERS, *slow) if peer.library == "none" or find_spec(MODULES[peer.library]) is not None]
