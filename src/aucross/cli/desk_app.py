"""The commands of those who watch and decide: the oversight report, and the desk."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from aucross.cli.app import command
from aucross.cli.errors import CommandError, UsageError, opened
from aucross.cli.record_app import RecordSource
from aucross.cli.screen import Screen
from aucross.system.libraries import import_library


@command("aucross oversight cases.db --out oversight.html --promised-auc 0.8 --by region")
def oversight(
    screen: Screen,
    *,
    record: RecordSource,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A page (.html), .md or .json.")],
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the page.")] = None,
    promised_auc: Annotated[
        float | None,
        typer.Option("--promised-auc", metavar="AUC", help="AUC that was promised for automatic decisions."),
    ] = None,
    validated_auc: Annotated[
        float | None, typer.Option("--validated-auc", metavar="AUC", help="AUC of the initial validation.")
    ] = None,
    validated_error: Annotated[
        float, typer.Option("--validated-error", metavar="NUMBER", help="Standard error of the initial validation.")
    ] = 0.0,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="A kept column whose groups are compared.")
    ] = None,
    costs: Annotated[
        tuple[float, float, float] | None,
        typer.Option("--costs", metavar="MISSED ALARM REVIEW", help="What these cost, for the costs of a case."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Gives the AUC that is expected without labels.")
    ] = None,
    hide_people: Annotated[
        bool, typer.Option("--hide-people", help="Leave out reviewers, and the time that they took.")
    ] = False,
) -> dict[str, Any]:
    """Write the report for a risk committee: what was decided, how well, by whom, and what changed."""
    from aucross.cli.schema import load_model  # noqa: PLC0415
    from aucross.report.oversight import build_oversight  # noqa: PLC0415
    from aucross.report.oversight_page import write_oversight  # noqa: PLC0415

    if out.suffix not in {".html", ".md", ".json"}:
        raise UsageError(f"--out must end in .html, .md or .json, got {out.name}")
    options: dict[str, Any] = {"promised_auc": promised_auc, "by": by or (), "hide_people": hide_people}
    options["costs"] = costs
    if model is not None:
        options["clf"] = load_model(model)[0]
    if title is not None:
        options["title"] = title
    if validated_auc is not None:
        options["validated_auc"] = (validated_auc, validated_error)
    with opened(record) as source:
        found = build_oversight(source, **options)
    write_oversight(found, out)
    for told in ("audit", "effect", "strip", "trend", "drift", "integrity"):
        screen.say(found[told]["sentence"])
    screen.say(f"Written to {out}.")
    return {"command": "oversight", "record": record, "out": str(out), **found}


@command("aucross desk cases.db")
def desk(
    screen: Screen,
    *,
    record: RecordSource,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="An address of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="NUMBER", help="0 takes a free one.")] = 8001,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name under which browsers reach it.")
    ] = None,
    hold_minutes: Annotated[
        float, typer.Option("--hold-minutes", metavar="MINUTES", help="How long an opened case is kept for a person.")
    ] = 30.0,
    second_reviews: Annotated[
        float, typer.Option("--second-reviews", metavar="SHARE", help="Share of cases that two people answer.")
    ] = 0.0,
    second_for: Annotated[
        str | None,
        typer.Option("--second-for", metavar="COLUMN=AMOUNT", help="Two people answer overrides from this amount on."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="A kept column by whose groups the queue is filtered.")
    ] = None,
    capacity: Annotated[
        int | None, typer.Option("--capacity", metavar="NUMBER", help="Cases a day that people can take.")
    ] = None,
    show_machine: Annotated[
        bool, typer.Option("--show-machine", help="Show the machine's answer first; audits are then not blind.")
    ] = False,
    no_looks: Annotated[bool, typer.Option("--no-looks", help="Do not record who looked at which case.")] = False,
    proxy_header: Annotated[
        str | None, typer.Option("--proxy-header", metavar="NAME", help="Header in which a proxy names the person.")
    ] = None,
    proxy_secret_file: Annotated[
        Path | None, typer.Option("--proxy-secret-file", metavar="FILE", help="What the proxy sends as X-Desk-Secret.")
    ] = None,
    unix_socket: Annotated[
        Path | None, typer.Option("--socket", metavar="FILE", help="A Unix socket, instead of --host and --port.")
    ] = None,
) -> dict[str, Any]:
    """Serve pages on which people decide the cases that wait."""
    from aucross.cli.serve import check_host, listening, secret_in  # noqa: PLC0415

    uvicorn = import_library("uvicorn", purpose="aucross desk", extra="desk")
    parts: Any = import_library("aucross.desk", purpose="aucross desk", extra="desk")
    if not 0.0 <= second_reviews <= 1.0 or hold_minutes <= 0.0:
        raise UsageError("--second-reviews must be in [0, 1] and --hold-minutes above 0")
    if unix_socket is None and (proxy_header is None) != (proxy_secret_file is None):
        raise UsageError(
            "--proxy-header and --proxy-secret-file go together, since a header alone anyone can send; "
            "or listen on a Unix socket that only the proxy can reach, with --socket"
        )
    secret = secret_in(proxy_secret_file, "--proxy-secret-file")
    check_host(host, secret)
    made_by = {"shows_machine": show_machine, "keeps_looks": not no_looks, "by": by}
    rules = parts.Rules(hold_minutes, second_reviews, _large(second_for), **made_by)
    proxy = None if proxy_header is None else parts.Proxy(proxy_header, secret)
    if show_machine:
        screen.note("people see the machine's answer before they give theirs, so audits are not blind")
    listener = listening(host, port) if unix_socket is None else _listening_on(unix_socket)
    with opened(record) as source, listener:
        hosts = (host, *(allow_host or ()))
        # Under another name than this machine's own browsers come through a proxy, which must speak HTTPS.
        options = {"proxy": proxy, "secure_cookies": bool(proxy or allow_host), "capacity": capacity}
        app = parts.create_desk(parts.Desk(source), rules, hosts=hosts, **options)
        address = f"http://{host}:{listener.getsockname()[1]}" if unix_socket is None else f"unix:{unix_socket}"
        screen.say(f"The desk is at {address}; people enter with links of aucross desk-access. Ctrl-C ends it.")
        screen.document({"command": "desk", "record": record, "address": address}, in_one_line=True)
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
    """Return a Unix socket that owner and group may use; one that an earlier desk left behind is replaced."""
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
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="reviewer or validator.")] = "reviewer",
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Where the desk is; the link begins with it.")
    ] = "http://127.0.0.1:8001",
    days: Annotated[float, typer.Option("--days", metavar="DAYS", help="How long the link is good.")] = 30.0,
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
