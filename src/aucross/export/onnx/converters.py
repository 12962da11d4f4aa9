"""Converters of the binary band methods for skl2onnx.

::

    inputs ──► steps of a Pipeline ──► last step ──► score (double) ──► probabilities, label
               (skl2onnx)              here: linear models, trees                     │
                                       skl2onnx: others                               ▼
                                                             score < lower or score > upper ──► selected

Scores of the graph and of Python differ by about 1e-16, because sums are computed in another order. So each end of a
band is moved outwards by a small margin, and a row that Python sends to review is never automatic in the graph. Nor is
a row with a value that the models refuse in Python, such as an infinite one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto
from skl2onnx import get_model_alias, update_registered_converter
from skl2onnx._parse import _parse_sklearn as parse_step
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray
from aucross.estimators import AUCGate, AUCross, NumberedClasses, PlugIn, PlugInAUC, SCross
from aucross.estimators.base import SelectiveClassifier, check_classifier
from aucross.export.onnx.trees import Trees, WrittenTrees, trees_of, written

# How far, relative to its size and at least absolutely, each end is moved outwards if nothing else is said.
MARGIN = 1e-12

# Values of numbers that models may refuse in Python, by name; the last is too large for float32.
REFUSED_VALUES = {"infinite": np.inf, "missing": np.nan, "large": 1e39}

# Versions of ONNX's operator sets that a graph needs.
TARGET_OPSET = {"": 18, "ai.onnx.ml": 3}


def register() -> None:
    """Register converters of the binary band methods in skl2onnx; importing ``aucross.export.onnx`` calls this."""
    options = {"coverages": None, "margin": None, "refused": None, "zipmap": [False]}
    for cls in (AUCross, PlugInAUC, SCross, PlugIn, AUCGate):
        update_registered_converter(cls, f"Aucross{cls.__name__}", _set_types, _convert, parser=_parse, options=options)
    update_registered_converter(NumberImputer, "AucrossNumberImputer", _set_imputed_type, _convert_imputer)


def check_convertible(clf: SelectiveClassifier) -> None:
    """Refuse a classifier that has no graph, and say why."""
    check_classifier(clf)
    name, rule = type(clf).__name__, clf.band_rule_
    if len(clf.classes_) > 2:
        reason = f"{name} with {len(clf.classes_)} classes weighs them against each other; two classes have a graph"
    elif rule.group_labels is not None:
        reason = f"{name} with a band for each group has none; fit without band_groups, or use rule_to_sql"
    elif clf.held_out_.tie_breaker is not None:
        reason = f'{name} with ties="split" decides by a hash of the row, which ONNX cannot compute; use ties="whole"'
    elif rule.judged_apart:
        reason = (
            f"{name} with fold models that judge draws one by a hash of the row, which ONNX cannot compute; fit with "
            "ensemble=False and without coverage_confidence"
        )
    elif rule.axis == "other":
        reason = f"{name} decides by more than one score; AUCross, PlugInAUC, SCross and PlugIn have a graph"
    else:
        return
    raise ValueError(f"clf cannot be converted to ONNX: {reason}")


# ---- skl2onnx: the operators that stand for a classifier ----


def _parse(scope: Any, model: Any, inputs: Sequence[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare the steps of a Pipeline, then the classifier with inputs from the last step."""
    check_convertible(model)
    values = list(inputs)
    parsers = {SimpleImputer: _parse_imputer, **(custom_parsers or {})}
    *steps, last = _steps(model.estimator_)
    for step in steps:
        values = parse_step(scope, step, values, parsers)
    if _reader_of(last, model.fitted_.response_method) is None:
        values = parse_step(scope, last, values, parsers, alias=_alias(last, model.fitted_.response_method))
    operator = scope.declare_local_operator(f"Aucross{type(model).__name__}", model)
    operator.inputs = [*values, *inputs]
    operator.n_given = len(inputs)
    is_text = model.classes_.dtype.kind in "OU"
    score = "probabilities" if model.fitted_.response_method == "predict_proba" else "scores"
    for name, kind in (
        ("label", StringTensorType() if is_text else Int64TensorType()),
        (score, DoubleTensorType()),
        ("selected", BooleanTensorType()),
    ):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _steps(model: Any) -> list[Any]:
    """Return the steps of a model in order, with nested pipelines flattened."""
    if isinstance(model, FrozenEstimator):
        return _steps(model.estimator)
    if isinstance(model, NumberedClasses):
        return _steps(model.estimator_)  # whose numbers are not asked for: labels are those of the classifier
    if not isinstance(model, Pipeline):
        return [model]
    *before, last = [step for _, step in model.steps if step is not None and step != "passthrough"]
    return [*before, *_steps(last)]


def _alias(model: Any, response_method: str) -> str:
    if response_method != "predict_proba":
        raise ValueError(
            f"{type(model).__name__} cannot be converted to ONNX: it has no predict_proba, and the graph of skl2onnx "
            "has no decision function; wrap the model in CalibratedClassifierCV"
        )
    try:
        return get_model_alias(type(model))
    except RuntimeError:
        raise ValueError(
            f"{type(model).__name__} cannot be converted to ONNX: skl2onnx knows no converter for it; register one "
            "with skl2onnx.update_registered_converter"
        ) from None


def _set_types(operator: Any) -> None:
    model, n_rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    label, score, selected = operator.outputs
    label.type.shape = [n_rows]
    score.type.shape = [n_rows, 2] if model.fitted_.response_method == "predict_proba" else [n_rows]
    selected.type.shape = [n_rows, None]


# ---- the nodes ----


class _Graph:
    """Adds nodes and constants to a graph and returns their names."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope = scope
        self._container = container

    def constant(self, values: Any) -> str:
        """Add a constant: doubles, whole numbers or text."""
        array = np.asarray(values)
        content = array.ravel().tolist()
        kind = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64}.get(array.dtype.kind)
        if kind is None:
            kind, content = TensorProto.STRING, [str(text).encode() for text in content]
        name = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, kind, list(array.shape), content)
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add an ONNX node with one output."""
        output = output or self._scope.get_unique_variable_name(kind.lower())
        name = self._scope.get_unique_operator_name(kind)
        version = TARGET_OPSET[domain]
        self._container.add_node(
            kind, list(inputs), output, op_domain=domain, op_version=version, name=name, **attributes
        )
        return output

    def double(self, name: str) -> str:
        """Convert values to double precision."""
        return self.node("Cast", name, to=TensorProto.DOUBLE)

    def column(self, name: str, position: int) -> str:
        """Return one column of a table, as a list."""
        return self.node("Gather", name, self.constant(np.array(position)), axis=1)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of a classifier: score, label, and whether a row is selected at each coverage."""
    model, graph = operator.raw_operator, _Graph(scope, container)
    read, given = operator.inputs[: -operator.n_given], operator.inputs[-operator.n_given :]
    names = [variable.full_name for variable in read]
    reader = _reader_of(_steps(model.estimator_)[-1], model.fitted_.response_method)
    of_second = graph.column(graph.double(names[1]), 1) if reader is None else reader(graph, _table(graph, names))
    score = of_second if positive_is_second(model) else _of_first(graph, model, of_second)
    label, response, selected = (variable.full_name for variable in operator.outputs)
    _write_label(graph, model, of_second, names[0] if reader is None else None, label)
    if model.fitted_.response_method == "predict_proba":
        column = graph.node("Unsqueeze", of_second, graph.constant(np.array([1])))
        graph.node("Concat", _of_first(graph, model, column), column, axis=1, output=response)
    else:
        graph.node("Identity", of_second, output=response)
    asked = container.get_options(model, {"coverages": None, "margin": None, "refused": None})
    margin = MARGIN if asked["margin"] is None else float(asked["margin"])
    if not 0 <= margin < 1:
        raise ValueError(f"margin must be in [0, 1), got {margin}; 1e-12 is the default")
    coverages = [model.coverage] if asked["coverages"] is None else asked["coverages"]
    is_refused = _refused(graph, given, {"infinite": None} if asked["refused"] is None else asked["refused"])
    outside = _outside(graph, model, score, [check_coverage(coverage) for coverage in coverages], margin)
    if is_refused is not None:
        outside = graph.node("And", outside, graph.node("Not", is_refused))
    graph.node("Identity", outside, output=selected)


def _refused(graph: _Graph, given: Sequence[Any], refused: dict[str, list[int] | None]) -> str | None:
    """Return a column that marks rows with numbers that the models refuse; None if they refuse none.

    ``refused`` maps names of REFUSED_VALUES to positions of inputs, or to None for all inputs.
    """
    found = []
    for kind, places in refused.items():
        inputs = given if places is None else [given[place] for place in places]
        names = [each.full_name for each in inputs if isinstance(each.type, FloatTensorType | DoubleTensorType)]
        if not names:
            continue
        table = _table(graph, names)
        if kind == "large":
            table = graph.node("Cast", table, to=TensorProto.FLOAT)
        found.append(graph.node("IsNaN" if kind == "missing" else "IsInf", table))
    if not found:
        return None
    ones = graph.node("Cast", graph.node("Concat", *found, axis=1), to=TensorProto.INT64)
    any_one = graph.node("ReduceMax", ones, graph.constant(np.array([1])), keepdims=1)
    return graph.node("Cast", any_one, to=TensorProto.BOOL)


def positive_is_second(model: SelectiveClassifier) -> bool:
    """Return whether the positive class is the second in sorted order; models return the score of the second."""
    return bool(model.fitted_.classes[1] == model.classes_[1])


def _of_first(graph: _Graph, model: Any, score: str) -> str:
    """Return the score of the first class, given the score of the second."""
    if model.fitted_.response_method != "predict_proba":
        return graph.node("Neg", score)
    return graph.node("Sub", graph.constant(np.array(1.0)), score)


def _table(graph: _Graph, names: Sequence[str]) -> str:
    columns = [graph.double(name) for name in names]
    return columns[0] if len(columns) == 1 else graph.node("Concat", *columns, axis=1)


def _write_label(graph: _Graph, model: Any, score: str, given: str | None, output: str) -> None:
    """Write the label for the score of the second class; a tie gives the first class."""
    if given is not None and not model.held_out_.answers_by_score:
        graph.node("Identity", given, output=output)
        return
    boundary = 0.5 if model.fitted_.response_method == "predict_proba" else 0.0
    is_text = model.classes_.dtype.kind in "OU"
    classes = graph.constant(model.classes_.astype(object if is_text else np.int64))
    is_second = graph.node("Greater", score, graph.constant(np.array(boundary)))
    graph.node("Gather", classes, graph.node("Cast", is_second, to=TensorProto.INT64), output=output)


def _outside(graph: _Graph, model: Any, score: str, coverages: Sequence[float], margin: float) -> str:
    """Write a column for each coverage that marks rows outside the band; a score that is not a number is inside."""
    if model.band_rule_.axis == "confidence":
        is_probability = model.fitted_.response_method == "predict_proba"
        score = graph.node("Max", score, _of_first(graph, model, score)) if is_probability else graph.node("Abs", score)
    bands = [model.band(coverage) for coverage in coverages]
    lower, upper = (np.array([[getattr(band, end) for band in bands]]) for end in ("lower", "upper"))
    column = graph.node("Unsqueeze", score, graph.constant(np.array([1])))
    below = graph.node("Less", column, graph.constant(moved(lower, -margin)))
    above = graph.node("Greater", column, graph.constant(moved(upper, margin)))
    return graph.node("Or", below, above)


def moved(ends: FloatArray, by: float) -> FloatArray:
    """Move each end of the bands by `by` times its size, or times 1 if that is more; infinite ends stay."""
    distance = np.where(np.isinf(ends), 0.0, by * np.maximum(np.abs(ends), 1.0))
    return np.asarray(ends + distance)


# ---- models whose score is computed here, in double precision ----


def _reader_of(model: Any, response_method: str) -> Callable[[_Graph, str], str] | None:
    """Return a function that writes the score of a model that reads a table; None if skl2onnx converts the model."""
    is_linear = getattr(model, "coef_", None) is not None and np.shape(model.coef_)[0] == 1
    if is_linear and response_method == "decision_function":
        return partial(_linear_values, model)
    if is_linear and isinstance(model, LogisticRegression):
        return lambda graph, table: graph.node("Sigmoid", _linear_values(model, graph, table))
    if response_method == "predict_proba" and (trees := trees_of(model)) is not None:
        return partial(_sum_of_trees, trees, int(model.n_features_in_))
    return None


def _linear_values(model: Any, graph: _Graph, table: str) -> str:
    weights, intercept = graph.constant(np.ravel(model.coef_)), graph.constant(np.ravel(model.intercept_)[0])
    return graph.node("Add", graph.node("MatMul", table, weights), intercept)


def _sum_of_trees(trees: Trees, n_columns: int, graph: _Graph, table: str) -> str:
    if trees.in_float32:
        table = graph.double(graph.node("Cast", table, to=TensorProto.FLOAT))
    form = written(trees, n_columns)
    leaf = graph.node(
        "TreeEnsembleRegressor", _with_members(graph, form, table, n_columns), domain="ai.onnx.ml", **form.attributes
    )
    place = graph.node("Add", graph.node("Cast", leaf, to=TensorProto.INT64), graph.constant(np.array(form.first_leaf)))
    values = graph.node("Gather", graph.constant(np.array(form.leaves)), place)
    total = graph.node("ReduceSum", values, graph.constant(np.array([1])), keepdims=0)
    if trees.slope is None:
        return graph.node("Div", total, graph.constant(np.array(trees.divisor)))
    log_odds = graph.node("Add", total, graph.constant(np.array(trees.base)))
    return graph.node("Sigmoid", graph.node("Mul", log_odds, graph.constant(np.array(trees.slope))))


def _with_members(graph: _Graph, form: WrittenTrees, table: str, n_columns: int) -> str:
    """Add a column to the table for each category set in the trees, with 1 for rows in the set."""
    columns: dict[int, list[tuple[int, tuple[float, ...]]]] = {}
    for (feature, members), place in form.members.items():
        columns.setdefault(feature, []).append((place, members))
    if not columns:
        return table
    parts, places = [table], list[int]()
    for feature, sets in columns.items():
        values = sorted({value for _, members in sets for value in members})
        is_member = np.array([[float(value in members) for _, members in sets] for value in values])
        column = graph.node("Unsqueeze", graph.column(table, feature), graph.constant(np.array([1])))
        is_value = graph.double(graph.node("Equal", column, graph.constant(np.array([values]))))
        parts.append(graph.node("MatMul", is_value, graph.constant(is_member)))
        places.extend(place for place, _ in sets)
    # They come column by column; the trees count them in the order in which they ask.
    order = [*range(n_columns), *(n_columns + np.argsort(places)).tolist()]
    return graph.node("Gather", graph.node("Concat", *parts, axis=1), graph.constant(np.array(order)), axis=1)


# ---- missing numbers: onnxruntime fills single precision only, and skl2onnx leaves out the indicators ----


class NumberImputer:
    """Stand-in for a SimpleImputer of numbers inside a model that is converted here."""


def _parse_imputer(scope: Any, model: Any, inputs: Sequence[Any], custom_parsers: Any = None) -> list[Any]:
    if any(isinstance(variable.type, StringTensorType) for variable in inputs):
        return parse_step(scope, model, list(inputs), custom_parsers, alias=get_model_alias(SimpleImputer))
    operator = scope.declare_local_operator("AucrossNumberImputer", model)
    operator.inputs = list(inputs)
    operator.outputs.append(scope.declare_local_variable("imputed", DoubleTensorType()))
    return operator.outputs


def _set_imputed_type(operator: Any) -> None:
    n_columns = len(operator.raw_operator.get_feature_names_out())
    operator.outputs[0].type.shape = [operator.inputs[0].get_first_dimension(), n_columns]


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    model, graph = operator.raw_operator, _Graph(scope, container)
    table = _table(graph, [variable.full_name for variable in operator.inputs])
    is_missing = (
        graph.node("IsNaN", table)
        if np.isnan(model.missing_values)
        else graph.node("Equal", table, graph.constant(np.array(float(model.missing_values))))
    )
    statistics = np.asarray(model.statistics_, dtype=np.float64)
    filled = graph.node("Where", is_missing, graph.constant(statistics[None]), table)
    # A column without a value at the fit is dropped; if it is kept, its statistic is 0.
    kept = graph.constant(np.flatnonzero(~np.isnan(statistics)))
    parts = [graph.node("Gather", filled, kept, axis=1)]
    if model.add_indicator:
        shown = graph.constant(np.asarray(model.indicator_.features_, dtype=np.int64))
        parts.append(graph.double(graph.node("Gather", is_missing, shown, axis=1)))
    graph.node("Concat", *parts, axis=1, output=operator.outputs[0].full_name)
