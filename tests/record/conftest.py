from __future__ import annotations

import pwd
from uuid import uuid4

import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "aucross[record]"')

from aucross.record import Record
from tests.record.postgres_server import PostgresServer, programs


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server for all tests of a process."""
    if programs() is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("needs the user postgres, whom Debian's package makes")
    running = PostgresServer()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def source(request, tmp_path, monkeypatch):
    """Where a new record goes, on each of the databases."""
    if request.param == "sqlite":
        return tmp_path / "cases.db"
    name = f"RECORD_{uuid4().hex}"
    monkeypatch.setenv(name, request.getfixturevalue("server").new_database())
    return f"env:{name}"


@pytest.fixture
def record(source):
    with Record.open(source) as opened:
        yield opened


@pytest.fixture(scope="session")
def rows():
    return make_classification(1000, flip_y=0.3, random_state=0)


@pytest.fixture(scope="session")
def clf(rows):
    return AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(*rows)
