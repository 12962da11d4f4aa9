"""scikit-learn's own estimator checks, with no failures and none expected."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross

# Tight enough for weights and repeated rows to agree to seven digits.
LINEAR_SVC = LinearSVC(dual=False, tol=1e-10)

ESTIMATORS = [
    AUCross(LogisticRegression()),
    AUCross(LogisticRegression(), placement="centered"),
    AUCross(LINEAR_SVC),
    AUCross(LogisticRegression(), ensemble=True),
    SCross(LINEAR_SVC, ensemble="judge"),
    PlugInAUC(LogisticRegression()),
    PlugInAUC(LogisticRegression(), placement="centered"),
    SCross(LogisticRegression()),
    SCross(LINEAR_SVC),
    PlugIn(LogisticRegression()),
    AUCGate(LogisticRegression(), gate=LINEAR_SVC),
    AUCGate(LogisticRegression()),
]


# The checks feed data on which base models warn; what they assert is unaffected.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
