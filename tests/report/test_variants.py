"""Summaries of other classifiers than the usual one, and of rows with weights."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aucross import AUCross, PlugInAUC, SCross
from report.cases import entry_at, make_linear, quick

# ---- other classifiers ----


def test_a_gate_has_no_band_of_scores(gate):
    made = quick(gate)
    assert made["score"]["band_lies_on"] == "other"
    assert all(entry["bands"] == [] for entry in made["coverages"])
    assert entry_at(made, 0.7)["n_automatic"] == gate.clf.select(gate.X).sum()


def test_a_confidence_threshold_is_a_band_around_one_half():
    _, X, y = make_linear()
    clf = SCross(LogisticRegression(), random_state=0).fit(X[:300], y[:300])
    made = quick((clf, X[300:], y[300:]))
    band = entry_at(made, 0.8)["bands"][0]
    score = clf.predict_proba(X[300:])[:, 1]
    inside = (score >= band["lower"]) & (score <= band["upper"])
    assert made["score"]["band_lies_on"] == "confidence"
    assert (inside == ~clf.select(X[300:], 0.8)).all()


def test_decision_values_have_no_calibration():
    _, X, y = make_linear()
    clf = PlugInAUC(LinearSVC(), holdout_size=0.5, random_state=0).fit(X[:300], y[:300])
    made = quick((clf, X[300:], y[300:]))
    entry = entry_at(made, 0.8)
    assert made["score"]["kind"] == "decision value"
    assert entry["selective_brier"] is None
    assert entry["bands"][0]["lower"] == clf.band(0.8).lower
    assert any("no calibration" in limit for limit in made["method"]["limits"])


def test_each_group_has_its_band():
    _, X, y = make_linear(2000)
    side = np.where(X[:, 3] > 0, "right", "left")
    clf = AUCross(LogisticRegression(), random_state=0).fit(X[:500], y[:500], band_groups=side[:500])
    made = quick((clf, X[500:], y[500:]), band_groups=side[500:])
    bands = {band["group"]: band for band in entry_at(made, 0.8)["bands"]}
    assert made["score"]["band_lies_on"] == "score"
    assert bands["left"]["lower"] == clf.band(0.8, "left").lower
    assert bands["right"]["upper"] == clf.band(0.8, "right").upper


def test_the_library_of_the_model_is_named():
    lightgbm = pytest.importorskip("lightgbm")
    _, X, y = make_linear()
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
    clf = PlugInAUC(model, holdout_size=0.5, random_state=0).fit(X[:300], y[:300])
    assert quick((clf, X[300:], y[300:]))["method"]["versions"]["lightgbm"] == lightgbm.__version__


# ---- weights ----


def compare(first, second):
    """Both dictionaries up to rounding and to what counts rows."""
    for name in (
        "achieved_coverage",
        "selective_auc",
        "oracle_auc",
        "positive_rate",
        "selective_ks",
        "selective_brier",
    ):
        assert [entry[name] for entry in first["coverages"]] == pytest.approx(
            [entry[name] for entry in second["coverages"]], abs=1e-9
        )
    for here, there in zip(first["coverages"], second["coverages"], strict=True):
        assert [part["observed_rate"] for part in here["deciles"]] == pytest.approx(
            [part["observed_rate"] for part in there["deciles"]]
        )
        if min(entry["n_review"] for entry in (here, there)) < 5:
            continue  # the means of so few rows are those of single people, and are not shown
        sizes = [[f["standardised_difference"] for f in entry["features"]] for entry in (here, there)]
        assert sizes[0] == pytest.approx(sizes[1], abs=1e-9)


def test_a_weight_of_two_is_the_row_twice():
    clf, X, y = make_linear(800)
    times = np.arange(len(y)) % 2 + 1
    compare(
        quick((clf, X, y), sample_weight=times.astype(float)),
        quick((clf, np.repeat(X, times, axis=0), np.repeat(y, times))),
    )


def test_rows_of_weight_zero_take_no_part():
    clf, X, y = make_linear(800)
    used = np.arange(len(y)) % 3 > 0
    groups = np.where(X[:, 0] > 0, "a", "b")
    with_zeros = quick((clf, X, y), sample_weight=used.astype(float), by=groups)
    without = quick((clf, X[used], y[used]), by=groups[used])
    compare(with_zeros, without)
    assert with_zeros["data"]["n"] == used.sum()
    assert [group["n"] for group in with_zeros["coverages"][0]["groups"]] == [
        group["n"] for group in without["coverages"][0]["groups"]
    ]
