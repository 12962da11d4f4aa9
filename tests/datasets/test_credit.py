"""The synthetic loan portfolio: what it promises about types, gaps, drift and how hard it is."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from aucross.core import oracle_band
from aucross.datasets import credit, make_credit

N_SAMPLES = 12_000
CATEGORICAL = ["channel", "region", "employment_type", "home_ownership", "purpose", "grade"]
INTEGER = ["age", "open_accounts", "inquiries_6m", "delinquencies_2y", "term_months"]
FLOAT = [
    "employment_years",
    "income",
    "debt_to_income",
    "credit_history_years",
    "credit_utilisation",
    "months_since_delinquency",
    "loan_amount",
    "interest_rate",
]


@pytest.fixture(scope="module")
def portfolio():
    return make_credit(N_SAMPLES, return_X_y=True)


def held_out_scores(estimator, X, y):
    # Four folds are a 75/25 split whose test rows are all rows: half the sampling error of a single split.
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    with threadpool_limits(1):  # several test processes with several threads each wait for one another
        return cross_val_predict(estimator, X.drop(columns="issue_date"), y, cv=folds, method="predict_proba")[:, 1]


@pytest.fixture(scope="module")
def boosting_scores(portfolio):
    return held_out_scores(
        HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0), *portfolio
    )


@pytest.fixture(scope="module")
def logistic_scores(portfolio):
    numeric = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    columns = make_column_transformer(
        (numeric, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    return held_out_scores(make_pipeline(columns, LogisticRegression(max_iter=1000)), *portfolio)


def run_python(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return result.stdout.strip()


# ---- shape and types ----


def test_bunch_holds_the_documented_parts():
    bunch = make_credit(200)
    assert set(bunch) == {"data", "target", "frame", "feature_names", "target_names", "categories", "DESCR"}
    assert bunch.data.shape == (200, 20)
    assert bunch.feature_names == list(bunch.data.columns)
    assert bunch.target_names == ["repaid", "default"]
    pd.testing.assert_frame_equal(bunch.frame, bunch.data.assign(default=bunch.target))


def test_two_parts_are_returned_on_request_and_equal_those_of_the_bunch():
    bunch = make_credit(200)
    X, y = make_credit(200, return_X_y=True)
    pd.testing.assert_frame_equal(X, bunch.data)
    pd.testing.assert_series_equal(y, bunch.target)


def test_description_says_synthetic_and_explains_every_column_and_the_drift():
    bunch = make_credit(200)
    assert "Synthetic" in bunch.DESCR
    assert "No row describes a real borrower" in bunch.DESCR
    assert "Drift" in bunch.DESCR
    assert all(f"\n{name}: " in bunch.DESCR for name in bunch.feature_names)


def test_columns_have_the_documented_types(portfolio):
    X, y = portfolio
    assert X.dtypes["issue_date"] == "datetime64[ns]"
    assert all(isinstance(X.dtypes[name], pd.CategoricalDtype) for name in CATEGORICAL)
    assert all(X.dtypes[name] == np.int64 for name in INTEGER)
    assert all(X.dtypes[name] == np.float64 for name in FLOAT)
    assert {"issue_date", *CATEGORICAL, *INTEGER, *FLOAT} == set(X.columns)
    assert y.dtype == np.int64
    assert set(y) == {0, 1}


def test_only_the_grade_is_ordered_and_it_orders_the_bad_rate(portfolio):
    X, y = portfolio
    assert [name for name in CATEGORICAL if X[name].cat.ordered] == ["grade"]
    assert y.groupby(X["grade"], observed=True).mean().is_monotonic_increasing


def test_points_of_the_scorecard_grow_with_inquiries_up_to_six():
    def points(inquiries):
        zeros = ("delinquencies_2y", "assumed_utilisation", "credit_history_years")
        rows = {
            **dict.fromkeys(zeros, np.zeros(8)),
            "inquiries_6m": np.asarray(inquiries),
            "relative_income": np.ones(8),
        }
        rows |= {"employment_type": np.full(8, "salaried"), "home_ownership": np.full(8, "rent")}
        return credit._scorecard(rows, np.zeros(8))

    steps = np.diff(points(range(8)))
    assert steps == pytest.approx([0.16] * 6 + [0.0])


@pytest.mark.parametrize("n_samples", [50, 51, 1_000])
def test_every_category_is_declared_whatever_the_size(n_samples):
    X, y = make_credit(n_samples, return_X_y=True)
    large = make_credit(N_SAMPLES).data
    assert len(X) == len(y) == n_samples
    assert X.dtypes.equals(large.dtypes)
    assert set(y) == {0, 1}


def test_values_are_plausible_together(portfolio):
    X, _ = portfolio
    adult_years = X["age"] - 18
    assert X["age"].between(19, 85).all()
    assert (X["credit_history_years"] <= adult_years).all()
    assert (X["employment_years"].dropna() <= adult_years[X["employment_years"].notna()]).all()
    assert X["loan_amount"].between(1_000, 60_000).all()
    assert X["interest_rate"].between(0.5, 25).all()
    assert X["credit_utilisation"].dropna().between(0, 1).all()
    late = X["delinquencies_2y"] > 0
    assert (X.loc[late, "months_since_delinquency"] < 24).all()
    assert not (X.loc[~late, "months_since_delinquency"] < 24).any()


# ---- determinism ----


def test_same_seed_gives_the_same_frame_and_another_seed_another():
    first, again, other = (make_credit(300, random_state=seed).frame for seed in (5, np.int64(5), 6))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_another_process_gives_the_same_frame():
    code = (
        "import pandas, aucross.datasets as d;"
        "print(pandas.util.hash_pandas_object(d.make_credit(300, random_state=3).frame).sum())"
    )
    here = pd.util.hash_pandas_object(make_credit(300, random_state=3).frame).sum()
    # Python salts the hashes of strings per process; a hash seed of its own shows that nothing depends on them.
    assert run_python(code, PYTHONHASHSEED="1") == str(here)


def test_global_numpy_seed_is_neither_used_nor_changed():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make_credit(60)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# ---- missing entries ----


def test_only_documented_columns_have_missing_entries(portfolio):
    X, _ = portfolio
    incomplete = {"employment_years", "income", "debt_to_income", "credit_utilisation", "months_since_delinquency"}
    assert set(X.columns[X.isna().any()]) == incomplete


def test_employment_years_are_missing_for_the_retired_and_most_self_employed_only(portfolio):
    X, _ = portfolio
    share = X["employment_years"].isna().groupby(X["employment_type"], observed=True).mean()
    assert share["retired"] == 1
    assert 0.6 < share["self_employed"] < 0.8
    assert (share[["salaried", "public", "temporary"]] == 0).all()


def test_debt_to_income_is_missing_exactly_where_income_is(portfolio):
    X, _ = portfolio
    assert 0.04 < X["income"].isna().mean() < 0.12
    assert X["income"].isna().equals(X["debt_to_income"].isna())


def test_income_is_missing_because_it_is_low(portfolio, monkeypatch):
    X, y = portfolio
    for name in ("SHARE", "SELF_EMPLOYED", "LOW"):
        monkeypatch.setattr(credit, f"UNSTATED_INCOME_{name}", 0.0)
    full, outcome = make_credit(N_SAMPLES, return_X_y=True)
    unstated = X["income"].isna()
    salaried = X["employment_type"] == "salaried"
    pd.testing.assert_series_equal(y, outcome)
    assert full.loc[unstated & salaried, "income"].median() < 0.95 * full.loc[~unstated & salaried, "income"].median()


def test_utilisation_is_missing_more_often_in_thin_files(portfolio):
    X, _ = portfolio
    missing = X["credit_utilisation"].isna()
    thin = X["credit_history_years"] < 3
    assert missing[thin].mean() > 3 * missing[~thin].mean()


# ---- drift ----


def test_rows_are_in_order_of_six_years_of_dates(portfolio):
    dates = portfolio[0]["issue_date"]
    assert dates.is_monotonic_increasing
    assert sorted(dates.dt.year.unique()) == [2018, 2019, 2020, 2021, 2022, 2023]


def test_population_terms_and_bad_rate_differ_between_first_and_last_quarter(portfolio):
    X, y = portfolio
    quarter = N_SAMPLES // 4
    first, last = X.head(quarter), X.tail(quarter)
    assert y.tail(quarter).mean() > y.head(quarter).mean() + 0.04
    assert last["income"].mean() > 1.05 * first["income"].mean()
    assert last["interest_rate"].mean() > first["interest_rate"].mean() + 1.5
    assert (last["purpose"] == "debt_consolidation").mean() < (first["purpose"] == "debt_consolidation").mean() - 0.08


def test_population_changes_on_the_day_the_partner_opens(portfolio):
    X, _ = portfolio
    after = X["issue_date"] >= pd.Timestamp("2023-01-01")
    last_year_before = X["issue_date"].dt.year == 2022
    partner = X["channel"] == "partner"
    assert 0 < partner[~after].mean() < 0.04
    assert partner[after].mean() > 0.35
    assert X.loc[after, "age"].mean() < X.loc[last_year_before, "age"].mean() - 2
    thin = X["credit_history_years"] < 3
    assert thin[after].mean() > thin[last_year_before].mean() + 0.04


# ---- how hard it is ----


@pytest.mark.parametrize("random_state", [0, 1, 2])
def test_about_a_fifth_defaults(random_state):
    assert 0.18 < make_credit(N_SAMPLES, random_state=random_state).target.mean() < 0.22


def test_boosting_reaches_an_honest_auc_and_a_linear_model_stays_below(portfolio, boosting_scores, logistic_scores):
    _, y = portfolio
    boosting, logistic = roc_auc_score(y, boosting_scores), roc_auc_score(y, logistic_scores)
    assert 0.76 < boosting < 0.80
    assert 0.72 < logistic < boosting - 0.02


def test_thin_files_are_close_to_chance_and_the_others_are_not(portfolio, boosting_scores):
    X, y = portfolio
    thin = (X["credit_history_years"] < 3).to_numpy()
    assert 0.15 < thin.mean() < 0.30
    assert roc_auc_score(y[thin], boosting_scores[thin]) < 0.65
    assert roc_auc_score(y[~thin], boosting_scores[~thin]) > 0.78


@pytest.mark.parametrize(("coverage", "least_lift"), [(0.9, 0.01), (0.75, 0.02)])
def test_rejecting_a_band_lifts_the_auc_and_rejecting_low_confidence_lowers_it(
    portfolio, boosting_scores, coverage, least_lift
):
    y = portfolio[1].to_numpy()
    selected = oracle_band(y, boosting_scores, coverage).selects(boosting_scores)
    confidence = np.maximum(boosting_scores, 1 - boosting_scores)
    confident = confidence > np.quantile(confidence, 1 - coverage)
    auc = roc_auc_score(y, boosting_scores)
    assert roc_auc_score(y[selected], boosting_scores[selected]) > auc + least_lift
    assert roc_auc_score(y[confident], boosting_scores[confident]) < auc


# ---- errors ----


@pytest.mark.parametrize("n_samples", [49, 0, -1])
def test_too_few_samples_are_refused(n_samples):
    with pytest.raises(ValueError, match=rf"n_samples must be at least 50, got {n_samples}; .* pass n_samples=200"):
        make_credit(n_samples)


def test_float_n_samples_is_refused_with_the_integer_to_pass():
    with pytest.raises(TypeError, match=r"n_samples must be an integer of at least 50, got 1000.0; pass 1000"):
        make_credit(1e3)


@pytest.mark.parametrize("n_samples", [True, "100", None, 99.5])
def test_n_samples_of_another_type_is_refused(n_samples):
    with pytest.raises(TypeError, match="n_samples must be an integer"):
        make_credit(n_samples)


@pytest.mark.parametrize("random_state", [None, 0.5, "0", False, np.random.default_rng(0)])
def test_random_state_that_is_no_integer_is_refused(random_state):
    with pytest.raises(TypeError, match=r"random_state must be an integer of at least 0, got .*; .* pass e\.g\. 0"):
        make_credit(100, random_state=random_state)


def test_negative_random_state_is_refused():
    with pytest.raises(ValueError, match="random_state must be at least 0, got -1"):
        make_credit(100, random_state=-1)


def test_without_pandas_the_import_works_and_the_call_names_the_command():
    # scikit-learn itself imports pandas where it is installed, so the test is that ours does without.
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from aucross.datasets import make_credit\n"
        "try:\n    make_credit(60)\n"
        "except ImportError as error:\n    print(error)"
    )
    assert run_python(code) == (
        'make_credit needs pandas; install it with: pip install "aucross[frames]", or pass as_frame=False'
    )


def test_as_an_array_the_columns_are_the_same_numbers():
    as_array, as_frame = make_credit(300, as_frame=False), make_credit(300)
    assert as_array.frame is None
    np.testing.assert_array_equal(as_array.target, as_frame.target)
    for position, name in enumerate(as_frame.feature_names):
        column, found = as_frame.data[name], as_array.data[:, position]
        if name in as_array.categories:
            assert [as_array.categories[name][int(code)] for code in found] == column.tolist()
        elif name == "issue_date":
            np.testing.assert_array_equal(found.astype("datetime64[D]"), column)
        else:
            np.testing.assert_array_equal(found, column)
