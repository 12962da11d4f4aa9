"""A cache folder of the test's own, a local server to download from, and the folder with the real data where it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

GIVEN = os.environ.get("AUCROSS_DATA")
REAL_FOLDER = Path(GIVEN) if GIVEN else Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """The default cache folder, empty; without the folder of the environment."""
    monkeypatch.delenv("AUCROSS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    folder = tmp_path / "caches" / "aucross"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def real_folder(monkeypatch) -> Path:
    if not (REAL_FOLDER / "adult_train.parquet").is_file():
        pytest.skip("needs the paper's data: set AUCROSS_DATA to their folder")
    monkeypatch.setenv("AUCROSS_DATA", str(REAL_FOLDER))
    return REAL_FOLDER


@pytest.fixture
def without_checksums(monkeypatch) -> Callable:
    """Let a module read files of the test's own making, or fetch them from an address of the test's own."""

    def strip(module, address: str | None = None) -> None:
        def plain(file):
            return replace(file, checksum=None, url=f"{address}/{file.name}" if file.url and address else file.url)

        def relaxed(source):
            return replace(source, files=tuple(map(plain, source.files)))

        monkeypatch.setattr(module, "SOURCES", tuple(map(relaxed, module.SOURCES)))

    return strip


@dataclass
class LocalServer:
    """Serves files from memory and misbehaves as told, once per entry of ``troubles``."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        name = handler.path.lstrip("/")
        self.requests.append(name)
        trouble = self.troubles.pop(0) if self.troubles else ""
        if trouble == "error":
            handler.send_error(500)
            return
        body = self.files[name]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if trouble == "truncated":
            handler.wfile.write(body[: len(body) // 2])
        elif trouble == "stalled":
            handler.wfile.write(body[: len(body) // 2])
            handler.wfile.flush()
            self.released.wait(30)
        else:
            handler.wfile.write(body)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            local.answer(self)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    local = LocalServer(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield local
    local.released.set()
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def no_waiting(monkeypatch):
    """Retries follow each other at once."""
    monkeypatch.setattr("time.sleep", lambda _: None)
