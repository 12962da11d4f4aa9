"""The target column: two labels, one of them positive."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aucross.cli.columns import as_text
from aucross.cli.errors import CommandError, listed
from aucross.cli.numbers import NumberFormat

# Labels that say themselves which of them is the positive one.
_NEGATIVE_AND_POSITIVE = ({"0", "1"}, {"False", "True"})


def label_text(values: Any) -> pa.Array:
    """Labels as text in one spelling, 1 for 1.0 and True for true; null where a label is missing."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    text = as_text(values if pa.types.is_dictionary(values.type) else values.cast(pa.string()))
    encoded = text.dictionary_encode()
    spelled = pa.array([spelling(label) for label in encoded.dictionary.to_pylist()], pa.string())
    return spelled.take(encoded.indices)


def spelling(label: str) -> str:
    """The spelling of a label that stands for all of its spellings."""
    label = label.strip()
    if label.casefold() in ("true", "false"):
        return label.capitalize()
    is_code = re.match(r"[+-]?0[0-9]", label) is not None
    if re.match(NumberFormat().pattern, label) and not is_code and float(label).is_integer():
        return str(int(float(label)))
    return label


def choose_labels(target: str, text: pa.Array, positive: str | None) -> tuple[str, str]:
    """The negative and the positive label of a training column."""
    labels = sorted(text.drop_null().unique().to_pylist())
    if not labels:
        raise CommandError(f"target {target!r} has no values at all; name another column with --target")
    if len(labels) == 1:
        raise CommandError(
            f"target {target!r} must hold two classes, got only {labels[0]!r}; add rows of the other class, or name "
            "another column with --target"
        )
    if len(labels) > 2:
        raise CommandError(
            f"target {target!r} must be binary, got {len(labels)} classes{_named(labels)}; make it a column of "
            "two values, or name another one with --target"
        )
    return _ordered(target, labels, positive)


def _named(labels: list[str]) -> str:
    """A few labels; so many that they may be people's names stay unnamed."""
    return f": {listed(labels, 5)}" if len(labels) <= _MOST_TO_NAME else ""


# More values than this make no classes.
_MOST_TO_NAME = 20


def _ordered(target: str, labels: list[str], positive: str | None) -> tuple[str, str]:
    if positive is None:
        if set(labels) not in _NEGATIVE_AND_POSITIVE:
            raise CommandError(
                f"target {target!r} holds {labels[0]!r} and {labels[1]!r}; say which is the positive class with "
                f"--positive {shlex.quote(labels[0])} or --positive {shlex.quote(labels[1])}"
            )
        return labels[0], labels[1]
    if (chosen := spelling(positive)) not in labels:
        raise CommandError(
            f"--positive: target {target!r} has no value {positive!r}; it holds {labels[0]!r} and {labels[1]!r}"
        )
    negative = labels[1] if chosen == labels[0] else labels[0]
    return negative, chosen


def is_positive(target: str, text: pa.Array, labels: tuple[str, str]) -> NDArray[np.int64]:
    """1 for the positive label and 0 for the negative one, refusing all others."""
    unknown = pc.invert(pc.is_in(text, value_set=pa.array(labels)))
    if pc.any(unknown).as_py():
        others = text.filter(unknown).unique().to_pylist()
        raise CommandError(
            f"target {target!r} must hold {labels[0]!r} and {labels[1]!r}, as in training, got also {len(others)} "
            f"other value(s){_named(others)}; correct or remove those rows"
        )
    return np.asarray(pc.equal(text, labels[1]).to_numpy(zero_copy_only=False), dtype=np.int64)


def output_labels(labels: tuple[str, str]) -> pa.Array:
    """Both labels in the type of a table to write: whole numbers, booleans or text."""
    if set(labels) == {"False", "True"}:
        return pa.array([label == "True" for label in labels])
    is_whole = all(re.fullmatch(r"-?[0-9]{1,18}", label) and str(int(label)) == label for label in labels)
    return pa.array([int(label) for label in labels] if is_whole else list(labels))
