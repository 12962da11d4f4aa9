"""Decision logs that are damaged, cut, emptied or written by a clock that goes backwards: what is whole is read, the
rest is named, and nothing is added to a file that is no longer the one that was written."""

from __future__ import annotations

import os
import shutil
import warnings
from datetime import UTC, datetime, timedelta
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.record import log as log_module
from aucross.record.log import DecisionLog, read_decisions
from aucross.record.log_rows import LogDamageWarning

X, y = make_classification(200, flip_y=0.2, random_state=0)
clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
IDS = ["Ümlaut", "=1+1", 'quote "q", comma', "'=x", "plain"]
damaging = pytest.mark.attack("decision log, damaged")


def write(path, n_calls=6, start=0):
    with DecisionLog(path, clf) as log:
        for call in range(start, start + n_calls):
            log.decide([f"{text} {call}" for text in IDS], X[5 * call : 5 * call + 5])


def read(path):
    """The rows that can be read and the places that are named."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = read_decisions(path)
    return rows, [place for warning in caught for place in warning.message.places]


def flipped(content, place, bit):
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


# ---- a CSV file ----


@pytest.fixture
def csv_log(tmp_path):
    path = tmp_path / "log.csv"
    write(path)
    return path, path.read_bytes(), read_decisions(path)


def faults_of_csv(path, original, whole_log, damaged):
    """Compare with the slow way: a line is whole if the file as it was written has it."""
    path.write_bytes(damaged)
    lines = original.split(b"\n")[1:-1]
    found = damaged.split(b"\n")[:-1]
    rows, places = read(path)
    expected = whole_log[[line in found[1:] for line in lines]].reset_index(drop=True)
    if not rows.equals(expected):
        yield f"{len(rows)} rows were read instead of {len(expected)}"
    broken = {f"line {place}" for place, line in enumerate(found[1:], start=2) if line not in lines}
    if found[0] != original.split(b"\n")[0]:
        broken.add("line 1")
    named = {" ".join(place.split()[:2]) for place in places}
    if not broken <= named:
        yield f"{broken - named} were not named"
    if not named and len(found) != len(lines) + 1 and not original.startswith(damaged):
        yield "missing lines were not named"


@damaging
def test_a_changed_bit_costs_its_line_only(csv_log, attacked):
    path, original, rows = csv_log
    rng = np.random.default_rng(0)
    breaks = [place for place, byte in enumerate(original) if byte == 10]
    places = [*rng.integers(len(original), size=60), *rng.choice(breaks, 10), *range(0, 60, 6)]
    wrong = []
    for place in places:
        damaged = flipped(original, place, rng.integers(8))
        wrong += [f"byte {place}: {fault}" for fault in faults_of_csv(path, original, rows, damaged)]
    attacked(len(places), wrong)


@damaging
def test_a_cut_file_keeps_its_whole_lines_and_names_the_torn_one(csv_log, attacked):
    path, original, rows = csv_log
    start = original.index(b"\n") + 1
    wrong = []
    for length in np.random.default_rng(1).integers(start, len(original), size=20):
        wrong += [f"cut at {length}: {fault}" for fault in faults_of_csv(path, original, rows, original[:length])]
        if original[length - 1] != 10 and "has no end" not in "".join(read(path)[1]):
            wrong.append(f"cut at {length}: the torn line was not named")
    attacked(20, wrong)


@damaging
def test_lines_that_are_zeroed_removed_doubled_or_moved_are_named(csv_log, attacked):
    path, original, rows = csv_log
    header, *lines = original.splitlines(keepends=True)
    ids = rows["id"].tolist()
    wrong = []
    for row in range(1, 6):
        others = ids[:row] + ids[row + 1 :]
        changes = {
            "zeroed": ([*lines[:row], b"\0" * 4096, *lines[row + 1 :]], ids[:row] + ids[row + 2 :], f"line {row + 2} "),
            "removed": (lines[:row] + lines[row + 2 :], ids[:row] + ids[row + 2 :], "rows before it are missing (2)"),
            "doubled": ([*lines[: row + 1], *lines[row:]], ids, f"line {row + 3} is row {row + 1} once more"),
            "moved": ([*lines[:row], *lines[row + 1 :], lines[row]], [*others, ids[row]], "are missing (1)"),
        }
        for name, (changed, expected, sentence) in changes.items():
            path.write_bytes(header + b"".join(changed))
            found, places = read(path)
            if found["id"].tolist() != expected or sentence not in "; ".join(places):
                wrong.append(f"row {row} {name}: {found['id'].tolist()}, {places}")
    attacked(20, wrong)


@pytest.mark.parametrize(
    "line", [b"31,x", b"x" * 30, b"31,a,b,c,d,e,f,g,h,i,j", b'31,"a', b"31,a,x,automatic,,,,r,m,t"]
)
def test_a_line_of_something_else_is_named_even_if_its_checksum_fits(csv_log, line):
    path, original, rows = csv_log
    path.write_bytes(original + line + b",%08x\n" % crc32(line))
    with pytest.warns(LogDamageWarning, match="line 32 has not the fields of a decision log"):
        assert read_decisions(path).equals(rows)


def test_a_log_goes_on_after_damaged_lines(csv_log):
    path, original, rows = csv_log
    path.write_bytes(flipped(original, len(original) - 30, 0))
    write(path, 1, start=6)
    found, places = read(path)
    assert places == ["line 31 differs from its checksum"]
    assert found["id"].tolist() == [*rows["id"][:-1], *(f"{text} 6" for text in IDS)]


def test_the_first_line_must_be_right_to_go_on(csv_log):
    path, original, _ = csv_log
    path.write_bytes(flipped(original, 3, 0))
    with pytest.raises(ValueError, match="its first line must be"):
        DecisionLog(path, clf)
    assert path.read_bytes() == flipped(original, 3, 0)


def test_many_damages_are_counted_and_all_are_in_the_warning(csv_log):
    path, original, _ = csv_log
    path.write_bytes(original.replace(b",automatic,", b",review,"))
    with pytest.warns(LogDamageWarning, match="log.csv is damaged: line .*; and [0-9]+ more places") as caught:
        read_decisions(path)
    assert len(caught[0].message.places) == original.count(b",automatic,")
    with pytest.raises(ValueError, match=r"log.csv is damaged: line \d+ differs from its checksum"):
        read_decisions(path, on_damage="raise")


def test_what_to_do_about_damage_is_one_of_two_words(csv_log):
    with pytest.raises(ValueError, match='on_damage must be "warn" or "raise", got \'skip\''):
        read_decisions(csv_log[0], on_damage="skip")


# ---- a folder of Parquet files ----


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "log"
    write(path)
    return path, read_decisions(path)


def faults_of_folder(path, expected, sentence):
    rows, places = read(path)
    if not rows.equals(expected.reset_index(drop=True)):
        yield f"{len(rows)} rows were read instead of {len(expected)}"
    if sentence not in "; ".join(places):
        yield f"{sentence!r} was not said in {places}"


@damaging
def test_a_changed_or_cut_part_costs_its_rows_only(folder, attacked):
    path, rows = folder
    rng = np.random.default_rng(2)
    wrong = []
    for attack in range(60):
        number = rng.integers(6)
        part = sorted(path.glob("part-*"))[number]
        content = part.read_bytes()
        place = rng.integers(len(content))
        part.write_bytes(content[:place] if attack % 3 == 0 else flipped(content, place, rng.integers(8)))
        expected = rows[rows.index // 5 != number]
        faults = faults_of_folder(path, expected, f"{part.name} differs from its checksum")
        wrong += [f"part {number}, byte {place}: {fault}" for fault in faults]
        part.write_bytes(content)
    attacked(60, wrong)


@damaging
def test_parts_that_are_removed_renumbered_or_copied_are_named(folder, tmp_path, attacked):
    path, rows = folder
    wrong = []
    for number in range(5):
        others = rows[rows.index // 5 != number]
        for name, expected, sentence in (
            ("removed", others, f"part {number + 1} is missing"),
            ("renumbered", others, "-0000000009-"),
            ("copied", rows, "copy.parquet has a name that the log gives to no part"),
        ):
            again = shutil.copytree(path, tmp_path / f"{name} {number}")
            part = sorted(again.glob("part-*"))[number]
            if name == "copied":
                shutil.copy(part, again / f"{part.stem} copy.parquet")
            elif name == "renumbered":
                part.rename(again / part.name.replace(f"-{number + 1:010d}-", "-0000000009-"))
            else:
                part.unlink()
            wrong += [f"part {number} {name}: {fault}" for fault in faults_of_folder(again, expected, sentence)]
    attacked(15, wrong)


def test_several_missing_parts_are_named_together(folder):
    path, _ = folder
    for part in sorted(path.glob("part-*"))[1:4]:
        part.unlink()
    assert read(path)[1] == ["parts 2 to 4 are missing"]


def test_a_part_that_cannot_be_read_is_named(folder):
    path, rows = folder
    part = min(path.glob("part-*"))
    part.unlink()
    part.mkdir()
    assert list(faults_of_folder(path, rows[5:], f"{part.name} cannot be read (Is a directory)")) == []


# ---- while the log is open ----


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def grow(path):
    with open(path, "ab") as file:
        file.write(b"1,2,3\n")


def replace(path):
    content = path.read_bytes()
    path.rename(path.with_name("moved"))
    path.write_bytes(content)


def on_part(change, number):
    def on_folder(path):
        change(sorted(path.glob("part-*"))[number])

    on_folder.__name__ = f"{change.__name__}_part"
    return on_folder


WHILE_OPEN = [
    *(("log.csv", change, word) for change, word in ((os.unlink, "removed"), (cut, "changed"), (grow, "changed"))),
    ("log.csv", replace, "replaced by another file"),
    ("log", shutil.rmtree, "removed"),
    *(("log", on_part(os.unlink, number), "removed") for number in (0, 1, -1)),
    *(("log", on_part(cut, number), "changed") for number in (0, 1, -1)),
]


@damaging
@pytest.mark.parametrize(("name", "change", "word"), WHILE_OPEN)
def test_the_next_call_notices_what_happened_to_an_open_log(tmp_path, name, change, word):
    path = tmp_path / name
    with DecisionLog(path, clf) as log:
        for call in range(3):
            log.decide([f"{text} {call}" for text in IDS], X[:5])
        change(path)
        left = sorted((file, file.read_bytes()) for file in tmp_path.rglob("*") if file.is_file())
        for _ in range(2):
            with pytest.raises(OSError, match=rf"{tmp_path}.* was {word}.* while the log was open.*new DecisionLog"):
                log.decide(["after"], X[:1])
        assert sorted((file, file.read_bytes()) for file in tmp_path.rglob("*") if file.is_file()) == left


@damaging
@pytest.mark.parametrize("name", ["log.csv", "log"])
def test_an_open_log_stays_where_it_is_when_the_process_goes_to_another_folder(tmp_path, monkeypatch, name):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with DecisionLog(name, clf) as log:
        log.decide([1], X[:1])
        monkeypatch.chdir("other")
        log.decide([2], X[:1])
    assert read_decisions(tmp_path / name)["id"].tolist() == ["1", "2"]
    assert list((tmp_path / "other").iterdir()) == []


# ---- clocks ----


@damaging
@pytest.mark.parametrize("name", ["log.csv", "log"])
def test_a_clock_that_is_set_back_changes_no_order(tmp_path, monkeypatch, attacked, name):
    shifts = np.random.default_rng(3).integers(-9999, 9999, 20)
    moments = [datetime(2026, 3, 29, tzinfo=UTC) + timedelta(seconds=int(shift)) for shift in shifts]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(moment.timestamp(), tz)

    monkeypatch.setattr(log_module, "datetime", Clock)
    for number, moment in enumerate(moments):  # noqa: B007 - Clock reads it
        with DecisionLog(tmp_path / name, clf) as log:
            log.decide([number], X[:1])
    rows = read_decisions(tmp_path / name)
    wrong = [f"row {row} is {found}" for row, found in enumerate(rows["id"]) if found != str(row)]
    assert rows["time"].tolist() == [pd.Timestamp(moment) for moment in moments]
    attacked(20, wrong)
