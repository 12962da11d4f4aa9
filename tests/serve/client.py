"""A client for an ASGI application in this process, which is started and ended as a server does it."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import httpx


class Client:
    """Starts an application on entry, asks it in its own event loop, and ends it on exit."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._runner.__enter__()
        self._runner.run(self._start())
        return self

    def __exit__(self, *exception: object) -> None:
        self._runner.run(self._end())
        self._runner.__exit__(*exception)

    async def _start(self) -> None:
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self._told: asyncio.Queue[Any] = asyncio.Queue()
        self._life = asyncio.create_task(self._app({"type": "lifespan"}, self._events.get, self._told.put))
        await self._events.put({"type": "lifespan.startup"})
        told = await self._told.get()
        assert told["type"] == "lifespan.startup.complete", told
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url="http://localhost")

    async def _end(self) -> None:
        await self._http.aclose()
        await self._events.put({"type": "lifespan.shutdown"})
        await self._life

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._runner.run(self._http.get(path, **options))

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self._runner.run(self._http.post(path, **options))
