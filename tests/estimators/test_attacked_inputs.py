"""Bad and odd arguments of the library: each gets a sentence that says what to do, or an answer that is safe."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, ScoreColumn, SCross, evaluate_selective
from aucross.core import ExpectedCost, RankedScores, RejectionBand, best_band, best_band_for, oracle_band

X, y = make_classification(400, n_features=6, flip_y=0.2, random_state=0)
model = LogisticRegression()
inf, nan = float("inf"), float("nan")
one_class = np.zeros(400, dtype=int)


@pytest.fixture(scope="module")
def clf():
    return PlugInAUC(model, holdout_size=0.4, random_state=0).fit(X, y)


def fit(estimator=model, method=PlugInAUC, rows=X, labels=y, fit_params=None, **parameters):
    return method(estimator, random_state=0, **parameters).fit(rows, labels, **(fit_params or {}))


def changed(values, place, value):
    values = np.array(values, dtype=object if isinstance(value, str) or value is None else float)
    values[place] = value
    return values


# ---- what must be refused: a sentence with the value and a remedy, before anything is trained ----

REFUSED = {
    # coverage
    "coverage 0": lambda clf: clf.select(X, 0),
    "coverage -1": lambda clf: clf.select(X, -1),
    "coverage 1.5": lambda clf: clf.select(X, 1.5),
    "coverage 90": lambda clf: clf.select(X, 90),
    "coverage nan": lambda clf: clf.select(X, nan),
    "coverage inf": lambda clf: clf.select(X, inf),
    "coverage text": lambda clf: clf.select(X, "0.9"),
    "coverage True": lambda clf: clf.select(X, True),
    "coverage list": lambda clf: clf.select(X, [0.9]),
    "coverage array": lambda clf: clf.select(X, np.array([0.9])),
    "coverage complex": lambda clf: clf.select(X, 0.9 + 0j),
    "coverage 0 of decide": lambda clf: clf.decide(X, 0.0),
    "constructor coverage 0": lambda _: fit(coverage=0),
    "constructor coverage text": lambda _: fit(coverage="all"),
    "constructor coverage None": lambda _: fit(coverage=None),
    "band nan": lambda clf: clf.band(nan),
    "expected coverage 0": lambda clf: clf.expected_coverage(0),
    "confidence 1": lambda _: fit(coverage_confidence=1.0),
    "confidence 0": lambda _: fit(coverage_confidence=0),
    "confidence text": lambda _: fit(coverage_confidence="high"),
    "confidence with weights": lambda _: fit(coverage_confidence=0.95, fit_params={"sample_weight": np.ones(400)}),
    # capacity and ids
    "capacity -1": lambda clf: clf.select(X, capacity=-1),
    "capacity 2.5": lambda clf: clf.select(X, capacity=2.5),
    "capacity 0.5": lambda clf: clf.select(X, capacity=0.5),
    "capacity nan": lambda clf: clf.select(X, capacity=nan),
    "capacity inf": lambda clf: clf.select(X, capacity=inf),
    "capacity True": lambda clf: clf.select(X, capacity=True),
    "capacity text": lambda clf: clf.select(X, capacity="10"),
    "capacity and coverage": lambda clf: clf.select(X, 0.9, capacity=3),
    "ids twice": lambda clf: clf.select(X, capacity=3, ids=[1] * 400),
    "ids too few": lambda clf: clf.select(X, capacity=3, ids=[1, 2]),
    # rows
    "no rows": lambda _: fit(rows=X[:0], labels=y[:0]),
    "one row": lambda _: fit(rows=X[:1], labels=y[:1]),
    "nan in rows": lambda _: fit(rows=changed(X, (3, 2), nan)),
    "inf in rows": lambda _: fit(rows=changed(X, (3, 2), inf)),
    "nan in new rows": lambda clf: clf.select(changed(X, (3, 2), nan)),
    "text in rows": lambda _: fit(rows=changed(X, (3, 2), "abc")),
    "one dimension": lambda _: fit(rows=X[:, 0]),
    "three dimensions": lambda _: fit(rows=X[:, :, None]),
    "no columns": lambda _: fit(rows=X[:, :0]),
    "fewer columns later": lambda clf: clf.select(X[:, :3]),
    "more columns later": lambda clf: clf.select(np.hstack([X, X])),
    "rows None": lambda clf: clf.select(None),
    "rows a number": lambda clf: clf.select(3),
    "rows a mapping": lambda clf: clf.select({"a": 1}),
    "lengths differ": lambda _: fit(labels=y[:-1]),
    "rows of another model": lambda clf: clf.select(fit(rows=X[:300], labels=y[:300]).scored(X)),
    "recalibrate on no rows": lambda clf: clf.recalibrate(X[:0]),
    "recalibrate on no batches": lambda clf: clf.recalibrate(iter([])),
    "recalibrate on a list of tables": lambda clf: clf.recalibrate([X, X]),
    "label shift text": lambda clf: clf.recalibrate(X, label_shift="yes"),
    # labels
    "one class": lambda _: fit(labels=one_class),
    "one positive": lambda _: fit(method=AUCross, labels=changed(one_class, 0, 1).astype(int)),
    "labels None": lambda _: fit(labels=None),
    "labels nan": lambda _: fit(labels=changed(y, 0, nan)),
    "labels continuous": lambda _: fit(labels=X[:, 0]),
    "labels in two columns": lambda _: fit(labels=np.column_stack([y, y])),
    "labels mixed": lambda _: fit(labels=changed(y, 0, "yes")),
    "labels None inside": lambda _: fit(labels=changed(y, 0, None)),
    "labels a mask of nothing": lambda _: fit(labels=np.ma.masked_all(400)),
    # weights
    "weights negative": lambda _: fit(fit_params={"sample_weight": changed(np.ones(400), 3, -1.0)}),
    "weights nan": lambda _: fit(fit_params={"sample_weight": changed(np.ones(400), 3, nan)}),
    "weights inf": lambda _: fit(fit_params={"sample_weight": changed(np.ones(400), 3, inf)}),
    "weights all 0": lambda _: fit(fit_params={"sample_weight": np.zeros(400)}),
    "weights of one class": lambda _: fit(fit_params={"sample_weight": (y == 1) * 1.0}),
    "weights too few": lambda _: fit(fit_params={"sample_weight": np.ones(399)}),
    "weights in two columns": lambda _: fit(fit_params={"sample_weight": np.ones((400, 2))}),
    "weights text": lambda _: fit(fit_params={"sample_weight": ["heavy"] * 400}),
    "new weights negative": lambda clf: clf.scored(X, sample_weight=-np.ones(400)),
    # groups
    "groups too few": lambda _: fit(fit_params={"band_groups": ["a"] * 399}),
    "groups missing": lambda _: fit(fit_params={"band_groups": changed(np.ones(400), 3, None)}),
    "groups not fitted": lambda clf: clf.select(X, band_groups=["a"] * 400),
    "group of one row": lambda _: fit(method=AUCross, fit_params={"band_groups": ["a"] * 399 + ["b"]}),
    # other parameters
    "ties": lambda _: fit(ties="cut"),
    "placement": lambda _: fit(placement="best"),
    "target": lambda _: fit(target="accuracy"),
    "nested": lambda _: fit(nested="yes"),
    "holdout 0": lambda _: fit(holdout_size=0),
    "holdout 1": lambda _: fit(holdout_size=1.0),
    "holdout text": lambda _: fit(holdout_size="half"),
    "cv 1": lambda _: fit(method=AUCross, cv=1),
    "cv text": lambda _: fit(method=AUCross, cv="many"),
    "a regression": lambda _: fit(LinearRegression()),
    "a class": lambda _: fit(LogisticRegression),
    "no model": lambda _: fit(None),
    "a gate without scores": lambda _: AUCGate(model, LinearRegression()).fit(X, y),
    "before fit": lambda _: PlugInAUC(model).select(X),
    "reject label a class": lambda clf: clf.predict_selective(X, reject_label=1),
    "score column unknown": lambda _: fit(ScoreColumn("rating"), rows=pd.DataFrame(X)),
    "score column of points": lambda _: fit(ScoreColumn(0)),
    # functions of the core
    "band of nan": lambda _: RejectionBand(nan, 1.0),
    "band reversed": lambda _: RejectionBand(1.0, 0.0),
    "scores nan": lambda _: RankedScores.from_labels([0, 1], [0.1, nan]),
    "scores inf": lambda _: oracle_band([0, 1], [0.1, inf], 0.9),
    "scores too few": lambda _: RankedScores.from_labels([0, 1], [0.1]),
    "labels of three kinds": lambda _: RankedScores.from_labels([0, 1, 2], [0.1, 0.2, 0.3]),
    "oracle of one class": lambda _: oracle_band([1, 1], [0.1, 0.2], 0.9),
    "width": lambda _: best_band(RankedScores.from_labels([0, 1], [0.1, 0.2]), 0.9, width="narrow"),
    "unknown target": lambda _: best_band_for(RankedScores.from_labels([0, 1], [0.1, 0.2]), 0.9, "lift"),
    "cost nan": lambda _: ExpectedCost(review=nan),
    "evaluate other labels": lambda clf: evaluate_selective(clf, X, np.full(400, "x"), n_bootstrap=0),
    "evaluate too few labels": lambda clf: evaluate_selective(clf, X, y[:-1], n_bootstrap=0),
}


@pytest.mark.attack("library inputs")
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_with_a_sentence(name, clf):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError)) as raised:
            REFUSED[name](clf)
    # A sentence, not the trace of an accident: words, and no name of an internal attribute.
    assert len(str(raised.value).split()) >= 5, str(raised.value)
    assert "object has no attribute" not in str(raised.value)
    assert "broadcast" not in str(raised.value)


# ---- what is odd and has one safe outcome ----


def share(selected):
    assert selected.dtype == np.bool_
    return selected.mean()


ODD = {
    "coverage 1": lambda clf: share(clf.select(X, 1)) == 1.0,
    "coverage of numpy": lambda clf: share(clf.select(X, np.float32(0.75))) == share(clf.select(X, 0.75)),
    "very low coverage": lambda clf: share(clf.select(X, 1e-9)) <= share(clf.select(X, 0.05)),
    "smallest number as coverage": lambda clf: share(clf.select(X, 5e-324)) <= share(clf.select(X, 0.05)),
    "capacity 0": lambda clf: share(clf.select(X, capacity=0)) == 1.0,
    "capacity of all": lambda clf: share(clf.select(X, capacity=400)) == 0.0,
    "capacity beyond all": lambda clf: share(clf.select(X, capacity=10**9)) == 0.0,
    "no new rows": lambda clf: len(clf.review_queue(X[:1], 0)) == 0,
    "constant score": lambda _: share(fit(DummyClassifier()).select(X)) == 1.0,
    "constant score, split": lambda _: 0.8 < share(fit(DummyClassifier(), ties="split").select(X)) < 1.0,
    "two scores": lambda _: share(fit(DecisionTreeClassifier(max_depth=1)).select(X, 0.99)) in (0.99, 1.0),
    "equal weights 1e300": lambda _: np.array_equal(
        fit(fit_params={"sample_weight": np.full(400, 1e300)}).select(X),
        fit(fit_params={"sample_weight": np.ones(400)}).select(X),
    ),
    "equal weights 1e-300": lambda _: np.array_equal(
        fit(method=SCross, fit_params={"sample_weight": np.full(400, 1e-300)}).select(X),
        fit(method=SCross, fit_params={"sample_weight": np.ones(400)}).select(X),
    ),
    "weights of 0 leave rows out": lambda _: (
        share(fit(method=PlugIn, fit_params={"sample_weight": np.arange(400) % 2 * 1.0}).select(X)) > 0.7
    ),
    "object array": lambda clf: np.array_equal(clf.select(X.astype(object)), clf.select(X)),
    "masked array of nothing masked": lambda clf: np.array_equal(clf.select(np.ma.masked_array(X)), clf.select(X)),
    "list of lists": lambda clf: np.array_equal(clf.select(X.tolist()), clf.select(X)),
    "half precision": lambda clf: len(clf.select(X.astype(np.float16))) == 400,
    "huge numbers": lambda clf: np.isfinite(clf.decide(np.full((3, 6), 1e100)).selection_score).all(),
    "boolean labels": lambda _: share(fit(labels=y == 1).select(X)) > 0.7,
    "text labels": lambda _: share(fit(labels=np.where(y == 1, "yes", "no")).select(X)) > 0.7,
    "one band score": lambda _: best_band(RankedScores([0.5], [3], [4]), 0.3).is_empty,
    "empty ranking": lambda _: best_band(RankedScores([], [], []), 0.3).is_empty,
    "infinite band": lambda _: not RejectionBand(-inf, inf).selects([0.0]).any(),
}


@pytest.mark.attack("library inputs")
@pytest.mark.filterwarnings("ignore:all held-out scores equal", "ignore:a coverage of")
@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_has_its_safe_outcome(name, clf):
    assert ODD[name](clf)
