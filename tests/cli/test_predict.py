from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aucross import CoverageKeeper
from aucross.cli import table_files
from aucross.files.model_file import load


@pytest.fixture(scope="module")
def features(loans):
    """The features of new.csv as the model gets them."""
    return loans.drop(columns=["loan", "customer", "issue_date", "default"]).iloc[:300]


def decisions(path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype={"loan": str})


@pytest.fixture
def decide(run, folder, tmp_path):
    """Run predict on new.csv and read what it wrote."""

    def run_and_read(*arguments, name="decisions.csv", data="new.csv", model="model.aucross") -> pd.DataFrame:
        result = run("predict", folder / model, folder / data, "--out", tmp_path / name, "--quiet", *arguments)
        assert result.exit_code == 0, result.stderr
        return decisions(tmp_path / name)

    return run_and_read


def test_decisions_are_those_of_the_library_in_the_order_of_the_input(decide, folder, loans, features):
    found = decide()
    clf = load(folder / "model.aucross")
    assert list(found.columns) == ["loan", "score", "prediction", "decision"]
    assert found["loan"].tolist() == loans["loan"].iloc[:300].tolist()
    np.testing.assert_allclose(found["score"], clf.predict_proba(features)[:, 1], rtol=1e-12)
    assert found["prediction"].tolist() == clf.predict(features).tolist()
    assert found["decision"].tolist() == np.where(clf.select(features), "automatic", "review").tolist()


@pytest.mark.parametrize("name", ["d.csv.gz", "d.csv.zst", "d.parquet"])
def test_every_output_format_says_the_same(decide, name):
    pd.testing.assert_frame_equal(decide(name=name), decide(), check_dtype=False)


@pytest.mark.parametrize("name", ["new.parquet", "new.csv.gz", "new.csv.zst"])
def test_every_input_format_says_the_same(run, folder, loans, tmp_path, decide, name):
    new = loans.drop(columns="default").iloc[:300]
    new.to_parquet(tmp_path / name) if name.endswith("parquet") else new.to_csv(tmp_path / name, index=False)
    result = run("predict", folder / "model.aucross", tmp_path / name, "--out", tmp_path / "other.csv")
    assert result.exit_code == 0, result.stderr
    pd.testing.assert_frame_equal(decisions(tmp_path / "other.csv"), decide())


def test_the_order_of_columns_does_not_matter(run, folder, loans, tmp_path, decide):
    loans.drop(columns="default").iloc[:300, ::-1].to_csv(tmp_path / "turned.csv", index=False)
    assert run("predict", folder / "model.aucross", tmp_path / "turned.csv", "--out", tmp_path / "t.csv").exit_code == 0
    pd.testing.assert_frame_equal(decisions(tmp_path / "t.csv"), decide())


def test_batches_decide_like_the_whole(decide, monkeypatch):
    whole = decide(name="whole.csv")
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 5000)
    in_batches = decide(name="batches.csv")
    np.testing.assert_allclose(in_batches.pop("score"), whole.pop("score"), rtol=1e-12)
    pd.testing.assert_frame_equal(in_batches, whole)


def test_a_coverage_can_be_asked_for(decide, folder, features):
    found = decide("--coverage", 0.6)
    assert (
        found["decision"].eq("automatic").tolist()
        == load(folder / "model.aucross").select(features, coverage=0.6).tolist()
    )


@pytest.mark.parametrize("capacity", [0, 37, 300, 1000])
def test_exactly_as_many_rows_go_to_review_as_the_capacity(decide, monkeypatch, capacity):
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 5000)
    assert decide("--capacity", capacity)["decision"].eq("review").sum() == min(capacity, 300)


def test_capacity_does_not_depend_on_the_order_of_the_rows(run, folder, loans, tmp_path, decide):
    # Every row twice with ids of its own: half of the rows tie with another.
    twice = pd.concat([loans.iloc[:100]] * 2).assign(loan=[f"{number:06d}" for number in range(200)])
    found = []
    for seed in (0, 1):
        path, out = tmp_path / f"{seed}.csv", tmp_path / f"out{seed}.csv"
        twice.sample(frac=1, random_state=seed).to_csv(path, index=False)
        result = run("predict", folder / "model.aucross", path, "--out", out, "--capacity", 31, "--quiet")
        assert result.exit_code == 0, result.stderr
        found.append(decisions(out).set_index("loan")["decision"].sort_index())
    pd.testing.assert_series_equal(*found)


def test_recalibration_meets_the_coverage_on_the_rows_at_hand(decide, document, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 5000)
    found = decide("--recalibrate", "--coverage", 0.75)
    assert found["decision"].eq("automatic").mean() == pytest.approx(0.75, abs=1 / 300)


def test_recalibration_is_that_of_the_library(decide, folder, features):
    clf = load(folder / "model.aucross").recalibrate(features)
    assert decide("--recalibrate")["decision"].eq("automatic").tolist() == clf.select(features).tolist()


def test_the_gate_decides_as_in_the_library(run, table, tmp_path):
    model, path = tmp_path / "gate.aucross", table(n_rows=150)
    arguments = ("--target", "default", "--method", "gate", "--no-report", "--quiet", "--out", model)
    assert run("fit", path, *arguments).exit_code == 0
    clf, features = load(model), pd.read_csv(path).drop(columns="default")
    for options, selected in (((), clf.select(features)), (("--capacity", 20), clf.select(features, capacity=20))):
        result = run("predict", model, path, "--out", tmp_path / "d.csv", "--quiet", *options)
        assert result.exit_code == 0, result.stderr
        assert decisions(tmp_path / "d.csv")["decision"].eq("automatic").tolist() == selected.tolist()


def test_the_document_counts_the_decisions(document, folder, tmp_path):
    out = tmp_path / "d.csv"
    found = document("predict", folder / "model.aucross", folder / "new.csv", "--out", out)
    assert found["rows"] == 300
    assert found["review"] == (decisions(out)["decision"] == "review").sum() == 300 - found["automatic"]
    assert found["coverage"] == found["automatic"] / 300
    assert (found["target_coverage"], found["capacity"], found["recalibrated"]) == (0.9, None, False)


def test_without_an_id_rows_are_numbered_from_zero(run, table, tmp_path):
    arguments = ("--target", "default", "--base", "logistic", "--method", "plugin-auc", "--no-report", "--quiet")
    assert run("fit", table(), *arguments, "--out", tmp_path / "m.aucross").exit_code == 0
    assert run("predict", tmp_path / "m.aucross", table(), "--out", tmp_path / "d.csv").exit_code == 0
    found = decisions(tmp_path / "d.csv")
    assert list(found.columns) == ["row", "score", "prediction", "decision"]
    assert found["row"].tolist() == list(range(60))


def test_row_numbers_and_other_ids_can_be_asked_for(decide):
    assert decide("--id", "row")["row"].tolist() == list(range(300))
    assert decide("--id", "customer")["customer"].tolist() == (np.arange(300) // 2).tolist()


def test_ids_keep_their_type_in_parquet(run, folder, loans, tmp_path):
    loans.drop(columns="default").to_parquet(tmp_path / "new.parquet")
    arguments = ("predict", folder / "model.aucross", tmp_path / "new.parquet", "--out", tmp_path / "d.parquet")
    assert run(*arguments, "--id", "customer").exit_code == 0
    assert decisions(tmp_path / "d.parquet")["customer"].dtype == np.int64
    assert decisions(tmp_path / "d.parquet")["prediction"].dtype == np.int64


def test_labels_are_written_as_the_table_spelled_them(run, table, tmp_path):
    path = table(default=np.where(np.arange(60) % 3 == 0, "went bad", "repaid"))
    arguments = ("--target", "default", "--positive", "went bad", "--base", "logistic", "--method", "plugin-auc")
    assert run("fit", path, *arguments, "--no-report", "--out", tmp_path / "m.aucross").exit_code == 0
    assert run("predict", tmp_path / "m.aucross", path, "--out", tmp_path / "d.csv").exit_code == 0
    assert set(decisions(tmp_path / "d.csv")["prediction"]) <= {"went bad", "repaid"}


def test_unseen_categories_and_further_columns_do_no_harm(run, folder, loans, tmp_path):
    new = loans.iloc[:50].assign(home_ownership="houseboat", extra=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", folder / "model.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv")
    assert result.exit_code == 0
    assert "note: new.csv has the column 'extra' that the training data had not; not used\n" in result.stderr


def test_a_table_without_rows_gives_decisions_without_rows(run, folder, loans, tmp_path):
    loans.iloc[:0].to_csv(tmp_path / "new.csv", index=False)
    for options in ((), ("--recalibrate",), ("--capacity", 5)):
        result = run("predict", folder / "model.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv", *options)
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / "d.csv").read_text() == "loan,score,prediction,decision\n"
        assert "note: new.csv has no rows below its header" in result.stderr


def test_ids_that_are_formulas_are_neutralised_in_csv_with_a_note_and_kept_in_parquet(run, folder, loans, tmp_path):
    ids = ["=1+1", "+1", "@SUM(A1)", *loans["loan"].iloc[3:300]]
    loans.iloc[:300].assign(loan=ids).to_csv(tmp_path / "new.csv", index=False)
    arguments = ("predict", folder / "model.aucross", tmp_path / "new.csv", "--out")
    result = run(*arguments, tmp_path / "d.csv")
    assert (
        "note: 3 values of 'loan' start like a formula of a spreadsheet and are written after an apostrophe; .parquet "
        "keeps them as they are\n"
    ) in result.stderr
    assert decisions(tmp_path / "d.csv")["loan"].tolist() == ["'=1+1", "'+1", "'@SUM(A1)", *ids[3:]]
    assert "formula" not in run(*arguments, tmp_path / "d.parquet").stderr
    assert decisions(tmp_path / "d.parquet")["loan"].tolist() == ids


# ---- a kept coverage ----


def test_a_kept_coverage_is_that_of_the_library_and_tells_its_level(decide, document, folder, features, tmp_path):
    found = decide("--keep-coverage", "--coverage", 0.6)
    keeper = CoverageKeeper(load(folder / "model.aucross"), 0.6)
    assert found["decision"].eq("automatic").tolist() == keeper.decide(features).selected.tolist()
    out = tmp_path / "kept.csv"
    told = document("predict", folder / "model.aucross", folder / "new.csv", "--out", out, "--keep-coverage")
    assert abs(told["coverage"] - 0.9) < 0.2
    assert 0 < told["level"] < 2


@pytest.mark.parametrize("other", [("--capacity", 5), ("--recalibrate",)])
def test_a_kept_coverage_excludes_decisions_on_all_rows_at_once(run, folder, tmp_path, other):
    arguments = folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv"
    result = run("predict", *arguments, "--keep-coverage", *other)
    assert result.exit_code == 2
    assert "--keep-coverage moves the band from row to row" in result.stderr


@pytest.mark.parametrize("other", [("--capacity", 0), ("--recalibrate",), ("--keep-coverage",)])
def test_ways_to_decide_that_need_the_rows_here_are_refused_with_an_engine(run, folder, tmp_path, other):
    arguments = folder / "model.aucross", tmp_path, "--out", tmp_path / "decisions", "--engine", "dask"
    result = run("predict", *arguments, *other)
    assert result.exit_code == 2
    assert f"{other[0]} needs the rows in this process and is not for --engine" in result.stderr
