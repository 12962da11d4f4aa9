"""The ASGI application: paths, answers and refusals."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.resources import files
from string import Template
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException as PathError

from aucross.audit.audit_draw import AuditDraw
from aucross.estimators.base import SelectiveClassifier
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.signing import secret_key
from aucross.record import Record, RecordError, watch
from aucross.record.decided_rows import SHADOW
from aucross.serve.decider import Decider, NotRecordedError, OtherRequestError, answers
from aucross.serve.request_guard import RequestGuard, has_token, is_host
from aucross.serve.served_model import (
    AskedCase,
    DecidedBy,
    FinalDecision,
    ManyAnswers,
    OneAnswer,
    Refusal,
    RowDecision,
    ServedModel,
    request_types,
)
from aucross.serve.server_metrics import ServerMetrics
from aucross.serve.webhook import Webhook
from aucross.watch.keeper import CoverageKeeper
from aucross.watch.monitor import CoverageMonitor

logger = logging.getLogger(__name__)

# Names a request: sent again with the same key, it is decided once.
Key = Annotated[str | None, Header(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
_MOST_DETAILS = 20
_MOST_SECONDS = 3_600
_LONGEST_PLACE = 200
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": text}
    for status, text in {
        400: "The body is not whole, or cannot be read.",
        401: "The token is missing or wrong.",
        408: "The body took too long to arrive.",
        413: "The request is too large.",
        421: "The header Host names another server.",
        422: "A value is not what its column takes, or ids are missing or repeated.",
        403: "The coverage is the server's to choose.",
        409: "The key names another request that was decided before.",
        503: "The decision could not be recorded, so that none is given.",
    }.items()
}


@dataclass(frozen=True)
class ServeOptions:
    """Options for serving a model.

    Parameters
    ----------
    record : Record, optional
        Record to which decisions are written before they are sent; close it after the server.
    token : bytes, optional
        Token that callers must send as ``Authorization: Bearer``.
    most_bytes : int, default=1_000_000
        Size of the largest request.
    most_rows : int, default=1_000
        Rows of the largest request.
    body_seconds : float, default=10.0
        Time in which the body of a request must arrive.
    hosts : sequence of str, default=()
        Further names or addresses of the server in the header Host, without a port. Those of this machine (localhost)
        and the address that a caller connects to are always allowed.
    allow_coverage : bool, default=False
        Whether callers may ask for another coverage than the model's; at 1 no case would go to review.
    shadow : SelectiveClassifier, optional
        A second model with the same columns, whose decisions are recorded and never sent.
    webhook : Webhook, optional
        Webhook that receives each final decision that a person makes.
    keep_coverage : bool, default=False
        Whether a :class:`~aucross.CoverageKeeper` moves the band from row to row to keep the model's coverage.
    audit : float in (0, 1], optional
        Share of the automatic cases to draw for review, with the key in ``AUCROSS_AUDIT_KEY_FILE``; needs a record.
        For any case sent to review, the answer then says only that a person decides it.
    unfamiliar : "review", optional
        By default, rows unlike the fitted rows go to a person, and the record says how they differ. With None the
        band decides on them.
    """

    record: Record | None = None
    token: bytes | None = None
    most_bytes: int = 1_000_000
    most_rows: int = 1_000
    body_seconds: float = 10.0
    hosts: Sequence[str] = ()
    allow_coverage: bool = False
    shadow: SelectiveClassifier | None = None
    webhook: Webhook | None = None
    keep_coverage: bool = False
    audit: float | None = None
    unfamiliar: Literal["review"] | None = "review"

    def __post_init__(self) -> None:
        if not 0 < self.body_seconds <= _MOST_SECONDS:
            raise ValueError(f"body_seconds must be in (0, {_MOST_SECONDS}], got {self.body_seconds}; 10 is usual")
        for host in [self.hosts] if isinstance(self.hosts, str) else self.hosts:
            if host is self.hosts or not is_host(host):
                raise ValueError(
                    f"hosts must be names or addresses without scheme and port, got {host!r}; list some as scores.local"
                )
        if self.unfamiliar not in ("review", None):
            raise ValueError(f'unfamiliar must be "review" or None, got {self.unfamiliar!r}')
        if self.audit is not None and self.record is None:
            raise ValueError(f"audit must be None without a record, where draws are kept, got {self.audit}")
        if self.keep_coverage and self.allow_coverage:
            raise ValueError(
                "keep_coverage must be False where callers may ask for another coverage, got True; leave out one of "
                "keep_coverage and allow_coverage"
            )


def make_app(model: ServedModel, options: ServeOptions | None = None) -> RequestGuard:
    """Make an ASGI application that decides on rows; refuse a classifier that fails on an example row.

    Parameters
    ----------
    model : ServedModel
        Model that decides, and the columns it reads.
    options : ServeOptions, optional
        Record, token, limits and names.

    Returns
    -------
    ASGI application
        ``POST /decision`` for one row, ``POST /decisions`` for many, ``GET /health``, ``/metrics``, ``/docs`` and
        ``/openapi.json``. With a record, ``POST /final`` returns the final decision on a case.
    """
    return _Service(model, options or ServeOptions()).guarded()


class _Service:
    """A model, its record, its metrics, and the paths of the application."""

    def __init__(self, model: ServedModel, options: ServeOptions) -> None:
        model.check_scores()
        self._model, self._options = model, options
        clf, record = model.clf, options.record
        self._fingerprints = {"rule_fingerprint": rule_fingerprint(clf), "model_fingerprint": model_fingerprint(clf)}
        self._keeper = CoverageKeeper(clf) if options.keep_coverage else None
        # With a record the run goes on where it was before a restart.
        monitor = CoverageMonitor(clf) if record is None else watch(record, clf, model.labels)[0]
        self._metrics = ServerMetrics(monitor, self._fingerprints, self._keeper)
        self._draw = None if options.audit is None else AuditDraw(clf, options.audit, secret_key())
        made = record, options.shadow, self._keeper
        self._decider = Decider(model, *made, draw=self._draw, sends_unfamiliar=options.unfamiliar is not None)
        self._record_failed = False

    def guarded(self) -> RequestGuard:
        """Return the application behind its request guard."""
        app = FastAPI(
            title="aucross",
            version=import_module("aucross").__version__,
            description="Decides on rows: automatic, or for review by a person.",
            docs_url=None,
            redoc_url=None,
            lifespan=self._running,
        )
        app.router.route_class = _Route
        self._add_paths(app)
        app.add_exception_handler(RequestValidationError, self._invalid)
        app.add_exception_handler(Exception, self._failed)
        app.add_exception_handler(PathError, self._refused)  # paths that do not exist, too
        return RequestGuard(
            app,
            most_bytes=self._options.most_bytes,
            body_seconds=self._options.body_seconds,
            token=self._options.token,
            hosts=self._options.hosts,
            answered=self._metrics.answered,
            refused=self._metrics.refused,
        )

    @asynccontextmanager
    async def _running(self, _app: FastAPI) -> AsyncIterator[None]:
        webhook = self._options.webhook
        telling = None if webhook is None else asyncio.create_task(webhook.run())
        try:
            async with self._decider.working():
                yield
        finally:
            if telling is not None:
                telling.cancel()

    def _add_paths(self, app: FastAPI) -> None:
        one_row, many_rows = request_types(self._model, self._options.most_rows)

        async def decide_one(request: one_row, idempotency_key: Key = None) -> OneAnswer:  # type: ignore[valid-type]
            """Decide on one row."""
            asked: Any = request
            key = idempotency_key or uuid4().hex
            ids = [f"{key}/0" if asked.id is None else asked.id]
            decisions, decided_by = await self._decide(key, ids, [asked.row], asked.coverage)
            return OneAnswer(**decisions[0], decided_by=decided_by)

        async def decide_many(request: many_rows, idempotency_key: Key = None) -> ManyAnswers:  # type: ignore[valid-type]
            """Decide on many rows; answers keep their order."""
            asked: Any = request
            key = idempotency_key or uuid4().hex
            # By the key, so that a request that comes twice has the same ids.
            ids = [f"{key}/{row}" for row in range(len(asked.rows))] if asked.ids is None else asked.ids
            _check_ids(ids, len(asked.rows))
            decisions, decided_by = await self._decide(key, ids, asked.rows, asked.coverage)
            return ManyAnswers(decisions=[RowDecision(**each) for each in decisions], decided_by=decided_by)

        # Annotations are text in this file, and these types exist only here.
        decide_one.__annotations__["request"], decide_many.__annotations__["request"] = one_row, many_rows
        # For the description alone: the guard has compared the token.
        token = [] if self._options.token is None else [Depends(HTTPBearer(auto_error=False, scheme_name="token"))]
        app.post("/decision", responses=_REFUSALS, response_model=OneAnswer, dependencies=token)(decide_one)
        app.post("/decisions", responses=_REFUSALS, response_model=ManyAnswers, dependencies=token)(decide_many)
        if self._options.record is not None:
            app.post("/final", responses=_REFUSALS, response_model=FinalDecision, dependencies=token)(self._final)
        app.get("/health")(self._health)
        app.get("/metrics", include_in_schema=False)(self._metrics_text)
        app.get("/docs", include_in_schema=False)(self._docs)

    async def _final(self, asked: AskedCase) -> FinalDecision:
        """Return the final decision on a case: the automatic one, or the reviewer's once there is one."""
        assert self._options.record is not None
        try:
            case = await asyncio.to_thread(self._options.record.case, asked.id, asked.batch)
        except LookupError:
            raise HTTPException(404, "there is no such case, or it is in several batches; name one") from None
        except RecordError as error:
            logger.error("the record cannot be read: %s", error)
            raise HTTPException(503, "the record cannot be read; ask again later") from None
        return FinalDecision(**{name: case[name] for name in FinalDecision.model_fields})

    async def _decide(
        self, key: str, ids: list[str], rows: list[Any], coverage: float | None
    ) -> tuple[list[dict[str, Any]], DecidedBy]:
        if key.startswith(SHADOW):
            raise HTTPException(422, f"the idempotency key must not begin with {SHADOW!r}, which names other batches")
        own = float(self._model.clf.coverage)
        coverage = own if coverage is None else coverage
        if coverage != own and not self._options.allow_coverage:
            raise HTTPException(
                403, f"this server decides at coverage {own:g}, and callers cannot change it; leave it out"
            )
        try:
            decided = await self._decider.decide(key, ids, rows, coverage)
        except OtherRequestError as error:
            raise HTTPException(409, str(error)) from None
        except NotRecordedError as error:
            self._record_failed = True
            logger.error("the record takes no decisions: %s", error)
            raise HTTPException(
                503, "the decision could not be recorded, so that none is given; ask again later"
            ) from None
        self._record_failed = False
        self._metrics.decided(decided)
        by = DecidedBy(batch=None if self._options.record is None else key, coverage=coverage, **self._fingerprints)
        return answers(self._model, ids, decided, blind=self._draw is not None), by

    # ---- other paths ----

    async def _health(self) -> JSONResponse:
        # A balancer sends no requests until this is well again, so that it cannot wait for one that succeeds.
        if self._record_failed and self._options.record is not None:
            try:
                await asyncio.to_thread(self._options.record.check)
            except Exception:
                return JSONResponse({"status": "the record takes no decisions"}, 503)
            self._record_failed = False
        return JSONResponse({"status": "ok"})

    async def _metrics_text(self) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def _docs(self, request: Request) -> HTMLResponse:
        token, sent = self._options.token, request.headers.get("authorization", "").encode("latin-1")
        return HTMLResponse(_page(self._model if has_token(token, sent) else None, token is not None))

    # ---- refusals ----

    async def _invalid(self, request: Request, error: Any) -> JSONResponse:
        """Return which fields are wrong and what they may hold, but not the values sent, which may be personal."""
        self._metrics.refused("values")
        details = [_detail(each) for each in error.errors()[:_MOST_DETAILS]]
        if isinstance(error.body, bytes):  # it was not read as JSON
            got = "another" if "content-type" in request.headers else "none"
            details = [f"the header Content-Type must be application/json, got {got}"]
        return JSONResponse({"error": "the request is not as described in /openapi.json", "details": details}, 422)

    async def _failed(self, _request: Request, error: Exception) -> JSONResponse:
        """Log what went wrong, and give the caller the number of the log entry."""
        self._metrics.refused("error")
        number = uuid4().hex
        logger.error("request %s failed", number, exc_info=error)
        text = f"the request failed; its number in the server's log is {number}"
        return JSONResponse({"error": text, "details": []}, 500)

    async def _refused(self, _request: Request, error: Any) -> JSONResponse:
        self._metrics.refused("record" if error.status_code == 503 else "other")
        return JSONResponse({"error": str(error.detail), "details": []}, error.status_code)


class _Route(APIRoute):
    """A route that refuses requests whose body repeats a field."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


class _StrictRequest(Request):
    """A request whose body must not repeat a field, because programs could pick different values."""

    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise HTTPException(422, "the body must name each field once, got one twice; send it with one value")
    return fields


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
    """Return a field and its fault."""
    reason = error.get("ctx", {}).get("error")
    if error["type"] == "json_invalid":
        return f"body: must be JSON, and is none from character {error['loc'][-1]} on ({reason})"
    # pydantic puts two words of its own before the text of an error that is raised here.
    text = str(reason) if error["type"] == "value_error" else error["msg"]
    # A field that is not known has the name that the caller chose, which may be long.
    place = ".".join(str(part)[:_LONGEST_PLACE] for part in error["loc"] if part != "body") or "body"
    return f"{place}: {text}"


# A browser sends no token of this kind, so that whoever reads this has come without one.
_TOKEN = (
    "<p>Send the token of this server with each request: <code>Authorization: Bearer ...</code>. With it, this page "
    "lists the columns of a row, too: <code>curl -H &quot;Authorization: Bearer $(cat FILE)&quot; .../docs</code></p>"
)


def _page(model: ServedModel | None, needs_token: bool) -> str:
    """Return the page that explains requests; callers without a token do not see the model's columns."""
    about = ""
    if model is not None:
        example = json.dumps({"id": "A-17", "row": model.example_row()}, indent=2, ensure_ascii=False)
        rows = [
            (escape(name), kind, "no" if name == model.band_group_column else "yes")
            for name, kind in model.fields.items()
        ]
        columns = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        about = (
            f"<h2>Columns of a row</h2><table><tr><th>name</th><th>type</th><th>may be null</th></tr>{columns}</table>"
            f"<p>The labels are {escape(model.labels[0])} and {escape(model.labels[1])}; unless a request says "
            f"otherwise, {model.clf.coverage:.0%} of the rows should be automatic.</p>"
            f"<h2>Example</h2><pre>POST /decision\n{escape(example)}</pre>"
        )
    page = files("aucross.serve").joinpath("how_to_ask.html").read_text(encoding="utf-8")
    return Template(page).substitute(token=_TOKEN if needs_token else "", about=about)
