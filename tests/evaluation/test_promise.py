"""Promised bounds: exact where they can be, below the estimates, in one sentence, and kept as often as they say."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise
from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, norm
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aucross import AUCross, PlugInAUC, SCross
from aucross.core.bounds import auc_under_exponential_weights, bootstrap_auc_bounds
from aucross.evaluation import achieved_coverage, auc_interval, selective_auc
from aucross.evaluation.promise import SelectivePromise, check_confidence, promise_selection, promise_selective
from tests import strategies
from tests.strategies import property_test

METHODS = ("delong", "bootstrap")


def make_rows(n=400, prevalence=0.3, shift=1.5, seed=0):
    """Labels, scores and the mask of a band that was fixed beforehand."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    score = rng.normal(size=n) + shift * y
    return y, score, np.abs(score - shift / 2) > 0.3


def bounds_of(promise):
    return promise.coverage_at_least, promise.auc_at_least, promise.coverage_alone, promise.auc_alone


def obvious_auc_bound(y, score, weight, failure):
    """The bound by DeLong, row by row."""
    sizes = [weight[own].sum() ** 2 / (weight[own] ** 2).sum() for own in (y, ~y)]
    joins_positives = sizes[0] <= sizes[1]
    own = y if joins_positives else ~y
    y = np.append(y, joins_positives)
    score = np.append(score, score.min() - 1 if joins_positives else score.max() + 1)
    weight = np.append(weight, (weight[own] ** 3).sum() / (weight[own] ** 2).sum())
    right = [np.average((s > score[~y]) + (s == score[~y]) / 2, weights=weight[~y]) for s in score[y]]
    right_of_negatives = [np.average((score[y] > s) + (score[y] == s) / 2, weights=weight[y]) for s in score[~y]]
    auc = np.average(right, weights=weight[y])
    variance = 0.0
    for shares, of_class in ((right, weight[y]), (right_of_negatives, weight[~y])):
        share_of_weight = of_class / of_class.sum()
        size = 1 / (share_of_weight**2).sum()
        variance += (share_of_weight**2 * (np.array(shares) - auc) ** 2).sum() * size / (size - 1)
    size = auc * (1 - auc) / variance + 1
    return beta.ppf(failure, size * auc, size * (1 - auc))


# ---- exact where it can be ----


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("n_selected", "n"), [(90, 100), (3, 7), (100, 100), (0, 20)])
def test_the_bound_of_the_coverage_is_that_of_clopper_and_pearson(n_selected, n, confidence):
    promise = promise_selection(np.arange(n) % 2 == 0, np.zeros(n), np.arange(n) < n_selected, confidence=confidence)
    test = binomtest(n_selected, n, alternative="greater")
    for level, bound in ((confidence, promise.coverage_alone), (sqrt(confidence), promise.coverage_at_least)):
        assert bound == pytest.approx(test.proportion_ci(level, "exact").low, abs=1e-12)


@pytest.mark.parametrize(("n_right", "n_positive"), [(12, 12), (9, 12), (1, 12), (0, 12)])
def test_so_is_that_of_the_auc_where_each_positive_is_above_or_below_all_negatives(n_right, n_positive):
    score = np.r_[np.where(np.arange(n_positive) < n_right, 9.0, -9.0), np.linspace(0, 1, 40)]
    promise = promise_selection(np.arange(len(score)) < n_positive, score, np.ones(len(score), dtype=bool))
    exact = binomtest(n_right, n_positive, alternative="greater").proportion_ci(0.95, "exact").low
    assert promise.auc_alone == pytest.approx(exact, abs=1e-9)


def test_separated_classes_have_the_bound_of_the_interval():
    y, score = np.arange(30) >= 20, np.arange(30.0)
    promise = promise_selection(y, score, np.ones(30, dtype=bool))
    assert promise.selective_auc == 1
    assert promise.auc_alone == pytest.approx(0.05 ** (1 / 10))
    assert promise.auc_alone == pytest.approx(auc_interval(y, score, side="lower").lower)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_by_delong_equals_the_obvious_one(seed, weighted):
    rng = np.random.default_rng(seed)
    y, score, selected = make_rows(80, 0.3 + 0.1 * seed, seed=seed)
    score = np.round(score, 1)
    weight = rng.lognormal(size=80) if weighted else np.ones(80)
    promise = promise_selection(y, score, selected, sample_weight=weight)
    expected = obvious_auc_bound(y[selected], score[selected], weight[selected], 1 - 0.95)
    assert promise.auc_alone == pytest.approx(expected)


def test_in_large_samples_it_is_the_interval_of_delong():
    y, score, selected = make_rows(100_000)
    lower = auc_interval(y, score, selected, side="lower").lower
    promise = promise_selection(y, score, selected)
    margin = promise.selective_auc - lower
    assert lower - 0.05 * margin < promise.auc_alone < lower


# ---- the bootstrap ----


def selected_rows_of(weight, n=150):
    y, score, selected = make_rows(n)
    return y[selected], np.round(score[selected], 1), np.asarray(weight)[selected]


def test_replicates_by_runs_and_by_rows_have_one_distribution():
    by_runs = auc_under_exponential_weights(*selected_rows_of(np.ones(150)), n_bootstrap=20_000, seed=0)
    by_rows = auc_under_exponential_weights(*selected_rows_of(1 + 1e-9 * np.arange(150)), n_bootstrap=20_000, seed=1)
    levels = [0.02, 0.1, 0.5, 0.9]
    assert np.quantile(by_runs, levels) == pytest.approx(np.quantile(by_rows, levels), abs=0.002)


def test_replicates_equal_weighted_aucs():
    positive, score, own_weight = selected_rows_of(np.random.default_rng(0).lognormal(size=150))
    replicates = auc_under_exponential_weights(positive, score, own_weight, n_bootstrap=500, seed=3)
    drawn = np.random.Generator(np.random.SFC64(3)).standard_exponential((1, len(score)))[0]
    order = np.argsort(score, kind="stable")
    weight = np.empty(len(order))
    weight[order] = drawn
    assert replicates[0] == pytest.approx(selective_auc(positive, score, sample_weight=weight * own_weight))


def test_both_methods_give_much_the_same_bounds():
    rows = make_rows(3000)
    first, second = (promise_selection(*rows, method=method, random_state=0) for method in METHODS)
    assert first.coverage_at_least == second.coverage_at_least
    margin = first.selective_auc - first.auc_at_least
    assert abs(first.auc_at_least - second.auc_at_least) < 0.15 * margin


def test_the_seed_decides():
    rows = make_rows()
    bounds = [promise_selection(*rows, method="bootstrap", random_state=seed).auc_alone for seed in (0, 0, 1)]
    assert bounds[0] == bounds[1] != bounds[2]
    assert promise_selection(*rows, random_state=0) == promise_selection(*rows, random_state=1)


# ---- properties ----


@st.composite
def selections(draw, **options):
    rows = draw(strategies.rows(both_classes=True, **options))
    n = len(rows.labels)
    return rows, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


def at_most(lower, upper):
    return isnan(lower) or lower <= upper + 1e-12


@given(selections(weights=strategies.fractional_weights), st.sampled_from(METHODS), st.floats(0.5, 0.99))
@property_test
def test_bounds_lie_below_the_estimates_and_joint_bounds_below_single_ones(drawn, method, confidence):
    rows, selected = drawn
    for weight in (None, rows.weights):
        promise = promise_selection(
            rows.labels,
            rows.scores,
            selected,
            confidence=confidence,
            method=method,
            sample_weight=weight,
            n_bootstrap=400,
            random_state=0,
        )
        assert 0 <= promise.coverage_at_least <= promise.coverage_alone <= promise.achieved_coverage + 1e-12
        if method == "delong" or confidence > 0.8:  # the bootstrap is drawn by chance
            assert at_most(promise.auc_alone, promise.selective_auc)
        assert at_most(promise.auc_at_least, promise.auc_alone)
        assert isnan(promise.auc_alone) or promise.auc_at_least >= 0


@given(selections(), st.sampled_from(METHODS))
@property_test
def test_more_confidence_lowers_every_bound(drawn, method):
    rows, selected = drawn
    promises = [
        promise_selection(
            rows.labels, rows.scores, selected, confidence=level, method=method, n_bootstrap=500, random_state=0
        )
        for level in (0.6, 0.9, 0.99)
    ]
    for less, more in pairwise(promises):
        assert all(at_most(*pair) for pair in zip(bounds_of(more), bounds_of(less), strict=True))


@given(selections(weights=strategies.fractional_weights), st.sampled_from(METHODS))
@property_test
def test_only_the_order_of_the_scores_and_the_ratio_of_the_weights_matter(drawn, method):
    rows, selected = drawn
    options = {"method": method, "n_bootstrap": 100, "random_state": 0}
    first = promise_selection(rows.labels, rows.scores, selected, sample_weight=rows.weights, **options)
    second = promise_selection(
        rows.labels, np.exp(3 * rows.scores) - 7, selected, sample_weight=1000 * rows.weights, **options
    )
    assert bounds_of(first) == pytest.approx(bounds_of(second), nan_ok=True)


@given(selections(weights=strategies.fractional_weights))
@property_test
def test_the_other_class_as_positive_gives_the_same_bounds(drawn):
    rows, selected = drawn
    first = promise_selection(rows.labels, rows.scores, selected, sample_weight=rows.weights)
    second = promise_selection(~rows.labels, -rows.scores, selected, sample_weight=rows.weights)
    assert bounds_of(first) == pytest.approx(bounds_of(second), nan_ok=True)


@given(selections(), st.randoms(use_true_random=False))
@property_test
def test_the_order_of_the_rows_does_not_matter(drawn, random):
    rows, selected = drawn
    order = list(range(len(selected)))
    random.shuffle(order)
    for method in METHODS:
        options = {"method": method, "n_bootstrap": 50, "random_state": 0}
        first = promise_selection(rows.labels, rows.scores, selected, **options)
        second = promise_selection(rows.labels[order], rows.scores[order], selected[order], **options)
        assert bounds_of(first) == pytest.approx(bounds_of(second), nan_ok=True)


def test_a_large_score_needs_no_room_below_it():
    y, selected = np.arange(20) % 2 == 0, np.ones(20, dtype=bool)
    score = np.where(y, np.finfo(float).max, -np.finfo(float).max)
    assert promise_selection(y, score, selected).auc_alone == pytest.approx(0.05**0.1)


# ---- weights ----


@given(selections())
@property_test
def test_weight_0_is_no_row(drawn):
    rows, selected = drawn
    used = rows.weights > 0
    given_all = promise_selection(rows.labels, rows.scores, selected, sample_weight=rows.weights)
    given_used = promise_selection(
        rows.labels[used], rows.scores[used], selected[used], sample_weight=rows.weights[used]
    )
    assert bounds_of(given_all) == pytest.approx(bounds_of(given_used), nan_ok=True)
    assert str(given_all) == str(given_used)


@pytest.mark.parametrize("method", METHODS)
def test_equal_weights_are_none(method):
    rows = make_rows()
    options = {"method": method, "n_bootstrap": 200, "random_state": 0}
    plain = promise_selection(*rows, **options)
    assert promise_selection(*rows, sample_weight=np.full(400, 0.1), **options) == plain
    assert not plain.is_weighted


def test_estimates_count_weight_and_a_weight_adds_no_rows():
    y, score, selected = make_rows()
    weight = 1.0 + np.arange(400) % 3
    promise = promise_selection(y, score, selected, sample_weight=weight)
    assert promise.is_weighted
    assert promise.achieved_coverage == pytest.approx(achieved_coverage(selected, weight))
    assert promise.selective_auc == pytest.approx(selective_auc(y, score, selected, sample_weight=weight))
    assert promise.n_rows == 400
    repeated = promise_selection(*(np.repeat(values, weight.astype(int)) for values in (y, score, selected)))
    assert promise.coverage_alone < repeated.coverage_alone
    assert promise.auc_alone < repeated.auc_alone


def test_a_row_that_outweighs_all_others_promises_nothing():
    y, score, selected = make_rows(50)
    weight = np.ones(50)
    weight[np.flatnonzero(selected & ~y)[0]] = 1e200
    assert promise_selection(y, score, selected, sample_weight=weight).auc_alone < 0.3


# ---- rows that belong together ----


@given(selections(weights=strategies.fractional_weights))
@property_test
def test_groups_of_one_row_are_none(drawn):
    rows, selected = drawn
    own = np.arange(len(selected))[::-1]
    plain = promise_selection(rows.labels, rows.scores, selected, sample_weight=rows.weights)
    grouped = promise_selection(rows.labels, rows.scores, selected, sample_weight=rows.weights, customers=own)
    assert bounds_of(grouped) == pytest.approx(bounds_of(plain), nan_ok=True)
    assert grouped.n_customers == np.count_nonzero(rows.weights > 0)


@pytest.mark.parametrize("method", METHODS)
def test_rows_repeated_within_their_group_say_no_more_than_once(method):
    rows, weight = make_rows(), np.random.default_rng(0).lognormal(size=400)
    options = {"method": method, "random_state": 0}
    once = promise_selection(*rows, sample_weight=weight, **options)
    again = promise_selection(
        *(np.tile(values, 5) for values in rows),
        sample_weight=np.tile(weight, 5),
        customers=np.tile(np.arange(400), 5),
        **options,
    )
    expected = bounds_of(once)
    assert bounds_of(again) == pytest.approx(expected, abs=1e-9 if method == "delong" else 0.02)


def test_groups_that_resemble_each_other_lower_the_bounds_and_are_named():
    rng = np.random.default_rng(0)
    customer = np.repeat(np.arange(100), 10)
    y = rng.random(100)[customer] < 0.3
    score = y + rng.normal(size=100)[customer] + 0.5 * rng.normal(size=1000)
    plain = promise_selection(y, score, np.abs(score) > 0.5)
    grouped = promise_selection(y, score, np.abs(score) > 0.5, customers=[f"c{number}" for number in customer])
    assert all(lower < higher for lower, higher in zip(bounds_of(grouped), bounds_of(plain), strict=True))
    assert "(1,000 test rows of 100 customers; " in str(grouped)
    assert grouped.to_dict()["n_customers"] == 100


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"^customers must hold one value per row, got shape \(2,\) for 4 rows$"),
        ([1, 1, 1, 1], "^customers must hold at least two, got one: nothing shows how much customers differ$"),
        (
            ["a", None, "b", None],
            "^customers must not contain missing values, got 2 of 4, the first in row 1; give each such row a name",
        ),
        ([1.0, 2.0, nan, 1.0], "got 1 of 4, the first in row 2"),
    ],
)
def test_groups_that_cannot_be_used(groups, message):
    with pytest.raises(ValueError, match=message):
        promise_selection([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], np.ones(4, dtype=bool), customers=groups)


# ---- a coverage that is fixed beforehand ----


def test_a_supported_coverage_leaves_the_full_confidence_to_the_auc():
    rows = make_rows(2000)
    free, fixed = promise_selection(*rows), promise_selection(*rows, promised_coverage=0.75)
    assert fixed.is_supported
    assert fixed.coverage_at_least == 0.75 < fixed.coverage_alone
    assert fixed.auc_at_least == fixed.auc_alone == free.auc_alone > free.auc_at_least
    assert free.is_supported is None


def test_a_coverage_without_support_takes_the_auc_with_it():
    promise = promise_selection(*make_rows(2000), promised_coverage=0.85)
    assert promise.is_supported is False
    assert promise.coverage_at_least == promise.coverage_alone < 0.85
    assert isnan(promise.auc_at_least)
    assert not isnan(promise.auc_alone)


def test_the_limit_of_support_is_the_single_bound():
    rows = make_rows(2000)
    limit = promise_selection(*rows).coverage_alone
    assert promise_selection(*rows, promised_coverage=limit).is_supported
    assert not promise_selection(*rows, promised_coverage=np.nextafter(limit, 1)).is_supported


# ---- signed bounds ----


@given(selections(), st.one_of(st.none(), st.floats(0.1, 1)))
@property_test
def test_what_is_promised_holds(drawn, promised):
    rows, selected = drawn
    promise = promise_selection(rows.labels, rows.scores, selected, promised_coverage=promised)
    assert promise.holds(coverage=promise.coverage_at_least)
    if not isnan(promise.auc_at_least):
        assert promise.holds(coverage=promise.coverage_at_least, auc=promise.auc_at_least)


def test_signed_bounds_hold_up_to_the_single_bounds_and_no_further():
    promise = promise_selection(*make_rows())
    coverage, auc = promise.coverage_alone, promise.auc_alone
    assert promise.holds(coverage=coverage, auc=auc)
    assert not promise.holds(coverage=coverage + 1e-9, auc=auc)
    assert not promise.holds(coverage=coverage, auc=auc + 1e-9)
    assert not promise.holds(auc=1.0)


def test_nothing_holds_for_an_auc_without_bound():
    promise = promise_selection([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], np.ones(4, dtype=bool))
    assert isnan(promise.auc_alone)
    assert not promise.holds(auc=0.0)
    assert promise.holds(coverage=0.3)


def test_bounds_that_cannot_be_signed():
    promise = promise_selection(*make_rows())
    with pytest.raises(ValueError, match=r"^holds needs a bound to check, got none; pass coverage=, auc= or both$"):
        promise.holds()
    with pytest.raises(ValueError, match=r"^auc must be in \[0, 1\], got 81; for 81 % pass 0.81$"):
        promise.holds(auc=81)
    with pytest.raises(ValueError, match=r"^coverage must be in \[0, 1\], got 80; for 80 % pass 0.8$"):
        promise.holds(coverage=80, auc=0.81)


# ---- the sentence ----

PROMISE = SelectivePromise(
    coverage_at_least=0.78499,
    auc_at_least=0.8129,
    confidence=0.95,
    coverage_alone=0.79,
    auc_alone=0.82,
    achieved_coverage=0.81,
    selective_auc=0.85,
    n_rows=1234,
    n_selected=1000,
    n_positive=1,
    n_negative=999,
    method="delong",
)


ROWS = "(1,234 test rows; 1 positive and 999 negatives automatic)."
AUC_812 = "and an AUC of at least .812 among them"
NOT_80 = "not the 80 % that were to be promised"
NO_AUC = "and so no AUC is promised"
FEW = "but too few rows of a class to promise an AUC"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "78.4 % of cases decided automatically, and an AUC of at least .812 among them, with 95 % confidence"),
        (
            {"confidence": 0.999, "is_weighted": True, "coverage_at_least": 0.8},
            f"80 % of the weight decided automatically, {AUC_812}, with approximately 99.9 % confidence",
        ),
        ({"auc_at_least": nan}, f"78.4 % of cases decided automatically, with 95 % confidence, {FEW}"),
        (
            {"auc_at_least": nan, "promised_coverage": 0.8},
            f"78.4 % of cases decided automatically, with 95 % confidence, {NOT_80}, {NO_AUC}",
        ),
        (
            {"auc_at_least": nan, "promised_coverage": 0.79, "coverage_at_least": 0.79},
            f"79 % of cases decided automatically, with 95 % confidence, {FEW}",
        ),
    ],
)
def test_one_sentence(changes, sentence):
    assert str(replace(PROMISE, **changes)) == f"At least {sentence} {ROWS}"


@pytest.mark.parametrize("percent", range(1, 101))
def test_a_round_coverage_is_printed_as_it_is(percent):
    sentence = str(replace(PROMISE, coverage_at_least=percent / 100, auc_at_least=percent / 100))
    assert sentence.startswith(f"At least {percent} % of cases")
    assert f"AUC of at least {percent / 100:.3f}".replace(" 0", " ") in sentence


@given(st.floats(0, 1), st.floats(0, 1))
@property_test
def test_the_sentence_never_promises_more_than_the_numbers(coverage, auc):
    sentence = str(replace(PROMISE, coverage_at_least=coverage, auc_at_least=auc))
    percent, printed = re.search(r"At least (\S+) % .* at least (\S+) among", sentence).groups()
    assert coverage - 0.001 < float(percent) / 100 <= coverage + 1e-9
    assert auc - 0.001 < float(printed) <= auc + 1e-9


def test_the_dictionary_is_ready_for_json():
    promise = promise_selection(*make_rows(2000), promised_coverage=0.85)
    loaded = json.loads(json.dumps(promise.to_dict(), allow_nan=False))
    assert loaded["auc_at_least"] is None
    assert loaded["auc_alone"] == promise.auc_alone
    assert loaded["is_supported"] is False
    assert loaded["sentence"] == str(promise)
    assert (loaded["n_rows"], loaded["method"]) == (2000, "delong")


def test_a_promise_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        PROMISE.auc_at_least = 0.9


# ---- few rows ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1], [0, 1, 1]])
def test_too_few_rows_of_a_class_promise_no_auc(y, method):
    selected = np.array([True, True, False])
    promise = promise_selection(y, [0.1, 0.2, 0.3], selected, method=method, random_state=0)
    assert isnan(promise.auc_at_least)
    assert "too few rows of a class to promise an AUC" in str(promise)


def test_nothing_selected():
    promise = promise_selection([0, 1, 1], [0.1, 0.2, 0.3], np.zeros(3, dtype=bool))
    assert bounds_of(promise)[0::2] == (0, 0)
    assert isnan(promise.selective_auc)
    assert str(promise).startswith("At least 0 % of cases decided automatically, ")


def test_a_single_positive_promises_little():
    promise = promise_selection(np.arange(100) == 99, np.arange(100.0), np.ones(100, dtype=bool))
    assert promise.selective_auc == 1
    assert promise.auc_alone == pytest.approx(0.05)


# ---- fitted classifiers ----


X, Y = make_classification(1600, n_features=6, n_informative=3, flip_y=0.3, weights=[0.7], random_state=0)
X_TRAIN, Y_TRAIN, X_TEST, Y_TEST = X[:800], Y[:800], X[800:], Y[800:]


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), coverage=0.85, random_state=0).fit(X_TRAIN, Y_TRAIN)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("coverage", [None, 0.6])
def test_a_classifier_gives_the_promise_of_its_selection(clf, coverage, method):
    weight = np.random.default_rng(0).random(800)
    options = {"sample_weight": weight, "method": method, "n_bootstrap": 100, "random_state": 3, "confidence": 0.9}
    found = promise_selective(clf, X_TEST, Y_TEST, coverage, promised_coverage=0.5, **options)
    expected = promise_selection(
        Y_TEST == 1,
        clf.predict_proba(X_TEST)[:, 1],
        clf.select(X_TEST, coverage),
        promised_coverage=0.5,
        **options,
    )
    assert found == replace(expected, target_coverage=coverage or 0.85)


def test_string_labels_and_decision_functions():
    names = np.array(["good", "late"])
    clf = AUCross(LinearSVC(), random_state=0).fit(X_TRAIN, names[Y_TRAIN])
    found = promise_selective(clf, X_TEST, names[Y_TEST])
    expected = promise_selection(Y_TEST == 1, clf.decision_function(X_TEST), clf.select(X_TEST))
    assert bounds_of(found) == bounds_of(expected)


def test_bands_per_group():
    groups = np.arange(1600) % 2
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_TRAIN, Y_TRAIN, band_groups=groups[:800])
    found = promise_selective(clf, X_TEST, Y_TEST, 0.7, band_groups=groups[800:])
    selected = clf.select(X_TEST, 0.7, band_groups=groups[800:])
    assert bounds_of(found) == bounds_of(promise_selection(Y_TEST, clf.predict_proba(X_TEST)[:, 1], selected))


@pytest.mark.parametrize("kind", [AUCross, SCross, PlugInAUC])
def test_rows_of_the_fit_are_refused_or_marked_for_good(kind):
    clf = kind(LogisticRegression(), random_state=0, **({"holdout_size": 0.3} if kind is PlugInAUC else {}))
    clf.fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(ValueError, match=r"^about 100 % of the rows took part in the fit.* or allow_fit_rows=True "):
        promise_selective(clf, X_TRAIN, Y_TRAIN)
    with pytest.raises(ValueError, match=r"^X and y look like the rows that clf was fitted on: "):
        promise_selective(clf, clf.scored(X_TRAIN), Y_TRAIN)
    for rows in (X_TRAIN, clf.scored(X_TRAIN)):
        marked = promise_selective(clf, rows, Y_TRAIN, promised_coverage=0.5, allow_fit_rows=True)
        assert str(marked).startswith("No promise, since 100 % of the rows took part in the fit: At least 50 % of ")
        assert marked.to_dict()["share_of_fit"] == 1
        assert marked.to_dict()["sentence"] == str(marked)
        assert marked.to_dict()["is_supported"] is False
        assert "share_of_fit=1.0" in repr(marked)
        assert "No promise" in marked._repr_html_()
        assert marked.coverage_alone > 0.5
        assert not marked.holds(coverage=0.5)
    fresh = promise_selective(clf, X_TEST, Y_TEST, allow_fit_rows=True)
    assert fresh.share_of_fit == 0
    assert fresh.holds(coverage=0.5)


def test_labels_that_are_sorted_as_those_of_the_fit_are_no_sign_of_its_rows():
    order = np.argsort(Y_TRAIN)
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_TRAIN[order], Y_TRAIN[order])
    promise_selective(clf, clf.scored(X_TRAIN[order] + 0.1), Y_TRAIN[order])


def test_labels_that_repeat_those_of_the_fit_are_fresh_rows_to_a_hold_out_method():
    clf = PlugInAUC(LogisticRegression(), holdout_size=0.3, random_state=0).fit(X_TRAIN, Y_TRAIN)
    fresh = X_TRAIN + 0.1
    found = promise_selective(clf, fresh, Y_TRAIN)
    expected = promise_selection(Y_TRAIN, clf.predict_proba(fresh)[:, 1], clf.select(fresh))
    assert bounds_of(found) == bounds_of(expected)


def test_more_than_two_classes_are_refused():
    three = Y_TRAIN + (X_TRAIN[:, 0] > 1)
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_TRAIN, three)
    with pytest.raises(ValueError, match=r"^clf must have two classes, got 3; for one class against the rest call"):
        promise_selective(clf, X_TEST, three)


def test_classifiers_and_labels_that_do_not_fit(clf):
    with pytest.raises(TypeError, match=r"^clf must be a selective classifier such as AUCross, got LogisticRegression"):
        promise_selective(LogisticRegression().fit(X_TRAIN, Y_TRAIN), X_TEST, Y_TEST)
    with pytest.raises(NotFittedError):
        promise_selective(AUCross(LogisticRegression()), X_TEST, Y_TEST)
    with pytest.raises(ValueError, match=r"^y must hold one label per row of X, got 799 for 800 rows$"):
        promise_selective(clf, X_TEST, Y_TEST[1:])
    with pytest.raises(
        ValueError, match=r"^y must hold the classes of the training rows \[0, 1\], got also \[2\], the first in row"
    ):
        promise_selective(clf, X_TEST, 2 * Y_TEST)
    with pytest.raises(ValueError, match=r"^coverage must be in \(0, 1\], got 80; for 80 % pass 0.8$"):
        promise_selective(clf, X_TEST, Y_TEST, 80)


# ---- refusals ----

FEW_REPLICATES = "below the bound there must be a replicate; the default of 2000 suits a confidence of 0.95"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "wald"}, 'method must be "delong" or "bootstrap", got \'wald\''),
        ({"confidence": 95}, "confidence must be in (0, 1), got 95; for 95 % pass 0.95"),
        ({"confidence": 1}, "confidence must be in (0, 1), got 1"),
        (
            {"confidence": 0.05},
            "confidence must be at least 0.5, got 0.05; it is the probability that the promise is kept, as 0.95",
        ),
        ({"promised_coverage": 80}, "promised_coverage must be in (0, 1], got 80; for 80 % pass 0.8"),
        ({"promised_coverage": 0}, "promised_coverage must be in (0, 1], got 0; 1 stands for all"),
        ({"method": "bootstrap", "n_bootstrap": 2.5}, "n_bootstrap must be a whole number, 0 or more, got 2.5"),
        (
            {"method": "bootstrap", "n_bootstrap": 20},
            f"n_bootstrap must be at least 39 for this confidence, got 20: {FEW_REPLICATES}",
        ),
        ({"random_state": -1}, "random_state must not be negative, got -1"),
        ({"sample_weight": [1, 1]}, "sample_weight must hold one weight per row, got shape (2,) for 3 rows"),
    ],
)
def test_options_that_cannot_be(options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        promise_selection([0, 1, 1], [0.1, 0.2, 0.3], np.ones(3, dtype=bool), **options)


def test_the_fewest_replicates_are_enough_for_a_bound_and_one_less_is_not():
    def promised(n_bootstrap, seed):
        return promise_selection(*make_rows(), method="bootstrap", n_bootstrap=n_bootstrap, random_state=seed)

    fewest = [promised(39, seed) for seed in range(30)]
    assert all(promise.auc_at_least < promise.auc_alone < promise.selective_auc for promise in fewest)
    # One replicate in 40 is below the bound of many, hence the lowest of 39 nearly two times in three.
    many = promised(2000, 0).auc_at_least
    assert np.mean([promise.auc_at_least < many for promise in fewest]) == pytest.approx(0.63, abs=0.2)
    with pytest.raises(ValueError, match=r"^n_bootstrap must be at least 39 for this confidence, got 38"):
        promised(38, 0)


@pytest.mark.parametrize(
    ("y", "score", "selected", "sentence"),
    [
        ([], [], [], "there must be at least one row to promise from, got none"),
        ([0, 2], [0.1, 0.2], [True, True], "y_true must be boolean, 0/1 or -1/1, got values such as [0, 2]"),
        ([0, 1], [0.1], [True, True], "y_score must hold one score per row, got shape (1,) for 2 rows"),
        ([0, 1], [0.1, nan], [True, True], "y_score must be finite, got 1 NaN or infinite values among 2"),
        ([0, 1], [0.1, 0.2], [True], "selected must hold one entry per row, got 1 for 2 rows"),
        ([0, 1], [0.1, 0.2], [1, 0], "selected must be a boolean mask, got dtype int64"),
    ],
)
def test_rows_that_cannot_be(y, score, selected, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        promise_selection(y, score, selected)


# ---- kept as often as they say ----

# Coverage and AUC of normal scores outside a fixed band, by integration.
POPULATIONS = {"overlapping": (0.3, 1.0), "nearly separated": (0.1, 3.0)}
HALF_WIDTH = 0.4


def truth(prevalence, shift):
    edges = np.linspace(-9, 9 + shift, 200_001)
    middle = (edges[1:] + edges[:-1]) / 2
    outside = np.abs(middle - shift / 2) > HALF_WIDTH
    positives = np.diff(norm.cdf(edges - shift)) * outside
    negatives = np.diff(norm.cdf(edges)) * outside
    coverage = prevalence * positives.sum() + (1 - prevalence) * negatives.sum()
    won = positives @ (np.cumsum(negatives) - negatives / 2)
    return coverage, won / (positives.sum() * negatives.sum())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("population", POPULATIONS)
def test_promises_are_kept_at_their_level(population, method):
    prevalence, shift = POPULATIONS[population]
    coverage, auc = truth(prevalence, shift)
    rng = np.random.default_rng(0)
    n_samples, confidence = 300, 0.9
    kept, staged, plain = [], [], []
    for seed in range(n_samples):
        y = rng.random(400) < prevalence
        score = rng.normal(size=400) + shift * y
        selected = np.abs(score - shift / 2) > HALF_WIDTH
        options = {"confidence": confidence, "method": method, "n_bootstrap": 99, "random_state": seed}
        promise = promise_selection(y, score, selected, **options)
        kept.append(promise.coverage_at_least <= coverage and promise.auc_at_least <= auc)
        fixed = promise_selection(y, score, selected, promised_coverage=coverage - 0.03, **options)
        staged.append(fixed.coverage_at_least <= coverage and not fixed.auc_at_least > auc)
        plain.append(auc_interval(y, score, selected, level=confidence, side="lower").lower <= auc)
    allowed = confidence - 2 * sqrt(confidence * (1 - confidence) / n_samples)
    assert np.mean(kept) >= allowed
    assert np.mean(staged) >= allowed
    if population == "nearly separated":
        assert np.mean(plain) < 0.8


def test_a_coverage_that_is_missed_is_seldom_promised():
    rng = np.random.default_rng(0)
    masks = rng.random((500, 300)) < 0.8
    y, score = np.arange(300) % 2 == 0, rng.random(300)
    promises = [promise_selection(y, score, mask, promised_coverage=0.81, confidence=0.9) for mask in masks]
    assert np.mean([promise.is_supported for promise in promises]) <= 0.1


def test_bounds_at_several_levels_come_from_one_call():
    y, score, _ = make_rows()
    levels = (0.2, 0.05, 0.001)
    bounds = [
        bootstrap_auc_bounds(y, score, np.ones(400), own, n_bootstrap=2000, seed=0) for own in (levels, levels[1:])
    ]
    assert bounds[0] == sorted(bounds[0], reverse=True)
    assert bounds[0][1:] == bounds[1]


@pytest.mark.parametrize("confidence", [0.05, 0.49])
def test_a_promise_that_is_rather_broken_than_kept_is_refused(confidence):
    with pytest.raises(ValueError, match=rf"confidence must be at least 0.5, got {confidence}; it is the probability"):
        check_confidence(confidence)
    assert check_confidence(0.5) == 0.5
