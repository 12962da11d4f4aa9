"""Summaries of other classifiers than the usual one, and of rows with weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aucross import AUCross, PlugInAUC, ScoreColumn, SCross
from aucross.report import render_html, render_markdown
from tests.report.cases import entry_at, make_linear, quick

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


# ---- a score in points ----


def make_points(n_rows=1500):
    """A vendor's points, low for defaults, with rows to fit on and rows to report on."""
    rng = np.random.default_rng(0)
    risk = rng.normal(size=n_rows)
    X = pd.DataFrame({"points": np.round(450 - 40 * risk)})
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(1.5 - risk))).astype(int)


@pytest.fixture(scope="module")
def points():
    X, y = make_points()
    model = ScoreColumn("points", threshold=420, higher_is_positive=False)
    clf = AUCross(model, coverage=0.8, random_state=0).fit(X[:900], y[:900])
    test = (clf, X[900:].reset_index(drop=True), y[900:])
    return clf, test[1], quick(test, class_names=("paid", "default"))


@pytest.mark.parametrize("coverage", [0.6, 0.8, 1.0])
def test_the_band_of_a_score_in_points_is_told_in_points(points, coverage):
    clf, X, made = points
    (band,) = entry_at(made, coverage)["bands"]
    inside = X["points"].between(*(np.inf if band[end] is None else band[end] for end in ("lower", "upper")))
    assert band["empty"] == (coverage == 1.0)
    assert (inside == ~clf.select(X, coverage)).all()
    assert (made["score"]["kind"], made["score"]["column"]) == ("points", "points")


def test_bars_of_points_stand_where_their_rows_are(points):
    clf, X, made = points
    edges, entry = made["score"]["bin_edges"], entry_at(made, 0.8)
    assert (edges[0], edges[-1]) == (X["points"].min(), X["points"].max())
    middle = np.array(edges[:-1]) + np.diff(edges) / 2
    review = X["points"][~clf.select(X, 0.8)]
    for shares in entry["review_shares"].values():
        hatched = middle[np.array(shares) > 0]
        assert review.min() - np.diff(edges)[0] <= hatched.min() <= hatched.max() <= review.max() + np.diff(edges)[0]


def test_deciles_and_means_of_points_are_points(points):
    clf, X, made = points
    entry, selected = entry_at(made, 0.8), clf.select(X, 0.8)
    first, last = entry["deciles"][0], entry["deciles"][-1]
    automatic = X["points"][selected]
    assert (first["lowest_score"], last["highest_score"]) == (automatic.min(), automatic.max())
    assert first["lowest_score"] < first["mean_score"] < first["highest_score"] < last["lowest_score"]
    assert first["observed_rate"] > last["observed_rate"]  # few points speak for a default
    for name, rows in (("automatic", automatic), ("review", X["points"][~selected])):
        part = entry["scores"][name]
        assert part["mean"] == pytest.approx(rows.mean())
        expected = [np.quantile(rows, float(share)) for share in part["quantiles"]]
        assert list(part["quantiles"].values()) == pytest.approx(expected, abs=2)


def test_the_page_and_the_card_speak_of_points(points):
    clf, _, made = points
    lower, upper = sorted(clf.estimator_.column_value([clf.band().lower, clf.band().upper]))
    page, card = render_html(made), render_markdown(made)
    assert f"Band of scores for review | {lower:.0f} to {upper:.0f} |" in card
    assert f"review: {lower:.0f} to {upper:.0f}" in page
    assert "score: points, lower for default" in page
    assert "- **Scores:** points, lower for default\n" in card
    assert "share of rows, lowest scores first" in page
    assert "share of default below the threshold" in page
    for text in (page.partition("<script")[0], card):
        assert "decision value" not in text


def test_points_that_rise_with_the_positive_class_keep_their_order():
    X, y = make_points()
    up = X.assign(points=900 - X["points"])
    clf = AUCross(ScoreColumn(0, threshold=480), coverage=0.8, random_state=0).fit(up[:900], y[:900])
    made = quick((clf, up[900:], y[900:]), class_names=("paid", "default"))
    (band,) = entry_at(made, 0.8)["bands"]
    assert (band["lower"], band["upper"]) == tuple(480 + np.array([clf.band().lower, clf.band().upper]))
    assert made["score"]["bin_edges"][0] == up["points"][900:].min()
    assert "score: points, higher for default" in render_html(made)
    unnamed = AUCross(ScoreColumn(0, threshold=480), random_state=0).fit(up[:900].to_numpy(), y[:900])
    assert quick((unnamed, up[900:].to_numpy(), y[900:]))["score"]["column"] == "column 0"


def test_other_scores_have_no_column():
    _, X, y = make_linear()
    clf = PlugInAUC(LinearSVC(), holdout_size=0.5, random_state=0).fit(X[:300], y[:300])
    assert quick((clf, X[300:], y[300:]))["score"]["column"] is None
