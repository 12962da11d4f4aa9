"""Effect of review on the deferred cases of published deferring systems."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import deferral


def test_committed_effects_agree_with_the_published():
    table = pd.read_csv(deferral.RESULTS)
    assert len(table) == len(deferral.REAL_SETS) * 7 * len(deferral.COVERAGES)
    assert {"set", "system", "target_coverage", "effect"} <= set(table)
    assert ((table["effect"] - table["published_effect"]).abs() <= 0.001).sum() == 251


@pytest.mark.skipif(not deferral.folder().is_dir(), reason="set AUCROSS_DATA: the answers are not at hand")
def test_effects_recompute():
    answers = pd.read_parquet(deferral.folder() / "answers.parquet")
    found = deferral.effects(answers[answers["set"] == "xray-airspace"])
    table = pd.read_csv(deferral.RESULTS).query("set == 'xray-airspace'")
    np.testing.assert_allclose(found["effect"], table["effect"], rtol=1e-5, atol=1e-9)
