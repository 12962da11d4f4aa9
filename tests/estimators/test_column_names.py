"""New rows have the columns of the fit in their order, or are refused, unless the model finds columns by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from aucross import AUCGate, AUCross, PlugInAUC, ScoreColumn, load, save
from aucross.estimators.column_names import refuse_other_columns
from aucross.estimators.fitted import SeenColumns

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
NAMES = ["loan amount", "age", "debt"]  # LightGBM writes a space as an underscore
X = pd.DataFrame(rng.normal((0, 3, 6), 1, size=(400, 3)), columns=NAMES)
y = (X["age"] - 3 + rng.normal(size=400) > 0).to_numpy().astype(int)
REVERSED = X[NAMES[::-1]]


class ByPlace(LogisticRegression):
    """A model of somebody else that reads columns by place and never looks at names."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(np.asarray(X), y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(np.asarray(X))

    def decision_function(self, X):
        return super().decision_function(np.asarray(X))

    def predict(self, X):
        return super().predict(np.asarray(X))


class AgeByName(TransformerMixin, BaseEstimator):
    """A step that finds its column by name."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X[["age"]].to_numpy()


class AsArray(AgeByName):
    """A step that hands on all columns by place."""

    def transform(self, X):
        return np.asarray(X)


def fit(model, rows=X, method=AUCross, **options):
    return method(model, random_state=0, **options).fit(rows, y)


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)


def catboost():
    return pytest.importorskip("catboost").CatBoostClassifier(
        iterations=5, thread_count=1, verbose=0, allow_writing_files=False
    )


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, n_jobs=1)


ASKED = ["select", "decide", "scored", "predict", "predict_proba", "predict_selective", "recalibrate"]


@pytest.mark.parametrize("asked", ASKED)
def test_columns_in_another_order_are_refused_whatever_is_asked(asked):
    clf = fit(ByPlace())
    getattr(clf, asked)(X)
    with pytest.raises(ValueError, match=r"another order, with 'debt' where 'loan amount' was; pass X\[clf.feature"):
        getattr(clf, asked)(REVERSED)


@pytest.mark.parametrize("options", [{"ensemble": True}, {"ensemble": "judge"}, {"ties": "split"}])
def test_columns_in_another_order_are_refused_by_fold_models(options):
    clf = fit(ByPlace(), **options)
    with pytest.raises(ValueError, match="another order"):
        clf.select(REVERSED)


@pytest.mark.parametrize("model", [lightgbm, catboost, xgboost])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_no_library_gets_columns_in_another_order(model, kind):
    rows, other = X, REVERSED
    if kind == "polars":
        rows, other = map(pytest.importorskip("polars").from_pandas, (X, REVERSED))
    clf = fit(model(), rows, PlugInAUC)
    assert clf.feature_names_in_.tolist() == NAMES
    selected = clf.select(rows)
    with pytest.raises(ValueError, match="another order"):
        clf.select(other)
    np.testing.assert_array_equal(clf.select(other[clf.feature_names_in_]), selected)


def test_an_arrow_table_in_another_order_is_refused():
    arrow = pytest.importorskip("pyarrow")
    clf = fit(lightgbm(), arrow.Table.from_pandas(X), PlugInAUC)
    with pytest.raises(ValueError, match="another order"):
        clf.select(arrow.Table.from_pandas(REVERSED))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X.drop(columns="age"), "lacks 'age'; add or rename"),
        (X.rename(columns={"age": "years"}), "lacks 'age' and has 'years', unknown to the fit; add or rename"),
        (X.assign(id=1), r"got 'id' besides; pass X\[clf.feature_names_in_\]"),
    ],
)
def test_missing_and_unexpected_columns_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        fit(ByPlace()).select(rows)


@pytest.mark.parametrize("wrap", [CalibratedClassifierCV, FrozenEstimator])
def test_a_model_is_found_inside_others(wrap):
    inner = ByPlace().fit(X, y) if wrap is FrozenEstimator else ByPlace()
    with pytest.raises(ValueError, match="another order"):
        fit(wrap(inner)).select(REVERSED)


def test_a_gate_that_reads_by_place_is_not_misled():
    by_name = make_pipeline(make_column_transformer(("passthrough", ["age"])), LogisticRegression())
    clf = fit(by_name, method=AUCGate, gate=ByPlace())
    with pytest.raises(ValueError, match="another order"):
        clf.select(REVERSED)


def test_a_frozen_model_must_be_given_its_own_columns_in_fit():
    model = FrozenEstimator(lightgbm().fit(X, y))
    assert fit(model).select(X).mean() > 0.5
    with pytest.raises(ValueError, match="another order"):
        fit(model, REVERSED)


def test_a_frozen_model_trained_on_an_array_takes_the_order_of_the_fit():
    clf = fit(FrozenEstimator(make_pipeline(AsArray(), LogisticRegression()).fit(X, y)))
    with pytest.raises(ValueError, match="another order"):
        clf.select(REVERSED)


def test_scikit_learn_compares_names_itself():
    clf = fit(make_pipeline(StandardScaler(), LogisticRegression()))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        clf.select(REVERSED)


BY_NAME = {
    "ColumnTransformer": make_column_transformer((StandardScaler(), ["age"])),
    "a function": FunctionTransformer(lambda rows: rows[["age"]]),
    "a step of somebody else": AgeByName(),
}


@pytest.mark.parametrize("step", BY_NAME)
@pytest.mark.parametrize("rows", [REVERSED, X.assign(id=1)[["id", *NAMES]]], ids=["reversed", "with an id"])
def test_a_model_that_finds_columns_by_name_may_get_others(step, rows):
    clf = fit(make_pipeline(BY_NAME[step], ByPlace()))
    np.testing.assert_array_equal(clf.select(rows), clf.select(X))


def test_column_transformer_does_without_columns_that_it_does_not_read():
    clf = fit(make_pipeline(BY_NAME["ColumnTransformer"], ByPlace()))
    np.testing.assert_array_equal(clf.select(X[["age"]]), clf.select(X))


@pytest.mark.parametrize("step", [FunctionTransformer(), AsArray(), "passthrough"])
def test_a_step_that_hands_columns_on_by_place_does_not_hide_their_order(step):
    clf = fit(make_pipeline(step, ByPlace()))
    with pytest.raises(ValueError, match="another order"):
        clf.select(REVERSED)


def test_arrays_and_numbered_columns_are_read_by_place():
    clf = fit(ByPlace())
    for rows in (X.to_numpy(), X.to_numpy().tolist(), X.set_axis(range(3), axis=1)):
        np.testing.assert_array_equal(clf.select(rows), clf.select(X))
    of_array = fit(ByPlace(), X.to_numpy())
    assert not hasattr(of_array, "feature_names_in_")
    assert len(of_array.select(REVERSED)) == len(X)


def test_a_fit_on_an_array_forgets_the_names_of_an_earlier_one():
    clf = fit(ByPlace()).fit(X.to_numpy(), y)
    assert not hasattr(clf, "feature_names_in_")


def test_a_saved_classifier_keeps_the_names(tmp_path):
    save(fit(lightgbm()), tmp_path / "model.aucross")
    clf = load(tmp_path / "model.aucross")
    assert clf.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="another order"):
        clf.select(REVERSED)


def test_a_fit_that_saw_no_table_knows_what_its_model_knows():
    clf = fit(lightgbm())
    clf.fitted_ = replace(clf.fitted_, columns=SeenColumns())
    assert clf.select(X).any()
    with pytest.raises(ValueError, match="another order"):
        clf.select(REVERSED)


def test_a_hash_of_the_row_needs_all_its_columns():
    rows = pd.DataFrame({"pd": rng.random(400).round(1), "age": X["age"]})
    clf = fit(ScoreColumn("pd"), rows, ties="split")
    assert clf.feature_names_in_.tolist() == ["pd", "age"]
    with pytest.raises(ValueError, match="a hash of the whole row cuts through ties, got another order"):
        clf.select(rows[["age", "pd"]])


def test_a_score_column_finds_its_column_by_name():
    rows = pd.DataFrame({"pd": rng.random(400), "age": X["age"]})
    clf = fit(ScoreColumn("pd"), rows)
    np.testing.assert_array_equal(clf.select(rows[["age", "pd"]]), clf.select(rows))


def test_equal_names_are_compared_once_and_no_model_is_looked_at():
    class Rows:
        asked = 0

        @property
        def columns(self):
            self.asked += 1
            return NAMES

    rows = Rows()
    refuse_other_columns(None, "predict_proba", rows, NAMES)
    assert rows.asked == 1


# ---- kinds of columns ----

CODES = X["debt"].rank(method="dense").astype(int).astype(str)
DAYS = pd.Timestamp("2000-01-01") + pd.to_timedelta(X["debt"].rank(), "D")


@pytest.mark.parametrize("asked", ASKED)
def test_a_category_where_the_fit_had_a_number_is_refused_whatever_is_asked(asked):
    model = xgboost().set_params(enable_categorical=True)
    clf = fit(model, method=PlugInAUC)
    with pytest.raises(TypeError, match=r"got a category in 'debt', where the fit had a number: .*; give it the type"):
        getattr(clf, asked)(X.assign(debt=CODES.astype("category")))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_categories_of_other_libraries_are_refused_too(kind):
    clf = fit(xgboost().set_params(enable_categorical=True), method=PlugInAUC)
    frame = X.assign(debt=CODES.astype("category"))
    rows = pytest.importorskip("polars").from_pandas(frame) if kind == "polars" else None
    rows = pytest.importorskip("pyarrow").Table.from_pandas(frame) if rows is None else rows
    with pytest.raises(TypeError, match=r"got a category in 'debt', where the fit had a number"):
        clf.select(rows)


def test_a_date_where_the_fit_had_a_number_is_refused():
    clf = fit(catboost(), method=PlugInAUC)
    with pytest.raises(TypeError, match=r"got a date in 'debt', where the fit had a number"):
        clf.predict(X.assign(debt=DAYS.astype("datetime64[ns]")))
    np.testing.assert_array_equal(clf.select(X.astype({"debt": "float32"})), clf.select(X.astype("float32")))


SELDOM = X.assign(debt=X["debt"].where(X["debt"] > X["debt"].quantile(0.7)))


@pytest.mark.parametrize(("rows", "place"), [(SELDOM, "mostly missing"), (X.to_numpy(), "array")])
def test_kinds_are_compared_with_columns_of_few_values_and_of_arrays(rows, place):
    clf = fit(xgboost().set_params(enable_categorical=True), rows, PlugInAUC)
    with pytest.raises(TypeError, match=r"got a category in 'debt', where the fit had a number: .*; give it the type"):
        clf.select(X.assign(debt=CODES.astype("category")))
    clf = fit(catboost(), rows, PlugInAUC)
    with pytest.raises(TypeError, match=r"got a date in 'debt', where the fit had a number"):
        clf.predict(X.assign(debt=DAYS.astype("datetime64[ns]")))
    clf.select(X)


def test_scikit_learn_reads_the_values_of_categories():
    clf = fit(LogisticRegression(), method=PlugInAUC)
    np.testing.assert_array_equal(clf.select(X.astype({"debt": "category"})), clf.select(X))


def test_a_saved_classifier_keeps_the_kinds(tmp_path):
    clf = fit(xgboost().set_params(enable_categorical=True), method=PlugInAUC)
    save(clf, tmp_path / "m.aucross")
    with pytest.raises(TypeError, match="got a category in 'debt'"):
        load(tmp_path / "m.aucross").select(X.assign(debt=CODES.astype("category")))
