"""The parameters that all network estimators share: their text and how they become options."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature
from typing import Any, TypeVar

from aucross.torch.options import NetworkOptions

Documented = TypeVar("Documented", bound=type)

_TEXT = """max_epochs : int, default=300
        Passes over the training rows.
    batch_size : int, default=128
        Rows of one step. The paper takes 32 for Adult and UCICredit, 512 for Lending, 128 for the others.
    lr : float, default=0.1
        Learning rate of stochastic gradient descent; the highest one of a one-cycle schedule.
    schedule : {"step", "one-cycle"} or None, default="step"
        How the rate changes: halved every 25 epochs as in the paper; up during the first three tenths of the
        training and then down to nearly nothing, which needs far fewer epochs; or not at all.
    momentum : float in [0, 1), default=0.9
        Nesterov momentum.
    weight_decay : float, default=0.0
        Pull of the weights towards zero.
    validation_size : float in (0, 1), optional
        Share of the training rows kept out to see when to stop: the weights with the lowest loss on them are used;
        of self-adaptive training the cross entropy of the classes. None trains for all epochs.
    patience : int, default=20
        Epochs without a lower validation loss after which training stops.
    {image parameters}
    precision : {"auto", "float32", "float64", "mixed"}, default="auto"
        Type of numbers. ``"mixed"`` trains the layers of the body in 16 bits, as ``"auto"`` does on a GPU; on a
        processor ``"auto"`` is float32. Rows are always scored in at least 32 bits. With float64 the scores of a row
        depend on the rows scored with it by rounding alone.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``; ``"auto"`` takes a GPU where there is one.
    n_threads : int, optional
        Threads of torch while this estimator computes; None leaves torch's own number.
    checkpoint_folder : path-like, optional
        Folder to write the state of the training to after each epoch. A training with the same rows, options and seed
        that was killed goes on from there, with the result that it would have had. Needs an integer `random_state`.
        Remove the folder when it is no longer needed.
    warm_start : bool, default=False
        Whether another fit goes on from the weights of the one before, for `max_epochs` more.
    verbose : int, default=0
        1 shows a progress bar with loss and coverage, 2 leaves it on the screen."""

_IMAGE_TEXT = """augment : {"flip+crop", "flip"} or None, default="flip+crop"
        How training images are changed at random: mirrored, and moved by up to an eighth. Tables are never changed.
    half_size_epochs : int, default=0
        First epochs, in which images are trained on at half their height and width, in less than half the time."""


def with_shared_parameters(cls: Documented) -> Documented:
    """Write the text of the shared parameters into a class's documentation."""
    if cls.__doc__ is None:  # python -OO
        return cls
    has_images = "augment" in signature(cls).parameters
    text = _TEXT.replace("    {image parameters}\n", f"    {_IMAGE_TEXT}\n" if has_images else "")
    cls.__doc__ = cls.__doc__.replace("{shared parameters}", text)
    return cls


def options_of(estimator: Any) -> NetworkOptions:
    """The options that an estimator's parameters mean."""
    parameters = estimator.get_params(deep=False)
    return NetworkOptions(
        **{part.name: parameters[part.name] for part in fields(NetworkOptions) if part.name in parameters}
    )
