"""Which labels a target may hold, and which mark may stand among them in `predict_selective`."""

from __future__ import annotations

from ast import literal_eval

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators.labels import check_classes, check_reject_label

METHODS = [AUCross, PlugInAUC, SCross, PlugIn]

X, Y = make_classification(300, n_features=5, flip_y=0.2, random_state=0)

TARGETS = {
    "integers": np.where(Y, 7, 3),
    "minus one and one": np.where(Y, 1, -1),
    "unsigned": Y.astype(np.uint8),
    "floats": Y.astype(float),
    "booleans": Y.astype(bool),
    "strings": np.where(Y, "good", "bad"),  # "good" sorts after "bad" and stays the positive class
    "object strings": np.where(Y, "good", "bad").astype(object),
    "list of strings": np.where(Y, "good", "bad").tolist(),
}


def fit(y, method=AUCross):
    return method(LogisticRegression(), coverage=0.7, random_state=0).fit(X, y)


# ---- targets ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_kind_of_label_gives_the_selection_of_zeros_and_ones(target, method):
    labels = TARGETS[target]
    clf, plain = fit(labels, method), fit(Y, method)
    assert clf.classes_.tolist() == sorted(set(np.asarray(labels).tolist()))
    assert np.array_equal(clf.select(X), plain.select(X))
    assert np.array_equal(clf.predict(X), clf.classes_[plain.predict(X)])


@pytest.mark.parametrize("method", METHODS)
def test_a_series_is_matched_by_position_not_by_its_index(method):
    pd = pytest.importorskip("pandas")
    shuffled = pd.Series(Y, index=np.random.default_rng(0).permutation(len(Y)))
    assert np.array_equal(fit(shuffled, method).select(X), fit(Y, method).select(X))
    frame = pd.DataFrame(X, index=np.arange(len(X))[::-1])
    with pytest.warns(UserWarning, match="y must hold the rows of X in their order"):
        clf = method(LogisticRegression(), coverage=0.7, random_state=0).fit(frame, shuffled)
    assert np.array_equal(clf.select(frame), fit(Y, method).select(X))


@pytest.mark.parametrize("dtype", ["category", "string", "object", "Int64", "boolean"])
def test_pandas_types_of_labels_are_understood(dtype):
    pd = pytest.importorskip("pandas")
    text = dtype in ("string", "object")
    labels = pd.Series(np.where(Y, "b", "a") if text else Y.astype(bool) if dtype == "boolean" else Y).astype(dtype)
    assert np.array_equal(fit(labels).select(X), fit(Y).select(X))


def test_polars_labels_are_understood():
    pl = pytest.importorskip("polars")
    for labels in (
        pl.Series(Y),
        pl.Series(np.where(Y, "b", "a")),
        pl.Series(np.where(Y, "b", "a")).cast(pl.Categorical),
    ):
        assert np.array_equal(fit(labels).select(X), fit(Y).select(X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0.0, 1.0, np.nan, 1.0]),
        np.array(["a", "b", None, "b"], dtype=object),
        np.array(["a", "b", np.nan, "b"], dtype=object),
        np.array([True, False, None, True], dtype=object),
    ],
)
def test_missing_labels_are_refused_with_their_number_and_first_row(labels):
    with pytest.raises(
        ValueError, match="y must not contain missing values, got 1 of 4, the first in row 2; drop those"
    ):
        check_classes(labels)


def test_missing_labels_of_pandas_and_polars_are_refused():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    text = np.where(Y, "b", "a")
    series = [
        pd.Series(text).mask(np.arange(len(Y)) == 5),
        pd.Series(text, dtype="string").mask(np.arange(len(Y)) == 5),
        pd.Series(Y, dtype="Int64").mask(np.arange(len(Y)) == 5),
        pl.Series([None if row == 5 else label for row, label in enumerate(text.tolist())]),
    ]
    for labels in series:
        with pytest.raises(ValueError, match="y must not contain missing values, got 1 of 300, the first in row 5"):
            fit(labels)


def test_infinite_labels_are_refused():
    with pytest.raises(ValueError, match="Input y contains infinity"):
        check_classes(np.array([0.0, 1.0, np.inf]))


def test_an_object_array_of_other_things_than_strings_names_what_it_holds_and_the_remedy():
    with pytest.raises(ValueError, match=r"an object array of int; .* pass y\.astype\(int\) or y\.astype\(str\)"):
        fit(Y.astype(object))
    with pytest.raises(ValueError, match="an object array of int and str"):
        check_classes(np.array(["a", 1, "a"], dtype=object))


# ---- the mark of rejected rows ----


def test_the_mark_is_minus_one_for_integers_and_reject_for_strings():
    for target, mark in {"integers": -1, "strings": "reject", "object strings": "reject"}.items():
        clf = fit(TARGETS[target])
        marked, selected = clf.predict_selective(X), clf.select(X)
        assert set(marked[~selected].tolist()) == {mark}
        assert np.array_equal(marked[selected], clf.predict(X)[selected])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.float32, np.float64])
def test_numbers_keep_their_type_with_the_mark_among_them(dtype):
    clf = fit(Y.astype(dtype))
    marked = clf.predict_selective(X, reject_label=9)
    assert marked.dtype == dtype
    assert set(marked.tolist()) == {0, 1, 9}


def test_a_mark_longer_than_the_labels_is_not_cut_off():
    clf = fit(np.where(Y, "b", "a"))
    assert set(clf.predict_selective(X).tolist()) == {"a", "b", "reject"}
    marked = clf.predict_selective(X, reject_label="send to a person")
    assert set(marked.tolist()) == {"a", "b", "send to a person"}
    assert marked.dtype.kind == "U"


def test_object_strings_stay_objects():
    marked = fit(TARGETS["object strings"]).predict_selective(X)
    assert marked.dtype == object
    assert set(marked.tolist()) == {"good", "bad", "reject"}


def test_float_labels_take_nan_and_whole_numbers_as_mark():
    clf = fit(TARGETS["floats"])
    assert np.array_equal(np.isnan(clf.predict_selective(X, reject_label=np.nan)), ~clf.select(X))
    assert np.array_equal(clf.predict_selective(X, reject_label=-1) == -1.0, ~clf.select(X))


def test_float_labels_need_a_mark_given():
    with pytest.raises(ValueError, match=r"reject_label must be given for labels of type float64; .*reject_label=nan"):
        fit(TARGETS["floats"]).predict_selective(X)


def test_unsigned_labels_need_a_mark_given_and_refuse_a_negative_one():
    clf = fit(TARGETS["unsigned"])
    with pytest.raises(ValueError, match=r"reject_label must be given for labels of type uint8; .*reject_label=2"):
        clf.predict_selective(X)
    with pytest.raises(ValueError, match="which -1 would change; pass for example reject_label=2"):
        clf.predict_selective(X, reject_label=-1)
    with pytest.raises(ValueError, match="which 256 would change"):
        clf.predict_selective(X, reject_label=256)


def test_boolean_labels_leave_no_mark():
    for mark in (None, -1, "reject"):
        with pytest.raises(ValueError, match=r"boolean labels leave no value for reject_label: .*y\.astype\(int\)"):
            fit(TARGETS["booleans"]).predict_selective(X, reject_label=mark)


@pytest.mark.parametrize("mark", ["reject", 2.5, np.nan, True, [2, 3], 2**70])
def test_a_mark_that_would_change_the_type_of_integers_is_refused(mark):
    with pytest.raises(ValueError, match=r"reject_label must be of the type of the labels \(int64\).*reject_label=-1"):
        fit(Y).predict_selective(X, reject_label=mark)


@pytest.mark.parametrize("mark", [-1, np.nan, ["reject"], True])
@pytest.mark.parametrize("target", ["strings", "object strings"])
def test_a_mark_that_is_no_string_is_refused_among_strings(target, mark):
    with pytest.raises(ValueError, match=r"reject_label must be of the type of the labels .*reject_label='reject'"):
        fit(TARGETS[target]).predict_selective(X, reject_label=mark)


@pytest.mark.parametrize("mark", ["reject", [2.0, 3.0], True])
def test_a_mark_that_is_no_number_is_refused_among_floats(mark):
    with pytest.raises(ValueError, match="reject_label must be of the type of the labels"):
        fit(TARGETS["floats"]).predict_selective(X, reject_label=mark)


def test_a_mark_that_is_a_class_is_refused_with_another_to_pass():
    with pytest.raises(ValueError, match=r"must not be one of the classes \[-1, 1\], got -1; .*reject_label=2"):
        fit(TARGETS["minus one and one"]).predict_selective(X)
    with pytest.raises(ValueError, match=r"must not be one of the classes \[3, 7\], got 7; .*reject_label=-1"):
        fit(TARGETS["integers"]).predict_selective(X, reject_label=7)
    with pytest.raises(ValueError, match=r"classes \['accept', 'reject'\], got 'reject'; .*reject_label='deferred'"):
        fit(np.where(Y, "reject", "accept")).predict_selective(X)
    with pytest.raises(ValueError, match=r"classes \[0\.0, 1\.0\], got 1; .*reject_label=nan"):
        fit(TARGETS["floats"]).predict_selective(X, reject_label=1)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-1, 1]),
        np.array([0, 255], dtype=np.uint8),
        np.array([-1, 127], dtype=np.int8),
        np.array([-128, 127], dtype=np.int8),
        np.array(["deferred", "reject"]),
        np.array(["deferred", "reject"], dtype=object),
        np.array([0.0, 1.0]),
    ],
)
def test_the_mark_that_a_message_proposes_is_accepted(classes):
    with pytest.raises(ValueError, match="pass for example") as refused:
        check_reject_label(classes[0], classes)
    proposed = str(refused.value).rpartition("reject_label=")[2]
    check_reject_label(np.nan if proposed == "nan" else literal_eval(proposed), classes)
