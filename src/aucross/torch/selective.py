"""What the networks that learn to select share: a selection score per row and a threshold on held-out rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn import get_config

from aucross.core.ranking import FloatArray, IndexArray, RankedScores, check_scores
from aucross.core.rules import BandRule, estimate_threshold_bands
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.held_out import HeldOutScores, Rows, TrainingRows, hold_out_scores, take_rows
from aucross.estimators.placing import Fitted
from aucross.estimators.review import ReviewFacts, label_text, percent
from aucross.torch.methods import Method
from aucross.torch.network_classifier import SelectiveNetwork
from aucross.torch.networks import Body
from aucross.torch.shared_parameters import options_of


class NetworkSelection(SelectiveClassifier):
    """Base of the selective classifiers whose network says itself which rows to reject.

    The network is trained on one part of the rows; the threshold on its selection score is placed on the other part.
    A subclass supplies its method.
    """

    body: Body
    cv: Any
    holdout_size: float
    checkpoint_folder: Any
    warm_start: bool

    # Probabilities are what a network gives; there is nothing to choose.
    response_method = "predict_proba"

    @abstractmethod
    def _method(self) -> Method:
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

    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        if self._goes_on:
            self.estimator_.check_goes_on(training.X, training.classes)
        network, held_out = hold_out_scores(
            self.estimator.set_params(random_state=rng),
            training,
            cv=self.cv,
            holdout_size=self.holdout_size,
            response_method=response_method,
            rng=rng,
        )
        network.set_params(start=None, random_state=None)  # needed for training alone
        if self._goes_on and len(training.y) == self._n_rows:
            _warn_if_trained_on(held_out.rows, self.held_out_.rows)
        selection = network.selection_score(take_rows(training.X, held_out.rows))

        def place(rows: Rows) -> BandRule:
            return estimate_threshold_bands(_ranked_selection(held_out.take(rows), selection[rows]))

        attributes = {
            "held_out_selection_": selection,
            "history_": network.history_,
            "_n_rows": len(training.y),
            **self._further_attributes(),
        }
        return Fitted(network, held_out, selection, place, attributes)

    def _further_attributes(self) -> dict[str, Any]:
        return {}

    def _score(self, X: Any) -> FloatArray:
        selection = self.estimator_.selection_score(X)
        check_scores(selection, len(selection), name="the selection scores of the network")
        return selection

    def _held_out_score(self) -> FloatArray:
        return self.held_out_selection_

    held_out_selection_: FloatArray
    _n_rows: int

    def _review_facts(
        self,
        X: Any,
        score: FloatArray,
        part: IndexArray,  # noqa: ARG002
        rows: IndexArray,
        rule: Any,  # noqa: ARG002
    ) -> ReviewFacts:
        selection = score[rows]
        n_classes = len(self.classes_)
        probabilities = self.predict_proba(take_rows(X, rows)) if len(rows) else np.zeros((0, n_classes))
        predicted, of_predicted = probabilities.argmax(axis=1), probabilities.max(axis=1)
        shown = probabilities[:, 1] if n_classes == 2 else of_predicted
        kept = expit(selection)
        return ReviewFacts(shown, -selection, shown, _reasons(kept, self.classes_[predicted], of_predicted))


def _warn_if_trained_on(rows: IndexArray, earlier: IndexArray) -> None:
    """Rows that place the threshold must be new to the network, also to the fit that it goes on from."""
    if n_trained_on := len(np.setdiff1d(rows, earlier)):
        warnings.warn(
            f"{n_trained_on} of {len(rows)} held-out rows were trained on by the fit that this one goes on from, so "
            "the threshold may be too high: pass the same rows, random_state, cv and holdout_size to both, or "
            "warm_start=False",
            UserWarning,
            stacklevel=4,
        )


def _ranked_selection(held_out: HeldOutScores, selection: FloatArray) -> RankedScores:
    """Rank the selection scores, with a correct prediction as the positive class."""
    responses = held_out.responses
    predicted = responses > 0.5 if responses.ndim == 1 else responses.argmax(axis=1)
    return RankedScores.from_labels(predicted == held_out.labels, selection, held_out.sample_weight)


def _reasons(kept: FloatArray, labels: NDArray[Any], probability: FloatArray) -> list[str]:
    return [
        f"the network would answer {percent(accepted)} of such cases; it is {percent(share)} sure of "
        f"{label_text(label)}"
        for accepted, label, share in zip(kept.tolist(), labels.tolist(), probability.tolist(), strict=True)
    ]
