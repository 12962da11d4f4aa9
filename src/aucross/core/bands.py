"""The rejection band: an interval of scores on which the classifier does not answer.

::

    select        reject         select
    ───────┤■■■■■■■■■■■■■■■■├──────────────►  score
         lower            upper            both ends are rejected
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class RejectionBand:
    """A closed interval of scores that is rejected; all other scores are selected.

    Parameters
    ----------
    lower, upper : float, default=inf and -inf
        Ends of the interval, both rejected. ``-inf`` and ``inf`` make one-sided bands. The default is the
        empty band, which rejects nothing.

    Examples
    --------
    >>> from aucross.core import RejectionBand
    >>> band = RejectionBand(0.2, 0.4)
    >>> band.selects([0.1, 0.2, 0.3, 0.4, 0.5])
    array([ True, False, False, False,  True])
    >>> RejectionBand().selects([0.1, 0.2])
    array([ True,  True])
    """

    lower: float = inf
    upper: float = -inf

    def __post_init__(self) -> None:
        # Plain floats keep the repr readable and comparisons in float64 whatever numpy scalar came in.
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))
        if isnan(self.lower) or isnan(self.upper):
            raise ValueError(f"the ends of a RejectionBand must not be NaN, got ({self.lower}, {self.upper})")
        if self.lower > self.upper and not self.is_empty:
            raise ValueError(
                f"lower must not exceed upper, got lower={self.lower}, upper={self.upper}; "
                "RejectionBand() is the empty band"
            )

    @property
    def is_empty(self) -> bool:
        """Whether the band rejects nothing, which is full coverage."""
        return self.lower == inf and self.upper == -inf

    def rejects(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Mask of the scores that fall inside the band.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores without NaN; compared as float64.

        Returns
        -------
        ndarray of shape (n,), bool
            True where the score is rejected.
        """
        # float64 on purpose: float32(.1) <= .1 depends on the type of the other side.
        values = np.asarray(scores, dtype=np.float64)
        if np.isnan(values).any():
            # A NaN fails both comparisons and would pass in silence.
            raise ValueError(
                f"scores must not contain NaN, got {int(np.isnan(values).sum())} of {values.size}; "
                "impute the features or drop those rows before scoring"
            )
        return np.asarray((values >= self.lower) & (values <= self.upper))

    def _repr_html_(self) -> str:
        """A sentence for a notebook."""
        if self.is_empty:
            return "<p>No score is rejected: the band is empty.</p>"
        return f"<p>Scores from <b>{self.lower:.6g}</b> to <b>{self.upper:.6g}</b> are rejected, ends included.</p>"

    def selects(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Mask of the scores outside the band, whose predictions are used."""
        return ~self.rejects(scores)


def check_coverage(coverage: object, name: str = "coverage") -> float:
    """Return `coverage` as a float in (0, 1], or say what is wrong with it."""
    if not isinstance(coverage, Real) or isinstance(coverage, bool | np.bool_):
        raise TypeError(f"{name} must be a number in (0, 1], got {coverage!r}")
    value = float(coverage)
    if 0.0 < value <= 1.0:
        return value
    is_percentage = 2.0 <= value <= 100.0  # 1.5 is more likely a slip than one and a half per cent
    remedy = f"for {coverage} % pass {value / 100:g}" if is_percentage else "1 stands for all"
    raise ValueError(f"{name} must be in (0, 1], got {coverage}; {remedy}")
