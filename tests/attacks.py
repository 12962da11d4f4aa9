"""The attack table: what was tried in each area, and how much of it went wrong, counted by the tests themselves.

A test marked `@pytest.mark.attack("area")` counts as one attack, or as many as it hands to the fixture `attacked`.
`make attacks` runs all of these tests at full size and prints the table; `make test` runs them at a size for every day,
and leaves out those marked `@pytest.mark.attack("area", everyday=False)`, which take longest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

# Areas with the number of attacks that the table must show at least.
LEAST = {
    "model file, crafted": 94,
    "model file, composed at random": 100_000,
    "model file, fields changed": 20_000,
    "model file, damaged": 756,
    "record, writer killed": 400,
    "record, database stopped": 20,
    "record, changed behind its back": 40,
    "record, values of other types": 7,
    "desk, killed under load": 50,
    "desk, database stopped under load": 10,
    "commands and workers killed, and large tables": 6,
    "command line": 205,
    "requests over HTTP": 479,
    "report, scripts and control characters": 20,
    "library inputs": 81,
    "keeper, hostile sequences": 10_000,
    "rules in SQL and JSON": 250,
    "same row, same decision": 100_000,
}


@dataclass
class Row:
    """One area of the table."""

    tried: int = 0
    wrong: int = 0


@dataclass
class AttackTable:
    """A pytest plugin that adds up what the tests of each area report."""

    rows: dict[str, Row] = field(default_factory=lambda: {area: Row() for area in LEAST})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that ran, or that could not even start."""
        properties = dict(report.user_properties)
        if "attack" not in properties or report.skipped or (report.when != "call" and report.passed):
            return
        row = self.rows[properties["attack"]]
        row.tried += properties.get("tried", 1)
        row.wrong += max(properties.get("wrong", 0), int(report.failed))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("attacks")
        for line in self.lines():
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail if an area was attacked less than the table promises."""
        if any(row.tried < LEAST[area] or row.wrong for area, row in self.rows.items()):
            session.exitstatus = session.exitstatus or 1

    def lines(self) -> Iterable[str]:
        """The table, a line per area."""
        yield f"{'area':<42}{'tried':>9}{'at least':>10}{'wrong':>7}"
        for area, row in self.rows.items():
            yield f"{area:<42}{row.tried:>9,}{LEAST[area]:>10,}{row.wrong:>7,}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make attacks`."""
    parser.addoption("--attack-table", action="store_true", help="run attacks at full size and print their table")


def pytest_configure(config: pytest.Config) -> None:
    """Add up in the process that prints, not in its workers."""
    if config.getoption("attack_table") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AttackTable())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is too long for every day."""
    if not config.getoption("attack_table"):
        items[:] = [item for item in items if _is_everyday(item)]


def _is_everyday(item: pytest.Item) -> bool:
    """Whether a test runs every day: an attack may name the one case of it that does."""
    marker = item.get_closest_marker("attack")
    everyday = True if marker is None else marker.kwargs.get("everyday", True)
    return item.callspec.id == everyday if isinstance(everyday, str) else everyday


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let reports carry the area, from workers too."""
    marker = item.get_closest_marker("attack")
    if marker is not None:
        assert marker.args[0] in LEAST, f"the attack table has no area {marker.args[0]!r}"
        item.user_properties.append(("attack", marker.args[0]))


@pytest.fixture
def attacked(record_property: Callable[[str, object], None]) -> Callable[[int, Iterable[str]], None]:
    """A function that counts attacks: how many were tried, and a sentence on each that went wrong."""

    def count(tried: int, wrong: Iterable[str]) -> None:
        sentences = list(wrong)
        record_property("tried", tried)
        record_property("wrong", len(sentences))
        assert not sentences, "\n".join(sentences[:20])

    return count


@pytest.fixture
def full_size(request: pytest.FixtureRequest) -> bool:
    """Whether attacks run as often as the table promises (make attacks), or in a part of it (make test)."""
    return request.config.getoption("attack_table")
