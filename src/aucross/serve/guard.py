"""What stands before every request: who may ask, and how much may be sent."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import perf_counter
from typing import Any

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Asgi = Callable[[Any, Receive, Send], Awaitable[None]]

# Asked for by machines that start and stop servers, and says nothing about the model.
OPEN_PATHS = ("/health",)


class Guard:
    """Checks token and size of each request, and counts it.

    Parameters
    ----------
    app : ASGI application
        What stands behind.
    most_bytes : int
        Size of the largest body.
    token : bytes or None
        What a caller must send as ``Authorization: Bearer``; None lets everyone ask.
    answered : callable
        Hears of path, status and seconds of each request.
    refused : callable
        Hears why a request was refused.
    """

    def __init__(
        self,
        app: Asgi,
        *,
        most_bytes: int,
        token: bytes | None,
        answered: Callable[[str, int, float], None],
        refused: Callable[[str], None],
    ) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._token = token
        self._answered = answered
        self._refused = refused

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
            await self._guarded(scope, receive, sending)
        finally:
            route = scope.get("route")
            # Paths that do not exist share a name: a caller must not fill the metrics.
            self._answered(getattr(route, "path", "other"), status, perf_counter() - start)

    async def _guarded(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if scope["path"] not in OPEN_PATHS and not self._may_ask(headers.get(b"authorization", b"")):
            await self._refuse(send, 401, "token", "the header Authorization must hold the token: Bearer ...")
            return
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self._most_bytes or (body := await self._body(receive)) is None:
            text = f"the request must have at most {self._most_bytes:,} bytes; send fewer rows at a time"
            await self._refuse(send, 413, "size", text)
            return
        # An application of Starlette answers when it fails, and then raises the error for others to see.
        with suppress(Exception):
            await self._app(scope, _once(body, receive), send)

    def _may_ask(self, authorization: bytes) -> bool:
        # All bytes are compared, however many agree, so that the time tells nothing.
        return self._token is None or hmac.compare_digest(authorization, b"Bearer " + self._token)

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None if it has too many bytes, whatever its header says."""
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._most_bytes:
                return None
            if not message.get("more_body", False):
                return bytes(body)

    async def _refuse(self, send: Send, status: int, reason: str, text: str) -> None:
        self._refused(reason)
        body = json.dumps({"error": text, "details": []}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status == 413:
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _once(body: bytes, receive: Receive) -> Receive:
    """Hand over a body that has been read, then what comes after it."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Any:
        return messages.pop() if messages else await receive()

    return next_message
