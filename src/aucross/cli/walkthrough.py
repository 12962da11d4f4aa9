"""aucross walkthrough: the whole way from a table to decisions and a report, on made-up loans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aucross.cli.errors import CommandError, UsageError
from aucross.cli.fit import FitOptions, run_fit
from aucross.cli.output import check_writable
from aucross.cli.predict import PredictOptions, run_predict
from aucross.cli.schema import Roles
from aucross.cli.screen import Screen
from aucross.cli.tables import open_table
from aucross.datasets import make_credit
from aucross.system.files import whole_file

_FEWEST_ROWS = 500
_SHARE_OF_NEW_ROWS = 0.2


def run_walkthrough(folder: Path, n_rows: int, seed: int, screen: Screen) -> dict[str, Any]:
    """Write two tables, fit on the first with a report, decide on the second; return what the JSON document says."""
    if n_rows < _FEWEST_ROWS:
        raise UsageError(f"--rows must be at least {_FEWEST_ROWS}, got {n_rows}")
    loans, new, model, decisions = (
        folder / name for name in ("loans.csv", "new.csv", "model.aucross", "decisions.csv")
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--folder: cannot make {folder}: {error.strerror}; name another folder") from None
    for path in (loans, new, model, decisions):
        check_writable(path, "--folder")
    _write_tables(loans, new, n_rows, seed)
    screen.say(f"Made up {n_rows:,} loans: {loans} with outcomes, {new} without.")
    screen.say("")

    command = f"aucross fit {loans} --target default --id loan --drop issue_date --seed {seed} --out {model}"
    screen.say(f"$ {command}")
    roles = Roles("default", id="loan")
    fitted = run_fit(
        FitOptions(data=loans, roles=roles, out=model, drop=["issue_date"], seed=seed, command=command), screen
    )

    screen.say("")
    screen.say(f"$ aucross predict {model} {new} --out {decisions}")
    decided = run_predict(PredictOptions(model, new, decisions), screen)
    return {"command": "walkthrough", "folder": str(folder), "fit": fitted, "predict": decided}


def _write_tables(loans: Path, new: Path, n_rows: int, seed: int) -> None:
    """Labelled loans, and later ones whose outcome nobody knows yet."""
    table = make_credit(n_rows, random_state=seed).frame
    table.insert(0, "loan", [f"{number:06d}" for number in range(1, n_rows + 1)])
    n_labelled = n_rows - round(_SHARE_OF_NEW_ROWS * n_rows)
    outcome = table.columns[-1]
    labelled = table.iloc[:n_labelled].rename(columns={outcome: "default"})
    parts = ((loans, labelled), (new, table.iloc[n_labelled:].drop(columns=outcome)))
    for path, part in parts:
        # Another walkthrough may be overwritten, a table of the user may not.
        if path.exists() and open_table(path).names != list(part.columns):
            raise CommandError(f"--folder: {path} is no table of the walkthrough; name another folder")
    for path, part in parts:
        with whole_file(path) as file:
            part.to_csv(file, index=False)
