"""The rejection band: an interval of scores on which the classifier does not answer.

::

    select        reject         select
    ───────┤■■■■■■■■■■■■■■■■├──────────────►  score
         lower            upper            both ends are rejected
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan, log2
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
        """Return a mask of the scores that fall inside the band.

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

    def to_points(
        self, *, base_points: float = 600.0, base_odds: float = 50.0, points_to_double_the_odds: float = 20.0
    ) -> RejectionBand:
        """Convert the band from probabilities to scorecard points.

        Parameters
        ----------
        base_points : float, default=600
            Points of an applicant with the base odds.
        base_odds : float, default=50
            Good cases per bad case at the base points.
        points_to_double_the_odds : float, default=20
            Points that double the odds; negative if more points mean more risk.

        Returns
        -------
        RejectionBand
            Band on points, ends included; it rejects every row that this band rejects.

        Notes
        -----
        If *p* is the probability of the positive class (bad cases), ``points = base_points + points_to_double_the_odds
        * log2((1 - p) / p / base_odds)``. If points are rounded before they are compared, round the ends in the same
        way.

        Examples
        --------
        >>> from aucross.core import RejectionBand
        >>> points = RejectionBand(0.02, 0.2).to_points(base_points=500, base_odds=4, points_to_double_the_odds=40)
        >>> round(points.lower), round(points.upper)
        (500, 645)
        """
        ends = (self.lower, self.upper)
        if not self.is_empty and any(0.0 > end > -inf or inf > end > 1.0 for end in ends):
            raise ValueError(
                f"a band in points is made of a band of probabilities, got ends {ends}; bands of decision values "
                "and of other scores have their own scale"
            )
        if not 0.0 < base_odds < inf or not 0.0 < abs(points_to_double_the_odds) < inf:
            raise ValueError(
                "base_odds must be above 0 and points_to_double_the_odds must not be 0, got "
                f"{base_odds} and {points_to_double_the_odds}; pass those of the scorecard, such as 50 and 20"
            )
        if self.is_empty:
            return self
        lower, upper = sorted(
            base_points + points_to_double_the_odds * (_log2_odds_of_good(end) - log2(base_odds)) for end in ends
        )
        return RejectionBand(lower, upper)

    def _repr_html_(self) -> str:
        """Return a sentence for a notebook, with a picture of the band if scores are probabilities."""
        if self.is_empty:
            return "<p><strong>No score is rejected: the band is empty.</strong></p>"
        sentence = f"Scores from {self.lower:.6g} to {self.upper:.6g} are rejected, ends included."
        if not 0.0 <= self.lower <= self.upper <= 1.0:
            return f"<div><p><strong>{sentence}</strong></p></div>"
        start, width = 300.0 * self.lower, max(300.0 * (self.upper - self.lower), 1.0)
        return (
            f"<div><p><strong>{sentence}</strong></p>"
            '<svg width="330" height="30" role="img" aria-label="the band between 0 and 1">'
            '<line x1="15" y1="9" x2="315" y2="9" stroke="currentColor" stroke-opacity="0.5" stroke-width="6"/>'
            f'<rect x="{15.0 + start:.1f}" y="3" width="{width:.1f}" height="12" fill="#e08e0b"/>'
            '<g fill="currentColor" font-size="11" text-anchor="middle">'
            '<text x="15" y="28">0</text><text x="165" y="28">0.5</text><text x="315" y="28">1</text></g></svg></div>'
        )

    def selects(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Return a mask of the scores outside the band; the predictions at these scores are used."""
        return ~self.rejects(scores)


def _log2_odds_of_good(probability: float) -> float:
    """Return the base-2 log odds against the positive class, infinite for probabilities of 0 and 1."""
    if probability <= 0.0:
        return inf
    return -inf if probability >= 1.0 else log2((1.0 - probability) / probability)


def check_auc(auc: object, name: str = "auc") -> float:
    """Return the AUC to reach as a float in (0, 1]; refuse anything else."""
    if not isinstance(auc, Real) or isinstance(auc, bool | np.bool_):
        raise TypeError(f"{name} must be a number in (0, 1], got {auc!r}; pass for example 0.9")
    value = float(auc)
    if 0.0 < value <= 1.0:
        return value
    is_percentage = 50.0 <= value <= 100.0
    remedy = f"pass {value / 100:g}" if is_percentage else "0.5 is chance and 1 is perfect, pass for example 0.9"
    raise ValueError(f"{name} must be in (0, 1], got {auc}; {remedy}")


def check_coverage(coverage: object, name: str = "coverage") -> float:
    """Return `coverage` as a float in (0, 1]; refuse anything else."""
    if type(coverage) is float and 0.0 < coverage <= 1.0:
        return coverage  # what a decision on one row asks, several times
    if not isinstance(coverage, Real) or isinstance(coverage, bool | np.bool_):
        raise TypeError(f"{name} must be a number in (0, 1], got {coverage!r}")
    value = float(coverage)
    if 0.0 < value <= 1.0:
        return value
    is_percentage = 2.0 <= value <= 100.0  # 1.5 is more likely a slip than one and a half per cent
    remedy = f"for {coverage} % pass {value / 100:g}" if is_percentage else "1 stands for all"
    raise ValueError(f"{name} must be in (0, 1], got {coverage}; {remedy}")
