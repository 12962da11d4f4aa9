"""The tables by group of a report: the numbers of each group, the gaps between them, and the base-rate guard."""

from __future__ import annotations

from typing import Any

import numpy as np

from aucross.evaluation.group_evaluation import LEAST_ROWS_SHOWN, GroupEvaluation
from aucross.evaluation.guard import BaseRateGuard
from aucross.evaluation.inputs import ALL_ROWS, group_column
from aucross.evaluation.unscored import evaluate_groups_of_all
from aucross.report.rows import ReportRows


def group_tables(rows: ReportRows, by: Any, **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Return ``groups`` and ``group_gaps`` for each coverage, with sentences on groups too small for either."""
    if by is None:
        return [{"groups": [], "group_gaps": []} for _ in rows.coverages], []
    used, of_all = rows.used, by
    if rows.unscored is not None:  # cases without a score come last
        used, of_all = np.append(used, np.ones(len(rows.unscored), dtype=bool)), rows.unscored.by_after(by)
    column = group_column(of_all, len(used)).take(used)
    selections = dict(zip(rows.coverages, rows.selected, strict=True))
    report = evaluate_groups_of_all(
        *(rows.positive, rows.score, rows.predicted, selections, column),
        unscored=rows.unscored,
        sample_weight=rows.weight,
        customers=rows.customers,
        **options,
    ).without_small_groups()
    entries: dict[float, list[dict[str, Any]]] = {coverage: [] for coverage in rows.coverages}
    for row in report.rows():
        if row["group"] != ALL_ROWS:
            entries[row.pop("target_coverage")].append({**row, "group": str(row["group"])})
    gaps: dict[float, list[dict[str, Any]]] = {coverage: [] for coverage in rows.coverages}
    for row in report.gaps().rows() if len(report.large_groups()) else ():
        gaps[row.pop("target_coverage")].append(row)
    positive, weight_of_all = rows.positive_of_all, rows.weight_of_all
    guard, members = BaseRateGuard(), [own for own in column.members() if len(own) >= LEAST_ROWS_SHOWN]
    for coverage, mask in zip(rows.coverages, rows.selected, strict=True):
        for entry, own in zip(entries[coverage], members, strict=True):
            weight = None if weight_of_all is None else weight_of_all[own]
            selected = rows.selected_of_all(mask)[own]
            check = guard.check(positive[own], selected, sample_weight=weight, warn=False)
            entry |= {"base_rate_ok": check.ok, "base_rate_message": check.message}
    tables = [{"groups": entries[coverage], "group_gaps": gaps[coverage]} for coverage in rows.coverages]
    return tables, list(filter(None, (report.small_groups_sentence(), hidden_groups_sentence(report))))


def hidden_groups_sentence(report: GroupEvaluation) -> str | None:
    """Say which groups are not shown, if any."""
    if not report.n_hidden_groups:
        return None
    groups = "1 group" if report.n_hidden_groups == 1 else f"{report.n_hidden_groups} groups"
    return (
        f"{groups} of fewer than {LEAST_ROWS_SHOWN} rows ({report.n_hidden_rows} in all) not shown: numbers of so few "
        "are those of single people."
    )
