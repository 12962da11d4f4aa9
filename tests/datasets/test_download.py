"""Downloads against a local server that misbehaves."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from aucross.datasets import DataFileError
from aucross.datasets.download import ATTEMPTS, fetch
from aucross.datasets.folders import ABANDONED_AFTER, INCOMPLETE

CONTENT = bytes(range(256)) * 4000
CHECKSUM = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


def get(server, home, checksum=CHECKSUM, progress=False):
    server.files.setdefault("rows.zip", CONTENT)
    return fetch("rows.zip", f"{server.address}/rows.zip", home, checksum=checksum, progress=progress)


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_fetched_under_its_name(server, home):
    path = get(server, home)
    assert path == home / "rows.zip"
    assert path.read_bytes() == CONTENT
    assert names(home) == ["rows.zip"]


def test_the_folder_is_made(server, tmp_path):
    assert get(server, tmp_path / "new" / "folder").read_bytes() == CONTENT


@pytest.mark.parametrize("trouble", ["error", "truncated"])
@pytest.mark.parametrize("checksum", [CHECKSUM, None])
def test_a_failed_attempt_is_repeated(trouble, checksum, server, home, no_waiting):
    server.troubles = [trouble, trouble]
    assert get(server, home, checksum).read_bytes() == CONTENT
    assert len(server.requests) == 3
    assert names(home) == ["rows.zip"]


@pytest.mark.parametrize("trouble", ["error", "truncated"])
def test_after_all_attempts_the_error_names_the_file_to_place_by_hand(trouble, server, home, no_waiting):
    server.troubles = [trouble] * ATTEMPTS
    with pytest.raises(ConnectionError, match=f"could not be downloaded in {ATTEMPTS} attempts") as caught:
        get(server, home)
    assert f"put it in {home} as rows.zip" in str(caught.value)
    assert len(server.requests) == ATTEMPTS
    assert names(home) == []


def test_without_a_network_the_error_names_the_file_to_place_by_hand(home, no_waiting):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/rows.zip"
        with pytest.raises(ConnectionError, match=r"put it in .* as rows\.zip"):
            fetch("rows.zip", url, home, checksum=None, progress=False)


def test_another_file_than_the_expected_one_is_not_kept(server, home, no_waiting):
    server.files["rows.zip"] = b"<html>please log in</html>"
    with pytest.raises(DataFileError, match=r"rows\.zip was not downloaded, http.* is another file") as caught:
        get(server, home)
    assert CHECKSUM.partition(":")[2] in str(caught.value)
    assert hashlib.md5(b"<html>please log in</html>").hexdigest() in str(caught.value)
    assert names(home) == []


def test_a_killed_download_leaves_no_file_under_the_name_and_starts_again(server, home):
    server.files["rows.zip"] = CONTENT
    server.troubles = ["stalled"]
    code = "import sys; from pathlib import Path; from aucross.datasets.download import fetch; "
    code += "fetch('rows.zip', sys.argv[1], Path(sys.argv[2]), checksum=None, progress=False)"
    command = [sys.executable, "-c", code, f"{server.address}/rows.zip", str(home)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: server.requests and any(path.stat().st_size for path in (home / INCOMPLETE).glob("*")))
        process.send_signal(signal.SIGKILL)
    server.released.set()
    (leftover,) = (home / INCOMPLETE).iterdir()
    assert not (home / "rows.zip").exists()
    os.utime(leftover, (time.time() - 2 * ABANDONED_AFTER,) * 2)
    assert get(server, home).read_bytes() == CONTENT
    assert names(home) == ["rows.zip"]


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_same_file_may_be_fetched_several_times_at_once(server, home):
    server.files["rows.zip"] = CONTENT
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: get(server, home), range(8)))
    assert set(paths) == {home / "rows.zip"}
    assert paths[0].read_bytes() == CONTENT
    assert names(home) == ["rows.zip"]


def test_a_bar_is_shown_if_asked_for(server, home, capfd):
    get(server, home, progress=True)
    assert "100%" in capfd.readouterr().err


@pytest.mark.parametrize("progress", [False, None])
def test_no_bar_otherwise_where_there_is_no_terminal(progress, server, home, capfd):
    get(server, home, progress=progress)
    assert "100%" not in capfd.readouterr().err


@pytest.mark.parametrize(("library", "progress"), [("pooch", False), ("tqdm", True)])
def test_a_missing_library_is_named_with_the_extra_that_brings_it(library, progress, server, home, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        ImportError, match=rf'needs {library}, which is not installed; run: pip install "aucross\[datasets\]"'
    ):
        get(server, home, progress=progress)
