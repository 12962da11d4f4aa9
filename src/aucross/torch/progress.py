"""A progress bar with loss and coverage, where one is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aucross.torch.options import NetworkOptions
from torch import Tensor


class _Silent:
    """A bar that shows nothing."""

    def step(self, seen: Tensor) -> None:
        """Do nothing."""


class _Bar:
    """A bar that counts steps and shows the latest loss and coverage."""

    def __init__(self, bar: Any, n_steps: int) -> None:
        self._bar = bar
        self._n_steps = n_steps

    def step(self, seen: Tensor) -> None:
        """Count one step."""
        loss, coverage = seen.tolist()
        self._bar.set_postfix({"loss": f"{loss:.4f}", "coverage": f"{coverage:.3f}"}, refresh=False)
        self._bar.set_description(f"epoch {self._bar.n // self._n_steps + 1}", refresh=False)
        self._bar.update()


@contextmanager
def progress_bar(options: NetworkOptions, n_steps: int, *, done: int) -> Iterator[_Silent | _Bar]:
    """A bar over all steps of a training, of which `done` epochs are done."""
    if not options.verbose:
        yield _Silent()
        return
    try:
        from tqdm import tqdm  # noqa: PLC0415  (only a training that is watched needs it)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'verbose needs tqdm, which is not installed; run: pip install "aucross[torch]", or pass verbose=0',
            name=error.name,
        ) from error
    with tqdm(
        total=options.max_epochs * n_steps, initial=done * n_steps, unit="step", leave=options.verbose > 1
    ) as bar:
        yield _Bar(bar, n_steps)
