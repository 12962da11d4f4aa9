"""Why a case goes to a person: one sentence, and the columns in which it is unlike automatic cases.

::

    score, band ──► "score 0.312 lies in the review range 0.287 to 0.355; about 31 % ... belong to 'default'"
    columns     ──► "unlike automatic cases with lower scores: debt 38 (there 6 to 18)"

**How columns are found.** Automatic cases lie on two sides: with lower and with higher scores. Of each column it is
asked by how much the score would change if the case had there what the automatic cases of a side have. For LightGBM,
XGBoost, CatBoost (TreeSHAP) and a logistic regression that is the difference of exact contributions; for other models
the column is replaced by five values of automatic cases, spread over their distribution, and the rows are scored. The
column named first is the one without which the case would be most like the automatic cases of one side: where, over the
other columns, the squared differences in units of their spread on that side add up to the least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import floor, isinf, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from aucross.core.missing import is_missing
from aucross.core.ranking import FloatArray, IndexArray
from aucross.estimators.fitted import Fitted
from aucross.estimators.models import class_scores
from aucross.estimators.row_hash import hash_rows
from aucross.estimators.score_column import score_column_in
from aucross.estimators.types import Table
from aucross.frames import columns_of, is_frame, library_of, names_of, take_rows, values_of, with_column_of

Names = Mapping[Any, str] | None

# Two probabilities nearer than this say the same to a person.
AGREEMENT = 0.05

# Automatic cases of a side that are looked at, and the fewest, since of fewer single people would be told.
_MOST_BESIDE, _FEWEST_BESIDE = 300, 10
# Those of them whose exact contributions are computed, which takes as long as scoring a hundred rows each.
_MOST_EXACT = 50
# Values of a column that are tried in place of that of a case, and rows that are scored for all cases at most.
_N_TRIED, _ROWS_TRIED = 5, 100_000
# Cases whose columns are named, the first in the order of review: of more, it would take far longer than the scoring.
_MOST_TOLD = 1_000
# Columns that a sentence names, and how far beyond the spread of the automatic cases a second one must lie.
_MOST_NAMED, _TELLING = 2, 2.0
# Of the mean difference, added to the spread, so that a column that hardly varies is not named for a trifle.
_FLOOR = 0.5


class Wording(NamedTuple):
    """What sentences need besides a case's numbers: names of classes, and the ends of each row's review range."""

    names: Names = None
    ends: tuple[FloatArray, FloatArray] | None = None

    def take(self, rows: IndexArray) -> Wording:
        """Return the wording of some rows."""
        return self if self.ends is None else self._replace(ends=(self.ends[0][rows], self.ends[1][rows]))


class Beside(NamedTuple):
    """Automatic cases on one side of the band: their rows, and what to call them."""

    X: Table
    words: str


def column_reasons(
    fitted: Fitted,
    X: Table,
    score: FloatArray,
    cases: IndexArray,
    selected: NDArray[np.bool_],
    *,
    toward: FloatArray | None = None,
) -> list[str]:
    """Return the columns that set cases apart from automatic ones, as the end of a sentence; empty if there are none.

    `cases` are positions in the batch, in the order of review; of many, only the first thousand are told. `toward` is
    the gate's probability minus that of the score: if they differ, the columns are those that set a case apart from
    automatic cases with similar scores.
    """
    nothing = [""] * len(cases)
    is_table = is_frame(X) or (isinstance(X, np.ndarray) and X.ndim == 2)
    if not is_table or not len(cases) or score.ndim > 1:
        return nothing
    cases, toward = cases[:_MOST_TOLD], None if toward is None else toward[:_MOST_TOLD]
    rows, middle = take_rows(X, cases), float(np.median(score[cases]))
    told = nothing[: len(cases)]
    if score_column_in(fitted.estimator) is None:
        sides = sides_of(X, score, selected, middle)
        reader = _Contrasts(fitted.estimator, fitted.response_method, fitted.classes)
        # Cases lie above the lower side and below the higher one: only what moves them there tells why.
        told = _told(rows, sides, np.array([[1.0], [-1.0]]), *reader.against(rows, sides, score[cases]))
    if toward is not None and (differ := np.abs(toward) >= AGREEMENT).any():
        automatic = np.flatnonzero(selected)
        places = np.arange(min(len(automatic), _MOST_BESIDE))
        away = np.abs(score[automatic] - middle)
        like = (_beside(X, automatic, away, places, "automatic cases with like scores"),)
        reader = _Contrasts(*fitted.models[1], fitted.classes)
        by_gate = _told(rows, like, np.sign(toward)[None], *reader.against(rows, like))
        told = [gate if is_other else own for own, gate, is_other in zip(told, by_gate, differ, strict=True)]
    return [*told, *nothing[len(cases) :]]


def sides_of(X: Table, score: FloatArray, selected: NDArray[np.bool_], middle: float) -> tuple[Beside | None, ...]:
    """Return automatic rows with scores below and above a score, spread evenly over them; None for too few."""
    found: list[Beside | None] = []
    for is_there, words in ((score < middle, "lower"), (score > middle, "higher")):
        rows = np.flatnonzero(selected & is_there)
        places = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_BESIDE)).astype(int)
        found.append(_beside(X, rows, score[rows], places, f"automatic cases with {words} scores"))
    return tuple(found)


def _beside(X: Table, rows: IndexArray, key: FloatArray, places: IndexArray, words: str) -> Beside | None:
    """Return the rows at some positions in the order of a key; the rows' values break ties."""
    if len(places) < _FEWEST_BESIDE:
        return None
    wanted = np.sort(key)[places]
    near = np.flatnonzero(np.isin(key, wanted))
    near = near[np.lexsort((hash_rows(take_rows(X, rows[near])), key[near]))]
    # The first of the rows with a key, as often as the key is wanted.
    first = np.searchsorted(key[near], wanted)
    again = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    return Beside(take_rows(X, rows[near[first + again]]), words)


class _Contrasts:
    """By how much each column moves the score of cases away from that of automatic ones."""

    def __init__(self, model: Any, method: str, classes: NDArray[Any]) -> None:
        self._model, self._method, self._classes = model, method, classes

    def against(
        self, cases: Table, sides: Sequence[Beside | None], scores: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return differences and spreads of shape (n_sides, n_cases, n_columns); NaN where a side is missing."""
        score = self._score(cases) if scores is None else self._unbounded(scores)
        own = self._contributions(cases, score)
        n_columns = len(list(columns_of(cases)))
        shape = (len(sides), len(values_of(next(columns_of(cases)))), n_columns)
        difference, spread = np.full(shape, np.nan), np.full(shape, np.nan)
        used = self._columns_to_try(cases, score, sides, shape) if own is None else np.arange(n_columns)
        for number, side in enumerate(sides):
            if side is None:
                continue
            if own is not None:
                n_beside = len(values_of(next(columns_of(side.X))))
                some = np.linspace(0, n_beside - 1, min(n_beside, _MOST_EXACT)).astype(int)
                there = self._contributions(take_rows(side.X, some))
                assert there is not None
                difference[number], spread[number] = own - there.mean(axis=0), there.std(axis=0)
            else:
                difference[number], spread[number] = 0.0, 0.0
                tried = self._tried(cases, score, side.X, used)
                difference[number][:, used], spread[number][:, used] = tried.mean(axis=2), tried.std(axis=2)
        return difference, spread

    def _score(self, X: Table) -> FloatArray:
        return self._unbounded(class_scores(self._model, X, self._method, self._classes))

    def _unbounded(self, score: FloatArray) -> FloatArray:
        return np.asarray(logit(np.clip(score, 1e-9, 1 - 1e-9)) if self._method == "predict_proba" else score)

    def _columns_to_try(
        self, cases: Table, score: FloatArray, sides: Sequence[Beside | None], shape: tuple[int, ...]
    ) -> IndexArray:
        """Return all columns, or for a wide table those that move the scores of a few cases most."""
        n_sides, n_cases, n_columns = shape
        most = max(_ROWS_TRIED // (n_sides * n_cases * _N_TRIED), 5)
        if n_columns <= most:
            return np.arange(n_columns)
        some, every = np.linspace(0, n_cases - 1, min(n_cases, 10)).astype(int), np.arange(n_columns)
        few = take_rows(cases, some), score[some]
        moved = sum(np.abs(self._tried(*few, side.X, every)).mean(axis=(0, 2)) for side in sides if side is not None)
        return np.sort(np.argsort(-np.asarray(moved), kind="stable")[:most])

    def _tried(self, cases: Table, own: FloatArray, there: Table, columns: IndexArray) -> FloatArray:
        """Return the loss of score from giving a column another row's value: (n_cases, n_columns, n_tried)."""
        n_cases, tried = len(own), np.empty((len(own), len(columns), _N_TRIED))
        again = take_rows(cases, np.repeat(np.arange(n_cases), _N_TRIED))
        by_place = list(columns_of(there))
        for number, place in enumerate(columns):
            values = values_of(by_place[place])
            order = sorted(range(len(values)), key=lambda row, values=values: _key(values[row]))  # type: ignore[misc]
            spread_out = [order[int((part + 0.5) / _N_TRIED * len(order))] for part in range(_N_TRIED)]
            other = take_rows(there, np.tile(spread_out, n_cases))
            changed = self._score(with_column_of(again, other, int(place)))
            tried[:, number] = own[:, None] - changed.reshape(n_cases, _N_TRIED)
        return tried

    def _contributions(self, X: Table, score: FloatArray | None = None) -> FloatArray | None:
        """Return the exact contribution of each column to the score; None for models that cannot tell."""
        find = _EXACT.get(type(self._model).__name__)
        if find is None or self._method != "predict_proba" or library_of(X) == "polars":
            return None
        found = np.asarray(find(self._model, X), dtype=np.float64)
        # What does not add up to the score is not its explanation: a custom objective, another wrapper.
        sign = 1.0 if self._model.classes_[1] == self._classes[1] else -1.0
        score = self._score(X) if score is None else score
        if found.ndim != 2 or not np.allclose(sign * found.sum(axis=1), score, atol=1e-3, rtol=1e-3):
            return None
        return sign * found[:, :-1]


def _of_lightgbm(model: Any, X: Table) -> Any:
    return model.booster_.predict(X, pred_contrib=True)


def _of_xgboost(model: Any, X: Table) -> Any:
    matrix = import_module("xgboost").DMatrix(X, enable_categorical=True)
    return model.get_booster().predict(matrix, pred_contribs=True)


def _of_catboost(model: Any, X: Table) -> Any:
    pool = import_module("catboost").Pool(X, cat_features=model.get_cat_feature_indices())
    return model.get_feature_importance(pool, type="ShapValues")


def _of_logistic(model: Any, X: Table) -> Any:
    parts = np.asarray(X, dtype=np.float64) * model.coef_[0]
    return np.column_stack((parts, np.full(len(parts), model.intercept_[0])))


_EXACT: dict[str, Callable[[Any, Table], Any]] = {
    "LogisticRegression": _of_logistic,
    "LGBMClassifier": _of_lightgbm,
    "XGBClassifier": _of_xgboost,
    "CatBoostClassifier": _of_catboost,
}


def _key(value: Any) -> tuple[int, Any]:
    """Sort numbers by value, everything else by text, and missing values last."""
    if is_missing(value):
        return 2, 0
    return (0, float(value)) if _is_number(value) else (1, str(value))


def _told(
    cases: Table, sides: Sequence[Beside | None], sign: FloatArray, difference: FloatArray, spread: FloatArray
) -> list[str]:
    """Return the columns that set each case apart, first the one that, left out, makes it most like automatic cases.

    `sign` says, for each side, which differences count: 1 those that raise the score, -1 those that lower it.
    """
    if all(side is None for side in sides):
        return [""] * difference.shape[1]
    least = max(_FLOOR * float(np.nanmean(np.abs(difference))), 1e-12)
    unlike = difference**2 / (spread**2 + least**2)
    rest = np.where(sign[:, :, None] * difference > 0, unlike.sum(axis=2, keepdims=True) - unlike, np.inf)
    own = [values_of(column) for column in columns_of(cases)]
    usual = [
        None if side is None else [_Usual.of(values_of(column)) for column in columns_of(side.X)] for side in sides
    ]
    # A value that the automatic cases have, too, tells a person nothing, whatever the model makes of it.
    for number, columns in enumerate(usual):
        is_usual = (
            columns is None or np.array([[on.holds(v) for v in of] for on, of in zip(columns, own, strict=True)]).T
        )
        rest[number][np.isnan(rest[number]) | is_usual] = np.inf
    names = names_of(cases) or [f"column {place}" for place in range(len(own))]
    texts = []
    for case in range(len(rest[0])):
        side = int(rest[:, case].min(axis=1).argmin())
        order = np.argsort(-unlike[side, case], kind="stable")
        further = [at for at in order if np.isfinite(rest[side, case, at]) and unlike[side, case, at] >= _TELLING**2]
        places = dict.fromkeys([int(rest[side, case].argmin()), *further])
        beside, columns = sides[side], usual[side]
        if beside is None or columns is None or not np.isfinite(rest[side, case]).any():
            texts.append("")
            continue
        told = [f"{names[at]} {_shown(own[at][case])} (there {columns[at]})" for at in list(places)[:_MOST_NAMED]]
        texts.append(f"unlike {beside.words}: {', '.join(told)}")
    return texts


class _Usual(NamedTuple):
    """Usual values of a column among automatic cases: the middle half of numbers, or the most frequent value."""

    low: Any = None
    high: Any = None

    @classmethod
    def of(cls, values: list[Any]) -> _Usual:
        """Return what is usual among these values; nothing if most are missing."""
        known = [value for value in values if not is_missing(value)]
        if len(known) * 2 < len(values):
            return cls()
        if all(_is_number(value) for value in known):
            return cls(*np.quantile(np.array(known, dtype=float), (0.25, 0.75)).tolist())
        counts = Counter(map(str, known))
        most = max(sorted(counts), key=counts.__getitem__)
        return cls(most, most)

    def holds(self, value: Any) -> bool:
        """Return whether a value is one of these."""
        if is_missing(value) or self.low is None:
            return is_missing(value) and self.low is None
        return bool(self.low <= value <= self.high) if _is_number(self.low) else str(value) == self.low

    def __str__(self) -> str:
        if self.low is None:
            return "mostly missing"
        low, high = _shown(self.low), _shown(self.high)
        return f"{low} to {high}" if low != high else low if _is_number(self.low) else f"mostly {low}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _shown(value: Any) -> str:
    """Format a number with three digits, anything else as text in quotes."""
    if is_missing(value):
        return "missing"
    return f"{float(f'{value:.3g}'):,.12g}" if _is_number(value) else repr(str(value))


# ---- sentences ----


def score_reasons(
    score: FloatArray,
    probability: FloatArray,
    positive: Any,
    ends: tuple[FloatArray, FloatArray] | None = None,
    names: Names = None,
) -> list[str]:
    """Return the reasons for rows of one band, rejected for their score.

    `probability` is the share of positives at such scores. `ends` are the ends of each row's review range, by default
    the lowest and the highest score. `names` are the names of the classes for people.
    """
    if not len(score):
        return []
    is_whole = bool((score == np.round(score)).all()) and float(np.abs(score).max()) > 1  # points, not probabilities
    lower, upper = (np.full(len(score), score.min()), np.full(len(score), score.max())) if ends is None else ends
    finite = np.concatenate((score, lower[np.isfinite(lower)], upper[np.isfinite(upper)]))
    digits = 0 if is_whole else _digits(float(np.ptp(finite)))
    of_class = f"of cases with such a score belong to {label_text(positive, names)}"
    return [
        f"score {value:.{digits}f} {_place(low, high, digits)}; {about(share)} {of_class}"
        for value, share, low, high in zip(*(part.tolist() for part in (score, probability, lower, upper)), strict=True)
    ]


def _place(lower: float, upper: float, digits: int) -> str:
    low, high = f"{lower:.{digits}f}", f"{upper:.{digits}f}"
    if isinf(lower) or isinf(upper):
        if isinf(lower) and isinf(upper):
            return "goes to review, as every score does now"
        return f"lies in the review range up to {high}" if isinf(lower) else f"lies in the review range from {low} on"
    return f"lies in the review range {low} to {high}" if low != high else "is shared by all cases for review"


def gate_reasons(
    probability: FloatArray, gate_probability: FloatArray, positive: Any, names: Names = None
) -> list[str]:
    """Return the reasons for rows rejected by a gate; `gate_probability` is by score and gate together."""
    label = label_text(positive, names)
    return [
        f"the score says {percent(by_score)} for {label}, "
        + (
            f"score and gate together say {percent(by_gate)}"
            if abs(by_gate - by_score) >= AGREEMENT
            else "and so does the gate; cases with such a score are often ranked wrongly"
        )
        for by_score, by_gate in zip(probability.tolist(), gate_probability.tolist(), strict=True)
    ]


def confidence_reasons(
    confidence: FloatArray, predicted: Sequence[Any], *, is_probability: bool, names: Names = None
) -> list[str]:
    """Return the reasons for rows rejected for low confidence: a probability, or the margin of the decision."""
    labels = [label_text(label, names) for label in predicted]
    if is_probability:
        return [
            f"the model is {'only ' if value < 0.75 else ''}{percent(value)} sure of {label}"
            for value, label in zip(confidence.tolist(), labels, strict=True)
        ]
    return [
        f"the model decides for {label} by a margin of {value:.3g}"
        for value, label in zip(confidence.tolist(), labels, strict=True)
    ]


def class_reasons(probabilities: FloatArray, classes: Sequence[Any], names: Names = None) -> list[str]:
    """Return the reasons for rows with more than two classes: the two most probable ones.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Probability of each class.
    classes : sequence of length n_classes
        Labels of the classes.
    names : mapping of label to str, optional
        Names of the classes for people.
    """
    labels = [label_text(label, names) for label in classes]
    first, second = np.argsort(-probabilities, axis=1, kind="stable")[:, :2].T
    shares = np.take_along_axis(probabilities, np.column_stack((first, second)), axis=1)
    return [
        f"between {labels[one]} ({percent(share)}) and {labels[other]} ({percent(other_share)})"
        for one, other, (share, other_share) in zip(first, second, shares.tolist(), strict=True)
    ]


def label_text(label: Any, names: Names = None) -> str:
    """Format a label for a sentence: text and names in quotes, numbers with the word class."""
    label = label.item() if isinstance(label, np.generic) else label
    label = (names or {}).get(label, label)
    return repr(label) if isinstance(label, str) else f"class {label}"


def about(share: float) -> str:
    """Format an estimated share with "about", unless it is given as a limit."""
    text = percent(share)
    return text if text.startswith(("under", "over")) else f"about {text}"


def percent(share: float) -> str:
    """Format a share in whole per cent, tenths below one, never as 0 % or 100 % by rounding."""
    if share < 0.0005:
        return "under 0.1 %"
    if share < 0.01:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %" if share < 0.995 else "over 99 %"


def _digits(span: float) -> int:
    """Return the decimals that tell the scores of a range apart, to a tenth of the range."""
    at_least = 3 if span < 1 else 0  # as probabilities are usually written
    return min(max(1 - floor(log10(span)), at_least), 12) if span > 0 else at_least
