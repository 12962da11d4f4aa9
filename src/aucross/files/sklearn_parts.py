"""Parts of scikit-learn's models that are more than attributes, each with the steps that store and restore it.

Compiled code reads the nodes of trees, support vectors and the like without asking whether they make sense. Files may
hold anything, so what such code would read outside its arrays, or go round for ever in, is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import sklearn
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.neighbors import BallTree, KDTree
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils import Bunch

from aucross.files.sklearn_names import HISTOGRAM, TREE, is_private_here

State = dict[str, Any]


def whole_number(state: Mapping[str, Any], name: str, low: int, high: int = 2**62) -> int:
    """A part that must be a whole number in a range."""
    value = state[name]
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}")
    return value


def plain_array(state: Mapping[str, Any], name: str, kinds: str, n_dimensions: int) -> NDArray[Any]:
    """A part that must be an array of numbers."""
    value = state[name]
    if type(value) is not np.ndarray or value.dtype.kind not in kinds or value.ndim != n_dimensions:
        raise ValueError(f"{name} must be an array of {n_dimensions} dimensions and of the kinds {kinds!r}")
    return value


def _must(condition: Any, rule: str) -> None:
    if not condition:
        raise ValueError(rule)


# ---- trees ----


def check_children(left: NDArray[Any], right: NDArray[Any], is_leaf: NDArray[np.bool_]) -> None:
    """Refuse trees in which a branch does not lead to a later node, or two lead to one: only those come to an end."""
    number = np.arange(len(is_leaf))
    _must(len(number) > 0, "a tree must have nodes")
    for child in (left, right):
        _must(((child > number) & (child < len(number)))[~is_leaf].all(), "a branch must lead to a later node")
    reached = np.sort(np.concatenate([left[~is_leaf], right[~is_leaf]]))
    _must(np.array_equal(reached, number[1:]), "each node must be reached once")


def _depth(left: NDArray[Any], right: NDArray[Any], is_leaf: NDArray[np.bool_]) -> int:
    """How many branches lie on the longest way through a tree with checked children."""
    depth, level = -1, np.zeros(1, dtype=np.intp)
    while len(level):
        inner = level[~is_leaf[level]]
        depth, level = depth + 1, np.concatenate([left[inner], right[inner]])
    return depth


def _columns(nodes: NDArray[Any]) -> State:
    """Nodes as one array of whole numbers and one of floats: between their fields lies what was there before."""
    assert nodes.dtype.names is not None
    parts: dict[str, list[NDArray[Any]]] = {"integers": [], "numbers": []}
    for name in nodes.dtype.names:
        parts["numbers" if nodes.dtype[name].kind == "f" else "integers"].append(nodes[name])
    return {
        "fields": list(nodes.dtype.names),
        "integers": np.array(parts["integers"], dtype=np.int64).reshape(-1, len(nodes)),
        "numbers": np.array(parts["numbers"], dtype=np.float64).reshape(-1, len(nodes)),
    }


def _nodes(state: Mapping[str, Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The nodes of such arrays, as this version of scikit-learn lays them out."""
    assert dtype.names is not None
    integers, numbers = (plain_array(state, name, kind, 2) for name, kind in (("integers", "i"), ("numbers", "f")))
    is_float = [dtype[name].kind == "f" for name in dtype.names]
    _must(
        state["fields"] == list(dtype.names)
        and (len(integers), len(numbers)) == (len(is_float) - sum(is_float), sum(is_float))
        and integers.shape[1] == numbers.shape[1],
        f"nodes must have the fields {list(dtype.names)}, as in scikit-learn {sklearn.__version__}",
    )
    nodes = np.zeros(integers.shape[1], dtype=dtype)
    rows = {False: iter(integers), True: iter(numbers)}
    for name, from_numbers in zip(dtype.names, is_float, strict=True):
        column = next(rows[from_numbers])
        nodes[name] = column
        _must(from_numbers or (nodes[name] == column).all(), f"{name} must hold numbers of its type")
    return nodes


TREE_PARTS = frozenset({"n_features", "n_classes", "max_depth", "fields", "integers", "numbers", "values"})


def take_tree(tree: Any) -> State:
    """A decision tree as arrays."""
    state = tree.__getstate__()
    return {
        "n_features": tree.n_features,
        "n_classes": tree.n_classes,
        "max_depth": state["max_depth"],
        **_columns(state["nodes"]),
        "values": state["values"],
    }


def put_tree(cls: Any, state: State) -> Any:
    """A decision tree of arrays."""
    nodes = _nodes(state, import_module(TREE).NODE_DTYPE)
    n_features = whole_number(state, "n_features", 1)
    n_classes = plain_array(state, "n_classes", "i", 1).astype(np.intp)
    values = plain_array(state, "values", "f", 3)
    _must(len(n_classes) > 0 and n_classes.min() > 0, "n_classes must be positive")
    _must(values.shape == (len(nodes), len(n_classes), n_classes.max()), "values must fit nodes and classes")
    is_leaf = nodes["left_child"] == -1
    check_children(nodes["left_child"], nodes["right_child"], is_leaf)
    feature = nodes["feature"][~is_leaf]
    _must(((feature >= 0) & (feature < n_features)).all(), "a node must ask for a feature that there is")
    tree = cls(n_features, n_classes, len(n_classes))
    # The way of each row through the tree is written to as many places.
    depth = whole_number(state, "max_depth", _depth(nodes["left_child"], nodes["right_child"], is_leaf), len(nodes))
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


PREDICTOR_PARTS = frozenset({"fields", "integers", "numbers", "binned_left_cat_bitsets", "raw_left_cat_bitsets"})
_BITSETS = ("binned_left_cat_bitsets", "raw_left_cat_bitsets")


def take_predictor(predictor: Any) -> State:
    """A tree of histogram boosting as arrays."""
    return {**_columns(predictor.nodes), **{name: getattr(predictor, name) for name in _BITSETS}}


def put_predictor(cls: Any, state: State) -> Any:
    """A tree of histogram boosting of arrays."""
    nodes = _nodes(state, import_module(f"{HISTOGRAM}.common").PREDICTOR_RECORD_DTYPE)
    is_leaf = nodes["is_leaf"] != 0
    check_children(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), is_leaf)
    _must((nodes["feature_idx"] >= 0).all(), "a node must ask for a feature that there is")
    by_category = nodes["bitset_idx"][~is_leaf & (nodes["is_categorical"] != 0)]
    bitsets = [plain_array(state, name, "u", 2) for name in _BITSETS]
    for bits in bitsets:
        _must(bits.dtype == np.uint32 and bits.shape[1] == 8, "sets of categories must have 256 bits")
        _must(by_category.max(initial=0) < max(len(bits), 1), "a node must ask for a set of categories that there is")
    _must(len(bitsets[0]) == len(bitsets[1]) and (len(bitsets[0]) or not len(by_category)), "sets must be complete")
    return cls(nodes, *bitsets)


_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


def finish_tree_model(model: Any) -> None:
    """A tree must read as many features as the rows that its model lets in have."""
    state = vars(model)
    if "tree_" in state:
        n_features = whole_number(state, "n_features_in_", 1)
        _must(state["tree_"].n_features == n_features, "a tree must have the features of its model")


def _check_trees(trees: Any, n_features: int) -> None:
    """Refuse anything but fitted trees, since nothing else is known to read no more than the given features."""
    for tree in trees:
        _must(type(tree) in _TREES and "tree_" in vars(tree), "it must be made of trees")
        _must(tree.tree_.n_features == n_features, "trees must have the features of their model")


def finish_forest(forest: Any) -> None:
    """All trees must read the features of the forest."""
    state = vars(forest)
    if "estimators_" in state:
        _must(type(state["estimators_"]) is list, "trees must be a list")
        _check_trees(state["estimators_"], whole_number(state, "n_features_in_", 1))


def finish_gradient_boosting(model: Any) -> None:
    """Trees of one output each, as many a round as there are columns to add them to."""
    state = vars(model)
    if "estimators_" not in state:
        return
    trees, loss = state["estimators_"], state.get("_loss")
    n_columns = whole_number(state, "n_trees_per_iteration_", 1)
    _must(type(trees) is np.ndarray and trees.ndim == 2 and trees.shape[1] == n_columns, "trees must fill their rounds")
    _must(trees.size > 0, "there must be trees")
    _check_trees(trees.flat, whole_number(state, "n_features_in_", 1))
    _must(all(tree.tree_.value.shape[1:] == (1, 1) for tree in trees.flat), "each tree must have one output")
    is_multiclass = getattr(loss, "is_multiclass", None)
    _must(is_multiclass is not None, "boosting must have a loss")
    if not _is_word(state.get("init_"), "zero"):
        n_shares = _columns_of_prior(state.get("init_"))
        _must((n_shares if is_multiclass else 1) == n_columns, "a round must have a tree for each output")


def _columns_of_prior(model: Any) -> int:
    """How many columns the first answer of boosting has; code that adds trees to it takes its shape on trust."""
    state = vars(model) if type(model) is DummyClassifier else {}
    _must(
        _is_word(state.get("strategy"), "prior") and _is_word(state.get("_strategy"), "prior"),
        "gradient boosting must start from the shares of the classes: pass init=None or init='zero', or put the other "
        "model into a StackingClassifier",
    )
    _must(whole_number(state, "n_outputs_", 1) == 1, "there must be one output")
    return len(plain_array(state, "class_prior_", "f", 1))


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def finish_histogram_boosting(model: Any) -> None:
    """Trees and bins must know the features of the model."""
    state = vars(model)
    if "_predictors" not in state:
        return
    n_features = whole_number(state, "n_features_in_", 1)
    is_categorical = plain_array(vars(state.get("_bin_mapper")), "is_categorical_", "bu", 1)
    if state.get("_preprocessor") is not None:
        _check_preprocessor(state["_preprocessor"], n_features)
    _must(len(is_categorical) == n_features, "bins must be known for each feature")
    for predictor in (tree for round_ in state["_predictors"] for tree in round_):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        _must((nodes["feature_idx"] < n_features).all(), "a node must ask for a feature that there is")
        asked = nodes["feature_idx"][nodes["is_categorical"] != 0]
        _must((is_categorical[asked] != 0).all(), "a node must ask for the category of a feature that has some")


class BoostingColumn(NamedTuple):
    """A column as the trees of histogram boosting count it: its position in the table, and its categories in order."""

    position: int
    categories: list[Any]  # none for a number


def histogram_trees(model: Any) -> tuple[float, list[Any], list[BoostingColumn]]:
    """Start of the sum, trees and columns of fitted histogram boosting for two classes."""
    trees = [tree for round_ in model._predictors for tree in round_]
    base = float(np.ravel(model._baseline_prediction)[0])
    if model._preprocessor is None:
        return base, trees, [BoostingColumn(position, []) for position in range(model.n_features_in_)]
    columns: list[BoostingColumn] = []
    for _, encoder, mask in model._preprocessor.transformers_:
        positions = np.flatnonzero(mask).tolist()
        known = [each.tolist() for each in getattr(encoder, "categories_", [])] or [[]] * len(positions)
        columns.extend(map(BoostingColumn, positions, known))
    return base, trees, columns


def _check_preprocessor(columns: Any, n_features: int) -> None:
    """The encoder before histogram boosting must hand over every feature, since the trees read without asking."""
    _must(type(columns) is ColumnTransformer, "features must be encoded column by column")
    state = vars(columns)
    parts = [part for part in state["transformers_"] if not _is_word(part[1], "drop")]
    kinds = [type(transformer) for _, transformer, _ in parts]
    _must(kinds == [OrdinalEncoder, FunctionTransformer], "features must be encoded or numbers")
    masks = {name: plain_array({"mask": mask}, "mask", "b", 1) for name, _, mask in parts}
    _must(
        len(masks) == 2
        and all(len(mask) == n_features for mask in masks.values())
        and np.any([*masks.values()], axis=0).all(),
        "each feature must be encoded or a number",
    )
    indices = {name: list(value) for name, value in state["_transformer_to_input_indices"].items() if len(value)}
    expected = {name: np.flatnonzero(mask).tolist() for name, mask in masks.items() if mask.any()}
    _must(indices == expected, "features must be found where they are")
    _must(whole_number(state, "n_features_in_", 1) == n_features, "the encoder must know the features")
    if "feature_names_in_" in state:
        _must(len(plain_array(state, "feature_names_in_", "OU", 1)) == n_features, "each feature must have a name")


# ---- losses ----


LOSS_PARTS = frozenset({"n_classes"})


def take_loss(loss: Any) -> State:
    """A loss is known by its name; of classes it has a number."""
    return {"n_classes": loss.n_classes if loss.is_multiclass else None}


def put_loss(cls: Any, state: State) -> Any:
    """The loss of that name."""
    if state["n_classes"] is None:
        return cls()
    return cls(n_classes=whole_number(state, "n_classes", 3, 10**6))


# ---- neighbours ----

_TREES_OF_NEIGHBOURS = {"kd_tree": KDTree, "ball_tree": BallTree}


def finish_neighbours(model: Any) -> None:
    """Build the tree of the neighbours again from their rows, as the fit did."""
    state = vars(model)
    if "_fit_X" not in state:
        return
    rows, method = state["_fit_X"], state.get("_fit_method")
    is_matrix = type(rows) is np.ndarray or scipy.sparse.issparse(rows)
    _must(
        is_matrix and rows.ndim == 2 and rows.shape[1] == state.get("n_features_in_"), "rows must have their features"
    )
    _must(rows.dtype.kind == "f", "rows must be numbers")
    labels = plain_array(state, "_y", "i", 1)
    _must(len(labels) == rows.shape[0] and len(labels) > 0, "each row must have a label")
    _must(labels.min() >= 0 and labels.max() < len(state["classes_"]), "labels must be among the classes")
    _must(state.get("n_samples_fit_") == len(labels), "the number of rows must be known")
    _check_metric_options(state.get("effective_metric_params_"), rows.shape[1])
    if method in _TREES_OF_NEIGHBOURS:
        metric, options = state["effective_metric_"], state["effective_metric_params_"]
        _must(metric in _TREES_OF_NEIGHBOURS[method].valid_metrics and metric != "pyfunc", "a metric must have a name")
        model._tree = _TREES_OF_NEIGHBOURS[method](rows, state["leaf_size"], metric=metric, **options)
    else:
        model._tree = None


def _check_metric_options(options: Any, n_features: int) -> None:
    """A distance reads as many weights, or as large a matrix, as the rows have features."""
    _must(isinstance(options, dict) and all(isinstance(name, str) for name in options), "options must have names")
    for name, value in options.items():
        if value is None:
            continue
        values = np.asarray(value)
        shape = {"w": (n_features,), "V": (n_features,) * max(values.ndim, 1), "VI": (n_features, n_features)}
        _must(values.dtype.kind in "biuf" and values.ndim <= 2, "options of a distance must be numbers")
        _must(values.shape == shape.get(name, ()), "options of a distance must fit the features")


# ---- support vectors ----


def finish_support_vectors(model: Any) -> None:
    """Sizes that compiled code takes on trust."""
    state = vars(model)
    if "support_vectors_" not in state:
        return
    vectors, per_class = state["support_vectors_"], plain_array(state, "_n_support", "i", 1)
    is_matrix = type(vectors) is np.ndarray or scipy.sparse.issparse(vectors)
    n_classes, n_vectors = len(per_class), len(plain_array(state, "support_", "i", 1))
    n_pairs = n_classes * (n_classes - 1) // 2
    _must(is_matrix and vectors.ndim == 2 and n_classes >= 2, "support vectors must be rows of numbers")
    _must(per_class.min() >= 0 and per_class.sum() == n_vectors, "each class must have its support vectors")
    n_features = whole_number(state, "n_features_in_", 1)
    if _is_word(state.get("kernel"), "precomputed"):  # then they are columns of the kernel
        _must(tuple(state["shape_fit_"]) == (n_features, n_features), "the kernel must have a column for each row")
        _must(((state["support_"] >= 0) & (state["support_"] < n_features)).all(), "support vectors must be columns")
    else:
        _must(vectors.shape == (n_vectors, n_features), "support vectors must have the features")
    is_sparse = scipy.sparse.issparse(vectors)
    _must(state["_sparse"] is is_sparse, "support vectors must be stored as they are used")
    for name in ("dual_coef_", "_dual_coef_"):
        coefficients = state[name]
        _must(scipy.sparse.issparse(coefficients) == is_sparse, "coefficients must be stored as support vectors are")
        _must(getattr(coefficients, "shape", None) == (n_classes - 1, n_vectors), "coefficients must fit")
        # Of sparse ones the code that uses them reads a number for each place.
        n_stored = len(coefficients.data) if is_sparse else coefficients.size
        _must(n_stored == (n_classes - 1) * n_vectors, "there must be a coefficient for each vector and class")
    for name in ("intercept_", "_intercept_"):
        _must(getattr(state[name], "shape", None) == (n_pairs,), "there must be an intercept for each pair of classes")
    read = "_effective_probability" if is_private_here("SVC", "_effective_probability") else "probability"
    _must(isinstance(state[read], bool | np.bool_), f"{read} must be true or false")
    n_slopes = n_pairs if state[read] else 0
    for name in ("_probA", "_probB"):
        _must(getattr(state[name], "shape", None) == (n_slopes,), "there must be a slope for each pair")


# ---- encoders, calibration and searches ----


def finish_one_hot_encoder(encoder: Any) -> None:
    """Columns are counted again: code that fills them takes their number on trust."""
    state = vars(encoder)
    if "categories_" not in state:
        return
    categories = state["categories_"]
    _must(isinstance(categories, list), "categories must be a list")
    nothing = [None] * len(categories)
    is_grouped = bool(state.get("_infrequent_enabled"))
    groups = state["_default_to_infrequent_mappings"] if is_grouped else nothing
    rare = state["_infrequent_indices"] if is_grouped else nothing
    dropped = state.get("_drop_idx_after_grouping")
    dropped = nothing if dropped is None else plain_array({"dropped": dropped}, "dropped", "O", 1).tolist()
    encoder._n_features_outs = [_n_columns(*parts) for parts in zip(categories, groups, rare, dropped, strict=True)]


def _n_columns(categories: Any, groups: Any, rare: Any, dropped: Any) -> int:
    """Columns of one encoded feature: one for each category, or group of categories, that is not dropped."""
    values = plain_array({"categories": categories}, "categories", "biufOUmM", 1)
    if values.dtype.kind not in "OU":  # these are looked up by bisection
        known = values[:-1] if values.dtype.kind == "f" and len(values) and np.isnan(values[-1]) else values
        _must((known[:-1] < known[1:]).all(), "categories that are numbers must be in order")
    _must((groups is None) == (rare is None), "rare categories must have a group")
    n_codes = len(values)
    if groups is not None:
        codes, members = (plain_array({"codes": part}, "codes", "i", 1) for part in (groups, rare))
        _must(len(codes) == len(values) > 0 and codes.min() >= 0, "each category must have a code")
        _must(len(members) > 0 and members.min() >= 0 and members.max() < len(values), "rare ones are categories")
        n_codes = int(codes.max()) + 1
        _must(n_codes <= len(values), "codes must be among the categories")
    if dropped is None:
        return n_codes
    whole_number({"dropped": dropped}, "dropped", 0, n_codes - 1)
    return n_codes - 1


def finish_isotonic(model: Any) -> None:
    """Build the interpolation again, which is code of scipy."""
    model.__setstate__({**vars(model), "_sklearn_version": sklearn.__version__})


def finish_search(search: Any) -> None:
    """Find the scorer again by the name of the metric."""
    state = vars(search)
    if "best_index_" not in state and "best_estimator_" not in state:
        return
    scoring = state["scoring"]
    if scoring is None or isinstance(scoring, str):
        search.scorer_ = check_scoring(state["estimator"], scoring)
    elif isinstance(scoring, list | tuple):
        search.scorer_ = {name: get_scorer(name) for name in scoring}
    else:
        search.scorer_ = {name: get_scorer(metric) for name, metric in scoring.items()}


def finish_tuned_threshold(model: Any) -> None:
    """Find the scorer again by the name of the metric."""
    if "estimator_" in vars(model):
        _must(isinstance(model.scoring, str), "a metric must have a name")
        model._curve_scorer = model._get_curve_scorer()


def finish_named_estimators(model: Any) -> None:
    """Give the fitted models their names again, as voting and stacking do."""
    state = vars(model)
    if "estimators_" not in state:
        return
    fitted = iter(state["estimators_"])
    named = Bunch()
    for name, given in state["estimators"]:
        _must(isinstance(name, str), "a model must have a name")
        named[name] = given if _is_word(given, "drop") else next(fitted, None)
    _must(next(fitted, None) is None and None not in named.values(), "each model must have a name")
    model.named_estimators_ = named


# ---- splits ----

REPEATED_PARTS = frozenset({"n_splits", "n_repeats", "random_state"})


def take_repeated_splits(splits: Any) -> State:
    """Splits that are drawn several times."""
    return {
        "n_splits": splits.cvargs["n_splits"],
        "n_repeats": splits.n_repeats,
        "random_state": splits.random_state,
    }


def put_repeated_splits(cls: Any, state: State) -> Any:
    """Splits that are drawn several times."""
    counts = {name: whole_number(state, name, 1) for name in ("n_splits", "n_repeats")}
    return cls(**counts, random_state=state["random_state"])


# ---- requests for metadata ----

REQUEST_PARTS = frozenset({"owner", "requests"})


def take_requests(request: Any) -> State:
    """Requests as plain data; the owner, which is there for messages alone, by the name of its class."""
    owner = request.owner if isinstance(request.owner, str) else type(request.owner).__name__
    of_method = {name: dict(part.requests) for name, part in vars(request).items() if hasattr(part, "requests")}
    return {"owner": owner, "requests": {name: part for name, part in of_method.items() if part}}


def put_requests(cls: Any, state: State) -> Any:
    """Requests of plain data."""
    _must(isinstance(state["owner"], str) and isinstance(state["requests"], dict), "requests must be plain data")
    request = cls(owner=state["owner"])
    for method, wanted in state["requests"].items():
        of_method = vars(request).get(method)
        _must(hasattr(of_method, "requests") and isinstance(wanted, dict), f"there is no method {method!r} to request")
        for parameter, alias in wanted.items():
            of_method.add_request(param=parameter, alias=alias)
    return request


# ---- splines ----

SPLINE_PARTS = frozenset({"knots", "coefficients", "degree", "extrapolate"})


def take_spline(spline: Any) -> State:
    """Knots and coefficients; the class that holds them is renamed now and then."""
    return {"knots": spline.t, "coefficients": spline.c, "degree": spline.k, "extrapolate": spline.extrapolate}


def put_spline(cls: Any, state: State) -> Any:
    """A spline of knots and coefficients."""
    knots = plain_array(state, "knots", "f", 1)
    coefficients = state["coefficients"]
    _must(type(coefficients) is np.ndarray and coefficients.dtype.kind == "f", "coefficients must be numbers")
    _must(state["extrapolate"] in (True, False, "periodic"), "extrapolate must be a word of scipy")
    degree = whole_number(state, "degree", 0, len(knots))
    return cls(knots, coefficients, degree, extrapolate=state["extrapolate"])


# ---- sparse matrices ----

SPARSE_PARTS = frozenset({"shape", "data", "indices", "indptr"})


def take_sparse(matrix: Any) -> State:
    """A compressed sparse matrix as its arrays."""
    return {"shape": list(matrix.shape), "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}


def put_sparse(cls: Any, state: State) -> Any:
    """A sparse matrix of arrays, fully checked: compiled code does not ask where an index leads."""
    shape = state["shape"]
    _must(isinstance(shape, list) and len(shape) == 2, "shape must be two numbers")
    sides = tuple(whole_number({"shape": side}, "shape", 0, 2**48) for side in shape)
    parts = (
        plain_array(state, "data", "fiub", 1),
        *(plain_array(state, name, "i", 1) for name in ("indices", "indptr")),
    )
    matrix = cls(parts, shape=sides)
    matrix.check_format(full_check=True)
    _, matrix.indices, matrix.indptr = parts  # of the type that they had
    return matrix


# ---- random states ----

RANDOM_STATE_PARTS = frozenset({"key", "pos", "has_gauss", "cached_gaussian"})
GENERATOR_PARTS = frozenset({"state", "inc", "has_uint32", "uinteger"})


def take_random_state(random: np.random.RandomState) -> State:
    """Where a stream of random numbers is."""
    state = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise TypeError(f"random states of {state['bit_generator']} have no stored form; pass an integer")
    return {**state["state"], "has_gauss": state["has_gauss"], "cached_gaussian": float(state["gauss"])}


def put_random_state(cls: Any, state: State) -> Any:
    """A stream that goes on from there."""
    key = plain_array(state, "key", "u", 1)
    _must(key.shape == (624,) and isinstance(state["cached_gaussian"], float), "a random state must be whole")
    random = cls(0)
    random.set_state(
        (
            "MT19937",
            key.astype(np.uint32),
            whole_number(state, "pos", 0, 624),
            whole_number(state, "has_gauss", 0, 1),
            state["cached_gaussian"],
        )
    )
    return random


def take_generator(generator: np.random.Generator) -> State:
    """Where a stream of random numbers is."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"generators of {state['bit_generator']} have no stored form; pass an integer")
    return {**state["state"], "has_uint32": state["has_uint32"], "uinteger": state["uinteger"]}


def put_generator(cls: Any, state: State) -> Any:
    """A stream that goes on from there."""
    generator = cls(np.random.PCG64(0))
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {name: whole_number(state, name, 0, 2**128 - 1) for name in ("state", "inc")},
        "has_uint32": whole_number(state, "has_uint32", 0, 1),
        "uinteger": whole_number(state, "uinteger", 0, 2**32 - 1),
    }
    return generator
