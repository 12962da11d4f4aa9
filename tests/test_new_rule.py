"""A new rule is one new class and nothing else: one that nobody knows goes through everything."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, CoverageMonitor, PlugInAUC, evaluate_selective, promise_selective
from aucross.core import OptimalBands, RankedRule, RejectionBand, RuleInput
from aucross.estimators import without_correction
from aucross.export import rule_to_json, rule_to_sql
from aucross.record import Record
from aucross.report import build_summary, render_html

X, y = make_classification(2500, weights=[0.8], flip_y=0.2, random_state=3)
TRAIN, TEST = slice(0, 1500), slice(1500, None)


@dataclass(frozen=True)
class AroundTheMedian(RankedRule):
    """Rejects the rows in the middle of the ranking, whatever their labels."""

    def place(self, coverage: float) -> RejectionBand:
        middle, half = self.ranked.total / 2, self.ranked.total * (1 - coverage) / 2
        if half < 1:
            return RejectionBand()
        return RejectionBand(self.ranked.score_at(middle - half + 1), self.ranked.score_at(middle + half - 1))

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> AroundTheMedian:
        # As the optimal bands do it, with the shares of the classes corrected if they may have changed.
        return AroundTheMedian(OptimalBands(self.ranked).placed_on(rows, label_shift=label_shift).ranking)


@pytest.fixture(scope="module", params=[AUCross, PlugInAUC])
def clf(request):
    options = {"holdout_size": 0.4} if request.param is PlugInAUC else {}
    method = request.param(LogisticRegression(), placement=AroundTheMedian, coverage=0.8, random_state=0, **options)
    return without_correction(method).fit(X[TRAIN], y[TRAIN])


def test_fit_and_select(clf):
    assert isinstance(clf.band_rule_, AroundTheMedian)
    score = clf.predict_proba(X[TEST])[:, 1]
    rejected = score[~clf.select(X[TEST])]
    assert rejected.min() < np.median(score) < rejected.max()
    assert clf.select(X[TEST]).mean() == pytest.approx(0.8, abs=0.05)
    assert evaluate_selective(clf, X[TEST], y[TEST], [0.8], n_bootstrap=0).estimates["selective_auc"][0] > 0.7


def test_the_coverage_is_corrected_and_kept_with_confidence():
    method = AUCross(LogisticRegression(), placement=AroundTheMedian, coverage_confidence=0.95, random_state=0)
    cautious = method.fit(X[TRAIN], y[TRAIN])
    assert isinstance(cautious.band_rule_, AroundTheMedian)
    assert cautious.select(X[TEST]).mean() > 0.9


def test_groups(clf):
    groups = np.where(X[:, 0] > 0, "a", "b")
    grouped = clf.__class__(**clf.get_params(deep=False)).fit(X[TRAIN], y[TRAIN], band_groups=groups[TRAIN])
    selected = grouped.select(X[TEST], band_groups=groups[TEST])
    assert [selected[groups[TEST] == group].mean() for group in "ab"] == pytest.approx([0.8, 0.8], abs=0.08)


def test_recalibrate_capacity_and_reasons(clf):
    moved = clf.recalibrate(X[TEST])
    assert moved.band_rule_.is_replaced
    assert moved.select(X[TEST]).mean() == pytest.approx(0.8, abs=0.005)
    queue = clf.review_queue(X[TEST], capacity=25)
    assert len(queue) == 25
    assert all("of cases with such a score belong to class 1" in reason for reason in queue.reason)


def test_promise(clf):
    promise = promise_selective(clf, X[TEST], y[TEST], coverage=0.8)
    assert 0.7 < promise.coverage_at_least < 0.85


def test_json_and_sql(clf):
    (band,) = json.loads(rule_to_json(clf))["bands"]
    assert (band["lower"], band["upper"]) == (clf.band().lower, clf.band().upper)
    scores = clf.predict_proba(X[TEST])[:, 1]
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE TABLE loans (score REAL)")
        database.executemany("INSERT INTO loans VALUES (?)", [(score,) for score in scores.tolist()])
        decided = [row[0] for row in database.execute(f"SELECT {rule_to_sql(clf, 'score')} FROM loans")]
    finally:
        database.close()
    assert decided == np.where(clf.select(X[TEST]), "automatic", "review").tolist()


def test_record_and_monitor(clf, tmp_path):
    with Record.open(tmp_path / "cases.db") as record:
        selected = record.decide(clf, X[TEST], batch="a", ids=range(1000)).selected
        assert (np.array(record.cases().to_pydict()["decision"]) == np.where(selected, "automatic", "review")).all()
    report = CoverageMonitor(clf).update(X[TEST])
    assert report.selected == selected.sum()
    assert list(CoverageMonitor(clf).reference.bins) == ["score"]


def test_report(clf):
    summary = build_summary(clf, X[TEST], y[TEST])
    assert "automatic" in render_html(summary)


def test_what_is_no_rule_is_refused():
    with pytest.raises(TypeError, match="placement must turn a ranking into a BandRule, got RejectionBand"):
        AUCross(LogisticRegression(), placement=lambda ranked: RejectionBand()).fit(X[TRAIN], y[TRAIN])
