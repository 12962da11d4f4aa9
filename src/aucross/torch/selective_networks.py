"""Networks that learn which rows to reject: SelectiveNet, self-adaptive training, deep gamblers.

Each gives a selection score per row; a threshold on this score is placed on held-out rows.
"""

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
from aucross.estimators.review import ReviewQueue
from aucross.estimators.training_rows import ModelToFit, Split, TrainingRows, base_fit_params
from aucross.estimators.types import Step
from aucross.frames import take_rows
from aucross.system.text import warn_user
from aucross.torch.methods import GamblersMethod, NetworkMethod, SelectiveNetMethod, SelfAdaptiveMethod
from aucross.torch.network_classifier import SelectiveNetwork
from aucross.torch.networks import Body
from aucross.torch.options import (
    ImageParameters,
    check_count,
    check_early_epochs,
    check_number,
    options_of,
    with_shared_parameters,
)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkSelection(ImageParameters, SelectiveClassifier):
    """Base class of selective classifiers whose network learns which rows to reject.

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
        """Return the training method, built from the parameters."""

    @property
    def estimator(self) -> Any:
        """The untrained network that `fit` trains."""
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
        needs = {"checkpoint_folder": self.checkpoint_folder is not None, "warm_start=True": self.warm_start}
        for name, needs_it in needs.items():
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
        is_same_size = self._goes_on and len(training.y) == self.fitted_.n_rows
        if is_same_size and (n_trained_on := len(np.setdiff1d(rows, self.held_out_.rows))):
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

    def _reader(self, held_out: HeldOutScores, classes: NDArray[Any], methods: Sequence[str]) -> SelectionReader:  # noqa: ARG002
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
        self, fitted: Fitted, rows: ScoredRows, rejected: IndexArray, rule: BandRule, wording: Wording
    ) -> ReviewQueue:
        del fitted, rule  # the network alone says why
        rows = rows.take(rejected)
        selection = rows.rule_input.score
        shown = rows.score if rows.score.ndim == 1 else rows.confidence
        answered = zip(expit(selection).tolist(), rows.confidence.tolist(), rows.predicted.tolist(), strict=True)
        reasons = [
            f"the network would answer {percent(kept)} of such cases; it is {percent(sure)} sure of "
            f"{label_text(label, wording.names)}"
            for kept, sure, label in answered
        ]
        return ReviewQueue(rejected, shown, -selection, shown, tuple(reasons))


class NetworkHoldOut(HoldOut):
    """Trains a network on one part of the rows; gives probabilities and selection scores of the other part."""

    def score(
        self, models: Sequence[ModelToFit], training: TrainingRows, splits: Sequence[Split], step: Step
    ) -> Trained:
        """Train on one part of the rows and score the other."""
        (network,), held_out, *_ = super().score(models, training, splits, step)
        network.set_params(start=None, random_state=None)  # needed for training alone
        selection = network.selection_score(take_rows(training.X, held_out.rows))
        return Trained([network], replace(held_out, second=selection))


# What the docstrings of the selective networks share, by the place that it fills.
_SHARED = {
    "body": """body : None, str, torch module or function, default=None
        The layers between input and heads. None uses the residual network for tables and VGG16 for images; the names
        are ``"mlp"``, ``"resnet"`` and ``"vgg16"``; a module is copied with its weights; a function such as
        ``functools.partial(VGG16, width=0.25)`` is called with the number of columns or channels and returns a module.
        A module returns one vector of features per row.""",
    "held-out rows": """coverage_confidence : float in (0, 1), optional
        Probability with which new rows must keep the coverage; fewer rows are then rejected. Exact for new rows from
        the population of the held-out rows. Cannot be combined with `sample_weight`.
    cv : int, splitter or iterable of splits, optional
        None holds out one stratified part of size `holdout_size`; otherwise the first split is used.
    holdout_size : float in (0, 1), default=0.1
        Share of rows held out to place the threshold, if `cv` is None.""",
    "seed, positive class": """random_state : int, RandomState instance or None, default=None
        Seed of the split, of weights, batches, dropout and augmentation. With an integer and the same number of threads
        a fit on a processor is the same each time.
    pos_label : label, optional
        The positive one of two classes, as in :class:`~aucross.AUCross`.

    Attributes
    ----------""",
    "fitted parts": """estimator_ : classifier
        The trained network, which answers every row.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; of two, the positive class is ``fitted_.classes[1]``.
    band_rule_ : BandRule
        Answers which selection scores to reject for a coverage.
    held_out_ : HeldOutScores
        Scores of the rows held out, with their selection scores as ``second``.
    history_ : dict
        Loss, coverage and validation loss of each epoch.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they are all text.

    See Also
    --------
    SelectiveNet : Trained for one coverage.
    SelfAdaptiveTraining : One training for all coverages.
    DeepGamblers : One training for all coverages, with bets.""",
}


@with_shared_parameters(_SHARED)
@dataclass(kw_only=True, eq=False, repr=False)
class SelectiveNet(NetworkSelection):
    """A network with a head that predicts and a head that selects, trained together for one coverage.

    The network is trained *for* `coverage`. Other coverages move the threshold on the selection head; for the best
    result at each coverage, fit one network for each.

    Parameters
    ----------
    {body}
    coverage : float in (0, 1], default=0.9
        Share of rows to train for and to select by default.
    {held-out rows}
    alpha : float in [0, 1], default=0.5
        Weight of the risk of the selected rows; the auxiliary head has weight ``1 - alpha``.
    penalty : float, default=32.0
        Weight (lambda) of the penalty for selecting less than `coverage`.
    alpha_scales_penalty : bool, default=False
        Whether `alpha` multiplies the penalty, too. It does in SelectiveNet's own paper, and does not in the paper
        that this library follows.
    head_sizes : tuple of int, default=(128,)
        Layers of the prediction and the auxiliary head. The paper takes (512, 256, 128) for CSDS1, Lending and GiveMe.
    {shared parameters}
    {seed, positive class}
    trained_coverage_ : float
        The coverage that the network was trained for.
    {fitted parts}

    Notes
    -----
    Geifman and El-Yaniv, "SelectiveNet: A Deep Neural Network with an Integrated Reject Option", ICML 2019; loss and
    heads as in the appendix of Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023, see
    :func:`~aucross.torch.selective_net_loss`. The selection score is the output of the selection head before its
    sigmoid; rows below its (1 - coverage) quantile on the held-out rows are rejected.

    For several coverages a shared start saves time: fit once with ``warm_start=True``, then for each coverage fit a
    ``copy.deepcopy`` of it after ``set_params(coverage=..., max_epochs=...)``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from aucross.torch import SelectiveNet
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> clf = SelectiveNet(body="mlp", coverage=0.8, max_epochs=4, schedule="one-cycle", random_state=0).fit(X, y)
    >>> print(clf.select(X).mean().round(1), clf.trained_coverage_)
    0.8 0.8
    """

    alpha: float = 0.5
    penalty: float = 32.0
    alpha_scales_penalty: bool = False
    head_sizes: tuple[int, ...] = (128,)

    def _method(self) -> SelectiveNetMethod:
        return SelectiveNetMethod(
            self.coverage, self.alpha, self.penalty, self.alpha_scales_penalty, head_sizes=self.head_sizes
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, at_least=0.0, at_most=1.0, remedy="pass 0.5")
        check_number("penalty", self.penalty, at_least=0.0, remedy="pass 32")
        if not isinstance(self.head_sizes, list | tuple):
            raise TypeError(f"head_sizes must be a tuple of layer sizes, got {self.head_sizes!r}; pass (128,)")
        for size in self.head_sizes:
            check_count("each of head_sizes", size)

    @property
    def trained_coverage_(self) -> float:
        """The coverage that the network was trained for."""
        return self.estimator_.method.target_coverage


@with_shared_parameters(_SHARED)
@dataclass(kw_only=True, eq=False, repr=False)
class SelfAdaptiveTraining(NetworkSelection):
    """A network with an output for abstaining, whose training targets follow its own predictions.

    Rows that the network keeps predicting wrongly lose influence and become examples of abstaining. One fit serves
    every coverage.

    Parameters
    ----------
    {body}
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    {held-out rows}
    target_momentum : float in [0, 1], default=0.99
        Share of the old target that is kept each time a row is seen. The default suits the 300 epochs of the paper;
        with ten epochs, 0.9 or less moves the targets about as far.
    pretrain_epochs : int, default=0
        Epochs before the targets begin to move; until then they are the labels.
    {shared parameters}
    {seed, positive class}
    {fitted parts}

    Notes
    -----
    Huang, Zhang and Zhang, "Self-Adaptive Training: beyond Empirical Risk Minimization", NeurIPS 2020; loss and options
    as in the appendix of Pugnana and Ruggieri (2023), see :func:`~aucross.torch.self_adaptive_loss`. The selection
    score is the log-odds of not abstaining; probabilities are the softmax over the classes alone.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from aucross.torch import SelfAdaptiveTraining
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> clf = SelfAdaptiveTraining(body="mlp", max_epochs=4, schedule="one-cycle", random_state=0).fit(X, y)
    >>> print(clf.select(X, coverage=0.8).mean().round(1))
    0.8
    """

    target_momentum: float = 0.99
    pretrain_epochs: int = 0

    def _method(self) -> SelfAdaptiveMethod:
        return SelfAdaptiveMethod(momentum=self.target_momentum, pretrain_epochs=self.pretrain_epochs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("target_momentum", self.target_momentum, at_least=0.0, at_most=1.0, remedy="pass 0.99")
        check_early_epochs("pretrain_epochs", self.pretrain_epochs, self.max_epochs, "to learn when to abstain")


@with_shared_parameters(_SHARED)
@dataclass(kw_only=True, eq=False, repr=False)
class DeepGamblers(NetworkSelection):
    """A network that bets on the classes and may keep a part of its stake in reserve.

    A bet on the right class pays `payoff`; the reserve pays 1. One fit serves every coverage.

    Parameters
    ----------
    {body}
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    {held-out rows}
    payoff : float in (1, n_classes], default=1.8
        Payment for a bet on the right class. A perfect network keeps everything in reserve for rows whose classes all
        have probabilities below ``1 / payoff``, so such rows cannot be ranked: a low payoff suits low coverages.
    pretrain_epochs : int, default=0
        Epochs of plain cross entropy before the betting; low payoffs need some.
    {shared parameters}
    {seed, positive class}
    {fitted parts}

    Notes
    -----
    Liu, Wang, Liang, Salakhutdinov, Morency and Ueda, "Deep Gamblers: Learning to Abstain with Portfolio Theory",
    NeurIPS 2019, see :func:`~aucross.torch.gamblers_loss`. The selection score is the log-odds of 1 minus the reserve.
    For two classes and a row whose likelier class has probability p, the best reserve is :math:`o (1 - p) / (o - 1)`
    with o the payoff, and 1 if p is below 1 / o; the rest is bet on that class. The bets alone would not distinguish
    sure from unsure rows, so probabilities are the bets with an equal share of the reserve added to each class.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from aucross.torch import DeepGamblers
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> clf = DeepGamblers(body="mlp", max_epochs=4, schedule="one-cycle", random_state=0).fit(X, y)
    >>> print(clf.select(X, coverage=0.8).mean().round(1))
    0.8
    """

    payoff: float = 1.8
    pretrain_epochs: int = 0

    def _method(self) -> GamblersMethod:
        return GamblersMethod(payoff=self.payoff, pretrain_epochs=self.pretrain_epochs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("payoff", self.payoff, above=1.0, remedy="pass 1.8")
        check_early_epochs("pretrain_epochs", self.pretrain_epochs, self.max_epochs, "to learn when to abstain")

    def _fit(self, training: TrainingRows, rng: np.random.RandomState) -> Fitted:
        n_classes = len(training.classes)
        if self.payoff > n_classes:
            raise ValueError(
                f"payoff must be at most the number of classes, {n_classes}, got {self.payoff}: nothing would ever be "
                "kept in reserve; pass 1.8"
            )
        return super()._fit(training, rng)
