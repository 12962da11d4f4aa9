"""The main job in one minute: a classifier that abstains on a synthetic loan portfolio, and what that is worth.

    make demo

Fits a gradient boosting model that defers a share of loans to a person, once by the band that raises the AUC most
(AUCross) and once by max probability (SCross), prints both tables for loans not used in fitting, draws a picture and
writes the report that a risk committee would read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross, evaluate_selective
from aucross.datasets import make_credit
from aucross.evaluation import SelectiveEvaluation
from aucross.report import build_summary, write_report

COVERAGES = (1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
SHOWN_COVERAGE = 0.80
OUTPUT = Path("demo-output")

# Colours that stay apart without colour vision: blue, orange, grey.
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#8c8c8c"


def main() -> None:
    X, y = make_credit(20_000, return_X_y=True)
    X = X.drop(columns="issue_date")
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    print(
        f"Synthetic loan portfolio: {len(X):,} loans, {y.mean():.1%} defaulted; {len(X_test):,} held back for the test."
    )

    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    ours = AUCross(model, coverage=SHOWN_COVERAGE, random_state=0).fit(X_train, y_train)
    usual = SCross(model, coverage=SHOWN_COVERAGE, random_state=0).fit(X_train, y_train)
    evaluations = [evaluate_selective(clf, X_test, y_test, COVERAGES, random_state=0) for clf in (ours, usual)]

    print_side_by_side(*evaluations)
    print_conclusion(ours, evaluations[0])
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "abstention.png"
    draw(ours, X_test, y_test, evaluations).savefig(path, dpi=160)
    print(f"\nPicture: {path}")
    summary = build_summary(
        ours,
        X_test,
        y_test,
        title="Loan applications for review",
        data_name="make_credit, a quarter of 20,000 synthetic loans",
        class_names=("repaid", "default"),
        command="make demo",
        random_state=0,
    )
    print(f"Report:  {write_report(summary, OUTPUT / 'report.html')}")


def print_side_by_side(ours: SelectiveEvaluation, usual: SelectiveEvaluation) -> None:
    print("\n            AUCross                                 max probability")
    print("asked for  automatic   AUC   95 % interval         automatic   AUC   95 % interval")
    for mine, theirs in zip(ours.rows(), usual.rows(), strict=True):
        cells = [
            f"{row['achieved_coverage']:8.1%} {row['selective_auc']:7.4f} "
            f"[{row['selective_auc_low']:.4f}, {row['selective_auc_high']:.4f}]"
            for row in (mine, theirs)
        ]
        print(f"{mine['target_coverage']:9.0%} {cells[0]:>37}      {cells[1]:>37}")


def print_conclusion(clf: AUCross, evaluation: SelectiveEvaluation) -> None:
    everyone, shown = (
        next(row for row in evaluation.rows() if row["target_coverage"] == coverage)
        for coverage in (1.0, SHOWN_COVERAGE)
    )
    band = clf.band()
    print(
        f"\nSending the {1 - shown['achieved_coverage']:.0%} of loans that score between {band.lower:.3f} and "
        f"{band.upper:.3f} to a person\nlifts the AUC on the others from {everyone['selective_auc']:.3f} to "
        f"{shown['selective_auc']:.3f}."
    )
    answer = clf.coverage_for(auc=0.80)
    print(
        f"For an AUC of {answer.auc:.2f}, {answer.coverage:.0%} of loans can be decided automatically "
        f"(between {answer.low:.0%} and {answer.high:.0%} with 95 % confidence)."
    )


def draw(clf: AUCross, X: Any, y: Any, evaluations: list[SelectiveEvaluation]) -> Any:
    mpl.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw_band(left, clf, X, np.asarray(y) == 1)
    draw_curves(right, evaluations)
    return figure


def draw_band(axes: Any, clf: AUCross, X: Any, defaulted: Any) -> None:
    scores, band = clf.predict_proba(X)[:, 1], clf.band()
    bins = np.linspace(0, 1, 61)
    axes.hist(scores[~defaulted], bins=bins, color=BLUE, alpha=0.7, label="repaid")
    axes.hist(scores[defaulted], bins=bins, color=ORANGE, alpha=0.85, label="defaulted")
    axes.axvspan(
        band.lower, band.upper, facecolor="none", edgecolor="black", hatch="///", alpha=0.4, label="goes to a person"
    )
    axes.set(
        xlabel="predicted probability of default",
        ylabel="test loans",
        title=f"Where it abstains, coverage {SHOWN_COVERAGE:.0%}",
    )
    axes.legend(frameon=False)


def draw_curves(axes: Any, evaluations: list[SelectiveEvaluation]) -> None:
    styles = (("AUCross", BLUE, "o-"), ("max probability", ORANGE, "s--"))
    for evaluation, (name, color, style) in zip(evaluations, styles, strict=True):
        rows = sorted(evaluation.rows(), key=lambda row: row["achieved_coverage"])
        coverage, auc, low, high = (
            [row[column] for row in rows]
            for column in ("achieved_coverage", "selective_auc", "selective_auc_low", "selective_auc_high")
        )
        axes.plot(coverage, auc, style, color=color, label=name)
        axes.fill_between(coverage, low, high, color=color, alpha=0.15, linewidth=0)
    axes.axhline(evaluations[0].estimates["selective_auc"][0], color=GREY, linewidth=1, label="no abstention")
    axes.invert_xaxis()
    axes.set(xlabel="share decided automatically (coverage)", ylabel="AUC on these loans", title="What it is worth")
    axes.legend(frameon=False, loc="upper left")


if __name__ == "__main__":
    mpl.use("agg")
    main()
