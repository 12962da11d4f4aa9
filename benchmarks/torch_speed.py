"""How many images a second the training loop takes, against a plain loop of torch calls.

    python -m benchmarks.torch_speed [side-by-side]

Random images of 32 and 64 pixels, VGG16 at a quarter of its width, batches of 128, flips, stochastic gradient descent
with Nesterov momentum; as many threads as torch takes. The plain loop keeps decoded images as float tensors of shape
(3, height, width), mirrors them one by one, stacks a batch, and calls network, loss, backward and optimizer. Rounds of
the loops are interleaved; the fastest round of each counts. ``side-by-side`` compares two trainings with one thread
each, in two processes at the same time, with one training with two threads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import joblib
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from aucross.torch import VGG16
from aucross.torch.images import ImageScale, ImageTensors
from aucross.torch.methods import CrossEntropy
from aucross.torch.network_training import LabelledTensors, Training
from aucross.torch.networks import Network
from aucross.torch.options import NetworkOptions

BATCH = 128
N_BATCHES = 4
WIDTH = 0.25
N_ROUNDS = 3


def images_of(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n_images = BATCH * N_BATCHES
    return rng.integers(0, 256, (n_images, size, size, 3)).astype(np.uint8), np.arange(n_images) % 2


def plain_epoch(size: int) -> Callable[[], None]:
    pixels, labels = images_of(size)
    images = [(torch.tensor(image).permute(2, 0, 1).float() - 127.5) / 73.9 for image in pixels]
    targets = torch.tensor(labels)
    network = nn.Sequential(VGG16(width=WIDTH), nn.Linear(round(512 * WIDTH), 2))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, nesterov=True)

    def mirrored(image: Tensor) -> Tensor:
        return image.flip(2) if torch.rand(()) < 0.5 else image

    def epoch() -> None:
        network.train()
        for rows in torch.randperm(len(images)).split(BATCH):
            batch = torch.stack([mirrored(images[row]) for row in rows])
            optimizer.zero_grad()
            functional.cross_entropy(network(batch), targets[rows]).backward()
            optimizer.step()

    return epoch


def our_epoch(size: int, *, half_size: bool = False) -> Callable[[], None]:
    pixels, labels = images_of(size)
    rows = ImageTensors.of_images(pixels, ImageScale.fit(pixels), augment="flip", precision="auto")
    method = CrossEntropy()
    network = Network(front=nn.Identity(), body=VGG16(width=WIDTH), heads=method.heads(round(512 * WIDTH), 2))
    network = network.to(memory_format=torch.channels_last)
    options = NetworkOptions(
        max_epochs=1000, batch_size=BATCH, lr=0.01, augment="flip", half_size_epochs=999 if half_size else 0
    )
    training = Training(
        network, LabelledTensors(rows, torch.tensor(labels)), method, options, n_classes=2, seed=0, validation=None
    )

    return lambda: training._run_epoch(lambda _: None)


def fastest(loops: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Images a second of each loop, in its fastest round."""
    times = dict.fromkeys(loops, float("inf"))
    for number in range(N_ROUNDS + 1):
        for name, epoch in loops.items():
            start = perf_counter()
            epoch()
            if number:  # the first round warms up
                times[name] = min(times[name], perf_counter() - start)
    return {name: BATCH * N_BATCHES / seconds for name, seconds in times.items()}


def images_a_second(size: int, n_threads: int) -> float:
    """Of one training, over several epochs after a first one that warms up."""
    torch.set_num_threads(n_threads)
    epoch = our_epoch(size)
    epoch()
    start = perf_counter()
    for _ in range(N_ROUNDS):
        epoch()
    return N_ROUNDS * BATCH * N_BATCHES / (perf_counter() - start)


def side_by_side() -> None:
    for size in (32, 64):
        one = images_a_second(size, 2)
        two = sum(joblib.Parallel(n_jobs=2)(joblib.delayed(images_a_second)(size, 1) for _ in range(2)))
        print(f"{size} x {size}  one training {one:5.0f} images/s, two {two:5.0f} together: {two / one:.2f} times")


def main(arguments: list[str] | None = None) -> None:
    if arguments == ["side-by-side"]:
        side_by_side()
        return
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}, {N_ROUNDS} rounds of {N_BATCHES} batches")
    for size in (32, 64):
        found = fastest(
            {
                "plain loop": plain_epoch(size),
                "training loop": our_epoch(size),
                "training loop, half-size epochs": our_epoch(size, half_size=True),
            }
        )
        for name, speed in found.items():
            print(f"{size} x {size}  {name:34s} {speed:7.0f} images/s  {speed / found['plain loop']:5.2f} times plain")


if __name__ == "__main__":
    main(sys.argv[1:])
