"""Selective classifier in which a second model decides when to reject, for scorecards that must not change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from aucross.core.band_rule import BandRule
from aucross.core.influence import MAX_STEPS, ExpectedAUC, InfluenceBands, PairwiseMetric, worth_of_review
from aucross.core.ranking import IndexArray
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import CrossFitted
from aucross.estimators.column_names import refuse_columns_that_abort
from aucross.estimators.fitted import Fitted
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.models import refuse_no_object, response_method_of
from aucross.estimators.placing import Placing, best_auc_bands
from aucross.estimators.reading import GateReader, ProbabilityModel, fit_with_further_score, gate_evidence
from aucross.estimators.reasons import Wording, gate_reasons
from aucross.estimators.review import ReviewQueue, facts_of_scores
from aucross.estimators.score_column import score_column_in
from aucross.estimators.shared_text import with_shared_text
from aucross.estimators.training_rows import ModelToFit, TrainingRows, takes_weights
from aucross.estimators.types import Classifier, Column, Generator, Labels, Table
from aucross.frames import is_frame, kind_of, library_of, names_of, types_of, without_pandas_na

_BINARY = PairwiseMetric(2).contests


@with_shared_text
@dataclass(eq=False, repr=False)
class AUCGate(CrossFitted):
    """Let a second model, the gate, decide when the given classifier should abstain.

    A rule on the classifier's own score cannot see where that score is wrong. The gate can: it estimates the
    probability of the positive class from the features, and rejects the rows whose expected contribution to the AUC *of
    the given classifier's score* is lowest. The classifier answers as before; the gate only chooses which rows go to a
    person.

    Parameters
    ----------
    estimator : classifier
        The classifier that answers, for instance a mandated logistic scorecard. Wrap a trained one in
        :class:`sklearn.frozen.FrozenEstimator` and fit on rows that it has not seen.
    gate : classifier, optional
        The model that decides when to reject; it never answers. By default a
        :class:`~sklearn.ensemble.HistGradientBoostingClassifier`, with columns of words as categories, or an
        :class:`~sklearn.ensemble.ExtraTreesClassifier` for sparse tables and texts. It gets `sample_weight` if its
        ``fit`` takes it; other arguments of ``fit`` need metadata routing.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    {confidence with folds}
    nested : bool, default=False
        Whether the rows rejected at a coverage are rejected at every lower coverage too. The rule is the best one at
        `coverage`, and close to the best at others.
    cv : int, splitter or iterable of splits, default=5
        Folds for cross-fitting, the same for both models; as in :class:`AUCross`.
    {ensemble}
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the default gate.
    {ties and positive class}

    Attributes
    ----------
    estimator_, gate_ : classifier
        The classifier and the gate, fitted on all rows; with ``ensemble=True`` the fold models of each, as a
        :class:`~aucross.estimators.FoldEnsemble`.
    judges_ : list of FoldEnsemble
        The fold models of both that judge new rows; only with an `ensemble` or a `coverage_confidence`.
    classes_ : ndarray of shape (2,)
        Class labels, sorted; the positive class is ``fitted_.classes[1]``.
    band_rule_ : BandRule
        Rule that gives the band of influences to reject for a coverage: InfluenceBands, with corrected coverage.
    held_out_ : HeldOutScores
        Out-of-fold scores of the training rows: the classifier's, and as ``second`` the gate's.
    probability_model_ : ProbabilityModel
        Turns the scores of both models into the probability of the positive class. Its ``columns`` are (0, 1) if the
        gate is in use and (0,) if it adds nothing to the classifier's score.
    {features}

    See Also
    --------
    AUCross : Rejects a band of the classifier's own score.

    Notes
    -----
    The gate helps if it knows something that the classifier does not: a stronger model, more features, more recent
    training rows. Otherwise the best rule is the score band of :class:`AUCross`. The gate's score is therefore used
    only if it clearly raises the likelihood of the held-out labels, and its rule only if it clearly raises the expected
    AUC; if not, the bands are those of :class:`AUCross` with the same seed, and the gate costs only its training. On a
    few thousand rows, a gate that knows little more than the classifier can still lower the AUC, because its rule is
    noisier than a band; see :doc:`/howto/gate`.

    The AUC to report is that of the given classifier on the rows it answers; the gate's own AUC plays no part.

    The selection score is the expected influence of each row on the AUC (see ``aucross.core.influence``), with a
    different table for every coverage; the band on it is one-sided. Bands need not be nested. The search for a coverage
    runs when that coverage is first used; :meth:`coverage_for` uses about a hundred.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCGate
    >>> from aucross.core import RankedScores
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 3))
    >>> y = rng.random(4000) < 1 / (1 + np.exp(1.5 - X[:, 0] - 2 * X[:, 1] * X[:, 2]))
    >>> clf = AUCGate(LogisticRegression(), coverage=0.7, random_state=0).fit(X[:3000], y[:3000])
    >>> score, selected = clf.predict_proba(X[3000:])[:, 1], clf.select(X[3000:])
    >>> everyone = RankedScores.from_labels(y[3000:], score).auc()
    >>> RankedScores.from_labels(y[3000:][selected], score[selected]).auc() > everyone + 0.05
    True
    """

    gate: Classifier = None
    _: KW_ONLY
    nested: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_no_object(self.gate, "gate")
        if not isinstance(self.nested, bool | np.bool_):
            raise ValueError(f"nested must be True or False, got {self.nested!r}")

    def _trained_models(self) -> list[Classifier]:
        return [self.estimator, self.gate]

    def _check_training_rows(self, X: Table, y: Column, **others: Any) -> TrainingRows:
        training = super()._check_training_rows(X, y, **others)
        if len(training.classes) > 2:
            raise ValueError(
                f"Only binary classification is supported: y must hold two classes for AUCGate, got "
                f"{len(training.classes)}: {training.classes.tolist()[:10]}; pass y == positive_class, or use AUCross"
            )
        return training

    def _models(self, training: TrainingRows, rng: Generator) -> list[ModelToFit]:
        models, gate = super()._models(training, rng), self.gate  # each training takes a copy
        if gate is None:
            gate = default_gate(training.X, rng.randint(2**31 - 1))
            if get_config()["enable_metadata_routing"] and isinstance(gate, Pipeline):
                gate.steps[-1][1].set_fit_request(sample_weight=True)
        refuse_columns_that_abort(gate, training.X)
        to_fit = ModelToFit(gate, response_method_of(gate, "gate"), self._gate_fit_params(gate, training), "gate")
        return [*models, to_fit]

    def _reader(self, held_out: HeldOutScores, classes: Labels, methods: Sequence[str]) -> GateReader:  # noqa: ARG002
        held_out.ranked_both_classes()
        method, gate_method = methods
        assert held_out.second is not None
        model = fit_with_further_score(
            gate_evidence(held_out.responses, method, held_out.second, gate_method),
            held_out.positive,
            held_out.sample_weight,
            n_effective=held_out.n_effective,
        )
        return GateReader(model, method, gate_method)

    @property
    def gate_(self) -> Classifier:
        """The fitted model that decides when to reject."""
        return self.fitted_.gate

    @property
    def probability_model_(self) -> ProbabilityModel:
        """The model that turns both scores into the probability of the positive class."""
        return self.fitted_.reader.model  # type: ignore[attr-defined]

    def _place(self, placing: Placing) -> BandRule:
        rows, reader = placing.rows, placing.reader
        assert isinstance(reader, GateReader)
        assert rows.probabilities is not None
        # Without the gate's score no rule beats the exact band of the classifier's.
        steps = MAX_STEPS if reader.uses_gate else 0
        objective = ExpectedAUC(rows.columns, rows.probabilities, _BINARY, rows.sample_weight)
        score_bands = best_auc_bands(placing, self.coverage, nested=self.nested)
        return InfluenceBands(
            objective,
            score_bands,
            steps,
            reference=self.coverage if self.nested else None,
            threshold_rows=None if rows.tie_breaker is None else rows,
        )

    def _gate_fit_params(self, gate: Classifier, training: TrainingRows) -> dict[str, Any]:
        """Return the arguments of the gate's fit: those that metadata routing requests, or else only weights."""
        given, is_routed = training.fit_params, get_config()["enable_metadata_routing"]
        if is_routed and self.gate is not None:
            return dict(process_routing(self, "fit", **given).gate.fit) if given else {}
        # Other arguments are meant for the classifier.
        if "sample_weight" not in given or (self.gate is not None and not takes_weights(gate)):
            return {}
        name = "sample_weight" if is_routed or self.gate is not None else weight_name(gate)
        return {name: given["sample_weight"]}

    def _review_facts(
        self, fitted: Fitted, rows: ScoredRows, rejected: IndexArray, rule: BandRule, wording: Wording
    ) -> ReviewQueue:
        read = rows.rule_input
        by_score = rule.probability_at(read)
        assert by_score is not None
        assert read.probabilities is not None
        if not fitted.reader.uses_gate:  # type: ignore[attr-defined]
            return facts_of_scores(fitted, rows.score, rejected, by_score, wording)
        worth = worth_of_review(read.columns, read.probabilities, _BINARY)[rejected]
        by_score, by_gate = by_score[rejected], read.probabilities[rejected, 1]
        reasons = gate_reasons(by_score, by_gate, fitted.classes[1], wording.names)
        return ReviewQueue(rejected, rows.score[rejected], worth, by_score, tuple(reasons), gate_probability=by_gate)

    def _seen(self, name: str) -> Any:
        # A column of scores has seen itself alone; the gate reads all columns.
        if score_column_in(getattr(self, "estimator_", None)) is not None:
            return getattr(self.gate_, name)
        return super()._seen(name)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata this estimator uses itself and which it passes on."""
        router = super().get_metadata_routing()
        if self.gate is not None:
            router.add(gate=self.gate, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        if self.gate is None:
            return tags  # the default gate takes what the classifier takes
        gate_tags = get_tags(self.gate).input_tags
        # X must suit both models.
        tags.input_tags.sparse = tags.input_tags.sparse and gate_tags.sparse
        tags.input_tags.allow_nan = tags.input_tags.allow_nan and gate_tags.allow_nan
        return tags


# ---- the default gate, which takes whatever table the classifier takes ----

# Histogram boosting knows at most 255 categories of a column; rarer ones become one.
_MOST_CATEGORIES = 250
_WORDS = 2**12


def default_gate(X: Table, seed: int) -> Any:
    """Return gradient boosting for numbers and words, or trees that take sparse input for sparse tables and texts."""
    if issparse(X):
        return _trees(seed)
    is_column = isinstance(X, list | tuple | np.ndarray) or (library_of(X) == "pandas" and X.ndim == 1)
    if is_column and len(X) > 0 and isinstance(next(iter(X)), str):  # texts
        return make_pipeline(HashingVectorizer(n_features=_WORDS, alternate_sign=False), _trees(seed))
    words = _columns_of_words(X)
    if not words:
        return HistGradientBoostingClassifier(random_state=seed)
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MOST_CATEGORIES, dtype=np.float64
    )
    plain = FunctionTransformer(without_pandas_na, feature_names_out="one-to-one")
    reading = ColumnTransformer([("words", make_pipeline(plain, encoder), words)], remainder=plain, sparse_threshold=0)
    # A list, because a range has no stored form.
    boosting = HistGradientBoostingClassifier(categorical_features=list(range(len(words))), random_state=seed)
    return make_pipeline(reading, boosting)


def weight_name(gate: Any) -> str:
    """Return the name of the argument of `fit` for weights; in a pipeline it includes the name of the last step."""
    return f"{gate.steps[-1][0]}__sample_weight" if isinstance(gate, Pipeline) else "sample_weight"


def _trees(seed: int) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(n_estimators=100, min_samples_leaf=5, random_state=seed)


def _columns_of_words(X: Table) -> list[Any]:
    """Return the columns that are not numeric: by name in a frame, by position in an array."""
    if is_frame(X) and (names := names_of(X)) is not None:
        return [name for name, dtype in zip(names, types_of(X), strict=True) if kind_of(dtype) != "number"]
    values = np.asarray(X)
    if values.dtype.kind in "biuf" or values.ndim != 2:
        return []
    words = list(range(values.shape[1]))
    for place in range(values.shape[1]):
        with suppress(TypeError, ValueError):
            values[:, place].astype(np.float64)
            words.remove(place)
    return words
