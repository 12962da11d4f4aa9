"""Ranking metrics for more than two classes: Hand-Till M, AUC-mu and the volume under the surface.

Each asks how often the scores tell rows of different classes apart, and with two classes each is the AUC::

    hand_till_m            two rows, one column:     is p_j higher in the row of class j than in the row of class k?
    auc_mu                 two rows, two columns:    is p_j - p_k higher in the row of class j?
    volume_under_surface   three rows, all columns:  is the right assignment of the rows to the classes the best one?

They are NaN (never 0) where one of the classes is missing among the selected rows. The pairs that remain are *not*
averaged: a selection that rejects every row of a hard class would then look better than one that keeps some.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.inputs import check_selected, row_weights

# Differences of scores carry rounding: 0.3 - 0.1 and 0.2 - 0.0 should tie and do not as floats. Values closer than this
# share of the largest score, sixteen units in its last place, count as equal.
_ROUNDING = 2.0**-48


def hand_till_m(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Hand and Till's M of the selected rows: the mean AUC over all ordered pairs of classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class labels of any kind.
    y_prob : array-like of shape (n, n_classes)
        Class probabilities, or any finite scores that are higher for rows more likely of the column's class.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    classes : array-like of shape (n_classes,), optional
        Label of each column, such as ``clf.classes_``; by default the labels found in `y_true`, sorted.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; a row of weight 2 is the row twice.

    Returns
    -------
    float
        ``1 / (K (K - 1)) * sum over j != k of A(j | k)``, with A(j | k) the probability that a random row of class j
        has a higher p_j than a random row of class k, ties half. NaN if a class is missing among the selected rows.

    Notes
    -----
    Hand & Till (2001). Without weights it is ``roc_auc_score(multi_class="ovo", average="macro")`` of scikit-learn,
    which refuses weights and, given `labels`, leaves classes without rows out of the mean. To do the same here, pass
    the columns of the other classes only, and say so beside the figure.

    With two classes and columns 1 - p and p it is the AUC of p, up to ties that rounding makes in 1 - p. Each pair of
    classes counts the same, whatever its share of the rows. Every column is sorted once, and one pass over it serves
    all pairs: O(n K log n).

    Examples
    --------
    >>> from aucross.evaluation.multiclass import hand_till_m
    >>> y_prob = [[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.3, 0.5, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]
    >>> round(hand_till_m(["a", "a", "b", "b", "c"], y_prob), 4)
    0.8542
    >>> hand_till_m(["a", "a", "b", "b", "c"], y_prob, [True, True, True, False, True])
    1.0
    """
    rows = _scored_rows(y_true, y_prob, selected, classes, sample_weight)
    if not rows.is_complete:
        return float("nan")
    won = [_pairs_won(column, rows.label, rows.weight, winner) for winner, column in enumerate(rows.columns)]
    aucs = np.array(won) / np.outer(rows.totals, rows.totals)
    return _mean_auc(aucs[~np.eye(len(aucs), dtype=bool)])


def auc_mu(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """AUC-mu of the selected rows: the mean over pairs of classes of the AUC of their difference in probability.

    Parameters
    ----------
    y_true, y_prob, selected, classes, sample_weight
        As for :func:`hand_till_m`; other scores than probabilities must share one scale, as columns are subtracted.

    Returns
    -------
    float
        ``2 / (K (K - 1)) * sum over j < k of S(j, k)``, with S(j, k) the probability that a random row of class j has a
        higher p_j - p_k than a random row of class k, ties half. NaN if a class is missing among the selected rows.

    Notes
    -----
    Kleiman & Page (2019), with their default partition matrix. Where M asks one column at a time, AUC-mu asks which
    side of the border between two classes a row is on, so that rows which the highest probability classifies correctly
    are always in the right order: a perfect classifier has AUC-mu 1, and may have a lower M.

    Differences that agree up to rounding, 2^-48 of the largest score, count as ties: 0.3 - 0.1 is 0.2 - 0.0, as it
    should be for nearest neighbours or a small forest. Each pair sorts its own rows: O(n K log n) in all.

    Examples
    --------
    >>> from aucross.evaluation.multiclass import auc_mu, hand_till_m
    >>> y_true, y_prob = ["a", "b", "c"], [[0.4, 0.3, 0.3], [0.45, 0.55, 0.0], [0.1, 0.2, 0.7]]
    >>> auc_mu(y_true, y_prob), round(hand_till_m(y_true, y_prob), 4)
    (1.0, 0.8333)
    """
    rows = _scored_rows(y_true, y_prob, selected, classes, sample_weight)
    if not rows.is_complete:
        return float("nan")
    tolerance = rows.tolerance
    aucs = []
    for winner, loser in combinations(range(len(rows.totals)), 2):
        parts = rows.of_class(winner), rows.of_class(loser)
        difference = np.concatenate([rows.columns[winner, part] - rows.columns[loser, part] for part in parts])
        weight = np.concatenate([rows.weight[part] for part in parts])
        is_loser = np.repeat([0, 1], [part.stop - part.start for part in parts])
        won = _pairs_won(difference, is_loser, weight, winner=0, tolerance=tolerance)[1]
        aucs.append(won / (rows.totals[winner] * rows.totals[loser]))
    return _mean_auc(np.array(aucs))


def volume_under_surface(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Volume under the ROC surface of three classes: how often three rows, one of each class, are told apart.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of three classes.
    y_score : array-like of shape (n,) or (n, 3)
        One finite score per row that should rise from the first class to the last, or one score per row and class
        such as probabilities.
    selected, sample_weight
        As for :func:`hand_till_m`.
    classes : array-like of shape (3,), optional
        The classes in their order, or the label of each column; by default the labels found in `y_true`, sorted.

    Returns
    -------
    float
        Probability that three random rows, one of each class, are assigned to their own classes; chance is 1/6. NaN if
        a class is missing among the selected rows.

    Notes
    -----
    Mossman (1999): the volume is the probability of sorting such a trio correctly. Given scores s[row, class], the
    rows a, b, c are sorted by the assignment with the highest sum, so the trio counts as

        ``1 / t  if s[a,1] + s[b,2] + s[c,3] is the highest of the six sums, t of them being equal;  0 otherwise.``

    For probabilities this minimises the summed squared distances between rows and their corners of the triangle. The
    right assignment is best exactly if *one* set of class thresholds v classifies all three rows by the highest
    s - v (duality of linear programming), as a pair of rows counts for the AUC if one threshold parts it. Other rules
    are sums as well: pass ``np.log(y_prob)`` for the highest product of probabilities, or
    ``-np.linalg.norm(y_prob[:, None] - np.eye(3), axis=2)`` for the least summed distances, which is the hypervolume
    of Li & Fine (2008) as the R package mcca computes it, except that ties count fully there.

    One score per row is the case s = (0, score, 2 score): a trio counts if score_a < score_b < score_c, half if two
    neighbours tie, 1/6 if all three do (Scurfield 1996; Nakas & Yiannoutsos 2004).

    One score per row takes O(n log n). Three columns take O(n_1 n_2 log n_3 + (n_1 + n_2) n_3) for n_1 <= n_2 <= n_3
    distinct rows in the classes, O(n) memory: a second for 10,000 rows, minutes for 100,000. To be much faster than
    quadratic would be to solve 3SUM. Sums that agree up to rounding, 2^-48 of the largest score, count as equal.

    Examples
    --------
    >>> from aucross.evaluation.multiclass import volume_under_surface
    >>> volume_under_surface(["low", "mid", "mid", "high"], [1, 2, 4, 3], classes=["low", "mid", "high"])
    0.5
    >>> y_prob = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    >>> volume_under_surface(["a", "b", "b", "c"], y_prob)
    0.5
    """
    rows = _scored_rows(y_true, y_score, selected, classes, sample_weight, name="y_score", trios=True)
    if not rows.is_complete:
        return float("nan")
    won = _trios_in_order(rows) if len(rows.columns) == 1 else _trios_assigned(rows)
    return float(min(max(won, 0.0), 1.0))


# ---- arguments ----


class _Rows(NamedTuple):
    """The selected rows that carry weight, one class after the other."""

    columns: FloatArray  # of shape (n_columns, n), so that each column is one piece of memory
    label: IndexArray  # number of the class, ascending
    weight: FloatArray
    totals: FloatArray  # weight of each class

    @property
    def is_complete(self) -> bool:
        """Whether every class has rows."""
        return bool((self.totals > 0).all())

    @property
    def tolerance(self) -> float:
        """How far apart sums and differences of scores may be and count as equal."""
        return _ROUNDING * float(np.abs(self.columns).max())

    def of_class(self, number: int) -> slice:
        """Where the rows of a class are."""
        start, stop = np.searchsorted(self.label, [number, number + 1])
        return slice(int(start), int(stop))


def _scored_rows(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None,
    classes: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    name: str = "y_prob",
    trios: bool = False,
) -> _Rows:
    """Check the arguments of a metric and keep the selected rows that carry weight."""
    score = _check_columns(y_score, name, trios=trios)
    n_classes = 3 if trios else score.shape[1]
    label = _class_numbers(y_true, classes, n_classes, "for this metric" if trios else f"one per column of {name}")
    if len(score) != len(label):
        raise ValueError(f"{name} must hold one row of scores per label, got {len(score)} for {len(label)} labels")
    weight = row_weights(sample_weight, len(label))
    kept = np.flatnonzero(check_selected(selected, len(label)) & (weight > 0))
    kept = kept[np.argsort(label[kept], kind="stable")]
    totals = np.asarray(np.bincount(label[kept], weights=weight[kept], minlength=n_classes), dtype=np.float64)
    return _Rows(np.ascontiguousarray(score[kept].T), label[kept], weight[kept], totals)


def _check_columns(y_score: ArrayLike, name: str, *, trios: bool) -> FloatArray:
    """Finite scores with a column per class; for trios a single score per row becomes a single column."""
    score = np.asarray(y_score, dtype=np.float64)
    if trios and score.ndim == 1:
        score = score[:, None]
    elif score.ndim != 2 or (score.shape[1] != 3 if trios else score.shape[1] < 2):
        rule = "of shape (n,) or (n, 3)" if trios else "of shape (n, n_classes) with two classes or more"
        remedy = "use hand_till_m or auc_mu for other numbers of classes" if trios else "pass all of predict_proba(X)"
        raise ValueError(f"{name} must be {rule}, got shape {score.shape}; {remedy}")
    finite = np.isfinite(score).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name} must be finite, got NaN or infinite values in {int((~finite).sum())} of {len(score)} rows, the "
            f"first in row {int(np.argmin(finite))}; repair the model or drop those rows"
        )
    return score


def _class_numbers(y_true: ArrayLike, classes: ArrayLike | None, n_classes: int, reason: str) -> IndexArray:
    """Number of each row's class: its place in `classes`, or among the sorted labels."""
    labels = np.asarray(y_true)
    if labels.ndim != 1:
        raise ValueError(f"y_true must be 1-d, got shape {labels.shape}; pass labels, not one column per class")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"y_true must not hold NaN, got {int(np.isnan(labels).sum())}; drop the rows without a label")
    try:
        found, number = np.unique(labels, return_inverse=True)
    except TypeError:  # None among strings, say
        raise ValueError(
            "y_true must hold labels of one kind, got some that cannot be sorted; drop the rows without a label"
        ) from None
    if classes is None:
        if len(found) != n_classes and len(labels):
            raise ValueError(
                f"y_true must hold {n_classes} classes, {reason}, got {len(found)}: {_some(found)}; "
                "pass classes=clf.classes_ if some have no rows"
            )
        return number
    return _places(found, np.asarray(classes), n_classes, reason)[number]


def _places(found: NDArray[np.generic], names: NDArray[np.generic], n_classes: int, reason: str) -> IndexArray:
    """Place of each label that was found among the names of the classes."""
    place = {label: index for index, label in enumerate(names.ravel().tolist())}
    if names.shape != (n_classes,) or len(place) != n_classes:
        raise ValueError(
            f"classes must be 1-d with {n_classes} different labels, {reason}, got {_some(names)} of shape "
            f"{names.shape}; pass clf.classes_"
        )
    unknown = [label for label in found.tolist() if label not in place]
    if unknown:
        raise ValueError(
            f"y_true must hold labels of classes={_some(names)} only, got {_some(unknown)}; add or drop them"
        )
    return np.array([place[label] for label in found.tolist()], dtype=np.intp)


def _some(labels: ArrayLike) -> str:
    """A few labels as plain text."""
    values = np.asarray(labels).ravel().tolist()
    return f"{values[:5]}"[:-1] + (", ...]" if len(values) > 5 else "]")


# ---- pairs ----


def _pairs_won(
    score: FloatArray, label: IndexArray, weight: FloatArray, winner: int, tolerance: float = 0.0
) -> FloatArray:
    """Weight of the pairs in which a row of class `winner` scores higher than a row of each class, ties half.

    Each row needs the weight of winners above it, and the rows of a class add theirs up: one pass for all classes.
    """
    order = np.argsort(score)
    label, weight = label[order], weight[order]
    # For rows of other classes, "up to here" and "below" are the same as long as nothing ties.
    winners_below = np.cumsum(np.where(label == winner, weight, 0.0))
    all_winners = winners_below[-1]
    starts = _tie_starts(score[order], tolerance)
    if len(starts) < len(score):
        stops = np.append(starts[1:], len(score))
        up_to = winners_below[stops - 1]
        winners_below = np.repeat((np.append(0.0, up_to[:-1]) + up_to) / 2, stops - starts)
    return np.asarray(np.bincount(label, weights=weight * (all_winners - winners_below)), dtype=np.float64)


def _tie_starts(ascending: FloatArray, tolerance: float = 0.0) -> IndexArray:
    """First position of every run of equal values."""
    return np.append(0, np.flatnonzero(np.diff(ascending) > tolerance) + 1)


def _mean_auc(aucs: FloatArray) -> float:
    # Sums of fractional weights can round to a little more than 1.
    return float(np.clip(aucs, 0.0, 1.0).mean())


# ---- trios ----


def _trios_in_order(rows: _Rows) -> float:
    """Share of trios with ascending scores, ties 1/2 and 1/6."""
    order = np.argsort(rows.columns[0])
    starts = _tie_starts(rows.columns[0][order])
    label, share = rows.label[order], (rows.weight / rows.totals[rows.label])[order]
    low, middle, high = (np.add.reduceat(np.where(label == number, share, 0.0), starts) for number in range(3))
    low_below = np.cumsum(low) - low / 2
    high_above = np.cumsum(high[::-1])[::-1] - high / 2
    # Halves on both sides make 1/4 of a triple tie, which should be 1/6.
    return float(middle @ (low_below * high_above - low * high / 12))


def _trios_assigned(rows: _Rows) -> float:
    """Share of trios whose best assignment is the right one.

    Write x_jk for s[x, j] - s[x, k]. The right assignment of a, b, c to the classes u, v, w beats the other five if

        a_uv >= b_uv                                (a and b exchanged)
        c_uw <= a_uw  and  c_uw <= a_uv + b_vw      (a and c exchanged; a to v, b to w, c to u)
        c_vw <= b_vw  and  c_vw <= a_uw - b_uv      (b and c exchanged; a to w, b to u, c to v)

    so a pair (a, b) admits the rows c with c_uw and c_vw up to one limit each. If b_vw >= a_vw the limit of c_uw is
    a_uw, whatever b is; otherwise the limit of c_vw is b_vw, whatever a is. The first kind of pair is counted for one
    a after the other, the second, with a and b in each other's place, for one b after the other. One limit is then
    fixed, and prefix sums over the rows c inside it answer for all partners at once.
    """
    groups = [_distinct_rows(rows, number) for number in range(3)]
    u, v, w = (int(number) for number in np.argsort([len(group.share) for group in groups]))
    tolerance = rows.tolerance
    return _trios_by_row(groups, (u, v, w), tolerance) + _trios_by_row(groups, (v, u, w), tolerance, reverse=True)


class _Group(NamedTuple):
    """The distinct rows of one class, with their shares of its weight."""

    score: FloatArray  # of shape (n, 3)
    share: FloatArray

    def lead(self, number: int, other: int) -> FloatArray:
        """How much higher each row scores in one class than in another."""
        return np.asarray(self.score[:, number] - self.score[:, other])

    def sorted_by_lead(self, number: int, other: int) -> _Group:
        order = np.argsort(self.lead(number, other))
        return _Group(self.score[order], self.share[order])


def _distinct_rows(rows: _Rows, number: int) -> _Group:
    inside = rows.of_class(number)
    score, place = np.unique(rows.columns[:, inside].T, axis=0, return_inverse=True)
    return _Group(score, np.bincount(place.ravel(), weights=rows.weight[inside]) / rows.totals[number])


def _trios_by_row(
    groups: list[_Group], roles: tuple[int, int, int], tolerance: float, *, reverse: bool = False
) -> float:
    """Share of trios won by the pairs (a, b) whose limit of c_uw is a_uw, for one row a after the other.

    In `reverse`, with the first two classes in each other's place, pairs that would be of both kinds are left out.
    """
    u, v, w = roles
    a, b, c = groups[u], groups[v].sorted_by_lead(u, v), groups[w].sorted_by_lead(v, w)
    b_uv, b_uw, b_vw = b.lead(u, v), b.lead(u, w), b.lead(v, w)
    c_uw, c_vw = c.lead(u, w), np.append(c.lead(v, w), np.inf)
    won = 0.0
    for share, a_uv, a_uw, a_vw in zip(a.share, a.lead(u, v), a.lead(u, w), a.lead(v, w), strict=True):
        stop = np.searchsorted(b_uv, a_uv + tolerance, side="right")
        b_row = np.flatnonzero(b_uw[:stop] > a_uw if reverse else b_vw[:stop] >= a_vw)
        limit = np.minimum(b_vw[b_row], a_uw - b_uv[b_row])
        below = np.searchsorted(c_vw, limit - tolerance)
        inside = _sums_before(np.where(c_uw < a_uw - tolerance, c.share, 0.0))
        credit = inside[below]
        exchange_ties = b_uv[b_row] >= a_uv - tolerance
        u_limit_ties = np.abs(c_uw - a_uw) <= tolerance
        if exchange_ties.any() or u_limit_ties.any() or (c_vw[below] <= limit + tolerance).any():
            credit = _credit_with_ties(
                inside,
                inside + _sums_before(np.where(u_limit_ties, c.share, 0.0)),
                below,
                np.searchsorted(c_vw, limit + tolerance, side="right"),
                best=1.0 + exchange_ties,
                u_limits=1.0 + (np.abs(b_vw[b_row] - a_vw) <= tolerance),
                v_limits=1.0 + (np.abs(b_uw[b_row] - a_uw) <= tolerance),
            )
        won += float(share * (b.share[b_row] @ credit))
    return won


def _credit_with_ties(
    inside: FloatArray,
    inside_or_at: FloatArray,
    below: IndexArray,
    below_or_at: IndexArray,
    *,
    best: FloatArray,
    u_limits: FloatArray,
    v_limits: FloatArray,
) -> FloatArray:
    """Shares of the rows c admitted by each b, each divided by the number of assignments that are best.

    That number is `best` for c below both limits; c at a limit adds the assignments that set it, one or two.
    """
    below_both, at_u = inside[below], inside_or_at[below] - inside[below]
    at_v = inside[below_or_at] - below_both
    at_both = inside_or_at[below_or_at] - below_both - at_u - at_v
    return np.asarray(
        below_both / best + at_u / (best + u_limits) + at_v / (best + v_limits) + at_both / (best + u_limits + v_limits)
    )


def _sums_before(values: FloatArray) -> FloatArray:
    """Sum of the first i values, for i = 0 ... n."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums
