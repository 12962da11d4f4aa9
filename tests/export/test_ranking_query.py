"""Rankings counted by a database: the query, its result, and a classifier made of it alone."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugInAUC, ScoreColumn, evaluate_selective, load, promise_selective, save
from aucross.core import RankedScores, ScoreRounding
from aucross.estimators import classifier_from_ranking
from aucross.evaluation import evaluate_ranking, promise_ranking
from aucross.export import ranking_query, read_ranking, rule_to_json, rule_to_sql

DIALECTS = ("ansi", "duckdb", "postgres", "snowflake", "bigquery", "spark", "databricks", "mysql", "tsql")


def difficult_scores():
    """Scores of all sizes, and those next to where rounding changes."""
    rng = np.random.default_rng(0)
    ends = ScoreRounding(20).round(rng.random(400))
    half = 2.0 ** (np.floor(np.log2(ends)) - 24) / 2  # half of the last digit of float32, below a power of two
    return np.concatenate(
        [
            rng.random(1000),
            rng.normal(scale=100, size=1000),
            rng.random(1000) * 10.0 ** rng.integers(-60, 50, 1000) * rng.choice([-1, 1], 1000),
            *(ends, np.nextafter(ends, 0), np.nextafter(ends, 1), ends - half, ends - 2 * half, ends + half),
            [0.0, -0.0, 1.0, 0.5, -1e-300, 1e307, 2.0**-126, 2.0**-127, 2.0**-149, 2.0**-150],
        ]
    )


def asked(query, **tables):
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(query).df()


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(1)
    pd_ = rng.beta(1.2, 6, 6000)
    return pd.DataFrame({"pd": pd_, "bad": (rng.random(6000) < pd_).astype(int), "amount": rng.lognormal(size=6000)})


def rounded(bits, scores):
    return scores if bits == 64 else ScoreRounding(bits).round(scores)


@pytest.mark.parametrize("bits", [20, 32, 64])
def test_a_database_counts_as_the_rounding_does(bits):
    scores = difficult_scores()
    label = np.arange(len(scores)) % 3 == 0
    frame = pd.DataFrame({"s": scores, "y": label.astype(int)})
    found = read_ranking(asked(ranking_query("t", "s", "y", bits=bits, dialect="duckdb"), t=frame))
    expected = RankedScores.from_labels(label, rounded(bits, scores))
    for name in ("scores", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_standard_sql_counts_alike():
    frame = pd.DataFrame({"s": difficult_scores(), "y": 1})
    one, other = (asked(ranking_query("t", "s", "y", dialect=name), t=frame) for name in ("ansi", "duckdb"))
    assert read_ranking(one).scores.tolist() == read_ranking(other).scores.tolist()


def test_weights_are_counted_with_their_squares_and_cubes(loans):
    amount = loans["amount"].where(np.arange(6000) % 10 > 0, 0.0)  # weight 0 takes no part
    query = ranking_query("loans", "pd", "bad", weight="amount", dialect="duckdb")
    found = read_ranking(asked(query, loans=loans.assign(amount=amount)))
    expected = RankedScores.from_labels(loans["bad"], ScoreRounding(20).round(loans["pd"]), amount)
    np.testing.assert_allclose(found.scores, expected.scores)
    np.testing.assert_allclose(found.class_powers, expected.class_powers)


@pytest.mark.parametrize("labels", [("yes", "no"), (True, False), (1, 0), ("it's", "b--; DROP")], ids=str)
def test_labels_of_any_kind(labels):
    positive, negative = labels
    frame = pd.DataFrame({"s": [0.1, 0.2, 0.3, 0.4], "y": [positive, negative, negative, None]})
    query = ranking_query("t", "s", "y", positive=positive, negative=negative, dialect="duckdb", bits=64)
    found = read_ranking(asked(query, t=frame))
    assert (found.scores.tolist(), found.positives.tolist()) == ([0.1, 0.2, 0.3], [1, 0, 0])


def test_rows_that_cannot_be_used_are_refused():
    frame = pd.DataFrame({"s": [0.1, np.nan, np.inf, 0.4], "y": [1, 0, 0, 2], "w": [1.0, -1.0, 2.0, 1.0]})
    query = ranking_query("t", "s", "y", dialect="duckdb")
    with pytest.raises(ValueError, match="1 rows with another label"):
        read_ranking(asked(query, t=frame))
    with pytest.raises(ValueError, match="2 rows have no score"):
        read_ranking(asked(query, t=frame[:3]))
    assert len(read_ranking(asked(query, t=frame[:3]), missing="leave out")) == 1
    with pytest.raises(ValueError, match="another label or weight"):
        read_ranking(asked(ranking_query("t", "s", "y", weight="w", dialect="duckdb"), t=frame[:3]))


def test_labels_that_a_collation_does_not_tell_apart_are_refused():
    with pytest.raises(ValueError, match=r"^positive and negative labels must differ by more than case, "):
        ranking_query("loans", "pd", "state", positive="BAD", negative="Bad")


def test_names_mean_what_they_say_and_nothing_else():
    name = "x; DROP TABLE t --"
    frame = pd.DataFrame({name: [0.25], "a'b": [1]})
    assert read_ranking(asked(ranking_query("t", name, "a'b", dialect="duckdb"), t=frame)).scores.tolist() == [0.25]
    for dialect in DIALECTS:
        closing = {"tsql": "]", "bigquery": "`", "spark": "`", "databricks": "`", "mysql": "`"}.get(dialect, '"')
        for bad in (f"a{closing} OR 1=1", "a\\", "a\nb", ""):
            with pytest.raises(ValueError, match="name"):
                ranking_query("t", bad, "y", dialect=dialect)
            with pytest.raises(ValueError, match="name"):
                ranking_query(["s", bad], "s", "y", dialect=dialect)
        with pytest.raises(ValueError, match="backslashes"):
            ranking_query("t", "s", "y", positive="a\\", dialect=dialect)
    assert 'FROM "a.b"."t"' in ranking_query(["a.b", "t"], "s", "y")


def test_dialects_write_their_own_words():
    queries = {name: ranking_query("bank.loans", "pd", "bad", dialect=name) for name in DIALECTS}
    assert "FROM `bank`.`loans`" in queries["bigquery"]
    assert "FROM [bank].[loans]" in queries["tsql"]
    assert "AS FLOAT64)" in queries["bigquery"]
    assert "LOG(size)" in queries["tsql"]
    assert "LN(size)" in queries["snowflake"]
    for name in ("snowflake", "bigquery", "ansi", "mysql"):
        with pytest.raises(ValueError, match="no float32"):
            ranking_query("t", "s", "y", bits=32, dialect=name)
    assert "CAST(CAST(score AS REAL) AS DOUBLE PRECISION)" in ranking_query("t", "s", "y", bits=32, dialect="postgres")
    for wrong, match in (({"dialect": "oracle"}, "dialect"), ({"bits": 16}, "bits"), ({"negative": 1}, "different")):
        with pytest.raises(ValueError, match=match):
            ranking_query("t", "s", "y", **wrong)
    with pytest.raises(ValueError, match="text or integers"):
        ranking_query("t", "s", "y", positive=True, negative=False, dialect="tsql")


def result_of(loans):
    return asked(ranking_query("loans", "pd", "bad", dialect="duckdb"), loans=loans)


class OnlyAStream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_results_come_in_any_form(loans):
    frame = result_of(loans)
    expected = read_ranking(frame)
    forms = [
        frame.rename(columns=str.upper),
        {name: frame[name].tolist() for name in frame},
        {name: [Decimal(str(value)) for value in frame[name]] for name in frame},
        pl.from_pandas(frame),
        pl.from_pandas(frame).to_arrow(),
        OnlyAStream(pl.from_pandas(frame)),
        frame.sample(frac=1, random_state=0)[frame.columns[::-1]],
    ]
    for form in forms:
        found = read_ranking(form)
        assert all(
            np.array_equal(getattr(found, n), getattr(expected, n)) for n in ("scores", "positives", "negatives")
        )
    with duckdb.connect() as connection:
        connection.register("loans", loans)
        relation = connection.sql(ranking_query("loans", "pd", "bad", dialect="duckdb"))
        assert np.array_equal(read_ranking(relation).scores, expected.scores)


def test_what_is_no_result_is_refused(loans):
    frame = result_of(loans)
    for wrong, error, match in (
        (frame.drop(columns="unusable"), ValueError, "result must have the columns"),
        (frame.assign(positives=-1), ValueError, "sums of 0 or more"),
        (frame.assign(positives=0.5), ValueError, "sums of 0 or more"),
        (frame.assign(positives="many"), ValueError, "must hold numbers"),
        (3, TypeError, "result must be a frame"),
    ):
        with pytest.raises(error, match=match):
            read_ranking(wrong)
    with pytest.raises(ValueError, match="missing must be"):
        read_ranking(frame, missing="drop")


# ---- a classifier from a ranking alone ----


def test_a_ranking_places_the_band_that_the_rows_place(loans, tmp_path):
    placing, test = loans[:4000], loans[4000:]
    single = {"dialect": "duckdb", "bits": 32}
    ranked = read_ranking(asked(ranking_query("loans", "pd", "bad", **single), loans=placing))
    clf = classifier_from_ranking(AUCross(ScoreColumn("pd"), coverage=0.8), ranked)
    in_memory = AUCross(ScoreColumn("pd"), coverage=0.8).fit(
        placing[["pd"]].astype(np.float32).astype(float), placing["bad"]
    )
    for coverage in (0.95, 0.8):
        single_scores = test[["pd"]].astype(np.float32).astype(float)
        np.testing.assert_array_equal(clf.select(test, coverage), in_memory.select(single_scores, coverage))
    # SQL decides where the rows are, JSON and a file keep the rule.
    decided = asked(f"SELECT {rule_to_sql(clf, 'pd')} AS decision FROM loans", loans=test)["decision"]
    np.testing.assert_array_equal(decided == "automatic", clf.select(test))
    assert rule_to_json(clf)
    path = tmp_path / "vendor.aucross"
    save(clf, path)
    np.testing.assert_array_equal(load(path).select(test), clf.select(test))
    # Evaluation and promise from a ranking of test rows, as from the rows.
    tested = read_ranking(asked(ranking_query("loans", "pd", "bad", bits=64), loans=test))
    from_rows = evaluate_selective(clf, test, test["bad"], [0.8], n_bootstrap=2)
    from_ranking = evaluate_ranking(tested, clf, [0.8])
    assert from_ranking.estimates["selective_auc"] == pytest.approx(from_rows.estimates["selective_auc"])
    assert from_ranking.estimates["selective_accuracy"] == pytest.approx(from_rows.estimates["selective_accuracy"])
    promised = [promise_ranking(tested, clf), promise_selective(clf, test, test["bad"])]
    assert promised[0].auc_at_least == pytest.approx(promised[1].auc_at_least)


def test_bins_of_20_bits_are_decided_whole(loans):
    ranked = read_ranking(asked(ranking_query("loans", "pd", "bad"), loans=loans))
    clf = classifier_from_ranking(PlugInAUC(ScoreColumn("pd"), coverage=0.8), ranked)
    binned = ScoreRounding(20).round(loans["pd"])
    selected = clf.select(loans)
    np.testing.assert_array_equal(clf.select(loans.assign(pd=binned)), selected)
    assert selected.mean() == pytest.approx(0.8, abs=1e-3)
    assert clf.fitted_.n_placing_rows == 6000


def test_bands_are_placed_anew_on_counts_without_labels(loans):
    ranked = read_ranking(asked(ranking_query("loans", "pd", "bad"), loans=loans[:3000]))
    clf = classifier_from_ranking(AUCross(ScoreColumn("pd"), coverage=0.8), ranked)
    new = loans[3000:].assign(pd=loans["pd"][3000:] ** 1.3)
    counted = read_ranking(asked(ranking_query("loans", "pd"), loans=new))
    again = clf.recalibrate(counted)
    np.testing.assert_array_equal(again.select(new), clf.recalibrate(new).select(new))
    assert again.select(new).mean() == pytest.approx(0.8, abs=1e-3)
    assert again.fitted_.n_placing_rows == 3000


def test_weights_count_in_the_coverage(loans):
    query = ranking_query("loans", "pd", "bad", weight="amount", dialect="duckdb")
    ranked = read_ranking(asked(query, loans=loans))
    clf = classifier_from_ranking(AUCross(ScoreColumn("pd"), coverage=0.8), ranked)
    selected = clf.select(loans)
    assert np.average(selected, weights=loans["amount"]) == pytest.approx(0.8, abs=2e-3)
    assert clf.held_out_.has_weights


def test_what_a_ranking_cannot_fit_is_refused(loans):
    ranked = RankedScores.from_labels(loans["bad"], loans["pd"])
    for clf, error, match in (
        (AUCross(LogisticRegression()), TypeError, "must be a ScoreColumn"),
        (AUCross(ScoreColumn("pd"), placement="centered"), ValueError, "blend halves"),
        (AUCross(ScoreColumn("pd", threshold=0.2)), ValueError, "the column as it is"),
        (AUCross(ScoreColumn("pd", higher_is_positive=False)), ValueError, "the column as it is"),
        (AUCross(ScoreColumn("pd"), ties="split"), ValueError, "ties"),
    ):
        with pytest.raises(error, match=match):
            classifier_from_ranking(clf, ranked)
    with pytest.raises(ValueError, match="two labels in sorted order"):
        classifier_from_ranking(AUCross(ScoreColumn("pd")), ranked, classes=[1, 0])
    sums = RankedScores.from_labels(loans["bad"], loans["pd"], loans["amount"], as_counts=True)
    with pytest.raises(ValueError, match="fractional weights"):
        classifier_from_ranking(AUCross(ScoreColumn("pd")), sums)
