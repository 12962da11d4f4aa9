"""The bands as text for systems without Python: JSON for programs, SQL for databases."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from math import inf
from typing import Any

from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.rounding import band_of_values
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.score_column import score_column_in
from aucross.export import band_text
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint

RULE_FORMAT_NAME = "aucross-rule"
RULE_FORMAT_VERSION = 1

# How the score that the bands lie on is computed, by axis, number of classes and method of the base model.
_SCORES = {
    ("score", "two", "predict_proba"): "p, where p is the probability of positive_class",
    ("score", "two", "decision_function"): "d, where d is the decision value in favour of positive_class",
    ("confidence", "two", "predict_proba"): "max(p, 1 - p), where p is the probability of positive_class",
    ("confidence", "two", "decision_function"): "abs(d), where d is the decision value in favour of positive_class",
    ("confidence", "many", "predict_proba"): "the largest of the probabilities of the classes",
    ("confidence", "many", "decision_function"): "the largest decision value of a class minus the second largest",
}


def rule_to_json(
    clf: SelectiveClassifier, coverages: Iterable[float] | None = None, *, indent: int | None = None
) -> str:
    """Write the bands at given coverages as JSON that another system can apply.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier with ``ties="whole"`` whose bands lie on a simple function of its scores: any but
        an :class:`~aucross.AUCGate` or an AUC method with more than two classes.
    coverages : iterable of float in (0, 1], optional
        Target coverages; the classifier's own by default.
    indent : int, optional
        Spaces to indent by; one line by default.

    Returns
    -------
    str
        An object with the keys ``format``, ``format_version``, ``aucross_version``, ``method``, ``classes``,
        ``positive_class`` (null with more than two), ``score`` (how to compute the score in words),
        ``model_fingerprint``, ``rule_fingerprint``, and ``bands``: one entry for each coverage, and for each group if
        there are bands per group, with ``coverage``, ``group`` (null without groups), ``lower``, ``upper`` and
        ``review`` as in :func:`~aucross.export.band_to_json`.

        For a :class:`~aucross.ScoreColumn` there is also ``score_column``, with ``column``, ``threshold`` and
        ``higher_is_positive``, and each band has ``in_column``: ``lower``, ``upper`` and ``review`` in units of the
        column.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.export import rule_to_json
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    >>> rule = json.loads(rule_to_json(clf, [0.9, 1.0]))
    >>> rule["score"]
    'p, where p is the probability of positive_class'
    >>> rule["bands"][1]
    {'coverage': 1.0, 'group': None, 'lower': None, 'upper': None, 'review': 'nothing'}
    """
    check_is_fitted(clf, "band_rule_")
    classes = clf.classes_.tolist()
    score, of_column = _score_in_words(clf), {}
    if (given := clf.fitted_.score_column) is not None:
        of_column["score_column"] = {
            "column": given.column if isinstance(given.column, str) else int(given.column),
            "threshold": None if given.threshold is None else float(given.threshold),
            "higher_is_positive": bool(given.higher_is_positive),
        }
    rule = {
        "format": RULE_FORMAT_NAME,
        "format_version": RULE_FORMAT_VERSION,
        "aucross_version": getattr(sys.modules["aucross"], "__version__", None),
        "method": type(clf).__name__,
        "classes": classes,
        "positive_class": clf.fitted_.classes.tolist()[1] if len(classes) == 2 else None,
        "score": score,
        **of_column,
        "model_fingerprint": model_fingerprint(clf),
        "rule_fingerprint": rule_fingerprint(clf),
        "bands": [
            {"coverage": coverage, "group": group, **band_text.band_entries(band), **in_column}
            for coverage in _checked_coverages(clf, coverages)
            for group in _groups(clf)
            for band in [clf.band(coverage, group)]
            for in_column in [{"in_column": band_text.band_entries(_band_in_column(clf, band))} if of_column else {}]
        ],
    }
    return json.dumps(rule, indent=indent, ensure_ascii=False, allow_nan=False)


def rule_to_sql(
    clf: SelectiveClassifier,
    column: str,
    coverage: float | None = None,
    *,
    band_group_column: str | None = None,
    automatic: str | int = "automatic",
    review: str | int = "review",
    quote: str = '"',
) -> str:
    """Write the bands at a coverage as an SQL ``CASE`` expression, as :func:`~aucross.export.band_to_sql` does.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier, as for :func:`rule_to_json`.
    column : str
        Column of the score that the bands lie on, which :func:`rule_to_json` states in words. For a
        :class:`~aucross.ScoreColumn` it is that column, in its own units such as points.
    coverage : float in (0, 1], optional
        Target coverage; the classifier's own by default.
    band_group_column : str, optional
        Column of the groups, if the bands were fitted per group. Rows of an unseen group go to review.
    automatic, review, quote
        As for :func:`~aucross.export.band_to_sql`.

    Notes
    -----
    Points beyond ``column_limits_`` of a :class:`~aucross.ScoreColumn`, which ``select`` refuses, are decided like
    others. Groups are compared by the collation of their column, which must distinguish case, accents and blanks:
    otherwise an unseen 'north' is decided like 'North', although ``select`` sends it to review.
    """
    check_is_fitted(clf, "band_rule_")
    _score_in_words(clf)  # refuses rules that lie on something else
    _check_name(clf, column)
    (target,) = _checked_coverages(clf, None if coverage is None else [coverage])
    has_groups = clf.band_rule_.group_labels is not None
    if has_groups != (band_group_column is not None):
        remedy = "name the column that holds the group of each row" if has_groups else "leave it out"
        raise ValueError(f"band_group_column must be given if and only if the bands were fitted per group; {remedy}")
    if band_group_column is None:
        band = _band_in_column(clf, clf.band(target))
        return band_text.band_to_sql(band, column, automatic=automatic, review=review, quote=quote)
    band_text.refuse_alike(_groups(clf), "groups of bands")
    score, group_name = band_text.sql_identifier(column, quote), band_text.sql_identifier(band_group_column, quote)
    branches = []
    for group in _groups(clf):
        is_automatic = band_text.is_automatic_in_sql(_band_in_column(clf, clf.band(target, group)), score)
        branches.append(f"{group_name} = {_group_literal(group)} AND {is_automatic}")
    return band_text.sql_case(branches, automatic, review)


def _checked_coverages(clf: SelectiveClassifier, coverages: Iterable[float] | None) -> list[float]:
    if isinstance(coverages, str) or not (coverages is None or isinstance(coverages, Iterable)):
        raise TypeError(f"coverages must be a list of coverages in (0, 1], got {coverages!r}; pass [0.8]")
    return [check_coverage(coverage) for coverage in ([clf.coverage] if coverages is None else coverages)]


def _score_in_words(clf: SelectiveClassifier) -> str:
    """Say how to compute the score that the bands lie on; refuse rules whose score needs the models."""
    axis = clf.band_rule_.axis
    if clf.held_out_.tie_breaker is not None:
        raise ValueError(
            'the bands of a classifier with ties="split" cut through ties by a hash of the whole row, which another '
            'system does not have; decide with select(X) and hand over the decisions, or fit with ties="whole"'
        )
    if axis == "other":
        raise ValueError(
            f"the bands of this {type(clf).__name__} lie on a selection score that takes the models to compute, not on "
            "a score that another system has, so they are of no use without them; decide with select(X) and hand over "
            "the decisions"
        )
    words = _SCORES[axis, "two" if len(clf.classes_) == 2 else "many", clf.fitted_.response_method]
    score = clf.fitted_.score_column
    if score is None or score.is_column_itself:
        return words
    symbol, origin = ("p", "1") if score.threshold is None else ("d", f"{float(score.threshold):.17g}")
    formula = f"x - {origin}" if score.higher_is_positive else f"{origin} - x"
    return f"{words}, and {symbol} = {formula}, where x is the column {score.column!r}"


# ---- a column of scores: bands in its units ----


def _band_in_column(clf: SelectiveClassifier, band: RejectionBand) -> RejectionBand:
    """Convert a band to units of the score column; return it unchanged if a model gives the score."""
    if (score := clf.fitted_.score_column) is None:
        return band
    if clf.band_rule_.axis == "confidence":
        band = _band_around_boundary(band, is_probability=clf.fitted_.response_method == "predict_proba")
    return score.column_band(band)


def _band_around_boundary(band: RejectionBand, *, is_probability: bool) -> RejectionBand:
    """Return the interval of scores, around the decision boundary, whose confidences lie in a band."""
    if band.is_empty or band.upper < (0.5 if is_probability else 0.0):
        return RejectionBand()
    if band.lower > (0.5 if is_probability else 0.0):
        raise ValueError(
            f"a band of confidences must begin at the lowest one to be one interval of the column, got {band}; decide "
            "with select(X) and hand over the decisions"
        )
    if band.upper == inf or not is_probability:
        return RejectionBand(-band.upper, band.upper)
    of_negative = band_of_values(
        lambda p: 1.0 - p, RejectionBand(-inf, band.upper), rises=False, lowest=0.0, highest=1.0
    )
    return RejectionBand(of_negative.lower, band.upper)


def _check_name(clf: SelectiveClassifier, column: str) -> None:
    """Refuse a column whose unit is not that in which the band is written, or that speaks for the other class."""
    score = score_column_in(clf.estimator_)
    if score is not None and clf.fitted_.score_column is None:
        raise ValueError(
            f"the column {score.column!r} must speak for the positive class {clf.fitted_.classes.tolist()[1]!r} to be "
            "compared with the band, and speaks for the other one; pass the same pos_label to ScoreColumn"
        )
    if score is None or not isinstance(score.column, str) or not isinstance(column, str):
        return
    is_same_unit = score.is_column_itself and clf.band_rule_.axis == "score"
    if not is_same_unit and column.casefold() != score.column.casefold():
        raise ValueError(
            f"column must be {score.column!r}, the column of the ScoreColumn, in whose units the rule is written, got "
            f"{column!r}; a column of the same unit but another name is renamed by the query: SELECT {column} AS "
            f"{score.column}"
        )


def _groups(clf: SelectiveClassifier) -> list[Any]:
    if clf.band_rule_.group_labels is None:
        return [None]
    groups = list(clf.band_rule_.group_labels)
    if others := [group for group in groups if not isinstance(group, str | int | float)]:
        raise ValueError(
            f"groups must be text, numbers or booleans to be written as text, got {others[:3]}; name them by text in "
            "fit(..., band_groups=...)"
        )
    return groups


def _group_literal(group: Any) -> str:
    if isinstance(group, bool):
        return "TRUE" if group else "FALSE"
    return band_text.sql_number(group) if isinstance(group, float) else band_text.sql_literal(group)
