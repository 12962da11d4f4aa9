"""Store LightGBM and XGBoost models as the text that the libraries write, and read it from memory only.

The libraries do not check what they read. So every line of such a text is checked first: it may hold only numbers and
column names, its trees must end, and no parameter may name a file.

CatBoost reads only its own binary form from memory, which cannot be checked here. Its models are read only if the
caller trusts them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.files.forms import ByAttributes, BySteps, Listed, State, constructor_parameters, plain_array, whole_number
from aucross.files.roles import THREADS, check_plain_value
from aucross.files.sklearn_trees import check_children

# Values of parameters are joined to one text, in which a space or an equals sign would begin another parameter.
_WORD = re.compile(r"[A-Za-z0-9_.,:+-]*")

# Parameters of LightGBM beside those of its constructor: of how trees grow, and none of files, machines or tasks.
_FURTHER_PARAMETERS = (
    "alpha bagging bagging_by_query bagging_fraction bagging_fraction_seed bagging_freq bagging_seed "
    "bin_construct_sample_cnt boost_from_average cat_l2 cat_smooth cegb_penalty_feature_coupled "
    "cegb_penalty_feature_lazy cegb_penalty_split cegb_tradeoff colsample_bynode data_random_seed "
    "data_sample_strategy data_seed deterministic device device_type drop_rate drop_seed "
    "early_stopping_min_delta early_stopping_round early_stopping_rounds enable_bundle enable_sparse eta "
    "extra_seed extra_tree extra_trees feature_contri feature_fraction feature_fraction_bynode "
    "feature_fraction_seed feature_pre_filter first_metric_only force_col_wise force_row_wise "
    "histogram_pool_size is_enable_sparse is_unbalance lambda_l1 lambda_l2 linear_lambda linear_tree "
    "max_bin max_bin_by_feature max_bins max_cat_threshold max_cat_to_onehot max_delta_step max_drop "
    "max_leaf_nodes max_leaves metric metric_freq metrics min_data_in_bin min_data_in_leaf "
    "min_data_per_group min_gain_to_split min_samples_leaf min_sum_hessian_in_leaf monotone_constraints "
    "monotone_constraints_method monotone_penalty monotonic_cst multi_error_top_k n_iter_no_change "
    "neg_bagging_fraction neg_subsample nthread nthreads num_class num_classes num_grad_quant_bins "
    "num_leaf num_thread num_threads objective_seed other_rate path_smooth pos_bagging_fraction "
    "pos_subsample pred_early_stop pred_early_stop_freq pred_early_stop_margin quant_train_renew_leaf "
    "scale_pos_weight seed sigmoid skip_drop stochastic_rounding sub_feature top_rate unbalance "
    "uniform_drop use_missing use_quantized_grad verbose verbosity xgboost_dart_mode zero_as_missing"
)


def _must(condition: Any, rule: str) -> None:
    if not condition:
        raise ValueError(f"the text of a booster is refused: {rule}")


def _bytes(text: Any) -> bytes:
    return plain_array(text, "text", "u", 1).astype(np.uint8).tobytes()


def _as_array(text: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, dtype=np.uint8)


# ---- LightGBM ----

_END_OF_TREES = b"end of trees\n"
_HEADER_LINES = (
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("feature_names", "feature_infos", "tree_sizes"),
)
_OBJECTIVES = ("binary", "multiclass", "multiclassova", "cross_entropy", "cross_entropy_lambda")
_OBJECTIVE = re.compile(rb"([a-z_]+)((?: [a-z_]+(?::[0-9.eE+-]+)?)*)")
_INFO = re.compile(rb"none|\[[0-9.eE+inf-]+:[0-9.eE+inf-]+\]|-?[0-9]+(:-?[0-9]+)*")
# LightGBM ends a line at some of them where Python does not.
_CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")
_NUMBERS = re.compile(rb"[0-9.eE+\-inf a]*")
_PER_SPLIT = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
_PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
_IF_CATEGORIES = ("cat_boundaries", "cat_threshold")
_SINGLE = ("num_leaves", "num_cat", "is_linear", "shrinkage")


def _take_lightgbm(booster: Any) -> State:
    """Write a booster as the text of its trees, without the parameters of its training."""
    text = booster.model_to_string(num_iteration=-1).encode()
    head, end, _ = text.partition(_END_OF_TREES)
    if b"\nis_linear=1" in head:
        raise TypeError("trees with linear leaves have no stored form; pass linear_tree=False")
    return {
        "text": _as_array(head + end),
        "best_iteration": booster.best_iteration,
        "best_score": booster.best_score,
        "pandas_categorical": booster.pandas_categorical,
    }


def _put_lightgbm(cls: Any, text: Any, best_iteration: Any, best_score: Any, pandas_categorical: Any) -> Any:
    lines = _bytes(text)
    _check_lightgbm_text(lines)
    booster = cls(model_str=lines.decode())
    booster.best_iteration = whole_number(best_iteration, "best_iteration", -1)
    booster.best_score = best_score
    booster.pandas_categorical = pandas_categorical
    return booster


def _check_lightgbm_text(text: bytes) -> None:
    """Refuse a text that contains anything but the trees of one classifier."""
    head, _, trees = text.partition(b"\n\n")
    lines = head.split(b"\n")
    _must(not _CONTROL.search(text), "it must not hold control characters")
    values = _by_name([line for line in lines[1:] if line != b"average_output"])
    _must(lines[0] == b"tree" and lines.count(b"average_output") <= 1, "it must start as LightGBM starts")
    _must(set(values) - {"monotone_constraints"} == set(_HEADER_LINES), f"it must have the lines {_HEADER_LINES}")
    _must(values["version"] == b"v4", "it must be of version 4")
    n_classes, n_features = _count(values["num_class"]), _count(values["max_feature_idx"]) + 1
    _must(n_classes == _count(values["num_tree_per_iteration"]) >= 1, "each class must have its trees")
    _count(values["label_index"])
    match = _OBJECTIVE.fullmatch(values["objective"])
    _must(match is not None and match[1].decode() in _OBJECTIVES, f"its objective must be one of {_OBJECTIVES}")
    assert match is not None
    of_objective = [int(word.partition(b":")[2]) for word in match[2].split() if word.startswith(b"num_class:")]
    _must(of_objective == ([n_classes] if n_classes > 1 else []), "its objective must know the classes")
    infos = values["feature_infos"].split(b" ")
    _must(len(infos) == len(values["feature_names"].split(b" ")) == n_features, "each column must have a name")
    _must(all(_INFO.fullmatch(info) for info in infos), "a column must have a range")
    _must(_NUMBERS.fullmatch(values.get("monotone_constraints", b"")), "constraints must be numbers")
    sizes = _integers(values["tree_sizes"])
    _must(
        len(sizes) > 0 == len(sizes) % n_classes and sum(sizes) == len(trees) - len(_END_OF_TREES),
        "trees must have their sizes",
    )
    _must(trees.endswith(_END_OF_TREES), "nothing must follow the trees")
    start = 0
    for number, size in enumerate(sizes):
        _must(size > 0, "trees must have their sizes")
        _check_lightgbm_tree(trees[start : start + size], number, n_features)
        start += size


def _by_name(lines: Iterable[bytes]) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    for line in lines:
        name, equals, value = line.partition(b"=")
        _must(equals and name.isascii() and name.decode() not in values, "each line must have a name of its own")
        values[name.decode()] = value
    return values


def _count(value: bytes) -> int:
    _must(value.isdigit() and len(value) < 10, "a count must be a number")
    return int(value)


def _integers(value: bytes) -> list[int]:
    words = value.split()
    _must(all(word.lstrip(b"-").isdigit() and len(word) < 12 for word in words), "whole numbers are expected")
    return [int(word) for word in words]


def _check_lightgbm_tree(block: bytes, number: int, n_features: int) -> None:
    first, _, rest = block.partition(b"\n")
    _must(first == f"Tree={number}".encode() and rest.endswith(b"\n\n\n"), "trees must follow each other")
    values = _by_name(rest[:-3].split(b"\n"))
    _must(all(map(_NUMBERS.fullmatch, values.values())), "a tree must be made of numbers")
    n_leaves, n_sets = _count(values.get("num_leaves", b"")), _count(values.get("num_cat", b""))
    expected = {*_SINGLE, *_PER_SPLIT, *_PER_LEAF, *(_IF_CATEGORIES if n_sets else ())}
    _must(set(values) == expected and values["is_linear"] == b"0", f"a tree must have the lines {sorted(expected)}")
    _must(n_leaves >= 1, "a tree must have leaves")
    for names, size in ((_PER_SPLIT, n_leaves - 1), (_PER_LEAF, n_leaves)):
        lengths = {name: len(values[name].split()) for name in names}
        optional = ("leaf_weight",) if n_leaves == 1 else ()
        _must(all(length == size or name in optional for name, length in lengths.items()), "each node must be whole")
    features = np.array(_integers(values["split_feature"]), dtype=np.int64)
    _must(((features >= 0) & (features < n_features)).all(), "a node must use an existing column")
    children = [np.array(_integers(values[name]), dtype=np.int64) for name in ("left_child", "right_child")]
    for child in children:
        later = (child > np.arange(len(child))) & (child < len(child))
        _must((later | ((child < 0) & (child >= -n_leaves))).all(), "a branch must lead to a later node or a leaf")
    if n_leaves > 1:  # what goes down a tree comes to an end soon
        expected_children = np.concatenate([np.arange(-n_leaves, 0), np.arange(1, n_leaves - 1)])
        reached = np.sort(np.concatenate(children))
        _must(np.array_equal(reached, expected_children), "each node and each leaf must be reached once")
    if n_sets:
        _check_categories(values, n_sets)
    else:
        _must(all(kind % 2 == 0 for kind in _integers(values["decision_type"])), "there are no sets of categories")


def _check_categories(values: Mapping[str, bytes], n_sets: int) -> None:
    bounds = _integers(values["cat_boundaries"])
    _must(len(bounds) == n_sets + 1 and bounds[0] == 0 and bounds == sorted(bounds), "sets must have their bounds")
    _must(len(_integers(values["cat_threshold"])) == bounds[-1], "sets must have their bits")
    kinds, thresholds = _integers(values["decision_type"]), values["threshold"].split()
    asked = [_count(threshold) for kind, threshold in zip(kinds, thresholds, strict=True) if kind % 2]
    _must(all(value < n_sets for value in asked), "a node must use an existing set")


def _check_lightgbm_model(model: Any) -> None:
    """Refuse parameters that could name a file, alone or when all are joined to one text."""
    state = vars(model)
    cls: Any = type(model)
    further = state.get("_other_params", {})
    _must(isinstance(further, dict), "further parameters must have names")
    of_constructor = constructor_parameters(cls).keys()
    for name in further:
        if name not in of_constructor and name not in _FURTHER_PARAMETERS.split():
            raise ValueError(
                f"{cls.__name__} must have parameters of how trees grow only, got {str(name)[:40]!r}, which may name a "
                "file or a machine; leave it out and fit again"
            )
        if name in THREADS:
            check_plain_value(name, further[name])
    for name in {*of_constructor, *further} - {"class_weight"}:
        _check_words(state.get(name), name)
        _check_words(further.get(name), name)
    _check_words(state.get("_objective"), "objective")


def _check_words(value: Any, name: str) -> None:
    values = value if isinstance(value, list | tuple | set) else [value]
    for part in values:
        is_plain = part is None or isinstance(part, bool | int | float | np.number | np.random.RandomState)
        is_word = isinstance(part, str) and _WORD.fullmatch(part)
        is_array = isinstance(part, np.ndarray) and part.dtype.kind in "biuf"
        is_list = isinstance(part, list | tuple) and all(isinstance(number, int | float) for number in part)
        _must(is_plain or is_word or is_array or is_list, f"{name} must be numbers or words")


class _LightGBMAttributes(ByAttributes):
    """Form of LightGBM models, which also have further parameters as attributes."""

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        plain = [name for name in names if not name.islower() or name.startswith("_") or name in self.left_out]
        super().check_names(cls, plain)
        ByAttributes(any_name=True).check_names(cls, set(names) - set(plain))


_LIGHTGBM_PRIVATE = (
    "_Booster _evals_result _best_score _best_iteration _other_params _objective _le _class_weight _class_map "
    "_fitted_with_feature_names _n_features _n_features_in _classes _n_classes _LGBMClassifier__is_multiclass"
)
_LIGHTGBM_MODEL = _LightGBMAttributes(frozenset(_LIGHTGBM_PRIVATE.split()), finish=_check_lightgbm_model)


# ---- XGBoost ----

_INTEGERS_OF_NODES = {"default_left": (0, 1), "split_type": (0, 1), "left_children": (-1, 2**31 - 1)}
_INTEGERS_OF_NODES |= {"right_children": (-1, 2**31 - 1), "split_indices": (0, 2**31 - 1)}
_FLOATS_OF_NODES = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
_CATEGORY_LISTS = ("categories_nodes", "categories_segments", "categories_sizes")
_ROOT = 2**31 - 1  # what XGBoost writes for the parent of the first node
_MOST_BITS = 2**28
_XGBOOST_OBJECTIVES = ("binary:", "multi:soft", "reg:logistic")
_COLUMN_TYPES = frozenset({"c", "float", "i", "int", "q"})
_NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?"
_PLAIN_NUMBER = re.compile(_NUMBER)
_STARTS = re.compile(rf"{_NUMBER}|\[{_NUMBER}(,{_NUMBER})*\]")


def _take_xgboost(booster: Any) -> State:
    config = json.loads(booster.save_config())
    name = config["learner"]["gradient_booster"]["name"]
    if name not in ("gbtree", "dart"):
        raise TypeError(f"a booster of the kind {name} has no stored form; pass booster='gbtree'")
    return {
        "text": _as_array(bytes(booster.save_raw("json"))),
        "n_threads": int(config["learner"]["generic_param"]["nthread"]),
    }


def _put_xgboost(cls: Any, text: Any, n_threads: Any) -> Any:
    try:
        # As text: of bytes json guesses the encoding, and imports what it guesses.
        model = _checked_xgboost(json.loads(_bytes(text).decode()))
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"the text of a booster is refused: {error!r}") from error
    booster = cls({"nthread": whole_number(n_threads, "n_threads", -(2**31), 2**31)})
    booster.load_model(bytearray(json.dumps(model).encode()))
    return booster


def _checked_xgboost(model: Any) -> State:
    """Return a checked copy of an untrusted JSON model.

    XGBoost does not check indices and sizes, so it gets only a copy made here, with known names and whole numbers in
    range.
    """
    learner = model["learner"]
    _must(set(model) == {"learner", "version"}, "it must start as XGBoost starts")
    known = {"attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"}
    _must(set(learner) == known, f"it must have the parts {sorted(known)}")
    version = _integers_in(model["version"], 0, 10**4)
    _must(len(version) == 3 and version[0] >= 3, "it must be of version 3 or later")
    size = {name: _whole(learner["learner_model_param"].get(name, 1), 0) for name in ("num_class", "num_target")}
    n_features, n_classes = _whole(learner["learner_model_param"]["num_feature"], 1), size["num_class"]
    _must(size["num_target"] == 1, "it must have one target")
    starts = learner["learner_model_param"]["base_score"]
    _must(isinstance(starts, str) and _STARTS.fullmatch(starts), "a start must be a number")
    _must(len(starts.split(",")) in (1, max(1, n_classes)), "it must have a start for each class")
    names, types = (_texts(learner[name]) for name in ("feature_names", "feature_types"))
    _must(all(len(each) in (0, n_features) for each in (names, types)), "each column must have a name and a type")
    _must(set(types) <= _COLUMN_TYPES, f"a column must have one of the types {sorted(_COLUMN_TYPES)}")
    attributes = learner["attributes"]
    return {
        "learner": {
            "attributes": dict(zip(_texts(list(attributes)), _texts(list(attributes.values())), strict=True)),
            "feature_names": names,
            "feature_types": types,
            "gradient_booster": _checked_gradient_booster(learner["gradient_booster"], n_features, n_classes),
            "learner_model_param": {
                "base_score": starts,
                "boost_from_average": str(_whole(learner["learner_model_param"].get("boost_from_average", 1), 0, 1)),
                "num_class": str(n_classes),
                "num_feature": str(n_features),
                "num_target": "1",
            },
            "objective": _checked_objective(learner["objective"], n_classes),
        },
        "version": version.tolist(),
    }


def _checked_objective(objective: Any, n_classes: int) -> State:
    name = objective["name"]
    _must(isinstance(name, str) and name.startswith(_XGBOOST_OBJECTIVES), "its objective must be one of classes")
    options = {part: dict(values) for part, values in objective.items() if part != "name"}
    _must(options.keys() <= {"reg_loss_param", "softmax_multiclass_param"}, "its objective must have known options")
    for values in options.values():
        _must(values.keys() <= {"num_class", "scale_pos_weight"}, "its objective must have known options")
        _must(all(map(_PLAIN_NUMBER.fullmatch, values.values())), "options of its objective must be numbers")
    of_objective = options.get("softmax_multiclass_param", {}).get("num_class", n_classes)
    _must(_whole(of_objective, 0) == n_classes, "its objective must know the classes")
    return {"name": name, **options}


def _checked_gradient_booster(booster: Any, n_features: int, n_classes: int) -> State:
    if booster["name"] == "dart":
        _must(set(booster) == {"name", "gbtree", "weight_drop"}, "its trees must have weights")
        inner = _checked_gradient_booster({**booster["gbtree"], "name": "gbtree"}, n_features, n_classes)
        weights = _floats(booster["weight_drop"])
        _must(len(weights) == len(inner["model"]["trees"]), "one weight a tree")
        return {"name": "dart", "gbtree": inner, "weight_drop": weights.tolist()}
    _must(set(booster) == {"name", "model"} and booster["name"] == "gbtree", "it must be made of trees")
    forest = booster["model"]
    trees, n_groups = forest["trees"], max(1, n_classes)
    _must(isinstance(trees, list) and n_classes <= max(1, len(trees)), "each class must have trees")
    sizes = forest["gbtree_model_param"]
    _must(_whole(sizes["num_trees"], 0) == len(trees), "it must have all its trees")
    groups = _integers_in(forest["tree_info"], 0, n_groups - 1)
    _must(len(groups) == len(trees), "each tree must belong to a class")
    rounds = _integers_in(forest["iteration_indptr"], 0, len(trees))
    _must(rounds[0] == 0 and rounds[-1] == len(trees) and (np.diff(rounds) >= 0).all(), "trees must fill rounds")
    checked = [_checked_xgboost_tree(tree, number, n_features) for number, tree in enumerate(trees)]
    _must(sum(bits for _, bits in checked) <= _MOST_BITS, "its sets of categories are too large")
    model = {
        "gbtree_model_param": {
            "num_parallel_tree": str(_whole(sizes.get("num_parallel_tree", 1), 1)),
            "num_trees": str(len(trees)),
        },
        "iteration_indptr": rounds.tolist(),
        "tree_info": groups.tolist(),
        "trees": [tree for tree, _ in checked],
    }
    if "cats" in forest:
        model["cats"] = _checked_categories(forest["cats"], n_features)
    return {"name": "gbtree", "model": model}


def _whole(value: Any, low: int, high: int = 2**31 - 1) -> int:
    """Return a whole number that is given as a number or as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    _must(type(value) is int and low <= value <= high, f"a whole number from {low} to {high} is expected")
    return value


def _texts(values: Any) -> list[str]:
    _must(isinstance(values, list) and all(isinstance(value, str) for value in values), "texts are expected")
    return values


def _integers_in(values: Any, low: int, high: int) -> NDArray[np.int64]:
    _must(isinstance(values, list) and all(type(value) is int for value in values), "whole numbers are expected")
    _must(low <= min(values, default=low) and max(values, default=low) <= high, f"numbers from {low} to {high}")
    return np.array(values, dtype=np.int64)


def _floats(values: Any) -> NDArray[np.float64]:
    _must(isinstance(values, list) and all(type(value) in (int, float) for value in values), "numbers are expected")
    return np.array(values, dtype=np.float64)


def _checked_xgboost_tree(tree: Mapping[str, Any], number: int, n_features: int) -> tuple[State, int]:
    """Return a checked tree, and the number of bits that its category sets take."""
    sizes = tree["tree_param"]
    size = _whole(sizes["num_nodes"], 1)
    nodes = {name: _integers_in(tree[name], *limits) for name, limits in _INTEGERS_OF_NODES.items()}
    numbers = {name: _floats(tree[name]) for name in _FLOATS_OF_NODES}
    _must(all(len(values) == size for values in (*nodes.values(), *numbers.values())), "each node must be whole")
    _must(_whole(sizes["num_feature"], 1) == n_features, "trees must have the columns of the model")
    _must(_whole(sizes.get("size_leaf_vector", 1), 0, 1) <= 1, "a leaf must have one value")
    _must(_whole(tree["id"], 0) == number, "trees must be numbered as they follow each other")
    left, right = nodes["left_children"], nodes["right_children"]
    is_leaf = left == -1
    check_children(left, right, is_leaf)
    _must((nodes["split_indices"] < n_features).all(), "a node must use an existing column")
    parents = np.full(size, _ROOT)
    for child in (left, right):
        parents[child[~is_leaf]] = np.flatnonzero(~is_leaf)
    _must(np.array_equal(_integers_in(tree["parents"], 0, _ROOT), parents), "a node must know the one before it")
    _must(_whole(sizes.get("num_deleted", 0), 0) == 0, "no node must have been deleted")
    categories, bits = _checked_sets(tree, np.flatnonzero((nodes["split_type"] == 1) & ~is_leaf))
    made = {name: values.tolist() for name, values in {**nodes, **numbers, "parents": parents, **categories}.items()}
    param = {"num_deleted": "0", "num_feature": str(n_features), "num_nodes": str(size), "size_leaf_vector": "1"}
    return {**made, "id": number, "tree_param": param}, bits


def _checked_sets(tree: Mapping[str, Any], asking: NDArray[np.int64]) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Return the category sets of the nodes that have one, and the number of bits they take."""
    lists = {name: _integers_in(tree[name], 0, 2**31 - 1) for name in (*_CATEGORY_LISTS, "categories")}
    nodes, starts, sizes, categories = lists.values()
    _must(np.array_equal(nodes, asking), "sets must be asked for")
    _must(len(nodes) == len(starts) == len(sizes), "sets of categories must be whole")
    _must((starts + sizes <= len(categories)).all(), "sets must be complete")
    sets = (categories[start : start + count] for start, count in zip(starts, sizes, strict=True))
    return lists, sum(int(each.max(initial=0)) for each in sets)


def _checked_categories(names: Mapping[str, Any], n_features: int) -> State:
    """Return the names of categories, by which new rows are encoded, after checking them."""
    _must(set(names) == {"enc", "feature_segments", "sorted_idx"}, "names of categories must be whole")
    bounds, order = (_integers_in(names[name], 0, 2**31 - 1) for name in ("feature_segments", "sorted_idx"))
    columns = names["enc"]
    if not len(bounds) and not len(order) and columns == []:
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    _must(len(bounds) == n_features + 1 and len(columns) == n_features and bounds[0] == 0, "each column is named")
    counts = np.diff(bounds)
    _must((counts >= 0).all() and bounds[-1] == len(order), "each category must have a place")
    for start, count in zip(bounds[:-1], counts, strict=True):
        _must(np.array_equal(np.sort(order[start : start + count]), np.arange(count)), "places must be an order")
    named = [_checked_names(column, count) for column, count in zip(columns, counts.tolist(), strict=True)]
    return {"enc": named, "feature_segments": bounds.tolist(), "sorted_idx": order.tolist()}


def _checked_names(column: Mapping[str, Any], count: int) -> State:
    if "offsets" not in column:
        values = _integers_in(column["values"], -(2**63), 2**63 - 1)
        _must(set(column) == {"type", "values"} and len(values) == count, "each category must have a name")
        return {"type": _whole(column["type"], 0, 100), "values": values.tolist()}
    offsets, letters = _integers_in(column["offsets"], 0, 2**31 - 1), _integers_in(column["values"], -128, 255)
    _must(set(column) == {"offsets", "values"}, "names must be text or numbers")
    _must(len(offsets) == (count + 1 if count else 0) or (count == 0 and len(offsets) <= 1), "each name must end")
    _must(count or not len(letters), "each name must end")
    if count:
        _must(offsets[0] == 0 and offsets[-1] == len(letters) and (np.diff(offsets) >= 0).all(), "names must follow")
    return {"offsets": offsets.tolist(), "values": letters.tolist()}


# ---- CatBoost ----


def _take_catboost(model: Any) -> State:
    """Return the parameters, and the model in CatBoost's own format."""
    # A model that was read is written differently from the same model before. So write what was read: then both have
    # one fingerprint.
    read = type(model)().load_model(blob=_catboost_bytes(model)) if model.is_fitted() else None
    text = b"" if read is None else _catboost_bytes(read)
    return {"parameters": model.get_params(), "model": _as_array(text)}


def _catboost_bytes(model: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path))
        return path.read_bytes()


def _put_catboost(cls: Any, parameters: Any, model: Any) -> Any:
    blob, made = _bytes(model), cls(**parameters)
    return made.load_model(blob=blob) if blob else made


_XGBOOST_MODEL = ByAttributes(frozenset({"_Booster", "kwargs"}))
_CATBOOST_MODEL = BySteps(_put_catboost, _take_catboost)
CLASSES = (
    Listed("lightgbm.sklearn.LGBMClassifier", "lightgbm.sklearn", form=_LIGHTGBM_MODEL),
    Listed("lightgbm.basic.Booster", "lightgbm.basic", "booster", BySteps(_put_lightgbm, _take_lightgbm)),
    Listed("xgboost.sklearn.XGBClassifier", "xgboost.sklearn", form=_XGBOOST_MODEL),
    Listed("xgboost.sklearn.XGBRFClassifier", "xgboost.sklearn", form=_XGBOOST_MODEL),
    Listed("xgboost.core.Booster", "xgboost.core", "booster", BySteps(_put_xgboost, _take_xgboost)),
    Listed("catboost.core.CatBoostClassifier", "catboost.core", form=_CATBOOST_MODEL, needs_trust=True),
)
