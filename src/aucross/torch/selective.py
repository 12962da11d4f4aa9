"""What the networks that learn to select share: a selection score per row and a threshold on held-out rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn import get_config

from aucross.core.band_rule import BandRule
from aucross.core.ranking import FloatArray, IndexArray, check_scores
from aucross.core.rules import ThresholdBands
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.fitted import Fitted
from aucross.estimators.held_out import HeldOutScores, HoldOut, Trained
from aucross.estimators.models import place_of_positive
from aucross.estimators.placing import Placing
from aucross.estimators.reading import SelectionReader
from aucross.estimators.reasons import Wording, label_text, percent
from aucross.estimators.review import ReviewFacts
from aucross.estimators.splits import Split
from aucross.estimators.training_rows import ModelToFit, TrainingRows, base_fit_params
from aucross.estimators.types import Step
from aucross.frames import take_rows
from aucross.system.text import warn_user
from aucross.torch.methods import NetworkMethod
from aucross.torch.network_classifier import SelectiveNetwork
from aucross.torch.networks import Body
from aucross.torch.options import ImageParameters, options_of


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkSelection(ImageParameters, SelectiveClassifier):
    """Base of the selective classifiers whose network says itself which rows to reject.

    The network is trained on one part of the rows; the threshold on its selection score is placed on the other part.
    A subclass supplies its method.
    """

    body: Body = None
    coverage: float = 0.9
    coverage_confidence: float | None = None
    cv: Any = None
    holdout_size: float = 0.1
    warm_start: bool = False
    random_state: Any = None
    pos_label: Any = None

    @abstractmethod
    def _method(self) -> NetworkMethod:
        """Heads and loss, from the parameters."""

    @property
    def estimator(self) -> Any:
        """The network that `fit` trains, not yet trained."""
        start = self.estimator_.network_ if self._goes_on else None
        network = SelectiveNetwork(method=self._method(), body=self.body, options=options_of(self), start=start)
        # Weights always reach it: it is a part of this estimator and nobody else's to ask.
        return network.set_fit_request(sample_weight=True) if get_config()["enable_metadata_routing"] else network

    @property
    def _goes_on(self) -> bool:
        return self.warm_start and hasattr(self, "estimator_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.estimator.options.check()
        for name, needs_it in (
            ("checkpoint_folder", self.checkpoint_folder is not None),
            ("warm_start=True", self.warm_start),
        ):
            if needs_it and not isinstance(self.random_state, Integral):
                raise ValueError(
                    f"random_state must be an integer with {name}, so that the same rows are held out again, got "
                    f"{self.random_state!r}; pass random_state=0"
                )

    def _fit(self, training: TrainingRows, rng: np.random.RandomState) -> Fitted:
        if self._goes_on:
            self.estimator_.check_goes_on(training.X, np.sort(training.classes))
        fitted = super()._fit(training, rng)
        # Rows that place the threshold must be new to the network, also to the fit that it goes on from.
        rows = fitted.held_out.rows
        if (
            self._goes_on
            and len(training.y) == self.fitted_.n_rows
            and (n_trained_on := len(np.setdiff1d(rows, self.held_out_.rows)))
        ):
            warn_user(
                f"{n_trained_on} of {len(rows)} held-out rows were trained on by the fit that this one goes on from, "
                "so the threshold may be too high: pass the same rows, random_state, cv and holdout_size to both, or "
                "warm_start=False"
            )
        return fitted

    def _models(self, training: TrainingRows, rng: Any) -> list[ModelToFit]:
        network = self.estimator.set_params(random_state=rng)
        return [ModelToFit(network, "predict_proba", base_fit_params(self, training))]

    def _source(self) -> NetworkHoldOut:
        return NetworkHoldOut(self.cv, self.holdout_size)

    @property
    def history_(self) -> dict[str, Any]:
        """Loss, coverage and validation loss of each epoch."""
        return self.estimator_.history_

    def _reader(
        self,
        held_out: HeldOutScores,  # noqa: ARG002
        classes: NDArray[Any],  # noqa: ARG002
        methods: Sequence[str],  # noqa: ARG002
    ) -> SelectionReader:
        return SelectionReader()

    def _place(self, placing: Placing) -> BandRule:
        return ThresholdBands(placing.held_out.ranked_correct(placing.rows.score, is_probability=True), lies_on="other")

    def _run_models(self, fitted: Fitted, X: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        probabilities, selection = fitted.estimator.answers(X)
        for values in (probabilities.ravel(), selection):
            check_scores(values, len(values), name="the scores of the network")
        is_binary = len(fitted.classes) == 2
        place = place_of_positive(fitted.estimator, fitted.classes) if is_binary else 0
        scores = probabilities[:, place] if is_binary else probabilities
        return scores, scores, selection

    def _review_facts(
        self,
        fitted: Fitted,  # noqa: ARG002
        rows: ScoredRows,
        rejected: IndexArray,
        rule: BandRule,  # noqa: ARG002
        wording: Wording,
    ) -> ReviewFacts:
        rows = rows.take(rejected)
        selection = rows.rule_input.score
        shown = rows.score if rows.score.ndim == 1 else rows.confidence
        answered = zip(expit(selection).tolist(), rows.confidence.tolist(), rows.predicted.tolist(), strict=True)
        reasons = [
            f"the network would answer {percent(kept)} of such cases; it is {percent(sure)} sure of "
            f"{label_text(label, wording.names)}"
            for kept, sure, label in answered
        ]
        return ReviewFacts(shown, -selection, shown, reasons)


class NetworkHoldOut(HoldOut):
    """Trains a network on one part of the rows, and gives probabilities and selection scores of the other."""

    def score(
        self, models: Sequence[ModelToFit], training: TrainingRows, splits: Sequence[Split], step: Step
    ) -> Trained:
        """Train on one part and score the other."""
        (network,), held_out, *_ = super().score(models, training, splits, step)
        network.set_params(start=None, random_state=None)  # needed for training alone
        selection = network.selection_score(take_rows(training.X, held_out.rows))
        return Trained([network], replace(held_out, second=selection))
