"""Compare the column names of new rows with those of the fit before a model sees the rows.

::

    names of the fit ──┬── the same, in the same order ──► models, and nothing else is asked
    names of new rows ─┘── others ──► does the first step that reads X compare names, or find columns by name?
                                        yes ──► models                no ──► ValueError

LightGBM, CatBoost and, for polars, XGBoost read columns by position and ignore names. If two columns are exchanged,
they score every row wrongly without a warning. A change of type is just as silent: in a column that held numbers in the
fit, XGBoost reads a category as its code, and CatBoost reads a date as nanoseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from aucross.estimators.types import Classifier, Table
from aucross.frames import is_frame, is_lazy, kinds_of, library_of, names_of, select_columns, text_names_of, types_of
from aucross.system.text import first_few

_MOST_NAMES = 5
# LightGBM reads polars and Arrow columns of these types, under either library's name for them.
_READABLE = {"boolean", "bool", "float32", "float64", "float", "double"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

_REMEDIES = {
    "polars": "cast text to pl.Categorical, then pass X.to_pandas(), which keeps the categories, or encode them with "
    "X.with_columns(pl.col(...).to_physical())",
    "pyarrow": "turn text into dictionary columns with dictionary_encode(), then pass X.to_pandas(), which keeps the "
    "categories",
}


def refuse_repeated_names(X: Table) -> None:
    """Raise if two columns share a name, because no model could tell them apart."""
    names = text_names_of(X)
    if names is None or len(set(names)) == len(names):
        return
    repeated = [name for name, times in Counter(names).items() if times > 1]
    more = f" and {len(repeated) - _MOST_NAMES} more" if len(repeated) > _MOST_NAMES else ""
    remedy = "; pass X.loc[:, ~X.columns.duplicated()]" if library_of(X) == "pandas" else "; drop or rename the others"
    raise ValueError(
        f"X must have columns of different names, got {repeated[:_MOST_NAMES]} more than once{more}{remedy}"
    )


def refuse_one_row(X: Table) -> None:
    """Raise if X is a single row or column instead of a table."""
    if isinstance(X, list | tuple):
        is_flat = len(X) > 0 and np.ndim(X[0]) == 0 and not isinstance(X[0], Mapping)
    else:
        shape = getattr(X, "shape", (0, 0))
        is_table = len(shape) == 2 and hasattr(X, "shape")  # a sparse matrix may be a dict of its values
        is_flat = (isinstance(X, Mapping) and not is_table) or (len(shape) == 1 and shape[0] > 0)
    if not is_flat:
        return
    library = library_of(X)
    if library == "pandas":
        remedy = '; pass X.iloc[[0]] for the row X.iloc[0], or X[["name"]] for one column'
    elif isinstance(X, Mapping):
        remedy = "; pass pandas.DataFrame([X]) for one row"
    elif isinstance(X, list | tuple):
        remedy = "; pass [X] for one row"
    elif hasattr(X, "to_frame"):
        remedy = "; pass X.to_frame() for one column, or X[:1] for the first row of a frame"
    else:  # the first words are those of scikit-learn
        remedy = ". Reshape your data: pass X.reshape(1, -1) for one row, or X.reshape(-1, 1) for one column"
    kind = f"{library} {type(X).__name__}" if is_frame(X) else type(X).__name__
    raise ValueError(f"X must have rows and columns, got a {kind} of {len(X)} values{remedy}")


def refuse_other_columns(model: Classifier, response_method: str, X: Table, fitted: Sequence[str]) -> None:
    """Raise if columns or their order differ from those of the fit in a way that the model would not notice."""
    given = names_of(X)
    # What a decision on one row asks each time comes first.
    if not given or given == fitted or not all(isinstance(name, str) for name in given):
        return
    refuse_repeated_names(X)
    kept = set(fitted)
    known = [name if name in kept else name.replace(" ", "_") for name in given]  # as LightGBM stores them
    if known == list(fitted):
        return
    readers = list(readers_of(model))
    # A model that was trained on an array, and frozen, has nothing to compare names with.
    if getattr(model, "feature_names_in_", None) is not None:
        # A function hands on what it gets.
        readers = [each for each in readers if not _is_own(each) or isinstance(each, FunctionTransformer)]
    if not readers:
        return
    # A step that is not scikit-learn's, or a function, may find its columns by name: then these are right, and scores
    # stay equal on the columns in the fit's order.
    if all(hasattr(reader, "transform") for reader in readers) and kept <= set(given):
        score = getattr(model, response_method)
        if np.array_equal(score(X), score(select_columns(X, fitted))):
            return
    raise ValueError(f"X must have the columns of the fit in their order, {_difference(fitted, known)}")


def refuse_other_names(X: Table, fitted: Sequence[str]) -> None:
    """Raise if column names or their order differ from those of the fit, because row hashes would change."""
    given = text_names_of(X)
    if given is not None and given != list(fitted):
        raise ValueError(
            "X must have the columns of the fit in their order, because a hash of the whole row cuts through ties, "
            f"{_difference(fitted, given)}"
        )


def refuse_other_kinds(model: Classifier, X: Table, fitted: Mapping[str, str], others: str | None = None) -> None:
    """Raise if a column that is read directly has changed its kind (number, category or date) since the fit."""
    if all(map(_is_own, readers_of(model))):
        return
    for name, kind in kinds_of(X).items():
        of_fit = fitted.get(name, others)
        if of_fit not in (None, kind):
            refuse_columns_that_abort(model, X)  # which has a remedy of its own
            raise TypeError(
                f"X must have columns of the kinds of the fit, got a {kind} in {name!r}, where the fit had a "
                f"{of_fit}: the model would take it for another number in silence; give it the type of the fit"
                + (
                    f", as in X.astype({{{name!r}: X_fit[{name!r}].dtype}})"
                    if name in fitted
                    else ", and encode it alike"
                )
            )


def refuse_columns_that_abort(estimator: Classifier, X: Table) -> None:
    """Raise if LightGBM would crash the process: it has no handler for some types of polars and Arrow columns."""
    if isinstance(X, np.ndarray):
        return
    if is_lazy(X):
        raise TypeError("X must be a frame with rows, got a polars LazyFrame; pass X.collect()")
    library = library_of(X)
    if library not in _REMEDIES or not hasattr(X, "schema"):
        return
    if not any(comes_from(reader, "lightgbm") for reader in readers_of(estimator, past=(FunctionTransformer,))):
        return
    columns = zip(names_of(X) or (), types_of(X), strict=True)
    refused = [name for name, dtype in columns if dtype.lower() not in _READABLE]
    if refused:
        raise TypeError(
            f"X must hold only numeric and boolean {library} columns of at most 64 bits for LightGBM, got {refused}, "
            f"which would abort the process; {_REMEDIES[library]}"
        )


def readers_of(model: Any, *, past: tuple[type, ...] = ()) -> Iterator[Any]:
    """Yield the models that read X directly, such as the first step of a pipeline or the model inside a search.

    Steps of the types in `past` pass X on unchanged, so the step after them is yielded.
    """
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if not (step is None or isinstance(step, (str, *past)))]
        yield from readers_of(steps[0], past=past) if steps else [model]
        return
    members = getattr(model, "estimators", None) or getattr(model, "transformer_list", None)
    if isinstance(members, list):  # voting, stacking and unions
        for member in members:
            part = member[1] if isinstance(member, tuple) else member
            yield from () if isinstance(part, str) else readers_of(part, past=past)
        return
    inner = getattr(model, "estimator", None)
    yield from [model] if inner is None else readers_of(inner, past=past)


def comes_from(model: Any, library: str) -> bool:
    """Return whether the class of a model comes from a library or is derived from a class of that library."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(model).__mro__)


def _is_own(reader: Any) -> bool:
    """Return whether a model compares names, as scikit-learn does, or finds columns by name."""
    return type(reader).__module__.partition(".")[0] in ("sklearn", "aucross")


def _difference(fitted: Sequence[str], given: Sequence[str]) -> str:
    """Describe missing, unexpected or misplaced columns and how to fix them."""
    missing, unexpected = (
        first_few([repr(name) for name in names if name not in set(others)], _MOST_NAMES)
        for names, others in ((fitted, given), (given, fitted))
    )
    if missing:
        further = f" and has {unexpected}, unknown to the fit" if unexpected else ""
        return f"and lacks {missing}{further}; add or rename them"
    if unexpected:
        return f"got {unexpected} besides; pass X[clf.feature_names_in_]"
    place = next(place for place, (ours, theirs) in enumerate(zip(fitted, given, strict=False)) if ours != theirs)
    return (
        f"got another order, with {given[place]!r} where {fitted[place]!r} was; pass X[clf.feature_names_in_], which "
        "puts them in order"
    )
