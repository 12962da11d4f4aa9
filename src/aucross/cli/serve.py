"""aucross serve: decisions over HTTP by a model from a file."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from aucross.cli.base_models import models_of
from aucross.cli.column_kinds import convert
from aucross.cli.command_options import ServeCommand
from aucross.cli.errors import CommandError, UsageError, listed, one_line, opened
from aucross.cli.recording import load_shadow
from aucross.cli.schema import Schema, load_model_with_facts
from aucross.cli.screen import Screen
from aucross.cli.table_files import check_readable
from aucross.estimators.strange_values import known_categories
from aucross.files.signing import signing_key
from aucross.system.libraries import import_library

_SHORTEST_TOKEN = 16
_WAITING_CONNECTIONS = 2048


def run_serve(options: ServeCommand, screen: Screen) -> dict[str, Any]:
    """Serve a model until the process is told to end; return the content of the JSON document."""
    token = secret_in(options.token_file, "--token-file")
    check_host(options.host, token)
    uvicorn = import_library("uvicorn", purpose="aucross serve", extra="serve")
    serve: Any = import_library("aucross.serve", purpose="aucross serve", extra="serve")
    try:
        limits = options.most_bytes, options.most_rows, options.body_seconds
        hosts = (options.host, *(options.allow_host or ()))
        served = serve.ServeOptions(None, token, *limits, hosts=hosts, allow_coverage=options.allow_coverage)
    except ValueError as error:
        raise UsageError(f"--allow-host, --body-seconds: {error}") from None
    clf, schema, facts = load_model_with_facts(options.model)
    groups = _group_of_each_value(clf, schema)
    group_column = None if groups is None else schema.roles.band_group
    model = serve.ServedModel(
        clf, schema.columns, schema.labels, schema.score, group_column, groups, known_values=_all_categories(clf, facts)
    )
    if options.keep_coverage and options.allow_coverage:
        raise UsageError(
            "--keep-coverage keeps one coverage, and --allow-coverage lets callers ask for others; give one"
        )
    if options.record is None and (options.shadow or options.webhook_file or options.audit is not None):
        raise UsageError("--shadow, --webhook-file and --audit need --record, where decisions and reviews are kept")
    if options.record is None:
        screen.note("decisions are not recorded; --record names a file that keeps them")
    if token is None:
        screen.note("every program on this machine may ask; with --token-file FILE callers must send the token in it")
    # What goes wrong is told here and not to callers.
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    # Before an address is told: whoever reads it may ask at once.
    record_part = nullcontext() if options.record is None else opened(options.record, create=True)
    with record_part as record, listening(options.host, options.port) as listener:
        shadow = load_shadow(options.shadow, schema)
        webhook = None if options.webhook_file is None else _webhook(record, options.webhook_file)
        made = {"record": record, "shadow": shadow, "webhook": webhook, "keep_coverage": options.keep_coverage}
        made |= {"audit": options.audit, "unfamiliar": None if options.decide_unfamiliar else "review"}
        app = serve.make_app(model, replace(served, **made))
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        screen.say(f"Deciding at {address}, described at {address}/docs; Ctrl-C ends it.")
        # At once and in one line, so that a program that took port 0 knows where to ask.
        told = {"command": "serve", "model": str(options.model), "address": address, "record": options.record}
        screen.document(told, in_one_line=True)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=10
        )
        uvicorn.Server(config).run(sockets=[listener])
    return {}


def _webhook(record: Any, path: Path) -> Any:
    """Return a webhook for final decisions; its address is read from a file, because it may hold a secret."""
    check_readable(path)
    webhook: Any = import_library("aucross.serve.webhook", purpose="aucross serve", extra="serve")
    try:
        return webhook.Webhook(record, path.read_text(encoding="utf-8").strip(), signing_key())
    except ValueError as error:
        raise CommandError(f"--webhook-file: {one_line(error)}") from None


def _all_categories(clf: Any, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the categories of each column whose categories are all stored in the model file.

    Rare categories are not stored, so a column with rare categories is left out and takes unknown values.
    """
    counts = facts.get("n_categories")
    counts = counts if isinstance(counts, dict) else {}
    known = known_categories(models_of(clf))
    return {name: values for name, values in known.items() if len(values) == counts.get(name)}


def _group_of_each_value(clf: Any, schema: Schema) -> dict[Any, Any] | None:
    """Return the group of each value in the group column; groups are text, but the column may hold numbers."""
    known, name = clf.band_rule_.group_labels, schema.roles.band_group
    if known is None or name is None:
        return None
    kind = schema.columns.get(name, "category")
    groups = dict(zip(convert(name, pa.array(known), kind, numbers=schema.numbers).tolist(), known, strict=True))
    if len(groups) < len(known):
        raise CommandError(
            f"column {name!r} holds groups that are spelled differently and have one value ({listed(known)}), so that "
            "a request cannot tell them apart; spell each group in one way, or fit without --band-group"
        )
    return groups


def secret_in(path: Path | None, option: str) -> bytes | None:
    """Return the secret that a file holds; None without a file."""
    if path is None:
        return None
    check_readable(path)
    # A line end at the end of the file is not part of the token: editors add it.
    token = path.read_bytes().rstrip(b"\r\n")
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or b" " in token:
        raise CommandError(
            f"{option}: {path} must hold a token of at least {_SHORTEST_TOKEN} letters and digits without spaces, "
            f"got {len(token)} bytes; make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def check_host(host: str, token: bytes | None) -> None:
    """Refuse to serve other machines without a token."""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if token is None and not is_loopback:
        raise UsageError(
            f"--host: {host} lets other machines ask, and without a token any of them could; name a file that holds "
            "one with --token-file, or stay at 127.0.0.1"
        )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections; with port 0 the system chooses a free port."""
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port must be in 0 to 65535, got {port}; 0 takes a free one")
    with ExitStack() as undo:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = undo.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_WAITING_CONNECTIONS)
        except OSError as error:
            raise CommandError(
                f"--host, --port: cannot listen at {host}:{port} ({one_line(error)}); name others"
            ) from None
        undo.pop_all()
        return listener
