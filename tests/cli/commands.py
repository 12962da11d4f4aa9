"""Commands run in this process, and the options that most tests give them."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from aucross.cli.app import app

# Rows of the table of loans.
N_ROWS = 1200

# One training of a small model: most tests are about files, not about models.
QUICK = ("--base", "logistic", "--method", "plugin-auc", "--no-report", "--quiet")
ROLES = ("--target", "default", "--id", "loan", "--drop", "customer", "--drop", "issue_date")


def aucross(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
