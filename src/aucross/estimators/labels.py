"""Class labels: checks of a target, and the mark of rejected rows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from aucross.estimators.types import Labels
from aucross.frames import categories_of, is_ordered, refuse_missing


def check_classes(y: NDArray[Any]) -> Labels:
    """Return the sorted classes of the labels y; raise if y holds no class labels."""
    # Missing values first: what scikit-learn says about them depends on the type of the others.
    refuse_missing(y, "y", "drop those rows")
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype.kind == "O" and not all(isinstance(label, str) for label in y):
        kinds = sorted({type(label).__name__ for label in y})
        raise ValueError(
            f"Unknown label type: an object array of {' and '.join(kinds)}; y must hold strings, integers, booleans "
            "or floats of one type, pass y.astype(int) or y.astype(str)"
        )
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got only one class: {classes.tolist()}; the AUC compares rows of two"
        )
    return classes


def plain_labels(y: Any) -> Any:
    """Convert labels of a nullable pandas type to the matching numpy type; return others unchanged."""
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or not hasattr(y, "isna"):
        return y
    return y.to_numpy(dtype=object if y.isna().any() else kind)  # missing ones are refused with the others


def in_order(classes: Labels, pos_label: Any, y: Any) -> Labels:
    """Return the classes in the order of scores: of two, the negative one first.

    The positive class is `pos_label`; by default the higher category of an ordered pandas Categorical, else the second
    class in sorted order.
    """
    if len(classes) != 2:
        if pos_label is not None:
            raise ValueError(
                f"pos_label must be None unless there are two classes, got {pos_label!r} for {len(classes)} classes; "
                "leave it out"
            )
        return classes
    positive = pos_label
    if positive is None and is_ordered(y):
        positive = next((label for label in reversed(categories_of(y) or []) if label in classes.tolist()), None)
    if positive is None:
        return classes
    if positive not in classes.tolist():
        raise no_such_class(positive, classes)
    return classes if classes.tolist()[1] == positive else classes[::-1]


def no_such_class(pos_label: Any, classes: Labels) -> ValueError:
    """Return the error for an unknown positive class; it names a class with a similar spelling, if any."""
    spelled = {str(label).casefold(): label for label in classes.tolist()}
    close = get_close_matches(str(pos_label).casefold(), spelled, n=1)
    remedy = f"pass pos_label={spelled[close[0]]!r}" if close else "pass the one that high scores speak for"
    return ValueError(f"pos_label must be one of the classes {classes.tolist()}, got {pos_label!r}; {remedy}")


def check_reject_label(reject_label: Any, classes: Labels) -> Any:
    """Return the mark of rejected rows; raise if it cannot be distinguished from the labels."""
    is_text = classes.dtype.kind == "U" or all(isinstance(label, str) for label in classes)
    if classes.dtype.kind == "b":
        raise ValueError(
            "boolean labels leave no value for reject_label: fit on integer labels (y.astype(int)) to use "
            "predict_selective, or use predict and select side by side"
        )
    remedy = _label_outside(classes, is_text)
    if reject_label is None:
        if not is_text and classes.dtype.kind != "i":
            raise ValueError(
                f"reject_label must be given for labels of type {classes.dtype}; pass for example "
                f"reject_label={remedy!r}"
            )
        reject_label = "reject" if is_text else -1
    if not _same_kind(reject_label, classes, is_text):
        raise ValueError(
            f"reject_label must be of the type of the labels ({classes.dtype}), which {reject_label!r} would "
            f"change; pass for example reject_label={remedy!r}"
        )
    if reject_label in classes.tolist():
        raise ValueError(
            f"reject_label must not be one of the classes {classes.tolist()}, got {reject_label!r}; pass for "
            f"example reject_label={remedy!r}"
        )
    return reject_label


def _same_kind(reject_label: Any, classes: Labels, is_text: bool) -> bool:
    if is_text:
        return isinstance(reject_label, str)
    value = np.asarray(reject_label)
    if value.ndim > 0 or value.dtype.kind not in "iuf":
        return False
    return classes.dtype.kind == "f" or (value.dtype.kind != "f" and _holds(classes.dtype, int(value)))


def _holds(dtype: Any, value: int) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)


def _label_outside(classes: Labels, is_text: bool) -> Any:
    """Return a value that can mark rejected rows; there are enough candidates for any two classes."""
    taken = classes.tolist()
    if is_text:
        return next(label for label in ("reject", "deferred", "withheld") if label not in taken)
    if classes.dtype.kind == "f":
        return float("nan")
    candidates = (-1, max(taken) + 1, 0, 1, 2)
    return next(label for label in candidates if label not in taken and _holds(classes.dtype, label))
