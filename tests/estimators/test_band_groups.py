"""Bands per group: equal coverage for every group, whatever the method."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross, compare_selective, evaluate_selective
from aucross.core import OptimalBands, RankedScores
from aucross.estimators import without_correction
from aucross.estimators.placing import OWN_BAND_ROWS, with_borrowed_rows
from tests.reference import select_each

COVERAGES = (0.95, 0.8, 0.6)
X, y = make_classification(1500, n_features=6, flip_y=0.3, weights=[0.7], random_state=0)
X_new, _ = make_classification(1500, n_features=6, flip_y=0.3, weights=[0.7], random_state=1)
GROUPS = np.where(X[:, 0] > 0.8, "b", "a")
GROUPS_NEW = np.where(X_new[:, 0] > 0.8, "b", "a")

every_method = pytest.mark.parametrize(
    "estimator",
    [
        AUCross(LogisticRegression(), cv=3, random_state=0),
        AUCross(LogisticRegression(), placement="centered", cv=3, random_state=0),
        PlugInAUC(LogisticRegression(), holdout_size=0.4, random_state=0),
        SCross(LogisticRegression(), cv=3, random_state=0),
        PlugIn(LogisticRegression(), holdout_size=0.4, random_state=0),
        AUCGate(LogisticRegression(), LogisticRegression(C=0.01), cv=3, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)


@pytest.mark.parametrize(
    "estimator",
    [without_correction(AUCross(LogisticRegression(), cv=3)), PlugInAUC(LogisticRegression(), holdout_size=0.7)],
)
def test_every_group_has_the_coverage_to_one_row_on_the_rows_that_placed_its_band(estimator):
    clf = estimator.set_params(random_state=0).fit(X, y, band_groups=GROUPS)
    for coverage in COVERAGES:
        for group in "ab":
            scores = clf.held_out_.scores[clf.held_out_.band_groups == group]
            rejected = clf.band(coverage, band_group=group).rejects(scores).sum()
            assert -1e-9 <= (1 - coverage) * len(scores) - rejected < 1


@every_method
def test_select_applies_the_band_of_each_rows_group(estimator):
    clf = estimator.fit(X, y, band_groups=GROUPS)
    for coverage in COVERAGES:
        selected = clf.select(X_new, coverage, band_groups=GROUPS_NEW)
        scores = clf.decide(X_new, coverage, band_groups=GROUPS_NEW).selection_score
        for group in "ab":
            members = group == GROUPS_NEW
            band = clf.band(coverage, band_group=group)
            assert np.array_equal(selected[members], band.selects(scores[members]))
    each = select_each(clf, X_new, COVERAGES, band_groups=GROUPS_NEW)
    assert np.array_equal(each, [clf.select(X_new, coverage, band_groups=GROUPS_NEW) for coverage in COVERAGES])


@every_method
def test_one_group_is_no_groups(estimator):
    plain = select_each(estimator.fit(X, y), X_new, COVERAGES)
    alone = select_each(estimator.fit(X, y, band_groups=["all"] * len(y)), X_new, COVERAGES, ["all"] * len(X_new))
    assert np.array_equal(plain, alone)


@every_method
def test_an_unseen_group_is_named(estimator):
    clf = estimator.fit(X, y, band_groups=GROUPS)
    with pytest.raises(ValueError, match=r"only groups seen in fit \('a', 'b'\)|\('b', 'a'\).*got 'c'; map it"):
        clf.select(X_new[:3], band_groups=["a", "c", "b"])


def test_groups_must_be_given_exactly_when_they_were_fitted():
    clf = AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y, band_groups=GROUPS)
    with pytest.raises(ValueError, match="band_groups must be given: the bands were fitted per group"):
        clf.select(X_new)
    with pytest.raises(ValueError, match="band_group must be given"):
        clf.band(0.8)
    plain = AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="band_groups must not be given: the bands were fitted without groups"):
        plain.select(X_new, band_groups=GROUPS_NEW)


def test_groups_of_another_length_or_missing_are_refused():
    clf = AUCross(LogisticRegression(), cv=3, random_state=0)
    with pytest.raises(ValueError, match=r"band_groups must hold one group per row, got shape \(10,\) for 1500 rows"):
        clf.fit(X, y, band_groups=GROUPS[:10])
    for missing in (None, np.nan):
        groups = GROUPS.astype(object)
        groups[3] = missing
        with pytest.raises(ValueError, match="must not contain missing values, got 1 of 1500, the first in row 3"):
            clf.fit(X, y, band_groups=groups)


def test_a_group_of_one_class_is_named():
    groups = np.where(y == 1, "bad", "good")
    with pytest.raises(
        ValueError, match=r"no band can be placed for the group '(good|bad)'.*merge it with another group"
    ):
        AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y, band_groups=groups)


@every_method
def test_groups_survive_pickling_and_answer_the_dual_question(estimator):
    clf = estimator.fit(X, y, band_groups=GROUPS)
    copy = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(copy.select(X_new, 0.7, GROUPS_NEW), clf.select(X_new, 0.7, GROUPS_NEW))
    found = clf.coverage_for(auc=0.6)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_predict_selective_takes_groups():
    clf = AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y, band_groups=GROUPS)
    marked = clf.predict_selective(X_new, 0.7, band_groups=GROUPS_NEW)
    assert np.array_equal(marked == -1, ~clf.select(X_new, 0.7, GROUPS_NEW))


def test_groups_may_be_a_series_or_integers():
    pd = pytest.importorskip("pandas")
    codes = (GROUPS == "b").astype(int)
    clf = AUCross(LogisticRegression(), cv=3, random_state=0)
    by_text = clf.fit(X, y, band_groups=pd.Series(GROUPS, dtype="category")).select(X_new, 0.7, pd.Series(GROUPS_NEW))
    by_code = clf.fit(X, y, band_groups=codes).select(X_new, 0.7, (GROUPS_NEW == "b").astype(int))
    assert np.array_equal(by_text, by_code)


def test_a_group_without_held_out_rows_is_refused_in_fit():
    groups = np.where(np.arange(len(y)) < 3, "rare", "common")
    split = [(np.arange(700), np.arange(700, len(y)))]
    with pytest.raises(ValueError, match=r"must have held-out rows to place its band on, got none for \['rare'\]"):
        PlugInAUC(LogisticRegression(), cv=split).fit(X, y, band_groups=groups)


def test_bands_per_group_can_be_evaluated_and_compared_with_common_ones():
    clf = AUCross(LogisticRegression(), cv=3, random_state=0)
    shared, own = clone(clf).fit(X, y), clone(clf).fit(X, y, band_groups=GROUPS)
    table = evaluate_selective(own, X_new, y, [0.8], band_groups=GROUPS_NEW, n_bootstrap=10, random_state=0)
    assert table.estimates["achieved_coverage"] == [own.select(X_new, 0.8, GROUPS_NEW).mean()]
    rows = compare_selective([shared, own], X_new, y, [0.8], band_groups=GROUPS_NEW, n_bootstrap=10).rows()
    assert {row["metric"] for row in rows} >= {"selective_auc", "achieved_coverage"}


# ---- small groups ----


def test_a_group_below_the_stated_size_is_refused():
    groups = np.where(np.arange(1500) < 19, "small", "large")
    with pytest.raises(ValueError, match=r"group 'small' .* needs at least 20 held-out rows, got 19; merge it"):
        AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y, band_groups=groups)


def test_a_small_group_borrows_from_the_others_and_a_large_one_does_not():
    order, weight = with_borrowed_rows(np.arange(50), 1000, None)
    assert np.array_equal(order, np.arange(1000))
    assert weight[:50].sum() == 50
    assert weight[50:].sum() == pytest.approx(OWN_BAND_ROWS - 50)
    large, same = with_borrowed_rows(np.arange(OWN_BAND_ROWS), 1000, None)
    assert len(large) == OWN_BAND_ROWS
    assert same is None
    _, unit = with_borrowed_rows(np.arange(50), 1000, np.full(1000, 3.0))
    assert unit == pytest.approx(3 * weight)


def test_borrowing_brings_the_coverage_of_small_groups_nearer_to_the_target():
    rng = np.random.default_rng(0)
    errors = {"own": [], "borrowed": []}
    for _ in range(60):
        scores, labels = rng.random(1030), rng.random(1030) < 0.3
        order, weight = with_borrowed_rows(np.arange(30), 1030, None)
        rankings = {
            "own": RankedScores.from_labels(labels[:30], scores[:30]),
            "borrowed": RankedScores.from_labels(labels[order], scores[order], weight),
        }
        for name, ranked in rankings.items():
            band = OptimalBands(ranked.isotonic()).band(0.8)
            errors[name].append(0.2 - (band.upper - band.lower))
    assert np.std(errors["borrowed"]) < 0.6 * np.std(errors["own"])
