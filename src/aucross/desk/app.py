"""The desk as an application: pages for people, and the same over HTTP for case systems of others.

Pages are plain forms that work without scripts. A case is addressed by its number, so that no address holds a person's
data. What a page sends does not depend on why a case is here.
"""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from math import nan
from time import monotonic
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Form, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel

from aucross.desk.people import REVIEWER, VALIDATOR, Desk, Person, form_token
from aucross.desk.work import Rules, TakenError, Wanted, Work, group_key
from aucross.record import RecordError
from aucross.record.record_tables import OPEN_ANSWERS
from aucross.report.oversight import build_oversight
from aucross.report.oversight_page import oversight_policy, render_oversight
from aucross.serve.request_guard import RequestGuard
from aucross.system.text import marked

COOKIE = "aucross_desk"
_MOST_BYTES = 100_000
_BODY_SECONDS = 10.0
# Wrong links, and answers of wrong forms, in a minute from one address, after which it must wait.
_MOST_WRONG = 10
_MOST_ADDRESSES = 10_000
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


class Answer(BaseModel):
    """Answer to a case.

    Attributes
    ----------
    answer : str
        A class, "cannot decide" or "needs documents".
    reason_code, note : str, optional
        Why, from the team's list, and in words.
    probability : float, optional
        Probability of the positive class, as the person sees it.
    replaces : int, optional
        Number of the person's earlier answer that this one replaces, now that the machine's was seen.
    """

    answer: str
    reason_code: str | None = None
    probability: float | None = None
    note: str | None = None
    replaces: int | None = None


class NotEnteredError(Exception):
    """The request came without a session."""


@dataclass(frozen=True)
class Proxy:
    """A proxy that signs people in.

    Attributes
    ----------
    header : str
        Name of the header that holds the person's name.
    secret : bytes
        Secret that it must send as ``X-Desk-Secret``; otherwise the header is ignored.
    """

    header: str
    secret: bytes


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
        People beside the record.
    rules : Rules, optional
        How the team works.
    hosts : tuple of str
        Names by which browsers reach the desk, beside those of this machine.
    secure_cookies : bool, default=False
        Whether cookies go over HTTPS only, as they should behind a proxy.
    proxy : Proxy, optional
        A proxy that signs people in; by default people have personal links.
    capacity : int, optional
        Cases a day that people can take, for the page of the queue.

    Returns
    -------
    ASGI application
        With pages under ``/`` and JSON under ``/api``.
    """
    door = Door(desk, proxy)
    work = Work(desk, Rules() if rules is None else rules)
    pages = Pages(door, work, secure_cookies=secure_cookies, capacity=capacity)
    app = FastAPI(title="aucross desk", docs_url=None, redoc_url=None, openapi_url="/api/schema")
    own_form = [Depends(door.own_form)]
    shown: dict[str, Callable[..., Any]] = {
        "/": pages.queue,
        "/enter/{token}": pages.enter_page,
        "/case/{number}": pages.case,
        "/mine": pages.mine,
        "/reasons": pages.reasons,
        "/oversight": pages.oversight,
        "/desk.css": _file("desk.css", "text/css"),
        "/desk.js": _file("desk.js", "text/javascript"),
    }
    for path, answer in shown.items():
        app.add_api_route(path, answer, include_in_schema=False, response_model=None)
    sent: dict[str, Callable[..., Any]] = {
        "/leave": pages.leave,
        "/next": pages.take_next,
        "/case/{number}/open": pages.open_case,
        "/case/{number}/answer": pages.answer,
        "/case/{number}/give-back": pages.give_back,
        "/mine/{review}/undo": pages.undo,
        "/reasons": pages.set_reason,
    }
    options: dict[str, Any] = {"methods": ["POST"], "include_in_schema": False, "response_model": None}
    for path, answer in sent.items():
        app.add_api_route(path, answer, dependencies=own_form, **options)
    app.add_api_route("/enter", pages.enter, **options)
    programs = ForPrograms(door, work)
    app.add_api_route("/api/cases", programs.cases, methods=["GET"])
    app.add_api_route("/api/next", programs.take_next, methods=["POST"])
    app.add_api_route("/api/cases/{number}/answer", programs.answer, methods=["POST"])
    for error in (NotEnteredError, TakenError, RecordError, ValueError, HTTPException):
        app.add_exception_handler(error, pages.refused)
    app.middleware("http")(_with_headers)
    return RequestGuard(
        app,
        most_bytes=_MOST_BYTES,
        body_seconds=_BODY_SECONDS,
        token=None,
        hosts=hosts,
        answered=lambda *_: None,
        refused=lambda _: None,
    )


class Door:
    """Check who makes a request: by session, by personal token, or by a proxy's header.

    Parameters
    ----------
    desk : Desk
        People and sessions.
    proxy : Proxy or None
        A proxy that signs people in.
    """

    def __init__(self, desk: Desk, proxy: Proxy | None) -> None:
        self.desk = desk
        self._proxy = proxy
        self._wrong: dict[str, deque[float]] = {}

    def person(self, request: Request, role: str | None = None) -> Person:
        """Return the person who makes the request, or refuse; with a role, refuse people of other roles."""
        person = self._by_proxy(request) or self._by_token(request) or self.desk.session_of(self.session(request))
        if person is None:
            raise NotEnteredError(_NO_SESSION)
        if role is not None and person.role != role:
            raise HTTPException(403, f"only a {role} may do this")
        return person

    @staticmethod
    def session(request: Request) -> str:
        """Return the token of the session, empty if there is none."""
        return request.cookies.get(COOKIE, "")

    def _by_proxy(self, request: Request) -> Person | None:
        if self._proxy is None:
            return None
        given = request.headers.get("x-desk-secret", "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, self._proxy.secret):
            return None
        person = self.desk.named(request.headers.get(self._proxy.header, ""))
        if person is None:
            raise HTTPException(403, "the desk does not know this person; ask who runs it for access")
        return person

    def _by_token(self, request: Request) -> Person | None:
        authorization = request.headers.get("authorization", "")
        if not authorization.startswith("Bearer "):
            return None
        mistakes = self.slow_down(request)
        person = self.desk.holder(authorization.removeprefix("Bearer "))
        if person is None:
            mistakes.append(monotonic())
            raise HTTPException(401, "the token is wrong, has expired or was revoked")
        return person

    def slow_down(self, request: Request) -> deque[float]:
        """Refuse an address with too many failed attempts, and return its list of failures."""
        address = request.client.host if request.client else ""
        if len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.clear()
        mistakes, start = self._wrong.setdefault(address, deque(maxlen=_MOST_WRONG)), monotonic() - 60.0
        while mistakes and mistakes[0] < start:
            mistakes.popleft()
        if len(mistakes) >= _MOST_WRONG:
            raise HTTPException(429, "too many wrong attempts; wait a minute")
        return mistakes

    def form_token(self, request: Request) -> str:
        """Return the token that forms of this session carry."""
        return form_token(self.session(request) or request.headers.get("x-desk-secret", ""))

    async def own_form(self, request: Request) -> None:
        """Refuse a form that this desk did not hand out to this session."""
        mistakes = self.slow_down(request)
        form = await request.form()
        if not hmac.compare_digest(str(form.get("form_token", "")).encode(), self.form_token(request).encode()):
            mistakes.append(monotonic())
            raise HTTPException(403, "this form is not of your session; open the page again")


class Pages:
    """The pages for people.

    Parameters
    ----------
    door : Door
        Who asks.
    work : Work
        The cases.
    secure_cookies : bool
        Whether cookies go over HTTPS only.
    capacity : int or None
        Cases a day that the team can take.
    """

    def __init__(self, door: Door, work: Work, *, secure_cookies: bool, capacity: int | None) -> None:
        self.door, self.desk, self.work = door, door.desk, work
        self._secure_cookies = secure_cookies
        self._capacity = capacity
        loader = PackageLoader("aucross.desk", "pages")
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
        self._templates.filters |= {"marked": _shown, "group_key": group_key}

    def _page(self, request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        shared = {
            "person": None,
            "form_token": self.door.form_token(request),
            "blind": not self.work.rules.shows_machine,
        }
        text = self._templates.get_template(f"{name}.html").render(**{**shared, **values})
        return HTMLResponse(text, status_code=status)

    # ---- who enters ----

    def enter_page(self, request: Request, token: str) -> Response:
        """Ask before starting a session, so that a program that follows links starts none."""
        return self._page(request, "enter", token=token)

    def enter(self, request: Request, token: Annotated[str, Form()]) -> Response:
        """Begin a session for a personal link."""
        mistakes = self.door.slow_down(request)
        session = self.desk.enter(token)
        if session is None:
            mistakes.append(monotonic())
            return self._page(request, "message", 403, title="This link is not good", text=_NO_LINK)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            COOKIE,
            session,
            max_age=int(self.desk.session_seconds),
            httponly=True,
            samesite="strict",
            secure=self._secure_cookies,
        )
        return answer

    def leave(self, request: Request) -> Response:
        """End the session."""
        self.desk.leave(self.door.session(request))
        text = "Open your personal link to come back."
        answer = self._page(request, "message", title="You have left the desk", text=text)
        answer.delete_cookie(COOKIE)
        return answer

    # ---- cases ----

    def queue(self, request: Request, batch: str = "", age: str = "", group: str = "") -> Response:
        """Show what waits."""
        person = self.door.person(request)
        if person.role == VALIDATOR:
            return RedirectResponse("/oversight", 303)
        count, cases = self.work.queue(person, _wanted(batch, age, group))
        shown: dict[str, Any] = {"count": count, "cases": cases, "batch": batch, "age": age, "group": group}
        shown |= {"today": self.work.today(person), "capacity": self._capacity, **self.work.choices()}
        return self._page(request, "queue", person=person, column=self.work.rules.group, **shown)

    def take_next(
        self,
        request: Request,
        batch: Annotated[str, Form()] = "",
        age: Annotated[str, Form()] = "",
        group: Annotated[str, Form()] = "",
    ) -> Response:
        """Claim the next case and show it."""
        number = self.work.next_case(self.door.person(request, REVIEWER), _wanted(batch, age, group))
        return RedirectResponse("/" if number is None else f"/case/{number}", 303)

    def open_case(self, request: Request, number: int) -> Response:
        """Claim one case and show it."""
        self.work.claim(number, self.door.person(request, REVIEWER))
        return RedirectResponse(f"/case/{number}", 303)

    def case(self, request: Request, number: int) -> Response:
        """Show a case."""
        return self._case(request, number, self.door.person(request, REVIEWER))

    def _case(self, request: Request, number: int, person: Person, fault: str = "") -> Response:
        shown = self.work.show(number, person)
        colleagues = [each.name for each in self.desk.people() if each.role == REVIEWER and each.name != person.name]
        choices: dict[str, Any] = {"reasons": self.desk.reasons(), "colleagues": colleagues}
        choices["answers"] = [*shown["classes"], *OPEN_ANSWERS]
        # The picture is made of numbers alone.
        picture = Markup(band_picture(shown["machine"])) if shown["answer"] else Markup("")
        status = 400 if fault else 200
        return self._page(request, "case", status, person=person, case=shown, picture=picture, fault=fault, **choices)

    async def answer(self, request: Request, number: int) -> Response:
        """Record an answer."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        return await run_in_threadpool(self._answer, request, number, form)

    def _answer(self, request: Request, number: int, form: dict[str, str]) -> Response:
        person = self.door.person(request, REVIEWER)
        try:
            is_last = self.work.answer(number, person, _checked(form, self.desk.reasons()))
        except TakenError:
            raise
        except ValueError as error:
            return self._case(request, number, person, str(error))
        return RedirectResponse("/" if is_last else f"/case/{number}", 303)

    def give_back(
        self, request: Request, number: int, to: Annotated[str, Form()] = "", due: Annotated[str, Form()] = ""
    ) -> Response:
        """Give a case back, or to a colleague."""
        self.work.give_back(number, self.door.person(request, REVIEWER), to=to or None, due=due or None)
        return RedirectResponse("/", 303)

    def mine(self, request: Request) -> Response:
        """Show what a person has answered."""
        person = self.door.person(request, REVIEWER)
        return self._page(request, "mine", person=person, answers=self.work.mine(person))

    def undo(self, request: Request, review: int) -> Response:
        """Take an answer back and show the case."""
        return RedirectResponse(f"/case/{self.work.undo(review, self.door.person(request, REVIEWER))}", 303)

    # ---- the team ----

    def reasons(self, request: Request) -> Response:
        """Show the list of reasons."""
        return self._page(request, "reasons", person=self.door.person(request), reasons=self.desk.reasons())

    def set_reason(
        self, request: Request, code: Annotated[str, Form()] = "", remove: Annotated[str, Form()] = ""
    ) -> Response:
        """Add or remove a reason."""
        self.desk.set_reason(remove or code, is_used=not remove, person=self.door.person(request))
        return RedirectResponse("/reasons", 303)

    def oversight(self, request: Request) -> Response:
        """Show the oversight report of the moment to a validator."""
        self.door.person(request, VALIDATOR)
        found = build_oversight(self.desk.record, hide_people=not self.work.rules.keeps_looks)
        return HTMLResponse(render_oversight(found), headers={"Content-Security-Policy": oversight_policy()})

    async def refused(self, request: Request, raised: Exception) -> Response:
        """Answer a refused request in the format that it asked for."""
        status, text = _status(raised), getattr(raised, "detail", None) or str(raised)
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": text}, status_code=status)
        return self._page(request, "message", status, title="That did not work", text=text)


class ForPrograms:
    """The desk over HTTP, for case systems of others.

    Parameters
    ----------
    door : Door
        Who asks.
    work : Work
        The cases.
    """

    def __init__(self, door: Door, work: Work) -> None:
        self.door, self.work = door, work

    def cases(self, request: Request, batch: str | None = None, older_than_days: float | None = None) -> dict[str, Any]:
        """List the cases that wait for the person of the token."""
        count, found = self.work.queue(self.door.person(request, REVIEWER), Wanted(batch, older_than_days))
        listed = [{"number": row["case_number"], "id": row["id"], "batch": row["name"]} for row in found]
        return {"count": count, "cases": listed}

    def take_next(self, request: Request, batch: str | None = None) -> dict[str, Any]:
        """Claim the next case and return its visible part; ``case`` is null if none is open."""
        person = self.door.person(request, REVIEWER)
        number = self.work.next_case(person, Wanted(batch))
        return {"case": None if number is None else self.work.show(number, person)}

    def answer(self, request: Request, number: int, given: Answer) -> dict[str, Any]:
        """Answer a claimed case; the response includes the machine's answer."""
        person = self.door.person(request, REVIEWER)
        text = {name: "" if value is None else str(value) for name, value in given.model_dump().items()}
        self.work.answer(number, person, _checked(text, self.door.desk.reasons()))
        return {"case": self.work.show(number, person)}


def _status(raised: Exception) -> int:
    known = {NotEnteredError: 401, TakenError: 409, RecordError: 503}
    return int(getattr(raised, "status_code", known.get(type(raised), 400)))


async def _with_headers(request: Request, following: Callable[[Request], Any]) -> Response:
    response: Response = await following(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _shown(value: Any) -> str:
    """Return a value as text in which nothing is invisible."""
    return marked(f"{value:.6g}" if isinstance(value, float) else str(value))


def _wanted(batch: str, age: str, group: str) -> Wanted:
    # More days than this are before any record, and beyond what a date can hold.
    days = float(age) if age.isascii() and age.isdigit() and len(age) < 6 else None
    return Wanted(batch or None, days, group or None)


_NO_LINK = "It is wrong, has expired or was revoked. Ask who runs this desk for a new one."
_NO_SESSION = "Open your personal link to enter the desk."


def _file(name: str, kind: str) -> Callable[[], Response]:
    content = files("aucross.desk").joinpath(name).read_bytes()

    def answer() -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    return answer


def _checked(given: dict[str, str], reasons: list[str]) -> dict[str, Any]:
    """Return an answer as the record takes it, or say what is missing."""
    if not given.get("answer"):
        raise ValueError("choose an answer")
    if (code := given.get("reason_code")) and code not in reasons:
        raise ValueError(f"{code!r} is not on the list of reasons")
    checked: dict[str, Any] = dict(given)
    try:
        checked["replaces"] = int(given.get("replaces") or 0) or None
    except ValueError:
        raise ValueError("replaces must be the number of an answer") from None
    if probability := given.get("probability"):
        try:
            checked["probability"] = float(probability.replace(",", "."))
        except ValueError:
            checked["probability"] = nan
        if not 0.0 <= checked["probability"] <= 1.0:
            raise ValueError(f"the probability must be a number from 0 to 1, got {probability!r}")
    return checked


def band_picture(machine: dict[str, Any]) -> str:
    """Return a small picture of where the score of a case lies against its band; empty without a score."""
    score, lower, upper = (machine[name] for name in ("selection_score", "lower", "upper"))
    if score is None or lower is None or upper is None or lower > upper:
        return ""
    reach = max(upper - lower, abs(score - lower), abs(score - upper), 1e-9)
    start = min(lower, score) - 0.3 * reach
    width = max(upper, score) + 0.3 * reach - start
    at = {name: 10 + 480 * (value - start) / width for name, value in (("s", score), ("l", lower), ("u", upper))}
    label = escape(f"Score {score:.4g}; scores from {lower:.4g} to {upper:.4g} are for review.")
    return (
        f'<svg class="band" viewBox="0 0 500 60" role="img" aria-label="{label}">'
        f'<line class="axis" x1="10" y1="30" x2="490" y2="30"/>'
        f'<rect class="review" x="{at["l"]:.1f}" y="20" width="{at["u"] - at["l"]:.1f}" height="20"/>'
        f'<circle class="score" cx="{at["s"]:.1f}" cy="30" r="7"/></svg>'
    )
