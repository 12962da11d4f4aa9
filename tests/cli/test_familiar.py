"""Values that are unlike those of the fit are told: a model would take them without a word."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aucross.estimators.strange_values import range_of
from tests.cli.commands import aucross

FIT = ("--target", "default", "--method", "plugin-auc", "--no-report", "--quiet")
SPELLED = (
    "column 'sex': 100 % of its values, such as 'female', 'male', are unknown to the model and count as missing; it "
    "knows 'F', 'M'; spell them as at the fit"
)


def people(n_rows: int = 400, seed: int = 0, **changes) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "sex": rng.choice(["F", "M"], n_rows),
            "town": [f"town {number}" for number in rng.integers(0, 150, n_rows)],
            "default": rng.integers(0, 2, n_rows),
        }
    )
    return frame.assign(**{name: change(frame[name]) for name, change in changes.items()})


@pytest.fixture(scope="module", params=["hgb", "logistic"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("familiar")
    people().to_csv(folder / "old.csv", index=False)
    result = aucross("fit", folder / "old.csv", *FIT, "--base", request.param, "--out", folder / "m.aucross")
    assert result.exit_code == 0, result.stderr
    return folder / "m.aucross"


@pytest.fixture
def notes(model, document, tmp_path):
    """The notes of a command on new people, some of whose columns are changed."""

    def run_on(command: str, *options: object, **changes) -> list[str]:
        people(seed=1, **changes).to_csv(tmp_path / "new.csv", index=False)
        out = (
            () if command == "evaluate" else ("--out", tmp_path / f"{command}.{'md' if command == 'report' else 'csv'}")
        )
        return document(command, model, tmp_path / "new.csv", *out, *options)["notes"]

    return run_on


def of_columns(notes):
    """The notes on whole columns; single rows are counted in another one."""
    return [note for note in notes if note.startswith("column ")]


def spelled_out(sex):
    return sex.map({"F": "female", "M": "male"})


@pytest.mark.parametrize(
    "command", [("predict",), ("predict", "--capacity", 50), ("evaluate",), ("report",)], ids=lambda parts: parts[-1]
)
def test_categories_that_are_spelled_in_another_way_are_told(notes, command):
    assert SPELLED in notes(*command, sex=spelled_out)


def test_familiar_values_are_no_matter_for_a_note_nor_are_columns_of_rare_values(notes):
    assert notes("predict") == []


def test_up_to_a_half_of_unknown_values_is_no_matter_for_a_note(notes):
    half = notes("predict", sex=lambda sex: sex.where(np.arange(len(sex)) % 2 == 0, "?"))
    assert of_columns(half) == []
    assert "of the automatic rows are unlike those of the fit (a new or rare category" in half[0]
    (note,) = of_columns(notes("predict", sex=lambda sex: sex.where(np.arange(len(sex)) % 3 == 0, "?")))
    assert note.startswith("column 'sex': 66.5 % of its values, such as '?', are unknown")


def test_missing_values_are_no_unknown_ones(notes):
    assert of_columns(notes("predict", sex=lambda sex: sex.where(np.arange(len(sex)) % 3 == 0))) == []


def test_numbers_in_another_unit_are_told(notes):
    (note,) = of_columns(notes("predict", age=lambda age: age * 365))
    assert note.startswith("column 'age': all of its 400 values lie outside of ")
    assert note.endswith("where nearly all of the fit lay; is it in another unit?")


def test_numbers_of_which_one_lies_within_the_range_are_no_matter_for_a_note(notes):
    assert of_columns(notes("predict", age=lambda age: (age * 365).where(np.arange(len(age)) > 0, 40))) == []


@pytest.mark.parametrize("values", [range(2015, 2025), [12_345], [-7.25, -7.26], [0, 0, 0.001]], ids=str)
def test_the_same_numbers_again_are_within_their_range(values):
    low, high = range_of(np.repeat(np.array(values, dtype=float), 20))
    assert low <= min(values) <= max(values) <= high
    assert high - low < 100 * max(np.ptp(values), max(map(abs, values)) / 100)


@pytest.mark.parametrize(
    "command", [("predict",), ("predict", "--capacity", 50), ("evaluate",)], ids=lambda parts: parts[-1]
)
def test_a_number_without_values_is_told_once(notes, command):
    found = [note for note in notes(*command, age=lambda age: age.where(age < 0)) if "'age'" in note]
    assert found == ["column 'age': all of its 400 values are missing, and the fit had numbers there; is it filled in?"]
