"""scikit-learn's own estimator checks, with no failures and none expected."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross

# Tight enough for weights and repeated rows to agree to seven digits.
LINEAR_SVC = LinearSVC(dual=False, tol=1e-10)

# One of each class. Two folds will do, as the checks ask nothing of them.
ESTIMATORS = [
    AUCross(LogisticRegression(), cv=2),
    SCross(LINEAR_SVC, ensemble=True, cv=2),
    PlugInAUC(LINEAR_SVC),
    PlugIn(LogisticRegression()),
    AUCGate(LogisticRegression(), cv=2),
]


# The checks feed data on which base models warn; what they assert is unaffected.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("small_default_gate")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
