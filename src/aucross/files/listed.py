"""The list: every class, type and function that a file may name, and what the objects of each class may hold.

A file that names anything else is refused before anything is built, unless the caller names it as trusted. Classes are
known by the name under which they are public, so that a library may move them; a module is imported only for a file
that names a class of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache, partial
from importlib import import_module
from inspect import isabstract, signature
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.utils import check_array

from aucross.estimators.base import SelectiveClassifier
from aucross.files import boosters, pandas_parts, sklearn_parts
from aucross.files.forms import ByAttributes, ByFields, ByParameters, BySteps, Form
from aucross.files.sklearn_names import HISTOGRAM, LEFT_OUT, LOSSES, OPTIMIZERS, SPLITS, TREE, private_names
from aucross.system.libraries import import_library

# Dataclasses and estimators of these packages are listed as they are.
_OWN_PACKAGES = ("aucross.core", "aucross.estimators")


@dataclass(frozen=True)
class Listed:
    """A class that files may name.

    Attributes
    ----------
    name : str
        Its name in files.
    module : str
        Where it is defined.
    role : str
        What its objects are, which decides where they may stand: see `roles_in`.
    form : Form
        How objects are taken apart and put together.
    needs_trust : bool
        Whether a caller has to name the class as trusted all the same: its library reads bytes that cannot be checked.
    """

    name: str
    module: str
    role: str = "model"
    form: Form = field(default_factory=ByAttributes)
    needs_trust: bool = False

    @property
    def cls(self) -> Any:
        """The class; its module is imported."""
        return getattr(_imported(self.module), self.name.rpartition(".")[2])


def _imported(module: str) -> Any:
    """A listed module; nothing of ours is read that could not be used without torch."""
    if module.startswith("aucross.torch"):
        import_library("torch", purpose=f"a model file with a part of {module}", extra="torch")
    return import_module(module)


# ---- models of scikit-learn ----

_MODELS = {
    "aucross.estimators": "DaysSince1970 FoldEnsemble NumberedClasses ScoreColumn",
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier",
    "sklearn.ensemble": "AdaBoostClassifier BaggingClassifier ExtraTreesClassifier GradientBoostingClassifier "
    "HistGradientBoostingClassifier RandomForestClassifier StackingClassifier VotingClassifier",
    "sklearn.feature_selection": "SelectFromModel SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "KNNImputer MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.linear_model": "LogisticRegression LogisticRegressionCV Perceptron RidgeClassifier RidgeClassifierCV "
    "SGDClassifier",
    "sklearn.model_selection": "FixedThresholdClassifier GridSearchCV RandomizedSearchCV TunedThresholdClassifierCV",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neighbors": "KNeighborsClassifier NearestCentroid RadiusNeighborsClassifier",
    "sklearn.neural_network": "MLPClassifier",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer "
    "RobustScaler SplineTransformer StandardScaler TargetEncoder",
    "sklearn.svm": "LinearSVC NuSVC SVC",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
}

_FINISH = {
    "DecisionTreeClassifier": sklearn_parts.finish_tree_model,
    "DecisionTreeRegressor": sklearn_parts.finish_tree_model,
    "ExtraTreeClassifier": sklearn_parts.finish_tree_model,
    "ExtraTreeRegressor": sklearn_parts.finish_tree_model,
    "ExtraTreesClassifier": sklearn_parts.finish_forest,
    "GradientBoostingClassifier": sklearn_parts.finish_gradient_boosting,
    "GridSearchCV": sklearn_parts.finish_search,
    "HistGradientBoostingClassifier": sklearn_parts.finish_histogram_boosting,
    "IsotonicRegression": sklearn_parts.finish_isotonic,
    "KNeighborsClassifier": sklearn_parts.finish_neighbours,
    "NuSVC": sklearn_parts.finish_support_vectors,
    "OneHotEncoder": sklearn_parts.finish_one_hot_encoder,
    "RadiusNeighborsClassifier": sklearn_parts.finish_neighbours,
    "RandomForestClassifier": sklearn_parts.finish_forest,
    "RandomizedSearchCV": sklearn_parts.finish_search,
    "SVC": sklearn_parts.finish_support_vectors,
    "StackingClassifier": sklearn_parts.finish_named_estimators,
    "TunedThresholdClassifierCV": sklearn_parts.finish_tuned_threshold,
    "VotingClassifier": sklearn_parts.finish_named_estimators,
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _models() -> Iterator[Listed]:
    for module, names in _MODELS.items():
        for name in names.split():
            form = ByAttributes(private_names(name), _words(LEFT_OUT.get(name, "")), finish=_FINISH.get(name))
            yield Listed(f"{module}.{name}", module, form=form)


def _parts() -> Iterator[Listed]:
    """What stands inside models."""
    yield Listed(
        "sklearn.tree.Tree",
        TREE,
        "tree",
        BySteps(sklearn_parts.TREE_PARTS, sklearn_parts.take_tree, sklearn_parts.put_tree),
    )
    yield Listed(
        "sklearn.ensemble.TreePredictor",
        f"{HISTOGRAM}.predictor",
        "predictor",
        BySteps(sklearn_parts.PREDICTOR_PARTS, sklearn_parts.take_predictor, sklearn_parts.put_predictor),
    )
    yield Listed("sklearn.ensemble._BinMapper", f"{HISTOGRAM}.binning", "bins")
    for name in ("ExponentialLoss", "HalfBinomialLoss", "HalfMultinomialLoss"):
        form = BySteps(sklearn_parts.LOSS_PARTS, sklearn_parts.take_loss, sklearn_parts.put_loss)
        yield Listed(f"sklearn.{name}", LOSSES, "loss", form)
    calibrated = ByAttributes(_words("estimator calibrators classes method"))
    yield Listed("sklearn.calibration._CalibratedClassifier", "sklearn.calibration", "calibrated", calibrated)
    for name in ("_SigmoidCalibration", "_TemperatureScaling"):
        yield Listed(f"sklearn.calibration.{name}", "sklearn.calibration", "calibrator")
    for name, own in (("AdamOptimizer", "learning_rate t ms vs"), ("SGDOptimizer", "learning_rate velocities")):
        yield Listed(f"sklearn.neural_network.{name}", OPTIMIZERS, "optimizer", ByAttributes(_words(own)))
    yield Listed("sklearn.compose.make_column_selector", "sklearn.compose", "selector")
    yield Listed(
        "sklearn.utils.MetadataRequest",
        "sklearn.utils.metadata_routing",
        "request",
        BySteps(sklearn_parts.REQUEST_PARTS, sklearn_parts.take_requests, sklearn_parts.put_requests),
    )
    yield Listed(
        "scipy.interpolate.BSpline",
        "scipy.interpolate",
        "spline",
        BySteps(sklearn_parts.SPLINE_PARTS, sklearn_parts.take_spline, sklearn_parts.put_spline),
    )
    for name in ("csr_matrix", "csr_array", "csc_matrix", "csc_array"):
        form = BySteps(sklearn_parts.SPARSE_PARTS, sklearn_parts.take_sparse, sklearn_parts.put_sparse)
        yield Listed(f"scipy.sparse.{name}", "scipy.sparse", "matrix", form)
    yield Listed(
        "numpy.random.RandomState",
        "numpy.random",
        "random",
        BySteps(sklearn_parts.RANDOM_STATE_PARTS, sklearn_parts.take_random_state, sklearn_parts.put_random_state),
    )
    yield Listed(
        "numpy.random.Generator",
        "numpy.random",
        "random",
        BySteps(sklearn_parts.GENERATOR_PARTS, sklearn_parts.take_generator, sklearn_parts.put_generator),
    )


def _splitters() -> Iterator[Listed]:
    module = "sklearn.model_selection"
    for name in (
        *("GroupKFold", "KFold", "LeaveOneGroupOut", "StratifiedGroupKFold", "StratifiedKFold", "TimeSeriesSplit"),
        *("GroupShuffleSplit", "PredefinedSplit", "ShuffleSplit", "StratifiedShuffleSplit"),
    ):
        form = ByAttributes(_words("_default_test_size unique_folds shuffle random_state"))
        yield Listed(f"{module}.{name}", module, "splitter", form)
    yield Listed(f"{module}._CVIterableWrapper", SPLITS, "splitter")
    for name in ("RepeatedKFold", "RepeatedStratifiedKFold"):
        repeated = BySteps(
            sklearn_parts.REPEATED_PARTS, sklearn_parts.take_repeated_splits, sklearn_parts.put_repeated_splits
        )
        yield Listed(f"{module}.{name}", module, "splitter", repeated)


def _boosters() -> Iterator[Listed]:
    yield Listed("lightgbm.sklearn.LGBMClassifier", "lightgbm.sklearn", form=boosters.LIGHTGBM_MODEL)
    yield Listed("lightgbm.basic.Booster", "lightgbm.basic", "booster", boosters.LIGHTGBM_BOOSTER)
    for name in ("XGBClassifier", "XGBRFClassifier"):
        yield Listed(f"xgboost.sklearn.{name}", "xgboost.sklearn", form=boosters.XGBOOST_MODEL)
    yield Listed("xgboost.core.Booster", "xgboost.core", "booster", boosters.XGBOOST_BOOSTER)
    yield Listed("catboost.core.CatBoostClassifier", "catboost.core", form=boosters.CATBOOST_MODEL, needs_trust=True)


# ---- imbalanced-learn ----

# They draw rows for a training and play no part after it, so what they have learned of the rows is not stored.
_SAMPLERS = {
    "combine": "SMOTEENN SMOTETomek",
    "over_sampling": "ADASYN BorderlineSMOTE KMeansSMOTE RandomOverSampler SMOTE SMOTEN SMOTENC SVMSMOTE",
    "under_sampling": "AllKNN ClusterCentroids CondensedNearestNeighbour EditedNearestNeighbours "
    "InstanceHardnessThreshold NearMiss NeighbourhoodCleaningRule OneSidedSelection RandomUnderSampler "
    "RepeatedEditedNearestNeighbours TomekLinks",
}


def _samplers() -> Iterator[Listed]:
    yield Listed("imblearn.pipeline.Pipeline", "imblearn.pipeline")
    for part, names in _SAMPLERS.items():
        for name in names.split():
            yield Listed(f"imblearn.{part}.{name}", f"imblearn.{part}", form=ByParameters())


# ---- tables of pandas, which models of others may hold ----


def _frames() -> Iterator[Listed]:
    for name in ("ArrowStringArray", "BooleanArray", "FloatingArray", "IntegerArray", "StringArray"):
        yield Listed(f"pandas.arrays.{name}", "pandas.arrays", "frame", pandas_parts.ARRAY)
    for name in ("CategoricalIndex", "DatetimeIndex", "Index"):
        yield Listed(f"pandas.{name}", "pandas", "frame", pandas_parts.INDEX)
    yield Listed("pandas.Categorical", "pandas", "frame", pandas_parts.CATEGORICAL)
    yield Listed("pandas.CategoricalDtype", "pandas", "frame", pandas_parts.CATEGORICAL_TYPE)
    yield Listed("pandas.DataFrame", "pandas", "frame", pandas_parts.FRAME)
    yield Listed("pandas.RangeIndex", "pandas", "frame", pandas_parts.RANGE)
    yield Listed("pandas.Series", "pandas", "frame", pandas_parts.SERIES)


# ---- classes of this package ----


def _own() -> Iterator[Listed]:
    """Every public dataclass of the core and the estimators, and the estimators themselves."""
    for package in map(import_module, _OWN_PACKAGES):
        for found in iter_modules(package.__path__, f"{package.__name__}."):
            for name, cls in vars(import_module(found.name)).items():
                is_here = isinstance(cls, type) and cls.__module__ == found.name and not name.startswith("_")
                if is_here and not isabstract(cls):
                    if is_dataclass(cls):
                        yield Listed(f"aucross.{name}", found.name, "value", ByFields())
                    elif issubclass(cls, SelectiveClassifier):
                        yield Listed(f"aucross.{name}", found.name)


def _networks() -> Iterator[Listed]:
    """By name, because only a file that holds one may import torch."""
    for name in ("DeepGamblers", "SelectiveNet", "SelfAdaptiveTraining"):
        yield Listed(f"aucross.{name}", "aucross.torch.selective_networks", form=ByAttributes(_words("_n_rows")))
    for name in ("ResNetClassifier", "VGGClassifier"):
        yield Listed(f"aucross.{name}", "aucross.torch.plain_networks")
    yield Listed("aucross.SelectiveNetwork", "aucross.torch.network_classifier")
    for module, names in (
        ("fitted", "RowReader"),
        ("images", "ImageScale"),
        ("methods", "CrossEntropy GamblersMethod SelectiveNetMethod SelfAdaptiveMethod"),
        ("tables", "TableEncoder"),
    ):
        for name in names.split():
            yield Listed(f"aucross.{name}", f"aucross.torch.{module}", "value", ByFields())
    options = ByFields({"checkpoint_folder": None})
    yield Listed("aucross.NetworkOptions", "aucross.torch.options", "value", options)
    network = BySteps(_words("reader body method options n_classes weights"), _take_network, _put_network)
    yield Listed("aucross.FittedNetwork", "aucross.torch.fitted_network", "network", network)


def _take_network(network: Any) -> Mapping[str, Any]:
    return network.__getstate__()


def _put_network(cls: Any, state: dict[str, Any]) -> Any:
    weights = state.pop("weights")
    if not isinstance(weights, dict) or not all(type(values) is np.ndarray for values in weights.values()):
        raise ValueError("the weights of a network must be arrays")
    return cls.of_weights(weights, **state)


@cache
def listed_classes() -> Mapping[str, Listed]:
    """All classes by their name in files."""
    found: dict[str, Listed] = {}
    for group in (_models(), _parts(), _splitters(), _boosters(), _samplers(), _frames(), _own(), _networks()):
        for listed in group:
            if listed.name in found:
                raise ValueError(f"{listed.name} is listed twice, in {found[listed.name].module} and {listed.module}")
            found[listed.name] = listed
    return found


def name_in_files(cls: type) -> tuple[str, Listed | None]:
    """The name of a class in files, and its place in the list if it has one."""
    public = []
    for part in cls.__module__.split("."):
        if part.startswith("_"):
            break
        public.append(part)
    short = cls.__qualname__
    for length in (len(public), 1, 2):
        name = ".".join([*public[:length], short])
        listed = listed_classes().get(name)
        if listed is not None and listed.cls is cls:
            return name, listed
    return f"{cls.__module__}.{short}", None


# ---- types and functions ----

# Types of single numbers, as numpy names them.
NUMBERS = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "str_"),
    }
)
TYPES: Mapping[str, type] = {
    **{f"builtins.{kind.__name__}": kind for kind in (bool, float, int, object, str)},
    **{f"numpy.{name}": getattr(np, name) for name in (*NUMBERS, "integer", "floating", "number", "object_")},
}

_FUNCTIONS_OF_NUMPY = (
    *("abs", "absolute", "arcsinh", "cbrt", "ceil", "cos", "exp", "exp2", "expm1", "floor", "isfinite", "isnan", "log"),
    *("log10", "log1p", "log2", "nan_to_num", "negative", "positive", "reciprocal", "rint", "sign", "sin", "sqrt"),
    *("square", "tanh"),
)
_FUNCTIONS_OF_SELECTION = ("chi2", "f_classif", "mutual_info_classif")

# Histogram boosting checks columns of numbers like this, beside those of categories.
_CHECKED_NUMBERS = "sklearn.ensemble.checked_numbers"
_CHECK_OPTIONS = {"dtype": [np.float64], "ensure_all_finite": False}

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    **{f"numpy.{name}": ("numpy", name) for name in _FUNCTIONS_OF_NUMPY},
    **{f"sklearn.feature_selection.{name}": ("sklearn.feature_selection", name) for name in _FUNCTIONS_OF_SELECTION},
    # Of the gate that is used if none is given.
    "aucross.frames.without_pandas_na": ("aucross.frames", "without_pandas_na"),
    _CHECKED_NUMBERS: ("", ""),
}


# What functions are made of: Python, and two kinds of numpy's own.
FUNCTION_TYPES = (FunctionType, np.ufunc, type(np.nan_to_num), partial)


def function_name(function: Any) -> str | None:
    """The name of a function, listed or not; None for what has none."""
    if isinstance(function, partial):
        is_check = function.func is check_array and not function.args and function.keywords == _CHECK_OPTIONS
        return _CHECKED_NUMBERS if is_check else None
    module = "numpy" if isinstance(function, np.ufunc) else function.__module__.partition("._")[0]
    name = f"{module}.{function.__name__}"
    if name in FUNCTIONS and function_of(name) is function:
        return name
    return full_name(function) if isinstance(function, FunctionType) else None


def function_of(name: str) -> Any:
    """The listed function of a name."""
    if name == _CHECKED_NUMBERS:
        return partial(check_array, **_CHECK_OPTIONS)
    module, attribute = FUNCTIONS[name]
    return getattr(import_module(module), attribute)


def full_name(value: Any) -> str:
    """Where a class or a function is defined, and its name there."""
    return f"{value.__module__}.{value.__qualname__}"


# ---- bodies of networks ----

BODIES = ("MLP", "ResNet", "VGG16")


def body_name(body: partial[Any]) -> str | None:
    """The name of a network that a body builds with some options; None for what has no stored form."""
    is_listed = getattr(body.func, "__module__", None) == "aucross.torch.networks" and body.func.__name__ in BODIES
    return body.func.__name__ if is_listed and not body.args else None


def body_of(name: str, options: Mapping[str, Any]) -> partial[Any]:
    """The body of a checked name with plain options."""
    network = getattr(_imported("aucross.torch.networks"), name)
    known = set(signature(network).parameters) - {"n_inputs"}
    for option, value in options.items():
        if option not in known or not isinstance(value, int | float):
            raise ValueError(f"{name} takes no option {option}={value!r}")
    return partial(network, **options)
