"""Work at the desk, on both databases: what is next, who holds it, what was answered, the same over HTTP."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from aucross.desk import Rules, create_desk
from aucross.desk.people import open_cases
from aucross.desk.work import ANY, TakenError, Wanted, Work, group_key
from aucross.record.canonical import now
from tests.desk.conftest import Visitor, person_of


def test_a_case_is_answered_before_the_machine_is_shown_and_may_be_changed(enter, record):
    ann = enter()
    assert "cases wait" in ann.page.text
    ann.send("/next")
    case, blind = ann.path, ann.page.text
    number = int(case.removeprefix("/case/"))
    hidden = record.cases().to_pandas().set_index("case_number").loc[number]
    for name in ("score", "lower", "upper", "selection_score"):
        assert f"{hidden[name]:.4g}" not in blind
    assert "machine says" not in blind
    ann.send(f"{case}/answer", answer="1")
    assert f"the machine says {hidden['prediction']}" in ann.page.text
    assert "<svg" in ann.page.text
    ann.send(f"{case}/answer", answer="0", note="papers say otherwise")
    assert ann.path == "/"
    with record.reading() as connection:
        rows = connection.exec_driver_sql("SELECT answer, saw_machine, replaces FROM reviews ORDER BY number").all()
    assert [row[:2] for row in rows] == [("1", 0), ("0", 1)]
    assert rows[1][2] is not None
    shown = record.cases().to_pandas().set_index("case_number").loc[number]
    assert (shown["final_decision"], shown["final_by"], shown["reviewer"]) == ("0", "review", "Ann")
    assert record.verify().is_clean


def test_the_answer_that_was_undone_can_be_given_again(desk, record):
    work, ann = Work(desk, Rules()), person_of(desk, "Ann")
    number = work.next_case(ann)
    work.answer(number, ann, {"answer": "1"})
    work.undo(work.mine(ann)[0]["number"], ann)
    work.answer(number, ann, {"answer": "1"})
    assert record.cases().to_pandas().set_index("case_number").loc[number, "final_decision"] == "1"


def test_a_case_whose_answer_is_withdrawn_is_not_forgotten(desk):
    """Who sees the machine's answer and then cannot decide gives the case back to the queue."""
    work, ann, bob = Work(desk, Rules()), *(person_of(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    before = work.queue(bob)[0]
    work.answer(number, ann, {"answer": "1"})
    first = work.show(number, ann)["answer"]["number"]
    work.answer(number, ann, {"answer": "cannot decide", "replaces": first})
    assert work.queue(bob)[0] == before + 1
    work.claim(number, bob)


def test_undo_leaves_the_case_with_who_holds_it(desk):
    work, ann, bob = Work(desk, Rules(second_share=1.0)), *(person_of(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    work.answer(number, ann, {"answer": "1"})
    work.claim(number, bob)
    work.undo(work.mine(ann)[0]["number"], ann)
    work.answer(number, bob, {"answer": "0"})
    work.answer(number, ann, {"answer": "0"})
    assert work.queue(person_of(desk, "Cy"))[0] == work.queue(bob)[0]


def test_what_is_decided_or_erased_elsewhere_leaves_the_queue(desk, record):
    work, ann = Work(desk, Rules()), person_of(desk, "Ann")
    count, (first, second, *_) = work.queue(ann)
    record.add_reviews([{"id": first["id"], "reviewer": "Zoe", "answer": 1}])
    record.erase(second["id"])
    after, cases = work.queue(ann)
    assert after == count - 2
    assert not {first["case_number"], second["case_number"]} & {row["case_number"] for row in cases}
    assert Work(desk, Rules()).queue(ann)[0] == after  # and for a desk that starts later


@pytest.mark.parametrize(("amount", "needs_second"), [(0.0, True), (1e9, False)])
def test_an_override_of_a_large_amount_is_reviewed_twice(desk, record, amount, needs_second):
    work, ann, bob = Work(desk, Rules(large=("amount", amount))), *(person_of(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    prediction = record.cases().to_pandas().set_index("case_number").loc[number, "prediction"]
    work.answer(number, ann, {"answer": str(1 - int(prediction))})
    assert (work.next_case(bob) == number) is needs_second
    following = work.next_case(ann)
    prediction = record.cases().to_pandas().set_index("case_number").loc[following, "prediction"]
    work.answer(following, ann, {"answer": prediction})
    assert following not in {row["case_number"] for row in work.queue(bob)[1]}
    assert Rules(large=("other", 5.0)).is_large({"amount": 1})  # what cannot be read counts as large


def test_claims_of_someone_who_left_expire(desk, record):
    work, ann, bob = Work(desk, Rules()), *(person_of(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    with record.writing() as connection:
        connection.execute(update(open_cases).where(open_cases.c.case_number == number).values(claimed_until=now(-1)))
    assert work.next_case(bob) == number
    with pytest.raises(TakenError):
        work.answer(number, ann, {"answer": "1"})


def test_a_second_review_goes_to_somebody_else(desk, record):
    work, ann, bob = Work(desk, Rules(second_share=1.0)), *(person_of(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    work.answer(number, ann, {"answer": "1"})
    assert work.next_case(ann) != number
    assert work.next_case(bob) == number
    work.answer(number, bob, {"answer": "0"})
    cases = record.cases().to_pandas().set_index("case_number")
    assert cases.loc[number, "n_reviews"] == 2
    assert cases.loc[number, "reviews_differ"] == 1
    assert number not in [row["case_number"] for row in work.queue(person_of(desk, "Cy"))[1]]


def test_a_case_goes_to_the_queue_instead_of_to_a_colleague_who_has_answered_it(desk):
    work, ann, bob = Work(desk, Rules(second_share=1.0)), *(person_of(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    work.answer(number, ann, {"answer": "1"})
    work.claim(number, bob)
    work.give_back(number, bob, to="Ann")
    assert work.next_case(person_of(desk, "Cy")) == number
    with pytest.raises(ValueError, match="the due day must be written as 2026-12-24, got '2026-12-32'"):
        work.give_back(number, desk.named("Cy"), due="2026-12-32")


def test_people_who_take_cases_at_the_same_moment_get_different_ones(desk, record):
    """On PostgreSQL nobody waits for a person who is still taking a case; whoever is later passes over it."""
    work, ann, bob = Work(desk, Rules()), *(person_of(desk, name) for name in ("Ann", "Bob"))
    work.take_in()
    with record.noting() as connection:
        (first,) = work._in_order(connection, ann, ANY, 1, is_taken=True)
        if record.path is None:  # in SQLite only one takes a case at a time
            assert work.next_case(bob) != first["case_number"]
        work._claim(connection, first["case_number"], ann)
    assert work.next_case(person_of(desk, "Cy")) != first["case_number"]


def test_an_answer_waits_for_the_disk_after_claims_that_did_not(record):
    asked = "SHOW synchronous_commit" if record.path is None else "PRAGMA synchronous"
    for opened, expected in ((record.noting, {"on", 1}), (record.writing, {"on", 2})):
        with opened() as connection:
            assert connection.exec_driver_sql(asked).scalar() in expected


def test_fifty_people_at_once_get_each_case_once(desk, record):
    """Every open case is claimed and answered exactly once, whoever is faster."""
    work = Work(desk, Rules())
    people = [person_of(desk, f"P{number}") for number in range(50)]

    def works(person):
        done = []
        while (number := work.next_case(person)) is not None:
            work.answer(number, person, {"answer": "1"})
            done.append(number)
        return done

    with ThreadPoolExecutor(50) as pool:
        done = [number for numbers in pool.map(works, people) for number in numbers]
    waiting = record.cases().to_pandas().query("decision == 'review'")["case_number"]
    assert sorted(done) == sorted(waiting)
    assert record.verify().is_clean


def test_audits_stand_anywhere_in_the_queue(desk, audited):
    """Places of cases that the band would have decided are spread over the batch as those of others are."""
    Work(desk, Rules()).take_in()
    with desk.record.reading() as connection:
        rows = connection.execute(select(open_cases.c.case_number).order_by(open_cases.c.place)).scalars().all()
    order = [audited[number] for number in rows if number in audited]
    by_why = {why: [at / len(order) for at, its in enumerate(order) if its == why] for why in set(order)}
    # The mean of forty uniform numbers is within .2 of a half but for one time in a hundred thousand.
    assert all(abs(sum(places) / len(places) - 0.5) < 0.2 for places in by_why.values())
    assert all(min(places) < 0.25 and max(places) > 0.75 for places in by_why.values())


def test_each_look_is_kept_unless_the_team_says_otherwise(desk, record):
    ann = person_of(desk, "Ann")

    def looks():
        with record.reading() as connection:
            return connection.exec_driver_sql("SELECT name, saw_machine FROM desk_looks ORDER BY number").all()

    work = Work(desk, Rules())
    number = work.next_case(ann)
    work.show(number, ann)
    work.answer(number, ann, {"answer": "1"})
    work.show(number, ann)
    assert [tuple(row) for row in looks()] == [("Ann", 0), ("Ann", 1)]
    Work(desk, Rules(keeps_looks=False)).show(number, ann)
    assert len(looks()) == 2


def test_the_queue_is_filtered_by_batch_age_and_group(desk, enter):
    work, ann = Work(desk, Rules(by="region")), person_of(desk, "Ann")
    count, _ = work.queue(ann)
    north, cases = work.queue(ann, Wanted(group=group_key("North")))
    south, _ = work.queue(ann, Wanted(group=group_key("South")))
    assert 0 < north < count
    assert north + south == count
    assert all(int(row["id"].removeprefix("A-")) % 2 == 0 for row in cases)
    assert work.queue(ann, Wanted(group=group_key("West")))[0] == 0
    assert work.queue(ann, Wanted(batch="2026-01", days=0))[0] == count
    assert work.queue(ann, Wanted(batch="2025-12"))[0] == 0
    assert work.queue(ann, Wanted(days=1))[0] == 0
    visitor = enter(rules=Rules(by="region"))
    page = visitor.get(f"/?group={group_key('South')}")
    assert f"{south} cases wait" in page.text
    visitor.send("/next", group=group_key("South"))
    assert int(re.search(r"Case A-(\d+)", visitor.page.text)[1]) % 2 == 1


def test_an_unknown_group_lists_nothing_and_a_desk_without_groups_lists_all(desk, enter, clf, loans):
    kept = {"region": [None] * 100}
    desk.record.decide(clf, loans[0][1200:1300], batch="2026-02", ids=[f"N-{n}" for n in range(100)], keep=kept)
    work, bea = Work(desk, Rules()), person_of(desk, "Bea")
    assert Work(desk, Rules(by="region")).queue(bea, Wanted(group=group_key("West"))) == (0, [])
    assert work.queue(bea, Wanted(group="x")) == work.queue(bea)
    assert enter().get("/?group=x").status_code == 200


def test_the_queue_says_what_is_due_and_what_the_team_did_today(enter):
    ann, bob = enter("Ann", capacity=200), enter("Bob", capacity=200)
    for visitor in (ann, bob, ann):
        visitor.send("/next")
        visitor.send(f"{visitor.path}/answer", answer="1")
        visitor.get("/")
    ann.send("/next")
    ann.send(f"{ann.path}/give-back", due=now()[:10])
    assert "<strong>1 is due today.</strong>" in ann.page.text
    assert "The team has answered 3 of the 200 that it can take a day, 2 of them by you." in ann.page.text


def test_programs_take_and_answer_cases(desk):
    visitor = Visitor(create_desk(desk)).client
    bearer = {"Authorization": f"Bearer {desk.add_person('Ann', 'reviewer')}"}
    listed = visitor.get("/api/cases", headers=bearer).json()
    assert listed["count"] == len(listed["cases"]) or listed["count"] > 50
    case = visitor.post("/api/next", headers=bearer).json()["case"]
    assert "machine" not in case
    path = f"/api/cases/{case['number']}/answer"
    answered = visitor.post(path, headers=bearer, json={"answer": "1", "probability": 0.9}).json()["case"]
    assert answered["answer"]["answer"] == "1"
    assert answered["machine"]["prediction"] in {"0", "1"}
    assert answered["answer"]["probability"] == 0.9
    refused = visitor.post(path, headers=bearer, json={"answer": "maybe", "replaces": answered["answer"]["number"]})
    assert refused.status_code == 400
    assert "maybe" in json.dumps(refused.json())
    assert visitor.get("/api/cases", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert visitor.get("/api/cases").status_code == 401
    for days in ("inf", "1e300", "-1"):
        assert visitor.get(f"/api/cases?older_than_days={days}", headers=bearer).status_code == 400
    schema = visitor.get("/api/schema").json()
    assert set(schema["paths"]) == {"/api/cases", "/api/next", "/api/cases/{number}/answer"}
