"""Rankings, bands, the exact search and the rules built on it; this package imports only numpy and scipy."""

from aucross.core.band_rule import Axis, BandRule, GroupBands, RankedRule
from aucross.core.bands import RejectionBand
from aucross.core.capacity import share_of_groups
from aucross.core.cautious import Caution, rejections_that_keep, smallest_size_that_keeps
from aucross.core.correction import Correction, CoverageMap
from aucross.core.cost import ExpectedCost
from aucross.core.influence import InfluenceBands
from aucross.core.nested import FixedPathBands, NestedBands
from aucross.core.ranking import RankedScores
from aucross.core.rounding import ScoreCounter, ScoreRounding
from aucross.core.rules import CenteredBands, OptimalBands, ThresholdBands, auc_improving_interval, estimate_auc_bands
from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.core.search import best_band, oracle_band
from aucross.core.targets import AUCTarget, AveragePrecision, KolmogorovSmirnov, PartialAUC, Target, best_band_for

__all__ = [
    "AUCTarget",
    "AveragePrecision",
    "Axis",
    "BandRule",
    "Caution",
    "CenteredBands",
    "Correction",
    "CoverageMap",
    "ExpectedCost",
    "FixedPathBands",
    "GroupBands",
    "InfluenceBands",
    "KolmogorovSmirnov",
    "NestedBands",
    "OptimalBands",
    "PartialAUC",
    "RankedRule",
    "RankedScores",
    "RejectionBand",
    "RuleInput",
    "ScoreCounter",
    "ScoreRounding",
    "ScoredRows",
    "Target",
    "ThresholdBands",
    "auc_improving_interval",
    "best_band",
    "best_band_for",
    "estimate_auc_bands",
    "oracle_band",
    "rejections_that_keep",
    "share_of_groups",
    "smallest_size_that_keeps",
]
