"""Check every request before the application sees it: host, token, size and time."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from time import perf_counter
from typing import Any

from starlette.responses import JSONResponse

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Asgi = Callable[[Any, Receive, Send], Awaitable[None]]

# The first is asked for by machines that start and stop servers, and says nothing about the model. The second is what a
# person opens in a browser, which sends no token: then it says how to send one, and nothing about the model either.
OPEN_PATHS = ("/health", "/docs")

# Bodies that arrive at one time, and the bytes that all of them may hold.
_MOST_BODIES = 1_000
_MOST_HELD = 32_000_000

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]*)?")


class _RefusedError(Exception):
    """Refusal of a request before it reaches the application."""

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.status, self.reason = status, reason


class RequestGuard:
    """ASGI application that checks requests before another one answers, with the limits of :class:`ServeOptions`.

    Calls `answered` with path, status and seconds of each request, and `refused` with the reason of each refusal.
    """

    def __init__(
        self,
        app: Asgi,
        *,
        most_bytes: int,
        body_seconds: float,
        hosts: Iterable[str],
        token: bytes | None = None,
        answered: Callable[[str, int, float], None] = lambda *_: None,
        refused: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._app, self._token = app, token
        self._most_bytes, self._body_seconds = most_bytes, body_seconds
        self._hosts = {_plain_address(host.lower()) for host in (*hosts, "localhost")}
        self._too_large = f"the request must have at most {most_bytes:,} bytes; send fewer rows at a time"
        self._answered, self._refused = answered, refused
        # Bodies that arrive, those that began first in front.
        self._arriving: dict[asyncio.Timeout, bytearray] = {}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = perf_counter(), 500

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            body = [{"type": "http.request", "body": await self._checked_body(scope, receive), "more_body": False}]

            async def receiving() -> Any:
                return body.pop() if body else await receive()

            # An application of Starlette answers when it fails, and then raises the error for others to see.
            with suppress(Exception):
                await self._app(scope, receiving, sending)
        except _RefusedError as refused:
            self._refused(refused.reason)
            headers = {"connection": "close"}  # the rest of the body is not read
            if refused.status == 401:
                headers["www-authenticate"] = "Bearer"
            answer = JSONResponse({"error": str(refused), "details": []}, refused.status, headers)
            await answer(scope, receive, sending)
        finally:
            route = scope.get("route")
            # Paths that do not exist share a name: a caller must not fill the metrics.
            self._answered(getattr(route, "path", "other"), status, perf_counter() - start)

    async def _checked_body(self, scope: Any, receive: Receive) -> bytes:
        """Return the whole body of a request; refuse a wrong host, a wrong token or an oversized body."""
        if not self._is_meant(scope):
            # A page of another site can have its own name lead here, and then ask in the name of its visitor.
            raise _RefusedError(
                421, "host", "the header Host must name this server; serve it with --allow-host NAME under other names"
            )
        headers = dict(scope["headers"])
        if scope["path"] not in OPEN_PATHS and not has_token(self._token, headers.get(b"authorization", b"")):
            raise _RefusedError(401, "token", "the header Authorization must hold the token: Bearer ...")
        declared = headers.get(b"content-length")
        if declared is not None and not (declared.isdigit() and len(declared) < 20):
            raise _RefusedError(400, "unfinished", "the header Content-Length must be the size of the body in bytes")
        if declared is not None and int(declared) > self._most_bytes:
            raise _RefusedError(413, "size", self._too_large)
        body = await self._body(receive)
        if body is None or (declared is not None and int(declared) != len(body)):
            raise _RefusedError(400, "unfinished", "the body must be as long as the header says; send it whole")
        return body

    def _is_meant(self, scope: Any) -> bool:
        """Return whether the header Host names this machine, the address that was connected to, or an allowed name."""
        named = [value for name, value in scope["headers"] if name == b"host"]
        match = _HOST.fullmatch(named[0].decode("latin-1").lower()) if len(named) == 1 else None
        if match is None:
            return False
        host = _plain_address(match[1])
        if host in self._hosts:
            return True
        with suppress(ValueError):
            return ip_address(host).is_loopback or host == _plain_address((scope.get("server") or [""])[0])
        return False

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the whole body; None if the caller disconnects early."""
        body, most_held = bytearray(), max(_MOST_HELD, 2 * self._most_bytes)
        try:
            async with asyncio.timeout(self._body_seconds) as limit:
                self._arriving[limit] = body
                while True:
                    # Requests that have been arriving longest end if there are too many, or if they fill the memory.
                    while len(self._arriving) > _MOST_BODIES or sum(map(len, self._arriving.values())) > most_held:
                        longest = next(iter(self._arriving))
                        del self._arriving[longest]
                        if not longest.expired():
                            longest.reschedule(0)
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self._most_bytes:
                        raise _RefusedError(413, "size", self._too_large)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            in_time = f"within {self._body_seconds:g} seconds, and sooner while many others do"
            text = f"the body must arrive {in_time}; send it again, or fewer rows at a time"
            raise _RefusedError(408, "time", text) from None
        finally:
            self._arriving.pop(limit, None)


def has_token(token: bytes | None, authorization: bytes) -> bool:
    """Return whether a caller has sent the right token, or needs none."""
    # All bytes are compared, however many agree, so that the time tells nothing.
    return token is None or hmac.compare_digest(authorization, b"Bearer " + token)


def is_host(host: Any) -> bool:
    """Return whether a value is a host name or an address, without scheme and port."""
    with suppress(ValueError):
        return isinstance(host, str) and bool(ip_address(host.removeprefix("[").removesuffix("]")))
    match = _HOST.fullmatch(host.lower())
    return match is not None and match[2] is None


def _plain_address(host: str) -> str:
    """Return an address in its standard spelling, without brackets, and a name unchanged."""
    host = host.removeprefix("[").removesuffix("]")
    with suppress(ValueError):
        address = ip_address(host)
        return str(getattr(address, "ipv4_mapped", None) or address)
    return host
