import numpy as np
import pytest

from aucross import AUCross
from aucross.core import RejectionBand
from aucross.evaluation import achieved_coverage, selective_auc
from experiments.optimism import Optimism, measure_optimism
from experiments.protocol import CLASSIFIERS, COVERAGES, Run
from experiments.runs import Oracles, execute


@pytest.mark.usefixtures("small_data")
def test_a_run_measures_every_method_at_every_coverage():
    rows = execute(Run("UCICredit", "Logistic", split="random", seed=1))
    methods = {row["method"] for row in rows}
    assert {"AUCross", "PlugIn", "PlugInAUC", "SCross", "AUCross optimal", "PlugInAUC optimal", "AUCGate"} < methods
    assert len(rows) == len(methods) * len(COVERAGES)
    assert {row["seed"] for row in rows} == {1}


@pytest.mark.usefixtures("small_data")
def test_a_method_in_a_run_is_the_method_that_a_user_fits():
    run = Run("Adult", "Logistic")
    split = run.rows()
    clf = AUCross(CLASSIFIERS["Logistic"](), placement="centered", random_state=42).fit(split.X_train, split.y_train)
    selected, score = clf.select(split.X_test, 0.8), clf.predict_proba(split.X_test)[:, 1]
    [row] = [row for row in execute(run) if row["method"] == "AUCross" and row["target_coverage"] == 0.8]
    assert row["coverage"] == achieved_coverage(selected)
    assert row["selective_auc"] == selective_auc(split.y_test, score, selected)
    assert row["selective_auc_mean"] == pytest.approx(row["selective_auc"], abs=3 * row["selective_auc_sd"])


@pytest.mark.usefixtures("small_data")
def test_bands_are_never_above_the_oracle_at_the_coverage_they_reach():
    rows = execute(Run("GiveMe", "Logistic", split="random", seed=0))
    bands = [row for row in rows if row["method"].startswith(("AUCross", "PlugInAUC"))]
    assert min(row["oracle_distance"] for row in bands) > -1e-12


@pytest.mark.usefixtures("small_data")
def test_other_numbers_of_folds_leave_out_the_methods_without_folds():
    methods = {row["method"] for row in execute(Run("Adult", "Logistic", cv=3, split="random", seed=0))}
    assert methods == {"AUCross", "SCross", "AUCross optimal", "AUCross optimal, uncorrected"}


@pytest.mark.usefixtures("small_data")
def test_fewer_training_rows_keep_the_test_rows():
    all_rows, fewer = (Run("Adult", split="random", seed=0, n_train=n).rows() for n in (None, 300))
    assert len(fewer.y_train) == 300
    assert len(all_rows.y_train) == 900
    np.testing.assert_array_equal(fewer.y_test, all_rows.y_test)
    assert fewer.y_train.mean() == pytest.approx(all_rows.y_train.mean(), abs=0.01)


def test_oracles_equal_a_search_over_all_pairs_of_bounds():
    rng = np.random.default_rng(0)
    y, score = rng.random(60) < 0.4, np.round(rng.random(60), 4)
    oracles = Oracles(y, score)
    for coverage in (0.95, 0.8):
        assert oracles.exact(coverage) == pytest.approx(best_by_trying(y, score, score, coverage))
        rounded = np.round(score, 3)
        assert oracles.on_grid(coverage) == pytest.approx(best_by_trying(y, rounded, rounded, coverage))


def best_by_trying(y, score, bounds, coverage):
    bands = [RejectionBand(lower, upper) for lower in bounds for upper in bounds if lower <= upper]
    selections = [band.selects(score) for band in bands]
    return max(selective_auc(y, score, s) for s in [*selections, score < np.inf] if s.mean() >= coverage)


@pytest.mark.usefixtures("small_data")
def test_optimism_is_positive_and_measured_on_samples_of_at_most_half_of_the_test_rows(monkeypatch):
    monkeypatch.setattr("experiments.optimism.TEST_SIZES", (100, 150, 200))
    monkeypatch.setattr("experiments.optimism.N_DRAWS", 2)
    rows = measure_optimism(Optimism("Adult", 0))
    assert {row["n_test"] for row in rows} == {100, 150}
    assert np.mean([row["optimism"] for row in rows]) > 0
