"""The selective deferral task, on made-up rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

pytest.importorskip("lightgbm", reason='needs `pip install "aucross[experiments]"`')

from experiments.suite import deferral
from experiments.suite.deferral import Part, deferral_page, groups_of, judged, policies, with_shared


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
    assert len(found) == 10
    assert {name: accepted.sum() for name, accepted in found.items()} == dict.fromkeys(found, 800)


def test_confidence_accepts_the_most_confident(parts):
    model, _, test = parts
    accepted, confidence = policies(*parts)["confidence"], model.predict_proba(test.X).max(axis=1)
    assert confidence[accepted].min() >= confidence[~accepted].max()


def test_band_groups_close_the_gap_that_confidence_leaves(parts):
    model, _, test = parts
    gaps = {name: judged(model, test, accepted)["deferral_gap"] for name, accepted in policies(*parts).items()}
    assert gaps["confidence"] > 0.1
    for method in ("SCross", "AUCross"):
        assert gaps[f"{method}, bands of 20 rows and capacity"] < 0.01
        assert gaps[f"{method}, bands of 100 rows and capacity"] < 0.01
        assert gaps[f"{method}, capacity shared by group"] < 0.01
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


def test_groups_with_few_rows_share_a_name_until_they_are_enough():
    held = np.array(["a"] * 60 + ["b"] * 25 + ["c"] * 12 + ["d"] * 4)
    assert set(with_shared(held, held, 20)) == {"a", "small groups"}  # c and d have 16, so b joins them
    assert set(with_shared(held, held, 10)) == {"a", "b", "small groups"}  # d has 4, so c joins it
    assert set(with_shared(held, held, 3)) == {"a", "b", "c", "d"}
    # A group that no calibration row has seen is judged by the shared band.
    assert with_shared(np.array(["a", "e"]), held, 10).tolist() == ["a", "small groups"]


def test_small_groups_that_share_a_band_share_the_reviews_as_well(parts):
    """One band for two groups: the gap between them stays; a band each closes it."""
    model, held, test = parts
    split = [
        part._replace(groups=np.where((np.arange(len(part.y)) % 8 == 0) & (part.groups == "b"), "c", part.groups))
        for part in (held, test)
    ]
    split = [
        part._replace(groups=np.where((part.groups == "a") & (np.abs(part.X["x"]) > 5.5), "d", part.groups))
        for part in split
    ]
    gaps = {
        name: judged(model, split[1], accepted)["deferral_gap"] for name, accepted in policies(model, *split).items()
    }
    assert gaps["SCross, bands of 100 rows and capacity"] > 0.2
    assert gaps["SCross, bands of 20 rows and capacity"] < 0.1
