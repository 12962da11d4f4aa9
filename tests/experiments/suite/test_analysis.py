"""Tests, tables, figures and page of the suite, on made-up cells."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

pytest.importorskip("xgboost", reason='needs `pip install "aucross[experiments]"`')

from experiments.suite import page, results, tables
from experiments.suite.methods import DEFAULT, PLUG_IN_AUC
from experiments.suite.statistics import corrected_p_value, holm, rank_methods, signed_rank_p_value
from experiments.suite.tables import MAX_PROBABILITY

# Statistics


def test_the_corrected_test_is_the_t_test_where_nothing_is_shared():
    values = np.random.default_rng(0).normal(0.3, 1, 12)
    assert corrected_p_value(values, 0.0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_shared_rows_make_it_less_certain():
    values = np.random.default_rng(1).normal(0.5, 1, 10)
    by_hand = values.mean() / np.sqrt((0.1 + 1 / 3) * values.var(ddof=1))
    assert corrected_p_value(values, 1 / 3) == pytest.approx(2 * stats.t.sf(abs(by_hand), 9))
    assert corrected_p_value(values, 1 / 3) > corrected_p_value(values, 0.0)


def test_the_corrected_test_keeps_its_level_on_splits_that_share_rows():
    rng, lost = np.random.default_rng(2), 0
    for _ in range(300):
        rows = rng.normal(size=120)
        splits = [rows[rng.permutation(120)[:30]].mean() for _ in range(10)]
        lost += corrected_p_value(splits, 30 / 90) < 0.05
    assert lost / 300 < 0.08


def test_one_split_is_no_test_and_equal_values_are_no_difference():
    assert np.isnan(corrected_p_value([0.1], 0.3))
    assert corrected_p_value([0.0, 0.0], 0.3) == 1.0
    assert corrected_p_value([0.1, 0.1], 0.3) == 0.0
    assert signed_rank_p_value(np.zeros(5)) == 1.0


def test_holm_multiplies_the_smallest_by_the_number_and_never_falls():
    assert holm({"a": 0.04, "b": 0.01, "c": 0.03}) == pytest.approx({"a": 0.06, "b": 0.03, "c": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}


def test_the_best_method_has_the_first_rank_and_equal_ones_share_a_bar():
    rng = np.random.default_rng(3)
    good = rng.normal(size=30)
    ranking = rank_methods({"worse": good - 1, "good": good, "alike": good + rng.normal(0, 1e-3, 30)})
    assert list(ranking.average)[-1] == "worse"
    assert ranking.average["worse"] == 3.0
    assert ranking.cliques == [(0, 1)]


# Tables


def made_cells(n_splits=4, lead=0.01):
    """Two sets; AUCross is ahead of max probability by `lead`, at another coverage than asked, and PlugIn is equal."""
    rng, rows = np.random.default_rng(0), []
    for dataset, prevalence in (("stroke", 0.05), ("magic", 0.35)):
        for split in range(n_splits):
            for family in ("LightGBM", "Logistic"):
                noise = rng.normal(0, 1e-4)
                for target in (0.9, 0.8):
                    auc = 0.8 + 0.1 * (1 - target)
                    for method, own in (
                        (DEFAULT, auc),
                        (PLUG_IN_AUC, auc),
                        ("PlugIn", auc),
                        (MAX_PROBABILITY, auc - lead),
                    ):
                        rows.append(
                            {
                                "split": split,
                                "dataset": dataset,
                                "family": family,
                                "n_train": 3000,
                                "n_test": 1000,
                                "prevalence": prevalence,
                                "method": method,
                                "target_coverage": target,
                                "coverage": target + 0.002,
                                "auc": own + (noise if method == MAX_PROBABILITY else 0.0),
                                "auc_all": 0.8,
                                "accuracy": 0.9,
                                "accuracy_all": 0.85,
                                "oracle_distance": 0.001,
                                "aucross_auc": auc,
                                "plug_in_auc": auc,
                                "aucross_coverage": target + 0.002,
                                "plug_in_coverage": target + 0.002,
                                "seconds": 1.0,
                            }
                        )
    return pd.DataFrame(rows)


KINDS = {"stroke": ("random", 5110), "magic": ("time", 19020)}


def test_a_constant_lead_wins_every_set_and_no_difference_ties():
    table = tables.comparisons(tables.with_differences(made_cells())).set_index("method")
    assert table.loc[MAX_PROBABILITY, ["higher", "wins", "losses"]].tolist() == [2, 2, 0]
    assert table.loc["PlugIn", ["equal", "wins", "losses"]].tolist() == [2, 0, 0]
    assert table.loc[MAX_PROBABILITY, "median"] == pytest.approx(0.01, abs=1e-3)


def test_a_loss_is_counted_as_a_loss():
    found = tables.with_differences(made_cells(lead=-0.01))
    row = tables.comparisons(found).set_index("method").loc[MAX_PROBABILITY]
    assert row[["lower", "losses"]].tolist() == [2, 2]
    expected = tables.expected_lead(tables.set_table(found, KINDS))
    assert expected["above"].tolist() == [0, 0]
    assert expected["below"].tolist() == ["stroke", "magic"]
    assert MAX_PROBABILITY in tables.losses(found)["than"].tolist()


def test_methods_are_compared_only_where_the_coverages_meet():
    cells = made_cells()
    cells.loc[cells["method"] == MAX_PROBABILITY, "aucross_coverage"] += 0.05
    found = tables.with_differences(cells)
    assert found.loc[found["method"] == MAX_PROBABILITY, "behind"].isna().all()
    assert MAX_PROBABILITY not in tables.comparisons(found)["method"].tolist()


def test_the_same_model_is_compared_with_those_that_have_it():
    table = tables.comparisons(tables.with_differences(made_cells()), "same_model")
    assert table["method"].tolist() == ["PlugIn"]


def test_coverage_error_is_told_by_size_and_apart_for_time():
    table = tables.by_size(tables.with_differences(made_cells()), KINDS).set_index(["training_rows", "method"])
    assert table.loc[("1 to 3,000", DEFAULT), "coverage_error"] == pytest.approx(0.002)
    assert table.loc[("in time, any size", DEFAULT), "n_sets"] == 1


# What is written


def parts(cells, n_planned=16):
    measured = tables.with_differences(cells)
    found = page.parts(results.gather(measured, KINDS), measured, n_planned)
    return {name: "\n".join(lines) for name, lines in found.items()}


def test_tables_figures_and_page_are_written(tmp_path):
    results.write_analysis(made_cells(), KINDS, 100, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"gains.png", "wins.png", "ranks.png", "coverage_by_rows.png", "oracle_by_rows.png"} <= names
    assert {"sets.csv", "comparisons.csv", "losses.csv", "answer.md", "losses.md", "costs.md"} <= names


def test_the_page_says_that_the_run_is_not_complete():
    assert "**Not complete:** 16 of 100 cells are done, 2 sets with 4 of 9 splits" in parts(made_cells(), 100)["done"]
    assert "All 16 cells are done" in parts(made_cells())["done"]


def test_the_page_holds_the_expectation_and_the_losses():
    assert "| under 20 % positive | 1 | 1 (100 %) | 1 | none |" in parts(made_cells())["answer"]
    behind = parts(made_cells(lead=-0.02))
    assert "| 20 % positive or more | 1 | 0 (0 %) | 0 | magic |" in behind["answer"]
    assert "| max probability | -.0200 | 3,000 | 5 % |" in behind["losses"]


def test_the_table_of_cells_is_the_same_whatever_the_order_of_the_run():
    cells = made_cells()
    shuffled = cells.iloc[np.argsort(cells["family"].to_numpy(), kind="stable")]
    assert results.in_order(cells).reset_index(drop=True).equals(results.in_order(shuffled).reset_index(drop=True))
