"""Find out who makes a request (by a session, a personal token or a proxy's header), and refuse forged forms."""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from fastapi import HTTPException, Request

from aucross.desk.people import Desk, Person, form_token

COOKIE = "aucross_desk"
# Wrong links and forms in a minute, after which an address or a session must wait.
_MOST_WRONG = 10
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True)
class Proxy:
    """A proxy that signs people in.

    Attributes
    ----------
    header : str
        Name of the header that holds the person's name.
    secret : bytes or None
        Secret that the proxy must send as ``X-Desk-Secret``; otherwise the header is ignored. With None the header is
        believed only in requests through a Unix socket.
    """

    header: str
    secret: bytes | None = None


class Door:
    """Finds out who makes a request, and refuses strangers."""

    def __init__(self, desk: Desk, proxy: Proxy | None) -> None:
        self.desk = desk
        self._proxy = proxy
        # Forms of people whom a proxy names: no other person can compute their token.
        self._key = ((proxy and proxy.secret) or secrets.token_bytes(32)).hex()
        self._wrong: dict[str, deque[float]] = {}

    def person(self, request: Request, role: str | None = None) -> Person:
        """Return the person who makes the request; with a role, refuse people of other roles."""
        person = self._by_proxy(request) or self._by_token(request) or self.desk.session_of(self.session(request))
        if person is None:
            raise HTTPException(401, "open your personal link to enter the desk")
        if role is not None and person.role != role:
            raise HTTPException(403, f"only a {role} may do this")
        return person

    @staticmethod
    def session(request: Request) -> str:
        """Return the token of the session, empty if there is none."""
        return request.cookies.get(COOKIE, "")

    def _name_by_proxy(self, request: Request) -> str | None:
        """Return the name that the proxy gives; None if the request does not come from the proxy."""
        if self._proxy is None:
            return None
        if self._proxy.secret is None:
            # A Unix socket has a path instead of an address and a port.
            is_proxy = request.client is None and (request.scope.get("server") or ("", None))[1] is None
        else:
            given = request.headers.get("x-desk-secret", "").encode("latin-1", "replace")
            is_proxy = hmac.compare_digest(given, self._proxy.secret)
        if not is_proxy:
            return None
        # Of two headers one may be the visitor's own, which the proxy passed on.
        named = request.headers.getlist(self._proxy.header)
        name = named[0] if len(named) == 1 else ""
        with suppress(UnicodeError):
            # Headers are read as Latin-1, and proxies write UTF-8.
            name = name.encode("latin-1").decode()
        return name

    def _by_proxy(self, request: Request) -> Person | None:
        name = self._name_by_proxy(request)
        person = None if name is None else self.desk.named(name)
        if name is not None and person is None:
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

    def slow_down(self, request: Request, session: str = "") -> deque[float]:
        """Refuse a session or address with too many failed attempts; return the times of its failures."""
        who = session or (request.client.host if request.client else "")
        if len(self._wrong) > _MOST_REMEMBERED:
            self._wrong.clear()
        mistakes, start = self._wrong.setdefault(who, deque(maxlen=_MOST_WRONG)), monotonic() - 60.0
        while mistakes and mistakes[0] < start:
            mistakes.popleft()
        if len(mistakes) >= _MOST_WRONG:
            raise HTTPException(429, "too many wrong attempts; wait a minute")
        return mistakes

    def form_token(self, request: Request) -> str:
        """Return the token that must be in the forms of the person who makes the request."""
        name = self._name_by_proxy(request)
        return form_token(self.session(request) if name is None else f"{self._key} {name}")

    async def own_form(self, request: Request) -> None:
        """Refuse a form that this desk did not give to this person."""
        expected = self.form_token(request)
        mistakes = self.slow_down(request, expected)
        form = await request.form()
        if not hmac.compare_digest(str(form.get("form_token", "")).encode(), expected.encode()):
            mistakes.append(monotonic())
            raise HTTPException(403, "this form is not of your session; open the page again")

    @staticmethod
    async def own_page(request: Request) -> None:
        """Refuse requests that a page of another site makes, such as a link that would sign you in as somebody else."""
        if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            raise HTTPException(403, "this was sent from another site; open the page of the desk")
