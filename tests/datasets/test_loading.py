"""Data sets by name, in figures, and what importing them loads."""

import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from aucross.datasets import PAPER_DATASETS, TABLE_1, Dataset, PaperFigures, load_dataset, loading, summarize


def test_the_names_are_those_of_table_1_in_its_order():
    names = "Adult Lending GiveMe UCICredit CSDS1 CSDS2 CSDS3 CatsVsDogs CIFAR-10-cat"
    assert list(PAPER_DATASETS) == names.split()
    assert tuple(loading.LOADERS) == PAPER_DATASETS == tuple(TABLE_1)


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_every_data_set_has_a_loader_that_says_what_is_missing(name, home):
    with pytest.raises(FileNotFoundError, match=rf"no rows of {name}: .* put .* in .*aucross \(cache\)"):
        load_dataset(name, download=False, progress=False, data_home=home)


FETCHED = ("Adult", "UCICredit", "CIFAR-10-cat")


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_without_a_network_each_loader_says_what_to_place(name, home, monkeypatch, no_waiting):
    def no_network(*_, **__):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr("socket.getaddrinfo", no_network)
    expected, message = (ConnectionError, "put it in") if name in FETCHED else (FileNotFoundError, "put .* in")
    with pytest.raises(OSError, match=f"{message} {home}") as caught:
        load_dataset(name)
    assert type(caught.value) is expected


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_a_wrong_folder_in_the_environment_is_not_taken_for_a_missing_file(name, monkeypatch):
    monkeypatch.setenv("AUCROSS_DATA", "/nowhere")
    with pytest.raises(NotADirectoryError, match="AUCROSS_DATA must name a folder that exists"):
        load_dataset(name)


def test_options_reach_the_loader():
    with pytest.raises(ValueError, match="features must be one of 'paper', 'all', got 'other'"):
        load_dataset("Adult", features="other")
    with pytest.raises(TypeError, match="unexpected keyword"):
        load_dataset("Adult", colour="red")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"name must be one of Adult, Lending, .*CIFAR-10-cat, got 'adult'"):
        load_dataset("adult")


# ---- figures ----


def test_the_figures_of_table_1_are_public():
    assert TABLE_1["Adult"] == PaperFigures(features="55", n_train=30_162, n_test=15_060, positive_rate=0.246)


def test_figures_stand_beside_those_of_the_paper():
    X = pd.DataFrame({"a": range(8), "b": 1})
    y = np.array([0, 1, 0, 1, 1, 0, 0, 0])
    figures = summarize(Dataset("Adult", X, y, np.arange(8) >= 4, "a test", "none", ("Fewer rows.",)))
    assert figures == {
        "name": "Adult",
        "features": "2",
        "n_train": 4,
        "n_test": 4,
        "positive_rate": 0.25,
        "paper_features": "55",
        "paper_n_train": 30_162,
        "paper_n_test": 15_060,
        "paper_positive_rate": 0.246,
        "differences": ("Fewer rows.",),
        "source": "a test",
        "licence": "none",
    }


def test_images_have_a_size_instead_of_features_and_unknown_names_no_counterpart():
    X, y = np.zeros((8, 64, 32, 3), dtype=np.uint8), np.array([0, 1] * 4)
    figures = summarize(Dataset("Mine", X, y, None, "a test", "none", ()))
    assert figures["features"] == "64x32"
    assert (figures["n_train"], figures["n_test"]) == (6, 2)
    assert figures["paper_n_train"] is None


# ---- imports ----


def test_the_loaders_can_be_imported_without_any_of_the_libraries_that_they_use():
    code = """
import sys

LIBRARIES = {"pandas", "pooch", "tqdm", "PIL", "xlrd", "pyarrow", "requests"}

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
import aucross.datasets
print(*LIBRARIES & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.returncode) == ("", 0), run.stderr


def test_without_pandas_the_error_names_the_extra(home, monkeypatch):
    (home / "cs-training.csv").write_text("a")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r'reading tables needs pandas, which is not installed; .*pip install "aucross\[datasets\]"'
    ):
        load_dataset("GiveMe")
