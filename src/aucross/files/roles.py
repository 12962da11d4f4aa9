"""Roles: which attributes may hold objects, words, or only plain values.

An attribute may hold plain values and arrays only, unless it is named here. Names mean the same in all classes of
scikit-learn and this package: `estimator_` always holds a model.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

_MODELS_IN = (
    *("estimator", "estimator_", "estimators", "estimators_", "best_estimator_", "final_estimator", "final_estimator_"),
    *("steps", "transformers", "transformers_", "transformer_list", "remainder", "_remainder"),
    *("init", "init_", "indicator_", "calibrators", "gate", "gate_", "le_"),
    *("smote", "enn", "tomek"),  # samplers that imbalanced-learn combines
    *("_encoder", "_label_binarizer", "_label_encoder", "_le", "_preprocessor", "_scaler"),
)
_RANDOM_IN = ("random_state", "_random_state", "_rng", "_feature_subsample_rng")
_TYPES_IN = ("dtype", "_fit_dtype", "_fill_dtype", "dtype_include", "dtype_exclude")

_HOLDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_MODELS_IN, frozenset({"model"})),
    **dict.fromkeys(_RANDOM_IN, frozenset({"random"})),
    **dict.fromkeys(_TYPES_IN, frozenset({"type"})),
    **dict.fromkeys(("func", "inverse_func", "score_func"), frozenset({"function"})),
    **dict.fromkeys(("cv", "_checked_cv_orig"), frozenset({"splitter"})),
    # Searches over parameters may have tried anything that a parameter may be.
    **dict.fromkeys(
        ("param_grid", "param_distributions", "best_params_", "cv_results_"),
        frozenset({"model", "value", "splitter", "random", "type"}),
    ),
    # Parts of tables of pandas are tables themselves.
    **dict.fromkeys(("frame_index", "frame_columns", "frame_values", "frame_categories"), frozenset({"frame"})),
    "_Booster": frozenset({"booster"}),
    "_bin_mapper": frozenset({"bins"}),
    "_loss": frozenset({"loss"}),
    "_metadata_request": frozenset({"request"}),
    "_optimizer": frozenset({"optimizer"}),
    "_predictors": frozenset({"predictor"}),
    "body": frozenset({"body"}),
    "bsplines_": frozenset({"spline"}),
    "calibrated_classifiers_": frozenset({"calibrated"}),
    "calibrators": frozenset({"calibrator", "model"}),
    "network_": frozenset({"network"}),
    "start": frozenset({"network"}),
    "transformers": frozenset({"model", "selector"}),
    "tree_": frozenset({"tree"}),
}

# Classes of this package may hold each other, and models, in any attribute.
_IN_OWN_CLASSES = frozenset({"model", "value"})

# Roles that plain values may have anywhere.
ALWAYS = frozenset({"matrix"})

# Attributes that code here or in scikit-learn takes as the name of a method to call, or for a place to write to.
_WORDS_OF_METHODS = frozenset(
    {
        *("auto", "predict_proba", "decision_function", "predict", "transform"),
        *("sigmoid", "isotonic", "temperature", "kd_tree", "ball_tree", "brute"),
        *("yeo-johnson", "box-cox", "quantile", "uniform", "kmeans", "inverted_cdf", "averaged_inverted_cdf"),
        *("closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear", "median_unbiased"),
        *("normal_unbiased", "lower", "higher", "midpoint", "nearest", "gbtree", "uniform", "gradient_based"),
        "warn",
    }
)
_ONLY: dict[str, frozenset[Any]] = {
    "memory": frozenset({None}),
    "callbacks": frozenset({None}),
    "checkpoint_folder": frozenset({None}),
    "importance_getter": frozenset({"auto"}),
}

# Parameters of searches, by the names of which they set parameters of the models in them.
_GRIDS = frozenset({"param_grid", "param_distributions", "best_params_"})
# Options of functions: an array among them is what numpy would write its result to.
OPTIONS = frozenset({"kw_args", "inv_kw_args", "metric_params", "effective_metric_params_"})

_DISPATCH = re.compile(r"all|[0-9]{1,6}(\*n_jobs)?")
THREADS = frozenset({"n_jobs", "n_threads", "nthread", "nthreads", "num_thread", "num_threads"})
_MOST_THREADS = 4096

# Attributes that are not stored: they belong to the machine that trained, and loading takes them for None.
NOT_STORED = frozenset({"memory", "checkpoint_folder"})


def roles_in(attribute: str, *, is_own: bool) -> frozenset[str]:
    """Return the roles of the objects that an attribute may hold."""
    return _HOLDS.get(attribute, frozenset()) | ALWAYS | (_IN_OWN_CLASSES if is_own else frozenset())


def check_plain_value(attribute: str, node: Any) -> None:
    """Refuse words other than the known ones where a word could name a file, and refuse thousands of threads."""
    if attribute in _ONLY and (isinstance(node, list | dict) or node not in _ONLY[attribute]):
        raise ValueError(f"{attribute} must be one of {sorted(map(str, _ONLY[attribute]))}")
    if attribute in THREADS and not (node is None or (type(node) is int and abs(node) <= _MOST_THREADS)):
        raise ValueError(f"{attribute} must be None or a whole number up to {_MOST_THREADS}")
    if attribute == "pre_dispatch" and isinstance(node, str) and _DISPATCH.fullmatch(node) is None:
        raise ValueError(f"{attribute} must be a number or a multiple of n_jobs, got {node[:40]!r}")
    if attribute == "_sklearn_output_config":
        _check_output(node)
    if attribute in _GRIDS:
        _check_grid(node)


def _check_output(node: Any) -> None:
    """Refuse unknown libraries for output tables, because scikit-learn would import them."""
    pairs = node.get("@dict") if isinstance(node, dict) else None
    known = ["default", "pandas", *(["polars"] if "polars" in sys.modules else [])]
    if not isinstance(pairs, list) or not all(pair in (["transform", word] for word in known) for pair in pairs):
        raise ValueError(
            f"set_output must be for one of {known}, got {str(node)[:80]}; before a file with a pipeline for polars is "
            "loaded, polars must have been imported: import polars"
        )


def check_words_of_methods(attribute: str, node: Any) -> None:
    """Refuse words other than the names of known methods, because they could name any method."""
    if "method" in attribute:
        for word in nodes_in(node):
            if isinstance(word, str) and word not in _WORDS_OF_METHODS:
                raise ValueError(f"{attribute} must be the name of a known method, got {word!r}")


def _check_grid(node: Any) -> None:
    """Refuse values of a search grid that are not allowed as parameters of a model."""
    if isinstance(node, list):
        for item in node:
            _check_grid(item)
    elif isinstance(node, dict) and isinstance(pairs := node.get("@dict"), list):
        for name, values in pairs:
            for value in values if isinstance(values, list) else [values]:
                attribute = str(name).rpartition("__")[2]
                check_plain_value(attribute, value)
                check_words_of_methods(attribute, value)


def nodes_in(node: Any) -> Iterator[Any]:
    """Yield a node and all nodes in it."""
    yield node
    for item in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        yield from nodes_in(item)
