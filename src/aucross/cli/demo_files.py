"""The report and the picture of ``aucross demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aucross.cli.demo import SHOWN_COVERAGE, LoanComparison
from aucross.report import build_summary, write_report
from aucross.system.files import whole_file

# Colours that stay apart without colour vision: blue, orange, grey.
_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#8c8c8c"


def write_demo_report(compared: LoanComparison, path: Path) -> None:
    """Write the report that a risk committee would read."""
    summary = build_summary(
        compared.aucross,
        compared.X,
        compared.y,
        title="Loan applications for review",
        data_name=f"make_credit, a quarter of {compared.n_loans:,} synthetic loans",
        class_names=("repaid", "default"),
        command="aucross demo",
    )
    write_report(summary, path)


def write_demo_picture(compared: LoanComparison, path: Path) -> None:
    """Draw which scores go to a person, and the AUC of both rules against the coverage."""
    # Without pyplot: its settings and windows belong to whoever calls.
    from matplotlib import rc_context  # noqa: PLC0415  (an extra)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_band(left, compared)
        _draw_curves(right, compared)
        with whole_file(path) as file:
            figure.savefig(file, format="png", dpi=160)


def _draw_band(axes: Any, compared: LoanComparison) -> None:
    scores, band = compared.aucross.predict_proba(compared.X)[:, 1], compared.aucross.band()
    defaulted = np.asarray(compared.y) == 1
    bins = np.linspace(0, 1, 61)
    axes.hist(scores[~defaulted], bins=bins, color=_BLUE, alpha=0.7, label="repaid")
    axes.hist(scores[defaulted], bins=bins, color=_ORANGE, alpha=0.85, label="defaulted")
    axes.axvspan(
        band.lower, band.upper, facecolor="none", edgecolor="black", hatch="///", alpha=0.4, label="goes to a person"
    )
    axes.set(
        xlabel="predicted probability of default",
        ylabel="test loans",
        title=f"Where it abstains, coverage {SHOWN_COVERAGE:.0%}",
    )
    axes.legend(frameon=False)


def _draw_curves(axes: Any, compared: LoanComparison) -> None:
    curves = (
        (compared.of_aucross, "AUCross", _BLUE, "o-"),
        (compared.of_max_probability, "max probability", _ORANGE, "s--"),
    )
    for evaluation, name, color, style in curves:
        rows = sorted(evaluation.rows(), key=lambda row: row["achieved_coverage"])
        coverage, auc, low, high = (
            [row[column] for row in rows]
            for column in ("achieved_coverage", "selective_auc", "selective_auc_low", "selective_auc_high")
        )
        axes.plot(coverage, auc, style, color=color, label=name)
        axes.fill_between(coverage, low, high, color=color, alpha=0.15, linewidth=0)
    everyone = compared.of_aucross.estimates["selective_auc"][0]
    axes.axhline(everyone, color=_GREY, linewidth=1, label="no abstention")
    axes.invert_xaxis()
    axes.set(xlabel="share decided automatically (coverage)", ylabel="AUC on these loans", title="What it is worth")
    axes.legend(frameon=False, loc="upper left")
