"""A classifier that trains nothing and uses an existing score, which is a column of X."""

from __future__ import annotations

from difflib import get_close_matches
from math import inf
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, check_weights
from aucross.core.rounding import band_of_values
from aucross.estimators.labels import check_classes, no_such_class
from aucross.estimators.strange_values import outwards, range_of
from aucross.estimators.types import Column, Labels, Table
from aucross.frames import names_of

# Of so many rows most lie where those of the fit lay; of fewer that may be otherwise by chance.
_ROWS_TO_COMPARE = 10
# How far beyond the range of the fit a row may lie: by half the range, and by more if so few rows show little of the
# tails; or by so many times what the fit itself had beyond that end, which is much for a score with a long tail.
_ROWS_THAT_SHOW_TAILS = 1000
_TIMES_BEYOND = 4.0


class ScoreColumn(ClassifierMixin, BaseEstimator):
    """Use a score that is already a column of X: a vendor's score, a rating, the output of another model.

    ``AUCross(ScoreColumn("pd"))`` places bands on the column ``pd``. Nothing is trained: `fit` checks the column and
    learns the two class labels. Other columns are ignored, but the gate of an :class:`AUCGate` can read them.

    Parameters
    ----------
    column : str or int
        Name of the column in a frame, or its position.
    threshold : float, optional
        For a score in points: the value that separates the two predicted classes. Without it the column must hold
        probabilities, between 0 and 1.
    higher_is_positive : bool, default=True
        Whether higher values speak for the positive class. Pass False for a score that rises with quality when the
        positive class is a default.
    pos_label : label, optional
        The positive class, the second in sorted order by default. Pass it to the selective classifier, too.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels, sorted.
    n_features_in_ : int
        1 for a column given by name. For a column given by position, the number of columns of X, because a different
        table may hold another column there.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The name of the column; for a column given by position, all column names of X, if they are text.
    column_range_ : list of two float
        Range of nearly all values of a column of points at the fit, rounded outwards; only if there were enough rows.
    column_limits_ : list of two float
        Wider range of the points that a new row may have; only if there were enough rows.
    trains_nothing : bool
        Always True: every fit gives the same model, so that refits and corrections for their size are unnecessary.

    See Also
    --------
    AUCross : Places bands on the scores of a classifier.
    sklearn.frozen.FrozenEstimator : Keeps a trained model as it is.

    Notes
    -----
    A column of probabilities gives ``predict_proba``, and predicts the positive class above one half. For another
    cut-off wrap it in :class:`sklearn.model_selection.FixedThresholdClassifier`.

    A column of points gives ``decision_function``: the distance from `threshold`, positive on the side of the positive
    class. Bands lie on that distance; :meth:`column_value` turns scores into points, :meth:`column_band` a band.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import AUCross, ScoreColumn
    >>> rng = np.random.default_rng(0)
    >>> pd = rng.uniform(0, 0.5, 2000)
    >>> X = np.column_stack((rng.normal(size=2000), pd))
    >>> y = rng.random(2000) < pd
    >>> clf = AUCross(ScoreColumn(1), coverage=0.8).fit(X, y)
    >>> print(clf.select(X).mean().round(2))
    0.8

    A scorecard in points, where few points mean a bad loan:

    >>> points = np.round(900 - 1000 * pd)
    >>> scorecard = ScoreColumn(0, threshold=600, higher_is_positive=False)
    >>> clf = AUCross(scorecard, coverage=0.8).fit(points[:, None], y)
    >>> review = clf.estimator_.column_band(clf.band())
    >>> print(400 < review.lower < review.upper < 900)
    True
    """

    trains_nothing = True

    def __init__(
        self,
        column: str | int,
        *,
        threshold: float | None = None,
        higher_is_positive: bool = True,
        pos_label: Any = None,
    ) -> None:
        self.pos_label = pos_label
        self.column = column
        self.threshold = threshold
        self.higher_is_positive = higher_is_positive

    def fit(self, X: Table, y: Column, sample_weight: Column = None) -> Self:
        """Check the column and learn the class labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows with the column among their columns.
        y : array-like of shape (n_samples,)
            Labels of two classes; the positive one is the second in sorted order.
        sample_weight : array-like of shape (n_samples,), optional
            Ignored here; a parameter so that a selective classifier can use weights.

        Returns
        -------
        self
            The fitted classifier.
        """
        if y is None:
            raise ValueError("This ScoreColumn estimator requires y to be passed, but the target y is None")
        self._check_parameters()
        values = self._values(X, is_fit=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(values, y)
        if sample_weight is not None:
            check_weights(sample_weight, len(y))
        classes = check_classes(y)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported: a column holds one score, and y has {len(classes)} classes"
            )
        if self.pos_label is not None and self.pos_label not in classes.tolist():
            raise no_such_class(self.pos_label, classes)
        self.classes_ = classes
        for name in ("column_range_", "column_limits_"):
            self.__dict__.pop(name, None)
        if self.threshold is not None and (ends := range_of(values)) is not None:
            self.column_range_, self.column_limits_ = ends, _limits(values, *ends)
        return self

    def fit_without_rows(self, classes: Column) -> Self:
        """Set the two class labels, the second of which is positive, for a score that was ranked elsewhere.

        The classifier then takes any table with the column. The ranked scores must have been the values of the column,
        unchanged.
        """
        self._check_parameters()
        if not self.is_column_itself:
            raise ValueError(
                "a score that is fitted from a ranking must be the column as it is, with higher_is_positive=True and "
                f"threshold None or 0, got {self.higher_is_positive} and {self.threshold}; rank a column of the "
                "distance from the threshold, positive on the side of the positive class"
            )
        labels = np.asarray(classes)
        if labels.shape != (2,) or not labels[0] < labels[1]:
            raise ValueError(f"classes must be two labels in sorted order, got {labels.tolist()}")
        self.classes_ = labels
        return self

    def predict(self, X: Table) -> Labels:
        """Predict the class of each row by comparing its score with the threshold (one half for probabilities)."""
        check_is_fitted(self)
        is_positive = self._score(self._values(X)) > (0.5 if self.threshold is None else 0.0)
        return self.classes_[(is_positive != self._speaks_for_first()).astype(int)]

    def speaks_for(self, label: Any) -> bool:
        """Return whether high scores speak for a class; only after the fit."""
        return bool(self.classes_[0 if self._speaks_for_first() else 1] == label)

    def _speaks_for_first(self) -> bool:
        return self.pos_label is not None and self.pos_label == self.classes_[0]

    @available_if(lambda self: self.threshold is None)
    def predict_proba(self, X: Table) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``; only for a column of probabilities."""
        check_is_fitted(self)
        positive = self._score(self._values(X))
        columns = (1.0 - positive, positive)
        return np.column_stack(columns[::-1] if self._speaks_for_first() else columns)

    @available_if(lambda self: self.threshold is not None)
    def decision_function(self, X: Table) -> FloatArray:
        """Return the distance of each score from the threshold, positive on the side of ``classes_[1]``."""
        check_is_fitted(self)
        distance = self._score(self._values(X))
        return -distance if self._speaks_for_first() else distance

    def column_value(self, score: ArrayLike) -> FloatArray:
        """Convert scores of this classifier, such as the ends of a band, to the unit of the column."""
        score = np.asarray(score, dtype=np.float64)
        # What is subtracted from 1, or from the threshold, comes back in the same way.
        is_distance = self.threshold is not None and self.higher_is_positive
        return self.threshold + score if is_distance else self._score(score)

    def column_band(self, band: RejectionBand) -> RejectionBand:
        """Convert a band of scores to the matching band of column values.

        Parameters
        ----------
        band : RejectionBand
            A band on the scores of this classifier, for instance ``clf.band(0.8)``.

        Returns
        -------
        RejectionBand
            Band on values of the column. It rejects exactly the values whose score `band` rejects, also where the
            distance from the threshold is rounded.

        Examples
        --------
        >>> from aucross import ScoreColumn
        >>> from aucross.core import RejectionBand
        >>> scorecard = ScoreColumn("points", threshold=600, higher_is_positive=False)
        >>> scorecard.column_band(RejectionBand(-189.0, -182.0))
        RejectionBand(lower=782.0, upper=789.0)
        """
        if self.is_column_itself:
            return band
        lowest, highest = (0.0, 1.0) if self.threshold is None else (-inf, inf)
        return band_of_values(self._score, band, rises=bool(self.higher_is_positive), lowest=lowest, highest=highest)

    @property
    def column_name(self) -> str:
        """The column's name, or its position if it has none."""
        if isinstance(self.column, str):
            return self.column
        names = getattr(self, "feature_names_in_", None)
        return f"column {self.column}" if names is None else str(names[self.column])

    @property
    def is_column_itself(self) -> bool:
        """Whether the scores are the unchanged values of the column."""
        return bool(self.higher_is_positive) and self.threshold in (None, 0)

    def _score(self, values: Any) -> Any:
        """Convert values of the column to scores of the positive class."""
        if self.threshold is None:
            return values if self.higher_is_positive else 1.0 - values
        threshold = float(self.threshold)
        return values - threshold if self.higher_is_positive else threshold - values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # as good as the column is
        return tags

    # ---- the column ----

    def _check_parameters(self) -> None:
        if isinstance(self.column, bool | np.bool_) or not isinstance(self.column, str | Integral):
            raise TypeError(f"column must be the name of a column or its position, got {self.column!r}")
        if not isinstance(self.higher_is_positive, bool | np.bool_):
            raise TypeError(f"higher_is_positive must be True or False, got {self.higher_is_positive!r}")
        if self.threshold is None:
            return
        if not isinstance(self.threshold, Real) or not np.isfinite(float(self.threshold)):
            raise ValueError(
                f"threshold must be a finite number, or None for a column of probabilities, got {self.threshold!r}"
            )

    def _values(self, X: Table, *, is_fit: bool = False) -> FloatArray:
        """Return the column as finite numbers; raise if it is not a score."""
        values, X = self._column_of(X)
        # Other columns are compared with those of the fit if finding the score column depends on them.
        if isinstance(self.column, str):
            if is_fit:
                self.n_features_in_, self.feature_names_in_ = 1, np.array([self.column], dtype=object)
        elif is_fit or hasattr(self, "n_features_in_"):  # without rows nothing is known of other columns
            validate_data(self, X, reset=is_fit, skip_check_array=True)
        self._check_scores(values)
        return values

    def _column_of(self, X: Table) -> tuple[FloatArray, Table]:
        if issparse(X):
            raise TypeError("X must be dense, got sparse data; take the column out, or pass X.toarray()")
        names = names_of(X)
        if names is None:
            X = check_array(X, dtype=None, ensure_all_finite=False)
        place = self._place(names, X.shape[1])
        try:
            values = X[:, place] if names is None else X[names[place]]
            numbers = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False, "ensure_min_samples": 0}
            return check_array(values, **numbers), X
        except ValueError as error:
            raise ValueError(f"the column {self.column!r} must hold numbers: {error}; name another column") from None

    def _check_scores(self, values: FloatArray) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            raise ValueError(
                f"the column {self.column!r} must hold finite numbers, got {int((~finite).sum())} missing (NaN) or "
                f"infinite (inf) values among {len(values)}, the first in row {int(np.argmin(finite))}; drop those "
                "rows or have them reviewed"
            )
        if self.threshold is None and len(values) and not (values.min() >= 0.0 and values.max() <= 1.0):
            raise ValueError(
                f"the column {self.column!r} must hold probabilities between 0 and 1, got {values.min():g} to "
                f"{values.max():g}; for a score in points pass threshold=, the value that parts the predicted classes"
            )

    def check_column(self, X: Table, classes: Labels | tuple[()] = ()) -> None:
        """Refuse rows without a score and, if classes are given, a score that speaks against the second of them.

        Checks all rows before they are cut into folds, so that row numbers in errors are those of the caller.
        """
        if len(classes) == 2:
            negative, positive = np.asarray(classes).tolist()
            speaks_for = max(negative, positive) if self.pos_label is None else self.pos_label
            if speaks_for != positive:
                raise ValueError(
                    f"the column {self.column!r} speaks for {speaks_for!r}, and the positive class is {positive!r}; "
                    f"pass pos_label={positive!r} to both ScoreColumn and the classifier"
                )
        self._check_parameters()
        values, _ = self._column_of(X)
        self._check_scores(values)

    def takes(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return which values lie within `column_limits_` and so seem to have the unit of the fit."""
        lowest, highest = getattr(self, "column_limits_", (-inf, inf))
        return (values >= lowest) & (values <= highest)

    def refuse_other_unit(self, X: Table) -> None:
        """Refuse rows whose points have another unit or sign than those of the fit, because no band would fit them.

        Each value must lie within `column_limits_`; of ten or more values, half must lie within `column_range_`.
        """
        ends = getattr(self, "column_range_", None)
        if ends is None:
            return
        values, (low, high) = self._column_of(X)[0], ends
        if not np.isfinite(values).all():  # refused with another reason
            return
        if len(values) >= _ROWS_TO_COMPARE and np.mean((values < low) | (values > high)) > 0.5:
            got = f"{values.min():g} to {values.max():g}"
        else:
            is_beyond = ~self.takes(values)
            if not is_beyond.any():
                return
            lowest, highest = self.column_limits_
            where = f"{int(is_beyond.sum())} of {len(values)} rows below {lowest:g} or above {highest:g}"
            got = f"{values[is_beyond][0]:g}, and {where}; have such rows reviewed"
        raise ValueError(
            f"the column {self.column!r} must be in the unit of the fit, where nearly all values lay from {low:g} "
            f"to {high:g}, got {got}; turn it into that unit, or fit again if the score has changed"
        )

    def _place(self, names: list[Any] | None, n_columns: int) -> int:
        if isinstance(self.column, Integral):
            if not -n_columns <= self.column < n_columns:
                raise ValueError(
                    f"column must be a position among {n_columns} columns, got {self.column}; 0 is the first"
                )
            return int(self.column) % n_columns
        if names is None:
            raise ValueError(
                f"column must be a position where X has no column names, got {self.column!r}; pass a frame, or the "
                "position of the column"
            )
        if names.count(self.column) == 1:
            return names.index(self.column)
        if self.column in names:
            raise ValueError(f"X must have one column {self.column!r}, got {names.count(self.column)}; rename the rest")
        close = get_close_matches(str(self.column), [name for name in names if isinstance(name, str)], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the columns are {', '.join(map(repr, names[:8]))}"
        raise ValueError(f"column must be a column of X, got {self.column!r}; {hint}")


def _limits(values: FloatArray, low: float, high: float) -> list[float]:
    """Return the limits of plausible values in the unit of the fit, rounded outwards."""
    lowest, highest = values.min(), values.max()
    least = (high - low) / 2 * max(1.0, _ROWS_THAT_SHOW_TAILS / len(values))
    ends = [low - max(least, _TIMES_BEYOND * (low - lowest)), high + max(least, _TIMES_BEYOND * (highest - high))]
    # Points that all had one sign at the fit keep it, but for a tenth of their size.
    if lowest >= 0:
        ends[0] = max(ends[0], -high / 10)
    if highest <= 0:
        ends[1] = min(ends[1], -low / 10)
    return outwards(*ends)


def score_column_in(model: Any) -> ScoreColumn | None:
    """Return the score column inside a model (also if frozen or with another cut-off); None for other models."""
    while isinstance(model, FrozenEstimator | FixedThresholdClassifier):
        model = getattr(model, "estimator_", model.estimator)
    return model if isinstance(model, ScoreColumn) else None


def as_in_the_column(model: Any, score: FloatArray, positive: Any) -> FloatArray:
    """Convert scores of the positive class to the unit of the score column, if there is one."""
    column = score_column_in(model)
    return score if column is None or not column.speaks_for(positive) else column.column_value(score)
