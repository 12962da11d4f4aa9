"""The oversight report: each figure equals independent code, and no group can be computed by difference."""

from __future__ import annotations

import datetime as dt
import json
from math import erfc, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "aucross[record]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "aucross[report]"')

from aucross import PlugInAUC, audited_auc
from aucross.audit.audit_draw import AuditDraw
from aucross.record import Record
from aucross.report import build_oversight, render_oversight, write_oversight
from tests.record.conftest import server, source  # noqa: F401  (fixtures: where a record goes)
from tests.reference import obvious_auc_interval

NOW = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def record(source):  # noqa: F811
    """Three batches of two models, reviewed in part, with outcomes."""
    X, y = make_classification(2600, flip_y=0.25, random_state=0)
    rng = np.random.default_rng(0)
    models = [PlugInAUC(LogisticRegression(C=c), coverage=0.75).fit(X[:1000], y[:1000]) for c in (1.0, 0.01)]
    with Record.open(source) as opened:
        for number, clf in enumerate((models[0], models[0], models[1])):
            rows = slice(1000 + 500 * number, 1500 + 500 * number)
            ids = [f"{number}-{place}" for place in range(500)]
            if number == 2:
                opened.allow("The committee", "another model at 80%")
            region = ["tiny"] * 3 + list(rng.choice(["north", "south", "it's west"], 497))
            opened.decide(
                clf, X[rows], batch=f"b{number}", ids=ids, coverage=0.75 if number < 2 else 0.8, keep={"region": region}
            )
            waiting = opened.queue(f"b{number}").to_pandas()["id"]
            truth = dict(zip(ids, y[rows], strict=True))
            for person in ("ann", "bob"):
                chosen = [case for case in waiting if rng.random() < 0.6]
                answers = [int(truth[case] if rng.random() < 0.8 else 1 - truth[case]) for case in chosen]
                opened.add_reviews(
                    [
                        {
                            "id": case,
                            "batch": f"b{number}",
                            "reviewer": person,
                            "answer": answer,
                            "reason_code": person * 2,
                            "saw_machine": place % 2,
                        }
                        for place, (case, answer) in enumerate(zip(chosen, answers, strict=True))
                    ]
                )
            opened.add_outcomes(
                [{"id": case, "batch": f"b{number}", "outcome": int(truth[case])} for case in ids if rng.random() < 0.7]
            )
        yield opened


@pytest.fixture
def found(record):
    return build_oversight(record, promised_auc=0.8, by=["region"], now=NOW)


@pytest.fixture
def cases(record):
    return record.cases().to_pandas()


def table(found, name):
    told = next(each for each in found["tables"] if each["name"] == name)
    return pd.DataFrame(told["rows"], columns=told["columns"])


def test_months_and_headline(found, cases):
    told = table(found, "months")
    assert told["cases"].sum() == len(cases) == found["headline"][0]["value"]
    assert told["automatic"].sum() == (cases["decision"] == "automatic").sum()
    assert (told["automatic"] + told["for_review"]).tolist() == told["cases"].tolist()
    by_month = cases.groupby(cases["decided_at"].str[:7])
    assert told["coverage_kept"].tolist() == pytest.approx(
        by_month["would_be"].apply(lambda said: (said == "automatic").mean()), abs=1e-9
    )
    assert told["coverage_asked"].tolist() == pytest.approx(by_month["coverage"].mean(), abs=1e-9)
    assert told["overrides"].sum() == cases["is_override"].sum()
    assert found["headline"][1]["value"] == pytest.approx((cases["decision"] == "automatic").mean(), abs=1e-9)
    assert found["headline"][1]["note"].startswith(f"{(cases['would_be'] == 'automatic').mean():.1%} before audits")
    reviewed = cases.query("decision == 'review'")
    assert found["headline"][3]["value"] == pytest.approx((reviewed["final_by"] == "review").mean(), abs=1e-9)


def test_overrides_reasons_and_reviewers(found, cases):
    answered = cases[(cases["final_by"] == "review") & cases["prediction"].notna()]
    counted = answered.groupby(["prediction", "final_decision"]).size()
    told = table(found, "overrides").set_index(["machine", "person"])["cases"]
    assert told.to_dict() == counted.to_dict()
    told = table(found, "reviewers").set_index("reviewer")
    assert told["answered"].to_dict() == answered.groupby("reviewer").size().to_dict()
    assert told["share"].to_dict() == pytest.approx(
        answered.groupby("reviewer")["is_override"].mean().to_dict(), abs=1e-9
    )
    told = table(found, "reasons").set_index("reason")["overrides"]
    assert told.to_dict() == answered.query("is_override == 1").groupby("reason_code").size().to_dict()


def test_right_answers_of_both_sides(found, cases):
    known = cases[(cases["final_by"] == "review") & cases["outcome"].notna() & cases["prediction"].notna()]
    told = table(found, "upheld").set_index("cases_that_were")
    for name, value in (("overridden", 1), ("upheld", 0)):
        part = known[known["is_override"] == value]
        assert told.loc[name, "with_outcome"] == len(part)
        assert told.loc[name, "machine_right"] == pytest.approx(
            (part["prediction"] == part["outcome"]).mean(), abs=1e-9
        )
        assert told.loc[name, "person_right"] == pytest.approx(
            (part["final_decision"] == part["outcome"]).mean(), abs=1e-9
        )
    told = table(found, "right_answers").set_index("the_band_says")
    assert told.loc["review", "machine_alone"] == pytest.approx(
        (known["prediction"] == known["outcome"]).mean(), abs=1e-9
    )
    assert told.loc["review", "with_review"] == pytest.approx(
        (known["final_decision"] == known["outcome"]).mean(), abs=1e-9
    )
    gain = (known["final_decision"] == known["outcome"]).mean() - (known["prediction"] == known["outcome"]).mean()
    assert found["effect"]["effect"] == pytest.approx(gain, abs=1e-9)
    assert found["effect"]["n_reviewed"] == len(known)


def test_audited_cases_count_by_one_over_their_probability(source):  # noqa: F811
    X, y = make_classification(2600, flip_y=0.25, random_state=0)
    clf = PlugInAUC(LogisticRegression(), coverage=0.75).fit(X[:1000], y[:1000])
    ids = [str(place) for place in range(1600)]
    with Record.open(source) as opened:
        opened.__dict__["record_id"] = "the record of this test"  # its name enters the draw
        opened.decide(clf, X[1000:], batch="b", ids=ids, audit=0.2, audit_key=bytes(range(32)))
        opened.add_outcomes(
            [{"id": case, "batch": "b", "outcome": int(value)} for case, value in zip(ids, y[1000:], strict=True)]
        )
        told = table(build_oversight(opened, now=NOW), "right_answers").set_index("the_band_says").loc["automatic"]
        audited = opened.cases().to_pandas().query("why == 'audit'")
    right = audited["prediction"] == audited["outcome"]
    share = np.average(right, weights=1.0 / audited["audit_probability"])
    assert abs(share - right.mean()) > 1e-4  # unweighted it is another number
    assert told["machine_alone"] == pytest.approx(share, abs=1e-9)
    assert told["labelled_cases"] == len(audited)


def test_second_reviews_and_whether_people_follow_the_machine(found, cases, record):
    twice = cases[cases["n_reviews"] >= 2]
    told = table(found, "second_reviews").iloc[0]
    assert told["reviewed_twice"] == len(twice) > 0
    assert told["differ"] == twice["reviews_differ"].sum()
    with record.reading() as connection:
        rows = connection.exec_driver_sql("SELECT case_number, answer, saw_machine FROM reviews").all()
    reviews = pd.DataFrame(rows, columns=["case_number", "answer", "saw_machine"]).merge(
        cases[["case_number", "prediction"]]
    )
    agree = (reviews["answer"] == reviews["prediction"]).groupby(reviews["saw_machine"]).mean()
    told = table(found, "machine_shown").set_index("answered")["agree"]
    assert told["before"] == pytest.approx(agree[0], abs=1e-9)
    assert told["after"] == pytest.approx(agree[1], abs=1e-9)


def test_changes_of_model_rule_and_coverage(found):
    told = table(found, "changes")
    assert told["batch"].tolist() == ["b0", "b2"]
    assert told["allowed_by"].fillna("nobody").tolist() == ["nobody", "The committee"]
    assert table(found, "approvals")[["who", "what"]].to_numpy().tolist() == [["The committee", "another model at 80%"]]
    assert told["model"].nunique() == 2
    assert told["coverage"].tolist() == [0.75, 0.8]


def test_small_groups_cannot_be_computed_by_difference(found, cases):
    told = table(found, "by region").set_index("value")
    region = cases["kept"].apply(lambda text: json.loads(text)["region"])
    assert region.value_counts()["tiny"] == 9
    assert "tiny" not in told.index
    assert len(told) == 2  # the next smallest is hidden with it
    for name, row in told.iterrows():
        part = cases[region == name]
        assert row["cases"] == len(part)
        was_let_through = (part["decision"] == "automatic") | (part["why"] == "audit")
        assert row["automatic_or_audited"] == pytest.approx(was_let_through.mean(), abs=1e-9)
        both = part[part["outcome"].notna() & part["final_decision"].notna()]
        assert row["right_answers"] == pytest.approx((both["final_decision"] == both["outcome"]).mean(), abs=1e-9)


def test_trend_is_the_test_of_cochran_and_armitage():
    from aucross.report.oversight import _trend  # noqa: PLC0415

    columns = ["month", "reviewed", "overrides"]
    reviewed, overrides = np.array([40, 50, 60, 55]), np.array([4, 8, 14, 16])
    rows = [[str(month), int(n), int(k)] for month, (n, k) in enumerate(zip(reviewed, overrides, strict=True))]
    told = _trend({"columns": columns, "rows": rows})
    y = np.concatenate([[1] * k + [0] * (n - k) for n, k in zip(reviewed, overrides, strict=True)])
    month = np.repeat(np.arange(4), reviewed)
    z = np.corrcoef(month, y)[0, 1] * sqrt(len(y))
    assert told["p_value"] == pytest.approx(erfc(abs(z) / sqrt(2)), rel=1e-9)
    assert "become more" in told["sentence"]


def test_agreement_is_told_inside_and_outside_the_band(audited):
    """Audited cases are outside the band, so people answer on both sides of its edges."""
    with audited.reading() as connection:
        rows = connection.exec_driver_sql("SELECT case_number, answer, saw_machine FROM reviews").all()
    reviews = pd.DataFrame(rows, columns=["case_number", "answer", "saw_machine"])
    cases = audited.cases().to_pandas()[["case_number", "prediction", "would_be"]]
    both = reviews.merge(cases)
    expected = (both["answer"] == both["prediction"]).groupby([both["saw_machine"], both["would_be"]]).mean()
    told = table(build_oversight(audited, now=NOW), "machine_shown").set_index(["answered", "the_band_says"])["agree"]
    assert len(told) == 4
    for (saw, side), share in expected.items():
        assert told["after" if saw else "before", side] == pytest.approx(share, abs=1e-9)


@pytest.fixture
def audited(source):  # noqa: F811
    """One frame in two batches with audits and a strip, all outcomes known, people right in nine of ten cases."""
    X, y = make_classification(3600, flip_y=0.25, random_state=0)
    X = pd.DataFrame(X, columns=[f"x{number}" for number in range(20)])
    clf = PlugInAUC(LogisticRegression(), coverage=0.75).fit(X[:1000], y[:1000])
    rng = np.random.default_rng(1)
    with Record.open(source) as opened:
        opened.__dict__["record_id"] = "the record of this test"  # its name enters the draw
        opened.clf = clf
        for number in range(2):
            rows = slice(1000 + 1300 * number, 2300 + 1300 * number)
            ids = [f"{number}-{place}" for place in range(1300)]
            drawn = {"audit": 0.3, "strip": 0.2, "audit_key": bytes(range(32))}
            known = {ids[5]: str(y[rows][5]), ids[6]: str(1 - y[rows][6])}
            opened.decide(clf, X[rows], batch=f"b{number}", ids=ids, seeded=known, **drawn)
            truth = dict(zip(ids, y[rows].tolist(), strict=True))
            waiting = opened.queue(f"b{number}").to_pandas()["id"]
            answers = [truth[case] if rng.random() < 0.9 else 1 - truth[case] for case in waiting]
            answered = zip(waiting, answers, rng.integers(0, 2, len(answers)).tolist(), strict=True)
            opened.add_reviews(
                [
                    {"id": case, "batch": f"b{number}", "reviewer": "ann", "answer": answer, "saw_machine": saw}
                    for case, answer, saw in answered
                ]
            )
            opened.add_outcomes(
                [
                    {"id": case, "batch": f"b{number}", "outcome": value}
                    for case, value in truth.items()
                    if case not in known
                ]
            )
        yield opened


def test_the_audit_stands_beside_promise_and_validation(audited):
    whole = build_oversight(audited, promised_auc=0.7, validated_auc=(0.88, 0.01), now=NOW)
    found, promise = whole["audit"], whole["promise"]
    cases = audited.cases().to_pandas().query("audit_probability.notna()")
    label = (cases["outcome"] == "1").astype(float).where(cases["decision"] == "review")
    alone = audited_auc(cases["score"], label, cases["audit_probability"])
    assert [found[name] for name in ("auc", "low", "high")] == pytest.approx(
        [alone.auc, alone.low, alone.high], abs=1e-9
    )
    # Weighted pairs of a positive and a negative case, one by one.
    known = cases[label.notna()]
    weight, positive = 1 / known["audit_probability"].to_numpy(), (known["outcome"] == "1").to_numpy()
    score, pairs = known["score"].to_numpy(), np.outer(weight[positive], weight[~positive])
    above = np.subtract.outer(score[positive], score[~positive])
    assert found["auc"] == pytest.approx((pairs * ((above > 0) + 0.5 * (above == 0))).sum() / pairs.sum(), abs=1e-9)
    assert found["change"]["change"] == pytest.approx(found["auc"] - 0.88, abs=1e-9)
    assert found["change"]["low"] < found["change"]["change"] < found["change"]["high"]
    # The end towards the validation tells how many standard errors the change is away from none.
    change, normal = found["change"]["change"], stats.norm.ppf(0.975)
    assert change < 0
    reach = sqrt((found["high"] - found["auc"]) ** 2 + (normal * 0.01) ** 2)
    assert found["change"]["p_value"] == pytest.approx(2 * stats.norm.sf(normal * -change / reach), abs=1e-9)
    assert promise["sentence"].startswith("An AUC of 0.700 of the automatic decisions. The promise is kept.")
    assert (promise["is_kept"], promise["promised"]) == (True, 0.7)
    assert '<p class="verdict ok"><strong>What is promised?' in render_oversight(whole)
    broken = build_oversight(audited, promised_auc=0.999, now=NOW)
    assert broken["promise"]["is_kept"] is False
    assert "The promised AUC is broken." in broken["risks"]["sentence"]
    assert '<p class="verdict alarm"><strong>What is promised?' in render_oversight(broken)


def test_strip_costs_seeded_cases_and_the_estimate_without_labels(audited):
    record = audited
    found = build_oversight(record, costs=(10.0, 1.0, 0.5), clf=record.clf, now=NOW)
    cases = record.cases().to_pandas()
    # The strip: cases that an audit took after the strip left them to the machine are the machine's.
    strip = cases[cases["strip_probability"].notna()]
    by_people = (strip["decision"] == "review") & (strip["why"] != "audit")
    used = strip["final_decision"].where(strip["why"] != "audit", strip["prediction"])
    wrong = (used != strip["outcome"]).groupby(by_people).mean()
    told = table(found, "strip").set_index("answered_by")
    assert told["wrong_answers"].to_dict() == pytest.approx({"machine": wrong[False], "people": wrong[True]}, abs=1e-9)
    assert found["strip"]["effect"] == pytest.approx(wrong[False] - wrong[True], abs=1e-9)
    # The interval of Agresti and Caffo: one right and one wrong answer are added to each side.
    counts = by_people.value_counts()
    shares = {side: (wrong[side] * counts[side] + 1) / (counts[side] + 2) for side in (True, False)}
    spread = sqrt(sum(shares[side] * (1 - shares[side]) / (counts[side] + 2) for side in shares))
    reach = stats.t.ppf(0.975, counts.min() - 1) * spread
    assert found["strip"]["low"] == pytest.approx(shares[False] - shares[True] - reach, abs=1e-9)
    # Costs: labelled cases, each weighted by what it stands for.
    told = table(found, "costs").set_index("the_band_says")
    for side in ("automatic", "review"):
        part = cases[(cases["would_be"] == side) & (cases["decision"] == "review")]
        weight = 1 / part["audit_probability" if side == "automatic" else "strip_probability"].fillna(1.0)
        price = np.where(part["outcome"] == "1", 10.0, 1.0)
        machine = np.average((part["prediction"] != part["outcome"]) * price, weights=weight)
        people = np.average((part["final_decision"] != part["outcome"]) * price, weights=weight) + 0.5
        assert told.loc[side, "cost_of_machine"] == pytest.approx(machine, abs=1e-9)
        assert told.loc[side, "cost_with_review"] == pytest.approx(machine if side == "automatic" else people, abs=1e-9)
    # Without labels: pairs of automatic cases, each positive with the probability of held-out rows of its score.
    score = cases.loc[cases["would_be"] == "automatic", "score"].to_numpy()
    held_out = record.clf.held_out_
    level = IsotonicRegression().fit_transform(held_out.responses, held_out.labels)
    centres = pd.Series(held_out.responses).groupby(np.round(level, 12)).mean()
    eta = np.interp(score, centres.to_numpy(), centres.index.to_numpy())
    pairs = np.outer(eta, 1 - eta)
    auc = (pairs * ((score[:, None] > score) + 0.5 * (score[:, None] == score))).sum() / pairs.sum()
    assert table(found, "label_free")["expected_auc"].tolist() == pytest.approx([auc], abs=1e-9)
    # Seeded cases are in no other figure.
    assert table(found, "seeded")["cases"].sum() == 4
    assert len(cases) == 2596
    assert (
        table(found, "months")["audits_drawn"].sum()
        == (cases["audit_probability"].notna() & (cases["decision"] == "review")).sum()
    )


def test_drift_is_the_test_of_kolmogorov_and_smirnov():
    from aucross.report.oversight import _drift  # noqa: PLC0415

    rng = np.random.default_rng(0)
    before, last = rng.normal(size=300), rng.normal(0.3, size=200)
    told = _drift({"month": ["2026-01"] * 300 + ["2026-02"] * 200, "score": [*before, *last]})
    distance = stats.ks_2samp(last, before).statistic
    where = distance * sqrt(300 * 200 / 500)
    p_value = 2 * sum((-1) ** (k - 1) * np.exp(-2 * (k * where) ** 2) for k in range(1, 50))
    assert told["distance"] == pytest.approx(distance, abs=1e-9)
    assert told["p_value"] == pytest.approx(p_value, abs=1e-9)
    assert "have drifted" in told["sentence"]
    assert "Too few months" in _drift({"month": ["2026-01"], "score": [0.5]})["sentence"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A record in which every automatic case was audited and every outcome is known, so that no case is weighted."""
    X, y = make_classification(1900, flip_y=0.25, weights=[0.7], random_state=2)
    clf = PlugInAUC(LogisticRegression(), coverage=0.75).fit(X[:1000], y[:1000])
    truth = dict(zip(map(str, range(900)), y[1000:].tolist(), strict=True))
    rng = np.random.default_rng(3)
    with Record.open(tmp_path_factory.mktemp("whole") / "cases.db") as opened:
        region = ["north" if value > 0 else "south" for value in X[1000:, 0]]
        drawn = {"audit": 1.0, "audit_key": bytes(range(32)), "keep": {"region": region}}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AuditDraw, "probability", lambda _, rows: np.ones(len(rows)))
            opened.decide(clf, X[1000:], batch="b", ids=list(truth), **drawn)
        answers = {case: value if rng.random() < 0.85 else 1 - value for case, value in truth.items()}
        waits = opened.cases().to_pandas().query("would_be == 'review'")["id"].tolist()[5:]
        months = ["2026-11-30T12:00:00Z", "2026-12-01T12:00:00Z"]
        opened.add_reviews(
            [
                {"id": case, "reviewer": "ann", "answer": answers[case], "time": months[place % 3 == 0]}
                for place, case in enumerate(waits)
            ]
        )
        opened.add_outcomes([{"id": case, "outcome": value} for case, value in truth.items()])
        yield build_oversight(opened, validated_auc=(0.8, 0.01), by=["region"], now=NOW), opened.cases().to_pandas()


def test_intervals_of_the_audit_and_of_its_change_are_those_of_obvious_code(whole):
    found, cases = whole
    own = cases[cases["would_be"] == "automatic"]
    y, score = (own["outcome"] == "1").to_numpy(), own["score"].to_numpy()
    low, high = obvious_auc_interval(y, score, 0.025)
    audit = found["audit"]
    assert (audit["auc"], audit["low"], audit["high"]) == pytest.approx((roc_auc_score(y, score), low, high), abs=1e-9)
    reach = 1.959963984540054 * 0.01
    ends = (-sqrt((audit["auc"] - low) ** 2 + reach**2), sqrt((high - audit["auc"]) ** 2 + reach**2))
    change = audit["change"]
    assert (change["low"], change["high"]) == pytest.approx([audit["auc"] - 0.8 + end for end in ends], abs=1e-9)
    # The end towards the validation tells how many standard errors the change is away from none.
    standard_error = abs(ends[change["change"] < 0]) / 1.959963984540054
    p_value = erfc(abs(audit["auc"] - 0.8) / standard_error / sqrt(2))
    assert change["p_value"] == pytest.approx(p_value, abs=1e-9)
    assert f"(p = {p_value:.2g})" in found["promise"]["sentence"]
    assert "outcomes (" in audit["sentence"]


def test_the_auc_before_and_after_review(whole):
    found, cases = whole
    own = cases[(cases["would_be"] == "automatic") | (cases["final_by"] == "review")]
    y, before = (own["outcome"] == "1").to_numpy(), own["score"].to_numpy()
    said = np.where(own["final_decision"] == "1", 9.0, -9.0)
    after = np.where(own["would_be"] == "review", said, before)
    for name, score in (("before", before), ("after", after)):
        expected = (roc_auc_score(y, score), *obvious_auc_interval(y, score, 0.025))
        assert tuple(found["ranking"][name].values()) == pytest.approx(expected, abs=1e-9)
    assert found["ranking"]["after"]["auc"] > found["ranking"]["before"]["auc"] + 0.01


def test_the_sql_of_the_ranking_gives_both_numbers(audited):
    told = build_oversight(audited, now=NOW)["ranking"]
    with audited.reading() as connection:
        (row,) = connection.exec_driver_sql(told["sql"]).all()
    assert tuple(row) == pytest.approx((told["before"]["auc"], told["after"]["auc"]), abs=1e-9)


def test_the_effect_of_review_has_the_interval_of_agresti_and_min(whole):
    found, cases = whole
    own = cases.query("final_by == 'review'")
    machine, people = own["prediction"] != own["outcome"], own["final_decision"] != own["outcome"]
    gain = np.r_[machine.to_numpy(float) - people.to_numpy(float)]
    # Half a case of each of the four outcomes, as whole cases of half the weight.
    values, weight = np.r_[gain, 1, -1, 0, 0], np.r_[np.ones(len(gain)), np.full(4, 0.5)]
    centre, size = np.average(values, weights=weight), weight.sum()
    spread = sqrt(weight @ (values - centre) ** 2 / (size - 1) / size)
    reach = stats.t.ppf(0.975, size - 1) * spread
    effect = found["effect"]
    assert (effect["effect"], effect["low"], effect["high"]) == pytest.approx(
        (gain.mean(), centre - reach, centre + reach), abs=1e-9
    )


def test_a_drift_beyond_doubt_is_bad_although_its_chance_is_zero(found):
    from aucross.report.oversight_page import _shown  # noqa: PLC0415

    drift = {**found["drift"], "p_value": 0.0, "sentence": "Scores have drifted."}
    kinds = {answer["sentence"]: answer["kind"] for answer in _shown({**found, "drift": drift})["answers"]}
    assert kinds["Scores have drifted."] == "verdict alarm"


def test_who_is_treated_differently_is_told_with_intervals(whole):
    found, cases = whole
    region = cases["kept"].apply(lambda text: json.loads(text)["region"])
    automatic = ((cases["decision"] == "automatic") | (cases["why"] == "audit")).groupby(region)
    ends = found["treatment"]["ends"]["region"]
    assert [end[1] for end in ends] == sorted(automatic.mean())
    for name, share, *interval in ends:
        told = stats.binomtest(int(automatic.sum()[name]), int(automatic.size()[name]))
        assert share == pytest.approx(automatic.mean()[name], abs=1e-9)
        assert interval == pytest.approx(
            tuple(told.proportion_ci(1 - 0.05 / automatic.ngroups, method="wilson")), abs=1e-9
        )


def test_what_can_go_wrong_is_said_in_figures_and_months_are_told_apart(whole):
    found, cases = whole
    own = cases.query("would_be == 'automatic'")
    wrong = 1000 * (own["prediction"] != own["outcome"]).mean()
    said = found["risks"]["sentence"]
    assert f"About {wrong:.0f} of 1,000 automatic answers are wrong, and nobody looks at them" in said
    waits = (cases["decision"] == "review").sum() - (cases["final_by"] == "review").sum()
    assert f"{waits:,} cases for review still wait for a person." in said
    told = table(found, "answers").set_index("month_of_the_answer")["answers"]
    assert told.to_dict() == cases["reviewed_at"].dropna().str[:7].value_counts().to_dict()
    assert set(told.index) == {"2026-11", "2026-12"}
    page = render_oversight(found)
    for question in ("What can go wrong?", "Who is treated differently?", "In which month did people answer"):
        assert question in page


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ((50, 40, 3), [50]),
        ((50, 40, 3, 4), [50]),
        ((50, 40, 3, 3, 3), [50]),
        ((50, 6, 5), [50]),
        ((9, 8), []),
        ((3,), []),
        ((50, 40), [50, 40]),
        ((50, 9, 9, 3, 3, 3, 3), [50]),
    ],
)
def test_hidden_groups_are_two_or_more_and_no_few_cases(sizes, shown):
    from aucross.report.oversight import _shown_groups  # noqa: PLC0415

    names = np.array([str(place) for place in range(len(sizes))], dtype=object)
    (told,) = _shown_groups([names], np.array(sizes))
    assert [size for name, size in zip(names, sizes, strict=True) if name in told] == shown


def test_without_audits_nothing_is_claimed(found):
    assert found["audit"].get("auc") is None
    assert "nothing is known" in found["audit"]["sentence"]
    assert found["headline"][2]["value"] is None
    assert found["integrity"]["is_clean"]


def test_people_can_be_left_out(record):
    names = {each["name"] for each in build_oversight(record, hide_people=True)["tables"]}
    assert not names & {"reviewers", "machine_shown", "time_to_review"}
    assert "months" in names


def test_page_markdown_and_json(found, tmp_path):
    page = write_oversight(found, tmp_path / "o.html").read_text()
    assert page == render_oversight(found).rstrip() + "\n"
    assert "How good are the decisions that nobody looked at?" in page
    assert "it&#39;s west" in page or "it's west" not in page
    assert "<script" not in page
    assert json.loads(write_oversight(found, tmp_path / "o.json").read_text()) == found
    text = write_oversight(found, tmp_path / "o.md").read_text()
    assert text.startswith("# Oversight of automatic decisions")
    assert "```sql" in text
    with pytest.raises(ValueError, match="must end in"):
        write_oversight(found, tmp_path / "o.pdf")


def test_an_empty_record_has_a_report(tmp_path):
    with Record.open(tmp_path / "cases.db") as record:
        found = build_oversight(record, promised_auc=0.8, validated_auc=(0.8, 0.01), by=["region"])
    assert found["headline"][0]["value"] == 0
    assert "Nothing so far" in render_oversight(found)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(0.01, 0.2, "verdict ok"), (-0.2, -0.01, "verdict alarm"), (-0.1, 0.1, "note"), (None, None, "note")],
)
def test_only_a_review_that_helps_is_green(low, high, kind):
    from aucross.report.oversight_page import _kind_of_effect  # noqa: PLC0415

    assert _kind_of_effect({"low": low, "high": high}) == kind
