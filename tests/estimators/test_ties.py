"""Models with few scores: what can be reached is said, is monotone, and with ties="split" is what was asked for."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from aucross import (
    AUCGate,
    AUCross,
    CoverageMonitor,
    PlugIn,
    PlugInAUC,
    ScoreColumn,
    SCross,
    evaluate_selective,
    load,
    save,
)
from aucross.core import OptimalBands, RankedScores, RejectionBand
from aucross.core.band_rule import BandRule
from aucross.core.scored_rows import split_ties
from aucross.estimators import HeldOutAnswer
from aucross.estimators.coverage_for import error_of_coverage
from aucross.record import Record
from tests.reference import select_each

COVERAGES = (0.95, 0.9, 0.8, 0.7)
N_TRAIN = 4000

X, y = make_classification(N_TRAIN + 12_000, n_informative=5, flip_y=0.3, random_state=0)
X_new, y_new = X[N_TRAIN:], y[N_TRAIN:]
X, y = X[:N_TRAIN], y[:N_TRAIN]
tree = DecisionTreeClassifier(max_depth=3, random_state=0)
unreached = pytest.mark.filterwarnings("ignore:a coverage of .* is less than")


def with_grades(rows, labels, seed):
    """A frame of ten rating grades, each of about a tenth of the rows, beside columns that tell rows apart."""
    rng = np.random.default_rng(seed)
    risk = 2 * labels - rows[:, :5].sum(axis=1) + rng.normal(size=len(rows))
    grade = np.searchsorted(np.quantile(risk, np.arange(0.1, 1.0, 0.1)), risk)
    return pd.DataFrame({"grade": grade / 10 + 0.05, "amount": rng.integers(100, 100_000, len(rows)), "x": rows[:, 0]})


graded, graded_new = with_grades(X, y, 1), with_grades(X_new, y_new, 2)
grades = ScoreColumn("grade")

# Methods whose held-out scores follow the law of new ones, so that only sampling is between them; for trees in folds
# that is so where the models of the folds judge new rows.
SAME_LAW = {
    "tree, PlugInAUC": (PlugInAUC(tree, holdout_size=0.5, random_state=0), X, X_new),
    "tree, PlugIn": (PlugIn(tree, holdout_size=0.5, random_state=0), X, X_new),
    "tree, PlugInAUC nested": (PlugInAUC(tree, holdout_size=0.5, nested=True, random_state=0), X, X_new),
    "tree, PlugInAUC ks": (PlugInAUC(tree, holdout_size=0.5, target="ks", random_state=0), X, X_new),
    "tree, PlugInAUC centred": (PlugInAUC(tree, holdout_size=0.5, placement="centered", random_state=0), X, X_new),
    "tree, AUCross": (AUCross(tree, random_state=0), X, X_new),
    "tree, SCross": (SCross(tree, random_state=0), X, X_new),
    "tree, AUCross ensemble": (AUCross(tree, ensemble=True, random_state=0), X, X_new),
    "grades, AUCross": (AUCross(grades, random_state=0), graded, graded_new),
    "grades, SCross": (SCross(grades, random_state=0), graded, graded_new),
    "grades, AUCGate": (AUCGate(grades, grades, random_state=0), graded, graded_new),
}


def sampling_error(coverage, n_placing, n_new):
    return np.sqrt(coverage * (1 - coverage) * (1 / n_placing + 1 / n_new))


# ---- split ----


@pytest.mark.parametrize("name", SAME_LAW)
def test_split_ties_reach_any_coverage_within_sampling_error(name):
    clf, rows, new_rows = SAME_LAW[name]
    clf = clf.set_params(ties="split").fit(rows, y)
    scored = clf.scored(new_rows)
    for coverage in COVERAGES:
        reached = clf.select(scored, coverage).mean()
        error = sampling_error(coverage, clf.fitted_.n_placing_rows, len(new_rows))
        assert abs(reached - coverage) < 4 * error, (coverage, reached)
        expected = clf.expected_coverage(coverage)
        assert expected.value == pytest.approx(coverage, abs=0.003)
        least = 1.96 * np.sqrt(coverage * (1 - coverage) / clf.fitted_.n_placing_rows)
        assert expected.value - expected.low > 0.99 * least


@pytest.fixture(scope="module")
def split():
    return PlugInAUC(tree, coverage=0.8, holdout_size=0.5, ties="split", random_state=0).fit(X, y)


def test_a_cut_tie_does_not_depend_on_order_batch_type_or_table(split):
    selected = split.select(X_new)
    assert 0 < selected.mean() < 1
    order = np.random.default_rng(0).permutation(len(X_new))
    np.testing.assert_array_equal(split.select(X_new[order]), selected[order])
    np.testing.assert_array_equal(split.select(X_new[:7]), selected[:7])
    np.testing.assert_array_equal(split.select(np.asfortranarray(X_new)), selected)
    np.testing.assert_array_equal(split.select(X_new.tolist()), selected)
    rounded = X_new.astype(np.float32)
    np.testing.assert_array_equal(split.select(rounded), split.select(rounded.astype(np.float64)))


def test_a_cut_tie_is_the_same_in_another_process(split, tmp_path):
    save(split, tmp_path / "model.aucross")
    np.save(tmp_path / "rows.npy", X_new[:200])
    code = (
        "import sys, numpy as np; from aucross import load; "
        "clf = load(sys.argv[1]); print(''.join('01'[s] for s in clf.select(np.load(sys.argv[2])).astype(int)))"
    )
    paths = [str(tmp_path / name) for name in ("model.aucross", "rows.npy")]
    answer = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    assert [digit == "1" for digit in answer.stdout.strip()] == split.select(X_new[:200]).tolist()


def test_the_numbers_that_cut_ties_are_uniform_and_the_same_on_every_machine(split):
    numbers = split.scored(X_new).rule_input.tie_breaker
    assert np.abs(np.sort(numbers) - (np.arange(len(numbers)) + 0.5) / len(numbers)).max() < 0.02
    fixed = PlugInAUC(grades, ties="split", random_state=0).fit(graded, y).scored(graded_new).rule_input.tie_breaker
    again = pd.DataFrame({"grade": [0.25], "amount": [1000], "x": [0.5]})
    (number,) = PlugInAUC(grades, ties="split", random_state=0).fit(graded, y).scored(again).rule_input.tie_breaker
    assert number == 0.363659262919349
    assert len(np.unique(fixed)) == len(fixed)


def test_scored_rows_saved_recalibrated_evaluated_logged_and_monitored_rows_decide_alike(split, tmp_path):
    scored = split.scored(X_new)
    selected = split.select(scored)
    np.testing.assert_array_equal(selected, split.select(X_new))
    np.testing.assert_array_equal(
        split.scored(X_new).take(np.arange(50)).rule_input.score, scored.rule_input.score[:50]
    )

    save(split, tmp_path / "model.aucross")
    np.testing.assert_array_equal(load(tmp_path / "model.aucross").select(X_new), selected)

    again = split.recalibrate(iter([X_new[:6000], X_new[6000:]]))
    assert again.select(X_new, 0.7).mean() == pytest.approx(0.7, abs=2 / len(X_new))
    assert again.expected_coverage(0.7).value == pytest.approx(0.7, abs=2 / len(X_new))

    table = evaluate_selective(split, scored, y_new, coverages=[0.8], n_bootstrap=0)
    assert table.estimates["achieved_coverage"][0] == selected.mean()

    with Record.open(tmp_path / "cases.db") as record:
        recorded = record.decide(split, X_new[:100], batch="a", ids=range(100))
    assert recorded.selected.tolist() == selected[:100].tolist()

    monitor = CoverageMonitor(split)
    assert not monitor.update(X_new[:2000]).alarm


def test_coverage_for_an_auc_reads_the_cut_bands(split):
    found = split.held_out_auc(0.7)
    assert split.held_out_auc(1.0).value < found.value
    assert found.low < found.value < found.high
    assert split.coverage_for(auc=found.value).value >= 0.69


def test_within_a_tie_all_rows_are_as_likely_positive(split):
    smooth, whole = split.band_rule_.ranking, split.held_out_.ranked().isotonic()
    assert len(smooth) > 1000
    share = smooth.positives / (smooth.positives + smooth.negatives)
    expected = whole.positives / (whole.positives + whole.negatives)
    np.testing.assert_allclose(np.unique(share.round(9)), np.unique(expected.round(9)))


def test_rows_that_are_equal_in_every_column_stay_together_and_it_is_said_how_to_tell_them_apart():
    only_grades = graded[["grade"]]
    with pytest.warns(UserWarning, match="cannot be reached.*give X a column that tells such rows apart, an id"):
        AUCross(grades, coverage=0.95, ties="split", random_state=0).fit(only_grades, y)
    with_id = only_grades.assign(id=np.arange(len(y)))
    clf = AUCross(grades, coverage=0.95, ties="split", random_state=0).fit(with_id, y)
    assert clf.select(with_id).mean() == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize("ties", ["cut", None, True, 3])
def test_other_words_than_whole_and_split_are_refused(ties):
    with pytest.raises(ValueError, match='ties must be "whole" or "split"'):
        PlugInAUC(tree, ties=ties).fit(X, y)


def test_three_classes_with_few_scores_reach_any_coverage():
    labels, new_labels = np.digitize(X[:, 0] + y, [-0.5, 1.0]), np.digitize(X_new[:, 0] + y_new, [-0.5, 1.0])
    assert len(np.unique(new_labels)) == 3
    clf = PlugInAUC(DecisionTreeClassifier(max_depth=2), holdout_size=0.5, ties="split", random_state=0).fit(X, labels)
    for coverage in (0.9, 0.7):
        error = sampling_error(coverage, clf.fitted_.n_placing_rows, len(X_new))
        assert abs(clf.select(X_new, coverage).mean() - coverage) < 4 * error


def test_split_scores_keep_their_order_and_their_digits():
    rng = np.random.default_rng(0)
    score = np.concatenate([rng.normal(size=500), [0.0, -0.0, 1e-200, 1e300, -1e300], np.repeat(0.25, 500)])
    number = rng.random(len(score))
    split_score = split_ties(score, number)
    np.testing.assert_allclose(split_score, score, rtol=6e-9, atol=1e-150)
    order = np.argsort(split_score, kind="stable")
    assert (np.diff(score[order]) >= -4e-9 * np.abs(score[order][1:]) - 1e-150).all()
    tied = slice(505, None)
    np.testing.assert_array_equal(np.argsort(split_score[tied]), np.argsort(number[tied]))


# ---- whole ties: what can be reached, and that it is said ----


@unreached
@pytest.mark.parametrize("name", [name for name in SAME_LAW if name not in ("tree, AUCross", "tree, SCross")])
@pytest.mark.few_scores
def test_whole_ties_are_expected_as_they_come(name):
    clf, rows, new_rows = SAME_LAW[name]
    clf = clf.set_params(ties="whole").fit(rows, y)
    for coverage in (*COVERAGES, 0.3):
        reached, expected = clf.select(new_rows, coverage).mean(), clf.expected_coverage(coverage)
        error = sampling_error(expected.value, clf.fitted_.n_placing_rows, len(new_rows))
        assert abs(reached - expected.value) < 4 * error + 1e-9, (coverage, reached, expected)


@unreached
@pytest.mark.parametrize("model", [tree, DecisionTreeClassifier(max_depth=1), LogisticRegression()], ids=str)
@pytest.mark.parametrize("method", [AUCross, SCross, PlugInAUC, PlugIn])
@pytest.mark.few_scores
def test_a_lower_coverage_never_selects_more_rows_of_a_model_with_few_scores(method, model):
    if model is not tree and not isinstance(model, DecisionTreeClassifier):
        model = FrozenEstimator(model.fit(np.round(X[:, :1], 1), y))
        rows, new_rows = np.round(X[:, :1], 1), np.round(X_new[:, :1], 1)
    else:
        rows, new_rows = X, X_new
    clf = method(model, random_state=0).fit(rows, y)
    reached = select_each(clf, new_rows, np.arange(1.0, 0.0, -0.02)).mean(axis=1)
    slack = 0.01 if method in (AUCross, PlugInAUC) and len(rows[0]) == 1 else 0.0  # scores that are not coarse
    assert (np.diff(reached) <= slack).all()


def test_the_sentence_names_the_clump_what_is_reached_and_what_to_do():
    with pytest.warns(UserWarning, match="cannot be reached") as said:
        clf = AUCross(grades, coverage=0.95, random_state=0).fit(graded, y)
    sentence = (
        "a coverage of 0.95 cannot be reached, 1 is expected: a band takes all rows of a score or none, and 0.1 of the "
        'rows have the score 0.05; pass ties="split" to cut through ties by a hash of the row, or a coverage that can '
        "be reached, such as 0.9"
    )
    assert [str(warning.message) for warning in said] == [sentence]
    assert clf.expected_coverage(0.95).value == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clf.select(graded_new, 0.9).mean() == pytest.approx(0.9, abs=0.01)


def test_curves_over_many_coverages_are_silent():
    with pytest.warns(UserWarning, match="cannot be reached"):
        clf = AUCross(grades, coverage=0.95, random_state=0).fit(graded, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = evaluate_selective(clf, graded_new, y_new, coverages=[1.0, 0.95, 0.85], n_bootstrap=0)
    assert table.estimates["achieved_coverage"][1] == 1.0


def test_a_coverage_below_one_row_gives_the_lowest_one_and_says_so():
    clf = PlugInAUC(LogisticRegression(), holdout_size=0.02, random_state=0).fit(X, y)
    assert clf.fitted_.n_placing_rows == 80
    with pytest.warns(UserWarning, match="a coverage of 0.01 is less than one of the 80 rows that place the band"):
        lowest = clf.select(X_new, 0.01).mean()
    assert lowest < clf.select(X_new, 0.02).mean() + 1e-9 < 0.1


@pytest.mark.parametrize(
    ("method", "n_rows", "coverage", "n_placing"),
    [(PlugInAUC, 60, 0.85, 6), (PlugIn, 150, 0.95, 15), (AUCross, 40, 0.98, 40), (SCross, 40, 0.98, 40)],
)
def test_rows_too_few_to_reject_one_are_said_to_be_so(method, n_rows, coverage, n_placing):
    with pytest.warns(
        UserWarning, match=f"leaves less than one of the {n_placing} rows that place the band for review"
    ):
        clf = method(LogisticRegression(), coverage=coverage, random_state=0).fit(X[:n_rows], y[:n_rows])
    assert clf.select(X_new).all()
    assert clf.band().is_empty
    # The empty band selects every row, whatever comes: that is certain.
    assert clf.expected_coverage() == HeldOutAnswer(1.0, 1.0, 1.0, 0.95)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.select(X_new, 1 - 1.5 / n_placing)
    assert not clf.band(1 - 1.5 / n_placing).is_empty  # one row can be rejected


def test_a_small_group_is_said_to_have_too_few_rows():
    group = np.where(np.arange(1000) < 300, "small", "large")
    with pytest.warns(UserWarning, match=r"less than one of the \d+ rows .* for review for the group 'small', so that"):
        AUCross(LogisticRegression(), coverage=0.998, random_state=0).fit(X[:1000], y[:1000], band_groups=group)


def test_a_band_that_holds_no_row_of_few_has_an_error():
    @dataclass(frozen=True)
    class BandBeside(OptimalBands):
        def band(self, coverage, group=None):
            return RejectionBand(2.0, 3.0)

    beside = BandBeside(RankedScores([0.1, 0.2, 0.3], [1, 2, 3], [3, 2, 1]))
    assert beside.expected_coverage(0.9) == 1.0
    assert 0.05 < error_of_coverage(beside, 0.9, None, n_rows=12, held_out=None, folds=None) < 0.1


def test_continuous_scores_meet_their_coverage_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = AUCross(LogisticRegression(), random_state=0).fit(X[:300], y[:300])
        for coverage in (1.0, 0.99, 0.5, 0.1):
            assert clf.expected_coverage(coverage).value == pytest.approx(coverage, abs=0.01)
    assert str(clf.expected_coverage(confidence=0.9)).startswith("Where a coverage of 90 % is asked for, 90")
    assert clf.expected_coverage(confidence=0.9).low > clf.expected_coverage().low


@unreached
@pytest.mark.few_scores
def test_the_error_of_cross_fitted_scores_holds_how_far_the_models_differ():
    cross_fitted = AUCross(tree, random_state=0).fit(X, y).expected_coverage(0.8)
    held_out = PlugInAUC(tree, holdout_size=0.5, random_state=0).fit(X, y).expected_coverage(0.8)
    assert cross_fitted.value - cross_fitted.low > 3 * (held_out.value - held_out.low)


def test_few_scores_of_fold_models_that_disagree_are_told_of():
    with pytest.warns(UserWarning, match=r"the models of the folds select from 0\..* because they have few scores"):
        AUCross(tree, coverage=0.8, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
        AUCross(grades, coverage=0.8, random_state=0).fit(graded, y)


def test_bands_per_group_have_an_expected_coverage_each():
    region = np.where(X[:, 0] > 0, "north", "south")
    clf = AUCross(LogisticRegression(), random_state=0).fit(X, y, band_groups=region)
    assert clf.expected_coverage(0.8, "north").value == pytest.approx(0.8, abs=0.01)
    with pytest.raises(ValueError, match="band_group must be given"):
        clf.expected_coverage(0.8)


def test_a_rule_that_counts_nothing_expects_what_was_asked():
    class Nothing(BandRule):
        def place(self, coverage):
            raise NotImplementedError

        def place_anew(self, rows, *, label_shift):
            raise NotImplementedError

    assert Nothing().expected_coverage(0.8) == 0.8


# Eight rows in ten have the lowest score, and a fifth of the positives are among them: a band that rejects two rows in
# ten takes every other score, and nothing is left to rank by.
score_of_most = np.where(np.arange(2000) % 10 < 8, 0.0, np.linspace(0.01, 1.0, 2000))
positive_of_most = (np.random.default_rng(0).random(2000) < 0.02 + 0.4 * score_of_most).astype(int)


def test_a_band_that_lowers_the_auc_says_so():
    rows = pd.DataFrame({"pd": score_of_most, "amount": np.arange(2000)})
    with pytest.warns(UserWarning, match=r'coverage of 0.8 lowers the AUC by 0.\d+ .* pass ties="split"'):
        clf = AUCross(ScoreColumn("pd"), coverage=0.8, random_state=0).fit(rows, positive_of_most)
    assert clf.band_rule_.auc_gain(0.8) < -0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = AUCross(ScoreColumn("pd"), coverage=0.8, ties="split", random_state=0).fit(rows, positive_of_most)
    assert split.band_rule_.auc_gain(0.8) > 0


def test_a_rule_with_another_aim_says_nothing_of_the_auc():
    rows = pd.DataFrame({"pd": score_of_most, "amount": np.arange(2000)})
    assert SCross(ScoreColumn("pd"), coverage=0.9).fit(rows, positive_of_most).band_rule_.auc_gain(0.9) is None
