"""Every model of the list comes back bit for bit: scores, decisions, fingerprints."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from lightgbm import LGBMClassifier, early_stopping
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RandomizedSearchCV,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from xgboost import XGBClassifier, XGBRFClassifier

from aucross import AUCGate, AUCross, PlugIn, ScoreColumn
from aucross.cli.base_models import Features, make_model
from aucross.cli.command_options import Base
from aucross.files.description import Description
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.model_file import load, read_header, save

X, y = make_classification(260, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
counts = np.abs(np.round(3 * X)).clip(max=5)
holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
three_classes = np.digitize(X[:, 0] + y, [-0.5, 1.0])
logistic = LogisticRegression()
boosted = {"n_estimators": 4, "n_jobs": 1}

# Before 1.8, scikit-learn chose the norm by a name.
BY_RATIO = "use_legacy_attributes" in LogisticRegressionCV().get_params()
FIRST_NORM = {"l1_ratio": 1} if BY_RATIO else {"penalty": "l1"}
SEARCHED = {"l1_ratios": (0.0,), "use_legacy_attributes": False} if BY_RATIO else {}

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # newer versions of XGBoost advise against its forests
    boosted_forest = XGBRFClassifier(**boosted)

CLASSIFIERS = {
    "logistic regression": logistic,
    "logistic regression, L1, weights of classes": LogisticRegression(
        **FIRST_NORM, solver="liblinear", class_weight={0: 1, 1: 2.5}
    ),
    "logistic regression, searched": LogisticRegressionCV(cv=3, **SEARCHED, scoring="neg_log_loss"),
    "ridge": RidgeClassifier(),
    "ridge, searched": RidgeClassifierCV(),
    "perceptron": Perceptron(random_state=0),
    "stochastic gradient": SGDClassifier(loss="log_loss", random_state=0),
    "decision tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "extra tree": ExtraTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=4, oob_score=False, random_state=np.random.RandomState(0)),
    "extra trees": ExtraTreesClassifier(5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "boosting, exponential": GradientBoostingClassifier(
        n_estimators=5, loss="exponential", subsample=0.5, random_state=0
    ),
    "boosting, from zero": GradientBoostingClassifier(n_estimators=5, init="zero", random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=5, max_features=0.5, random_state=0),
    "histogram boosting, stopped": HistGradientBoostingClassifier(max_iter=9, early_stopping=True, random_state=0),
    "boosted trees": AdaBoostClassifier(n_estimators=3, random_state=0),
    "bagging": BaggingClassifier(logistic, n_estimators=3, max_features=0.5, random_state=0),
    "voting": VotingClassifier([("a", logistic), ("b", GaussianNB()), ("c", "drop")], voting="soft"),
    "stacking": StackingClassifier([("a", logistic), ("b", GaussianNB())], LogisticRegression(), cv=3),
    "network, adam": MLPClassifier((5,), max_iter=5, random_state=0),
    "network, sgd": MLPClassifier((5, 3), max_iter=5, solver="sgd", early_stopping=True, random_state=0),
    "network, lbfgs": MLPClassifier((5,), max_iter=5, solver="lbfgs", random_state=0),
    "Gaussian Bayes": GaussianNB(),
    "support vectors": SVC(gamma=0.5),
    "support vectors, linear kernel": SVC(kernel="linear"),
    "support vectors, nu": NuSVC(nu=0.3),
    "linear support vectors": LinearSVC(random_state=0),
    "neighbours": KNeighborsClassifier(15),
    "neighbours, balls": KNeighborsClassifier(15, algorithm="ball_tree", metric="manhattan", weights="distance"),
    "neighbours, brute force": KNeighborsClassifier(15, algorithm="brute", metric="cosine"),
    "neighbours in a radius": RadiusNeighborsClassifier(50.0),
    "nearest centre": NearestCentroid(),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "linear discriminant, shrunk": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "quadratic discriminant": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "calibrated, sigmoid": CalibratedClassifierCV(LinearSVC(random_state=0), cv=2),
    "calibrated, isotonic": CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic"),
    "calibrated, temperature": CalibratedClassifierCV(GaussianNB(), cv=2, method="temperature", ensemble=False),
    "frozen": FrozenEstimator(LogisticRegression().fit(X[:100], y[:100])),
    "fixed threshold": FixedThresholdClassifier(logistic, threshold=0.3, response_method="predict_proba"),
    "tuned threshold": TunedThresholdClassifierCV(logistic, cv=2, scoring="f1", store_cv_results=True),
    "grid": GridSearchCV(logistic, {"C": [0.1, 1], "solver": ["lbfgs"]}, cv=2, scoring="roc_auc"),
    "grid of models": GridSearchCV(
        Pipeline([("m", logistic)]), [{"m": [GaussianNB()]}, {"m__C": [0.1, 1]}], cv=StratifiedKFold(2)
    ),
    "grid, two metrics": GridSearchCV(logistic, {"C": [0.1, 1]}, cv=2, scoring=["f1", "roc_auc"], refit="f1"),
    "random search": RandomizedSearchCV(logistic, {"C": [0.1, 1, 2]}, n_iter=2, cv=KFold(2), random_state=0),
    "LightGBM": LGBMClassifier(**boosted, verbose=-1),
    "LightGBM, forest": LGBMClassifier(**boosted, verbose=-1, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5),
    "LightGBM, dart": LGBMClassifier(
        **boosted, verbose=-1, boosting_type="dart", monotone_constraints=[1, 0, 0, 0, 0, 0]
    ),
    "LightGBM, no split": LGBMClassifier(**boosted, verbose=-1, min_child_samples=110, num_leaves=2),
    "XGBoost": XGBClassifier(**boosted),
    "XGBoost, dart": XGBClassifier(**boosted, booster="dart", gamma=1.0),
    "XGBoost, forest": boosted_forest,
}


def assert_comes_back(clf, rows, tmp_path, band_groups=None):
    save(clf, tmp_path / "clf.aucross", metadata={"n": 1})
    header = read_header(tmp_path / "clf.aucross")
    assert header.unlisted_types == []
    assert header.model_fingerprint == model_fingerprint(clf)
    assert header.rule_fingerprint == rule_fingerprint(clf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load(tmp_path / "clf.aucross")
    same = description_of(loaded) == description_of(clf)
    assert same
    response = "predict_proba" if hasattr(clf, "predict_proba") else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, response)(rows), getattr(clf, response)(rows))
    np.testing.assert_array_equal(loaded.predict(rows), clf.predict(rows))
    for coverage in (1.0, 0.8, 0.4):
        np.testing.assert_array_equal(loaded.select(rows, coverage), clf.select(rows, coverage))
    return loaded


def description_of(value):
    description = Description()
    description.node(value)
    return description.entries, description.digests


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.few_scores
def test_a_classifier_comes_back(name, tmp_path):
    model = CLASSIFIERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have not converged
        clf = PlugIn(model, random_state=0).fit(X, y)
    loaded = assert_comes_back(clf, X, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = clone(loaded).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), loaded.predict(X))


@pytest.mark.parametrize(
    "model", [MultinomialNB(), BernoulliNB(), ComplementNB(), CategoricalNB(min_categories=6)], ids=repr
)
@pytest.mark.few_scores
def test_a_classifier_of_counts_comes_back(model, tmp_path):
    assert_comes_back(PlugIn(model, random_state=0).fit(counts, y), counts, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("logistic regression", "decision tree", "forest", "boosting", "histogram boosting", "network, adam"),
        *("support vectors, ovr", "neighbours", "LightGBM", "XGBoost", "XGBoost, dart", "calibrated, isotonic"),
    ],
)
@pytest.mark.few_scores
def test_more_than_two_classes_come_back(name, tmp_path):
    model = {**CLASSIFIERS, "support vectors, ovr": SVC()}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = PlugIn(model, random_state=0).fit(X, three_classes)
    assert_comes_back(clf, X, tmp_path)


TRANSFORMERS = {
    "standard": StandardScaler(),
    "robust": RobustScaler(),
    "min-max": MinMaxScaler(),
    "max": MaxAbsScaler(),
    "norm": Normalizer(),
    "binary": Binarizer(),
    "power": PowerTransformer(),
    "quantiles": QuantileTransformer(n_quantiles=20, random_state=0),
    "polynomial": PolynomialFeatures(2, interaction_only=True),
    "bins": KBinsDiscretizer(3, encode="onehot", quantile_method="averaged_inverted_cdf"),
    "splines": SplineTransformer(extrapolation="constant"),
    "splines, periodic": SplineTransformer(extrapolation="periodic"),
    "splines, sparse": SplineTransformer(sparse_output=True),
    "components": PCA(3, random_state=0),
    "singular values": TruncatedSVD(3, random_state=0),
    "best": SelectKBest(k=3),
    "best share": make_pipeline(MinMaxScaler(), SelectPercentile(chi2, percentile=50)),
    "varying": VarianceThreshold(0.1),
    "important": SelectFromModel(DecisionTreeClassifier(max_depth=3, random_state=0)),
    "nothing": FunctionTransformer(),
    "function": FunctionTransformer(np.arcsinh, validate=True),
    "function with options": FunctionTransformer(np.nan_to_num, kw_args={"nan": 0.5}),
    "union": FeatureUnion([("a", StandardScaler()), ("b", make_pipeline(PCA(2, random_state=0), MinMaxScaler()))]),
    "columns": ColumnTransformer(
        [("a", StandardScaler(), [0, 1]), ("b", "passthrough", slice(2, 3)), ("c", "drop", [3])],
        remainder=MinMaxScaler(),
    ),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_comes_back(name, tmp_path):
    clf = PlugIn(make_pipeline(TRANSFORMERS[name], logistic), random_state=0).fit(X, y)
    assert_comes_back(clf, X, tmp_path)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(strategy="median", add_indicator=True),
        KNNImputer(),
        FeatureUnion([("filled", SimpleImputer()), ("marks", MissingIndicator(features="all"))]),
    ],
    ids=["simple", "neighbours", "indicator"],
)
def test_an_imputer_comes_back(imputer, tmp_path):
    assert_comes_back(PlugIn(make_pipeline(imputer, logistic), random_state=0).fit(holed, y), holed, tmp_path)


frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(6)])
frame["grade"] = np.array(["a", "b b", "ä=c", None, "e"], dtype=object)[np.abs(X[:, 0] * 3).astype(int) % 5]
frame["branch"] = np.arange(len(y)) % 7
categories = frame.assign(
    grade=pd.Categorical(frame["grade"].where(frame["grade"].notna(), "none")), branch=pd.Categorical(frame["branch"])
)
ENCODERS = {
    "one hot": OneHotEncoder(handle_unknown="ignore"),
    "one hot, first dropped": OneHotEncoder(drop="first", sparse_output=False, handle_unknown="ignore"),
    "one hot, rare": OneHotEncoder(max_categories=4, handle_unknown="infrequent_if_exist"),
    "one hot, rare and dropped": OneHotEncoder(min_frequency=20, drop="first", handle_unknown="infrequent_if_exist"),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-2, encoded_missing_value=-1),
    "ordinal, rare": OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=-2,
        encoded_missing_value=-1,
        max_categories=4,
        dtype=np.float32,
    ),
    # Before scikit-learn 1.9 its folds are a number.
    "target": TargetEncoder(cv=3 if sklearn.__version__.startswith("1.8.") else StratifiedKFold(3)),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_comes_back(name, tmp_path):
    encode = ColumnTransformer(
        [
            ("words", ENCODERS[name], ["grade", "branch"]),
            ("numbers", StandardScaler(), make_column_selector(pattern="x", dtype_include=np.number)),
        ]
    )
    clf = PlugIn(make_pipeline(encode, LogisticRegression(max_iter=500)), random_state=0).fit(frame, y)
    assert_comes_back(clf, frame, tmp_path)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=5, categorical_features=["branch", "grade"], random_state=0),
        LGBMClassifier(**boosted, verbose=-1, min_data_per_group=5, cat_smooth=1),
        XGBClassifier(**boosted, enable_categorical=True, max_cat_to_onehot=2),
    ],
    ids=["histogram boosting", "LightGBM", "XGBoost"],
)
def test_trees_on_categories_come_back(model, tmp_path):
    assert_comes_back(PlugIn(model, random_state=0).fit(categories, y), categories, tmp_path)


@pytest.mark.parametrize("kind", ["object", "category", "polars"])
def test_a_gate_that_reads_words_and_was_not_given_comes_back(kind, tmp_path):
    words = np.where(np.arange(len(y)) % 3 == 0, "b", "a").astype(object)
    words[y == 1] = "c"
    words[::11] = None
    rows = pd.DataFrame({"x0": frame["x0"], "word": pd.Series(words, dtype=object)})
    if kind == "polars":
        rows = pytest.importorskip("polars").DataFrame({"x0": rows["x0"].to_numpy(), "word": words.tolist()})
    elif kind != "object":
        rows = rows.astype({"word": kind})
    clf = AUCGate(ScoreColumn("x0", threshold=0), random_state=0).fit(rows, y)
    assert clf.fitted_.reader.uses_gate
    assert_comes_back(clf, rows, tmp_path)


def test_frames_of_pandas_come_out_of_a_loaded_transformer(tmp_path):
    scaler = StandardScaler().set_output(transform="pandas")
    clf = PlugIn(make_pipeline(scaler, logistic), random_state=0).fit(frame[["x0", "x1"]], y)
    loaded = assert_comes_back(clf, frame[["x0", "x1"]], tmp_path)
    assert list(loaded.estimator_[0].transform(frame[["x0", "x1"]]).columns) == ["x0", "x1"]


@pytest.mark.parametrize("model", [SVC(), KNeighborsClassifier(5, algorithm="brute")], ids=repr)
@pytest.mark.few_scores
def test_a_model_of_sparse_rows_comes_back(model, tmp_path):
    rows = scipy.sparse.csr_matrix(counts)
    clf = PlugIn(FrozenEstimator(model.fit(rows, y)), random_state=0).fit(rows, y)
    assert_comes_back(clf, rows, tmp_path)


@pytest.mark.parametrize("base", list(Base))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_models_of_the_command_line_come_back(base, weighted, tmp_path):
    kinds = {**dict.fromkeys([f"x{number}" for number in range(6)], "number"), "grade": "category"}
    rows = frame[list(kinds)].assign(grade=frame["grade"].where(frame["grade"].notna(), np.nan))
    model = make_model(base, Features.of(kinds, rows), seed=0, weighted=weighted)
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    with sklearn.config_context(enable_metadata_routing=weighted):
        clf = PlugIn(model, random_state=0).fit(rows, y, sample_weight=weight)
        assert_comes_back(clf, rows, tmp_path)


def test_boosters_that_stopped_early_come_back(tmp_path):
    lightgbm = LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1)
    lightgbm.fit(X[:200], y[:200], eval_X=X[200:], eval_y=y[200:], callbacks=[early_stopping(2, verbose=False)])
    xgboost = XGBClassifier(n_estimators=30, n_jobs=1, early_stopping_rounds=2)
    xgboost.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    for model in (lightgbm, xgboost):
        clf = PlugIn(FrozenEstimator(model), random_state=0).fit(X, y)
        assert_comes_back(clf, X, tmp_path)


@pytest.mark.parametrize(
    "splits",
    [
        *(KFold(3), StratifiedKFold(3, shuffle=True, random_state=1), StratifiedShuffleSplit(3, random_state=0)),
        *(RepeatedKFold(n_splits=2, n_repeats=2, random_state=0), RepeatedStratifiedKFold(n_splits=2, n_repeats=2)),
        *(ShuffleSplit(3, random_state=0), TimeSeriesSplit(3), PredefinedSplit(np.arange(len(y)) % 3)),
        list(StratifiedKFold(3).split(X, y)),
    ],
    ids=lambda splits: type(splits).__name__,
)
@pytest.mark.filterwarnings("ignore:cv trains models on")
def test_splits_come_back(splits, tmp_path):
    clf = AUCross(logistic, cv=splits, random_state=0).fit(X, y)
    assert_comes_back(clf, X, tmp_path)


@pytest.mark.parametrize("splits", [GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut(), GroupShuffleSplit(3)])
def test_splits_by_group_come_back(splits, tmp_path):
    clf = AUCross(logistic, cv=splits, random_state=0).fit(X, y, groups=np.arange(len(y)) % 7)
    assert_comes_back(clf, X, tmp_path)


def test_a_loaded_search_scores_as_before(tmp_path):
    for name in ("grid", "grid, two metrics", "random search"):
        clf = PlugIn(CLASSIFIERS[name], random_state=0).fit(X, y)
        loaded = assert_comes_back(clf, X, tmp_path)
        assert loaded.estimator_.score(X, y) == clf.estimator_.score(X, y)
        for column, values in clf.estimator_.cv_results_.items():
            np.testing.assert_array_equal(loaded.estimator_.cv_results_[column], values)


def test_a_dummy_comes_back(tmp_path):
    clf = PlugIn(VotingClassifier([("a", DummyClassifier()), ("b", logistic)], voting="soft"), random_state=0).fit(X, y)
    assert_comes_back(clf, X, tmp_path)


# ---- what is not kept, and what cannot be saved ----


def test_a_pipeline_for_polars_is_loaded_only_where_polars_is_in_use(tmp_path, monkeypatch):
    """Otherwise a file would make `predict` import it."""
    pytest.importorskip("polars")
    clf = PlugIn(make_pipeline(StandardScaler().set_output(transform="polars"), logistic), random_state=0).fit(X, y)
    save(clf, tmp_path / "clf.aucross")
    np.testing.assert_array_equal(load(tmp_path / "clf.aucross").select(X), clf.select(X))
    monkeypatch.delitem(sys.modules, "polars")
    with pytest.raises(ValueError, match=r"is refused: .* polars must have been imported: import polars"):
        load(tmp_path / "clf.aucross")
    assert "polars" not in sys.modules


def test_caches_and_checkpoints_stay_on_their_machine(tmp_path):
    model = Pipeline([("a", StandardScaler()), ("m", logistic)], memory=str(tmp_path / "cache"))
    clf = PlugIn(model, random_state=0).fit(X, y)
    save(clf, tmp_path / "clf.aucross")
    assert load(tmp_path / "clf.aucross").estimator.memory is None
    np.testing.assert_array_equal(load(tmp_path / "clf.aucross").select(X), clf.select(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LGBMClassifier(**boosted, verbose=-1, linear_tree=True), "trees with linear leaves have no stored form"),
        (
            LGBMClassifier(**boosted, verbose=-1, objective=lambda y, p: (p - y, p * (1 - p))),
            "LGBMClassifier.objective",
        ),
        (XGBClassifier(**boosted, booster="gblinear"), "a booster of the kind gblinear has no stored form"),
        (
            GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()),
            "must start from the shares of the classes: pass init=None",
        ),
        (XGBClassifier(**boosted, tree_method="hist", callbacks=[print]), "XGBClassifier.callbacks"),
        (KNeighborsClassifier(5, weights=np.ones_like), "KNeighborsClassifier.weights"),
        (KNeighborsClassifier(5, metric=lambda a, b: abs(a - b).sum()), "KNeighborsClassifier.metric"),
        (GridSearchCV(logistic, {"C": [1]}, cv=2, scoring=lambda e, X, y: 1.0), "GridSearchCV.scoring"),
        (make_pipeline(FunctionTransformer(np.sort), logistic), "FunctionTransformer.func"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_would_have_to_call_something_is_refused_with_its_place(model, message, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, XGBClassifier) and model.callbacks:
            fitted = XGBClassifier(**boosted).fit(X, y).set_params(callbacks=model.callbacks)
            clf = PlugIn(FrozenEstimator(fitted), random_state=0).fit(X, y)
        else:
            clf = PlugIn(model, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=message):
        save(clf, tmp_path / "clf.aucross")
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_somebody_added_is_refused(tmp_path):
    clf = PlugIn(logistic, random_state=0).fit(X, y)
    clf.estimator_.note = "seen by Ann"
    with pytest.raises(TypeError, match=r"LogisticRegression cannot have an attribute 'note'; .* keep it in metadata"):
        save(clf, tmp_path / "clf.aucross")


def test_a_description_is_plain_json(tmp_path):
    clf = PlugIn(CLASSIFIERS["stacking"], random_state=0).fit(X, y)
    entries, _ = description_of(clf)
    assert json.loads(json.dumps(entries, allow_nan=False)) == entries


def test_of_a_spline_only_what_it_is_made_of_is_stored():
    """Its class has other names in other versions of scipy."""
    entries, _ = description_of(make_pipeline(SplineTransformer(4), logistic).fit(X, y))
    splines = [entry for entry in entries if entry.get("@object", "").startswith("scipy.")]
    assert {entry["@object"] for entry in splines} == {"scipy.interpolate.BSpline"}
    assert set(splines[0]["state"]) == {"t", "c", "k", "extrapolate"}


def test_a_gate_stores_no_private_class():
    entries, _ = description_of(AUCGate(logistic, GaussianNB(), random_state=0).fit(X, y))
    names = [entry["@object"] for entry in entries if "@object" in entry]
    assert not [name for name in names if "._" in name]


@pytest.mark.parametrize("dtype", ["str", "string[python]", "Int64", "category"])
def test_an_array_of_pandas_among_the_attributes_is_refused(dtype, tmp_path):
    clf = PlugIn(logistic, random_state=0).fit(X, y)
    clf.estimator_.groups_ = pd.Series(["1", "2"]).astype(dtype).array
    with pytest.raises(TypeError, match="cannot be saved"):
        save(clf, tmp_path / "clf.aucross")


def test_what_could_not_be_loaded_is_refused_when_saving(tmp_path):
    clf = PlugIn(LGBMClassifier(**boosted, verbose=-1), random_state=0).fit(X, y)
    clf.estimator_._other_params["machines"] = "10.0.0.1:80"
    with pytest.raises(TypeError, match=r"got 'machines', which may name a file or a machine; leave it out"):
        save(clf, tmp_path / "clf.aucross")
