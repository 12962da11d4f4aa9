"""The tables by group of a report: the numbers of each group, the gaps between them, and the base-rate guard."""

from __future__ import annotations

from typing import Any

from aucross.evaluation.group_column import ALL_ROWS, group_column
from aucross.evaluation.group_results import LEAST_ROWS_SHOWN, GroupEvaluation
from aucross.evaluation.groups import evaluate_group_selections
from aucross.evaluation.guard import BaseRateGuard
from aucross.report.rows import ReportRows


def group_tables(rows: ReportRows, by: Any, **options: Any) -> tuple[list[dict[str, Any]], str | None]:
    """For each coverage ``groups`` and ``group_gaps``, and a sentence on groups that are too small to be shown.

    Both tables are empty without a column of groups. The options are those of
    :func:`~aucross.evaluation.evaluate_group_selections`.
    """
    if by is None:
        return [{"groups": [], "group_gaps": []} for _ in rows.coverages], None
    column = group_column(by, len(rows.used)).take(rows.used)
    selections = dict(zip(rows.coverages, rows.selected, strict=True))
    report = evaluate_group_selections(
        rows.positive, rows.score, rows.predicted, selections, column, sample_weight=rows.weight, **options
    ).without_small_groups()
    entries: dict[float, list[dict[str, Any]]] = {coverage: [] for coverage in rows.coverages}
    for row in report.rows():
        if row["group"] != ALL_ROWS:
            entries[row.pop("target_coverage")].append({**row, "group": str(row["group"])})
    gaps: dict[float, list[dict[str, Any]]] = {coverage: [] for coverage in rows.coverages}
    for row in report.gaps().rows() if report.groups else ():
        gaps[row.pop("target_coverage")].append(row)
    guard, members = BaseRateGuard(), [own for own in column.members() if len(own) >= LEAST_ROWS_SHOWN]
    for coverage, mask in zip(rows.coverages, rows.selected, strict=True):
        for entry, own in zip(entries[coverage], members, strict=True):
            weight = None if rows.weight is None else rows.weight[own]
            check = guard.check(rows.positive[own], mask[own], sample_weight=weight, warn=False)
            entry |= {"base_rate_ok": check.ok, "base_rate_message": check.message}
    tables = [{"groups": entries[coverage], "group_gaps": gaps[coverage]} for coverage in rows.coverages]
    return tables, hidden_groups_sentence(report)


def hidden_groups_sentence(report: GroupEvaluation) -> str | None:
    """What is not shown of a report per group, if anything."""
    if not report.n_hidden_groups:
        return None
    groups = "1 group" if report.n_hidden_groups == 1 else f"{report.n_hidden_groups} groups"
    return (
        f"{groups} of fewer than {LEAST_ROWS_SHOWN} rows ({report.n_hidden_rows} in all) not shown: numbers of so few "
        "are those of single people."
    )
