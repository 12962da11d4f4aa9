"""Requests that nobody means well, sent to a server of its own over sockets: none is decided, and none stops it."""

from __future__ import annotations

import asyncio
import json
import re
import select
import signal
import socket
from contextlib import ExitStack

import pytest

from aucross.record import Record
from aucross.serve import ServeOptions, make_app, request_guard
from tests.cli.commands import aucross
from tests.serve.test_serve import JSON, MODEL, NO_DATES, ROWS, TOKEN, Client, Server, model_file  # noqa: F401

RIGHT = json.dumps({"row": ROWS[0]}).encode()
ROW = json.dumps(ROWS[0])
SECONDS = 60  # no answer takes so long, on a busy machine either


def request(body=RIGHT, *, method="POST", path="/decision", host="localhost", content="application/json", **headers):
    """A request as bytes; None leaves a header out."""
    told = {"Host": host, "Content-Type": content, "Content-Length": len(body), "Connection": "close"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items() if value is not None)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def row(**change):
    return request(json.dumps({"row": {**ROWS[0], **change}}).encode())


def written(text):
    """A request whose row is written by hand."""
    return request(text.encode("utf-8", "surrogatepass"))


def spelled(column, value):
    """A request whose row holds a value that no writer of JSON would write."""
    return written(f'{{"row": {ROW[:-1]}, "{column}": {value}}}}}' if column not in ROWS[0] else _with(column, value))


def _with(column, value):
    sentinel = json.dumps({"row": {**ROWS[0], column: "@"}})
    return sentinel.replace('"@"', value)


def chunks(*parts, end=b"0\r\n\r\n"):
    body = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts)
    return request(b"", Content_Length=None, Transfer_Encoding="chunked") + body + end


# What is sent, and the answers that are right; "" is no answer at all.
NO_VALUES = {
    **{f"a date {text!r}": row(since=text) for text in NO_DATES},
    **{f"a date {value!r}": row(since=value) for value in (17, 1e300, True, [], {}, ["2024-03-31"])},
    **{f"a number {value!r}": row(income=value) for value in ("1", "NaN", "", True, [], {}, [1], "0x10", "1e3")},
    **{
        f"a number {value}": spelled("income", value)
        for value in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "-" + "9" * 4000)
    },
    **{f"a boolean {value!r}": row(owner=value) for value in (0, 1, "true", "yes", [], 2.5, "")},
    **{
        f"a category {str(value)[:20]!r}": row(**{"branch <b>": value})
        for value in (1, 1.5, True, [], {}, "n" * 10_001)
    },
    "a category of half a character": spelled("branch <b>", '"\\ud800"'),
    "another column": row(other=1),
    "a column of a hundred thousand letters": row(**{"o" * 100_000: 1}),
    "a column with the name of a method": row(model_config=1, __class__="x"),
    "names within a row": spelled("column_0", "1"),
}
NO_REQUESTS = {
    **{
        f"a coverage {value}": written(f'{{"row": {ROW}, "coverage": {value}}}')
        for value in ("0", "-0.5", "1.0001", "85", "1e999", "NaN", "true", '"0.8"', "[]", "{}", "9" * 400, "5e-324000")
    },
    **{
        f"an id {value[:20]}": written(f'{{"row": {ROW}, "id": {value}}}')
        for value in ('""', '"a\\nb"', '"\\u0000"', '"\\u007f"', '"\\ud800"', "1", "true", "[]", '"' + "i" * 201 + '"')
    },
    **{
        f"ids {value}": request(f'{{"rows": [{ROW}, {ROW}], "ids": {value}}}'.encode(), path="/decisions")
        for value in ("[]", '["a"]', '["a", "a"]', '["a", "b", "c"]', '["a", null]', '"ab"', '{"a": 1}', '["a", "\\r"]')
    },
    **{
        f"rows {value[:20]}": request(f'{{"rows": {value}}}'.encode(), path="/decisions")
        for value in ("[]", "null", "{}", ROW, "[null]", "[[]]", f"[{ROW}, 1]", f"[{','.join(['{}'] * 1001)}]", '"a"')
    },
    **{f"a row {value}": written(f'{{"row": {value}}}') for value in ("null", "[]", "{}", '"a"', "1", f"[{ROW}]")},
    **{
        f"a body {value[:20]}": written(value)
        for value in ("", " ", "null", "[]", "{}", '"a"', "1", "{", '{"row":', f'{{"row": {ROW}', f"{ROW}", f"[{ROW}]")
    },
    "two bodies": written(f'{{"row": {ROW}}}{{"row": {ROW}}}'),
    "a comma at the end": written(f'{{"row": {ROW},}}'),
    "a comment": written(f'{{"row": {ROW}}} // right'),
    "single quotes": written(str({"row": ROWS[0]})),
    "the row twice": written(f'{{"row": {ROW}, "row": {ROW}}}'),
    "a column twice": written(f'{{"row": {{"income": 1, {ROW[1:]}}}'),
    "a coverage twice": written(f'{{"row": {ROW}, "coverage": 0.8, "coverage": 0.8}}'),
    "an id twice": written(f'{{"row": {ROW}, "id": "a", "id": "b"}}'),
    "a further field": written(f'{{"row": {ROW}, "force": "automatic"}}'),
    "a row for many": request(path="/decisions"),
    "many for a row": request(f'{{"rows": [{ROW}]}}'.encode()),
    **{f"{depth:,} lists": written("[" * depth + "]" * depth) for depth in (500, 5_000, 400_000)},
    **{f"{depth:,} objects": written('{"row":' * depth + "1" + "}" * depth) for depth in (500, 5_000, 100_000)},
    "lists that do not end": written("[" * 900_000),
    "a value of lists": spelled("income", "[" * 5_000 + "]" * 5_000),
    "a number of a million digits": written("9" * 999_999),
    "latin-1": request(RIGHT.replace(b"north", b"n\xf6rd").replace(b"south", b"n\xf6rd").replace(b"west", b"n\xf6rd")),
    "a byte that begins nothing": request(RIGHT + b"\xff"),
    "NUL at the end": request(RIGHT + b"\x00"),
    "an overlong character": request(RIGHT[:-1] + b"\xc0\x80}"),
    "gzip that is not unpacked": request(b"\x1f\x8b\x08\x00" + RIGHT, Content_Encoding="gzip"),
    **{
        f"the content type {content}": request(content=content)
        for content in ("text/plain", "application/xml", "multipart/form-data", "application/jsonp", "json", "*/*", "")
    },
    "no content type": request(content=None),
}
PATHS = {
    **{
        f"{method} of a decision": (request(method=method), (405,))
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "PROPFIND", "post", "X" * 100)
    },
    **{f"POST to {path}": (request(path=path), (405,)) for path in ("/health", "/docs", "/metrics", "/openapi.json")},
    **{
        f"the path {path[:30]}": (request(path=path), (404, 307, 400))
        for path in (
            "/",
            "//",
            "//decision",
            "/decision/..",
            "/%2e%2e/decision",
            "/decision%00",
            "/decision%2f",
            "/Decision",
            "/decision;a",
            "/decision/x",
            "/../../etc/passwd",
            "/redoc",
            "/docs/oauth2-redirect",
            "/" + "a" * 8_000,
            "*",
            "/\\",
        )
    },
    "a path of too many letters": (request(path="/" + "a" * 100_000), (400, 414, 431, 404)),
    "a header of too many letters": (request(b"{}", X="a" * 200_000), (400, 431, 422)),
    "ten thousand headers": (request(b"{}", **{f"X{number}": "a" for number in range(10_000)}), (400, 431, 422)),
    "an address as a path": (request(path="http://evil.example/decision"), (404, 421, 400)),
}
FRAMES = {
    "no host": (request(host=None), (400,)),
    "two hosts": (request(host="localhost\r\nHost: localhost"), (400,)),
    "two lengths": (request(Content_Length=f"{len(RIGHT)}\r\nContent-Length: 3"), (400,)),
    "a length in words": (request(Content_Length="ten"), (400,)),
    "a negative length": (request(Content_Length="-1"), (400,)),
    "a length with a plus": (request(Content_Length=f"+{len(RIGHT)}"), (400,)),
    "a length of twenty-five digits": (request(Content_Length="9" * 25), (400, 413)),
    "a length of five thousand digits": (request(Content_Length="9" * 5_000), (400, 413)),
    "a length beyond the limit": (request(Content_Length=1_000_001), (413,)),
    "a body beyond the limit": (request(b" " * 1_000_001), (413,)),
    "chunks beyond the limit": (chunks(*[b" " * 100_000] * 11), (413,)),
    "a length too small": (request(Content_Length=len(RIGHT) - 1), (422,)),
    "a length of nothing": (request(Content_Length=0), (422,)),
    "a length beside chunks": (request(RIGHT + b"\r\n", Transfer_Encoding="chunked"), (400,)),
    "a right length beside right chunks": (
        request(b"", Content_Length=5, Transfer_Encoding="chunked")
        + f"{len(RIGHT):x}\r\n".encode() + RIGHT + b"\r\n0\r\n\r\n",
        (400,),
    ),
    "a chunk of no size": (chunks(end=b"zz\r\n"), (400,)),
    "a chunk of a negative size": (chunks(end=b"-5\r\nabcde\r\n0\r\n\r\n"), (400,)),
    "a chunk longer than it says": (chunks(end=b"3\r\nabcdef\r\n0\r\n\r\n"), (400,)),
    "another transfer": (request(Content_Length=None, Transfer_Encoding="gzip"), (400, 501)),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", (400,)),
    "a TLS greeting": (bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + b"\r\n\r\n" * 2, (400,)),
    "HTTP 9": (request(b"{}").replace(b"HTTP/1.1", b"HTTP/9.0"), (400, 422, 505)),
    "HTTP 1.0 without a host": (request(host=None).replace(b"HTTP/1.1", b"HTTP/1.0"), (421,)),
    "HTTP 2 at once": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 421, 505)),
    "a line break in a header": (request(b"{}", X="a\n b: c"), (400, 422)),
    "an upgrade to a socket": (
        request(b"", method="GET", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Key="x" * 24),
        (405, 400, 403),
    ),
}  # fmt: skip
HOSTS = [
    *(
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
    ),
    *("evil.example/localhost", "localhost,evil.example", "127.0.0.1.evil.example", "127.0.0.1.nip.io", "10.0.0.1"),
    *(
        "[::2]",
        "[::ffff:10.0.0.1]",
        "0.0.0.0",
        "0",
        "2130706433",
        "localhost:80:80",
        "local\thost",
        "",
        "[",
        "l\xf6calhost",
    ),
]
# Cut off by the caller, who leaves; a decision would be one on half a body.
CUT = {
    **{f"{share:.0%} of a body": request()[: -max(int(len(RIGHT) * (1 - share)), 1)] for share in (0, 0.1, 0.5, 1)},
    "a whole row in a longer body": request(RIGHT, Content_Length=len(RIGHT) + 1),
    "many rows in a longer body": request(
        f'{{"rows": [{ROW}]}}'.encode(), path="/decisions", Content_Length=999_999
    ),
    "chunks without an end": chunks(RIGHT, end=b""),
    "chunks with half an end": chunks(RIGHT, end=b"0\r\n"),
    "half a chunk": chunks(end=f"{len(RIGHT) + 5:x}\r\n".encode() + RIGHT),
    "half the headers": request()[:60],
    "nothing": b"",
}  # fmt: skip


def n_recorded(path):
    with Record.open(path) as record:
        return record.cases().num_rows


class Live(Server):
    """The server of the command, asked by bytes."""

    def connected(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def status(self, sent, *, leaves=False):
        """The status of the answer, None without one; a caller who leaves sends no more."""
        with self.connected() as connection:
            try:
                connection.sendall(sent)
                if leaves:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server has answered and closed before all was sent
            return status_of(connection)

    def is_well(self):
        return self.status(request(b"", method="GET", path="/health")) == 200


def status_of(connection):
    """The status of the answer that comes; None if the server closes without one."""
    answer = b""
    try:
        while b"\r\n\r\n" not in answer and (more := connection.recv(65_536)):
            answer += more
    except ConnectionResetError:
        pass
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return None if match is None else int(match[1])


@pytest.fixture(scope="module")
def live(model_file, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("live")
    server = Live(model_file, folder / "cases.db", "--body-seconds", 600)
    server.log = folder / "cases.db"
    yield server
    server.kill(signal.SIGTERM)


@pytest.fixture(scope="module")
def impatient(model_file, tmp_path_factory):  # noqa: F811
    """A server with a token that waits for no body."""
    folder = tmp_path_factory.mktemp("impatient")
    (folder / "token").write_bytes(TOKEN)
    server = Live(model_file, folder / "cases.db", "--body-seconds", 0.2, "--token-file", folder / "token")
    server.log = folder / "cases.db"
    yield server
    server.kill(signal.SIGTERM)


def wrong_among(server, sent, *, leaves=False):
    """A sentence on each request that was answered by another status, or decided."""
    for name, (data, right) in sent.items():
        status = server.status(data, leaves=leaves)
        if status not in right:
            yield f"{name}: got {status}, expected one of {right}"
    if not server.is_well():
        yield "the server is not well afterwards"
    if n_decided := n_recorded(server.log):
        yield f"{n_decided} decisions were recorded"


FAMILIES = {
    "values": {name: (sent, (422, 400)) for name, sent in NO_VALUES.items()},
    "requests": {name: (sent, (422, 400)) for name, sent in NO_REQUESTS.items()},
    "paths": PATHS,
    "frames": FRAMES,
    "hosts": {host: (request(host=host), (421, 400)) for host in HOSTS},
    "hosts of other paths": {
        path: (request(b"", method="GET", path=path, host="evil.example"), (421,))
        for path in ("/health", "/docs", "/openapi.json", "/metrics", "/nowhere")
    },
}


@pytest.mark.attack("requests over HTTP")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hostile_request_is_refused_and_nothing_is_decided(live, attacked, family):
    attacked(len(FAMILIES[family]), wrong_among(live, FAMILIES[family]))


@pytest.mark.attack("requests over HTTP")
def test_half_a_body_is_never_decided(live, attacked):
    attacked(len(CUT), wrong_among(live, {name: (sent, (None, 400)) for name, sent in CUT.items()}, leaves=True))


@pytest.mark.attack("requests over HTTP")
def test_a_body_that_stalls_is_closed_after_its_time(impatient, attacked):
    token = f"\r\nAuthorization: Bearer {TOKEN.decode()}\r\n\r\n".encode()
    stalled = [sent.replace(b"\r\n\r\n", token, 1) for sent in CUT.values() if b"\r\n\r\n" in sent]
    sent = {f"{number} of those cut off": (data, (408,)) for number, data in enumerate(stalled)}
    attacked(len(sent), wrong_among(impatient, sent))


@pytest.mark.attack("requests over HTTP")
def test_without_the_token_nothing_is_read(impatient, attacked):
    text = TOKEN.decode()
    tokens = [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {text}x",
        f"Bearer {text[:-1]}",
        f"bearer {text}",
        f"Basic {text}",
        text,
    ]
    tokens += [
        f"Bearer  {text}",
        f"Bearer {text.upper()}",
        f"Bearer {text},{text}",
        f"Bearer {text}\xf6",
        "Bearer \xff" * 9,
    ]
    sent = {f"the token {token}": (request(Authorization=token), (401,)) for token in tokens}
    open_paths = (
        "/health/",
        "//health",
        "/health/../decision",
        "/docs/",
        "/docs%2f",
        "/HEALTH",
        "/openapi.json",
        "/metrics",
    )
    sent |= {f"the path {path}": (request(path=path), (401,)) for path in open_paths}
    attacked(len(sent), wrong_among(impatient, sent))


@pytest.mark.attack("requests over HTTP")
def test_bodies_that_stall_make_room_for_others(live, attacked, full_size):
    """No more than 32 MB are held: of bodies that stall those that began first are closed, and others are read."""
    n_bodies = 200 if full_size else 50
    with ExitStack() as opened:
        connections = [opened.enter_context(live.connected()) for _ in range(n_bodies)]
        for connection in connections:
            connection.sendall(request(b" " * 990_000, Content_Length=999_999))
        waiting, answers = connections, []
        while len(answers) < n_bodies - 33:  # so many are held, and one that is under way
            ready = select.select(waiting, [], [], SECONDS)[0]
            assert ready
            answers += [status_of(connection) for connection in ready]
            waiting = [connection for connection in waiting if connection not in ready]
        wrong = [f"a body that stalls: got {status}" for status in answers if status != 408]
        status = live.status(request(b"{}"))
        wrong += [] if status == 422 else [f"another caller: got {status}"]
    attacked(n_bodies, wrong)
    assert n_recorded(live.log) == 0


def test_a_right_request_is_decided_by_each_name_of_the_server(model_file, tmp_path, monkeypatch):  # noqa: F811
    hosts = ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8000", "[::1]:80", "Scores.Local:443"]
    apps = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: apps.append(self.config.app))
    assert aucross("serve", model_file, "--port", 0, "--allow-host", "scores.local").exit_code == 0
    with Client(apps[0]) as client:
        answers = [client.post("/decision", content=RIGHT, headers={**JSON, "Host": host}) for host in hosts]
    assert [answer.status_code for answer in answers] == [200] * len(hosts)


# ---- the guard by itself ----


def guarded(options, messages, **scope):
    """The status of an answer to a request that comes in the given messages; None stands for a wait."""
    app, sent, coming = make_app(MODEL, options), [], iter(messages)

    async def receive():
        message = next(coming)
        return await asyncio.sleep(SECONDS * 1000) if message is None else message

    async def send(message):
        sent.append(message)

    headers = [(b"host", scope.pop("host", b"localhost")), (b"content-type", b"application/json")]
    told = {"type": "http", "method": "POST", "path": "/decision", "query_string": b"", "headers": headers, **scope}
    asyncio.run(app(told, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])["error"]


def part(body=RIGHT, more_body=True):
    return {"type": "http.request", "body": body, "more_body": more_body}


def test_what_ends_before_its_end_is_refused():
    assert guarded(None, [part(), {"type": "http.disconnect"}]) == (
        400,
        "the body must be as long as the header says; send it whole",
    )


def test_what_stalls_is_refused_by_the_seconds_that_it_had():
    status, error = guarded(ServeOptions(body_seconds=0.05), [part(b"{"), None])
    assert (status, error.partition(",")[0]) == (408, "the body must arrive within 0.05 seconds")


@pytest.mark.parametrize("limit", ["_MOST_BODIES", "_MOST_HELD"])
def test_of_too_many_bodies_those_that_began_first_are_closed(monkeypatch, limit):
    monkeypatch.setattr(request_guard, limit, 2)  # of bytes twice the largest body are held at least
    n_bytes = 1 if limit == "_MOST_BODIES" else 4
    app, statuses = make_app(MODEL, ServeOptions(most_bytes=4, body_seconds=3600)), []

    async def send_five():
        async def send_one(number):
            coming = iter([part(b" " * n_bytes)])

            async def receive():
                return next(coming, None) or await asyncio.Event().wait()

            async def send(message):
                if "status" in message:
                    statuses.append((number, message["status"]))

            await app({"type": "http", "path": "/", "headers": [(b"host", b"localhost")]}, receive, send)

        tasks = [asyncio.create_task(send_one(number)) for number in range(5)]
        while len(statuses) < 3:
            await asyncio.sleep(0)
        for task in tasks[3:]:
            task.cancel()

    asyncio.run(send_five())
    assert statuses == [(number, 408) for number in range(3)]


@pytest.mark.parametrize(
    ("host", "server", "is_meant"),
    [
        (b"192.168.1.7:80", ("192.168.1.7", 80), True),
        (b"192.168.1.7", ("::ffff:192.168.1.7", 80, 0, 0), True),
        (b"[fe80::0:1]", ("fe80::1", 80, 0, 0), True),
        (b"192.168.1.8", ("192.168.1.7", 80), False),
        (b"evil.example", ("evil.example", 80), False),  # a name that the server took from the request
        (b"192.168.1.7", None, False),
    ],
)
def test_the_address_that_is_connected_to_is_a_name_of_the_server(host, server, is_meant):
    status, _ = guarded(None, [{"type": "http.disconnect"}], host=host, server=server)
    assert status == (400 if is_meant else 421)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"body_seconds": 0}, r"body_seconds must be in \(0, 3600\], got 0; 10 is usual"),
        ({"body_seconds": float("nan")}, r"body_seconds must be in \(0, 3600\], got nan"),
        ({"hosts": "a.example"}, "hosts must be names or addresses without scheme and port, got 'a.example'"),
        ({"hosts": ["a.example:80"]}, "hosts must be names .*, got 'a.example:80'"),
        ({"hosts": ["*"]}, r"hosts must be names .*, got '\*'"),
    ],
)
def test_options_that_would_open_the_server_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        ServeOptions(**options)


def test_the_command_refuses_an_address_in_place_of_a_name(model_file):  # noqa: F811
    result = aucross("serve", model_file, "--allow-host", "http://scores.local")
    assert result.exit_code == 2
    assert "hosts must be names or addresses without scheme and port, got 'http://scores.local'" in result.stderr
