"""scikit-learn's own estimator checks, with no failures and none expected."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross import AUCross, PlugIn, PlugInAUC, SCross

ESTIMATORS = [
    AUCross(LogisticRegression()),
    AUCross(LogisticRegression(), placement="centered"),
    AUCross(LinearSVC()),
    PlugInAUC(LogisticRegression()),
    PlugInAUC(LogisticRegression(), placement="centered"),
    SCross(LogisticRegression()),
    SCross(LinearSVC()),
    PlugIn(LogisticRegression()),
]


# The checks feed data on which base models warn; what they assert is unaffected.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
