"""Device, precision, threads and random state for computing a network.

torch has one random generator and one number of threads per process. The functions here restore both after use, and
trainings in several threads of one process take turns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

import torch

from aucross.system.text import plural

Precision = Literal["auto", "float32", "float64", "mixed"]
PRECISIONS = ("auto", "float32", "float64", "mixed")

_turn = threading.RLock()


def find_device(device: Any) -> torch.device:
    """Return the requested device; refuse one that is not available."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f'device must be "auto", "cpu" or "cuda", got {device!r}') from error
    if found.type not in ("cpu", "cuda"):  # others lack float64, in which losses are added up
        raise ValueError(f'device must be "auto", "cpu" or "cuda", got {device!r}; pass device="cpu"')
    n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found.type == "cuda" and (found.index or 0) >= n_gpus:
        names = ", ".join(f"cuda:{number}" for number in range(n_gpus))
        there = f"{n_gpus} {plural('GPU', n_gpus)} found ({names})" if n_gpus else "no GPU found"
        raise ValueError(f'device {str(device)!r} is not available: {there}; pass device="auto"')
    return found


def tensor_type(precision: Precision) -> torch.dtype:
    """Return the type of weights and inputs."""
    return torch.float64 if precision == "float64" else torch.float32


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[Any]:
    """Return a context in which layers compute in 16 bits as `precision` says; used in training, never in scoring."""
    dtype = low_precision(device, precision)
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def low_precision(device: torch.device, precision: Precision) -> torch.dtype | None:
    """Return the 16-bit type to compute with, or None for full precision."""
    if precision != "mixed" and not (precision == "auto" and device.type == "cuda"):
        return None
    # Older GPUs emulate bfloat16, slowly, and have float16 in hardware.
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return torch.bfloat16


@contextmanager
def own_random_state(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for one training and restore its random state afterwards."""
    is_gpu = device.type == "cuda"
    with _turn, torch.random.fork_rng(devices=[device] if is_gpu else []):
        # Not torch.manual_seed, which also seeds GPUs whose state is not put back.
        torch.default_generator.manual_seed(seed)
        if is_gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


@contextmanager
def threads(n_threads: int | None) -> Iterator[None]:
    """Set the number of torch threads and restore the old number afterwards."""
    if n_threads is None:
        yield
        return
    with _turn:
        before = torch.get_num_threads()
        torch.set_num_threads(n_threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
