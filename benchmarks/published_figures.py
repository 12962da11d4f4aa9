"""The four published methods on Adult, UCICredit and GiveMe against the figures that they must reach.

    python -m benchmarks.published_figures

Base model: default LightGBM with seed 42; 5 folds and a 10 % hold-out with seed 42; the test rows of the splits named
in `paper_data`. AUC must be within .0015 of the reference and coverage on Adult within .005.
"""

from __future__ import annotations

import numpy as np

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import without_correction
from aucross.evaluation import achieved_coverage, selective_auc
from benchmarks.paper_data import BASE_MODEL, COVERAGES, load

METHODS = {
    "AUCross": lambda base: AUCross(base, placement="centered", random_state=42),
    "PlugInAUC": lambda base: PlugInAUC(base, placement="centered", random_state=42),
    "PlugIn": lambda base: PlugIn(base, random_state=42),
    "SCross": lambda base: without_correction(SCross(base, random_state=42)),
}

REFERENCE_AUC = {
    ("Adult", "AUCross"): (0.9280, 0.9340, 0.9423, 0.9490, 0.9570, 0.9635),
    ("Adult", "PlugInAUC"): (0.9279, 0.9338, 0.9412, 0.9480, 0.9559, 0.9615),
    ("Adult", "PlugIn"): (0.9283, 0.9331, 0.9409, 0.9483, 0.9530, 0.9570),
    ("Adult", "SCross"): (0.9276, 0.9341, 0.9408, 0.9466, 0.9526, 0.9563),
    ("UCICredit", "AUCross"): (0.780, 0.786, 0.794, 0.802, 0.808, 0.815),
    ("UCICredit", "PlugInAUC"): (0.775, 0.780, 0.788, 0.796, 0.803, 0.811),
    ("UCICredit", "PlugIn"): (0.773, 0.771, 0.762, 0.751, 0.732, 0.713),
    ("UCICredit", "SCross"): (0.778, 0.772, 0.763, 0.752, 0.735, 0.713),
    ("GiveMe", "AUCross"): (0.868, 0.875, 0.883, 0.890, 0.897, 0.903),
    ("GiveMe", "PlugInAUC"): (0.868, 0.874, 0.882, 0.890, 0.897, 0.903),
    ("GiveMe", "PlugIn"): (0.860, 0.826, 0.790, 0.762, 0.749, 0.728),
    ("GiveMe", "SCross"): (0.860, 0.825, 0.784, 0.756, 0.747, 0.726),
}

REFERENCE_COVERAGE = {
    ("Adult", "AUCross"): (0.987, 0.949, 0.896, 0.852, 0.797, 0.747),
    ("Adult", "PlugInAUC"): (0.991, 0.952, 0.895, 0.846, 0.790, 0.741),
    ("Adult", "PlugIn"): (0.990, 0.956, 0.903, 0.845, 0.795, 0.745),
    ("Adult", "SCross"): (0.989, 0.950, 0.900, 0.851, 0.801, 0.747),
}


def measure(dataset: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Test AUC and coverage of one method at the six coverages."""
    data = load(dataset)
    clf = METHODS[method](BASE_MODEL).fit(data.X_train, data.y_train)
    scores, chance = clf.decide(data.X_test).selection_score, clf.predict_proba(data.X_test)[:, 1]
    selections = [clf.band(coverage).selects(scores) for coverage in COVERAGES]
    auc = [selective_auc(data.y_test, chance, selected) for selected in selections]
    return np.array(auc), np.array([achieved_coverage(selected) for selected in selections])


def main() -> None:
    worst_auc = worst_coverage = 0.0
    for (dataset, method), reference in REFERENCE_AUC.items():
        auc, coverage = measure(dataset, method)
        auc_error = np.abs(auc - reference).max()
        line = (
            f"{dataset:10} {method:10} AUC {np.round(auc, 4)} off by {auc_error:.4f}  coverage {np.round(coverage, 3)}"
        )
        if (dataset, method) in REFERENCE_COVERAGE:
            coverage_error = np.abs(coverage - REFERENCE_COVERAGE[dataset, method]).max()
            line += f" off by {coverage_error:.4f}"
            worst_coverage = max(worst_coverage, coverage_error)
        worst_auc = max(worst_auc, auc_error)
        print(line, flush=True)
    print(f"largest difference: AUC {worst_auc:.4f} (at most .0015), coverage {worst_coverage:.4f} (at most .005)")


if __name__ == "__main__":
    main()
