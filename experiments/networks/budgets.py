"""How much training the networks get: at a budget that two processor cores can run, as in the paper, and to try out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Name = Literal["budget", "full", "quick"]
# The coverage in the loss of the epochs that the SelectiveNets of all coverages share.
WARM_UP_COVERAGE = 0.9
TABLES = ("Adult", "UCICredit")
IMAGES = ("CIFAR-10-cat", "CatsVsDogs")
NETWORK_DATASETS = (*TABLES, *IMAGES)


@dataclass(frozen=True)
class Budget:
    """What the networks of one data set are and how long they are trained.

    Attributes
    ----------
    classifier : str
        ResNet for tables, VGG16 with batch normalisation for images.
    width : float
        Units between the blocks of ResNet; factor of the channels of VGG16.
    n_folds : int
        Folds of the cross-fitted methods.
    corrects_coverage : bool
        Whether optimal placement and the gate correct the coverage of cross-fitted scores, as they do by default. Then
        the fold models and the refit also score the rows that they were trained on.
    epochs, batch_size, lr, schedule, weight_decay, augment :
        Of every training; see `aucross.torch`.
    half_size_epochs : int
        First epochs, in which images have half their height and width.
    warm_up_epochs : int
        Epochs that the SelectiveNets of all coverages share; 0 trains each from the start for `epochs`.
    further_epochs, further_lr :
        Epochs of each SelectiveNet after the shared ones, and their highest rate.
    target_momentum : float
        Share of the old targets that self-adaptive training keeps each time a row is seen.
    pretrain_epochs, gamblers_pretrain_epochs : int
        Epochs with plain cross entropy before self-adaptive training and before Deep Gamblers, which is not trained
        with None: it is not among the methods of the paper.
    gate_epochs : int
        Epochs of the second network for images, which decides when to defer and sees half-size images. The gate of
        tables is LightGBM.
    n_rows : int, optional
        Training rows that are used, drawn with the share of each class; all by default.
    n_test_rows : int, optional
        Test rows that are used, drawn in the same way; all by default.
    n_threads : int
        Threads of one training. Two trainings of one thread each, side by side, see 1.1 to 1.3 times as many images a
        second as one training after the other with two.
    """

    classifier: Literal["ResNet", "VGG16"]
    width: float
    n_folds: int
    epochs: int
    batch_size: int
    lr: float = 0.1
    schedule: Literal["step", "one-cycle"] = "one-cycle"
    weight_decay: float = 0.0
    augment: Literal["flip", "flip+crop"] | None = None
    half_size_epochs: int = 0
    warm_up_epochs: int = 0
    further_epochs: int = 0
    further_lr: float = 0.1
    target_momentum: float = 0.99
    pretrain_epochs: int = 0
    gamblers_pretrain_epochs: int | None = None
    gate_epochs: int = 0
    n_rows: int | None = None
    n_test_rows: int | None = None
    corrects_coverage: bool = False
    n_threads: int = 1

    def sentence(self) -> str:
        """The budget in words, to stand beside every figure."""
        size = f"{self.width:g} units" if self.classifier == "ResNet" else f"{self.width:g} of the width"
        rate = "one cycle up to" if self.schedule == "one-cycle" else "halved every 25 epochs from"
        parts = [
            f"{self.classifier}, {size}",
            _epochs(self.epochs) + (f", {self.half_size_epochs} at half size" if self.half_size_epochs else ""),
            f"batches of {self.batch_size}, rate {rate} {self.lr:g}, weight decay {self.weight_decay:g}",
            *([f"augmentation {self.augment}"] if self.augment else []),
            "all training rows" if self.n_rows is None else f"{self.n_rows:,} training rows",
            *([] if self.n_test_rows is None else [f"{self.n_test_rows:,} test rows"]),
            f"{self.n_folds} folds, coverage "
            + ("corrected by rows that all models have seen" if self.corrects_coverage else "not corrected"),
            self._selective_net(),
            f"SAT with momentum {self.target_momentum:g} after {_epochs(self.pretrain_epochs)}",
            *(
                []
                if self.gamblers_pretrain_epochs is None
                else [f"DeepGamblers after {_epochs(self.gamblers_pretrain_epochs)}"]
            ),
            f"gate: VGG16 on half-size images, {_epochs(self.gate_epochs)}" if self.gate_epochs else "gate: LightGBM",
        ]
        return "; ".join(parts)

    def short(self) -> str:
        """The budget in a few words, for the title of a panel."""
        size = f"{self.classifier} {self.width:g}" if self.classifier == "VGG16" else self.classifier
        rows = "all rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        return f"{size}, {_epochs(self.epochs)}, {self.n_folds} folds, {rows}"

    def _selective_net(self) -> str:
        if not self.warm_up_epochs:
            return "one SelNet per coverage"
        return (
            f"SelNet: {_epochs(self.warm_up_epochs)} shared by the coverages and trained for {WARM_UP_COVERAGE:.2f}, "
            f"then {self.further_epochs} for each at a rate of up to {self.further_lr:g}"
        )


def _epochs(number: int) -> str:
    return f"{number} epoch" if number == 1 else f"{number} epochs"


# The paper's batches, and the rate and momentum of its schedule; a tenth or less of its epochs.
_TABLE = Budget(
    "ResNet",
    width=192,
    n_folds=5,
    corrects_coverage=True,
    epochs=10,
    batch_size=32,
    warm_up_epochs=7,
    further_epochs=3,
    further_lr=0.03,
    target_momentum=0.9,
    pretrain_epochs=3,
    gamblers_pretrain_epochs=3,
)
_CIFAR = Budget(
    "VGG16",
    width=0.25,
    n_folds=3,
    epochs=10,
    batch_size=128,
    weight_decay=5e-4,
    augment="flip",
    half_size_epochs=3,
    warm_up_epochs=9,
    further_epochs=1,
    further_lr=0.03,
    target_momentum=0.9,
    pretrain_epochs=3,
    gate_epochs=3,
)
_CATS = replace(_CIFAR, epochs=8, half_size_epochs=4, warm_up_epochs=7)
# The appendix of the paper; the pretraining of Deep Gamblers, which is not in it, is a third of the epochs.
_FULL_TABLE = Budget(
    "ResNet",
    width=192,
    n_folds=5,
    corrects_coverage=True,
    epochs=300,
    batch_size=32,
    schedule="step",
    gamblers_pretrain_epochs=100,
)
_FULL_IMAGES = replace(_FULL_TABLE, classifier="VGG16", width=1.0, batch_size=128, augment="flip+crop", gate_epochs=300)
# Shows the shape of every result in minutes; its figures mean nothing.
_QUICK_TABLE = Budget(
    "ResNet",
    width=32,
    n_folds=2,
    epochs=2,
    batch_size=128,
    warm_up_epochs=1,
    further_epochs=1,
    target_momentum=0.9,
    pretrain_epochs=1,
    gamblers_pretrain_epochs=1,
    n_rows=3000,
)
_QUICK_IMAGES = replace(
    _QUICK_TABLE,
    classifier="VGG16",
    width=0.0625,
    augment="flip",
    half_size_epochs=1,
    gate_epochs=1,
    n_rows=1000,
    n_test_rows=1000,
)

BUDGETS: Mapping[Name, Mapping[str, Budget]] = {
    "budget": {**dict.fromkeys(TABLES, _TABLE), "CIFAR-10-cat": _CIFAR, "CatsVsDogs": _CATS},
    "full": {**dict.fromkeys(TABLES, _FULL_TABLE), **dict.fromkeys(IMAGES, _FULL_IMAGES)},
    "quick": {**dict.fromkeys(TABLES, _QUICK_TABLE), **dict.fromkeys(IMAGES, _QUICK_IMAGES)},
}
