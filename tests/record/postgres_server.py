"""A PostgreSQL server of the tests' own: on loopback, as a user of its own, with nothing of anybody else's."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import psycopg

PASSWORD = "a password that no error may show"


def programs() -> Path | None:
    """Where Debian keeps the programs of the newest server, or where they are on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


class PostgresServer:
    """A server that can be started, stopped at once and started again."""

    def __init__(self) -> None:
        self._programs = programs()
        self._folder = Path(tempfile.mkdtemp(prefix="aucross-postgres-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        password = self._folder / "password"
        password.write_text(PASSWORD)
        if os.getuid() == 0:  # the server refuses to run as root
            owner = pwd.getpwnam("postgres")
            for path in (self._folder, password):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        data = ["-D", self._folder / "data"]
        self._run("initdb", *data, "-N", "-U", "owner", "-A", "scram-sha-256", f"--pwfile={password}")
        self.start()

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self._folder} -c max_connections=60 -c shared_buffers=32MB"
        log = self._folder / "log"
        for _ in range(30):
            try:
                self._run("pg_ctl", "-D", self._folder / "data", "-w", "-t", 300, "-l", log, "-o", options, "start")
            except subprocess.CalledProcessError:
                # A backend of the server that was stopped at once may hold its shared memory for a moment.
                time.sleep(1)
            else:
                return
        raise TimeoutError(f"the server did not start: {log.read_text()[-2000:]}")

    def stop_at_once(self) -> None:
        """End it without a shutdown: it recovers when it is started again."""
        pid = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        for _ in range(600):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        raise TimeoutError("the server did not end")

    def address(self, database: str, role: str = "owner", password: str = PASSWORD) -> str:
        return f"postgresql://{role}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def log(self) -> str:
        """What the server has written to its log."""
        return (self._folder / "log").read_text()

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        name = f"record_{uuid4().hex}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def close(self) -> None:
        self._run("pg_ctl", "-D", self._folder / "data", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object, check: bool = True) -> None:
        command = [str(self._programs / program), *map(str, arguments)]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")
