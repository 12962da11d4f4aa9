"""The methods of one data set, put together from the stored scores of its trainings: measured, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib.metadata import version
from typing import Any

import joblib
from sklearn.metrics import roc_auc_score

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import without_correction
from experiments import protocol
from experiments.datasets import Split
from experiments.equal_coverage import TARGETS, AtEqualCoverage
from experiments.methods import LEARNT, RECALIBRATED
from experiments.networks.budgets import BUDGETS, Budget, Name
from experiments.networks.outputs import read_scores
from experiments.networks.replay import LearntSelection, Recordings, Replay, numbered
from experiments.networks.trainings import Role, Training, rows_of, trainings_of
from experiments.protocol import COVERAGES, PAPER_SEED
from experiments.runs import evaluate, measure
from experiments.work import Rows, Work

OWN_SCORE = "optimal band on its own score"
# Coverages that differ by more are not equal.
TOLERANCE = 0.005
# PlugIn, a threshold on the confidence of a plain network, shows what learning to select adds to it.
COMPARED = ("PlugIn", "PlugInAUC optimal", "AUCross optimal", "AUCGate")
LIBRARIES = ("numpy", "scikit-learn")

# What each method needs to have been trained: its time is theirs.
_ROLES: Mapping[str, tuple[Role, ...]] = {
    **dict.fromkeys(("AUCross", "SCross", "AUCross optimal", RECALIBRATED), ("fold", "refit")),
    **dict.fromkeys(("PlugIn", "PlugInAUC", "PlugInAUC optimal"), ("hold-out",)),
    "AUCGate": ("fold", "refit", "gate fold", "gate refit"),
    "SelNet": ("SelNet warm-up", "SelNet"),
    "SAT": ("SAT",),
    "DeepGamblers": ("DeepGamblers",),
}


@dataclass(frozen=True)
class Study:
    """All methods on one data set at one budget."""

    dataset: str
    budget_name: Name

    @property
    def budget(self) -> Budget:
        """How the networks are trained."""
        return BUDGETS[self.budget_name][self.dataset]

    @property
    def trainings(self) -> list[Training]:
        """What has to be trained."""
        return trainings_of(self.dataset, self.budget)

    @property
    def key(self) -> dict[str, Any]:
        """What names its results: the outputs that they come from."""
        return {"dataset": self.dataset, "outputs": joblib.hash([training.key for training in self.trainings])}

    @property
    def works(self) -> tuple[Work, Work, Work]:
        """Figures of every method, our placements against the methods that learn, and every model without rejection."""
        settings = settings_of()
        return (
            Work("network-runs", self, measure_study, settings),
            Work("network-comparisons", self, compare_study, settings),
            Work("network-models", self, rank_with_every_model, settings),
        )


def settings_of() -> str:
    """What the figures depend on besides the stored scores."""
    numbers = (COVERAGES, protocol.N_BOOTSTRAP, sorted(_ROLES), COMPARED, TOLERANCE, joblib.hash(TARGETS))
    return repr((numbers, [f"{name} {version(name)}" for name in LIBRARIES]))


class Assembled:
    """Fitted methods of a study, each from stored scores."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.split: Split = numbered(rows_of(study.dataset, study.budget))

    @cached_property
    def methods(self) -> dict[str, Any]:
        """Methods that put a band or a threshold on the scores of plain networks."""
        base = self._replay("fold", "refit", "hold-out")
        gate = self._replay("gate fold", "gate refit")
        folds = {"cv": self.study.budget.n_folds, "random_state": PAPER_SEED}
        corrects = self.study.budget.corrects_coverage
        unfitted = {
            "AUCross": AUCross(base, placement="centered", **folds),
            "SCross": without_correction(SCross(base, **folds)),
            "AUCross optimal": AUCross(base, **folds) if corrects else without_correction(AUCross(base, **folds)),
            "AUCGate": AUCGate(base, gate, **folds) if corrects else without_correction(AUCGate(base, gate, **folds)),
            "PlugIn": PlugIn(base, random_state=PAPER_SEED),
            "PlugInAUC": PlugInAUC(base, placement="centered", random_state=PAPER_SEED),
            "PlugInAUC optimal": PlugInAUC(base, random_state=PAPER_SEED),
        }
        fitted = {name: clf.fit(self.split.X_train, self.split.y_train) for name, clf in unfitted.items()}
        return fitted | {RECALIBRATED: fitted["AUCross optimal"].recalibrate(self.split.X_test)}

    @cached_property
    def learnt(self) -> dict[str, dict[float, LearntSelection]]:
        """The networks that select, by name and coverage; of those that serve every coverage the same for each."""
        selections = {}
        for name in LEARNT:
            found = [(training.coverage, LearntSelection(training)) for training in self._of(name)]
            if found:
                selections[name] = {c: dict(found).get(c, found[0][1]) for c in COVERAGES}
        return selections

    def on_own_score(self, name: Role) -> dict[float, Any]:
        """Our band on the score of a network that selects, placed on the rows that it held out; by coverage."""
        fitted = {}
        for training in self._of(name):
            clf = PlugInAUC(Replay(Recordings([training])), random_state=PAPER_SEED)
            fitted[training.coverage] = clf.fit(self.split.X_train, self.split.y_train)
        return {c: fitted.get(c) or next(iter(fitted.values())) for c in COVERAGES}

    def _replay(self, *roles: Role) -> Replay:
        return Replay(Recordings(self._of(*roles)))

    def _of(self, *roles: Role) -> list[Training]:
        return [training for training in self.study.trainings if training.role in roles]


@lru_cache(maxsize=1)
def assembled(study: Study) -> Assembled:
    """Both stages look at the same fitted methods."""
    return Assembled(study)


# ---- figures of every method ----


def measure_study(study: Study) -> Rows:
    """One row per method and coverage, as a run with another base classifier has them, with the seconds it took."""
    parts = assembled(study)
    split, n_bootstrap = parts.split, protocol.N_BOOTSTRAP
    rows = [{"method": name, **row} for name, clf in parts.methods.items() for row in measure(clf, split, n_bootstrap)]
    for name, by_coverage in parts.learnt.items():
        for clf, coverages in _alike(by_coverage):
            rows += [{"method": name, **row} for row in measure(clf, split, n_bootstrap, coverages)]
    seconds = _seconds(study.trainings)
    about = {
        "dataset": study.dataset,
        "classifier": study.budget.classifier,
        "cv": study.budget.n_folds,
        "split": "paper",
        "seed": PAPER_SEED,
        "n_train": study.budget.n_rows,
        "budget": study.budget_name,
    }
    return [{**about, **row, "seconds": _time_of(row["method"], row["target_coverage"], seconds)} for row in rows]


def _alike(by_coverage: Mapping[float, Any]) -> Iterator[tuple[Any, list[float]]]:
    """Each network once, with the coverages that it serves."""
    for clf in {id(clf): clf for clf in by_coverage.values()}.values():
        yield clf, [c for c, other in by_coverage.items() if other is clf]


def _seconds(trainings: Iterable[Training]) -> dict[Training, float]:
    """Seconds of one core."""
    seconds = {}
    for training in trainings:
        stored = training.work.stored()
        if stored is None:
            raise LookupError(f"{training} is not trained; run `python -m experiments.networks` again to train it")
        seconds[training] = stored.rows[0]["seconds"] * stored.rows[0].get("n_threads", 1)
    return seconds


def _time_of(method: str, coverage: float, seconds: Mapping[Training, float]) -> float:
    """Seconds of the trainings that the method would need if it were alone."""
    return sum(
        time
        for training, time in seconds.items()
        if training.role in _ROLES[method] and training.coverage in (None, coverage)
    )


# ---- every model without rejection ----


def rank_with_every_model(study: Study) -> Rows:
    """One row per training that scores test rows: its AUC on them at full coverage, and what it took."""
    y_test, rows = assembled(study).split.y_test, []
    n_train = len(assembled(study).split.y_train)
    for training in study.trainings:
        if not training.scores_test_rows or training.role == "SelNet warm-up":
            continue
        scored = read_scores(training.folder)
        is_test = scored.rows >= n_train
        about = {"dataset": study.dataset, "budget": study.budget_name, "role": training.role}
        stored = training.work.stored()
        auc = roc_auc_score(y_test[scored.rows[is_test] - n_train], scored.probability[is_test])
        rows.append({**about, "coverage": training.coverage, **stored.rows[0], "auc": auc})  # type: ignore[union-attr]
    return rows


# ---- ours against the methods that learn ----


def compare_study(study: Study) -> Rows:
    """Our placements against each network that selects, at the coverage that it reached."""
    parts = assembled(study)
    X_test, y_test, n_bootstrap = parts.split.X_test, parts.split.y_test, protocol.N_BOOTSTRAP
    judge = partial(
        AtEqualCoverage,
        X_test=X_test,
        y_test=y_test,
        n_bootstrap=n_bootstrap,
        tolerance=TOLERANCE,
        never_below=True,
    )
    ours = {name: judge(parts.methods[name]) for name in COMPARED}
    about = {"dataset": study.dataset, "classifier": study.budget.classifier, "budget": study.budget_name}
    rows: Rows = []
    for peer, by_coverage in parts.learnt.items():
        own = parts.on_own_score(peer)  # type: ignore[arg-type]
        for clf, coverages in _alike(by_coverage):
            score = clf.predict_proba(X_test)[:, 1]
            chosen = {coverage: clf.select(X_test, coverage) for coverage in coverages}
            reached = evaluate(y_test, score, chosen, n_bootstrap)
            for name, method in {OWN_SCORE: judge(own[coverages[0]]), **ours}.items():
                for row, difference in zip(reached.rows(), method.minus(reached, chosen), strict=True):
                    rows.append({**about, "peer": peer, "ours": name, **_of_peer(row), **_of_ours(difference)})
    return rows


def _of_peer(row: Mapping[str, Any]) -> dict[str, float]:
    return {
        "target_coverage": row["target_coverage"],
        "coverage": row["achieved_coverage"],
        "selective_auc": row["selective_auc"],
        "selective_accuracy": row["selective_accuracy"],
    }


def _of_ours(found: Mapping[str, float]) -> dict[str, float]:
    renamed = {f"ours_{name}": found[name] for name in ("coverage", "selective_auc", "selective_accuracy")}
    return renamed | {"ours_minus_peer": found["difference"], "low": found["low"], "high": found["high"]}
