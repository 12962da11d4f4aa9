from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.svm import LinearSVC

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, ScoreColumn, SCross
from aucross.export.band_text import band_from_json, band_to_sql
from aucross.export.rule_text import rule_to_json, rule_to_sql
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint

X, y = make_classification(600, n_features=8, n_informative=5, flip_y=0.2, random_state=0)
three_classes = np.digitize(X[:, 0] + y, [-0.5, 1.0])
region = np.where(X[:, 1] > 0, "north", "d'Oc")
logistic = LogisticRegression()


def reviewed_by(rule, score, coverage, group=None):
    """What another system does with the JSON."""
    (band,) = [band for band in rule["bands"] if band["coverage"] == coverage and band["group"] == group]
    lower = -np.inf if band["lower"] is None else band["lower"]
    upper = np.inf if band["upper"] is None else band["upper"]
    return (score >= lower) & (score <= upper) if band["review"] == "interval" else np.zeros(len(score), dtype=bool)


@pytest.mark.parametrize("clf", [AUCross(logistic, random_state=0), PlugInAUC(logistic, random_state=0)])
def test_the_json_of_an_auc_method_is_applied_to_the_probability_of_the_positive_class(clf):
    clf.fit(X, y)
    rule = json.loads(rule_to_json(clf, [1.0, 0.9, 0.5]))
    assert rule["score"] == "p, where p is the probability of positive_class"
    for coverage in (1.0, 0.9, 0.5):
        reviewed = reviewed_by(rule, clf.predict_proba(X)[:, 1], coverage)
        np.testing.assert_array_equal(~reviewed, clf.select(X, coverage))


@pytest.mark.parametrize("clf", [SCross(logistic, random_state=0), PlugIn(logistic, random_state=0)])
def test_the_json_of_a_confidence_method_states_the_confidence(clf):
    clf.fit(X, y)
    rule = json.loads(rule_to_json(clf, [0.8]))
    assert rule["score"] == "max(p, 1 - p), where p is the probability of positive_class"
    p = clf.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(~reviewed_by(rule, np.maximum(p, 1 - p), 0.8), clf.select(X, 0.8))


def test_decision_values_are_named():
    for clf, function in (
        (AUCross(LinearSVC(), random_state=0), np.asarray),
        (SCross(LinearSVC(), random_state=0), np.abs),
    ):
        clf.fit(X, y)
        rule = json.loads(rule_to_json(clf, [0.8]))
        assert "decision value" in rule["score"]
        np.testing.assert_array_equal(~reviewed_by(rule, function(clf.decision_function(X)), 0.8), clf.select(X, 0.8))


def test_the_confidence_among_many_classes_is_stated():
    clf = SCross(logistic, random_state=0).fit(X, three_classes)
    rule = json.loads(rule_to_json(clf, [0.8]))
    assert rule["score"] == "the largest of the probabilities of the classes"
    assert rule["positive_class"] is None
    np.testing.assert_array_equal(~reviewed_by(rule, clf.predict_proba(X).max(axis=1), 0.8), clf.select(X, 0.8))


@pytest.mark.parametrize(
    ("clf", "labels"),
    [
        (AUCGate(logistic, HistGradientBoostingClassifier(max_iter=5, random_state=0), cv=2, random_state=0), y),
        (AUCross(logistic, cv=2, random_state=0), three_classes),
    ],
    ids=["gate", "three classes"],
)
def test_rules_on_the_influence_are_refused_with_a_remedy(clf, labels):
    clf.fit(X, labels)
    for write in (lambda: rule_to_json(clf), lambda: rule_to_sql(clf, "score")):
        with pytest.raises(
            ValueError, match=r"selection score that takes the models to compute.*decide with select\(X\)"
        ):
            write()


def test_the_json_names_format_method_classes_and_fingerprints():
    labels = np.where(y == 1, "bad", "good")
    clf = AUCross(logistic, coverage=0.75, random_state=0).fit(X, labels)
    rule = json.loads(rule_to_json(clf))
    assert (rule["format"], rule["format_version"], rule["method"]) == ("aucross-rule", 1, "AUCross")
    assert (rule["classes"], rule["positive_class"]) == (["bad", "good"], "good")
    assert rule["model_fingerprint"] == model_fingerprint(clf)
    assert rule["rule_fingerprint"] == rule_fingerprint(clf)
    assert [band["coverage"] for band in rule["bands"]] == [0.75]


def test_an_entry_of_the_json_is_the_json_of_a_band():
    clf = AUCross(logistic, random_state=0).fit(X, y)
    (entry,) = json.loads(rule_to_json(clf, [0.6]))["bands"]
    assert band_from_json(json.dumps(entry)) == clf.band(0.6)


def test_groups_have_an_entry_each():
    clf = AUCross(logistic, random_state=0).fit(X, y, band_groups=region)
    rule = json.loads(rule_to_json(clf, [0.9, 0.7]))
    assert len(rule["bands"]) == 4
    for group in ("north", "d'Oc"):
        rows = region == group
        reviewed = reviewed_by(rule, clf.predict_proba(X[rows])[:, 1], 0.7, group)
        np.testing.assert_array_equal(~reviewed, clf.select(X[rows], 0.7, band_groups=region[rows]))


def test_groups_that_text_cannot_name_are_refused():
    dates = np.where(X[:, 1] > 0, np.datetime64("2024-01-01"), np.datetime64("2025-01-01"))
    clf = AUCross(logistic, random_state=0).fit(X, y, band_groups=dates)
    with pytest.raises(ValueError, match=r"groups must be text, numbers or booleans.*name them by text in fit"):
        rule_to_json(clf)


def test_a_coverage_outside_is_refused():
    clf = AUCross(logistic, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"for 90 % pass 0\.9"):
        rule_to_json(clf, [90])


def test_before_fit_there_is_no_rule():
    with pytest.raises(NotFittedError):
        rule_to_json(AUCross(logistic))
    with pytest.raises(NotFittedError):
        rule_to_sql(AUCross(logistic), "score")


def decisions_in_sqlite(expression, scores, groups):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE cases (number INTEGER, score DOUBLE PRECISION, region)")
        rows = zip(range(len(scores)), np.asarray(scores).tolist(), np.asarray(groups).tolist(), strict=True)
        connection.executemany("INSERT INTO cases VALUES (?, ?, ?)", rows)
        return np.array([row[0] for row in connection.execute(f"SELECT {expression} FROM cases ORDER BY number")])


def test_sql_decides_as_select_does():
    clf = AUCross(logistic, random_state=0).fit(X, y)
    decided = decisions_in_sqlite(rule_to_sql(clf, "score", 0.7), clf.decide(X).selection_score, region)
    np.testing.assert_array_equal(decided == "automatic", clf.select(X, 0.7))


@pytest.mark.parametrize("groups", [region, X[:, 1] > 0, (X[:, 1] > 0).astype(int), np.where(X[:, 1] > 0, 0.5, -1e-7)])
def test_sql_with_groups_decides_as_select_does(groups):
    clf = AUCross(logistic, random_state=0).fit(X, y, band_groups=groups)
    expression = rule_to_sql(clf, "score", 0.7, band_group_column="region")
    decided = decisions_in_sqlite(expression, clf.decide(X, 0.7, groups).selection_score, groups)
    np.testing.assert_array_equal(decided == "automatic", clf.select(X, 0.7, band_groups=groups))


def test_unseen_and_missing_groups_go_to_review_in_sql():
    clf = AUCross(logistic, random_state=0).fit(X, y, band_groups=region)
    expression = rule_to_sql(clf, "score", 1.0, band_group_column="region")
    assert decisions_in_sqlite(expression, [0.01, 0.01, 0.01], ["north", "south", None]).tolist() == [
        "automatic",
        "review",
        "review",
    ]


@pytest.mark.parametrize("other", ["NORTH", "north ", "Nörth"])
def test_groups_that_a_collation_does_not_tell_apart_are_refused(other):
    groups = np.where(X[:, 1] > 0, "north", other)
    clf = AUCross(logistic, random_state=0).fit(X, y, band_groups=groups)
    with pytest.raises(ValueError, match=r"^groups of bands must differ by more than case, .*; give them names that"):
        rule_to_sql(clf, "score", band_group_column="region")


def test_the_column_of_groups_goes_with_bands_per_group():
    with pytest.raises(ValueError, match=r"band_group_column must be given if and only if .*; leave it out"):
        rule_to_sql(AUCross(logistic, random_state=0).fit(X, y), "score", band_group_column="region")
    with pytest.raises(ValueError, match=r"band_group_column must be given if and only if .*; name the column"):
        rule_to_sql(AUCross(logistic, random_state=0).fit(X, y, band_groups=region), "score")


# ---- a score that is a column: the rule is for the column as it is ----

N_CASES = 3000
draws = np.random.default_rng(3)
risk = draws.beta(1, 4, N_CASES)
defaulted = (draws.random(N_CASES) < risk).astype(int)
COLUMNS = {
    "whole points": (np.round(900 - 500 * risk), 600),
    "points with decimals": (900 - 500 * risk + draws.normal(0, 1e-3, N_CASES), 600.1),
    "far below the threshold": (0.5 - 0.4 * risk, 1e6),
    "probabilities": (1 - risk, None),
}


def decided_by(database, expression, frame):
    if database == "duckdb":
        with closing(duckdb.connect()) as connection:
            connection.register("cases", frame)
            return connection.execute(f"SELECT {expression} AS decision FROM cases").df()["decision"].to_numpy()
    with closing(sqlite3.connect(":memory:")) as connection:
        frame.to_sql("cases", connection)
        return np.array([row[0] for row in connection.execute(f'SELECT {expression} FROM cases ORDER BY "index"')])


# Each value with every database and direction.
@pytest.mark.parametrize(
    ("database", "kind", "higher_is_positive", "method"),
    [
        ("sqlite", "whole points", True, AUCross),
        ("duckdb", "whole points", False, SCross),
        ("sqlite", "points with decimals", False, AUCross),
        ("duckdb", "points with decimals", True, SCross),
        ("sqlite", "far below the threshold", True, PlugIn),
        ("duckdb", "far below the threshold", False, PlugInAUC),
        ("duckdb", "probabilities", True, PlugInAUC),
        ("sqlite", "probabilities", False, PlugIn),
        ("duckdb", "probabilities", True, AUCross),
    ],
)
def test_sql_decides_on_the_column_of_a_score_as_select_does(database, kind, higher_is_positive, method):
    values, threshold = COLUMNS[kind]
    if higher_is_positive:
        values = 1 - values if threshold is None else -values
        threshold = None if threshold is None else -threshold
    frame = pd.DataFrame({"points": values})
    model = ScoreColumn("points", threshold=threshold, higher_is_positive=higher_is_positive)
    clf = method(model, coverage=0.8, random_state=0).fit(frame, defaulted)
    # Neighbours of values have the same score where the distance is rounded, and lie at both sides of the ends.
    near = pd.DataFrame({"points": np.concatenate([values, np.nextafter(values, -2e6), np.nextafter(values, 2e6)])})
    if threshold is None:
        near = near.clip(0, 1)
    decided = decided_by(database, rule_to_sql(clf, "points"), near)
    np.testing.assert_array_equal(decided == "automatic", clf.select(near))
    assert 0.7 < np.mean(decided == "automatic") < 0.9


def scorecard(method=AUCross, **parameters):
    frame = pd.DataFrame({"points": COLUMNS["whole points"][0]})
    model = ScoreColumn("points", threshold=600, higher_is_positive=False)
    return method(model, coverage=0.8, random_state=0, **parameters).fit(frame, defaulted), frame


@pytest.mark.parametrize("method", [AUCross, SCross])
def test_the_json_has_the_band_in_units_of_the_column_too(method):
    clf, frame = scorecard(method)
    rule = json.loads(rule_to_json(clf))
    assert rule["score_column"] == {"column": "points", "threshold": 600.0, "higher_is_positive": False}
    assert rule["score"].endswith("and d = 600 - x, where x is the column 'points'")
    (entry,) = rule["bands"]
    in_column = band_from_json(json.dumps(entry["in_column"]))
    np.testing.assert_array_equal(in_column.selects(frame["points"]), clf.select(frame))
    assert band_from_json(json.dumps(entry)) == clf.band()


def test_sql_of_a_score_column_has_bands_per_group_in_its_units():
    frame = pd.DataFrame({"points": COLUMNS["whole points"][0], "region": np.where(np.arange(N_CASES) % 3, "a", "b")})
    model = ScoreColumn("points", threshold=600, higher_is_positive=False)
    clf = AUCross(model, coverage=0.8).fit(frame, defaulted, band_groups=frame["region"])
    decided = decided_by("sqlite", rule_to_sql(clf, "points", band_group_column="region"), frame)
    np.testing.assert_array_equal(decided == "automatic", clf.select(frame, band_groups=frame["region"]))


def test_a_column_in_another_unit_is_refused():
    clf, _ = scorecard()
    with pytest.raises(ValueError, match=r"column must be 'points', .* got 'distance'; .*SELECT distance AS points"):
        rule_to_sql(clf, "distance")
    assert rule_to_sql(clf, "POINTS") == rule_to_sql(clf, "points").replace("points", "POINTS")
    as_it_is = AUCross(ScoreColumn("pd"), coverage=0.8).fit(pd.DataFrame({"pd": risk}), defaulted)
    assert rule_to_sql(as_it_is, "score") == band_to_sql(as_it_is.band(), "score")


@pytest.mark.parametrize("pos_label", [None, 0])
def test_a_column_with_another_cut_off_is_written_in_its_units_or_refused(pos_label):
    frame = pd.DataFrame({"repaid": 1 - risk})
    model = FixedThresholdClassifier(ScoreColumn("repaid", higher_is_positive=False), threshold=0.2)
    clf = AUCross(model, coverage=0.8, pos_label=pos_label, random_state=0).fit(frame, defaulted)
    if pos_label == 0:
        with pytest.raises(ValueError, match=r"'repaid' must speak for the positive class 0 .* the same pos_label"):
            rule_to_sql(clf, "repaid")
        assert "score_column" not in json.loads(rule_to_json(clf))
        return
    decided = decided_by("sqlite", rule_to_sql(clf, "repaid"), frame)
    np.testing.assert_array_equal(decided == "automatic", clf.select(frame))
