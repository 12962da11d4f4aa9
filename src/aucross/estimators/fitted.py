"""The result of a fit, as one value that is set at once and read once by each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.band_rule import BandRule
from aucross.core.influence import PairwiseMetric
from aucross.core.label_shift import ClassShift, LabelShift
from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.estimators.column_names import (
    refuse_one_row,
    refuse_other_columns,
    refuse_other_kinds,
    refuse_other_names,
)
from aucross.estimators.familiar import (
    categories_of_trees,
    mostly_missing,
    shares_unknown,
    unlike_the_fit,
    values_seen,
    warn_of_strange_values,
)
from aucross.estimators.fold_ensemble import FoldEnsemble
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.reading import ContestReader, Reader
from aucross.estimators.score_column import ScoreColumn, score_column_in
from aucross.estimators.training_marks import TrainingMarks
from aucross.estimators.types import Labels, Table
from aucross.frames import count_rows, kinds_of, text_names_of


@dataclass(frozen=True)
class SeenColumns:
    """Facts about the columns of the fit, so that models do not confuse the columns of new rows."""

    names: Sequence[str] | None = None  # where X had names
    kinds: Mapping[str, str] | None = None  # number, category or date, of columns with names
    categories: Mapping[str, list[str]] = field(default_factory=dict)  # where a model keeps them to itself
    mostly_missing: Sequence[str] = ()  # numbers that few rows of the fit had
    unknown_shares: Mapping[str, float] = field(default_factory=dict)  # of values that an encoder does not know
    ranges: Mapping[str, list[float]] = field(default_factory=dict)  # of nearly all numbers, rounded outwards
    values: Mapping[str, list[str]] = field(default_factory=dict)  # of columns whose every value many rows share
    never_missing: Sequence[str] = ()

    @classmethod
    def of(cls, X: Table, models: Sequence[Any]) -> SeenColumns:
        """Collect the facts from the rows of a fit and from the fitted models."""
        unknown = {name: share for name, share in shares_unknown(models, X).items() if share}
        seen = values_seen(X) if text_names_of(X) and any(score_column_in(model) is None for model in models) else ()
        return cls(text_names_of(X), kinds_of(X), categories_of_trees(models, X), mostly_missing(X), unknown, *seen)

    def unlike(self, X: Table) -> NDArray[Any]:
        """Return how each row is unlike the rows of the fit; an empty text for familiar rows."""
        return unlike_the_fit(X, self.ranges, self.values, self.never_missing)


def unlike_rows(fitted: Fitted, X: Table, unfamiliar: Any, *capacities: Any) -> NDArray[Any]:
    """Return how each row of a frame is unlike the fit; refuse rows that cannot be compared."""
    if unfamiliar != "review":
        raise ValueError(f'unfamiliar must be "review" or None, got {unfamiliar!r}')
    if any(capacity is not None for capacity in capacities):
        raise ValueError(
            'unfamiliar must be None with a capacity, got "review": it would send more rows than asked for'
        )
    if text_names_of(X) is None or fitted.columns.names is None:
        raise ValueError(
            f'unfamiliar="review" needs a frame with the column names of the fit, got {type(X).__name__}; fit and '
            "decide on a frame"
        )
    return fitted.columns.unlike(X)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The immutable result of a fit; another fit replaces it.

    Keep a reference to tell by ``clf.fitted_ is kept`` whether the classifier was fitted again.
    """

    estimator: Any  # the fitted model that answers
    reader: Reader  # turns scores of models into what the rule reads
    rule: BandRule
    held_out: HeldOutScores
    classes: Labels  # in the order of scores; of two, the second is positive
    response_method: str  # the method of the model that gives scores
    n_placing_rows: float  # rows that placed the bands; with weights Kish's effective number
    gate: Any = None  # the second model, where one decides when to reject
    judges: Sequence[FoldEnsemble] = ()  # for each model the fold models that judge rows, if others answer
    columns: SeenColumns = field(default_factory=SeenColumns)
    marks: TrainingMarks | None = None  # by which rows of the fit are recognised
    n_rows: int | None = None  # rows given to the fit; None if they lay elsewhere
    rule_of_fit: BandRule | None = None  # in a recalibrated copy the rule that the fit placed
    label_shift: LabelShift | ClassShift | None = None  # in a copy recalibrated with one: the shares of the classes

    @property
    def models(self) -> list[tuple[Any, str]]:
        """The models that score rows, each with the method that gives its scores."""
        gate = [] if self.gate is None else [(self.gate, self.reader.gate_method)]  # type: ignore[attr-defined]
        return [(self.estimator, self.response_method), *gate]

    @property
    def metric(self) -> PairwiseMetric:
        """The metric of more than two classes that the bands were placed for."""
        return self.reader.metric if isinstance(self.reader, ContestReader) else PairwiseMetric(len(self.classes))

    @property
    def is_whole(self) -> bool:
        """Whether all parts have the right types, which a file may not guarantee."""
        kinds = ((self.rule, BandRule), (self.held_out, HeldOutScores), (self.columns, SeenColumns))
        are_right = all(isinstance(part, kind) for part, kind in kinds) and hasattr(self.reader, "read")
        return are_right and type(self.classes) is np.ndarray and isinstance(self.judges, list | tuple)

    @property
    def ties_are_split(self) -> bool:
        """Whether the fit placed bands that may cut through ties."""
        return self.held_out.tie_breaker is not None

    @property
    def score_column(self) -> ScoreColumn | None:
        """The column of X that gives the score, in its own unit.

        None if a model gives the score, or if high values of the column speak for the negative class.
        """
        column = score_column_in(self.estimator)
        return column if column is not None and column.speaks_for(self.classes[1]) else None

    @property
    def scorer(self) -> str:
        """Name of the scoring model and reader, shared only by copies and recalibrated classifiers."""
        return f"{type(self.reader).__name__} {self.held_out.fingerprint}"

    # ---- columns ----

    def check_columns(self, X: Table) -> None:
        """Refuse rows whose columns differ from those of the fit, if a model would confuse columns."""
        seen, models = self.columns, self.models
        # Some pipelines read texts, of which a list or a column is many rows.
        reads_columns = seen.names is not None or any(hasattr(model, "n_features_in_") for model, _ in models)
        if reads_columns and not (isinstance(X, np.ndarray) and X.ndim == 2):
            refuse_one_row(X)
        if (score := score_column_in(self.estimator)) is not None and count_rows(X) != 0:
            score.refuse_other_unit(X)
        if isinstance(X, np.ndarray) or count_rows(X) is None:  # a lazy frame, which is refused later
            return
        if seen.names is not None and self.ties_are_split:
            refuse_other_names(X, seen.names)
        for model, method in models:
            # Fits by an engine know what their model knows.
            known = (
                seen.names if seen.names is not None else np.asarray(getattr(model, "feature_names_in_", ())).tolist()
            )
            if known:
                refuse_other_columns(model, method, X, known)
            if seen.kinds is not None:
                # A table without names was an array, which holds no dates or categories that a model reads.
                refuse_other_kinds(model, X, seen.kinds, "number" if seen.names is None else None)
        reading = [model for model, _ in models if score_column_in(model) is None]
        if reading:
            kinds = seen.kinds or {}
            numbers = [name for name, kind in kinds.items() if kind == "number" and name not in seen.mostly_missing]
            warn_of_strange_values(reading, X, seen.unknown_shares, numbers, seen.categories)

    # ---- scored rows ----

    def scored_rows(
        self,
        score: FloatArray,
        judged: FloatArray,
        second: FloatArray | None,
        labels: Any = None,
        tie_breaker: FloatArray | None = None,
    ) -> ScoredRows:
        """Combine the scores of rows with what the rule reads of them."""
        columns, probabilities = self.reader.read(judged, second)
        return ScoredRows(
            score,
            self.classes,
            self.response_method == "predict_proba",
            RuleInput(columns, probabilities, tie_breaker=tie_breaker),
            self.scorer,
            None if labels is None else np.asarray(labels),
        )

    def scored_held_out(self) -> ScoredRows:
        """Return the held-out rows of the fit, with weights and groups; predictions are the highest-scored classes."""
        held_out = self.held_out
        scores = (held_out.responses, held_out.responses, held_out.second)
        rows = self.scored_rows(*scores, tie_breaker=held_out.tie_breaker)
        return rows.with_rows(sample_weight=held_out.sample_weight, band_groups=held_out.band_groups)

    def scored_ranking(self, ranked: RankedScores) -> ScoredRows:
        """Return rows that were counted by score elsewhere, one row for each score, without labels."""
        if len(self.classes) != 2 or self.rule.judged_apart or self.held_out.second is not None:
            raise ValueError("a ranking tells too little of rows for this classifier, which reads more than one score")
        rows = self.scored_rows(ranked.scores, ranked.scores, None)
        rule_input = replace(rows.rule_input, sample_weight=ranked.positives + ranked.negatives)
        return replace(rows, rule_input=rule_input, squared_weights=float(ranked.totals[:, 2].sum()))

    def check_own(self, rows: ScoredRows) -> None:
        """Refuse rows that another classifier scored."""
        if rows.scored_by != self.scorer or not np.array_equal(rows.classes, self.classes):
            raise ValueError(
                "scored rows must come from this classifier or a recalibrated copy of it, got rows that another model "
                "scored; call scored(X) of this one"
            )
