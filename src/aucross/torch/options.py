"""Options of a training: checks, the learning rate of each step, and shared text for docstrings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from math import cos, isfinite, pi
from typing import Any, Literal, TypeVar

import numpy as np

from aucross.torch.devices import PRECISIONS, Precision, find_device
from aucross.torch.images import AUGMENTS, Augment

Documented = TypeVar("Documented", bound=type)
Schedule = Literal["step", "one-cycle"] | None
SCHEDULES = ("step", "one-cycle", None)

# The paper halves the rate every 25 epochs.
_EPOCHS_PER_STEP = 25
# The one-cycle schedule (Smith and Topin 2018) rises for this share of the steps, from and to these parts of the rate.
_RISING_SHARE = 0.3
_FIRST_PART = 0.04
_LAST_PART = 0.0004

# What the result of a training does not depend on.
_WITHOUT_EFFECT = ("n_threads", "checkpoint_folder", "verbose")


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingParameters:
    """Parameters shared by all network estimators, whose docstrings explain them."""

    max_epochs: int = 300
    batch_size: int = 128
    lr: float = 0.1
    schedule: Schedule = "step"
    momentum: float = 0.9
    weight_decay: float = 0.0
    validation_size: float | None = None
    patience: int = 20
    precision: Precision = "auto"
    device: Any = "auto"
    n_threads: int | None = None
    checkpoint_folder: str | os.PathLike[str] | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class ImageParameters(TrainingParameters):
    """Parameters of estimators that can also train on images."""

    augment: Augment = "flip+crop"
    half_size_epochs: int = 0


@dataclass(kw_only=True)
class NetworkOptions(ImageParameters):
    """Values of the training parameters for one training."""

    def __post_init__(self) -> None:
        hold_plain_numbers(self)

    def check(self) -> None:
        """Refuse options that cannot work, before anything is computed."""
        for name in ("max_epochs", "batch_size", "patience"):
            check_count(name, getattr(self, name))
        check_number("lr", self.lr, above=0.0, remedy="pass 0.1")
        check_number("momentum", self.momentum, at_least=0.0, below=1.0, remedy="pass 0.9")
        check_number("weight_decay", self.weight_decay, at_least=0.0, remedy="pass 0.0005, or 0 for none")
        if self.validation_size is not None:
            check_number("validation_size", self.validation_size, above=0.0, below=1.0, remedy="pass 0.1 for a tenth")
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("augment", self.augment, AUGMENTS)
        check_choice("precision", self.precision, PRECISIONS)
        check_early_epochs("half_size_epochs", self.half_size_epochs, self.max_epochs, "to learn from whole images")
        if self.n_threads is not None:
            check_count("n_threads", self.n_threads, ", or None for torch's own")
        find_device(self.device)

    def learning_rate(self, epoch: int, step: int, n_steps: int) -> float:
        """Return the learning rate of a step, given finished epochs, finished steps and steps per epoch."""
        if self.schedule == "step":
            return self.lr * 0.5 ** (epoch // _EPOCHS_PER_STEP)
        if self.schedule is None:
            return self.lr
        done = (epoch * n_steps + step) / max(1, self.max_epochs * n_steps - 1)
        start, end, share = (
            (_FIRST_PART, 1.0, done / _RISING_SHARE)
            if done < _RISING_SHARE
            else (1.0, _LAST_PART, (done - _RISING_SHARE) / (1 - _RISING_SHARE))
        )
        return self.lr * (end + (start - end) * (1 + cos(pi * share)) / 2)

    def description(self) -> str:
        """Return all options that affect the result, as text."""
        return repr({name: value for name, value in asdict(self).items() if name not in _WITHOUT_EFFECT})


def hold_plain_numbers(instance: Any) -> None:
    """Convert numpy numbers in the fields of a new dataclass to Python numbers, which checkpoints can hold."""
    for part in fields(instance):
        value = getattr(instance, part.name)
        if isinstance(value, np.generic):
            object.__setattr__(instance, part.name, value.item())


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is not among the choices."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_count(name: str, value: Any, otherwise: str = "", *, least: int = 1) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number from {least}{otherwise}, got {value!r}")


def check_early_epochs(name: str, value: Any, max_epochs: int, purpose: str) -> None:
    """Refuse a first phase of training that leaves no epoch for the second."""
    check_count(name, value, least=0)
    if value >= max_epochs:
        raise ValueError(
            f"{name} must be below max_epochs, got {value} and {max_epochs}: no epoch would be left {purpose}"
        )


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    remedy: str,
) -> None:
    """Refuse a value that is not a number or is outside the limits."""
    limits = {"above": above, "at least": at_least, "below": below, "at most": at_most}
    wanted = " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)
    fits = (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (below is None or value < below)
        and (at_most is None or value <= at_most)
        and isfinite(value)
    )
    if not fits:
        raise ValueError(f"{name} must be a number {wanted}, got {value!r}; {remedy}")


# ---- the parameters that all network estimators share ----

_TEXT = """max_epochs : int, default=300
        Passes over the training rows.
    batch_size : int, default=128
        Rows of one step. The paper takes 32 for Adult and UCICredit, 512 for Lending, 128 for the others.
    lr : float, default=0.1
        Learning rate of stochastic gradient descent; the highest one of a one-cycle schedule.
    schedule : {"step", "one-cycle"} or None, default="step"
        How the rate changes: ``"step"`` halves it every 25 epochs as in the paper; ``"one-cycle"`` raises it in the
        first three tenths of the training and then lowers it to almost 0, which needs far fewer epochs; None keeps it.
    momentum : float in [0, 1), default=0.9
        Nesterov momentum.
    weight_decay : float, default=0.0
        Strength of the pull of the weights towards zero (L2 penalty).
    validation_size : float in (0, 1), optional
        Share of the training rows held out to decide when to stop. The weights with the lowest loss on these rows are
        used (for self-adaptive training, the cross entropy over the classes). None trains for all epochs.
    patience : int, default=20
        Epochs without a lower validation loss after which training stops.
    {image parameters}
    precision : {"auto", "float32", "float64", "mixed"}, default="auto"
        Number type. ``"mixed"`` trains the layers of the body in 16 bits, as ``"auto"`` does on a GPU; on a CPU
        ``"auto"`` is float32. Rows are always scored in at least 32 bits. With float64, the other rows of a call change
        the score of a row only by rounding.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``; ``"auto"`` uses a GPU if there is one.
    n_threads : int, optional
        Number of torch threads while this estimator computes; None keeps the setting of torch.
    checkpoint_folder : path-like, optional
        Folder to write the state of the training to after each epoch. A killed training that is started again with the
        same rows, options and seed continues from there and gives the result of an uninterrupted one. Needs an integer
        `random_state`. Delete the folder yourself.
    warm_start : bool, default=False
        Whether a further fit continues from the weights of the last one, for another `max_epochs`.
    verbose : int, default=0
        1 shows a progress bar with loss and coverage, 2 leaves it on the screen."""

_IMAGE_TEXT = """augment : {"flip+crop", "flip"} or None, default="flip+crop"
        Random changes of training images: mirrored, and moved by up to an eighth. Tables are never changed.
    half_size_epochs : int, default=0
        First epochs, in which images are trained on at half their height and width, in less than half the time."""


def with_shared_parameters(texts: Mapping[str, str] | None = None) -> Callable[[Documented], Documented]:
    """Return a decorator that fills the places in braces of a class docstring with shared text."""

    def write(cls: Documented) -> Documented:
        if cls.__doc__ is not None:  # python -OO has none
            images = f"    {_IMAGE_TEXT}\n" if issubclass(cls, ImageParameters) else ""
            shared = _TEXT.replace("    {image parameters}\n", images)
            for place, text in {**(texts or {}), "shared parameters": shared}.items():
                cls.__doc__ = cls.__doc__.replace(f"{{{place}}}", text)
        return cls

    return write


def options_of(estimator: Any) -> NetworkOptions:
    """Return the training options from the parameters of an estimator."""
    parameters, known = estimator.get_params(deep=False), {part.name for part in fields(NetworkOptions)}
    return NetworkOptions(**{name: value for name, value in parameters.items() if name in known})
