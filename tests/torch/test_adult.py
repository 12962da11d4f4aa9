"""SelectiveNet on Adult: the coverage on test rows is near each target."""

from copy import deepcopy
from functools import partial

import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from sklearn.metrics import roc_auc_score

from aucross.torch import MLP, SelectiveNet

COVERAGES = (0.99, 0.90, 0.75)


@pytest.fixture(scope="module")
def adult(paper_data):
    train, test = (pd.read_parquet(paper_data.FOLDER / f"adult_{part}.parquet") for part in ("train", "test"))
    return train, train.pop("target"), test, test.pop("target")


@pytest.fixture(scope="module")
def start(adult):
    X, y, *_ = adult
    body = partial(MLP, width=32)
    return SelectiveNet(body=body, max_epochs=2, batch_size=256, warm_start=True, random_state=0).fit(X, y)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_selective_net_keeps_its_coverage_on_test_rows(coverage, adult, start):
    X, y, X_test, y_test = adult
    clf = deepcopy(start).set_params(coverage=coverage, max_epochs=1).fit(X, y)
    selected = clf.select(X_test)
    assert abs(selected.mean() - coverage) < 0.03
    probability = clf.predict_proba(X_test)[:, 1]
    assert roc_auc_score(y_test, probability) > 0.89
