"""Checks of the rows, weights and arguments of `fit`, before anything is trained."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from aucross.core.bands import check_coverage
from aucross.core.missing import check_band_groups, numbers_of_units, refuse_name_of_column
from aucross.core.ranking import FloatArray, check_weights
from aucross.estimators.column_names import refuse_repeated_names
from aucross.estimators.labels import check_classes, in_order, plain_labels
from aucross.estimators.models import RESPONSE_METHODS
from aucross.estimators.score_column import score_column_in
from aucross.estimators.training_rows import TrainingRows
from aucross.estimators.types import Classifier, Column, Labels, Table
from aucross.estimators.untrained import refuse_no_object
from aucross.estimators.warn import warn_user
from aucross.frames import count_rows, other_order


def check_shared_parameters(clf: Any) -> None:
    """Refuse constructor parameters that cannot work, before anything is trained."""
    refuse_no_object(getattr(clf, "estimator", None), "estimator")
    check_coverage(clf.coverage)
    check_coverage_confidence(clf.coverage_confidence)
    ties = getattr(clf, "ties", "whole")
    if not isinstance(ties, str) or ties not in ("whole", "split"):
        raise ValueError(
            f'ties must be "whole" or "split", got {ties!r}; "split" cuts through ties by a hash of the row'
        )
    holdout_size = getattr(clf, "holdout_size", 0.1)
    if not isinstance(holdout_size, Real):
        raise TypeError(f"holdout_size must be a number in (0, 1), got {holdout_size!r}; pass 0.1 for a tenth")
    if not 0.0 < float(holdout_size) < 1.0:
        raise ValueError(f"holdout_size must be a share in (0, 1), got {holdout_size}; pass 0.1 for a tenth")


def check_coverage_confidence(confidence: Any) -> float | None:
    """Return the probability with which the coverage must hold, None for no promise."""
    if confidence is None:
        return None
    value = check_coverage(confidence, name="coverage_confidence")
    if value == 1.0:
        raise ValueError("coverage_confidence must be below 1, got 1; nothing is certain, pass 0.95")
    return value


def check_training_rows(
    clf: Any,
    X: Table,
    y: Column,
    *,
    sample_weight: Column,
    groups: Column,
    band_groups: Column,
    coverage_weight: Column,
    fit_params: dict[str, Any],
) -> TrainingRows:
    """Return checked rows: one length, at least two classes, usable weights."""
    if y is None:
        raise ValueError(f"This {type(clf).__name__} estimator requires y to be passed, but the target y is None")
    given, y = y, column_or_1d(plain_labels(y), warn=True)
    _check_lengths(X, y, groups)
    beside = {"sample_weight": sample_weight, "groups": groups, "band_groups": band_groups}
    if (message := other_order(X, y=given, **beside, coverage_weight=coverage_weight)) is not None:
        warn_user(message)
    refuse_repeated_names(X)
    X, y, groups = indexable(X, y, groups)
    if not len(y):
        raise ValueError("X and y must not be empty: found array with 0 sample(s) while a minimum of 2 is required")
    classes = check_classes(y)
    if groups is not None:
        numbers_of_units(groups, len(y))  # rows without a group would be one customer, all in one fold
    if hasattr(clf, "pos_label"):
        classes = in_order(classes, clf.pos_label, given)
        _check_column_speaks_for(clf.estimator, classes)
    if (column := score_column_in(clf.estimator)) is not None:
        column.check_column(X)  # of a fold, the error would count other rows
    weight = None if sample_weight is None else check_weights(sample_weight, len(y))
    counted = weight if coverage_weight is None else check_weights(coverage_weight, len(y), name="coverage_weight")
    if counted is not None and clf.coverage_confidence is not None:
        raise ValueError(
            "coverage_confidence must be None with sample_weight or coverage_weight: the confidence is about a share "
            "of rows and does not "
            f"hold for a share of weight, got {clf.coverage_confidence!r}; leave out one of the two"
        )
    bands = None if band_groups is None else check_band_groups(band_groups, len(y))
    return TrainingRows(X, y, classes, counted, groups, bands, _base_fit_params(clf, weight, fit_params))


def _check_column_speaks_for(estimator: Classifier, classes: Labels) -> None:
    """Refuse a score column that speaks for another class than the positive one."""
    if not getattr(estimator, "trains_nothing", False) or len(classes) != 2:
        return
    speaks_for = np.sort(classes)[1] if estimator.pos_label is None else estimator.pos_label
    if speaks_for != classes[1]:
        raise ValueError(
            f"the column {estimator.column!r} speaks for {speaks_for!r}, and the positive class is "
            f"{classes.tolist()[1]!r}; pass pos_label={classes.tolist()[1]!r} to both ScoreColumn and the classifier"
        )


def _base_fit_params(clf: Any, weight: FloatArray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the base model's fit: all given, or those requested with metadata routing."""
    given = fit_params if weight is None else {**fit_params, "sample_weight": weight}
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(clf, "fit", **given).estimator.fit) if given else {}
    if weight is not None and not takes_weights(clf.estimator):
        raise ValueError(
            f"sample_weight cannot reach the base model: {type(clf.estimator).__name__}.fit has no argument of "
            "that name; if a step inside takes weights, call sklearn.set_config(enable_metadata_routing=True) and "
            ".set_fit_request(sample_weight=True) on that step"
        )
    return given


def resolve_response_method(estimator: Classifier, response_method: str) -> str:
    """Return the name of the base model's method that gives the scores."""
    if response_method not in ("auto", *RESPONSE_METHODS):
        raise ValueError(
            f'response_method must be "auto", "predict_proba" or "decision_function", got {response_method!r}'
        )
    wanted = RESPONSE_METHODS if response_method == "auto" else (response_method,)
    for method in wanted:
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"estimator must have {' or '.join(wanted)}, got {type(estimator).__name__}, which has not: without "
        "scores there is nothing to rank; choose another model or wrap it in CalibratedClassifierCV"
    )


def _check_lengths(X: Table, y: NDArray[Any], groups: Column) -> None:
    refuse_name_of_column(groups, "groups")
    for name, rows in (("X", X), ("groups", groups)):
        n_rows = count_rows(rows)
        if n_rows is not None and n_rows != len(y):  # scikit-learn knows what to say about those without a length
            raise ValueError(
                f"{name} and y must have the same number of rows, got {n_rows} and {len(y)}; "
                "check the join or the filter that made them"
            )


def takes_weights(estimator: Classifier) -> bool:
    """Return whether fit takes sample_weight without metadata routing."""
    if isinstance(estimator, FrozenEstimator):
        return True  # it is not trained: the weights count in ranking and coverage only
    if isinstance(estimator, Pipeline):
        return False  # it takes any keyword and then refuses this one
    return has_fit_parameter(estimator, "sample_weight")
