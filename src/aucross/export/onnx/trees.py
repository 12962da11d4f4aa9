"""Trees of all libraries in one form, computed by ONNX in double precision.

ONNX's operators for trees return float32, and an error of 1e-7 can move a score to the other side of a band's end. So
the operator only returns the number of the leaf that a row reaches, which float32 represents exactly; the values of the
leaves are looked up and added as doubles.

Both usual converters fail with inputs of doubles. From single trees and both kinds of boosting, skl2onnx 1.20 writes
graphs that onnxruntime refuses for their types; from forests, graphs that return float32. onnxmltools 1.16 refuses
LightGBM.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
import onnx
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from aucross.files.sklearn_trees import histogram_trees


@dataclass(frozen=True)
class Branch:
    """An inner node: its question, and the node that follows each answer."""

    feature: int  # position of the column
    threshold: float  # a row whose value is not larger goes to `yes`
    yes: Branch | float  # the next node, or the value of a leaf
    no: Branch | float
    missing: bool  # whether a row without a value goes to `yes`
    members: tuple[float, ...] | None = None  # if given, a row whose value is one of them goes to `yes` instead


@dataclass(frozen=True)
class Trees:
    """Trees whose sum is the score of a model."""

    roots: Sequence[Branch | float]
    base: float = 0.0  # what the sum starts from
    divisor: float = 1.0  # what the sum is divided by
    slope: float | None = None  # the score is the logistic function of so many times the sum; None: the sum itself
    in_float32: bool = False  # whether the model rounds the values of a row to float32 before it compares them


def trees_of(model: Any) -> Trees | None:
    """Return the trees of a fitted classifier of two classes; None for other kinds of models."""
    if isinstance(model, RandomForestClassifier | ExtraTreesClassifier | DecisionTreeClassifier | ExtraTreeClassifier):
        estimators = getattr(model, "estimators_", [model])
        roots = [_tree(each.tree_, lambda tree, node: tree.value[node, 0, 1]) for each in estimators]
        return Trees(roots, divisor=float(len(roots)), in_float32=True)
    if isinstance(model, GradientBoostingClassifier):
        return _gradient_boosting(model)
    if isinstance(model, HistGradientBoostingClassifier):
        base, trees, columns = histogram_trees(model)
        return Trees([_histogram_tree(tree, columns) for tree in trees], base=base, slope=1.0)
    # These libraries need not be there.
    library = type(model).__module__.partition(".")[0]
    if library == "lightgbm" and hasattr(model, "booster_"):
        return _lightgbm(model)
    if library == "xgboost" and hasattr(model, "get_booster"):
        return _xgboost(model)
    return None


# ---- scikit-learn ----


def _tree(tree: Any, value: Any, node: int = 0) -> Branch | float:
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left == -1:
        return float(value(tree, node))
    return Branch(
        int(tree.feature[node]),
        float(tree.threshold[node]),
        _tree(tree, value, left),
        _tree(tree, value, right),
        missing=bool(tree.missing_go_to_left[node]),
    )


def _gradient_boosting(model: Any) -> Trees | None:
    if model.init is not None or model.loss != "log_loss":
        return None
    rate, prior = model.learning_rate, float(model.init_.class_prior_[1])
    roots = [_tree(each.tree_, lambda tree, node: rate * tree.value[node, 0, 0]) for each in model.estimators_[:, 0]]
    return Trees(roots, base=log(prior / (1 - prior)), slope=1.0, in_float32=True)


def _histogram_tree(tree: Any, columns: Any, node: int = 0) -> Branch | float:
    record = tree.nodes[node]
    if record["is_leaf"]:
        return float(record["value"])
    yes, no = (_histogram_tree(tree, columns, int(record[side])) for side in ("left", "right"))
    column, missing = columns[int(record["feature_idx"])], bool(record["missing_go_to_left"])
    if not record["is_categorical"]:
        return Branch(column.position, float(record["num_threshold"]), yes, no, missing)
    bits = tree.raw_left_cat_bitsets[int(record["bitset_idx"])]
    goes_left = [bool(bits[code // 32] >> (code % 32) & 1) for code in range(len(column.categories))]
    # A category that the model has not seen goes where missing values go, which is where "none of these" leads.
    wanted = tuple(value for value, left in zip(column.categories, goes_left, strict=True) if left != missing)
    known, others = (no, yes) if missing else (yes, no)
    return Branch(column.position, 0.0, known, others, missing=False, members=wanted) if wanted else others


# ---- LightGBM ----


def _lightgbm(model: Any) -> Trees | None:
    dump = model.booster_.dump_model()
    objective, *settings = dump["objective"].split()
    if objective != "binary" or dump["average_output"]:
        return None
    if dump.get("pandas_categorical"):
        raise ValueError(
            "LightGBM with pandas categories cannot be converted: the codes of the categories are not in the graph; "
            "encode them with OrdinalEncoder in a Pipeline and pass categorical_feature"
        )
    slope = next((float(each.partition(":")[2]) for each in settings if each.startswith("sigmoid:")), 1.0)
    return Trees([_lightgbm_node(tree["tree_structure"]) for tree in dump["tree_info"]], slope=slope)


def _lightgbm_node(node: dict[str, Any]) -> Branch | float:
    if "leaf_value" in node:
        return float(node["leaf_value"])
    yes, no = _lightgbm_node(node["left_child"]), _lightgbm_node(node["right_child"])
    if node["missing_type"] == "Zero":
        raise ValueError("LightGBM with zero_as_missing=True cannot be converted; write missing values as NaN")
    if node["decision_type"] == "==":
        members = tuple(float(value) for value in node["threshold"].split("||"))
        return Branch(node["split_feature"], 0.0, yes, no, missing=False, members=members)
    threshold = float(node["threshold"])
    # Where the training rows had no missing value LightGBM takes 0 for one.
    missing = bool(node["default_left"]) if node["missing_type"] == "NaN" else threshold >= 0
    return Branch(node["split_feature"], threshold, yes, no, missing)


# ---- XGBoost ----


def _xgboost(model: Any) -> Trees | None:
    booster = model.get_booster()
    settings = json.loads(booster.save_config())["learner"]
    if settings["gradient_booster"]["name"] != "gbtree" or settings["objective"]["name"] != "binary:logistic":
        return None
    if hasattr(model, "early_stopping_rounds") and model.early_stopping_rounds:
        booster = booster[: model.best_iteration + 1]
    share = float(settings["learner_model_param"]["base_score"].strip("[]"))
    names = booster.feature_names
    roots = [_xgboost_node(json.loads(tree), names) for tree in booster.get_dump(dump_format="json")]
    return Trees(roots, base=log(share / (1 - share)), slope=1.0, in_float32=True)


def _xgboost_node(node: dict[str, Any], names: list[str] | None) -> Branch | float:
    if "leaf" in node:
        # Values are float32, and JSON writes fewer digits than a double has.
        return float(np.float32(node["leaf"]))
    by_number = {child["nodeid"]: child for child in node["children"]}
    yes, no = (_xgboost_node(by_number[node[side]], names) for side in ("yes", "no"))
    feature = names.index(node["split"]) if names else int(node["split"].removeprefix("f"))
    missing, condition = node["missing"] == node["yes"], node["split_condition"]
    if isinstance(condition, list):
        raise ValueError(
            "XGBoost with categories cannot be converted to ONNX; encode them with OneHotEncoder in a Pipeline"
        )
    # A row goes to yes if it is smaller: if it is not larger than the next smaller number.
    threshold = float(np.nextafter(np.float32(condition), np.float32(-np.inf)))
    return Branch(feature, threshold, yes, no, missing)


# ---- the form that ONNX takes ----


class WrittenTrees(NamedTuple):
    """Trees as one ``TreeEnsembleRegressor``, which returns the leaf of each row in each tree."""

    attributes: dict[str, Any]  # of the node; its output has a column for each tree, the number of the leaf in it
    first_leaf: list[int]  # place of the first leaf of each tree among all leaves
    leaves: list[float]  # values of all leaves
    # A column, and the values that count: each such pair is one more column behind the table, 1 where the value of the
    # row is among them and 0 elsewhere.
    members: dict[tuple[int, tuple[float, ...]], int]


def written(trees: Trees, n_features: int) -> WrittenTrees:
    """Write trees in the form of ONNX."""
    nodes, first_leaf, leaves = list[_Node](), list[int](), list[float]()
    members: dict[tuple[int, tuple[float, ...]], int] = {}
    for number, root in enumerate(trees.roots):
        first_leaf.append(len(leaves))
        leaves.extend(_add_tree(nodes, members, number, root, n_features))
    columns = {name: [getattr(node, name) for node in nodes] for name in _Node._fields}
    values = np.array(columns["values"])
    at_leaf = [node for node in nodes if node.leaf is not None]
    attributes = {
        "n_targets": len(trees.roots),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
        **{f"nodes_{name}": columns[name] for name in _PLAIN},
        "nodes_values_as_tensor": onnx.numpy_helper.from_array(values, "values"),
        "target_treeids": [node.treeids for node in at_leaf],
        "target_nodeids": [node.nodeids for node in at_leaf],
        "target_ids": [node.treeids for node in at_leaf],
        "target_weights_as_tensor": onnx.numpy_helper.from_array(
            np.array([node.leaf for node in at_leaf], dtype=np.float64), "leaves"
        ),
    }
    return WrittenTrees(attributes, first_leaf, leaves, members)


class _Node(NamedTuple):
    """A node in ONNX's list."""

    treeids: int
    nodeids: int
    featureids: int
    modes: str
    values: float
    truenodeids: int
    falsenodeids: int
    missing_value_tracks_true: int
    leaf: int | None  # number within its tree


_PLAIN = [name for name in _Node._fields if name not in ("values", "leaf")]


def _add_tree(
    nodes: list[_Node], members: dict[Any, int], tree: int, root: Branch | float, n_features: int
) -> list[float]:
    """Add the nodes of a tree and the category sets in its questions; return the values of its leaves."""
    leaves: list[float] = []
    waiting, n_numbered = deque([(0, root)]), 1
    while waiting:
        number, node = waiting.popleft()
        if not isinstance(node, Branch):
            nodes.append(_Node(tree, number, 0, "LEAF", 0.0, 0, 0, 0, len(leaves)))
            leaves.append(node)
            continue
        # First the child of rows whose value is not larger; a missing value may count as not larger, too.
        feature, threshold, children, missing = node.feature, node.threshold, (node.yes, node.no), node.missing
        if node.members is not None:
            feature = n_features + members.setdefault((feature, node.members), len(members))
            threshold, children, missing = 0.5, (node.no, node.yes), False
        places = n_numbered, n_numbered + 1
        n_numbered += 2
        nodes.append(_Node(tree, number, feature, "BRANCH_LEQ", threshold, *places, int(missing), None))
        waiting.extend(zip(places, children, strict=True))
    return leaves
