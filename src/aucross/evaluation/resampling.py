"""Resamples of many rows at a cost that hardly depends on their number: random blocks of rows are drawn, not rows.

The rows are dealt at random into a few thousand blocks, once. Whatever is a sum over rows is a sum over blocks, and a
resample is a count per block: a thousand of them are one product of two small matrices. The AUC is a sum over rows to
first order: each row adds the share of the other class that it is ranked rightly against.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import (
    RankedSelections,
    SegmentedRows,
    Segments,
    SelectionStatistics,
    draw_counts,
    share_of,
    statistics_of,
)
from aucross.evaluation.segment_losses import ClassRows, class_rows, selected_classes

BlockArray = NDArray[np.uint16]

# From so many rows on blocks are drawn. If the rows belong to fewer units than this, they are drawn row by row: the AUC
# of so few units is not yet a sum over units.
MANY_ROWS = 100_000
_FEWEST_UNITS = 200

# With 4,096 blocks the standard deviation of the replicates is known to 1 %, as from 4,096 replicates. Up to four times
# as many units are a block each.
N_BLOCKS = 4_096


def resampled_statistics(
    rankings: Sequence[RankedSelections],
    n_bootstrap: int,
    seed: int,
    units: IndexArray | None = None,
) -> list[SelectionStatistics]:
    """The statistics of several rankings of the same rows, in resamples of the rows or of their units.

    The same seed gives the same draws, so two evaluations of the same rows are paired.
    """
    rows = rankings[0].rows
    n_rows = len(rows.positive)
    n_units = n_rows if units is None else int(units.max()) + 1
    if n_rows < MANY_ROWS or n_units < _FEWEST_UNITS or n_bootstrap == 0:
        return statistics_of(rankings, draw_counts(n_rows, n_bootstrap, seed, units))
    blocks, n_blocks = _deal_blocks(n_rows, seed, units)
    rng = np.random.Generator(np.random.SFC64([seed, 1]))
    drawn = rng.integers(0, n_blocks, size=(n_bootstrap, n_blocks), dtype=np.uint16)
    counts = np.array([np.bincount(replicate, minlength=n_blocks) for replicate in drawn], dtype=np.float64)
    return [_statistics(ranking, blocks, counts) for ranking in rankings]


def _deal_blocks(n_rows: int, seed: int, units: IndexArray | None) -> tuple[BlockArray, int]:
    """The block of each row, and how many there are; rows of one unit share a block."""
    n_drawn = n_rows if units is None else int(units.max()) + 1
    if units is not None and n_drawn <= 4 * N_BLOCKS:
        return units.astype(np.uint16), n_drawn
    rng = np.random.Generator(np.random.SFC64(seed))
    blocks = rng.integers(0, N_BLOCKS, size=n_drawn, dtype=np.uint16)
    return blocks if units is None else blocks[units], N_BLOCKS


def _statistics(ranking: RankedSelections, blocks: BlockArray, counts: FloatArray) -> SelectionStatistics:
    weight, own = ranking.rows.sample_weight, slice(None) if ranking.members is None else ranking.members
    n_blocks = counts.shape[1]
    whole = counts @ _by_block(blocks[own], None if weight is None else weight[own], (n_blocks, 1))[:, 0]
    columns = np.empty((5, len(counts), len(ranking.is_everything)))
    for part in ranking.parts:
        columns[:, :, part.members] = _statistics_of_part(part, weight, blocks, counts)
    coverage, auc, accuracy, positives, n_selected = columns
    coverage = np.where(ranking.is_everything, 1.0, share_of(coverage, np.broadcast_to(whole[:, None], coverage.shape)))
    return SelectionStatistics(coverage, auc, accuracy, share_of(positives, n_selected), positives)


def _statistics_of_part(
    part: SegmentedRows, sample_weight: FloatArray | None, blocks: BlockArray, counts: FloatArray
) -> FloatArray:
    """Weight, AUC, accuracy, weight of positives and weight of the selections of a part, in each replicate."""
    classes = class_rows(part, sample_weight)
    n_blocks = counts.shape[1]
    sums = [_sums_by_block(side, blocks, n_blocks) for side in classes]
    scales = [side.scale for side in classes]
    of_wrong = None if sample_weight is None else sample_weight.take(part.wrong.rows)
    wrong = _by_segment(part.wrong, blocks, n_blocks, of_wrong)
    totals = [own_sums[0].sum(axis=0) for own_sums in sums]
    by_block, mean_loss = [], []
    for selected in part.selected:
        found, lost_by_class = [], []
        for side, (weight, lost) in zip(selected_classes(selected, *totals), sums, strict=True):
            of_selection = weight[:, selected]
            lost_here = lost[:, selected].sum(axis=1) + of_selection @ side.beyond[selected]
            found += [of_selection.sum(axis=1), lost_here / (side.weight_of_others or 1.0)]
            lost_by_class.append(found[-1].sum() / max(found[-2].sum(), 1e-300))
        by_block += [*found, wrong[:, selected].sum(axis=1)]
        mean_loss.append(lost_by_class[0])
    resampled = (counts @ np.array(by_block).T).reshape(len(counts), -1, 5).transpose(2, 0, 1)
    positives, lost_by_positives, negatives, lost_by_negatives, is_wrong = resampled
    loss = share_of(lost_by_positives, positives) + share_of(lost_by_negatives, negatives) - np.array(mean_loss)
    positives, negatives = positives * scales[0], negatives * scales[1]
    n_selected = positives + negatives
    accuracy = share_of(n_selected - is_wrong, n_selected)
    return np.array((n_selected, np.clip(1.0 - loss, 0.0, 1.0), accuracy, positives, n_selected))


def _sums_by_block(side: ClassRows, blocks: BlockArray, n_blocks: int) -> tuple[FloatArray, FloatArray]:
    """Weight and weight times loss of the rows of a class, by block (rows) and segment (columns)."""
    weight, lost = (_by_segment(side.segments, blocks, n_blocks, values) for values in (side.weight, side.lost()))
    return weight, lost


def _by_segment(segments: Segments, blocks: BlockArray, n_blocks: int, values: FloatArray | None) -> FloatArray:
    n_segments = len(segments.bounds) - 1
    place = blocks.take(segments.rows).astype(np.intp)
    place *= n_segments
    place += np.repeat(np.arange(n_segments), np.diff(segments.bounds))
    return _by_block(place, values, (n_blocks, n_segments))


def _by_block(place: NDArray[Any], values: FloatArray | None, shape: tuple[int, int]) -> FloatArray:
    sums = np.bincount(place, values, minlength=shape[0] * shape[1])
    return sums.astype(np.float64, copy=False).reshape(shape)
