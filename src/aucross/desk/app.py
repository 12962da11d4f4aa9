"""The desk as an application: pages for people, and an HTTP interface for other case systems.

Pages are plain forms that work without scripts. A case is addressed by its number, so that no address holds a person's
data. No page shows whether the band or an audit chose a case.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from time import monotonic
from typing import Annotated, Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI, Form, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException

from aucross.desk.door import COOKIE, Door, Proxy
from aucross.desk.people import REVIEWER, VALIDATOR, Desk, Person
from aucross.desk.pictures import band_picture, bars
from aucross.desk.programs import add_programs
from aucross.desk.work import LISTED, Rules, TakenError, Wanted, Work, group_key
from aucross.record import RecordError
from aucross.record.record_tables import OPEN_ANSWERS
from aucross.report.oversight import build_oversight
from aucross.report.oversight_page import oversight_policy, render_oversight
from aucross.serve.request_guard import Asgi, Receive, RequestGuard, Send
from aucross.system.text import marked

_MOST_BYTES = 100_000
_BODY_SECONDS = 10.0
# As many as a record keeps connections open: a further one would be opened and closed for each request.
_MOST_AT_ONCE = 5
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

Page = Annotated[int, Query(ge=0, le=100_000)]
# Of a case or an answer; a database takes no larger one.
Number = Annotated[int, Path(ge=1, lt=2**63)]
Typed = Annotated[str, Form()]


def create_desk(
    desk: Desk,
    rules: Rules | None = None,
    *,
    hosts: tuple[str, ...] = (),
    secure_cookies: bool = False,
    proxy: Proxy | None = None,
    capacity: int | None = None,
) -> Any:
    """Return the desk as an ASGI application.

    Parameters
    ----------
    desk : Desk
        The people who work at the desk, and their record.
    rules : Rules, optional
        How the team works.
    hosts : tuple of str
        Further names of the desk in browsers, besides those of this machine.
    secure_cookies : bool, default=False
        Whether cookies are sent over HTTPS only, as they should be behind a proxy.
    proxy : Proxy, optional
        A proxy that signs people in; by default people have personal links.
    capacity : int, optional
        Number of cases that people can decide in a day, shown on the page of the queue.

    Returns
    -------
    ASGI application
        With pages under ``/`` and JSON under ``/api``.
    """
    door, work = Door(desk, proxy), Work(desk, Rules() if rules is None else rules)
    pages = Pages(door, work, secure_cookies=secure_cookies, capacity=capacity)
    app = FastAPI(title="aucross desk", docs_url=None, redoc_url=None, openapi_url="/api/schema", lifespan=_few_threads)
    shown: dict[str, Callable[..., Any]] = {
        "/": pages.queue,
        "/enter/{token}": pages.enter_page,
        "/case/{number}": pages.case,
        "/mine": pages.mine,
        "/reasons": pages.reasons,
        "/oversight": pages.oversight,
        "/audits": pages.audits,
        "/desk.css": _file("desk.css", "text/css"),
        "/desk.js": _file("desk.js", "text/javascript"),
    }
    sent: dict[str, Callable[..., Any]] = {
        "/enter": pages.enter,
        "/leave": pages.leave,
        "/next": pages.take_next,
        "/case/{number}/open": pages.open_case,
        "/case/{number}/answer": pages.answer,
        "/case/{number}/give-back": pages.give_back,
        "/mine/{review}/undo": pages.undo,
        "/reasons": pages.set_reason,
    }
    options: dict[str, Any] = {"include_in_schema": False, "response_model": None}
    for path, answer in shown.items():
        app.add_api_route(path, answer, **options)
    for path, answer in sent.items():
        # Who enters has no session yet, of which a form could hold a token.
        own = [Depends(door.own_page), *([] if path == "/enter" else [Depends(door.own_form)])]
        app.add_api_route(path, answer, methods=["POST"], dependencies=own, **options)
    add_programs(app, door, work)
    for error in (RecordError, ValueError, HTTPException, RequestValidationError):
        app.add_exception_handler(error, pages.refused)
    return RequestGuard(_with_headers(app), most_bytes=_MOST_BYTES, body_seconds=_BODY_SECONDS, hosts=hosts)


class Pages:
    """The pages for people."""

    def __init__(self, door: Door, work: Work, *, secure_cookies: bool, capacity: int | None) -> None:
        self.door, self.desk, self.work = door, door.desk, work
        self._secure_cookies = secure_cookies
        self._capacity = capacity
        loader = PackageLoader("aucross.desk", "pages")
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
        self._templates.filters |= {"marked": _shown, "group_key": group_key}

    def _page(self, request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        shared = {"person": None, "path": request.url.path, "blind": not self.work.rules.shows_machine} | values
        text = self._templates.get_template(f"{name}.html").render(form_token=self.door.form_token(request), **shared)
        return HTMLResponse(text, status_code=status)

    # ---- who enters ----

    def enter_page(self, request: Request, token: str) -> Response:
        """Show a page that asks before a session starts, so that programs that follow links start none."""
        return self._page(request, "enter", token=token)

    def enter(self, request: Request, token: Typed) -> Response:
        """Start a session for a personal link."""
        mistakes = self.door.slow_down(request)
        session = self.desk.enter(token)
        if session is None:
            mistakes.append(monotonic())
            return self._page(request, "message", 403, title="This link is not good", text=_NO_LINK)
        answer, lasts = RedirectResponse("/", 303), int(self.desk.session_seconds)
        is_secure = self._secure_cookies
        answer.set_cookie(COOKIE, session, max_age=lasts, httponly=True, samesite="strict", secure=is_secure)
        return answer

    def leave(self, request: Request) -> Response:
        """End the session."""
        self.desk.leave(self.door.session(request))
        text = "Open your personal link to come back."
        answer = self._page(request, "message", title="You have left the desk", text=text)
        answer.delete_cookie(COOKIE)
        return answer

    # ---- cases ----

    def queue(
        self, request: Request, batch: str = "", age: str = "", group: str = "", *, page: Page = 0, said: str = ""
    ) -> Response:
        """Show the waiting cases."""
        person = self.door.person(request)
        if person.role == VALIDATOR:
            return RedirectResponse("/oversight", 303)
        chosen: dict[str, Any] = {"batch": batch, "age": age, "group": group}
        shown = self.work.overview(person, _wanted(**chosen), page) | chosen
        shown |= {"page": page, "is_last": shown["count"] <= LISTED * (page + 1), "first": LISTED * page + 1}
        shown |= {"filter": chosen, "said": _SAID.get(said, ""), "capacity": self._capacity}
        return self._page(request, "queue", person=person, column=self.work.rules.by, **shown)

    def take_next(self, request: Request, batch: Typed = "", age: Typed = "", group: Typed = "") -> Response:
        """Claim the next case and show it."""
        number = self.work.next_case(self.door.person(request, REVIEWER), _wanted(batch, age, group))
        return RedirectResponse("/?said=empty" if number is None else f"/case/{number}", 303)

    def open_case(self, request: Request, number: Number) -> Response:
        """Claim one case and show it."""
        self.work.claim(number, self.door.person(request, REVIEWER))
        return RedirectResponse(f"/case/{number}", 303)

    def case(self, request: Request, number: Number) -> Response:
        """Show a case."""
        return self._case(request, number, self.door.person(request, REVIEWER))

    def _case(
        self, request: Request, number: int, person: Person, fault: str = "", typed: dict[str, str] | None = None
    ) -> Response:
        shown = self.work.show(number, person)
        # What was typed stays in a form that is refused.
        filled = typed or shown["answer"] or {}
        given = {name: filled.get(name) for name in ("answer", "reason_code", "probability", "note")}
        people, reasons = self.desk.team()
        colleagues = [each.name for each in people if each.role == REVIEWER and each.name != person.name]
        machine = shown.get("machine")
        drawn = {"band": machine and band_picture(machine), "bars": bars(machine["contributions"]) if machine else []}
        choices = {"reasons": reasons, "answers": [*shown["classes"], *OPEN_ANSWERS]}
        values: dict[str, Any] = {"case": shown, "colleagues": colleagues, "fault": _sentence(fault), "given": given}
        return self._page(request, "case", 400 if fault else 200, person=person, **values, **drawn, **choices)

    async def answer(self, request: Request, number: Number) -> Response:
        """Record an answer."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        return await run_in_threadpool(self._answer, request, number, form)

    def _answer(self, request: Request, number: int, form: dict[str, str]) -> Response:
        person = self.door.person(request, REVIEWER)
        try:
            is_last = self.work.answer(number, person, _read(form))
        except TakenError:
            raise
        except ValueError as error:
            return self._case(request, number, person, str(error), form)
        said = "back" if form["answer"] in OPEN_ANSWERS else "recorded"
        return RedirectResponse(f"/?said={said}" if is_last else f"/case/{number}#machine", 303)

    def give_back(self, request: Request, number: Number, to: Typed = "", due: Typed = "") -> Response:
        """Return a case to the queue, or pass it to a colleague."""
        self.work.give_back(number, self.door.person(request, REVIEWER), to=to or None, due=due or None)
        return RedirectResponse("/?said=given", 303)

    def mine(self, request: Request, page: Page = 0) -> Response:
        """Show the answers of this person."""
        person = self.door.person(request, REVIEWER)
        shown: dict[str, Any] = {"answers": self.work.mine(person, page), "open": OPEN_ANSWERS, "page": page}
        shown |= {"filter": {}, "is_last": not self.work.mine(person, page + 1)}
        return self._page(request, "mine", person=person, **shown)

    def undo(self, request: Request, review: Number) -> Response:
        """Withdraw an answer and show the case."""
        return RedirectResponse(f"/case/{self.work.undo(review, self.door.person(request, REVIEWER))}", 303)

    # ---- the team ----

    def reasons(self, request: Request) -> Response:
        """Show the list of reasons."""
        return self._page(request, "reasons", person=self.door.person(request), reasons=self.desk.reasons())

    def set_reason(self, request: Request, code: Typed = "", remove: Typed = "") -> Response:
        """Add or remove a reason."""
        self.desk.set_reason(remove or code, is_used=not remove, person=self.door.person(request))
        return RedirectResponse("/reasons", 303)

    def oversight(self, request: Request) -> Response:
        """Show the current oversight report to a validator."""
        self.door.person(request, VALIDATOR)
        by, hide_people = self.work.rules.by, not self.work.rules.keeps_looks
        found = build_oversight(self.desk.record, by=() if by is None else (by,), hide_people=hide_people)
        page = render_oversight(found).replace("<body>", f"<body>{_TO_OTHERS}", 1)
        return HTMLResponse(page, headers={"Content-Security-Policy": oversight_policy()})

    def audits(self, request: Request, page: Page = 0) -> Response:
        """Show a validator the cases that were drawn for an audit."""
        person = self.door.person(request, VALIDATOR)
        shown: dict[str, Any] = {"cases": self.work.audits(page), "page": page, "filter": {}}
        return self._page(request, "audits", person=person, is_last=not self.work.audits(page + 1), **shown)

    async def refused(self, request: Request, raised: Exception) -> Response:
        """Answer a refused request in the format that it asked for."""
        known = {TakenError: 409, RecordError: 503, RequestValidationError: 400}
        status = int(getattr(raised, "status_code", known.get(type(raised), 400)))
        text = getattr(raised, "detail", None) or str(raised)
        if isinstance(raised, RequestValidationError):
            text = "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in raised.errors())
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": text}, status_code=status)
        is_path = isinstance(raised, RequestValidationError) and raised.errors()[0]["loc"][0] == "path"
        text = "There is no such page." if status == 404 or is_path else _sentence(text)
        return self._page(request, "message", status, title="That did not work", text=text, person=self._known(request))

    def _known(self, request: Request) -> Person | None:
        """Return the person who made a refused request, for the links on the page; None if unknown."""
        try:
            return self.door.person(request)
        except (RecordError, HTTPException):
            return None


def _with_headers(app: Asgi) -> Asgi:
    """Return an application that adds the headers of the desk to its answers, except headers already set."""
    added = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]

    async def answer(scope: Any, receive: Receive, send: Send) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in added if each[0] not in there)]
            await send(message)

        await app(scope, receive, sending)

    return answer


@asynccontextmanager
async def _few_threads(_: FastAPI) -> AsyncIterator[None]:
    """Limit how many requests are answered at a time: only one can write, and more threads would only wait."""
    current_default_thread_limiter().total_tokens = _MOST_AT_ONCE
    yield


def _shown(value: Any) -> str:
    """Return a value as text with visible characters only."""
    return marked(f"{value:.6g}" if isinstance(value, float) else str(value))


def _sentence(text: str) -> str:
    """Format a message as a sentence."""
    return text and f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _wanted(batch: str, age: str, group: str) -> Wanted:
    # More days than this are before any record, and beyond what a date can hold.
    days = float(age) if age.isascii() and age.isdigit() and len(age) < 6 else None
    return Wanted(batch or None, days, group or None)


_TO_OTHERS = """<nav class="wide" aria-label="Desk"><a href="/audits">Cases drawn for audits</a> &middot;
<a href="/reasons">Reasons that answers can have, and leaving the desk</a></nav>"""
# What was done before the queue is shown again.
_SAID = {
    "recorded": "Your answer is recorded. Under My answers you can take it back.",
    "back": "This is recorded, and the case waits at the end of the queue.",
    "given": "The case is no longer with you.",
    "empty": "No case was left to take.",
}
_NO_LINK = "It is wrong, has expired or was revoked. Ask who runs this desk for a new one."


def _file(name: str, kind: str) -> Callable[[], Response]:
    content = files("aucross.desk").joinpath(name).read_bytes()

    def answer() -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    return answer


def _read(form: dict[str, str]) -> dict[str, Any]:
    """Convert an answer, as a person typed it, to the types of the record."""
    read: dict[str, Any] = {name: value or None for name, value in form.items()}
    for name, kind, what in (("probability", float, "a number from 0 to 1"), ("replaces", int, "a whole number")):
        try:
            read[name] = kind((form.get(name) or "").replace(",", ".")) if form.get(name) else None
        except ValueError:
            raise ValueError(f"the {name} must be {what}, got {form[name]!r}") from None
    return read
