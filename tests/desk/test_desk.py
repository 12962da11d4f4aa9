"""The desk: who may enter, what is shown before and after an answer, who holds a case."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from aucross.desk import Desk, Proxy, Rules, Work, create_desk
from aucross.desk.people import now, open_cases
from aucross.desk.work import TakenError
from tests.desk.conftest import Visitor


def test_a_case_is_answered_before_the_machine_is_shown_and_may_be_changed(enter, record):
    ann = enter()
    assert "cases wait" in ann.page.text
    ann.send("/next")
    case, blind = ann.path, ann.page.text
    number = int(case.removeprefix("/case/"))
    hidden = record.cases().to_pandas().set_index("case_number").loc[number]
    for name in ("score", "lower", "upper", "selection_score"):
        assert f"{hidden[name]:.4g}" not in blind
    assert "machine" not in blind
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


def test_cannot_decide_shows_nothing_of_the_machine_and_sends_the_case_to_the_end(enter):
    ann = enter()
    ann.send("/next")
    case = ann.path
    ann.send(f"{case}/answer", answer="needs documents")
    assert ann.path == "/"
    ann.send("/next")
    assert ann.path != case
    assert "machine" not in ann.page.text


def test_undo_is_an_event_and_opens_the_case_again(enter, record):
    ann = enter()
    ann.send("/next")
    case = ann.path
    ann.send(f"{case}/answer", answer="1")
    ann.send(f"{case}/answer", answer="1")
    ann.get("/mine")
    review = re.search(r"/mine/(\d+)/undo", ann.page.text)[1]
    ann.send(f"/mine/{review}/undo")
    assert ann.path == case
    assert "the machine says" in ann.page.text.lower()  # it was seen, and cannot be unseen
    ann.send(f"{case}/answer", answer="0")
    cases = record.cases().to_pandas().set_index("case_number")
    assert cases.loc[int(case.removeprefix("/case/")), "final_decision"] == "0"
    with record.reading() as connection:
        saw = connection.exec_driver_sql("SELECT saw_machine FROM reviews ORDER BY number").scalars().all()
    assert saw == [0, 1, 1, 1]


def test_two_people_never_get_the_same_case(enter):
    ann, bob = enter("Ann"), enter("Bob")
    ann.send("/next")
    bob.send("/next")
    assert ann.path != bob.path
    mine = ann.path
    bob.get(mine)
    assert bob.page.status_code == 409
    bob.get("/")
    bob.send(f"{mine}/open")
    assert bob.page.status_code == 409
    bob.get("/")
    bob.send(f"{mine}/answer", answer="1")
    assert bob.page.status_code == 409


def test_claims_of_someone_who_left_expire(desk, record):
    work, ann, bob = Work(desk, Rules()), *(_person(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    with record.writing() as connection:
        connection.execute(update(open_cases).where(open_cases.c.case_number == number).values(claimed_until=now(-1)))
    assert work.next_case(bob) == number
    with pytest.raises(TakenError):
        work.answer(number, ann, {"answer": "1"})


def test_a_second_review_goes_to_somebody_else(desk, record):
    work, ann, bob = Work(desk, Rules(second_share=1.0)), *(_person(desk, name) for name in ("Ann", "Bob"))
    number = work.next_case(ann)
    work.answer(number, ann, {"answer": "1"})
    assert work.next_case(ann) != number
    assert work.next_case(bob) == number
    work.answer(number, bob, {"answer": "0"})
    cases = record.cases().to_pandas().set_index("case_number")
    assert cases.loc[number, "n_reviews"] == 2
    assert cases.loc[number, "reviews_differ"] == 1
    assert number not in [row["case_number"] for row in work.queue(_person(desk, "Cy"))[1]]


def test_cases_are_handed_over_with_a_due_day(enter):
    ann, bob = enter("Ann"), enter("Bob")
    ann.send("/next")
    case = ann.path
    ann.send(f"{case}/give-back", to="Bob", due="2026-12-24")
    assert ann.path == "/"
    bob.get("/")
    bob.send("/next")
    assert bob.path == case
    assert "due 2026-12-24" in bob.page.text
    bob.send(f"{case}/give-back", to="Nobody")
    assert bob.page.status_code == 400


def test_fifty_people_at_once_get_each_case_once(desk, record):
    """Every open case is claimed and answered exactly once, whoever is faster."""
    work = Work(desk, Rules())
    people = [_person(desk, f"P{number}") for number in range(50)]

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


def test_audits_look_like_other_cases(desk, clf, loans):
    """Places of cases that are here for another reason are spread over the queue, and the page is made alike."""
    record = desk.record
    with record.reading() as connection:
        rows = connection.exec_driver_sql("SELECT number, why FROM decisions WHERE decision = 'review'").all()
    assert rows
    ann = _person(desk, "Ann")
    work = Work(desk, Rules())
    number = work.next_case(ann)
    shown = work.show(number, ann)
    assert set(shown) == {"number", "id", "batch", "decided_at", "due", "kept", "classes", "answer"}


def test_a_team_may_show_the_machine_first_and_is_told_so(enter, record):
    ann = enter(rules=Rules(shows_machine=True))
    ann.get("/")
    assert "audits are not blind" in ann.page.text
    ann.send("/next")
    assert "The machine says" in ann.page.text
    ann.send(f"{ann.path}/answer", answer="1")
    with record.reading() as connection:
        assert connection.exec_driver_sql("SELECT saw_machine FROM reviews").scalars().all() == [1]


def test_reason_codes_are_a_list_of_the_team_with_its_changes(enter, desk, record):
    ann = enter()
    ann.get("/reasons")
    ann.send("/reasons", code="income")
    ann.send("/reasons", code="identity")
    ann.send("/reasons", remove="income")
    assert desk.reasons() == ["identity"]
    with record.reading() as connection:
        rows = connection.exec_driver_sql("SELECT code, is_used, name FROM desk_reason_codes ORDER BY number").all()
    assert [tuple(row) for row in rows] == [("income", 1, "Ann"), ("identity", 1, "Ann"), ("income", 0, "Ann")]
    ann.get("/")
    ann.send("/next")
    case = ann.path
    ann.send(f"{case}/answer", answer="1", reason_code="income")
    assert ann.page.status_code == 400
    assert "not on the list" in ann.page.text
    ann.send(f"{case}/answer", answer="1", reason_code="identity", probability="0,8")
    assert "You answered 1" in ann.page.text
    ann.send(f"{case}/answer", answer="1", probability="much")
    assert "must be a number from 0 to 1" in ann.page.text


@pytest.mark.parametrize("fields", [{}, {"answer": ""}, {"answer": "maybe"}])
def test_an_answer_that_is_none_is_refused_and_the_case_stays(enter, fields):
    ann = enter()
    ann.send("/next")
    case = ann.path
    ann.send(f"{case}/answer", **fields)
    assert ann.page.status_code == 400
    assert 'role="alert"' in ann.page.text
    ann.send(f"{case}/answer", answer="1")
    assert "You answered 1" in ann.page.text


# ---- who may do what ----


def test_links_that_are_wrong_expired_or_revoked_open_nothing(desk):
    app = create_desk(desk)
    assert Visitor(app, "wrong").page.status_code == 403
    token = desk.add_person("Ann", "reviewer")
    ann = Visitor(app, token)
    assert ann.page.status_code == 200
    desk.revoke("Ann")
    assert ann.get("/").status_code == 401
    assert Visitor(app, token).page.status_code == 403
    short = Desk(desk.record, link_days=-1.0)
    assert Visitor(app, short.add_person("Ann", "reviewer")).page.status_code == 403
    with pytest.raises(ValueError, match="nobody at this desk"):
        desk.revoke("Zoe")


def test_a_new_link_ends_the_old_one(desk):
    app = create_desk(desk)
    old = Visitor(app, desk.add_person("Ann", "reviewer"))
    desk.add_person("Ann", "reviewer")
    assert old.get("/").status_code == 401


def test_tokens_are_kept_as_hashes(desk, record):
    token = desk.add_person("Ann", "reviewer")
    session = desk.enter(token)
    with record.reading() as connection:
        rows = connection.exec_driver_sql(
            "SELECT token_hash FROM desk_people UNION ALL SELECT token_hash FROM desk_sessions"
        )
        kept = b"".join(bytes(value) for value in rows.scalars())
    assert token.encode() not in kept
    assert session.encode() not in kept


def test_reviewers_see_no_numbers_and_validators_decide_nothing(enter):
    ann, val = enter("Ann"), enter("Val", "validator")
    assert ann.get("/oversight").status_code == 403
    assert val.path == "/oversight"
    assert "How good are the decisions that nobody looked at?" in val.page.text
    val.get("/reasons")
    assert val.send("/next").status_code == 403
    assert val.get("/mine").status_code == 403


def test_a_form_of_another_page_is_refused(enter):
    ann = enter()
    for token in ("", "0" * 64):
        stolen = ann.client.post("/next", data={"form_token": token})
        assert stolen.status_code == 403
    assert ann.get("/").status_code == 200


def test_too_many_wrong_attempts_must_wait(desk):
    app = create_desk(desk)
    codes = [Visitor(app, "wrong").page.status_code for _ in range(12)]
    assert codes[0] == 403
    assert codes[-1] == 429


def test_pages_run_no_foreign_script_and_are_not_kept(enter):
    ann = enter()
    headers = ann.page.headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    cookie = next(iter(ann.client.cookies.jar))
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"
    assert not re.search(r'<script(?! type="module" src=)|style=|onclick', ann.page.text)


def test_another_host_is_refused(desk):
    visitor = Visitor(create_desk(desk))
    assert visitor.client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_scripts_in_every_field_are_text(desk, clf, loans):
    bad = '<script>alert("x")</script>'
    frame = loans[0][1200:1300].rename(columns={})
    kept = {bad: [bad] * 100}
    desk.record.decide(clf, frame, batch=bad, ids=[f"{bad}{number}" for number in range(100)], keep=kept)
    ann = Visitor(create_desk(desk), desk.add_person(bad, "reviewer"))
    desk.set_reason(bad, is_used=True, person=_person(desk, "Zed"))
    pages = [ann.get("/").text, ann.get("/reasons").text]
    ann.get("/")
    for _ in range(200):
        ann.send("/next")
        pages.append(ann.page.text)
        if "&lt;script&gt;" in ann.page.text.split("<main", 1)[1]:
            break
        ann.send(f"{ann.path}/answer", answer="needs documents")
        ann.get("/")
    case = ann.path
    ann.send(f"{case}/answer", answer="1", note=bad, reason_code=bad)
    pages += [ann.page.text, ann.get("/mine").text, ann.get(f"/case/0{bad}").text]
    for page in pages:
        assert "<script>alert" not in page
    assert any("&lt;script&gt;alert" in page for page in pages)


def test_a_proxy_is_believed_with_its_secret_only(desk):
    desk.add_person("Ann", "reviewer")
    app = create_desk(desk, proxy=Proxy("X-User", b"a secret of the proxy"))
    visitor = Visitor(app).client
    assert visitor.get("/", headers={"X-User": "Ann"}).status_code == 401
    assert visitor.get("/", headers={"X-User": "Ann", "X-Desk-Secret": "guess"}).status_code == 401
    signed = {"X-User": "Ann", "X-Desk-Secret": "a secret of the proxy"}
    page = visitor.get("/", headers=signed)
    assert page.status_code == 200
    assert "Ann" in page.text
    assert visitor.get("/", headers={**signed, "X-User": "Zoe"}).status_code == 403


def test_each_look_is_kept_unless_the_team_says_otherwise(desk, record):
    ann = _person(desk, "Ann")

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


# ---- over HTTP ----


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
    refused = visitor.post(path, headers=bearer, json={"answer": "maybe"})
    assert refused.status_code == 400
    assert "maybe" in json.dumps(refused.json())
    assert visitor.get("/api/cases", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert visitor.get("/api/cases").status_code == 401
    schema = visitor.get("/api/schema").json()
    assert set(schema["paths"]) == {"/api/cases", "/api/next", "/api/cases/{number}/answer"}


def _person(desk, name):
    desk.add_person(name, "reviewer")
    return desk.named(name)
