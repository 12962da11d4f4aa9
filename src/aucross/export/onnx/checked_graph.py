"""Turn a classifier into an ONNX graph, and check that both decide alike."""

from __future__ import annotations

import json
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import onnxruntime
import skl2onnx
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.types import Table
from aucross.export.onnx.converters import MARGIN, REFUSED_VALUES, TARGET_OPSET, check_convertible, positive_is_second
from aucross.frames import as_pandas, is_missing, names_of, take_rows

# Text that stands for a missing category: an ONNX tensor of text has no other.
MISSING_TEXT = "nan"

# A margin must be so many times the largest difference that was seen between a score of the graph and of Python.
_SAFETY = 10
# Scores that differ by more are not those of the same model.
_LARGEST_DIFFERENCE = 1e-4

_ROWS_AT_A_TIME = 2000

# Missing columns that an error names.
_MOST_NAMED = 5

# Input of a graph that reads a table as a whole, and where a graph says which columns it reads.
_TABLE, _COLUMNS = "X", "aucross.columns"

# What onnxruntime raises for a graph whose types do not fit together, which is a fault of a converter.
_RUNTIME_ERRORS = (Fail, InvalidGraph, NotImplemented_, InvalidArgument)


class OnnxMismatchError(ValueError):
    """Error for a graph that decides differently from its classifier on the given rows."""


def to_onnx(
    clf: SelectiveClassifier, X: Table, *, coverages: Iterable[float] | None = None, margin: float | None = None
) -> ModelProto:
    """Turn a fitted classifier of two classes into one ONNX graph, and check it on rows.

    Parameters
    ----------
    clf : AUCross, PlugInAUC, SCross or PlugIn
        A fitted classifier of two classes, with bands on the score or on the confidence of one model.
    X : array-like or frame of shape (n_samples, n_features)
        Rows that give the types of the columns, and on which graph and `clf` must decide alike: the more rows the
        better.
    coverages : iterable of float in (0, 1], optional
        Coverages to decide for, by default the classifier's. Pass one coverage as a list: ``[0.8]``.
    margin : float in [0, 1), optional
        Distance by which each end of a band is moved outwards, relative to the size of the end (or to 1 if larger). By
        default 1e-12, or ten times the largest difference between scores of the graph and of Python, if that is more.
        The graph may send a row within the margin to review that Python decides automatically; never the reverse.

    Returns
    -------
    onnx.ModelProto
        Outputs: ``label``, ``probabilities`` (n, 2) or ``scores`` (n,) for a model without probabilities, and
        ``selected`` (n, n_coverages), one column for each coverage. Inputs: one, ``X``, of doubles; or one for each
        column if the model starts with a ColumnTransformer, see :func:`onnx_inputs`. If the classifier was fitted on a
        frame, the property ``aucross.columns`` holds the column names as a JSON list.

    Raises
    ------
    OnnxMismatchError
        If graph and `clf` decide differently on a row of `X`.
    ValueError
        If there is no graph for `clf`; the text says why.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import onnxruntime
    >>> from aucross import AUCross
    >>> from aucross.export.onnx import to_onnx
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    >>> graph = to_onnx(clf, X, coverages=[0.9, 0.7])
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> selected = session.run(["selected"], {"X": X})[0]
    >>> bool((selected[:, 1] == clf.select(X, coverage=0.7)).all())
    True
    """
    check_convertible(clf)
    if isinstance(coverages, Real):
        raise TypeError(f"coverages must be a list of numbers in (0, 1], got {coverages!r}; pass [{coverages!r}]")
    coverages = [clf.coverage] if coverages is None else list(coverages)
    if not coverages:
        raise ValueError("coverages must name at least one, got none; leave it out for that of the classifier")
    graph = _graph(clf, X, coverages, MARGIN if margin is None else margin)
    try:
        difference = score_difference(clf, graph, X)
    except _RUNTIME_ERRORS as error:
        raise _cannot_convert(clf, error) from error
    if not difference <= _LARGEST_DIFFERENCE:
        raise OnnxMismatchError(
            f"the graph of {type(clf.estimator_).__name__} does not give the scores of the model: they differ by up to "
            f"{difference:.2g} on the rows of X; one of its steps is not converted faithfully"
        )
    if margin is None and difference * _SAFETY > MARGIN:
        graph = _graph(clf, X, coverages, difference * _SAFETY)
    _check_decisions(clf, graph, X, coverages, difference)
    return graph


def onnx_inputs(graph: ModelProto, X: Table) -> dict[str, NDArray[Any]]:
    """Convert rows to the inputs of a graph.

    Parameters
    ----------
    graph : onnx.ModelProto
        Result of :func:`to_onnx`.
    X : array-like or frame of shape (n_samples, n_features)
        Rows. If the classifier was fitted on a frame, columns are found by name, in any order and among others; the
        columns of an array must be in the order of the fit.

    Returns
    -------
    dict
        Inputs of ``session.run(None, ...)``: doubles in ``X``, or an array of shape (n, 1) for each column, doubles or
        text; a missing category becomes the text ``nan``.
    """
    inputs = graph.graph.input
    # None for a graph of a classifier that knows no names.
    names = next((json.loads(each.value) for each in graph.metadata_props if each.key == _COLUMNS), None)
    if names is None or (len(inputs) == 1 and names_of(X) is None):
        return {inputs[0].name: np.asarray(X, dtype=np.float64)}
    columns = _columns_by_name(X, names)
    if len(inputs) < len(columns):
        return {inputs[0].name: np.hstack([_column(column, is_text=False) for column in columns])}
    return {
        each.name: _column(column, each.type.tensor_type.elem_type == TensorProto.STRING)
        for each, column in zip(inputs, columns, strict=True)
    }


def score_difference(clf: SelectiveClassifier, graph: ModelProto, X: Table) -> float:
    """Return the largest difference of the graph's scores from Python's, divided by the size of Python's if over 1."""
    expected = clf.scored(X).score
    response = _run(graph, X)[1]
    is_second = positive_is_second(clf)
    score = response[:, int(is_second)] if response.ndim == 2 else response if is_second else -response
    return float(np.max(np.abs(score - expected) / np.maximum(np.abs(expected), 1.0), initial=0.0))


def _check_decisions(
    clf: SelectiveClassifier, graph: ModelProto, X: Table, coverages: list[float], difference: float
) -> None:
    label, _, selected = _run(graph, X)
    rows = clf.scored(X)
    selections = [clf.band_rule_.bands_of(rows.rule_input, coverage).selected for coverage in coverages]
    expected = np.stack(selections, axis=1)
    if wrong := int((selected != expected).any(axis=1).sum()):
        raise OnnxMismatchError(
            f"the graph and the classifier decide differently on {wrong} of {len(rows)} rows of X: their scores lie "
            f"next to an end of a band, and scores differ by up to {difference:.2g}; ask for other coverages, or "
            "convert a model that is computed in double precision"
        )
    if wrong := int((label != np.asarray(rows.predicted, dtype=label.dtype)).sum()):
        raise OnnxMismatchError(
            f"the graph gives another label than the classifier to {wrong} of {len(rows)} rows of X"
        )


def _graph(clf: SelectiveClassifier, X: Table, coverages: list[float], margin: float) -> ModelProto:
    options = {id(clf): {"coverages": coverages, "margin": margin, "refused": _refused_values(clf, X)}}
    types = [(_TABLE, DoubleTensorType([None, clf.n_features_in_]))]
    names = getattr(clf, "feature_names_in_", None)
    if _reads_columns(clf):
        names = _names_of_frame(X)
        columns = zip(names, _columns_by_name(X, names), strict=True)
        kinds = {True: StringTensorType, False: DoubleTensorType}
        types = [(name, kinds[_is_text(column)]([None, 1])) for name, column in columns]
    try:
        graph = skl2onnx.to_onnx(clf, initial_types=types, options=options, target_opset=TARGET_OPSET)
    except (RuntimeError, NotImplementedError, KeyError, IndexError, AssertionError) as error:
        raise _cannot_convert(clf, error) from error
    # Names of inputs are letters, digits and underscores; those of columns may be anything.
    if names is not None:
        graph.metadata_props.add(key=_COLUMNS, value=json.dumps([str(name) for name in names]))
    return graph


def _refused_values(clf: SelectiveClassifier, X: Table) -> dict[str, list[int] | None]:
    """Return the values that the models refuse in Python, by input; found by trying a row, because libraries differ."""
    if not _reads_columns(clf):
        rows = {name: np.full((1, clf.n_features_in_), value) for name, value in REFUSED_VALUES.items()}
        return {name: None for name, row in rows.items() if not _takes(clf, row)}
    _names_of_frame(X)  # refuses an array
    first = as_pandas(take_rows(X, [0]))
    numbers = [place for place, name in enumerate(first.columns) if not _is_text(first[name])]
    return {
        kind: [place for place in numbers if not _takes(clf, first.assign(**{str(first.columns[place]): value}))]
        for kind, value in REFUSED_VALUES.items()
    }


def _takes(clf: SelectiveClassifier, row: Table) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that an array has no names
        try:
            clf.scored(row)
        except Exception:
            return False
    return True


def _cannot_convert(clf: SelectiveClassifier, error: Exception) -> ValueError:
    reason = textwrap.shorten(" ".join(str(error).split()), 300)
    return ValueError(
        f"{type(clf.estimator_).__name__} cannot be converted to ONNX: skl2onnx has no graph for a step of it ({reason}"
        "); take another step, or register a converter with skl2onnx.update_registered_converter"
    )


def _reads_columns(clf: SelectiveClassifier) -> bool:
    """Return whether the model finds columns by name, so that its graph needs one input for each."""
    first = clf.estimator_
    while isinstance(first, Pipeline | FrozenEstimator):
        first = first.steps[0][1] if isinstance(first, Pipeline) else first.estimator
    return isinstance(first, ColumnTransformer)


def _names_of_frame(X: Table) -> list[str]:
    names = names_of(X)
    if names is None:
        raise TypeError(f"X must be a frame, since the model reads columns by their names, got {type(X).__name__}")
    return [str(name) for name in names]


def _columns_by_name(X: Table, names: Sequence[str]) -> list[Any]:
    there = dict(zip(_names_of_frame(X), names_of(X) or (), strict=True))
    if lacking := [name for name in names if name not in there]:
        raise ValueError(
            f"X must have the columns of the fit, and lacks {len(lacking)} of {len(names)}: "
            f"{', '.join(map(repr, lacking[:_MOST_NAMED]))}{', ...' if len(lacking) > _MOST_NAMED else ''}; add or "
            "rename them, or pass an array with the columns in the order of the fit"
        )
    return [X[there[name]] for name in names]


def _is_text(column: Any) -> bool:
    # A code such as "007" is text, though it could be read as a number.
    values = np.asarray(column)
    return values.dtype.kind not in "biufc" and any(isinstance(value, str) for value in values)


def _column(column: Any, is_text: bool) -> NDArray[Any]:
    if not is_text:
        return np.asarray(column, dtype=np.float64).reshape(-1, 1)
    texts = [MISSING_TEXT if is_missing(value) else str(value) for value in np.asarray(column, dtype=object)]
    return np.array(texts, dtype=object).reshape(-1, 1)


def _run(graph: ModelProto, X: Table) -> list[NDArray[Any]]:
    """Run a graph on all rows in batches, because trees with many categories need memory for each row."""
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs, names = onnx_inputs(graph, X), [output.name for output in graph.graph.output]
    n_rows = len(next(iter(inputs.values())))
    parts = [
        session.run(names, {name: values[start : start + _ROWS_AT_A_TIME] for name, values in inputs.items()})
        for start in range(0, n_rows, _ROWS_AT_A_TIME)
    ]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]
