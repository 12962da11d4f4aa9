"""What tests of several parts share."""

from __future__ import annotations

import os
from types import ModuleType

import pytest


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
