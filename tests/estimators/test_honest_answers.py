"""Answers that must not depend on units, on luck with small samples, or on which fold scored a row."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from aucross import AUCross, PlugInAUC, SCross, selective_scorer

X, y = make_classification(1200, n_features=6, flip_y=0.3, random_state=0)
WEIGHT = np.random.default_rng(0).lognormal(sigma=1.0, size=len(y))


@pytest.mark.parametrize("method", [AUCross, PlugInAUC, SCross])
def test_the_interval_of_coverage_for_does_not_depend_on_the_unit_of_the_weights(method):
    # Without a penalty, which would weigh more the smaller the unit: the model must be the same in every unit.
    clf = method(LogisticRegression(C=1e10, tol=1e-8), random_state=0)
    answers = []
    for unit in (1.0, 1e4, 1 / WEIGHT.sum()):
        clf.fit(X, y, sample_weight=WEIGHT * unit)
        found = [clf.coverage_for(auc=auc) for auc in (0.75, 0.8, 0.85)]
        answers.append([(answer.low, answer.value, answer.high) for answer in found])
    for answer in answers[1:]:
        assert np.array(answer) == pytest.approx(np.array(answers[0]), abs=2e-3)


def test_equal_weights_have_the_interval_of_no_weights():
    clf = AUCross(LogisticRegression(), random_state=0)
    plain, weighted = clf.fit(X, y).coverage_for(auc=0.85), clf.fit(X, y, np.full(len(y), 7.0)).coverage_for(auc=0.85)
    assert weighted.low == pytest.approx(plain.low, abs=2e-3)
    assert weighted.high == pytest.approx(plain.high, abs=2e-3)


def test_unequal_weights_count_as_fewer_rows():
    held_out = AUCross(LogisticRegression(), random_state=0).fit(X, y, WEIGHT).held_out_
    effective = held_out.of_effective_size()
    for of_class in (held_out.positive, ~held_out.positive):
        weight = held_out.sample_weight[of_class]
        assert effective.sample_weight[of_class].sum() == pytest.approx(weight.sum() ** 2 / (weight @ weight))
    assert effective.ranked().auc() == pytest.approx(held_out.ranked().auc())


@pytest.mark.parametrize("method", [AUCross, PlugInAUC])
def test_centred_bands_do_not_depend_on_the_unit_of_the_weights(method):
    scorecard = FrozenEstimator(LogisticRegression().fit(X, y))
    clf = method(scorecard, placement="centered", random_state=0)
    expected = clf.fit(X, y).band(0.8)
    assert clf.fit(X, y, sample_weight=np.full(len(y), 1 / len(y))).band(0.8) == expected


def test_separated_classes_promise_less_than_certainty():
    rng = np.random.default_rng(0)
    few = rng.normal(size=(40, 1)) + np.repeat([[-5.0], [5.0]], 20, axis=0)
    clf = AUCross(LogisticRegression(), random_state=0).fit(few, np.repeat([0, 1], 20))
    found = clf.coverage_for(auc=0.99)
    assert found.value == 1.0
    assert found.low == 0.0


@pytest.mark.parametrize("placement", ["optimal", "centered"])
def test_a_model_without_knowledge_is_constant_though_each_fold_has_its_own_constant(placement):
    with pytest.warns(UserWarning, match="all held-out scores equal .*every row is selected"):
        clf = AUCross(DummyClassifier(), placement=placement, random_state=0).fit(X[:-1], y[:-1])
    assert clf.select(X, coverage=0.5).all()


def test_the_guard_looks_past_steps_that_hand_the_frame_on():
    pl = pytest.importorskip("polars")
    lightgbm = pytest.importorskip("lightgbm")
    frame = pl.DataFrame({"x": [0.0] * 20, "grade": pl.Series(["a", "b"] * 10, dtype=pl.Categorical)})
    model = make_pipeline(FunctionTransformer(), lightgbm.LGBMClassifier(n_jobs=1))
    with pytest.raises(TypeError, match=r"got \['grade'\], which would abort the process"):
        AUCross(model).fit(frame, [0, 1] * 10)
    with pytest.raises(TypeError, match=r"pass X.collect\(\)"):
        AUCross(model).fit(frame.lazy(), [0, 1] * 10)


def test_weights_reach_the_scorer_through_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        clf = AUCross(base, cv=3, random_state=0).set_fit_request(sample_weight=True, groups=False, band_groups=False)
        scorer = selective_scorer(coverage=0.8)
        plain, weighted = (
            GridSearchCV(clf, {"estimator__C": [1.0]}, cv=3, scoring=scorer.set_score_request(sample_weight=wanted))
            .fit(X, y, sample_weight=WEIGHT)
            .best_score_
            for wanted in (False, True)
        )
    assert plain != weighted
