from __future__ import annotations

import json
import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.core import RankedScores
from aucross.estimators import without_correction
from aucross.estimators.reasons import (
    class_reasons,
    confidence_reasons,
    gate_reasons,
    label_text,
    percent,
    score_reasons,
)
from aucross.estimators.review import ReviewQueue, check_ids, order_of, queue_of
from tests.reference import select_each

X, Y = make_classification(1400, n_features=6, n_informative=4, weights=[0.7], flip_y=0.1, random_state=3)
TRAINING, NEW = slice(0, 800), slice(800, None)
X_NEW, Y_NEW = X[NEW], Y[NEW]
N_NEW = len(X_NEW)
IDS = np.random.default_rng(0).permutation(N_NEW) + 1000

STRONG_GATE = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
ESTIMATORS = {
    "AUCross": AUCross(LogisticRegression(), random_state=0),
    "AUCross, nested": AUCross(LogisticRegression(), nested=True, random_state=0),
    "AUCross, centred": AUCross(LogisticRegression(), placement="centered", random_state=0),
    "AUCross, another target": AUCross(LogisticRegression(), target="ks", random_state=0),
    "AUCross, tied scores": AUCross(DecisionTreeClassifier(max_depth=3, random_state=0), random_state=0),
    "AUCross, promised coverage": AUCross(LogisticRegression(), coverage_confidence=0.9, random_state=0),
    "PlugInAUC": PlugInAUC(LogisticRegression(), holdout_size=0.3, random_state=0),
    "PlugInAUC, nested": PlugInAUC(LogisticRegression(), nested=True, holdout_size=0.3, random_state=0),
    "SCross": SCross(LogisticRegression(), random_state=0),
    "PlugIn, LinearSVC": PlugIn(LinearSVC(random_state=0), random_state=0),
    "AUCGate": AUCGate(LogisticRegression(), STRONG_GATE, random_state=0),
    "AUCGate, nested": AUCGate(LogisticRegression(), STRONG_GATE, nested=True, random_state=0),
}
NESTED = [
    name for name in ESTIMATORS if "nested" in name or name in ("AUCross, centred", "SCross", "PlugIn, LinearSVC")
]


@pytest.fixture(scope="module")
def fitted():
    """Fit on first use, once for the module."""
    known = {}

    def get(name: str):
        if name not in known:
            known[name] = clone(ESTIMATORS[name]).fit(X[TRAINING], Y[TRAINING])
        return known[name]

    return get


def rejected(clf, capacity: int, X=X_NEW, **others) -> set[int]:
    return set(np.flatnonzero(~clf.select(X, capacity=capacity, **others)).tolist())


# ---- how many rows ----


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("capacity", [1, 7, 300, N_NEW - 1])
@pytest.mark.few_scores
def test_exactly_the_capacity_is_rejected(fitted, name, capacity):
    assert len(rejected(fitted(name), capacity)) == capacity


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.few_scores
def test_no_capacity_rejects_nothing_and_too_much_rejects_every_row(fitted, name):
    clf = fitted(name)
    assert clf.select(X_NEW, capacity=0).all()
    assert len(clf.review_queue(X_NEW, 0)) == 0
    assert not clf.select(X_NEW, capacity=N_NEW + 1).any()
    assert len(clf.review_queue(X_NEW, 10**6)) == N_NEW


@pytest.mark.parametrize("name", ["AUCross", "SCross", "AUCGate"])
def test_a_single_row_can_be_reviewed(fitted, name):
    assert len(fitted(name).review_queue(X_NEW[:1], 1)) == 1
    assert fitted(name).select(X_NEW[:1], capacity=0).tolist() == [True]


@pytest.mark.parametrize("ask", ["select", "review_queue"])
def test_bad_capacities_are_refused_with_a_remedy(fitted, ask):
    def call(capacity):
        return getattr(fitted("AUCross"), ask)(X_NEW, capacity=capacity)

    with pytest.raises(ValueError, match="capacity must not be negative, got -1; pass 0"):
        call(-1)
    with pytest.raises(TypeError, match=r"whole number of rows, got 0.1; .* pass coverage=0.9 instead"):
        call(0.1)
    with pytest.raises(TypeError, match="whole number of rows, got True"):
        call(True)


def test_coverage_and_capacity_exclude_each_other(fitted):
    with pytest.raises(ValueError, match=r"coverage and capacity must not both be given, got 0\.9 and 3"):
        fitted("AUCross").select(X_NEW, 0.9, capacity=3)


def test_ids_stand_in_the_table_of_decisions_also_without_a_capacity(fitted):
    clf = fitted("AUCross")
    decisions = clf.decide(X_NEW, ids=IDS)
    assert decisions.id.tolist() == list(IDS)
    assert np.array_equal(decisions.selected, clf.select(X_NEW))
    with pytest.raises(ValueError, match="ids must hold one id per row"):
        clf.decide(X_NEW, ids=IDS[:3])


# ---- which rows ----


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.few_scores
def test_the_queue_holds_the_rows_that_select_rejects(fitted, name):
    queue = fitted(name).review_queue(X_NEW, 50, ids=IDS)
    assert set(queue.row.tolist()) == rejected(fitted(name), 50, ids=IDS)
    assert np.array_equal(queue.id, IDS[queue.row])


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.few_scores
def test_with_ids_the_queue_does_not_depend_on_where_rows_stand(fitted, name):
    shuffled = np.random.default_rng(1).permutation(N_NEW)
    queue = fitted(name).review_queue(X_NEW, 40, ids=IDS)
    again = fitted(name).review_queue(X_NEW[shuffled], 40, ids=IDS[shuffled])
    assert again.id.tolist() == queue.id.tolist()
    assert again.reason == queue.reason


@pytest.mark.few_scores
def test_of_rows_with_one_score_the_lowest_ids_are_rejected(fitted):
    clf = fitted("AUCross, tied scores")
    scores = clf.predict_proba(X_NEW)[:, 1]
    rejected = ~clf.select(X_NEW, capacity=60, ids=IDS)
    cut = [value for value in np.unique(scores) if 0 < rejected[scores == value].mean() < 1]
    assert cut
    for value in cut:
        of_tie = scores == value
        assert IDS[of_tie & rejected].max() < IDS[of_tie & ~rejected].min()


def test_rows_that_are_the_same_are_interchangeable_without_ids(fitted):
    same = np.tile(X_NEW[:1], (6, 1))
    assert rejected(fitted("AUCross"), 2, same) == {0, 1}
    assert rejected(fitted("AUCross"), 2, same, ids=list("fedcba")) == {4, 5}


@pytest.mark.parametrize("name", ["AUCross", "PlugInAUC", "AUCross, nested"])
def test_rejecting_by_capacity_raises_the_auc_of_the_rest(fitted, name):
    clf = fitted(name)
    score, selected = clf.predict_proba(X_NEW)[:, 1], clf.select(X_NEW, capacity=150)
    everyone = RankedScores.from_labels(Y_NEW, score).auc()
    assert RankedScores.from_labels(Y_NEW[selected], score[selected]).auc() > everyone + 0.01


@pytest.mark.parametrize("name", ["AUCross", "AUCross, nested", "AUCross, centred", "PlugInAUC"])
def test_rows_rejected_for_the_auc_are_neighbours_by_score(fitted, name):
    score, selected = fitted(name).predict_proba(X_NEW)[:, 1], fitted(name).select(X_NEW, capacity=80)
    lower, upper = score[~selected].min(), score[~selected].max()
    assert ((score < lower) | (score > upper))[selected].all()


def test_the_least_confident_rows_are_rejected_for_accuracy(fitted):
    confidence = fitted("SCross").decide(X_NEW).selection_score
    rejected = ~fitted("SCross").select(X_NEW, capacity=80)
    assert confidence[rejected].max() <= confidence[~rejected].min()


@pytest.mark.few_scores
def test_a_gate_that_adds_nothing_rejects_what_the_score_alone_would():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    gate = AUCGate(tree, DecisionTreeClassifier(max_depth=1), random_state=0).fit(X[TRAINING], Y[TRAINING])
    assert gate.probability_model_.columns == (0,)
    alone = AUCross(tree, random_state=0).fit(X[TRAINING], Y[TRAINING])
    assert rejected(gate, 60, ids=IDS) == rejected(alone, 60, ids=IDS)


# ---- nested ----


@pytest.mark.parametrize("name", NESTED)
def test_a_larger_capacity_only_adds_rows(fitted, name):
    rows = [rejected(fitted(name), capacity, ids=IDS) for capacity in (0, 1, 2, 5, 20, 21, 90, 300, 599, 600)]
    assert all(smaller < larger for smaller, larger in pairwise(rows))


@pytest.mark.parametrize("name", NESTED)
def test_a_lower_coverage_only_adds_rows(fitted, name):
    selected = select_each(fitted(name), X_NEW, np.linspace(1, 0.05, 96))
    assert not any((lower & ~higher).any() for higher, lower in pairwise(selected))


def test_rows_of_a_smaller_queue_stand_in_the_same_order_in_a_larger_one(fitted):
    small, large = (fitted("AUCross, nested").review_queue(X_NEW, capacity).row.tolist() for capacity in (30, 120))
    assert [row for row in large if row in small] == small


@pytest.mark.parametrize(("nested", "optimal"), [("AUCross, nested", "AUCross"), ("AUCGate, nested", "AUCGate")])
def test_at_the_coverage_of_the_constructor_nesting_changes_nothing(nested, optimal):
    # Without the correction of the coverage, which asks the rules for another one.
    first, second = (
        without_correction(clone(ESTIMATORS[name])).fit(X[TRAINING], Y[TRAINING]) for name in (nested, optimal)
    )
    assert np.array_equal(first.select(X_NEW), second.select(X_NEW))


def test_nested_is_for_the_auc():
    with pytest.raises(ValueError, match=r'nested must be False unless target is "auc" or "auc_mu", got target=.ks.'):
        AUCross(LogisticRegression(), nested=True, target="ks").fit(X, Y)


# ---- groups ----


@pytest.fixture(scope="module")
def by_group():
    groups = np.where(np.arange(len(X)) % 3 == 0, "north", "south")
    clf = AUCross(LogisticRegression(), nested=True, random_state=0)
    return clf.fit(X[TRAINING], Y[TRAINING], band_groups=groups[TRAINING]), groups[NEW]


@pytest.mark.parametrize("capacity", [0, 1, 60, 600, 601])
def test_groups_share_a_capacity_by_their_size(by_group, capacity):
    clf, groups = by_group
    rejected = ~clf.select(X_NEW, capacity=capacity, band_groups=groups)
    assert rejected.sum() == min(capacity, N_NEW)
    assert rejected[groups == "north"].sum() == pytest.approx(rejected.sum() / 3, abs=1)


def test_nested_groups_only_add_rows(by_group):
    clf, groups = by_group
    rows = [rejected(clf, capacity, band_groups=groups) for capacity in range(0, 100, 7)]
    assert all(smaller < larger for smaller, larger in pairwise(rows))


def test_each_group_is_told_its_own_range(by_group):
    clf, groups = by_group
    queue = clf.review_queue(X_NEW, 90, band_groups=groups)
    ranges = {reason.partition("range ")[2].partition(";")[0] for reason in queue.reason}
    assert len(ranges) == 2


def test_with_ids_groups_of_one_size_do_not_depend_on_which_comes_first():
    groups = np.where(np.arange(len(X)) % 2 == 0, "north", "south")
    clf = AUCross(LogisticRegression(), random_state=0).fit(X[TRAINING], Y[TRAINING], band_groups=groups[TRAINING])
    queue = clf.review_queue(X_NEW, 31, ids=IDS, band_groups=groups[NEW])
    again = clf.review_queue(X_NEW[::-1], 31, ids=IDS[::-1], band_groups=groups[NEW][::-1])
    assert again.id.tolist() == queue.id.tolist()


def test_capacity_for_bands_per_group_needs_the_groups(by_group):
    with pytest.raises(ValueError, match="band_groups must be given"):
        by_group[0].review_queue(X_NEW, 10)


# ---- more than two classes ----


@pytest.fixture(scope="module", params=[False, True], ids=["re-placed", "nested"])
def three_classes(request):
    X, y = make_classification(
        1200, n_features=6, n_informative=4, n_classes=3, weights=[0.6, 0.25], flip_y=0.1, random_state=0
    )
    labels = np.array(["A", "B", "C"])[y]
    clf = AUCross(LogisticRegression(), nested=request.param, random_state=0).fit(X[:800], labels[:800])
    return clf, X[800:]


def test_with_more_classes_the_queue_names_the_two_most_probable(three_classes):
    clf, X_new = three_classes
    queue = clf.review_queue(X_new, 40)
    assert len(queue) == 40
    assert all(reason.startswith("between '") and " and '" in reason for reason in queue.reason)


def test_with_more_classes_exactly_the_capacity_is_rejected(three_classes):
    clf, X_new = three_classes
    assert [len(rejected(clf, capacity, X_new)) for capacity in (0, 1, 33, 400, 999)] == [0, 1, 33, 400, 400]


def test_nested_with_more_classes_only_adds_rows(three_classes):
    clf, X_new = three_classes
    rows = [rejected(clf, capacity, X_new) for capacity in (1, 5, 40, 200, 399)]
    assert not clf.nested or all(smaller < larger for smaller, larger in pairwise(rows))


# ---- the queue ----


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.few_scores
def test_the_queue_is_ordered_by_worth(fitted, name):
    worth = fitted(name).review_queue(X_NEW, 100).worth
    assert (np.diff(worth) <= 0).all()
    assert np.isfinite(worth).all()


@pytest.mark.parametrize("name", ["AUCross", "AUCross, nested", "AUCGate"])
def test_the_worth_of_a_row_does_not_depend_on_the_capacity(fitted, name):
    small, large = (fitted(name).review_queue(X_NEW, capacity) for capacity in (20, 200))
    in_small, in_large = (dict(zip(queue.row.tolist(), queue.worth.tolist(), strict=True)) for queue in (small, large))
    shared = in_small.keys() & in_large.keys()
    assert len(shared) > 10
    assert {row: in_small[row] for row in shared} == {row: in_large[row] for row in shared}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.few_scores
def test_every_row_has_a_reason_for_a_person(fitted, name):
    queue = fitted(name).review_queue(X_NEW, 25)
    assert len(queue.reason) == 25
    assert all(20 < len(reason) < 300 and "nan" not in reason for reason in queue.reason)


def test_the_reason_of_a_score_band_says_where_the_score_lies(fitted):
    queue = fitted("AUCross").review_queue(X_NEW, 100)
    ends = f"{queue.score.min():.3f} to {queue.score.max():.3f}"
    assert all(f"lies in the review range {ends}" in reason for reason in queue.reason)
    assert f"score {queue.score[0]:.3f} lies" in queue.reason[0]
    assert f"about {percent(queue.probability[0])} of cases" in queue.reason[0]


def test_the_reason_of_a_gate_says_what_it_saw(fitted):
    clf = fitted("AUCGate")
    assert clf.probability_model_.columns == (0, 1)
    queue = clf.review_queue(X_NEW, 60)
    assert all(reason.startswith("the score says ") and " gate" in reason for reason in queue.reason)
    apart = np.abs(queue.gate_probability - queue.probability) > 0.06
    assert apart.any()
    assert all(", score and gate together say " in queue.reason[place] for place in np.flatnonzero(apart))


def test_a_notebook_shows_the_gate_probability_where_there_is_one(fitted):
    assert "gate_probability" in fitted("AUCGate").review_queue(X_NEW, 5)._repr_html_()
    assert "gate_probability" not in fitted("AUCross").review_queue(X_NEW, 5)._repr_html_()


def test_only_a_gate_has_a_gate_probability(fitted):
    assert fitted("AUCross").review_queue(X_NEW, 5).gate_probability is None
    assert "gate_probability" not in fitted("SCross").review_queue(X_NEW, 5).rows()[0]


def small_queue(ids=None) -> ReviewQueue:
    part = ReviewQueue(
        row=np.array([1, 4, 6]),
        score=np.array([0.3, 0.4, 0.5]),
        worth=np.array([0.1, 0.2, 0.1]),
        probability=np.array([0.31, 0.41, 0.51]),
        reason=("low", "middle", "high"),
    )
    return queue_of([part], ids)


def test_rows_of_equal_worth_go_by_position_or_by_id():
    assert small_queue().row.tolist() == [4, 1, 6]
    assert small_queue(np.array(list("gfedcba"))).row.tolist() == [4, 6, 1]


def test_a_queue_is_a_list_of_plain_dictionaries():
    queue = small_queue(np.array(list("gfedcba"), dtype=object))
    told = {"rank": 1, "row": 4, "id": "c", "score": 0.4, "worth": 0.2, "probability": 0.41, "reason": "middle"}
    assert queue.rows()[0] == told
    assert list(queue) == queue.rows()
    assert len(queue) == 3
    assert json.loads(json.dumps(queue.rows())) == queue.rows()


def test_a_queue_becomes_a_frame():
    frame = small_queue(np.arange(7) * 10).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["rank", "row", "id", "score", "worth", "probability", "reason"]
    assert frame["id"].tolist() == [40, 10, 60]


def test_a_frame_without_pandas_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install "aucross\[frames\]"; rows\(\) works without'):
        small_queue().to_frame()


def test_the_text_of_a_queue_shows_the_first_cases():
    assert repr(small_queue()).splitlines() == [
        "ReviewQueue of 3 rows",
        "rank  row  reason",
        "   1    4  middle",
        "   2    1  low",
        "   3    6  high",
    ]


def test_the_text_of_a_long_queue_says_how_many_follow(fitted):
    lines = repr(fitted("AUCross").review_queue(X_NEW, 300, ids=IDS)).splitlines()
    assert lines[0] == "ReviewQueue of 300 rows"
    assert lines[1].split() == ["rank", "id", "reason"]
    assert lines[-1] == "... and 290 more"
    assert repr(fitted("AUCross").review_queue(X_NEW, 0)) == "ReviewQueue of 0 rows"


def test_a_queue_pickles(fitted):
    queue = fitted("AUCross").review_queue(X_NEW, 9)
    assert pickle.loads(pickle.dumps(queue)).rows() == queue.rows()


# ---- ids ----


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 2],
        ["c", "a", "b"],
        [2.5, 1, 2],
        np.array(["c", "a", "b"]),
        pd.Series(["c", "a", "b"], index=[7, 8, 9]),
        pd.Index([30, 10, 20]),
        pd.Series([3, 1, 2], dtype="Int64"),
        pd.Series(pd.to_datetime(["2026-03-01", "2026-01-01", "2026-02-01"])),
        pl.Series(["c", "a", "b"]),
        [2**70, 1, 2**69],
    ],
    ids=lambda ids: f"{type(ids).__name__} of {type(ids[0] if isinstance(ids, list) else ids).__name__}",
)
def test_ids_of_any_sortable_type_give_an_order(ids):
    assert order_of(check_ids(ids, 3)).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2], r"ids must hold one id per row, got shape \(2,\) for 3 rows"),
        ([[1], [2], [3]], r"got shape \(3, 1\) for 3 rows"),
        (["a", "b", "a"], "a different id for each row, got 'a' in rows 0 and 2; drop repeated rows"),
        ([4, 7, 7], "got 7 in rows 1 and 2"),
        (["a", None, "b"], "must not contain missing values, got 1 of 3, the first in row 1; give these rows an id"),
        ([1.0, float("nan"), 2.0], "must not contain missing values"),
        (pd.Series(["a", None, "b"]), "must not contain missing values"),
        (pd.Series([1, None, 2], dtype="Int64"), "must not contain missing values"),
        (pd.Series(pd.to_datetime(["2026-03-01", None, "2026-02-01"])), "must not contain missing values"),
        (pl.Series(["a", None, "b"]), "must not contain missing values"),
    ],
)
def test_bad_ids_are_refused_with_a_remedy(ids, message):
    with pytest.raises(ValueError, match=message):
        check_ids(ids, 3)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, "a", 2], "ids of one type, got number and str, which have no common order; pass them all as text"),
        ([{1}, {"a": 2}, 3], "ids of one type, got dict and number and set"),
        ([{"a": 1}, {"a": 2}, {"a": 3}], "ids that can be sorted, got dict; pass numbers or text"),
    ],
)
def test_ids_without_an_order_are_refused(ids, message):
    with pytest.raises(TypeError, match=message):
        check_ids(ids, 3)


def test_no_rows_have_no_ids():
    assert order_of(check_ids([], 0)).tolist() == []


def test_estimators_refuse_bad_ids(fitted):
    with pytest.raises(ValueError, match="ids must hold one id per row"):
        fitted("AUCross").select(X_NEW, capacity=3, ids=[1, 2])
    with pytest.raises(ValueError, match="a different id for each row"):
        fitted("SCross").review_queue(X_NEW, 3, ids=np.zeros(N_NEW, dtype=int))


# ---- reasons ----


def test_a_score_reason_names_range_and_share():
    reasons = score_reasons(np.array([0.287, 0.312, 0.355]), np.array([0.25, 0.31, 0.4]), "default")
    assert reasons[1] == (
        "score 0.312 lies in the review range 0.287 to 0.355; about 31 % of cases with such a score belong to 'default'"
    )


def test_scores_of_a_narrow_range_get_more_digits():
    reasons = score_reasons(np.array([0.312345, 0.312349]), np.array([0.3, 0.3]), 1)
    assert reasons[0].startswith("score 0.3123450 lies in the review range 0.3123450 to 0.3123490; about 30 %")


def test_scores_of_a_wide_range_get_fewer_digits():
    reasons = score_reasons(np.array([-120.0, 45.21]), np.array([0.3, 0.3]), 1)
    assert reasons[1].startswith("score 45 lies in the review range -120 to 45;")


def test_a_single_score_has_no_range():
    assert (
        score_reasons(np.array([0.4, 0.4]), np.array([0.3, 0.3]), np.int64(1))
        == ["score 0.400 is shared by all cases for review; about 30 % of cases with such a score belong to class 1"]
        * 2
    )
    assert score_reasons(np.array([]), np.array([]), 1) == []


def test_a_gate_reason_names_both_views_or_their_agreement():
    reasons = gate_reasons(np.array([0.12, 0.30]), np.array([0.58, 0.31]), "default")
    assert reasons == [
        "the score says 12 % for 'default', score and gate together say 58 %",
        "the score says 30 % for 'default', and so does the gate; cases with such a score are often ranked wrongly",
    ]


def test_a_confidence_reason_says_how_sure_the_model_is():
    assert confidence_reasons(np.array([0.54, 0.93]), ["default", "paid"], is_probability=True) == [
        "the model is only 54 % sure of 'default'",
        "the model is 93 % sure of 'paid'",
    ]
    assert confidence_reasons(np.array([0.1234]), [1], is_probability=False) == [
        "the model decides for class 1 by a margin of 0.123"
    ]


def test_a_class_reason_names_the_two_most_probable():
    probabilities = np.array([[0.2, 0.41, 0.39], [0.9, 0.1, 0.0]])
    assert class_reasons(probabilities, ["A", "B", "C"]) == [
        "between 'B' (41 %) and 'C' (39 %)",
        "between 'A' (90 %) and 'B' (10 %)",
    ]
    assert class_reasons(np.zeros((0, 3)), ["A", "B", "C"]) == []


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "under 0.1 %"),
        (0.0004, "under 0.1 %"),
        (0.0042, "0.4 %"),
        (0.031, "3 %"),
        (0.5, "50 %"),
        (0.994, "99 %"),
        (0.9951, "over 99 %"),
        (1.0, "over 99 %"),
    ],
)
def test_shares_are_written_as_a_person_says_them(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("label", "text"), [("default", "'default'"), (np.str_("a"), "'a'"), (1, "class 1"), (np.True_, "class True")]
)
def test_labels_stand_in_sentences(label, text):
    assert label_text(label) == text


def test_a_share_that_is_given_as_a_limit_is_not_about_it():
    low, high = score_reasons(np.array([0.1, 0.2]), np.array([0.0001, 0.999]), 1)
    assert "; under 0.1 % of cases" in low
    assert "; over 99 % of cases" in high
