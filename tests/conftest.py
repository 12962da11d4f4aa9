"""What tests of several parts share, and the settings that make property tests the same in every run."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from aucross.estimators import gate

# The same examples in every run, however busy the machine is: a red test is a change of the code, never luck.
same_examples = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("whole", same_examples, max_examples=20)
settings.register_profile("many", same_examples, max_examples=300)
settings.register_profile("quick", same_examples, max_examples=10)
settings.load_profile("whole")

# Hypothesis also tries the constants in all loaded modules, which are other ones after other tests. There is no setting
# for it, and a version without this function takes no harm.
providers._get_local_constants = lambda: providers._local_constants

# What a fit says of few scores; tests/estimators/test_ties.py holds when it does.
FEW_SCORES = (
    "a coverage of .* cannot be reached",
    "a coverage of .* lowers the AUC",
    "the models of the folds select from",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests that are marked `few_scores` fit small trees without a word about their ties."""
    for item in items:
        if item.get_closest_marker("few_scores"):
            for sentence in FEW_SCORES:
                item.add_marker(pytest.mark.filterwarnings(f"ignore:{sentence}:UserWarning"))


@pytest.fixture(scope="session")
def paper_data() -> ModuleType:
    """The module that reads the paper's data, where they are; a test that loads them sets AUCROSS_DATA itself."""
    with pytest.MonkeyPatch.context() as patch:
        # Its import tells the loaders where the data are, which tests of the loaders must not hear.
        patch.setattr(os, "environ", os.environ.copy())
        module = pytest.importorskip("benchmarks.paper_data", reason="the benchmarks are not in this distribution")
    if not module.FOLDER.is_dir():
        pytest.skip(f"no data in {module.FOLDER}: set AUCROSS_DATA to the folder with the paper's data sets")
    return module


@pytest.fixture
def small_default_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the models of the default gate fewer trees, for tests that ask what it reads and not how well."""

    def boosting(**options: Any) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(**options, max_iter=5)

    def trees(**options: Any) -> ExtraTreesClassifier:
        return ExtraTreesClassifier(**{**options, "n_estimators": 5})

    monkeypatch.setattr(gate, "HistGradientBoostingClassifier", boosting)
    monkeypatch.setattr(gate, "ExtraTreesClassifier", trees)


@pytest.fixture
def no_column_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the reasons by column, which take most of the time of a decision on few rows of a frame."""
    monkeypatch.setattr("aucross.estimators.deciding.column_reasons", lambda *given, **_: [""] * len(given[3]))
