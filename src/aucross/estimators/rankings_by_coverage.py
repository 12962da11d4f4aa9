"""Labelled rows of a partition, ranked once for each coverage: all that an evaluation needs of rows that lie elsewhere.

::

    partition ──► scored rows, rounded ──► RankingsByCoverage ─┐
    partition ──► ...                                         ─┴─ merge ──► evaluate_ranking, promise_ranking
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import ScoredRows


@dataclass(frozen=True)
class RankingsByCoverage:
    """Rankings of all rows and of those that each coverage selects.

    Attributes
    ----------
    everything : RankedScores
        All rows.
    selected : mapping of float to RankedScores
        The rows that are decided automatically, by coverage.
    n_unknown : int
        Rows whose label is none of the classifier's.
    """

    everything: RankedScores
    selected: Mapping[float, RankedScores] = field(default_factory=dict)
    n_unknown: int = 0

    @classmethod
    def of(
        cls, scored: ScoredRows, labels: ArrayLike, deciding: Mapping[float, Any], rounding: ScoreRounding
    ) -> RankingsByCoverage:
        """Rank the rows of one partition.

        Parameters
        ----------
        scored : ScoredRows
            The rows, with groups if there are any, and with the weights that :func:`weighed` gives.
        labels : array-like of shape (n,)
            Their labels.
        deciding : mapping of float to SelectiveClassifier
            The classifier that decides at each coverage; at least one. All have scored these rows alike.
        rounding : ScoreRounding
            How scores are rounded before they are ranked.

        Returns
        -------
        RankingsByCoverage
        """
        labels, score = np.asarray(labels), rounding.round(scored.score)
        classes = next(iter(deciding.values())).score_classes_
        is_known, positive, weight = np.isin(labels, classes), labels == classes[1], scored.sample_weight
        counts = is_known if weight is None else is_known & (weight > 0)

        def ranked(chosen: Any) -> RankedScores:
            rows = chosen & counts
            return RankedScores.from_labels(positive[rows], score[rows], None if weight is None else weight[rows])

        selected = {coverage: ranked(clf.decide(scored).selected) for coverage, clf in deciding.items()}
        return cls(ranked(np.ones(len(score), dtype=bool)), selected, int((~is_known).sum()))

    @classmethod
    def merge(cls, parts: Iterable[RankingsByCoverage]) -> RankingsByCoverage:
        """Rank the rows of all parts together.

        Parameters
        ----------
        parts : iterable of RankingsByCoverage
            Rankings of partitions; at least one, all with the same coverages.

        Returns
        -------
        RankingsByCoverage
        """
        together = list(parts)
        merge = RankedScores.merge
        return cls(
            merge([part.everything for part in together]),
            {coverage: merge([part.selected[coverage] for part in together]) for coverage in together[0].selected},
            sum(part.n_unknown for part in together),
        )

    def check_labels(self, name: str, classes: ArrayLike) -> None:
        """Refuse rows with a label that the classifier does not know, given where labels come from."""
        if self.n_unknown:
            known = np.asarray(classes).tolist()
            raise ValueError(
                f"{name} must hold the labels of the fit {known} only, got {self.n_unknown:,} rows with others or "
                "without one; drop them or map them"
            )
