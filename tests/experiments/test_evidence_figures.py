"""Figures and claims of the evidence pages, on small made-up tables and on the tables that the repository holds."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

pytest.importorskip("xgboost", reason='needs `pip install "aucross[experiments]"`')

from benchmarks import figures as benchmark_figures
from benchmarks.crossfit_tables import FAMILIES, Tables
from experiments import __main__ as command
from experiments import claims, figures
from experiments.drawing import STYLE, WIDTH, page_style, write_figure
from experiments.figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
RESULTS, BENCHMARKS = ROOT / "experiments" / "results", ROOT / "benchmarks" / "results"
INTERVALS = """\
cells,"20 % positives, n 3,000",1000,   1 selective_auc     ; 0.7602; 0.917!; 0.94 ; 0.964 ; 1.07 ,\
 0.8 auc_gain          ; 0.0290; 0.945 ; 1.06 ; 0.984 ; 2.49!
customers,"20 % positives, n 3,000",300,   1 selective_auc     ; 0.7602; 0.770!; 0.60 ; 0.947 ; 1.01
promise,half positives,300,   0.877  0.0242;   0.997  0.0450
promise,10 % positives,300,   0.917  0.0383;   0.987  0.0925
"""


@pytest.fixture
def interval_file(tmp_path):
    path = tmp_path / "intervals.csv"
    path.write_text(INTERVALS, encoding="utf-8")
    return path


@pytest.fixture
def tables():
    """One set, all families: squares of .020, .008 and .005, promises that forests keep in one of two data sets."""
    roots = {"none": 0.020, "corrected": 0.008, "judge": 0.005}
    lines = [
        {"data": "a", "n_rows": 4000, "family": family, "candidate": name, "method": method, "square": root**2}
        for family in FAMILIES
        for name, root in roots.items()
        for method in ("AUCross", "SCross")
    ]
    promises = [
        {"method": method, "family": family, "0.95": reached, "0.9": 0.91, "0.8": 0.81}
        for method in ("AUCross", "SCross")
        for family in FAMILIES
        for reached in (0.96, 0.94 if family == "forest" else 0.96)
    ]
    return Tables(pd.DataFrame(lines), pd.DataFrame(promises))


def written(figure, tmp_path):
    """What was drawn, which has the width of a page and neither letters too small nor a legend over the data."""
    assert figure.get_figwidth() == WIDTH
    path = tmp_path / "figure.png"
    write_figure(figure, path)
    for axes in figure.axes:
        assert axes.get_legend() is None or not axes.axison
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
            assert label.get_fontsize() >= 9
    assert np.ptp(imread(path)[..., :3]) > 0.5
    return figure


# ---- benchmarks ----


def test_kept_lines_of_intervals_are_read(interval_file):
    lines = benchmark_figures.read_intervals(interval_file)
    assert lines["metric"].tolist() == ["selective_auc", "auc_gain", "selective_auc"]
    assert lines["part"].tolist() == ["cells", "cells", "customers"]
    assert lines[["coverage", "truth", "holds_before", "width_before", "holds", "width"]].iloc[1].tolist() == [
        *(0.8, 0.0290, 0.945, 1.06, 0.984, 2.49)
    ]
    assert benchmark_figures.read_promises(interval_file) == [0.997, 0.987]


def test_intervals_that_miss_an_aim_are_drawn_apart(interval_file, tmp_path):
    with page_style():
        figure = written(benchmark_figures.intervals(benchmark_figures.read_intervals(interval_file)), tmp_path)
    points = {line.get_label(): line.get_xydata().tolist() for line in figure.axes[0].lines}
    assert points["now, aim met"] == [[1.07, 0.964], [1.01, 0.947]]
    assert points["now, aim missed"] == [[2.49, 0.984]]


def test_the_figure_of_crossfit_has_a_panel_for_each_method(tables, tmp_path):
    with page_style():
        figure = written(benchmark_figures.crossfit(tables), tmp_path)
    assert [axes.get_title() for axes in figure.axes] == ["AUCross", "SCross"]
    default = figure.axes[0].lines[1]
    assert default.get_label() == "refit (default)"
    assert default.get_xdata() == pytest.approx([8.0] * len(FAMILIES))


def test_audited_numbers_are_the_lowest_of_their_lines(tables, tmp_path):
    lines = benchmark_figures.read_intervals(BENCHMARKS / "intervals.csv")
    now = benchmark_figures.audited(lines, [0.997, 0.987], tables)
    assert now["joint promise, ten rows per customer"] == 0.987
    assert now["coverage promise, forest"] == 0.5
    assert now["AUC, hidden positives, 300 rows"] == 0.984
    assert set(benchmark_figures.FOUND) <= set(now)
    with page_style():
        figure = written(benchmark_figures.numbers(now), tmp_path)
    missed = next(line for line in figure.axes[0].lines if line.get_label() == "now, aim missed")
    assert sorted(missed.get_xdata()) == [0.5]


# ---- claims ----


def test_the_page_of_claims_is_that_of_the_tables():
    """After a change of any table: `python -m experiments.claims`."""
    page = claims.claims_page(list(claims.claims(claims.Evidence())))
    assert (RESULTS / "claims.md").read_text(encoding="utf-8") == page


def test_a_claim_that_misses_its_aim_says_so_and_why():
    met, missed, limited = (
        claims.Claim("it holds", ".95", reached, is_met, "tables", "make paper", "chance", is_at_limit)
        for reached, is_met, is_at_limit in ((".96", True, False), (".94", False, False), (".945", False, True))
    )
    page = claims.claims_page([met, missed, limited])
    assert "1 of 3 aims are met, 1 are at the limit that theory or chance sets, and 1 are missed" in page
    assert "| it holds | .95 | .94 | **missed** | chance | [tables](tables.md), `make paper` |" in page
    assert "| it holds | .95 | .945 | at the limit | chance | [tables](tables.md), `make paper` |" in page
    assert "| it holds | .95 | .96 | met |  | [tables](tables.md), `make paper` |" in page


def test_the_lowest_of_many_shares_may_be_lower_than_each_of_them():
    text, is_at_limit = claims._lowest_by_chance(0.925, 200, 15)
    assert "lies above .905 in 19 of 20" in text
    assert is_at_limit
    assert not claims._lowest_by_chance(0.90, 200, 15)[1]


def test_the_picture_of_claims_shows_losses_in_another_colour(tmp_path):
    found = pd.DataFrame(
        {"band": [0.03, -0.01], "confidence": [-0.1, 0.02], "positive_rate": [0.07, 0.5]}, index=["GiveMe", "Lending"]
    )
    with page_style():
        figure = written(claims.picture(found), tmp_path)
    lost = next(line for line in figure.axes[0].lines if line.get_label() == "the same, and the AUC falls")
    assert lost.get_xydata().tolist() == [[-0.01, 0.0]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Lending (50%)", "GiveMe (7%)"]


def test_gains_are_against_all_rows_of_the_same_model():
    found = claims.gains(claims.Evidence())
    assert found.loc["GiveMe", "band"] == pytest.approx(0.8972 - 0.8658, abs=1e-4)
    assert found.loc["CatsVsDogs", "confidence"] == pytest.approx(0.9905 - 0.9759, abs=1e-4)
    assert found["positive_rate"].is_monotonic_increasing


# ---- the paper's data ----


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in figures.FROM_ROWS])
def test_figures_of_the_evidence_fit_a_page(name, tmp_path):
    tables = {path.stem: pd.read_csv(path) for path in RESULTS.glob("*.csv")}
    with page_style():
        written(FIGURES[name](tables), tmp_path)


def test_pictures_are_small_files():
    pictures = [*RESULTS.glob("*.png"), *BENCHMARKS.rglob("*.png")]
    assert {path.name: path.stat().st_size for path in pictures if path.stat().st_size > 150_000} == {}
    assert len(pictures) >= len(FIGURES) + 4


def test_letters_of_figures_are_readable():
    sizes = [size for name, size in STYLE.items() if name.endswith("size")]
    assert len(sizes) == 6
    assert min(sizes) >= 10


def test_figures_are_drawn_again_from_the_tables_of_a_folder(monkeypatch, tmp_path):
    shutil.copy(RESULTS / "oracle_distance.csv", tmp_path)
    drawn = {"oracle_summary": FIGURES["oracle_summary"], "bounds": FIGURES["bounds"]}
    monkeypatch.setattr(figures, "FIGURES", drawn)
    command.main(["--figures", "--output", str(tmp_path)])
    # The bounds need rows of a data set, which are not read here.
    assert {path.name for path in tmp_path.iterdir()} == {"oracle_distance.csv", "oracle_summary.png"}
    assert np.ptp(imread(tmp_path / "oracle_summary.png")[..., :3]) > 0.5
