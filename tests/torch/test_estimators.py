"""The selective networks keep the contract of all selective classifiers, on tables and on images."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from torch import nn

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross, load, save
from aucross.core import ThresholdBands
from aucross.datasets import make_credit
from aucross.files import read_header
from aucross.torch import (
    MLP,
    VGG16,
    DeepGamblers,
    ResNetClassifier,
    SelectiveNet,
    SelfAdaptiveTraining,
    VGGClassifier,
)
from tests.estimators import test_contract as contract

BODY = partial(MLP, width=8, n_blocks=1)
OPTIONS = {"max_epochs": 5, "batch_size": 100, "schedule": "one-cycle", "precision": "float64", "random_state": 0}

ESTIMATORS = {
    "SelectiveNet": SelectiveNet(body=BODY, **OPTIONS),
    "SelfAdaptiveTraining": SelfAdaptiveTraining(body=BODY, **OPTIONS),
    "DeepGamblers": DeepGamblers(body=BODY, **OPTIONS),
    "DeepGamblers, promised": DeepGamblers(
        body=BODY, coverage_confidence=0.9, coverage=0.5, holdout_size=0.3, **OPTIONS
    ),
    "SelfAdaptiveTraining, ResNet": SelfAdaptiveTraining(**{**OPTIONS, "max_epochs": 1}),
}

# There is no base model to give: the network is a part of the estimator.
ABOUT_THE_BASE_MODEL = {
    "check_the_base_model_given_stays_unfitted",
    "check_a_pipeline_as_base_model",
    "check_grid_search_over_base_model_and_coverage",
    "check_a_frozen_model_is_used_as_it_is",
    "check_a_failed_fit_leaves_the_earlier_one",  # NaN is no failure here; its twin is below
}
CHECKS_THAT_FIT = [check for check in contract.CHECKS_THAT_FIT if check.__name__ not in ABOUT_THE_BASE_MODEL]


@pytest.fixture(scope="module")
def rows():
    return contract.make_rows()


@pytest.mark.every_pair
@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_contract(name, check, rows):
    check(ESTIMATORS[name], rows)


# Not SelectiveNet: it is trained for the coverage of its constructor.
@pytest.mark.parametrize("check", CHECKS_THAT_FIT, ids=contract.name_of)
def test_contract_of_fits(check, rows):
    check(ESTIMATORS["SelfAdaptiveTraining"], rows)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_failed_fit_leaves_the_earlier_one(name, rows):
    clf, untouched = rows.fit(ESTIMATORS[name]), rows.fitted(ESTIMATORS[name])
    with pytest.raises(ValueError, match="two classes"):
        clf.fit(rows.X, np.zeros(len(rows.X)))
    with pytest.raises(ValueError, match="infinity"):
        clf.fit(np.where(rows.X[3, 1] == rows.X, np.inf, rows.X), rows.y)
    assert contract.same_answers(clf, untouched, rows.X_new)


# ---- what the band lies on ----


@pytest.mark.parametrize("name", ["SelectiveNet", "SelfAdaptiveTraining", "DeepGamblers"])
def test_the_positive_class_can_be_named(name, rows):
    X, y = rows.X, rows.y
    labels = np.where(y == y.max(), "bad", "good")
    plain, named = (clone(ESTIMATORS[name]).set_params(pos_label=label).fit(X, labels) for label in (None, "bad"))
    assert named.fitted_.classes.tolist() == ["good", "bad"]
    assert np.array_equal(named.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(named.scored(X).score, named.predict_proba(X)[:, 0])
    assert np.array_equal(named.select(X), plain.select(X))
    assert np.array_equal(named.set_params(warm_start=True).fit(X, labels).classes_, plain.classes_)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_of_low_selection_score_are_rejected(name, rows):
    clf = rows.fitted(ESTIMATORS[name])
    assert clf.band(0.5).lower == -np.inf
    scores, selected = clf.decide(rows.X_new).selection_score, clf.select(rows.X_new, 0.4)
    assert scores[selected].min() > scores[~selected].max()
    assert np.array_equal(scores, clf.estimator_.selection_score(rows.X_new))


def test_the_threshold_is_the_quantile_of_the_held_out_selection_scores(rows):
    clf = rows.fitted(ESTIMATORS["SelfAdaptiveTraining"])
    assert isinstance(clf.band_rule_, ThresholdBands)
    assert len(clf.held_out_.second) == len(clf.held_out_.rows) == 50
    assert np.array_equal(clf.held_out_.second, clf.decide(rows.X[clf.held_out_.rows]).selection_score)
    assert clf.band(0.8).selects(clf.held_out_.second).mean() == 0.8


def test_selective_net_is_trained_for_one_coverage_and_says_so(rows):
    low, high = (rows.fit(clone(ESTIMATORS["SelectiveNet"]).set_params(coverage=c)) for c in (0.3, 0.95))
    assert (low.trained_coverage_, high.trained_coverage_) == (0.3, 0.95)
    assert not np.array_equal(low.decide(rows.X_new).selection_score, high.decide(rows.X_new).selection_score)
    # Other coverages are answered by the same network.
    assert abs(low.select(rows.X_new, 0.8).mean() - 0.8) < 0.2


def test_selection_prefers_rows_that_are_answered_rightly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = np.where(np.abs(X[:, 1]) > 1.2, rng.integers(0, 2, 4000), X[:, 0] > 0)  # noise at the sides
    for make in (SelectiveNet, SelfAdaptiveTraining, DeepGamblers):
        clf = make(body=partial(MLP, width=32), max_epochs=15, coverage=0.75, schedule="one-cycle", random_state=0)
        if make is SelfAdaptiveTraining:
            clf.set_params(target_momentum=0.9)
        clf.fit(X[:3000], y[:3000])
        correct = clf.predict(X[3000:]) == y[3000:]
        selected = clf.select(X[3000:])
        assert correct[selected].mean() > correct.mean() + 0.05, make.__name__


# ---- parameters of the methods ----


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SelectiveNet(alpha=2), "alpha must be a number at least 0 and at most 1, got 2"),
        (SelectiveNet(head_sizes=(128, 0)), "each of head_sizes must be a whole number from 1, got 0"),
        (SelectiveNet(penalty=-1), "penalty must be a number at least 0, got -1"),
        (SelectiveNet(coverage=90), "for 90 % pass 0.9"),
        (SelfAdaptiveTraining(target_momentum=-0.1), "target_momentum must be a number at least 0"),
        (SelfAdaptiveTraining(pretrain_epochs=300), "pretrain_epochs must be below max_epochs, got 300 and 300"),
        (DeepGamblers(half_size_epochs=5, max_epochs=5), "half_size_epochs must be below max_epochs, got 5 and 5"),
        (DeepGamblers(payoff=1), "payoff must be a number above 1, got 1; pass 1.8"),
        (DeepGamblers(payoff=2.5), "payoff must be at most the number of classes, 2, got 2.5"),
        (DeepGamblers(body="transformer"), r"body must be one of \['mlp', 'resnet', 'vgg16'\]"),
        (DeepGamblers(body="vgg16"), r"X must hold images as an array of shape \(n, height, width, 3\)"),
    ],
)
def test_parameters_that_cannot_work_are_refused(estimator, message, rows):
    with pytest.raises(ValueError, match=message):
        estimator.fit(rows.X, rows.y)


def test_the_larger_heads_of_the_paper_can_be_chosen(rows):
    clf = clone(ESTIMATORS["SelectiveNet"]).set_params(head_sizes=(64, 32, 16)).fit(rows.X, rows.y)
    heads = clf.estimator_.network_.network.heads
    sizes = [layer.out_features for layer in heads["prediction"] if isinstance(layer, nn.Linear)]
    assert sizes == [64, 32, 16, 2]
    with pytest.raises(TypeError, match=r"head_sizes must be a tuple of layer sizes, got 128; pass \(128,\)"):
        SelectiveNet(head_sizes=128).fit(rows.X, rows.y)


# ---- bodies ----


class Doubling(nn.Module):
    """A body of one's own."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(6)

    def forward(self, rows):
        return torch.tanh(self.layer(rows))


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(
    "make_body",
    [lambda: "mlp", Doubling, lambda: nn.Sequential(nn.Linear(6, 4), nn.ReLU()), lambda: partial(MLP, width=3)],
    ids=["name", "own class", "sequence", "function"],
)
def test_any_module_can_be_the_body(make_body, rows):
    clf = DeepGamblers(body=make_body(), **OPTIONS).fit(rows.X, rows.y)
    copied = pickle.loads(pickle.dumps(clf))
    assert contract.same_answers(clf, copied, rows.X_new)
    assert contract.same_answers(clf, rows.fit(clone(clf)), rows.X_new)


def test_a_module_given_as_body_is_copied_with_its_weights(rows):
    body = nn.Linear(6, 4)
    weights = body.weight.detach().clone()
    DeepGamblers(body=body, **OPTIONS).fit(rows.X, rows.y)
    assert torch.equal(body.weight, weights)
    clf = DeepGamblers(body=body, **{**OPTIONS, "lr": 1e-9}).fit(rows.X, rows.y)
    # A step moves a weight by the rate, however small the weight is: a relative tolerance would depend on the draw.
    assert clf.estimator_.network_.network.body.weight.detach().numpy() == pytest.approx(weights.numpy(), abs=1e-6)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (nn.Unflatten(1, (2, 3)), ValueError, r"one vector of features per row, got shape \(2, 2, 3\)"),
        (lambda n_inputs: n_inputs, TypeError, "body must return a torch module when called with 6, got int"),
        (3, TypeError, "body must be a name, a torch module or a function"),
    ],
)
def test_a_body_that_cannot_be_one_is_refused(body, error, message, rows):
    with pytest.raises(error, match=message):
        DeepGamblers(body=body, **OPTIONS).fit(rows.X, rows.y)


# ---- what comes with the contract ----


@pytest.mark.parametrize("name", ["SelectiveNet", "SelfAdaptiveTraining", "DeepGamblers"])
def test_a_saved_network_answers_alike(name, rows, tmp_path):
    clf, path = rows.fit(ESTIMATORS[name]), tmp_path / "clf.aucross"
    save(clf, path)
    assert read_header(path).unlisted_types == []
    assert contract.same_answers(clf, load(path), rows.X_new)


def test_a_selective_classifier_around_a_network_can_be_saved(rows, tmp_path):
    network = ResNetClassifier(width=8, n_blocks=1, **OPTIONS)
    clf = rows.fit(PlugInAUC(network, random_state=0))
    save(clf, tmp_path / "clf.aucross")
    assert contract.same_answers(clf, load(tmp_path / "clf.aucross"), rows.X_new)


@pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one")
def test_a_network_for_images_can_be_saved(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (90, 8, 8, 3)).astype(np.uint8)
    labels = np.arange(90) % 2
    for clf in (
        SelfAdaptiveTraining(body=partial(VGG16, width=0.05), augment="flip", **OPTIONS),
        PlugInAUC(VGGClassifier(width=0.05, **OPTIONS), random_state=0),
    ):
        clf.fit(images, labels)
        save(clf, tmp_path / "clf.aucross")
        assert (load(tmp_path / "clf.aucross").predict_proba(images) == clf.predict_proba(images)).all()


def test_a_body_of_ones_own_cannot_be_saved_without_pickle_and_the_message_names_it(rows, tmp_path):
    clf = DeepGamblers(body=nn.Linear(6, 4), **OPTIONS).fit(rows.X, rows.y)
    with pytest.raises(TypeError, match="cannot be saved"):
        save(clf, tmp_path / "clf.aucross")


@pytest.mark.parametrize("name", ["SelectiveNet", "SelfAdaptiveTraining", "DeepGamblers"])
def test_queue_capacity_recalibration_groups_and_coverage_for_an_auc(name, rows):
    clf = rows.fit(ESTIMATORS[name])
    queue = clf.review_queue(rows.X_new, 10)
    assert np.array_equal(np.sort(queue.row), np.flatnonzero(~clf.select(rows.X_new, capacity=10)))
    assert (np.diff(queue.worth) <= 0).all()
    assert "% sure of class" in queue.reason[0]
    again = clf.recalibrate(rows.X_new)
    assert again.select(rows.X_new, 0.7).mean() == 0.7
    found = clf.coverage_for(auc=0.6)
    assert 0 <= found.low <= found.value <= found.high <= 1
    groups = np.arange(len(rows.X)) % 2
    per_group = clone(clf).set_params(holdout_size=0.4).fit(rows.X, rows.y, band_groups=groups)
    assert per_group.select(rows.X_new, 0.7, band_groups=np.arange(len(rows.X_new)) % 2).any()


def test_weights_reach_the_network_with_and_without_metadata_routing(rows):
    weight = np.where(rows.X[:, 0] > 0, 3.0, 0.5)
    clf = clone(ESTIMATORS["DeepGamblers"]).fit(rows.X, rows.y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        routed = clone(ESTIMATORS["DeepGamblers"]).fit(rows.X, rows.y, sample_weight=weight)
    assert contract.same_answers(clf, routed, rows.X_new)
    assert not np.array_equal(
        clf.predict_proba(rows.X_new), rows.fit(ESTIMATORS["DeepGamblers"]).predict_proba(rows.X_new)
    )


def test_grid_search_over_parameters_of_the_network(rows):
    search = GridSearchCV(clone(ESTIMATORS["DeepGamblers"]), {"lr": [1e-6, 0.1], "payoff": [1.5, 1.9]}, cv=2)
    search.fit(rows.X, rows.y)
    assert search.best_params_["lr"] == 0.1
    network = ResNetClassifier(width=8, n_blocks=1, **OPTIONS)
    clf = AUCross(network, cv=2, random_state=0)
    by_width = GridSearchCV(clf, {"estimator__width": [4, 8]}, cv=2).fit(rows.X, rows.y)
    first_layer = next(by_width.best_estimator_.estimator_.network_.network.body.parameters())
    assert len(first_layer) == by_width.best_params_["estimator__width"]
    held_out = cross_val_predict(network, rows.X, rows.y, cv=2, method="predict_proba")
    assert roc_auc_score(rows.y, held_out[:, 1]) > 0.6


@pytest.mark.parametrize("make", [SelectiveNet, SelfAdaptiveTraining, DeepGamblers])
def test_more_than_two_classes(make):
    X, y = make_classification(600, n_informative=4, n_classes=3, class_sep=2.0, random_state=0)
    y = np.array(["low", "middle", "high"])[y]
    clf = make(body=BODY, **OPTIONS).fit(X[:400], y[:400])
    assert clf.predict_proba(X[400:]).shape == (200, 3)
    assert clf.score(X[400:], y[400:]) > 0.6
    assert 0 < clf.select(X[400:], 0.6).mean() < 1
    assert set(clf.predict_selective(X[400:], 0.6)) == {"low", "middle", "high", "reject"}
    assert "sure of" in clf.review_queue(X[400:], 3).reason[0]


# ---- tables with categories and missing values ----


def test_frames_with_categories_and_missing_values():
    frame, y = make_credit(800, return_X_y=True)
    frame = frame.drop(columns="issue_date")
    assert frame.isna().any().any()
    assert frame.select_dtypes("category").shape[1]
    clf = SelfAdaptiveTraining(body=BODY, **OPTIONS).fit(frame, y)
    assert clf.feature_names_in_.tolist() == frame.columns.tolist()
    assert clf.n_features_in_ == frame.shape[1]
    probabilities = clf.predict_proba(frame)
    assert roc_auc_score(y, probabilities[:, 1]) > 0.6
    with pytest.raises(ValueError, match="feature names"):
        clf.select(frame[frame.columns[::-1]])
    text = frame.astype(dict.fromkeys(frame.select_dtypes("category"), str))
    expected = SelfAdaptiveTraining(body=BODY, **OPTIONS).fit(text, y).predict_proba(text)
    for other in (pl.from_pandas(text), pa.Table.from_pandas(text)):
        assert np.array_equal(SelfAdaptiveTraining(body=BODY, **OPTIONS).fit(other, y).predict_proba(other), expected)


def test_new_categories_and_missing_values_at_prediction():
    frame = pd.DataFrame({"kind": ["a", "b"] * 100, "size": np.arange(200.0)})
    y = np.arange(200) % 2
    clf = ResNetClassifier(width=8, n_blocks=1, **OPTIONS).fit(frame, y)
    new = pd.DataFrame({"kind": ["c", None], "size": [np.nan, 5.0]})
    assert np.isfinite(clf.predict_proba(new)).all()
    assert clf.score(frame, y) > 0.9


# ---- networks as base models ----


@pytest.mark.parametrize("make", [AUCross, PlugInAUC, SCross, PlugIn, partial(AUCGate, LogisticRegression())])
def test_a_network_as_base_model(make, rows):
    network = ResNetClassifier(width=8, n_blocks=1, **{**OPTIONS, "max_epochs": 2})
    folds = {} if make in (PlugIn, PlugInAUC) else {"cv": 2}
    clf = make(network, random_state=0, **folds).fit(rows.X, rows.y)
    assert 0.3 < clf.select(rows.X_new, 0.7).mean() <= 1
    assert clf.n_features_in_ == 6


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    return (rng.integers(0, 150, (200, 8, 8, 3)) + 60 * y[:, None, None, None]).astype(np.uint8), y


@pytest.mark.parametrize(
    "estimator",
    [
        SelectiveNet(body=partial(VGG16, width=0.05), max_epochs=2, random_state=0),
        SelfAdaptiveTraining(body=partial(VGG16, width=0.05), max_epochs=2, random_state=0),
        DeepGamblers(body=partial(VGG16, width=0.05), max_epochs=2, random_state=0),
        AUCross(VGGClassifier(width=0.05, max_epochs=2, random_state=0), cv=2, random_state=0),
        PlugInAUC(VGGClassifier(width=0.05, max_epochs=2, random_state=0), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.few_scores
def test_images(estimator, images):
    X, y = images
    clf = clone(estimator).fit(X, y)
    assert roc_auc_score(y, clf.predict_proba(X)[:, 1]) > 0.95
    assert clf.select(X, 0.8).mean() > 0.7
    assert contract.same_answers(clf, pickle.loads(pickle.dumps(clf)), X)
    with pytest.raises(ValueError, match=r"seen in fit, \(8, 8, 3\), got \(4, 8, 3\)"):
        clf.select(X[:, :4])


def test_tables_and_images_are_not_mixed_up(images, rows):
    X, y = images
    with pytest.raises(ValueError, match="images go to VGGClassifier"):
        ResNetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="tables go to ResNetClassifier"):
        VGGClassifier().fit(rows.X, rows.y)
    with pytest.raises(ValueError, match="body must be one for images, got 'mlp'"):
        DeepGamblers(body="mlp").fit(X, y)
    clf = rows.fit(ESTIMATORS["DeepGamblers"])
    with pytest.raises(ValueError, match="X must be a table as in fit"):
        clf.select(X)
    of_images = DeepGamblers(body=partial(VGG16, width=0.05), max_epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X must hold images"):
        of_images.select(rows.X)


def test_grey_images_without_channels_are_refused_with_a_remedy():
    X, y = np.zeros((20, 8, 8), dtype=np.uint8), np.arange(20) % 2
    for clf in (DeepGamblers(max_epochs=1), VGGClassifier(max_epochs=1)):
        with pytest.raises(ValueError, match=r"got shape \(\d+, 8, 8\); repeat a grey channel three times"):
            clf.fit(X, y)


# ---- without torch ----


WITHOUT_TORCH = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NotInstalled())
import aucross
try:
    {}
except ModuleNotFoundError as error:
    print(error)
"""


def test_without_torch_the_import_says_what_to_install():
    code = WITHOUT_TORCH.format("import aucross.torch")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "aucross[torch]"' in run.stdout


def test_without_torch_a_saved_network_says_what_to_install(rows, tmp_path):
    save(rows.fitted(ESTIMATORS["DeepGamblers"]), tmp_path / "clf.aucross")
    code = WITHOUT_TORCH.format(f"aucross.load({str(tmp_path / 'clf.aucross')!r})")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "aucross[torch]"' in run.stdout
