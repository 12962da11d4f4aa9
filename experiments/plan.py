"""All pieces of work, for the whole reproduction and for a quick look at it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from experiments import optimism, protocol
from experiments.methods import methods_of
from experiments.optimism import Optimism, measure_optimism, optimism_works
from experiments.peer_runs import PeerRun, compare_peers, peer_works
from experiments.protocol import Run
from experiments.runs import execute
from experiments.speed import Compared, Timed, measure_speed, measure_times
from experiments.trained_once import parameters_of
from experiments.work import Keyed, Work

Plan = dict[str, list[Work]]
# These are done one by one, after everything else.
ALONE = ("times", "speed")
LIBRARIES = ("lightgbm", "xgboost-cpu", "scikit-learn", "numpy")


def full_plan(datasets: Collection[str]) -> Plan:
    """Everything on the data sets that are there; the slow random forests last."""
    runs = [
        *protocol.table_runs(),
        *protocol.fold_runs(),
        *protocol.random_split_runs(),
        *protocol.learning_runs(),
        *protocol.coverage_error_runs(),
    ]
    runs.sort(key=lambda run: run.classifier == "RandForest")
    return _plan(datasets, runs, peer_works(), optimism_works(), protocol.N_BOOTSTRAP)


def quick_plan(datasets: Collection[str]) -> Plan:
    """Two data sets, two classifiers, two random splits: the shape of every result in less than five minutes."""
    first, *others = [name for name in ("UCICredit", "Adult", *datasets) if name in datasets]
    runs = [
        *(Run(dataset, classifier) for dataset in (first, *others[:1]) for classifier in ("LightGBM", "Logistic")),
        *(Run(first, cv=cv) for cv in (2, 10)),
        *(Run(first, cv=cv, split="random", seed=seed) for cv in (2, 10) for seed in range(2)),
        *(
            Run(first, classifier, split="random", seed=seed)
            for classifier in ("LightGBM", "Logistic")
            for seed in range(2)
        ),
        *(Run(first, split="random", seed=seed, n_train=n_train) for n_train in (1000, 4000) for seed in range(2)),
    ]
    return _plan((first, *others[:1]), runs, [PeerRun(first, "LightGBM")], [Optimism(first, 0)], 50)


def _plan(
    datasets: Collection[str],
    runs: Iterable[Run],
    peers: Iterable[PeerRun],
    samples: Iterable[Optimism],
    n_bootstrap: int,
) -> Plan:
    timed = [Timed(dataset) for dataset in datasets]
    runs, peers, samples = ([work for work in made if work.dataset in datasets] for made in (runs, peers, samples))
    # The smallest: the plain version is slow.
    small = "UCICredit" if "UCICredit" in datasets else timed[0].dataset
    return {
        # A run may serve several studies.
        "runs": _works("runs", dict.fromkeys(runs), execute),
        "peers": _works("peers", peers, compare_peers),
        "optimism": _works("optimism", samples, measure_optimism),
        "times": _works("times", timed, measure_times),
        "speed": _works("speed", [Compared(small, n_bootstrap)], measure_speed),
    }


def _works(kind: str, arguments: Iterable[Keyed], function: Callable[[Any], list[dict[str, Any]]]) -> list[Work]:
    return [Work(kind, argument, function, _settings(argument.key)) for argument in arguments]


def _settings(key: dict[str, Any]) -> str:
    kinds = {name: key[name] for name in ("classifier", "cv", "split") if name in key}
    return settings_of(Run(key["dataset"], **kinds))


@lru_cache
def settings_of(run: Run) -> str:
    """Everything besides its name that a result depends on, as text: change any of it and the work is done again."""
    source = protocol.load(run.dataset).source
    models = {name: parameters_of(build()) for name, build in protocol.CLASSIFIERS.items()}
    numbers = (protocol.COVERAGES, protocol.N_BOOTSTRAP, optimism.TEST_SIZES, optimism.N_DRAWS)
    libraries = [f"{name} {version(name)}" for name in LIBRARIES]
    return repr((source, sorted(methods_of(run)), numbers, libraries, models))
