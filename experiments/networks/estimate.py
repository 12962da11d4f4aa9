"""How long the trainings take on two idle cores, from measured speeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from experiments.networks.trainings import Training


class Speed(NamedTuple):
    """Rows a second of one training, and how many times as fast half-size images are."""

    rows_per_second: float
    half_size: float = 1.0


# Images: VGG16 at a quarter of the width with two threads, 10 epochs of 50,000 and 8 epochs of 20,000 images timed on
# an idle machine; the gain of half-size images from `python -m benchmarks.torch_speed`. Tables: five epochs in batches
# of 32 with one thread.
MEASURED: Mapping[str, Speed] = {
    "CIFAR-10-cat": Speed(1280, 2.1),
    "CatsVsDogs": Speed(280, 3.07),
    "Adult": Speed(8700),
    "UCICredit": Speed(7450),
}
_MEASURED_WIDTH = {"VGG16": 0.25, "ResNet": 192}
# A small step costs nearly as much as a large one: what was seen between batches of 32 and 128.
_GAIN_OF_BATCHES = 0.4
_MEASURED_BATCH = {"VGG16": 128, "ResNet": 32}
_LIGHTGBM_SECONDS = 2.0


def seconds_expected(training: Training) -> float:
    """Seconds of one training."""
    if not training.is_network:
        return _LIGHTGBM_SECONDS
    budget, speed, parameters = training.budget, MEASURED[training.dataset], training.parameters()
    half_size = parameters["max_epochs"] if training.is_gate else parameters.get("half_size_epochs", 0)
    epochs = parameters["max_epochs"] - half_size + half_size / speed.half_size
    rate = speed.rows_per_second * (budget.batch_size / _MEASURED_BATCH[budget.classifier]) ** _GAIN_OF_BATCHES
    # Weights, and so the work of a row, grow with the square of the width.
    rate *= (_MEASURED_WIDTH[budget.classifier] / budget.width) ** 2
    return epochs * len(training.parts[0]) / rate


def minutes_expected(trainings: Iterable[Training]) -> float:
    """Minutes of several trainings on two cores; those with one thread run two at a time."""
    return sum(seconds_expected(training) * training.budget.n_threads / 2 for training in trainings) / 60
