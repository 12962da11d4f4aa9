"""MAPIE: thresholds that statistically control a risk, with abstention between two of them, and prediction sets.

`BinaryClassificationController` takes a function of the rows and of any number of parameters that returns 0, 1 or NaN,
and a list of parameters to try. Here the parameters are two ends of a band of scores::

    answer 0        NaN        answer 1
    ─────────┤■■■■■■■■■■■■■├─────────────►  p
           lower         upper             both ends abstain

The controller tests for each pair whether a risk is below a target level, keeps the pairs for which it is, with a
probability of error of 1 - `confidence_level` over all pairs together, and takes the best of these for a second risk.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.peers.probabilities import (
    FloatArray,
    check_coverage,
    frozen_probabilities,
    probabilities,
    zero_or_one,
)

LIBRARY = "MAPIE"
CONFIDENCE_LEVEL = 0.9


@dataclass(frozen=True)
class MatchedRisk:
    """Among the pairs that keep the coverage on the held rows, those for which MAPIE guarantees the best risk.

    MAPIE is not asked for the coverage: the pairs given to it all have it. The target level is the highest, in steps of
    one per cent, that some pair can be guaranteed to reach; of several, MAPIE takes the best by its own second
    objective (accuracy for accuracy, recall for precision). Abstaining counts as a wrong answer in MAPIE's accuracy,
    which at equal coverage changes nothing about which pair is best.

    Parameters
    ----------
    risk : {"accuracy", "precision"}
        The performance that MAPIE controls.
    n_pairs : int, default=60
        At most so many pairs are tested. More pairs cost certainty.
    """

    risk: Literal["accuracy", "precision"]
    n_pairs: int = 60
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"MAPIE {self.risk}"

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`. All of them if no pair can be guaranteed."""
        held, labels = probabilities(model, X_held)[:, 1], zero_or_one(model, y_held)
        pairs = pairs_at_coverage(held, check_coverage(coverage), self.n_pairs)
        if self.risk == "precision":
            pairs = _with_both_answers(held, pairs)
        return _outside(probabilities(model, X_test)[:, 1], self._best_pair(held, labels, pairs))

    def _best_pair(self, held: FloatArray, labels: NDArray[np.int64], pairs: FloatArray) -> tuple[float, ...] | None:
        """Bisect the target level: what can be guaranteed at one level can be at every lower one."""
        best, reached, missed = None, 0, 100
        while missed - reached > 1:
            level = (reached + missed) // 2
            pair = _calibrated(held, labels, pairs, risk=self.risk, target_level=level / 100)
            if pair is None:
                missed = level
            else:
                best, reached = pair, level
        return best


@dataclass(frozen=True)
class GuaranteedCoverage:
    """MAPIE's own way to ask for a coverage: the abstention rate is the risk to control, at 1 - coverage.

    With a probability of 90 % the share of rows answered is then at least the coverage, so it is mostly above. Of the
    pairs for which this holds the one with the highest accuracy on answered rows is taken: a risk written for the
    purpose, since in MAPIE's own accuracy abstaining is an error and abstaining on nothing always wins. The pairs to
    try reject from 0.4 times to all of the share allowed.
    """

    n_widths: int = 7
    n_places: int = 20
    name: ClassVar[str] = "MAPIE guaranteed coverage"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`. All of them if nothing can be guaranteed."""
        test = probabilities(model, X_test)[:, 1]
        if check_coverage(coverage) == 1:
            return np.ones(len(test), dtype=bool)
        held, labels = probabilities(model, X_held)[:, 1], zero_or_one(model, y_held)
        shares = (1 - coverage) * np.linspace(0.4, 1, self.n_widths)
        pair = _calibrated(
            held,
            labels,
            np.concatenate([pairs_at_coverage(held, 1 - share, self.n_places) for share in shares]),
            risk="abstention_rate",
            target_level=1 - coverage,
            best_predict_param_choice=accuracy_of_answered(),
        )
        return _outside(test, pair)


@dataclass(frozen=True)
class GuaranteedPrecisions:
    """MAPIE as it is meant to be used: two target levels, and the fewest abstentions that guarantee both.

    Heeds no coverage. The levels concern the precision of the answers 1 and of the answers 0 (positive and negative
    predictive value). They should come from the business; here they are set to what the model has on the held rows
    without abstaining, with `errors_left` times the errors. Taking them from the rows that are then used to test
    weakens the guarantee a little.
    """

    errors_left: float = 0.9
    n_ends: int = 12
    name: ClassVar[str] = "MAPIE guaranteed precisions"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = False

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`. None of them if nothing can be guaranteed."""
        check_coverage(coverage)
        held, labels = probabilities(model, X_held)[:, 1], zero_or_one(model, y_held)
        pair = _calibrated(
            held,
            labels,
            _with_both_answers(held, pairs_around_one_half(held, self.n_ends)),
            risk=["positive_predictive_value", "negative_predictive_value"],
            target_level=self.target_levels(held, labels),
            best_predict_param_choice="abstention_rate",
        )
        test = probabilities(model, X_test)[:, 1]
        return np.zeros(len(test), dtype=bool) if pair is None else _outside(test, pair)

    def target_levels(self, held: FloatArray, labels: NDArray[np.int64]) -> list[float]:
        """The precision of the answers 1 and of the answers 0 to reach."""
        right, answers = (held > 0.5) == (labels == 1), held > 0.5
        errors = [1 - np.mean(right[rows]) if rows.any() else 0.5 for rows in (answers, ~answers)]
        # A target of exactly 1 cannot be tested.
        return [float(min(1 - self.errors_left * error, 0.999)) for error in errors]


@dataclass(frozen=True)
class PredictionSets:
    """`SplitConformalClassifier`: answer where the prediction set holds exactly one class.

    The library is asked for the probability with which the set holds the true class, not for a coverage in our sense.
    The level is scanned on the held rows for the share of sets with one class that is nearest to the coverage. With two
    classes and MAPIE's default score the sets of two classes, or of none, are those of the least confident rows, so
    this is another way to threshold the probability of the predicted class.
    """

    n_levels: int = 400
    name: ClassVar[str] = "MAPIE prediction sets"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        held, labels = probabilities(model, X_held), zero_or_one(model, y_held)
        # Beyond 1 - 1/(n + 1) the sets hold every class.
        levels = np.linspace(0.5, 1 - 2 / (len(held) + 1), self.n_levels)
        shares = self._one_class(held, labels, levels, held).mean(axis=0)
        distance = np.abs(shares - check_coverage(coverage))
        level = levels[np.flatnonzero(distance == distance.min())[-1]]
        return self._one_class(held, labels, np.array([level]), probabilities(model, X_test))[:, 0]

    @staticmethod
    def _one_class(held: FloatArray, labels: NDArray[np.int64], levels: FloatArray, rows: FloatArray) -> Any:
        from mapie.classification import SplitConformalClassifier  # noqa: PLC0415 - an extra

        sets = SplitConformalClassifier(frozen_probabilities(), confidence_level=levels.tolist(), prefit=True)
        _, members = sets.conformalize(held, labels).predict_set(rows)
        return members.sum(axis=1) == 1


def answer_or_abstain(scores: FloatArray, lower: float, upper: float) -> FloatArray:
    """0 below the band, 1 above it, NaN in it: the predict function that MAPIE tunes."""
    return np.where(scores < lower, 0.0, np.where(scores > upper, 1.0, np.nan))


def pairs_at_coverage(held: FloatArray, coverage: float, n_pairs: int, tolerance: float = 0.01) -> FloatArray:
    """Bands that leave the coverage on the held rows, equally far apart in rank; empty if no row is to be rejected.

    Equal scores can make a coverage impossible at a place. Bands off by more than `tolerance` are left out, unless
    there are no others, when the nearest is kept.
    """
    ascending = np.sort(held)
    n_rejected = round((1 - coverage) * len(held))
    if n_rejected == 0:
        return np.empty((0, 2))
    starts = np.linspace(0, len(held) - n_rejected, n_pairs).round().astype(int)
    pairs = np.unique(np.column_stack((ascending[starts], ascending[starts + n_rejected - 1])), axis=0)
    off = np.array([abs(np.isnan(answer_or_abstain(held, *pair)).mean() - (1 - coverage)) for pair in pairs])
    return pairs[off <= max(tolerance, off.min())]


def pairs_around_one_half(held: FloatArray, n_ends: int) -> FloatArray:
    """Bands that hold 0.5, each end at `n_ends` places equally far apart in rank on its side of it."""
    places = np.linspace(0, 1, n_ends)
    sides = (held[held <= 0.5], held[held > 0.5])
    if min(len(side) for side in sides) == 0:
        return np.empty((0, 2))
    lower, upper = (np.unique(np.quantile(side, places, method="lower")) for side in sides)
    return np.array([(low, up) for low in lower for up in upper])


def _with_both_answers(held: FloatArray, pairs: FloatArray) -> FloatArray:
    """Pairs that answer 0 for some held row and 1 for another.

    The precision of an answer that is never given has no value; MAPIE 1.6 gives its test a p-value of NaN, at which its
    default procedure (Bonferroni-Holm) stops before it has accepted any pair.
    """
    return pairs[(pairs[:, 0] > held.min()) & (pairs[:, 1] < held.max())]


def accuracy_of_answered() -> Any:
    """Share of right answers among answers, as a risk of MAPIE."""
    from mapie.risk_control import BinaryRisk  # noqa: PLC0415 - an extra

    return BinaryRisk(
        risk_occurrence=lambda y_true, y_pred: y_pred == y_true,
        risk_condition=lambda y_true, y_pred: ~np.isnan(y_pred),  # noqa: ARG005 - MAPIE's signature
        higher_is_better=True,
    )


def _calibrated(
    held: FloatArray, labels: NDArray[np.int64], pairs: FloatArray, **settings: Any
) -> tuple[float, ...] | None:
    """The best pair of a controller calibrated on the held rows, None if it can guarantee none."""
    from mapie.risk_control import BinaryClassificationController  # noqa: PLC0415 - an extra

    if len(pairs) == 0:
        return None
    controller = BinaryClassificationController(
        answer_or_abstain, list_predict_params=pairs, confidence_level=CONFIDENCE_LEVEL, **settings
    )
    with warnings.catch_warnings():
        # MAPIE warns when no pair can be guaranteed, which is an answer here.
        warnings.simplefilter("ignore", UserWarning)
        controller.calibrate(held, labels)
    return controller.best_predict_param


def _outside(scores: FloatArray, pair: tuple[float, ...] | None) -> NDArray[np.bool_]:
    """Rows that get an answer with this pair; all without one."""
    if pair is None:
        return np.ones(len(scores), dtype=bool)
    return ~np.isnan(answer_or_abstain(scores, *pair))
