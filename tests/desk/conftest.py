from __future__ import annotations

import asyncio
import re
from collections import Counter

import httpx
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import PlugInAUC

pytest.importorskip("sqlalchemy", reason='needs the desk: pip install "aucross[desk]"')
pytest.importorskip("fastapi", reason='needs the desk: pip install "aucross[desk]"')
pytest.importorskip("python_multipart", reason='needs the desk: pip install "aucross[desk]"')

from aucross.desk import Desk, create_desk
from aucross.record import Record
from tests.record.conftest import server, source  # noqa: F401  (fixtures: where a record goes)

FORM_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')
REPLACES = re.compile(r'name="replaces" value="([0-9]*)"')


@pytest.fixture(scope="session")
def loans():
    X, y = make_classification(1500, flip_y=0.2, random_state=0)
    return pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])]), y


@pytest.fixture(scope="session")
def clf(loans):
    X, y = loans
    return PlugInAUC(LogisticRegression(), coverage=0.7).fit(X[:1000], y[:1000])


@pytest.fixture
def record(source, clf, loans):  # noqa: F811
    """A record with one batch, of which some sixty cases wait for people."""
    with Record.open(source) as opened:
        ids = [f"A-{number}" for number in range(200)]
        kept = {"amount": range(200), "region": ["North", "South"] * 100}
        opened.decide(clf, loans[0][1000:1200], batch="2026-01", ids=ids, keep=kept)
        yield opened


@pytest.fixture
def desk(record):
    return Desk(record)


class Http:
    """A client that keeps cookies and follows redirects; it calls the application in this process."""

    def __init__(self, app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://localhost", follow_redirects=True)
        self.cookies = self._http.cookies

    def get(self, path, **options):
        return asyncio.run(self._http.get(path, **options))

    def post(self, path, **options):
        return asyncio.run(self._http.post(path, **options))


class Visitor:
    """A browser without scripts: it keeps cookies and sends forms as pages give them."""

    def __init__(self, app, token=None):
        self.client = Http(app)
        self.page = None
        if token is not None:
            self.send("/enter", token=token)

    def get(self, path):
        self.page = self.client.get(path)
        return self.page

    def send(self, path, **fields):
        text = "" if self.page is None else self.page.text
        hidden = {"form_token": FORM_TOKEN.search(text), "replaces": REPLACES.search(text)}
        given = {name: found[1] for name, found in hidden.items() if found}
        self.page = self.client.post(path, data={**given, **fields})
        return self.page

    @property
    def path(self):
        return self.page.url.path


@pytest.fixture
def enter(desk):
    """A function that lets a new person enter."""

    def make(name="Ann", role="reviewer", **options):
        return Visitor(create_desk(desk, **options), desk.add_person(name, role))

    return make


def person_of(desk, name):
    """A new reviewer."""
    desk.add_person(name, "reviewer")
    return desk.named(name)


@pytest.fixture
def audited(desk, clf, loans):
    """A batch half of whose automatic cases wait as audits or seeded cases: why each case waits, by its number."""
    ids = [f"B-{number:03}" for number in range(300)]
    desk.record.decide(
        clf,
        loans[0][1200:],
        batch="2026-02",
        ids=ids,
        keep={"amount": [100] * 300},
        audit=0.5,
        audit_key=b"sixteen bytes or more",
        seeded=dict.fromkeys(ids[:60], 1),
    )
    with desk.record.reading() as connection:
        rows = connection.exec_driver_sql(
            "SELECT d.number, d.why FROM decisions d JOIN batches b ON b.number = d.batch "
            "WHERE d.decision = 'review' AND b.name = '2026-02'"
        ).all()
    found = dict(row for row in map(tuple, rows))
    assert min(Counter(found.values())[why] for why in ("band", "audit", "seeded")) >= 40
    return found
