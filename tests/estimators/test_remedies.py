"""Errors about what was passed by mistake name the remedy that helps, and following it does help."""

from __future__ import annotations

import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from aucross import AUCGate, AUCross, PlugInAUC, save
from aucross.datasets import make_credit
from aucross.evaluation import promise_coverage
from aucross.evaluation.inputs import customer_numbers
from aucross.report import write_report

pytest.importorskip("pandas")

CREDIT, y = make_credit(600, random_state=0, return_X_y=True)
NUMBERS = CREDIT[["age", "loan_amount", "income"]].fillna(0)


def boosting():
    return HistGradientBoostingClassifier(max_iter=5, random_state=0)


def fitted():
    return PlugInAUC(boosting(), random_state=0).fit(NUMBERS, y)


ROWS_ALONE = {
    "pandas": (NUMBERS.iloc[0], r"pandas Series .* pass X\.iloc\[\[0\]\] for the row X\.iloc\[0\]"),
    "array": (NUMBERS.to_numpy()[0], r"ndarray .*\. Reshape your data: pass X\.reshape\(1, -1\) for one row"),
    "tuple": (tuple(NUMBERS.iloc[0]), r"tuple .* pass \[X\] for one row"),
    "polars": (pl.from_pandas(NUMBERS)["age"], r"polars Series .* pass X\.to_frame\(\)"),
    "dict": (NUMBERS.iloc[0].to_dict(), r"dict .* pass pandas.DataFrame\(\[X\]\) for one row"),
}


@pytest.mark.parametrize("row", ROWS_ALONE)
@pytest.mark.parametrize("method", ["select", "predict", "predict_proba", "decide", "scored", "predict_selective"])
def test_one_row_alone_is_no_table_and_the_remedy_is_named(method, row):
    given, said = ROWS_ALONE[row]
    with pytest.raises(ValueError, match=rf"^X must have rows and columns, got a {said}"):
        getattr(fitted(), method)(given)


def test_the_remedy_for_one_row_helps():
    clf = fitted()
    assert clf.select(NUMBERS.iloc[[0]]).tolist() == clf.select(NUMBERS)[:1].tolist()


def test_texts_that_a_pipeline_reads_one_by_one_are_rows():
    texts = ["late again", "paid"] * 30
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    clf = PlugInAUC(model, random_state=0, coverage=1.0).fit(texts, [1, 0] * 30)
    assert clf.predict(["late", "paid"]).tolist() == [1, 0]


@pytest.mark.parametrize(("given", "named"), [("lgb", "the string 'lgb'"), (5, "5")])
def test_what_is_no_classifier_is_refused(given, named):
    for name, clf in (("estimator", AUCross(given)), ("gate", AUCGate(LogisticRegression(), gate=given))):
        with pytest.raises(TypeError, match=f"{name} must be a classifier object, got {named}; pass an object such as"):
            clf.fit(NUMBERS, y)


@pytest.mark.parametrize("name", ["groups", "band_groups", "sample_weight", "coverage_weight"])
def test_the_name_of_a_column_is_not_its_values_in_fit(name):
    with pytest.raises(
        TypeError, match=rf"^{name} must hold one value per row, got the string 'age'.* pass X\['age'\]"
    ):
        AUCross(boosting()).fit(NUMBERS, y, **{name: "age"})


def test_the_name_of_a_column_is_not_its_values_after_fit():
    clf = fitted()
    asked = {
        "ids": lambda: clf.decide(NUMBERS, capacity=10, ids="age"),
        "band_groups": lambda: clf.select(NUMBERS, band_groups="age"),
        "customers": lambda: customer_numbers("age", len(y)),
    }
    for name, ask in asked.items():
        with pytest.raises(TypeError, match=rf"^{name} must hold one value per row, got the string .* pass X\['age'\]"):
            ask()


def covered(clf, auc):
    return clf.coverage_for(auc=auc)


def promised(clf, auc):
    return promise_coverage(clf, NUMBERS, y, auc=auc)


@pytest.mark.parametrize("ask", [covered, promised])
@pytest.mark.parametrize(
    ("auc", "remedy"), [(-1, "0.5 is chance and 1 is perfect"), (2, "0.5 is chance"), (85, "pass 0.85"), (0, "0.5 is")]
)
def test_an_auc_is_not_a_coverage(ask, auc, remedy):
    with pytest.raises(ValueError, match=rf"^auc must be in \(0, 1\], got {auc}; {remedy}"):
        ask(fitted(), auc)


def test_a_missing_folder_is_named(tmp_path):
    clf, folder = fitted(), tmp_path / "missing"
    with pytest.raises(
        FileNotFoundError, match=r"model.aucross must .* got .*missing, which does not exist; create it"
    ):
        save(clf, folder / "model.aucross")
    with pytest.raises(FileNotFoundError, match=r"page.json must .* got .*missing, which does not exist; create it"):
        write_report({}, folder / "page.json")
    assert not folder.exists()
