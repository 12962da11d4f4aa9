"""The coverage keeper: its bound for any sequence, with delay and several writers, limits, and the order of rows."""

import pickle
from math import inf

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross, CoverageKeeper, CoverageMonitor, SCross
from aucross.watch import KeptCounts

X, y = make_classification(9000, n_features=6, flip_y=0.3, weights=[0.7], random_state=0)
X_new = X[3000:]
DRIFTED = 0.5 * X_new


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0).fit(X[:3000], y[:3000])


def error(counts: KeptCounts, target: float) -> float:
    return abs(counts.selected / counts.rows - target)


# ---- the bound ----


def opponents(rng: np.random.Generator):
    """Opponents who know the level and say whether the next row is selected, wherever a band leaves a choice."""
    turn, share = int(rng.integers(1, 200)), float(rng.random())
    return (
        lambda row, level: False,
        lambda row, level: True,
        lambda row, level: row // turn % 2 == 0,
        lambda row, level: level < 500,
        lambda row, level: level > 500,
        lambda row, level: bool(rng.random() < share),
        lambda row, level: level // turn % 2 == 0,
    )


@pytest.mark.attack("keeper, hostile sequences")
def test_no_sequence_breaks_the_bound_with_delay_and_several_writers(clf, attacked, full_size):
    rng, n_sequences, wrong = np.random.default_rng(0), 10_000 if full_size else 140, []
    for number in range(n_sequences):
        target, step = float(rng.uniform(0.01, 1.0)), float(10 ** rng.uniform(-3, 0))
        n_writers, most = (1, 0) if number % 2 else (int(rng.integers(1, 5)), int(rng.integers(0, 100)))
        keeper, opponent = CoverageKeeper(clf, target, step=step), opponents(rng)[number % 7]
        done, delay, is_kept = [KeptCounts()], 0, True
        for _ in range(int(rng.integers(5, 40))):
            n_rows = int(rng.integers(1, 40))
            # Writers decide on rows of their own at the same time, from counts that may be old.
            seen = done[max(len(done) - 1 - int(rng.integers(0, most + 1)), 0)]
            delay = max(delay, done[-1].rows - seen.rows + (n_writers - 1) * n_rows)
            for _ in range(n_writers):
                done.append(done[-1] + keeper.follow(seen, n_rows, opponent)[2])
            keeper.counts = done[-1]
            is_kept &= error(keeper.counts, target) <= keeper.bound(delay) + 1e-12
        if not is_kept:
            wrong.append(f"sequence {number}: the share left the bound of {target:g} with a step of {step:g}")
    attacked(n_sequences, wrong)


def test_the_bound_is_nearly_reached_so_that_it_is_no_empty_word(clf):
    keeper = CoverageKeeper(clf, 0.5, step=0.01)
    keeper.add(keeper.follow(keeper.counts, 5000, lambda row, level: False)[2])
    assert error(keeper.counts, 0.5) > 0.4 * keeper.bound()


def test_a_drifted_stream_keeps_its_coverage_where_the_band_of_the_fit_loses_it(clf):
    keeper = CoverageKeeper(clf)
    assert clf.select(DRIFTED).mean() < 0.7
    decisions = keeper.decide(DRIFTED)
    assert abs(decisions.selected.mean() - 0.8) < keeper.bound() < 0.02
    assert keeper.level > 0.85  # what tells of the drift


# ---- decisions ----


def test_each_row_is_decided_by_the_band_of_its_level(clf):
    decisions = CoverageKeeper(clf, 0.6).decide(DRIFTED[:1000])
    score = decisions.selection_score
    assert (decisions.selected == ((score < decisions.lower) | (score > decisions.upper))).all()
    for row in range(0, 1000, 97):
        asked = round(decisions.level[row], 3)
        if 0 < asked < 1:
            band = clf.band(asked)
            assert (decisions.lower[row], decisions.upper[row]) == (band.lower, band.upper)
    assert decisions.counted == (1000, int(decisions.selected.sum()), 0)
    assert decisions.coverage == 0.6


def test_levels_beyond_0_and_1_reject_and_select_every_row(clf):
    low = CoverageKeeper(clf, 0.5, step=0.1, counts=KeptCounts(100, 100)).decide(X_new[:5])
    assert low.level[0] < 0
    assert not low.selected.any()
    assert (low.lower == -inf).all()
    assert (low.upper == inf).all()
    high = CoverageKeeper(clf, 0.5, step=0.1, counts=KeptCounts(100, 0)).decide(X_new[:5])
    assert high.level[0] > 1
    assert high.selected.all()
    assert (high.lower == inf).all()


def test_the_order_in_a_file_decides_nothing(clf):
    ids = np.arange(500)
    turned = np.random.default_rng(3).permutation(500)
    for rows in (X_new[:500], pd.DataFrame(X_new[:500], columns=list("abcdef"))):
        first = CoverageKeeper(clf).decide(np.asarray(rows), ids=ids)
        second = CoverageKeeper(clf).decide(np.asarray(rows)[turned], ids=ids[turned])
        assert (first.selected[turned] == second.selected).all()
        assert (first.level[turned] == second.level).all()


def test_ids_order_scored_rows_of_equal_score(clf):
    scored = clf.scored(np.repeat(X_new[:3], 200, axis=0))
    ids, turned = np.arange(600), np.random.default_rng(3).permutation(600)
    first = CoverageKeeper(clf).decide(scored, ids=ids).selected
    second = CoverageKeeper(clf).decide(scored.take(turned), ids=ids[turned]).selected
    assert (first[turned] == second).all()


def test_small_and_large_calls_end_at_the_same_kind_of_coverage(clf):
    one, many = CoverageKeeper(clf), CoverageKeeper(clf)
    one.decide(DRIFTED)
    for start in range(0, len(DRIFTED), 100):
        many.decide(DRIFTED[start : start + 100])
    assert one.counts.rows == many.counts.rows == 6000
    assert abs(one.counts.selected - many.counts.selected) <= 2 / 0.01


def test_no_rows_change_nothing(clf):
    keeper = CoverageKeeper(clf)
    assert len(keeper.decide(X_new[:0])) == 0
    assert keeper.counts == KeptCounts()
    assert keeper.bound() == inf


def test_gates_confidences_and_groups_are_kept_too():
    rows, labels, groups = X[:2000], y[:2000], np.arange(2000) % 2
    gate = AUCGate(LogisticRegression(), LogisticRegression(), coverage=0.8, cv=3, random_state=0).fit(rows, labels)
    sure = SCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0).fit(rows, labels)
    grouped = AUCross(LogisticRegression(), coverage=0.8, cv=3, random_state=0).fit(rows, labels, band_groups=groups)
    for clf, extra in ((gate, {}), (sure, {}), (grouped, {"band_groups": np.arange(6000) % 2})):
        keeper = CoverageKeeper(clf)
        assert abs(keeper.decide(DRIFTED, **extra).selected.mean() - 0.8) <= keeper.bound()


# ---- counts ----


def test_a_keeper_goes_on_from_its_counts_and_from_a_pickle(clf):
    whole, first = CoverageKeeper(clf), CoverageKeeper(clf)
    whole.decide(DRIFTED[:1000])
    first.decide(DRIFTED[:1000])
    second, third = CoverageKeeper(clf, counts=first.counts), pickle.loads(pickle.dumps(first))
    after = whole.decide(DRIFTED[1000:1200]).level
    for keeper in (second, third):
        assert (keeper.decide(DRIFTED[1000:1200]).level == after).all()
    assert KeptCounts(3, 2, 1) + KeptCounts(4, 1) == KeptCounts(7, 3, 1)


def test_limits_hold_the_level_say_so_and_do_not_wind_up(clf):
    keeper = CoverageKeeper(clf, limits=(0.0, 0.85))
    with pytest.warns(UserWarning, match="a limit held the level, which is to stay within 0 and 0.85"):
        held = keeper.decide(0.2 * X_new)
    assert held.selected.mean() < 0.75
    assert keeper.counts.held > 100
    assert keeper.bound() == inf
    assert "held by a limit" in repr(keeper)
    assert keeper.level < 0.85 + keeper.step
    # After it the level is where it belongs within a few rows.
    assert abs(keeper.decide(X_new[:2000]).selected.mean() - 0.8) < 0.03
    lower = CoverageKeeper(clf, 0.5, limits=(0.45, 1.0))
    lower.add(lower.follow(lower.counts, 2000, lambda row, level: True)[2])
    assert lower.level > 0.45 - 2 * lower.step
    assert lower.counts.held > 1000


# ---- drift ----


def test_the_monitor_reads_kept_decisions_as_the_band_of_the_fit_would_have_made_them(clf):
    kept, plain, keeper = CoverageMonitor(clf), CoverageMonitor(clf), CoverageKeeper(clf)
    for start in range(0, 3000, 500):
        decisions = keeper.decide(DRIFTED[start : start + 500])
        assert kept.update_selected(decisions).run_share == plain.update(DRIFTED[start : start + 500]).run_share
    assert kept.coverage_alarm


# ---- arguments ----


@pytest.mark.parametrize("step", [0, -0.1, 1.5, True, "small", float("nan")])
def test_a_step_outside_of_0_to_1_is_refused(clf, step):
    with pytest.raises(ValueError, match=r"step must be in \(0, 1\], got .*; pass for example"):
        CoverageKeeper(clf, step=step)


@pytest.mark.parametrize("limits", [(0.9, 1.0), (0.0, 0.7), (-0.1, 1.0), (0.0, 1.1), (0,), None, "ab"])
def test_limits_that_leave_out_the_target_are_refused(clf, limits):
    with pytest.raises(ValueError, match=r"limits must be two numbers in .* with the coverage of 0.8 between them"):
        CoverageKeeper(clf, limits=limits)


@pytest.mark.parametrize("counts", [KeptCounts(3, 5), KeptCounts(-1, -1), KeptCounts(1, 1, -1), (3, 2)])
def test_counts_that_no_keeper_has_counted_are_refused(clf, counts):
    keeper = CoverageKeeper(clf)
    with pytest.raises(ValueError, match="counts must be KeptCounts with selected from 0 to rows"):
        keeper.add(counts)
    with pytest.raises(ValueError, match="counts must be KeptCounts"):
        CoverageKeeper(clf, counts=counts)
    assert keeper.counts == KeptCounts()


@pytest.mark.parametrize("delay", [-1, 1.5, "long", True])
def test_a_delay_that_would_make_the_bound_too_small_is_refused(clf, delay):
    with pytest.raises(ValueError, match="delay must be a number of rows, 0 or more"):
        CoverageKeeper(clf, counts=KeptCounts(10, 8)).bound(delay)


def test_anything_but_a_fitted_selective_classifier_is_refused():
    with pytest.raises(TypeError, match="clf must be a selective classifier"):
        CoverageKeeper(LogisticRegression())
