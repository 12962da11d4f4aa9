"""Numbers only: rankings, bands, the exact search and the rules built on it; numpy and scipy, nothing else."""

from aucross.core.average_precision import AveragePrecision
from aucross.core.bands import RejectionBand
from aucross.core.correction import CorrectedBands
from aucross.core.cost import ExpectedCost
from aucross.core.influence import InfluenceBands
from aucross.core.nested import NestedBands, NestedInfluence
from aucross.core.promises import PromisedBands, promise_coverage, rejections_that_keep, smallest_promising_size
from aucross.core.ranking import RankedScores
from aucross.core.ranking_targets import KolmogorovSmirnov, PartialAUC
from aucross.core.rules import (
    BandRule,
    CenteredBands,
    GroupBands,
    OptimalBands,
    ThresholdBands,
    auc_improving_interval,
    estimate_auc_bands,
    estimate_threshold_bands,
)
from aucross.core.scored_rows import ScoredRows
from aucross.core.search import best_band, oracle_band
from aucross.core.targets import AUCTarget, Target, TargetBands, best_band_for

__all__ = [
    "AUCTarget",
    "AveragePrecision",
    "BandRule",
    "CenteredBands",
    "CorrectedBands",
    "ExpectedCost",
    "GroupBands",
    "InfluenceBands",
    "KolmogorovSmirnov",
    "NestedBands",
    "NestedInfluence",
    "OptimalBands",
    "PartialAUC",
    "PromisedBands",
    "RankedScores",
    "RejectionBand",
    "ScoredRows",
    "Target",
    "TargetBands",
    "ThresholdBands",
    "auc_improving_interval",
    "best_band",
    "best_band_for",
    "estimate_auc_bands",
    "estimate_threshold_bands",
    "oracle_band",
    "promise_coverage",
    "rejections_that_keep",
    "smallest_promising_size",
]
