"""Doctests of README and documentation pages, the same draws for every test, and the rule that nothing is skipped."""

import gc
import os
import random
import re
import sys
from importlib.util import find_spec
from pathlib import Path

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


# Files that take longest, by processor time.
LONGEST = (
    "tests/cluster/",
    "tests/docs/test_tutorials.py",
    "tests/experiments/",
)
# Folders that one process takes whole: each further one would start Spark and Dask again.
TOGETHER = ("tests/cluster/",)

# Parts and files that a quick look leaves out: they start processes, browsers, servers or clusters, or train most.
SLOW = (Path(__file__).parent / "tests" / "slow.txt").read_text(encoding="utf-8").split()

# Loading every module and test makes a million objects that stay: looking for garbage among them takes seconds.
gc.disable()


def pytest_addoption(parser):
    """Add an option for a quick look, and one that finds tests which depend on each other or on a global generator."""
    parser.addoption("--quick", action="store_true", help="leave out slow files, and all cases of a test but the first")
    parser.addoption("--every-pair", action="store_true", help="run stacked parametrisations as the product they are")
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the files, and the tests of each, in an order drawn from SEED, which seeds the global generators too",
    )


def pytest_configure(config):
    """Let xdist hand out files in the order of the tests, not those with most tests first."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_ignore_collect(collection_path, config):
    """Leave slow files unread in a quick look."""
    is_slow = config.getoption("quick") and any(collection_path.match(f"tests/{name}") for name in SLOW)
    return True if is_slow else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a process a whole file or, where tests share a cluster, a whole folder."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - there if this is called

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return ByFileOrFolder(config, log)


def pytest_collection_finish(session):
    """Look for garbage from here on, but not among what stays to the end: that takes three seconds in a hundred."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep one case of each test with --quick, else few of a product, and draw the order with --shuffle.

    A process takes a whole file, so the longest files come first: at the end no core waits for another.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    if config.getoption("quick"):
        first_cases = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        items[:] = list(first_cases.values())[::-1]
    elif not config.getoption("every_pair"):
        items[:] = without_products(items)
    if (seed := config.getoption("shuffle")) is not None:
        items[:] = shuffled(items, random.Random(seed))


def without_products(items):
    """Return the tests, of stacked parametrisations only as many cases as let each value occur: 5 x 6 cases become 6.

    A product finds little that a few pairs do not, and is most of the time of a run. Where the product is the point,
    as in a contract that all estimators keep, the test is marked `every_pair`.
    """
    tests = {}
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("every_pair"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = {item for cases in tests.values() for item in cases} - {
        item for cases in tests.values() for item in diagonal(cases)
    }
    return [item for item in items if item not in left_out]


def diagonal(cases):
    """Return the cases of the first values together, of the second ones and so on; shorter parameters start over."""
    marks = [mark.args[0] for mark in cases[0].iter_markers("parametrize")]
    parameters = [tuple(re.split(r"\s*,\s*", names) if isinstance(names, str) else names) for names in marks]
    of_marks = {name for names in parameters for name in names}
    parameters += [(name,) for name in cases[0].callspec.params if name not in of_marks]  # those of fixtures
    if len(parameters) < 2:
        return cases
    values_of_cases = [
        tuple(tuple(id(case.callspec.params[name]) for name in names) for names in parameters) for case in cases
    ]
    values = [list(dict.fromkeys(of_parameter)) for of_parameter in zip(*values_of_cases, strict=True)]
    kept = {tuple(each[k % len(each)] for each in values) for k in range(max(map(len, values)))}
    return [case for case, its_values in zip(cases, values_of_cases, strict=True) if its_values in kept] or cases[:1]


def shuffled(items, order):
    """Return files, and tests within a file, in random order; blocks of a documentation page keep their order."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    for path, tests in files.items():
        if path.suffix == ".py":
            order.shuffle(tests)
    return [test for path in order.sample(list(files), len(files)) for test in files[path]]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Seed global generators before each test: what it draws from them must not depend on earlier tests.

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
