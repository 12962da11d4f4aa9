"""A score that is already a column: checked, never trained, used by every selective classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, ScoreColumn, SCross, load, save
from aucross.core import RankedScores, RejectionBand
from aucross.estimators import classifier_from_ranking

N_ROWS = 1500
rng = np.random.default_rng(0)
score = rng.beta(1, 4, N_ROWS)
labels = (rng.random(N_ROWS) < score).astype(int)
frame = pd.DataFrame({"name": ["a"] * N_ROWS, "pd": score, "age": rng.normal(50, 10, N_ROWS)})
frame.loc[3, "age"] = np.nan
points = frame.assign(points=np.round(900 - 1000 * score))
scorecard = ScoreColumn("points", threshold=700, higher_is_positive=False)


# Probabilities cannot be among them: the data of the checks lie outside 0 and 1.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ScoreColumn(0, threshold=0.0, higher_is_positive=False)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


# ---- the score itself ----


def test_a_column_of_probabilities_is_the_probability_of_the_positive_class():
    model = ScoreColumn("pd").fit(frame, labels)
    np.testing.assert_array_equal(model.predict_proba(frame), np.column_stack((1 - score, score)))
    np.testing.assert_array_equal(model.predict(frame), (score > 0.5).astype(int))
    assert not hasattr(model, "decision_function")


def test_points_are_counted_from_the_threshold_towards_the_positive_class():
    model = clone(scorecard).fit(points, labels)
    np.testing.assert_array_equal(model.decision_function(points), 700 - points["points"])
    np.testing.assert_array_equal(model.predict(points), (points["points"] < 700).astype(int))
    assert not hasattr(model, "predict_proba")


def test_probabilities_of_the_negative_class_are_turned_round():
    model = ScoreColumn("repaid", higher_is_positive=False).fit(frame.assign(repaid=1 - score), labels)
    np.testing.assert_allclose(model.predict_proba(frame.assign(repaid=1 - score))[:, 1], score)


@pytest.mark.parametrize("higher_is_positive", [True, False])
def test_scores_lead_back_to_the_probabilities_of_the_column(higher_is_positive):
    model = ScoreColumn("pd", higher_is_positive=higher_is_positive).fit(frame, labels)
    np.testing.assert_allclose(model.column_value(model.predict_proba(frame)[:, 1]), frame["pd"])


@pytest.mark.parametrize("higher_is_positive", [True, False])
def test_scores_lead_back_to_the_points_of_the_column(higher_is_positive):
    model = ScoreColumn("points", threshold=650, higher_is_positive=higher_is_positive).fit(points, labels)
    np.testing.assert_array_equal(model.column_value(model.decision_function(points)), points["points"])


def test_labels_of_any_kind_are_predicted():
    named = np.where(labels == 1, "default", "a repaid loan")
    model = ScoreColumn("pd").fit(frame, named)
    assert model.classes_.tolist() == ["a repaid loan", "default"]
    assert set(model.predict(frame)) == {"a repaid loan", "default"}


@pytest.mark.parametrize(
    "data",
    [
        frame,
        frame.astype({"pd": "Float64"}),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
    ],
    ids=lambda data: type(data).__module__.split(".")[0],
)
@pytest.mark.parametrize("column", ["pd", 1, -2])
def test_frames_of_every_kind_give_the_column_by_name_or_position(data, column):
    np.testing.assert_array_equal(ScoreColumn(column).fit(data, labels).predict_proba(data)[:, 1], score)


def test_arrays_and_lists_give_the_column_by_position():
    rows = np.column_stack((score, np.full(N_ROWS, np.nan)))
    for X in (rows, rows.tolist()):
        np.testing.assert_array_equal(ScoreColumn(0).fit(X, labels).predict_proba(X)[:, 1], score)


# ---- in a selective classifier ----


@pytest.mark.parametrize("method", [AUCross, PlugInAUC, SCross, PlugIn])
@pytest.mark.parametrize("model", [ScoreColumn("pd"), scorecard], ids=["probabilities", "points"])
def test_every_method_places_its_bands_on_the_column(method, model, tmp_path):
    clf = method(model, coverage=0.8, random_state=0).fit(points, labels)
    assert clf.select(points).mean() == pytest.approx(0.8, abs=0.06)
    save(clf, tmp_path / "clf.aucross")
    np.testing.assert_array_equal(load(tmp_path / "clf.aucross").select(points), clf.select(points))


def test_the_folds_score_every_row_by_its_own_value():
    clf = AUCross(ScoreColumn("pd"), random_state=0).fit(frame, labels)
    np.testing.assert_array_equal(clf.held_out_.scores, score[clf.held_out_.rows])
    np.testing.assert_array_equal(np.sort(clf.held_out_.rows), np.arange(N_ROWS))


def test_the_band_does_not_depend_on_the_folds():
    bands = {
        AUCross(ScoreColumn("pd"), coverage=0.8, cv=cv, random_state=cv).fit(frame, labels).band() for cv in (2, 5)
    }
    assert len(bands) == 1


def test_the_gate_reads_the_other_columns():
    draws = np.random.default_rng(1)
    risk = draws.random(N_ROWS)
    X = pd.DataFrame({"pd": np.full(N_ROWS, 0.2) + 0.01 * score, "risk": risk})
    y = (draws.random(N_ROWS) < risk).astype(int)
    clf = AUCGate(ScoreColumn("pd"), coverage=0.7, random_state=0).fit(X, y)
    assert clf.gate_.n_features_in_ == 2
    assert clf.select(X).mean() == pytest.approx(0.7, abs=0.05)


def test_weights_count_in_the_coverage():
    weight = np.where(score > 0.2, 5.0, 1.0)
    clf = AUCross(ScoreColumn("pd"), coverage=0.8).fit(frame, labels, sample_weight=weight)
    assert np.average(clf.select(frame), weights=weight) == pytest.approx(0.8, abs=0.02)


def test_another_cut_off_of_a_probability_leaves_the_probability():
    at_a_fifth = FixedThresholdClassifier(ScoreColumn("pd"), threshold=0.2, response_method="predict_proba")
    clf = AUCross(at_a_fifth, random_state=0).fit(frame, labels)
    np.testing.assert_array_equal(clf.predict(frame), (score >= 0.2).astype(int))
    assert clf.fitted_.response_method == "predict_proba"


def test_a_constant_column_gives_the_warning_of_every_constant_score():
    with pytest.warns(UserWarning, match=r"all held-out scores equal 0.3: no row can be told from another"):
        AUCross(ScoreColumn("pd")).fit(frame.assign(pd=0.3), labels)


def test_it_says_that_it_trains_nothing():
    assert ScoreColumn("pd").trains_nothing


# ---- what is refused ----


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (ScoreColumn("pdd"), frame, r"column must be a column of X, got 'pdd'; did you mean 'pd'\?"),
        (ScoreColumn("xyz"), frame, r"got 'xyz'; the columns are 'name', 'pd', 'age'"),
        (ScoreColumn("pd"), frame[["pd"]].to_numpy(), r"must be a position where X has no column names, got 'pd'"),
        (ScoreColumn(3), frame, r"must be a position among 3 columns, got 3"),
        (ScoreColumn("pd"), pd.concat([frame, frame], axis=1), r"X must have one column 'pd', got 2; rename the rest"),
        (ScoreColumn("name"), frame, r"the column 'name' must hold numbers: .*'a'; name another column"),
        (ScoreColumn("age", threshold=50), frame, r"'age' must hold finite numbers, got 1 missing .* row 3; drop"),
        (
            ScoreColumn("points"),
            points,
            r"'points' must hold probabilities between 0 and 1, got -30 to 900; for a score in points pass threshold=",
        ),
        (ScoreColumn("pd", threshold=np.nan), frame, r"threshold must be a finite number, or None .*, got nan"),
        (ScoreColumn("pd", threshold="0.5"), frame, r"threshold must be a finite number, or None .*, got '0.5'"),
    ],
)
def test_what_is_no_score_is_refused_with_a_remedy(model, data, message):
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ScoreColumn(True), r"column must be the name of a column or its position, got True"),
        (ScoreColumn(0.5), r"column must be the name of a column or its position, got 0.5"),
        (ScoreColumn("pd", higher_is_positive="no"), r"higher_is_positive must be True or False, got 'no'"),
    ],
)
def test_parameters_of_another_type_are_refused(model, message):
    with pytest.raises(TypeError, match=message):
        model.fit(frame, labels)


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="a column holds one score, and y has 3 classes"):
        ScoreColumn("pd").fit(frame, np.arange(N_ROWS) % 3)


def test_new_rows_are_checked_like_those_of_the_fit():
    model = ScoreColumn("pd").fit(frame, labels)
    with pytest.raises(ValueError, match=r"'pd' must hold probabilities between 0 and 1, got .* to 93"):
        model.predict(frame.assign(pd=100 * score))
    with pytest.raises(ValueError, match=r"'pd' must hold finite numbers, got 1500 missing"):
        model.predict(frame.assign(pd=np.nan))


# ---- bands in units of the column ----


def scores_of(model, values):
    """Scores of values by a model that was fitted on them."""
    X, y = values[:, None], np.arange(len(values)) % 2
    model.fit(X, y)
    return model.predict_proba(X)[:, 1] if model.threshold is None else model.decision_function(X)


def values_and_their_neighbours(draws, size):
    values = draws.random(300) ** 6 * size
    return np.unique(np.clip([values, np.nextafter(values, -1), np.nextafter(values, 2 * size)], 0, size))


@pytest.mark.parametrize("higher_is_positive", [True, False])
@pytest.mark.parametrize("threshold", [None, 0, 600, 0.1, -1e6, 1e16, 3.3e-9])
def test_a_band_of_the_column_rejects_what_the_band_of_its_scores_rejects(threshold, higher_is_positive):
    draws = np.random.default_rng(5)
    for size in (1.0,) if threshold is None else (1e-3, 1.0, 900.0, 1e9):
        values = values_and_their_neighbours(draws, size)
        model = ScoreColumn(0, threshold=threshold, higher_is_positive=higher_is_positive)
        score = scores_of(model, values)
        for ends in draws.choice(score, (40, 2)):
            band = RejectionBand(*np.sort(ends))
            np.testing.assert_array_equal(model.column_band(band).rejects(values), band.rejects(score))


def test_ends_without_limit_stay_so_in_the_column():
    low = ScoreColumn("points", threshold=600, higher_is_positive=False)
    assert low.column_band(RejectionBand(-np.inf, 20.0)) == RejectionBand(580.0, np.inf)
    assert low.column_band(RejectionBand(20.0, np.inf)) == RejectionBand(-np.inf, 580.0)
    assert low.column_band(RejectionBand()).is_empty
    assert ScoreColumn("pd", higher_is_positive=False).column_band(RejectionBand(1.5, 2.0)).is_empty


def test_a_reviewer_reads_points():
    clf = AUCross(scorecard, coverage=0.8, random_state=0).fit(points, labels)
    queue = clf.review_queue(points, 20)
    in_column = points["points"].to_numpy()[queue.row]
    for value, reason in zip(in_column, queue.reason, strict=True):
        assert reason.startswith(f"score {value:.0f} lies in the review range {in_column.min():.0f} to ")
    np.testing.assert_array_equal(queue.score, 700 - in_column)


# ---- the rows and columns around it ----


@pytest.mark.parametrize("method", [AUCross, PlugInAUC])
def test_missing_scores_are_counted_among_the_rows_of_the_table(method):
    column = frame["pd"].copy()
    column.iloc[[700, N_ROWS - 1]] = np.nan
    with pytest.raises(ValueError, match=r"got 2 missing .* among 1500, the first in row 700; drop"):
        method(ScoreColumn("pd"), random_state=0).fit(frame.assign(pd=column), labels)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_other_columns_may_come_and_go_around_the_one_that_is_read(kind, tmp_path):
    clf = AUCross(scorecard, coverage=0.8, random_state=0).fit(points, labels)
    save(clf, tmp_path / "clf.aucross")
    for other in (points.assign(default=labels), points[["points"]], points[["points", "age", "pd"]]):
        np.testing.assert_array_equal(load(tmp_path / "clf.aucross").select(kind(other)), clf.select(points))
    with pytest.raises(ValueError, match=r"column must be a column of X, got 'points'; did you mean 'point'\?"):
        clf.select(kind(points.rename(columns={"points": "point"})))


def test_a_column_by_name_declares_itself_and_a_gate_declares_what_it_reads():
    assert AUCross(ScoreColumn("pd"), random_state=0).fit(frame, labels).feature_names_in_.tolist() == ["pd"]
    numbers = frame[["age", "pd"]]
    gate = AUCGate(ScoreColumn("pd"), coverage=0.8, random_state=0).fit(numbers, labels)
    assert gate.feature_names_in_.tolist() == ["age", "pd"]
    assert gate.n_features_in_ == 2


def test_a_position_needs_the_columns_of_the_fit():
    model = ScoreColumn(1).fit(frame, labels)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["age", "pd", "name"]])


# ---- a score that points the wrong way ----


@pytest.mark.parametrize("method", [AUCross, PlugInAUC])
def test_a_score_whose_direction_was_forgotten_is_noticed(method):
    forgotten = ScoreColumn("points", threshold=700)
    with pytest.warns(UserWarning, match=r"clearly below 0\.5: .* class 1; pass higher_is_positive=False .* pos_label"):
        method(forgotten, coverage=0.8, random_state=0).fit(points, labels)


def test_a_ranking_that_points_the_wrong_way_is_noticed():
    turned = RankedScores([0.1, 0.2, 0.3, 0.4, 0.5], [95, 80, 75, 70, 55], [5, 20, 25, 30, 45])
    with pytest.warns(UserWarning, match=r"clearly below 0\.5: .*; rank 1 minus the probability"):
        classifier_from_ranking(AUCross(ScoreColumn("pd"), coverage=0.8), turned)


def test_a_score_that_says_nothing_is_not_said_to_point_the_wrong_way():
    for seed in range(5):  # a warning would be an error
        noise = frame.assign(pd=np.random.default_rng(seed).random(N_ROWS))
        AUCross(ScoreColumn("pd"), random_state=0).fit(noise, labels)


@pytest.mark.parametrize("method", [AUCross, PlugInAUC, SCross])
@pytest.mark.parametrize("change", [lambda points: points / 100, lambda points: -points, lambda points: 1000 * points])
def test_points_of_another_unit_or_sign_are_refused(method, change):
    rng = np.random.default_rng(0)
    points = rng.normal(600, 80, (2000, 1))
    y = (rng.random(2000) < 1 / (1 + np.exp((points[:, 0] - 600) / 60))).astype(int)
    clf = method(ScoreColumn(0, threshold=600, higher_is_positive=False), coverage=0.8, random_state=0).fit(points, y)
    for n_rows in (2000, 15, 3, 1):
        with pytest.raises(
            ValueError, match=r"^the column 0 must be in the unit of the fit, .* from 3\d\d to 8[0-9]+,"
        ):
            clf.select(change(points[:n_rows]))
    assert clf.select(points).mean() == pytest.approx(0.8, abs=0.03)
    clf.select([[250.0]])  # an unusual row is none of another unit
    assert clf.select(points[:0]).tolist() == []


@pytest.mark.parametrize("value", [1200.0, 60.0, 6.0, -600.0])
def test_points_far_beyond_those_of_the_fit_are_refused_whatever_the_batch(value):
    rng = np.random.default_rng(0)
    points = rng.normal(600, 80, (2000, 1)).round()
    y = (rng.random(2000) < 1 / (1 + np.exp((points[:, 0] - 600) / 60))).astype(int)
    clf = AUCross(ScoreColumn(0, threshold=600, higher_is_positive=False), coverage=0.8, random_state=0).fit(points, y)
    for n_others in (0, 1, 8, 9, 1999):
        batch = np.vstack((points[:n_others], [[value]]))
        with pytest.raises(ValueError, match=rf"got {value:g}, and 1 of {n_others + 1} rows below .*; have such rows"):
            clf.select(batch)


@pytest.mark.parametrize("n_rows", [60, 200, 2000])
@pytest.mark.parametrize("draw", ["normal", "exponential", "lognormal", "uniform"])
def test_honest_extremes_of_new_rows_are_decided(draw, n_rows):
    n_refused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        fitted, later = (getattr(rng, draw)(size=(n, 1)) for n in (n_rows, 1000))
        model = ScoreColumn(0, threshold=0.5).fit(fitted, np.arange(n_rows) % 2)
        model.refuse_other_unit(fitted)
        n_refused += (~model.takes(later)).sum()
    # Measured on 300 fits each: none of most, and up to 3 in 10,000 of lognormal scores.
    assert n_refused <= (20 if draw == "lognormal" else 4)
