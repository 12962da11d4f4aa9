"""Categories that fitted models know, found in encoders at their start and in the models that they wrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

from aucross.core.missing import is_missing
from aucross.estimators.fold_ensemble import FoldEnsemble


class EncodedColumn(NamedTuple):
    """A column that a fitted model reads as categories, the categories it knows, and whether it kept all it saw."""

    name: str
    categories: list[Any]
    is_complete: bool


def known_categories(models: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the categories that fitted models know, by column; if two models read a column, the longer list."""
    found: dict[str, list[Any]] = {}
    for model in models:
        for column in encoded_columns(model):
            found[column.name] = max(found.get(column.name, []), column.categories, key=len)
    return found


def encoded_columns(
    model: Any, names: Sequence[Any] | None = None, *, keeps: Callable[[Any], Any] = lambda _: None
) -> Iterator[EncodedColumn]:
    """Yield the columns whose categories a fitted model knows, from encoders at its start and models it wraps.

    `names` are the columns that a step gets; `keeps` gives the categories that a model without an encoder keeps.
    """
    if wrapped := _wrapped(model):
        for each in wrapped:
            yield from encoded_columns(each, names, keeps=keeps)
        return
    names = getattr(model, "feature_names_in_", None) if names is None else names
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            names = getattr(step, "feature_names_in_", None) if names is None else names
            found = list(encoded_columns(step, names, keeps=keeps))
            yield from found
            if found or isinstance(step, ColumnTransformer | FeatureUnion):  # others read what these have made
                return
    elif isinstance(model, ColumnTransformer):
        for _, part, columns in getattr(model, "transformers_", ()):
            yield from () if isinstance(part, str) else encoded_columns(part, _chosen(columns, names), keeps=keeps)
    elif names is not None:
        yield from _encoded_by(model, names, keeps)


def _encoded_by(encoder: Any, names: Sequence[Any], keeps: Callable[[Any], Any]) -> Iterator[EncodedColumn]:
    known = getattr(encoder, "categories_", None)
    known = keeps(encoder) if known is None else known
    if known is None or len(known) != len(names):
        return
    is_complete = isinstance(getattr(encoder, "categories", "auto"), str)  # others were told what to know
    for name, values in zip(names, known, strict=True):
        found = [value for value in np.asarray(values, dtype=object).tolist() if not is_missing(value)]
        yield EncodedColumn(str(name), found, is_complete)


def _wrapped(model: Any) -> list[Any]:
    """Return the fitted models that read the rows of another model unchanged; trees of a forest are left out."""
    if isinstance(model, FeatureUnion):
        return [part for _, part in model.transformer_list]
    if isinstance(calibrated := getattr(model, "calibrated_classifiers_", None), list):
        return [each.estimator for each in calibrated]
    if isinstance(model, VotingClassifier | StackingClassifier | FoldEnsemble):
        return list(getattr(model, "estimators_", ()))
    found = [getattr(model, name, None) for name in ("best_estimator_", "estimator_")]
    found.append(model.estimator if isinstance(model, FrozenEstimator) else None)
    return [each for each in found if each is not None][:1]


def _chosen(columns: Any, names: Sequence[Any] | None) -> Sequence[Any]:
    """Return the column names of a part of a ColumnTransformer, given by name, by position or by a mask."""
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):
        known = list(names if names is not None else ())
        first, last = (None if end is None else known.index(end) for end in (columns.start, columns.stop))
        return known[first : None if last is None else last + 1]
    chosen = columns if isinstance(columns, slice) else np.atleast_1d(np.asarray(columns))
    if isinstance(chosen, np.ndarray) and (chosen.dtype.kind not in "iub" or not len(chosen)):
        return list(chosen)
    return [] if names is None else list(np.asarray(names, dtype=object)[chosen])
