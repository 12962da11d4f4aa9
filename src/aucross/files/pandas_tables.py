"""Store the pandas tables of a model: columns, indexes and frames as numpy arrays, with the type of each column.

A column of text is an Arrow array, whose buffers cannot be checked here. So its values are stored, and pandas makes the
column from them.
"""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from aucross.files.forms import BySteps, Listed, State, must, plain_array, whole_number

# Types of columns that pandas has beside those of numpy.
_TYPE = re.compile(r"str|string|boolean|U?Int(8|16|32|64)|Float(32|64)")
_NAMES = (str, int, float, bool, tuple, type(None))

_must = partial(must, start="a table of pandas is refused: ")


def _values(column: Any) -> Any:
    """Return the values of a column or an index as a numpy array, or else as a pandas array."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def _checked_values(values: Any) -> Any:
    is_array = isinstance(values, np.ndarray | import_module("pandas").api.extensions.ExtensionArray)
    _must(is_array and values.ndim == 1, "a column must be an array of one dimension")
    return values


def _checked_index(value: Any) -> Any:
    _must(isinstance(value, import_module("pandas").Index), "rows and columns must be named by an index")
    return value


def _checked_name(name: Any) -> Any:
    _must(isinstance(name, _NAMES), "a name must be text or a number")
    return name


# ---- arrays of pandas ----


def _put_array(cls: Any, values: Any, dtype: Any) -> Any:  # noqa: ARG001
    plain_array(values, "values", "O", 1)
    _must(isinstance(dtype, str) and _TYPE.fullmatch(dtype), "its type must be one of the list")
    return import_module("pandas").array(values, dtype=dtype)


def _put_categorical_type(cls: Any, frame_categories: Any, ordered: Any) -> Any:
    """Return a categorical type; pandas checks that its categories are distinct."""
    _must(ordered in (None, False, True), "categories are ordered or not")
    return cls(None if frame_categories is None else _checked_index(frame_categories), ordered=ordered)


def _put_categorical(cls: Any, codes: Any, frame_categories: Any, ordered: Any) -> Any:
    """Return a categorical; pandas checks that its codes are among the categories."""
    plain_array(codes, "codes", "i", 1)
    kind = _put_categorical_type(import_module("pandas").CategoricalDtype, frame_categories, ordered)
    return cls.from_codes(codes, dtype=kind)


# ---- indexes, columns, frames ----


def _put_index(cls: Any, frame_values: Any, name: Any) -> Any:
    values = _checked_values(frame_values)
    index = import_module("pandas").Index(values, dtype=values.dtype, name=_checked_name(name))
    _must(type(index) is cls, f"its values make a {type(index).__name__} and no {cls.__name__}")
    return index


def _put_range(cls: Any, start: Any, stop: Any, step: Any, name: Any) -> Any:
    numbers = (whole_number(value, "a range", -(2**62)) for value in (start, stop, step))
    return cls(*numbers, name=_checked_name(name))


def _put_series(cls: Any, frame_values: Any, frame_index: Any, name: Any) -> Any:
    values = _checked_values(frame_values)
    _must(len(values) == len(_checked_index(frame_index)), "each row must have a value in each column")
    return cls(values, index=frame_index, dtype=values.dtype, name=_checked_name(name))


def _put_frame(cls: Any, frame_values: Any, frame_columns: Any, frame_index: Any) -> Any:
    columns = _checked_index(frame_columns)
    _must(isinstance(frame_values, list) and len(frame_values) == len(columns), "each column must have a name")
    series = import_module("pandas").Series
    made = {place: _put_series(series, column, frame_index, None) for place, column in enumerate(frame_values)}
    frame = cls(made, index=_checked_index(frame_index))
    frame.columns = columns
    return frame


def _take_array(array: Any) -> State:
    return {"values": np.asarray(array.astype(object)), "dtype": str(array.dtype)}


def _take_categorical(array: Any) -> State:
    return {"codes": np.asarray(array.codes), **_take_type(array.dtype)}


def _take_type(dtype: Any) -> State:
    return {"frame_categories": dtype.categories, "ordered": dtype.ordered}


def _take_index(index: Any) -> State:
    return {"frame_values": _values(index), "name": index.name}


def _take_frame(frame: Any) -> State:
    columns = [_values(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return {"frame_values": columns, "frame_columns": frame.columns, "frame_index": frame.index}


_ARRAYS = "ArrowStringArray BooleanArray FloatingArray IntegerArray StringArray"
# Names of classes, where they are, and how they are put together and taken apart.
CLASSES = tuple(
    Listed(f"{module}.{name}", module, "frame", BySteps(put, take))
    for names, module, put, take in (
        (_ARRAYS, "pandas.arrays", _put_array, _take_array),
        ("CategoricalIndex DatetimeIndex Index", "pandas", _put_index, _take_index),
        ("Categorical", "pandas", _put_categorical, _take_categorical),
        ("CategoricalDtype", "pandas", _put_categorical_type, _take_type),
        ("DataFrame", "pandas", _put_frame, _take_frame),
        ("RangeIndex", "pandas", _put_range, None),
        ("Series", "pandas", _put_series, lambda series: {**_take_index(series), "frame_index": series.index}),
    )
    for name in names.split()
)
