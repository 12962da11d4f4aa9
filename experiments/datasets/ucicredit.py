"""UCICredit: defaults of credit card clients in Taiwan, 2005."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pandas as pd
import xlrd

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import Rows, Source, SourceFile, locate
from experiments.datasets.tables import TARGET, Expected, check_columns, pop_target

NAME = "UCICredit"
COLUMNS = (
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
    *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
    *("BILL_AMT1", "BILL_AMT2", "BILL_AMT3", "BILL_AMT4", "BILL_AMT5", "BILL_AMT6"),
    *("PAY_AMT1", "PAY_AMT2", "PAY_AMT3", "PAY_AMT4", "PAY_AMT5", "PAY_AMT6"),
)
AMOUNTS = tuple(column for column in COLUMNS if column == "LIMIT_BAL" or "AMT" in column)
LABEL = "default payment next month"
SHEET = "default of credit card clients.xls"

# No checksum of the archive is published. The one of its rows was computed from ucicredit.parquet, which has the same
# rows in the same order.
EXPECTED = Expected(30_000, 6_636, "6d6935d34852035a1cbc01019f583816d8db829113284653f5f6f4e2879eb0bd")
_ORIGIN = "UCI repository, 'Default of Credit Card Clients' (Yeh and Lien 2009, doi:10.24432/C55S3H)"


def load_ucicredit() -> Dataset:
    """Load UCICredit: which credit card clients in Taiwan default in the next month; 23 columns, all numbers."""
    found = locate(NAME, SOURCES)
    rows: Rows = found.read()
    differences = ("The paper's random split is not published; this one is drawn with a seed of its own.",)
    return Dataset(NAME, rows.X, rows.y, None, found.source.origin, differences)


def _read_archive(paths: tuple[Path, ...]) -> Rows:
    path = paths[0]
    with zipfile.ZipFile(path) as archive:
        sheet = xlrd.open_workbook(file_contents=archive.read(SHEET)).sheet_by_index(0)
    # The first line calls the columns X1, X2, ...; the second has their names.
    _, names, *lines = ([cell.value for cell in line] for line in sheet.get_rows())
    frame = pd.DataFrame(lines, columns=names)
    check_columns(frame.columns, [*COLUMNS, LABEL], path)
    frame = frame[[*COLUMNS, LABEL]].rename(columns={LABEL: TARGET})
    # A sheet knows floats only.
    frame = frame.astype({column: "float64" if column in AMOUNTS else "int64" for column in frame})
    EXPECTED.check(frame, path)
    return Rows(frame, pop_target(frame))


def _read_copy(paths: tuple[Path, ...]) -> Rows:
    frame = pd.read_parquet(paths[0])
    return Rows(frame, pop_target(frame))


SOURCES = (
    Source(
        (
            SourceFile(
                "default+of+credit+card+clients.zip",
                url="https://archive.ics.uci.edu/static/public/350/default+of+credit+card+clients.zip",
            ),
        ),
        _read_archive,
        f"default+of+credit+card+clients.zip of the {_ORIGIN}",
    ),
    Source(
        (SourceFile("ucicredit.parquet", "sha256:1932bdd3cfaa10adbeb0a9f58f78b68cb53d1b956afc43c4f47ce2f517d1ae67"),),
        _read_copy,
        f"ucicredit.parquet, from the {_ORIGIN}",
    ),
)
