"""Doctests of README and documentation pages, and the rule that nothing is skipped where everything is installed."""

import os
from importlib.util import find_spec

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/_build/**", "docs/auto_examples/**"],
).pytest()

# Modules that import torch at their top cannot be searched for doctests without it.
collect_ignore_glob = [] if find_spec("torch") else ["src/aucross/torch/*"]


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
