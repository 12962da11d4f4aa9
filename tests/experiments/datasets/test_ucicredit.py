"""UCICredit from a small sheet in the old format of Excel, with its two header lines."""

import io
import struct
import zipfile

import numpy as np
import pytest

from experiments.datasets import load_ucicredit, ucicredit
from experiments.datasets.files import DataFileError
from experiments.datasets.tables import Expected

ROWS = [
    [1, 20000, 2, 2, 1, 24, 2, 2, -1, -1, -2, -2, 3913, 3102, 689, 0, 0, 0, 0, 689, 0, 0, 0, 0, 1],
    [2, 120000, 2, 2, 2, 26, -1, 2, 0, 0, 0, 2, 2682, 1725, 2682, 3272, 3455, 3261, 0, 1000, 1000, 1000, 0, 2000, 1],
    [3, 90000, 2, 2, 2, 34, 0, 0, 0, 0, 0, 0, 29239, 14027, 13559, 14331, 14948, 15549, 1518, 1500, 1000, 0, 1, 5, 0],
]
HEADERS = [["", *(f"X{number}" for number in range(1, 24)), "Y"], ["ID", *ucicredit.COLUMNS, ucicredit.LABEL]]
FILE = "default+of+credit+card+clients.zip"
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


def archive(lines=(*HEADERS, *ROWS), name=ucicredit.SHEET) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(name, sheet(lines))
    return content.getvalue()


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(ucicredit, "EXPECTED", Expected(3, 2))


def test_the_second_line_names_the_columns_and_the_number_of_the_row_is_dropped(home, small):
    (home / FILE).write_bytes(archive())
    data = load_ucicredit()
    assert list(data.X) == list(ucicredit.COLUMNS)
    np.testing.assert_array_equal(data.X.to_numpy(), [row[1:-1] for row in ROWS])
    np.testing.assert_array_equal(data.y, [1, 1, 0])
    assert data.is_test is None


def test_the_archive_is_downloaded_once(server, without_checksums, small):
    without_checksums(ucicredit, server.address)
    server.files[FILE] = archive()
    assert len(load_ucicredit().y) == 3
    assert load_ucicredit().X.shape == (3, 23)
    assert server.requests == [FILE]


def test_what_is_no_archive_or_another_one_is_an_error(home, small):
    for content in (b"", b"<html>not found</html>", archive(name="other.xls"), archive([])):
        (home / FILE).write_bytes(content)
        with pytest.raises(DataFileError, match=r"clients\.zip must be the file of that name .*, found "):
            load_ucicredit()


def test_missing_columns_are_named(home, small):
    lines = [[*line[:3], *line[4:]] for line in (*HEADERS, *ROWS)]
    (home / FILE).write_bytes(archive(lines))
    with pytest.raises(ValueError, match="lacks the columns EDUCATION; replace it"):
        load_ucicredit()


def test_another_number_of_rows_is_an_error(home, small):
    (home / FILE).write_bytes(archive([*HEADERS, *ROWS[:2]]))
    with pytest.raises(ValueError, match="must hold 3 rows, found 2"):
        load_ucicredit()


def test_a_changed_value_is_noticed_where_the_checksum_of_the_rows_is_known(home, monkeypatch):
    monkeypatch.setattr(ucicredit, "EXPECTED", Expected(3, 2, CHECKSUM))
    (home / FILE).write_bytes(archive())
    with pytest.raises(ValueError, match=f"must hold rows with the SHA-256 {CHECKSUM}, found"):
        load_ucicredit()
