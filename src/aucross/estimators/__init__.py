"""Selective classifiers: scikit-learn meta-estimators that combine a base classifier with a rule."""

from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.base import SelectiveClassifier, without_correction
from aucross.estimators.confidence import PlugIn, SCross
from aucross.estimators.coverage_for import HeldOutAnswer
from aucross.estimators.dates import DaysSince1970
from aucross.estimators.decisions import Decisions
from aucross.estimators.fitting import classifier_from_ranking, counts_of, fit_on_counts
from aucross.estimators.fold_ensemble import FoldEnsemble
from aucross.estimators.gate import AUCGate
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.models import NumberedClasses
from aucross.estimators.review import ReviewQueue
from aucross.estimators.score_column import ScoreColumn
from aucross.estimators.score_counts import ScoreCounts

__all__ = [
    "AUCGate",
    "AUCross",
    "DaysSince1970",
    "Decisions",
    "FoldEnsemble",
    "HashedFolds",
    "HeldOutAnswer",
    "HeldOutScores",
    "NumberedClasses",
    "PlugIn",
    "PlugInAUC",
    "ReviewQueue",
    "SCross",
    "ScoreColumn",
    "ScoreCounts",
    "SelectiveClassifier",
    "classifier_from_ranking",
    "counts_of",
    "fit_on_counts",
    "without_correction",
]
