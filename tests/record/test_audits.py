"""Audits in the record: drawn by a key, blind for reviewers, and seeded cases apart from every figure."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.audit import LabelledPeriod, audited_auc, next_coverage
from aucross.record import Record
from aucross.record.transfer import SHOWN, WITH_ANSWER, blinded
from aucross.record.watching import watch

KEY = bytes(range(32))
IDS = [f"A-{row}" for row in range(1000)]


@pytest.fixture
def record(record):
    """A record whose name, which enters the draw, does not change from run to run."""
    record.__dict__["record_id"] = "the record of these tests"
    return record


def decide(record, clf, rows, batch="2026-10", **options):
    options = {"audit": 0.2, "audit_key": KEY, **options}
    return record.decide(clf, rows[0], batch=batch, ids=IDS, **options)


def answered(record, rows, reviewer="R"):
    """Reviewers give the true class of every case that waits."""
    waiting = record.queue().to_pydict()
    truth = dict(zip(IDS, rows[1].astype(str), strict=True))
    answers = [
        {"id": name, "batch": batch, "reviewer": reviewer, "answer": truth[name]}
        for name, batch in zip(waiting["id"], waiting["batch"], strict=True)
    ]
    record.add_reviews(answers)


def test_drawn_cases_would_be_automatic_go_to_review_and_have_their_probability_in_the_record(record, clf, rows):
    decided = decide(record, clf, rows)
    expected = clf.decide(rows[0])
    cases = record.cases().to_pydict()
    audited = np.array(cases["why"], dtype=object) == "audit"
    assert 100 < audited.sum() < 230
    assert (np.array(cases["would_be"])[audited] == "automatic").all()
    assert (np.array(cases["decision"])[audited] == "review").all()
    assert cases["would_be"] == expected.decision.tolist()
    probability = np.array(cases["audit_probability"], dtype=float)
    assert (np.isnan(probability) == ~expected.selected).all()
    assert probability[expected.selected].mean() == pytest.approx(0.2, rel=0.05)
    assert (decided.selected == (expected.selected & ~audited)).all()
    assert record.batches()[0]["n_would_be_automatic"] == expected.selected.sum()
    assert record.verify().is_clean


def test_a_draw_is_the_same_again_and_another_with_another_key_record_or_batch(record, clf, rows, tmp_path):
    first = decide(record, clf, rows)
    again = decide(record, clf, rows)
    assert not again.is_new
    assert again.columns["why"] == first.columns["why"]
    others = [decide(record, clf, rows, batch="2026-11"), decide(record, clf, rows, batch="c", audit_key=KEY[::-1])]
    with Record.open(tmp_path / "other.db") as other:
        others.append(decide(other, clf, rows))
    assert all(other.columns["why"] != first.columns["why"] for other in others)
    np.testing.assert_array_equal(others[0].columns["audit_probability"], first.columns["audit_probability"])


@pytest.mark.parametrize("other", [{"audit": 0.1}, {"audit": None}, {"seeded": {"A-1": "1"}}])
def test_a_batch_is_not_decided_again_with_another_audit(record, clf, rows, other):
    decide(record, clf, rows)
    with pytest.raises(ValueError, match=r"was decided with (audit|seeded)"):
        decide(record, clf, rows, **other)


def test_the_key_comes_from_a_file_that_the_environment_names(record, clf, rows, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"an audit needs a secret key.*AUCROSS_AUDIT_KEY_FILE"):
        decide(record, clf, rows, audit_key=None)
    assert record.batches() == []
    key_file = tmp_path / "key"
    key_file.write_bytes(KEY + b"\n")
    monkeypatch.setenv("AUCROSS_AUDIT_KEY_FILE", str(key_file))
    by_file = decide(record, clf, rows, audit_key=None)
    assert by_file.columns["why"] == decide(record, clf, rows).columns["why"]
    key_file.write_bytes(b"short")
    with pytest.raises(ValueError, match=r"AUCROSS_AUDIT_KEY_FILE.*at least 16 bytes"):
        decide(record, clf, rows, batch="b", audit_key=None)


def test_the_key_is_not_in_the_database(clf, rows, tmp_path):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert KEY not in content
    assert KEY.hex().encode() not in content


@pytest.mark.parametrize("asked", [{}, {"capacity": 200}])
def test_the_queue_tells_nothing_of_which_cases_are_audits(record, clf, rows, asked):
    decide(record, clf, rows, **asked)
    queue = record.queue()
    assert set(queue.column_names) == {"batch", "id", "case_number", "decided_at", "kept", "answer"}
    why = dict(zip(*record.cases().select(["id", "why"]).to_pydict().values(), strict=True))
    is_audit = np.array([why[name] == "audit" for name in queue.to_pydict()["id"]])
    places = np.flatnonzero(is_audit) / len(is_audit)
    assert is_audit.sum() > 50
    assert places.mean() == pytest.approx(0.5, abs=0.1)
    assert record.queue().equals(queue)


def test_a_capacity_keeps_its_order_among_cases_that_are_no_audits(record, clf, rows):
    decide(record, clf, rows, capacity=50)
    rank = dict(zip(*record.cases().select(["id", "rank"]).to_pydict().values(), strict=True))
    ranks = [rank[name] for name in record.queue().to_pydict()["id"]]
    assert [place for place in ranks if place is not None] == list(range(50))


def test_a_blind_export_hides_what_the_machine_said_until_the_answer_is_given(record, clf, rows, tmp_path):
    decide(record, clf, rows)
    record.export(tmp_path / "blind.parquet", blind=True)
    table = pq.read_table(tmp_path / "blind.parquet")
    waits = np.array(table.column("decision").to_pylist()) == "review"
    for name in set(table.column_names) - set(SHOWN):
        values = np.array([value is not None for value in table.column(name).to_pylist()])
        assert not values[waits].any()
    assert all(score is not None for score in np.array(table.column("score").to_pylist(), dtype=object)[~waits])
    answered(record, rows)
    record.export(tmp_path / "later.parquet", blind=True)
    assert pq.read_table(tmp_path / "later.parquet").column("score").null_count == 0


def test_reviewers_do_not_see_a_column_that_nobody_has_allowed(record, clf, rows):
    decide(record, clf, rows)
    answered(record, rows)
    table = record.cases().append_column("hunch", [["audit"] * len(IDS)])
    waits = np.array(table.column("decision").to_pylist()) == "review"
    told = np.array(blinded(table).column("hunch").to_pylist(), dtype=object)
    assert all(value is None for value in told[waits])
    assert (told[~waits] == "audit").all()


def test_the_auc_comes_from_audited_cases_alone(record, clf, rows):
    decide(record, clf, rows)
    assert "no audited case has a label yet" in record.audited_auc().sentence
    answered(record, rows)
    record.add_outcomes([{"id": name, "outcome": "1", "batch": "2026-10"} for name in IDS])
    cases = record.cases().to_pandas()
    own = cases[cases["audit_probability"].notna()]
    label = np.where(own["why"] == "audit", own["answer"] == "1", np.nan)
    expected = audited_auc(own["score"], label.astype(float), own["audit_probability"])
    assert expected.is_known
    assert record.audited_auc() == expected
    with_opinion = record.audited_auc(clf=clf, confidence_level=0.9)
    assert with_opinion.opinion_share > 0
    assert "all labels are 1" in record.audited_auc("outcomes").sentence


def test_a_verdict_counts_that_was_given_before_the_machines_answer_was_seen(record, clf, rows):
    decide(record, clf, rows)
    answered(record, rows)
    first = record.audited_auc()
    reviews = record.cases().to_pandas().query("why == 'audit'")[["id", "review_number", "answer"]].to_dict("records")
    later = [{"id": row["id"], "reviewer": "S", "answer": "cannot decide"} for row in reviews[:30]]
    # What is said after the machine's answer, in place of the verdict or beside it, is no verdict; an undone one stays.
    later += [
        {"id": row["id"], "reviewer": "R", "answer": answer, "saw_machine": 1, "replaces": row["review_number"]}
        for row in reviews[30:60]
        for answer in ["0" if row["answer"] == "1" else "1"]
    ]
    record.add_reviews(later)
    assert record.audited_auc() == first
    assert "verdicts of people who are not known to have seen the machine's answer (" in first.sentence
    # A correction by somebody who has not seen it takes the place of the verdict.
    other = {"id": reviews[70]["id"], "reviewer": "R", "answer": "1" if reviews[70]["answer"] == "0" else "0"}
    record.add_reviews([{**other, "replaces": reviews[70]["review_number"]}])
    assert abs(record.audited_auc().n_positive - first.n_positive) == 1


def test_the_sentence_says_what_labels_are_and_of_whom(record, clf, rows):
    decide(record, clf, rows)
    answered(record, rows)
    outcomes = [{"id": name, "outcome": str(value)} for name, value in zip(IDS, rows[1], strict=True)]
    record.add_outcomes(outcomes, batch="2026-10")
    of_batch = record.audited_auc("outcomes", batch="2026-10").sentence
    assert of_batch.startswith("The AUC of the automatic decisions of batch 2026-10 is ")
    assert " outcomes (" in of_batch
    # Declined applicants have no outcome: the AUC is that of those whom the machine accepts.
    accepted = record.audited_auc("outcomes", answer="0")
    own = record.cases().to_pandas().query("audit_probability.notna() and prediction == '0'")
    label = (own["outcome"] == "1").where(own["why"] == "audit").astype(float)
    assert accepted == audited_auc(own["score"], label, own["audit_probability"])
    assert "automatic decisions for '0'" in accepted.sentence
    verdicts = record.audited_auc(sensitivity=0.9, specificity=0.95, population="loans").sentence
    assert "answer that find 90% of positives and 95% of negatives (" in verdicts
    assert "the loans" in verdicts


def test_a_second_model_can_be_asked(record, clf, rows):
    decide(record, clf, rows)
    answered(record, rows)
    eta = dict(zip(IDS, 0.1 + 0.8 * rows[1], strict=True))  # knows more than the score
    own = record.cases().to_pandas().query("audit_probability.notna()")
    label = (own["answer"] == "1").where(own["why"] == "audit").astype(float)
    found = record.audited_auc(eta=eta)
    assert found == audited_auc(own["score"], label, own["audit_probability"], own["id"].map(eta))
    assert found.standard_error < record.audited_auc(clf=clf).standard_error
    record.erase(own["id"].iloc[0])
    assert record.audited_auc(eta=eta).auc == pytest.approx(found.auc, abs=1e-3)
    with pytest.raises(ValueError, match=r"eta must hold a probability of every automatic case, got none of 'A-"):
        record.audited_auc(eta={"A-1": 0.5})


def test_a_record_without_audits_says_what_to_pass(record, clf, rows):
    decide(record, clf, rows, audit=None)
    with pytest.raises(ValueError, match=r"pass audit=0\.02"):
        record.audited_auc()
    with pytest.raises(ValueError, match="labels must be 'reviews' or 'outcomes'"):
        record.audited_auc("answers")


def test_seeded_cases_enter_no_figure_but_the_detection_rate(record, clf, rows, tmp_path):
    seeded = dict.fromkeys(IDS[:30], "1") | dict.fromkeys(IDS[30:50], "0")
    decided = decide(record, clf, rows, seeded=seeded)
    assert set(decided.columns["why"][:50]) == {"seeded"}
    assert not decided.selected[:50].any()
    assert set(IDS[:50]) <= set(record.queue().to_pydict()["id"])
    assert not set(IDS[:50]) & set(record.cases().to_pydict()["id"])
    record.export(tmp_path / "cases.csv")
    assert "A-7," not in (tmp_path / "cases.csv").read_text(encoding="utf-8")
    would_be = clf.select(rows[0])
    assert record.batches()[0]["n_would_be_automatic"] == would_be[50:].sum()
    assert record.batches()[0]["n_rows"] == 950
    facts = json.loads((tmp_path / "cases.csv.json").read_text(encoding="utf-8"))
    assert (facts["rows"], facts["batches"][0]["n_rows"]) == (950, 950)
    _, share, labels = watch(record, clf)
    assert share.run_n == 950
    assert labels is None
    found = [{"id": name, "reviewer": "R", "answer": "1" if at < 27 else "0"} for at, name in enumerate(IDS[:45])]
    record.add_reviews(found)
    sensitivity, specificity = record.detection_rate()
    assert (sensitivity.rate, sensitivity.n_answered) == (0.9, 30)
    assert (specificity.rate, specificity.n_answered) == (1.0, 15)
    assert record.verify().is_clean


def test_reviewers_cannot_tell_a_seeded_case_from_another(record, clf, rows, tmp_path):
    """Whoever has the queue, blind exports and their own answers: no id is missing, and no column differs."""
    seeded = dict.fromkeys(IDS[:40], "1")
    decide(record, clf, rows, seeded=seeded)
    queue = set(record.queue().to_pydict()["id"])

    def blind():
        record.export(tmp_path / "blind.parquet", blind=True)
        assert json.loads((tmp_path / "blind.parquet.json").read_text())["batches"][0]["n_rows"] == len(IDS)
        return pq.read_table(tmp_path / "blind.parquet").to_pandas().query("decision == 'review'").set_index("id")

    before = blind()
    assert set(before.index) == queue
    told = before.drop(columns=["case_number", "kept"]).astype(object).where(before.notna(), None)
    assert (told.nunique(dropna=False) == 1).all()  # nothing at all tells cases apart
    answered(record, rows)
    after = blind()
    never = ["why", "reason", "contributions", "audit_probability", "strip_probability", "n_outcomes", "outcome"]
    assert after[never].isna().all().all()
    assert set(never) <= set(after) - {*SHOWN, *WITH_ANSWER}
    assert after["score"].notna().all()
    is_seeded = after.index.isin(seeded)
    for name in set(after.columns) - {"case_number", "kept"}:
        assert set(after.loc[is_seeded, name].isna()) <= set(after.loc[~is_seeded, name].isna()), name
    assert set(record.cases().to_pydict()["id"]) == set(IDS[40:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeded": {"B-1": "1"}}, "seeded must name ids of the batch, got 'B-1'"),
        ({"seeded": {"A-1": "good"}}, "seeded must hold the right class"),
        ({"seeded": {"A-1": "1"}, "capacity": 5}, "seeded must be None with a capacity"),
        ({"audit": 2}, "audit must be in"),
    ],
)
def test_what_cannot_be_audited_or_seeded_is_refused_and_nothing_is_recorded(record, clf, rows, options, message):
    with pytest.raises(ValueError, match=message):
        decide(record, clf, rows, **options)
    assert record.batches() == []


def test_a_shadow_is_not_audited(record, clf, rows):
    shadow = AUCross(LogisticRegression(C=0.01), coverage=0.7, random_state=0).fit(*rows)
    decide(record, clf, rows, shadow=shadow)
    (compared,) = record.compare_shadow()
    assert compared["automatic"] == clf.select(rows[0]).sum()
    assert compared["shadow_automatic"] == shadow.select(rows[0]).sum()


@pytest.fixture(scope="module")
def frame(rows):
    X = pd.DataFrame(rows[0], columns=[f"x{number}" for number in range(rows[0].shape[1])])
    return X, AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, rows[1])


def test_the_strip_sends_cases_at_the_edges_to_either_side(record, frame, rows):
    X, clf = frame
    X = X.copy()
    narrow, wide = (clf.decide(X, coverage).selected for coverage in (0.7, 0.9))
    is_near = wide & ~narrow
    strange = np.flatnonzero(is_near & ~clf.decide(X).selected)[:5]
    X.loc[strange, "x0"] = 40.0  # unlike the fit
    narrow, wide = (clf.decide(X, coverage).selected for coverage in (0.7, 0.9))
    decided = record.decide(clf, X, batch="b", ids=IDS, strip=0.2, audit=0.1, audit_key=KEY, unfamiliar="review")
    cases = record.cases().to_pandas()
    in_strip = cases["strip_probability"].notna().to_numpy()
    assert set(cases["strip_probability"].dropna()) == {0.5}
    expected = wide & ~narrow
    expected[strange] = False
    assert (in_strip == expected).all()
    assert in_strip.sum() > 120
    # Outside of the strip the band decides, inside it a coin; what the band says is kept.
    assert (cases["would_be"] == clf.decide(X).decision).all()
    changed = (cases["why"] == "strip").to_numpy()
    assert (changed <= in_strip).all()
    assert 0.35 < (changed | (cases["why"] == "audit").to_numpy())[in_strip].mean() < 0.65
    to_machine = changed & (cases["would_be"] == "review").to_numpy()
    to_person = changed & (cases["would_be"] == "automatic").to_numpy()
    assert decided.selected[to_machine].all()
    assert not decided.selected[to_person].any()
    assert min(to_machine.sum(), to_person.sum()) > 25
    assert not decided.selected[strange].any()
    # Audits are of what the band decides: a person sees a case of the strip by either draw.
    both = (cases["would_be"] == "automatic").to_numpy() & in_strip
    assert (cases["audit_probability"][both] >= 0.5).all()
    assert (cases["audit_probability"].isna() == (cases["would_be"] == "review") | (cases["why"] == "unfamiliar")).all()
    assert record.verify().is_clean
    assert not record.decide(
        clf, X, batch="b", ids=IDS, strip=0.2, audit=0.1, audit_key=KEY, unfamiliar="review"
    ).is_new
    with pytest.raises(ValueError, match="was decided with strip"):
        record.decide(clf, X, batch="b", ids=IDS, strip=0.1, audit=0.1, audit_key=KEY, unfamiliar="review")


def test_the_effect_of_review_is_read_from_the_strip(record, frame, rows):
    X, clf = frame
    record.decide(clf, X, batch="b", ids=IDS, strip=0.4, audit=0.3, audit_key=KEY)
    answered(record, rows)  # people are always right
    assert not record.strip_effect().is_known
    outcomes = [{"id": name, "outcome": str(value)} for name, value in zip(IDS, rows[1], strict=True)]
    record.add_outcomes(outcomes[:500], batch="b")
    record.add_outcomes(outcomes[500:], batch="b")
    cases = record.cases().to_pandas().query("strip_probability.notna()")
    by_person = (cases["decision"] == "review") & (cases["why"] != "audit")
    wrong_machine = (cases["prediction"] != cases["outcome"])[~by_person].mean()
    found = record.strip_effect()
    assert found.effect == pytest.approx(wrong_machine, abs=1e-12)
    assert found.with_review == 0
    assert (found.n_reviewed, found.n_automatic) == (by_person.sum(), (~by_person).sum())
    assert found.low > 0


def test_sides_of_a_strip_that_are_known_unlike_tell_nothing(record, frame, rows):
    X, clf = frame
    record.decide(clf, X, batch="b", ids=IDS, strip=0.6, audit_key=KEY)
    record.add_outcomes([{"id": name, "outcome": "1"} for name in IDS], batch="b")
    with pytest.raises(ValueError, match="known alike on both sides"):
        record.strip_effect()  # nobody has answered yet


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 100}, "got 0.2 with a capacity"),
        ({"coverage": 1.0}, "got 0.2 with coverage 1"),
        ({"strip": 1.7}, "strip must be in"),
        ({"audit_key": None}, "secret key"),
    ],
)
def test_a_strip_that_cannot_be_drawn_is_refused(record, frame, options, message):
    X, clf = frame
    with pytest.raises(ValueError, match=message):
        record.decide(clf, X, batch="b", ids=IDS, **{"strip": 0.2, "audit_key": KEY, **options})
    assert not record.batches()


def test_a_strip_needs_names_of_columns(record, clf, rows):
    with pytest.raises(ValueError, match="strip needs a frame"):
        record.decide(clf, rows[0], batch="b", ids=IDS, strip=0.2, audit_key=KEY)


# ---- automation that is earned ----


@pytest.fixture(scope="module")
def stream():
    """A classifier, and months of cases whose answers it ranks well."""
    X, y = make_classification(14_000, n_features=6, class_sep=1.2, flip_y=0.02, random_state=3)
    X = pd.DataFrame(X, columns=[f"x{number}" for number in range(6)])
    clf = AUCross(LogisticRegression(), coverage=0.5, random_state=0).fit(X[:2000], y[:2000])
    return clf, [(X[at : at + 3000], y[at : at + 3000]) for at in range(2000, 14_000, 3000)]


def month_of(record, clf, month, batch, coverage=0.5, share=1.0, **options):
    X, y = month
    ids = [f"{batch}-{row}" for row in range(len(y))]
    decided = record.decide(clf, X, batch=batch, ids=ids, coverage=coverage, audit=0.2, audit_key=KEY, **options)
    told = {name: int(value) for name, value in zip(ids, y, strict=True)}
    waits = [name for name, is_automatic in zip(ids, decided.selected, strict=True) if not is_automatic]
    waits = waits[: int(share * len(waits))]
    record.add_outcomes([{"id": name, "outcome": told[name]} for name in waits], batch=batch)
    return told


def test_the_record_earns_a_wider_coverage(record, stream):
    clf, months = stream
    truth = [month_of(record, clf, month, f"m{n}") for n, month in enumerate(months[:2])]
    # The same from the view alone: labels of the band, and of audits by their probability.
    cases, periods = record.cases().to_pandas(), []
    for batch, own in cases.groupby("batch"):
        automatic = own["would_be"] == "automatic"
        chance = own["audit_probability"].where(automatic, 1.0)
        outcome = own["id"].map(truth[int(batch[1:])]).where(own["decision"] == "review")
        place = own["selection_score"].to_numpy()
        bands = [clf.band(coverage) for coverage in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
        selected = np.column_stack([(place < band.lower) | (place > band.upper) for band in bands])
        periods.append(LabelledPeriod(own["score"], outcome, chance, selected))
    expected = next_coverage(periods, auc=0.9, present=0.5)
    found = record.next_coverage(clf, auc=0.9)
    assert found == expected
    assert found.sentence.startswith("Widen from 50% to 60% automatic")
    assert record.next_coverage(clf, auc=0.9, period="month").steps[-1].n_blocks == 1


def test_periods_whose_outcomes_are_not_complete_earn_nothing_yet(record, stream):
    clf, months = stream
    month_of(record, clf, months[0], "m0", share=0.6)
    found = record.next_coverage(clf, auc=0.9)
    assert found.coverage == 0.5
    assert found.sentence.endswith("too few labels so far to judge 60%. Outcomes of 1 period are not complete yet.")
    month_of(record, clf, months[1], "m1", strip=0.1)
    assert record.next_coverage(clf, auc=0.9).steps[-1].n_blocks == 1


def test_batches_of_other_models_and_without_audit_earn_nothing(record, stream):
    clf, months = stream
    other = AUCross(LogisticRegression(C=0.001), coverage=0.5, random_state=0).fit(*months[3])
    month_of(record, clf, months[0], "m0")
    with pytest.raises(ValueError, match="none of this model"):
        record.next_coverage(other, auc=0.9)
    record.decide(clf, months[1][0], batch="m1", ids=range(3000), coverage=0.6)
    found = record.next_coverage(clf, auc=0.9)
    assert (found.present, found.steps[0].n_blocks, found.n_open) == (0.6, 1, 0)
    with pytest.raises(ValueError, match="period must be"):
        record.next_coverage(clf, auc=0.9, period="week")
