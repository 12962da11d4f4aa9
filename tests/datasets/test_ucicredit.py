"""UCICredit from a small sheet in the old format of Excel, with its two header lines."""

import io
import struct
import sys
import zipfile

import numpy as np
import pytest

from aucross.datasets import load_ucicredit, ucicredit
from aucross.datasets.tables import Expected

ROWS = [
    [1, 20000, 2, 2, 1, 24, 2, 2, -1, -1, -2, -2, 3913, 3102, 689, 0, 0, 0, 0, 689, 0, 0, 0, 0, 1],
    [2, 120000, 2, 2, 2, 26, -1, 2, 0, 0, 0, 2, 2682, 1725, 2682, 3272, 3455, 3261, 0, 1000, 1000, 1000, 0, 2000, 1],
    [3, 90000, 2, 2, 2, 34, 0, 0, 0, 0, 0, 0, 29239, 14027, 13559, 14331, 14948, 15549, 1518, 1500, 1000, 0, 1, 5, 0],
]
HEADERS = [["", *(f"X{number}" for number in range(1, 24)), "Y"], ["ID", *ucicredit.COLUMNS, ucicredit.LABEL]]
CHECKSUM = "6a89bd6de05d5f8ea6e0e0a8ac5ec3d1d0a8d6d8a3f9e9a4a1f6a4f8a0f0c9d1"


def sheet(lines) -> bytes:
    """A sheet of Excel 2: a stream of records of numbers and text."""

    def record(kind, content):
        return struct.pack("<HH", kind, len(content)) + content

    records = [record(0x0009, struct.pack("<HH", 7, 0x10)), record(0x0042, struct.pack("<H", 1252))]
    for row, line in enumerate(lines):
        for column, value in enumerate(line):
            place = struct.pack("<HH3x", row, column)
            if isinstance(value, str):
                records.append(record(0x0004, place + bytes([len(value)]) + value.encode()))
            else:
                records.append(record(0x0003, place + struct.pack("<d", value)))
    return b"".join([*records, record(0x000A, b"")])


def archive(name=ucicredit.SHEET, lines=(*HEADERS, *ROWS)) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(name, sheet(lines))
    return content.getvalue()


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(ucicredit, "EXPECTED", Expected(3, 2))


def test_the_second_line_names_the_columns_and_the_number_of_the_row_is_dropped(home, small):
    (home / ucicredit.SHEET).write_bytes(sheet([*HEADERS, *ROWS]))
    data = load_ucicredit(download=False)
    assert list(data.X) == list(ucicredit.COLUMNS)
    np.testing.assert_array_equal(data.X.to_numpy(), [row[1:-1] for row in ROWS])
    np.testing.assert_array_equal(data.y, [1, 1, 0])
    assert data.is_test is None


def test_the_archive_is_downloaded_once(server, without_checksums, small):
    without_checksums(ucicredit, server.address)
    server.files["default+of+credit+card+clients.zip"] = archive()
    assert len(load_ucicredit().y) == 3
    assert load_ucicredit(download=False).X.shape == (3, 23)
    assert server.requests == ["default+of+credit+card+clients.zip"]


def test_what_is_no_archive_or_another_one_is_an_error(home, small):
    path = home / "default+of+credit+card+clients.zip"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match=r"must be a zip archive that holds 'default of credit card clients\.xls'"):
        load_ucicredit()
    path.write_bytes(archive("other.xls"))
    with pytest.raises(ValueError, match="must be a zip archive that holds"):
        load_ucicredit()


def test_what_is_no_sheet_is_an_error(home, small):
    (home / ucicredit.SHEET).write_bytes(b"ID,LIMIT_BAL\n1,20000\n")
    with pytest.raises(ValueError, match="must hold a sheet of Excel in the format xls"):
        load_ucicredit()


def test_missing_columns_are_named(home, small):
    lines = [[*line[:3], *line[4:]] for line in (*HEADERS, *ROWS)]
    (home / ucicredit.SHEET).write_bytes(sheet(lines))
    with pytest.raises(ValueError, match="lacks the columns EDUCATION; replace it"):
        load_ucicredit()


def test_another_number_of_rows_is_an_error(home, small):
    (home / ucicredit.SHEET).write_bytes(sheet([*HEADERS, *ROWS[:2]]))
    with pytest.raises(ValueError, match="must hold 3 rows, found 2"):
        load_ucicredit()


def test_a_changed_value_is_noticed_where_the_checksum_of_the_rows_is_known(home, monkeypatch):
    monkeypatch.setattr(ucicredit, "EXPECTED", Expected(3, 2, CHECKSUM))
    (home / ucicredit.SHEET).write_bytes(sheet([*HEADERS, *ROWS]))
    with pytest.raises(ValueError, match=f"SHA-256 of its rows must be {CHECKSUM}, found"):
        load_ucicredit()


def test_a_missing_reader_of_sheets_is_named_with_the_extra(home, small, monkeypatch):
    (home / ucicredit.SHEET).write_bytes(sheet([*HEADERS, *ROWS]))
    monkeypatch.setitem(sys.modules, "xlrd", None)
    with pytest.raises(
        ImportError, match=r'needs xlrd, which is not installed; run: pip install "aucross\[datasets\]"'
    ):
        load_ucicredit()
