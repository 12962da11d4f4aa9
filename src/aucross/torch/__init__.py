"""Methods that train a network to select, and networks as base models; needs the extra "torch"."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        'aucross.torch needs torch, which is not installed; run: pip install "aucross[torch]"', name="torch"
    ) from error

from aucross.torch.classifiers import ResNetClassifier, VGGClassifier
from aucross.torch.estimators import DeepGamblers, SelectiveNet, SelfAdaptiveTraining
from aucross.torch.losses import cross_entropy, gamblers_loss, moved_targets, selective_net_loss, self_adaptive_loss
from aucross.torch.networks import MLP, VGG16, ResNet

__all__ = [
    "MLP",
    "VGG16",
    "DeepGamblers",
    "ResNet",
    "ResNetClassifier",
    "SelectiveNet",
    "SelfAdaptiveTraining",
    "VGGClassifier",
    "cross_entropy",
    "gamblers_loss",
    "moved_targets",
    "selective_net_loss",
    "self_adaptive_loss",
]
