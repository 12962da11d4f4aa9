"""Units that several rows may belong to, such as customers."""

from __future__ import annotations

from typing import Any

import numpy as np

from aucross.core.missing import is_missing, refuse_name_of_column
from aucross.core.ranking import IndexArray


def numbers_of_units(groups: Any, n_rows: int, name: str = "groups") -> IndexArray:
    """Number the units that rows belong to, such as customers, from 0 on; a row must not lack its unit.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        The unit of each row.
    n_rows : int
        Number of rows.
    name : str, default="groups"
        What errors call the argument: ``"groups"`` in a fit, as scikit-learn does, ``"customers"`` elsewhere.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    refuse_name_of_column(groups, name)
    values = np.asarray(groups)
    if values.dtype.kind == "U" and not isinstance(groups, np.ndarray):
        values = np.asarray(groups, dtype=object)  # numpy would write a missing value as the text "nan"
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must hold one value per row, got shape {values.shape} for {n_rows} rows")
    listed = values.tolist()
    missing = [row for row, value in enumerate(listed) if is_missing(value)] if values.dtype.kind not in "biuU" else []
    if missing:
        raise ValueError(
            f"{name} must name the unit of every row, got a missing value in row {missing[0]} ({len(missing)} in all); "
            "give each such row a name of its own"
        )
    if values.dtype.kind == "O":  # numbers among strings cannot be sorted
        number_of = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        return np.array([number_of[value] for value in listed], dtype=np.intp)
    return np.unique(values, return_inverse=True)[1]
