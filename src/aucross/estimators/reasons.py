"""Why a case goes to a person: one sentence, and the columns in which it is unlike automatic cases.

::

    score, band ──► "score 0.312 lies in the review range 0.287 to 0.355; about 31 % ... belong to 'default'"
    columns     ──► "unlike automatic cases with lower scores: debt 38 (there 6 to 18)"

**How columns are found.** Automatic cases lie on two sides: with lower and with higher scores. Of each column it is
asked by how much the score would change if the case had there what the automatic cases of a side have. For LightGBM,
XGBoost, CatBoost (TreeSHAP) and a logistic regression, alone or after scalers, that is the difference of exact
contributions; for other models the column is replaced by five values of automatic cases, spread over their
distribution, and the rows are scored. The column named first is the one without which the case would be most like the
automatic cases of one side: where, over the other columns, the squared differences in units of their spread on that
side add up to the least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import floor, isinf, log10
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

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
# Steps before a logistic regression that turn each column into one column.
_BY_COLUMN = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PowerTransformer, QuantileTransformer)
# Cases whose columns are named, the first in the order of review: of more, it would take far longer than the scoring.
_MOST_TOLD = 1_000
# Columns that a sentence names, and how far beyond the spread of the automatic cases a second one must lie.
_MOST_NAMED, _TELLING = 2, 2.0
# Columns whose differences are kept beside the sentence.
_MOST_DRAWN = 5
# Of the mean difference, added to the spread, so that a column that hardly varies is not named for a trifle.
_FLOOR = 0.5


class Wording(NamedTuple):
    """What sentences need besides a case's numbers: names of classes, and the ends of each row's review range."""

    names: Names = None
    ends: tuple[FloatArray, FloatArray] | None = None

    def take(self, rows: IndexArray) -> Wording:
        """Return the wording of some rows."""
        return self if self.ends is None else self._replace(ends=(self.ends[0][rows], self.ends[1][rows]))


class Reason(str):
    """A sentence that knows the columns behind it, with the difference that each makes to the score."""

    columns: tuple[tuple[str, float], ...]

    def __new__(cls, text: str, columns: Sequence[tuple[str, float]] = ()) -> Self:
        """Return a sentence with its columns, or with those that it has."""
        made = super().__new__(cls, text)
        made.columns = tuple(columns) or columns_behind(text)
        return made

    def after(self, text: str) -> Reason:
        """Return the sentence behind another one."""
        return Reason("; ".join(filter(None, (text, self))), self.columns)


def columns_behind(text: str) -> tuple[tuple[str, float], ...]:
    """Return the columns behind a sentence, with the difference that each makes to the score; none of plain text."""
    return text.columns if isinstance(text, Reason) else ()


class Beside(NamedTuple):
    """Automatic cases on one side of the band: their positions in the batch, and what to call them."""

    rows: IndexArray
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
    told, middle = nothing[: len(cases)], float(np.median(score[cases]))
    if score_column_in(fitted.estimator) is None:
        sides = []
        for is_there, words in ((score < middle, "lower"), (score > middle, "higher")):
            rows = np.flatnonzero(selected & is_there)
            places = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_BESIDE)).astype(int)
            sides.append(_beside(X, rows, score[rows], places, f"automatic cases with {words} scores"))
        # Cases lie above the lower side and below the higher one: only what moves them there tells why.
        told = _told(_Contrasts(fitted, 0, X, score), X, cases, sides, np.array([[1.0], [-1.0]]))
    if toward is not None and (differ := np.abs(toward) >= AGREEMENT).any():
        rows = np.flatnonzero(selected)
        places = np.arange(min(len(rows), _MOST_BESIDE))
        like = _beside(X, rows, np.abs(score[rows] - middle), places, "automatic cases with like scores")
        by_gate = _told(_Contrasts(fitted, 1, X), X, cases, [like], np.sign(toward)[None])
        told = [gate if is_other else own for own, gate, is_other in zip(told, by_gate, differ, strict=True)]
    return [*told, *nothing[len(cases) :]]


def _beside(X: Table, rows: IndexArray, key: FloatArray, places: IndexArray, words: str) -> Beside | None:
    """Return the rows at some places in the order of a key, None for too few; the rows' values break ties."""
    if len(places) < _FEWEST_BESIDE:
        return None
    wanted = np.sort(key)[places]
    near = np.flatnonzero(np.isin(key, wanted))
    near = near[np.lexsort((hash_rows(take_rows(X, rows[near])), key[near]))]
    # The first of the rows with a key, as often as the key is wanted.
    first = np.searchsorted(key[near], wanted)
    again = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
    return Beside(rows[near[first + again]], words)


class _Contrasts:
    """By how much each column moves a model's score of cases away from that of automatic ones, all rows of one table.

    The scores by the model are computed unless they are known.
    """

    def __init__(self, fitted: Fitted, number: int, X: Table, known: FloatArray | None = None) -> None:
        self._model, self._method = fitted.models[number]
        self._classes, self._X, self._known = fitted.classes, X, known

    def against(self, cases: IndexArray, sides: Sequence[Beside | None]) -> tuple[FloatArray, FloatArray]:
        """Return differences and spreads of shape (n_sides, n_cases, n_columns); NaN where a side is missing."""
        n_columns = len(list(columns_of(take_rows(self._X, cases[:1]))))
        difference, spread = np.full((2, len(sides), len(cases), n_columns), np.nan)
        there = [number for number, side in enumerate(sides) if side is not None]
        beside = [side.rows for side in sides if side is not None]
        some = [rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_EXACT)).astype(int)] for rows in beside]
        parts = self._contributions(np.concatenate((cases, *some)))
        if parts is not None:
            own, *others = np.split(parts, np.cumsum([len(cases), *map(len, some)])[:-1])
            for number, other in zip(there, others, strict=True):
                difference[number], spread[number] = own - other.mean(axis=0), other.std(axis=0)
            return difference, spread
        used, most = np.arange(n_columns), max(_ROWS_TRIED // (len(sides) * len(cases) * _N_TRIED), 5)
        if n_columns > most:  # of a wide table those that move the scores of a few cases most
            few = cases[np.linspace(0, len(cases) - 1, min(len(cases), 10)).astype(int)]
            moved = sum(np.abs(self._tried(few, rows, used)).mean(axis=(0, 2)) for rows in beside)
            used = np.sort(np.argsort(-np.asarray(moved), kind="stable")[:most])
        for number, rows in zip(there, beside, strict=True):
            tried = self._tried(cases, rows, used)
            difference[number], spread[number] = 0.0, 0.0
            difference[number][:, used], spread[number][:, used] = tried.mean(axis=2), tried.std(axis=2)
        return difference, spread

    def _score(self, X: Table) -> FloatArray:
        return self._unbounded(class_scores(self._model, X, self._method, self._classes))

    def _unbounded(self, score: FloatArray) -> FloatArray:
        return np.asarray(logit(np.clip(score, 1e-9, 1 - 1e-9)) if self._method == "predict_proba" else score)

    def _score_of(self, rows: IndexArray) -> FloatArray:
        return self._score(take_rows(self._X, rows)) if self._known is None else self._unbounded(self._known[rows])

    def _tried(self, cases: IndexArray, beside: IndexArray, columns: IndexArray) -> FloatArray:
        """Return the loss of score from giving a column another row's value: (n_cases, n_columns, n_tried)."""
        own, tried = self._score_of(cases), np.empty((len(cases), len(columns), _N_TRIED))
        again = take_rows(self._X, np.repeat(cases, _N_TRIED))
        by_place = list(columns_of(take_rows(self._X, beside)))
        for number, place in enumerate(columns):
            values = values_of(by_place[place])
            order = sorted(range(len(values)), key=lambda row, values=values: _key(values[row]))  # type: ignore[misc]
            spread_out = [order[int((part + 0.5) / _N_TRIED * len(order))] for part in range(_N_TRIED)]
            other = take_rows(self._X, np.tile(beside[spread_out], len(cases)))
            changed = self._score(with_column_of(again, other, int(place)))
            tried[:, number] = own[:, None] - changed.reshape(len(cases), _N_TRIED)
        return tried

    def _contributions(self, rows: IndexArray) -> FloatArray | None:
        """Return the contribution of each column to the score of rows; None for models that cannot tell."""
        find = _EXACT.get(type(self._model).__name__)
        if find is None or self._method != "predict_proba":
            return None
        if library_of(self._X) == "polars" and find not in (_of_logistic, _of_pipeline):  # boosters do not read it here
            return None
        found = np.asarray(find(self._model, take_rows(self._X, rows)), dtype=np.float64)
        # What does not add up to the score is not its explanation: a custom objective, another wrapper.
        sign = 1.0 if self._model.classes_[1] == self._classes[1] else -1.0
        total = np.clip(sign * found.sum(axis=-1), *self._unbounded(np.array([0.0, 1.0])))
        if found.ndim != 2 or not np.allclose(total, self._score_of(rows), atol=1e-3, rtol=1e-3):
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


def _of_pipeline(model: Any, X: Table) -> Any:
    *steps, last = [step for _, step in model.steps if not (step is None or isinstance(step, str))]  # "passthrough"
    if not isinstance(last, LogisticRegression) or not all(isinstance(step, _BY_COLUMN) for step in steps):
        return None
    for step in steps:
        X = step.transform(X)
    return _of_logistic(last, X)


_EXACT: dict[str, Callable[[Any, Table], Any]] = {
    "LogisticRegression": _of_logistic,
    "LGBMClassifier": _of_lightgbm,
    "XGBClassifier": _of_xgboost,
    "CatBoostClassifier": _of_catboost,
    "Pipeline": _of_pipeline,
}


def _key(value: Any) -> tuple[int, Any]:
    """Sort numbers by value, everything else by text, and missing values last."""
    if is_missing(value):
        return 2, 0
    return (0, float(value)) if _is_number(value) else (1, str(value))


def _told(
    contrasts: _Contrasts, X: Table, cases: IndexArray, sides: Sequence[Beside | None], sign: FloatArray
) -> list[str]:
    """Return the columns that set each case apart, first the one that, left out, makes it most like automatic cases.

    `sign` says, for each side, which differences count: 1 those that raise the score, -1 those that lower it.
    """
    texts = [""] * len(cases)
    if all(side is None for side in sides):
        return texts
    difference, spread = contrasts.against(cases, sides)
    least = max(_FLOOR * float(np.nanmean(np.abs(difference))), 1e-12)
    unlike = difference**2 / (spread**2 + least**2)
    rest = np.where(sign[:, :, None] * difference > 0, unlike.sum(axis=2, keepdims=True) - unlike, np.inf)
    of_cases = take_rows(X, cases)
    own = list(columns_of(of_cases))
    usual: list[list[_Usual]] = []
    # A value that the automatic cases have, too, tells a person nothing, whatever the model makes of it.
    for number, side in enumerate(sides):
        usual.append([] if side is None else [_Usual.of(column) for column in columns_of(take_rows(X, side.rows))])
        is_usual = np.array([on.holds(column) for on, column in zip(usual[-1], own, strict=False)]).T
        rest[number][np.isnan(rest[number]) | (is_usual if usual[-1] else True)] = np.inf
    names = names_of(of_cases) or [f"column {place}" for place in range(len(own))]
    values = [values_of(column) for column in own]
    for case in range(len(cases)):
        number = int(rest[:, case].min(axis=1).argmin())
        beside, left, far = sides[number], rest[number, case], unlike[number, case]
        if beside is None or not np.isfinite(left).any():
            continue
        order = np.argsort(-far, kind="stable")
        further = [int(at) for at in order if np.isfinite(left[at]) and far[at] >= _TELLING**2]
        places = list(dict.fromkeys([int(left.argmin()), *further]))[:_MOST_NAMED]
        told = [f"{names[at]} {_shown(values[at][case])} (there {usual[number][at]})" for at in places]
        moved = difference[number, case]
        most = [at for at in np.argsort(-np.abs(moved), kind="stable")[:_MOST_DRAWN].tolist() if moved[at]]
        drawn = list(dict.fromkeys([*places, *most]))[:_MOST_DRAWN]
        parts = [(str(names[at]), float(moved[at])) for at in drawn]
        texts[case] = Reason(f"unlike {beside.words}: {', '.join(told)}", parts)
    return texts


class _Usual(NamedTuple):
    """Usual values of a column among automatic cases: the middle half of numbers, or the most frequent value."""

    low: Any = None
    high: Any = None

    @classmethod
    def of(cls, column: Any) -> _Usual:
        """Return what is usual in a column; nothing if most values are missing."""
        numbers = np.asarray(column)
        is_numeric = numbers.dtype.kind in "iuf"
        known = numbers[~np.isnan(numbers)] if is_numeric else [v for v in values_of(column) if not is_missing(v)]
        if len(known) * 2 < len(numbers):
            return cls()
        if is_numeric or all(map(_is_number, known)):
            return cls(*np.quantile(np.array(known, dtype=float), (0.25, 0.75)).tolist())
        counts = Counter(map(str, known))
        most = max(sorted(counts), key=counts.__getitem__)
        return cls(most, most)

    def holds(self, column: Any) -> NDArray[np.bool_]:
        """Return which values of a column are among these."""
        numbers = np.asarray(column)
        if numbers.dtype.kind in "iuf" and _is_number(self.low):
            return np.asarray((numbers >= self.low) & (numbers <= self.high))
        return np.array([self._holds(value) for value in values_of(column)], dtype=bool)

    def _holds(self, value: Any) -> bool:
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
    """Return the reasons for rows with more than two classes: the two most probable ones."""
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
