"""The application: paths, answers and refusals."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException as PathError

from aucross.core.bands import check_coverage
from aucross.deploy.fingerprints import model_fingerprint, rule_fingerprint
from aucross.deploy.log import DecisionLog
from aucross.deploy.monitor import CoverageMonitor
from aucross.serve.answers import answers
from aucross.serve.deciding import Decided, Decider, NotLoggedError
from aucross.serve.guard import Guard
from aucross.serve.metrics import ServerMetrics
from aucross.serve.page import page
from aucross.serve.rows import DecidedBy, ManyAnswers, OneAnswer, Refusal, RowDecision, ServedModel, request_types

logger = logging.getLogger(__name__)

_MOST_DETAILS = 20
_REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Refusal, "description": "The token is missing or wrong."},
    413: {"model": Refusal, "description": "The request is too large."},
    422: {"model": Refusal, "description": "A value is not what its column takes, or ids are missing or repeated."},
    503: {"model": Refusal, "description": "The decision could not be logged, so that none is given."},
}


@dataclass(frozen=True)
class ServeOptions:
    """How a model is served.

    Parameters
    ----------
    log : path-like or DecisionLog, optional
        Where decisions are logged: a file that ends in ``.csv``, or a folder for Parquet. A log that is open already
        stays so; whoever opened it closes it after the server.
    token : bytes, optional
        What callers must send as ``Authorization: Bearer``.
    most_bytes : int, default=1_000_000
        Size of the largest request.
    most_rows : int, default=1_000
        Rows of the largest request.
    """

    log: Path | DecisionLog | None = None
    token: bytes | None = None
    most_bytes: int = 1_000_000
    most_rows: int = 1_000


def make_app(model: ServedModel, options: ServeOptions | None = None) -> Guard:
    """Make an ASGI application that decides on rows.

    Parameters
    ----------
    model : ServedModel
        What decides, and which columns it reads.
    options : ServeOptions, optional
        Log, token and limits.

    Returns
    -------
    ASGI application
        ``POST /decision`` for one row, ``POST /decisions`` for many, ``GET /health``, ``/metrics``, ``/docs`` and
        ``/openapi.json``. The log is open from its start to its end.

    Raises
    ------
    ValueError
        If the classifier fails at an example of the rows that it would be sent.
    """
    return _Service(model, options or ServeOptions()).guarded()


class _Service:
    """A model, its log, its metrics, and the paths by which they are reached."""

    def __init__(self, model: ServedModel, options: ServeOptions) -> None:
        model.check_scores()
        self._model = model
        self._options = options
        self._fingerprints = {
            "rule_fingerprint": rule_fingerprint(model.clf),
            "model_fingerprint": model_fingerprint(model.clf),
        }
        self._metrics = ServerMetrics(CoverageMonitor(model.clf), self._fingerprints)
        self._decider: Decider | None = None
        self._log_error: str | None = None

    def guarded(self) -> Guard:
        """The application behind its guard."""
        app = FastAPI(
            title="aucross",
            version=import_module("aucross").__version__,
            description="Decides on rows: automatic, or for review by a person.",
            docs_url=None,
            redoc_url=None,
            lifespan=self._running,
        )
        self._add_paths(app)
        app.add_exception_handler(RequestValidationError, self._invalid)
        app.add_exception_handler(Exception, self._failed)
        app.add_exception_handler(PathError, self._refused)  # paths that do not exist, too
        return Guard(
            app,
            most_bytes=self._options.most_bytes,
            token=self._options.token,
            answered=self._metrics.answered,
            refused=self._metrics.refused,
        )

    @asynccontextmanager
    async def _running(self, _app: FastAPI) -> AsyncIterator[None]:
        with self._open_log() as log:
            self._decider = Decider(self._model, log)
            self._decider.start()
            try:
                yield
            finally:
                await self._decider.stop()

    def _open_log(self) -> AbstractContextManager[DecisionLog | None]:
        log = self._options.log
        if log is None or isinstance(log, DecisionLog):
            return nullcontext(log)
        return DecisionLog(log, self._model.clf)

    def _add_paths(self, app: FastAPI) -> None:
        one_row, many_rows = request_types(self._model, self._options.most_rows)

        async def decide_one(request: one_row) -> OneAnswer:  # type: ignore[valid-type]
            """Decide on one row."""
            asked: Any = request
            ids = [uuid4().hex if asked.id is None else asked.id]
            decided = await self._decide(ids, [asked.row], asked.coverage)
            return OneAnswer(**answers(self._model, ids, decided)[0], decided_by=self._decided_by(decided))

        async def decide_many(request: many_rows) -> ManyAnswers:  # type: ignore[valid-type]
            """Decide on many rows; the answers have their order."""
            asked: Any = request
            ids = [uuid4().hex for _ in asked.rows] if asked.ids is None else asked.ids
            _check_ids(ids, len(asked.rows))
            decided = await self._decide(ids, asked.rows, asked.coverage)
            return ManyAnswers(
                decisions=[RowDecision(**answer) for answer in answers(self._model, ids, decided)],
                decided_by=self._decided_by(decided),
            )

        # Annotations are text in this file, and these types exist only here.
        decide_one.__annotations__["request"], decide_many.__annotations__["request"] = one_row, many_rows
        app.post("/decision", responses=_REFUSALS, response_model=OneAnswer)(decide_one)
        app.post("/decisions", responses=_REFUSALS, response_model=ManyAnswers)(decide_many)
        app.get("/health")(self._health)
        app.get("/metrics", include_in_schema=False)(self._metrics_text)
        app.get("/docs", include_in_schema=False)(self._docs)

    async def _decide(self, ids: list[str], rows: list[Any], coverage: float | None) -> Decided:
        assert self._decider is not None
        coverage = check_coverage(self._model.clf.coverage if coverage is None else coverage)
        try:
            decided = await self._decider.decide(ids, rows, coverage)
        except NotLoggedError as error:
            self._log_error = str(error)
            logger.error("the log takes no decisions: %s", error)
            raise HTTPException(
                503, "the decision could not be logged, so that none is given; ask again later"
            ) from None
        self._log_error = None
        self._metrics.decided(decided)
        return decided

    def _decided_by(self, decided: Decided) -> DecidedBy:
        assert decided.decisions.coverage is not None
        return DecidedBy(coverage=decided.decisions.coverage, **self._fingerprints)

    # ---- other paths ----

    async def _health(self) -> JSONResponse:
        """Whether decisions can be given."""
        # A balancer sends no requests until this is well again, so that it cannot wait for one that succeeds.
        if self._log_error is not None and not await self._log_is_well():
            return JSONResponse({"status": "the log takes no decisions"}, 503)
        return JSONResponse({"status": "ok"})

    async def _log_is_well(self) -> bool:
        assert self._decider is not None
        try:
            await self._decider.check_log()
        except NotLoggedError as error:
            self._log_error = str(error)
            return False
        self._log_error = None
        return True

    async def _metrics_text(self) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def _docs(self) -> HTMLResponse:
        return HTMLResponse(page(self._model, self._options.token is not None))

    # ---- refusals ----

    async def _invalid(self, request: Request, error: Any) -> JSONResponse:
        """Name the fields that are wrong, and what they take; never the values, which may be those of a person."""
        self._metrics.refused("values")
        details = [_detail(each) for each in error.errors()[:_MOST_DETAILS]]
        if isinstance(error.body, bytes):  # it was not read as JSON
            got = "another" if "content-type" in request.headers else "none"
            details = [f"the header Content-Type must be application/json, got {got}"]
        return JSONResponse({"error": "the request is not as described in /openapi.json", "details": details}, 422)

    async def _failed(self, _request: Request, error: Exception) -> JSONResponse:
        """Tell the log of the server what went wrong, and the caller where to find it there."""
        self._metrics.refused("error")
        number = uuid4().hex
        logger.error("request %s failed", number, exc_info=error)
        text = f"the request failed; its number in the server's log is {number}"
        return JSONResponse({"error": text, "details": []}, 500)

    async def _refused(self, _request: Request, error: Any) -> JSONResponse:
        self._metrics.refused("log" if error.status_code == 503 else "other")
        return JSONResponse({"error": str(error.detail), "details": []}, error.status_code)


def _check_ids(ids: list[str], n_rows: int) -> None:
    if len(ids) != n_rows:
        raise HTTPException(422, f"ids must name each row, got {len(ids)} for {n_rows} rows")
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        # The place and not the id, which may be that of a person.
        if (earlier := first.setdefault(name, row)) != row:
            raise HTTPException(
                422, f"ids must differ within a request, got one for rows {earlier} and {row} (from 0); name each once"
            )


def _detail(error: Any) -> str:
    """A field and what is wrong with it."""
    reason = error.get("ctx", {}).get("error")
    if error["type"] == "json_invalid":
        return f"body: must be JSON, and is none from character {error['loc'][-1]} on ({reason})"
    # pydantic puts two words of its own before the text of an error that is raised here.
    text = str(reason) if error["type"] == "value_error" else error["msg"]
    return f"{_place(error['loc'])}: {text}"


def _place(location: Any) -> str:
    return ".".join(str(part) for part in location if part != "body") or "body"
