"""Numbers only: rankings, bands, the exact search and the rules built on it; numpy and scipy, nothing else."""

from aucross.core.bands import RejectionBand
from aucross.core.ranking import RankedScores
from aucross.core.rules import (
    BandRule,
    CenteredBands,
    OptimalBands,
    ThresholdBands,
    auc_improving_interval,
    estimate_auc_bands,
    estimate_threshold_bands,
)
from aucross.core.search import best_band, oracle_band

__all__ = [
    "BandRule",
    "CenteredBands",
    "OptimalBands",
    "RankedScores",
    "RejectionBand",
    "ThresholdBands",
    "auc_improving_interval",
    "best_band",
    "estimate_auc_bands",
    "estimate_threshold_bands",
    "oracle_band",
]
