"""The losses, one function per method, on outputs before softmax or sigmoid.

All means are weighted where weights are given: weight 2 counts as the row twice.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def weighted_mean(values: Tensor, weight: Tensor | None) -> Tensor:
    """Mean over the rows of a batch."""
    return values.mean() if weight is None else (weight * values).sum() / weight.sum()


def cross_entropy(outputs: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean of ``-log s_y``.

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
    r"""Return the loss of SelectiveNet: selective risk, a penalty for too little coverage, and the auxiliary risk.

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
    r"""Return the loss of self-adaptive training, whose last output means "abstain".

    Parameters
    ----------
    outputs : Tensor of shape (n, n_classes + 1)
        Outputs before softmax, that of abstaining last.
    labels, weight
        As for :func:`cross_entropy`.
    target_of_label : Tensor of shape (n,)
        Moving target :math:`t_{i, y_i}` of each row's own class.

    Notes
    -----
    The mean of :math:`-[t_{i,y_i} \log s_{y_i}(x_i) + (1 - t_{i,y_i}) \log s_v(x_i)]`, with s the softmax over all
    outputs. With targets of 1 it is the cross entropy.
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
    r"""Return the loss of Deep Gamblers, whose last output is the reserve.

    Parameters
    ----------
    outputs : Tensor of shape (n, n_classes + 1)
        Outputs before softmax, the reservation last.
    labels, weight
        As for :func:`cross_entropy`.
    payoff : float
        Payoff o of a bet on the right class.

    Notes
    -----
    The mean of :math:`-\log(s_{y_i}(x_i) + s_v(x_i) / o)`: the log of the gambler's wealth, with the constant log o
    left out (Liu et al., "Deep Gamblers: Learning to Abstain with Portfolio Theory", NeurIPS 2019).
    """
    logs = functional.log_softmax(outputs, dim=1)
    of_label = logs.gather(1, labels[:, None])[:, 0]
    # In logarithms, so that small shares do not vanish.
    reserve = logs[:, -1] - torch.log(torch.tensor(payoff, dtype=logs.dtype, device=logs.device))
    return weighted_mean(-torch.logaddexp(of_label, reserve), weight)
