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
    evaluate_groups,
    evaluate_selective,
    promise_selective,
)
from aucross.core import RejectionBand
from aucross.estimators import HeldOutAnswer
from aucross.evaluation import BaseRateGuard, BaseRateWarning, SelectiveEvaluation

HOSTILE = "<script>alert(1)</script>\u202e"
X, numbers = make_classification(900, weights=[0.7], flip_y=0.2, random_state=0)
y = np.where(numbers == 1, f"late {HOSTILE}", "good")
clf = AUCross(LogisticRegression(), coverage=0.8, cv=2, random_state=0).fit(X[:500], y[:500])
rival = SCross(LogisticRegression(), coverage=0.8, cv=2, random_state=0).fit(X[:500], y[:500])
X_test, y_test = X[500:], y[500:]
scored = clf.scored(X_test)


class Shown(HTMLParser):
    """The sentence, the table and what stands below it, as a browser reads them."""

    def __init__(self, result):
        super().__init__()
        self.tags, self.cells, self.paragraphs, self.pictures = set(), [], [], []
        self._in_cell, self._in_picture = False, False
        self.feed(result._repr_html_())
        self.close()

    @property
    def sentence(self):
        return self.paragraphs[0]

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "p":
            self.paragraphs.append("")
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")
            self._in_cell = True
        if tag == "br":
            self.cells[-1][-1] += " "
        if tag == "svg":
            self._in_picture = True
            self.pictures.append([])
        if tag in ("circle", "line", "rect"):
            self.pictures[-1].append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self._in_cell = self._in_cell and tag not in ("td", "th")
        self._in_picture = self._in_picture and tag != "svg"

    def handle_data(self, data):
        data = data.replace("\N{NO-BREAK SPACE}", " ")
        if self._in_cell:
            self.cells[-1][-1] += data
        elif not self._in_picture:
            self.paragraphs[-1] += data


def evaluation():
    return evaluate_selective(clf, scored, y_test, [1.0, 0.8], n_bootstrap=50, random_state=0)


def comparison():
    return compare_selective([rival, clf], X_test, y_test, [0.9, 0.8], n_bootstrap=50, random_state=0)


def queue(n=15):
    return clf.review_queue(scored, capacity=n, ids=[f"{HOSTILE} {row}" for row in range(400)])


def test_an_evaluation_says_what_is_reached_at_each_coverage():
    result = evaluation()
    shown, rows = Shown(result), result.rows()
    assert shown.sentence == (
        f"AUC of the selected rows: {rows[1]['selective_auc']:.4f} at a coverage of 80 %, "
        f"{rows[0]['selective_auc']:.4f} at 100 %."
    )
    heads = ["coverage asked", "reached", "AUC", "AUC gain", "accuracy", "positive rate", "AUC "]
    assert shown.cells[0] == heads
    at = heads.index("AUC")
    low, high = rows[1]["selective_auc_low"], rows[1]["selective_auc_high"]
    assert shown.cells[2][0] == "80 %"
    assert shown.cells[2][at] == f"{rows[1]['selective_auc']:.4f} [{low:.4f}, {high:.4f}]"


def test_an_evaluation_without_a_bootstrap_shows_no_intervals():
    shown = Shown(evaluate_selective(clf, scored, y_test, [0.8], n_bootstrap=0))
    assert re.fullmatch(r"AUC of the selected rows: 0\.\d{4} at a coverage of 80 %\.", shown.sentence)
    assert not any("[" in cell for cell in shown.cells[1])
    assert shown.pictures == []


def test_pictures_place_estimates_and_intervals_on_one_scale():
    result = evaluation()
    rows, pictures = result.rows(), Shown(result).pictures
    places, values = [], []
    for row, picture in zip(rows, pictures, strict=True):
        (_, mark), (_, interval), (_, dot) = picture
        places += [float(interval["x1"]), float(interval["x2"]), float(dot["cx"]), float(mark["x1"])]
        values += [row["selective_auc_low"], row["selective_auc_high"], row["selective_auc"], rows[0]["selective_auc"]]
    start, end = min(values), max(values)
    expected = 5 + 80 * (np.array(values) - start) / (end - start)
    np.testing.assert_allclose(places, expected, atol=0.06)


def test_an_own_metric_that_is_infinite_is_shown_without_an_interval():
    shown = Shown(SelectiveEvaluation(np.array([0.8]), {"odds": np.array([np.inf])}, {"odds": np.full((5, 1), np.inf)}))
    assert shown.cells[1] == ["80 %", "inf"]
    assert shown.pictures == []


def test_a_comparison_names_metric_classifiers_and_coverages_reached():
    result = comparison()
    shown = Shown(result)
    assert shown.sentence.startswith("AUC minus that of SCross, at a coverage of 80 %: AUCross ")
    heads = ["coverage asked", "classifier", "reached", "reached by SCross", "AUC", "AUC by SCross", "difference"]
    assert shown.cells[0][:7] == heads
    reached = [row for row in result.rows() if row["metric"] == "achieved_coverage"]
    values = [f"{reached[1][name]:.4f}" for name in ("value", "reference_value")]
    assert shown.cells[2][:4] == ["80 %", "AUCross", *values]


def test_two_classifiers_of_one_class_are_told_apart():
    result = compare_selective([clf, rival, clf], X_test, y_test, [0.8], n_bootstrap=0)
    assert list(result.evaluations) == ["AUCross 1", "SCross", "AUCross 2"]


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
    assert shown.sentence == f"No alarm: evidence {report.evidence:.3g} to 1, and 40 to 1 gives one."
    assert shown.sentence in report.message
    assert [row[0] for row in shown.cells[1:]] == ["batch", "run"]
    assert shown.cells[2][1:3] == ["400", str(report.run_selected)]
    assert shown.paragraphs[1].startswith(f"Batch 2: {report.selected} of 200 rows automatic")


def test_a_report_on_labels_has_a_line_for_each_test():
    report = CoverageMonitor(clf).update_labels(X_test, y_test)
    shown = Shown(report)
    assert "the AUC of the selected rows" in shown.sentence.partition("o alarm: ")[2]
    assert [row[0] for row in shown.cells[1:]] == [
        "the AUC of the selected rows",
        report.base_rate.what,
        report.calibration.what,
    ]
    assert shown.cells[1][1:4] == [f"{report.auc:.4f}", f"{report.run_auc:.4f}", f"{report.expected:.4f}"]
    verdicts = ["ALARM" if test.alarm else "no alarm" for test in (report, report.base_rate, report.calibration)]
    assert [row[-1] for row in shown.cells[1:]] == verdicts


def groups():
    by = np.where(np.arange(400) % 4 == 0, f"young {HOSTILE}", "old")
    return evaluate_groups(clf, scored, y_test, by, [1.0, 0.8])


def gaps():
    return groups().gaps()


def test_groups_are_shown_with_the_share_selected_of_each():
    result = groups()
    shown = Shown(result)
    at_80 = {row["group"]: row["achieved_coverage"] for row in result.rows() if row["target_coverage"] == 0.8}
    assert shown.sentence.startswith(f"At a coverage of 80 %, {100 * at_80['(all rows)']:.1f}".removesuffix(".0"))
    assert "young <script>alert(1)</script>[U+202E]" in shown.sentence
    assert [row[1] for row in shown.cells[4:]] == ["old", "young <script>alert(1)</script>[U+202E]", "(all rows)"]
    assert "script" not in shown.tags


def test_gaps_say_how_many_are_more_than_chance():
    result = gaps()
    n_larger = sum(row["gap"] > row["gap_by_chance"] for row in result.rows())
    shown = Shown(result)
    assert (
        shown.sentence
        == f"{n_larger} of {len(result.rows())} gaps between groups are larger than what chance explains."
    )
    assert shown.cells[0][:2] == ["coverage asked", "metric"]
    assert Shown(groups().differences("old")).sentence == "Each group minus old."


def test_an_answer_of_the_held_out_rows_is_a_sentence():
    answer = HeldOutAnswer(0.825, 0.6, 1.0, 0.95, "An AUC of 0.77 is reached up to a coverage of 82.5 %.")
    assert Shown(answer).sentence == str(answer) == "An AUC of 0.77 is reached up to a coverage of 82.5 %."


def test_a_queue_shows_its_first_rows_and_runs_nothing():
    result = queue()
    shown = Shown(result)
    assert shown.sentence == "15 rows to review, the one whose review is worth most first; the first 10 are shown."
    assert len(shown.cells) == 11
    assert shown.cells[1][0] == "1"
    assert shown.cells[1][1] == f"<script>alert(1)</script>[U+202E] {result.row[0]}"
    assert "belong to 'late <script>" in shown.cells[1][3]
    assert shown.tags <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


def test_an_empty_queue_is_a_sentence():
    assert Shown(queue(0)).sentence == "0 rows to review, the one whose review is worth most first."


def test_a_band_is_a_sentence():
    assert Shown(RejectionBand(0.25, 0.5)).sentence == "Scores from 0.25 to 0.5 are rejected, ends included."
    assert Shown(RejectionBand()).sentence == "No score is rejected: the band is empty."


def test_a_band_of_probabilities_has_a_picture():
    _, (name, drawn) = Shown(RejectionBand(0.25, 0.5)).pictures[0]
    assert (name, drawn["x"], drawn["width"]) == ("rect", "90.0", "75.0")
    assert Shown(RejectionBand(-2.0, 0.5)).pictures == []


@pytest.mark.parametrize("make", [evaluation, comparison, queue, groups, gaps])
def test_tables_can_be_read_through_arrow(make):
    arrow, polars, duckdb = (pytest.importorskip(name) for name in ("pyarrow", "polars", "duckdb"))
    result = make()
    with duckdb.connect() as database:
        by_duckdb = database.sql("SELECT * FROM result").df()
    read = [arrow.table(result).to_pandas(), polars.DataFrame(result).to_arrow().to_pandas(), by_duckdb]
    if hasattr(pd.DataFrame, "from_arrow"):  # from pandas 3 on
        read.append(pd.DataFrame.from_arrow(result))
    for frame in read:
        pd.testing.assert_frame_equal(frame, result.to_frame(), check_dtype=False)


def test_an_empty_queue_can_be_read_through_arrow():
    arrow = pytest.importorskip("pyarrow")
    assert arrow.table(queue(0)).num_rows == 0


def test_without_pyarrow_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'needs pyarrow, which is not installed; run: pip install "aucross\[arrow'
    ):
        evaluation().__arrow_c_stream__()
