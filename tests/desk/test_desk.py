"""The desk's pages: who may enter, what is shown before and after an answer."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import event

from aucross.desk import Desk, Proxy, Rules, create_desk
from tests.desk.conftest import Visitor, person_of


@pytest.fixture
def source(tmp_path):
    """Pages do not depend on the database; the work behind them is tested on both."""
    return tmp_path / "cases.db"


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


def test_an_answer_that_is_sent_twice_counts_once(enter, record):
    ann = enter()
    ann.send("/next")
    case, page = ann.path, ann.page
    for _ in range(2):  # as a browser does that lost the answer of the desk
        ann.page = page
        ann.send(f"{case}/answer", answer="1")
        assert "You answered 1" in ann.page.text
    ann.page = page
    ann.send(f"{case}/answer", answer="0")
    assert ann.page.status_code == 409
    assert "changed on another page" in ann.page.text
    with record.reading() as connection:
        assert connection.exec_driver_sql("SELECT answer FROM reviews").scalars().all() == ["1"]


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


def test_pages_of_audits_are_made_alike(desk, audited):
    """Markup and the statements that the database is asked (the page's timing) do not depend on why a case waits."""
    visitor = Visitor(create_desk(desk), desk.add_person("Ann", "reviewer"))
    statements = []
    event.listen(desk.record.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    seen = {}
    for why in ("band", "audit", "seeded"):
        number = next(number for number, its in audited.items() if its == why)
        visitor.get("/")
        statements.clear()
        visitor.send(f"/case/{number}/open")
        page = visitor.page.text.replace(f"/case/{number}", "/case/N")
        seen[why] = re.sub(r"B-\d{3}", "B-000", page), dict(visitor.page.headers), tuple(statements)
    assert seen["audit"] == seen["band"]
    assert seen["seeded"] == seen["band"]


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
    desk.set_reason(bad, is_used=True, person=person_of(desk, "Zed"))
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
