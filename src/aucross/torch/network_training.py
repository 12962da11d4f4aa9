"""The training loop and the scoring loop of all networks.

The loop does not use skorch: moving targets need the position of each row, continuing after a kill must restore every
random state, and one-cycle rates and row weights affect each step. As callbacks of a general loop these would be longer
than this loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil, inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from aucross.system.text import percent
from aucross.system.whole_files import whole_file
from aucross.torch.devices import autocast, find_device, low_precision, tensor_type
from aucross.torch.methods import Answers, Batch, NetworkMethod
from aucross.torch.networks import Network, weighted_rows
from aucross.torch.options import NetworkOptions
from aucross.torch.table_encoder import TableTensors

logger = logging.getLogger(__name__)

# Share of batches that may lack a class; beyond it the class is hardly ever seen beside the others.
_MOST_BATCHES_WITHOUT_A_CLASS = 0.9


@dataclass(frozen=True)
class LabelledTensors:
    """Rows with class numbers and optional weights."""

    inputs: TableTensors
    labels: Tensor
    weight: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor) -> LabelledTensors:
        """Return some of the rows."""
        return LabelledTensors(
            self.inputs.take(rows), self.labels[rows], None if self.weight is None else self.weight[rows]
        )


@dataclass
class History:
    """History of a training, one value per epoch: means over training batches, and the validation loss."""

    loss: list[float] = field(default_factory=list)
    coverage: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    best_epoch: int = 0  # epochs after which the validation loss was lowest; all, without validation rows

    @property
    def n_epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.loss)


def batches_of(order: Tensor, batch_size: int) -> tuple[Tensor, ...]:
    """Split row numbers into batches of nearly equal size, so that none is too small for batch normalisation."""
    return torch.tensor_split(order, ceil(len(order) / batch_size))


def check_batches(labels: Tensor, batch_size: int, classes: NDArray[Any], network: nn.Module) -> None:
    """Refuse a batch size if most batches would lack a class, or a batch for batch normalisation would be one row."""
    counts = torch.bincount(labels, minlength=len(classes))
    rarest = int(counts.argmin())
    share = float(counts[rarest]) / len(labels)
    batches = batches_of(torch.arange(len(labels)), batch_size)
    normalises = any(isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d) for module in network.modules())
    if len(batches[-1]) < 2 and normalises:
        raise ValueError(
            f"batch_size must leave at least two rows in each batch of a network with batch normalisation, got "
            f"{batch_size} for {len(labels)} rows; pass batch_size={min(32, len(labels))}"
        )
    n_in_batch = len(batches[0])
    missing = (1 - share) ** n_in_batch if n_in_batch < len(labels) else 0.0
    if missing > _MOST_BATCHES_WITHOUT_A_CLASS:
        raise ValueError(
            f"batch_size must be so large that batches hold every class, got {batch_size}: class "
            f"{classes.tolist()[rarest]!r} has {int(counts[rarest])} of {len(labels)} rows and would be missing in "
            f"{percent(missing)} of the batches; pass batch_size={ceil(3 / share)}"
        )


class Training:
    """One training of a network: its inputs and all state that changes. The network is changed in place.

    `seed` sets the order of rows and augmentation; the caller seeds the generator of torch, which dropout uses.
    `validation` rows decide when to stop.
    """

    def __init__(
        self,
        network: Network,
        rows: LabelledTensors,
        method: NetworkMethod,
        options: NetworkOptions,
        *,
        n_classes: int,
        seed: int,
        validation: LabelledTensors | None = None,
    ) -> None:
        self.device = find_device(options.device)
        self.network = network.to(self.device)
        self.rows, self.validation = rows, validation
        self.method, self.options, self.seed = method, options, seed
        self.history = History()
        self.targets = method.targets(rows.labels, n_classes)
        self.generator = torch.Generator().manual_seed(seed)
        self.optimizer = torch.optim.SGD(
            network.parameters(),
            lr=options.lr,
            momentum=options.momentum,
            nesterov=options.momentum > 0,
            weight_decay=options.weight_decay,
            fused=True,  # one call for all weights instead of several per weight
        )
        uses_float16 = low_precision(self.device, options.precision) == torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=uses_float16)
        self.best_weights: dict[str, Tensor] | None = None
        self.n_steps = ceil(len(rows) / options.batch_size)  # of an epoch

    def run(self) -> History:
        """Train until the last epoch or until the validation loss stops falling; resume from a checkpoint if any."""
        checkpoint = self._checkpoint()
        if checkpoint is not None and checkpoint.exists():
            # Tensors and plain values only: nothing in the file is run.
            self.load(torch.load(checkpoint, map_location="cpu", weights_only=True))
            logger.info("going on after %d epochs, from %s", self.history.n_epochs, checkpoint)
        history, patience = self.history, inf if self.validation is None else self.options.patience
        with _progress_bar(self.options, self.n_steps, done=history.n_epochs) as show:
            while history.n_epochs < min(self.options.max_epochs, history.best_epoch + patience):
                self._run_epoch(show)
                if checkpoint is not None:
                    write_checkpoint(checkpoint, self.state())
        if self.best_weights is not None:
            self.network.load_state_dict(self.best_weights)
        self.network.eval()
        self._refuse_answers_that_are_no_numbers()
        return self.history

    # ---- one epoch ----

    def _run_epoch(self, show: Callable[[Tensor], None]) -> None:
        epoch = self.history.n_epochs
        self.network.train()
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        order = torch.randperm(len(self.rows), generator=self.generator)
        for step, rows in enumerate(batches_of(order, self.options.batch_size)):
            seen = self._step(rows, epoch, self.options.learning_rate(epoch, step, self.n_steps))
            sums += seen * len(rows)
            show(seen)
        loss, coverage = (sums / len(self.rows)).tolist()
        self._refuse_nan(loss, epoch)
        self.history.loss.append(loss)
        self.history.coverage.append(coverage)
        self._validate(epoch)
        logger.debug("epoch %d: loss %.4g, coverage %.3f", epoch + 1, loss, coverage)

    def _step(self, rows: Tensor, epoch: int, learning_rate: float) -> Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        inputs = self.rows.inputs.batch(rows, self.generator, half_size=epoch < self.options.half_size_epochs)
        weight = None if self.rows.weight is None else self.rows.weight[rows].to(self.device)
        batch = Batch(rows, self.rows.labels[rows].to(self.device), weight)
        outputs = self._outputs(inputs, weight)
        loss = self.method.training_loss(outputs, batch, epoch, self.targets)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return torch.stack((loss.detach().double(), self.method.coverage(outputs, weight)))

    def _outputs(self, inputs: tuple[Tensor, ...], weight: Tensor | None) -> dict[str, Tensor]:
        with weighted_rows(self.network, weight):
            with autocast(self.device, self.options.precision):
                features = self.network.features(*(part.to(self.device, non_blocking=True) for part in inputs))
            # Heads and losses, which are sums of logarithms, need more than 16 bits.
            return self.network.outputs(features.to(tensor_type(self.options.precision)))

    @torch.no_grad()
    def _refuse_answers_that_are_no_numbers(self) -> None:
        """Raise an error if outputs of the trained network are not finite."""
        some = torch.arange(min(len(self.rows), self.rows.inputs.rows_at_once))
        outputs = self.network(*(part.to(self.device) for part in self.rows.inputs.batch(some)))
        if not all(bool(values.isfinite().all()) for values in outputs.values()):
            self._refuse_nan(float("nan"), self.history.n_epochs - 1)

    def _refuse_nan(self, loss: float, epoch: int) -> None:
        if not isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} in epoch {epoch + 1}; pass a lower lr (now {self.options.lr:g}), "
                "scale or clip extreme values of X, or use a body with batch normalisation"
            )

    @torch.no_grad()
    def _validate(self, epoch: int) -> None:
        if self.validation is None:
            self.history.best_epoch = epoch + 1
            return
        self.network.eval()
        inputs = self.validation.inputs
        parts = [
            self._outputs(inputs.batch(rows), None)
            for rows in torch.arange(len(self.validation)).split(inputs.rows_at_once)
        ]
        # Of all rows at once: SelectiveNet's loss is a ratio and a penalty of means, not a mean of losses.
        outputs = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        weight = None if self.validation.weight is None else self.validation.weight.to(self.device)
        loss = float(self.method.loss(outputs, self.validation.labels.to(self.device), weight))
        self._refuse_nan(loss, epoch)
        # The method's own epochs are not compared with its pretraining.
        n_pretrained = self.method.pretrain_epochs
        if loss < min(self.history.validation_loss[n_pretrained:], default=inf):
            self.history.best_epoch = epoch + 1
            if epoch >= n_pretrained:
                self.best_weights = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.history.validation_loss.append(loss)

    # ---- checkpoints ----

    def _checkpoint(self) -> Path | None:
        """Return the checkpoint file, named by a hash of options, initial network and rows; None without a folder."""
        if self.options.checkpoint_folder is None:
            return None
        where = f"{self.device.type} {low_precision(self.device, self.options.precision)}"
        description = f"{self.method!r} {self.options.description()} {where} {self.seed}"
        # Modules that print alike may be of different classes.
        kinds = [type(module) for module in self.network.modules()]
        modules = " ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
        digest = sha256(f"{description}\n{self.network}\n{modules}".encode())
        parts = [part for part in (self.rows, self.validation) if part is not None]
        content = [tensor for part in parts for tensor in (*part.inputs.tensors, part.labels, part.weight)]
        for tensor in (*self.network.state_dict().values(), *content):
            if tensor is not None:
                array = tensor.cpu().numpy()
                digest.update(f"{array.shape} {array.dtype}".encode())
                digest.update(np.ascontiguousarray(array).data if array.size else b"")
        folder = Path(self.options.checkpoint_folder)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{digest.hexdigest()[:24]}.pt"

    def state(self) -> dict[str, Any]:
        """Return everything that changes during training, as tensors and plain values."""
        is_cuda = self.device.type == "cuda"
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "targets": self.targets,
            "best_weights": self.best_weights,
            "history": vars(self.history),
            "generator": self.generator.get_state(),
            "random_state": torch.get_rng_state(),
            "random_state_of_gpu": torch.cuda.get_rng_state(self.device) if is_cuda else None,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore a state returned by :meth:`state`."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.targets, self.best_weights = state["targets"], state["best_weights"]
        self.history = History(**state["history"])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["random_state"])
        if state["random_state_of_gpu"] is not None:
            torch.cuda.set_rng_state(state["random_state_of_gpu"], self.device)


@torch.no_grad()
def score(
    network: Network, rows: TableTensors, method: NetworkMethod, options: NetworkOptions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return probabilities and selection scores of rows from a trained network."""
    # The device of the training, or the processor on a machine that lacks it.
    is_gpu = options.device != "auto" and torch.device(options.device).type == "cuda"
    device = torch.device("cpu") if is_gpu and not torch.cuda.is_available() else find_device(options.device)
    network = network.to(device).eval()
    answers: list[Answers] = []
    # Never in 16 bits, which have a few hundred different values between 0 and 1: bands cannot cut ties.
    for part in torch.arange(len(rows)).split(rows.rows_at_once):
        outputs = network(*(tensor.to(device) for tensor in rows.batch(part)))
        answers.append(Answers(*(values.cpu() for values in method.answers(outputs))))
    probabilities, selection = (torch.cat(values).numpy() for values in zip(*answers, strict=True))
    return probabilities, selection


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write the state of a training; if the process is killed, the file holds the old or the new state."""
    with whole_file(path) as file:
        torch.save(state, file)


@contextmanager
def _progress_bar(options: NetworkOptions, n_steps: int, *, done: int) -> Iterator[Callable[[Tensor], None]]:
    """Show a progress bar over all steps, with `done` epochs filled; yield a function that shows loss and coverage."""
    if not options.verbose:
        yield lambda seen: None  # noqa: ARG005
        return
    try:
        from tqdm import tqdm  # noqa: PLC0415  (only a training that is watched needs it)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'verbose needs tqdm, which is not installed; run: pip install "aucross[torch]", or pass verbose=0',
            name=error.name,
        ) from error
    steps = {"total": options.max_epochs * n_steps, "initial": done * n_steps}
    with tqdm(**steps, unit="step", leave=options.verbose > 1) as bar:

        def show(seen: Tensor) -> None:
            loss, coverage = seen.tolist()
            bar.set_postfix({"loss": f"{loss:.4f}", "coverage": f"{coverage:.3f}"}, refresh=False)
            bar.set_description(f"epoch {bar.n // n_steps + 1}", refresh=False)
            bar.update()

        yield show
