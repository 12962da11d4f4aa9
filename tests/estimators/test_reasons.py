"""Columns in reasons: a planted cause is named first, whatever the model, and nothing is named that tells nothing."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from xgboost import XGBClassifier

from aucross import AUCGate, AUCross, CoverageKeeper, SCross
from aucross.estimators.reasons import _EXACT, Beside, _Contrasts, _told, _usual

pytest.importorskip("catboost", reason='needs catboost: pip install "aucross[test]"')

from benchmarks.reasons import first_named, linear_rows, planted_cases

X, y = linear_rows(5000, np.random.default_rng(0))
MODELS = {
    "LightGBM": LGBMClassifier(n_estimators=40, random_state=0, n_jobs=1, verbose=-1),
    "XGBoost": XGBClassifier(n_estimators=30, random_state=0, n_jobs=1),
    "logistic": LogisticRegression(),
}


@pytest.fixture(scope="module", params=MODELS)
def clf(request):
    return AUCross(MODELS[request.param], coverage=0.8, cv=3, random_state=0).fit(X[:2500], y[:2500])


def test_a_planted_cause_is_named_first(clf):
    cases, causes = planted_cases(clf, X[2500:], np.random.default_rng(1), 100)
    assert (np.array(first_named(clf, X[2500:], cases)) == causes).mean() >= 0.9


def test_no_value_is_named_that_is_usual_among_the_automatic_cases(clf):
    said = " ".join(clf.review_queue(X[2500:], 200).reason)
    named = re.findall(r"c\d+ (\S+) \(there (\S+) to (\S+)\)", said)
    assert len(named) >= 100
    assert not [found for found in named if float(found[1]) < float(found[0]) < float(found[2])]


def contributions(model, classes=(0, 1), rows=X):
    fitted = SimpleNamespace(models=[(model, "predict_proba")], classes=np.array(classes))
    return _Contrasts(fitted, 0, rows)._contributions(np.arange(50))


def test_contributions_of_trees_and_logistic_regressions_are_exact_and_of_others_tried():
    models = {
        **MODELS,
        "scaled": make_pipeline(StandardScaler(), "passthrough", LogisticRegression()),
        "mixed": make_pipeline(StandardScaler(), PCA(), LogisticRegression()),
        "row by row": make_pipeline(Normalizer(), LogisticRegression()),
        "scaled trees": make_pipeline(StandardScaler(), MODELS["LightGBM"]),
    }
    for name, model in models.items():
        model.fit(X, y)
        found = contributions(model)
        assert (found is not None) == (name in {*MODELS, "scaled"}), name
        turned = contributions(model, classes=(1, 0))
        assert found is turned is None or np.allclose(turned, -found)


def test_contributions_of_boosting_in_sklearn_come_from_shap_where_it_is_installed(monkeypatch):
    pytest.importorskip("shap", reason="SHAP is not installed")
    for model in (HistGradientBoostingClassifier(max_iter=20), GradientBoostingClassifier(n_estimators=10)):
        found = contributions(model.fit(X, y))
        mean = model.decision_function(X[:50]) - found.sum(axis=1)
        np.testing.assert_allclose(mean, mean[0], rtol=1e-9)
        assert np.allclose(contributions(model, classes=(1, 0)), -found)
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "shap", None)
            assert contributions(model) is None


def test_columns_are_tried_where_shap_cannot_tell():
    pytest.importorskip("shap", reason="SHAP is not installed")
    rows = X.assign(c0=pd.Categorical(np.where(X["c0"] > 0, "high", "low")))
    assert contributions(HistGradientBoostingClassifier(max_iter=20).fit(rows, y), rows=rows) is None


def test_contributions_that_do_not_add_up_to_the_score_are_not_taken():
    class LGBMClassifierOfAnotherUnit(LGBMClassifier):
        def predict_proba(self, rows):
            return super().predict_proba(rows) ** 2

    LGBMClassifierOfAnotherUnit.__name__ = "LGBMClassifier"
    model = LGBMClassifierOfAnotherUnit(n_estimators=20, n_jobs=1, verbose=-1).fit(X, y)
    assert contributions(model) is None


def test_reasons_of_frames_of_both_libraries_and_of_arrays_name_the_same_values():
    rows = X[2500:]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    by_library = {}
    for name, made in {"pandas": rows, "polars": pl.from_pandas(rows), "array": rows.to_numpy()}.items():
        train = {"pandas": X[:2500], "polars": pl.from_pandas(X[:2500]), "array": X[:2500].to_numpy()}[name]
        clf = AUCross(model, coverage=0.8, cv=3, random_state=0).fit(train, y[:2500])
        by_library[name] = clf.review_queue(made, 20).reason
    assert by_library["pandas"] == by_library["polars"]
    turned = [reason.replace("column ", "c") for reason in by_library["array"]]
    assert turned == list(by_library["pandas"])


def test_decisions_by_a_coverage_and_by_a_keeper_have_reasons_too(clf):
    rows = X[2500:3500]
    decisions = clf.decide(rows)
    reasons = clf.reasons(decisions, rows, class_names={0: "paid", 1: "default"})
    assert [reason == "" for reason in reasons] == decisions.selected.tolist()
    band = clf.band()
    told = next(reason for reason in reasons if reason)
    assert f"lies in the review range {band.lower:.3f} to {band.upper:.3f}; about " in told
    assert "of cases with such a score belong to 'default'; unlike automatic cases with " in told
    plain = next(reason for reason in clf.reasons(decisions) if reason)
    assert told.replace("'default'", "class 1").startswith(plain)
    kept = CoverageKeeper(clf, 0.5).decide(rows)
    assert [reason == "" for reason in clf.reasons(kept, rows)] == kept.selected.tolist()


def test_ends_of_a_review_range_that_has_none_are_said_in_words(clf):
    rows = X[2500:2600]
    keeper = CoverageKeeper(clf, 0.5, step=1.0)
    decisions = keeper.decide(rows)
    said = " ".join(clf.reasons(decisions))
    assert "goes to review, as every score does now" in said
    assert "inf" not in said


def test_reasons_need_the_rows_that_were_scored(clf):
    decisions = clf.decide(X[2500:2600])
    with pytest.raises(ValueError, match="decisions must come with their scored rows, got none; pass what decide"):
        clf.reasons(type(decisions)(decisions.selected, decisions.selection_score, 0.8))


def test_a_gate_tells_what_it_knows_and_the_score_does_not():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(5000, 3)), columns=["seen", "hidden", "noise"])
    labels = (rows["seen"] + 3 * (rows["hidden"].abs() > 1.2) + rng.logistic(size=5000) * 0.3 > 1.0).astype(int)
    gate = LGBMClassifier(n_estimators=40, random_state=0, n_jobs=1, verbose=-1)
    clf = AUCGate(LogisticRegression(), gate, coverage=0.8, cv=3, random_state=0).fit(rows[:2500], labels[:2500])
    queue = clf.review_queue(rows[2500:], 100, class_names={1: "bad"})
    differ = [reason for reason in queue.reason if "score and gate together say" in reason]
    assert len(differ) > 50
    named = [reason.partition("unlike automatic cases with like scores: ")[2] for reason in differ]
    assert np.mean([text.startswith("hidden ") for text in named]) >= 0.9
    assert "for 'bad', score and gate" in differ[0]


def test_confidence_and_class_names():
    clf = SCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0).fit(X[:2500], y[:2500])
    queue = clf.review_queue(X[2500:], 30, class_names={0: "paid", 1: "default"})
    assert all("sure of 'paid'; unlike" in text or "sure of 'default'; unlike" in text for text in queue.reason)


def test_columns_of_the_table_stand_beside_the_cases(clf):
    queue = clf.review_queue(X[2500:], 30, keep=["c3", "c1"])
    frame = queue.to_frame()
    assert frame.columns[-2:].tolist() == ["c3", "c1"]
    assert frame["c3"].tolist() == X[2500:]["c3"].to_numpy()[queue.row].tolist()
    with pytest.raises(ValueError, match=r"keep must list columns of X, got \['amount'\]; pass some of"):
        clf.review_queue(X[2500:], 30, keep=["amount"])
    with pytest.raises(ValueError, match="keep must list columns of X, got 'c1'"):
        clf.review_queue(X[2500:], 30, keep="c1")
    renamed = X[2500:].rename(columns={"c1": "score"})
    with pytest.raises(ValueError, match=r"keep must not name columns of the queue itself, got \['score'\]"):
        queue.with_columns(renamed, ["score"])


def test_rows_that_came_scored_and_too_few_automatic_ones_name_no_columns(clf):
    rows = X[2500:]
    assert "unlike" not in "".join(clf.review_queue(clf.scored(rows), 30).reason)
    assert "unlike" not in "".join(clf.review_queue(rows[:25], 20).reason)


def test_usual_values_are_told_of_numbers_categories_and_missing_ones():
    def usual(beside, own):
        told, beyond = _usual(np.array(beside), np.array(own))
        return told, beyond.tolist()

    spread = np.std([1.0, 2.0, 3.0, 4.0, 5.0]) / 2
    beyond = [0.0, 0.0, pytest.approx(1 / spread), pytest.approx(0.5 / spread), 4.0, 4.0]
    assert usual([1.0, 2.0, 3.0, 4.0, 5.0], [2.5, 4.0, 5.0, 1.5, 1e9, float("nan")]) == ("2 to 4", beyond)
    assert usual([0, 0, 0, 0, 1], [0, 1]) == ("0", [0.0, 4.0])
    assert usual(["a", "b", "a", None], ["a", "b", "new", None]) == ("mostly 'a'", [0.0, 2.0, 4.0, 2.0])
    assert usual([None, None, 3.0], [None, 3.0]) == ("mostly missing", [0.0, 2.0])
    assert usual([1.0, 2.0, np.nan], [np.nan])[1] == [2.0]
    assert usual([12_345.6, 23_456.7], [1.0])[0] == "15,100 to 20,700"
    # One infinite value beside a case does not silence its column, and with it all others.
    infinite = [1.0, 2.0, 3.0, 4.0, 5.0, np.inf]
    assert usual(infinite, [3.0, np.inf, -np.inf])[1] == [0.0, 4.0, 4.0]


def test_the_column_named_first_has_a_strange_value_and_moves_the_score():
    rows = np.column_stack((np.tile(np.linspace(-1, 1, 20), 2)[:21], *np.random.default_rng(0).normal(size=(2, 21))))
    rows[20] = [1.2, 5.0, 9.0]
    difference = np.array([[[1.0, 1.0, 0.05]]])
    contrasts = SimpleNamespace(against=lambda *_: (difference, np.ones_like(difference)))
    sides = [Beside(np.arange(20), "others", 1.0)]
    assert _told(contrasts, rows, np.array([20]), sides)[0].startswith("unlike others: column 1 5 (there ")
    assert _told(contrasts, rows, np.array([20]), [sides[0]._replace(sign=-1.0)]) == [""]


def test_contributions_of_a_logistic_regression_add_up_to_its_score():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    model = LogisticRegression().fit(rows, rows["a"] + rng.normal(size=200) > 0)
    found = _EXACT["LogisticRegression"](model, rows)
    np.testing.assert_allclose(found.sum(axis=1), model.decision_function(rows), rtol=1e-12, atol=1e-12)
