"""Attacks on the command line: whatever it is given, it ends with the right code and one sentence, and leaves nothing.

Each case is one idea: files for the folder that it runs in, a command, and what must happen. Values of the tables are
never shown but for the one that a sentence is about: people's names (`SECRETS`) stand in every row.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aucross.cli import table_files
from aucross.files.model_file import load, read_metadata, save
from aucross.system.text import without_formula
from aucross.system.whole_files import whole_file
from tests.cli.commands import aucross

SECRETS = ("Lovelace", "Hopper")
N_ROWS = 60
FIT = "fit t.csv --target default --base logistic --method plugin-auc --no-report --out m.aucross"
PREDICT = "predict model.aucross t.csv --out d.csv"
EVALUATE = "evaluate model.aucross t.csv"
REPORT = "report model.aucross t.csv --out r.md"

Content = bytes | str | Callable[[Path], object]


def loans(n_rows: int = N_ROWS, without: tuple[str, ...] = (), **columns: Any) -> str:
    """A table as CSV, with columns added, replaced or left out."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "loan": [f"{number:04d}" for number in range(n_rows)],
            "income": rng.normal(50, 10, n_rows).round(2),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D"),
            "owner": rng.random(n_rows) < 0.5,
            "name": [SECRETS[number % 2] for number in range(n_rows)],
            "default": (np.arange(n_rows) % 3 == 0).astype(int),
        }
    )
    for name, values in columns.items():
        frame[name] = values
    return frame.drop(columns=list(without)).to_csv(index=False)


def parquet(**columns: Any) -> bytes:
    frame = pd.read_csv(io.StringIO(loans()), dtype={"loan": str}, parse_dates=["since"]).assign(**columns)
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def pick(values: list[Any]) -> list[Any]:
    """The values over and over, for all rows."""
    return [values[number % len(values)] for number in range(N_ROWS)]


@dataclass(frozen=True)
class Case:
    """One attack."""

    idea: str
    command: str
    says: str  # regular expression that the one line must match
    code: int = 1
    files: Mapping[str, Content] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def fit(idea: str, says: str, text: Content | None = None, options: str = "", code: int = 1, **files: Content) -> Case:
    return Case(f"fit: {idea}", f"{FIT} {options}", says, code, {"t.csv": loans() if text is None else text, **files})


def predict(idea: str, says: str, text: Content | None = None, options: str = "", code: int = 1) -> Case:
    return Case(f"predict: {idea}", f"{PREDICT} {options}", says, code, {"t.csv": loans() if text is None else text})


LINES = loans().splitlines(keepends=True)
WHOLE_GZIP = gzip.compress(loans().encode() * 50)


def broken_tables() -> Iterator[Case]:
    """Files that are no tables, for a command that reads them whole and one that reads them in batches."""
    contents: list[tuple[str, str, Content, str]] = [
        ("empty", "t.csv", b"", "t.csv is empty"),
        ("blank", "t.csv", b"  \n \n", "t.csv is empty"),
        ("byte order mark alone", "t.csv", b"\xef\xbb\xbf", "t.csv (is empty|lacks)|has no column"),
        ("null bytes", "t.csv", b"\x00" * 100, "t.csv is not UTF-8 text"),
        ("UTF-16", "t.csv", loans().encode("utf-16"), "t.csv is not UTF-8 text"),
        (
            "Latin-1 in the header",
            "t.csv",
            loans().replace("name", "na\xefve").encode("latin-1"),
            "column names of t.csv",
        ),
        ("Latin-1 in a value", "t.csv", loans().replace("Lovelace", "Lovela\xe7e").encode("latin-1"), "not UTF-8 text"),
        ("one value too many", "t.csv", "".join([*LINES[:9], LINES[9][:-1] + ",Lovelace\n"]), "row 8 has 7 values"),
        ("one value too few", "t.csv", "".join([*LINES[:5], "Lovelace,1\n", *LINES[5:]]), "row 4 has 2 values"),
        (
            "a quote that is never closed",
            "t.csv",
            "".join([*LINES[:5], '"Lovelace\n', *LINES[5:]]),
            "row 4 has|a row has",
        ),
        ("a column twice", "t.csv", loans().replace("income", "loan"), "more than one column 'loan'"),
        ("a row of five megabytes", "t.csv", loans() + "x" * 5_000_000 + "\n", "t.csv: (a row is longer|row)"),
        ("no gzip", "t.csv.gz", loans(), "cannot read t.csv.gz"),
        ("gzip cut off", "t.csv.gz", WHOLE_GZIP[: len(WHOLE_GZIP) // 2], "cannot read t.csv.gz|has|row"),
        ("no zstandard", "t.csv.zst", loans(), "cannot read t.csv.zst"),
        ("no Parquet", "t.parquet", loans(), "cannot read t.parquet"),
        ("empty Parquet", "t.parquet", b"", "cannot read t.parquet"),
        ("Parquet cut off", "t.parquet", parquet()[:-20], "cannot read t.parquet"),
        (
            "Parquet with a damaged footer",
            "t.parquet",
            parquet()[:-40] + b"\xff" * 32 + b"PAR1",
            "cannot read t.parquet",
        ),
        ("Parquet that is called CSV", "t.csv", parquet(), "t.csv is not UTF-8 text"),
        ("a spreadsheet", "t.xlsx", b"PK\x03\x04", "the ending says nothing about the format"),
        ("no ending", "table", loans(), "the ending says nothing about the format"),
        ("a web page", "t.csv", "<html>\n<body>Lovelace</body>\n</html>\n", "t.csv (has no|lacks)"),
        ("JSON", "t.csv", '{\n"name": "Lovelace"\n}\n', "t.csv (has no|lacks)"),
        ("no header", "t.csv", "".join(LINES[1:]), "t.csv (has no column 'default'; is its first line|lacks)"),
        ("a folder", "t.csv", Path.mkdir, "t.csv is a folder"),
        ("a pipe", "t.csv", os.mkfifo, "t.csv is a pipe or a device"),
        ("a device", "t.csv", lambda path: path.symlink_to("/dev/zero"), "t.csv is a pipe or a device"),
        ("a link to nothing", "t.csv", lambda path: path.symlink_to("nowhere.csv"), "there is no file t.csv"),
        ("a link to itself", "t.csv", lambda path: path.symlink_to(path), "cannot read t.csv"),
        ("not there", "other.csv", b"", "there is no file t.csv"),
        ("a folder that is a file", "t", b"", "there is no file t/t.csv"),
        ("a name of 300 characters", "t", b"", "cannot read x+.csv: File name too long"),
        ("a control character in the header", "t.csv", "\x1b[2J,b\n1,2\n", "t.csv (has no column|lacks)"),
    ]
    for idea, name, content, says in contents:
        asked = {"other.csv": "t.csv", "t": "t/t.csv"}.get(name, name)
        asked = "x" * 300 + ".csv" if "300" in idea else asked
        for command in (FIT, PREDICT):
            verb = command.partition(" ")[0]
            yield Case(f"{verb}: table {idea}", command.replace("t.csv", asked, 1), says, 1, {name: content})
    yield fit("table without rows", "t.csv has no rows below its header", LINES[0])


def odd_columns() -> Iterator[Case]:
    """Columns that a fit must not take for what they are not."""
    number = np.arange(1000, 1000 + N_ROWS)
    for idea, values, says in (
        ("three classes", pick([0, 1, 2]), "must be binary, got 3 classes"),
        ("a class per row", [f"Lovelace {row}" for row in range(N_ROWS)], "must be binary, got 60 classes; make it"),
        ("one class", 0, "must hold two classes"),
        ("no value", "", "has no values at all"),
        ("words", pick(["no", "yes"]), "say which is the positive class"),
        ("one positive", [1] + [0] * (N_ROWS - 1), "each class needs at least 2 rows"),
    ):
        yield fit(f"a target of {idea}", f"^error: .*{says}", loans(default=values))
    marks: list[tuple[str, Callable[[int], str], str]] = [
        ("commas", lambda n: f"{n:,}", "--thousands , or --decimal ,"),
        ("commas and points", lambda n: f"{n:,}.25", "--thousands ,"),
        ("decimal commas", lambda n: f"{n},25", "--decimal ,"),
        ("apostrophes", lambda n: f"{n * n:,}".replace(",", "'"), """--thousands "'\""""),
        ("curly apostrophes", lambda n: f"{n * n:,}".replace(",", "\u2019"), """--thousands "'\""""),
        ("spaces", lambda n: f"{n * n:,}".replace(",", " "), '--thousands " "'),
        ("narrow spaces", lambda n: f"{n * n:,}".replace(",", "\u202f"), '--thousands " "'),
        ("points", lambda n: f"{n * n:,}".replace(",", "."), "--thousands ."),
        ("points and commas", lambda n: f"{n:,}".replace(",", ".") + ",5", "--decimal , --thousands ."),
        ("commas in every third", lambda n: f"{n:,}" if n % 3 else str(n), "--thousands , or --decimal ,"),
        ("dollars", lambda n: f"${n}", "without a currency"),
        ("dollars behind a sign", lambda n: f"-${n:,}.50", "without a currency"),
        ("euros", lambda n: f"{n} \u20ac", "without a currency"),
        ("currency codes", lambda n: f"CHF {n}", "without a currency"),
        ("per cent", lambda n: f"{n / 100} %", "without a currency"),
        ("brackets", lambda n: f"({n})", "without a currency"),
        ("a sign behind", lambda n: f"{n}-", "without a currency"),
        ("a typographic minus", lambda n: f"\u2212{n}", "without a currency"),
    ]
    for idea, write, remedy in marks:
        text = loans(amount=[write(int(value)) for value in number])
        yield fit(f"numbers with {idea}", f"column 'amount' holds numbers with marks.*{re.escape(remedy)}", text)
    for idea, values, says in (
        ("names, one of them twice", ["Lovelace 1", *(f"Lovelace {row}" for row in range(1, N_ROWS))], "an identifier"),
        ("names, a third of them twice", [f"Lovelace {row % 40}" for row in range(N_ROWS)], "an identifier"),
        ("account numbers with letters", [f"DE{row % 50:08d}" for row in range(N_ROWS)], "an identifier"),
        ("account numbers with zeros", [f"{row % 50:010d}" for row in range(N_ROWS)], "an identifier"),
        ("free text", [f"Lovelace wrote on day {row % 55}" for row in range(N_ROWS)], "an identifier"),
        ("e-mail addresses", [f"lovelace{row % 59}@example.org" for row in range(N_ROWS)], "an identifier"),
        ("numbers and a word", [*map(str, number[1:] * 7), "many"], "holds text such as 'many'"),
        ("nothing", "", "has no values at all"),
        ("blanks in all spellings", pick(["NA", "null", " ", "None"]), "has no values at all"),
        ("numbers beyond all numbers", [*map(str, number[1:] * 7), "1e999"], "must hold numbers.*'1e999'"),
    ):
        yield fit(f"a column of {idea}", f"column 'extra' .*{says}", loans(extra=values))
    for option, idea, values, says in (
        ("--weight", "negative ones", [-1.0] + [1.0] * (N_ROWS - 1), "got -1 in row 0"),
        ("--weight", "missing ones", [""] + [1.0] * (N_ROWS - 1), "got no value in row 0"),
        ("--weight", "words", "heavy", "must hold numbers"),
        ("--weight", "infinite ones", "inf", "must hold numbers"),
        ("--weight", "commas", "1,5", "must hold numbers"),
        ("--customer", "missing ones", [""] + ["a"] * (N_ROWS - 1), "1 rows without a value"),
        ("--customer", "a single one", "a", "1 customer cannot be split"),
        ("--time-column", "words", "soon", "must hold a number or a date"),
        ("--time-column", "missing ones", [""] + ["2024-01-01"] * (N_ROWS - 1), "must hold a number or a date"),
        ("--time-column", "one moment", "2024-01-01", "too many rows share the first moment"),
        ("--by", "missing ones alone", "", "at least one value|no values"),
    ):
        yield fit(f"{option} with {idea}", f"^error: .*{says}", loans(extra=values), f"{option} extra --drop loan")
    many = [f"Lovelace {row}" for row in range(200)]
    yield fit(
        "--by with a group per row", "has 200 different values", loans(200, extra=many), "--by extra --drop extra"
    )
    for idea, values, says in (
        ("words", "good", "must hold numbers"),
        ("nothing", "", "has no values at all"),
        ("points", 600.0, "must hold probabilities between 0 and 1"),
        ("negative numbers", -0.1, "must hold probabilities between 0 and 1"),
        ("infinity", "inf", "must hold numbers"),
    ):
        command = f"{FIT.replace('--base logistic ', '')} --score extra"
        yield Case(f"fit: a score of {idea}", command, says, 1, {"t.csv": loans(extra=values)})


def wrong_options() -> Iterator[Case]:
    """Options that cannot be, alone or together."""
    for option, values, says in (
        ("--coverage", ("0", "-0.1", "90", "1.01", "nan", "inf"), r"--coverage must be in \(0, 1\]"),
        ("--test-size", ("0", "1", "2", "-1", "nan"), r"--test-size must be a share in \(0, 1\)"),
        ("--jobs", ("0",), "--jobs must be"),
        ("--decimal", (";", "..", "x"), "--decimal must be"),
        ("--thousands", ("x", ",,", "0"), "--thousands must be"),
        ("--separator", (";;", "x", "7", '"', "\u00e9", "''"), "--separator must be one character"),
        ("--decimal , --thousands", (",",), "it is the decimal mark"),
        ("--threshold", ("600",), "name its column with --score"),
        ("--low-is-positive", ("",), "name its column with --score"),
        ("--score", ("income",), "both say what answers"),
        ("--drop", ("default",), "the target cannot be another option's column"),
        ("--id", ("default",), "the target cannot be another option's column"),
        ("--weight", ("default",), "the target cannot be another option's column"),
        ("--test t.csv --time-column", ("since",), "both say what to test on"),
    ):
        for value in values:
            yield fit(f"{option} {value}", says, options=f"{option} {value}", code=2)
    for option in ("--id", "--weight", "--customer", "--time-column", "--drop", "--by", "--target"):
        yield fit(
            f"{option} of no column", f"{option}: t.csv has no column 'incone'; did you", options=f"{option} incone"
        )
    yield fit("--positive of no class", "--positive: target 'default' has no value", options="--positive maybe")
    yield fit("--positive with a formula", "--positive: target", options="--positive =1+1")
    drops = " ".join(f"--drop {name}" for name in ("loan", "income", "since", "owner", "name"))
    yield fit("nothing to learn from", "no column left to learn from", options=drops)
    yield fit("a separator that is not there", "t.csv has no column 'default'", options="--separator ;")
    for option in ("--seed -1", "--seed x", "--coverage x", "--base cat", "--method best", "--jobs x", "--colour red"):
        yield fit(option, "(Invalid value|No such option)", options=option, code=2)
    for option, says, code in (
        ("--coverage 0", "--coverage must be in", 2),
        ("--coverage 80", "for 80 % pass 0.8", 2),
        ("--capacity -1", "--capacity must be a number of rows", 2),
        ("--capacity 5 --coverage 0.9", "give one of them", 2),
        ("--capacity 5 --recalibrate", "give one of them", 2),
        ("--capacity x", "Invalid value", 2),
        ("--id incone", "t.csv has no column 'incone'", 1),
        ("--decimal ;", "--decimal must be", 2),
        ("--separator ;;", "--separator must be", 2),
    ):
        yield predict(option, says, options=option, code=code)
    for command in (EVALUATE, REPORT):
        verb = command.partition(" ")[0]
        for option, says, code in (
            ("--coverage 0", "--coverage must be in", 2),
            ("--by incone", "--by: t.csv has no column 'incone'", 1),
            ("--seed 1", "No such option", 2),
            ("--thousands x", "--thousands must be", 2),
        ):
            yield Case(f"{verb}: {option}", f"{command} {option}", says, code, {"t.csv": loans()})
    for idea, text, says in (
        ("without labels", loans(without=("default",)), "no column 'default', the target of the model"),
        ("with other labels", loans(default=pick(["a", "b"])), "must hold '0' and '1', as in training"),
        ("with blank labels", loans(default=""), "has no values in t.csv"),
        ("with one class", loans(default=1), "must hold both classes"),
    ):
        yield Case(f"evaluate: a table {idea}", EVALUATE, says, 1, {"t.csv": text})
    yield Case("demo: too few rows", "demo --folder demo --rows 10", "--rows must be at least 500", 2)
    yield Case("demo: a folder that is a file", "demo --folder t", "--folder: ", 1, {"t": b"old"})
    yield Case(
        "walkthrough: a table of the user",
        "walkthrough --folder . --rows 500",
        "is no table of the walkthrough",
        1,
        {"loans.csv": loans()},
    )
    yield Case(
        "compare: base and score",
        "compare t.csv --target default --score income --base hgb",
        "both say",
        2,
        {"t.csv": loans()},
    )
    yield Case("compare: a coverage in per cent", "compare t.csv --target default --coverage 90", "for 90 %", 2)
    yield Case("fit: no target", "fit t.csv", "Missing option '--target'", 2)
    yield Case("predict: no table", "predict model.aucross", "Missing argument", 2)
    yield Case("no such command", "train t.csv", "No such command", 2)


def wrong_outputs() -> Iterator[Case]:
    """Files that cannot be written, or must not."""
    for idea, out, says, code in (
        ("in no folder", "no/m.aucross", "there is no folder", 1),
        ("that is a folder", "there", "is a folder; name a file in it", 2),
        ("that is a device", "device", "is a pipe or a device", 2),
        ("that is a pipe", "pipe", "is a pipe or a device", 2),
        ("that is the table", "t.csv", "is the table to read", 2),
        ("that links to the table", "link", "is the table to read", 2),
        ("with a name of 300 bytes", "x" * 300, "has 300 bytes, and 255 is the most", 2),
        ("below a file", "t.csv/m.aucross", "there is no folder", 1),
        ("that links to itself", "loop", "--out: no file can be written at", 1),
    ):
        files: dict[str, Content] = {
            "there": Path.mkdir,
            "device": lambda path: path.symlink_to("/dev/null"),
            "pipe": os.mkfifo,
            "link": lambda path: path.symlink_to("t.csv"),
            "loop": lambda path: path.symlink_to(path),
        }
        yield fit(f"a model {idea}", says, None, f"--out {out}", code, **files)
    for out, says, code in (
        ("d.xlsx", "the ending says nothing about the format", 1),
        ("d", "the ending says nothing about the format", 1),
        ("no/d.csv", "there is no folder", 1),
        ("there.csv", "is a folder", 2),
        ("pipe.csv", "is a pipe or a device", 2),
        ("t.csv", "is a file to read", 2),
        ("x" * 300 + ".csv", "has 304 bytes", 2),
    ):
        files = {"t.csv": loans(), "there.csv": Path.mkdir, "pipe.csv": os.mkfifo}
        yield Case(f"predict: --out {out[:12]}", f"{PREDICT} --out {out}", says, code, files)
    for command, out, says in (
        ("fit", "r.pdf", "--report: the report r.pdf must end in"),
        ("fit", "m.md", "is the name of the report"),
        ("report", "r.pdf", "--out: the report r.pdf must end in"),
        ("report", "model.html", "is a file to read; name another one for the report"),
    ):
        if command == "fit":
            line = f"{FIT.replace('--no-report ', '').replace('m.aucross', 'm.md')} --report {out}"
        else:
            line = f"report {'model.html' if out == 'model.html' else 'model.aucross'} t.csv --out {out}"
        files = {"t.csv": loans(), "model.html": b"old"}
        yield Case(f"{command}: a report {out}", line, says, 2, files)


def wrong_models() -> Iterator[Case]:
    """Files that are no models of the command line."""
    for idea, name, content, says in (
        ("not there", "other", b"", "there is no model file m1.aucross; make one with `aucross fit`"),
        ("empty", "m1.aucross", b"", "m1.aucross"),
        ("noise", "m1.aucross", bytes(range(256)) * 8, "m1.aucross"),
        ("text", "m1.aucross", "Lovelace\n" * 9, "m1.aucross"),
        ("an empty archive", "m1.aucross", b"PK\x05\x06" + b"\x00" * 18, "m1.aucross"),
        ("a folder", "m1.aucross", Path.mkdir, "m1.aucross is a folder"),
        ("a pipe", "m1.aucross", os.mkfifo, "m1.aucross is a pipe or a device"),
    ):
        for command in (PREDICT, EVALUATE, REPORT):
            verb = command.partition(" ")[0]
            line = command.replace("model.aucross", "m1.aucross")
            yield Case(f"{verb}: a model that is {idea}", line, says, 1, {name: content, "t.csv": loans()})
    for command in (PREDICT, EVALUATE, REPORT):
        line = command.replace("model.aucross", "t.csv", 1)
        verb = command.partition(" ")[0]
        yield Case(
            f"{verb}: a table for a model", line, "t.csv is a table, and the model comes first", 1, {"t.csv": loans()}
        )
    yield Case(
        "predict: a short key",
        PREDICT,
        "at least 16 bytes",
        1,
        {"t.csv": loans(), "key": b"x"},
        {"AUCROSS_KEY_FILE": "key"},
    )
    yield Case("predict: no key", PREDICT, "cannot be read", 1, {"t.csv": loans()}, {"AUCROSS_KEY_FILE": "key"})
    yield Case(
        "predict: another key",
        PREDICT,
        "is not signed",
        1,
        {"t.csv": loans(), "key": b"x" * 32},
        {"AUCROSS_KEY_FILE": "key"},
    )


def odd_rows_to_decide_on() -> Iterator[Case]:
    """Tables that do not fit the model."""
    for idea, text, says in (
        ("lacks a column", loans(without=("income",)), "t.csv lacks the column 'income' of the training data"),
        ("lacks all columns", "a,b\n1,2\n", "t.csv lacks 4 columns"),
        ("has a word for a number", loans(income=[*["1"] * 59, "many"]), "must hold numbers.*got 'many' in row 59"),
        ("has commas in numbers", loans(income="1,169"), "say what its marks mean with --thousands , or --decimal ,"),
        ("has dollars for numbers", loans(income="$1"), "without a currency"),
        ("has infinite numbers", loans(income="inf"), "must hold numbers"),
        ("has a word for a date", loans(since="soon"), "must hold dates such as 2024-03-31"),
        ("has no such day", loans(since="2024-02-31"), "must hold dates"),
        ("has a word for yes", loans(owner="perhaps"), "must hold true or false"),
        ("has a long text for a number", loans(income="Lovelace" + "x" * 5000)[:9000], "."),
        ("has no ids", loans(without=("loan",)), "no column 'loan', which named the rows at the fit"),
    ):
        if "long text" not in idea:
            yield predict(f"a table {idea}", says, text)
    for idea, columns, says in (
        ("dates for numbers", {"income": pd.Timestamp("2024-01-01")}, "must hold numbers.*of type"),
        ("numbers for categories", {"name": 0.5}, "must hold text"),
        ("numbers for dates", {"since": 1.5}, "must hold dates"),
        ("infinite numbers", {"income": np.inf}, "must hold numbers.*got inf in row 0"),
        ("lists for numbers", {"income": pd.Series([[1.0]] * N_ROWS)}, "must hold numbers.*of type"),
    ):
        command = PREDICT.replace("t.csv", "t.parquet")
        yield Case(f"predict: Parquet with {idea}", command, says, 1, {"t.parquet": parquet(**columns)})
    repeated = loans(loan=pick(["0001", "0002", "0003"]))
    yield predict("repeated ids and a capacity", "must name each row once", repeated, "--capacity 5")
    yield predict("missing ids and a capacity", "must name each row once", loans(loan=""), "--capacity 5")
    yield predict("an id called score", "has a column 'score' of its own", loans(score=1), "--id score")
    late = loans() + "0061,Lovelace\n"
    yield predict("an odd row after many whole ones", "row 60 has 2 values", late)


CASES = [
    *broken_tables(),
    *odd_columns(),
    *wrong_options(),
    *wrong_outputs(),
    *wrong_models(),
    *odd_rows_to_decide_on(),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "t.csv").write_text(loans())
    options = FIT.replace("t.csv", str(folder / "t.csv")).replace("m.aucross", str(folder / "m.aucross"))
    result = aucross(*options.split(), "--id", "loan", "--quiet")
    assert result.exit_code == 0, result.stderr
    return (folder / "m.aucross").read_bytes()


def state(folder: Path) -> dict[str, Any]:
    """Names of all files, hidden ones too, with their content."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


def check_refused(folder: Path, before: dict[str, Any], result: Any, says: str, code: int) -> None:
    """One sentence, the right code, no trace, no people, and nothing on the disk."""
    shown = result.stdout + result.stderr
    assert result.exit_code == code, shown
    assert "Traceback" not in shown
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    if lines[0].startswith("Usage: "):  # the options themselves cannot be read
        assert lines[1].startswith("Try ")
        lines = lines[3:]
    else:
        assert lines[0].startswith("error: ")
    assert len(lines) == 1
    assert re.search(says, lines[0]), lines[0]
    assert len(lines[0]) <= 700
    assert lines[0].isprintable()
    assert not any(secret in shown.replace("'Lovelace'", "") for secret in SECRETS), shown
    assert state(folder) == before


@pytest.mark.attack("command line")
@pytest.mark.parametrize("case", CASES, ids=lambda case: re.sub(r"[^\w ,:.'=-]", "?", case.idea)[:70])
def test_a_command_that_cannot_work_ends_with_one_sentence(case, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in case.environment.items():
        monkeypatch.setenv(name, value)
    Path("model.aucross").write_bytes(model)
    for name, content in case.files.items():
        path = Path(name)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = state(tmp_path)
    check_refused(tmp_path, before, aucross(*case.command.split()), case.says, case.code)


def test_the_cases_are_different_ideas():
    assert len({case.idea for case in CASES}) == len(CASES)
    assert len(CASES) >= 205


FORMULAS = [
    *("=1+1", "=cmd|' /C calc'!A0", "+1", "+1-cmd|' /C calc'!A0", "-1+1", "@SUM(A1:A9)", "=HYPERLINK(A1)", "\t=1+1"),
    *(
        "\r=1+1",
        " =1+1",
        "\u00a0=1+1",
        "\uff1d1+1",
        "\uff0b1",
        "\uff201",
        "'=1+1",
        "=",
        "-5",
        "a;=1+1",
        'a"=1+1',
        "a|=1+1",
    ),
]


@pytest.mark.attack("command line")
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.csv.gz", "d.parquet"])
def test_no_id_is_run_by_a_spreadsheet(name, model, tmp_path, monkeypatch, attacked):
    monkeypatch.chdir(tmp_path)
    Path("model.aucross").write_bytes(model)
    ids = [*FORMULAS, *(f"{number:04d}" for number in range(N_ROWS - len(FORMULAS)))]
    Path("t.parquet").write_bytes(parquet(loan=ids))
    result = aucross("predict", "model.aucross", "t.parquet", "--out", name)
    assert result.exit_code == 0, result.stderr
    if name.endswith("parquet"):
        found, expected = pd.read_parquet(name)["loan"], ids
    else:
        separator = "\t" if "tsv" in name else ","
        found = pd.read_csv(name, dtype=str, sep=separator, keep_default_na=False, lineterminator="\n")["loan"]
        expected = [without_formula(text) for text in ids]
    pairs = zip(ids, found, expected, strict=True)
    wrong = [f"{text!r} became {there!r}" for text, there, wanted in pairs if there != wanted]
    attacked(len(FORMULAS), wrong)


def crafted(metadata: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a file may say in the place of the schema."""
    for part in ("columns", "labels", "roles", "left_out", "score", "numbers"):
        yield {name: value for name, value in metadata.items() if name != part}
        for value in (7, [], {}, "Lovelace", None, [[[]]], {"x": {"y": 1}}):
            if value != metadata[part] and not (part == "left_out" and value in ([], {}, "Lovelace")):
                yield {**metadata, part: value}
    columns = metadata["columns"]
    yield {**metadata, "columns": dict.fromkeys(columns, "picture")}
    yield {**metadata, "columns": {**columns, "other": "number"}}
    yield {**metadata, "columns": dict(list(columns.items())[:-1])}
    yield {**metadata, "columns": {f"{name} ": kind for name, kind in columns.items()}}
    yield {**metadata, "labels": {"negative": "0", "positive": "0"}}
    yield {**metadata, "labels": {"negative": 0, "positive": [1]}}
    yield {**metadata, "roles": {**metadata["roles"], "target": 5}}
    yield {**metadata, "roles": {**metadata["roles"], "owner": "x"}}
    yield {**metadata, "numbers": {"decimal": "x", "thousands": ""}}
    yield {**metadata, "numbers": {"decimal": ",", "thousands": ","}}
    yield {**metadata, "score": "no such column"}


@pytest.mark.attack("command line")
def test_a_model_that_lies_about_its_columns_is_refused(model, tmp_path, monkeypatch, attacked):
    monkeypatch.chdir(tmp_path)
    Path("model.aucross").write_bytes(model)
    Path("t.csv").write_text(loans())
    clf = load("model.aucross")
    wrong, tried = [], 0
    for metadata in crafted(read_metadata("model.aucross")):
        tried += 1
        save(clf, "lying.aucross", metadata=metadata)
        before = state(tmp_path)
        result = aucross("predict", "lying.aucross", "t.csv", "--out", "d.csv")
        try:
            check_refused(tmp_path, before, result, "lying.aucross", 1)
        except AssertionError as error:
            wrong.append(f"{metadata}: {error}")
    attacked(tried, wrong)


@pytest.mark.attack("command line")
def test_a_table_cut_anywhere_is_refused_or_read_without_its_end(model, tmp_path, monkeypatch, attacked, full_size):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 1000)
    Path("model.aucross").write_bytes(model)
    content, wrong = loans().encode(), []
    ends = np.random.default_rng(0).choice(len(content), 100 if full_size else 10, replace=False)
    for end in ends:
        Path("t.csv").write_bytes(content[:end])
        before = state(tmp_path)
        result = aucross("predict", "model.aucross", "t.csv", "--out", "d.csv")
        n_lines = content[:end].count(b"\n")
        try:
            if result.exit_code == 0:
                n_decided = len(pd.read_csv("d.csv"))
                assert n_lines - 1 <= n_decided <= n_lines
                Path("d.csv").unlink()
            else:
                check_refused(tmp_path, before, result, "t.csv|column", 1)
        except AssertionError as error:
            wrong.append(f"cut at {end}: {error}")
    attacked(len(ends), wrong)


# ---- processes ----

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
STOPPED = "stopped: nothing was left half-written\n"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    line = command.replace("aucross ", f"{sys.executable} -m aucross ", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=ENVIRONMENT)


OUTPUTS = [
    ("aucross evaluate model.aucross t.csv --quiet >&-", 141, "error: the standard output is closed; open it"),
    ("aucross evaluate model.aucross t.csv --quiet >/dev/full", 141, "takes no more (No space left on device)"),
    ("aucross evaluate model.aucross t.csv --quiet --json >/dev/full", 141, "takes no more (No space left on device)"),
    ("aucross evaluate model.aucross t.csv --quiet | true; exit ${PIPESTATUS[0]}", 141, "takes no more (Broken pipe)"),
    ("aucross evaluate model.aucross t.csv --quiet 2>&- >/dev/null", 0, ""),
    ("aucross predict model.aucross t.csv --out d.csv --quiet 2>&- | wc -l", 0, ""),
]


@pytest.mark.attack("command line")
def test_an_output_that_takes_nothing_is_one_sentence(model, tmp_path, monkeypatch, attacked, full_size):
    monkeypatch.chdir(tmp_path)
    Path("model.aucross").write_bytes(model)
    Path("t.csv").write_text(loans())
    outputs = OUTPUTS if full_size else OUTPUTS[:2]
    wrong = []
    for command, code, says in outputs:
        run = shell(command)
        is_right = run.returncode == code and says in run.stderr and len(run.stderr.splitlines()) == bool(says)
        left = set(state(tmp_path)) - {"model.aucross", "t.csv", "d.csv", "d.csv.json"}
        if not is_right or left:
            wrong.append(f"{command}: {run.returncode} {run.stderr} {left}")
    attacked(len(outputs), wrong)


@pytest.mark.attack("command line")
def test_ctrl_c_at_any_moment_ends_with_130_and_one_line(model, tmp_path, attacked, full_size):
    (tmp_path / "model.aucross").write_bytes(model)
    (tmp_path / "t.csv").write_text(loans())
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from aucross.cli import main\n"
        "import sys; print('started', flush=True)\nmain()"
    )
    arguments = ["predict", "model.aucross", "t.csv", "--out", "d.csv", "--quiet"]
    command = [sys.executable, "-c", code, *arguments]
    wrong, tried = [], 0
    for delay in np.linspace(0.02, 3.0, 40 if full_size else 2):
        for name in ("d.csv", "d.csv.json"):
            (tmp_path / name).unlink(missing_ok=True)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=tmp_path
        ) as running:
            running.stdout.readline()
            time.sleep(delay)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=120)
        tried += 1
        if running.returncode == 130:
            left = {path.name for path in tmp_path.iterdir()} - {"model.aucross", "t.csv", "d.csv", "d.csv.json"}
            if errors != STOPPED or left:
                wrong.append(f"after {delay:.2f} s: {errors} {left}")
        # Else it was done before the signal came, for which an interpreter that ends no longer listens.
        elif running.returncode not in {0, -signal.SIGINT} or errors or not (tmp_path / "d.csv").exists():
            wrong.append(f"after {delay:.2f} s: code {running.returncode}, {errors}")
    attacked(tried, wrong)


# ---- what killed writers leave ----


@pytest.mark.attack("command line")
@pytest.mark.parametrize("name", ["d.csv", "x" * 230 + ".csv"])
def test_the_hidden_file_of_a_killed_writer_is_removed_at_the_next_start(name, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = (
        "import os, sys, signal; from pathlib import Path; from aucross.system.whole_files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, name], check=False, env=ENVIRONMENT)
    assert [path.suffix for path in tmp_path.iterdir()] == [".tmp"]
    Path("model.aucross").write_bytes(model)
    # Even a command that fails: the orphans go before anything is read.
    assert aucross("predict", "model.aucross", "t.csv", "--out", name).exit_code == 1
    Path("t.csv").write_text(loans())
    assert aucross("predict", "model.aucross", "t.csv", "--out", name).exit_code == 0
    assert sorted(state(tmp_path)) == sorted(["model.aucross", "t.csv", name, f"{name}.json"])


@pytest.mark.attack("command line")
def test_the_hidden_file_of_a_living_writer_stays(tmp_path):
    with whole_file(tmp_path / "d.csv") as first:
        first.write(b"first")
        with whole_file(tmp_path / "d.csv") as second:
            second.write(b"second")
        assert (tmp_path / "d.csv").read_bytes() == b"second"
    assert state(tmp_path) == {"d.csv": b"first"}
