"""How long the trainings take on two idle cores, from measured speeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from experiments.networks.trainings import Training


class Speed(NamedTuple):
    """Rows a second of one training, and how many times as fast half-size images are."""

    rows_per_second: float
    half_size: float = 1.0


# With one thread beside another training. Images: epochs of VGG16 at a quarter of the width. Tables: five epochs in
# batches of 32. The same machine was twice as fast on other days.
MEASURED: Mapping[str, Speed] = {
    "CIFAR-10-cat": Speed(440, 2.4),
    "CatsVsDogs": Speed(105, 3.8),
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
    """Minutes of several trainings on two cores, two at a time."""
    return sum(seconds_expected(training) for training in trainings) / 2 / 60
