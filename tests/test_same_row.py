"""The same row gets the same decision at a coverage: in any batch, with any number of threads, on every way in."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross, load, save
from aucross.core import ExpectedCost, OptimalBands, RankedScores, ScoreRounding, ThresholdBands
from aucross.core.noise import noise_of, without_noise
from aucross.core.scored_rows import split_ties
from aucross.export import rule_to_sql
from aucross.export.onnx import onnx_inputs, to_onnx
from aucross.serve import ServedModel, ServeOptions, make_app
from tests.cli.commands import QUICK, aucross
from tests.serve.client import Client

pytestmark = [
    pytest.mark.few_scores,
    pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed`"),
    pytest.mark.filterwarnings("ignore:Stochastic Optimizer"),
    pytest.mark.filterwarnings("ignore:the models of the folds"),
]


def tied_rows(n_rows, seed=0, n_classes=2):
    """Few categories, so that a score is shared by many rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n_rows, 4)).astype(float)
    margin = (X - 1) @ [0.9, -0.5, 0.4, 0.7] - 0.3 + rng.logistic(size=n_rows)
    return X, np.digitize(margin, [0.0, 1.2][: n_classes - 1])


X, y = tied_rows(1500)
NEW = tied_rows(1000, seed=1)[0]


class Noisy(ClassifierMixin, BaseEstimator):
    """A model whose last digits depend on the batch, as those of sums do that are added up in another order."""

    def __init__(self, model, precision=np.float64):
        self.model = model
        self.precision = precision

    def fit(self, X, y):
        self.model_ = clone(self.model).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def _with_noise(self, values):
        rng = np.random.default_rng(len(values))
        noise = rng.integers(-4, 5, values.shape) * np.finfo(self.precision).eps
        return (values.astype(self.precision) * (1 + noise)).astype(self.precision)

    def predict_proba(self, X):
        values = self._with_noise(self.model_.predict_proba(X))
        if len(self.classes_) == 2:
            values[:, 0] = 1 - values[:, 1]
        return values

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class NoisyDistance(ClassifierMixin, BaseEstimator):
    """The same with decision values, whose noise is that of their largest terms."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.model_ = clone(self.model).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        values = self.model_.decision_function(X)
        rng = np.random.default_rng(len(values))
        return values + rng.integers(-4, 5, values.shape) * 1e-15

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def on_categories(model, dtype=np.float64):
    return make_pipeline(OneHotEncoder(sparse_output=False, handle_unknown="ignore", dtype=dtype), model)


logistic = on_categories(LogisticRegression())
MODELS = {
    "logistic": logistic,
    "logistic, noisy": Noisy(logistic),
    "logistic in single precision": on_categories(LogisticRegression(), np.float32),
    "logistic in single precision, noisy": Noisy(logistic, np.float32),
    "forest": RandomForestClassifier(40, max_depth=4, n_jobs=2, random_state=0),
    "forest, noisy": Noisy(RandomForestClassifier(20, max_depth=4, random_state=0)),
    "extra trees": ExtraTreesClassifier(40, max_depth=4, n_jobs=2, random_state=0),
    "tree, noisy": Noisy(DecisionTreeClassifier(max_depth=5, random_state=0)),
    "boosting, noisy": Noisy(HistGradientBoostingClassifier(max_iter=15, random_state=0)),
    "LightGBM": LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1, random_state=0),
    "XGBoost": XGBClassifier(n_estimators=15, n_jobs=1, random_state=0),
    "naive Bayes, noisy": Noisy(GaussianNB()),
    "neighbours, noisy": Noisy(KNeighborsClassifier(8)),
    "linear distance": on_categories(LinearSVC()),
    "network": make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=40, random_state=0)),
}
METHODS = {
    "AUCross": lambda model: AUCross(model, coverage=0.85, random_state=0),
    "PlugInAUC": lambda model: PlugInAUC(model, coverage=0.85, holdout_size=0.3, random_state=0),
    "PlugIn": lambda model: PlugIn(model, coverage=0.85, holdout_size=0.3, random_state=0),
}

noisy, settings = Noisy(logistic), {"coverage": 0.85, "random_state": 0}
FURTHER = {
    "SCross": SCross(noisy, **settings),
    "SCross, split": SCross(noisy, ties="split", **settings),
    "AUCross, split": AUCross(noisy, ties="split", **settings),
    "PlugInAUC, quarters, split": PlugInAUC(Noisy(KNeighborsClassifier(4)), ties="split", **settings),
    "AUCross, centred": AUCross(noisy, placement="centered", **settings),
    "PlugInAUC, centred": PlugInAUC(noisy, placement="centered", **settings),
    "AUCross, nested": AUCross(noisy, nested=True, **settings),
    "AUCross, ensemble": AUCross(noisy, ensemble=True, **settings),
    "AUCross, judge": AUCross(noisy, ensemble="judge", **settings),
    "PlugInAUC, ks": PlugInAUC(noisy, target="ks", **settings),
    "PlugInAUC, cost": PlugInAUC(noisy, target=ExpectedCost(review=0.3), **settings),
    "PlugInAUC, promise": PlugInAUC(noisy, coverage_confidence=0.9, holdout_size=0.4, **settings),
    "PlugIn, promise": PlugIn(noisy, coverage_confidence=0.9, holdout_size=0.4, **settings),
    "gate": AUCGate(Noisy(GaussianNB()), noisy, **settings),
    "gate, nested": AUCGate(Noisy(GaussianNB()), noisy, nested=True, **settings),
    "gate of no use": AUCGate(noisy, noisy, nested=True, **settings),
    "gate, split": AUCGate(Noisy(GaussianNB()), noisy, ties="split", **settings),
    "gate in single precision": AUCGate(Noisy(GaussianNB(), np.float32), Noisy(logistic, np.float32), **settings),
    "distance, SCross": SCross(NoisyDistance(LinearSVC()), **settings),
    "distance, PlugInAUC": PlugInAUC(NoisyDistance(SVC()), **settings),
    "three classes": AUCross(noisy, **settings),
    "three classes, nested": AUCross(noisy, nested=True, **settings),
    "three classes, auc_mu": PlugInAUC(noisy, target="auc_mu", holdout_size=0.3, **settings),
    "three classes, PlugIn": PlugIn(noisy, holdout_size=0.3, **settings),
    "three classes, split": AUCross(noisy, ties="split", **settings),
    "groups": PlugInAUC(noisy, holdout_size=0.6, **settings),
}


def decided_otherwise(clf, coverages, full_size, **others):
    """How many rows are tried, and how many are decided otherwise in some batch or with other threads."""
    tried = wrong = 0
    for coverage in coverages:
        rows = np.arange(len(NEW)) if full_size else nearest_to_the_ends(clf, coverage, others)
        answers = []
        for threads in (1, 2) if full_size else (1,):
            with threadpool_limits(threads):
                answers += [clf.select(NEW, coverage, **others)[rows] for _ in range(2)]
                for size in (1, 7, 50) if full_size else (1, 7):
                    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
                    given = [{name: values[part] for name, values in others.items()} for part in parts]
                    each = [clf.select(NEW[p], coverage, **g) for p, g in zip(parts, given, strict=True)]
                    answers.append(np.concatenate(each))
        tried += len(rows)
        wrong += int((np.array(answers) != answers[0]).any(axis=0).sum())
    return tried, wrong


def nearest_to_the_ends(clf, coverage, others, number=10):
    """Rows of different content whose scores lie next to the ends of the band."""
    decided = clf.decide(NEW, coverage, **others)
    score, ends = decided.selection_score, (decided.lower, decided.upper)
    distance = np.min([np.abs(score - np.where(np.isfinite(end), end, -9)) for end in ends], axis=0)
    _, first = np.unique(NEW, axis=0, return_index=True)
    return np.sort(first[np.argsort(distance[first])][:number])


@pytest.mark.attack("same row, same decision")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_a_row_is_decided_alike_in_every_batch(model, method, attacked, full_size):
    clf = METHODS[method](clone(MODELS[model])).fit(X, y)
    tried, wrong = decided_otherwise(clf, (None, 0.6) if full_size else (None,), full_size)
    attacked(tried, [f"{model}, {method}: {wrong} of {tried} rows"] if wrong else [])


@pytest.mark.attack("same row, same decision")
@pytest.mark.parametrize("name", FURTHER)
def test_a_row_is_decided_alike_in_every_batch_by_every_rule(name, attacked, full_size):
    labels = tied_rows(1500, n_classes=3)[1] if name.startswith("three") else y
    is_grouped = name == "groups"
    others = {"band_groups": NEW[:, 0]} if is_grouped else {}
    clf = clone(FURTHER[name]).fit(X, labels, **({"band_groups": X[:, 0]} if is_grouped else {}))
    for each in (clf, clf.recalibrate(NEW, **others)):
        tried, wrong = decided_otherwise(each, (None, 0.6) if full_size else (None,), full_size, **others)
        attacked(tried, [f"{name}: {wrong} of {tried} rows"] if wrong else [])


# ---- other ways in ----

WAYS = {
    "PlugInAUC": PlugInAUC(logistic, holdout_size=0.3, **settings),
    "PlugIn": PlugIn(logistic, holdout_size=0.3, **settings),
    "forest": PlugInAUC(RandomForestClassifier(30, max_depth=4, n_jobs=2, random_state=0), **settings),
}
NAMES = ["a", "b", "c", "d"]


@pytest.mark.attack("same row, same decision")
@pytest.mark.parametrize("name", WAYS)
def test_a_row_is_decided_alike_on_every_way_in(name, tmp_path, attacked, full_size):
    frame, new = pd.DataFrame(X, columns=NAMES), pd.DataFrame(NEW[: 1000 if full_size else 60], columns=NAMES)
    clf = clone(WAYS[name]).fit(frame, y)
    expected = clf.select(new)
    answers = {"alone": np.concatenate([clf.select(new[row : row + 1]) for row in range(len(new))])}

    path = tmp_path / "model.aucross"
    save(clf, path)
    loaded = load(path)
    answers["file"] = loaded.select(new)

    with Client(make_app(ServedModel(loaded, dict.fromkeys(NAMES, "number"), ("no", "yes")), ServeOptions())) as client:
        rows = json.loads(new.to_json(orient="records"))
        each = [client.post("/decision", json={"row": row, "id": "A"}).json() for row in rows]
        answers["HTTP"] = np.array([answer["decision"] == "automatic" for answer in each])

    score = np.concatenate([clf.decide(new[row : row + 1]).selection_score for row in range(len(new))])
    cases = pd.DataFrame({"number": np.arange(len(new)), "score": score})  # read by the query
    query = f"SELECT {rule_to_sql(clf, 'score')} AS decision FROM cases ORDER BY number"
    answers["SQL"] = duckdb.query_df(cases, "cases", query).df()["decision"].to_numpy() == "automatic"

    if name == "forest":  # the graph has no category encoder for a frame of numbers
        graph = to_onnx(clf, frame)
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        answers["ONNX"] = session.run(["selected"], onnx_inputs(graph, new))[0][:, 0]

    counts = {way: int((answer != expected).sum()) for way, answer in answers.items()}
    wrong = [f"{way}: {count} rows" for way, count in counts.items() if count]
    attacked(len(answers) * len(new), wrong)


@pytest.mark.attack("same row, same decision")
def test_the_shell_decides_a_table_as_python_decides_each_row(tmp_path, attacked, full_size):
    table, new = (pd.DataFrame(rows, columns=NAMES).astype(int).astype("string") + "x" for rows in (X, NEW))
    table.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    model, out = tmp_path / "model.aucross", tmp_path / "out.csv"
    for arguments in (
        ("fit", tmp_path / "table.csv", "--target", "y", "--out", model, "--coverage", 0.85, *QUICK),
        ("predict", model, tmp_path / "new.csv", "--out", out, "--quiet"),
    ):
        result = aucross(*arguments)
        assert result.exit_code == 0, result.stderr
    shell = pd.read_csv(out)["decision"].to_numpy() == "automatic"
    clf, n_rows = load(model), len(new) if full_size else 100
    rows = new.astype("category")
    alone = np.concatenate([clf.select(rows[row : row + 1]) for row in range(n_rows)])
    wrong = int((alone != shell[:n_rows]).sum())
    attacked(n_rows, [f"{wrong} of {n_rows} rows"] if wrong else [])


# ---- the rule itself ----


def test_scores_that_differ_by_noise_count_as_one_and_others_do_not():
    score = np.array([0.3, 0.1 + 0.2, 0.3 * (1 + 1e-12), 0.3 * (1 + 1e-8), 0.7])
    assert len(np.unique(without_noise(score))) == 3
    near_one = 1 - np.array([1e-12, 3e-12, 1e-11, 2e-11, 0.5])
    assert (without_noise(near_one) == near_one).all()
    dense = np.linspace(0.5, 0.5 + 1e-7, 5001)  # closer than the noise, over far more than its length
    assert len(np.unique(without_noise(dense))) > 1000
    points = np.array([1e9, 1e9 + 1, 1e9 + 2])
    assert (noise_of(points) == 0).all()
    assert (without_noise(points) == points).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_rule_leaves_every_score_as_it_is_to_the_noise_and_in_order(kind):
    rng = np.random.default_rng(0)
    score = (rng.random(20_000) ** 3).astype(kind).astype(float)
    merged = without_noise(score)
    assert (np.abs(merged - score) <= noise_of(score)).all()
    assert (np.diff(merged[np.argsort(score)]) >= 0).all()
    assert (without_noise(merged) == merged).all()
    assert len(np.unique(merged)) > 0.9 * len(np.unique(score))


@pytest.mark.parametrize("rule", [OptimalBands, ThresholdBands])
def test_an_end_keeps_clear_of_the_scores_on_both_sides_and_rejects_the_same(rule):
    rng = np.random.default_rng(0)
    score = rng.integers(1, 99, 500) / 99
    ranked = RankedScores.from_labels(rng.random(500) < score, score)
    placed = rule(ranked)
    for coverage in (0.95, 0.8, 0.5):
        band = placed.band(coverage)
        assert ranked.block(band) == ranked.block(placed.place(coverage))
        for noise in (-1e-12, 1e-12):
            assert (band.rejects(score * (1 + noise)) == band.rejects(score)).all()


def test_neighbours_in_the_last_digit_are_told_apart_where_they_are_ranked_as_they_are():
    scores = np.array([0.25, np.nextafter(0.25, 1), np.nextafter(np.nextafter(0.25, 1), 1), 0.75])
    ranked = RankedScores(scores, [0, 1, 0, 1], [1, 0, 1, 0])
    for coverage in (0.75, 0.5, 0.25):
        rule = OptimalBands(ranked)
        assert ranked.block(rule.band(coverage)) == ranked.block(rule.place(coverage))


@pytest.mark.parametrize("score", [0.25, 0.5, 0.125, 3.0, 1 / 3, 0.2, -0.25])
def test_a_score_with_noise_stays_one_where_digits_are_left_out(score):
    noisy = score * (1 + np.arange(-4, 5) * 2.0**-52)
    assert len(np.unique(ScoreRounding(20).round(noisy))) == 1
    assert len(np.unique(split_ties(noisy, np.full(9, 0.5)))) == 1


def test_a_capacity_takes_the_same_rows_in_identical_calls():
    model = RandomForestClassifier(60, max_depth=4, n_jobs=2, random_state=0)
    clf = PlugInAUC(model, holdout_size=0.3, **settings).fit(X, y)
    score = clf.scored(NEW)
    first = clf.select(score, capacity=130)
    for digit in (-2, -1, 1, 2):
        noise = 1 + np.random.default_rng(digit + 9).integers(-2, 3, len(NEW)) * 2.0**-52
        columns = score.rule_input.columns * noise[:, None]
        again = clf.band_rule_.rows_to_reject(type(score.rule_input)(columns).without_noise(), 130, np.arange(len(NEW)))
        assert (np.flatnonzero(~first) == again).all()
