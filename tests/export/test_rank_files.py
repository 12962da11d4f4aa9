"""Rankings of Parquet files, read in batches, equal rankings of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aucross.core import RankedScores, ScoreCounter, ScoreRounding
from aucross.export import rank_files, rank_parquet


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    score = np.concatenate(
        [rng.random(2000), rng.normal(size=500) * 10.0 ** rng.integers(-50, 50, 500), [0.0, -0.0, 0.5]]
    )
    n = len(score)
    weight = np.where(np.arange(n) % 7, rng.lognormal(size=n), 0.0)
    return pd.DataFrame({"s": score, "y": rng.integers(0, 2, n), "w": weight, "other": "x"})


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(rank_files, "_BATCH_ROWS", 600)


def assert_same(found, expected):
    assert (found.powers is None) == (expected.powers is None)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_allclose(found.class_powers, expected.class_powers, rtol=1e-12)


def ranked(rows, bits, *, weighted=False):
    score = ScoreRounding(bits).round(rows["s"])
    return RankedScores.from_labels(rows["y"], score, rows["w"] if weighted else None)


@pytest.mark.parametrize("bits", [20, 32])
@pytest.mark.parametrize("weighted", [False, True], ids=["counts", "weights"])
def test_files_folders_and_lists_give_the_ranking_of_the_rows(rows, tmp_path, bits, weighted):
    options = {"score": "s", "label": "y", "bits": bits, "weight": "w" if weighted else None}
    expected = ranked(rows, bits, weighted=weighted)
    whole = tmp_path / "whole.parquet"
    rows.to_parquet(whole)
    assert_same(rank_parquet(whole, **options), expected)
    folder = tmp_path / "parts"
    folder.mkdir()
    parts = [folder / f"{number}.parquet" for number in range(3)]
    for number, part in enumerate(parts):
        rows[number::3].to_parquet(part)
    seen = []
    assert_same(rank_parquet(folder, **options, progress=seen.append), expected)
    assert seen[-1] == len(rows)
    assert len(seen) > 3
    assert_same(rank_parquet(parts, **options), expected)


@pytest.mark.parametrize("kind", ["int8", "bool", "float64", "string", "category"])
def test_labels_of_any_type(rows, tmp_path, kind):
    path = tmp_path / "rows.parquet"
    as_text = kind in ("string", "category")
    label = rows["y"].map({0: "good", 1: "bad"}) if as_text else rows["y"]
    rows.assign(y=label.astype(kind)).to_parquet(path)
    names = {"positive": "bad", "negative": "good"} if as_text else {}
    assert_same(rank_parquet(path, score="s", label="y", **names), ranked(rows, 20))


def test_float32_scores_are_counted_as_they_are(rows, tmp_path):
    rows = rows[rows["s"].abs() < 1e30]
    path = tmp_path / "rows.parquet"
    rows.assign(s=rows["s"].astype(np.float32)).to_parquet(path)
    assert_same(rank_parquet(path, score="s", label="y"), ranked(rows, 20))


def test_rows_without_a_label_are_left_out_and_those_without_a_score_refused(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    table = rows.assign(y=rows["y"].astype("Int64").mask(rows.index < 40), s=rows["s"].mask(rows.index % 100 == 50))
    table.loc[60, "s"] = np.inf
    table.to_parquet(path)
    with pytest.raises(ValueError, match="26 rows have no score"):
        rank_parquet(path, score="s", label="y")
    kept = (rows.index >= 40) & (rows.index % 100 != 50) & (rows.index != 60)
    assert_same(rank_parquet(path, score="s", label="y", missing="leave out"), ranked(rows[kept], 20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "three"}, "got also 2"),
        ({"label": "text"}, "name the labels"),
        ({"score": "text"}, "must hold numbers"),
        ({"score": "absent"}, "without"),
        ({"weight": "s"}, "weights from 0 to 1e30"),
        ({"missing": "drop"}, "missing must be"),
        ({"negative": 1}, "different labels"),
        ({"bits": 16}, "bits must be"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path, options, message):
    path = tmp_path / "rows.parquet"
    table = {"s": [-0.1, 0.2, 0.3], "y": [0, 1, 0], "three": [0, 1, 2], "text": ["a", "b", "c"]}
    pq.write_table(pa.table(table), path)
    with pytest.raises(ValueError, match=message):
        rank_parquet(path, **{"score": "s", "label": "y", **options})


def test_no_rows_are_an_empty_ranking(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"s": pa.array([], pa.float64()), "y": pa.array([], pa.int64())}), path)
    for bits in (20, 32):
        assert len(rank_parquet(path, score="s", label="y", bits=bits)) == 0


def test_a_counter_needs_weights_if_and_only_if_it_counts_them():
    one = np.ones(1)
    with pytest.raises(ValueError, match="if and only if"):
        ScoreCounter().add(one, one > 0, one)
    with pytest.raises(ValueError, match="if and only if"):
        ScoreCounter(weighted=True).add(one, one > 0)
