"""Every row passes each model once, whatever is asked about it."""

from __future__ import annotations

import json

import pytest
from sklearn.pipeline import Pipeline

from aucross.cli import table_files
from aucross.cli.base_models import fit_classifier
from tests.cli.commands import ROLES, aucross

N_NEW = 300


@pytest.fixture
def rows_seen(monkeypatch) -> list[int]:
    """Numbers of rows that a model was given, call by call."""
    seen: list[int] = []
    for method in ("predict", "predict_proba"):
        original = getattr(Pipeline, method)

        def counting(self, X, *args, original=original, **options):
            seen.append(len(X))
            return original(self, X, *args, **options)

        monkeypatch.setattr(Pipeline, method, counting)
    return seen


@pytest.mark.parametrize("options", [(), ("--recalibrate",), ("--capacity", 20)])
def test_predict_scores_each_row_once(options, folder, tmp_path, rows_seen, monkeypatch):
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 5000)
    result = aucross("predict", folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv", *options)
    assert result.exit_code == 0, result.stderr
    assert len(rows_seen) > 1  # in batches
    assert sum(rows_seen) == N_NEW


class Passes:
    """Rows that pass the model that answers, after the fit."""

    def __init__(self):
        self.rows = 0
        self.is_fitted = False


@pytest.fixture
def passes(monkeypatch) -> Passes:
    found = Passes()
    for method in ("predict", "predict_proba"):
        original = getattr(Pipeline, method)

        def counting(self, X, *args, original=original, **options):
            found.rows += len(X) if found.is_fitted else 0
            return original(self, X, *args, **options)

        monkeypatch.setattr(Pipeline, method, counting)
    return found


def test_fit_with_groups_and_report_scores_each_test_row_once(folder, tmp_path, passes, monkeypatch):
    def fit_then_count(clf, rows):
        fit_classifier(clf, rows)
        passes.is_fitted = True

    monkeypatch.setattr("aucross.cli.train.fit_classifier", fit_then_count)
    options = ("--base", "logistic", "--by", "home_ownership", "--out", tmp_path / "m.aucross", "--json", "--quiet")
    result = aucross("fit", folder / "loans.csv", *ROLES, *options)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["report"] is not None
    assert passes.rows == found["n_test"]


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_evaluate_and_report_score_each_row_once(command, folder, tmp_path, passes):
    passes.is_fitted = True
    options = ("--out", tmp_path / "r.html") if command == "report" else ()
    result = aucross(command, folder / "model.aucross", folder / "loans.csv", "--by", "home_ownership", *options)
    assert result.exit_code == 0, result.stderr
    assert passes.rows == 1200
