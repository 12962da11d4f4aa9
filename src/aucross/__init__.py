"""Selective classification for scikit-learn: classifiers that know when not to answer, judged by their AUC.

The names used every day are here. The rest is in its part: rankings, bands, rules and targets in :mod:`aucross.core`,
metrics, plots and results in :mod:`aucross.evaluation`, model files in :mod:`aucross.files`, the rule for other systems
in :mod:`aucross.export`, the record of decisions in :mod:`aucross.record`, the watch over drift in
:mod:`aucross.watch`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aucross.audit import audited_auc, estimate_selective
    from aucross.core import ScoredRows
    from aucross.estimators import (
        AUCGate,
        AUCross,
        Decisions,
        HashedFolds,
        PlugIn,
        PlugInAUC,
        ScoreColumn,
        SCross,
        SelectiveClassifier,
    )
    from aucross.evaluation import (
        compare_selective,
        evaluate_groups,
        evaluate_selections,
        evaluate_selective,
        promise_coverage,
        promise_selective,
        selective_scorer,
        team_score,
    )
    from aucross.files import load, save
    from aucross.watch import CoverageKeeper, CoverageMonitor

__version__ = "0.2.0"

__all__ = [
    "AUCGate",
    "AUCross",
    "CoverageKeeper",
    "CoverageMonitor",
    "Decisions",
    "HashedFolds",
    "PlugIn",
    "PlugInAUC",
    "SCross",
    "ScoreColumn",
    "ScoredRows",
    "SelectiveClassifier",
    "audited_auc",
    "compare_selective",
    "estimate_selective",
    "evaluate_groups",
    "evaluate_selections",
    "evaluate_selective",
    "load",
    "promise_coverage",
    "promise_selective",
    "save",
    "selective_scorer",
    "team_score",
]

# Nothing is imported before it is asked for: scikit-learn and scipy take seconds, and `aucross --help` needs neither.
_PARTS = ("audit", "core", "datasets", "estimators", "evaluation", "export", "files", "record", "report", "watch")
_NAMES = {
    "audit": ("audited_auc", "estimate_selective"),
    "core": ("ScoredRows",),
    "estimators": (
        *("AUCGate", "AUCross", "Decisions", "HashedFolds", "PlugIn", "PlugInAUC", "SCross", "ScoreColumn"),
        "SelectiveClassifier",
    ),
    "evaluation": (
        *("compare_selective", "evaluate_groups", "evaluate_selections", "evaluate_selective"),
        *("promise_coverage", "promise_selective", "selective_scorer", "team_score"),
    ),
    "files": ("load", "save"),
    "watch": ("CoverageKeeper", "CoverageMonitor"),
}
_PART_OF = {name: part for part, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name or a part of the package when it is first used."""
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name not in _PART_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_PART_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS, *(name for name in globals() if name.startswith("__"))})
