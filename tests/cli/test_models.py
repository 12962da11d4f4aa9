from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from aucross.cli import base_models
from aucross.cli.base_models import Features, fit_classifier, make_classifier, make_model
from aucross.cli.command_options import Base, Method
from aucross.cli.errors import CommandError
from aucross.cli.schema import LabelledRows
from aucross.files.model_file import load, save

COLUMNS = {"amount": "number", "region": "category", "purpose": "category"}
N_ROWS = 600


@pytest.fixture(scope="module")
def rows() -> LabelledRows:
    """A number and two categories with gaps, one of them with many values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "amount": rng.normal(size=N_ROWS),
            "region": rng.choice(["north", "south"], N_ROWS).astype(object),
            "purpose": np.array([f"purpose {number}" for number in rng.integers(0, 100, N_ROWS)], dtype=object),
        }
    )
    chance = 1 / (1 + np.exp(-X["amount"] - (X["region"] == "north")))
    X.loc[::7, ["amount", "region"]] = np.nan
    return LabelledRows(X, (rng.random(N_ROWS) < chance).astype(np.int64), rng.uniform(0.5, 2, N_ROWS))


@pytest.mark.parametrize("base", Base)
def test_every_base_model_reads_gaps_unseen_and_many_categories_and_can_be_stored(base, rows, tmp_path):
    clf = make_classifier(
        Method.PLUGIN_AUC, base, Features.of(COLUMNS, rows.X), coverage=0.8, seed=0, jobs=1, weighted=True
    )
    fit_classifier(clf, rows)
    new = rows.X.iloc[:50].copy()
    new.loc[:10, "region"] = "west"
    save(clf, tmp_path / "model.aucross")
    loaded = load(tmp_path / "model.aucross")
    assert np.array_equal(loaded.predict_proba(new), clf.predict_proba(new))
    assert np.array_equal(loaded.select(new), clf.select(new))


@pytest.mark.few_scores
@pytest.mark.parametrize("method", Method)
def test_every_method_fits_with_weights_and_can_be_stored(method, rows, tmp_path):
    few = rows.take(np.arange(250))
    clf = make_classifier(
        method, Base.LOGISTIC, Features.of(COLUMNS, few.X), coverage=0.8, seed=0, jobs=1, weighted=True
    )
    fit_classifier(clf, few)
    save(clf, tmp_path / "model.aucross")
    assert np.array_equal(load(tmp_path / "model.aucross").select(rows.X), clf.select(rows.X))


@pytest.mark.parametrize("base", Base)
def test_tables_without_numbers_or_without_categories_work(base, rows):
    for names in (["amount"], ["region"]):
        columns = {name: COLUMNS[name] for name in names}
        model = make_model(base, Features.of(columns, rows.X), seed=0).fit(rows.X[names], rows.y)
        probability = model.predict_proba(rows.X[names])
        assert probability.sum(axis=1) == pytest.approx(1)
        assert roc_auc_score(rows.y, probability[:, 1]) > 0.57


@pytest.mark.parametrize(("base", "most"), [(Base.HGB, 254), (Base.LOGISTIC, 50)])
def test_of_many_categories_the_model_knows_the_frequent_ones(base, most):
    names = [f"place {number:03d}" for number in range(300) for _ in range(6 if number % 7 else 5)]
    X = pd.DataFrame({"place": np.array(names, dtype=object)})
    model = make_model(base, Features.of({"place": "category"}, X), seed=0).fit(X, np.arange(len(X)) % 2)
    known = [value for value in model[0].transformers_[0][1].categories_[0] if isinstance(value, str)]
    assert len(known) == most
    assert {"place 007", "place 014"}.isdisjoint(known)


def test_a_model_knows_no_category_of_fewer_than_five_rows(rows, tmp_path):
    rare = np.array(["a"] * 300 + ["b"] * 292 + ["Ada Lovelace"] * 4 + ["Alan Turing"] * 4, dtype=object)
    X = rows.X.assign(region=rare)
    for base in Base:
        model = make_model(base, Features.of(COLUMNS, X), seed=0).fit(X, rows.y)
        assert "Lovelace" not in repr(model[0].transformers_)
        unknown = X.assign(region="never seen")[-8:]
        assert np.array_equal(model.predict_proba(X[-8:]), model.predict_proba(unknown))


def test_without_a_frequent_category_there_is_nothing_to_learn_from(rows):
    with pytest.raises(CommandError, match=r"no column is left to learn from: no category has 5 rows"):
        Features.of({"name": "category"}, pd.DataFrame({"name": [f"{number}" for number in range(20)]}))


def test_the_logistic_base_learns_from_what_is_missing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = pd.DataFrame({"debt": np.where(rng.random(2000) < 0.1 + 0.5 * y, np.nan, rng.normal(size=2000))})
    model = make_model(Base.LOGISTIC, Features(["debt"], {}), seed=0).fit(X, y)
    assert roc_auc_score(y, model.predict_proba(X)[:, 1]) > 0.7


def test_weights_reach_the_model(rows):
    fitted = []
    for weight in (np.ones(N_ROWS), np.where(rows.y, 5.0, 1.0)):
        features = Features.of(COLUMNS, rows.X)
        clf = make_classifier(Method.PLUGIN, Base.LOGISTIC, features, coverage=0.8, seed=0, jobs=1, weighted=True)
        fitted.append(fit_classifier(clf, LabelledRows(rows.X, rows.y, weight)))
    plain, weighted = (clf.predict_proba(rows.X)[:, 1].mean() for clf in fitted)
    assert weighted > plain + 0.1


def test_the_same_seed_gives_the_same_model(rows):
    features = Features.of(COLUMNS, rows.X)
    scores = [make_model(Base.HGB, features, seed=3).fit(rows.X, rows.y).predict_proba(rows.X)[:, 1] for _ in range(2)]
    assert np.array_equal(*scores)


def test_a_missing_library_is_named_with_its_installation(monkeypatch):
    monkeypatch.setattr(base_models, "find_spec", lambda name: None)
    with pytest.raises(CommandError) as caught:
        make_model(Base.LIGHTGBM, Features(["amount"], {}), seed=0)
    assert str(caught.value) == (
        "--base lightgbm needs lightgbm, which is not installed: pip install lightgbm; --base hgb needs nothing more"
    )
