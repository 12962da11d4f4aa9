"""Cumulative accuracy profiles as numbers: positives found against rows taken, from the highest score down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import FloatArray
from aucross.evaluation.inputs import SelectedRows, selected_rows


@dataclass(frozen=True, eq=False)
class CAPCurve:
    """Points of a cumulative accuracy profile, one per distinct score, in weights of rows.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        Weight of the rows taken from the highest score down, starting with 0.
    positives : ndarray of shape (n_points,)
        Weight of the positives among them.
    auc : float
        AUC of the same rows; NaN if a class is missing.
    """

    rows: FloatArray
    positives: FloatArray
    auc: float

    @property
    def gini(self) -> float:
        """Gini coefficient, ``2 * AUC - 1``."""
        return 2 * self.auc - 1

    @property
    def n_rows(self) -> float:
        """Weight of all rows."""
        return float(self.rows[-1])

    @property
    def n_positives(self) -> float:
        """Weight of all positives."""
        return float(self.positives[-1])

    @property
    def area(self) -> float:
        """Area under the curve, in cells of one row by one positive."""
        return float(np.trapezoid(self.positives, self.rows))

    def points(self, *, relative: bool = True) -> tuple[FloatArray, FloatArray]:
        """Both coordinates, as shares or as weights; shares of positives are NaN where there is none."""
        return self._scaled(self.rows, self.positives, relative)

    def perfect(self, *, relative: bool = True) -> tuple[FloatArray, FloatArray]:
        """The same for a ranking with all positives first."""
        n_rows, n_positives = self.n_rows, self.n_positives
        return self._scaled(np.array([0.0, n_positives, n_rows]), np.array([0.0, n_positives, n_positives]), relative)

    def _scaled(self, rows: FloatArray, positives: FloatArray, relative: bool) -> tuple[FloatArray, FloatArray]:
        if not relative:
            return rows, positives
        nothing = np.full(len(rows), np.nan)
        return (
            np.divide(rows, self.n_rows, out=nothing.copy(), where=self.n_rows > 0),
            np.divide(positives, self.n_positives, out=nothing, where=self.n_positives > 0),
        )


def cap_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> CAPCurve:
    """Cumulative accuracy profile of the selected rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    y_score : array-like of shape (n,)
        Finite scores, higher for rows that are more likely positive.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    CAPCurve
        A single point without rows.

    Notes
    -----
    Engelmann (2011). With p the share of positives, the Gini coefficient is the area between the curve of shares and
    the diagonal divided by ``(1 - p) / 2``.

    Examples
    --------
    >>> from aucross.evaluation.plots import cap_curve
    >>> curve = cap_curve([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    >>> curve.rows, curve.positives, curve.gini
    (array([0., 1., 2., 3., 4.]), array([0., 1., 1., 2., 2.]), 0.5)
    """
    return curve_of(selected_rows(y_true, y_score, selected, sample_weight))


def curve_of(rows: SelectedRows) -> CAPCurve:
    """Profile of checked rows."""
    ranked = rows.ranked()
    from_top = (ranked.positives + ranked.negatives)[::-1], ranked.positives[::-1]
    weight, positives = (np.concatenate(([0.0], np.cumsum(values))) for values in from_top)
    return CAPCurve(weight, positives, ranked.auc())
