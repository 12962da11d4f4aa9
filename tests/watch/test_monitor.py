"""The drift alarm: shares against the target, late labels, state that survives storage."""

import copy
import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, PlugInAUC, SCross
from aucross.core.bounds import auc_lower_bound
from aucross.estimators import without_correction
from aucross.estimators.coverage_for import variance_between_folds
from aucross.watch.drift_reference import Limits, share_limits
from aucross.watch.monitor import MAX_UNPAIRED, CoverageMonitor

X, y = make_classification(14000, n_features=6, flip_y=0.3, weights=[0.7], random_state=0)
X_train, y_train, X_new, y_new = X[:6000], y[:6000], X[6000:], y[6000:]
rng = np.random.default_rng(0)
BATCHES = [slice(start, start + 500) for start in range(0, 8000, 500)]


@pytest.fixture(scope="module")
def clf():
    return PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="module")
def three_classes():
    labels = make_classification(3000, n_features=6, n_informative=4, n_classes=3, random_state=0)
    return AUCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0).fit(*labels), labels[0]


def state(monitor):
    return monitor.reference, monitor._run


def through_pickle(monitor):
    return pickle.loads(pickle.dumps(monitor))


def shrunk(rows):
    """Rows whose scores crowd in the middle, where the band is."""
    return 0.6 * rows


# ---- the selected share ----


def test_a_stream_without_drift_gives_no_alarm(clf):
    monitor = CoverageMonitor(clf)
    reports = [monitor.update(X_new[rows]) for rows in BATCHES]
    assert not any(report.alarm for report in reports)
    assert not monitor.alarm
    assert [report.batch for report in reports] == list(range(1, 17))
    assert reports[-1].run_n == 8000
    assert reports[-1].run_share == clf.select(X_new).mean()


def test_reports_count_what_select_says(clf):
    report = CoverageMonitor(clf, coverage=0.6).update(X_new[:500])
    selected = clf.select(X_new[:500], coverage=0.6)
    assert (report.n, report.selected, report.share) == (500, selected.sum(), selected.mean())
    assert report.target == 0.6


def test_drift_gives_an_alarm_that_names_side_and_start(clf):
    monitor = CoverageMonitor(clf)
    for rows in BATCHES[:8]:
        monitor.update(X_new[rows])
    for rows in BATCHES[8:]:
        report = monitor.update(shrunk(X_new[rows]))
    assert report.alarm
    assert monitor.coverage_alarm
    assert not monitor.auc_alarm
    assert report.direction == "below"
    assert abs(report.drift_since - 9) <= 1
    assert 9 <= report.alarm_batch <= 12
    assert report.message.split("ALARM since batch ")[1].startswith(
        f"{report.alarm_batch}: the automatic share is below"
    )


def test_a_share_outside_its_limits_without_an_alarm_is_explained(clf):
    report = CoverageMonitor(clf).update_selected(np.arange(10) < 6)
    assert not report.alarm
    assert report.share < report.low
    assert report.message.endswith("Outside its limits, but so few rows can be so by chance; the next ones tell.")


def test_each_test_has_a_line_of_its_own(clf):
    report = CoverageMonitor(clf).update_labels(X_new[:500], y_new[:500])
    assert [line.partition(":")[0] for line in report.message.splitlines()] == [
        "Batch 1 of labels",
        "The share of positives among the selected rows",
        "The share of positives less the mean of their probabilities",
    ]


def test_an_alarm_whose_drift_has_turned_round_says_what_is_and_what_was(clf):
    monitor = CoverageMonitor(clf)
    for selected in [0.5] * 3 + [1.0] * 5:
        report = monitor.update_selected(np.arange(500) < selected * 500)
    assert report.message.endswith("; it shows from batch 1 on.")
    assert "share is above what it should be now, and was below at the alarm (evidence more than 1,000 to 1, " in str(
        report
    )
    assert (report.direction, report.drift_since) == ("below", 1)


def test_a_share_above_the_target_is_drift_too(clf):
    monitor = CoverageMonitor(clf)
    for rows in BATCHES[:4]:
        report = monitor.update(3 * X_new[rows])
    assert report.alarm
    assert report.direction == "above"


def test_reset_starts_a_new_run(clf):
    monitor = CoverageMonitor(clf)
    first = monitor.update(shrunk(X_new[:2000]))
    assert first.alarm
    monitor.update_labels(X_new[:100], y_new[:100])
    monitor.reset()
    assert not monitor.alarm
    assert state(monitor) == state(CoverageMonitor(clf))


def test_the_automatic_limits_hold_the_target_and_narrow_with_more_rows(clf):
    few = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.1, random_state=0).fit(X_train, y_train)
    wide, narrow = CoverageMonitor(few).reference, CoverageMonitor(clf).reference
    for reference in (wide, narrow):
        assert reference.low < 0.8 < reference.high
        assert reference.high - reference.low < 5 * np.sqrt(0.16 / reference.n_rows)
        assert reference.level == 0.025
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_a_given_tolerance_is_taken_as_it_is(clf):
    reference = CoverageMonitor(clf, tolerance=0.05, false_alarm=0.01).reference
    assert (reference.low, reference.high, reference.level) == (0.75, 0.8500000000000001, 0.01)
    monitor = CoverageMonitor(clf, coverage=0.99, tolerance=0.05)
    assert monitor.reference.high == 1
    assert monitor.update_selected([True] * 5000).evidence < 1


@pytest.mark.few_scores
def test_a_share_that_ties_keep_above_the_target_is_no_drift():
    tied = PlugInAUC(DecisionTreeClassifier(max_depth=2), coverage=0.8, holdout_size=0.5, random_state=0)
    tied.fit(X_train, y_train)
    monitor = CoverageMonitor(tied)
    assert monitor.reference.share > 0.85
    assert not any(monitor.update(X_new[rows]).alarm for rows in BATCHES)


def test_full_coverage_never_gives_an_alarm(clf):
    monitor = CoverageMonitor(clf, coverage=1)
    assert not any(monitor.update(shrunk(X_new[rows])).alarm for rows in BATCHES[:4])


def test_weights_count_with_their_effective_number_of_rows():
    weight = np.where(np.arange(6000) % 10 == 0, 50.0, 1.0)
    weighted = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0)
    weighted.fit(X_train, y_train, sample_weight=weight)
    reference = CoverageMonitor(weighted).reference
    assert 300 < reference.n_rows < 500
    assert reference.share == pytest.approx(0.8, abs=0.03)
    assert reference.is_weighted


def test_weights_that_follow_the_score_raise_no_alarm_without_drift():
    # Heavy rows have high scores: of the rows far fewer than 80 % are selected.
    weight = np.exp(2 * LogisticRegression().fit(X_train, y_train).decision_function(X_train))
    weighted = SCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0)
    weighted.fit(X_train, y_train, sample_weight=weight)
    monitor = CoverageMonitor(weighted)
    assert abs(monitor.reference.share - 0.8) > 0.05
    assert not any(monitor.update(X_new[rows]).alarm for rows in BATCHES)
    assert monitor.update(X_new[:500]).target == monitor.reference.share


def test_few_reference_rows_give_the_band_a_row_less():
    low, high, _ = share_limits(0.8, 0.8, 50, "auto", 0.05)
    assert low == pytest.approx(beta(40, 11).ppf(0.0125))
    assert high == pytest.approx(beta(42, 9).ppf(1 - 0.0125))
    assert share_limits(0.98, 0.98, 50, "auto", 0.05)[1] == 1


def test_limits_hold_what_the_model_of_all_rows_does_differently_from_those_of_the_folds():
    """The few scores of small trees lie on different sides of the band, and those of the final tree may, too."""
    alarms, rng = [], np.random.default_rng(0)
    for seed in range(8):
        X = rng.normal(size=(21_000, 4))
        y = rng.random(21_000) < 1 / (1 + np.exp(1 - X @ [1.0, 0.8, 0.6, 0.4]))
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = AUCross(tree, coverage=0.8, random_state=seed).fit(X[:1000], y[:1000])
            monitor = CoverageMonitor(fitted)
            selected = fitted.select(X[1000:])
        for batch in selected.reshape(100, 200):
            monitor.update_selected(batch)
        alarms.append(monitor.coverage_alarm)
    assert sum(alarms) <= 1


def test_limits_of_folds_that_judge_new_rows_know_no_variance_between_models():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    judged = AUCross(tree, coverage=0.8, ensemble="judge", random_state=0).fit(X_train, y_train)
    found = CoverageMonitor(judged).reference
    assert (found.low, found.high) == pytest.approx(share_limits(0.8, found.share, found.n_rows, "auto", 0.05)[:2])


@pytest.mark.parametrize("corrected", [True, False])
def test_limits_know_how_folds_differ_where_no_correction_of_the_coverage_takes_it_out(corrected):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = rng.random(400) < 1 / (1 + np.exp(1 - X @ [1.0, 0.8, 0.6, 0.4]))
    clf = AUCross(LogisticRegression(), coverage=0.7, cv=10, random_state=1)
    clf = (clf if corrected else without_correction(clf)).fit(X, y)
    selected = clf.decide(clf.fitted_.scored_held_out(), 0.7).selected
    between = variance_between_folds(selected, clf.held_out_.folds)
    assert between > 0
    found = CoverageMonitor(clf).reference
    expected = share_limits(0.7, found.share, 400, "auto", 0.05, between=0.0 if corrected else between)
    assert (found.low, found.high) == pytest.approx(expected[:2])


def test_the_variance_between_models_counts_like_fewer_rows():
    by_chance = 0.8 * 0.2 / 1000
    widened = share_limits(0.8, 0.8, 1000, "auto", 0.05, between=3 * by_chance)
    assert widened == pytest.approx(share_limits(0.8, 0.8, 250, "auto", 0.05))


# ---- what a capacity hides ----


def test_decisions_by_a_capacity_are_refused(clf):
    monitor = CoverageMonitor(clf)
    with pytest.raises(ValueError, match=r"got decisions by a capacity of 40.*pass decide"):
        monitor.update_selected(clf.decide(X_new[:200], capacity=40))
    assert monitor.update_selected(clf.decide(X_new[:200])).n == 200


def test_the_same_number_rejected_batch_after_batch_is_told(clf):
    monitor, mask = CoverageMonitor(clf), np.arange(200) >= 40
    for _ in range(7):
        monitor.update_selected(mask)
    with pytest.warns(UserWarning, match="8 batches in a row have rejected 40 rows each: a capacity decides here"):
        monitor.update_selected(mask)
    monitor.update_selected(mask)  # once is enough


def test_rows_without_drift_can_be_given_as_reference(clf):
    monitor = CoverageMonitor(clf, reference=shrunk(X_new[:4000]))
    assert monitor.reference.n_rows == 4000
    assert monitor.reference.share == clf.select(shrunk(X_new[:4000])).mean()
    assert monitor.update(shrunk(X_new[4000:])).psi < 0.02


def test_a_recalibrated_classifier_is_watched_against_the_rows_that_placed_its_bands(clf):
    drifted = shrunk(X_new)
    recalibrated = clf.recalibrate(drifted[:4000])
    monitor = CoverageMonitor(recalibrated, reference=drifted[:4000])
    assert monitor.reference.share == pytest.approx(0.8, abs=0.001)
    assert not any(monitor.update(drifted[rows]).alarm for rows in BATCHES[8:])
    assert any(monitor.update(X_new[rows]).alarm for rows in BATCHES)


@pytest.mark.parametrize("parameters", [{}, {"coverage_confidence": 0.9}])
def test_corrected_and_promised_coverages_are_no_drift(parameters):
    clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0, **parameters).fit(X_train, y_train)
    monitor = CoverageMonitor(clf)
    assert not any(monitor.update(X_new[rows]).alarm for rows in BATCHES)
    assert any(monitor.update(shrunk(X_new[rows])).alarm for rows in BATCHES)


@pytest.mark.parametrize("rows", [X_new[:0], pd.DataFrame(X_new).iloc[:0], []])
def test_a_batch_without_rows_changes_nothing(clf, rows):
    monitor = CoverageMonitor(clf)
    monitor.update(X_new[:500])
    before = state(monitor)
    report = monitor.update(rows)
    assert state(monitor) == before
    assert report.n == 0
    assert np.isnan(report.share)
    assert np.isnan(report.psi)
    assert report.message.startswith("No rows: nothing changed. No alarm")


def test_single_rows_are_batches_too(clf):
    monitor = CoverageMonitor(clf)
    for row in range(100):
        report = monitor.update(X_new[row : row + 1])
    assert (report.batch, report.run_n, report.n) == (100, 100, 1)
    assert not report.alarm
    for row in range(600):
        report = monitor.update_selected([row % 2 == 0])
    assert report.alarm


def test_logged_decisions_and_rows_give_the_same_run(clf):
    by_rows, by_log = CoverageMonitor(clf), CoverageMonitor(clf)
    for rows in BATCHES:
        score = clf.predict_proba(X_new[rows])[:, 1]
        selected = clf.select(X_new[rows])
        assert by_rows.update(X_new[rows]) == by_log.update_selected(selected.astype(int).tolist(), score)
        assert by_rows.update_labels(X_new[rows], y_new[rows]) == by_log.update_labels_selected(
            y_new[rows], selected, score
        )
    assert state(by_rows) == state(by_log)


def test_scores_that_have_moved_are_named_beside_no_alarm(clf):
    scores = clf.fitted_.scored_held_out().score
    report = CoverageMonitor(clf).update_selected(
        np.arange(2000) % 10 > 1, np.linspace(scores.min(), scores.max(), 2000)
    )
    assert report.psi > 0.1
    assert "No alarm" in report.message
    assert report.message.endswith(": the scores have moved.")
    assert "have moved" not in CoverageMonitor(clf).update_selected(np.arange(len(scores)) % 10 > 1, scores).message


def test_a_batch_without_rows_has_no_index(clf):
    assert "nan" not in CoverageMonitor(clf).update(X_new[:0]).message


@pytest.mark.parametrize("nothing", [None, 3])
def test_what_is_no_table_is_named(clf, nothing):
    with pytest.raises(TypeError, match=f"X must be a table of rows, got {type(nothing).__name__}; pass the rows"):
        CoverageMonitor(clf).update(nothing)


def test_decisions_without_scores_have_no_stability_index(clf):
    report = CoverageMonitor(clf).update_selected([True, False])
    assert report.stability == {}
    assert np.isnan(report.psi)
    assert report.deciles == []
    assert "PSI" not in report.message


# ---- other classifiers ----


def test_bands_per_group_need_the_groups_of_the_batch():
    groups = np.where(X[:, 0] > 0, "b", "a")
    grouped = AUCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0)
    grouped.fit(X_train, y_train, band_groups=groups[:6000])
    monitor = CoverageMonitor(grouped)
    report = monitor.update(X_new[:500], band_groups=groups[6000:6500])
    assert report.selected == grouped.select(X_new[:500], band_groups=groups[6000:6500]).sum()
    assert not monitor.update_labels(X_new[:500], y_new[:500], band_groups=groups[6000:6500]).alarm
    with pytest.raises(ValueError, match="band_groups must be given"):
        monitor.update(X_new[:500])
    given = CoverageMonitor(grouped, reference=X_new[:500], reference_groups=groups[6000:6500])
    assert given.reference.share == report.share


@pytest.mark.parametrize(
    "estimator",
    [
        SCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0),
        AUCGate(LogisticRegression(), LogisticRegression(C=0.01), coverage=0.8, cv=3, random_state=0),
    ],
    ids=["SCross", "AUCGate"],
)
def test_methods_with_a_selection_score_of_their_own_show_both_scores(estimator):
    clf = estimator.fit(X_train[:3000], y_train[:3000])
    report = CoverageMonitor(clf).update(X_new[:1000])
    assert list(report.stability) == ["score", "selection_score"]
    assert report.selected == clf.select(X_new[:1000]).sum()
    assert report.psi == report.stability["score"].psi < 0.05
    bins = CoverageMonitor(clf).reference.bins["score"]
    assert bins.counts(clf.held_out_.scores).tolist() == [300] * 10
    score = clf.predict_proba(X_new[:1000])[:, 1]
    assert report.stability["score"] == bins.compare(bins.counts(score))


def test_more_than_two_classes_are_watched_by_their_coverage(three_classes):
    clf, rows = three_classes
    monitor = CoverageMonitor(clf)
    report = monitor.update(rows[:300])
    assert list(report.stability) == ["selection_score"]
    assert report.selected == clf.select(rows[:300]).sum()
    with pytest.raises(ValueError, match="the AUC is watched for two classes only, got a classifier with 3"):
        monitor.update_labels(rows[:300], np.zeros(300))
    restored = through_pickle(monitor)
    assert restored.update(rows[300:600]) == monitor.update(rows[300:600])


# ---- scores ----


def test_the_stability_index_rises_when_scores_move(clf):
    monitor = CoverageMonitor(clf)
    same, moved = monitor.update(X_new[:4000]), monitor.update(shrunk(X_new[4000:]))
    assert same.psi < same.stability["score"].psi_by_chance
    assert moved.psi > 0.1
    assert same.psi < moved.run_stability["score"].psi < moved.psi
    assert len(same.deciles) == 10
    assert sum(row["observed"] for row in same.deciles) == pytest.approx(1)


def test_scores_that_are_no_numbers_are_refused(clf):
    monitor = CoverageMonitor(clf)
    rows = X_new[:5].copy()
    rows[2, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        monitor.update(rows)
    with pytest.raises(ValueError, match="scores must be finite, got 1 NaN"):
        monitor.update_selected([True, True], [0.5, np.nan])
    assert state(monitor) == state(CoverageMonitor(clf))


# ---- late labels ----


def test_labels_without_drift_give_no_alarm(clf):
    monitor = CoverageMonitor(clf)
    reports = [monitor.update_labels(X_new[rows], y_new[rows]) for rows in BATCHES]
    assert not monitor.alarm
    selected = clf.select(X_new)
    assert reports[-1].run_outcomes == min(y_new[selected].sum(), (1 - y_new[selected]).sum())
    assert reports[-1].run_auc == pytest.approx(monitor.reference.auc.expected, abs=0.03)
    assert "expected" in reports[-1].message
    assert "No alarm" in str(reports[-1])


def test_a_lower_auc_gives_an_alarm_while_the_coverage_stays(clf):
    monitor = CoverageMonitor(clf)
    noise = np.where(np.random.default_rng(0).random(8000) < 0.4, 1 - y_new, y_new)
    for rows in BATCHES:
        monitor.update(X_new[rows])
        report = monitor.update_labels(X_new[rows], noise[rows])
    assert report.alarm
    assert monitor.auc_alarm
    assert not monitor.coverage_alarm
    assert "the AUC of the selected rows is below what it should be" in report.message
    # The alarm stays, and the sentence says where the AUC is now.
    answered = monitor.update_labels(X_new[BATCHES[0]], clf.predict(X_new[BATCHES[0]]))
    assert "the AUC of the selected rows was below what it should be, and is within its limits" in answered.message
    one_class = monitor.update_labels(X_new[y_new == 1][:5], np.ones(5, dtype=int))
    assert "was below what it should be, and is not defined in this batch" in one_class.message


def test_a_higher_auc_gives_no_alarm(clf):
    monitor = CoverageMonitor(clf)
    answers = clf.predict(X_new)
    assert not any(monitor.update_labels(X_new[rows], answers[rows]).alarm for rows in BATCHES)


def test_the_reference_auc_is_the_held_out_one_or_the_given(clf):
    band = clf.band()
    held_out = CoverageMonitor(clf).reference
    ranked = clf.held_out_.ranked()
    assert held_out.auc.expected == ranked.auc(band)
    selected = clf.held_out_.ranked(clf.select(clf.fitted_.scored_held_out()))
    assert held_out.auc.low == auc_lower_bound(selected, 0.025) < ranked.auc_bounds(0.025, band)[0]
    given = CoverageMonitor(clf, auc=0.7).reference
    assert given.auc == Limits(0.7, 0.7, 1.0, 0.05)
    tolerant = CoverageMonitor(clf, auc_tolerance=0.1).reference
    assert tolerant.auc.low == pytest.approx(held_out.auc.expected - 0.1)
    assert tolerant.auc.level == 0.05


def test_labels_of_one_class_wait_for_the_other(clf):
    monitor = CoverageMonitor(clf)
    selected = clf.select(X_new)
    positive, negative = np.flatnonzero(selected & (y_new == 1)), np.flatnonzero(selected & (y_new == 0))
    first = monitor.update_labels(X_new[positive[:20]], y_new[positive[:20]])
    assert (first.batch, first.n_outcomes, first.n_positive) == (0, 0, 20)
    assert np.isnan(first.auc)
    assert "no pair of both classes yet" in first.message
    monitor = through_pickle(monitor)
    second = monitor.update_labels(X_new[negative[:50]], y_new[negative[:50]])
    assert (second.batch, second.n_outcomes, second.run_outcomes) == (1, 20, 20)
    assert "AUC not defined of 0 selected positives" in second.message


def test_waiting_labels_are_limited(clf):
    monitor = CoverageMonitor(clf)
    for _ in range(3):
        monitor.update_labels_selected(np.ones(6000), np.ones(6000), np.linspace(0, 1, 6000))
    waiting = monitor._run.unpaired[0]
    assert len(waiting) == MAX_UNPAIRED
    assert waiting[-1] == 1


def test_rejected_rows_and_no_rows_do_not_count_for_the_auc(clf):
    monitor = CoverageMonitor(clf)
    rejected = ~clf.select(X_new)
    report = monitor.update_labels(X_new[rejected], y_new[rejected])
    assert (report.n_positive, report.n_negative, report.run_outcomes) == (0, 0, 0)
    assert monitor.update_labels(X_new[:0], y_new[:0]).n == 0


def test_labels_may_be_text():
    names = np.array(["no", "yes"])
    clf = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0).fit(X_train, names[y_train])
    numbered = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0).fit(X_train, y_train)
    report = CoverageMonitor(clf).update_labels(X_new, names[y_new])
    assert report == CoverageMonitor(numbered).update_labels(X_new, y_new)


@pytest.mark.parametrize(
    ("labels", "got"), [([0, 2], "2 in 1 of 2 rows"), ([np.nan, 1], "nan"), (["yes", "no"], "'yes'")]
)
def test_unknown_labels_are_refused(clf, labels, got):
    with pytest.raises(ValueError, match=rf"y must hold only the classes \[0, 1\], got {got}.*labels are known"):
        CoverageMonitor(clf).update_labels(X_new[:2], labels)


def test_labels_must_be_one_per_row(clf):
    with pytest.raises(ValueError, match=r"y must hold one label per row, got shape \(3,\) for 2 rows"):
        CoverageMonitor(clf).update_labels(X_new[:2], [0, 1, 0])


def test_without_a_held_out_auc_it_has_to_be_given():
    clf = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0)
    clf.fit(X_train[:400], y_train[:400])
    held_out = replace(clf.held_out_, labels=np.zeros_like(clf.held_out_.labels))
    clf.fitted_ = replace(clf.fitted_, held_out=held_out)
    with pytest.raises(ValueError, match=r"too few rows of a class.*CoverageMonitor\(clf, auc=0.8\)"):
        CoverageMonitor(clf).update_labels(X_new[:2], [0, 1])
    assert not CoverageMonitor(clf, auc=0.8).update_labels(X_new[:2], [0, 1]).alarm


def test_a_higher_share_of_positives_gives_an_alarm_of_its_own(clf):
    monitor = CoverageMonitor(clf)
    thinned = np.flatnonzero((y_new == 1) | (np.arange(len(y_new)) % 3 == 0))
    for rows in np.array_split(thinned, 8):
        report = monitor.update_labels(X_new[rows], y_new[rows])
    assert report.base_rate.alarm
    assert report.base_rate.direction == "above"
    assert monitor.base_rate_alarm
    assert monitor.alarm
    assert report.base_rate.expected == pytest.approx(y_train.mean(), abs=0.05)
    assert "share of positives among the selected rows is above" in report.message
    assert report.to_dict()["base_rate"]["alarm"] is True


def test_labels_that_left_their_probabilities_give_an_alarm_though_the_share_stays(clf):
    scores = clf.predict_proba(X_new)[:, 1]
    high = np.argsort(scores)[-4000:]  # more positives, as their scores say
    explained = CoverageMonitor(clf, base_rate=0.5, base_rate_tolerance=0.4)
    assert not explained.update_labels(X_new[high], y_new[high]).base_rate.alarm
    monitor = CoverageMonitor(clf, auc=0.5, auc_tolerance=0.4)
    flipped = np.where(rng.random(len(y_new)) < 0.3, 1, y_new)
    for rows in BATCHES:
        report = monitor.update_labels(X_new[rows], flipped[rows])
    assert report.calibration.alarm
    assert report.calibration.value > 0.1
    assert monitor.calibration_alarm


def test_a_reference_without_labels_has_no_base_rate_unless_it_is_given(clf):
    assert CoverageMonitor(clf, reference=X_new[:1000], auc=0.8).update_labels(X_new, y_new).base_rate is None
    given = CoverageMonitor(clf, reference=X_new[:1000], auc=0.8, base_rate=0.4, base_rate_tolerance=0.1)
    report = given.update_labels(X_new, y_new)
    assert (report.base_rate.low, report.base_rate.high) == pytest.approx((0.3, 0.5))
    assert report.calibration is None


def test_the_monitor_says_as_a_dictionary_where_it_stands(clf):
    monitor = CoverageMonitor(clf)
    monitor.update(X_new[:500])
    state = json.loads(json.dumps(monitor.to_dict()))
    assert state["alarm"] is False
    assert state["tests"]["coverage"]["n_values"] == 500
    assert set(state["tests"]) == {"coverage", "auc", "base_rate", "calibration"}
    assert state["reference"]["low"] == monitor.reference.low


# ---- state ----


@pytest.mark.parametrize("stored", [through_pickle, copy.deepcopy])
@pytest.mark.parametrize("n_before", [0, 3])
def test_a_stored_run_continues_exactly(clf, stored, n_before):
    monitor = CoverageMonitor(clf, false_alarm=0.1)
    for rows in BATCHES[:n_before]:
        monitor.update(X_new[rows])
        monitor.update_labels(X_new[rows], y_new[rows])
    restored = stored(monitor)
    assert state(restored) == state(monitor)
    for rows in BATCHES[3:8]:
        assert restored.update(shrunk(X_new[rows])) == monitor.update(shrunk(X_new[rows]))
        assert restored.update_labels(X_new[rows], y_new[rows]) == monitor.update_labels(X_new[rows], y_new[rows])
    assert restored.alarm
    assert repr(restored) == repr(monitor)
    assert state(restored) == state(monitor)


def test_a_classifier_fitted_again_is_refused():
    clf = PlugInAUC(LogisticRegression(), random_state=0).fit(X_train, y_train)
    monitor = CoverageMonitor(clf)
    clf.fit(X_train, y_train)
    with pytest.raises(ValueError, match="the classifier was fitted again since this run began"):
        monitor.update(X_new)


def test_a_report_can_be_written_as_json(clf):
    monitor = CoverageMonitor(clf)
    for report in (
        monitor.update(X_new[:500]),
        monitor.update(X_new[:0]),
        monitor.update_labels(X_new[:500], y_new[:500]),
    ):
        content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert content["alarm"] is False
        assert content["message"] == str(report)


# ---- arguments ----


def test_anything_but_a_fitted_selective_classifier_is_refused():
    with pytest.raises(TypeError, match="clf must be a selective classifier such as AUCross, got LogisticRegression"):
        CoverageMonitor(LogisticRegression())
    with pytest.raises(NotFittedError):
        CoverageMonitor(AUCross(LogisticRegression()))


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("coverage", 80, r"coverage must be in \(0, 1\], got 80; for 80 % pass 0.8"),
        ("false_alarm", 0, r"false_alarm must be in \(0, 1\], got 0"),
        ("false_alarm", 1, "false_alarm must be below 1, got 1"),
        ("false_alarm", 5, "false_alarm must be in .*for 5 % pass 0.05"),
        ("tolerance", 1.5, r'tolerance must be "auto" or a number in \[0, 1\), got 1.5'),
        ("tolerance", -0.1, r"tolerance must be .*got -0.1"),
        ("auc", 1.2, r"auc must be in \(0, 1\], got 1.2"),
        ("auc_tolerance", 1, r'auc_tolerance must be "auto" or a number in \[0, 1\), got 1'),
    ],
)
def test_arguments_out_of_range_are_refused(clf, argument, value, message):
    with pytest.raises(ValueError, match=message):
        CoverageMonitor(clf, **{argument: value})


@pytest.mark.parametrize("tolerance", ["none", True, None])
def test_a_tolerance_of_another_type_is_refused(clf, tolerance):
    with pytest.raises(TypeError, match=r'tolerance must be "auto" or a number in \[0, 1\), got'):
        CoverageMonitor(clf, tolerance=tolerance)


@pytest.mark.parametrize(
    ("selected", "message"),
    [([[True]], "selected must be 1-d"), ([0, 2], "boolean or 0/1"), (["a"], "boolean or 0/1")],
)
def test_decisions_must_be_a_mask(clf, selected, message):
    with pytest.raises(ValueError, match=message):
        CoverageMonitor(clf).update_selected(selected)


# ---- the promise, through fitted classifiers ----


def test_false_alarms_stay_within_the_level_with_the_band_placed_anew_for_each_stream():
    streams, level = 100, 0.2
    rng = np.random.default_rng(0)
    rows, labels = make_classification(40_000, n_features=6, flip_y=0.3, weights=[0.7], random_state=1)
    alarms = []
    for seed in range(streams):
        order = rng.permutation(len(rows))
        train, stream = order[:1500], order[1500:9500]
        estimator = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=seed)
        clf = estimator.fit(rows[train], labels[train])
        monitor = CoverageMonitor(clf, false_alarm=level)
        batches = clf.select(rows[stream]).reshape(40, -1)
        alarms.append([monitor.update_selected(batch).alarm for batch in batches][-1])
    assert np.mean(alarms) <= level + 2 * np.sqrt(level * (1 - level) / streams)
