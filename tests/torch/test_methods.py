"""What the methods read off outputs, and the moving targets of self-adaptive training over epochs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from torch import nn

from aucross.torch.methods import CrossEntropy, GamblersMethod, SelectiveNetMethod, SelfAdaptiveMethod
from aucross.torch.network_training import LabelledTensors, Training
from aucross.torch.networks import Network
from aucross.torch.options import NetworkOptions
from aucross.torch.table_encoder import TableTensors

N_ROWS = 12


def training(method, *, seed=3, **options):
    torch.manual_seed(0)
    network = Network(front=First(), body=nn.Identity(), heads=method.heads(2, 2)).double()
    rng = np.random.default_rng(1)
    inputs = TableTensors.of((rng.normal(size=(N_ROWS, 2)), np.zeros((N_ROWS, 0), dtype=np.int64)), "float64")
    rows = LabelledTensors(inputs, torch.tensor(np.arange(N_ROWS) % 2))
    options = NetworkOptions(**{"max_epochs": 4, "batch_size": 5, "precision": "float64", **options})
    return Training(network, rows, method, options, n_classes=2, seed=seed)


class First(nn.Module):
    """Hands on the numbers of a table."""

    def forward(self, numbers, codes):
        return numbers


def replayed_targets(method, n_epochs):
    """The targets by the formula, with the outputs that the network had when each batch came."""
    run = training(method)
    targets = np.eye(2)[run.rows.labels.numpy()]
    seen = []

    def remember(_, outputs, batch, epoch, moving):
        shares = torch.softmax(outputs["prediction"].detach()[:, :2], 1).numpy()
        rows = batch.rows.numpy()
        if epoch >= method.pretrain_epochs:
            targets[rows] = method.momentum * targets[rows] + (1 - method.momentum) * shares
        seen.append(rows)
        return loss(method, outputs, batch, epoch, moving)

    loss = type(method).training_loss
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(method), "training_loss", remember)
        for _ in range(n_epochs):
            run._run_epoch(lambda seen: None)
    assert sorted(np.concatenate(seen)) == sorted(list(range(N_ROWS)) * n_epochs)
    return targets, run.targets.numpy()


@pytest.mark.parametrize("n_epochs", [1, 2, 4])
def test_targets_follow_the_moving_average_of_the_predictions_over_epochs(n_epochs):
    expected, targets = replayed_targets(SelfAdaptiveMethod(momentum=0.9), n_epochs)
    assert targets == pytest.approx(expected, abs=1e-12)
    assert targets.sum(axis=1) == pytest.approx(np.ones(N_ROWS))
    assert (targets[np.arange(N_ROWS), np.arange(N_ROWS) % 2] < 1).all()


def test_targets_are_the_labels_until_pretraining_is_over():
    method = SelfAdaptiveMethod(momentum=0.9, pretrain_epochs=2)
    labels = np.eye(2)[np.arange(N_ROWS) % 2]
    assert np.array_equal(replayed_targets(method, 2)[1], labels)
    expected, targets = replayed_targets(method, 3)
    assert targets == pytest.approx(expected, abs=1e-12)
    assert not np.array_equal(targets, labels)


def test_targets_with_momentum_one_stay_the_labels():
    _, targets = replayed_targets(SelfAdaptiveMethod(momentum=1.0), 3)
    assert np.array_equal(targets, np.eye(2)[np.arange(N_ROWS) % 2])


def test_gamblers_train_on_the_classes_alone_until_pretraining_is_over():
    run = training(GamblersMethod(pretrain_epochs=1))
    before = run.network.state_dict()["heads.prediction.weight"].clone()
    run._run_epoch(lambda seen: None)
    after = run.network.state_dict()["heads.prediction.weight"].clone()
    assert torch.equal(before[-1], after[-1])
    assert not torch.equal(before[0], after[0])
    run._run_epoch(lambda seen: None)
    assert not torch.equal(after[-1], run.network.state_dict()["heads.prediction.weight"][-1])


def test_selection_scores_are_log_odds_of_what_is_kept():
    outputs = torch.randn(9, 3, generator=torch.Generator().manual_seed(0)).double()
    probabilities, selection = SelfAdaptiveMethod().answers({"prediction": outputs})
    share_kept = 1 - torch.softmax(outputs, 1)[:, -1]
    assert torch.sigmoid(selection).numpy() == pytest.approx(share_kept.numpy())
    assert probabilities.numpy() == pytest.approx(torch.softmax(outputs[:, :2], 1).numpy())
    assert torch.equal(GamblersMethod().answers({"prediction": outputs}).selection, selection)


def test_the_gamblers_reserve_is_shared_by_the_classes():
    shares = torch.tensor([[0.6, 0.1, 0.3], [0.9, 0.0999, 1e-4], [0.2, 0.7, 0.1]]).double()
    probabilities = GamblersMethod().answers({"prediction": shares.log()}).probabilities
    expected = [[0.75, 0.25], [0.90005, 0.09995], [0.25, 0.75]]
    assert probabilities.numpy() == pytest.approx(np.array(expected))


def test_selection_scores_tell_rows_apart_whose_shares_round_to_one():
    outputs = torch.tensor([[50.0, 0.0, 0.0], [60.0, 0.0, 0.0]])
    first, second = SelfAdaptiveMethod().answers({"prediction": outputs}).selection
    assert first < second


def test_the_selection_score_of_selective_net_is_its_selection_head():
    heads = {"prediction": torch.zeros(2, 2), "selection": torch.tensor([-1.0, 2.0]), "auxiliary": torch.ones(2, 2)}
    answers = SelectiveNetMethod().answers(heads)
    assert answers.selection.tolist() == [-1.0, 2.0]
    assert answers.probabilities.tolist() == [[0.5, 0.5]] * 2
    expected = torch.sigmoid(torch.tensor([-1.0, 2.0])).mean()
    assert float(SelectiveNetMethod().coverage(heads, None)) == pytest.approx(float(expected))


def test_a_plain_classifier_is_sure_by_the_odds_of_its_prediction():
    outputs = torch.log(torch.tensor([[0.2, 0.8], [0.6, 0.4]], dtype=torch.float64))
    answers = CrossEntropy().answers({"prediction": outputs})
    assert answers.selection.tolist() == pytest.approx([np.log(4), np.log(1.5)])


def test_the_selection_head_starts_by_selecting_about_the_coverage():
    torch.manual_seed(0)
    head = SelectiveNetMethod(target_coverage=0.8).heads(16, 2)["selection"]
    selected = torch.sigmoid(head(torch.randn(200, 16))).mean()
    assert selected.item() == pytest.approx(0.8, abs=0.05)
