"""The report per group on Adult, by sex and by race, for AUCross on LightGBM.

    python -m benchmarks.groups_adult

Prints the report and the gaps, the base-rate guard per group, what a band for each group changes, and a check of
`gap_by_chance`: with groups dealt at random, which are equal by construction, a gap should be beyond it in about 5 % of
the draws.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pandas as pd

from aucross import AUCross, SelectiveClassifier
from aucross.evaluation.catalogue import GROUP_METRICS
from aucross.evaluation.groups import evaluate_group_selections, evaluate_groups
from aucross.evaluation.guard import BaseRateGuard
from aucross.evaluation.inputs import ALL_ROWS
from benchmarks.paper_data import BASE_MODEL, FOLDER, Split, load
from experiments.selections import select_each

TARGETS = (1.0, 0.9, 0.75)
COLUMNS = ("sex", "race")


def group_columns(part: str) -> pd.DataFrame:
    """Sex and race of the training or test rows, from the raw table: the features are one-hot."""
    return pd.read_parquet(FOLDER / f"adult_{part}.parquet", columns=list(COLUMNS))


def print_report(clf: SelectiveClassifier, rows: Split, groups: pd.Series) -> None:
    start = perf_counter()
    report = evaluate_groups(clf, rows.X_test, rows.y_test, groups, TARGETS)
    seconds = perf_counter() - start
    print(f"\n-- by {groups.name} ({seconds:.1f} s)")
    print(report)
    print(f"\n-- gaps by {groups.name}")
    print(report.gaps())
    print(f"\n-- base rates by {groups.name}")
    for coverage, selected in zip(TARGETS[1:], select_each(clf, rows.X_test, TARGETS[1:]), strict=True):
        for label, check in BaseRateGuard().check_groups(rows.y_test, selected, groups, warn=False).items():
            print(f"{coverage:.2f} {label}: {check.message}")


def print_equal_coverage(clf: SelectiveClassifier, rows: Split, train_groups: pd.Series, groups: pd.Series) -> None:
    """A band for each group against one for all: coverage per group, and the difference in the AUC of all rows."""
    equal = AUCross(BASE_MODEL, random_state=42).fit(rows.X_train, rows.y_train, band_groups=train_groups)
    one = evaluate_groups(clf, rows.X_test, rows.y_test, groups, TARGETS[1:])
    each = evaluate_groups(equal, rows.X_test, rows.y_test, groups, TARGETS[1:], band_groups=groups)
    print(f"\n-- a band for each {groups.name}: report")
    print(each)
    print(f"\n-- a band for each {groups.name}: gaps")
    print(each.gaps())
    print(f"\n-- a band for each {groups.name} less one for all, paired")
    print(f"{'metric':22}{'group':22}{'coverage':>9}{'difference':>12}  interval")
    for label in (*each.groups, ALL_ROWS):
        for row in each.of(label).minus(one.of(label)).rows():
            if row["metric"] in ("achieved_coverage", "selective_auc"):
                print(
                    f"{row['metric']:22}{label:22}{row['target_coverage']:9.2f}{row['difference']:12.4f}"
                    f"  [{row['difference_low']:.4f}, {row['difference_high']:.4f}]"
                )


def print_chance_check(clf: SelectiveClassifier, rows: Split, groups: pd.Series, draws: int = 200) -> None:
    """Groups of the same sizes, but dealt at random."""
    rng = np.random.default_rng(0)
    score, predicted = clf.predict_proba(rows.X_test)[:, 1], clf.predict(rows.X_test)
    selections = {0.75: clf.select(rows.X_test, 0.75)}
    gaps = []
    for _ in range(draws):
        dealt = rng.permutation(groups.to_numpy())
        report = evaluate_group_selections(rows.y_test, score, predicted, selections, dealt)
        gaps.append([(row["gap"], row["gap_by_chance"], row["gap_low"] > 0) for row in report.gaps().rows()])
    print(f"\n-- {draws} random groups of the sizes of {groups.name}, coverage 0.75")
    print(f"{'metric':22}{'mean gap':>10}{'mean gap_by_chance':>20}{'beyond it':>11}{'interval above 0':>18}")
    for name, values in zip(GROUP_METRICS, np.array(gaps).swapaxes(0, 1), strict=True):
        gap, by_chance, above = values.T
        print(
            f"{name:22}{gap.mean():10.4f}{by_chance.mean():20.4f}{(gap > by_chance).mean():11.3f}{above.mean():18.3f}"
        )


def main() -> None:
    rows, train_columns, columns = load("Adult"), group_columns("train"), group_columns("test")
    clf = AUCross(BASE_MODEL, random_state=42).fit(rows.X_train, rows.y_train)
    for name in COLUMNS:
        print_report(clf, rows, columns[name])
    for name in COLUMNS:
        print_equal_coverage(clf, rows, train_columns[name], columns[name])
    for name in COLUMNS:
        print_chance_check(clf, rows, columns[name])


if __name__ == "__main__":
    main()
