"""A small synthetic data set under the names of the real ones, and a cache of its own."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

pytest.importorskip("lightgbm", reason='needs `pip install "aucross[experiments]"`')
pytest.importorskip("xgboost", reason='needs `pip install "aucross[experiments]"`')
pd = pytest.importorskip("pandas", reason='needs `pip install "aucross[experiments]"`')

from experiments import plan, protocol, store  # noqa: E402 - after the checks that its needs are there
from experiments.datasets import Dataset  # noqa: E402


@pytest.fixture(autouse=True)
def coarse_pictures(monkeypatch):
    """Pictures of few pixels: finding their palette and packing them is most of the time of a figure."""
    monkeypatch.setattr("experiments.drawing.DPI", 40)


def synthetic(name, n_rows=1200):
    X, y = make_classification(n_rows, n_features=6, flip_y=0.2, weights=[0.7], random_state=len(name))
    return Dataset(name, pd.DataFrame(X).add_prefix("x"), y.astype(np.int64), None, "made here", ())


@pytest.fixture
def small_data(monkeypatch, tmp_path):
    """Every data set is synthetic and small, and nothing is read from or written to the real cache."""
    plan.settings_of.cache_clear()
    monkeypatch.setattr(protocol, "load", lru_cache(synthetic))
    monkeypatch.setattr(store, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("AUCROSS_DATA", str(tmp_path))  # else the command sets it, for all tests after this one
    for name, few in {"LightGBM": {"n_estimators": 8, "verbose": -1}, "XGBoost": {"n_estimators": 8}}.items():
        model = protocol.CLASSIFIERS[name]().set_params(n_jobs=1, **few)
        monkeypatch.setitem(protocol.CLASSIFIERS, name, partial(clone, model))
    yield
    plan.settings_of.cache_clear()
