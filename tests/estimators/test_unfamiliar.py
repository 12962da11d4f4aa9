"""Rows unlike those of the fit: what is called so, where it sends them, and what is kept of the fit to tell."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross, CoverageKeeper, load, save
from aucross.estimators.strange_values import unlike_the_fit, values_seen
from aucross.record import Record

RNG = np.random.default_rng(0)
N = 1200
X = pd.DataFrame(
    {
        "income": RNG.uniform(1000, 5000, N),
        "region": pd.Categorical(RNG.choice(["north", "south"], N)),
        "town": RNG.choice([f"town {number}" for number in range(900)], N),
        "often": np.where(RNG.random(N) < 0.3, np.nan, 1.0) * RNG.integers(0, 9, N),
    }
)
y = (X["income"] + RNG.normal(size=N) * 1500 > 3000).astype(int).to_numpy()
READ = ["income", "region", "often"]


@pytest.fixture(scope="module")
def clf():
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features=["region"], random_state=0)
    return AUCross(model, coverage=0.8, cv=3, random_state=0).fit(X[:800][READ], y[:800])


def strange():
    """Row 0: a number out of range, row 1: a new category, row 2: missing, row 3: missing where it often was."""
    rows = X[800:1000][READ].reset_index(drop=True)
    rows["region"] = pd.Categorical(rows["region"].astype(str).where(rows.index != 1, "mars"))
    rows.loc[0, "income"], rows.loc[2, "income"], rows.loc[3, "often"] = 1e9, np.nan, np.nan
    return rows


def test_what_is_known_of_the_fit_is_rounded_and_of_no_single_person():
    ranges, values, whole = values_seen(X)
    low, high = ranges["income"]
    assert (low, high) == (1000.0, 5000.0)
    assert values == {"region": ["north", "south"]}  # of the towns many have a single row
    assert whole == ["income", "region", "town"]


def test_each_kind_of_unfamiliar_row_is_named_and_no_other(clf):
    unlike = clf.decide(strange(), unfamiliar="review").unfamiliar
    assert unlike[0] == "unlike the rows of the fit: income 1e+09 lies outside of 1000 to 5000"
    assert unlike[1] == "unlike the rows of the fit: region 'mars' is new or rare"
    assert unlike[2] == "unlike the rows of the fit: income is missing and never was"
    assert set(unlike[3:]) == {""}


def test_several_reasons_stand_in_one_sentence():
    texts = unlike_the_fit(pd.DataFrame({"a": [9.0], "b": ["new"]}), {"a": [0.0, 1.0]}, {"b": ["old"]}, ["a"])
    assert texts.tolist() == ["unlike the rows of the fit: a 9 lies outside of 0 to 1; b 'new' is new or rare"]


def test_a_few_rare_values_do_not_let_a_new_category_pass():
    purposes = pd.DataFrame({"purpose": ["car"] * 600 + ["house"] * 396 + ["boat"] * 4})
    seen = values_seen(purposes)
    assert seen[1] == {"purpose": ["car", "house"]}  # the boats would be those of single people
    texts = unlike_the_fit(pd.DataFrame({"purpose": ["car", "boat", "mars"]}), *seen)
    assert [text[-21:] for text in texts] == ["", "'boat' is new or rare", "'mars' is new or rare"]


@pytest.mark.parametrize(("n_rare", "is_kept"), [(10, True), (11, False)])
def test_a_column_of_which_one_row_in_a_hundred_is_rare_has_no_usual_values(n_rare, is_kept):
    names = pd.DataFrame({"name": ["often"] * (1000 - n_rare) + [f"once {number}" for number in range(n_rare)]})
    assert (values_seen(names)[1] == {"name": ["often"]}) == is_kept


def test_unfamiliar_rows_go_to_review_and_the_decision_of_the_band_is_kept(clf):
    rows = strange()
    plain, sent = clf.decide(rows), clf.decide(rows, unfamiliar="review")
    assert (sent.would_be == plain.selected).all()
    assert not sent.selected[:3].any()
    assert (sent.selected[3:] == plain.selected[3:]).all()
    assert plain.selected[0]  # what went through without a word
    assert repr(sent).endswith("selected; 3 unlike the rows of the fit)")
    assert sent.take(slice(2)).unfamiliar == sent.unfamiliar[:2]


def test_nothing_changes_unless_it_is_asked_for(clf):
    decisions = clf.decide(strange())
    assert decisions.unfamiliar is None
    assert decisions.would_be is None


def test_frames_of_polars_are_looked_at_too(clf):
    texts = unlike_the_fit(pl.from_pandas(strange()), *values_seen(X[:800][READ]))
    assert texts.tolist() == list(clf.decide(strange(), unfamiliar="review").unfamiliar)


def test_a_keeper_counts_unfamiliar_rows_with_what_the_band_says(clf):
    sent, plain = CoverageKeeper(clf), CoverageKeeper(clf)
    decisions = sent.decide(strange(), unfamiliar="review")
    plain.decide(strange())
    assert sent.counts == plain.counts
    assert not decisions.selected[:3].any()


def test_a_model_file_knows_what_is_familiar(clf, tmp_path):
    save(clf, tmp_path / "m.aucross")
    loaded = load(tmp_path / "m.aucross")
    both = [each.decide(strange(), unfamiliar="review").unfamiliar for each in (clf, loaded)]
    assert both[0] == both[1]


def test_the_record_says_why(clf, tmp_path):
    rows = strange()
    would = clf.decide(rows).selected
    with Record.open(tmp_path / "cases.db") as record:
        batch = record.decide(clf, rows, batch="a", ids=range(len(rows)), unfamiliar="review")
        cases = record.cases().to_pandas()
    assert cases["would_be"].eq("automatic").tolist() == would.tolist()
    is_sent = (cases["why"] == "unfamiliar").to_numpy()
    assert is_sent.tolist() == [bool(would[row]) and row < 3 for row in range(len(rows))]
    assert cases["reason"][0] == "unlike the rows of the fit: income 1e+09 lies outside of 1000 to 5000"
    assert batch.selected.sum() == would.sum() - is_sent.sum()


def test_what_cannot_be_looked_at_is_refused(clf):
    with pytest.raises(ValueError, match='unfamiliar must be "review" or None, got True'):
        clf.decide(strange(), unfamiliar=True)
    with pytest.raises(ValueError, match="unfamiliar must be None with a capacity"):
        clf.decide(strange(), capacity=5, unfamiliar="review")
    with pytest.raises(
        ValueError, match=r'unfamiliar="review" needs a frame with the column names of the fit, got Scored'
    ):
        clf.decide(clf.scored(X[800:][READ]), unfamiliar="review")


def test_text_where_the_fit_had_numbers_is_new():
    texts = unlike_the_fit(pd.DataFrame({"a": ["much", None]}), {"a": [0.0, 1.0]}, {}, [])
    assert texts.tolist() == ["unlike the rows of the fit: a 'much' is new or rare", ""]


def test_a_reason_says_of_an_unfamiliar_row_only_what_is_true_of_it(clf):
    decisions = clf.decide(strange(), unfamiliar="review")
    reasons = clf.reasons(decisions)
    assert reasons[0] == decisions.unfamiliar[0]  # its score lies outside of the band
    by_band = ~decisions.would_be
    assert all(("review range" in reason) == is_rejected for reason, is_rejected in zip(reasons, by_band, strict=True))


def test_the_record_tells_the_reasons_that_the_classifier_tells(clf, tmp_path):
    rows, names = strange(), {0: "no", 1: "yes"}
    with Record.open(tmp_path / "cases.db") as record:
        by_coverage = record.decide(clf, rows, batch="a", ids=range(200), unfamiliar="review", labels=["no", "yes"])
        by_capacity = record.decide(clf, rows, batch="b", ids=range(200), capacity=30)
    told = clf.reasons(clf.decide(rows, unfamiliar="review"), rows, class_names=names)
    assert [text or "" for text in by_coverage.columns["reason"]] == list(told)
    queue = clf.review_queue(rows, 30, ids=np.arange(200).astype(str))  # ids decide between equal scores
    assert {by_capacity.columns["reason"][row] for row in queue.row} == set(queue.reason)
    assert any("unlike automatic cases" in text for text in told)
