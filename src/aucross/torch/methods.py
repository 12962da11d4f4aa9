"""What a method is made of: its heads, its loss during training, and what its outputs say about a row.

============================  =========================================  ===================================
method                        heads                                      selection score, as log-odds
============================  =========================================  ===================================
`CrossEntropy`                one output per class                       of the probability of the prediction
`SelectiveNetMethod`          prediction, selection, auxiliary           of g, the selection head
`SelfAdaptiveMethod`          one output per class and one to abstain    of 1 less the share to abstain
`GamblersMethod`              one output per class and the reservation   of 1 less the share in reserve
============================  =========================================  ===================================

Selection scores are log-odds because shares close to 0 and 1 round to ties, which no threshold can cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from aucross.torch.losses import (
    cross_entropy,
    gamblers_loss,
    moved_targets,
    selective_net_loss,
    self_adaptive_loss,
    weighted_mean,
)
from aucross.torch.networks import prediction_head, selection_head
from aucross.torch.options import hold_plain_numbers

Outputs = dict[str, Tensor]


class Answers(NamedTuple):
    """Answers of a network about rows, in float64."""

    probabilities: Tensor  # (n, n_classes)
    selection: Tensor  # (n,), log-odds of using the answer: low where the row should be rejected


class Batch(NamedTuple):
    """The rows of one step."""

    rows: Tensor  # their positions among the training rows
    labels: Tensor
    weight: Tensor | None


class NetworkMethod(ABC):
    """A way to train a network and to read its outputs."""

    pretrain_epochs: int = 0

    def __post_init__(self) -> None:
        hold_plain_numbers(self)

    @abstractmethod
    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """Heads to put on a body."""

    @abstractmethod
    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the loss of rows without stored targets, such as validation rows."""

    @abstractmethod
    def answers(self, outputs: Outputs) -> Answers:
        """Probabilities and selection scores."""

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
    """A plain classifier."""

    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """One linear layer."""
        return {"prediction": nn.Linear(n_features, n_classes)}

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Cross entropy."""
        return cross_entropy(outputs["prediction"], labels, weight)

    def answers(self, outputs: Outputs) -> Answers:
        """Probabilities, and the log-odds of the predicted class."""
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
        """Prediction h, selection g and auxiliary v."""
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
        """Probabilities of h, and g before its sigmoid."""
        return Answers(functional.softmax(outputs["prediction"].double(), dim=1), outputs["selection"].double())


class _WithAbstention(NetworkMethod):
    """A method whose network has one more output than there are classes."""

    def heads(self, n_features: int, n_classes: int) -> dict[str, nn.Module]:
        """One linear layer, the output to abstain last."""
        return {"prediction": nn.Linear(n_features, n_classes + 1)}

    def answers(self, outputs: Outputs) -> Answers:
        """Return the class probabilities, and the evidence for any class against abstaining."""
        values = outputs["prediction"].double()
        return Answers(functional.softmax(values[:, :-1], dim=1), values[:, :-1].logsumexp(1) - values[:, -1])


@dataclass(frozen=True)
class SelfAdaptiveMethod(_WithAbstention):
    """Moving targets decide how much the network learns from a row (Huang, Zhang and Zhang 2020)."""

    momentum: float = 0.99
    pretrain_epochs: int = 0

    def targets(self, labels: Tensor, n_classes: int) -> Tensor | None:
        """Targets start as the labels."""
        return functional.one_hot(labels, n_classes).to(torch.float64)

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the cross entropy among the classes, as abstaining would count as a mistake without moving targets."""
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
    """Bets on the classes with a reservation (Liu et al. 2019)."""

    payoff: float = 1.8
    pretrain_epochs: int = 0

    def answers(self, outputs: Outputs) -> Answers:
        """Return the bets, with the reserve shared by the classes."""
        # A perfect gambler bets on one class only, so that the bets alone do not tell sure rows from unsure ones.
        bets = super().answers(outputs)
        reserve = torch.sigmoid(-bets.selection)[:, None]
        shares = bets.probabilities * (1 - reserve) + reserve / bets.probabilities.shape[1]
        return Answers(shares, bets.selection)

    def loss(self, outputs: Outputs, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Log of the gambler's wealth, with a minus sign."""
        return gamblers_loss(outputs["prediction"], labels, weight, payoff=self.payoff)

    def training_loss(self, outputs: Outputs, batch: Batch, epoch: int, targets: Tensor | None) -> Tensor:
        """Return the cross entropy among the classes during pretraining, and afterwards the loss of the bets."""
        if epoch < self.pretrain_epochs:
            return cross_entropy(outputs["prediction"][:, :-1], batch.labels, batch.weight)
        return super().training_loss(outputs, batch, epoch, targets)
