"""The published methods: against frozen figures, against a second implementation, and against the paper's data."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import pytest
from sklearn.datasets import make_classification

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from tests.estimators import published_reference
from tests.golden.regenerate import COVERAGES, FILE, SEED, base_model, fixed_rows, measure, published_methods

METHODS = ["AUCross", "PlugInAUC", "SCross", "PlugIn"]

every_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def rows():
    return fixed_rows()


# ---- frozen figures ----


@every_method
def test_bands_coverages_and_aucs_are_the_frozen_ones(name, rows):
    frozen = json.loads(FILE.read_text())[name]
    measured = measure(published_methods()[name], rows)
    assert [figures["target_coverage"] for figures in frozen] == list(COVERAGES)
    for now, before in zip(measured, frozen, strict=True):
        assert now == pytest.approx(before, abs=1e-6)


def test_every_method_has_its_figures():
    assert list(json.loads(FILE.read_text())) == METHODS == list(published_methods())


# ---- a second implementation ----


@every_method
def test_bands_and_selections_are_those_of_the_second_implementation(name, rows):
    clf = published_methods()[name].fit(rows.X, rows.y)
    second = published_reference.METHODS[name](base_model(), rows.X, rows.y, SEED)
    scores = clf.decide(rows.X_new).selection_score
    for coverage in COVERAGES:
        band = clf.band(coverage)
        assert (band.lower, band.upper) == pytest.approx(second.band(coverage), abs=1e-9)
        assert clf.select(rows.X_new, coverage).tolist() == second.selects(scores.tolist(), coverage)
    assert np.array_equal(clf.predict_proba(rows.X_new), second.model.predict_proba(rows.X_new))


@every_method
@pytest.mark.parametrize("seed", range(6))
def test_small_samples_give_the_bands_of_the_second_implementation(name, seed):
    n_rows = int(np.random.default_rng(seed).integers(60, 160))
    X, y = make_classification(n_rows, n_features=4, n_redundant=0, weights=[0.8], flip_y=0.2, random_state=seed)
    clf = published_methods()[name].set_params(random_state=seed).fit(X, y)
    second = published_reference.METHODS[name](base_model(), X, y, seed)
    for coverage in (*COVERAGES, 0.5, 0.3, 0.1):
        band = clf.band(coverage)
        if second.band(coverage) == (-inf, -inf):  # no row fits into the budget
            assert band.is_empty
        else:
            assert (band.lower, band.upper) == pytest.approx(second.band(coverage), abs=1e-9)


@pytest.mark.parametrize("method", [PlugIn, SCross])
def test_thresholds_differ_from_the_interpolated_quantile_by_no_more_than_a_row(method, rows):
    """PlugIn by one row at most; SCross, whose blend is cut back to the quantile of all rows, by a few."""
    clf = published_methods()[method.__name__].fit(rows.X, rows.y)
    values = np.array(published_reference.confidence(clf.held_out_.scores.tolist()))
    for coverage in COVERAGES:
        rejected = int((~clf.band(coverage).selects(values)).sum())
        rejected_as_published = int((values < published_reference.published_threshold(values, coverage)).sum())
        assert 0 <= rejected_as_published - rejected <= (1 if method is PlugIn else 10)


def test_the_auc_methods_differ_only_in_the_placement(rows):
    for method in (AUCross, PlugInAUC):
        published, ours = (method(base_model(), placement=p, random_state=SEED) for p in ("centered", "optimal"))
        assert np.array_equal(
            published.fit(rows.X, rows.y).decide(rows.X_new).selection_score,
            ours.fit(rows.X, rows.y).decide(rows.X_new).selection_score,
        )
        assert np.array_equal(published.held_out_.rows, ours.held_out_.rows)
        assert published.band(0.8) != ours.band(0.8)


# ---- the paper's data ----


def test_aucross_on_adult_has_the_published_figures(paper_data, monkeypatch):
    figures = pytest.importorskip("benchmarks.published_figures")
    monkeypatch.setenv("AUCROSS_DATA", str(paper_data.FOLDER))
    auc, coverage = figures.measure("Adult", "AUCross")
    assert auc == pytest.approx(np.array(figures.REFERENCE_AUC["Adult", "AUCross"]), abs=0.0015)
    assert coverage == pytest.approx(np.array(figures.REFERENCE_COVERAGE["Adult", "AUCross"]), abs=0.005)
