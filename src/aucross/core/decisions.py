"""What a rule makes of scored rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray

# The words of everything that leaves Python: files, logs, reports, databases. In Python rows are selected or rejected.
AUTOMATIC, REVIEW = "automatic", "review"


@dataclass(frozen=True, eq=False)
class Decisions:
    """Which answers to use, and why; made by ``clf.decide``.

    Attributes
    ----------
    selected : ndarray of shape (n,), bool
        True where the prediction should be used, False where the row goes to a person.
    selection_score : ndarray of shape (n,)
        The score on which the band lies.
    coverage : float or None
        The coverage that was asked for; None if a capacity was.
    lower, upper : ndarray of shape (n,) or None
        Ends of each row's band, both rejected: ``inf`` and ``-inf`` for the empty band. None with a capacity, which no
        band decides.
    capacity : int or None
        Number of rows that were asked to be rejected; None if a coverage was.
    rank : ndarray of shape (n,) or None
        With a capacity, the place of each rejected row in the order of review, from 0; -1 for selected rows.
    reason : tuple of str or None
        With a capacity, why each row was rejected; empty for selected rows.
    decided_by : object, optional
        The rule that decided, so that no log takes the decisions of another classifier for its own; it is not pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import Decisions
    >>> decisions = Decisions(np.array([True, False, True]), np.array([0.1, 0.4, 0.8]), coverage=0.7)
    >>> decisions
    Decisions(coverage=0.7: 2 of 3 selected)
    >>> decisions.selected
    array([ True, False,  True])
    """

    selected: NDArray[np.bool_]
    selection_score: FloatArray
    coverage: float | None = None
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    capacity: int | None = None
    rank: IndexArray | None = None
    reason: tuple[str, ...] | None = None
    decided_by: object = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.selected.dtype != np.bool_ or self.selected.shape != self.selection_score.shape:
            raise ValueError(
                "selected must hold one boolean for each selection score, got shape "
                f"{self.selected.shape} of {self.selected.dtype} for {self.selection_score.shape}"
            )

    def __getstate__(self) -> dict[str, Any]:
        # A rule must not travel with its decisions.
        return {**self.__dict__, "decided_by": None}

    def __len__(self) -> int:
        return len(self.selected)

    def __repr__(self) -> str:
        asked = f"coverage={self.coverage:g}" if self.coverage is not None else f"capacity={self.capacity}"
        return f"Decisions({asked}: {int(self.selected.sum())} of {len(self)} selected)"
