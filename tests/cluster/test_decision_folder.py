"""Decisions on a folder of Parquet files: the same as in memory, never of two models, finished by a second call."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier

from aucross import AUCross, PlugInAUC, SCross, save
from aucross.cluster import DecisionFolder, write_decisions
from aucross.cluster.decision_folder import RowsDigest
from aucross.estimators.fitted import light_copy

NAMES = ["age", "income", "debt", "years"]


def model(**parameters):
    # Trees give a row the same score in any batch; a matrix product may round it otherwise in another one.
    return GradientBoostingClassifier(n_estimators=20, random_state=0, **parameters)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(2000, 4, flip_y=0.3, random_state=0)
    return pd.DataFrame(X, columns=NAMES).assign(id=np.arange(2000), region=np.arange(2000) % 2, y=y)


@pytest.fixture(scope="module")
def clf(rows):
    return PlugInAUC(model(), coverage=0.8, random_state=0).fit(rows[NAMES], rows["y"])


@pytest.fixture
def source(rows, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(2000), 3)):
        rows.iloc[part].to_parquet(folder / f"{number}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def decided(folder) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))], ignore_index=True)


@pytest.mark.few_scores
def test_decisions_equal_those_in_memory_and_keep_the_columns_asked_for(clf, rows, source, tmp_path):
    parts = write_decisions(clf, source, tmp_path / "out", coverage=0.7, columns=["id"])
    written, decisions = decided(tmp_path / "out"), clf.decide(rows[NAMES], 0.7)
    assert written.columns.tolist() == ["id", "score", "prediction", "decision"]
    assert written["id"].tolist() == rows["id"].tolist()
    assert np.array_equal(written["score"], decisions.selection_score)
    assert np.array_equal(written["prediction"], clf.predict(rows[NAMES]))
    assert np.array_equal(written["decision"] == "automatic", decisions.selected)
    assert sum(part.rows for part in parts) == 2000
    assert sum(part.automatic for part in parts) == decisions.selected.sum()


def test_bands_of_groups_read_the_column_of_the_groups(rows, source, tmp_path):
    clf = PlugInAUC(model(), coverage=0.8, holdout_size=0.5, random_state=0)
    clf.fit(rows[NAMES], rows["y"], band_groups=rows["region"])
    write_decisions(clf, source, tmp_path / "out", band_groups="region")
    selected = clf.select(rows[NAMES], band_groups=rows["region"])
    assert np.array_equal(decided(tmp_path / "out")["decision"] == "automatic", selected)


def test_a_second_call_writes_only_what_is_missing(clf, source, tmp_path):
    whole = write_decisions(clf, source, tmp_path / "out")
    files = {path: path.read_bytes() for path in (tmp_path / "out").glob("*.parquet")}
    lost = tmp_path / "out" / "1.parquet"
    lost.unlink()
    written = []

    def run(act, parts):
        written.append(list(parts))
        return map(act, parts)

    assert write_decisions(clf, source, tmp_path / "out", run=run) == whole
    assert written == [[0, 2], [1]]  # what is there is looked at, the rest is written
    assert {path: path.read_bytes() for path in files} == files


CHANGED = r"on other rows under the name 2\.parquet; decisions are not mixed"


def changed(rows, column):
    """The rows of the last file, with another value in one of them."""
    part = rows[1334:].copy()
    part.loc[1500, column] += 1
    return part


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda rows, out: {"coverage": 0.5}, "at another coverage"),
        (lambda rows, out: {"columns": ["id"]}, "with other columns"),
        (lambda rows, out: rows[:10].to_parquet(out.parent / "rows" / "9.parquet"), "on other files"),
        (lambda rows, out: rows[:10].to_parquet(out.parent / "rows" / "2.parquet"), "with other rows"),
        # Files of the same name and length: other rows, another order, one value, one value beside the features.
        (lambda rows, out: rows[:666].to_parquet(out.parent / "rows" / "2.parquet"), CHANGED),
        (lambda rows, out: rows[:1333:-1].to_parquet(out.parent / "rows" / "2.parquet"), CHANGED),
        (lambda rows, out: changed(rows, "debt").to_parquet(out.parent / "rows" / "2.parquet"), CHANGED),
        (lambda rows, out: changed(rows, "id").to_parquet(out.parent / "rows" / "2.parquet"), CHANGED),
        (lambda rows, out: changed(rows, "region").to_parquet(out.parent / "rows" / "2.parquet"), CHANGED),
        (lambda rows, out: (out / "2.parquet").replace(out / "0.parquet"), "on other rows under the name 0.parquet"),
        (lambda rows, out: (out / "_manifest.json").write_text("{}"), "is not a manifest"),
        (lambda rows, out: (out / "_manifest.json").unlink(), "it is not known which model decided there"),
    ],
)
def test_what_differs_from_the_first_call_is_refused(clf, rows, source, tmp_path, change, sentence):
    given = {"columns": ["id", "region"]}
    write_decisions(clf, source, tmp_path / "out", **given)
    (tmp_path / "out" / "1.parquet").rename(tmp_path / "1.parquet")
    further = change(rows, tmp_path / "out")
    with pytest.raises(ValueError, match=sentence):
        write_decisions(clf, source, tmp_path / "out", **given | (further if isinstance(further, dict) else {}))
    assert not (tmp_path / "out" / "1.parquet").exists()  # nothing is written beside what is refused


@pytest.mark.parametrize(
    "write",
    [
        lambda rows, path: rows.to_parquet(path, compression="gzip", row_group_size=100),
        lambda rows, path: rows.convert_dtypes(dtype_backend="pyarrow").to_parquet(path),
        lambda rows, path: rows[rows.columns[::-1]].assign(y=0, further="x").to_parquet(path),
    ],
    ids=["other groups", "other library", "other columns that nothing reads"],
)
def test_the_same_rows_written_otherwise_keep_their_decisions(clf, rows, source, tmp_path, write):
    whole = write_decisions(clf, source, tmp_path / "out", columns=["id"])
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}
    write(rows[1334:], source / "2.parquet")
    assert write_decisions(clf, source, tmp_path / "out", columns=["id"]) == whole
    assert {path: path.stat().st_mtime_ns for path in files} == files


def digest_of(*batches):
    digest = RowsDigest(["a"])
    for values in batches:
        array = values if isinstance(values, pa.Array) else pa.array(values)
        digest.add(pa.record_batch([array], names=["a"]))
    return digest.hexdigest()


@pytest.mark.parametrize(
    "batches",
    [
        ([1, 2], [3]),
        ([1.0, 2.0, 3.0],),
        (pa.array([1, 2, 3], pa.uint8()),),
        (pa.array([0, 1, 2, 3]).slice(1),),
        (pa.array([1, 2, 3]).dictionary_encode(),),
    ],
)
def test_equal_numbers_have_one_digest(batches):
    assert digest_of(*batches) == digest_of([1, 2, 3])


@pytest.mark.parametrize(
    "batches",
    [
        (["ab", None], ["", "c"]),
        (pa.array(["ab", None, "", "c"], pa.large_string()),),
        (pa.array(["ab", None, "", "c"]).dictionary_encode(),),
        (pa.array(["x", "ab", None, "", "c"]).slice(1),),
    ],
)
def test_equal_texts_have_one_digest(batches):
    assert digest_of(*batches) == digest_of(["ab", None, "", "c"])


def test_what_differs_has_another_digest():
    day = datetime(2024, 5, 1)
    contents = [
        *([1, 2], [2, 1], [1, 2, 0], ["1", "2"], [1.5, 2], [1, None], [2**53, 2**53 + 1], [2**53, 2**53]),
        *(["ab", "c"], ["a", "bc"], ["ab", "c", ""], ["ab", "c", None], ["abc"], [b"ab", b"c"], [None, None], []),
        *([day], [day + timedelta(microseconds=1)], [[1], [2]], [[1, 2]], [{"a": 1}], [True, True, False]),
    ]
    assert len({digest_of(content) for content in contents}) == len(contents)
    assert digest_of([0.0, float("nan")]) == digest_of([-0.0, None])


def test_two_models_or_two_rules_are_never_mixed(clf, rows, source, tmp_path):
    write_decisions(clf, source, tmp_path / "out")
    (tmp_path / "out" / "0.parquet").unlink()
    other = PlugInAUC(model(learning_rate=0.2), coverage=0.8, random_state=0).fit(rows[NAMES], rows["y"])
    with pytest.raises(ValueError, match="decisions of another model"):
        write_decisions(other, source, tmp_path / "out")
    with pytest.raises(ValueError, match="decisions by other bands"):
        write_decisions(clf.recalibrate(rows[NAMES][:500]), source, tmp_path / "out")


def test_rows_that_change_between_the_manifest_and_the_part_are_refused(clf, rows, source, tmp_path):
    folder = DecisionFolder.open(clf, source, tmp_path / "out")
    rows[:10].to_parquet(source / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet had 667 rows when the folder was begun and gave 10"):
        folder.write_part(clf, 1)
    assert folder.missing == [0, 1, 2]
    with pytest.raises(ValueError, match="lacks 3 of 3 parts"):
        folder.counts()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda clf, rows, out: write_decisions(clf, rows / "none", out), "must be a folder of Parquet files"),
        (lambda clf, rows, out: write_decisions(clf, rows, rows), "must be another one than that of the rows"),
        (lambda clf, rows, out: write_decisions(clf, rows, out, columns=["nobody"]), "'nobody', which 0.parquet lacks"),
        (lambda clf, rows, out: write_decisions(clf, rows, out, columns=["score"]), "must not hold 'score'"),
    ],
)
def test_calls_that_cannot_work_are_refused(clf, source, tmp_path, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(clf, source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_columns_of_the_fit_must_be_there(clf, rows, source, tmp_path):
    rows.drop(columns="debt").to_parquet(source / "1.parquet")
    with pytest.raises(ValueError, match=r"lack 1 of 4, such as 'debt'"):
        write_decisions(clf, source, tmp_path / "out")
    on_array = AUCross(model(), random_state=0).fit(rows[NAMES].to_numpy(), rows["y"])
    with pytest.raises(ValueError, match="fit it on a frame"):
        write_decisions(on_array, source, tmp_path / "new")


KILLED = """
import os, signal, sys
from aucross import load
from aucross.cluster import decision_folder
clf, source, out = load(sys.argv[1]), sys.argv[2], sys.argv[3]
folder = decision_folder.DecisionFolder.open(clf, source, out)
folder.write_part(clf, 0)
take = decision_folder.BATCH_ROWS
decision_folder.BATCH_ROWS = 100
decide, calls = type(clf).decide, []
def killed(self, *args):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return decide(self, *args)
type(clf).decide = killed
folder.write_part(clf, 1)
"""


@pytest.mark.attack("commands and workers killed, and large tables", everyday=False)
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL here")
def test_a_process_killed_in_the_middle_of_a_part_leaves_nothing_that_counts(clf, source, tmp_path):
    save(clf, tmp_path / "clf.aucross")
    undisturbed = write_decisions(clf, source, tmp_path / "whole")
    arguments = [str(tmp_path / name) for name in ("clf.aucross", "rows", "out")]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in (tmp_path / "out").glob("*.parquet")] == ["0.parquet"]
    assert write_decisions(clf, source, tmp_path / "out") == undisturbed
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["0.parquet", "1.parquet", "2.parquet", "_manifest.json"]  # and no hidden files of the killed one
    for name in names[:3]:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert json.loads((tmp_path / "out" / "_manifest.json").read_text())["rows"] == [667, 667, 666]


@pytest.mark.parametrize("coverage", [None, 0.6])
@pytest.mark.parametrize("method", [AUCross, SCross])
@pytest.mark.few_scores
def test_a_light_copy_decides_as_the_classifier_and_keeps_no_training_rows(rows, method, coverage):
    clf = method(model(), coverage=0.8, cv=3, random_state=0)
    clf.fit(rows[NAMES], rows["y"], band_groups=rows["region"])
    light = light_copy(clf, coverage)
    asked = {"band_groups": rows["region"]}
    assert np.array_equal(light.select(rows[NAMES], **asked), clf.select(rows[NAMES], coverage, **asked))
    assert len(light.held_out_.rows) == 0
    scored = pickle.loads(pickle.dumps(light)).scored(rows[NAMES], **asked)
    assert np.array_equal(clf.select(scored, coverage), clf.select(rows[NAMES], coverage, **asked))
    assert len(pickle.dumps(light)) < len(pickle.dumps(clf)) / 2
    with pytest.raises(ValueError, match="recalibrate the classifier that it is a copy of"):
        light.recalibrate(rows[NAMES], **asked)
