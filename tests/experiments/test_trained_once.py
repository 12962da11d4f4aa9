import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from aucross import AUCross
from experiments.trained_once import FittedModels, TrainedOnce, parameters_of


class CountedTree(DecisionTreeClassifier):
    fits = 0

    def fit(self, *arguments, **options):
        CountedTree.fits += 1
        return super().fit(*arguments, **options)


@pytest.fixture
def rows():
    return make_classification(400, flip_y=0.2, random_state=0)


@pytest.fixture(autouse=True)
def _count_from_zero():
    CountedTree.fits = 0


def test_equal_rows_are_trained_once_even_through_clones(rows):
    model = TrainedOnce(CountedTree(max_depth=3), FittedModels())
    first, second = clone(model).fit(*rows), clone(model).fit(*rows)
    assert CountedTree.fits == 1
    np.testing.assert_array_equal(first.predict_proba(rows[0]), second.predict_proba(rows[0]))


def test_other_rows_labels_and_parameters_are_trained_anew(rows):
    (X, y), models = rows, FittedModels()
    TrainedOnce(CountedTree(max_depth=3), models).fit(X, y)
    TrainedOnce(CountedTree(max_depth=3), models).fit(X[1:], y[1:])
    TrainedOnce(CountedTree(max_depth=3), models).fit(X, 1 - y)
    TrainedOnce(CountedTree(max_depth=4), models).fit(X, y)
    assert CountedTree.fits == 4


def test_parameters_at_the_end_of_a_long_list_tell_estimators_apart():
    one, other = XGBClassifier(random_state=42, subsample=0.5), XGBClassifier(random_state=1, subsample=0.9)
    assert parameters_of(one) != parameters_of(other)


def test_sharing_changes_no_result(rows):
    X, y = rows
    plain = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    base = TrainedOnce(LogisticRegression(), FittedModels())
    AUCross(base, placement="centered", random_state=0).fit(X, y)
    shared = AUCross(base, random_state=0).fit(X, y)
    assert shared.band(0.8) == plain.band(0.8)
    np.testing.assert_array_equal(shared.select(X), plain.select(X))


def test_labels_are_those_of_the_base_classifier(rows):
    X, y = rows
    model = TrainedOnce(LogisticRegression(), FittedModels()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), LogisticRegression().fit(X, y).predict(X))
