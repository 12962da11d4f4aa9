"""scikit-learn's own estimator checks over the estimators for tables, with no failures and none expected."""

from functools import partial

import pytest

pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross.torch import MLP, DeepGamblers, ResNetClassifier, SelectiveNet, SelfAdaptiveTraining

# One batch and float64: there weight 2 is the row twice to seven digits, as a check demands.
TRAINING = {"max_epochs": 12, "batch_size": 1000, "schedule": "one-cycle", "precision": "float64"}
BODY = partial(MLP, width=16, n_blocks=1)

ESTIMATORS = [
    SelectiveNet(body=BODY, **TRAINING),
    SelfAdaptiveTraining(body=BODY, **TRAINING),
    DeepGamblers(body=BODY, **TRAINING),
    ResNetClassifier(width=16, n_blocks=1, dropout=0.0, **TRAINING),
]


# The checks feed data on which scikit-learn itself warns; what they assert is unaffected.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
