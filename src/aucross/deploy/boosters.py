"""Models of LightGBM and XGBoost: their boosters as the text that the libraries write, read from memory only.

The libraries take what they read on trust. So every line of such a text is checked first: it may hold numbers and names
of columns and nothing else, trees whose branches come to an end, and no parameter that could name a file.

CatBoost reads only a form of its own from memory, of which nothing can be checked here. Its models are read where the
caller trusts the file with them.
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

from aucross.deploy.forms import ByAttributes, BySteps, constructor_parameters
from aucross.deploy.roles import THREADS, check_plain_value
from aucross.deploy.sklearn_parts import check_children, plain_array, whole_number

State = dict[str, Any]

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


def _text(state: Mapping[str, Any]) -> bytes:
    return plain_array(state, "text", "u", 1).astype(np.uint8).tobytes()


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


def take_lightgbm(booster: Any) -> State:
    """A booster as the text of its trees, without the parameters of its training."""
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


def put_lightgbm(cls: Any, state: State) -> Any:
    """A booster of a checked text."""
    text = _text(state)
    check_lightgbm_text(text)
    booster = cls(model_str=text.decode())
    booster.best_iteration = whole_number(state, "best_iteration", -1)
    booster.best_score = state["best_score"]
    booster.pandas_categorical = state["pandas_categorical"]
    return booster


def check_lightgbm_text(text: bytes) -> None:
    """Refuse a text that is anything but the trees of one classifier."""
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
    _check_objective(values["objective"], n_classes)
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


def _check_objective(value: bytes, n_classes: int) -> None:
    match = _OBJECTIVE.fullmatch(value)
    _must(match is not None and match[1].decode() in _OBJECTIVES, f"its objective must be one of {_OBJECTIVES}")
    assert match is not None
    of_objective = [int(word.partition(b":")[2]) for word in match[2].split() if word.startswith(b"num_class:")]
    _must(of_objective == ([n_classes] if n_classes > 1 else []), "its objective must know the classes")


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
    _must(((features >= 0) & (features < n_features)).all(), "a node must ask for a column that there is")
    children = [np.array(_integers(values[name]), dtype=np.int64) for name in ("left_child", "right_child")]
    for child in children:
        later = (child > np.arange(len(child))) & (child < len(child))
        _must((later | ((child < 0) & (child >= -n_leaves))).all(), "a branch must lead to a later node or a leaf")
    _check_each_once(np.concatenate(children), n_leaves)
    if n_sets:
        _check_categories(values, n_sets)
    else:
        _must(all(kind % 2 == 0 for kind in _integers(values["decision_type"])), "there are no sets of categories")


def _check_each_once(children: NDArray[Any], n_leaves: int) -> None:
    """Each node but the first and each leaf is reached once, so that what goes down a tree comes to an end soon."""
    if n_leaves > 1:
        reached = np.sort(children)
        expected = np.concatenate([np.arange(-n_leaves, 0), np.arange(1, n_leaves - 1)])
        _must(np.array_equal(reached, expected), "each node and each leaf must be reached once")


def _check_categories(values: Mapping[str, bytes], n_sets: int) -> None:
    bounds = _integers(values["cat_boundaries"])
    _must(len(bounds) == n_sets + 1 and bounds[0] == 0 and bounds == sorted(bounds), "sets must have their bounds")
    _must(len(_integers(values["cat_threshold"])) == bounds[-1], "sets must have their bits")
    kinds, thresholds = _integers(values["decision_type"]), values["threshold"].split()
    asked = [_count(threshold) for kind, threshold in zip(kinds, thresholds, strict=True) if kind % 2]
    _must(all(value < n_sets for value in asked), "a node must ask for a set that there is")


def check_lightgbm_model(model: Any) -> None:
    """Refuse parameters that name files, or would when all are joined to one text."""
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
        _must(is_plain or is_word or _is_list_of_numbers(part), f"{name} must be numbers or words")


def _is_list_of_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return isinstance(value, list | tuple) and all(isinstance(part, int | float) for part in value)


class _LightGBMAttributes(ByAttributes):
    """LightGBM sets its further parameters as attributes, too."""

    def check_names(self, cls: type, names: Iterable[str]) -> None:
        plain = [name for name in names if not name.islower() or name.startswith("_") or name in self.left_out]
        super().check_names(cls, plain)
        ByAttributes(any_name=True).check_names(cls, set(names) - set(plain))


LIGHTGBM_MODEL = _LightGBMAttributes(
    frozenset(
        {
            *("_Booster", "_evals_result", "_best_score", "_best_iteration", "_other_params", "_objective", "_le"),
            *("_class_weight", "_class_map", "_fitted_with_feature_names", "_n_features", "_n_features_in"),
            *("_classes", "_n_classes", "_LGBMClassifier__is_multiclass"),
        }
    ),
    finish=check_lightgbm_model,
)
LIGHTGBM_BOOSTER = BySteps(
    frozenset({"text", "best_iteration", "best_score", "pandas_categorical"}), take_lightgbm, put_lightgbm
)


# ---- XGBoost ----

_TREE_LISTS = (
    *("base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children"),
    *("split_conditions", "split_indices", "split_type", "sum_hessian"),
)
_CATEGORY_LISTS = ("categories_nodes", "categories_segments", "categories_sizes")
_MOST_BITS = 2**28
_XGBOOST_OBJECTIVES = ("binary:", "multi:soft", "reg:logistic")


def take_xgboost(booster: Any) -> State:
    """A booster as the JSON of its model."""
    config = json.loads(booster.save_config())
    name = config["learner"]["gradient_booster"]["name"]
    if name not in ("gbtree", "dart"):
        raise TypeError(f"a booster of the kind {name} has no stored form; pass booster='gbtree'")
    return {
        "text": _as_array(bytes(booster.save_raw("json"))),
        "n_threads": int(config["learner"]["generic_param"]["nthread"]),
    }


def put_xgboost(cls: Any, state: State) -> Any:
    """A booster of checked JSON."""
    model = json.loads(_text(state))
    _check_xgboost(model)
    booster = cls({"nthread": whole_number(state, "n_threads", -(2**31), 2**31)})
    # Written anew: of a name that stands twice another reader might take the other value.
    booster.load_model(bytearray(json.dumps(model).encode()))
    return booster


def _check_xgboost(model: Any) -> None:
    try:
        _check_xgboost_parts(model)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"the text of a booster is refused: {error!r}") from error


def _check_xgboost_parts(model: Any) -> None:
    learner = model["learner"]
    _must(set(model) == {"learner", "version"}, "it must start as XGBoost starts")
    known = {"attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"}
    _must(set(learner) == known, f"it must have the parts {sorted(known)}")
    _must(learner["objective"]["name"].startswith(_XGBOOST_OBJECTIVES), "its objective must be one of classes")
    booster = learner["gradient_booster"]
    if booster["name"] == "dart":
        _must(set(booster) == {"name", "gbtree", "weight_drop"}, "its trees must have weights")
        _must(len(_numbers(booster["weight_drop"])) == len(booster["gbtree"]["model"]["trees"]), "one weight a tree")
        booster = booster["gbtree"]
    _must(set(booster) == {"name", "model"} and booster["name"] == "gbtree", "it must be made of trees")
    size = {name: int(value) for name, value in learner["learner_model_param"].items() if name.startswith("num_")}
    _must(size.get("num_target", 1) == 1 and size["num_feature"] >= 1, "it must have columns, and one target")
    starts = _list_of_numbers(learner["learner_model_param"]["base_score"])
    _must(len(starts) in (1, max(1, size["num_class"])), "it must have a start for each class")
    of_objective = learner["objective"].get("softmax_multiclass_param", {}).get("num_class", size["num_class"])
    _must(int(of_objective) == size["num_class"], "its objective must know the classes")
    for name in ("feature_names", "feature_types"):
        _must(len(learner[name]) in (0, size["num_feature"]), "each column must have a name and a type")
    forest = booster["model"]
    trees, n_groups = forest["trees"], max(1, size["num_class"])
    groups = _numbers(forest["tree_info"])
    _must(0 <= size["num_class"] <= max(1, len(trees)), "each class must have trees")
    _must(int(forest["gbtree_model_param"].get("num_parallel_tree", 1)) >= 1, "it must have trees a round")
    _must(len(groups) == len(trees) == int(forest["gbtree_model_param"]["num_trees"]), "it must have all its trees")
    _must((groups >= 0).all() and (groups < n_groups).all(), "each tree must belong to a class")
    rounds = _numbers(forest["iteration_indptr"])
    _must(rounds[0] == 0 and rounds[-1] == len(trees) and (np.diff(rounds) >= 0).all(), "trees must fill rounds")
    bits = sum(_check_xgboost_tree(tree, size["num_feature"]) for tree in trees)
    _must(bits <= _MOST_BITS, "its sets of categories are too large")
    if "cats" in forest:
        _check_xgboost_categories(forest["cats"], size["num_feature"])


def _numbers(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    _must(isinstance(values, list) and array.ndim == 1 and (array.dtype.kind in "iuf" or not len(array)), "numbers")
    return array if len(array) else array.astype(np.int64)


def _list_of_numbers(text: Any) -> NDArray[Any]:
    """Numbers written as text: one, or several in brackets."""
    _must(isinstance(text, str), "a start must be a number")
    return np.array([float(word) for word in text.strip("[]").split(",")])


def _check_xgboost_tree(tree: Mapping[str, Any], n_features: int) -> int:
    """Check a tree and return how many bits its sets of categories take."""
    size = int(tree["tree_param"]["num_nodes"])
    lists = {name: _numbers(tree[name]) for name in (*_TREE_LISTS, *_CATEGORY_LISTS, "categories")}
    _must(all(len(lists[name]) == size for name in _TREE_LISTS), "each node must be whole")
    _must(int(tree["tree_param"]["num_feature"]) == n_features, "trees must have the columns of the model")
    _must(tree["tree_param"]["size_leaf_vector"] in ("0", "1"), "a leaf must have one value")
    left, right = lists["left_children"], lists["right_children"]
    is_leaf = left == -1
    check_children(left, right, is_leaf)
    reached = np.sort(np.concatenate([left[~is_leaf], right[~is_leaf]]))
    _must(np.array_equal(reached, np.arange(1, size)), "each node must be reached once")
    asked = lists["split_indices"]
    _must(((asked >= 0) & (asked < n_features)).all(), "a node must ask for a column that there is")
    nodes, starts, sizes = (lists[name].astype(np.int64) for name in _CATEGORY_LISTS)
    categories = lists["categories"]
    _must(len(nodes) == len(starts) == len(sizes), "sets of categories must be whole")
    _must(((nodes >= 0) & (nodes < size)).all() and (np.diff(nodes) > 0).all(), "sets must belong to nodes")
    _must(((starts >= 0) & (sizes >= 0) & (starts + sizes <= len(categories))).all(), "sets must be complete")
    _must(np.array_equal(nodes, np.flatnonzero((lists["split_type"] == 1) & (left != -1))), "sets must be asked for")
    _must(len(categories) == 0 or categories.min() >= 0, "a category must have a number")
    return sum(
        int(categories[start : start + count].max(initial=0)) for start, count in zip(starts, sizes, strict=True)
    )


def _check_xgboost_categories(names: Mapping[str, Any], n_features: int) -> None:
    """The names of categories, by which new rows are coded."""
    _must(set(names) == {"enc", "feature_segments", "sorted_idx"}, "names of categories must be whole")
    bounds, order, columns = _numbers(names["feature_segments"]), _numbers(names["sorted_idx"]), names["enc"]
    if not len(bounds) and not len(order) and not len(columns):
        return
    _must(len(bounds) == n_features + 1 and len(columns) == n_features and bounds[0] == 0, "each column is named")
    counts = np.diff(bounds)
    _must((counts >= 0).all() and bounds[-1] == len(order), "each category must have a place")
    for start, count, column in zip(bounds[:-1].tolist(), counts.tolist(), columns, strict=True):
        _must(sorted(order[start : start + count].tolist()) == list(range(count)), "places must be an order")
        _check_names(column, count)


def _check_names(column: Mapping[str, Any], count: int) -> None:
    values = _numbers(column["values"])
    if "offsets" not in column:
        _must(set(column) == {"type", "values"} and len(values) == count, "each category must have a name")
        return
    offsets = _numbers(column["offsets"])
    _must(set(column) == {"offsets", "values"}, "names must be text or numbers")
    _must(len(offsets) == (count + 1 if count else 0) or (count == 0 and len(offsets) <= 1), "each name must end")
    if count:
        _must(offsets[0] == 0 and offsets[-1] == len(values) and (np.diff(offsets) >= 0).all(), "names must follow")


XGBOOST_MODEL = ByAttributes(frozenset({"_Booster", "kwargs"}))
XGBOOST_BOOSTER = BySteps(frozenset({"text", "n_threads"}), take_xgboost, put_xgboost)


# ---- CatBoost ----


def take_catboost(model: Any) -> State:
    """The parameters, and the model as CatBoost writes it."""
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


def put_catboost(cls: Any, state: State) -> Any:
    """A model of parameters and bytes, by the library that wrote them."""
    blob = plain_array(state, "model", "u", 1).astype(np.uint8).tobytes()
    model = cls(**state["parameters"])
    return model.load_model(blob=blob) if blob else model


CATBOOST_MODEL = BySteps(frozenset({"parameters", "model"}), take_catboost, put_catboost)
