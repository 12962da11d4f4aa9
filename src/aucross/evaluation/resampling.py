"""Resamples of many rows at a cost that hardly depends on their number: random blocks of rows are drawn, not rows.

The rows are dealt at random into a few thousand blocks, once. Whatever is a sum over rows is a sum over blocks, and a
resample is a count per block: a thousand of them are one product of two small matrices. The AUC is a sum over rows to
first order: each row adds the share of the other class that it is ranked rightly against.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import RankedSelections, SelectionStatistics, draw_counts, share_of, statistics_of
from aucross.evaluation.inputs import BoolArray, SelectedRows, row_weights
from aucross.evaluation.lower_bounds import ranking_losses

# From so many rows (or units of rows) on blocks are drawn.
MANY_ROWS = 100_000

# With 4,096 blocks the standard deviation of the replicates is known to 1 %, as from 4,096 replicates.
N_BLOCKS = 4_096


def resampled_statistics(
    rankings: Sequence[RankedSelections],
    selections: BoolArray,
    n_bootstrap: int,
    seed: int,
    units: IndexArray | None = None,
) -> list[SelectionStatistics]:
    """The statistics of several rankings of the same rows, in resamples of the rows or of their units.

    The same seed gives the same draws, so two evaluations of the same rows are paired.
    """
    rows = rankings[0].rows
    n_units = len(rows.positive) if units is None else int(units.max()) + 1
    if n_units < MANY_ROWS or n_bootstrap == 0:
        return statistics_of(rankings, draw_counts(len(rows.positive), n_bootstrap, seed, units))
    blocks = _deal_blocks(len(rows.positive), seed, units)
    rng = np.random.Generator(np.random.SFC64([seed, 1]))
    drawn = rng.integers(0, N_BLOCKS, size=(n_bootstrap, N_BLOCKS), dtype=np.uint32)
    counts = np.array([np.bincount(replicate, minlength=N_BLOCKS) for replicate in drawn], dtype=np.float64)
    return [_statistics(ranking, selections, blocks, counts) for ranking in rankings]


def _deal_blocks(n_rows: int, seed: int, units: IndexArray | None) -> IndexArray:
    """The block of each row; rows of one unit share a block."""
    rng = np.random.Generator(np.random.SFC64(seed))
    if units is None:
        return rng.integers(0, N_BLOCKS, size=n_rows)
    return rng.integers(0, N_BLOCKS, size=int(units.max()) + 1)[units]


def _statistics(
    ranking: RankedSelections, selections: BoolArray, blocks: IndexArray, counts: FloatArray
) -> SelectionStatistics:
    rows = ranking.ascending()
    ascending = SelectedRows(rows.positive, rows.score, row_weights(rows.sample_weight, len(rows.score)))
    correct, of_rows = rows.correct, blocks[ranking.order]
    whole = counts @ _by_block(of_rows, ascending.weight)
    columns = []
    for selection in selections:
        mask = selection[ranking.order]
        selected, in_blocks = ascending.take(mask), of_rows[mask]
        positive = selected.positive
        lost = np.zeros(len(positive))
        if positive.any() and not positive.all():
            lost[positive], lost[~positive] = ranking_losses(selected)
        sums = [
            _by_block(in_blocks, values)
            for values in (
                selected.weight * positive,
                selected.weight * ~positive,
                selected.weight * correct[mask],
                selected.weight * lost * positive,
                selected.weight * lost * ~positive,
            )
        ]
        positives, negatives, right, lost_by_positives, lost_by_negatives = (counts @ np.array(sums).T).T
        n_selected = positives + negatives
        mean_loss = sums[3].sum() / max(sums[0].sum(), 1e-300)
        loss = share_of(lost_by_positives, positives) + share_of(lost_by_negatives, negatives) - mean_loss
        covered = np.ones(len(counts)) if mask.all() else share_of(n_selected, whole)
        columns.append((covered, np.clip(1.0 - loss, 0.0, 1.0), share_of(right, n_selected), positives, n_selected))
    coverage, auc, accuracy, positives, n_selected = np.array(columns).transpose(1, 2, 0)
    return SelectionStatistics(coverage, auc, accuracy, share_of(positives, n_selected), positives)


def _by_block(blocks: IndexArray, values: FloatArray) -> FloatArray:
    return np.bincount(blocks, values, minlength=N_BLOCKS).astype(np.float64, copy=False)
