"""Hand-Till M and AUC-mu, against loops over pairs."""

from fractions import Fraction
from itertools import combinations, permutations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from aucross.evaluation import selective_auc
from aucross.evaluation.multiclass import auc_mu, hand_till_m
from tests.strategies import counts, fractional_weights, no_weights, property_test

# ---- slow and obvious versions, on tuples (label, scores, weight) with exact scores ----


def loop_auc(winners, losers):
    """AUC of (score, weight) tuples."""
    won = sum(w * v * (1.0 if s > t else 0.5 if s == t else 0.0) for s, w in winners for t, v in losers)
    pairs = sum(w * v for _, w in winners for _, v in losers)
    return won / pairs if pairs else nan


def loop_hand_till(rows, n_classes):
    aucs = []
    for j, k in permutations(range(n_classes), 2):
        aucs.append(loop_auc([(s[j], w) for y, s, w in rows if y == j], [(s[j], w) for y, s, w in rows if y == k]))
    return sum(aucs) / len(aucs)


def loop_auc_mu(rows, n_classes):
    aucs = []
    for j, k in combinations(range(n_classes), 2):
        of_j, of_k = ([(s[j] - s[k], w) for y, s, w in rows if y == label] for label in (j, k))
        aucs.append(loop_auc(of_j, of_k))
    return sum(aucs) / len(aucs)


# ---- random rows ----

eighths = st.integers(0, 5).map(lambda number: number / 8)
two_to_four = st.integers(2, 4)


@st.composite
def rows_of_classes(draw, n_classes=two_to_four, weights=counts, max_size=16, complete=False):
    """Labels, scores in a few binary fractions, weights; each class has weight if `complete`."""
    k = draw(n_classes)
    row = st.tuples(st.integers(0, k - 1), st.lists(eighths, min_size=k, max_size=k), weights)
    drawn = draw(st.lists(row, min_size=k, max_size=max_size))
    labels, scores, weight = (np.array(column) for column in zip(*drawn, strict=True))
    labels[:k] = range(k) if complete else labels[:k]
    weight[: k if complete else 1] += weight[: k if complete else 1] == 0
    return labels, scores, weight, k


def as_tuples(labels, scores, weight):
    return [(int(y), tuple(s) if np.ndim(s) else s, float(w)) for y, s, w in zip(labels, scores, weight, strict=True)]


def random_problem(seed, n=300, k=4, decimals=None):
    """Probabilities that know something about the labels, with ties if rounded."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.choice(k, n - k, p=np.arange(1, k + 1) / (k * (k + 1) / 2)))
    latent = rng.normal(size=(n, k))
    latent[np.arange(n), y] += 1
    prob = np.exp(latent) / np.exp(latent).sum(axis=1, keepdims=True)
    return y, prob if decimals is None else np.round(prob, decimals)


METRICS = [hand_till_m, auc_mu]
LOOPS = {hand_till_m: loop_hand_till, auc_mu: loop_auc_mu}
each_metric = pytest.mark.parametrize("metric", METRICS)


# ---- against loops and scikit-learn ----


@each_metric
@pytest.mark.parametrize("weights", [no_weights, counts, fractional_weights])
def test_metrics_of_pairs_equal_loops_over_pairs(metric, weights):
    @property_test
    @given(rows_of_classes(weights=weights))
    def check(rows):
        labels, scores, weight, k = rows
        ours = metric(labels, scores, classes=range(k), sample_weight=weight)
        assert ours == pytest.approx(LOOPS[metric](as_tuples(labels, scores, weight), k), abs=1e-12, nan_ok=True)

    check()


@each_metric
@pytest.mark.parametrize("seed", range(4))
def test_ties_that_floats_would_miss_are_ties(metric, seed):
    # Probabilities of ten neighbours: 0.3 - 0.1 and 0.2 - 0.0 differ as floats, but not as tenths.
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 2], rng.integers(0, 3, 27))
    tenths = rng.multinomial(10, [0.3, 0.3, 0.4], size=30)
    exact = as_tuples(y, [[Fraction(int(t), 10) for t in row] for row in tenths], np.ones(30))
    assert metric(y, tenths / 10) == pytest.approx(LOOPS[metric](exact, 3), abs=1e-12)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("decimals", [None, 1])
def test_hand_till_is_the_one_versus_one_score_of_scikit_learn(k, decimals):
    y, prob = random_problem(k, n=500, k=k)
    if decimals is not None:
        prob = np.round(prob * 8) / 8  # sums of eighths are exact, and scikit-learn wants sums of 1
        prob[:, 0] += 1 - prob.sum(axis=1)
    assert hand_till_m(y, prob) == pytest.approx(roc_auc_score(y, prob, multi_class="ovo", average="macro"), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_auc_mu_is_the_mean_auc_of_differences(seed):
    y, prob = random_problem(seed)
    aucs = []
    for j, k in combinations(range(4), 2):
        pair = (y == j) | (y == k)
        aucs.append(roc_auc_score(y[pair] == j, (prob[:, j] - prob[:, k])[pair]))
    assert auc_mu(y, prob) == pytest.approx(np.mean(aucs), abs=1e-12)


@each_metric
@pytest.mark.parametrize("decimals", [None, 1])
def test_two_classes_give_the_auc(metric, decimals):
    y, prob = random_problem(0, k=2, decimals=decimals)
    weight = np.random.default_rng(0).random(len(y))
    columns = np.column_stack((1 - prob[:, 1], prob[:, 1]))
    selected = prob[:, 1] < 0.7
    expected = selective_auc(y, prob[:, 1], selected, sample_weight=weight)
    assert metric(y, columns, selected, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


# ---- laws ----


@each_metric
@pytest.mark.parametrize("decimals", [None, 1])
class TestLaws:
    @pytest.mark.parametrize("order", list(permutations(range(3))))
    def test_the_names_and_order_of_classes_do_not_matter(self, metric, decimals, order):
        y, prob = random_problem(1, n=60, k=3, decimals=decimals)
        before = metric(y, prob)
        assert metric(y, prob[:, order], classes=order) == pytest.approx(before, abs=1e-12)
        renamed = np.array(["x", "y", "z"])[np.argsort(order)][y]  # sorted, the names stand in the new order
        assert metric(renamed, prob[:, order]) == pytest.approx(before, abs=1e-12)

    def test_row_order_does_not_matter(self, metric, decimals):
        y, prob = random_problem(2, n=60, k=3, decimals=decimals)
        order = np.random.default_rng(0).permutation(60)
        assert metric(y[order], prob[order]) == pytest.approx(metric(y, prob), abs=1e-12)

    def test_weight_2_is_the_row_twice_and_weight_0_no_row(self, metric, decimals):
        y, prob = random_problem(3, n=60, k=3, decimals=decimals)
        times = np.append([1, 1, 1], np.random.default_rng(0).integers(0, 4, 57))
        repeated = metric(np.repeat(y, times), np.repeat(prob, times, axis=0))
        assert metric(y, prob, sample_weight=times) == pytest.approx(repeated, abs=1e-12)

    def test_a_huge_score_of_weight_0_changes_nothing(self, metric, decimals):
        y, prob = random_problem(3, n=60, k=3, decimals=decimals)
        ours = metric(np.append(y, 0), np.vstack((prob, [1e20, 0, 0])), sample_weight=np.append(np.ones(60), 0))
        assert ours == metric(y, prob)

    @pytest.mark.parametrize("scale", [1e-6, 3.0, 1e9])
    def test_the_scale_of_the_weights_does_not_matter(self, metric, decimals, scale):
        y, prob = random_problem(4, n=60, k=3, decimals=decimals)
        weight = np.random.default_rng(0).random(60)
        before = metric(y, prob, sample_weight=weight)
        assert metric(y, prob, sample_weight=scale * weight) == pytest.approx(before, abs=1e-12)

    def test_weights_that_differ_by_class_only_do_not_matter(self, metric, decimals):
        y, prob = random_problem(5, n=60, k=3, decimals=decimals)
        assert metric(y, prob, sample_weight=np.array([1.0, 20.0, 0.3])[y]) == pytest.approx(metric(y, prob), abs=1e-12)

    def test_the_metric_of_selected_rows_is_the_metric_of_those_rows_alone(self, metric, decimals):
        y, prob = random_problem(6, n=60, k=3, decimals=decimals)
        selected = np.append([True] * 3, np.random.default_rng(0).random(57) < 0.6)
        assert metric(y, prob, selected) == metric(y[selected], prob[selected])

    def test_reversed_scores_give_one_minus_the_metric_of_pairs(self, metric, decimals):
        y, prob = random_problem(7, n=60, k=3, decimals=decimals)
        assert metric(y, -prob) == pytest.approx(1 - metric(y, prob), abs=1e-12)

    def test_one_constant_for_each_column_changes_nothing(self, metric, decimals):
        y, prob = random_problem(8, n=60, k=3, decimals=decimals)
        assert metric(y, prob + np.array([0.5, -0.25, 2.0])) == pytest.approx(metric(y, prob), abs=1e-12)

    def test_labels_may_be_strings_and_scores_float32(self, metric, decimals):
        y, prob = random_problem(9, n=60, k=3, decimals=decimals)
        single = prob.astype(np.float32)
        assert metric(np.array(["a", "b", "c"])[y], single) == metric(y, single.astype(np.float64))


def test_any_increasing_function_of_each_column_leaves_hand_till_unchanged():
    y, prob = random_problem(0)
    columns = np.column_stack([f(p) for f, p in zip([np.exp, np.log, np.cbrt, np.negative], prob.T, strict=True)])
    columns[:, 3] *= -5
    assert hand_till_m(y, columns) == hand_till_m(y, prob)


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_all_classified_correctly_have_auc_mu_1(seed):
    _, prob = random_problem(seed)
    assert auc_mu(prob.argmax(axis=1), prob) == 1


@each_metric
@pytest.mark.parametrize(("score", "value"), [(np.eye(3), 1), (np.ones((3, 3)), 0.5)])
def test_perfect_and_constant_scores(metric, score, value):
    assert metric([0, 1, 2] * 3, np.tile(score, (3, 1))) == pytest.approx(value, abs=1e-12)


# ---- undefined ----


@each_metric
class TestUndefined:
    def test_nan_where_a_class_is_missing_among_the_selected_rows(self, metric):
        y, prob = [0, 1, 2, 0, 1, 2], np.tile(np.eye(3), (2, 1))
        assert isnan(metric(y, prob, np.array(y) != 1))
        assert isnan(metric(y, prob, [False] * 6))

    def test_nan_where_a_class_has_weight_0_only(self, metric):
        y, prob = [0, 1, 2, 0, 1, 2], np.tile(np.eye(3), (2, 1))
        assert isnan(metric(y, prob, sample_weight=[1, 0, 1, 1, 0, 1]))
        assert isnan(metric(y, prob, [True, True, True, False, False, False], sample_weight=[0, 0, 0, 1, 1, 1]))

    def test_nan_where_a_class_named_in_classes_has_no_rows(self, metric):
        assert isnan(metric(["a", "b", "a"], np.eye(3), classes=["a", "b", "c"]))

    def test_nan_without_rows(self, metric):
        assert isnan(metric([], np.empty((0, 3))))
        assert isnan(metric([], np.empty((0, 3)), classes=["a", "b", "c"]))


# ---- errors ----


@each_metric
class TestErrors:
    def raises(self, text):
        return pytest.raises(ValueError, match=text)

    def test_labels_that_are_not_1_d(self, metric):
        with self.raises(r"y_true must be 1-d, got shape \(3, 3\); pass labels, not one column per class"):
            metric(np.eye(3), np.eye(3))

    def test_too_few_or_too_many_labels(self, metric):
        with self.raises(r"y_true must hold 3 classes, .*, got 2: \[0, 1\]; pass classes=clf.classes_ if some"):
            metric([0, 1, 1], np.eye(3))
        with self.raises(r"y_true must hold 3 classes, .*, got 7: \[0, 1, 2, 3, 4, \.\.\.\]"):
            metric(range(7), np.ones((7, 3)))

    def test_missing_labels(self, metric):
        with self.raises("y_true must not hold NaN, got 1; drop the rows without a label"):
            metric([0, 1, nan], np.eye(3))
        with self.raises("y_true must hold labels of one kind, got some that cannot be sorted"):
            metric(np.array(["a", "b", None], dtype=object), np.eye(3))

    @pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "b"], [["a", "b", "c"]]])
    def test_classes_that_do_not_name_the_columns(self, metric, classes):
        with self.raises(r"classes must be 1-d with 3 different labels, .*, got \['a', 'b'.*; pass clf.classes_"):
            metric(["a", "b", "a"], np.eye(3), classes=classes)

    def test_labels_that_are_not_among_the_classes(self, metric):
        with self.raises(r"y_true must hold labels of classes=\['a', 'b', 'c'\] only, got \['d'\]; add or drop them"):
            metric(["a", "b", "d"], np.eye(3), classes=["a", "b", "c"])
        with self.raises(r"y_true must hold labels of classes=\['0', '1', '2'\] only, got \[0, 1, 2\]"):
            metric([0, 1, 2], np.eye(3), classes=["0", "1", "2"])

    def test_lengths(self, metric):
        with self.raises(r"y_prob must hold one row of scores per label, got 3 for 4 labels"):
            metric([0, 1, 2, 2], np.eye(3))
        with self.raises("selected must hold one entry per row, got 2 for 3 rows"):
            metric([0, 1, 2], np.eye(3), [True, False])
        with self.raises(r"sample_weight must hold one weight per row, got shape \(2,\) for 3 rows"):
            metric([0, 1, 2], np.eye(3), sample_weight=[1, 1])

    def test_values(self, metric):
        with self.raises(
            r"y_prob must be finite, got NaN or infinite values in 1 of 3 rows, the first in row 1; repair"
        ):
            metric([0, 1, 2], np.diag([1, nan, 1]))
        with self.raises("selected must be a boolean mask, got dtype int64"):
            metric([0, 1, 2], np.eye(3), [1, 0, 1])
        with self.raises("sample_weight must not be negative, got -1 in row 2"):
            metric([0, 1, 2], np.eye(3), sample_weight=[1, 1, -1])


@each_metric
@pytest.mark.parametrize("shape", [(4,), (4, 1), (2, 2, 2)])
def test_metrics_of_pairs_need_all_columns(metric, shape):
    with pytest.raises(
        ValueError, match=r"y_prob must be of shape \(n, n_classes\) with two .*; pass all of predict_p"
    ):
        metric([0, 1, 0, 1], np.ones(shape))
