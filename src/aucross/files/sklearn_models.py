"""Models of scikit-learn and imbalanced-learn, with their scipy and numpy parts: stored content and its checks.

Compiled code does not check the sizes of support vectors, neighbours and the like. Files may hold anything, so sizes
that do not match are refused here. Parts that hold code, such as a scorer or a tree of neighbours, are built again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
import sklearn
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils import Bunch

from aucross.files import sklearn_trees
from aucross.files.forms import ByAttributes, BySteps, Listed, State, is_word, must, plain_array, whole_number
from aucross.files.sklearn_names import LEFT_OUT, OPTIMIZERS, SPLITS, private_names

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
_SPLITTERS = (
    *("GroupKFold", "KFold", "LeaveOneGroupOut", "StratifiedGroupKFold", "StratifiedKFold", "TimeSeriesSplit"),
    *("GroupShuffleSplit", "PredefinedSplit", "ShuffleSplit", "StratifiedShuffleSplit"),
)
# They draw rows for a training and play no part after it, so what they have learned of the rows is not stored.
_SAMPLERS = {
    "combine": "SMOTEENN SMOTETomek",
    "over_sampling": "ADASYN BorderlineSMOTE KMeansSMOTE RandomOverSampler SMOTE SMOTEN SMOTENC SVMSMOTE",
    "under_sampling": "AllKNN ClusterCentroids CondensedNearestNeighbour EditedNearestNeighbours "
    "InstanceHardnessThreshold NearMiss NeighbourhoodCleaningRule OneSidedSelection RandomUnderSampler "
    "RepeatedEditedNearestNeighbours TomekLinks",
}


def classes() -> Iterator[Listed]:
    """Return the models, their parts, splitters and samplers."""
    for module, names in _MODELS.items():
        for name in names.split():
            form = ByAttributes(private_names(name), frozenset(LEFT_OUT.get(name, "").split()), _FINISH.get(name))
            yield Listed(f"{module}.{name}", module, form=form)
    yield from sklearn_trees.PARTS
    yield from _PARTS
    selection = "sklearn.model_selection"
    for name in _SPLITTERS:
        yield Listed(f"{selection}.{name}", selection, "splitter", ByAttributes(private_names(name)))
    yield Listed(f"{selection}._CVIterableWrapper", SPLITS, "splitter")
    for name in ("RepeatedKFold", "RepeatedStratifiedKFold"):
        yield Listed(f"{selection}.{name}", selection, "splitter", BySteps(_put_repeated_splits, _take_repeated_splits))
    yield Listed("imblearn.pipeline.Pipeline", "imblearn.pipeline")
    for part, names in _SAMPLERS.items():
        for name in names.split():
            yield Listed(f"imblearn.{part}.{name}", f"imblearn.{part}", form=ByAttributes(only_parameters=True))


# ---- neighbours and support vectors ----

_TREES_OF_NEIGHBOURS = {"kd_tree": KDTree, "ball_tree": BallTree}


def _finish_neighbours(model: Any) -> None:
    state = vars(model)
    if "_fit_X" not in state:
        return
    rows, method = state["_fit_X"], state.get("_fit_method")
    must(
        _is_matrix(rows) and rows.ndim == 2 and rows.shape[1] == state.get("n_features_in_"),
        "rows must have their features",
    )
    must(rows.dtype.kind == "f", "rows must be numbers")
    labels = plain_array(state["_y"], "_y", "i", 1)
    must(len(labels) == rows.shape[0] and len(labels) > 0, "each row must have a label")
    must(labels.min() >= 0 and labels.max() < len(state["classes_"]), "labels must be among the classes")
    must(state.get("n_samples_fit_") == len(labels), "the number of rows must be known")
    _check_metric_options(state.get("effective_metric_params_"), rows.shape[1])
    if method in _TREES_OF_NEIGHBOURS:
        metric, options = state["effective_metric_"], state["effective_metric_params_"]
        must(metric in _TREES_OF_NEIGHBOURS[method].valid_metrics and metric != "pyfunc", "a metric must have a name")
        model._tree = _TREES_OF_NEIGHBOURS[method](rows, state["leaf_size"], metric=metric, **options)
    else:
        model._tree = None


def _is_matrix(value: Any) -> bool:
    return type(value) is np.ndarray or bool(scipy.sparse.issparse(value))


def _check_metric_options(options: Any, n_features: int) -> None:
    """Refuse metric options whose sizes do not match the features, because compiled code trusts them."""
    must(isinstance(options, dict) and all(isinstance(name, str) for name in options), "options must have names")
    for name, value in options.items():
        if value is None:
            continue
        values = np.asarray(value)
        shape = {"w": (n_features,), "V": (n_features,) * max(values.ndim, 1), "VI": (n_features, n_features)}
        must(values.dtype.kind in "biuf" and values.ndim <= 2, "options of a distance must be numbers")
        must(values.shape == shape.get(name, ()), "options of a distance must fit the features")


def _check_support_vectors(model: Any) -> None:
    """Refuse support vectors whose sizes do not match, because compiled code trusts them."""
    state = vars(model)
    if "support_vectors_" not in state:
        return
    vectors, per_class = state["support_vectors_"], plain_array(state["_n_support"], "_n_support", "i", 1)
    n_classes, n_vectors = len(per_class), len(plain_array(state["support_"], "support_", "i", 1))
    n_pairs = n_classes * (n_classes - 1) // 2
    must(_is_matrix(vectors) and vectors.ndim == 2 and n_classes >= 2, "support vectors must be rows of numbers")
    must(per_class.min() >= 0 and per_class.sum() == n_vectors, "each class must have its support vectors")
    n_features = whole_number(state["n_features_in_"], "n_features_in_", 1)
    if is_word(state.get("kernel"), "precomputed"):  # then they are columns of the kernel
        must(tuple(state["shape_fit_"]) == (n_features, n_features), "the kernel must have a column for each row")
        must(((state["support_"] >= 0) & (state["support_"] < n_features)).all(), "support vectors must be columns")
    else:
        must(vectors.shape == (n_vectors, n_features), "support vectors must have the features")
    is_sparse = scipy.sparse.issparse(vectors)
    must(state["_sparse"] is is_sparse, "support vectors must be stored as they are used")
    for name in ("dual_coef_", "_dual_coef_"):
        coefficients = state[name]
        must(scipy.sparse.issparse(coefficients) == is_sparse, "coefficients must be stored as support vectors are")
        must(getattr(coefficients, "shape", None) == (n_classes - 1, n_vectors), "coefficients must fit")
        # Of sparse ones the code that uses them reads a number for each place.
        n_stored = len(coefficients.data) if is_sparse else coefficients.size
        must(n_stored == (n_classes - 1) * n_vectors, "there must be a coefficient for each vector and class")
    for name in ("intercept_", "_intercept_"):
        must(getattr(state[name], "shape", None) == (n_pairs,), "there must be an intercept for each pair of classes")
    is_effective = "_effective_probability" in private_names("SVC", sklearn.__version__)
    read = "_effective_probability" if is_effective else "probability"
    must(isinstance(state[read], bool | np.bool_), f"{read} must be true or false")
    n_slopes = n_pairs if state[read] else 0
    for name in ("_probA", "_probB"):
        must(getattr(state[name], "shape", None) == (n_slopes,), "there must be a slope for each pair")


# ---- encoders, calibration and searches ----


def _finish_one_hot_encoder(encoder: Any) -> None:
    """Count the encoded columns again, because the code that fills them trusts the number."""
    state = vars(encoder)
    if "categories_" not in state:
        return
    categories = state["categories_"]
    must(isinstance(categories, list), "categories must be a list")
    nothing = [None] * len(categories)
    is_grouped = bool(state.get("_infrequent_enabled"))
    groups = state["_default_to_infrequent_mappings"] if is_grouped else nothing
    rare = state["_infrequent_indices"] if is_grouped else nothing
    dropped = state.get("_drop_idx_after_grouping")
    dropped = nothing if dropped is None else plain_array(dropped, "dropped", "O", 1).tolist()
    encoder._n_features_outs = [_n_columns(*parts) for parts in zip(categories, groups, rare, dropped, strict=True)]


def _n_columns(categories: Any, groups: Any, rare: Any, dropped: Any) -> int:
    """Return the number of columns of an encoded feature: one for each kept category, or group of categories."""
    values = plain_array(categories, "categories", "biufOUmM", 1)
    if values.dtype.kind not in "OU":  # these are looked up by bisection
        known = values[:-1] if values.dtype.kind == "f" and len(values) and np.isnan(values[-1]) else values
        must((known[:-1] < known[1:]).all(), "categories that are numbers must be in order")
    must((groups is None) == (rare is None), "rare categories must have a group")
    n_codes = len(values)
    if groups is not None:
        codes, members = (plain_array(part, "codes", "i", 1) for part in (groups, rare))
        must(len(codes) == len(values) > 0 and codes.min() >= 0, "each category must have a code")
        must(len(members) > 0 and members.min() >= 0 and members.max() < len(values), "rare ones are categories")
        n_codes = int(codes.max()) + 1
        must(n_codes <= len(values), "codes must be among the categories")
    if dropped is None:
        return n_codes
    whole_number(dropped, "dropped", 0, n_codes - 1)
    return n_codes - 1


def _finish_search(search: Any) -> None:
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


def _finish_tuned_threshold(model: Any) -> None:
    if "estimator_" in vars(model):
        must(isinstance(model.scoring, str), "a metric must have a name")
        model._curve_scorer = model._get_curve_scorer()


def _finish_named_estimators(model: Any) -> None:
    state = vars(model)
    if "estimators_" not in state:
        return
    fitted = iter(state["estimators_"])
    named = Bunch()
    for name, given in state["estimators"]:
        must(isinstance(name, str), "a model must have a name")
        named[name] = given if is_word(given, "drop") else next(fitted, None)
    must(next(fitted, None) is None and None not in named.values(), "each model must have a name")
    model.named_estimators_ = named


# What is checked and made again when a model has its attributes.
_FINISH: dict[str, Callable[[Any], None]] = {
    **sklearn_trees.CHECKS,
    **dict.fromkeys(("GridSearchCV", "RandomizedSearchCV"), _finish_search),
    **dict.fromkeys(("KNeighborsClassifier", "RadiusNeighborsClassifier"), _finish_neighbours),
    **dict.fromkeys(("NuSVC", "SVC"), _check_support_vectors),
    **dict.fromkeys(("StackingClassifier", "VotingClassifier"), _finish_named_estimators),
    "IsotonicRegression": lambda model: model.__setstate__({**vars(model), "_sklearn_version": sklearn.__version__}),
    "OneHotEncoder": _finish_one_hot_encoder,
    "TunedThresholdClassifierCV": _finish_tuned_threshold,
}


# ---- what stands inside models ----


def _take_repeated_splits(splits: Any) -> State:
    return {"n_splits": splits.cvargs["n_splits"], "n_repeats": splits.n_repeats, "random_state": splits.random_state}


def _put_repeated_splits(cls: Any, n_splits: Any, n_repeats: Any, random_state: Any) -> Any:
    counts = {"n_splits": whole_number(n_splits, "n_splits", 1), "n_repeats": whole_number(n_repeats, "n_repeats", 1)}
    return cls(**counts, random_state=random_state)


def _take_requests(request: Any) -> State:
    """Return metadata requests as plain data, with the owner's class name in place of the owner."""
    owner = request.owner if isinstance(request.owner, str) else type(request.owner).__name__
    of_method = {name: dict(part.requests) for name, part in vars(request).items() if hasattr(part, "requests")}
    return {"owner": owner, "requests": {name: part for name, part in of_method.items() if part}}


def _put_requests(cls: Any, owner: Any, requests: Any) -> Any:
    must(isinstance(owner, str) and isinstance(requests, dict), "requests must be plain data")
    request = cls(owner=owner)
    for method, wanted in requests.items():
        of_method = vars(request).get(method)
        must(hasattr(of_method, "requests") and isinstance(wanted, dict), f"there is no method {method!r} to request")
        for parameter, alias in wanted.items():
            of_method.add_request(param=parameter, alias=alias)
    return request


def _put_spline(cls: Any, t: Any, c: Any, k: Any, extrapolate: Any) -> Any:
    knots = plain_array(t, "knots", "f", 1)
    must(type(c) is np.ndarray and c.dtype.kind == "f", "coefficients must be numbers")
    must(extrapolate in (True, False, "periodic"), "extrapolate must be a word of scipy")
    return cls(knots, c, whole_number(k, "degree", 0, len(knots)), extrapolate=extrapolate)


def _take_sparse(matrix: Any) -> State:
    return {"shape": list(matrix.shape), "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}


def _put_sparse(cls: Any, shape: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Build a sparse matrix and check all indices, because compiled code does not."""
    must(isinstance(shape, list) and len(shape) == 2, "shape must be two numbers")
    sides = tuple(whole_number(side, "shape", 0, 2**48) for side in shape)
    parts: tuple[NDArray[Any], ...] = (
        plain_array(data, "data", "fiub", 1),
        plain_array(indices, "indices", "i", 1),
        plain_array(indptr, "indptr", "i", 1),
    )
    matrix = cls(parts, shape=sides)
    matrix.check_format(full_check=True)
    _, matrix.indices, matrix.indptr = parts  # of the type that they had
    return matrix


def _take_random_state(random: np.random.RandomState) -> State:
    state = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise TypeError(f"random states of {state['bit_generator']} have no stored form; pass an integer")
    return {**state["state"], "has_gauss": state["has_gauss"], "cached_gaussian": float(state["gauss"])}


def _put_random_state(cls: Any, key: Any, pos: Any, has_gauss: Any, cached_gaussian: Any) -> Any:
    plain_array(key, "key", "u", 1)
    must(key.shape == (624,) and isinstance(cached_gaussian, float), "a random state must be whole")
    place, has = whole_number(pos, "pos", 0, 624), whole_number(has_gauss, "has_gauss", 0, 1)
    random = cls(0)
    random.set_state(("MT19937", key.astype(np.uint32), place, has, cached_gaussian))
    return random


def _take_generator(generator: np.random.Generator) -> State:
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"generators of {state['bit_generator']} have no stored form; pass an integer")
    return {**state["state"], "has_uint32": state["has_uint32"], "uinteger": state["uinteger"]}


def _put_generator(cls: Any, state: Any, inc: Any, has_uint32: Any, uinteger: Any) -> Any:
    generator = cls(np.random.PCG64(0))
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": whole_number(state, "state", 0, 2**128 - 1), "inc": whole_number(inc, "inc", 0, 2**128 - 1)},
        "has_uint32": whole_number(has_uint32, "has_uint32", 0, 1),
        "uinteger": whole_number(uinteger, "uinteger", 0, 2**32 - 1),
    }
    return generator


_PARTS = (
    *(
        Listed(f"{place}.{name}", module, role, ByAttributes(private_names(name)))
        for place, module, role, names in (
            ("sklearn.calibration", "sklearn.calibration", "calibrated", "_CalibratedClassifier"),
            ("sklearn.calibration", "sklearn.calibration", "calibrator", "_SigmoidCalibration _TemperatureScaling"),
            ("sklearn.neural_network", OPTIMIZERS, "optimizer", "AdamOptimizer SGDOptimizer"),
            ("sklearn.compose", "sklearn.compose", "selector", "make_column_selector"),
        )
        for name in names.split()
    ),
    Listed(
        "sklearn.utils.MetadataRequest",
        "sklearn.utils.metadata_routing",
        "request",
        BySteps(_put_requests, _take_requests),
    ),
    Listed("scipy.interpolate.BSpline", "scipy.interpolate", "spline", BySteps(_put_spline)),
    *(
        Listed(f"scipy.sparse.{name}", "scipy.sparse", "matrix", BySteps(_put_sparse, _take_sparse))
        for name in ("csr_matrix", "csr_array", "csc_matrix", "csc_array")
    ),
    Listed("numpy.random.RandomState", "numpy.random", "random", BySteps(_put_random_state, _take_random_state)),
    Listed("numpy.random.Generator", "numpy.random", "random", BySteps(_put_generator, _take_generator)),
)
