"""What the library says today of fixed rows: evaluations, promises, decisions, files, texts and reports.

Every case is a function of a seed that returns a flat dictionary of numbers, texts and short lists. `frozen.json` holds
what each returns at seed 0. A key whose value is another one at seed 1 comes from draws; it stands apart from those
that do not, so that a change of method may move what is drawn and nothing else.

The rows are small and made from a seed; features, means of models and scores are rounded, so that no number depends on
the machine to the digits that are compared.
"""

from __future__ import annotations

import json
import pickle
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from math import isfinite, isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, recall_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from aucross import (
    AUCGate,
    AUCross,
    CoverageMonitor,
    HashedFolds,
    PlugIn,
    PlugInAUC,
    ScoreColumn,
    SCross,
    compare_selective,
    evaluate_groups,
    evaluate_selections,
    evaluate_selective,
    load,
    promise_selective,
    save,
)
from aucross.core import ExpectedCost, RankedScores, oracle_band
from aucross.estimators import classifier_from_ranking, without_correction
from aucross.evaluation import (
    METRICS,
    UnscoredRows,
    evaluate_folds,
    evaluate_group_selections,
    evaluate_ranking,
    promise_coverage,
    promise_ranking,
    promise_selection,
    team_score,
)
from aucross.export import band_to_sql, ranking_query, rule_to_json, rule_to_sql
from aucross.files import read_header
from aucross.report import build_summary

Flat = dict[str, Any]
Case = Callable[[int], Flat]

FILE = Path(__file__).with_name("frozen.json")

# How far a number may be from the frozen one, of its size (of 1, if that is less for what is exact). Draws are the same
# in every run, so that both limits are tight.
LIMITS = {
    "exact": 1e-12,
    "drawn": 1e-9,
}


# ---- rows and models ----


class RoundedMeans(ClassifierMixin, BaseEstimator):
    """Probabilities by the distance from the mean of each class, rounded: the same on every machine."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RoundedMeans:
        rows, labels = _numbers(X), np.asarray(y)
        weight = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.classes_ = np.unique(labels)
        parts = [(rows[labels == label], weight[labels == label]) for label in self.classes_]
        self.means_ = np.round([np.average(part, axis=0, weights=of_part) for part, of_part in parts], 6)
        self.prior_ = np.round([np.log(of_part.sum() / weight.sum()) for _, of_part in parts], 6)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        margin = self.prior_ - ((_numbers(X)[:, None, :] - self.means_) ** 2).sum(axis=2) / 2
        odds = np.exp(margin - margin.max(axis=1, keepdims=True))
        later = np.round(odds / odds.sum(axis=1, keepdims=True), 10)[:, 1:]
        return np.column_stack((1.0 - later.sum(axis=1), later))

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _numbers(X: Any) -> np.ndarray:
    return np.asarray(X[["a", "b", "c"]] if isinstance(X, pd.DataFrame) else X, dtype=float)


@dataclass(frozen=True)
class Rows:
    """Rows with everything that a case may want to know of them."""

    X: pd.DataFrame
    y: np.ndarray
    grade: np.ndarray
    weight: np.ndarray
    customer: np.ndarray
    region: np.ndarray

    @property
    def ids(self) -> list[str]:
        return [f"case {number:03d}" for number in range(len(self.y))]


def draw(seed: int, n_rows: int, shift: float = 0.0) -> Rows:
    """Rows whose label depends on three columns; `vendor` is a probability of 12 bits, `points` have 12 values."""
    rng = np.random.default_rng(seed)
    customer = np.sort(rng.integers(0, n_rows // 2, n_rows))
    of_customer = rng.normal(size=n_rows)[customer]
    a, b, c = rng.normal(size=(3, n_rows)) + shift
    truth = 0.9 * a + 0.6 * b + 0.5 * of_customer - 0.8
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-truth))).astype(int)
    guess = truth + rng.normal(size=n_rows)
    vendor = np.round(4096 / (1 + np.exp(-guess))).clip(1, 4095) / 4096
    points = 600 - 50 * np.round(guess).clip(-5, 6)
    X = pd.DataFrame({"a": a.round(4), "b": b.round(4), "c": c.round(4), "vendor": vendor, "points": points})
    grade = np.select([truth + rng.normal(size=n_rows) < -0.8, y == 1], ["low", "high"], "middle")
    weight = np.round(rng.gamma(2.0, 2.0, n_rows), 2) * (rng.random(n_rows) > 0.03)
    region = np.where(rng.random(n_rows) < 0.35, "north", "south")
    return Rows(X, y, grade, weight, customer, region)


def with_more_positives(rows: Rows) -> Rows:
    """The positives and every third of the negatives."""
    kept = (rows.y == 1) | (np.arange(len(rows.y)) % 3 == 0)
    return rows_at(rows, kept)


def rows_at(rows: Rows, kept: np.ndarray) -> Rows:
    """Some of the rows."""
    return Rows(*(getattr(rows, part.name)[kept] for part in fields(Rows)))


OLD, NEW, LATER = draw(1, 600), draw(2, 300), draw(3, 400, shift=0.4)
MORE_POSITIVES = with_more_positives(draw(4, 600))
SOME_FEATURES, POINTS = ["a", "b", "c"], ScoreColumn("points", threshold=600, higher_is_positive=False)
SEEDED: dict[str, Any] = {"coverage": 0.8, "random_state": 0}
_TARGETS = ("ks", "average_precision", "partial_auc")


def _fitted_in_memory() -> dict[str, Callable[[], Any]]:
    base, X, y = RoundedMeans(), OLD.X, OLD.y
    forest = RandomForestClassifier(60, max_depth=4, random_state=0)
    tree, logistic = DecisionTreeClassifier(max_depth=3, random_state=0), LogisticRegression(tol=1e-10)
    text = np.where(y == 1, "bad", "good")
    seen = RoundedMeans().fit(LATER.X, LATER.y)
    made = {
        "plain": lambda: AUCross(base, **SEEDED).fit(X, y),
        "weights": lambda: AUCross(base, **SEEDED).fit(X, y, sample_weight=OLD.weight),
        "coverage weight": lambda: AUCross(base, **SEEDED).fit(X, y, coverage_weight=OLD.weight),
        "customers": lambda: AUCross(base, **SEEDED).fit(X, y, groups=OLD.customer),
        "band groups": lambda: AUCross(base, **SEEDED).fit(X, y, band_groups=OLD.region),
        "weights and band groups": lambda: AUCross(base, **SEEDED).fit(
            X, y, sample_weight=OLD.weight, band_groups=OLD.region
        ),
        "classes": lambda: AUCross(base, **SEEDED).fit(X, OLD.grade),
        "classes by confidence": lambda: SCross(base, **SEEDED).fit(X, OLD.grade),
        "gate": lambda: AUCGate(ScoreColumn("vendor"), base, **SEEDED).fit(X, y),
        "gate of a model": lambda: AUCGate(base, tree, **SEEDED).fit(X[SOME_FEATURES], y),
        "judge": lambda: AUCross(base, ensemble="judge", **SEEDED).fit(X, y),
        "ensemble": lambda: AUCross(base, ensemble=True, **SEEDED).fit(X, y),
        "coverage confidence": lambda: AUCross(base, coverage_confidence=0.9, **SEEDED).fit(X, y),
        "heavy ties": lambda: AUCross(POINTS, **SEEDED).fit(X, y),
        "split ties": lambda: AUCross(POINTS, ties="split", **SEEDED).fit(X, y),
        "vendor": lambda: AUCross(ScoreColumn("vendor"), **SEEDED).fit(X, y),
        "centered": lambda: AUCross(base, placement="centered", **SEEDED).fit(X, y),
        "nested": lambda: AUCross(base, nested=True, **SEEDED).fit(X, y),
        "oob": lambda: AUCross(forest, cv="oob", **SEEDED).fit(X[SOME_FEATURES], y),
        "not corrected": lambda: without_correction(AUCross(base, **SEEDED)).fit(X, y),
        "cost": lambda: AUCross(base, target=ExpectedCost(review=0.25, false_negative=2.0), **SEEDED).fit(X, y),
        "confidence": lambda: SCross(base, **SEEDED).fit(X, y),
        "plug-in": lambda: PlugIn(base, holdout_size=0.3, **SEEDED).fit(X, y),
        "plug-in AUC": lambda: PlugInAUC(base, holdout_size=0.3, **SEEDED).fit(X, y, sample_weight=OLD.weight),
        "frozen model": lambda: AUCross(FrozenEstimator(seen), **SEEDED).fit(X, y),
        "positive class": lambda: AUCross(base, pos_label="bad", **SEEDED).fit(X, text),
        "engine": lambda: AUCross(ScoreColumn("vendor"), cv=HashedFolds(3), coverage=0.8).fit(X, y),
        # Only models of known libraries are saved; their decisions are frozen, not their scores.
        "tree": lambda: AUCross(tree, ties="split", **SEEDED).fit(X[SOME_FEATURES], y),
        "logistic": lambda: SCross(logistic, **SEEDED).fit(X[SOME_FEATURES], y),
        "logistic classes": lambda: AUCross(logistic, **SEEDED).fit(X[SOME_FEATURES], OLD.grade),
        "saved gate": lambda: AUCGate(ScoreColumn("vendor"), tree, **SEEDED).fit(X, y),
        "saved judge": lambda: AUCross(logistic, ensemble="judge", **SEEDED).fit(X[SOME_FEATURES], y),
        "saved band groups": lambda: AUCross(ScoreColumn("vendor"), **SEEDED).fit(X, y, band_groups=OLD.region),
    }
    made |= {
        f"target {target}": lambda target=target: AUCross(base, target=target, **SEEDED).fit(X, y)
        for target in _TARGETS
    }
    return made


FITS = _fitted_in_memory()
# Those whose score no rounding makes the same on every machine: their numbers are not compared, their decisions are.
SAVED = ("tree", "logistic", "logistic classes", "saved gate", "saved judge", "saved band groups", "split ties")
READ_FEATURES_ONLY = ("oob", "gate of a model", "tree", "logistic", "logistic classes", "saved judge")


@cache
def fit_of(name: str) -> tuple[Any, tuple[str, ...]]:
    """A fitted classifier, and what its fit warned of."""
    return recorded(FITS[name])


def recorded(function: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """What a function returns, and the sentences that it warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = function()
    return result, tuple(sorted({str(warning.message) for warning in told}))


def clf_of(name: str) -> Any:
    return fit_of(name)[0]


def rows_for(name: str, rows: Rows = NEW) -> pd.DataFrame:
    return rows.X[SOME_FEATURES] if name in READ_FEATURES_ONLY else rows.X


def labels_for(name: str, rows: Rows = NEW) -> np.ndarray:
    if "classes" in name:
        return rows.grade
    return np.where(rows.y == 1, "bad", "good") if name == "positive class" else rows.y


def groups_for(name: str, rows: Rows = NEW) -> np.ndarray | None:
    return rows.region if "band groups" in name else None


# ---- from results to flat dictionaries ----


def bits(selected: Iterable[bool]) -> str:
    """A selection as hexadecimal digits, four rows each."""
    return np.packbits(np.asarray(selected, dtype=bool)).tobytes().hex()


def sketch(values: Iterable[float]) -> list[float]:
    """Five values and the mean of many."""
    numbers = np.asarray(values, dtype=float)
    return [*numbers[:: max(len(numbers) // 5, 1)][:5].tolist(), float(numbers.mean())]


def flat(value: Any, name: str = "") -> Flat:
    """One entry for each leaf of what a result is made of; of long lists of numbers a sketch."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        parts = [flat(inner, f"{name} {part}".strip()) for part, inner in value.items()]
        return {key: leaf for part in parts for key, leaf in part.items()}
    if isinstance(value, list | tuple | np.ndarray):
        items = list(value)
        if all(isinstance(item, float | int | np.number) and not isinstance(item, bool) for item in items):
            return {name: [plain(item) for item in (items if len(items) <= 10 else sketch(items))]}
        return {key: leaf for place, item in enumerate(items) for key, leaf in flat(item, f"{name}[{place}]").items()}
    return {name: plain(value)}


def plain(value: Any) -> Any:
    """A value that JSON can hold; what is not finite becomes a text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return value if isfinite(value) else "nan" if isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def table(rows: Iterable[Mapping[str, Any]], *labels: str) -> Flat:
    """The rows of a result, each called by its labels."""
    found: Flat = {}
    for row in rows:
        name = " ".join(str(row[label]) for label in labels)
        found |= flat({key: value for key, value in row.items() if key not in labels}, name)
    return found


def promised(promise: Any) -> Flat:
    """A promise; of the coverages that it tried the first and the last two."""
    found = promise.to_dict()
    if (tried := found.get("tried")) is not None:
        found |= {"n_tried": len(tried), "tried": [tried[0], *tried[-2:]]}
    return flat(found)


CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    """Add a case; what it warns of is part of it."""

    def add(function: Case) -> Case:
        def with_warnings(seed: int) -> Flat:
            found, told = recorded(lambda: function(seed))
            return found | flat({"warnings": list(told)} if told else {})

        assert name not in CASES, name
        CASES[name] = with_warnings
        return function

    return add


# ---- decisions ----


def decisions_of(name: str) -> Flat:
    clf, told = fit_of(name)
    X, band_groups = rows_for(name), groups_for(name)
    scored = clf.scored(X, band_groups=band_groups)
    found: Flat = {"predicted": flat(pd.Series(clf.predict(X)).value_counts().sort_index().to_dict())}
    found["fit warns"] = list(told)
    found_auc = clf.held_out_auc()
    found["held-out AUC"] = (found_auc.value, found_auc.low, found_auc.high)
    for coverage in (0.95, 0.8, 0.6):
        bands = {
            group: (band.lower, band.upper)
            for group in ((None,) if band_groups is None else ("north", "south"))
            for band in [clf.band(coverage, group)]
        }
        decided = clf.decide(scored, coverage)
        found[f"{coverage}"] = {
            "band": bands.get(None, bands),
            "selected": bits(decided.selected),
            "selection score": sketch(decided.selection_score),
        }
    expected = clf.expected_coverage(0.8, None if band_groups is None else "north")
    error = (expected.high - expected.low) / 2 / -ndtri(0.025)
    found["expected coverage"] = {"asked": 0.8, "expected": expected.value, "error": error}
    decided = clf.decide(scored, capacity=40, ids=NEW.ids)
    first = np.argsort(np.where(decided.selected, len(X), decided.rank))[:8]
    found["capacity 40"] = {"selected": bits(decided.selected), "first": first, "reason": decided.reason[first[0]]}
    return flat(found)


def queue_of(name: str) -> Flat:
    clf = clf_of(name)
    queue = clf.review_queue(rows_for(name), 30, ids=NEW.ids, band_groups=groups_for(name))
    # The columns that a reason names are left out: they depend on the libraries of the models.
    rows = [{**row, "reason": row["reason"].partition("; unlike ")[0]} for row in queue.rows()]
    assert [row.pop("rank") for row in rows] == list(range(1, 31))
    by_row = {f"{place}": rows[place] for place in (0, 1, 29)}
    return flat({"rows": [row["id"] for row in rows[:10]], "worth": sketch([row["worth"] for row in rows]), **by_row})


for _name in FITS:
    if _name not in SAVED or _name == "split ties":
        case(f"decide/{_name}")(lambda _seed, name=_name: decisions_of(name))
for _name in ("plain", "weights and band groups", "classes", "gate", "confidence"):
    case(f"queue/{_name}")(lambda _seed, name=_name: queue_of(name))


@case("decide/within a weight")
def _within_a_weight(_seed: int) -> Flat:
    scored = clf_of("plain").scored(NEW.X, sample_weight=NEW.weight)
    decided = clf_of("plain").decide(scored, capacity_weight=120.0, ids=NEW.ids)
    rejected = ~decided.selected
    return flat({"selected": bits(decided.selected), "weight": NEW.weight[rejected].sum(), "n": rejected.sum()})


@case("decide/coverage for an AUC")
def _coverage_for(_seed: int) -> Flat:
    found = {name: clf_of(name) for name in ("plain", "weights", "customers", "classes", "vendor", "confidence")}
    answers = {(name, auc): clf.coverage_for(auc=auc) for name, clf in found.items() for auc in (0.8, 0.9)}
    return flat(
        {
            f"{name} {auc}": {
                "auc": auc,
                "coverage": answer.value,
                "low": answer.low,
                "high": answer.high,
                "confidence": answer.confidence,
            }
            for (name, auc), answer in answers.items()
        }
    )


@case("decide/a ranking")
def _from_a_ranking(_seed: int) -> Flat:
    ranked = RankedScores.from_labels(OLD.y, OLD.X["vendor"])
    clf = classifier_from_ranking(AUCross(ScoreColumn(0), **SEEDED), ranked)
    found = {coverage: asdict(clf.band(coverage)) for coverage in (0.9, 0.6)}
    found["oracle"] = asdict(oracle_band(OLD.y, OLD.X["vendor"], 0.8))
    return flat({**found, "selected": bits(clf.select(NEW.X[["vendor"]]))})


# ---- evaluations ----

COVERAGES = (1.0, 0.8, 0.6)


def draws(seed: int, n: int = 200) -> dict[str, Any]:
    return {"n_bootstrap": n, "random_state": seed}


def evaluated(name: str, seed: int, **options: Any) -> Flat:
    found = evaluate_selective(
        clf_of(name),
        rows_for(name),
        labels_for(name),
        COVERAGES,
        band_groups=groups_for(name),
        **options,
        **draws(seed),
    )
    return table(found.rows(), "target_coverage")


def _add_evaluations() -> None:
    of_rows: dict[str, dict[str, Any]] = {
        "": {},
        " with weights": {"sample_weight": NEW.weight},
        " of customers": {"customers": NEW.customer},
        " of customers with weights": {"sample_weight": NEW.weight, "customers": NEW.customer},
    }
    asked = {
        "plain": [*of_rows],
        "band groups": ["", " of customers with weights"],
        "classes": ["", " of customers with weights"],
        "gate": ["", " with weights"],
        **{name: [""] for name in ("judge", "heavy ties", "split ties", "confidence", "oob", "positive class")},
    }
    for name, kinds in asked.items():
        for kind in kinds:
            case(f"evaluate/{name}{kind}")(lambda seed, name=name, kind=kind: evaluated(name, seed, **of_rows[kind]))


_add_evaluations()


@case("evaluate/metrics on request")
def _metrics_on_request(seed: int) -> Flat:
    asked = ("selective_ks", "selective_brier", "selective_average_precision", "positives_for_review")
    return evaluated("plain", seed, metrics=asked, sample_weight=NEW.weight)


def _selections(name: str) -> dict[float, np.ndarray]:
    return {coverage: clf_of(name).select(rows_for(name), coverage) for coverage in (0.9, 0.7)}


@case("evaluate/selections")
def _of_selections(seed: int) -> Flat:
    scored = clf_of("vendor").scored(NEW.X)
    found = evaluate_selections(
        NEW.y, scored.score, scored.predicted, _selections("gate"), confidence_level=0.9, **draws(seed)
    )
    return table(found.rows(), "target_coverage")


@case("evaluate/selections of several classes")
def _of_multiclass_selections(seed: int) -> Flat:
    clf = clf_of("classes by confidence")
    scored = clf.scored(NEW.X)
    selections = _selections("classes by confidence")
    found = evaluate_selections(
        NEW.grade, scored.score, scored.predicted, selections, classes=clf.classes_, **draws(seed)
    )
    return table(found.rows(), "target_coverage")


def _ranked(**options: Any) -> Any:
    return RankedScores.from_labels(NEW.y, NEW.X["vendor"], **options)


@case("evaluate/a ranking")
def _ranking(seed: int) -> Flat:
    return table(evaluate_ranking(_ranked(), clf_of("vendor"), COVERAGES).rows(), "target_coverage")


@case("evaluate/a ranking with weights")
def _weighted_ranking(seed: int) -> Flat:
    ranked = _ranked(sample_weight=NEW.weight)
    return table(evaluate_ranking(ranked, clf_of("vendor"), COVERAGES).rows(), "target_coverage")


@case("evaluate/folds")
def _folds(seed: int) -> Flat:
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(NEW.X, NEW.y)
    folds = [(SCross(RoundedMeans(), **SEEDED).fit(NEW.X.iloc[a], NEW.y[a]), NEW.X.iloc[b], b) for a, b in splits]
    found = evaluate_folds(folds, NEW.y, [0.8, 0.6], customers=NEW.customer, **draws(seed))
    return table(found.rows(), "target_coverage")


@case("evaluate/every metric")
def _every_metric(_seed: int) -> Flat:
    scored, selected = clf_of("plain").scored(NEW.X), clf_of("plain").select(NEW.X, 0.8)
    read = {
        "selection": (selected,),
        "outcomes": (NEW.y, selected),
        "scores": (NEW.y, scored.score, selected),
        "labels": (NEW.y, scored.predicted, selected),
        "class_scores": (NEW.grade, clf_of("classes").predict_proba(NEW.X), selected),
        "losses": ((NEW.y != scored.predicted).astype(float), scored.confidence),
    }
    more: dict[str, dict[str, Any]] = {
        "coverage_error": {"target_coverage": 0.8},
        "expected_cost": {"review_cost": 0.2},
    }
    return flat(
        {
            name + what: metric(*read[metric.reads], sample_weight=weight, **more.get(name, {}))
            for name, metric in METRICS.items()
            for what, weight in {"": None, " with weights": NEW.weight}.items()
        }
    )


@case("evaluate/a team")
def _team(seed: int) -> Flat:
    predicted, selected = clf_of("plain").predict(NEW.X), clf_of("plain").select(NEW.X)
    person = np.where(np.arange(300) % 7 == 0, 1 - NEW.y, NEW.y)
    rows = (NEW.y, predicted, selected)
    return flat(
        {
            "labels": team_score(accuracy_score, *rows, reviewer_labels=person),
            "labels, weights": team_score(accuracy_score, *rows, reviewer_labels=person, sample_weight=NEW.weight),
            "accuracy": team_score(accuracy_score, *rows, reviewer_accuracy=0.9),
            "by class": team_score(accuracy_score, *rows, reviewer_accuracy={0: 0.95, 1: 0.7}),
            "recall": team_score(recall_score, *rows, reviewer_accuracy=0.9, random_state=seed),
        }
    )


@case("evaluate/groups")
def _groups(seed: int) -> Flat:
    found = evaluate_groups(clf_of("plain"), NEW.X, NEW.y, NEW.region, (1.0, 0.8))
    return {
        **table(found.rows(), "target_coverage", "group"),
        **{f"gap {key}": value for key, value in table(found.gaps().rows(), "target_coverage", "metric").items()},
        **flat({"advice": found.band_advice(0.8)}),
    }


@case("evaluate/groups of customers with weights")
def _weighted_groups(seed: int) -> Flat:
    options = {"band_groups": NEW.region, "sample_weight": NEW.weight, "customers": NEW.customer}
    found = evaluate_groups(clf_of("weights and band groups"), NEW.X, NEW.y, NEW.region, (0.8,), **options)
    differences = found.differences("north").rows()
    labels = [key for key, value in differences[0].items() if isinstance(value, str)]
    return table(found.rows(), "group") | {f"minus {key}": value for key, value in table(differences, *labels).items()}


@case("evaluate/groups of selections")
def _groups_of_selections(seed: int) -> Flat:
    scored = clf_of("vendor").scored(NEW.X)
    found = evaluate_group_selections(NEW.y, scored.score, scored.predicted, _selections("vendor"), NEW.region)
    return table(found.rows(), "target_coverage", "group")


def _add_comparisons() -> None:
    pairs: dict[str, tuple[str, str, dict[str, Any]]] = {
        "AUC and confidence": ("plain", "confidence", {}),
        "gate and vendor": ("gate", "vendor", {"sample_weight": NEW.weight}),
        "customers": ("band groups", "nested", {"customers": NEW.customer, "band_groups": NEW.region}),
        "several classes": ("classes", "classes by confidence", {}),
    }
    for title, (one, other, options) in pairs.items():

        def compared(seed: int, one: str = one, other: str = other, options: Any = options) -> Flat:
            rows = (NEW.X, labels_for(one), (0.8, 0.6))
            # The second is the reference: differences are those of the first from it.
            named = {"second": clf_of(other), "first": clf_of(one)}
            found = compare_selective(named, *rows, **options, **draws(seed)).rows()
            words = {"value": "first", "reference_value": "second"}
            kept = [
                {words.get(key, key): row[key] for key in row if key not in ("classifier", "reference")}
                for row in found
            ]
            return table(kept, "target_coverage", "metric")

        case(f"compare/{title}")(compared)


_add_comparisons()


def _add_spreads() -> None:
    """Standard deviations from so many draws that another method can be held against them."""
    keep = ("target_coverage", "selective_auc_sd", "auc_gain", "auc_gain_sd", "auc_gain_low", "auc_gain_high")
    kinds: dict[str, dict[str, Any]] = {
        "rows": {},
        "weights": {"sample_weight": NEW.weight},
        "customers": {"customers": NEW.customer},
    }
    for title, options in kinds.items():

        def spread(seed: int, options: Any = options) -> Flat:
            found = evaluate_selective(clf_of("plain"), NEW.X, NEW.y, (1.0, 0.8), **options, **draws(seed, 32_000))
            rows = [
                {"target_coverage": row["target_coverage"]} | {key: row[key] for key in keep} for row in found.rows()
            ]
            return table(rows, "target_coverage")

        def difference(seed: int, options: Any = options) -> Flat:
            clfs = [clf_of("confidence"), clf_of("plain")]
            found = compare_selective(clfs, NEW.X, NEW.y, (0.8,), **options, **draws(seed, 16_000))
            row = next(row for row in found.rows() if row["metric"] == "selective_auc")
            return {key: plain(value) for key, value in row.items() if key.startswith("difference")}

        case(f"spread/{title}")(spread)
        case(f"spread/two classifiers, {title}")(difference)


_add_spreads()


# ---- promises ----


def _add_promises() -> None:
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "rows": ("plain", {}),
        "rows with weights": ("weights", {"sample_weight": NEW.weight}),
        "customers": ("customers", {"customers": NEW.customer}),
        "customers with weights": ("plain", {"customers": NEW.customer, "sample_weight": NEW.weight}),
        "band groups": ("band groups", {"band_groups": NEW.region}),
        "gate": ("gate", {"promised_coverage": 0.7}),
        "judge": ("coverage confidence", {"confidence": 0.8}),
        "heavy ties": ("heavy ties", {}),
    }
    for title, (name, options) in asked.items():
        case(f"promise/{title}")(
            lambda _seed, name=name, options=options: promised(promise_selective(clf_of(name), NEW.X, NEW.y, **options))
        )
    for title in ("rows", "rows with weights", "customers"):
        name, options = asked[title]
        case(f"promise/highest coverage, {title}")(
            lambda _seed, name=name, options=options: promised(
                promise_coverage(clf_of(name), NEW.X, NEW.y, auc=0.68, **options)
            )
        )


_add_promises()


@case("promise/by draws")
def _drawn_promise(seed: int) -> Flat:
    options = {"method": "bootstrap", "customers": NEW.customer, "n_bootstrap": 400, "random_state": seed}
    return promised(promise_selective(clf_of("plain"), NEW.X, NEW.y, 0.7, **options))


@case("promise/a ranking")
def _promise_of_a_ranking(_seed: int) -> Flat:
    weighted = promise_ranking(_ranked(sample_weight=NEW.weight), clf_of("vendor"))
    found = {"rows": promised(promise_ranking(_ranked(), clf_of("vendor"), 0.7)), "weights": promised(weighted)}
    return flat(found)


@case("promise/a selection")
def _promise_of_a_selection(_seed: int) -> Flat:
    selected = clf_of("gate").select(NEW.X, 0.7)
    return promised(promise_selection(NEW.y, NEW.X["vendor"], selected, promised_coverage=0.6, customers=NEW.customer))


# ---- after the fit ----


def _add_recalibrations() -> None:
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "rows": ("plain", {}),
        "weights": ("weights", {"sample_weight": LATER.weight}),
        "band groups": ("band groups", {"band_groups": LATER.region}),
        "label shift": ("plain", {"label_shift": True}),
        "label shift with weights": ("vendor", {"label_shift": True, "sample_weight": MORE_POSITIVES.weight}),
        "gate": ("gate", {}),
        "several classes": ("classes", {}),
    }
    for title, (name, options) in asked.items():

        def recalibrated(_seed: int, name: str = name, options: Any = options) -> Flat:
            rows = MORE_POSITIVES if "label_shift" in options else LATER
            clf = clf_of(name).recalibrate(rows.X, **options)
            groups = groups_for(name)
            band = clf.band(0.8, None if groups is None else "south")
            selected = {f"selected {share}": bits(clf.select(NEW.X, share, groups)) for share in (0.8, 0.6)}
            placed = {"band": (band.lower, band.upper), "rows": clf.fitted_.n_placing_rows}
            return flat(placed | selected)

        case(f"recalibrate/{title}")(recalibrated)


_add_recalibrations()


@case("monitor/rows and labels")
def _monitor(_seed: int) -> Flat:
    monitor, found = CoverageMonitor(clf_of("plain")), {}
    for place, rows in enumerate((NEW, LATER, LATER)):
        found[f"coverage {place}"] = monitor.update(rows.X).to_dict()
        found[f"AUC {place}"] = monitor.update_labels(rows.X, rows.y).to_dict()
    again = pickle.loads(pickle.dumps(monitor))
    return flat(found | {"read again": again.update(NEW.X).to_dict()["message"]})


@case("monitor/band groups")
def _monitor_of_groups(_seed: int) -> Flat:
    monitor = CoverageMonitor(clf_of("band groups"), coverage=0.6, reference=NEW.X, reference_groups=NEW.region)
    return flat(monitor.update(LATER.X, LATER.region).to_dict())


@case("text/SQL and JSON")
def _texts(_seed: int) -> Flat:
    columns = {"plain": "score", "weights": "score", "heavy ties": "points", "confidence": "score"}
    found = {f"SQL {name}": rule_to_sql(clf_of(name), column, 0.7) for name, column in columns.items()}
    found["SQL of groups"] = rule_to_sql(
        clf_of("band groups"), "score", band_group_column="region", automatic=1, review=0
    )
    found["SQL of a band"] = band_to_sql(clf_of("plain").band(0.6), "score", quote="`")
    found["query"] = ranking_query("loans", "score", "bad", weight="amount", dialect="duckdb")
    named = ("plain", "band groups", "heavy ties", "nested")
    found |= {f"JSON {name}": without_versions(json.loads(rule_to_json(clf_of(name), (0.9, 0.7)))) for name in named}
    return flat(found)


def without_versions(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document without what depends on libraries and on the day."""
    telling = ("version", "fingerprint", "date", "saved_at")
    return {key: value for key, value in document.items() if not any(word in key for word in telling)}


def _add_files() -> None:
    for name in SAVED:

        def saved(_seed: int, name: str = name) -> Flat:
            X, groups = rows_for(name), groups_for(name)
            with TemporaryDirectory() as folder:
                path = Path(folder) / "model.aucross"
                save(clf_of(name), path, metadata={"note": "kept"})
                again, header = load(path), read_header(path)
                with zipfile.ZipFile(path) as archive:
                    entries = archive.namelist()
            others = sorted(name for name in entries if not name.startswith("arrays/"))
            found = {f"selected {share}": bits(again.select(X, share, groups)) for share in (0.9, 0.7)}
            found["capacity"] = bits(again.select(X, capacity=25, ids=NEW.ids, band_groups=groups))
            found["predicted"] = pd.Series(again.predict(X)).value_counts().sort_index().to_dict()
            told = {"class": header.class_name, "format": header.format_version, "metadata": header.metadata}
            return flat({"arrays": len(entries) - len(others), "others": ", ".join(others), **found, **told})

        case(f"file/{name}")(saved)


_add_files()


# ---- reports ----


def summarised(name: str, rows: Rows, seed: int, kept: tuple[float, ...] = (0.8,), **options: Any) -> Flat:
    summary = build_summary(clf_of(name), rows.X, rows.y, date="2026-01-01", **options)
    summary["coverages"] = [entry for entry in summary["coverages"] if entry["target_coverage"] in kept]
    unlike = ("versions", "model_fingerprint", "rule_fingerprint")  # other libraries, other texts
    method = {key: value for key, value in summary["method"].items() if key not in unlike}
    return flat({**summary, "method": method})


@case("report/plain")
def _report(seed: int) -> Flat:
    return summarised("plain", NEW, seed, (0.8, 1.0), by=NEW.region, class_names=("good", "bad"))


@case("report/customers with weights")
def _weighted_report(seed: int) -> Flat:
    options = {"sample_weight": NEW.weight, "customers": NEW.customer, "band_groups": NEW.region}
    return summarised("weights and band groups", NEW, seed, **options)


@case("report/gate and cases without a score")
def _report_of_all_cases(seed: int) -> Flat:
    has_score = np.arange(300) % 9 > 0
    scored = rows_at(NEW, has_score)
    missing = UnscoredRows(NEW.y[~has_score], by=NEW.region[~has_score])
    return summarised("gate", scored, seed, unscored=missing, by=scored.region, features=scored.X[SOME_FEATURES])


@case("report/points")
def _report_in_points(seed: int) -> Flat:
    return summarised("heavy ties", NEW, seed, sample_weight=NEW.weight)


# ---- held against each other ----


def by_kind(found: Flat, drawn_anew: Flat) -> dict[str, Flat]:
    """What a case returned, apart by whether other draws give something else."""
    parts: dict[str, Flat] = {}
    for key, value in found.items():
        kind = "exact"
        if key not in drawn_anew or drawn_anew[key] != value:
            kind = "drawn"
        parts.setdefault(kind, {})[key] = value
    return parts


def changes(frozen: Mapping[str, Flat], found: Flat) -> list[str]:
    """Say of each key what was frozen and what was found, where they differ by more than the limit of their kind."""
    before = {key: (kind, value) for kind, part in frozen.items() for key, value in part.items()}
    told = [f"{key}: {value!r} is new" for key, value in found.items() if key not in before]
    for key, (kind, value) in before.items():
        if key not in found:
            told.append(f"{key}: {value!r} is gone")
        elif not is_close(value, found[key], kind):
            told.append(f"{key} ({kind}): {value!r} was frozen, got {found[key]!r}")
    return told


_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+")


def is_close(before: Any, now: Any, kind: str) -> bool:
    """Whether two values are the same to the limit of their kind; in texts that tell of draws each number is."""
    if isinstance(before, list):
        pairs = zip(before, now, strict=False) if isinstance(now, list) and len(now) == len(before) else [(0, "")]
        return all(is_close(one, other, kind) for one, other in pairs)
    if isinstance(before, str):
        if kind == "exact" or before == now or not isinstance(now, str):
            return bool(before == now)
        numbers = ([float(number) for number in _NUMBER.findall(text)] for text in (before, now))
        return _NUMBER.sub("", before) == _NUMBER.sub("", now) and is_close(*numbers, kind)
    if before is None or isinstance(before, bool) or not isinstance(now, float | int) or isinstance(now, bool):
        return before is now
    if kind == "exact":
        return abs(before - now) <= LIMITS[kind] * max(1.0, abs(before))
    return abs(before - now) <= LIMITS[kind] * abs(before) + LIMITS["exact"]
