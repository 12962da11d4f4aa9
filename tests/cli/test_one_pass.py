"""Every row passes each model once, whatever is asked about it."""

from __future__ import annotations

import pytest
from sklearn.pipeline import Pipeline

from aucross.cli import tables
from cli.commands import aucross

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
    monkeypatch.setattr(tables, "BLOCK_BYTES", 5000)
    result = aucross("predict", folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv", *options)
    assert result.exit_code == 0, result.stderr
    assert len(rows_seen) > 1  # in batches
    assert sum(rows_seen) == N_NEW
