"""The lower bound of an AUC on a ranking."""

import numpy as np
import pytest

from aucross.core import RankedScores
from aucross.core.auc_bound import auc_lower_bound
from aucross.evaluation.inputs import SelectedRows
from aucross.evaluation.lower_bounds import auc_bounds


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_rows", [10, 300])
def test_it_is_the_bound_of_the_promise(share, n_rows):
    rng = np.random.default_rng(n_rows)
    positive = rng.random(n_rows) < share
    positive[:2] = (True, False)
    score = (rng.normal(size=n_rows) + positive).round(1)
    (expected,) = auc_bounds(SelectedRows(positive, score, np.ones(n_rows)), [0.05], None, 0)
    assert auc_lower_bound(RankedScores.from_labels(positive, score), 0.05) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0], [0, 1]])
def test_too_few_rows_of_a_class_have_no_bound(labels):
    assert np.isnan(auc_lower_bound(RankedScores.from_labels(labels, range(len(labels))), 0.05))
