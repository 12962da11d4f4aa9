"""An engine is a class of rows: here one that holds its parts in a list, and says what memory says."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from aucross import AUCross, HashedFolds, PlugInAUC, SCross, evaluate_selective, promise_selective
from aucross.cluster.classifier import (
    evaluate_on_cluster,
    fit_on_cluster,
    fold_and_half,
    promise_on_cluster,
    recalibrate_on_cluster,
)
from aucross.cluster.engine import LostWorkerError, Part, TrainedModel
from aucross.evaluation import TrainingRowsWarning

pytestmark = pytest.mark.few_scores


def taken(part, chosen):
    return Part(*(None if values is None else values[chosen] for values in part))


@dataclass(frozen=True)
class ListRows:
    """Rows in a list of parts. What would travel is pickled; the first so many trainings lose a worker."""

    parts: list[Part]
    losses: list[str]

    @contextmanager
    def folded(self, folds, *, halves):
        placed = [fold_and_half(part, (folds, halves)) for part in self.parts]
        names = ("fold", "half")
        parts = [
            part._replace(**dict(zip(names, values, strict=False)))
            for part, values in zip(self.parts, placed, strict=True)
        ]
        yield replace(self, parts=parts)

    def train(self, estimator, *, n_rows, without_fold=None):
        if self.losses:
            raise LostWorkerError(self.losses.pop())
        kept = [part if without_fold is None else taken(part, part.fold != without_fold) for part in self.parts]
        assert n_rows == sum(len(part.y) for part in self.parts)
        # In the order of the rows, which the sums of a model depend on.
        order = np.argsort(np.concatenate([part.groups for part in kept]))
        X, y = (np.concatenate([getattr(part, name) for part in kept])[order] for name in ("X", "y"))
        weight = [part.sample_weight for part in kept]
        given = {} if weight[0] is None else {"sample_weight": np.concatenate(weight)[order]}
        return TrainedModel(clone(estimator).fit(X, y, **given))

    def held_out(self, models):
        return self, [model.local for model in models]

    def counted(self, count, sent, merge, reads=Part._fields):
        unread = dict.fromkeys(set(Part._fields) - set(reads))
        counts = [
            count(part._replace(**unread), pickle.loads(pickle.dumps(sent))) for part in self.parts if len(part.y)
        ]
        return merge([found for found in counts if found is not None])

    def first(self, n_rows):
        return np.concatenate([part.X for part in self.parts])[:n_rows]


RNG = np.random.default_rng(0)
X = RNG.normal(size=(2400, 3)).astype(np.float32).astype(float)
Y = (X @ [1.0, 0.5, 0.0] + RNG.logistic(size=2400) > 0.3).astype(int)
WEIGHT = RNG.integers(1, 4, 2400).astype(float)
GROUP = np.where(RNG.random(2400) < 0.4, "north", "south")
ID = np.arange(2400)


def rows_of(places, n_parts=5, weight=None, band_groups=None, losses=()):
    """The rows at some places in a drawn order, in parts of which one is empty."""
    parts = np.array_split(np.random.default_rng(1).permutation(places), n_parts)
    columns = {"sample_weight": weight, "band_groups": band_groups}
    given = {name: values for name, values in columns.items() if values is not None}
    return ListRows(
        [
            Part(X[part], Y[part], groups=ID[part], **{name: values[part] for name, values in given.items()})
            for part in [*parts, places[:0]]
        ],
        list(losses),
    )


FIT, NEW = np.arange(1600), np.arange(1600, 2400)
METHODS = {"AUCross": (AUCross, True), "SCross": (SCross, True), "PlugInAUC": (PlugInAUC, False)}


def fitted(name, statistic="exact", losses=(), weight=None, band_groups=None, **options):
    method, refits = METHODS[name]
    clf = method(LogisticRegression(), cv=HashedFolds(4), coverage=0.8, **options)
    rows = rows_of(FIT, weight=weight, band_groups=band_groups, losses=losses)
    return fit_on_cluster(clf, LogisticRegression(), rows, refits=refits, statistic=statistic, attempts=3)[0]


def in_memory(name, weight=None, band_groups=None, **options):
    clf = METHODS[name][0](LogisticRegression(), cv=HashedFolds(4), coverage=0.8, **options)
    taken = {"sample_weight": weight, "band_groups": band_groups}
    given = {name: values[FIT] for name, values in taken.items() if values is not None}
    return clf.fit(X[FIT], Y[FIT], groups=ID[FIT], **given)


@pytest.mark.parametrize("grouped", [False, True], ids=["plain", "weights and groups"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("AUCross", {}),
        ("AUCross", {"placement": "centered"}),
        ("SCross", {}),
        ("PlugInAUC", {}),
        ("PlugInAUC", {"nested": True}),
    ],
)
def test_a_fit_says_what_memory_says(name, options, grouped):
    given = {"weight": WEIGHT, "band_groups": GROUP} if grouped else {}
    local = fitted(name, **given, **options)
    memory = in_memory(name, **given, **options)
    groups = {"band_groups": GROUP[NEW]} if grouped else {}
    for coverage in (0.9, 0.6):
        np.testing.assert_array_equal(
            local.select(X[NEW], coverage, **groups), memory.select(X[NEW], coverage, **groups)
        )
    assert local.expected_coverage(0.8, *(["north"] if grouped else [])).value == pytest.approx(
        memory.expected_coverage(0.8, *(["north"] if grouped else [])).value, abs=1e-9
    )


def test_evaluation_promise_and_recalibration_say_what_memory_says():
    local, test = fitted("AUCross"), rows_of(NEW, weight=WEIGHT)
    found = evaluate_on_cluster(local, test, [1.0, 0.7], options={"confidence_level": 0.9})
    expected = evaluate_selective(local, X[NEW], Y[NEW], [1.0, 0.7], sample_weight=WEIGHT[NEW], confidence_level=0.9)
    for name in ("achieved_coverage", "selective_auc", "selective_accuracy", "auc_gain"):
        np.testing.assert_allclose(found.estimates[name], expected.estimates[name], rtol=1e-6, atol=1e-9, err_msg=name)
    promised = promise_on_cluster(local, rows_of(NEW), 0.7, options={})
    assert promised.selective_auc == pytest.approx(
        promise_selective(local, X[NEW], Y[NEW], 0.7).selective_auc, abs=1e-6
    )
    again, memory = recalibrate_on_cluster(local, test), local.recalibrate(X[NEW], sample_weight=WEIGHT[NEW])
    np.testing.assert_array_equal(again.select(X[NEW], 0.6), memory.select(X[NEW], 0.6))
    assert again.band(0.6) != local.band(0.6)


def test_rows_of_the_fit_are_warned_of_and_promise_nothing():
    clf = in_memory("PlugInAUC")
    with pytest.warns(TrainingRowsWarning, match="took part in the fit"):
        evaluate_on_cluster(clf, rows_of(FIT), [0.8], options={})
    with pytest.raises(ValueError, match="took part in the fit"):
        promise_on_cluster(clf, rows_of(FIT), options={})


def test_a_fit_that_loses_workers_begins_again_a_bounded_number_of_times(caplog):
    assert fitted("PlugInAUC", losses=["gone", "gone"]).band() == fitted("PlugInAUC").band()
    assert "a worker was lost in attempt 2 of 3" in caplog.text
    with pytest.raises(LostWorkerError, match=r"fold 1 of 4 lost workers in each of 3 attempts, .* gone;"):
        fitted("PlugInAUC", losses=["gone"] * 3)


class Constant(GaussianNB):
    """Gives every row the share of positives that it was trained on."""

    def predict_proba(self, X):
        return np.tile(self.class_prior_, (len(X), 1))


@pytest.mark.parametrize(
    ("labels", "classes", "sentence"),
    [
        (np.where(ID < 40, 2, Y), None, "y must hold two classes on a cluster, got 3"),
        (Y + 1, (0, 1), "y must hold 0 and 1 only, got .* rows with other or missing labels"),
        (np.where(ID < 40, np.nan, Y), (0, 1), "y must hold 0 and 1 only, got 40 rows"),
        ((HashedFolds(4).fold_of(X, groups=ID) == 0).astype(int), None, "every training part must hold both classes"),
    ],
)
def test_labels_that_nothing_can_be_trained_on_are_refused(labels, classes, sentence):
    rows = rows_of(FIT)
    rows = replace(rows, parts=[part._replace(y=labels[part.groups]) for part in rows.parts])
    clf = AUCross(LogisticRegression(), cv=HashedFolds(4))
    with pytest.raises(ValueError, match=sentence):
        fit_on_cluster(clf, clf.estimator, rows, refits=True, classes=classes)


def test_a_model_that_gives_each_fold_one_score_is_refused():
    clf = AUCross(Constant(), cv=HashedFolds(4))
    with pytest.raises(ValueError, match="must tell rows apart, got one score for all rows of each fold"):
        fit_on_cluster(clf, Constant(), rows_of(FIT), refits=True)


def test_missing_groups_are_refused():
    groups = pd.Series(GROUP, dtype=object).where(ID != 7).to_numpy()
    with pytest.raises(ValueError, match="band_groups must not contain missing values"):
        fitted("PlugInAUC", band_groups=np.where(ID % 5, groups, None))


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_an_evaluation_tells_whether_the_coverage_is_guaranteed(confidence):
    local = in_memory("AUCross", coverage_confidence=confidence)
    found = evaluate_on_cluster(local, rows_of(NEW), [0.8], options={})
    assert found.at_least == evaluate_selective(local, X[NEW], Y[NEW], [0.8]).at_least == (confidence is not None)
