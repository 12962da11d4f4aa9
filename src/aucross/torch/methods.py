"""Training methods: the heads of the network, the loss, and how outputs become probabilities and selection scores.

============================  =========================================  ===================================
method                        heads                                      selection score, as log-odds
============================  =========================================  ===================================
`CrossEntropy`                one output per class                       of the probability of the prediction
`SelectiveNetMethod`          prediction, selection, auxiliary           of g, the selection head
`SelfAdaptiveMethod`          one output per class and one to abstain    of 1 minus the share to abstain
`GamblersMethod`              one output per class and the reservation   of 1 minus the share in reserve
============================  =========================================  ===================================

Selection scores are log-odds, because shares close to 0 and 1 would round to ties, which no threshold can separate.
Losses read outputs before softmax or sigmoid. With weights their means are weighted: a row of weight 2 counts twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from aucross.torch.networks import prediction_head, selection_head
from aucross.torch.options import hold_plain_numbers

Outputs = dict[str, Tensor]


class Answers(NamedTuple):
    """Probabilities and selection scores of rows, in float64."""

    probabilities: Tensor  # (n, n_classes)
    selection: Tensor  # (n,), log-odds of using the answer: low where the row should be rejected


class Batch(NamedTuple):
    """The rows of one training step."""

    rows: Tensor  # their positions among the training rows
    labels: Tensor
    weight: Tensor | None


class NetworkMethod(ABC):
    """Base class of methods: heads, loss, and how to read the outputs."""

    pretrain_epochs: int = 0

    def __post_init__(self) -> None:
        hold_plain_numbers(self)

    @abstractmethod
    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """Return the heads for a body with this number of features."""

    @abstractmethod
    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the loss of rows without stored targets, such as validation rows."""

    @abstractmethod
    def answers(self, outputs: Outputs) -> Answers:
        """Return probabilities and selection scores from the outputs."""

    def targets(self, labels: Tensor, n_classes: int) -> Tensor | None:  # noqa: ARG002
        """Return the initial targets of rows with these labels, of shape (n, n_classes)."""
        return None

    def training_loss(self, outputs: Outputs, batch: Batch, epoch: int, targets: Tensor | None) -> Tensor:  # noqa: ARG002
        """Return the loss of a batch of training rows, and update their targets; epochs count from 0."""
        return self.loss(outputs, batch.labels, batch.weight)

    @torch.no_grad()
    def coverage(self, outputs: Outputs, weight: Tensor | None) -> Tensor:
        """Return the share of a batch that the network would select."""
        return weighted_mean(torch.sigmoid(self.answers(outputs).selection), weight)


@dataclass(frozen=True)
class CrossEntropy(NetworkMethod):
    """Plain classification by cross entropy."""

    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """Return one linear layer."""
        return {"prediction": nn.Linear(n_features, n_classes)}

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the cross entropy."""
        return cross_entropy(outputs["prediction"], labels, weight)

    def answers(self, outputs: Outputs) -> Answers:
        """Return probabilities, and the log-odds of the predicted class."""
        values = outputs["prediction"].double()
        first, place = values.max(dim=1)
        others = values.scatter(1, place[:, None], -torch.inf)
        return Answers(functional.softmax(values, dim=1), first - others.logsumexp(1))

    def coverage(self, outputs: Outputs, weight: Tensor | None) -> Tensor:  # noqa: ARG002
        """Return 1: a plain classifier selects every row."""
        return torch.ones((), dtype=torch.float64, device=outputs["prediction"].device)


@dataclass(frozen=True)
class SelectiveNetMethod(NetworkMethod):
    """Three heads, trained for one coverage (Geifman and El-Yaniv 2019)."""

    target_coverage: float = 0.9
    alpha: float = 0.5
    penalty: float = 32.0
    alpha_scales_penalty: bool = False
    head_sizes: tuple[int, ...] = (128,)

    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """Return the heads for prediction (h), selection (g) and the auxiliary task (v)."""
        return {
            "prediction": prediction_head(n_features, self.head_sizes, n_classes),
            "selection": selection_head(n_features, self.target_coverage),
            "auxiliary": prediction_head(n_features, self.head_sizes, n_classes),
        }

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the loss printed in the paper's appendix."""
        return selective_net_loss(
            outputs["prediction"],
            outputs["selection"],
            outputs["auxiliary"],
            labels,
            weight,
            coverage=self.target_coverage,
            alpha=self.alpha,
            penalty=self.penalty,
            alpha_scales_penalty=self.alpha_scales_penalty,
        )

    def answers(self, outputs: Outputs) -> Answers:
        """Return the probabilities of head h, and the output of head g before its sigmoid."""
        return Answers(functional.softmax(outputs["prediction"].double(), dim=1), outputs["selection"].double())


class _WithAbstention(NetworkMethod):
    """Base class of methods with an additional output for abstaining."""

    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """Return one linear layer, whose last output means to abstain."""
        return {"prediction": nn.Linear(n_features, n_classes + 1)}

    def answers(self, outputs: Outputs) -> Answers:
        """Return the class probabilities, and the log-odds of answering against abstaining."""
        values = outputs["prediction"].double()
        return Answers(functional.softmax(values[:, :-1], dim=1), values[:, :-1].logsumexp(1) - values[:, -1])


@dataclass(frozen=True)
class SelfAdaptiveMethod(_WithAbstention):
    """Self-adaptive training, in which moving targets weight the rows (Huang, Zhang and Zhang 2020)."""

    momentum: float = 0.99
    pretrain_epochs: int = 0

    def targets(self, labels: Tensor, n_classes: int) -> Tensor | None:
        """Return the labels as initial targets."""
        return functional.one_hot(labels, n_classes).to(torch.float64)

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the cross entropy over the classes; the output to abstain is ignored."""
        return cross_entropy(outputs["prediction"][:, :-1], labels, weight)

    def training_loss(self, outputs: Outputs, batch: Batch, epoch: int, targets: Tensor | None) -> Tensor:
        """Update the targets of the batch, then return their loss; targets stay fixed during pretraining."""
        assert targets is not None
        values = outputs["prediction"]
        of_batch = targets[batch.rows].to(values.device)
        if epoch >= self.pretrain_epochs:
            of_batch = moved_targets(of_batch, values, self.momentum)
            targets[batch.rows] = of_batch.to(targets.device)
        of_label = of_batch.gather(1, batch.labels[:, None])[:, 0].to(values.dtype)
        return self_adaptive_loss(values, batch.labels, of_label, batch.weight)


@dataclass(frozen=True)
class GamblersMethod(_WithAbstention):
    """Deep Gamblers: the network bets on the classes and keeps a reserve (Liu et al. 2019)."""

    payoff: float = 1.8
    pretrain_epochs: int = 0

    def answers(self, outputs: Outputs) -> Answers:
        """Return the bets with an equal share of the reserve added to each class."""
        # A perfect gambler bets on one class only, so that the bets alone do not tell sure rows from unsure ones.
        bets = super().answers(outputs)
        reserve = torch.sigmoid(-bets.selection)[:, None]
        shares = bets.probabilities * (1 - reserve) + reserve / bets.probabilities.shape[1]
        return Answers(shares, bets.selection)

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the negative log of the gambler's wealth."""
        return gamblers_loss(outputs["prediction"], labels, weight, payoff=self.payoff)

    def training_loss(self, outputs: Outputs, batch: Batch, epoch: int, targets: Tensor | None) -> Tensor:
        """Return the cross entropy over the classes during pretraining, and the loss of the bets afterwards."""
        if epoch < self.pretrain_epochs:
            return cross_entropy(outputs["prediction"][:, :-1], batch.labels, batch.weight)
        return super().training_loss(outputs, batch, epoch, targets)


# ---- losses ----


def weighted_mean(values: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean over the rows of a batch, weighted if weights are given."""
    return values.mean() if weight is None else (weight * values).sum() / weight.sum()


def cross_entropy(outputs: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the mean cross entropy of a batch.

    Parameters
    ----------
    outputs : Tensor of shape (n, n_classes)
        Outputs before softmax.
    labels : Tensor of shape (n,)
        Number of each row's class.
    weight : Tensor of shape (n,), optional
        Weights of the rows.
    """
    return weighted_mean(functional.cross_entropy(outputs, labels, reduction="none"), weight)


def selective_net_loss(
    prediction: Tensor,
    selection: Tensor,
    auxiliary: Tensor,
    labels: Tensor,
    weight: Tensor | None = None,
    *,
    coverage: float,
    alpha: float = 0.5,
    penalty: float = 32.0,
    alpha_scales_penalty: bool = False,
) -> Tensor:
    r"""Return the loss of SelectiveNet: selective risk, penalty for low coverage, and auxiliary risk.

    Parameters
    ----------
    prediction, auxiliary : Tensor of shape (n, n_classes)
        Outputs of the heads h and v, before softmax.
    selection : Tensor of shape (n,)
        Output of the head g, before the sigmoid.
    labels, weight
        As for :func:`cross_entropy`.
    coverage : float
        Coverage c to train for.
    alpha, penalty : float
        Weights of the parts; lambda in the formula is `penalty`.
    alpha_scales_penalty : bool, default=False
        Whether `alpha` scales the penalty too.

    Notes
    -----
    With :math:`\hat\phi = \frac1n \sum_i g(x_i)` the loss is

    .. math:: \alpha \frac{\frac1n \sum_i \ell(h(x_i), y_i)\, g(x_i)}{\hat\phi}
              + \lambda \max(0, c - \hat\phi)^2 + (1 - \alpha) \frac1n \sum_i \ell(v(x_i), y_i)

    as printed in the appendix of Pugnana and Ruggieri (2023).
    """
    # NOTE[DIFF]: Geifman and El-Yaniv (2019) put `alpha` around the first two terms, which halves the penalty at 0.5;
    # ``alpha_scales_penalty=True`` is that reading.
    selected = torch.sigmoid(selection)
    mean_selected = weighted_mean(selected, weight)
    losses = functional.cross_entropy(prediction, labels, reduction="none")
    # Where nothing is selected the ratio has no value; the penalty then moves the selection.
    risk = weighted_mean(losses * selected, weight) / mean_selected.clamp(min=torch.finfo(selected.dtype).tiny)
    shortfall = penalty * torch.relu(coverage - mean_selected) ** 2
    if alpha_scales_penalty:
        shortfall = alpha * shortfall
    return alpha * risk + shortfall + (1 - alpha) * cross_entropy(auxiliary, labels, weight)


def self_adaptive_loss(
    outputs: Tensor, labels: Tensor, target_of_label: Tensor, weight: Tensor | None = None
) -> Tensor:
    r"""Return the loss of self-adaptive training; the last output means to abstain.

    Parameters
    ----------
    outputs : Tensor of shape (n, n_classes + 1)
        Outputs before softmax; the last one means to abstain.
    labels, weight
        As for :func:`cross_entropy`.
    target_of_label : Tensor of shape (n,)
        Moving target :math:`t_{i, y_i}` of the true class of each row.

    Notes
    -----
    The loss is the mean of :math:`-[t_{i,y_i} \log s_{y_i}(x_i) + (1 - t_{i,y_i}) \log s_v(x_i)]`, where s is the
    softmax over all outputs. With targets of 1 it is the cross entropy.
    """
    logs = functional.log_softmax(outputs, dim=1)
    of_label = logs.gather(1, labels[:, None])[:, 0]
    return weighted_mean(-(target_of_label * of_label + (1 - target_of_label) * logs[:, -1]), weight)


def moved_targets(targets: Tensor, outputs: Tensor, momentum: float) -> Tensor:
    """Return the next targets of self-adaptive training: a moving average of the predictions.

    Parameters
    ----------
    targets : Tensor of shape (n, n_classes)
        Targets so far; they start as the labels.
    outputs : Tensor of shape (n, n_classes + 1)
        Outputs before softmax; the softmax is over the classes, without the last one.
    momentum : float
        Share of the old targets that is kept.
    """
    probabilities = torch.softmax(outputs.detach()[:, :-1].to(targets.dtype), dim=1)
    return momentum * targets + (1 - momentum) * probabilities


def gamblers_loss(outputs: Tensor, labels: Tensor, weight: Tensor | None = None, *, payoff: float) -> Tensor:
    r"""Return the loss of Deep Gamblers; the last output is the reserve.

    Parameters
    ----------
    outputs : Tensor of shape (n, n_classes + 1)
        Outputs before softmax; the last one is the reserve.
    labels, weight
        As for :func:`cross_entropy`.
    payoff : float
        Payoff o of a bet on the right class.

    Notes
    -----
    The loss is the mean of :math:`-\log(s_{y_i}(x_i) + s_v(x_i) / o)`: minus the log of the gambler's wealth, with the
    constant log o left out (Liu et al., "Deep Gamblers: Learning to Abstain with Portfolio Theory", NeurIPS 2019).
    """
    logs = functional.log_softmax(outputs, dim=1)
    of_label = logs.gather(1, labels[:, None])[:, 0]
    # In logarithms, so that small shares do not vanish.
    reserve = logs[:, -1] - torch.log(torch.tensor(payoff, dtype=logs.dtype, device=logs.device))
    return weighted_mean(-torch.logaddexp(of_label, reserve), weight)
