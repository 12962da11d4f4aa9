"""Turn scored rows into decisions: the questions that a selective classifier answers after the fit.

::

    scored  X ──► ScoredRows (fitted.py)
    decide  ScoredRows ──► rule ──► Decisions
            select, predict_selective, review_queue, recalibrate, evaluation, report, record, monitor ...
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from aucross.core.band_rule import BandRule
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import check_capacity
from aucross.core.cautious import largest_that
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.coverage_for import HeldOutAnswers
from aucross.estimators.decisions import Decisions
from aucross.estimators.doubts import warn_if_nothing_rejected, warn_if_out_of_reach
from aucross.estimators.fitted import Fitted, unlike_rows
from aucross.estimators.labels import check_reject_label
from aucross.estimators.reasons import Names, Reason, Wording, column_reasons
from aucross.estimators.recalibrate import known_labels, label_shift_of, place_again, refuse_too_few, score_unlabelled
from aucross.estimators.review import ReviewQueue, check_ids, order_of, queue_of
from aucross.estimators.types import Column, Labels, Table


class Deciding(HeldOutAnswers):
    """Base that decides on scored rows."""

    @abstractmethod
    def _review_facts(
        self, fitted: Fitted, rows: ScoredRows, rejected: IndexArray, rule: BandRule, wording: Wording
    ) -> ReviewQueue:
        """Collect the facts that reviewers are told about rejected rows, for rows that share one rule."""

    def decide(
        self,
        X: Table,
        coverage: float | None = None,
        band_groups: Column = None,
        *,
        capacity: int | None = None,
        ids: Column = None,
        capacity_weight: float | None = None,
        unfamiliar: Literal["review"] | None = None,
    ) -> Decisions:
        """Decide for each row whether to use its prediction, given a coverage or a capacity.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default. One fit serves any value.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group; an unseen group is an error.
        capacity : int, optional
            Reject exactly this many rows, or all if there are fewer; 0 rejects none. Excludes `coverage`.
        ids : array-like of shape (n_samples,), optional
            Distinct ids to write into the table of decisions. With a `capacity` they also decide between rows of equal
            score; without ids their position decides.
        capacity_weight : float, optional
            Reject rows up to this total weight, such as the amount of money that people can review. Needs scored rows
            with weights. Excludes `coverage` and `capacity`.
        unfamiliar : "review", optional
            Send rows to a person if they are unlike the fitted rows: a new category, a number outside the usual range,
            or a missing value in a column that never had one. X must be a frame; excludes a capacity.

        Returns
        -------
        Decisions
            A table: prediction, score, the score on which the band lies, decision and band of each row; with a
            capacity the order of review and a reason for each rejected row.
        """
        fitted = self._state()
        unlike = None if unfamiliar is None else unlike_rows(fitted, X, unfamiliar, capacity, capacity_weight)
        rows = self._scored(fitted, X, band_groups=band_groups)
        names = None if ids is None else check_ids(ids, len(rows))
        if capacity_weight is not None:
            capacity = _rows_within(fitted.rule, rows, capacity_weight, capacity, names)
        if capacity is not None:
            return self._decide_by_capacity(fitted, rows, capacity, coverage, names, X=X)
        in_force = check_coverage(self.coverage if coverage is None else coverage)
        if coverage is not None:  # `fit` warns of its own
            warn_if_out_of_reach(fitted.rule, in_force, fitted.n_placing_rows, ties_are_split=fitted.ties_are_split)
        score, lower, upper = bands = fitted.rule.bands_of(rows.rule_input, in_force)
        decided = (bands.selected, score, in_force, lower, upper)
        decisions = Decisions(*decided, scored=rows, id=names, decided_by=fitted.rule)
        return decisions if unlike is None else decisions.with_unfamiliar(unlike)

    def _decide_by_capacity(
        self, fitted: Fitted, rows: ScoredRows, capacity: int, coverage: Any, ids: Labels | None, *, X: Table
    ) -> Decisions:
        if coverage is not None:
            raise ValueError(
                f"coverage and capacity must not both be given, got {coverage!r} and {capacity!r}; leave out one"
            )
        queue = self._review(fitted, rows, capacity, ids, X=X)
        selected, rank = np.ones(len(rows), dtype=bool), np.full(len(rows), -1)
        selected[queue.row] = False
        rank[queue.row] = np.arange(len(queue))
        reason = np.full(len(rows), "", dtype=object)
        reason[queue.row] = queue.reason
        return Decisions(
            selected,
            fitted.rule.selection_score(rows.rule_input, self.coverage),
            capacity=check_capacity(capacity),
            rank=rank,
            reason=tuple(reason.tolist()),
            scored=rows,
            id=ids,
            decided_by=fitted.rule,
        )

    def _review(
        self,
        fitted: Fitted,
        rows: ScoredRows,
        capacity: int,
        ids: Labels | None,
        *,
        X: Table,
        class_names: Names = None,
    ) -> ReviewQueue:
        """Return the rows to review, in order; a capacity is a number of rows, whatever their weights."""
        is_rejected = np.zeros(len(rows), dtype=bool)
        is_rejected[_order_of_rejection(fitted.rule, rows, ids)(check_capacity(capacity))] = True
        if not len(rows):
            nothing = np.empty(0)
            return ReviewQueue(np.empty(0, dtype=np.intp), nothing, nothing, nothing, (), id=ids)
        return self._told_of(fitted, rows, is_rejected, X=X, ids=ids, wording=Wording(class_names))

    def _told_of(
        self,
        fitted: Fitted,
        rows: ScoredRows,
        is_rejected: NDArray[np.bool_],
        *,
        X: Table,
        ids: Labels | None = None,
        wording: Wording,
    ) -> ReviewQueue:
        """Return rows in the order of review, each with a reason; the reason mentions columns if X is a table."""
        parts = []
        for part, rule in fitted.rule.parts(replace(rows.rule_input, sample_weight=None)):
            rejected = np.flatnonzero(is_rejected[part])
            in_batch = np.arange(len(rows))[part][rejected]
            told = self._review_facts(fitted, rows.take(part), rejected, rule, wording.take(in_batch))
            parts.append(replace(told, row=in_batch))
        queue = queue_of(parts, ids)
        toward = None if queue.gate_probability is None else queue.gate_probability - queue.probability
        columns = column_reasons(fitted, X, rows.score, queue.row, ~is_rejected, toward=toward)
        reasons = (Reason(more).after(reason) for reason, more in zip(queue.reason, columns, strict=True))
        return replace(queue, reason=tuple(reasons))

    def reasons(self, decisions: Decisions, X: Table = None, *, class_names: Names = None) -> tuple[str, ...]:
        """Return why each rejected row goes to a person; an empty reason for selected rows.

        Parameters
        ----------
        decisions : Decisions
            Decisions of this classifier, or of a :class:`~aucross.CoverageKeeper` around it.
        X : array or frame of shape (n_samples, n_features), optional
            The rows. If they are given, each reason names the columns in which the case is unlike automatic ones.
        class_names : mapping of label to str, optional
            Readable names of the classes.

        Returns
        -------
        tuple of str
            One sentence for each rejected row, ``""`` for each selected one.
        """
        fitted, rows = self._state(), decisions.scored
        if rows is None:
            raise ValueError("decisions must come with their scored rows, got none; pass what decide(X) returned")
        fitted.check_own(rows)
        texts = list(decisions.unfamiliar or [""] * len(decisions))
        rejected = ~(decisions.selected if decisions.would_be is None else decisions.would_be)
        if not rejected.any():
            return tuple(texts)
        ends = None if decisions.lower is None or decisions.upper is None else (decisions.lower, decisions.upper)
        queue = self._told_of(fitted, rows, rejected, X=X, wording=Wording(class_names, ends))
        for row, reason in zip(queue.row.tolist(), queue.reason, strict=True):
            texts[row] = Reason(reason).after(texts[row])
        return tuple(texts)

    # ---- the selection: which answers to use ----

    def band(self, coverage: float | None = None, band_group: Any = None) -> RejectionBand:
        """Return the band of rejected selection scores.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.
        band_group : label, optional
            The group whose band to return, if the bands were fitted per group.
        """
        return self._state().rule.band(self.coverage if coverage is None else coverage, band_group)

    def select(
        self,
        X: Table,
        coverage: float | None = None,
        band_groups: Column = None,
        *,
        capacity: int | None = None,
        ids: Column = None,
        capacity_weight: float | None = None,
    ) -> NDArray[np.bool_]:
        """Say for each row whether its prediction should be used.

        Parameters
        ----------
        X, coverage, band_groups, capacity, ids, capacity_weight
            As for :meth:`decide`.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            True where the prediction should be used, False where the row goes to a person.
        """
        return self.decide(
            X, coverage, band_groups, capacity=capacity, ids=ids, capacity_weight=capacity_weight
        ).selected

    def review_queue(
        self,
        X: Table,
        capacity: int,
        *,
        ids: Column = None,
        band_groups: Column = None,
        class_names: Names = None,
        keep: Sequence[Any] = (),
    ) -> ReviewQueue:
        """List the rows that a person should review, most valuable first, each with a reason.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            The rows at hand, today's cases for instance.
        capacity : int
            Number of rows that can be reviewed; all rows are listed if there are fewer.
        ids : array-like of shape (n_samples,), optional
            Distinct ids to write into the queue; they also decide between rows of equal score or worth.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group. Groups share the capacity in proportion to size.
        class_names : mapping of label to str, optional
            Readable names of the classes, such as ``{0: "paid", 1: "default"}``.
        keep : sequence of column names, optional
            Columns of X to show beside each case.

        Returns
        -------
        ReviewQueue
            The rows that ``select(X, capacity=capacity)`` rejects.

        Notes
        -----
        The AUC methods take rows with neighbouring scores, chosen so that the other rows of this batch have the highest
        expected AUC; with a gate or more than two classes they take the rows of lowest influence. The confidence
        methods take the least confident rows. With ``nested=True`` rows are taken in an order that does not depend on
        the capacity, so a larger capacity only adds rows.

        If X is a pandas or polars frame or an array, each reason names the columns in which the case is unlike the
        automatic cases of this batch; :mod:`aucross.estimators.reasons` explains how they are found.
        """
        fitted = self._state()
        rows = self._scored(fitted, X, band_groups=band_groups)
        names = None if ids is None else check_ids(ids, len(rows))
        queue = self._review(fitted, rows, capacity, names, X=X, class_names=class_names)
        return queue.with_columns(X, keep)

    def recalibrate(
        self,
        X: Table,
        y: Column = None,
        *,
        label_shift: bool = False,
        sample_weight: Column = None,
        band_groups: Column = None,
    ) -> Self:
        """Place the bands again on other rows, such as last month's cases, with or without labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), ScoredRows, RankedScores or iterator of batches
            At least 20 rows (in each group that has any), and enough rows to reject one of them at the default
            coverage. An iterator, such as a generator that reads a file, gives batches; only their scores are kept. A
            batch is a table or a tuple ``(X, sample_weight, band_groups)``. A ranking holds the numbers of rows at each
            score, counted elsewhere; their labels do not matter.
        y : array-like of shape (n_samples,), optional
            Labels of the rows, None or NaN where they are unknown. A row without a label counts with the probability
            that the fit gives to its score. Needs X as one table.
        label_shift : bool, default=False
            Whether the share of positives may have changed since the fit while positives and negatives each still look
            as before. The share is then estimated from the scores, and the probabilities are corrected.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the coverage.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group; groups without rows keep their bands.

        Returns
        -------
        SelectiveClassifier
            A copy with other bands and the same model; the original is unchanged. The copy keeps the rule of the fit,
            from which another recalibration of the copy starts. With `label_shift`, its ``fitted_.label_shift`` holds
            the estimated share of positives (of each class, if there are more than two), or None if the bands do not
            depend on such shares. If the scores contradict a pure change of shares, a warning says so.

        Notes
        -----
        Coverage depends on the scores alone, and the best band depends on labels only through the probability of the
        positive class at each score. So the AUC methods score the new rows, weight them by their labels or the fitted
        probabilities, and search again. Confidence methods take the new quantile, and a centred band keeps the score of
        its centre. On the given rows the coverage is exact, up to ties.
        """
        fitted = self._state()
        if not isinstance(label_shift, bool | np.bool_):
            raise ValueError(f"label_shift must be True or False, got {label_shift!r}")
        known = None if y is None else known_labels(y, X, fitted.classes)
        if isinstance(X, RankedScores):
            X = fitted.scored_ranking(X)
        rows = score_unlabelled(partial(self._scored, fitted), X, sample_weight, band_groups)
        refuse_too_few(rows, self.coverage)
        # From the rule of the fit, also when called again: probabilities read off a batch would only lose.
        rule_of_fit = fitted.rule if fitted.rule_of_fit is None else fitted.rule_of_fit
        rule = place_again(rule_of_fit, rows, known, label_shift=label_shift)
        recalibrated = copy(self)
        recalibrated.fitted_ = replace(
            fitted,
            rule=rule,
            rule_of_fit=rule_of_fit,
            label_shift=label_shift_of(fitted.held_out, fitted.reader, rows) if label_shift else None,
            n_placing_rows=rows.n_effective,
        )
        warn_if_nothing_rejected(rule, self.coverage)
        warn_if_out_of_reach(rule, self.coverage, rows.n_effective, ties_are_split=fitted.ties_are_split)
        return recalibrated

    def predict_selective(
        self, X: Table, coverage: float | None = None, reject_label: Any = None, band_groups: Column = None
    ) -> Labels:
        """Return the labels as one column in which rejected rows are marked.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to label.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.
        reject_label : label, optional
            Mark of rejected rows: a value of the same type as the labels, but not one of them. By default -1 for
            integer and ``"reject"`` for string labels; for other types it must be given.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels and marks, in the type of the labels.
        """
        decisions = self.decide(X, coverage, band_groups)
        assert decisions.scored is not None
        reject_label = check_reject_label(reject_label, np.sort(decisions.scored.classes))
        labels = decisions.scored.predicted
        # Strings of fixed width would be cut off without the wider type; numbers keep theirs.
        is_fixed_width = labels.dtype.kind == "U"
        marked = labels.astype(np.result_type(labels, np.asarray(reject_label)) if is_fixed_width else labels.dtype)
        marked[~decisions.selected] = reject_label
        return marked


def _order_of_rejection(rule: BandRule, rows: ScoredRows, ids: Labels | None) -> Callable[[int], IndexArray]:
    """Return a function that lists the positions of the rows to reject at a capacity; ids break ties."""
    order = np.arange(len(rows)) if ids is None else order_of(ids)
    unweighted = replace(rows.rule_input.without_noise(), sample_weight=None)
    return lambda capacity: rule.rows_to_reject(unweighted, capacity, order)


def _rows_within(rule: BandRule, rows: ScoredRows, weight: Any, capacity: Any, ids: Labels | None) -> int:
    """Return the largest number of rows to reject whose total weight is at most `weight`."""
    if capacity is not None:
        raise ValueError(
            f"capacity and capacity_weight must not both be given, got {capacity!r} and {weight!r}; leave out one"
        )
    if not isinstance(weight, Real) or isinstance(weight, bool) or not float(weight) >= 0:
        raise ValueError(f"capacity_weight must be a weight of at least 0, got {weight!r}; 0 rejects no row")
    if (of_rows := rows.sample_weight) is None:
        raise ValueError(
            "capacity_weight must be None for rows without weights; pass clf.scored(X, sample_weight=amount)"
        )
    rejected = _order_of_rejection(rule, rows, ids)
    return largest_that(lambda capacity: bool(of_rows[rejected(capacity)].sum() <= float(weight)), len(rows))
