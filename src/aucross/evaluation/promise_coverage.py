"""The highest coverage whose AUC can be promised; the confidence allows for searching it on the test rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import check_auc, check_coverage
from aucross.core.bounds import has_weights
from aucross.evaluation.inputs import Weights, check_two_classes, customer_numbers, label_rows, row_weights
from aucross.evaluation.promise import Promise, bound_of, check_confidence, share_of_fit
from aucross.evaluation.ranked_selection import BinarySelections
from aucross.system.notebook import result_html
from aucross.system.text import down, exact_percent, json_ready, percent_down, plural

# Coverages that are tried, lowest first. Their number is what the bound of the coverage has to pay for.
COVERAGES = tuple(round(0.3 + 0.01 * step, 2) for step in range(71))

# Of the probability of a wrong statement this share is for the coverage, which costs little; the rest is for the AUC.
COVERAGE_SHARE = 0.2

# Held-out rows of a class that must be selected where the walk starts: with fewer the AUC there is a matter of chance.
_FEWEST_AT_START = 10


class TriedCoverage(NamedTuple):
    """One step: target and achieved coverage, AUC of the selected rows, lower bound of the AUC, whether it passed."""

    target_coverage: float
    achieved_coverage: float
    selective_auc: float
    auc_at_least: float
    passed: bool


@dataclass(frozen=True, kw_only=True)
class CoveragePromise(Promise):
    """The highest coverage that passed the test of its AUC; ``str()`` gives it in a sentence.

    Attributes
    ----------
    auc : float
        The AUC to promise, fixed beforehand.
    target_coverage : float
        The highest coverage to ask the classifier for; NaN if none can be promised.
    coverage_at_least : float
        Lower bound of the share of new rows selected at this target; NaN if none can be promised.
    start : float
        The coverage at which the search began, chosen from the held-out rows of the fit.
    tried : tuple of TriedCoverage
        All steps in order; the last one failed, unless the search reached coverage 1. The other fields describe
        `target_coverage`.
    """

    auc: float
    target_coverage: float
    coverage_at_least: float
    start: float
    tried: tuple[TriedCoverage, ...]

    @property
    def is_supported(self) -> bool:
        """Whether any coverage can be promised."""
        return self.share_of_fit == 0 and not isnan(self.target_coverage)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and the sentence, ready for JSON; undefined numbers are None."""
        return super().to_dict() | {"tried": json_ready([step._asdict() for step in self.tried])}

    def _repr_html_(self) -> str:
        rows = [{**step._asdict(), "passed": "yes" if step.passed else "no"} for step in self.tried[-5:]]
        return result_html(str(self), rows)

    def _sentence(self) -> str:
        rows = f"{self.n_rows:,} test {plural('row', self.n_rows)}"
        if isnan(self.target_coverage):
            return (
                f"No coverage from {exact_percent(self.start)} up can be promised to have an AUC of at least "
                f"{down(self.auc)}, {self._with_confidence} ({rows})."
            )
        return (
            f"At a target coverage of {exact_percent(self.target_coverage)}, at least "
            f"{percent_down(self.coverage_at_least)} {self._of_cases} decided automatically, and an AUC of at least "
            f"{down(self.auc)} among them, {self._with_confidence}; the highest coverage for which these rows show it "
            f"({rows}; {self._automatic})."
        )


def promise_coverage(
    clf: Any,
    X: Any,
    y: ArrayLike,
    *,
    auc: float,
    confidence: float = 0.95,
    start: float | None = None,
    sample_weight: Weights = None,
    band_groups: Any = None,
    customers: Any = None,
    allow_fit_rows: bool = False,
) -> CoveragePromise:
    """Find the highest coverage at which an AUC can be promised; the confidence allows for the search on these rows.

    Parameters
    ----------
    clf, X, y, sample_weight, band_groups, customers, allow_fit_rows
        As in :func:`promise_selective`.
    auc : float in (0, 1]
        The AUC that the selected rows must have, fixed before looking at these rows.
    confidence : float in [0.5, 1), default=0.95
        Probability with which the whole statement is true of new rows.
    start : float in (0, 1], optional
        The lowest coverage to try, fixed before looking at these rows. By default the coverage that is most likely to
        pass, judged by the held-out rows of the fit.

    Returns
    -------
    CoveragePromise
        ``print`` shows the sentence.

    See Also
    --------
    promise_selective : The bounds at one coverage, fixed beforehand.
    aucross.SelectiveClassifier.coverage_for : An estimate from the held-out rows, without a promise.

    Notes
    -----
    Coverages are tested upwards from `start` in steps of .01, each at the full level, until one fails. Such a sequence
    needs no correction for the number of tests (Maurer, Hothorn and Lehmacher, 1995; the proof is on the page on the
    mathematics), as long as the bands, their order and the start come from the fit. The bound of the coverage holds at
    all coverages together, by Bonferroni's inequality; it uses a fifth of the probability of being wrong.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.evaluation import promise_coverage
    >>> X, y = make_classification(8000, class_sep=0.7, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:4000], y[:4000])
    >>> promise = promise_coverage(clf, X[4000:], y[4000:], auc=0.92)
    >>> print(promise)
    At a target coverage of ... %, at least ... % of cases decided automatically, and an AUC of at least .920 among ...
    """
    check_two_classes(clf, "for one class against the rest fit a classifier of y == clf.classes_[k]")
    target_auc = check_auc(auc)
    level = check_confidence(confidence)
    rows = label_rows(clf, X, y, sample_weight=sample_weight, band_groups=band_groups, warns=False)
    share = share_of_fit(clf, X, rows, allowed=allow_fit_rows)
    weight = row_weights(rows.sample_weight, len(rows))
    used, units = weight > 0, customer_numbers(customers, len(rows))
    ranked = BinarySelections(rows.positive, rows.score, rows.positive, {}, weight / weight.max(), units).with_weight()
    first = likeliest_start(clf, target_auc, len(rows)) if start is None else check_coverage(start, name="start")
    walk = [first, *(coverage for coverage in COVERAGES if coverage > first + 1e-9)]
    tried: list[TriedCoverage] = []
    best, selected = TriedCoverage(nan, nan, nan, nan, passed=False), np.zeros(len(rows), dtype=bool)
    for coverage in walk:
        mask = clf.decide(rows, coverage).selected
        part = ranked.selection(mask[used])
        bound = bound_of(ranked.losses(mask[used], part)["selective_auc"], (1.0 - COVERAGE_SHARE) * (1.0 - level))
        reached = part.estimates(coverage)["achieved_coverage"]
        tried.append(TriedCoverage(coverage, reached, part.auc, bound, passed=bool(bound >= target_auc)))
        if not tried[-1].passed:
            break
        best, selected = tried[-1], mask
    # The bound fails at each coverage of the walk with its share of the probability, and so holds at all together.
    losses = ranked.losses(selected[used], ranked.selection(selected[used]))["achieved_coverage"]
    coverage_at_least = bound_of(losses, COVERAGE_SHARE * (1.0 - level) / len(walk))
    return CoveragePromise(
        auc=target_auc,
        target_coverage=best.target_coverage,
        coverage_at_least=coverage_at_least if best.passed else nan,
        confidence=level,
        achieved_coverage=best.achieved_coverage,
        selective_auc=best.selective_auc,
        n_rows=len(rows),
        n_positive=int((rows.positive & selected).sum()),
        n_negative=int((~rows.positive & selected).sum()),
        start=first,
        tried=tuple(tried),
        is_weighted=has_weights(weight),
        share_of_fit=share,
    )


def likeliest_start(clf: Any, auc: float, n_rows: int) -> float:
    """Return the coverage at which `n_rows` rows are most likely to confirm the AUC, given the held-out rows."""
    # A low coverage has a high AUC and few rows to show it, a high one many rows and an AUC nearer to the target: what
    # counts is the distance in standard errors. Of coverages within a tenth of one the highest shortens the walk.
    held_out = clf.held_out_
    scored = clf.fitted_.scored_held_out()
    distances = []
    for coverage in COVERAGES:
        selected = clf.decide(scored, coverage).selected
        ranked = held_out.ranked(selected)
        if min(ranked.total_positives, ranked.total_negatives) < _FEWEST_AT_START:
            distances.append(-np.inf)
            continue
        error = ranked.auc_standard_error() * np.sqrt(held_out.n_rows / n_rows)
        distances.append((ranked.auc() - auc) / error if error > 0 else np.inf)
    best = np.flatnonzero(np.asarray(distances) >= np.nanmax(distances) - 0.1)
    return COVERAGES[int(best[-1])]
