"""Trees of scikit-learn, and the models that are made of them.

Compiled code reads the nodes of trees without checking them. Files may hold anything, so trees that would be read
outside of their arrays, or without end, are refused here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from aucross.files.forms import BySteps, Listed, State, is_word, must, plain_array, whole_number
from aucross.files.sklearn_names import HISTOGRAM, LOSSES, TREE

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


# ---- nodes ----


def check_children(left: NDArray[Any], right: NDArray[Any], is_leaf: NDArray[np.bool_]) -> None:
    """Refuse trees in which a branch leads to no later node, or two to the same one, because reading might not end."""
    number = np.arange(len(is_leaf))
    must(len(number) > 0, "a tree must have nodes")
    for child in (left, right):
        must(((child > number) & (child < len(number)))[~is_leaf].all(), "a branch must lead to a later node")
    reached = np.sort(np.concatenate([left[~is_leaf], right[~is_leaf]]))
    must(np.array_equal(reached, number[1:]), "each node must be reached once")


def _depth(left: NDArray[Any], right: NDArray[Any], is_leaf: NDArray[np.bool_]) -> int:
    """Return the number of branches on the longest path of a tree with checked children."""
    depth, level = -1, np.zeros(1, dtype=np.intp)
    while len(level):
        inner = level[~is_leaf[level]]
        depth, level = depth + 1, np.concatenate([left[inner], right[inner]])
    return depth


def _columns(nodes: NDArray[Any]) -> State:
    """Return nodes as one array of whole numbers and one of floats, without the padding between fields."""
    assert nodes.dtype.names is not None
    parts: dict[str, list[NDArray[Any]]] = {"integers": [], "numbers": []}
    for name in nodes.dtype.names:
        parts["numbers" if nodes.dtype[name].kind == "f" else "integers"].append(nodes[name])
    return {
        "fields": list(nodes.dtype.names),
        "integers": np.array(parts["integers"], dtype=np.int64).reshape(-1, len(nodes)),
        "numbers": np.array(parts["numbers"], dtype=np.float64).reshape(-1, len(nodes)),
    }


def _nodes(fields: Any, integers: Any, numbers: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Build the nodes of a tree from stored arrays, in the layout of the installed scikit-learn."""
    assert dtype.names is not None
    plain_array(integers, "integers", "i", 2)
    plain_array(numbers, "numbers", "f", 2)
    is_float = [dtype[name].kind == "f" for name in dtype.names]
    must(
        fields == list(dtype.names)
        and (len(integers), len(numbers)) == (len(is_float) - sum(is_float), sum(is_float))
        and integers.shape[1] == numbers.shape[1],
        f"nodes must have the fields {list(dtype.names)}, as in scikit-learn {sklearn.__version__}",
    )
    nodes = np.zeros(integers.shape[1], dtype=dtype)
    rows = {False: iter(integers), True: iter(numbers)}
    for name, from_numbers in zip(dtype.names, is_float, strict=True):
        column = next(rows[from_numbers])
        nodes[name] = column
        must(from_numbers or (nodes[name] == column).all(), f"{name} must hold numbers of its type")
    return nodes


def _take_tree(tree: Any) -> State:
    state = tree.__getstate__()
    sizes = {"n_features": tree.n_features, "n_classes": tree.n_classes, "max_depth": state["max_depth"]}
    return {**sizes, **_columns(state["nodes"]), "values": state["values"]}


def _put_tree(
    cls: Any, *, n_features: Any, n_classes: Any, max_depth: Any, fields: Any, integers: Any, numbers: Any, values: Any
) -> Any:
    nodes = _nodes(fields, integers, numbers, import_module(TREE).NODE_DTYPE)
    n_features = whole_number(n_features, "n_features", 1)
    classes = plain_array(n_classes, "n_classes", "i", 1).astype(np.intp)
    plain_array(values, "values", "f", 3)
    must(len(classes) > 0 and classes.min() > 0, "n_classes must be positive")
    must(values.shape == (len(nodes), len(classes), classes.max()), "values must fit nodes and classes")
    is_leaf = nodes["left_child"] == -1
    check_children(nodes["left_child"], nodes["right_child"], is_leaf)
    feature = nodes["feature"][~is_leaf]
    must(((feature >= 0) & (feature < n_features)).all(), "a node must use an existing feature")
    tree = cls(n_features, classes, len(classes))
    # The way of each row through the tree is written to as many places.
    least = _depth(nodes["left_child"], nodes["right_child"], is_leaf)
    depth = whole_number(max_depth, "max_depth", least, len(nodes))
    tree.__setstate__({"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


def _take_predictor(predictor: Any) -> State:
    bitsets = ("binned_left_cat_bitsets", "raw_left_cat_bitsets")
    return {**_columns(predictor.nodes), **{name: getattr(predictor, name) for name in bitsets}}


def _put_predictor(
    cls: Any, *, fields: Any, integers: Any, numbers: Any, binned_left_cat_bitsets: Any, raw_left_cat_bitsets: Any
) -> Any:
    nodes = _nodes(fields, integers, numbers, import_module(f"{HISTOGRAM}.common").PREDICTOR_RECORD_DTYPE)
    is_leaf = nodes["is_leaf"] != 0
    check_children(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), is_leaf)
    must((nodes["feature_idx"] >= 0).all(), "a node must use an existing feature")
    by_category = nodes["bitset_idx"][~is_leaf & (nodes["is_categorical"] != 0)]
    bitsets = (binned_left_cat_bitsets, raw_left_cat_bitsets)
    for bits in bitsets:
        plain_array(bits, "sets of categories", "u", 2)
        must(bits.dtype == np.uint32 and bits.shape[1] == 8, "sets of categories must have 256 bits")
        must(by_category.max(initial=0) < max(len(bits), 1), "a node must use an existing set of categories")
    must(len(bitsets[0]) == len(bitsets[1]) and (len(bitsets[0]) or not len(by_category)), "sets must be complete")
    return cls(nodes, *bitsets)


def _take_loss(loss: Any) -> State:
    return {"n_classes": loss.n_classes if loss.is_multiclass else None}


def _put_loss(cls: Any, n_classes: Any) -> Any:
    return cls() if n_classes is None else cls(n_classes=whole_number(n_classes, "n_classes", 3, 10**6))


PARTS = (
    Listed("sklearn.tree.Tree", TREE, "tree", BySteps(_put_tree, _take_tree)),
    Listed(
        "sklearn.ensemble.TreePredictor",
        f"{HISTOGRAM}.predictor",
        "predictor",
        BySteps(_put_predictor, _take_predictor),
    ),
    Listed("sklearn.ensemble._BinMapper", f"{HISTOGRAM}.binning", "bins"),
    *(
        Listed(f"sklearn.{name}", LOSSES, "loss", BySteps(_put_loss, _take_loss))
        for name in ("ExponentialLoss", "HalfBinomialLoss", "HalfMultinomialLoss")
    ),
)


# ---- models ----


def _check_tree_model(model: Any) -> None:
    """Refuse a tree whose number of features differs from its model's."""
    state = vars(model)
    if "tree_" in state:
        n_features = whole_number(state["n_features_in_"], "n_features_in_", 1)
        must(state["tree_"].n_features == n_features, "a tree must have the features of its model")


def _check_trees(trees: Any, n_features: Any) -> None:
    """Refuse anything but fitted trees of `n_features`, because reading could go beyond the given features."""
    whole_number(n_features, "n_features_in_", 1)
    for tree in trees:
        must(type(tree) in _TREES and "tree_" in vars(tree), "it must be made of trees")
        must(tree.tree_.n_features == n_features, "trees must have the features of their model")


def _check_forest(forest: Any) -> None:
    state = vars(forest)
    if "estimators_" in state:
        must(type(state["estimators_"]) is list, "trees must be a list")
        _check_trees(state["estimators_"], state["n_features_in_"])


def _check_gradient_boosting(model: Any) -> None:
    """Check that each tree has one output, and each round one tree for each column."""
    state = vars(model)
    if "estimators_" not in state:
        return
    trees, loss = state["estimators_"], state.get("_loss")
    n_columns = whole_number(state["n_trees_per_iteration_"], "n_trees_per_iteration_", 1)
    must(type(trees) is np.ndarray and trees.ndim == 2 and trees.shape[1] == n_columns, "trees must fill their rounds")
    must(trees.size > 0, "there must be trees")
    _check_trees(trees.flat, state["n_features_in_"])
    must(all(tree.tree_.value.shape[1:] == (1, 1) for tree in trees.flat), "each tree must have one output")
    is_multiclass = getattr(loss, "is_multiclass", None)
    must(is_multiclass is not None, "boosting must have a loss")
    if not is_word(state.get("init_"), "zero"):
        n_shares = _columns_of_prior(state.get("init_"))
        must((n_shares if is_multiclass else 1) == n_columns, "a round must have a tree for each output")


def _columns_of_prior(model: Any) -> int:
    """Return the number of columns of boosting's starting value, because the code that adds trees trusts its shape."""
    state = vars(model) if type(model) is DummyClassifier else {}
    must(
        is_word(state.get("strategy"), "prior") and is_word(state.get("_strategy"), "prior"),
        "gradient boosting must start from the shares of the classes: pass init=None or init='zero', or put the other "
        "model into a StackingClassifier",
    )
    must(whole_number(state["n_outputs_"], "n_outputs_", 1) == 1, "there must be one output")
    return len(plain_array(state["class_prior_"], "class_prior_", "f", 1))


def _check_histogram_boosting(model: Any) -> None:
    """Check that trees and bins match the features of the model."""
    state = vars(model)
    if "_predictors" not in state:
        return
    n_features = whole_number(state["n_features_in_"], "n_features_in_", 1)
    is_categorical = plain_array(vars(state.get("_bin_mapper"))["is_categorical_"], "is_categorical_", "bu", 1)
    if state.get("_preprocessor") is not None:
        _check_preprocessor(state["_preprocessor"], n_features)
    must(len(is_categorical) == n_features, "bins must be known for each feature")
    for predictor in (tree for round_ in state["_predictors"] for tree in round_):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        must((nodes["feature_idx"] < n_features).all(), "a node must use an existing feature")
        asked = nodes["feature_idx"][nodes["is_categorical"] != 0]
        must((is_categorical[asked] != 0).all(), "a node must ask for the category of a feature that has some")


def _check_preprocessor(columns: Any, n_features: int) -> None:
    """Refuse an encoder that drops features, because the trees of histogram boosting read all without checking."""
    must(type(columns) is ColumnTransformer, "features must be encoded column by column")
    state = vars(columns)
    parts = [part for part in state["transformers_"] if not is_word(part[1], "drop")]
    kinds = [type(transformer) for _, transformer, _ in parts]
    must(kinds == [OrdinalEncoder, FunctionTransformer], "features must be encoded or numbers")
    masks = {name: plain_array(mask, "mask", "b", 1) for name, _, mask in parts}
    must(
        len(masks) == 2
        and all(len(mask) == n_features for mask in masks.values())
        and np.any([*masks.values()], axis=0).all(),
        "each feature must be encoded or a number",
    )
    indices = {name: list(value) for name, value in state["_transformer_to_input_indices"].items() if len(value)}
    expected = {name: np.flatnonzero(mask).tolist() for name, mask in masks.items() if mask.any()}
    must(indices == expected, "features must be found where they are")
    must(whole_number(state["n_features_in_"], "n_features_in_", 1) == n_features, "the encoder must know the features")
    if "feature_names_in_" in state:
        names = plain_array(state["feature_names_in_"], "feature_names_in_", "OU", 1)
        must(len(names) == n_features, "each feature must have a name")


CHECKS = {
    **dict.fromkeys((cls.__name__ for cls in _TREES), _check_tree_model),
    "ExtraTreesClassifier": _check_forest,
    "GradientBoostingClassifier": _check_gradient_boosting,
    "HistGradientBoostingClassifier": _check_histogram_boosting,
    "RandomForestClassifier": _check_forest,
}


class BoostingColumn(NamedTuple):
    """A column in histogram boosting: its position in the table, and its categories in order."""

    position: int
    categories: list[Any]  # none for a number


def histogram_trees(model: Any) -> tuple[float, list[Any], list[BoostingColumn]]:
    """Return the starting value, trees and columns of fitted histogram boosting for two classes."""
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
