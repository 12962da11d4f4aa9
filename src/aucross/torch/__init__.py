"""Networks that learn to select, and networks as base models; needs the extra "torch"."""

# ruff: noqa: E402 - all that follows imports torch
from aucross.system.libraries import import_library as _import_library

_import_library("torch", purpose="aucross.torch", extra="torch")

from aucross.torch.methods import cross_entropy, gamblers_loss, moved_targets, selective_net_loss, self_adaptive_loss
from aucross.torch.network_classifier import ResNetClassifier, VGGClassifier
from aucross.torch.networks import MLP, VGG16, ResNet
from aucross.torch.selective_networks import DeepGamblers, SelectiveNet, SelfAdaptiveTraining

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
