"""The training loop: seeds, schedules, stopping, checkpoints, and what is put back afterwards."""

import logging
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from torch import nn

from aucross.torch import (
    MLP,
    VGG16,
    DeepGamblers,
    ResNet,
    ResNetClassifier,
    SelectiveNet,
    SelfAdaptiveTraining,
    VGGClassifier,
)
from aucross.torch.devices import find_device, low_precision, threads
from aucross.torch.network_training import Training, batches_of, check_batches, write_checkpoint
from aucross.torch.networks import RowNorm, weighted_rows
from aucross.torch.options import NetworkOptions
from aucross.torch.table_encoder import TableTensors

X, Y = make_classification(240, n_features=5, flip_y=0.2, random_state=0)
SMALL = {"width": 8, "n_blocks": 1, "max_epochs": 4, "batch_size": 50, "n_threads": 1, "random_state": 0}


def network(**parameters):
    return ResNetClassifier(**{**SMALL, **parameters})


def adaptive(**parameters):
    options = {"max_epochs": 4, "batch_size": 50, "random_state": 0, "target_momentum": 0.7}
    return SelfAdaptiveTraining(body=partial(MLP, width=8, dropout=0.2), **{**options, **parameters})


def same(first, second):
    return np.array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.fixture
def images():
    y = np.arange(96) % 2
    values = np.random.default_rng(0).integers(0, 120, (96, 8, 8, 3))
    return (values + 80 * y[:, None, None, None]).astype(np.uint8), y


# ---- seeds and global state ----


def test_the_same_seed_gives_the_same_network():
    assert same(network().fit(X, Y), network().fit(X, Y))
    assert not same(network().fit(X, Y), network(random_state=1).fit(X, Y))


def test_the_seed_draws_the_order_of_rows_too(monkeypatch):
    draw, orders = torch.randperm, []

    def drawn(*args, **options):
        orders.append(draw(*args, **options))
        return orders[-1]

    monkeypatch.setattr(torch, "randperm", drawn)
    for seed in (0, 1):
        network(random_state=seed, max_epochs=1).fit(X, Y)
    first, second = orders
    assert not torch.equal(first, second)


def test_fit_leaves_random_state_and_threads_of_torch_as_they_were():
    torch.manual_seed(5)
    before, n_threads = torch.get_rng_state(), torch.get_num_threads()
    clf = network(n_threads=1 + n_threads).fit(X, Y)
    clf.predict(X)
    pickle.loads(pickle.dumps(clf))
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_num_threads() == n_threads


def test_a_training_on_a_processor_leaves_the_random_states_of_gpus(monkeypatch):
    def fail(seed):
        raise AssertionError(f"GPUs were seeded with {seed}")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", fail)
    clf = network(max_epochs=1).fit(X, Y)
    assert same(pickle.loads(pickle.dumps(clf)), clf)


def test_trainings_in_threads_take_turns_and_do_not_disturb_each_other():
    expected = network(dropout=0.3).fit(X, Y).predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: network(dropout=0.3, n_threads=1).fit(X, Y).predict_proba(X), range(4)))
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    assert answers[0] == pytest.approx(expected, abs=1e-3)


def test_the_number_of_threads_is_put_back_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), threads(before + 1):
        torch.get_num_threads() / 0
    assert torch.get_num_threads() == before


# ---- batches ----


def test_batches_are_of_nearly_equal_size_and_none_is_a_handful():
    sizes = [len(part) for part in batches_of(torch.arange(129), 64)]
    assert sizes == [43, 43, 43]
    assert [len(part) for part in batches_of(torch.arange(10), 64)] == [10]


def test_a_class_missing_in_nearly_all_batches_is_refused_with_a_batch_size():
    y = np.zeros(2000, dtype=int)
    y[:4] = 1
    with pytest.raises(ValueError, match=r"class 1 has 4 of 2000 rows .* 93.8 % of the batches; pass batch_size=1500"):
        network(batch_size=32).fit(np.arange(2000.0)[:, None], y)
    check_batches(torch.tensor(y), 1500, np.array([0, 1]), nn.Identity())


@pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one")
@pytest.mark.parametrize(("n_rows", "batch_size"), [(20, 1), (21, 2)])
def test_batches_of_one_row_are_refused_where_they_are_normalised(n_rows, batch_size):
    rows, labels = X[:n_rows], np.arange(n_rows) % 2
    with pytest.raises(ValueError, match=f"batch_size must leave at least two rows .* got {batch_size} for {n_rows}"):
        network(batch_size=batch_size).fit(rows, labels)
    adaptive(batch_size=batch_size, max_epochs=1, pretrain_epochs=0).fit(rows, labels)


def test_rows_that_fit_into_one_batch_hold_every_class():
    check_batches(torch.tensor([0] * 99 + [1]), 100, np.array([0, 1]), nn.Identity())


# ---- schedules ----


def test_the_step_schedule_halves_the_rate_every_25_epochs():
    options = NetworkOptions(lr=0.1)
    rates = [options.learning_rate(epoch, 3, 10) for epoch in (0, 24, 25, 49, 50, 299)]
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025, 0.1 / 2**11])


def test_the_one_cycle_schedule_rises_and_falls():
    options = NetworkOptions(lr=0.1, schedule="one-cycle", max_epochs=10)
    rates = [options.learning_rate(epoch, step, 10) for epoch in range(10) for step in range(10)]
    top = int(np.argmax(rates))
    assert 28 <= top <= 31
    assert max(rates) == pytest.approx(0.1, rel=1e-3)
    assert (np.diff(rates[: top + 1]) > 0).all()
    assert (np.diff(rates[top:]) < 0).all()
    assert rates[0] == pytest.approx(0.004)
    assert rates[-1] == pytest.approx(0.1 * 0.0004)


def test_without_a_schedule_the_rate_stays():
    assert NetworkOptions(lr=0.3, schedule=None).learning_rate(100, 0, 1) == 0.3


# ---- stopping ----


def test_training_stops_when_the_validation_loss_no_longer_falls_and_keeps_the_best_weights():
    clf = network(max_epochs=200, validation_size=0.3, patience=3, lr=0.3).fit(X, Y)
    losses = clf.history_["validation_loss"]
    assert clf.n_epochs_ == len(losses) < 200
    best = int(np.argmin(losses))
    assert clf.history_["best_epoch"] == best + 1 == clf.n_epochs_ - 3
    # Training for just so long ends with the same weights.
    shorter = network(max_epochs=best + 1, validation_size=0.3, patience=3, lr=0.3).fit(X, Y)
    assert same(clf, shorter)


@pytest.mark.parametrize("make", [SelfAdaptiveTraining, DeepGamblers])
def test_pretraining_is_neither_stopped_nor_taken_for_the_best(make):
    clf = make(body=partial(MLP, width=8), max_epochs=40, pretrain_epochs=5, validation_size=0.3, patience=2, lr=0.3)
    history = clf.set_params(random_state=0).fit(X, Y).history_
    losses = history["validation_loss"]
    assert 5 < history["best_epoch"] < len(losses) < 40
    assert history["best_epoch"] == 6 + int(np.argmin(losses[5:]))


def test_without_validation_rows_all_epochs_are_trained():
    clf = network().fit(X, Y)
    assert clf.n_epochs_ == 4
    assert len(clf.history_["loss"]) == 4
    assert clf.history_["validation_loss"] == []
    assert clf.history_["loss"][-1] < clf.history_["loss"][0]


@pytest.mark.parametrize(("n_positive", "share"), [(1, 0.2), (2, 0.8)])
def test_validation_rows_need_room_beside_the_training_rows(n_positive, share):
    labels = np.zeros(100, dtype=int)
    labels[:n_positive] = 1
    with pytest.raises(ValueError, match=f"validation_size must leave rows of every class .* got {share:g} with"):
        network(validation_size=share).fit(X[:100], labels)


def test_the_loss_of_validation_rows_does_not_depend_on_how_many_are_scored_at_once(monkeypatch):
    def losses():
        clf = SelectiveNet(body="mlp", validation_size=0.4, max_epochs=2, precision="float64", random_state=0)
        return clf.fit(X, Y).history_["validation_loss"]

    expected = losses()
    monkeypatch.setattr(TableTensors, "rows_at_once", 7)
    assert losses() == pytest.approx(expected, rel=1e-12)


def test_a_last_step_that_ruins_the_weights_is_an_error_too():
    with pytest.raises(FloatingPointError, match="pass a lower lr"):
        network(max_epochs=1, batch_size=len(Y), lr=1e38, schedule=None).fit(X, Y)


def test_a_fit_that_fails_leaves_the_one_before():
    clf = network().fit(X, Y)
    expected = clf.predict_proba(X)
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        clf.fit(X[:, :3], np.zeros(len(Y)))
    with pytest.raises(ValueError, match="lr must be a number"):
        clf.set_params(lr=-1).fit(X[:, :3], Y)
    assert clf.n_features_in_ == X.shape[1]
    assert np.array_equal(clf.predict_proba(X), expected)


def test_a_class_without_weight_is_refused_by_its_name():
    labels = np.arange(len(Y)) % 3
    with pytest.raises(ValueError, match=r"sample_weight must be above 0 .* all rows of \[2\]"):
        network().fit(X, labels, sample_weight=np.where(labels == 2, 0.0, 1.0))


def test_a_loss_that_is_not_a_number_is_an_error_that_says_what_to_do():
    clf = SelfAdaptiveTraining(body=partial(MLP, width=8), lr=1e8, schedule=None, max_epochs=20, random_state=0)
    with pytest.raises(
        FloatingPointError, match=r"the loss became (nan|inf) in epoch \d+; pass a lower lr \(now 1e\+08\)"
    ):
        clf.fit(X * 100, Y)


# ---- checkpoints ----


class KilledError(Exception):
    pass


@pytest.fixture
def kill_after(monkeypatch):
    """Let trainings die when some epochs are done and their checkpoint is written."""

    def install(n_epochs):
        run_epoch = Training._run_epoch

        def dying(self, bar):
            if self.history.n_epochs >= n_epochs:
                raise KilledError
            run_epoch(self, bar)

        monkeypatch.setattr(Training, "_run_epoch", dying)
        return monkeypatch

    return install


@pytest.mark.parametrize(
    "make", [network, adaptive, partial(network, validation_size=0.2, patience=2)], ids=["plain", "targets", "stopping"]
)
def test_a_training_that_was_killed_goes_on_with_the_same_result(make, tmp_path, kill_after, caplog):
    uninterrupted = make().fit(X, Y)
    patch = kill_after(2)
    with pytest.raises(KilledError):
        make(checkpoint_folder=tmp_path).fit(X, Y)
    patch.undo()
    with caplog.at_level(logging.INFO, logger="aucross.torch"):
        resumed = make(checkpoint_folder=tmp_path).fit(X, Y)
    assert "going on after 2 epochs" in caplog.text
    assert same(resumed, uninterrupted)
    assert resumed.history_ == uninterrupted.history_


def test_a_training_on_images_that_was_killed_goes_on_with_the_same_changes(images, tmp_path, kill_after):
    options = {"width": 0.05, "max_epochs": 4, "half_size_epochs": 1, "schedule": "one-cycle", "random_state": 0}
    expected = VGGClassifier(**options).fit(*images).predict_proba(images[0])
    patch = kill_after(2)
    with pytest.raises(KilledError):
        VGGClassifier(**options, checkpoint_folder=tmp_path).fit(*images)
    patch.undo()
    resumed = VGGClassifier(**options, checkpoint_folder=tmp_path).fit(*images)
    assert np.array_equal(resumed.predict_proba(images[0]), expected)


@pytest.mark.attack("commands and workers killed, and large tables", everyday=False)
def test_a_kill_in_the_middle_of_a_process_leaves_a_checkpoint_to_go_on_from(tmp_path):
    code = f"""
import os
import numpy as np
from aucross.torch import ResNetClassifier
from aucross.torch import network_training
write, count = network_training.write_checkpoint, []
def dying_write(path, state):
    write(path, state)
    count.append(1)
    if len(count) == 2:
        os.kill(os.getpid(), 9)
network_training.write_checkpoint = dying_write
from sklearn.datasets import make_classification
X, y = make_classification(240, n_features=5, flip_y=0.2, random_state=0)
ResNetClassifier(**{SMALL!r}, checkpoint_folder={str(tmp_path)!r}).fit(X, y)
"""
    run = subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert run.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    assert same(network(checkpoint_folder=tmp_path).fit(X, Y), network().fit(X, Y))


def test_a_kill_while_a_checkpoint_is_written_leaves_the_one_before(tmp_path, monkeypatch):
    checkpoint = tmp_path / "training.pt"
    write_checkpoint(checkpoint, {"epoch": 1})

    def dying(state, file):
        file.write(b"half of it")
        raise KilledError

    monkeypatch.setattr(torch, "save", dying)
    with pytest.raises(KilledError):
        write_checkpoint(checkpoint, {"epoch": 2})
    assert torch.load(checkpoint, weights_only=True) == {"epoch": 1}
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_numbers_of_numpy_as_options_go_into_checkpoints_and_share_them(tmp_path):
    given = {"lr": np.float64(0.05), "target_momentum": np.float64(0.8), "max_epochs": np.int64(2)}
    first = adaptive(checkpoint_folder=tmp_path, **given).fit(X, Y)
    again = adaptive(checkpoint_folder=tmp_path, **{name: value.item() for name, value in given.items()}).fit(X, Y)
    assert same(first, again)
    assert len(list(tmp_path.iterdir())) == 1


def test_weights_of_validation_rows_name_a_checkpoint_too(tmp_path, images):
    options = {"width": 0.05, "max_epochs": 1, "validation_size": 0.3, "random_state": 0}
    weight = np.ones(len(images[1]))
    for first in (1.0, 2.0):
        weight[: len(weight) // 2] = first
        VGGClassifier(**options, checkpoint_folder=tmp_path).fit(*images, sample_weight=weight)
    assert len(list(tmp_path.iterdir())) == 2


def test_other_rows_options_and_seeds_have_checkpoints_of_their_own(tmp_path):
    network(checkpoint_folder=tmp_path).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == 1
    for other in (network(lr=0.2), network(random_state=1), network(width=9)):
        other.set_params(checkpoint_folder=tmp_path).fit(X, Y)
    network(checkpoint_folder=tmp_path).fit(X[:200], Y[:200])
    assert len(list(tmp_path.iterdir())) == 5
    network(checkpoint_folder=tmp_path, n_threads=1, verbose=0).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == 5


def test_a_finished_training_is_read_and_not_made_again(tmp_path, kill_after):
    first = network(checkpoint_folder=tmp_path).fit(X, Y)
    kill_after(0)
    assert same(network(checkpoint_folder=tmp_path).fit(X, Y), first)


@pytest.mark.parametrize("make", [network, adaptive])
def test_checkpoints_need_an_integer_seed(make, tmp_path):
    with pytest.raises(ValueError, match="random_state must be an integer with checkpoint_folder"):
        make(checkpoint_folder=tmp_path, random_state=None).fit(X, Y)


# ---- warm start ----


def test_a_warm_start_goes_on_from_the_weights_before():
    clf = network(warm_start=True).fit(X, Y)
    first = clf.history_["loss"]
    clf.fit(X, Y)
    assert clf.history_["loss"][0] < first[0]
    assert clf.history_["loss"][0] == pytest.approx(first[-1], abs=0.1)


def test_networks_for_several_coverages_can_start_from_one(tmp_path):
    start = SelectiveNet(body="mlp", warm_start=True, max_epochs=3, random_state=0).fit(X, Y)
    before = start.predict_proba(X)
    for coverage in (0.9, 0.7):
        clf = deepcopy(start).set_params(coverage=coverage, max_epochs=1).fit(X, Y)
        assert clf.trained_coverage_ == coverage
        assert clf.estimator_.network_.method.target_coverage == coverage
        assert np.array_equal(clf.held_out_.rows, start.held_out_.rows)
        assert clf.history_["loss"][0] < start.history_["loss"][0]
    assert np.array_equal(start.predict_proba(X), before)


def test_a_warm_start_needs_the_same_held_out_rows_and_classes():
    with pytest.raises(ValueError, match="random_state must be an integer with warm_start=True"):
        adaptive(warm_start=True, random_state=None).fit(X, Y)
    clf = network(warm_start=True).fit(X, Y)
    for other in (np.arange(len(Y)) % 3, np.where(Y == 1, "b", "a")):
        with pytest.raises(ValueError, match=r"y must have the classes of the earlier fit .* \[0, 1\], got"):
            clf.fit(X, other)
    selective = adaptive(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="y must have the classes of the earlier fit"):
        selective.fit(X, np.where(Y == 1, "b", "a"))


@pytest.mark.parametrize("make", [network, adaptive])
def test_a_warm_start_needs_the_same_columns(make):
    frame = pd.DataFrame(X).add_prefix("x")
    clf = make(warm_start=True).fit(frame, Y)
    expected = clf.predict_proba(frame)
    for other in (frame.iloc[:, ::-1], frame.iloc[:, :3], frame.assign(more=1)):
        with pytest.raises(ValueError, match="feature names"):
            clf.fit(other, Y)
    assert np.array_equal(clf.predict_proba(frame), expected)


def test_a_warm_start_needs_a_network_of_the_same_size():
    clf = network(warm_start=True).fit(X, Y).set_params(width=16)
    with pytest.raises(ValueError, match=r"as large as in the earlier fit with warm_start=True, .* weights before"):
        clf.fit(X, Y)
    selective = SelectiveNet(body="mlp", warm_start=True, max_epochs=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="pass warm_start=False"):
        selective.set_params(head_sizes=(64,)).fit(X, Y)


def test_a_network_that_was_warm_started_can_be_pickled():
    clf = network(warm_start=True).fit(X, Y).fit(X, Y)
    assert same(pickle.loads(pickle.dumps(clf)), clf)


def test_held_out_rows_that_the_start_was_trained_on_are_warned_of():
    clf = adaptive(warm_start=True).fit(X, Y)
    with pytest.warns(UserWarning, match="held-out rows were trained on by the fit that this one goes on from"):
        clf.set_params(random_state=7).fit(X, Y)
    with pytest.warns(UserWarning, match="pass the same rows, random_state, cv and holdout_size"):
        clf.set_params(holdout_size=0.3).fit(X, Y)


# ---- precision, devices, progress ----


def test_mixed_precision_trains_on_a_processor_too():
    clf = network(precision="mixed").fit(X, Y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert clf.predict_proba(X) == pytest.approx(network().fit(X, Y).predict_proba(X), abs=0.1)


def test_rows_are_never_scored_in_16_bits_which_would_tie_them():
    many = np.random.default_rng(0).normal(size=(4000, X.shape[1]))
    for clf in (network(precision="mixed").fit(X, Y), adaptive(precision="mixed").fit(X, Y)):
        assert len(np.unique(clf.predict_proba(many)[:, 1])) > 3900
    assert len(np.unique(clf.decide(many).selection_score)) > 3900


def test_large_weights_do_not_overflow_16_bits():
    norm = RowNorm(3)
    rows = torch.randn(128, 3, generator=torch.Generator().manual_seed(0))
    expected = norm(rows)
    with weighted_rows(norm, torch.full((128,), 600.0)):
        found = norm(rows.half())
    assert found.dtype == torch.float16
    assert found.float().detach().numpy() == pytest.approx(expected.detach().numpy(), abs=0.01)


def test_a_gpu_computes_in_16_bits_by_default_and_a_processor_does_not(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    assert low_precision(torch.device("cuda"), "auto") == torch.float16
    assert low_precision(torch.device("cpu"), "auto") is None
    assert low_precision(torch.device("cpu"), "mixed") == torch.bfloat16
    assert low_precision(torch.device("cuda"), "float32") is None


def test_gradients_are_scaled_where_16_bits_have_a_small_range(monkeypatch, tmp_path):
    monkeypatch.setattr("aucross.torch.network_training.low_precision", lambda device, precision: torch.float16)
    monkeypatch.setattr("aucross.torch.devices.low_precision", lambda device, precision: torch.float16)
    clf = network(precision="mixed", checkpoint_folder=tmp_path).fit(X, Y)
    assert clf.score(X, Y) > 0.6
    (path,) = tmp_path.iterdir()
    assert torch.load(path, weights_only=True)["scaler"]["scale"] > 1


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_device("auto") == torch.device("cpu")
    with pytest.raises(ValueError, match="no GPU found; pass device"):
        network(device="cuda").fit(X, Y)
    with pytest.raises(ValueError, match='device must be "auto", "cpu" or "cuda"'):
        network(device="abacus").fit(X, Y)
    with pytest.raises(ValueError, match='pass device="cpu"'):
        network(device="meta").fit(X, Y)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match="device 'cuda:7' is not available: 2 GPUs found"):
        find_device("cuda:7")


def test_a_network_trained_on_a_gpu_answers_where_there_is_none(monkeypatch):
    clf = network().fit(X, Y)
    expected = clf.predict_proba(X)
    object.__setattr__(clf.network_.options, "device", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert np.array_equal(clf.predict_proba(X), expected)


def test_progress_shows_epoch_loss_and_coverage_and_is_silent_by_default(capsys):
    adaptive().fit(X, Y)
    assert capsys.readouterr().err == ""
    adaptive(verbose=2).fit(X, Y)
    shown = capsys.readouterr().err
    assert "epoch 4" in shown
    assert "loss=" in shown
    assert "coverage=" in shown


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("max_epochs", 0, "max_epochs must be a whole number from 1, got 0"),
        ("batch_size", 2.5, "batch_size must be a whole number from 1, got 2.5"),
        ("lr", 0, "lr must be a number above 0, got 0; pass 0.1"),
        ("lr", float("nan"), "lr must be a number above 0, got nan"),
        ("momentum", 1.0, "momentum must be a number at least 0 and below 1, got 1.0"),
        ("weight_decay", -1, "weight_decay must be a number at least 0, got -1"),
        ("validation_size", 10, "validation_size must be a number above 0 and below 1, got 10"),
        ("schedule", "cosine", "schedule must be one of 'step', 'one-cycle', None, got 'cosine'"),
        ("precision", "half", "precision must be one of"),
        ("max_epochs", True, "max_epochs must be a whole number"),
        ("n_threads", 0, "n_threads must be a whole number from 1"),
    ],
)
def test_options_that_cannot_work_are_refused(parameter, value, message):
    for make in (network, adaptive):
        with pytest.raises(ValueError, match=message):
            make(**{parameter: value}).fit(X, Y)


# ---- networks ----


def test_weighted_normalisation_counts_rows_by_weight():
    rows = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight = torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0, 1.0], dtype=torch.float64)
    weighted, repeated = RowNorm(4).double(), RowNorm(4).double()
    again = torch.repeat_interleave(torch.arange(6), weight.long())
    with weighted_rows(nn.Sequential(weighted), weight):
        outputs = weighted(rows)
    assert outputs[again].detach().numpy() == pytest.approx(repeated(rows[again]).detach().numpy())
    assert weighted.running_var.numpy() == pytest.approx(repeated.running_var.numpy())
    assert weighted.running_mean.numpy() == pytest.approx(repeated.running_mean.numpy())
    assert weighted.row_weight is None


def test_weights_that_sum_to_one_train_the_same_network():
    expected = network(precision="float64").fit(X, Y).predict_proba(X)
    shares = network(precision="float64").fit(X, Y, sample_weight=np.full(len(Y), 1 / len(Y)))
    assert shares.predict_proba(X) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (partial(MLP, width=0), "width must be a whole number from 1, got 0"),
        (partial(MLP, n_blocks=0), "n_blocks must be a whole number from 1, got 0"),
        (partial(ResNet, width=-1), "width must be a whole number from 1, got -1"),
        (partial(ResNet, dropout=1.0), "dropout must be a number at least 0 and below 1, got 1.0"),
        (partial(ResNet, hidden_multiplier=0), "hidden_multiplier must be a number above 0, got 0"),
        (partial(VGG16, width=-1), "width must be a number above 0 and at most 4, got -1"),
        (partial(VGG16, width=64), "width must be a number above 0 and at most 4, got 64; it is a factor"),
    ],
)
def test_sizes_that_make_no_network_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build(3)


def test_a_body_that_does_not_suit_the_rows_is_refused(images):
    with pytest.raises(ValueError, match=r"body must take .* shape \(2, 5\) .* got VGG16"):
        adaptive().set_params(body=partial(VGG16, width=0.05)).fit(X, Y)
    with pytest.raises(ValueError, match=r"body must take .* shape \(2, 3, 8, 8\) .* got MLP"):
        adaptive().fit(*images)


def test_vgg16_has_the_published_number_of_weights():
    convolutions = [module for module in VGG16().modules() if isinstance(module, nn.Conv2d)]
    assert len(convolutions) == 13
    # 14,710,464 weights of 3 x 3 convolutions: the published 14,714,688 without their 4,224 biases
    assert sum(module.weight.numel() for module in convolutions) == 14_710_464
    quarter = sum(module.weight.numel() for module in VGG16(width=0.25).modules() if isinstance(module, nn.Conv2d))
    assert quarter == pytest.approx(14_710_464 / 16, rel=0.01)


def test_the_tabular_resnet_has_its_default_sizes():
    body = ResNet(10)
    assert body(torch.zeros(3, 10)).shape == (3, 192)
    assert [tuple(module.weight.shape) for module in body.modules() if isinstance(module, nn.Linear)] == [
        (192, 10),
        *[(384, 192), (192, 384)] * 2,
    ]


def test_the_first_epochs_may_be_trained_at_half_size(images, monkeypatch):
    sizes = []
    outputs = Training._outputs

    def seen(self, inputs, weight):
        sizes.append(inputs[0].shape[-1])
        return outputs(self, inputs, weight)

    monkeypatch.setattr(Training, "_outputs", seen)
    VGGClassifier(width=0.05, max_epochs=3, half_size_epochs=2, batch_size=96, random_state=0).fit(*images)
    assert sizes == [4, 4, 8]


def test_images_train_with_and_without_changes(images):
    images, y = images
    for augment in ("flip+crop", "flip", None):
        clf = VGGClassifier(
            width=0.1, max_epochs=12, batch_size=16, augment=augment, schedule="one-cycle", random_state=0
        )
        assert clf.fit(images, y).score(images, y) > 0.9
