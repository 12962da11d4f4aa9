"""Rows of pandas objects that belong together by their index and stand in another order."""

from __future__ import annotations

from typing import Any


def other_order(X: Any, **columns: Any) -> str | None:
    """What to say of a column that holds the rows of X in another order, which would be read by place, or None.

    Parameters
    ----------
    X : table
        The rows.
    **columns : array-like
        Columns beside X, by the name of their argument; only those of pandas have an index.

    Returns
    -------
    str or None
    """
    of_rows = _index_of(X)
    if of_rows is None:
        return None
    for name, column in columns.items():
        own = _index_of(column)
        if own is None or len(own) != len(of_rows) or own.equals(of_rows):
            continue
        # Labels that repeat, or are not the same ones, say nothing about the order.
        if own.is_unique and of_rows.is_unique and own.isin(of_rows).all():
            return (
                f"{name} must hold the rows of X in their order, because rows are matched by place, got the same index "
                f"labels in another order; pass {name}.loc[X.index]"
            )
    return None


def _index_of(rows: Any) -> Any:
    """The index of a pandas object; other libraries have none."""
    return rows.index if hasattr(rows, "iloc") and hasattr(rows, "index") else None
