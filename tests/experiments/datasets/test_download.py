"""Downloads against a local server that misbehaves."""

import hashlib
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from experiments.datasets.files import ATTEMPTS, DataFileError, SourceFile, fetch

CONTENT = bytes(range(256)) * 4000
CHECKSUM = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


def get(server, home, checksum=CHECKSUM):
    server.files.setdefault("rows.zip", CONTENT)
    return fetch(SourceFile("rows.zip", checksum, f"{server.address}/rows.zip"), home)


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
            fetch(SourceFile("rows.zip", url=url), home)


def test_another_file_than_the_expected_one_is_not_kept(server, home, no_waiting):
    server.files["rows.zip"] = b"<html>please log in</html>"
    with pytest.raises(DataFileError, match=r"rows\.zip was not downloaded, http.* is another file") as caught:
        get(server, home)
    assert CHECKSUM.partition(":")[2] in str(caught.value)
    assert hashlib.md5(b"<html>please log in</html>").hexdigest() in str(caught.value)
    assert names(home) == []


@pytest.mark.attack("commands and workers killed, and large tables", everyday=False)
def test_a_killed_download_leaves_no_file_under_the_name_and_starts_again(server, home):
    server.files["rows.zip"] = CONTENT
    server.troubles = ["stalled"]
    code = "import sys; from pathlib import Path; from experiments.datasets.files import SourceFile, fetch; "
    code += "fetch(SourceFile('rows.zip', url=sys.argv[1]), Path(sys.argv[2]))"
    command = [sys.executable, "-c", code, f"{server.address}/rows.zip", str(home)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[3]) as process:
        wait_for(lambda: any(path.stat().st_size for path in home.iterdir()))
        process.send_signal(signal.SIGKILL)
    server.released.set()
    assert not (home / "rows.zip").exists()
    assert get(server, home).read_bytes() == CONTENT


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


def test_no_bar_is_shown_where_there_is_no_terminal(server, home, capfd):
    get(server, home)
    assert "%" not in capfd.readouterr().err
