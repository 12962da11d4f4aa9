"""Losses against values worked out by hand, and against the printed formulas in NumPy."""

from math import log

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from aucross.torch import cross_entropy, gamblers_loss, moved_targets, selective_net_loss, self_adaptive_loss


def outputs_of(shares):
    return torch.log(torch.tensor(shares, dtype=torch.float64))


def odds(probability):
    return torch.tensor([log(p / (1 - p)) for p in probability], dtype=torch.float64)


def softmax(values):
    shares = np.exp(values - values.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.fixture
def random_outputs():
    rng = np.random.default_rng(0)
    return {
        "prediction": rng.normal(size=(7, 2)),
        "selection": rng.normal(size=7),
        "auxiliary": rng.normal(size=(7, 2)),
        "with_abstention": rng.normal(size=(7, 3)),
        "labels": rng.integers(0, 2, 7),
        "targets": rng.random(7),
    }


# ---- by hand ----


def test_cross_entropy_by_hand():
    loss = cross_entropy(outputs_of([[0.25, 0.75], [0.5, 0.5]]), torch.tensor([1, 0]))
    assert float(loss) == pytest.approx((-log(0.75) - log(0.5)) / 2)


def test_selective_net_by_hand():
    loss = selective_net_loss(
        outputs_of([[0.5, 0.5], [0.2, 0.8]]),
        odds([0.5, 0.9]),
        outputs_of([[0.5, 0.5], [0.5, 0.5]]),
        torch.tensor([0, 1]),
        coverage=0.8,
    )
    # mean g = 0.7; the selected risk is the g-weighted mean of -log 0.5 and -log 0.8
    risk = (0.5 * -log(0.5) + 0.9 * -log(0.8)) / (0.5 + 0.9)
    assert float(loss) == pytest.approx(0.5 * risk + 32 * 0.1**2 + 0.5 * -log(0.5))


def test_selective_net_has_no_penalty_once_enough_is_selected():
    losses = [
        float(
            selective_net_loss(
                outputs_of([[0.5, 0.5]]),
                odds([0.9]),
                outputs_of([[0.5, 0.5]]),
                torch.tensor([0]),
                coverage=0.8,
                penalty=penalty,
            )
        )
        for penalty in (0.0, 32.0)
    ]
    assert losses[0] == losses[1] == pytest.approx(-log(0.5))


def test_alpha_scales_the_penalty_only_where_asked_to():
    arguments = (outputs_of([[0.5, 0.5]]), odds([0.6]), outputs_of([[0.5, 0.5]]), torch.tensor([0]))
    without = float(selective_net_loss(*arguments, coverage=0.8, penalty=0.0))
    as_printed = float(selective_net_loss(*arguments, coverage=0.8))
    other_reading = float(selective_net_loss(*arguments, coverage=0.8, alpha_scales_penalty=True))
    assert as_printed - without == pytest.approx(32 * 0.2**2)
    assert other_reading - without == pytest.approx(0.5 * 32 * 0.2**2)


def test_selective_net_stays_finite_where_nothing_is_selected():
    loss = selective_net_loss(
        outputs_of([[0.5, 0.5]]),
        torch.tensor([-1e4], dtype=torch.float64, requires_grad=True),
        outputs_of([[0.5, 0.5]]),
        torch.tensor([0]),
        coverage=0.8,
    )
    assert torch.isfinite(loss)
    loss.backward()


def test_self_adaptive_by_hand():
    shares = outputs_of([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    loss = self_adaptive_loss(shares, torch.tensor([0, 1]), torch.tensor([1.0, 0.25], dtype=torch.float64))
    expected = (-log(0.6) - (0.25 * log(0.5) + 0.75 * log(0.3))) / 2
    assert float(loss) == pytest.approx(expected)


def test_targets_move_towards_the_probabilities_without_the_abstaining_output():
    targets = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    moved = moved_targets(targets, outputs_of([[0.6, 0.2, 0.2]]), momentum=0.9)
    assert moved.tolist() == [pytest.approx([0.1 * 0.75, 0.9 + 0.1 * 0.25])]


def test_gamblers_by_hand():
    shares = outputs_of([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    loss = gamblers_loss(shares, torch.tensor([0, 0]), payoff=2.0)
    assert float(loss) == pytest.approx((-log(0.6 + 0.05) - log(0.2 + 0.15)) / 2)


def test_gamblers_stay_finite_where_shares_vanish_in_single_precision():
    outputs = torch.tensor([[-200.0, 0.0, -150.0]], requires_grad=True)
    loss = gamblers_loss(outputs, torch.tensor([0]), payoff=1.5)
    loss.backward()
    assert loss.item() == pytest.approx(150 + log(1.5), rel=1e-6)
    assert torch.isfinite(outputs.grad).all()


@pytest.mark.parametrize(("payoff", "probability"), [(1.8, 0.7), (1.8, 0.95), (1.5, 0.8)])
def test_the_best_reservation_is_the_one_of_the_documentation(payoff, probability):
    reservation = payoff * (1 - probability) / (payoff - 1)

    def expected_loss(reserve):
        both = outputs_of([[1 - reserve, 1e-12, reserve]])
        first, second = (gamblers_loss(both, torch.tensor([label]), payoff=payoff) for label in (0, 1))
        return float(probability * first + (1 - probability) * second)

    best = expected_loss(reservation)
    assert best < expected_loss(reservation - 0.01)
    assert best < expected_loss(reservation + 0.01)


# ---- against the printed formulas ----


def test_selective_net_equals_the_printed_formula(random_outputs):
    given = random_outputs
    rows = np.arange(7)
    g = 1 / (1 + np.exp(-given["selection"]))
    coverage, alpha, penalty = 0.9, 0.3, 8.0
    of_h, of_v = (-np.log(softmax(given[name])[rows, given["labels"]]) for name in ("prediction", "auxiliary"))
    phi = g.sum() / 7
    expected = (
        alpha * ((of_h * g).sum() / 7) / phi + penalty * max(0, coverage - phi) ** 2 + (1 - alpha) * of_v.sum() / 7
    )
    tensors = [torch.tensor(given[name]) for name in ("prediction", "selection", "auxiliary", "labels")]
    loss = selective_net_loss(*tensors, coverage=coverage, alpha=alpha, penalty=penalty)
    assert float(loss) == pytest.approx(expected)


def test_self_adaptive_equals_the_printed_formula(random_outputs):
    given = random_outputs
    shares = softmax(given["with_abstention"])
    of_label = shares[np.arange(7), given["labels"]]
    t = given["targets"]
    expected = -(t * np.log(of_label) + (1 - t) * np.log(shares[:, -1])).mean()
    loss = self_adaptive_loss(*(torch.tensor(given[name]) for name in ("with_abstention", "labels", "targets")))
    assert float(loss) == pytest.approx(expected)


def test_gamblers_equal_the_printed_formula(random_outputs):
    given = random_outputs
    shares = softmax(given["with_abstention"])
    expected = -np.log(shares[np.arange(7), given["labels"]] + shares[:, -1] / 1.7).mean()
    loss = gamblers_loss(torch.tensor(given["with_abstention"]), torch.tensor(given["labels"]), payoff=1.7)
    assert float(loss) == pytest.approx(expected)


def test_self_adaptive_with_targets_of_one_is_the_cross_entropy(random_outputs):
    outputs, labels = torch.tensor(random_outputs["with_abstention"]), torch.tensor(random_outputs["labels"])
    ones = torch.ones(7, dtype=torch.float64)
    assert float(self_adaptive_loss(outputs, labels, ones)) == pytest.approx(float(cross_entropy(outputs, labels)))


# ---- weights ----


@pytest.mark.parametrize("name", ["cross entropy", "SelectiveNet", "self-adaptive", "gamblers"])
def test_weight_two_is_the_row_twice(name, random_outputs):
    weight = torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0], dtype=torch.float64)
    repeated = torch.repeat_interleave(torch.arange(7), weight.long())
    given = {key: torch.tensor(value) for key, value in random_outputs.items()}

    def loss(rows, row_weight):
        of = {key: value[rows] for key, value in given.items()}
        if name == "cross entropy":
            return cross_entropy(of["prediction"], of["labels"], row_weight)
        if name == "SelectiveNet":
            heads = of["prediction"], of["selection"], of["auxiliary"]
            return selective_net_loss(*heads, of["labels"], row_weight, coverage=0.9)
        if name == "self-adaptive":
            return self_adaptive_loss(of["with_abstention"], of["labels"], of["targets"], row_weight)
        return gamblers_loss(of["with_abstention"], of["labels"], row_weight, payoff=1.8)

    assert float(loss(slice(None), weight)) == pytest.approx(float(loss(repeated, None)))
