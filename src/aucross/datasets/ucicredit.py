"""UCICredit: defaults of credit card clients in Taiwan, 2005."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from aucross.datasets.damage import parsing
from aucross.datasets.dataset import Dataset
from aucross.datasets.libraries import dataset_library
from aucross.datasets.sources import Rows, Source, SourceFile, locate
from aucross.datasets.tables import TARGET, Expected, check_columns, load_pandas, pop_target, read_parquet

if TYPE_CHECKING:
    import pandas as pd

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
_LICENCE = "CC BY 4.0"


def load_ucicredit(
    *, data_home: str | Path | None = None, download: bool = True, progress: bool | None = None
) -> Dataset:
    """Load UCICredit: which credit card clients in Taiwan default in the next month.

    Parameters
    ----------
    data_home : path-like, default=None
        Cache folder; None for :func:`~aucross.datasets.data_home`. The folder of AUCROSS_DATA comes first.
    download : bool, default=True
        Fetch the archive from the UCI repository if no file is in either folder.
    progress : bool, default=None
        Show a bar while downloading; None for a bar on a terminal.

    Returns
    -------
    Dataset
        With the 23 columns of the source, all numbers.
    """
    found = locate(NAME, SOURCES, home=data_home, download=download, progress=progress)
    rows: Rows = found.read()
    differences = ("The paper's random split is not published; this one is drawn with a seed of its own.",)
    return Dataset(NAME, rows.X, rows.y, None, found.source.origin, found.source.licence, differences)


def _read_parquet(paths: tuple[Path, ...]) -> Rows:
    frame = read_parquet(paths[0])
    return Rows(frame, pop_target(frame))


def _read_archive(paths: tuple[Path, ...]) -> Rows:
    path = paths[0]
    with parsing(path, f"be a zip archive that holds {SHEET!r}"), zipfile.ZipFile(path) as archive:
        content = archive.read(SHEET)
    return _parse(content, path)


def _read_sheet(paths: tuple[Path, ...]) -> Rows:
    return _parse(paths[0].read_bytes(), paths[0])


def _parse(content: bytes, path: Path) -> Rows:
    xlrd = dataset_library("xlrd", purpose=f"reading {SHEET}")
    with parsing(path, "hold a sheet of Excel in the format xls, with two lines of headers"):
        # xlrd takes empty content for none and looks for a file name.
        if not content:
            raise ValueError("the sheet is empty")
        sheet = xlrd.open_workbook(file_contents=content).sheet_by_index(0)
        # The first line calls the columns X1, X2, ...; the second has their names.
        _, names, *lines = sheet.get_rows()
    frame = load_pandas().DataFrame(
        [[cell.value for cell in line] for line in lines], columns=[cell.value for cell in names]
    )
    check_columns(frame.columns, [*COLUMNS, LABEL], path)
    with parsing(path, "hold numbers only"):
        frame = _as_in_parquet(frame[[*COLUMNS, LABEL]].rename(columns={LABEL: TARGET}))
    EXPECTED.check(frame, path)
    return Rows(frame, pop_target(frame))


def _as_in_parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """Amounts as floats and the rest as integers; a sheet knows floats only."""
    return frame.astype({column: "float64" if column in AMOUNTS else "int64" for column in frame})


SOURCES = (
    Source(
        (SourceFile("ucicredit.parquet", "sha256:1932bdd3cfaa10adbeb0a9f58f78b68cb53d1b956afc43c4f47ce2f517d1ae67"),),
        _read_parquet,
        f"ucicredit.parquet, from the {_ORIGIN}",
        _LICENCE,
        is_copy=True,
    ),
    Source((SourceFile(SHEET),), _read_sheet, f"{SHEET} of the {_ORIGIN}", _LICENCE),
    Source(
        (
            SourceFile(
                "default+of+credit+card+clients.zip",
                url="https://archive.ics.uci.edu/static/public/350/default+of+credit+card+clients.zip",
            ),
        ),
        _read_archive,
        f"default+of+credit+card+clients.zip of the {_ORIGIN}",
        _LICENCE,
    ),
)
