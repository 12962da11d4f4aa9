"""Base models and methods by name, each with the encoding of tables that it needs.

Encoders are scikit-learn's own, so that a model can be stored and used from Python. A model takes a pandas frame with
the columns of the training table, where numbers are floats and categories are text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from aucross.cli.column_kinds import Kind
from aucross.cli.command_options import Answer, Base, GivenScore, Method, Ties
from aucross.cli.errors import CommandError
from aucross.cli.schema import LabelledRows, Schema
from aucross.estimators import AUCGate, AUCross, DaysSince1970, PlugIn, PlugInAUC, ScoreColumn, SCross
from aucross.estimators.strange_values import StrangeValues, known_categories

if TYPE_CHECKING:
    import pandas as pd

# Rarer categories than the first so many count as missing or as none: scikit-learn's gradient boosting knows at most
# 255, and a linear model has a coefficient for each.
_MOST_CATEGORIES = 254
_MOST_INDICATORS = 50
# So do categories of fewer rows: a model file keeps its categories, and must not keep what names single people.
_LEAST_ROWS = 5


@dataclass(frozen=True)
class Features:
    """The columns that a model reads: numbers, categories with their known values, and dates."""

    numbers: Sequence[str]
    categories: Mapping[str, Sequence[str]]  # the most frequent first
    dates: Sequence[str] = ()

    @classmethod
    def of(cls, columns: Mapping[str, Kind], rows: pd.DataFrame) -> Features:
        """Return the features of training rows; a category is known if enough rows have it."""
        counts = {name: rows[name].value_counts() for name, kind in columns.items() if kind == "category"}
        categories = {
            name: values.index[values >= _LEAST_ROWS].tolist()[:_MOST_CATEGORIES] for name, values in counts.items()
        }
        known = {name: values for name, values in categories.items() if values}
        dates = [name for name, kind in columns.items() if kind == "date"]
        numbers = [name for name in columns if name not in categories and name not in dates]
        if not numbers and not known and not dates:
            raise CommandError(
                f"no column is left to learn from: no category has {_LEAST_ROWS} rows; add rows or other columns"
            )
        return cls(numbers, known, dates)

    def most_frequent(self, most: int) -> list[list[str]]:
        """Return the most frequent categories of each column, up to a limit, in alphabetical order."""
        return [sorted(values[:most]) for values in self.categories.values()]


METHODS: Mapping[Method, Any] = {
    Method.AUCROSS: AUCross,
    Method.PLUGIN_AUC: PlugInAUC,
    Method.SCROSS: SCross,
    Method.PLUGIN: PlugIn,
    Method.GATE: AUCGate,
}
_LIBRARIES = {Base.LIGHTGBM: "lightgbm", Base.XGBOOST: "xgboost"}


def make_classifier(
    method: Method,
    answer: Answer,
    features: Features,
    *,
    coverage: float,
    seed: int,
    jobs: int,
    weighted: bool = False,
    ties: Ties = Ties.WHOLE,
) -> Any:
    """Return an unfitted selective classifier for a table with the given columns."""
    base_jobs = 1 if method.cross_fits else jobs
    parameters: dict[str, Any] = {"coverage": coverage, "random_state": seed, "ties": str(ties)}
    if method.cross_fits:
        parameters["n_jobs"] = jobs
    if method is Method.GATE:
        parameters["gate"] = make_model(Base.HGB, features, seed=seed, weighted=weighted)
    if isinstance(answer, GivenScore):
        model = ScoreColumn(answer.column, threshold=answer.threshold, higher_is_positive=not answer.low_is_positive)
        with _routing(weighted):
            model = model.set_fit_request(sample_weight=True) if weighted else model
    else:
        model = make_model(answer, features, seed=seed, jobs=base_jobs, weighted=weighted)
    return METHODS[method](model, **parameters)


def make_model(base: Base, features: Features, *, seed: int, jobs: int = 1, weighted: bool = False) -> Pipeline:
    """Return a pipeline of the encoding that a base model needs and the base model."""
    check_installed(base)
    with _routing(weighted):
        if base is Base.LOGISTIC:
            model: Any = LogisticRegression(max_iter=1000, random_state=seed)
            of_categories, of_numbers, of_dates = _scaled(features)
        else:
            model, of_numbers, of_dates = _trees(base, features, seed, jobs), "passthrough", DaysSince1970()
            of_categories = OrdinalEncoder(  # unseen categories become missing
                categories=features.most_frequent(_MOST_CATEGORIES),
                handle_unknown="use_encoded_value",
                unknown_value=np.nan,
                dtype=np.float64,
            )
        parts = [
            ("categories", of_categories, list(features.categories)),
            ("numbers", of_numbers, list(features.numbers)),
        ]
        if features.dates:
            parts.append(("dates", of_dates, list(features.dates)))
        if weighted:
            model.set_fit_request(sample_weight=True)
        return Pipeline([("encode", ColumnTransformer(parts)), ("model", model)])


def models_of(clf: Any) -> list[Any]:
    """Return the fitted models that read the table: the base model and, if there is one, the gate."""
    return [model for model in (getattr(clf, "estimator_", None), getattr(clf, "gate_", None)) if model is not None]


def strange_values(clf: Any, schema: Schema) -> StrangeValues:
    """Return a counter of values that were not seen in the fit."""
    rare, ranges = (schema.familiar.get(part, {}) for part in ("rare", "ranges"))
    return StrangeValues(known_categories(models_of(clf)), rare, ranges)


def fit_classifier(clf: Any, rows: LabelledRows) -> Any:
    """Fit a classifier on rows, with their weights, customers and band groups if they have any."""
    with _routing(rows.weight is not None):
        clf.fit(rows.X, rows.y, sample_weight=rows.weight, groups=rows.customers, band_groups=rows.band_groups)
    return clf


def _routing(weighted: bool) -> AbstractContextManager[None]:
    """Turn on scikit-learn's metadata routing if `weighted`: pipelines need it to pass weights on."""
    return config_context(enable_metadata_routing=True) if weighted else nullcontext()


def is_installed(base: Base) -> bool:
    """Return whether the library of a base model is installed."""
    return base not in _LIBRARIES or find_spec(_LIBRARIES[base]) is not None


def check_installed(base: Base) -> None:
    """Refuse a base model whose library is not installed, and say how to install it."""
    if not is_installed(base):
        raise CommandError(
            f"--base {base} needs {_LIBRARIES[base]}, which is not installed: pip install {_LIBRARIES[base]}; "
            "--base hgb needs nothing more"
        )


def _trees(base: Base, features: Features, seed: int, jobs: int) -> Any:
    n_categories, n_others = len(features.categories), len(features.numbers) + len(features.dates)
    if base is Base.HGB:
        places = list(range(n_categories)) if n_categories else None
        return HistGradientBoostingClassifier(categorical_features=places, random_state=seed)
    if base is Base.LIGHTGBM:
        from lightgbm import LGBMClassifier  # noqa: PLC0415  (optional)

        return LGBMClassifier(random_state=seed, n_jobs=jobs, verbose=-1)
    if base is Base.XGBOOST:
        from xgboost import XGBClassifier  # noqa: PLC0415  (optional)

        types = ["c"] * n_categories + ["q"] * n_others
        return XGBClassifier(random_state=seed, n_jobs=jobs, enable_categorical=True, feature_types=types)
    # Leaves of a single row would give scores of 0 and 1, and bands need scores that differ; files stay small, too.
    return RandomForestClassifier(n_estimators=100, min_samples_leaf=20, random_state=seed, n_jobs=jobs)


def _scaled(features: Features) -> tuple[Any, Any, Any]:
    """Return the encoders of categories, numbers and dates that a linear model needs."""
    known = [[*values, np.nan] for values in features.most_frequent(_MOST_INDICATORS)]  # missing says something, too
    indicators = OneHotEncoder(categories=known, handle_unknown="ignore")
    scaler = StandardScaler()
    if get_config()["enable_metadata_routing"]:
        scaler.set_fit_request(sample_weight=False)
    # A column without values in a fold stays, so that all folds have the same columns.
    imputer = SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True)
    scaled = Pipeline([("impute", imputer), ("scale", scaler)])
    return indicators, scaled, Pipeline([("days", DaysSince1970()), *clone(scaled).steps])
