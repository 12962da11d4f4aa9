"""The dictionary behind the report: its numbers are the library's, and JSON can write all of it."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from aucross import AUCross, PlugInAUC, evaluate_selective
from aucross.core import oracle_band
from aucross.evaluation import (
    BaseRateGuard,
    TrainingRowsWarning,
    UnscoredRows,
    evaluate_groups,
    expected_calibration_error,
    selective_auc,
    selective_brier,
    selective_ks,
)
from aucross.evaluation.promise import promise_selective
from aucross.report import SCHEMA_VERSION, build_summary, render_html, render_markdown, tables
from aucross.report.rows import GRID
from tests.report.cases import entry_at, make_linear, quick

COVERAGES = (0.5, 0.63, 0.77, 0.85, 0.99, 1.0)


@pytest.fixture(scope="module")
def linear():
    return quick(make_linear())


# ---- the whole ----


def test_json_gives_the_same_dictionary_back(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_schema_is_named_and_numbered(summary):
    assert (summary["schema"], summary["schema_version"]) == ("aucross.report", SCHEMA_VERSION)
    assert set(summary) == {
        *("schema", "schema_version", "title", "coverage", "sentence", "promise"),
        *("data", "score", "coverages", "method", "group_notes"),
    }


def test_the_slider_has_a_step_for_each_per_cent_from_50_to_100(summary):
    assert [entry["target_coverage"] for entry in summary["coverages"]] == [step / 100 for step in range(50, 101)]


def test_a_coverage_between_two_steps_becomes_a_step():
    clf, X, y = make_linear(coverage=0.975)
    made = quick((clf, X, y))
    assert made["coverage"] == 0.975
    assert len(made["coverages"]) == 52
    assert entry_at(made, 0.975)["n_automatic"] == clf.select(X).sum()


def test_a_coverage_below_one_half_becomes_the_first_step():
    made = quick(make_linear(), coverage=0.3)
    assert made["coverages"][0]["target_coverage"] == 0.3
    assert made["sentence"].startswith("Asked to decide 30")


def test_the_same_arguments_give_the_same_summary(linear):
    assert quick(make_linear()) == linear


def test_the_rows_are_sorted_a_few_times_and_not_at_every_coverage(monkeypatch):
    case = make_linear()
    sorts, argsort = [], np.argsort

    def counting(values, *args, **options):
        sorts.append(values)
        return argsort(values, *args, **options)

    monkeypatch.setattr(np, "argsort", counting)
    quick(case)
    # By score for the table and for the report, by confidence, and for the promise: one sort each.
    assert len([values for values in sorts if len(values) > 100]) <= 4


# ---- cases without a score, and rows that belong together ----


def test_parts_that_scored_and_unscored_cases_must_share():
    clf, X, y = make_linear()
    with pytest.raises(ValueError, match="unscored must have customers where the scored rows have, and only there"):
        quick((clf, X, y), customers=np.arange(len(y)) // 2, unscored=UnscoredRows([0, 1]))
    with pytest.raises(ValueError, match="unscored must have by where"):
        quick((clf, X, y), by=np.arange(len(y)) % 2, unscored=UnscoredRows([0, 1]))


def test_an_evaluation_that_does_not_count_the_cases_without_a_score_is_refused():
    clf, X, y = make_linear()
    evaluation = evaluate_selective(clf, X, y, GRID)
    given = {"evaluation": evaluation, "with_intervals": True}
    quick((clf, X, y), **given)
    with pytest.raises(ValueError, match="of other rows; leave it out to evaluate again"):
        quick((clf, X, y), unscored=UnscoredRows([0, 1] * 50), **given)


def test_unscored_cases_of_no_weight_take_no_part():
    clf, X, y = make_linear()
    options = {"sample_weight": np.full(len(y), 2.0), "with_intervals": False}
    some = quick((clf, X, y), unscored=UnscoredRows([0, 1, 1], [2.0, 2.0, 0.0]), **options)
    assert some == quick((clf, X, y), unscored=UnscoredRows([0, 1], [2.0, 2.0]), **options)
    assert some["data"]["n_without_score"] == 2
    none = quick((clf, X, y), unscored=UnscoredRows([0, 1], [0.0, 0.0]), **options)
    assert none == quick((clf, X, y), **options)


def test_a_missing_customer_of_an_unscored_case_is_refused_and_a_missing_group_stays_missing():
    clf, X, y = make_linear()
    names = [f"customer {number}" for number in range(len(y))]
    with pytest.raises(ValueError, match="customers must not contain missing values"):
        quick((clf, X, y), customers=names, unscored=UnscoredRows([0, 1], customers=["x", float("nan")]))
    assert UnscoredRows([0, 1], [1.0, 0.0], by=[float("nan"), "a"]).with_weight().by != ["nan"]


def test_one_case_without_a_score_is_told_as_one():
    assert UnscoredRows([1]).sentence(20).startswith("1 of 20 cases has no score: it goes to review")


# ---- the numbers are those of the library ----


def test_estimates_and_intervals_are_those_of_evaluate_selective(credit, summary):
    rows = evaluate_selective(credit.clf, credit.X, credit.y, [step / 100 for step in range(50, 101)]).rows()
    for entry, row in zip(summary["coverages"], rows, strict=True):
        assert entry == entry | {name: value for name, value in row.items() if not name.endswith("_sd")}


@pytest.mark.parametrize("coverage", COVERAGES)
def test_further_numbers_are_those_of_the_metrics(coverage, credit, summary):
    entry, selected = entry_at(summary, coverage), credit.clf.select(credit.X, coverage)
    arguments = (credit.positive, credit.score, selected)
    assert entry["n_automatic"] == selected.sum()
    assert entry["n_review"] == (~selected).sum()
    assert entry["selective_gini"] == pytest.approx(2 * selective_auc(*arguments) - 1, abs=1e-12)
    assert entry["selective_ks"] == selective_ks(*arguments)
    assert entry["selective_brier"] == pytest.approx(selective_brier(*arguments), abs=1e-12)
    assert entry["expected_calibration_error"] == pytest.approx(expected_calibration_error(*arguments), abs=1e-12)
    assert entry["positives_for_review"] == pytest.approx((~selected & credit.positive).sum() / credit.positive.sum())


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_band_is_that_of_the_classifier(coverage, credit, summary):
    band = credit.clf.band(coverage)
    expected = {"group": None, "lower": None, "upper": None, "empty": True}
    if not band.is_empty:
        expected = {"group": None, "lower": band.lower, "upper": band.upper, "empty": False}
    assert entry_at(summary, coverage)["bands"] == [expected]


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_gain_is_the_difference_from_all_rows(coverage, credit, summary):
    entry = entry_at(summary, coverage)
    everyone = roc_auc_score(credit.positive, credit.score)
    assert entry["auc_gain"] == pytest.approx(entry["selective_auc"] - everyone)
    assert entry["auc_gain_low"] <= entry["auc_gain"] <= entry["auc_gain_high"]


def test_the_gain_of_all_rows_is_exactly_zero_with_an_interval_of_no_width(summary):
    last = summary["coverages"][-1]
    assert (last["auc_gain"], last["auc_gain_low"], last["auc_gain_high"]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_oracle_is_the_best_band_at_the_coverage_reached(coverage, credit, summary):
    entry = entry_at(summary, coverage)
    band = oracle_band(credit.positive, credit.score, entry["achieved_coverage"])
    expected = selective_auc(credit.positive, credit.score, band.selects(credit.score))
    assert entry["oracle_auc"] == pytest.approx(expected)
    assert entry["oracle_auc"] >= entry["selective_auc"] - 1e-12


@pytest.mark.parametrize("coverage", COVERAGES)
def test_maximum_probability_answers_as_many_rows(coverage, credit, summary):
    entry, score = entry_at(summary, coverage), credit.score
    least_confident = np.argsort(np.maximum(score, 1 - score), kind="stable")[: entry["n_review"]]
    kept = np.delete(np.arange(len(score)), least_confident)
    assert entry["max_probability_auc"] == pytest.approx(roc_auc_score(credit.positive[kept], score[kept]))


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_base_rate_is_that_of_the_guard(coverage, credit, summary):
    check = BaseRateGuard().check(credit.positive, credit.clf.select(credit.X, coverage), warn=False)
    found = entry_at(summary, coverage)["base_rate"]
    assert (found["message"], found["ok"], found["exceeded"]) == (check.message, check.ok, list(check.exceeded))
    assert found["shift"] == check.shift


def test_the_promise_is_that_of_promise_selective(credit, summary):
    promise = promise_selective(credit.clf, credit.X, credit.y, 0.85)
    assert summary["promise"] == promise.to_dict() | {"warnings": []}
    assert summary["promise"]["sentence"] == str(promise)


def test_a_doubt_about_the_rows_is_written_down():
    _, X, y = make_linear(weights=[0.7])
    fitted = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    with pytest.warns(TrainingRowsWarning, match="took part in the fit"):
        made = quick((fitted, X, y))
    assert "took part in the fit" in made["promise"]["warnings"][0]
    assert made["promise"]["sentence"] == "Nothing: these are rows that the classifier was fitted on."


def test_the_sentence_says_what_was_asked_reached_and_ranked(summary):
    entry = entry_at(summary, 0.85)
    words = summary["sentence"].replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith("Asked to decide 85 % of the rows, the classifier decides ")
    assert f"{100 * entry['achieved_coverage']:.1f} % of 2,000 test rows" in words
    assert f"AUC is {entry['selective_auc']:.4f} (95 % interval {entry['selective_auc_low']:.4f} to " in words
    assert words.endswith(f"over all rows it is {summary['coverages'][-1]['selective_auc']:.4f}.")


def test_a_coverage_whose_interval_excludes_the_one_asked_for_was_missed():
    clf, X, y = make_linear(coverage=0.8)
    middle = clf.band(0.8)
    score = clf.predict_proba(X)[:, 1]
    near = np.abs(score - (middle.lower + middle.upper) / 2) < 0.25  # many more of these than in the fit
    made = quick((clf, X[near], y[near]), with_intervals=True)
    entry = entry_at(made, 0.8)
    assert entry["achieved_coverage_high"] < 0.8
    assert entry["coverage_missed"]
    words = made["sentence"].replace("\N{NO-BREAK SPACE}", " ")
    low, high = (100 * entry[f"achieved_coverage_{end}"] for end in ("low", "high"))
    assert f"to review. The coverage asked for was missed: the 95 % interval is {low:.1f} % to {high:.1f} %." in words
    reached = f"{100 * entry['achieved_coverage']:.1f} %, missed"
    for text in (render_markdown(made), render_html(made)):
        assert (
            text.replace("\N{NO-BREAK SPACE}", " ").count(reached) >= 2
        )  # in the numbers, and in the table of coverages
    met = quick((clf, X, y), with_intervals=True)
    assert "missed" not in met["sentence"]
    assert not entry_at(met, 0.8)["coverage_missed"]


def test_more_than_the_coverage_asked_for_is_no_miss_where_at_least_that_was_promised():
    _, X, y = make_linear(4000)
    selected = {}
    for confidence in (None, 0.95):
        clf = PlugInAUC(LogisticRegression(), coverage=0.8, coverage_confidence=confidence, random_state=0).fit(X, y)
        X_new, y_new = X[(score := clf.predict_proba(X)[:, 1]) > 0.8], y[score > 0.8]
        with pytest.warns(TrainingRowsWarning):
            selected[confidence] = entry_at(quick((clf, X_new, y_new), with_intervals=True), 0.8)
    assert all(entry["achieved_coverage_low"] > 0.8 for entry in selected.values())
    assert [entry["coverage_missed"] for entry in selected.values()] == [True, False]


def test_shares_of_weight_are_called_so_and_rows_stand_beside_them():
    clf, X, y = make_linear(coverage=0.8)
    weight = 1.0 + 9.0 * (X[:, 0] > 0.5)
    made = quick((clf, X, y), sample_weight=weight, with_intervals=True, by=np.where(X[:, 1] > 0, "a", "b"))
    entry = entry_at(made, 0.8)
    reached, n, chosen = entry["achieved_coverage"], len(y), entry["n_automatic"]
    assert abs(reached - chosen / n) > 0.001
    words = made["sentence"].replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith(
        f"Asked to decide 80 % of the weight, the classifier decides {100 * reached:.1f} % of the weight of {n} test "
        f"rows ({chosen} rows, {100 * chosen / n:.1f} % of them) automatically and sends {100 * (1 - reached):.1f} % "
        f"of the weight ({n - chosen} rows) to review."
    )
    listed = {number.key: number for number in tables.numbers(made, entry)}
    assert listed["achieved_coverage"].label == "Coverage reached, by weight"
    assert listed["positive_rate"].label.endswith(", by weight")
    assert "weight" not in listed["selective_auc"].label
    text = listed["n_automatic"].text.replace("\N{NO-BREAK SPACE}", " ")
    assert text == f"{chosen} of {n} ({100 * chosen / n:.1f} %)"
    made_of = (tables.coverage_table(made), tables.group_table(made, entry), tables.decile_table(made, entry))
    for table in made_of:
        assert any(column.endswith(", by weight") for column in table.columns)
    page = render_html(made)
    assert "coverage: share of weight to decide" in page
    assert "share of rows" not in page[: page.index("report-data")]


def test_without_bootstrap_there_are_no_intervals(linear):
    assert entry_at(linear, 0.8)["selective_auc_low"] is None
    assert {lane["positive_rate_low"] for lane in entry_at(linear, 0.8)["lanes"]} == {None}
    assert "interval" not in linear["sentence"]


# ---- curves and histogram ----


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_thinned_roc_curve_keeps_its_area_and_its_ends(coverage, summary):
    entry = entry_at(summary, coverage)
    x, y = (np.array(entry["curve"][name]) for name in ("false_positive_rate", "true_positive_rate"))
    assert len(x) <= 202
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    assert np.trapezoid(y, x) == pytest.approx(entry["selective_auc"], abs=0.002)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_cap_curve_has_the_gini_as_its_area(coverage, summary):
    entry = entry_at(summary, coverage)
    curve = entry["curve"]
    assert curve["positive_rate"] == pytest.approx(entry["positive_rate"])
    area = np.trapezoid(curve["true_positive_rate"], curve["rows"])
    gini = (2 * area - 1) / (1 - curve["positive_rate"])
    assert gini == pytest.approx(entry["selective_gini"], abs=0.005)


def test_histogram_shares_add_up_per_class(summary):
    for name in ("positive", "negative"):
        assert sum(summary["score"]["shares"][name]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_hatched_bars_hold_the_rejected_rows(coverage, credit, summary):
    entry, rejected = entry_at(summary, coverage), ~credit.clf.select(credit.X, coverage)
    for name, members in (("positive", credit.positive), ("negative", ~credit.positive)):
        assert sum(entry["review_shares"][name]) == pytest.approx(rejected[members].mean(), abs=1e-4)
        parts = zip(entry["review_shares"][name], entry["shares"][name], strict=True)
        assert all(part <= whole + 1e-6 for part, whole in parts)


def test_crowded_scores_are_drawn_on_log_odds():
    X, y = make_classification(3000, weights=[0.97], flip_y=0.01, class_sep=0.8, random_state=0)
    clf = AUCross(LogisticRegression(), random_state=0).fit(X[:1500], y[:1500])
    score = quick((clf, X[1500:], y[1500:]))["score"]
    log_odds = [math.log(edge / (1 - edge)) for edge in score["bin_edges"]]
    assert score["scale"] == "log-odds"
    assert np.diff(log_odds) == pytest.approx(log_odds[1] - log_odds[0])


# ---- deciles ----


@pytest.mark.parametrize("coverage", COVERAGES)
def test_deciles_part_the_answered_rows(coverage, credit, summary):
    entry, selected = entry_at(summary, coverage), credit.clf.select(credit.X, coverage)
    deciles = entry["deciles"]
    assert [part["decile"] for part in deciles] == list(range(1, 11))
    assert sum(part["n"] for part in deciles) == selected.sum()
    assert sum(part["n_positive"] for part in deciles) == (selected & credit.positive).sum()
    assert deciles[-1]["positives_so_far"] == pytest.approx(1)
    assert all(a["lowest_score"] > b["highest_score"] for a, b in pairwise(deciles))


def test_a_decile_says_what_its_rows_say(credit, summary):
    selected = credit.clf.select(credit.X, 0.85)
    part = entry_at(summary, 0.85)["deciles"][2]
    own = selected & (credit.score >= part["lowest_score"]) & (credit.score <= part["highest_score"])
    assert part["n"] == own.sum()
    assert part["mean_score"] == pytest.approx(credit.score[own].mean())
    assert part["observed_rate"] == pytest.approx(credit.positive[own].mean())
    assert part["lift"] == pytest.approx(credit.positive[own].mean() / credit.positive[selected].mean())
    interval = binomtest(int(credit.positive[own].sum()), int(own.sum())).proportion_ci(method="wilson")
    assert (part["observed_rate_low"], part["observed_rate_high"]) == pytest.approx((interval.low, interval.high))


@pytest.mark.few_scores
def test_equal_scores_share_a_decile():
    X, y = make_linear()[1:]
    clf = AUCross(LogisticRegression(), random_state=0).fit(X[:300, :1].round(), y[:300])
    for entry in quick((clf, X[300:, :1].round(), y[300:]))["coverages"]:
        ends = [(part["lowest_score"], part["highest_score"]) for part in entry["deciles"]]
        assert all(low > high for (low, _), (_, high) in pairwise(ends))


# ---- who is rejected ----


def test_scores_of_answered_and_rejected_rows(credit, summary):
    selected = credit.clf.select(credit.X, 0.85)
    for name, chosen in (("automatic", selected), ("review", ~selected)):
        part = entry_at(summary, 0.85)["scores"][name]
        assert part["n"] == chosen.sum()
        assert part["mean"] == pytest.approx(credit.score[chosen].mean())
        assert part["quantiles"]["0.5"] == np.quantile(credit.score[chosen], 0.5, method="inverted_cdf")


def test_where_nobody_is_rejected_nothing_is_compared(summary):
    last = summary["coverages"][-1]
    assert last["features"] == []
    assert last["scores"]["review"] == {"n": 0, "mean": None, "quantiles": None}


def trait_of(column, feature):
    if feature["kind"] == "number":
        return column.to_numpy(dtype=float)
    shown = column.isna() if feature["kind"] == "missing" else column == feature["level"]
    return shown.to_numpy(dtype=float)


def test_differences_of_numbers_and_categories_are_in_standard_deviations(credit, summary):
    rejected = ~credit.clf.select(credit.X, 0.85)
    for feature in entry_at(summary, 0.85)["features"]:
        values = trait_of(credit.X[feature["feature"]], feature)
        means = [np.nanmean(values[chosen]) for chosen in (~rejected, rejected)]
        assert [feature["automatic"], feature["review"]] == pytest.approx(means)
        assert feature["standardised_difference"] == pytest.approx((means[1] - means[0]) / np.nanstd(values))


def test_the_largest_differences_come_first_and_a_column_once(summary):
    for entry in summary["coverages"]:
        sizes = [abs(feature["standardised_difference"]) for feature in entry["features"]]
        assert sizes == sorted(sizes, reverse=True)
        assert len(sizes) <= 10
        columns = [(feature["feature"], feature["kind"] == "missing") for feature in entry["features"]]
        assert len(set(columns)) == len(columns)


# ---- groups ----


def test_groups_are_those_of_evaluate_groups(credit, summary):
    report = evaluate_groups(credit.clf, credit.X, credit.y, credit.groups, [0.85, 0.6])
    for coverage in (0.85, 0.6):
        rows = [row for row in report.rows() if row["target_coverage"] == coverage][:-1]
        found = entry_at(summary, coverage)["groups"]
        assert [group["group"] for group in found] == ["to 25", "26 to 50", "over 50"]
        for group, row in zip(found, rows, strict=True):
            assert group["n"] == row["n"]
            assert group["achieved_coverage"] == row["achieved_coverage"]
            assert group["selective_auc"] == row["selective_auc"]


def test_the_guard_of_a_group_looks_at_its_own_rows(credit, summary):
    own = (credit.groups == "to 25").to_numpy()
    check = BaseRateGuard().check(credit.positive[own], credit.clf.select(credit.X, 0.6)[own], warn=False)
    group = entry_at(summary, 0.6)["groups"][0]
    assert (group["base_rate_ok"], group["base_rate_message"]) == (check.ok, check.message)


def test_gaps_are_compared_with_chance(summary):
    gaps = {gap["metric"]: gap for gap in entry_at(summary, 0.85)["group_gaps"]}
    assert gaps["achieved_coverage"]["gap"] > 0
    assert gaps["achieved_coverage"]["gap_by_chance"] > 0


def test_without_groups_there_are_none(linear):
    assert entry_at(linear, 0.8)["groups"] == []


# ---- method card ----


def test_the_method_card_says_what_was_done(summary):
    method, data = summary["method"], summary["data"]
    assert method["classifier"] == "AUCross"
    assert method["parameters"]["coverage"] == "0.85"
    assert method["model"] == "HistGradientBoostingClassifier(max_iter=50, random_state=0)"
    assert method["held_out_rows"] == 2000
    assert (method["seed"], method["with_intervals"]) == ("0", True)
    assert {"python", "aucross", "numpy", "scikit-learn"} <= set(method["versions"])
    assert (method["command"], method["date"]) == ("python make_report.py --seed 0", "2025-01-31")
    assert (data["name"], data["n"], data["n_features"]) == ("synthetic loans", 2000, 19)
    assert (data["negative_class"], data["positive_class"]) == ("repaid", "default")


def test_few_rows_and_weights_are_named_among_the_limits():
    clf, X, y = make_linear()
    made = quick((clf, X[:60], y[:60]), sample_weight=np.ones(60), by=["a"] * 50 + ["b"] * 10)
    limits = " ".join(made["method"]["limits"])
    selected = clf.select(X[:60])
    n_smaller = min((y[:60][selected] == label).sum() for label in np.unique(y))
    assert f"Only {n_smaller} automatic rows are of the smaller class" in limits
    assert "Rows carry weights" in limits
    assert "The smallest group has 10 rows: read its numbers as rough." in limits


def test_groups_that_are_too_small_for_the_gaps_are_named_with_their_sizes():
    clf, X, y = make_linear()
    by = np.repeat(["a", "b", "c", "d", "e"], [300, len(y) - 315, 8, 4, 3])
    made = quick((clf, X, y), by=by, with_intervals=True)
    assert [group["group"] for group in entry_at(made, 0.9)["groups"]] == ["a", "b", "c"]
    assert {gap["n_groups"] for gap in entry_at(made, 0.9)["group_gaps"]} == {2}
    notes = [
        "Not compared, with fewer than 50 rows: c (8 rows).",
        "2 groups of fewer than 5 rows (7 in all) not shown: numbers of so few are those of single people.",
    ]
    assert made["group_notes"] == notes
    for page in (render_markdown(made), render_html(made)):
        assert " ".join(notes) in page


def test_the_numbers_of_a_small_group_do_not_follow_from_the_others():
    """All rows less the groups that are shown are never a few."""
    clf, X, y = make_linear()
    made = quick((clf, X, y), by=np.repeat(["a", "b", "c", "d"], [300, len(y) - 311, 8, 3]))
    groups = entry_at(made, 0.9)["groups"]
    assert [group["group"] for group in groups] == ["a", "b"]
    assert len(y) - sum(group["n"] for group in groups) == 11
    assert made["group_notes"][-1] == (
        "1 group of fewer than 5 rows, and c, from which their numbers would follow (11 in all) not shown: "
        "numbers of so few are those of single people."
    )
    alone = quick((clf, X, y), by=np.repeat(["a", "b"], [len(y) - 3, 3]))
    assert entry_at(alone, 0.9)["groups"] == []
    assert "and a, from which" in " ".join(alone["method"]["limits"])


def test_no_gap_is_stated_where_no_two_groups_are_large_enough():
    clf, X, y = make_linear()
    made = quick((clf, X, y), by=np.repeat(["a", "b", "c", "d"], [len(y) - 14, 8, 4, 2]), with_intervals=True)
    assert entry_at(made, 0.9)["group_gaps"] == []
    said = f"No two groups have 50 rows, so that none are compared: a ({len(y) - 14} rows), b (8 rows)."
    for page in (render_markdown(made), render_html(made)):
        assert said in page
        assert "Largest gaps" not in page


# ---- refusals ----


def test_more_than_two_classes_are_refused():
    X, y = make_classification(600, n_classes=3, n_informative=6, random_state=0)
    clf = AUCross(LogisticRegression(), random_state=0).fit(X[:300], y[:300])
    with pytest.raises(ValueError, match="clf must have two classes, got 3; ROC and CAP curves of a report know two"):
        quick((clf, X[300:], y[300:]))


def test_rows_of_one_class_are_refused():
    clf, X, y = make_linear()
    with pytest.raises(ValueError, match=r"y must hold both classes for a report, got .*1.* alone"):
        quick((clf, X[y == 1], y[y == 1]))


def test_a_plain_classifier_is_refused():
    _, X, y = make_linear()
    model = LogisticRegression().fit(X, y)
    model.coverage = 0.9
    with pytest.raises(TypeError, match="clf must be a selective classifier"):
        quick((model, X, y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": 90}, "coverage must be in .*, got 90; for 90 % pass 0.9"),
        ({"coverage": 0.0}, "coverage must be in .0, 1., got 0"),
        ({"confidence": 1.0}, "confidence must be in"),
        ({"class_names": "ab"}, "class_names must be a pair"),
        ({"class_names": ["a", "b", "c"]}, "class_names must be a pair"),
        ({"by": ["a"]}, "by must hold one value per row"),
    ],
)
def test_arguments_that_cannot_work_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        quick(make_linear(), **options)


# ---- an evaluation that is there already ----


def test_an_evaluation_at_all_coverages_is_not_made_again(monkeypatch):
    case = make_linear()
    alone = build_summary(*case)
    evaluation = evaluate_selective(*case, [*GRID[::-1], 0.4])
    monkeypatch.setattr("aucross.report.coverage_numbers.evaluate_selections", None)
    # Sums over the segments of one more coverage may differ in the last digit.
    assert to_twelve_digits(build_summary(*case, evaluation=evaluation)) == to_twelve_digits(alone)


def to_twelve_digits(summary):
    return json.loads(json.dumps(summary), parse_float=lambda digits: round(float(digits), 12))


@pytest.mark.parametrize("change", [{"with_intervals": False}, {"confidence": 0.9}])
def test_an_evaluation_with_other_intervals_is_refused(change):
    case = make_linear()
    evaluation = evaluate_selective(*case, GRID)
    with pytest.raises(ValueError, match="evaluation must be of the rows of the report"):
        build_summary(*case, evaluation=evaluation, **change)


def test_an_evaluation_without_the_groups_is_refused():
    case = make_linear()
    groups = np.arange(len(case[2])) // 2
    without = evaluate_selective(*case, GRID)
    with pytest.raises(ValueError, match="evaluation must be of the rows of the report"):
        build_summary(*case, customers=groups, evaluation=without)
    with_groups = evaluate_selective(*case, GRID, customers=groups)
    assert build_summary(*case, customers=groups, evaluation=with_groups)["data"]["n_customers"] > 1
    with pytest.raises(ValueError, match="both evaluations must have the same customers"):
        without.minus(with_groups)


def test_an_evaluation_of_other_rows_is_refused():
    clf, X, y = make_linear()
    evaluation = evaluate_selective(clf, X[::-1], y, GRID)
    with pytest.raises(ValueError, match=r"got .* of other rows; leave it out"):
        build_summary(clf, X, y, evaluation=evaluation)


def test_an_evaluation_that_lacks_a_coverage_is_refused():
    case = make_linear()
    evaluation = evaluate_selective(*case, GRID[1:])
    with pytest.raises(ValueError, match=r"coverages must be some of .*, got also \[0\.5\]; evaluate at them too"):
        build_summary(*case, evaluation=evaluation)


def test_a_gap_is_more_than_chance_if_it_is_larger(summary):
    gap = {"metric": "achieved_coverage", "gap_by_chance": 0.1, "lowest_group": "a", "highest_group": "b"}
    gaps = [{**gap, "gap": size} for size in (0.2, 0.05, None)]
    assert [row[3] for row in tables.gap_table(summary, {"group_gaps": gaps}).rows][:2] == ["yes", "no"]
