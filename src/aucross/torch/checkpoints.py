"""Checkpoints: a training that was killed goes on where it was when it is started again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import torch
from aucross.system.files import whole_file
from torch import nn


@dataclass(frozen=True)
class Checkpoint:
    """The file of one training, named by what the training depends on."""

    path: Path

    @classmethod
    def of(cls, folder: str | os.PathLike[str], description: str, network: nn.Module, arrays: Iterable[Any]) -> Self:
        """Name the file of a training.

        Parameters
        ----------
        folder : path-like
            Where checkpoints are; it is made if it is not there.
        description : str
            Everything in words that the result depends on.
        network : Module
            The network before the first step.
        arrays : iterable of arrays
            Inputs, labels, weights.
        """
        # Modules that print alike may be of different classes.
        modules = " ".join(f"{type(module).__module__}.{type(module).__qualname__}" for module in network.modules())
        digest = sha256(f"{description}\n{network}\n{modules}".encode())
        for value in network.state_dict().values():
            _add(digest, value.cpu().numpy())
        for array in arrays:
            _add(digest, np.asarray(array))
        Path(folder).mkdir(parents=True, exist_ok=True)
        return cls(Path(folder) / f"{digest.hexdigest()[:24]}.pt")

    def read(self) -> dict[str, Any] | None:
        """What was written last, or None."""
        if not self.path.exists():
            return None
        # Tensors and plain values only: nothing in the file is run.
        return torch.load(self.path, map_location="cpu", weights_only=True)

    def write(self, state: dict[str, Any]) -> None:
        """Write so that a kill leaves the old content or the new one."""
        with whole_file(self.path) as file:
            torch.save(state, file)


def _add(digest: Any, array: NDArray[Any]) -> None:
    digest.update(f"{array.shape} {array.dtype}".encode())
    digest.update(np.ascontiguousarray(array).data if array.size else b"")
