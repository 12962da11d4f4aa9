"""scikit-learn's own estimator checks, with no failures and none expected."""

import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import default_gate

# Tight enough for weights and repeated rows to agree to seven digits.
LINEAR_SVC = LinearSVC(dual=False, tol=1e-10)

# The first has the five folds of the default; two will do for the others, as the checks ask nothing of the folds.
ESTIMATORS = [
    AUCross(LogisticRegression()),
    AUCross(LINEAR_SVC, cv=2),
    AUCross(LogisticRegression(), ensemble=True, cv=2),
    SCross(LINEAR_SVC, ensemble="judge", cv=2),
    PlugInAUC(LogisticRegression()),
    PlugInAUC(LogisticRegression(), placement="centered"),
    SCross(LogisticRegression(), cv=2),
    PlugIn(LogisticRegression()),
    AUCGate(LogisticRegression(), gate=LINEAR_SVC, cv=2),
    AUCGate(LogisticRegression(), cv=2),
]


@pytest.fixture(autouse=True)
def small_default_gate(monkeypatch):
    """The models of the default gate with fewer trees: the checks ask that they are fitted, not how well."""

    def boosting(**options):
        return HistGradientBoostingClassifier(**options, max_iter=5)

    def trees(**options):
        return ExtraTreesClassifier(**{**options, "n_estimators": 5})

    monkeypatch.setattr(default_gate, "HistGradientBoostingClassifier", boosting)
    monkeypatch.setattr(default_gate, "ExtraTreesClassifier", trees)


# The checks feed data on which base models warn; what they assert is unaffected.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
