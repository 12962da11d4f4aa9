"""Tables as tensors: numbers scaled, categories as codes, missing values marked.

::

    column            becomes
    numbers           (value - mean) / deviation; the mean where it is missing, and a column of marks if the training
                      rows had missing values
    text, categories  a code for each value seen in training, 0 for any other
    yes and no        0 and 1, as a number
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aucross.frames import columns_of, is_missing, kind_of, names_of, numbers_of, values_of
from aucross.torch.devices import Precision, tensor_type

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table by kind: numbers as float64 with NaN, categories as lists of values."""

    names: list[Any]
    numbers: dict[int, FloatArray]
    categories: dict[int, list[Any]]

    @classmethod
    def of(cls, X: Any) -> TableColumns:
        """Split a pandas or polars frame or a 2-d array into its columns."""
        names = names_of(X) or [f"number {place}" for place in range(X.shape[1])]
        numbers: dict[int, FloatArray] = {}
        categories: dict[int, list[Any]] = {}
        for position, (name, column) in enumerate(zip(names, columns_of(X), strict=True)):
            values = _as_numbers(column, name)
            if values is None:
                categories[position] = _texts(values_of(column))
            else:
                numbers[position] = values
        return cls(names, numbers, categories)

    def numbers_at(self, position: int) -> FloatArray:
        """Return a column that held numbers in fit; refuse it if it now holds text."""
        if position not in self.numbers:
            example = next((value for value in self.categories[position] if value), "")
            raise ValueError(
                f"the column {self.names[position]!r} must hold numbers as in fit, got text such as {example[1:]!r}; "
                "convert it, or fit again"
            )
        return self.numbers[position]


@dataclass(frozen=True)
class TableEncoder:
    """Encodes table columns, by position, as numbers and category codes for a network."""

    means: dict[int, float]  # of the columns of numbers
    deviations: dict[int, float]
    marked: list[int]  # columns of numbers with missing values, which get a column of marks
    codes: dict[int, dict[str, int]]  # of the columns of categories: codes from 1 by value

    @classmethod
    def fit(cls, X: Any, weight: FloatArray | None = None) -> Self:
        """Learn means, deviations and categories from training rows."""
        columns = TableColumns.of(X)
        moments = {position: _mean_and_deviation(values, weight) for position, values in columns.numbers.items()}
        return cls(
            {position: mean for position, (mean, _) in moments.items()},
            {position: deviation for position, (_, deviation) in moments.items()},
            [position for position, values in columns.numbers.items() if np.isnan(values).any()],
            {
                position: {text: code for code, text in enumerate(sorted(set(values)), start=1)}
                for position, values in columns.categories.items()
            },
        )

    @property
    def n_numbers(self) -> int:
        """Number of numeric output columns, including marks of missing values."""
        return len(self.means) + len(self.marked)

    @property
    def n_codes(self) -> list[int]:
        """Number of codes of each category column, including the code for unknown values."""
        return [len(codes) + 1 for codes in self.codes.values()]

    def encode(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return numbers and codes of rows that have the columns of the training rows."""
        columns = TableColumns.of(X)
        n_rows = X.shape[0]
        scaled = np.zeros((n_rows, self.n_numbers))
        for place, (position, mean) in enumerate(self.means.items()):
            values = columns.numbers_at(position)
            scaled[:, place] = np.nan_to_num((values - mean) / self.deviations[position], nan=0.0)
        for place, position in enumerate(self.marked, start=len(self.means)):
            scaled[:, place] = np.isnan(columns.numbers_at(position))
        codes = np.zeros((n_rows, len(self.codes)), dtype=np.int64)
        for place, (position, known) in enumerate(self.codes.items()):
            values_of_column = columns.categories.get(position)
            if values_of_column is None:
                values_of_column = _texts(columns.numbers[position].tolist())
            codes[:, place] = [known.get(value, 0) for value in values_of_column]
        return scaled, codes


@dataclass(frozen=True)
class TableTensors:
    """Encoded rows as tensors of numbers and codes, from which batches are taken."""

    rows_at_once: ClassVar[int] = 4096

    tensors: tuple[Tensor, ...]

    @classmethod
    def of(cls, encoded: tuple[NDArray[np.float64], NDArray[np.int64]], precision: Precision) -> Self:
        """Copy encoded rows into tensors."""
        numbers, codes = encoded
        return cls((torch.tensor(numbers, dtype=tensor_type(precision)), torch.tensor(codes)))

    def __len__(self) -> int:
        return len(self.tensors[0])

    def batch(
        self, rows: Tensor, generator: torch.Generator | None = None, *, half_size: bool = False
    ) -> tuple[Tensor, ...]:
        """Return the inputs of some rows; `generator` and `half_size` matter only for images."""
        del generator, half_size
        return tuple(part[rows] for part in self.tensors)

    def take(self, rows: Tensor) -> Self:
        """Return some of the rows."""
        return replace(self, tensors=tuple(part[rows] for part in self.tensors))


def _as_numbers(column: Any, name: Any) -> FloatArray | None:
    """Return a column as float64 with NaN for missing values, or None if it holds categories."""
    kind = kind_of(column.dtype)
    if kind in ("category", "text"):
        return None
    if kind == "date":
        raise TypeError(
            f"the column {name!r} holds dates or times, which have no scale of their own; pass a number such as days "
            "since a date"
        )
    if kind == "other":
        values = values_of(column)
        if any(isinstance(value, str) for value in values):
            return None
        try:
            numbers = np.array([np.nan if is_missing(value) else float(value) for value in values], dtype=np.float64)
        except (TypeError, ValueError) as error:
            kinds = sorted({type(value).__name__ for value in values if not is_missing(value)})
            raise TypeError(
                f"the column {name!r} must hold numbers, text or categories, got values of type {', '.join(kinds)} "
                f"({error}); convert it first, dates for example to days since a date"
            ) from error
    else:
        numbers = numbers_of(column)
    if np.isinf(numbers).any():
        raise ValueError(f"the column {name!r} must not hold infinity; replace it by a missing or a large value")
    return numbers


def _texts(values: Iterable[Any]) -> list[str]:
    """Return values as text: empty if missing, with a leading "=" otherwise."""
    return ["" if is_missing(value) else f"={_whole(value)}" for value in values]


def _whole(value: Any) -> Any:
    """Return whole floats and booleans as integers, so that 1, 1.0 and True give the same text."""
    is_whole = isinstance(value, bool | np.bool_) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole else value


def _mean_and_deviation(values: FloatArray, weight: FloatArray | None) -> tuple[float, float]:
    present = ~np.isnan(values)
    if not present.any():
        return 0.0, 1.0
    values, weight = values[present], None if weight is None else weight[present]
    # By the largest value first: squares of huge ones are infinite.
    scale = float(np.abs(values).max()) or 1.0
    mean = float(np.average(values / scale, weights=weight))
    variance = float(np.average((values / scale - mean) ** 2, weights=weight))
    deviation = np.sqrt(variance) * scale
    # A constant is left where it is, at 0; rounding must not blow it up.
    return mean * scale, float(deviation) if deviation > 1e-12 * scale else 1.0
