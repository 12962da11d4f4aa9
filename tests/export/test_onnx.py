from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

onnxruntime = pytest.importorskip("onnxruntime", reason='needs onnx: pip install "aucross[onnx]"')
skl2onnx = pytest.importorskip("skl2onnx")

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.export.onnx import OnnxMismatchError, onnx_inputs, to_onnx
from aucross.export.onnx.checked_graph import score_difference
from aucross.export.onnx.converters import MARGIN, moved
from aucross.export.onnx.trees import Branch, Trees, written
from tests.reference import select_each

COVERAGES = [1.0, 0.9, 0.6]

rng = np.random.default_rng(0)
N = 900
NUMBERS = rng.normal(size=(N, 4))
NUMBERS[:, 3] = rng.integers(0, 12, N)
y = (NUMBERS[:, 0] + (NUMBERS[:, 3] % 3 == 0) + rng.normal(size=N) > 0.6).astype(int)
WITH_GAPS = NUMBERS.copy()
WITH_GAPS[rng.random(N) < 0.1, 0] = np.nan
TRAIN = slice(0, 400)


def run(graph, X):
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, onnx_inputs(graph, X))


def fitted(method, model, X=NUMBERS, labels=y, **parameters):
    return method(model, coverage=0.8, random_state=0, **parameters).fit(X[TRAIN], labels[TRAIN])


def assert_decides_as(clf, graph, X, coverages=COVERAGES):
    label, response, selected = run(graph, X)
    np.testing.assert_array_equal(selected, select_each(clf, X, coverages).T)
    np.testing.assert_array_equal(label, clf.predict(X))
    expected = clf.predict_proba(X) if response.ndim == 2 else clf.decision_function(X)
    np.testing.assert_allclose(response, expected, rtol=1e-13, atol=1e-13)


# ---- the graph decides as Python does, on every row ----

IN_DOUBLES = {
    "logistic": (LogisticRegression(), NUMBERS),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), NUMBERS),
    "decision values": (LinearSVC(), NUMBERS),
    "tree": (DecisionTreeClassifier(max_depth=4), NUMBERS),
    "forest": (RandomForestClassifier(8, random_state=0), WITH_GAPS),
    "extra trees": (ExtraTreesClassifier(8, max_depth=5, random_state=0), NUMBERS),
    "gradient boosting": (GradientBoostingClassifier(n_estimators=8), NUMBERS),
    "histogram boosting": (HistGradientBoostingClassifier(max_iter=8), WITH_GAPS),
    "with categories": (HistGradientBoostingClassifier(max_iter=8, categorical_features=[3]), WITH_GAPS),
    "LightGBM": (LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1), WITH_GAPS),
    "LightGBM, no gaps": (LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1, use_missing=False), NUMBERS),
}


@pytest.mark.few_scores
@pytest.mark.parametrize("name", IN_DOUBLES)
@pytest.mark.parametrize("method", [PlugInAUC, PlugIn])
@pytest.mark.few_scores
def test_graph_decides_as_the_classifier_on_rows_that_placed_its_band_and_on_others(name, method):
    # With a hold-out the ends of the band are scores of rows that the same model scores again.
    model, X = IN_DOUBLES[name]
    clf = fitted(method, model, X)
    graph = to_onnx(clf, X[TRAIN], coverages=COVERAGES)
    assert_decides_as(clf, graph, X)
    assert score_difference(clf, graph, X) < MARGIN / 10


@pytest.mark.few_scores
@pytest.mark.parametrize("name", ["logistic", "decision values", "forest", "histogram boosting", "LightGBM"])
def test_the_first_class_may_be_the_positive_one(name):
    model, X = IN_DOUBLES[name]
    labels = np.where(y == 1, "good", "bad")
    clf = fitted(PlugInAUC, model, X, labels, pos_label="bad")
    graph = to_onnx(clf, X[TRAIN], coverages=COVERAGES)
    assert_decides_as(clf, graph, X)
    assert score_difference(clf, graph, X) < MARGIN / 10


@pytest.mark.few_scores
@pytest.mark.parametrize("method", [AUCross, SCross])
@pytest.mark.few_scores
def test_cross_fitted_methods_are_converted_with_the_model_that_answers(method):
    clf = fitted(method, LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1), WITH_GAPS, cv=2)
    assert_decides_as(clf, to_onnx(clf, WITH_GAPS, coverages=COVERAGES), WITH_GAPS)


def test_recalibrated_bands_are_those_of_the_graph():
    clf = fitted(PlugInAUC, LogisticRegression()).recalibrate(NUMBERS[600:])
    assert_decides_as(clf, to_onnx(clf, NUMBERS, coverages=[0.7]), NUMBERS, [0.7])


def test_categories_of_lightgbm_are_sets_in_the_graph():
    model = LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1, min_data_per_group=5, cat_smooth=1)
    clf = PlugInAUC(model, coverage=0.8, random_state=0).fit(WITH_GAPS[TRAIN], y[TRAIN], categorical_feature=[3])
    others = WITH_GAPS.copy()
    others[::9, 3], others[1::9, 3] = np.nan, 50.0
    assert_decides_as(clf, to_onnx(clf, WITH_GAPS, coverages=COVERAGES), others)


def test_categories_that_the_model_has_not_seen_go_where_it_sends_them():
    model, X = IN_DOUBLES["with categories"]
    clf = fitted(PlugInAUC, model, X)
    graph = to_onnx(clf, X, coverages=COVERAGES)
    others = X[:60].copy()
    others[:, 3] = np.tile([50.0, np.nan, -1.0], 20)
    assert_decides_as(clf, graph, others)


def test_coverage_of_the_classifier_is_the_default_and_labels_may_be_text():
    labels = np.where(y == 1, "bad", "good")
    clf = fitted(PlugInAUC, LogisticRegression(), labels=labels)
    label, probabilities, selected = run(to_onnx(clf, NUMBERS), NUMBERS)
    assert label.tolist() == clf.predict(NUMBERS).tolist()
    np.testing.assert_allclose(probabilities, clf.predict_proba(NUMBERS), rtol=1e-13)
    np.testing.assert_array_equal(selected[:, 0], clf.select(NUMBERS))


def test_frozen_model_is_converted():
    model = LogisticRegression().fit(NUMBERS[TRAIN], y[TRAIN])
    clf = PlugInAUC(FrozenEstimator(model), random_state=0).fit(NUMBERS[400:], y[400:])
    assert_decides_as(clf, to_onnx(clf, NUMBERS, coverages=COVERAGES), NUMBERS)


def test_row_without_a_score_goes_to_review():
    clf = fitted(PlugInAUC, LogisticRegression())
    graph = to_onnx(clf, NUMBERS, coverages=[0.9])
    assert not run(graph, np.full((1, 4), np.nan))[2].any()


@pytest.mark.few_scores
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e39])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(20, random_state=0),
        GradientBoostingClassifier(n_estimators=5),
        HistGradientBoostingClassifier(max_iter=5),
        LGBMClassifier(n_estimators=5, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_values_that_the_classifier_refuses_go_to_review_in_the_graph_and_others_as_it_decides(model, value):
    clf = fitted(PlugInAUC, model)
    graph = to_onnx(clf, NUMBERS, coverages=[0.9])
    for column in range(4):
        rows = NUMBERS[:50].copy()
        rows[:, column] = value
        try:
            with np.errstate(over="ignore"):  # of a value that is too large for float32
                expected = clf.select(rows, 0.9)
        except ValueError:
            expected = np.zeros(50, dtype=bool)
        np.testing.assert_array_equal(run(graph, rows)[2][:, 0], expected)


# ---- missing values and categories ----

CATEGORIES = rng.choice(["a", "b", "c", "d"], N).astype(object)
TABLE = pd.DataFrame({"x [EUR]": WITH_GAPS[:, 0], "z": NUMBERS[:, 1], "kind": pd.Series(CATEGORIES, dtype=object)})
TABLE.loc[rng.random(N) < 0.1, "kind"] = np.nan
KNOWN = ["a", "b", "c"]


def codes():
    encoder = OrdinalEncoder(categories=[KNOWN], handle_unknown="use_encoded_value", unknown_value=np.nan)
    return ColumnTransformer([("kind", encoder, ["kind"]), ("numbers", "passthrough", ["x [EUR]", "z"])])


def indicators(**imputing):
    encoder = OneHotEncoder(categories=[[*KNOWN, np.nan]], handle_unknown="ignore")
    numbers = make_pipeline(SimpleImputer(**imputing), StandardScaler())
    return ColumnTransformer([("kind", encoder, ["kind"]), ("numbers", numbers, ["x [EUR]", "z"])])


FRAMES = {
    "codes, histogram boosting": (codes(), HistGradientBoostingClassifier(max_iter=5, categorical_features=[0])),
    "codes, forest": (codes(), RandomForestClassifier(5, random_state=0)),
    "indicators, median": (indicators(strategy="median"), LogisticRegression()),
    "indicators, gaps shown": (indicators(add_indicator=True), LogisticRegression()),
    "indicators, mark": (indicators(missing_values=np.nan, strategy="constant", fill_value=-1.0), LogisticRegression()),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_with_gaps_and_categories_are_converted(name):
    encode, model = FRAMES[name]
    clf = fitted(PlugInAUC, Pipeline([("encode", encode), ("model", model)]), TABLE)
    graph = to_onnx(clf, TABLE[TRAIN], coverages=COVERAGES)
    assert len(graph.graph.input) == 3
    assert_decides_as(clf, graph, TABLE)
    infinite = TABLE.assign(z=np.inf)
    expected = clf.select(infinite) if "histogram" in name else np.zeros(N, dtype=bool)
    np.testing.assert_array_equal(run(to_onnx(clf, TABLE), infinite)[2][:, 0], expected)


def test_imputer_for_another_mark_than_nan_and_a_column_without_values():
    X = np.column_stack((np.where(np.isnan(WITH_GAPS), -999.0, WITH_GAPS), np.full(N, -999.0)))
    model = make_pipeline(SimpleImputer(missing_values=-999.0, add_indicator=True), LogisticRegression())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Skipping features without any observed values")
        clf = fitted(PlugInAUC, model, X)
        graph = to_onnx(clf, X, coverages=[0.9])
        np.testing.assert_array_equal(run(graph, X)[2][:, 0], clf.select(X, 0.9))


def test_codes_that_look_like_numbers_stay_text():
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(
        ColumnTransformer([("code", encoder, ["code"])], remainder="passthrough"), LogisticRegression()
    )
    table = pd.DataFrame(
        {"code": pd.Series([f"{value:.0f}" for value in NUMBERS[:, 3]], dtype=object), "x": NUMBERS[:, 0]}
    )
    clf = fitted(PlugInAUC, model, table)
    assert_decides_as(clf, to_onnx(clf, table, coverages=COVERAGES), table)


@pytest.mark.few_scores
def test_a_model_that_reads_columns_by_name_needs_a_frame():
    clf = fitted(PlugInAUC, Pipeline([("encode", codes()), ("model", RandomForestClassifier(2))]), TABLE)
    with pytest.raises(TypeError, match="X must be a frame"):
        to_onnx(clf, TABLE.to_numpy())


FEATURES = pd.DataFrame(NUMBERS, columns=["age", "amount [EUR]", "hour", "kind"])


@pytest.mark.parametrize("rows", [FEATURES, pl.DataFrame(FEATURES), pa.Table.from_pandas(FEATURES)])
def test_columns_of_a_frame_are_found_by_name_in_any_order_and_among_others(rows):
    clf = fitted(PlugInAUC, LogisticRegression(), FEATURES)
    graph = to_onnx(clf, FEATURES, coverages=COVERAGES)
    names = ["kind", "hour", "amount [EUR]", "age"]
    turned = rows.select(names) if hasattr(rows, "select") else rows[names].assign(other="text")
    np.testing.assert_array_equal(onnx_inputs(graph, turned)["X"], NUMBERS)
    np.testing.assert_array_equal(run(graph, turned)[2], select_each(clf, FEATURES, COVERAGES).T)


def test_columns_of_an_array_keep_their_order_and_those_of_a_frame_do_if_the_fit_knew_no_names():
    graph = to_onnx(fitted(PlugInAUC, LogisticRegression(), FEATURES), FEATURES)
    np.testing.assert_array_equal(onnx_inputs(graph, NUMBERS)["X"], NUMBERS)
    nameless = to_onnx(fitted(PlugInAUC, LogisticRegression()), NUMBERS)
    np.testing.assert_array_equal(onnx_inputs(nameless, FEATURES)["X"], NUMBERS)


@pytest.mark.few_scores
@pytest.mark.parametrize("by_column", [False, True])
def test_a_column_of_another_name_is_refused_and_the_missing_one_named(by_column):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    if by_column:
        model = make_pipeline(ColumnTransformer([("all", "passthrough", list(FEATURES))]), LogisticRegression())
    graph = to_onnx(fitted(PlugInAUC, model, FEATURES), FEATURES)
    with pytest.raises(ValueError, match="X must have the columns of the fit, and lacks 1 of 4: 'hour'; add or rename"):
        onnx_inputs(graph, FEATURES.rename(columns={"hour": "minute"}))


def test_a_column_may_have_the_name_of_the_input_of_a_table():
    table = TABLE.rename(columns={"z": "X"})[["X", "kind"]]
    encode = ColumnTransformer([("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"])], remainder="passthrough")
    clf = fitted(PlugInAUC, make_pipeline(encode, LogisticRegression()), table)
    assert_decides_as(clf, to_onnx(clf, table, coverages=COVERAGES), table)


# ---- skl2onnx knows the classifiers ----


def test_skl2onnx_converts_a_pipeline_that_ends_with_a_classifier():
    clf = PlugInAUC(LogisticRegression(), coverage=0.8, random_state=0)
    pipeline = make_pipeline(StandardScaler(), clf).fit(NUMBERS, y)
    graph = skl2onnx.to_onnx(pipeline, NUMBERS[:1], options={id(clf): {"coverages": [0.8, 0.5]}})
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    selected = session.run(["selected"], {"X": NUMBERS})[0]
    np.testing.assert_array_equal(selected, select_each(clf, pipeline[:-1].transform(NUMBERS), [0.8, 0.5]).T)


def test_values_in_single_precision_are_computed_with_in_double_precision():
    clf = fitted(PlugInAUC, HistGradientBoostingClassifier(max_iter=5))
    X = NUMBERS.astype(np.float32)
    session = onnxruntime.InferenceSession(skl2onnx.to_onnx(clf, X[:1]).SerializeToString())
    np.testing.assert_array_equal(session.run(["selected"], {"X": X})[0][:, 0], clf.select(X))


def test_skl2onnx_decides_for_the_coverage_of_the_classifier_by_default():
    clf = fitted(PlugIn, LogisticRegression())
    graph = skl2onnx.to_onnx(clf, NUMBERS[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    np.testing.assert_array_equal(session.run(["selected"], {"X": NUMBERS})[0][:, 0], clf.select(NUMBERS))


# ---- models of other precision ----


def test_single_precision_widens_the_margin_and_never_makes_a_reviewed_row_automatic():
    clf = fitted(PlugInAUC, XGBClassifier(n_estimators=8, n_jobs=1), WITH_GAPS)
    graph = to_onnx(clf, WITH_GAPS[TRAIN], coverages=COVERAGES)
    difference = score_difference(clf, graph, WITH_GAPS)
    assert MARGIN < difference < 1e-6
    label, _, selected = run(graph, WITH_GAPS)
    expected = select_each(clf, WITH_GAPS, COVERAGES).T
    assert not (selected & ~expected).any()
    np.testing.assert_array_equal(label, clf.predict(WITH_GAPS))


def test_models_of_skl2onnx_are_taken_as_it_converts_them():
    clf = fitted(PlugInAUC, CalibratedClassifierCV(LinearSVC(), cv=2))
    assert_decides_as(clf, to_onnx(clf, NUMBERS, coverages=COVERAGES), NUMBERS)


def test_ends_are_moved_by_a_share_of_their_size():
    ends = np.array([[0.3, 200.0, -np.inf, np.inf]])
    np.testing.assert_array_equal(moved(ends, 0.01), [[0.31, 202.0, -np.inf, np.inf]])


def test_a_margin_that_takes_rows_out_of_the_automatic_ones_is_refused():
    clf = fitted(PlugInAUC, LogisticRegression())
    with pytest.raises(OnnxMismatchError, match=r"decide differently on \d+ of 900 rows of X"):
        to_onnx(clf, NUMBERS, coverages=[0.8], margin=0.05)


@pytest.mark.parametrize("pos_label", [None, "bad"])
def test_text_labels_of_xgboost_are_those_of_the_graph(pos_label):
    labels = np.where(y == 1, "good", "bad")
    clf = fitted(PlugInAUC, XGBClassifier(n_estimators=8, n_jobs=1), WITH_GAPS, labels, pos_label=pos_label)
    label, _, selected = run(to_onnx(clf, WITH_GAPS, coverages=COVERAGES), WITH_GAPS)
    np.testing.assert_array_equal(label, clf.predict(WITH_GAPS))
    np.testing.assert_array_equal(selected, select_each(clf, WITH_GAPS, COVERAGES).T)


# ---- what cannot be converted says so ----

BASE = LogisticRegression()
REFUSED = {
    "classes": (lambda: AUCross(BASE, cv=2).fit(NUMBERS[TRAIN], NUMBERS[TRAIN, 3] % 3), "3 classes"),
    "groups": (
        lambda: PlugInAUC(BASE, random_state=0).fit(NUMBERS, y, band_groups=NUMBERS[:, 1] > 0),
        "a band for each group",
    ),
    "ties": (lambda: fitted(PlugInAUC, BASE, ties="split"), 'ties="split"'),
    "judges": (lambda: fitted(AUCross, BASE, cv=2, ensemble="judge"), "ensemble=False"),
    "ensemble": (lambda: fitted(AUCross, BASE, cv=2, ensemble=True), "ensemble=False"),
    "gate": (lambda: fitted(AUCGate, BASE, gate=LogisticRegression(), cv=2), "more than one score"),
    "decision function": (lambda: fitted(PlugInAUC, SVC()), "SVC cannot be converted .* CalibratedClassifierCV"),
    "faulty converter": (lambda: fitted(PlugInAUC, AdaBoostClassifier(n_estimators=2)), "AdaBoostClassifier cannot be"),
    "categories of XGBoost": (
        lambda: fitted(
            PlugInAUC,
            XGBClassifier(n_estimators=4, n_jobs=1, enable_categorical=True, feature_types=["q", "q", "q", "c"]),
        ),
        "XGBoost with categories",
    ),
    "zeros of LightGBM": (
        lambda: fitted(PlugInAUC, LGBMClassifier(n_estimators=2, verbose=-1, zero_as_missing=True)),
        "zero_as_missing",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.few_scores
def test_what_has_no_graph_is_refused_with_the_reason(name):
    make, reason = REFUSED[name]
    with pytest.raises(ValueError, match=reason):
        to_onnx(make(), NUMBERS, coverages=[0.9])


def test_a_plain_model_and_one_without_a_fit_are_refused_by_what_they_lack():
    with pytest.raises(TypeError, match="clf must be a selective classifier such as AUCross, got LogisticRegression"):
        to_onnx(LogisticRegression().fit(NUMBERS, y), NUMBERS)
    for convert in (to_onnx, skl2onnx.to_onnx):
        with pytest.raises(NotFittedError, match="AUCross instance is not fitted yet"):
            convert(AUCross(BASE), NUMBERS)


def test_skl2onnx_refuses_with_the_same_words():
    with pytest.raises(ValueError, match="more than one score"):
        skl2onnx.to_onnx(fitted(AUCGate, BASE, gate=LogisticRegression(), cv=2), NUMBERS[:1])


def test_an_own_threshold_is_refused_or_followed():
    clf = fitted(PlugInAUC, FixedThresholdClassifier(LogisticRegression(), threshold=0.3))
    with pytest.raises(ValueError, match="FixedThresholdClassifier cannot be converted"):
        to_onnx(clf, NUMBERS)


def test_scores_that_are_not_those_of_the_model_are_refused():
    class Doubling(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(2 * X)

    with pytest.raises(OnnxMismatchError, match="does not give the scores of the model"):
        to_onnx(fitted(PlugInAUC, Doubling()), NUMBERS)


def test_no_coverage_and_a_wrong_margin_are_refused():
    clf = fitted(PlugInAUC, LogisticRegression())
    with pytest.raises(TypeError, match=r"coverages must be a list of numbers in \(0, 1\], got 0.8; pass \[0.8\]"):
        to_onnx(clf, NUMBERS, coverages=0.8)
    with pytest.raises(ValueError, match="coverages must name at least one"):
        to_onnx(clf, NUMBERS, coverages=[])
    with pytest.raises(ValueError, match=r"for 90 % pass 0\.9"):
        to_onnx(clf, NUMBERS, coverages=[90])
    with pytest.raises(ValueError, match=r"margin must be in \[0, 1\), got -1"):
        to_onnx(clf, NUMBERS, margin=-1)


# ---- trees in the form of ONNX ----


def test_sets_of_categories_become_columns_behind_the_table_each_once():
    member = Branch(1, 0.0, 0.5, 0.25, missing=False, members=(2.0, 3.0))
    form = written(Trees([member, 0.125, Branch(0, 1.5, member, 0.75, missing=True)]), n_features=2)
    assert form.members == {(1, (2.0, 3.0)): 0}
    assert form.first_leaf == [0, 2, 3]
    assert form.leaves == [0.25, 0.5, 0.125, 0.75, 0.25, 0.5]
    assert form.attributes["nodes_featureids"] == [2, 0, 0, 0, 0, 2, 0, 0, 0]
