"""Commands for people who oversee decisions or make them: the oversight report, and the desk."""

# ruff: noqa: RUF009  (the calls make fields)

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from aucross.cli.app import command
from aucross.cli.command_options import column, file, option
from aucross.cli.errors import CommandError, UsageError, opened
from aucross.cli.record_app import RecordSource
from aucross.cli.screen import Screen
from aucross.system.libraries import import_library


@dataclass(frozen=True, kw_only=True)
class OversightOptions:
    """Options of `aucross oversight`."""

    record: RecordSource
    out: Annotated[Path, typer.Option(metavar="FILE", help="A page (.html), .md or .json.")]
    title: str | None = option("Title of the page.", metavar="TEXT")
    promised_auc: float | None = option("AUC that was promised for automatic decisions.", metavar="AUC")
    validated_auc: float | None = option("AUC of the initial validation.", metavar="AUC")
    validated_error: float = option("Standard error of the initial validation.", 0.0, metavar="NUMBER")
    by: list[str] | None = column("A kept column whose groups are compared.")
    costs: tuple[float, float, float] | None = option(
        "What these cost, for the costs of a case.", metavar="MISSED ALARM REVIEW"
    )
    model: Path | None = option("Gives the AUC that is expected without labels.", metavar="MODEL")
    hide_people: bool = option("Leave out reviewers, and the time that they took.", False)


@command("aucross oversight cases.db --out oversight.html --promised-auc 0.8 --by region")
def oversight(screen: Screen, options: OversightOptions) -> dict[str, Any]:
    """Write the report for a risk committee: what was decided, how well, by whom, and what changed."""
    from aucross.cli.schema import load_model  # noqa: PLC0415
    from aucross.report.oversight import build_oversight  # noqa: PLC0415
    from aucross.report.oversight_page import write_oversight  # noqa: PLC0415

    out = options.out
    if out.suffix not in {".html", ".md", ".json"}:
        raise UsageError(f"--out must end in .html, .md or .json, got {out.name}")
    asked: dict[str, Any] = {name: getattr(options, name) for name in ("promised_auc", "hide_people", "costs")}
    if options.model is not None:
        asked["clf"] = load_model(options.model)[0]
    if options.title is not None:
        asked["title"] = options.title
    if options.validated_auc is not None:
        asked["validated_auc"] = (options.validated_auc, options.validated_error)
    with opened(options.record) as source:
        found = build_oversight(source, by=options.by or (), **asked)
    write_oversight(found, out)
    for told in ("decided", "audit", "promise", "effect", "strip", "trend", "drift", "integrity"):
        screen.say(found[told]["sentence"])
    screen.say(f"Written to {out}.")
    return {"command": "oversight", "record": options.record, "out": str(out), **found}


@dataclass(frozen=True, kw_only=True)
class DeskOptions:
    """Options of `aucross desk`."""

    record: RecordSource
    host: str = option("An address of this machine.", "127.0.0.1", metavar="ADDRESS")
    port: int = option("0 takes a free one.", 8001, metavar="NUMBER")
    allow_host: list[str] | None = option("A name under which browsers reach it.", metavar="NAME")
    hold_minutes: float = option("How long an opened case is kept for a person.", 30.0, metavar="MINUTES")
    second_reviews: float = option("Share of cases that two people answer.", 0.0, metavar="SHARE")
    second_for: str | None = option("Two people answer overrides from this amount on.", metavar="COLUMN=AMOUNT")
    by: str | None = column("A kept column by whose groups the queue is filtered.")
    capacity: int | None = option("Cases a day that people can take.", metavar="NUMBER")
    show_machine: bool = option("Show the machine's answer first; audits are then not blind.", False)
    no_looks: bool = option("Do not record who looked at which case.", False)
    proxy_header: str | None = option("Header in which a proxy names the person.", metavar="NAME")
    proxy_secret_file: Path | None = file("What the proxy sends as X-Desk-Secret.")
    unix_socket: Path | None = option("A Unix socket, instead of --host and --port.", metavar="FILE", name="--socket")


@command("aucross desk cases.db")
def desk(screen: Screen, options: DeskOptions) -> dict[str, Any]:
    """Serve pages on which people decide the cases that wait."""
    from aucross.cli.serve import check_host, listening, secret_in  # noqa: PLC0415

    uvicorn = import_library("uvicorn", purpose="aucross desk", extra="desk")
    parts: Any = import_library("aucross.desk", purpose="aucross desk", extra="desk")
    if not 0.0 <= options.second_reviews <= 1.0 or options.hold_minutes <= 0.0:
        raise UsageError("--second-reviews must be in [0, 1] and --hold-minutes above 0")
    host, unix_socket, header = options.host, options.unix_socket, options.proxy_header
    if unix_socket is None and (header is None) != (options.proxy_secret_file is None):
        raise UsageError(
            "--proxy-header and --proxy-secret-file go together, since a header alone anyone can send; "
            "or listen on a Unix socket that only the proxy can reach, with --socket"
        )
    secret = secret_in(options.proxy_secret_file, "--proxy-secret-file")
    check_host(host, secret)
    made_by = {"shows_machine": options.show_machine, "keeps_looks": not options.no_looks, "by": options.by}
    rules = parts.Rules(options.hold_minutes, options.second_reviews, _large(options.second_for), **made_by)
    proxy = None if header is None else parts.Proxy(header, secret)
    if options.show_machine:
        screen.note("people see the machine's answer before they give theirs, so audits are not blind")
    listener = listening(host, options.port) if unix_socket is None else _listening_on(unix_socket)
    with opened(options.record) as source, listener:
        hosts = (host, *(options.allow_host or ()))
        # Under another name than this machine's own browsers come through a proxy, which must speak HTTPS.
        is_secure = bool(proxy or options.allow_host)
        served = {"proxy": proxy, "secure_cookies": is_secure, "capacity": options.capacity}
        app = parts.create_desk(parts.Desk(source), rules, hosts=hosts, **served)
        address = f"http://{host}:{listener.getsockname()[1]}" if unix_socket is None else f"unix:{unix_socket}"
        screen.say(f"The desk is at {address}; people enter with links of aucross desk-access. Ctrl-C ends it.")
        screen.document({"command": "desk", "record": options.record, "address": address}, in_one_line=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, ws="none")
        uvicorn.Server(config).run(sockets=[listener])
    return {}


def _large(text: str | None) -> tuple[str, float] | None:
    if text is None:
        return None
    column, _, amount = text.rpartition("=")
    if not column or not amount.replace(".", "", 1).isdigit():
        raise UsageError(f"--second-for must name a kept column and an amount, such as amount=10000, got {text!r}")
    return column, float(amount)


def _listening_on(path: Path) -> socket.socket:
    """Return a Unix socket that owner and group may use; replace one that an earlier desk left behind."""
    if path.is_socket():
        path.unlink()
    listener, before = socket.socket(socket.AF_UNIX), os.umask(0o117)
    try:
        listener.bind(str(path))
        listener.listen(200)
    except OSError as error:
        listener.close()
        raise CommandError(f"--socket: cannot listen at {path} ({error.strerror}); name another file") from None
    finally:
        os.umask(before)
    return listener


@command("aucross desk-access cases.db add Ann --role reviewer")
def desk_access(
    screen: Screen,
    *,
    record: RecordSource,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="add, revoke or list.")],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Whom.")] = None,
    role: Annotated[str, typer.Option(metavar="ROLE", help="reviewer or validator.")] = "reviewer",
    address: Annotated[
        str, typer.Option(metavar="URL", help="Where the desk is; the link begins with it.")
    ] = "http://127.0.0.1:8001",
    days: Annotated[float, typer.Option(metavar="DAYS", help="How long the link is good.")] = 30.0,
) -> dict[str, Any]:
    """Give a person a link to the desk, take it away, or list who has one."""
    parts: Any = import_library("aucross.desk", purpose="aucross desk-access", extra="desk")
    if action not in {"add", "revoke", "list"} or (action == "list") != (name is None):
        raise UsageError("say add NAME, revoke NAME or list")
    told: dict[str, Any] = {"command": "desk-access", "record": record}
    with opened(record) as source:
        made = parts.Desk(source, link_days=days)
        try:
            if action == "add":
                link = f"{address.rstrip('/')}/enter/{made.add_person(name, role)}"
                screen.say(f"{name} enters with this link, which is shown once and good for {days:g} days:")
                screen.say(link)
                return {**told, "name": name, "role": role, "link": link}
            if action == "revoke":
                made.revoke(name)
                screen.say(f"{name} can no longer enter.")
        except ValueError as error:
            raise CommandError(str(error)) from None
        people = [{"name": person.name, "role": person.role} for person in made.people()]
    for person in people if action == "list" else ():
        screen.say(f"{person['name']} ({person['role']})")
    return {**told, "people": people}
