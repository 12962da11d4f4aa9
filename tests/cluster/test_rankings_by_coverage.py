"""Rankings of partitions, for all rows and for those that each coverage selects."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, HashedFolds
from aucross.cluster.classifier import merge_rankings, rank_part
from aucross.cluster.engine import Part
from aucross.core import RankedScores, ScoreRounding
from aucross.estimators.fitted import light_copy

X, y = make_classification(900, flip_y=0.3, random_state=0)
WEIGHT = np.random.default_rng(0).integers(0, 4, 900).astype(float)
COVERAGES = (0.9, 0.6)


@pytest.fixture(scope="module")
def deciding():
    clf = AUCross(LogisticRegression(), cv=HashedFolds(3)).fit(X, y)
    return {coverage: light_copy(clf, coverage) for coverage in COVERAGES}


def ranked(deciding, rows, labels, weight=None, bits=32):
    part = Part(X[rows], labels[rows], None if weight is None else weight[rows])
    return rank_part(part, (deciding, ScoreRounding(bits)))


def same(first, second):
    return all(getattr(first, name).tobytes() == getattr(second, name).tobytes() for name in ("scores", "class_powers"))


@pytest.mark.parametrize("bits", [32, 20])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_parts_in_any_cut_are_those_of_all_rows(deciding, weight, bits):
    parts = np.array_split(np.random.default_rng(1).permutation(900), 64)
    merged = merge_rankings([ranked(deciding, part, y, weight, bits) for part in parts])
    at_once = ranked(deciding, np.arange(900), y, weight, bits)
    assert same(merged.everything, at_once.everything)
    for coverage in COVERAGES:
        assert same(merged.selected[coverage], at_once.selected[coverage])


def test_a_ranking_holds_the_rows_that_the_classifier_selects(deciding):
    found = ranked(deciding, np.arange(900), y)
    for coverage, clf in deciding.items():
        scored = clf.scored(X)
        chosen = clf.select(scored)
        expected = RankedScores.from_labels(y[chosen] == 1, ScoreRounding().round(scored.score[chosen]))
        assert same(found.selected[coverage], expected)
        assert 0 < found.selected[coverage].total < found.everything.total == 900


def test_rows_with_other_labels_are_counted_apart(deciding):
    labels = np.where(np.arange(900) < 5, 7, y)
    found = ranked(deciding, np.arange(900), labels)
    assert (found.n_unknown, found.everything.total) == (5, 895)


def test_a_partition_whose_weights_are_all_zero_adds_nothing(deciding):
    some, others = np.arange(400), np.arange(400, 900)
    weight = np.where(np.arange(900) < 400, WEIGHT, 0.0)
    merged = merge_rankings([ranked(deciding, part, y, weight) for part in (some, others)])
    assert same(merged.everything, ranked(deciding, some, y, weight).everything)


def test_weights_that_cannot_be_added_up_are_refused(deciding):
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative and of a size between"):
        ranked(deciding, np.arange(900), y, np.full(900, 1e40))
