"""Tables of pandas that a model holds: columns, indexes and frames as arrays of numpy, with the type of each column.

A column of text has no array of numpy behind it, but one of Arrow, whose buffers nothing here could check. So its
values are stored, and pandas makes the column anew.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np

from aucross.files.forms import BySteps
from aucross.files.sklearn_parts import plain_array, whole_number

State = dict[str, Any]

# Types of columns that pandas has beside those of numpy.
_TYPE = re.compile(r"str|string|boolean|U?Int(8|16|32|64)|Float(32|64)")
_NAMES = (str, int, float, bool, tuple, type(None))


def _must(condition: Any, rule: str) -> None:
    if not condition:
        raise ValueError(f"a table of pandas is refused: {rule}")


def _pandas() -> Any:
    return import_module("pandas")


def _values(column: Any) -> Any:
    """The values of a column or an index: an array of numpy where there is one, or an array of pandas."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def _checked_values(values: Any) -> Any:
    is_array = isinstance(values, np.ndarray | _pandas().api.extensions.ExtensionArray)
    _must(is_array and values.ndim == 1, "a column must be an array of one dimension")
    return values


def _checked_index(value: Any) -> Any:
    _must(isinstance(value, _pandas().Index), "rows and columns must be named by an index")
    return value


def _checked_name(state: State) -> Any:
    _must(isinstance(state["name"], _NAMES), "a name must be text or a number")
    return state["name"]


# ---- arrays of pandas ----


def take_array(array: Any) -> State:
    """The values as objects, and the name of the type."""
    return {"values": np.asarray(array.astype(object)), "dtype": str(array.dtype)}


def put_array(cls: Any, state: State) -> Any:  # noqa: ARG001
    """The array that pandas makes of the values."""
    values = plain_array(state, "values", "O", 1)
    _must(isinstance(state["dtype"], str) and _TYPE.fullmatch(state["dtype"]), "its type must be one of the list")
    return _pandas().array(values, dtype=state["dtype"])


def take_categorical(array: Any) -> State:
    """The codes, and the categories that they stand for."""
    return {"codes": np.asarray(array.codes), **take_categorical_type(array.dtype)}


def put_categorical(cls: Any, state: State) -> Any:
    """Codes that are among the categories, which pandas checks."""
    codes = plain_array(state, "codes", "i", 1)
    return cls.from_codes(codes, dtype=put_categorical_type(_pandas().CategoricalDtype, state))


def take_categorical_type(dtype: Any) -> State:
    """The categories in their order."""
    return {"frame_categories": dtype.categories, "ordered": dtype.ordered}


def put_categorical_type(cls: Any, state: State) -> Any:
    """Categories that are all different, which pandas checks."""
    _must(state["ordered"] in (None, False, True), "categories are ordered or not")
    categories = state["frame_categories"]
    return cls(None if categories is None else _checked_index(categories), ordered=state["ordered"])


# ---- indexes, columns, frames ----


def take_index(index: Any) -> State:
    """The values and the name."""
    return {"frame_values": _values(index), "name": index.name}


def put_index(cls: Any, state: State) -> Any:
    """An index of the class that was stored."""
    values = _checked_values(state["frame_values"])
    index = _pandas().Index(values, dtype=values.dtype, name=_checked_name(state))
    _must(type(index) is cls, f"its values make a {type(index).__name__} and no {cls.__name__}")
    return index


def take_range(index: Any) -> State:
    """The numbers that make up a range, and the name."""
    return {"start": index.start, "stop": index.stop, "step": index.step, "name": index.name}


def put_range(cls: Any, state: State) -> Any:
    """A range of whole numbers."""
    start, stop, step = (whole_number(state, name, -(2**62)) for name in ("start", "stop", "step"))
    return cls(start, stop, step, name=_checked_name(state))


def take_series(series: Any) -> State:
    """The values, the index and the name."""
    return {"frame_values": _values(series), "frame_index": series.index, "name": series.name}


def put_series(cls: Any, state: State) -> Any:
    """A column with as many values as its index has."""
    return _column(cls, state["frame_values"], state["frame_index"], _checked_name(state))


def _column(cls: Any, values: Any, index: Any, name: Any = None) -> Any:
    values = _checked_values(values)
    _must(len(values) == len(_checked_index(index)), "each row must have a value in each column")
    return cls(values, index=index, dtype=values.dtype, name=name)


def take_frame(frame: Any) -> State:
    """The columns one by one, and how rows and columns are named."""
    columns = [_values(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return {"frame_values": columns, "frame_columns": frame.columns, "frame_index": frame.index}


def put_frame(cls: Any, state: State) -> Any:
    """A frame of columns that have one length."""
    columns, index, values = _checked_index(state["frame_columns"]), state["frame_index"], state["frame_values"]
    _must(isinstance(values, list) and len(values) == len(columns), "each column must have a name")
    made = {place: _column(_pandas().Series, column, index) for place, column in enumerate(values)}
    frame = cls(made, index=_checked_index(index))
    frame.columns = columns
    return frame


ARRAY = BySteps(frozenset({"values", "dtype"}), take_array, put_array)
CATEGORICAL = BySteps(frozenset({"codes", "frame_categories", "ordered"}), take_categorical, put_categorical)
CATEGORICAL_TYPE = BySteps(frozenset({"frame_categories", "ordered"}), take_categorical_type, put_categorical_type)
INDEX = BySteps(frozenset({"frame_values", "name"}), take_index, put_index)
RANGE = BySteps(frozenset({"start", "stop", "step", "name"}), take_range, put_range)
SERIES = BySteps(frozenset({"frame_values", "frame_index", "name"}), take_series, put_series)
FRAME = BySteps(frozenset({"frame_values", "frame_columns", "frame_index"}), take_frame, put_frame)
