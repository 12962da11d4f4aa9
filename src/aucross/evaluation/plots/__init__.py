"""Pictures by scikit-learn's display pattern; matplotlib is imported only when something is drawn.

Every display is made in one of three ways, and all of them draw at once:

- ``from_estimator(clf, X, y, ...)``: a fitted selective classifier and labelled rows;
- ``from_predictions(...)``: labels, scores and masks from anywhere;
- ``from_evaluation(...)``: an evaluation that is already there.

The constructor takes the numbers alone and draws nothing until ``plot()`` is called.
"""

from aucross.evaluation.auc_metrics import CAPCurve, cap_curve
from aucross.evaluation.plots.auc_surface import AUCSurface, AUCSurfaceDisplay, auc_surface
from aucross.evaluation.plots.band import BandDisplay
from aucross.evaluation.plots.cap import CAPDisplay
from aucross.evaluation.plots.coverage_curve import CoverageCurveDisplay, RiskCoverageDisplay
from aucross.evaluation.plots.group_gaps import GroupGapDisplay

__all__ = [
    "AUCSurface",
    "AUCSurfaceDisplay",
    "BandDisplay",
    "CAPCurve",
    "CAPDisplay",
    "CoverageCurveDisplay",
    "GroupGapDisplay",
    "RiskCoverageDisplay",
    "auc_surface",
    "cap_curve",
]
