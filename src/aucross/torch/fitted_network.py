"""A trained network with its row encoder, which can be copied, pickled and stored as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from aucross.frames import take_rows
from aucross.torch.devices import find_device, own_random_state, tensor_type, threads
from aucross.torch.images import ImageScale, ImageTensors, is_images
from aucross.torch.methods import NetworkMethod
from aucross.torch.network_training import History, LabelledTensors, Training, check_batches, score
from aucross.torch.networks import Body, Network, TableFront, build_body, build_network
from aucross.torch.options import NetworkOptions
from aucross.torch.table_encoder import TableEncoder, TableTensors

FloatArray = NDArray[np.float64]

# What to train: heads and loss, what stands between input and heads, the options, and a network to go on from.
Recipe = tuple[NetworkMethod, Body, NetworkOptions, "FittedNetwork | None"]


@dataclass(frozen=True)
class RowReader:
    """Turns rows into tensors: as a table, or as images of one size."""

    table: TableEncoder | None = None
    images: ImageScale | None = None

    @classmethod
    def fit(cls, X: Any, weight: FloatArray | None) -> Self:
        """Fit the encoder of tables, or the scale of images, on training rows."""
        return cls(images=ImageScale.fit(X)) if is_images(X) else cls(table=TableEncoder.fit(X, weight))

    def read(self, X: Any, options: NetworkOptions) -> TableTensors:
        """Return rows as tensors, from which batches can be taken."""
        if self.images is not None:
            return ImageTensors.of_images(X, self.images, augment=options.augment, precision=options.precision)
        assert self.table is not None
        return TableTensors.of(self.table.encode(X), options.precision)

    def front(self) -> tuple[nn.Module, int]:
        """Return the first part of the network, and its number of output columns or channels."""
        if self.table is None:
            return nn.Identity(), 3
        front = TableFront(n_numbers=self.table.n_numbers, n_codes=self.table.n_codes)
        return front, front.n_outputs

    def two_rows(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Return inputs of two rows of zeros."""
        if self.images is not None:
            return (torch.zeros(2, 3, self.images.height, self.images.width, dtype=dtype),)
        assert self.table is not None
        codes = torch.zeros(2, len(self.table.n_codes), dtype=torch.int64)
        return torch.zeros(2, self.table.n_numbers, dtype=dtype), codes


@dataclass
class FittedNetwork:
    """A trained network with its row reader, method and options.

    Pickling stores the weights as arrays; loading builds the network again from the same body.
    """

    network: Network
    reader: RowReader
    body: Body
    method: NetworkMethod
    options: NetworkOptions
    n_classes: int

    @classmethod
    def untrained(
        cls, reader: RowReader, body: Body, method: NetworkMethod, options: NetworkOptions, *, n_classes: int
    ) -> FittedNetwork:
        """Build an untrained network for the rows of a reader."""
        dtype = tensor_type(options.precision)
        front, n_inputs = reader.front()
        network = build_network(
            front=front.to(dtype),
            body=build_body(body, n_inputs).to(dtype),
            example=reader.two_rows(dtype),
            heads=lambda n_features: method.heads(n_features, n_classes),
        )
        return cls(_laid_out(network.to(dtype), reader), reader, body, method, options, n_classes)

    @classmethod
    def of_weights(
        cls,
        weights: Mapping[str, NDArray[Any]],
        *,
        reader: RowReader,
        body: Body,
        method: NetworkMethod,
        options: NetworkOptions,
        n_classes: int,
    ) -> FittedNetwork:
        """Build a network of this package with given weights from an untrusted file.

        The network is first built without memory for weights, and its sizes are compared with the given weights, so
        that a false size in the file costs nothing.
        """
        parts = ((reader, RowReader), (method, NetworkMethod), (options, NetworkOptions), (n_classes, int))
        sizes = [getattr(body, "keywords", {}).get("n_blocks", 1), len(getattr(method, "head_sizes", ()))]
        if not all(isinstance(part, kind) for part, kind in parts) or max(sizes) > len(weights):
            raise ValueError("a network must have a reader, a method, options, and weights for all its layers")
        with torch.device("meta"):
            fitted = cls.untrained(reader, body, method, options, n_classes=n_classes)
        if _shapes(fitted.network) != {name: torch.Size(values.shape) for name, values in weights.items()}:
            raise ValueError("the weights of a network must have the shapes of its layers")
        network = fitted.network.to_empty(device="cpu")
        with own_random_state(0, torch.device("cpu")):  # nobody else's random numbers must change by it
            network.front = reader.front()[0].to(tensor_type(options.precision))
        network.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
        return cls(_laid_out(network, reader).eval(), reader, body, method, options, n_classes)

    def answers(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return probabilities and selection scores of checked rows."""
        with threads(self.options.n_threads):
            return score(self.network, self.reader.read(X, self.options), self.method, self.options)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "network"}
        return {**state, "weights": {name: value.cpu().numpy() for name, value in self.network.state_dict().items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        weights = {name: torch.tensor(value) for name, value in state.pop("weights").items()}
        # Building draws weights, which are then replaced: nobody else's random numbers must change by it.
        with own_random_state(0, torch.device("cpu")):
            built = FittedNetwork.untrained(**state)
        built.network.load_state_dict(weights)
        built.network.eval()
        self.__dict__.update(built.__dict__)


def train_network(
    recipe: Recipe, X: Any, y: NDArray[Any], weight: FloatArray | None, *, classes: NDArray[Any], seed: int
) -> tuple[FittedNetwork, History]:
    """Train a network on checked rows."""
    method, _, options, _ = recipe
    if weight is not None:
        used = np.flatnonzero(weight > 0)
        X, y, weight = take_rows(X, used), y[used], weight[used]
    with threads(options.n_threads), own_random_state(seed, find_device(options.device)):
        fitted = _network(recipe, X, weight, n_classes=len(classes))
        rows = LabelledTensors(
            fitted.reader.read(X, options),
            torch.tensor(np.searchsorted(classes, y)),
            None if weight is None else torch.tensor(weight, dtype=tensor_type(options.precision)),
        )
        rows, validation = _split(rows, options.validation_size, classes, seed)
        check_batches(rows.labels, options.batch_size, classes, fitted.network)
        what = fitted.network, rows, method, options
        return fitted, Training(*what, n_classes=len(classes), seed=seed, validation=validation).run()


def _network(recipe: Recipe, X: Any, weight: FloatArray | None, *, n_classes: int) -> FittedNetwork:
    method, body, options, start = recipe
    reader = RowReader.fit(X, weight) if start is None else start.reader
    images = reader.images
    if options.half_size_epochs and images is not None and min(images.height, images.width) < 2:
        raise ValueError(
            f"half_size_epochs needs images of at least 2 x 2, got {images.height} x {images.width}; pass 0"
        )
    if start is None:
        return FittedNetwork.untrained(reader, body, method, options, n_classes=n_classes)
    # As the parameters say, so that a copy of it can be built again; its weights are then replaced.
    with own_random_state(0, torch.device("cpu")):
        fitted = FittedNetwork.untrained(reader, body, method, options, n_classes=n_classes)
    before, now = (_shapes(network) for network in (start.network, fitted.network))
    if before != now:
        n_before, n_now = (sum(shape.numel() for shape in shapes.values()) for shapes in (before, now))
        raise ValueError(
            "the network must be as large as in the earlier fit with warm_start=True, got another body, width or "
            f"head ({n_before:,} weights before, {n_now:,} now); pass warm_start=False"
        )
    fitted.network.load_state_dict(start.network.state_dict())
    return fitted


def _split(
    rows: LabelledTensors, share: float | None, classes: NDArray[Any], seed: int
) -> tuple[LabelledTensors, LabelledTensors | None]:
    """Split off a share of the rows, if one is given, for validation."""
    if share is None:
        return rows, None
    labels = rows.labels.numpy()
    counts = np.bincount(labels, minlength=len(classes))
    n_held = max(round(share * len(labels)), len(classes))
    train = held = np.empty(0, dtype=np.intp)
    if counts.min() > 1 and len(labels) - n_held >= len(classes):
        train, held = train_test_split(np.arange(len(labels)), test_size=n_held, stratify=labels, random_state=seed)
    if len(np.unique(labels[train])) < len(classes):
        rarest = int(counts.argmin())
        raise ValueError(
            f"validation_size must leave rows of every class to train on, got {share:g} with {counts[rarest]} of "
            f"{counts.sum()} rows of class {classes.tolist()[rarest]!r}; pass a smaller one, or None"
        )
    return rows.take(torch.tensor(train)), rows.take(torch.tensor(held))


def _laid_out(network: Network, reader: RowReader) -> Network:
    """Return the network, stored with channels last if it reads images."""
    return network if reader.images is None else network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _shapes(network: Network) -> dict[str, torch.Size]:
    return {name: value.shape for name, value in network.state_dict().items()}
