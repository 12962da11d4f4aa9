"""What the library says of fixed rows is what it said when `frozen.json` was written.

After a change that is meant to move it: `python tests/golden/regenerate.py`, and look at the difference.
"""

from __future__ import annotations

import json

import pytest

from tests.golden.frozen_cases import CASES, FILE, LIMITS, NEW, OLD, ScoreColumn, bits, changes

FROZEN = json.loads(FILE.read_text())


def test_every_case_is_frozen_and_every_kind_has_a_limit():
    assert list(FROZEN) == list(CASES)
    assert {kind for parts in FROZEN.values() for kind in parts} == set(LIMITS)


@pytest.mark.parametrize("name", CASES)
def test_a_case_says_what_it_said(name):
    assert changes(FROZEN[name], CASES[name](0)) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"auc": 0.75, "n": 3, "text": "AUC .7", "sd": 0.1, "all": [1.0, 2.0]}, []),
        ({"auc": 0.75 + 1e-13, "n": 3, "text": "AUC .7", "sd": 0.1 + 1e-11, "all": [1.0, 2.0]}, []),
        ({"auc": 0.75 + 1e-11, "n": 3, "text": "AUC .7", "sd": 0.1, "all": [1.0, 2.0]}, ["auc (exact)"]),
        (
            {"auc": 0.75, "n": 4, "text": "AUC .8", "sd": 0.1, "all": [1.0]},
            ["n (exact)", "text (exact)", "all (exact)"],
        ),
        ({"auc": "nan", "n": 3, "text": "AUC .7", "sd": 0.101, "all": [1.0, 2.0]}, ["auc (exact)", "sd (drawn)"]),
        ({"auc": 0.75, "n": 3, "text": "AUC .7", "all": [1.0, 2.0], "new": True}, ["new", "sd"]),
    ],
)
def test_what_differs_by_more_than_its_limit_is_named(found, told):
    frozen = {"exact": {"auc": 0.75, "n": 3, "text": "AUC .7", "all": [1.0, 2.0]}, "drawn": {"sd": 0.1}}
    assert sorted(line.partition(":")[0] for line in changes(frozen, found)) == sorted(told)


# ---- engines: what is frozen of a fit in memory is what a cluster says ----


@pytest.mark.filterwarnings("ignore:.*Sending large graph")
def test_dask_says_what_memory_said():
    reason = 'Dask is not installed: pip install "aucross[dask]"'
    distributed = pytest.importorskip("distributed", reason=reason)
    dd = pytest.importorskip("dask.dataframe", reason=reason)
    of_dask = pytest.importorskip("aucross.cluster.dask", reason=reason)
    frozen = FROZEN["decide/engine"]["exact"]
    in_process = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**in_process):
        rows = dd.from_pandas(OLD.X.assign(y=OLD.y), npartitions=3)
        clf = of_dask.DaskAUCross(ScoreColumn("vendor"), cv=3, coverage=0.8, statistic="exact")
        clf.fit(rows.drop(columns="y"), rows["y"])
        new = dd.from_pandas(NEW.X, npartitions=2)
        for coverage in ("0.95", "0.8", "0.6"):
            assert bits(clf.select(new, float(coverage)).compute()) == frozen[f"{coverage} selected"]
    found = clf.held_out_auc()
    assert (found.value, found.low, found.high) == pytest.approx(frozen["held-out AUC"], abs=1e-12)
    assert clf.expected_coverage(0.8).value == pytest.approx(frozen["expected coverage expected"], abs=1e-12)
