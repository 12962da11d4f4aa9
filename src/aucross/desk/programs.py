"""The desk over HTTP, for other case systems: the same rules as on the pages; the schema is at ``/api/schema``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request
from pydantic import BaseModel, Field

from aucross.desk.door import Door
from aucross.desk.people import REVIEWER
from aucross.desk.work import Wanted, Work
from aucross.record.record_tables import OPEN_ANSWERS

Days = Annotated[float | None, Query(ge=0, le=100_000)]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The answer is not one: `error` says why."},
    401: {"description": "The header Authorization holds no good token of a personal link: Bearer ..."},
    403: {"description": "Only a reviewer may do this."},
    409: {"description": "The case is with somebody else, or was answered meanwhile."},
    429: {"description": "Too many wrong tokens; wait a minute."},
    503: {"description": "The record cannot be written now; send it again. What is sent twice counts once."},
}


class Answer(BaseModel):
    """An answer to a claimed case."""

    answer: str = Field(description='a class, "cannot decide" or "needs documents"')
    reason_code: str | None = Field(None, description="why, from the team's list")
    probability: float | None = Field(None, ge=0, le=1, description="of the positive class, as the person sees it")
    note: str | None = Field(None, description="why, in words")
    replaces: int | None = Field(None, description="number of the answer that this one changes, after the machine's")


class Given(Answer):
    """An answer that was recorded."""

    number: int
    saw_machine: int | None = Field(description="1 if the machine's answer had been shown")
    time: str


class Machine(BaseModel):
    """The machine's answer; the band lies on the selection score, and `similar` are recent cases with outcomes."""

    prediction: str | None
    score: float | None
    selection_score: float | None
    lower: float | None
    upper: float | None
    reason: str | None
    contributions: list[tuple[str, float]] = Field(description="columns, and by how much each moves the score")
    similar: list[dict[str, str | float | None]]


class Case(BaseModel):
    """A case that the owner of the token holds or has answered."""

    number: int
    id: str | None
    batch: str
    decided_at: str
    due: str | None
    kept: dict[str, Any] = Field(description="columns that were kept")
    classes: list[str]
    answer: Given | None
    machine: Machine | None = Field(None, description="left out until the person has answered")


class OneCase(BaseModel):
    """A case, or null if none is open."""

    case: Case | None


class Queue(BaseModel):
    """Number of waiting cases, and a page of up to 25 of them: number, id, batch, time and due day."""

    count: int
    cases: list[dict[str, int | str | None]]


def add_programs(app: FastAPI, door: Door, work: Work) -> None:
    """Add the addresses for programs to an application."""

    def cases(
        request: Request,
        batch: str | None = None,
        older_than_days: Days = None,
        page: Annotated[int, Query(ge=0, le=100_000)] = 0,
    ) -> dict[str, Any]:
        """List one page of the cases that wait for the owner of the token; pages count from 0."""
        count, found = work.queue(door.person(request, REVIEWER), Wanted(batch, older_than_days), page)
        names = {"number": "case_number", "id": "id", "batch": "name", "since": "time", "due": "due"}
        return {"count": count, "cases": [{name: row[own] for name, own in names.items()} for row in found]}

    def take_next(request: Request, batch: str | None = None, older_than_days: Days = None) -> dict[str, Any]:
        """Claim the next case and return its visible part; `case` is null if none is open."""
        person = door.person(request, REVIEWER)
        number = work.next_case(person, Wanted(batch, older_than_days))
        return {"case": None if number is None else work.show(number, person)}

    def answer(request: Request, number: Annotated[int, Path(ge=1, lt=2**63)], given: Answer) -> dict[str, Any]:
        """Answer a claimed case; the response includes the machine's answer."""
        person = door.person(request, REVIEWER)
        work.answer(number, person, given.model_dump())
        # After "cannot decide" the case is no longer the person's to see.
        return {"case": work.show(number, person) if given.answer not in OPEN_ANSWERS else None}

    shared: dict[str, Any] = {"responses": _REFUSALS, "response_model_exclude_unset": True}
    shared["dependencies"] = [Depends(door.own_page)]
    app.add_api_route("/api/cases", cases, methods=["GET"], response_model=Queue, **shared)
    app.add_api_route("/api/next", take_next, methods=["POST"], response_model=OneCase, **shared)
    app.add_api_route("/api/cases/{number}/answer", answer, methods=["POST"], response_model=OneCase, **shared)
