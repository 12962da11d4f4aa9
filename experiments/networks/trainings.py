"""The trainings of one data set, and how one is done: one piece of work each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from experiments import protocol, store
from experiments.datasets import Split
from experiments.networks.budgets import WARM_UP_COVERAGE, Budget
from experiments.networks.outputs import Scored, attempt, read_model, write_model, write_scores
from experiments.protocol import CLASSIFIERS, COVERAGES, PAPER_SEED
from experiments.trained_once import parameters_of
from experiments.work import Rows, Work

KIND = "network-trainings"
Role = Literal[
    "fold",
    "refit",
    "hold-out",
    "gate fold",
    "gate refit",
    "SelNet warm-up",
    "SelNet",
    "SAT",
    "DeepGamblers",
]
HELD_OUT_SHARE = 0.1


@dataclass(frozen=True)
class Training:
    """One training of one network, or of one model that serves as a gate.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    budget : Budget
        How it is trained.
    role : str
        What it is for.
    fold : int, optional
        The fold that it has not seen.
    coverage : float, optional
        The coverage that a SelectiveNet is trained for.
    seed : int, optional
        Of the weights, the order of the rows and the rows that are held out.
    """

    dataset: str
    budget: Budget
    role: Role
    fold: int | None = None
    coverage: float | None = None
    seed: int = PAPER_SEED

    @property
    def key(self) -> dict[str, Any]:
        """What the outputs depend on; versions of libraries are noted beside them instead of asking for days anew."""
        return {
            "dataset": self.dataset,
            "source": protocol.load(self.dataset).source,
            "role": self.role,
            "fold": self.fold if self.fold is None else f"{self.fold} of {self.budget.n_folds}",
            "coverage": self.coverage,
            "n_rows": (self.budget.n_rows, self.budget.n_test_rows),
            "scores": "rows seen, too" if self.scores_rows_seen else "rows not seen",
            "recipe": repr(sorted(self.parameters().items())),
            "start": None if self.start is None else repr(sorted(self.start.parameters().items())),
        }

    def __str__(self) -> str:
        parts = [self.dataset, self.role]
        parts += [] if self.fold is None else [str(self.fold + 1)]
        parts += [] if self.coverage is None else [f"{self.coverage:.2f}"]
        parts += [] if self.seed == PAPER_SEED else [f"(seed {self.seed})"]
        return " ".join(parts)

    @property
    def start(self) -> Training | None:
        """The training that this one goes on from."""
        if self.role == "SelNet" and self.budget.warm_up_epochs:
            return Training(self.dataset, self.budget, "SelNet warm-up", seed=self.seed)
        return None

    @property
    def is_gate(self) -> bool:
        """Whether the model decides when to defer."""
        return self.role in ("gate fold", "gate refit")

    @property
    def is_network(self) -> bool:
        """The gate of tables is LightGBM."""
        return not (self.is_gate and self.budget.classifier == "ResNet")

    def parameters(self) -> dict[str, Any]:
        """Parameters of the model that its result depends on."""
        if not self.is_network:
            return parameters_of(CLASSIFIERS["LightGBM"]())
        budget = self.budget
        common = {
            "width": budget.width if budget.classifier == "VGG16" else int(budget.width),
            "max_epochs": budget.epochs,
            "batch_size": budget.batch_size,
            "lr": budget.lr,
            "schedule": budget.schedule,
            "weight_decay": budget.weight_decay,
            "random_state": self.seed,
        }
        if budget.classifier == "VGG16":
            common |= {"augment": budget.augment, "half_size_epochs": budget.half_size_epochs}
        return common | self._of_role()

    def _of_role(self) -> dict[str, Any]:
        budget = self.budget
        match self.role:
            case "gate fold" | "gate refit":
                # Another seed: a gate that is the same network knows nothing more.
                return {"max_epochs": budget.gate_epochs, "half_size_epochs": 0, "random_state": self.seed + 1}
            case "SelNet warm-up":
                half_size = min(budget.half_size_epochs, budget.warm_up_epochs - 1)
                return {"max_epochs": budget.warm_up_epochs, "coverage": WARM_UP_COVERAGE, "warm_start": True} | (
                    {"half_size_epochs": half_size} if budget.classifier == "VGG16" else {}
                )
            case "SelNet" if budget.warm_up_epochs:
                further = {"max_epochs": budget.further_epochs, "lr": budget.further_lr, "coverage": self.coverage}
                return further | ({"half_size_epochs": 0} if budget.classifier == "VGG16" else {})
            case "SAT":
                return {"target_momentum": budget.target_momentum, "pretrain_epochs": budget.pretrain_epochs}
            case "DeepGamblers":
                return {"pretrain_epochs": budget.gamblers_pretrain_epochs}
        return {} if self.coverage is None else {"coverage": self.coverage}

    @property
    def folder(self) -> Path:
        """Where its outputs are."""
        return store.path_of(KIND, self.key).with_suffix("")

    @property
    def work(self) -> Work:
        """The piece of work that does it."""
        return Work(KIND, self, train)

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows that it is trained on, and training rows that it scores."""
        y = rows_of(self.dataset, self.budget).y_train
        if self.fold is not None:
            rows, held = fold_parts(y, self.budget.n_folds)[self.fold]
        elif self.role in ("refit", "gate refit"):
            rows, held = np.arange(len(y)), np.arange(0)
        else:
            return held_out_parts(y, self.seed)
        return rows, np.arange(len(y)) if self.scores_rows_seen else held

    @property
    def scores_rows_seen(self) -> bool:
        """Whether it also scores what it was trained on, by which the coverage is corrected."""
        return self.budget.corrects_coverage and self.role in ("fold", "refit", "gate fold", "gate refit")

    @property
    def scores_test_rows(self) -> bool:
        """The model of a fold answers no test row."""
        return self.fold is None


# ---- rows ----


@lru_cache
def rows_of(dataset: str, budget: Budget) -> Split:
    """Training and test rows of the paper's split, or as many of them as the budget says."""
    split = protocol.load(dataset).split(PAPER_SEED)
    X_train, y_train = _fewer(split.X_train, split.y_train, budget.n_rows)
    X_test, y_test = _fewer(split.X_test, split.y_test, budget.n_test_rows)
    return Split(X_train, X_test, y_train, y_test)


def _fewer(X: Any, y: np.ndarray, n_rows: int | None) -> tuple[Any, np.ndarray]:
    if n_rows is None or n_rows >= len(y):
        return X, y
    chosen, _ = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=PAPER_SEED)
    return take(X, chosen), y[chosen]


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a frame or of images."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


Parts = list[tuple[np.ndarray, np.ndarray]]


def fold_parts(y: np.ndarray, n_folds: int) -> Parts:
    """The folds that `AUCross` and `SCross` draw with the seed of the paper's split."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=np.random.RandomState(PAPER_SEED))
    return list(folds.split(np.zeros(len(y)), y))


def held_out_parts(y: np.ndarray, seed: int = PAPER_SEED) -> tuple[np.ndarray, np.ndarray]:
    """The hold-out that `PlugIn`, `PlugInAUC` and the networks draw, by default with the seed of the paper's split."""
    n_held = ceil(HELD_OUT_SHARE * len(y))
    train, held = train_test_split(np.arange(len(y)), test_size=n_held, stratify=y, random_state=seed)
    return train, held


# ---- which ----


def trainings_of(dataset: str, budget: Budget) -> list[Training]:
    """All trainings of a data set, each after the one that it starts from.

    Folds serve AUCross, SCross, optimal placement and the gate; the model of the hold-out serves PlugIn and PlugInAUC.
    """
    made, folds = partial(Training, dataset, budget), range(budget.n_folds)
    return [
        made("hold-out"),
        made("refit"),
        *(made("fold", fold=fold) for fold in folds),
        made("SAT"),
        *([made("SelNet warm-up")] if budget.warm_up_epochs else []),
        *(made("SelNet", coverage=coverage) for coverage in COVERAGES),
        *([] if budget.gamblers_pretrain_epochs is None else [made("DeepGamblers")]),
        made("gate refit"),
        *(made("gate fold", fold=fold) for fold in folds),
    ]


# ---- doing it ----


def train(training: Training) -> Rows:
    """Train, score what is needed, keep the scores; return one row that says how it went."""
    with attempt(training.folder) as started:
        fit_and_score = _score_selective_network if training.role in _SELECTIVE else _score_classifier
        scored, about = fit_and_score(training, started.folder)
        seconds = started.seconds
        write_scores(training.folder, scored)
    libraries = {name: version(name) for name in ("aucross", "torch" if training.is_network else "lightgbm")}
    effort = {"seconds": seconds, "n_threads": training.budget.n_threads}
    return [{"training": str(training), **effort, "n_train": len(training.parts[0]), **about, **libraries}]


def _score_classifier(training: Training, checkpoints: Path) -> tuple[Scored, dict[str, Any]]:
    split = rows_of(training.dataset, training.budget)
    see = half_size if training.is_gate and training.is_network else _as_it_is
    clf = _classifier(training, checkpoints)
    rows, held = training.parts
    clf.fit(see(take(split.X_train, rows)), split.y_train[rows])
    parts = [(held, take(split.X_train, held))] if len(held) else []
    if training.scores_test_rows:
        parts.append((len(split.y_train) + np.arange(len(split.y_test)), split.X_test))
    probability = np.concatenate([clf.predict_proba(see(X))[:, 1].astype(np.float64) for _, X in parts])
    scored = Scored(np.concatenate([numbers for numbers, _ in parts]), probability, np.full(len(probability), np.nan))
    return scored, _history(clf)


def _classifier(training: Training, checkpoints: Path) -> Any:
    if not training.is_network:
        return CLASSIFIERS["LightGBM"]()
    from aucross.torch import ResNetClassifier, VGGClassifier  # noqa: PLC0415 - results are read without torch

    build = ResNetClassifier if training.budget.classifier == "ResNet" else VGGClassifier
    return build(**training.parameters(), n_threads=training.budget.n_threads, checkpoint_folder=checkpoints)


_SELECTIVE = ("SelNet warm-up", "SelNet", "SAT", "DeepGamblers")


def _score_selective_network(training: Training, checkpoints: Path) -> tuple[Scored, dict[str, Any]]:
    split = rows_of(training.dataset, training.budget)
    clf = _selective_network(training, checkpoints).fit(split.X_train, split.y_train)
    if training.role == "SelNet warm-up":
        write_model(training.folder, clf)
    held_out = clf.held_out_
    scored = Scored(
        np.concatenate([held_out.rows, len(split.y_train) + np.arange(len(split.y_test))]),
        np.concatenate([held_out.scores, clf.predict_proba(split.X_test)[:, 1]]),
        np.concatenate([clf.held_out_.second, clf.decide(split.X_test).selection_score]),
    )
    return scored, _history(clf)


def _selective_network(training: Training, checkpoints: Path) -> Any:
    from aucross.torch import VGG16, DeepGamblers, ResNet, SelectiveNet, SelfAdaptiveTraining  # noqa: PLC0415

    parameters = training.parameters()
    width = parameters.pop("width")
    parameters |= {"n_threads": training.budget.n_threads, "checkpoint_folder": checkpoints}
    if training.start is not None:
        return read_model(training.start.folder).set_params(**parameters)
    kinds = {"SAT": SelfAdaptiveTraining, "DeepGamblers": DeepGamblers}
    body = partial(ResNet if training.budget.classifier == "ResNet" else VGG16, width=width)
    return kinds.get(training.role, SelectiveNet)(body=body, **parameters)


def _history(clf: Any) -> dict[str, Any]:
    history = getattr(clf, "history_", None)
    return {} if history is None else {"epochs": len(history["loss"]), "last_loss": history["loss"][-1]}


def half_size(images: np.ndarray) -> np.ndarray:
    """Images of half the height and width: the mean of each square of four pixels."""
    n, height, width, channels = images.shape
    squares = np.asarray(images).reshape(n, height // 2, 2, width // 2, 2, channels)
    return (squares.sum(axis=(2, 4), dtype=np.uint16) // 4).astype(np.uint8)


def _as_it_is(X: Any) -> Any:
    return X
