"""Images as tensors: stored as bytes; each batch is augmented and scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from aucross.torch.devices import Precision, tensor_type
from aucross.torch.table_encoder import TableTensors

Augment = Literal["flip+crop", "flip"] | None
AUGMENTS = ("flip+crop", "flip", None)

# Pixels by which a crop may be off, for images of 32 pixels; larger images in proportion.
_SHIFT_OF_32 = 4


def is_images(X: Any) -> bool:
    """Return whether rows are images, that is, an array of four dimensions."""
    return getattr(X, "ndim", 2) == 4


def check_images(X: Any, shape: tuple[int, ...] | None = None) -> NDArray[np.uint8]:
    """Return images as bytes; refuse a shape other than the (height, width, 3) seen in fit."""
    of_grey = "repeat a grey channel three times"
    if not is_images(X):
        found = f"shape {X.shape}" if hasattr(X, "shape") else f"a {type(X).__name__}"
        hint = of_grey if getattr(X, "ndim", 2) == 3 else "tables go to ResNetClassifier or to a body for tables"
        raise ValueError(f"X must hold images as an array of shape (n, height, width, 3), got {found}; {hint}")
    X = np.asarray(X)
    if X.shape[3] != 3:
        hint = "channels come last: pass X.transpose(0, 2, 3, 1)" if X.shape[1] == 3 else of_grey
        raise ValueError(f"X must hold images of shape (height, width, 3), got {X.shape[1:]}; {hint}")
    if X.dtype != np.uint8:
        raise ValueError(
            f"X must hold images as bytes from 0 to 255, got {X.dtype}; pass (255 * X).astype(np.uint8) if they go "
            "from 0 to 1"
        )
    if shape is not None and X.shape[1:] != tuple(shape):
        raise ValueError(f"X must hold images of the shape seen in fit, {tuple(shape)}, got {X.shape[1:]}; resize them")
    return X


@dataclass(frozen=True)
class ImageScale:
    """Size of the training images, and mean and standard deviation of each channel, whose values are 0 to 255."""

    height: int
    width: int
    means: list[float]
    deviations: list[float]

    @classmethod
    def fit(cls, X: NDArray[np.uint8]) -> Self:
        """Compute size, means and deviations from training images."""
        counts = np.stack([np.bincount(X[..., channel].ravel(), minlength=256) for channel in range(3)])
        shares, values = counts / counts.sum(axis=1, keepdims=True), np.arange(256)
        means = shares @ values
        variances = shares @ values**2 - means**2
        deviations = np.sqrt(np.maximum(variances, 1.0))
        return cls(X.shape[1], X.shape[2], means.tolist(), deviations.tolist())


@dataclass(frozen=True)
class ImageTensors(TableTensors):
    """Images as a tensor of bytes of shape (n, height, width, 3), from which batches are taken."""

    rows_at_once: ClassVar[int] = 256

    scale: ImageScale
    augment: Augment
    precision: Precision

    @classmethod
    def of_images(cls, X: NDArray[np.uint8], scale: ImageScale, *, augment: Augment, precision: Precision) -> Self:
        """Build from images, sharing their memory if it is writable."""
        X = np.ascontiguousarray(X)
        return cls((torch.from_numpy(X if X.flags.writeable else X.copy()),), scale, augment, precision)

    def batch(
        self, rows: Tensor, generator: torch.Generator | None = None, *, half_size: bool = False
    ) -> tuple[Tensor, ...]:
        """Return some images scaled, and augmented if there is a generator."""
        (pixels,) = self.tensors
        if generator is None or self.augment is None:
            pixels = pixels[rows]
        else:
            pixels = changed_images(pixels, rows, generator, crop=self.augment == "flip+crop")
        dtype = tensor_type(self.precision)
        means, deviations = (torch.tensor(values, dtype=dtype) for values in (self.scale.means, self.scale.deviations))
        # In memory the channels stay last, which is what convolutions are fastest with.
        images = pixels.to(dtype).sub_(means).div_(deviations).permute(0, 3, 1, 2)
        return (functional.avg_pool2d(images, 2) if half_size else images,)


def changed_images(pixels: Tensor, rows: Tensor, generator: torch.Generator, *, crop: bool) -> Tensor:
    """Return images, mirrored with probability 1/2 and, with `crop`, moved by up to an eighth of their size.

    Pixels that move in from outside are filled by reflection at the edge.
    """
    _, height, width, _ = pixels.shape
    lines = torch.arange(height).expand(len(rows), -1)
    columns = torch.arange(width).expand(len(rows), -1)
    mirrored = torch.rand(len(rows), 1, generator=generator) < 0.5
    if crop:
        lines = _moved(lines, height, generator)
        columns = _moved(columns, width, generator)
    columns = torch.where(mirrored, width - 1 - columns, columns)
    return pixels[rows[:, None, None], lines[:, :, None], columns[:, None, :]]


def _moved(positions: Tensor, size: int, generator: torch.Generator) -> Tensor:
    most = _SHIFT_OF_32 * size // 32
    moved = (positions + torch.randint(-most, most + 1, (len(positions), 1), generator=generator)).abs()
    return torch.where(moved >= size, 2 * (size - 1) - moved, moved)
