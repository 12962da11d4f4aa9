"""The real files, where their folder is: sizes, columns and rates of Table 1."""

import itertools

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import (
    TABLE_1,
    adult,
    cats_vs_dogs,
    cifar10,
    giveme,
    load_adult,
    load_giveme,
    load_lending,
    load_ucicredit,
    ucicredit,
)
from experiments.datasets.files import locate
from experiments.datasets.tables import content_checksum
from experiments.table1 import summary

pytestmark = pytest.mark.usefixtures("real_folder")


@pytest.fixture(autouse=True)
def untouched(real_folder):
    """Loading leaves the folder as it is."""
    before = {path: path.stat().st_mtime_ns for path in real_folder.iterdir()}
    yield
    assert {path: path.stat().st_mtime_ns for path in real_folder.iterdir()} == before


@pytest.mark.parametrize("load", [load_adult, load_giveme, load_ucicredit])
def test_features_sizes_and_positive_rate_are_those_of_table_1(load):
    data = load()
    figures = summary(data)
    figures["positive_rate"] = round(figures["positive_rate"], 3)
    assert figures | TABLE_1[data.name]._asdict() == figures


def test_adult_has_no_differences_and_no_missing_values():
    data = load_adult()
    assert data.differences == ()
    assert not data.X.isna().any().any()
    assert adult.SOURCES[-1].read(locate("Adult", adult.SOURCES).paths).X.shape == (45_222, 14)


def test_giveme_has_the_missing_values_of_the_source():
    X = load_giveme(features="raw").X
    assert X.isna().sum()[list(giveme.LEFT_OUT)].tolist() == [29_731, 3_924]
    assert not load_giveme().X.isna().any().any()


@pytest.mark.parametrize("payments", [True, False])
def test_lending_is_split_in_time(payments):
    data = load_lending(payments=payments)
    split = data.split()
    assert (len(split.y_train), len(split.y_test)) == (158_520, 68_694)
    assert split.y_test.mean() == pytest.approx(0.2035, abs=5e-5)
    assert data.X.columns.is_unique
    assert data.X.columns.str.fullmatch(r"[0-9A-Za-z_-]+").all()


def test_random_splits_have_the_same_sizes():
    data = load_ucicredit()
    assert len(data.random_split(0).y_test) == 7_500
    assert len(load_adult().random_split(0).y_test) == 15_060


# ---- the published files, rebuilt from the rows of the folder ----


def test_adult_reads_the_same_from_files_in_the_form_of_the_archive(real_folder, tmp_path):
    for part, name in (("train", "adult.data"), ("test", "adult.test")):
        rows = pd.read_parquet(real_folder / f"adult_{part}.parquet")
        full_stop = "." if part == "test" else ""
        rows["target"] = np.where(rows["target"] == 1, ">50K", "<=50K") + np.array(full_stop, dtype=object)
        lines = rows.to_csv(index=False, header=False).replace(",", ", ")
        (tmp_path / name).write_text(("|1x3 Cross validator\n" if full_stop else "") + lines + "\n")
    again = adult.SOURCES[0].read((tmp_path / "adult.data", tmp_path / "adult.test"))
    known = adult.SOURCES[-1].read((real_folder / "adult_train.parquet", real_folder / "adult_test.parquet"))
    assert again.X.equals(known.X)
    np.testing.assert_array_equal(again.y, known.y)
    np.testing.assert_array_equal(again.is_test, known.is_test)


def test_giveme_reads_the_same_from_a_file_in_the_form_of_kaggle(real_folder, tmp_path):
    rows = pd.read_parquet(real_folder / "giveme.parquet").rename(columns={"target": giveme.LABEL})
    rows.index += 1
    rows.to_csv(tmp_path / "cs-training.csv", na_rep="NA")
    again = giveme.SOURCES[0].read((tmp_path / "cs-training.csv",))
    assert again.X.equals(rows[list(giveme.COLUMNS)].reset_index(drop=True))


def test_the_checksum_of_the_rows_of_ucicredit_is_that_of_the_folder(real_folder):
    frame = pd.read_parquet(real_folder / "ucicredit.parquet")
    assert content_checksum(frame) == ucicredit.EXPECTED.checksum
    assert list(frame) == [*ucicredit.COLUMNS, "target"]


# ---- images: decoding all takes too long for a test ----


@pytest.mark.parametrize(
    ("module", "names", "n_train", "n_test", "per_class"),
    [
        (cifar10, "cifar10", 50_000, 10_000, 6_000),
        (cats_vs_dogs, "cats_dogs", 20_000, 5_000, 12_500),
    ],
)
def test_image_tables_have_the_sizes_of_table_1(module, names, n_train, n_test, per_class, real_folder):
    paths = tuple(real_folder / f"{names}_{part}.parquet" for part in ("train", "test"))
    files = module.SOURCES[-1].read(paths)
    assert ((~files.is_test).sum(), files.is_test.sum()) == (n_train, n_test)
    assert set(np.bincount(files.labels)) == {per_class}
    for picture in itertools.islice(files.decode(), 20):
        assert picture.shape == (files.size, files.size, 3)
        assert picture.dtype == np.uint8


@pytest.mark.parametrize("module", [cifar10, cats_vs_dogs])
def test_the_image_tables_have_their_known_checksums(module, real_folder):
    found = locate(module.NAME, module.SOURCES, download=False)
    assert {path.parent for path in found.paths} == {real_folder}
