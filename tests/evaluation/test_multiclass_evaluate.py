"""Evaluations of classifiers with more than two classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from aucross import AUCross, SCross, compare_selective, evaluate_selections, evaluate_selective, selective_scorer
from aucross.evaluation import Metric
from aucross.evaluation.catalogue import MULTICLASS_METRICS, draw_weights
from aucross.evaluation.multiclass import auc_mu, hand_till_m

COVERAGES = [1.0, 0.9, 0.75]
CLASSES = np.array(["ash", "birch", "cedar"])
RANKING = {"hand_till_m": hand_till_m, "auc_mu": auc_mu}

X, number = make_classification(
    3000, n_informative=5, n_classes=3, n_clusters_per_class=1, weights=[0.8, 0.15], class_sep=0.6, random_state=0
)
y = CLASSES[::-1][number]
X_train, X_test, y_train, y_test = X[:2000], X[2000:], y[:2000], y[2000:]


@pytest.fixture(scope="module")
def ours():
    return AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="module")
def usual():
    return SCross(LogisticRegression(), random_state=0).fit(X_train, y_train)


def random_rows(n_rows=150, n_classes=4, seed=0):
    """Labels, tied scores, predictions, masks and weights."""
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, n_classes, n_rows), rng.integers(0, 8, (n_rows, n_classes)) / 8
    masks = {1.0: np.ones(n_rows, dtype=bool), 0.7: rng.random(n_rows) < 0.7}
    return labels, scores, scores.argmax(axis=1), masks, rng.gamma(2.0, size=n_rows)


# ---- the figures ----


def test_every_figure_is_that_of_the_selected_rows(ours):
    evaluation = evaluate_selective(ours, X_test, y_test, COVERAGES, n_bootstrap=0)
    prob, predicted = ours.predict_proba(X_test), ours.predict(X_test)
    for row in evaluation.rows():
        selected = ours.select(X_test, row["target_coverage"])
        assert row["achieved_coverage"] == pytest.approx(selected.mean())
        assert row["coverage_error"] == pytest.approx(selected.mean() - row["target_coverage"])
        for name, metric in RANKING.items():
            assert row[name] == metric(y_test, prob, selected)
        assert row["selective_accuracy"] == pytest.approx(accuracy_score(y_test[selected], predicted[selected]))
        assert row["n_selected"] == selected.sum()
        assert row["n_rarest"] == np.unique(y_test[selected], return_counts=True)[1].min()
        assert "n_positive" not in row
        assert np.isnan(row["hand_till_m_sd"])


@pytest.mark.parametrize("n_classes", [3, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_standard_deviations_are_those_of_resamples(n_classes, weighted):
    labels, scores, predicted, masks, weight = random_rows(n_classes=n_classes)
    weight = weight if weighted else np.ones(len(labels))
    used = weight > 0
    labels, scores, predicted, weight = labels[used], scores[used], predicted[used], weight[used]
    masks = {coverage: mask[used] for coverage, mask in masks.items()}
    evaluation = evaluate_selections(labels, scores, predicted, masks, classes=range(n_classes), sample_weight=weight)
    found = {name: [] for name in (*RANKING, "achieved_coverage")}
    coverage, mask = next((coverage, mask) for coverage, mask in masks.items() if not mask.all())
    for drawn in draw_weights(weight, 300, 7):
        for name, metric in RANKING.items():
            found[name].append(metric(labels, scores, mask, sample_weight=drawn))
        found["achieved_coverage"].append(drawn[mask].sum() / drawn.sum())
    place = list(masks).index(coverage)
    for name, replicates in found.items():
        assert evaluation.deviations[name][place] == pytest.approx(np.nanstd(replicates), rel=0.2), name


def test_with_two_classes_the_figures_are_those_of_the_binary_evaluation():
    labels, scores, _, masks, weight = random_rows(n_classes=2)
    prob = np.column_stack((1 - scores[:, 1], scores[:, 1]))  # eighths: exact
    predicted = prob.argmax(axis=1)
    options = {"sample_weight": weight, "random_state": 0}
    many = evaluate_selections(labels, prob, predicted, masks, classes=[0, 1], **options)
    binary = evaluate_selections(labels, prob[:, 1], predicted, masks, **options)
    for ours, theirs in (("hand_till_m", "selective_auc"), ("auc_mu", "selective_auc"), ("selective_accuracy",) * 2):
        assert many.estimates[ours] == pytest.approx(binary.estimates[theirs])
        assert many.deviations[ours] == pytest.approx(binary.deviations[theirs], rel=0.1)
    assert many.drawn_from == binary.drawn_from


def test_rows_of_weight_zero_do_not_take_part(ours):
    kept = np.arange(len(y_test)) % 3 > 0
    with_zeros = evaluate_selective(
        ours, X_test, y_test, sample_weight=kept.astype(float), n_bootstrap=3, random_state=0
    )
    without = evaluate_selective(ours, X_test[kept], y_test[kept], n_bootstrap=3, random_state=0)
    for name in MULTICLASS_METRICS:
        assert with_zeros.estimates[name] == pytest.approx(without.estimates[name])
        assert with_zeros.intervals[name].low == pytest.approx(without.intervals[name].low)
    assert with_zeros.n_selected.tolist() == without.n_selected.tolist()


def test_the_order_of_the_classes_is_that_of_the_columns():
    labels, scores, predicted, masks, _ = random_rows()
    order = [2, 0, 3, 1]
    one, other = (
        evaluate_selections(
            labels, scores[:, list(columns)], predicted, masks, classes=columns, n_bootstrap=3, random_state=0
        )
        for columns in (range(4), order)
    )
    for name in MULTICLASS_METRICS:
        assert one.estimates[name] == pytest.approx(other.estimates[name])
        assert one.intervals[name].low == pytest.approx(other.intervals[name].low)


def test_without_a_class_the_ranking_is_undefined_and_the_rest_is_not():
    labels, scores, predicted, _, _ = random_rows()
    result = evaluate_selections(
        labels, scores, predicted, {0.8: labels > 0}, classes=range(4), n_bootstrap=5, random_state=0
    )
    (row,) = result.rows()
    assert np.isnan([row["hand_till_m"], row["auc_mu"], row["hand_till_m_low"]]).all()
    assert row["n_rarest"] == 0
    assert row["selective_accuracy_low"] <= row["selective_accuracy"] <= row["selective_accuracy_high"]


def test_decision_values_are_ranked_as_they_are():
    clf = SCross(LinearSVC(dual=False), random_state=0).fit(X_train, y_train)
    evaluation = evaluate_selective(clf, X_test, y_test, [1.0], n_bootstrap=0)
    assert evaluation.estimates["hand_till_m"] == [hand_till_m(y_test, clf.decision_function(X_test))]


# ---- tables and comparisons ----


def test_the_table_has_intervals_and_every_metric(ours):
    evaluation = evaluate_selective(ours, X_test, y_test, COVERAGES, n_bootstrap=50, random_state=0)
    frame = evaluation.to_frame()
    assert len(frame) == len(COVERAGES)
    for name in MULTICLASS_METRICS:
        assert (frame[f"{name}_low"] <= frame[f"{name}_high"]).all()
        assert name in repr(evaluation).splitlines()[0]
    again = evaluate_selective(ours, X_test, y_test, COVERAGES, n_bootstrap=50, random_state=0)
    assert frame.equals(again.to_frame())


def test_two_classifiers_are_compared_on_the_same_draws(ours, usual):
    comparison = compare_selective([usual, ours], X_test, y_test, COVERAGES, n_bootstrap=50, random_state=0)
    rows = {(row["target_coverage"], row["metric"]): row for row in comparison.rows()}
    assert rows[1.0, "hand_till_m"]["difference"] == 0
    assert rows[1.0, "hand_till_m"]["difference_high"] == 0
    best = rows[0.75, "hand_till_m"]
    assert 0 < best["difference_low"] < best["difference"] < best["difference_high"]
    assert rows[0.75, "selective_accuracy"]["difference"] < 0
    assert f"{best['difference']:.3f}" in repr(comparison)


# ---- the scorer ----


@pytest.mark.parametrize("name", ["hand_till_m", "auc_mu", "selective_accuracy"])
def test_the_scorer_reads_the_metric(ours, name):
    expected = evaluate_selective(ours, X_test, y_test, [0.8], n_bootstrap=0).estimates[name][0]
    assert selective_scorer(name, coverage=0.8)(ours, X_test, y_test) == expected


def test_a_grid_search_can_choose_by_it():
    search = GridSearchCV(
        AUCross(LogisticRegression(), random_state=0, cv=2),
        {"estimator__C": [1e-4, 1.0]},
        scoring=selective_scorer("hand_till_m", coverage=0.8),
        cv=2,
    ).fit(X_train, y_train)
    assert 0.5 < search.best_score_ < 1


def test_a_metric_of_another_number_of_classes_is_refused(ours):
    for metric in ("selective_auc", "selective_gini"):
        message = f"functions of your own, got '{metric}', which reads scores; .*hand_till_m.* are always there"
        with pytest.raises(ValueError, match=message):
            selective_scorer(metric)(ours, X_test, y_test)
    binary = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train == "cedar")
    with pytest.raises(ValueError, match="got 'hand_till_m', which reads class scores"):
        selective_scorer("hand_till_m")(binary, X_test, y_test == "cedar")


def rarest_score(y_true, y_prob, selected, *, sample_weight):
    """Mean probability of the last class among the selected rows."""
    return np.average(y_prob[selected, -1], weights=sample_weight[selected])


def test_a_metric_of_the_user_reads_a_column_per_class(ours):
    by_labels = Metric(accuracy_of_labels, reads="labels", better="higher")
    evaluation = evaluate_selective(
        ours, X_test, y_test, [0.8], metrics=[rarest_score, by_labels], n_bootstrap=3, random_state=0
    )
    selected = ours.select(X_test, 0.8)
    assert evaluation.estimates["rarest_score"][0] == pytest.approx(ours.predict_proba(X_test)[selected, -1].mean())
    assert evaluation.estimates["accuracy_of_labels"] == pytest.approx(evaluation.estimates["selective_accuracy"])
    assert evaluation.replicates["accuracy_of_labels"].shape == (3, 1)
    assert selective_scorer(rarest_score, coverage=0.8)(ours, X_test, y_test) == evaluation.estimates["rarest_score"][0]


def accuracy_of_labels(y_true, y_pred, selected, *, sample_weight):
    return accuracy_score(y_true[selected], y_pred[selected], sample_weight=sample_weight[selected])


# ---- what is refused ----


def test_what_cannot_be_evaluated_is_refused(ours):
    labels, scores, predicted, masks, _ = random_rows()

    def evaluate(y_true=labels, y_prob=scores, y_pred=predicted, selections=masks, classes=range(4), **options):
        return evaluate_selections(y_true, y_prob, y_pred, selections, classes=classes, **options)

    for arguments, message in (
        ({"y_pred": predicted[:-1]}, r"y_pred must hold one label per row, got shape \(149,\) for 150 rows"),
        ({"y_prob": scores[:, 0]}, "y_prob must be of shape"),
        ({"y_prob": scores[:-1]}, "y_prob must hold one row of scores per label"),
        ({"classes": range(3)}, "classes must be 1-d with 4 different labels"),
        ({"classes": [0, 1, 2, 9]}, r"y_true must hold labels of classes=.* only, got \[3\]"),
        ({"selections": {0.5: np.arange(3)}}, "the selection for coverage 0.5 must be a boolean mask"),
        ({"selections": {}}, "coverages must hold at least one target coverage"),
        ({"n_bootstrap": -1}, "n_bootstrap must be a whole number"),
        ({"confidence_level": 95}, "confidence_level must be in"),
        (
            {"metrics": ["selective_gini"]},
            "metrics must be functions of your own, got 'selective_gini', which reads scores",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(**arguments)
    assert set(evaluate(metrics=["auc_mu"], n_bootstrap=0).estimates) == set(MULTICLASS_METRICS)
    with pytest.raises(ValueError, match=r"y must hold the classes of the training rows .* got also \['elm'\]"):
        evaluate_selective(ours, X_test, np.where(y_test == "ash", "elm", y_test))
    with pytest.raises(ValueError, match="y must hold one label per row of X, got 999 for 1000 rows"):
        evaluate_selective(ours, X_test, y_test[:-1])
