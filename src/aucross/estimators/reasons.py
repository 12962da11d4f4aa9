"""Explain why a case goes to a person: one sentence, and the columns in which it is unlike automatic cases.

::

    score, band ──► "score 0.312 lies in the review range 0.287 to 0.355; about 31 % ... belong to 'default'"
    columns     ──► "unlike automatic cases with lower scores: debt 38 (there 6 to 18)"

**How columns are found.** Automatic cases lie on two sides: with lower and with higher scores. For each column and
side, the code computes how much the score would change if the case had the values of the automatic cases. This is a
difference of exact contributions for LightGBM, XGBoost and CatBoost (by TreeSHAP), for a logistic regression, alone or
after scalers, and for scikit-learn's boosting if SHAP is installed. For other models, the value of the case is replaced
by five values spread over the automatic cases, and the resulting rows are scored. The first column named explains most:
if it is left out, the case is most like the automatic cases of one side, because the sum of squared effects on the
score and squared distances from usual values is lowest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from math import floor, isinf, log10, sqrt
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

from aucross.core.ranking import FloatArray, IndexArray
from aucross.estimators.fitted import Fitted
from aucross.estimators.models import class_scores
from aucross.estimators.row_hash import hash_rows
from aucross.estimators.score_column import score_column_in
from aucross.estimators.types import Table
from aucross.frames import columns_of, is_frame, is_missing, library_of, names_of, take_rows, values_of, with_column_of

Names = Mapping[Any, str] | None

# Two probabilities nearer than this say the same to a person.
AGREEMENT = 0.05

# Automatic cases of a side that are looked at, and the fewest, since of fewer single people would be told.
_MOST_BESIDE, _FEWEST_BESIDE = 300, 10
# Those of them whose exact contributions are computed, which takes as long as scoring hundreds of rows each.
_MOST_EXACT = 20
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
# Of the mean difference: added to the spread, so that a column that hardly varies is not named for a trifle. A column
# that moves the score by less than half of it is not named.
_FLOOR = 0.5
# A value counts by how far it lies beyond the usual ones, in half spreads, up to this; chosen as the floor was.
_FURTHEST = 4.0


class Wording(NamedTuple):
    """Names of classes and ends of each row's review range, for use in sentences."""

    names: Names = None
    ends: tuple[FloatArray, FloatArray] | None = None

    def take(self, rows: IndexArray) -> Wording:
        """Return the wording of some rows."""
        return self if self.ends is None else self._replace(ends=(self.ends[0][rows], self.ends[1][rows]))


class Reason(str):
    """Sentence that stores the columns it is based on, with the effect of each on the score."""

    columns: tuple[tuple[str, float], ...]

    def __new__(cls, text: str, columns: Sequence[tuple[str, float]] = ()) -> Self:
        """Return a sentence with the given columns; by default, with the columns that `text` already has."""
        made = super().__new__(cls, text)
        made.columns = tuple(columns) or columns_behind(text)
        return made

    def after(self, text: str) -> Reason:
        """Return this sentence appended to another one."""
        return Reason("; ".join(filter(None, (text, self))), self.columns)


def columns_behind(text: str) -> tuple[tuple[str, float], ...]:
    """Return the columns a sentence is based on, with the effect of each on the score; none for plain text."""
    return text.columns if isinstance(text, Reason) else ()


class Beside(NamedTuple):
    """Automatic cases with which reviewed cases are compared.

    `rows` are their positions in the batch, and `words` names them in a sentence. `sign` is 1 if the
    reviewed cases have higher scores than these automatic cases, -1 if lower scores.
    """

    rows: IndexArray
    words: str
    sign: float | FloatArray


def column_reasons(
    fitted: Fitted,
    X: Table,
    score: FloatArray,
    cases: IndexArray,
    selected: NDArray[np.bool_],
    *,
    toward: FloatArray | None = None,
) -> list[str]:
    """Return, for each case, the end of a sentence that names its unusual columns; empty if there are none.

    `cases` are positions in the batch, in the order of review; only the first thousand get a reason. `toward` is the
    gate's probability minus the score's probability: if the two differ, cases are compared with automatic cases of
    similar scores.
    """
    nothing = [""] * len(cases)
    is_table = is_frame(X) or (isinstance(X, np.ndarray) and X.ndim == 2)
    if not is_table or not len(cases) or score.ndim > 1:
        return nothing
    cases, toward = cases[:_MOST_TOLD], None if toward is None else toward[:_MOST_TOLD]
    told, middle = nothing[: len(cases)], float(np.median(score[cases]))
    if score_column_in(fitted.estimator) is None:
        sides = []
        # Cases lie above the lower side and below the higher one: only what moves them there tells why.
        for is_there, words, sign in ((score < middle, "lower", 1.0), (score > middle, "higher", -1.0)):
            rows = np.flatnonzero(selected & is_there)
            places = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_BESIDE)).astype(int)
            chosen = _in_order(X, rows, score[rows], places)
            sides.append(Beside(chosen, f"automatic cases with {words} scores", sign))
        told = _told(_Contrasts(fitted, 0, X, score), X, cases, sides)
    if toward is not None and (differ := np.abs(toward) >= AGREEMENT).any():
        rows = np.flatnonzero(selected)
        chosen = _in_order(X, rows, np.abs(score[rows] - middle), np.arange(min(len(rows), _MOST_BESIDE)))
        like = Beside(chosen, "automatic cases with like scores", np.sign(toward))
        by_gate = _told(_Contrasts(fitted, 1, X), X, cases, [like])
        told = [gate if is_other else own for own, gate, is_other in zip(told, by_gate, differ, strict=True)]
    return [*told, *nothing[len(cases) :]]


def _in_order(X: Table, rows: IndexArray, key: FloatArray, places: IndexArray) -> IndexArray:
    """Return the rows at some places after sorting by a key; the rows' values break ties."""
    order = np.argsort(key)
    key = key[order]
    wanted, how_often = np.unique(key[places], return_counts=True)
    starts, ends = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
    chosen = [rows[order[start:end]] for start, end in zip(starts, ends, strict=True)]
    for number, (tied, most) in enumerate(zip(chosen, how_often.tolist(), strict=True)):
        if len(tied) > 1:
            chosen[number] = tied[np.argsort(hash_rows(take_rows(X, tied)), kind="stable")[:most]]
    return np.concatenate([rows[:0], *chosen])


class _Contrasts:
    """Differences between the scores of cases and of automatic rows of the same table, column by column.

    The model's scores are computed unless they are given.
    """

    def __init__(self, fitted: Fitted, number: int, X: Table, known: FloatArray | None = None) -> None:
        self._model, self._method = fitted.models[number]
        self._classes, self._X, self._known = fitted.classes, X, known

    def against(self, cases: IndexArray, sides: Sequence[Beside]) -> tuple[FloatArray, FloatArray]:
        """Return mean and spread of how each case differs from the rows of each side: (n_sides, n_cases, n_columns)."""
        beside = [side.rows for side in sides]
        some = [rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_EXACT)).astype(int)] for rows in beside]
        parts = self._contributions(np.concatenate((cases, *some)))
        if parts is not None:
            own, *others = np.split(parts, np.cumsum([len(cases), *map(len, some)])[:-1])
            spread = np.stack([np.broadcast_to(other.std(axis=0), own.shape) for other in others])
            return np.stack([own - other.mean(axis=0) for other in others]), spread
        n_columns = self._X.shape[1]
        used, most = np.arange(n_columns), max(_ROWS_TRIED // (len(sides) * len(cases) * _N_TRIED), 5)
        if n_columns > most:  # of a wide table those that move the scores of a few cases most
            few = cases[np.linspace(0, len(cases) - 1, min(len(cases), 10)).astype(int)]
            moved = sum(np.abs(self._tried(few, rows, used)).mean(axis=(0, 2)) for rows in beside)
            used = np.sort(np.argsort(-np.asarray(moved), kind="stable")[:most])
        difference, spread = np.zeros((2, len(sides), len(cases), n_columns))
        for number, rows in enumerate(beside):
            tried = self._tried(cases, rows, used)
            difference[number][:, used], spread[number][:, used] = tried.mean(axis=2), tried.std(axis=2)
        return difference, spread

    def _unbounded(self, score: FloatArray) -> FloatArray:
        return np.asarray(logit(np.clip(score, 1e-9, 1 - 1e-9)) if self._method == "predict_proba" else score)

    def _score(self, X: Table) -> FloatArray:
        return self._unbounded(class_scores(self._model, X, self._method, self._classes))

    def _score_of(self, rows: IndexArray) -> FloatArray:
        return self._score(take_rows(self._X, rows)) if self._known is None else self._unbounded(self._known[rows])

    def _tried(self, cases: IndexArray, beside: IndexArray, columns: IndexArray) -> FloatArray:
        """Return how much the score falls if a column takes another row's value: (n_cases, n_columns, n_tried)."""
        own, tried = self._score_of(cases), np.empty((len(cases), len(columns), _N_TRIED))
        again = take_rows(self._X, np.repeat(cases, _N_TRIED))
        by_place = list(columns_of(take_rows(self._X, beside)))
        spread_out = ((np.arange(_N_TRIED) + 0.5) / _N_TRIED * len(beside)).astype(int)
        for number, place in enumerate(columns):
            numbers = _numbers(by_place[place])
            texts = np.array([_shown(value) for value in values_of(by_place[place])]) if numbers is None else numbers
            values = beside[np.argsort(texts, kind="stable")[spread_out]]
            other = take_rows(self._X, np.tile(values, len(cases)))
            changed = self._score(with_column_of(again, other, int(place)))
            tried[:, number] = own[:, None] - changed.reshape(len(cases), _N_TRIED)
        return tried

    def _contributions(self, rows: IndexArray) -> FloatArray | None:
        """Return the contribution of each column to the score of rows; None for models without exact contributions."""
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


def _by_shap(model: Any, X: Table) -> Any:
    # It may be missing, and it reads private parts of models: whatever it raises, columns can still be tried.
    with suppress(Exception):
        explainer = import_module("shap").TreeExplainer(model)
        parts = explainer.shap_values(np.asarray(X, dtype=np.float64), check_additivity=False)
        return np.column_stack((parts, np.full(len(parts), explainer.expected_value)))
    return None


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


# Forests are left out: their contributions take as long as scoring 1,000 (leaves of 20 rows) to 2,000 rows a case.
_EXACT: dict[str, Callable[[Any, Table], Any]] = {
    "LogisticRegression": _of_logistic,
    "LGBMClassifier": _of_lightgbm,
    "XGBClassifier": _of_xgboost,
    "CatBoostClassifier": _of_catboost,
    "HistGradientBoostingClassifier": _by_shap,
    "GradientBoostingClassifier": _by_shap,
    "Pipeline": _of_pipeline,
}


def _told(contrasts: _Contrasts, X: Table, cases: IndexArray, sides: Sequence[Beside]) -> list[str]:
    """Return the unusual columns of each case, starting with the one that explains most."""
    texts, sides = [""] * len(cases), [side for side in sides if len(side.rows) >= _FEWEST_BESIDE]
    if not sides:
        return texts
    difference, spread = contrasts.against(cases, sides)
    of_cases = take_rows(X, cases)
    own = list(columns_of(of_cases))
    values = list(map(values_of, own))
    names = names_of(of_cases) or [f"column {place}" for place in range(len(own))]
    usual, beyond = list[list[str]](), np.empty_like(difference)
    for number, side in enumerate(sides):
        found = map(_usual, columns_of(take_rows(X, side.rows)), own)
        words, far = zip(*found, strict=True)
        usual.append(list(words))
        beyond[number] = np.column_stack(far)
    least = max(_FLOOR * float(np.abs(difference).mean()), 1e-12)
    by_score = difference**2 / (spread**2 + least**2)
    unlike = by_score + beyond**2
    toward = np.stack([np.broadcast_to(side.sign, len(cases)) for side in sides])[:, :, None] * difference
    # A value that the automatic cases have, too, tells a person nothing, whatever the model makes of it.
    tells = (toward > 0.5 * least) & (beyond > 0)
    rest = np.where(tells, unlike.sum(axis=2, keepdims=True) - unlike, np.inf)
    nearest, every = rest.min(axis=2).argmin(axis=0), np.arange(len(cases))
    rest, by_score, moved = rest[nearest, every], by_score[nearest, every], difference[nearest, every]
    further = np.argsort(-np.where(np.isfinite(rest), by_score, 0.0), axis=1, kind="stable")[:, :_MOST_NAMED].tolist()
    most = np.argsort(-np.abs(moved), axis=1, kind="stable")[:, :_MOST_DRAWN].tolist()
    for case in np.flatnonzero(np.isfinite(rest).any(axis=1)).tolist():
        number = nearest[case]
        others = [at for at in further[case] if np.isfinite(rest[case, at]) and by_score[case, at] >= _TELLING**2]
        places = list(dict.fromkeys([int(rest[case].argmin()), *others]))[:_MOST_NAMED]
        told = [f"{names[at]} {_shown(values[at][case])} (there {usual[number][at]})" for at in places]
        drawn = list(dict.fromkeys([*places, *(at for at in most[case] if moved[case, at])]))[:_MOST_DRAWN]
        parts = [(str(names[at]), float(moved[case, at])) for at in drawn]
        texts[case] = Reason(f"unlike {sides[number].words}: {', '.join(told)}", parts)
    return texts


def _usual(beside: Any, own: Any) -> tuple[str, FloatArray]:
    """Return the usual values of a column among automatic cases, and how far the values of cases lie beyond them.

    In a column of numbers, the middle half is usual, and distances are counted in half widths of this range. In other
    columns, the most frequent value is usual, and the distance of a value says how much rarer it is. Distances are 0
    for usual values and at most `_FURTHEST`.
    """
    numbers, given = _numbers(beside), _numbers(own)
    if numbers is not None and given is not None:
        known = np.sort(numbers[~np.isnan(numbers)])
        if 2 * len(known) >= len(numbers):
            low, high = np.interp([0.25 * (len(known) - 1), 0.75 * (len(known) - 1)], np.arange(len(known)), known)
            finite = known[np.isfinite(known)]
            spread = 0.5 * float(finite.std()) if len(finite) else 0.0
            with np.errstate(invalid="ignore"):  # infinity less infinity: as far as what is usual
                far = np.nan_to_num(np.maximum(low - given, given - high) / max(spread, 1e-12), nan=0.0)
            far[np.isnan(given)] = _rarer(len(numbers) - len(known), len(known))
            words = list(dict.fromkeys((_shown(low), _shown(high))))
            return " to ".join(words), np.clip(far, 0.0, _FURTHEST)
    counts = Counter(map(_shown, values_of(beside)))
    most = max(sorted(counts), key=counts.__getitem__)
    return f"mostly {most}", np.array([_rarer(counts[_shown(value)], counts[most]) for value in values_of(own)])


def _rarer(count: int, most: int) -> float:
    """Return how much rarer a value is than the most frequent one; 0 if both are equally frequent."""
    return min(2.0 * sqrt(max(most / count - 1.0, 0.0)), _FURTHEST) if count else _FURTHEST


def _numbers(column: Any) -> FloatArray | None:
    """Return a column as numbers, with NaN for missing ones; None if it holds other values."""
    found = np.asarray(column)
    if found.dtype.kind not in "iuf":
        values = values_of(column)
        if not all(_is_number(value) or is_missing(value) for value in values):
            return None
        found = np.array([np.nan if is_missing(value) else value for value in values])
    return found.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _shown(value: Any) -> str:
    """Format a number with three digits, and anything else as text in quotes."""
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
    """Return the reasons for rows that a band rejects for their score.

    `probability` is the share of positives at these scores. `ends` are the ends of each row's review range, by default
    the lowest and the highest score. `names` are readable names of the classes.
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
    """Return the reasons for rows that a gate rejects; `gate_probability` combines score and gate."""
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
    return [
        f"the model is {'only ' if value < 0.75 else ''}{percent(value)} sure of {label_text(label, names)}"
        if is_probability
        else f"the model decides for {label_text(label, names)} by a margin of {value:.3g}"
        for value, label in zip(confidence.tolist(), predicted, strict=True)
    ]


def class_reasons(probabilities: FloatArray, classes: Sequence[Any], names: Names = None) -> list[str]:
    """Return the reasons for rows with more than two classes, naming the two most probable ones."""
    labels = [label_text(label, names) for label in classes]
    first, second = np.argsort(-probabilities, axis=1, kind="stable")[:, :2].T
    shares = np.take_along_axis(probabilities, np.column_stack((first, second)), axis=1)
    return [
        f"between {labels[one]} ({percent(share)}) and {labels[other]} ({percent(other_share)})"
        for one, other, (share, other_share) in zip(first, second, shares.tolist(), strict=True)
    ]


def label_text(label: Any, names: Names = None) -> str:
    """Format a label for a sentence: text in quotes, numbers after the word "class"."""
    label = label.item() if isinstance(label, np.generic) else label
    label = (names or {}).get(label, label)
    return repr(label) if isinstance(label, str) else f"class {label}"


def about(share: float) -> str:
    """Format an estimated share with "about", unless the text is a limit such as "over 99 %"."""
    text = percent(share)
    return text if text.startswith(("under", "over")) else f"about {text}"


def percent(share: float) -> str:
    """Format a share in whole per cent, with tenths below 1 %; rounding never turns it into 0 % or 100 %."""
    if share < 0.0005:
        return "under 0.1 %"
    if share < 0.01:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %" if share < 0.995 else "over 99 %"


def _digits(span: float) -> int:
    """Return the number of decimals for the scores of a range, fine enough to show a tenth of the range."""
    at_least = 3 if span < 1 else 0  # as probabilities are usually written
    return min(max(1 - floor(log10(span)), at_least), 12) if span > 0 else at_least
