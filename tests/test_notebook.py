"""Results in a notebook: a sentence and a table whose numbers are those of the result, safe whatever names contain; and
the same rows through Arrow's C interface."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import (
    AUCross,
    CoverageMonitor,
    SCross,
    compare_selective,
    evaluate_selective,
    promise_selective,
)
from aucross.core import RejectionBand
from aucross.evaluation import BaseRateGuard, BaseRateWarning

HOSTILE = "<script>alert(1)</script>\u202e"
X, numbers = make_classification(900, weights=[0.7], flip_y=0.2, random_state=0)
y = np.where(numbers == 1, f"late {HOSTILE}", "good")
clf = AUCross(LogisticRegression(), coverage=0.8, cv=2, random_state=0).fit(X[:500], y[:500])
rival = SCross(LogisticRegression(), coverage=0.8, cv=2, random_state=0).fit(X[:500], y[:500])
X_test, y_test = X[500:], y[500:]
scored = clf.scored(X_test)


class Shown(HTMLParser):
    """The sentence and the table of a result, as a browser reads them."""

    def __init__(self, result):
        super().__init__()
        self.tags, self.cells, self.sentence, self._open = set(), [], "", ""
        self.feed(result._repr_html_())
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self._open = tag
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_data(self, data):
        data = data.replace("\N{NO-BREAK SPACE}", " ")
        if self._open in ("td", "th"):
            self.cells[-1][-1] += data
        else:
            self.sentence += data


def evaluation():
    return evaluate_selective(clf, scored, y_test, [1.0, 0.8], n_bootstrap=50, random_state=0)


def comparison():
    return compare_selective(clf, rival, X_test, y_test, [0.9, 0.8], n_bootstrap=50, random_state=0)


def queue(n=15):
    return clf.review_queue(scored, capacity=n, ids=[f"{HOSTILE} {row}" for row in range(400)])


def test_an_evaluation_says_what_is_reached_at_each_coverage():
    result = evaluation()
    shown, rows = Shown(result), result.rows()
    assert shown.sentence == (
        f"AUC of the selected rows: {rows[1]['selective_auc']:.4f} at a coverage of 80 %, "
        f"{rows[0]['selective_auc']:.4f} at 100 %."
    )
    assert shown.cells[0] == ["coverage asked", *result.estimates]
    at = shown.cells[0].index("selective_auc")
    low, high = rows[1]["selective_auc_low"], rows[1]["selective_auc_high"]
    assert shown.cells[2][0] == "80 %"
    assert shown.cells[2][at] == f"{rows[1]['selective_auc']:.4f} [{low:.4f}, {high:.4f}]"


def test_an_evaluation_without_a_bootstrap_shows_no_intervals():
    shown = Shown(evaluate_selective(clf, scored, y_test, [0.8], n_bootstrap=0))
    assert re.fullmatch(r"AUC of the selected rows: 0\.\d{4} at a coverage of 80 %\.", shown.sentence)
    assert not any("[" in cell for cell in shown.cells[1])


def test_a_comparison_names_metric_classifiers_and_coverages_reached():
    result = comparison()
    shown = Shown(result)
    assert shown.sentence.startswith("AUC of AUCross minus that of SCross: ")
    assert shown.cells[0][:5] == ["coverage asked", "reached by AUCross", "reached by SCross", "AUCross", "SCross"]
    reached = [row for row in result.rows() if row["metric"] == "achieved_coverage"]
    assert shown.cells[2][:3] == ["80 %", f"{reached[1]['first']:.4f}", f"{reached[1]['second']:.4f}"]


def test_two_classifiers_of_one_class_are_told_apart():
    result = compare_selective(clf, clf, scored, y_test, [0.8], n_bootstrap=0)
    assert result.names == ("first AUCross", "second AUCross")


def test_a_promise_shows_its_sentence_and_both_bounds():
    promise = promise_selective(clf, scored, y_test)
    shown = Shown(promise)
    assert shown.sentence == str(promise)
    assert shown.cells[1:] == [
        ["coverage", f"{promise.coverage_at_least:.4f}", f"{promise.achieved_coverage:.4f}"],
        ["AUC", f"{promise.auc_at_least:.4f}", f"{promise.selective_auc:.4f}"],
    ]


@pytest.mark.parametrize(("limit", "verdict"), [(0.9, "Within limits"), (0.0, "Limit exceeded")])
def test_a_check_of_the_base_rate_shows_its_limits(limit, verdict):
    positive = y_test != "good"
    selected = ~positive | (np.arange(400) % 2 == 0)
    guard = BaseRateGuard(max_shift=limit, max_relative_shift=9, max_review_ratio=9)
    with nullcontext() if limit else pytest.warns(BaseRateWarning):
        check = guard.check(positive, selected)
    shown = Shown(check)
    assert shown.sentence == f"{verdict}: {check.message}."
    assert shown.cells[1][:3] == ["shift", f"{check.shift:.4f}", f"{limit:.4f}"]


def test_reports_of_the_monitor_show_batch_and_run():
    monitor = CoverageMonitor(clf)
    monitor.update(X_test[:200])
    report = monitor.update(X_test[200:])
    shown = Shown(report)
    assert shown.sentence == report.message
    assert [row[0] for row in shown.cells[1:]] == ["batch", "run"]
    assert shown.cells[2][1:3] == ["400", str(report.run_selected)]


def test_a_queue_shows_its_first_rows_and_runs_nothing():
    result = queue()
    shown = Shown(result)
    assert shown.sentence == "15 rows to review, the one whose review is worth most first; the first 10 are shown."
    assert len(shown.cells) == 11
    assert shown.cells[1][0] == f"<script>alert(1)</script>[U+202E] {result.row[0]}"
    assert shown.cells[1][1] == f"{result.worth[0]:.3g}"
    assert "belong to 'late <script>" in shown.cells[1][3]
    assert shown.tags <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}


def test_an_empty_queue_is_a_sentence():
    assert Shown(queue(0)).sentence == "0 rows to review, the one whose review is worth most first."


def test_a_band_is_a_sentence():
    assert Shown(RejectionBand(0.25, 0.5)).sentence == "Scores from 0.25 to 0.5 are rejected, ends included."
    assert Shown(RejectionBand()).sentence == "No score is rejected: the band is empty."


@pytest.mark.parametrize("make", [evaluation, comparison, queue], ids=["evaluation", "comparison", "queue"])
def test_tables_can_be_read_through_arrow(make):
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    result = make()
    expected = result.to_frame()
    pd.testing.assert_frame_equal(arrow.table(result).to_pandas(), expected, check_dtype=False)
    assert polars.DataFrame(result).to_dicts() == arrow.table(result).to_pylist()


def test_an_empty_queue_can_be_read_through_arrow():
    arrow = pytest.importorskip("pyarrow")
    assert arrow.table(queue(0)).num_rows == 0


def test_without_pyarrow_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'needs pyarrow, which is not installed; run: pip install "aucross\[dep'
    ):
        evaluation().__arrow_c_stream__()
