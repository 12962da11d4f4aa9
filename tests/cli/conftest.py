from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

from aucross.datasets import make_credit
from tests.cli.commands import N_ROWS, QUICK, ROLES, aucross


@pytest.fixture(scope="session")
def loans() -> pd.DataFrame:
    """Loans with an id that has leading zeros, numbers, categories, blanks and a date; the target comes last."""
    frame = make_credit(N_ROWS, random_state=0).frame
    frame = frame.rename(columns={frame.columns[-1]: "default"})
    frame.insert(0, "loan", [f"{number:06d}" for number in range(N_ROWS)])
    frame.insert(1, "customer", np.arange(N_ROWS) // 2)
    return frame


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, loans: pd.DataFrame) -> Path:
    """Tables and a model that no test changes."""
    folder = tmp_path_factory.mktemp("command_line")
    loans.to_csv(folder / "loans.csv", index=False)
    loans.drop(columns="default").iloc[:300].to_csv(folder / "new.csv", index=False)
    result = aucross("fit", folder / "loans.csv", *ROLES, "--out", folder / "model.aucross", *QUICK)
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def run() -> Callable[..., Result]:
    return aucross


@pytest.fixture(scope="session")
def document() -> Callable[..., dict[str, Any]]:
    """Run a command that must succeed and read its JSON document."""

    def run_for_document(*arguments: object) -> dict[str, Any]:
        result = aucross(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return run_for_document


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """Write a small CSV table of two numbers, a category and a target, with columns added or replaced."""

    def write(name: str = "table.csv", *, n_rows: int = 60, without: tuple[str, ...] = (), **columns: Any) -> Path:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "income": rng.normal(50, 10, n_rows).round(2),
                "age": rng.integers(20, 70, n_rows),
                "region": rng.choice(["north", "south"], n_rows),
                "default": np.arange(n_rows) % 3 == 0,
            }
        ).astype({"default": int})
        for column, values in columns.items():
            frame[column] = values
        frame = frame.drop(columns=list(without))
        path = tmp_path / name
        frame.to_csv(path, index=False)
        return path

    return write
