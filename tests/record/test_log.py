from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCGate, AUCross, SCross
from aucross.estimators import Decisions
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.model_file import load, read_header, save
from aucross.record.log import DecisionLog, read_decisions
from aucross.record.log_csv import CsvStore
from aucross.record.log_rows import COLUMNS, LogDamageWarning

X, y = make_classification(600, n_features=8, n_informative=5, flip_y=0.2, random_state=0)
region = np.where(X[:, 1] > 0, "north", "south")
clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture(params=["decisions.csv", "decisions"], ids=["csv", "parquet"])
def path(request, tmp_path):
    return tmp_path / request.param


# ---- what is written ----


def test_decide_returns_what_select_gives_and_logs_it(path):
    with DecisionLog(path, clf) as log:
        selected = log.decide(range(600), X, time=NOON)
    np.testing.assert_array_equal(selected, clf.select(X))
    rows = read_decisions(path)
    assert tuple(rows.columns) == COLUMNS
    assert rows["id"].tolist() == [str(row) for row in range(600)]
    np.testing.assert_array_equal(rows["score"], clf.decide(X).selection_score)
    assert rows["decision"].tolist() == np.where(selected, "automatic", "review").tolist()
    assert set(rows["lower"]) == {clf.band().lower}
    assert set(rows["upper"]) == {clf.band().upper}
    assert set(rows["target_coverage"]) == {0.8}
    assert set(rows["rule_fingerprint"]) == {rule_fingerprint(clf)}
    assert set(rows["model_fingerprint"]) == {model_fingerprint(clf)}
    assert set(rows["time"]) == {pd.Timestamp(NOON)}


def test_both_formats_hold_the_same(tmp_path):
    frames = []
    for path in (tmp_path / "log.csv", tmp_path / "log"):
        with DecisionLog(path, clf) as log:
            log.decide(["NA", "nan ", '"q", c', "Ümlaut\tx"], X[:4], time=NOON)
            log.decide([1.5], X[:1], 1.0, time=NOON)
            log.decide([np.int64(7), "07"], X[1:3], capacity=1, time=NOON)
        frames.append(read_decisions(path))
    pd.testing.assert_frame_equal(*frames)
    assert frames[0]["id"].tolist() == ["NA", "nan ", '"q", c', "Ümlaut\tx", "1.5", "7", "07"]
    text = str(pd.Series(["a"]).dtype)  # "str" since pandas 3
    assert frames[0].dtypes.astype(str).tolist() == [
        text,
        "float64",
        text,
        "float64",
        "float64",
        "float64",
        text,
        text,
        "datetime64[us, UTC]",
    ]


@pytest.mark.parametrize(
    "other",
    [
        SCross(LogisticRegression(), random_state=0),
        AUCGate(LogisticRegression(), HistGradientBoostingClassifier(max_iter=5, random_state=0), cv=2, random_state=0),
    ],
    ids=["confidence", "gate"],
)
def test_every_row_can_be_checked_from_the_log_alone(other, path):
    other.fit(X, y)
    with DecisionLog(path, other) as log:
        selected = log.decide(range(600), X, 0.7)
    np.testing.assert_array_equal(selected, other.select(X, 0.7))
    rows = read_decisions(path)
    inside = (rows["score"] >= rows["lower"]) & (rows["score"] <= rows["upper"])
    np.testing.assert_array_equal(inside, rows["decision"] == "review")


def test_each_row_has_the_band_of_its_group(path):
    grouped = AUCross(LogisticRegression(), random_state=0).fit(X, y, band_groups=region)
    with DecisionLog(path, grouped) as log:
        selected = log.decide(range(600), X, 0.7, region)
        log.append(["again"] * 600, grouped.decide(X, 0.7, region))
    np.testing.assert_array_equal(selected, grouped.select(X, 0.7, band_groups=region))
    lower = [grouped.band(0.7, group).lower for group in region]
    np.testing.assert_array_equal(read_decisions(path)["lower"], [*lower, *lower])


def test_the_empty_band_selects_and_is_logged_as_such(path):
    with DecisionLog(path, clf) as log:
        assert log.decide([1, 2], X[:2], 1.0).all()
    rows = read_decisions(path)
    assert (rows["lower"].tolist(), rows["upper"].tolist()) == ([np.inf] * 2, [-np.inf] * 2)


def test_a_capacity_is_logged_without_band_and_coverage(path):
    with DecisionLog(path, clf) as log:
        selected = log.decide(range(600), X, capacity=30)
    assert (~selected).sum() == 30
    rows = read_decisions(path)
    assert (rows["decision"] == "review").sum() == 30
    assert rows[["lower", "upper", "target_coverage"]].isna().all(axis=None)


def test_append_takes_decisions_that_were_made_before(path):
    decisions = clf.decide(clf.scored(X), 0.7)
    with DecisionLog(path, clf) as log:
        log.append(np.arange(600), decisions, time=NOON)
    rows = read_decisions(path)
    np.testing.assert_array_equal(rows["decision"] == "automatic", clf.select(X, 0.7))
    assert set(rows["lower"]) == {clf.band(0.7).lower}


def test_append_refuses_decisions_of_another_classifier_or_of_a_recalibrated_copy(path):
    other = AUCross(LogisticRegression(), random_state=1).fit(X, y)
    with DecisionLog(path, clf) as log:
        for decisions in (other.decide(X), clf.recalibrate(X).decide(X)):
            with pytest.raises(ValueError, match="decisions must be made by the classifier of this log"):
                log.append(range(600), decisions)
    assert len(read_decisions(path)) == 0


def test_append_refuses_what_is_no_decision(path):
    with DecisionLog(path, clf) as log, pytest.raises(TypeError, match=r"decisions must be what clf.decide\(X\) gave"):
        log.append(range(600), clf.select(X))


def test_numbers_come_back_to_the_last_bit(path):
    score = np.array([0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, np.nextafter(clf.band().upper, 2)])
    with DecisionLog(path, clf) as log:
        log.append(range(5), Decisions(np.ones(5, dtype=bool), score, capacity=0, decided_by=clf.band_rule_))
    np.testing.assert_array_equal(read_decisions(path)["score"], score)


def test_times_are_kept_in_utc_to_the_microsecond(path):
    in_tokyo = NOON.astimezone(timezone(timedelta(hours=9)))
    with DecisionLog(path, clf) as log:
        log.decide([1, 2], X[:2], time=[in_tokyo, pd.Timestamp(NOON) + pd.Timedelta(microseconds=1)])
    assert read_decisions(path)["time"].tolist() == [
        pd.Timestamp(NOON),
        pd.Timestamp(NOON) + pd.Timedelta(microseconds=1),
    ]


def test_the_time_of_a_row_is_now_by_default(path):
    before = datetime.now(UTC)
    with DecisionLog(path, clf) as log:
        log.decide([1], X[:1])
    assert before <= read_decisions(path)["time"][0] <= datetime.now(UTC)


def test_times_in_csv_are_iso_8601(tmp_path):
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        log.decide([1], X[:1], time=NOON)
    last = (tmp_path / "log.csv").read_text().splitlines()[-1]
    assert last[:-9].endswith(",2026-03-01T12:00:00.123456Z")


def test_a_log_is_continued(path):
    for number in range(3):
        with DecisionLog(path, clf) as log:
            log.decide([number], X[:1])
    assert read_decisions(path)["id"].tolist() == ["0", "1", "2"]


def test_another_rule_leaves_another_fingerprint(path):
    again = clf.recalibrate(X[:300])
    for classifier in (clf, again):
        with DecisionLog(path, classifier) as log:
            log.decide([1], X[:1])
    rows = read_decisions(path)
    assert rows["rule_fingerprint"].nunique() == 2
    assert rows["model_fingerprint"].nunique() == 1


def test_the_fingerprints_are_those_of_the_saved_file(path, tmp_path):
    save(clf, tmp_path / "clf.aucross")
    header = read_header(tmp_path / "clf.aucross")
    with DecisionLog(path, clf) as log:
        assert (log.rule_fingerprint, log.model_fingerprint) == (header.rule_fingerprint, header.model_fingerprint)


def test_no_rows_write_nothing(path):
    with DecisionLog(path, clf) as log:
        log.append([], Decisions(np.array([], dtype=bool), np.array([]), 0.8, decided_by=clf.band_rule_))
    assert len(read_decisions(path)) == 0
    assert list(read_decisions(path).columns) == list(COLUMNS)


# ---- what is refused ----


@pytest.mark.parametrize("ids", [[None, 1], ["", 1], [float("nan"), 1], ["a\nb", 1], ["a\r", 1], ["a\0", 1]])
def test_ids_that_are_missing_or_hold_line_breaks_are_refused(path, ids):
    with DecisionLog(path, clf) as log, pytest.raises(ValueError, match="ids must be neither missing nor empty nor"):
        log.decide(ids, X[:2])
    assert len(read_decisions(path)) == 0


@pytest.mark.parametrize(("name", "rule"), [("x" * 10_001, "have at most 10,000"), ("\ud800", "be text that UTF-8")])
def test_ids_that_could_not_be_read_back_are_refused(path, name, rule):
    with DecisionLog(path, clf) as log, pytest.raises(ValueError, match=f"ids must {rule}.* in row 1"):
        log.decide([1, name], X[:2])
    assert len(read_decisions(path)) == 0


FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1",
    "@SUM(A1)",
    "-2+3",
    "-7",
    "'=1",
    "''=1",
    "'plain",
    "\t=1",
    " =1",
    "\uff1d1",
    "A-17",
]


def test_formulas_are_neutral_in_csv_raw_in_parquet_and_read_back_as_they_were(path):
    with DecisionLog(path, clf) as log:
        log.decide(FORMULAS, X[: len(FORMULAS)])
    assert read_decisions(path)["id"].tolist() == FORMULAS
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            written = [row["id"] for row in csv.DictReader(file)]
        assert not [text for text in written if re.match(r"[=+@\t\r\uff1d]|-\D|-\d+\D", text.lstrip(" "))]
    else:
        assert pd.read_parquet(path)["id"].tolist() == FORMULAS


@pytest.mark.parametrize("ids", [[1], [1, 2, 3], "ab"])
def test_there_must_be_one_id_per_row(path, ids):
    with DecisionLog(path, clf) as log, pytest.raises(ValueError, match="ids must hold one name per row"):
        log.decide(ids, X[:2])


@pytest.mark.parametrize("moment", [datetime(2026, 1, 1), "2026-01-01", 3])
def test_times_without_a_zone_are_refused(path, moment):
    with DecisionLog(path, clf) as log, pytest.raises(ValueError, match="time must be a datetime with a time zone"):
        log.decide([1], X[:1], time=[moment])


def test_there_must_be_one_time_per_row(path):
    with DecisionLog(path, clf) as log, pytest.raises(ValueError, match="one datetime or one per row, got 1 for 2"):
        log.decide([1, 2], X[:2], time=[NOON])


def test_a_classifier_that_is_not_fitted_is_refused(path):
    with pytest.raises(NotFittedError):
        DecisionLog(path, AUCross(LogisticRegression()))
    assert not path.exists()


def test_a_classifier_that_is_fitted_again_needs_a_new_log(path):
    changing = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    with DecisionLog(path, changing) as log:
        changing.fit(X[:500], y[:500])
        with pytest.raises(ValueError, match="clf was fitted again after the log was opened"):
            log.decide([1], X[:1])


def test_a_model_that_is_fitted_again_deep_inside_needs_a_new_log_with_another_fingerprint(path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    frozen = AUCross(FrozenEstimator(model), random_state=0).fit(X, y)
    with DecisionLog(path, frozen) as log:
        log.decide([1], X[:1])
        model.fit(X[:300], y[:300])
        with pytest.raises(ValueError, match="clf was fitted again after the log was opened"):
            log.decide([2], X[:1])
    with DecisionLog(path, frozen) as log:
        log.decide([3], X[:1])
    rows = read_decisions(path)
    assert rows["id"].tolist() == ["1", "3"]
    assert rows["model_fingerprint"].nunique() == 2
    assert rows["model_fingerprint"].iloc[-1] == model_fingerprint(frozen)


def test_a_loaded_model_that_is_fitted_again_is_logged_as_what_it_is_now(path, tmp_path):
    save(clf, tmp_path / "clf.aucross")
    loaded = load(tmp_path / "clf.aucross")
    loaded.fit(X[:300], y[:300])
    with DecisionLog(path, loaded) as log:
        log.decide([1], X[:1])
    (logged,) = read_decisions(path)["model_fingerprint"]
    assert logged != read_header(tmp_path / "clf.aucross").model_fingerprint
    save(loaded, tmp_path / "again.aucross")
    assert logged == read_header(tmp_path / "again.aucross").model_fingerprint


def test_an_equal_fit_may_go_on_in_the_same_log(path):
    again = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    with DecisionLog(path, again) as log:
        again.fit(X, y)
        log.decide([1], X[:1])
    assert set(read_decisions(path)["model_fingerprint"]) == {model_fingerprint(again)}


def test_a_closed_log_says_so(path):
    log = DecisionLog(path, clf)
    log.close()
    log.close()
    with pytest.raises(ValueError, match="is closed; open a new DecisionLog"):
        log.decide([1], X[:1])


def test_a_check_tries_the_disk_and_leaves_the_log_as_it_was(path, monkeypatch):
    def full(_number):
        raise OSError(28, "No space left on device")

    with DecisionLog(path, clf) as log:
        log.decide(["before"], X[:1])
        log.check()
        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", full)
            with pytest.raises(OSError, match="No space left"):
                log.check()
        log.decide(["after"], X[:1])
        assert read_decisions(path, on_damage="raise")["id"].tolist() == ["before", "after"]
        assert path.is_file() or len(list(path.iterdir())) == 2
        path.rename(path.with_name("away"))
        with pytest.raises(FileNotFoundError, match="was removed while the log was open"):
            log.check()
    with pytest.raises(ValueError, match="is closed; open a new DecisionLog"):
        log.check()


def test_a_check_that_cannot_be_taken_back_lets_no_row_be_added(tmp_path, monkeypatch):
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        log.decide(["before"], X[:1])
        monkeypatch.setattr(log._store, "_file", NoTruncate(log._store._file))
        with pytest.raises(OSError, match="cannot be cut"):
            log.check()
        with pytest.raises(OSError, match="was changed while the log was open"):
            log.decide(["after"], X[:1])


class NoTruncate:
    """A file that cannot be made shorter."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def truncate(self, _length):
        raise OSError("cannot be cut")


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match='format must be "csv" or "parquet", got \'json\''):
        DecisionLog(tmp_path / "log", clf, format="json")


def test_the_format_can_be_given_against_the_name(tmp_path):
    for name, kind in (("log", "csv"), ("folder.csv", "parquet")):
        with DecisionLog(tmp_path / name, clf, format=kind) as log:
            log.decide([1], X[:1])
        assert len(read_decisions(tmp_path / name)) == 1
    assert (tmp_path / "folder.csv").is_dir()


def test_a_file_where_a_folder_should_be_is_refused_and_the_other_way_round(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="must be a folder for Parquet files, got a file"):
        DecisionLog(tmp_path / "file", clf)
    with pytest.raises(ValueError, match='must be a file for format="csv", got a folder'):
        DecisionLog(tmp_path / "folder.csv", clf)


@pytest.mark.parametrize("content", ["name,age\nAda,36", "name", "id,score\n1,0.5\n"])
def test_a_csv_file_of_something_else_is_refused_and_stays_as_it_is(tmp_path, content):
    (tmp_path / "mine.csv").write_text(content)
    with pytest.raises(ValueError, match="is not a decision log: its first line must be"):
        DecisionLog(tmp_path / "mine.csv", clf)
    assert (tmp_path / "mine.csv").read_text() == content
    with pytest.raises(ValueError, match="is not a decision log"):
        read_decisions(tmp_path / "mine.csv")


def test_reading_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no decision log at"):
        read_decisions(tmp_path / "none.csv")


# ---- several writers ----


def test_a_csv_file_has_one_writer(tmp_path):
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        with pytest.raises(BlockingIOError, match=r"is open in another DecisionLog.*close that log, or pass a folder"):
            DecisionLog(tmp_path / "log.csv", clf)
        log.decide([1], X[:1])
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        log.decide([2], X[:1])
    assert read_decisions(tmp_path / "log.csv")["id"].tolist() == ["1", "2"]


def test_a_parquet_folder_takes_several_writers(tmp_path):
    with DecisionLog(tmp_path / "log", clf) as first, DecisionLog(tmp_path / "log", clf) as second:
        first.decide([1], X[:1])
        second.decide([2], X[:1])
        first.decide([3], X[:1])
    assert read_decisions(tmp_path / "log")["id"].tolist() == ["1", "2", "3"]


def test_threads_share_one_log(path):
    with DecisionLog(path, clf) as log, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda batch: log.decide([f"{batch}-{row}" for row in range(20)], X[:20]), range(40)))
    rows = read_decisions(path)
    assert len(rows) == rows["id"].nunique() == 800
    # The rows of one call stay together.
    assert (
        rows["id"].str.split("-").str[0].to_numpy().reshape(40, 20)
        == rows["id"].str.split("-").str[0][::20].to_numpy()[:, None]
    ).all()


def test_a_log_can_be_read_while_it_is_written(path):
    with DecisionLog(path, clf) as log:
        log.decide([1], X[:1])
        assert len(read_decisions(path)) == 1
        log.decide([2], X[:1])
        assert len(read_decisions(path)) == 2


# ---- torn writes ----


def test_a_csv_file_cut_anywhere_keeps_every_whole_line(tmp_path):
    path = tmp_path / "log.csv"
    with DecisionLog(path, clf) as log:
        log.decide(["first"], X[:1])
        log.decide(["Ümlaut,", "third"], X[:2])
    content = path.read_bytes()
    ids = ["first", "Ümlaut,", "third"]
    near_breaks = {place + step for place in range(len(content)) if content[place] == 10 for step in (-1, 0, 1, 2, 10)}
    for length in sorted(near_breaks & set(range(len(content)))) + list(range(0, len(content), 13)):
        path.write_bytes(content[:length])
        whole = ids[: max(content[:length].count(b"\n") - 1, 0)]
        if b"\n" in content[:length]:
            torn = content[length - 1 : length] != b"\n"
            with pytest.warns(LogDamageWarning, match="has no end") if torn else nullcontext():
                assert read_decisions(path)["id"].tolist() == whole  # a reader leaves the torn line out
        CsvStore(path).close()
        assert path.read_bytes() == (
            content[: content.rfind(b"\n", 0, length) + 1] or content[: content.find(b"\n") + 1]
        )
    path.write_bytes(content[:-1])
    with DecisionLog(path, clf) as log:
        log.decide(["after"], X[:1])
    assert read_decisions(path)["id"].tolist() == ["first", "Ümlaut,", "after"]


def test_cutting_off_a_torn_line_is_told(tmp_path, caplog):
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        log.decide([1], X[:1])
    with open(tmp_path / "log.csv", "a") as file:
        file.write("2,0.3")
    DecisionLog(tmp_path / "log.csv", clf).close()
    assert "ended in the middle of a line: its last 5 bytes are cut off" in caplog.text


def test_a_long_torn_line_is_found_too(tmp_path):
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        log.decide([1], X[:1])
    with open(tmp_path / "log.csv", "a") as file:
        file.write("x" * 200_000)
    with DecisionLog(tmp_path / "log.csv", clf) as log:
        log.decide([2], X[:1])
    assert read_decisions(tmp_path / "log.csv")["id"].tolist() == ["1", "2"]


def test_a_write_that_fails_leaves_no_half_line(path, monkeypatch):
    with DecisionLog(path, clf) as log:
        log.decide([1], X[:1])

        def full(*_):
            raise OSError("no space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="no space left"):
                log.decide([2], X[:1])
        log.decide([3], X[:1])
    assert read_decisions(path)["id"].tolist() == ["1", "3"]


def test_temporary_parquet_files_are_neither_read_nor_kept_for_ever(tmp_path):
    with DecisionLog(tmp_path / "log", clf) as log:
        log.decide([1], X[:1])
    old, young = (tmp_path / "log" / f".part-{name}.parquet.0.tmp" for name in ("old", "young"))
    for leftover in (old, young):
        leftover.write_bytes(b"PAR1 torn")
    long_ago = time.time() - 7200
    os.utime(old, (long_ago, long_ago))
    assert len(read_decisions(tmp_path / "log")) == 1
    DecisionLog(tmp_path / "log", clf).close()
    assert not old.exists()
    assert young.exists()  # perhaps another process is writing it


def test_other_readers_see_whole_parquet_files_only(tmp_path):
    with DecisionLog(tmp_path / "log", clf) as log:
        log.decide([1, 2], X[:2])
    (tmp_path / "log" / ".part-x.parquet.0.tmp").write_bytes(b"torn")
    assert len(pd.read_parquet(tmp_path / "log")) == 2
    assert [name for name in os.listdir(tmp_path / "log") if not name.startswith(".")] == [
        name for name in os.listdir(tmp_path / "log") if re.fullmatch(r"part-\d{10}-\w{8}-\w{16}\.parquet", name)
    ]


@pytest.mark.attack("decision log, writer killed")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are made by fork")
def test_a_killed_process_loses_no_row_that_it_had_written(path, tmp_path, attacked, full_size):
    save(clf, tmp_path / "clf.aucross")
    script = Path(__file__).with_name("killed_writer.py")
    n_kills = 215 if full_size else 4
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "clf.aucross"), str(path), str(n_kills)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    acknowledged = json.loads(run.stdout)
    with DecisionLog(path, clf) as log:
        log.decide(["after"], X[:1])
    rows = read_decisions(path, on_damage="raise")
    assert rows["id"].iloc[-1] == "after"
    inside = (rows["score"] >= rows["lower"]) & (rows["score"] <= rows["upper"])
    np.testing.assert_array_equal(inside, rows["decision"] == "review")
    assert rows["model_fingerprint"].nunique() == 1
    attacked(n_kills, list(lost_or_doubled(rows["id"][:-1], acknowledged, whole_calls=path.suffix != ".csv")))


def lost_or_doubled(ids, acknowledged, *, whole_calls, batch_size=400):
    """A sentence on each killed process whose rows are not there exactly once."""
    batches = ids.str.extract(r"^(?P<run>\d+)-(?P<batch>\d+)-(?P<row>\d+) ").astype(int)
    for number, count in enumerate(acknowledged):
        rows = batches[batches["run"] == number]
        written = [each["row"].tolist() for _, each in rows.groupby("batch")]
        of_killed_call = written[count:]
        if written[:count] != [list(range(batch_size))] * count:
            yield f"process {number}: rows that it had told were lost or doubled"
        # Of the call that was killed, its first rows, or all or nothing.
        elif len(of_killed_call) > 1 or any(some != list(range(len(some))) for some in of_killed_call):
            yield f"process {number}: rows of the killed call are not its first"
        elif whole_calls and any(len(some) != batch_size for some in of_killed_call):
            yield f"process {number}: half a call was kept"
