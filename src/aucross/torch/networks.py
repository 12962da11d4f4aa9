"""Networks for tables and images, and the output heads of each method.

::

    table: numbers, codes ──► TableFront (embeddings) ──► MLP or ResNet ─┐
                                                                          ├──► features ──► one head per output
    images                 ───────────────────────────► VGG16 ───────────┘

A body maps its input to one vector of features per row. The method decides what the outputs of the heads mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import accumulate
from math import log
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from aucross.torch.options import check_count, check_number

# What `body` may be: a name, a module to copy, or a function of the number of inputs that builds one.
Body = str | nn.Module | Callable[[int], nn.Module] | None

# Width of the vector of each category; one for all columns, as in the tabular ResNet's paper.
EMBEDDING_WIDTH = 8


class RowNorm(nn.BatchNorm1d):
    """Batch normalisation with row weights: a row of weight 2 counts like two equal rows."""

    row_weight: Tensor | None = None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  (the name that torch gives it)
        """Normalise by the mean and variance of the batch, weighted if row weights are set."""
        if not self.training or self.row_weight is None:
            return super().forward(input)
        # Sums of weights do not fit into 16 bits.
        with torch.autocast(input.device.type, enabled=False):
            rows = input.to(self.weight.dtype)
            weight = self.row_weight.to(rows.dtype)[:, None]
            total = weight.sum()
            mean = (weight * rows).sum(0) / total
            variance = (weight * (rows - mean) ** 2).sum(0) / total
            # Weights above 1 stand for several rows; those below, such as shares of a total, for one each.
            n_rows = torch.maximum(total.detach(), (weight > 0).sum()).clamp(min=2)
            unbiased = variance * n_rows / (n_rows - 1)
            for running, now in ((self.running_mean, mean), (self.running_var, unbiased)):
                assert running is not None
                assert self.momentum is not None
                running.lerp_(now.detach().to(running.dtype), self.momentum)
            return ((rows - mean) * (variance + self.eps).rsqrt() * self.weight + self.bias).to(input.dtype)


@contextmanager
def weighted_rows(network: nn.Module, weight: Tensor | None) -> Iterator[None]:
    """Set row weights for the normalisation layers of a network for tables, within a ``with`` block."""
    norms = [] if weight is None else [module for module in network.modules() if isinstance(module, RowNorm)]
    for norm in norms:
        norm.row_weight = weight
    try:
        yield
    finally:
        for norm in norms:
            norm.row_weight = None


class TableFront(nn.Module):
    """First layer for tables: passes numbers on and embeds each category code as a learnt vector; code 0 is unknown."""

    def __init__(self, *, n_numbers: int, n_codes: Sequence[int]) -> None:
        super().__init__()
        self.n_outputs = n_numbers + EMBEDDING_WIDTH * len(n_codes)
        *starts, n_vectors = accumulate(n_codes, initial=0)
        self.starts: Tensor
        self.register_buffer("starts", torch.tensor(starts, dtype=torch.int64), persistent=False)
        self.vectors = nn.Embedding(n_vectors, EMBEDDING_WIDTH) if len(n_codes) else None
        if self.vectors is not None:
            with torch.no_grad():
                self.vectors.weight[starts] = 0.0

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return one row of numbers and vectors for each row of the table."""
        if self.vectors is None:
            return numbers
        return torch.cat((numbers, self.vectors(codes + self.starts).flatten(1)), dim=1)


class MLP(nn.Module):
    """Fully connected layers of equal width, each followed by ReLU.

    Parameters
    ----------
    n_inputs : int
        Columns of the input.
    n_blocks : int, default=2
        Number of layers.
    width : int, default=128
        Units of each layer, and number of output features.
    dropout : float, default=0.0
        Share of units set to zero during training.
    """

    def __init__(self, n_inputs: int, *, n_blocks: int = 2, width: int = 128, dropout: float = 0.0) -> None:
        super().__init__()
        _check(n_blocks, width, dropout=dropout)
        layers: list[nn.Module] = []
        for size in [n_inputs, *[width] * (n_blocks - 1)]:
            layers += [nn.Linear(size, width), nn.ReLU(), _dropout(dropout)]
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the features of each row."""
        return self.layers(rows)


class ResNet(nn.Module):
    """Residual network for tables.

    Parameters
    ----------
    n_inputs : int
        Columns of the input.
    n_blocks, width, hidden_multiplier, dropout, residual_dropout
        As for :class:`ResNetClassifier`; the output has `width` features.

    Notes
    -----
    Gorishniy, Rubachev, Khrulkov and Babenko, "Revisiting Deep Learning Models for Tabular Data", NeurIPS 2021: a
    linear layer, then blocks ``x + Dropout(Linear(Dropout(ReLU(Linear(BatchNorm(x))))))``, then batch normalisation and
    ReLU before the head. The sizes are the defaults of its authors' package.
    """

    def __init__(
        self,
        n_inputs: int,
        *,
        n_blocks: int = 2,
        width: int = 192,
        hidden_multiplier: float = 2.0,
        dropout: float = 0.15,
        residual_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check(n_blocks, width, dropout=dropout, residual_dropout=residual_dropout)
        check_number("hidden_multiplier", hidden_multiplier, above=0.0, remedy="pass 2.0")
        hidden = max(1, int(width * hidden_multiplier))
        self.first = nn.Linear(n_inputs, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                RowNorm(width),
                nn.Linear(width, hidden),
                nn.ReLU(),
                _dropout(dropout),
                nn.Linear(hidden, width),
                _dropout(residual_dropout),
            )
            for _ in range(n_blocks)
        )
        self.last = nn.Sequential(RowNorm(width), nn.ReLU())

    def forward(self, rows: Tensor) -> Tensor:
        """Return the features of each row."""
        features = self.first(rows)
        for block in self.blocks:
            features = features + block(features)
        return self.last(features)


class VGG16(nn.Module):
    """The thirteen convolutions of VGG16 with batch normalisation, then the mean over the image.

    Parameters
    ----------
    n_inputs : int, default=3
        Channels of the images.
    width, dropout
        As for :class:`VGGClassifier`.

    Notes
    -----
    Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015. The fully
    connected layers of 4,096 units, meant for images of 224 pixels, are left out. Images of 32 pixels are halved five
    times; smaller images are halved until one side has a single pixel.
    """

    CHANNELS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))

    def __init__(self, n_inputs: int = 3, *, width: float = 1.0, dropout: float = 0.0) -> None:
        super().__init__()
        # The width of the other networks is a number of units; one meant so would ask for thousands of channels.
        remedy = "it is a factor: pass 1.0 for VGG16 as published, 0.25 for a narrow one"
        check_number("width", width, above=0.0, at_most=4.0, remedy=remedy)
        _check(dropout=dropout)
        layers: list[nn.Module] = []
        before = n_inputs
        for stage in self.CHANNELS:
            for full in stage:
                channels = max(1, round(full * width))
                layers += [
                    # The normalisation that follows has a bias of its own.
                    nn.Conv2d(before, channels, kernel_size=3, padding=1, bias=False),
                    nn.BatchNorm2d(channels),
                    nn.ReLU(inplace=True),
                ]
                before = channels
            layers.append(_Halve())
        self.layers = nn.Sequential(*layers)
        self.dropout = _dropout(dropout)

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of each image."""
        return self.dropout(self.layers(images).mean(dim=(2, 3)))


def _check(n_blocks: int = 1, width: int = 1, **dropout: float) -> None:
    check_count("n_blocks", n_blocks)
    check_count("width", width)
    for name, value in dropout.items():
        check_number(name, value, at_least=0.0, below=1.0, remedy="pass 0.0 for none")


def _dropout(share: float) -> nn.Module:
    """Return a dropout layer, or an identity for share 0, because a dropout layer would still draw random numbers."""
    return nn.Dropout(share) if share else nn.Identity()


class _Halve(nn.Module):
    """Layer that halves the height and width of images, unless either is 1."""

    def forward(self, images: Tensor) -> Tensor:
        return functional.max_pool2d(images, 2) if min(images.shape[2:]) > 1 else images


class Network(nn.Module):
    """A network of three parts: a front that reads the input, a body, and named heads on its features."""

    def __init__(self, *, front: nn.Module, body: nn.Module, heads: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.front = front
        self.body = body
        self.heads = nn.ModuleDict(heads)

    def forward(self, *inputs: Tensor) -> dict[str, Tensor]:
        """Return the outputs of each head, before any softmax or sigmoid."""
        return self.outputs(self.features(*inputs))

    def features(self, *inputs: Tensor) -> Tensor:
        """Return the features of each row."""
        return self.body(self.front(*inputs))

    def outputs(self, features: Tensor) -> dict[str, Tensor]:
        """Return the output of each head for the features."""
        return {name: head(features) for name, head in self.heads.items()}


def prediction_head(n_features: int, hidden: Sequence[int], n_outputs: int) -> nn.Module:
    """Build a head with layers of the given sizes and one output per class."""
    # All but the last layer are followed by normalisation and ReLU; the last leads straight to the outputs, as the
    # paper's appendix describes its heads of 128 and of 512, 256 and 128 units.
    layers: list[nn.Module] = []
    for size in hidden:
        layers += [nn.Linear(n_features, size), RowNorm(size), nn.ReLU()]
        n_features = size
    return nn.Sequential(*layers[:-2], nn.Linear(n_features, n_outputs))


def selection_head(n_features: int, coverage: float) -> nn.Module:
    """Build the selection head of the paper's appendix: 128 units, normalisation, ReLU, 64 units, one output."""
    # NOTE[DIFF]: the last bias starts where the sigmoid is the coverage to train for. From 0, which selects half, the
    # penalty of the first steps drives every output so high that its sigmoid is 1 and nothing is learnt any more.
    last = nn.Linear(64, 1)
    nn.init.constant_(last.bias, log(coverage / max(1 - coverage, 0.01)))
    return nn.Sequential(nn.Linear(n_features, 128), RowNorm(128), nn.ReLU(), nn.Linear(128, 64), last, nn.Flatten(0))


_NAMED: dict[str, Callable[[int], nn.Module]] = {"mlp": MLP, "resnet": ResNet, "vgg16": VGG16}


def build_body(body: Body, n_inputs: int) -> nn.Module:
    """Build the module for a `body` argument: a name, a module or a function."""
    if isinstance(body, nn.Module):
        return deepcopy(body)
    if isinstance(body, str):
        if body not in _NAMED:
            raise ValueError(f"body must be one of {sorted(_NAMED)}, a module or a function, got {body!r}")
        return _NAMED[body](n_inputs)
    if not callable(body):
        raise TypeError(
            f"body must be a name, a torch module or a function of the number of inputs, got {type(body).__name__}; "
            "pass for example functools.partial(VGG16, width=0.25)"
        )
    built: Any = body(n_inputs)
    if not isinstance(built, nn.Module):
        raise TypeError(f"body must return a torch module when called with {n_inputs}, got {type(built).__name__}")
    return built


def build_network(
    *, front: nn.Module, body: nn.Module, example: tuple[Tensor, ...], heads: Callable[[int], Mapping[str, nn.Module]]
) -> Network:
    """Build a network from front, body and heads; a run on two rows gives the number of features of the body."""
    front.eval(), body.eval()
    try:
        with torch.no_grad():
            features = body(front(*example))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"body must take what the rows become, a tensor of shape {tuple(front(*example).shape)} for two rows, got "
            f'{type(body).__name__}, which fails with "{error}"; pass body=None for the one that suits the rows'
        ) from error
    if features.ndim != 2 or len(features) != len(example[0]):
        raise ValueError(
            "body must return one vector of features per row, got shape "
            f"{tuple(features.shape)} for an input of {tuple(example[0].shape)}; flatten or pool its output"
        )
    return Network(front=front, body=body, heads=heads(features.shape[1]))
