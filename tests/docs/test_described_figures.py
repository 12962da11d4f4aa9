"""Every figure of the galleries comes with a description in words."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("sphinx_gallery")
SOURCE = Path(__file__).resolve().parents[2] / "docs" / "_extensions" / "described_figures.py"


@pytest.fixture
def module():
    plt.switch_backend("Agg")
    plt.close("all")
    yield runpy.run_path(str(SOURCE))
    plt.close("all")


def test_a_description_names_titles_axes_colours_and_lines(module):
    figure, (left, right) = plt.subplots(1, 2)
    left.plot([1, 2], [1, 2], label="best band")
    left.set(xlabel="coverage", ylabel="AUC of the\nselected rows")
    left.legend()
    right.set_title("ranks")
    figure.colorbar(right.imshow([[0, 1]]), ax=right, label="AUC")
    described = module["describe"](figure)
    assert described == "AUC of the selected rows against coverage; ranks; colour: AUC. Shown: best band"


def test_the_pictures_of_a_block_are_described_in_their_order(module, tmp_path):
    for name in ("first", "second"):
        plt.figure()
        plt.xlabel(f"{name} axis")
    paths = iter([str(tmp_path / "sphx_glr_a_001.png"), str(tmp_path / "sphx_glr_a_002.png")])
    configuration = {
        "image_srcset": [],
        "matplotlib_animations": (False, None),
        "compress_images": (),
        "src_dir": str(tmp_path),
    }
    pictures = module["scraper"](None, {"image_path_iterator": paths}, configuration)
    assert [line.split(":alt: ")[1] for line in pictures.splitlines() if ":alt:" in line] == [
        "first axis",
        "second axis",
    ]
