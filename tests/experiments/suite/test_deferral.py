"""The selective deferral task, on made-up rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("lightgbm", reason='needs `pip install "aucross[experiments]"`')

from experiments.suite import deferral
from experiments.suite.deferral import Part, deferral_page, groups_of, judged, policies


@pytest.fixture(scope="module")
def parts():
    """Two groups; the model is surer of the first, so that a threshold on confidence defers the second more."""
    rng = np.random.default_rng(0)
    group = np.where(rng.random(3000) < 0.7, "a", "b")
    x = rng.normal(0, np.where(group == "a", 3.0, 1.0))
    y = (rng.random(3000) < 1 / (1 + np.exp(-x))).astype(np.int64)
    rows = [Part(pd.DataFrame({"x": x[part]}), y[part], group[part]) for part in np.split(np.arange(3000), 3)]
    return LogisticRegression().fit(rows[0].X, rows[0].y), rows[1], rows[2]


def test_groups_are_read_from_one_hot_columns():
    X = pd.DataFrame(
        {"sex_Male": [0, 1], "sex_Female": [1, 0], "race_Black": [0, 1], "race_White": [1, 0], "age": [3, 4]}
    )
    assert groups_of(X).tolist() == ["Female White", "Male Black"]


def test_every_policy_accepts_four_fifths(parts):
    found = policies(*parts)
    assert len(found) == 6
    assert {name: accepted.sum() for name, accepted in found.items()} == dict.fromkeys(found, 800)


def test_confidence_accepts_the_most_confident(parts):
    model, _, test = parts
    accepted, confidence = policies(*parts)["confidence"], model.predict_proba(test.X).max(axis=1)
    assert confidence[accepted].min() >= confidence[~accepted].max()


def test_band_groups_close_the_gap_that_confidence_leaves(parts):
    model, _, test = parts
    gaps = {name: judged(model, test, accepted)["deferral_gap"] for name, accepted in policies(*parts).items()}
    assert gaps["confidence"] > 0.1
    assert gaps["SCross, band groups and capacity"] < 0.01
    assert gaps["AUCross, band groups and capacity"] < 0.01
    assert gaps["group thresholds"] < gaps["confidence"]


def test_measures_are_those_of_the_accepted_rows(parts):
    model, _, test = parts
    accepted = np.arange(len(test.y)) < 500
    found = judged(model, test, accepted)
    wrong = model.predict(test.X) != test.y
    assert found["errors"] == wrong[:500].sum()
    assert found["all_errors"] == wrong.sum()
    assert found["coverage"] == 0.5


def test_the_page_shows_the_published_figures(parts):
    model, _, test = parts
    rows = [
        {"split": s, "policy": name, **judged(model, test, rows)}
        for s in (0, 1)
        for name, rows in policies(*parts).items()
    ]
    text = deferral_page(pd.DataFrame(rows))
    assert "| .239 |" in text
    assert "published are 1,238 test errors" in text
    assert "Means over 2 splits of Adult, 1,000 test rows, of which 80% are accepted" in text
    assert deferral.deferral_works(3)[2].key["split"] == 2
