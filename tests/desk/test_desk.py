"""The desk's pages: who may enter, what is shown before and after an answer."""

from __future__ import annotations

import html
import json
import re
import threading
import time

import httpx
import pytest
import uvicorn
from sqlalchemy import event

from aucross.cli.desk_app import _large, _listening_on
from aucross.cli.errors import UsageError
from aucross.desk import Desk, Proxy, Rules, create_desk
from aucross.desk.people import form_token
from aucross.desk.work import Work
from tests.desk.conftest import FORM_TOKEN, Visitor, person_of


@pytest.fixture
def source(tmp_path):
    """Pages do not depend on the database; the work behind them is tested on both."""
    return tmp_path / "cases.db"


def test_what_moved_the_score_is_drawn_once_answered(enter, record):
    ann = enter()
    ann.send("/next")
    case = ann.path
    assert "<svg" not in ann.page.text
    ann.send(f"{case}/answer", answer="1")
    number = int(case.removeprefix("/case/"))
    found = record.cases().to_pandas().set_index("case_number").loc[number]
    told = dict(json.loads(found["contributions"]))
    first = re.search(r"unlike automatic cases with \w+ scores: (\w+) ", found["reason"])[1]
    assert next(iter(told)) == first
    drawn = re.findall(
        r'<th scope="row">(\w+)</th><td><svg[^>]*aria-label="(raises|lowers) the score by ([\d.e-]+)".*?'
        r'<rect class="(raises|lowers)" x="([\d.]+)" y="3" width="([\d.]+)"',
        ann.page.text,
    )
    assert [(name, float(size)) for name, _, size, *_ in drawn] == [
        (name, pytest.approx(abs(value), rel=0.01)) for name, value in told.items()
    ]
    most = max(map(abs, told.values()))
    for name, says, _, looks, x, width in drawn:
        assert says == looks == ("raises" if told[name] > 0 else "lowers")
        assert float(width) == pytest.approx(240 * abs(told[name]) / most, abs=0.1) or float(width) == 1.0
        end = float(x) if told[name] > 0 else float(x) + float(width)
        assert end == pytest.approx(250, abs=1.1)


def test_cannot_decide_shows_nothing_of_the_machine_and_sends_the_case_to_the_end(enter):
    ann = enter()
    ann.send("/next")
    case = ann.path
    ann.send(f"{case}/answer", answer="needs documents")
    assert ann.path == "/"
    ann.send("/next")
    assert ann.path != case
    assert "machine says" not in ann.page.text


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
    assert ann.send("/reasons", code="undone").status_code == 400  # the desk gives it where an answer is taken back
    ann.get("/")
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
    ann.send(f"{case}/answer", answer="0", probability="much", note="what was typed stays")
    assert "The probability must be a number from 0 to 1, got &#39;much&#39;." in ann.page.text
    assert 'value="much"' in ann.page.text
    assert "what was typed stays" in ann.page.text
    assert 'value="0" accesskey="1" checked' in ann.page.text


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


def test_one_header_of_a_proxy_names_a_person_in_any_script(desk):
    """A second header would be the visitor's own, which a careless proxy passed on."""
    for name in ("Ann", "Jürgen"):
        desk.add_person(name, "reviewer")
    http = Visitor(create_desk(desk, proxy=Proxy("X-User", b"a secret of the proxy"))).client
    secret = ("X-Desk-Secret", "a secret of the proxy")
    page = http.get("/", headers=[secret, ("X-User", "Jürgen".encode())])
    assert "<span>Jürgen</span>" in page.text
    assert http.get("/", headers=[secret, ("X-User", "Ann"), ("X-User", "Jürgen".encode())]).status_code == 403


def test_forms_of_people_whom_a_proxy_names_are_their_own(desk):
    """Nobody can send a form in the name of a colleague, whatever cookie or token of their own they have."""
    for name in ("Ann", "Bob"):
        desk.add_person(name, "reviewer")
    http = Visitor(create_desk(desk, proxy=Proxy("X-User", b"a secret of the proxy"))).client
    signed = {name: {"X-User": name, "X-Desk-Secret": "a secret of the proxy"} for name in ("Ann", "Bob")}
    tokens = {name: FORM_TOKEN.search(http.get("/", headers=signed[name]).text)[1] for name in signed}
    assert tokens["Ann"] != tokens["Bob"]
    assert http.post("/next", headers=signed["Bob"], data={"form_token": tokens["Ann"]}).status_code == 403
    planted = {**signed["Bob"], "Cookie": "aucross_desk=known"}
    assert http.post("/next", headers=planted, data={"form_token": form_token("known")}).status_code == 403
    assert http.post("/next", headers=signed["Bob"], data={"form_token": tokens["Bob"]}).status_code == 200


def test_what_another_site_sends_is_refused(desk):
    """A page elsewhere can neither let a visitor enter as somebody else nor take cases in the visitor's name."""
    visitor, token = Visitor(create_desk(desk)), desk.add_person("Ann", "reviewer")
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert visitor.client.post("/enter", data={"token": token}, headers=elsewhere).status_code == 403
    assert not visitor.client.cookies
    bearer = {"Authorization": f"Bearer {token}"}
    assert visitor.client.post("/api/next", headers={**bearer, **elsewhere}).status_code == 403


def test_wrong_forms_of_one_person_do_not_keep_others_out(enter):
    ann, bob = enter("Ann"), enter("Bob")
    codes = [ann.client.post("/next", data={"form_token": "0"}).status_code for _ in range(11)]
    assert (codes[0], codes[-1]) == (403, 429)
    assert bob.send("/next").status_code == 200


def test_a_page_that_is_not_there_says_so_in_words(enter):
    ann = enter()
    for path, status in (("/nothing", 404), ("/case/<b>", 400), ("/case/1", 409)):
        page = ann.get(path)
        assert page.status_code == status
        assert "That did not work" in page.text
        assert 'href="/mine"' in page.text
    assert "There is no such page." in ann.get("/case/<b>").text
    assert "There is no such page." in ann.get(f"/case/{2**63}").text  # which no database takes
    assert ann.client.get("/api/nothing").json() == {"error": "Not Found"}


def test_pages_lead_to_every_case_and_to_every_answer_and_keep_the_filter(enter, desk):
    ann = enter()
    found, path = [], "/?batch=2026-01"
    while path:
        text = ann.get(path).text
        assert " of " in text
        found += re.findall(r"/case/([0-9]+)/open", text)
        further = re.search(r'rel="next" href="([^"]+)"', text)
        path = further and html.unescape(f"/{further[1]}")
        assert not path or "batch=2026-01" in path
    assert len(found) == len(set(found)) == int(re.search(r"<h1>([0-9]+) cases wait", text)[1]) > 50
    assert 'rel="prev"' in text
    work = Work(desk, Rules())
    for number in map(int, found[:26]):
        work.claim(number, desk.named("Ann"))
        work.answer(number, desk.named("Ann"), {"answer": "1"})
    assert 'rel="next"' in ann.get("/mine").text
    assert ann.get("/mine?page=1").text.count("/undo") == 1
    assert ann.get("/mine?page=-1").status_code == 400


def test_what_was_done_is_said_before_the_next_case(enter):
    ann = enter()
    ann.send("/next")
    ann.send(f"{ann.path}/answer", answer="1")
    assert "Your answer is recorded." in ann.page.text
    ann.send(f"{ann.path}/answer", answer="1")
    assert ann.path == "/"
    assert "Your answer is recorded. Under My answers you can take it back." in ann.page.text
    ann.send("/next")
    ann.send(f"{ann.path}/give-back")
    assert "The case is no longer with you." in ann.page.text
    ann.send("/next")
    ann.send(f"{ann.path}/answer", answer="needs documents")
    assert "the case waits at the end of the queue." in ann.page.text
    assert ann.get("/mine").text.count("/undo") == 1  # nothing is to be taken back of a case that still waits
    assert 'role="status"' not in ann.get("/?said=<b>").text


def test_a_validator_alone_sees_which_cases_are_audits(enter, audited, desk):
    val, ann = enter("Val", "validator"), enter()
    drawn = [number for number, why in audited.items() if why == "audit"]
    pages = [val.get(f"/audits?page={page}").text for page in range(len(drawn) // 25 + 2)]
    found = [each for text in pages for each in re.findall(r"<td>(B-[0-9]+)</td>", text)]
    assert len(found) == len(set(found)) == len(drawn)
    assert "No further ones." in pages[-1] or len(drawn) % 25 == 0
    assert "waits" in pages[0]
    assert ann.get("/audits").status_code == 403
    assert "/audits" not in ann.get("/").text


def test_a_reason_is_removed_after_a_question(enter, desk):
    desk.set_reason("income", is_used=True, person=person_of(desk, "Zed"))
    text = enter().get("/reasons").text
    assert re.search(r"<details><summary[^>]*>Remove</summary>.*<button name=.remove.", text)


def test_a_validator_sees_the_numbers_by_group(enter):
    val = enter("Val", "validator", rules=Rules(by="region"))
    assert "Are people treated differently by region?" in val.page.text
    assert 'href="/reasons"' in val.page.text


def test_a_unix_socket_makes_the_header_of_a_proxy_good(desk, tmp_path):
    """The header is believed through the socket, and not over a network, where anyone could send it."""
    desk.add_person("Ann", "reviewer")
    app = create_desk(desk, proxy=Proxy("X-User"))
    assert Visitor(app).client.get("/", headers={"X-User": "Ann"}).status_code == 401
    path = tmp_path / "desk.socket"
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    listener = _listening_on(path)
    assert path.stat().st_mode & 0o777 == 0o660
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as http:
            page = http.get("/", headers={"X-User": "Ann"})
            assert http.get("/").status_code == 403
        assert page.status_code == 200
        assert "<span>Ann</span>" in page.text
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


def test_the_options_of_the_command_reach_the_desk():
    assert _large("loan=amount=2500.5") == ("loan=amount", 2500.5)
    assert _large(None) is None
    for text in ("2500", "amount=", "amount=much", "=5"):
        with pytest.raises(UsageError, match="--second-for must name a kept column and an amount"):
            _large(text)
