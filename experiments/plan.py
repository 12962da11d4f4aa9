"""All pieces of work, for the whole reproduction and for a quick look at it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from experiments import protocol
from experiments.optimism import Optimism, measure_optimism, optimism_works
from experiments.peer_runs import PeerRun, compare_peers, peer_works
from experiments.protocol import Run
from experiments.runs import execute
from experiments.speed import Timed, measure_speed, measure_times
from experiments.work import Keyed, Work

Plan = dict[str, list[Work]]
# These are done one by one, after everything else.
ALONE = ("times", "speed")


def full_plan() -> Plan:
    """Everything; the slow random forests last."""
    runs = [
        *protocol.table_runs(),
        *protocol.fold_runs(),
        *protocol.random_split_runs(),
        *protocol.learning_runs(),
        *protocol.coverage_error_runs(),
    ]
    runs.sort(key=lambda run: run.classifier == "RandForest")
    return _plan(runs, peer_works(), optimism_works(), protocol.DATASETS)


def quick_plan() -> Plan:
    """Two data sets, two classifiers, two random splits: the shape of every result in less than five minutes."""
    datasets = ("Adult", "UCICredit")
    runs = [
        *(Run(dataset, classifier) for dataset in datasets for classifier in ("LightGBM", "Logistic")),
        *(Run(dataset, cv=cv) for dataset in datasets for cv in (2, 10)),
        *(Run("UCICredit", cv=cv, split="random", seed=seed) for cv in (2, 10) for seed in range(2)),
        *(Run(dataset, split="random", seed=seed) for dataset in datasets for seed in range(2)),
        *(Run("UCICredit", split="random", seed=seed, n_train=n) for n in (1000, 4000) for seed in range(2)),
    ]
    return _plan(runs, [PeerRun("UCICredit", "LightGBM")], [Optimism("UCICredit", 0)], datasets)


def without(plan: Plan, datasets: Collection[str]) -> Plan:
    """The plan less the work on some data sets."""
    return {
        kind: [work for work in works if work.argument.key["dataset"] not in datasets] for kind, works in plan.items()
    }


def _plan(runs: Iterable[Run], peers: Iterable[PeerRun], samples: Iterable[Optimism], timed: Iterable[str]) -> Plan:
    return {
        # A run may serve several studies.
        "runs": _works("runs", dict.fromkeys(runs), execute),
        "peers": _works("peers", peers, compare_peers),
        "optimism": _works("optimism", samples, measure_optimism),
        "times": _works("times", map(Timed, timed), measure_times),
        "speed": _works("speed", [Timed("UCICredit")], measure_speed),
    }


def _works(kind: str, arguments: Iterable[Keyed], function: Callable[[Any], list[dict[str, Any]]]) -> list[Work]:
    return [Work(kind, argument, function) for argument in arguments]
