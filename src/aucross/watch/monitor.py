"""Drift alarm that needs no labels: a sequential test of the selected share after every batch of an endless stream.

::

    X_batch ──► select ──► selected share ──► sequential test ──► evidence ──► alarm at 1 / false_alarm
            └─► score  ──► deciles ──► population stability index
    X, y    ──► select ──► pairs of selected rows ──► sequential test of the selective AUC   (when labels arrive)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.bands import check_auc, check_coverage
from aucross.core.ranking import FloatArray, RankedScores, check_scores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import check_classifier
from aucross.estimators.decisions import Decisions
from aucross.frames import count_rows
from aucross.system.text import json_ready
from aucross.watch.drift_reference import (
    Reference,
    Tolerance,
    check_false_alarm,
    check_tolerance,
    ranked_rows,
    reference_from,
    watched_scores,
)
from aucross.watch.drift_reports import AUCReport, CoverageReport, RateReport
from aucross.watch.sequential import SequentialMeanTest, paired_outcomes

# Labels of one class may come long before the other's; no more unpaired scores than this are kept.
MAX_UNPAIRED = 10_000

# What is told of each test.
_SHOWN = (
    *("n_batches", "n_values", "mean", "low", "high", "evidence"),
    *("alarm_at", "alarm", "alarm_batch", "direction", "drift_since"),
)

# Batches in a row that reject the same number of rows, from which on a capacity is taken to decide.
SAME_NUMBERS = 8


@dataclass(frozen=True)
class _Run:
    """State of a run, in plain numbers; each update replaces it.

    `tests` holds the tests that have a reference: of the selected share (coverage), the AUC, the share of positives
    (base_rate), and the share of positives minus the mean probability (calibration). `counts` holds the number of
    scores in each bin, by name of the score. `unpaired` scores wait for a row of the other class.
    """

    tests: Mapping[str, SequentialMeanTest]
    counts: Mapping[str, tuple[int, ...]]
    unpaired: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())  # of positives and of negatives
    last_rejected: int = -1  # rows rejected in the last batch
    same_rejected: int = 0  # batches in a row that rejected as many

    @classmethod
    def new(cls, reference: Reference) -> _Run:
        limits = {"coverage": reference, "auc": reference.auc, "base_rate": reference.base_rate}
        given = {name: each for name, each in limits.items() if each is not None}
        tests = {name: SequentialMeanTest(each.low, each.high, each.level) for name, each in given.items()}
        if (rate := reference.base_rate) is not None and reference.is_calibrated:
            # The difference lies between -1 and 1 and is 0 without drift; half of it and a half lies between 0 and 1.
            # What the held-out rows leave open of the share of positives they leave open of the difference at most.
            low, high = ((1 + limit - rate.expected) / 2 for limit in (rate.low, rate.high))
            tests["calibration"] = SequentialMeanTest(low, high, rate.level)
        return cls(tests, {name: (0,) * len(bins.expected) for name, bins in reference.bins.items()})

    def after(self, name: str, test: SequentialMeanTest, **others: Any) -> _Run:
        """Return the run with one test and other fields replaced."""
        return replace(self, tests={**self.tests, name: test}, **others)


class CoverageMonitor:
    """Watch the selected share of a stream, and the selective AUC once labels arrive, and raise an alarm on drift.

    Each batch updates the evidence for drift, which may be checked at any time: the probability that a run without
    drift *ever* raises an alarm is at most `false_alarm`, however long the run. The test of the selected share needs no
    labels. Reports also show the population stability index and the score deciles of the batch, which raise no alarm.

    Parameters
    ----------
    clf : SelectiveClassifier
        The fitted classifier whose decisions are watched. It is not changed.
    coverage : float in (0, 1], optional
        The coverage in use; the classifier's by default.
    false_alarm : float in (0, 1), default=0.05
        Largest probability of an alarm in an unlimited run without drift, for each of the tests: of the selected share
        and, with labels, of the AUC, the share of positives and the calibration.
    tolerance : "auto" or float in [0, 1), default="auto"
        How far the selected share may be from the target without drift. ``"auto"`` computes it from the number of
        reference rows, since a band placed on few rows misses the target by chance; see Notes.
    auc : float in (0, 1], optional
        AUC of the selected rows without drift; by default their AUC on the held-out rows.
    auc_tolerance : "auto" or float in [0, 1), default="auto"
        How far the AUC may be below `auc`. ``"auto"`` allows for the lower bound that the held-out rows support (as in
        :func:`~aucross.evaluation.promise_selective`), and means 0 if `auc` is given.
    base_rate : float in (0, 1), optional
        Share of positives among selected rows without drift; by default the share on the held-out rows.
    base_rate_tolerance : "auto" or float in [0, 1), default="auto"
        How far the share of positives may be from `base_rate`. ``"auto"`` computes it from the number of held-out rows,
        and means 0 if `base_rate` is given.
    reference : array-like or frame of shape (n_samples, n_features), optional
        Rows without drift to compare with, instead of the held-out rows: `X_new` after ``new =
        clf.recalibrate(X_new)``. Labels are not needed; pass `auc` if labels will arrive later.
    reference_groups : array-like of shape (n_samples,), optional
        Groups of the rows in `reference`, if the bands were fitted per group.

    Attributes
    ----------
    clf : SelectiveClassifier
        The classifier.
    reference : Reference
        Limits and deciles that the stream is compared with.

    See Also
    --------
    aucross.watch.sequential.SequentialMeanTest : The test, and why it may be checked after every batch.

    Notes
    -----
    "No drift" means: given all earlier rows, the next row is selected with a probability between ``reference.low`` and
    ``reference.high``; it may change between these limits. Rows of a batch must be independent given the past. Every
    row counts once; for a classifier fitted with weights, the target is the unweighted selected share of the held-out
    rows. The page on drift explains the effect of seasons, clusters, a capacity and late labels on the tests.

    With ``tolerance="auto"`` half of `false_alarm` is the probability that the limits miss the true share. The limits
    are Beta intervals around the target and around the share of the reference rows, which ties, costs and safety
    margins may put above the target. They hold for bands placed on rows that the scoring model has not seen.
    Cross-fitted bands are placed on scores of fold models; if there are few distinct scores, the limits allow for the
    variance of the share between fold models. Bands per group share one interval, which holds while the groups keep
    their shares of the rows.

    :func:`aucross.record.watch` computes the run from a record; without a record, pickle the monitor to keep it. An
    alarm stays on until :meth:`reset` starts a new run with its own false-alarm probability. Not thread-safe.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import PlugInAUC
    >>> from aucross.watch.monitor import CoverageMonitor
    >>> X, y = make_classification(12000, flip_y=0.3, random_state=0)
    >>> clf = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0).fit(X[:8000], y[:8000])
    >>> monitor = CoverageMonitor(clf)
    >>> monitor.update(X[8000:9000]).alarm
    False
    >>> report = monitor.update(0.7 * X[9000:11000])
    >>> print(report.alarm, report.direction)
    True below
    """

    def __init__(
        self,
        clf: Any,
        *,
        coverage: float | None = None,
        false_alarm: float = 0.05,
        tolerance: Tolerance = "auto",
        auc: float | None = None,
        auc_tolerance: Tolerance = "auto",
        base_rate: float | None = None,
        base_rate_tolerance: Tolerance = "auto",
        reference: Any = None,
        reference_groups: Any = None,
    ) -> None:
        self.clf = check_classifier(clf)
        self.reference = reference_from(
            self.clf,
            coverage=check_coverage(clf.coverage if coverage is None else coverage),
            false_alarm=check_false_alarm(false_alarm),
            tolerance=check_tolerance(tolerance, "tolerance"),
            auc=None if auc is None else check_auc(auc),
            auc_tolerance=check_tolerance(auc_tolerance, "auc_tolerance"),
            base_rate=None if base_rate is None else check_coverage(base_rate, name="base_rate"),
            base_rate_tolerance=check_tolerance(base_rate_tolerance, "base_rate_tolerance"),
            rows=reference,
            band_groups=reference_groups,
        )
        self._band_rule = clf.band_rule_
        self._run = _Run.new(self.reference)

    def __repr__(self) -> str:
        return (
            f"CoverageMonitor({type(self.clf).__name__}, coverage={self.reference.coverage:g}, "
            f"{self._run.tests['coverage'].n_batches} batches, {'ALARM' if self.alarm else 'no alarm'})"
        )

    @property
    def alarm(self) -> bool:
        """Whether any test has given an alarm in this run: selected share, AUC, base rate or calibration."""
        return any(test.alarm for test in self._run.tests.values())

    coverage_alarm = property(lambda self: self._has_alarm("coverage"), doc="Whether the selected share gave an alarm.")
    auc_alarm = property(lambda self: self._has_alarm("auc"), doc="Whether the AUC of the selected rows gave one.")
    base_rate_alarm = property(lambda self: self._has_alarm("base_rate"), doc="Whether their share of positives did.")
    calibration_alarm = property(
        lambda self: self._has_alarm("calibration"), doc="Whether labels have left the probabilities of their scores."
    )

    def _has_alarm(self, name: str) -> bool:
        return name in self._run.tests and self._run.tests[name].alarm

    def reset(self) -> None:
        """Start a new run: nothing seen, no evidence, no alarm. The reference stays."""
        self._run = _Run.new(self.reference)

    # ---- without labels ----

    def update(self, X: Any, band_groups: Any = None) -> CoverageReport:
        """Add a batch of rows, labelled or not.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows of the batch, as passed to the classifier; pass each row only once.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        CoverageReport
            Shares, evidence, alarm, stability index and deciles; ``print(report)`` shows a sentence. A batch
            without rows changes nothing.
        """
        if _n_rows(X) == 0:  # most models refuse to score no rows
            return self._add(np.empty(0, dtype=bool), {name: np.empty(0) for name in self.reference.bins})
        rows, decisions = self._decide(X, band_groups)
        return self._add(decisions.selected, watched_scores(rows, decisions, self.clf.band_rule_))

    def update_selected(self, selected: Any, scores: Any = None) -> CoverageReport:
        """Add a batch of logged decisions, without scoring the rows again.

        Parameters
        ----------
        selected : array-like of shape (n_samples,), bool, or Decisions
            Whether each row was selected. Decisions by a capacity are refused, because a capacity fixes the selected
            share. A :class:`~aucross.CoverageKeeper` fixes it, too: its rows are decided again by the band of the fit.
        scores : array-like of shape (n_samples,), optional
            Scores of the positive class (with more than two classes, selection scores) for the stability index.

        Returns
        -------
        CoverageReport
            As from :meth:`update`, but without a stability index if no scores are given.
        """
        mask = _check_mask(self._selected_of(selected))
        name = next(iter(self.reference.bins))
        return self._add(mask, {} if scores is None else {name: check_scores(scores, len(mask), name="scores")})

    def _selected_of(self, decided: Any) -> Any:
        """Return the rows selected by the band of the fit; refuse decisions by a capacity."""
        if not isinstance(decided, Decisions):
            return decided
        if decided.capacity is not None:
            raise ValueError(
                f"selected must be decided by a coverage, got decisions by a capacity of {decided.capacity}: it fixes "
                "the selected share, drift or no drift; pass decide(X) without a capacity, or the rows to update(X)"
            )
        is_kept = decided.level is not None and decided.scored is not None
        return self._decide(decided.scored, None)[1].selected if is_kept else decided.selected

    def _add(self, selected: NDArray[np.bool_], scores: Mapping[str, FloatArray]) -> CoverageReport:
        test = self._run.tests["coverage"].after_counts(int(selected.sum()), len(selected))
        bins = self.reference.bins
        counts = {name: bins[name].counts(values) for name, values in scores.items()}
        in_run = {
            name: tuple((np.array(before) + counts.get(name, 0)).tolist()) for name, before in self._run.counts.items()
        }
        self._run = self._with_rejected(selected).after("coverage", test, counts=in_run)
        stability, of_run = (
            {name: bins[name].compare(count) for name, count in found.items()} for found in (counts, in_run)
        )
        target = self.reference.share if self.reference.is_weighted else self.reference.coverage
        told: dict[str, Any] = {"n": len(selected), "selected": int(selected.sum()), "target": target}
        return CoverageReport.of(test, **told, stability=stability, run_stability=of_run)

    def _with_rejected(self, selected: NDArray[np.bool_]) -> _Run:
        """Store the number of rejected rows; warn if it is the same in many batches, which suggests a capacity."""
        if not len(selected):
            return self._run
        rejected, low = int((~selected).sum()), self.reference.low
        same = self._run.same_rejected + 1 if rejected == self._run.last_rejected else 1
        # Where the number would vary by itself, so many equal ones in a row do not happen.
        if same == SAME_NUMBERS and rejected and len(selected) * low * (1 - low) >= 4:
            warnings.warn(
                f"{SAME_NUMBERS} batches in a row have rejected {rejected} rows each: a capacity decides here, and "
                "then the selected share says nothing about drift; watch update(X), which decides by the coverage",
                UserWarning,
                stacklevel=4,
            )
        return replace(self._run, last_rejected=rejected, same_rejected=same)

    # ---- with labels ----

    def update_labels(self, X: Any, y: Any, band_groups: Any = None) -> AUCReport:
        """Add rows whose labels have become known, whether or not they were given to :meth:`update` before.

        Parameters
        ----------
        X, band_groups
            As for :meth:`update`; rejected rows are ignored here.
        y : array-like of shape (n_samples,)
            Labels of these rows.

        Returns
        -------
        AUCReport
            AUC, evidence and alarm; ``print(report)`` shows a sentence.
        """
        self._check_auc_is_tested()
        positive = self._positive(y, _n_rows(X))
        if not len(positive):
            return self._add_labels(positive, positive, np.empty(0))
        rows, decisions = self._decide(X, band_groups)
        return self._add_labels(positive, decisions.selected, rows.score)

    def update_labels_selected(self, y: Any, selected: Any, scores: Any) -> AUCReport:
        """Add labels of logged decisions with their selection and scores, without scoring the rows again.

        The report is the same as from :meth:`update_labels`.
        """
        self._check_auc_is_tested()
        mask = _check_mask(selected)
        return self._add_labels(self._positive(y, len(mask)), mask, check_scores(scores, len(mask), name="scores"))

    def _add_labels(self, positive: NDArray[np.bool_], selected: NDArray[np.bool_], scores: FloatArray) -> AUCReport:
        run, reference = self._run, self.reference
        assert reference.auc is not None
        positives, negatives = scores[selected & positive], scores[selected & ~positive]
        waiting = [np.concatenate(pair) for pair in zip(run.unpaired, (positives, negatives), strict=True)]
        outcomes = paired_outcomes(*waiting)
        # Whoever met somebody is used up; what waits on is the class whose other class is missing. Numbers alone
        # decide what is left out, never the scores: that keeps the outcomes fair.
        unpaired = tuple(() if len(outcomes) else tuple(part[-MAX_UNPAIRED:].tolist()) for part in waiting)
        test = run.tests["auc"].after(outcomes)
        further = self._label_reports(positive[selected], scores[selected])
        self._run = self._run.after("auc", test, unpaired=unpaired)
        auc = RankedScores.from_labels(positive[selected], scores[selected]).auc() if selected.any() else nan
        told: dict[str, Any] = {"auc": auc, "expected": reference.auc.expected, "n_outcomes": len(outcomes), **further}
        sizes = {"n": len(positive), "n_positive": len(positives), "n_negative": len(negatives)}
        return AUCReport.of(test, **sizes, **told)

    def _label_reports(self, positive: NDArray[np.bool_], scores: FloatArray) -> dict[str, RateReport | None]:
        """Test the share of positives of selected rows, and its difference from the mean calibrated probability."""
        tests, rate = self._run.tests, self.reference.base_rate
        reports: dict[str, RateReport | None] = {"base_rate": None, "calibration": None}
        if rate is not None:
            test = tests["base_rate"].after_counts(int(positive.sum()), len(positive))
            self._run = self._run.after("base_rate", test)
            reports["base_rate"] = RateReport.of(test, positive, rate.expected)
        if "calibration" in tests:
            difference = positive - self._probabilities.probability_at(scores) if len(scores) else np.empty(0)
            test = tests["calibration"].after((1 + difference) / 2)
            self._run = self._run.after("calibration", test)
            reports["calibration"] = RateReport.of(test, difference)
        return reports

    @cached_property
    def _probabilities(self) -> RankedScores:
        """Calibrated probability of a positive at each score, from the held-out rows."""
        return ranked_rows(self.clf.held_out_).isotonic()

    def _check_auc_is_tested(self) -> None:
        if len(self.clf.classes_) > 2:
            raise ValueError(
                f"the AUC is watched for two classes only, got a classifier with {len(self.clf.classes_)}; update(X) "
                "watches its coverage"
            )
        if "auc" not in self._run.tests:
            raise ValueError(
                f"the held-out rows selected at coverage {self.reference.coverage:g} have too few rows of a class for "
                "an AUC to compare with; pass it: CoverageMonitor(clf, auc=0.8)"
            )

    def _positive(self, y: Any, n_rows: int) -> NDArray[np.bool_]:
        """Return whether each label is the positive class; refuse labels that are no class of the classifier."""
        labels = np.asarray(y)
        if labels.shape != (n_rows,):
            raise ValueError(f"y must hold one label per row, got shape {labels.shape} for {n_rows} rows")
        classes = self.clf.fitted_.classes.tolist()
        unknown = [label for label in labels.tolist() if label not in classes]
        if unknown:
            raise ValueError(
                f"y must hold only the classes {classes}, got {unknown[0]!r} in {len(unknown)} of {n_rows} rows; pass "
                "the rows whose labels are known"
            )
        return np.array([label == classes[1] for label in labels.tolist()], dtype=bool)

    def _decide(self, X: Any, band_groups: Any) -> tuple[ScoredRows, Decisions]:
        if self.clf.band_rule_ is not self._band_rule:
            raise ValueError("the classifier was fitted again since this run began; make a new CoverageMonitor(clf)")
        rows = self.clf.scored(X, band_groups=band_groups)
        return rows, self.clf.decide(rows, self.reference.coverage)

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the run and its reference, ready for JSON; undefined numbers are None."""
        tests = {
            name: {part: json_ready(getattr(test, part)) for part in _SHOWN} for name, test in self._run.tests.items()
        }
        return {
            "coverage": self.reference.coverage,
            "alarm": self.alarm,
            "tests": {name: tests.get(name) for name in ("coverage", "auc", "base_rate", "calibration")},
            "reference": json_ready(asdict(self.reference)),
        }


def _n_rows(X: Any) -> int:
    n_rows = count_rows(X)
    if n_rows is None:
        raise TypeError(
            f"X must be a table of rows, got {type(X).__name__}; pass the rows of the batch, none of them as X[:0]"
        )
    return n_rows


def _check_mask(selected: Any) -> NDArray[np.bool_]:
    mask = np.asarray(selected)
    if mask.ndim != 1:
        raise ValueError(f"selected must be 1-d, got shape {mask.shape}")
    if mask.dtype != np.bool_ and not np.isin(mask, (0, 1)).all():
        raise ValueError("selected must be boolean or 0/1, got other values; pass True for selected rows")
    return mask.astype(bool)
