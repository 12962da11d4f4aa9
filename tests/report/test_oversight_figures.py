"""Every figure of the oversight report, recomputed from the cases of a record with several months by other code."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "aucross[record]"')

from aucross import PlugInAUC
from aucross.record import Record, canonical
from aucross.report import build_oversight
from aucross.report.oversight import FEWEST_SHOWN, _shown_groups
from tests.record.conftest import server, source  # noqa: F401  (fixtures: where a record goes)

NOW = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)
N = 600
OPEN = ("cannot decide", "needs documents")


class Clock(dt.datetime):
    """A time that the test sets."""

    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    @classmethod
    def now(cls, tz=None):
        return cls.at


class Year:
    """A record of four months: without an audit, with one, by a capacity, and one whose outcomes are not in."""

    def __init__(self, opened):
        self.record, self.rng = opened, np.random.default_rng(0)
        X, y = make_classification(1000 + 4 * N, flip_y=0.25, weights=[0.6], random_state=1)
        self.X, self.y = pd.DataFrame(X, columns=[f"x{number}" for number in range(20)]), y
        self.models = [PlugInAUC(LogisticRegression(C=C), coverage=0.7).fit(self.X[:1000], y[:1000]) for C in (1, 0.01)]
        drawn = {"audit": 0.4, "strip": 0.2, "audit_key": bytes(range(32))}
        self.month(0, self.models[0], coverage=0.6)
        self.month(1, self.models[0], coverage=0.7, **drawn)
        opened.allow("The committee", "another model")
        self.month(2, self.models[1], capacity=150)
        self.month(3, self.models[1], coverage=0.8, outcomes=0.5, **drawn)

    def month(self, number, clf, outcomes=1.0, **options):
        Clock.at = dt.datetime(2026, 1 + number, 3, tzinfo=dt.UTC)
        rows, batch = slice(1000 + N * number, 1000 + N * (number + 1)), f"b{number}"
        ids = [f"{number}-{place}" for place in range(N)]
        truth = dict(zip(ids, self.y[rows].tolist(), strict=True))
        region = self.rng.choice(["north", "south", "west", "tiny"], N, p=[0.5, 0.3, 0.199, 0.001])
        known = {} if "capacity" in options else {case: str(truth[case]) for case in ids[:6]}
        options |= {"seeded": known} if known else {}
        self.record.decide(clf, self.X[rows], batch=batch, ids=ids, keep={"region": region}, **options)
        waiting, reviews = self.record.queue(batch).to_pandas()["id"].tolist(), []
        for place, case in enumerate(waiting[5:]):
            answer = truth[case] if self.rng.random() < 0.8 else 1 - truth[case]
            time = Clock.at + dt.timedelta(days=float(self.rng.exponential(12)))
            entry = {"id": case, "batch": batch, "reviewer": "ann" if place % 3 else "bob", "time": time.isoformat()}
            code = ["new facts", "known to us", None][place % 3]
            reviews.append(entry | {"answer": answer, "saw_machine": place % 2, "reason_code": code})
            if place % 11 == 0:
                reviews.append(entry | {"reviewer": "eve", "answer": truth[case], "saw_machine": place % 2})
            elif place % 23 == 0:
                reviews.append(entry | {"reviewer": "eve", "answer": "cannot decide"})
        Clock.at += dt.timedelta(days=20)
        self.record.add_reviews(reviews)
        told = [case for case in ids if case not in known and self.rng.random() < outcomes]
        self.record.add_outcomes([{"id": case, "batch": batch, "outcome": truth[case]} for case in told])


@pytest.fixture
def year(source, monkeypatch):  # noqa: F811
    monkeypatch.setattr(canonical, "datetime", Clock)
    with Record.open(source) as opened:
        opened.__dict__["record_id"] = "the record of this test"  # its name enters the draw
        made = Year(opened)
        made.found = build_oversight(
            opened, promised_auc=0.6, by=["region"], costs=(10.0, 1.0, 0.5), clf=made.models[1], now=NOW
        )
        cases = opened.cases().to_pandas()
        cases["month"] = cases["decided_at"].str[:7]
        cases["weight"] = 1.0 / cases["strip_probability"].fillna(1.0)
        is_automatic = cases["would_be"] == "automatic"
        cases.loc[is_automatic, "weight"] = 1.0 / cases.loc[is_automatic, "audit_probability"]
        made.cases = cases
        yield made


def near(row):
    return [pytest.approx(value, abs=1e-9) if isinstance(value, float | int) else value for value in row]


def whole(reviews):
    return reviews[~reviews["answer"].isin(OPEN)]


def rows_of(frame):
    return [[None if pd.isna(value) else value for value in row] for row in frame.to_numpy().tolist()]


def expected_tables(year):
    """Return every table of the report as rows, from the cases and from the tables of events."""
    cases = year.cases
    with year.record.reading() as connection:

        def read(sql):
            result = connection.exec_driver_sql(sql)
            return pd.DataFrame(result.fetchall(), columns=list(result.keys()))

        reviews, outcomes = read("SELECT * FROM reviews"), read("SELECT * FROM outcomes")
        decisions = read("SELECT * FROM decisions WHERE why = 'seeded'")
        names, allowed = read("SELECT * FROM batches ORDER BY number"), read("SELECT * FROM approvals")
    seen, done = cases["decision"] == "review", cases["final_by"] == "review"
    drawn, override = cases["audit_probability"].gt(0) & seen, cases["is_override"] == 1
    is_automatic, kept = cases["would_be"] == "automatic", pd.DataFrame(map(json.loads, cases["kept"]))["region"]
    told, counts = (
        {},
        cases.assign(
            automatic=~seen,
            for_review=seen,
            kept=is_automatic.astype(float),
            reviewed=seen & done,
            drawn=drawn,
            labelled=drawn & cases["outcome"].notna(),
            overridden=seen & override,
        ),
    )
    sums = counts.groupby("month")[
        ["automatic", "for_review", "reviewed", "audit_probability", "drawn", "labelled"]
    ].sum()
    table = pd.DataFrame({"cases": counts.groupby("month").size()}).join(sums[["automatic", "for_review"]])
    table["kept"], table["asked"] = counts.groupby("month")["kept"].mean(), counts.groupby("month")["coverage"].mean()
    table = table.join(sums[["reviewed", "audit_probability", "drawn", "labelled"]])
    told["months"] = table.assign(overrides=counts.groupby("month")["overridden"].sum()).reset_index()
    answered = cases[seen & done].assign(when=cases["reviewed_at"].str[:7], overridden=override)
    told["answers"] = answered.groupby("when")["overridden"].agg(["size", "sum"]).reset_index()
    why = cases[seen].assign(done=done).groupby("why")["done"].agg(["size", "sum"]).reset_index()
    told["why_reviewed"] = why.sort_values(["size", "why"], ascending=[False, True])
    hours = (pd.to_datetime(cases["reviewed_at"][done]) - pd.to_datetime(cases["decided_at"][done])).dt.total_seconds()
    told["time_to_review"] = pd.DataFrame([[len(hours), hours.mean() / 3600, hours.max() / 3600]])
    labelled = cases[
        (is_automatic & drawn | ~is_automatic & done) & cases["outcome"].notna() & (cases["month"] != "2026-04")
    ]
    used = labelled["final_decision"].where(labelled["would_be"] == "review", labelled["prediction"])
    parts, prices = [], []
    for side, part in labelled.assign(used=used).groupby("would_be"):
        right = [np.average(part[name] == part["outcome"], weights=part["weight"]) for name in ("prediction", "used")]
        parts.append([side, *right, len(part)])
        price = np.where(part["outcome"] == "1", 10.0, 1.0)
        wrong = [
            np.average((part[name] != part["outcome"]) * price, weights=part["weight"])
            for name in ("prediction", "used")
        ]
        prices.append([side, wrong[0], wrong[1] + 0.5 * (side == "review"), len(part)])
    told["right_answers"], told["costs"] = pd.DataFrame(parts), pd.DataFrame(prices)
    both = cases[done & cases["outcome"].notna()]
    both = both.assign(what=np.where(both["is_override"] == 1, "overridden", "upheld"))
    both = both.assign(machine=both["prediction"] == both["outcome"], person=both["final_decision"] == both["outcome"])
    told["upheld"] = (
        both.groupby("what").agg(n=("machine", "size"), m=("machine", "mean"), p=("person", "mean")).reset_index()
    )
    twice = cases[cases["n_reviews"] >= 2]
    told["second_reviews"] = pd.DataFrame([[len(twice), twice["reviews_differ"].sum()]])
    shown = whole(reviews)[whole(reviews)["saw_machine"].notna()].merge(
        cases, on="case_number", suffixes=("", "_of_case")
    )
    shown = shown.assign(
        agree=shown["answer"] == shown["prediction"], after=np.where(shown["saw_machine"] == 1, "after", "before")
    )
    shown = shown.groupby(["after", "would_be"])["agree"].agg(["size", "mean"]).reset_index()
    told["machine_shown"] = shown.sort_values(["after", "would_be"], ascending=[False, True])
    told["overrides"] = cases[done].groupby(["prediction", "final_decision"]).size().reset_index()
    reasons = cases[override]["reason_code"].fillna("none given").value_counts().rename_axis("reason").reset_index()
    told["reasons"] = reasons.sort_values(["count", "reason"], ascending=[False, True])
    told["reviewers"] = (
        cases[done].assign(o=override).groupby("reviewer")["o"].agg(["size", "sum", "mean"]).reset_index()
    )
    changes = names[names["name"].isin(["b0", "b1", "b2", "b3"])][
        ["time", "name", "model_fingerprint", "rule_fingerprint", "coverage", "capacity"]
    ]
    told["changes"] = changes.assign(who=[None, None, "The committee", None])
    told["approvals"] = allowed[["time", "who", "what"]]
    told["contradictions"] = pd.DataFrame([[0, 0]])
    within = cases.assign(
        below=np.where(cases["lower"].isna(), np.nan, cases["selection_score"] < cases["lower"]),
        above=np.where(cases["upper"].isna(), np.nan, cases["selection_score"] > cases["upper"]),
        none=cases["score"].isna(),
        odd=cases["why"] == "unfamiliar",
    )
    told["drift"] = (
        within.groupby("month")
        .agg(
            n=("score", "size"),
            mean=("score", "mean"),
            below=("below", "mean"),
            above=("above", "mean"),
            none=("none", "mean"),
            odd=("odd", "mean"),
        )
        .reset_index()
    )
    strip = cases[cases["strip_probability"].notna() & cases["outcome"].notna()]
    by_people = (strip["decision"] == "review") & (strip["why"] != "audit")
    used = strip["final_decision"].where(strip["why"] != "audit", strip["prediction"])
    strip = strip.assign(side=np.where(by_people, "people", "machine"), wrong=used != strip["outcome"])[used.notna()]
    told["strip"] = strip.groupby("side")["wrong"].agg(["size", "mean"]).reset_index()
    blind = whole(reviews)[
        (whole(reviews)["saw_machine"] != 1) & whole(reviews)["case_number"].isin(decisions["number"])
    ]
    last = blind.sort_values("number").groupby("case_number")["answer"].last()
    truth = outcomes.set_index("case_number")["outcome"].loc[last.index]
    found = pd.DataFrame({"known": truth, "found": last == truth}).groupby("known")["found"]
    told["seeded"] = found.agg(["size", "sum", "mean"]).reset_index()
    own = cases.assign(region=kept, auto=~seen | (cases["why"] == "audit"), over=override)
    own["judged"] = (own["final_decision"] == own["outcome"]).where(
        own["outcome"].notna() & own["final_decision"].notna()
    )
    groups = own.groupby("region").agg(
        n=("auto", "size"),
        auto=("auto", "mean"),
        over=("over", "mean"),
        judged=("judged", "count"),
        right=("judged", lambda told: told.dropna().astype(float).mean()),
    )
    assert 0 < groups["n"]["tiny"] < FEWEST_SHOWN
    told["by region"] = groups.drop(index=["tiny", "west"]).reset_index()
    return told


def test_every_table_equals_independent_code(year):
    found = {table["name"]: table for table in year.found["tables"]}
    expected = expected_tables(year)
    assert set(found) == {*expected, "label_free"}  # which is an estimate with a test of its own
    for name, frame in expected.items():
        for row, other in zip(found[name]["rows"], rows_of(frame), strict=True):
            assert row == near(other), name


def test_every_table_is_what_its_sql_gives(year):
    with year.record.reading() as connection:
        for table in year.found["tables"]:
            rows, shown = [list(row) for row in connection.exec_driver_sql(table["sql"]).all()], table["rows"]
            if table["name"] == "label_free":
                rows = [[month, sum(row[0] == month for row in rows)] for month in sorted({row[0] for row in rows})]
                shown = [row[:2] for row in shown]
            if table["name"] == "by region":
                rows = [row for row in rows if row[0] in {told[0] for told in shown}]
            for row, told in zip(rows, shown, strict=True):
                numbers = [float(value) if isinstance(value, Decimal) else value for value in row]
                assert numbers == near(told), table["name"]


def test_every_sentence_has_sql_that_gives_its_figures(year):
    found, cases = year.found, year.cases
    answers = {name: told for name, told in found.items() if isinstance(told, dict)}
    gives = {}
    with year.record.reading() as connection:
        for name, told in answers.items():
            if "sql" in told:
                gives[name] = connection.exec_driver_sql(told["sql"]).mappings().all()
    # The others speak of what these and the tables say, and of the chain of hashes.
    assert set(answers) - set(gives) == {"promise", "treatment", "risks", "integrity"}
    for name, value in gives["decided"][0].items():
        assert float(value) == pytest.approx(found["decided"][name], abs=1e-9)
    assert float(gives["audit"][0]["auc"]) == pytest.approx(found["audit"]["auc"], abs=1e-9)
    assert float(gives["effect"][0]["effect"]) == pytest.approx(found["effect"]["effect"], abs=1e-9)
    ranked = [float(gives["ranking"][0][name]) for name in ("machine_alone", "with_review")]
    assert ranked == pytest.approx([found["ranking"][name]["auc"] for name in ("before", "after")], abs=1e-9)
    assert float(gives["drift"][0]["distance"]) == pytest.approx(found["drift"]["distance"], abs=1e-9)
    z = stats.norm.isf(found["trend"]["p_value"] / 2)
    assert float(gives["trend"][0]["z_squared"]) == pytest.approx(z**2, rel=1e-9)
    answered = cases[(cases["decision"] == "review") & (cases["final_by"] == "review")]
    share = (answered["is_override"] == 1).mean()
    assert float(gives["trend"][0]["share"]) == pytest.approx(share, abs=1e-9)
    assert found["trend"]["sentence"].startswith(f"{share:.1%} of answers are overrides")
    wrong = {row["answered_by"]: float(row["wrong_answers"]) for row in gives["strip"]}
    if "effect" in found["strip"]:
        assert wrong["machine"] - wrong["people"] == pytest.approx(found["strip"]["effect"], abs=1e-9)


def test_months_whose_audited_cases_lack_outcomes_are_left_out_and_named(year):
    """In every month that runs, the last cases have no outcome yet: they must not silence those before."""
    found, cases = year.found, year.cases
    assert found["audit"]["sentence"].endswith("still missing: 2026-04.")
    own = cases[(cases["month"] == "2026-02") & cases["audit_probability"].gt(0) & (cases["decision"] == "review")]
    assert found["audit"]["n_labels"] == len(own)
    assert len(set(cases["month"])) == 4
    auc = roc_auc_score(own["outcome"] == "1", own["score"], sample_weight=1 / own["audit_probability"])
    assert found["audit"]["auc"] == pytest.approx(auc, abs=1e-9)
    # Where no audit stands for the automatic cases, or outcomes are late, the AUC of all cases is not that of the rest.
    part = cases[(cases["month"] == "2026-02") & cases["outcome"].notna()]
    part = part[
        (part["would_be"] == "automatic") & (part["decision"] == "review")
        | (part["would_be"] == "review") & (part["final_by"] == "review")
    ]
    auc = roc_auc_score(part["outcome"] == "1", part["score"], sample_weight=part["weight"])
    assert found["ranking"]["before"]["auc"] == pytest.approx(auc, abs=1e-9)


def test_headline_and_first_answers_are_the_cases(year):
    found, cases = year.found, year.cases
    asked = cases["coverage"].notna()
    kept = (cases.loc[asked, "would_be"] == "automatic").mean()
    tiles = found["headline"]
    assert tiles[1]["note"] == f"{kept:.1%} before audits and the like, {cases['coverage'].mean():.1%} asked for"
    assert [tile["value"] for tile in tiles] == [
        len(cases),
        pytest.approx((cases["decision"] == "automatic").mean(), abs=1e-9),
        pytest.approx(found["audit"]["auc"], abs=1e-9),
        pytest.approx((cases[cases["decision"] == "review"]["final_by"] == "review").mean(), abs=1e-9),
    ]
    automatic = (cases["decision"] == "automatic").mean()
    assert found["decided"]["sentence"].startswith(f"The machine decided {automatic:.1%} of {len(cases):,} cases alone")
    assert found["decided"]["sentence"].endswith(
        "In force since 2026-04-03: a coverage of 80%, allowed by nobody on record."
    )
    assert found["promise"]["sentence"].startswith("An AUC of 0.600 of the automatic decisions. The promise is ")


# ---- small groups ----


def follows(cells, sizes, shown):
    """Return the cells, pairs of cells and groups of few cases that up to three shown sets give, tried one by one."""
    total = np.ones(len(sizes))
    told = [total, *((column == value) * 1.0 for column, own in zip(cells, shown, strict=True) for value in own)]
    found = []
    for number in (1, 2, 3):
        for sets in combinations(told, number):
            for signs in np.ndindex(*[2] * number):
                left = sum(one * (1 - 2 * sign) for one, sign in zip(sets, signs, strict=True))
                if not set(left) <= {0.0, 1.0} or not 0 < left @ sizes < FEWEST_SHOWN:
                    continue
                is_group = any((left == (column == column[left > 0][0])).all() for column in cells)
                if number < 3 or left.sum() <= 2 or is_group:
                    found.append(left)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_few_cases_follow_from_groups_of_several_columns(seed):
    rng = np.random.default_rng(seed)
    n_cells = int(rng.integers(2, 9))
    sizes = rng.choice([1, 3, 8, 12, 20, 40, 90], n_cells)
    cells = [rng.choice(list("abcd"), n_cells).astype(object) for _ in range(int(rng.integers(1, 4)))]
    cells = [np.array([f"{value}{place}" for value in column], dtype=object) for place, column in enumerate(cells)]
    every = np.array(["".join(map(str, cell)) for cell in zip(*cells, strict=True)])
    _, first = np.unique(every, return_index=True)  # a combination occurs once
    cells, sizes = [column[first] for column in cells], sizes[first]
    shown = _shown_groups(cells, sizes)
    if sizes.sum() >= FEWEST_SHOWN:
        assert not follows(cells, sizes, shown)


def test_a_column_that_is_coarser_does_not_tell_of_a_small_group():
    """Region t has three cases and is hidden with B; the coarser column would give B, and so t, by difference."""
    region, coarse = np.array(["A", "B", "t"], dtype=object), np.array(["A or t", "B", "A or t"], dtype=object)
    sizes = np.array([50, 40, 3])
    assert _shown_groups([region], sizes) == [{"A"}]
    assert follows([region, coarse], sizes, [{"A"}, {"A or t", "B"}])
    shown = _shown_groups([region, coarse], sizes)
    assert not follows([region, coarse], sizes, shown)
    assert shown != [set(), set()]


def test_right_answers_from_few_outcomes_are_hidden_so_that_they_do_not_follow():
    column, sizes = np.array(list("abcd"), dtype=object), np.array([50, 40, 30, 60])
    assert _shown_groups([column], sizes) == [set("abcd")]
    assert _shown_groups([column], np.array([30, 20, 4, 40]), [set("abcd")]) == [set("ad")]
    assert _shown_groups([column], np.array([30, 20, 40, 40]), [set("abd")]) == [set("ad")]
    assert _shown_groups([column], np.array([0, 0, 0, 0]), [set("abcd")]) == [set("abcd")]


@pytest.mark.parametrize("seed", range(20))
def test_independent_columns_lose_no_large_group(seed):
    rng = np.random.default_rng(seed)
    cells = [np.repeat(np.array(["f", "m"], dtype=object), 4), np.tile(np.array(list("abcd"), dtype=object), 2)]
    assert _shown_groups(cells, rng.integers(20, 90, 8)) == [{"f", "m"}, set("abcd")]
