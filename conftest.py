"""Doctests of README and documentation pages, the same draws for every test, and the rule that nothing is skipped."""

import os
import random
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sybil import Sybil
from sybil.parsers.markdown import SkipParser

from tests.shown_output import ShownOutputParser

# MLflow would report its use over the network, from a thread that reads the environment while tests set it, which can
# end the process.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

pytest_plugins = ["tests.attacks"]

pytest_collect_file = Sybil(
    parsers=[ShownOutputParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/_build/**", "docs/auto_examples/**", "docs/auto_tutorials/**"],
).pytest()

# Modules that import torch at their top cannot be searched for doctests without it.
collect_ignore_glob = [] if find_spec("torch") else ["src/aucross/torch/*"]


def pytest_addoption(parser):
    """Add an option for a quick look, and one that finds tests which depend on each other or on a global generator."""
    parser.addoption("--one-case", action="store_true", help="of a test with many cases, run the first alone")
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the files, and the tests of each, in an order drawn from SEED, which seeds the global generators too",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep one case of each test with --one-case, and draw the order with --shuffle."""
    if config.getoption("one_case"):
        first_cases = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        items[:] = list(first_cases.values())[::-1]
    if (seed := config.getoption("shuffle")) is not None:
        items[:] = shuffled(items, random.Random(seed))


def shuffled(items, order):
    """The files, and the tests of each, in a drawn order; the blocks of a documentation page build on each other."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    for path, tests in files.items():
        if path.suffix == ".py":
            order.shuffle(tests)
    return [test for path in order.sample(list(files), len(files)) for test in files[path]]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Let global generators start anew: what a test draws from them must not depend on the tests before it.

    One seed for all tests, because a fixture that several of them share is made for whichever comes first.
    """
    seed = item.config.getoption("shuffle") or 0
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn skips into failures when AUCROSS_NO_SKIPS is set, as it is in .ci/run.

    The paper's data cannot be installed: tests that read them say AUCROSS_DATA in their reason and may be skipped.
    """
    report = yield
    if report.skipped and os.environ.get("AUCROSS_NO_SKIPS") and "AUCROSS_DATA" not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"skipped where every part should be there: {report.longrepr}"
    return report
