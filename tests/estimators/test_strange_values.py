"""Values of new rows that are unlike those of the fit are warned of, as the shell notes them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from aucross import AUCGate, AUCross, PlugInAUC, ScoreColumn
from aucross.estimators.strange_values import StrangeValuesWarning

N = 600
rng = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "sex": rng.choice(["F", "M"], N).astype(object),
        "town": pd.Series([f"town {number}" for number in rng.integers(0, 400, N)], dtype=object),
        "age": rng.normal(50, 10, N),
        "seldom": np.where(rng.random(N) < 0.9, np.nan, 1.0),
        "pd": rng.uniform(0, 0.5, N),
    }
)
y = (rng.random(N) < np.where(PEOPLE["sex"] == "F", 0.6, 0.3)).astype(int)
SPELLED = PEOPLE.assign(sex=PEOPLE["sex"].map({"F": "female", "M": "male"}))
MESSAGE = (
    "^column 'sex': 100 % of its values, such as '(fe)?male'(, '(fe)?male')?, are unknown to the model and count as "
    "missing; it knows 'F', 'M'; spell them as at the fit$"
)


def encoding(**options):
    # Of the towns only the first few are known, as of a column of rare values.
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, categories=[[f"town {n}" for n in range(9)]]
    )
    sexes = OneHotEncoder(handle_unknown="ignore", sparse_output=False, **options)
    return ColumnTransformer([("sexes", sexes, ["sex"]), ("towns", codes, ["town"]), ("rest", "passthrough", ["age"])])


def fitted(model=None, rows=PEOPLE):
    model = make_pipeline(encoding(), LogisticRegression(max_iter=1000)) if model is None else model
    return PlugInAUC(model, coverage=0.8, random_state=0).fit(rows, y)


@pytest.fixture(scope="module")
def clf():
    return fitted()


@pytest.mark.parametrize("asked", ["select", "decide", "scored", "predict", "predict_selective"])
def test_unknown_categories_get_one_warning_whatever_is_asked(clf, asked):
    getattr(clf, asked)(PEOPLE)
    with pytest.warns(StrangeValuesWarning, match=MESSAGE) as caught:
        getattr(clf, asked)(SPELLED)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_one_row_and_frames_of_polars_are_looked_at_and_scored_rows_are_not_again(clf):
    with pytest.warns(StrangeValuesWarning, match=MESSAGE):
        scored = clf.scored(SPELLED[:1])
    clf.decide(scored)
    with pytest.warns(StrangeValuesWarning, match=MESSAGE):
        clf.select(pl.from_pandas(SPELLED))


def direct():
    return OneHotEncoder(handle_unknown="ignore", sparse_output=False)


def logistic():
    return LogisticRegression(max_iter=1000)


WRAPPED = {
    "search": lambda: GridSearchCV(make_pipeline(encoding(), logistic()), {"logisticregression__C": [1.0]}, cv=2),
    "calibrated": lambda: CalibratedClassifierCV(make_pipeline(encoding(), logistic()), cv=2),
    "voting": lambda: VotingClassifier([("a", make_pipeline(encoding(), logistic()))], voting="soft"),
    "passthrough": lambda: make_pipeline("passthrough", encoding(), logistic()),
    "by place": lambda: make_pipeline(ColumnTransformer([("sexes", direct(), [0])]), logistic()),
    "by mask": lambda: make_pipeline(ColumnTransformer([("s", direct(), [True] + 4 * [False])]), logistic()),
    "by slice": lambda: make_pipeline(ColumnTransformer([("sexes", direct(), slice("sex", "sex"))]), logistic()),
    "encoder": lambda: make_pipeline(direct(), logistic()),
    "imputed": lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), direct(), logistic()),
    "union": lambda: make_pipeline(make_union(direct(), direct()), logistic()),
    "trees": lambda: HistGradientBoostingClassifier(max_iter=5),
    "trees in a search": lambda: GridSearchCV(HistGradientBoostingClassifier(), {"max_iter": [5]}, cv=2),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_categories_are_found_wherever_a_model_keeps_them(kind):
    columns = ["sex"] if kind in ("encoder", "imputed", "union") else list(PEOPLE)
    types = {"sex": "category"} if kind.startswith("trees") else {}
    columns = ["sex", "age"] if types else columns
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a coverage of 0.8 cannot be reached")  # two sexes give two scores
        clf = fitted(WRAPPED[kind](), PEOPLE[columns].astype(types))
    clf.select(PEOPLE[columns].astype(types))
    with pytest.warns(StrangeValuesWarning, match=MESSAGE):
        clf.select(SPELLED[columns].astype(types))


def test_fold_models_are_looked_at_too():
    model = make_pipeline(encoding(), logistic())
    clf = AUCross(model, coverage=0.8, ensemble=True, random_state=0).fit(PEOPLE, y)
    with pytest.warns(StrangeValuesWarning, match=MESSAGE):
        clf.select(SPELLED)


def test_a_frozen_encoder_of_names_may_be_given_an_array():
    model = make_pipeline(direct(), logistic()).fit(PEOPLE[["sex"]], y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on names that are lacking, and on ties
        assert len(PlugInAUC(FrozenEstimator(model)).fit(PEOPLE[["sex"]].to_numpy(), y).select(PEOPLE[["sex"]])) == N


def test_the_gate_is_looked_at_too():
    gate = make_pipeline(encoding(), LogisticRegression(max_iter=1000))
    clf = AUCGate(ScoreColumn("pd"), gate=gate, coverage=0.8, random_state=0).fit(PEOPLE, y)
    with pytest.warns(StrangeValuesWarning, match=MESSAGE):
        clf.select(SPELLED)


def test_a_number_without_values_is_told_unless_few_had_one_at_the_fit():
    numbers = ["age", "seldom", "pd"]
    clf = fitted(HistGradientBoostingClassifier(max_iter=5), PEOPLE[numbers])
    clf.select(PEOPLE[numbers].assign(seldom=np.nan))
    clf.select(PEOPLE[numbers][:9].assign(age=np.nan))
    for blank in (np.nan, None):
        with pytest.warns(
            StrangeValuesWarning, match=r"^column 'age': all of its 600 values are missing, and the fit "
        ):
            clf.predict(PEOPLE[numbers].assign(age=blank))


def test_fits_without_categories_keep_nothing_more():
    clf = fitted(LogisticRegression(), PEOPLE[["age", "pd"]].to_numpy())
    seen = clf.fitted_.columns
    assert (dict(seen.categories), list(seen.mostly_missing), dict(seen.unknown_shares)) == ({}, [], {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.select(np.full((20, 2), 1e6))
