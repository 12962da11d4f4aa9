"""Promises about a selection: at least this coverage and at least this AUC, with a stated confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isnan, nan, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import check_coverage
from aucross.core.bounds import LossSums, bootstrap_auc_bounds, has_pairs, has_weights, lower_bound, replicate_below
from aucross.core.ranking import RankedScores, as_positive, check_scores
from aucross.core.scored_rows import ScoredRows
from aucross.evaluation.evaluate import Selection, check_ranking, selected_at, selected_of
from aucross.evaluation.inputs import (
    Weights,
    check_probability,
    check_replicates,
    check_selected,
    check_two_classes,
    customer_numbers,
    label_rows,
    row_weights,
    rows_of_fit,
    seed_from,
)
from aucross.evaluation.ranked_selection import BinarySelections, Losses, RankedSelection
from aucross.system.notebook import result_html
from aucross.system.text import down, exact_percent, json_ready, percent, percent_down, plural

PromiseMethod = Literal["delong", "bootstrap"]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Base class of promises: a sentence, and a dictionary for JSON.

    Attributes
    ----------
    confidence : float
        Probability, over test samples, that no statement of the promise is wrong.
    achieved_coverage, selective_auc : float
        The estimates on these rows.
    n_rows, n_positive, n_negative : int
        Test rows, and selected rows of each class.
    is_weighted : bool
        Whether the rows had weights; coverage and AUC then count weight, and the confidence is approximate.
    share_of_fit : float
        Share of the rows that took part in the fit. Above 0 the bounds are no promise: the sentence says so, and no
        coverage and no AUC is supported.
    """

    confidence: float
    achieved_coverage: float
    selective_auc: float
    n_rows: int
    n_positive: int
    n_negative: int
    is_weighted: bool = False
    share_of_fit: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and the sentence, ready for JSON; undefined numbers are None."""
        values = {**vars(self), "is_supported": self.is_supported, "sentence": str(self)}
        return {name: json_ready(value) for name, value in values.items()}

    def __str__(self) -> str:
        start = f"No promise, since {percent(self.share_of_fit)} of the rows took part in the fit: "
        return (start if self.share_of_fit else "") + self._sentence()

    @property
    def is_supported(self) -> bool | None:
        """Whether the rows support the promise; None if no promise was fixed beforehand."""
        raise NotImplementedError

    def _sentence(self) -> str:
        raise NotImplementedError

    @property
    def _with_confidence(self) -> str:
        return f"with {'approximately ' if self.is_weighted else ''}{exact_percent(self.confidence)} confidence"

    @property
    def _of_cases(self) -> str:
        return "of the weight" if self.is_weighted else "of cases"

    @property
    def _automatic(self) -> str:
        positives, negatives = plural("positive", self.n_positive), plural("negative", self.n_negative)
        return f"{self.n_positive:,} {positives} and {self.n_negative:,} {negatives} automatic"


@dataclass(frozen=True, kw_only=True)
class SelectivePromise(Promise):
    """Lower bounds for the coverage and for the AUC of the selected rows; ``str()`` gives them in a sentence.

    Attributes
    ----------
    coverage_at_least, auc_at_least : float
        Bounds that hold *together* with probability `confidence`. The AUC is NaN if a class has too few selected
        rows, or if `promised_coverage` is not supported.
    coverage_alone, auc_alone : float
        Bounds that each hold with probability `confidence`, but not both at once.
    n_selected : int
        Selected rows.
    method : {"delong", "bootstrap"}
        How the bound of the AUC was computed.
    promised_coverage : float or None
        The coverage to promise, if it was fixed beforehand.
    target_coverage : float or None
        The coverage requested from the classifier, if known.
    n_customers : int or None
        Customers that the rows belong to, if `customers` was given.
    """

    coverage_at_least: float
    auc_at_least: float
    coverage_alone: float
    auc_alone: float
    n_selected: int
    method: PromiseMethod
    promised_coverage: float | None = None
    target_coverage: float | None = None
    n_customers: int | None = None

    @property
    def is_supported(self) -> bool | None:
        """Whether the rows support `promised_coverage`; None if no coverage was fixed, False for rows of the fit."""
        if self.share_of_fit:
            return False
        return None if self.promised_coverage is None else self.coverage_alone >= self.promised_coverage

    def holds(self, *, coverage: float | None = None, auc: float | None = None) -> bool:
        """Return whether the rows support bounds that were fixed before anyone looked at the rows.

        Parameters
        ----------
        coverage, auc : float in [0, 1], optional
            The bounds that were agreed, one or both.

        Returns
        -------
        bool
            True only if the rows support each bound at the full `confidence`.

        Notes
        -----
        Two bounds need no stricter tests than one: to pass wrongly, a pair must pass the test of the bound that is
        false, and this has probability ``1 - confidence`` at most (Berger, 1982). This no longer holds if many pairs
        are tried until one passes; such a search would end at `coverage_alone` and `auc_alone`.
        """
        signed = {"coverage": (coverage, self.coverage_alone), "auc": (auc, self.auc_alone)}
        if coverage is None and auc is None:
            raise ValueError("holds needs a bound to check, got none; pass coverage=, auc= or both")
        # A bound of NaN supports nothing, and rows of the fit support nothing; the values are checked all the same.
        return self.share_of_fit == 0 and all(
            supported >= check_probability(value, name)
            for name, (value, supported) in signed.items()
            if value is not None
        )

    def _repr_html_(self) -> str:
        bounds = {
            "coverage": (self.coverage_at_least, self.achieved_coverage),
            "AUC": (self.auc_at_least, self.selective_auc),
        }
        rows = [{"": name, "at least": low, "on these rows": found} for name, (low, found) in bounds.items()]
        return result_html(str(self), rows)

    def _sentence(self) -> str:
        start = f"At least {percent_down(self.coverage_at_least)} {self._of_cases} decided automatically"
        of_customers = "" if self.n_customers is None else f" of {self.n_customers:,} customers"
        rows = f"({self.n_rows:,} test {plural('row', self.n_rows)}{of_customers}; {self._automatic})"
        if not isnan(self.auc_at_least):
            auc = f"an AUC of at least {down(self.auc_at_least)} among them"
            return f"{start}, and {auc}, {self._with_confidence} {rows}."
        if self.promised_coverage is not None and self.coverage_alone < self.promised_coverage:
            asked = percent_down(self.promised_coverage)
            reason = f"not the {asked} that were to be promised, and so no AUC is promised"
        else:
            reason = "but too few rows of a class to promise an AUC"
        return f"{start}, {self._with_confidence}, {reason} {rows}."


def promise_selective(
    clf: Any,
    X: Any,
    y: ArrayLike,
    coverage: float | None = None,
    *,
    promised_coverage: float | None = None,
    confidence: float = 0.95,
    method: PromiseMethod = "delong",
    sample_weight: Weights = None,
    band_groups: Any = None,
    customers: Any = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    allow_fit_rows: bool = False,
) -> SelectivePromise:
    """Return the coverage and the AUC that can be promised for a fitted selective classifier.

    Parameters
    ----------
    clf, X, y, band_groups
        As in :func:`aucross.evaluate_selective`, for two classes. The rows (or their `customers`) must be independent
        and resemble future rows, and must not have been used to train or to place the band.
    coverage : float in (0, 1], optional
        Target coverage; the classifier's own coverage by default.
    promised_coverage : float in (0, 1], optional
        The coverage to promise, a little lower than `coverage` and fixed before looking at these rows. The bound of the
        AUC is then as high as in a promise of the AUC alone. If the rows do not support this coverage, only the
        coverage that they support is promised, and no AUC.
    confidence : float in [0.5, 1), default=0.95
        Probability with which both bounds hold together.
    method : {"delong", "bootstrap"}, default="delong"
        How to compute the bound of the AUC: from DeLong's variance, or by a Bayesian bootstrap.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows. Coverage and AUC then count weight, and the confidence is approximate. A weight adds no
        rows: weight 2 is one observation.
    customers, random_state
        As in :func:`aucross.evaluate_selective`.
    n_bootstrap : int, default=2000
        Bootstrap replicates, for ``method="bootstrap"``.
    allow_fit_rows : bool, default=False
        Whether to compute bounds even on rows of the fit. The result is then marked: its sentence and ``share_of_fit``
        say that it is no promise, and ``holds`` is False.

    Returns
    -------
    SelectivePromise
        ``print`` shows the sentence.

    Notes
    -----
    Rows given to ``fit``, even a part of them and in any order, are refused unless `allow_fit_rows` is True. Scored
    rows are recognised by labels and scores in the order of the fit. Rows that were used to tune or to choose a model
    cannot be recognised.

    Once the number of selected rows is known, the selected rows say nothing more about the coverage. Two bounds at
    confidence ``sqrt(confidence)`` each therefore hold together with probability `confidence`. With `promised_coverage`
    both bounds use the full confidence: if the true coverage is below it, the statement is wrong only if the coverage
    bound fails, and otherwise only if the AUC bound fails (Hsu & Berger, 1999).

    The bound of the coverage is exact without weights. The bound of the AUC held its level in every simulation of
    ``benchmarks/auc_promise.py``; the page "Promises, measured" has the table, the reasons and the sources.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.evaluation import promise_selective
    >>> X, y = make_classification(6000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.83, random_state=0).fit(X[:3000], y[:3000])
    >>> promise = promise_selective(clf, X[3000:], y[3000:], promised_coverage=0.8)
    >>> print(promise)
    At least 80 % of cases decided automatically, and an AUC of at least ... among them, with 95 % confidence (3,000 ...
    >>> promise.holds(coverage=0.8, auc=0.8)
    True
    """
    check_two_classes(
        clf,
        "for one class against the rest call promise_selection(y == clf.classes_[k], clf.predict_proba(X)[:, k], "
        "clf.select(X))",
    )
    rows = label_rows(clf, X, y, sample_weight=sample_weight, band_groups=band_groups, warns=False)
    share = share_of_fit(clf, X, rows, allowed=allow_fit_rows)
    decisions = clf.decide(rows, coverage)
    promise = promise_selection(
        *(rows.positive, rows.score, decisions.selected),
        promised_coverage=promised_coverage,
        confidence=confidence,
        method=method,
        sample_weight=rows.sample_weight,
        customers=customers,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
    )
    return replace(promise, target_coverage=decisions.coverage, share_of_fit=share)


def promise_selection(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike,
    *,
    promised_coverage: float | None = None,
    confidence: float = 0.95,
    method: PromiseMethod = "delong",
    sample_weight: Weights = None,
    customers: Any = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
) -> SelectivePromise:
    """Return the coverage and the AUC that can be promised for a selection, from labels, scores and a mask.

    Parameters
    ----------
    y_true, y_score, selected
        As in :func:`selective_auc`; the selection comes from a rule that was placed on other rows.
    promised_coverage, confidence, method, sample_weight, customers, n_bootstrap, random_state
        As in :func:`promise_selective`.

    Notes
    -----
    One row is added to the smaller class, ranked wrongly against all rows of the other class. Otherwise a sample
    without badly ranked rows would have a margin close to 0. From the rows with the added one ``"delong"`` computes the
    AUC A, DeLong's variance v and a quantile of the Beta distribution with mean A and ``A (1 - A) / v + 1`` rows;
    ``"bootstrap"`` weights them by independent exponential numbers (Rubin, 1981) and takes a quantile of the weighted
    AUC. With `customers` the variance is computed from sums over customers (Obuchowski, 1997), and the added row has
    the weight of a customer, whose rows can all be ranked wrongly.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.evaluation import promise_selection
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> score = rng.normal(size=1000) + 1.5 * y
    >>> print(promise_selection(y, score, np.abs(score - 0.8) > 0.3))
    At least 79.2 % of cases decided automatically, and an AUC of at least .862 among them, with 95 % confidence
    (1,000 test rows; 227 positives and 591 negatives automatic).
    """
    positive = as_positive(y_true)
    if not len(positive):
        raise ValueError("there must be at least one row to promise from, got none")
    score = check_scores(y_score, len(positive))
    mask = check_selected(selected, len(positive))
    weight = row_weights(sample_weight, len(positive))
    units = customer_numbers(customers, len(positive))
    failures = _failures(confidence)
    if method not in ("delong", "bootstrap"):
        raise ValueError(f'method must be "delong" or "bootstrap", got {method!r}')
    if method == "bootstrap":
        check_replicates(n_bootstrap)
        if replicate_below(n_bootstrap, failures[1]) < 1:
            raise ValueError(
                f"n_bootstrap must be at least {ceil(1.0 / failures[1]) - 1} for this confidence, got "
                f"{n_bootstrap}: below the bound there must be a replicate; the default of 2000 suits a confidence of "
                "0.95"
            )
    seed = seed_from(random_state)
    # Only the ratios matter; so equal weights are 1 each, and the cube of a large one is finite.
    used, weight = weight > 0, weight / weight.max()
    rows, mask = BinarySelections(positive, score, positive, {}, weight, units).with_weight(), mask[used]
    part = rows.selection(mask)
    losses, auc = rows.losses(mask, part), None
    if method == "bootstrap" and has_pairs(*part.selected.totals[:, 0]):
        own = positive[used][mask], score[used][mask], weight[used][mask]
        units = None if rows.units is None else rows.units[mask]
        auc = bootstrap_auc_bounds(*own, failures, n_bootstrap=n_bootstrap, seed=seed, units=units)
    about: dict[str, Any] = {"method": method, "is_weighted": has_weights(weight[used]), "n_customers": rows.n_units}
    return _promise(part, losses, auc, promised_coverage, confidence=confidence, **about)


def promise_ranking(
    ranked: RankedScores,
    bands: Any,
    coverage: float | None = None,
    *,
    promised_coverage: float | None = None,
    confidence: float = 0.95,
) -> SelectivePromise:
    """Return the coverage and the AUC that can be promised, from a ranking of test rows without the rows.

    Parameters
    ----------
    ranked : RankedScores
        As in :func:`evaluate_ranking`: independent rows that resemble future rows and were not used to train or to
        place the band.
    bands : SelectiveClassifier, BandRule, RejectionBand or ranking
        Band that selects the rows, ranking of the selected rows, or an object that has a band for `coverage`.
    coverage : float in (0, 1], optional
        Target coverage; the classifier's by default.
    promised_coverage, confidence
        As in :func:`~aucross.evaluation.promise_selective`.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import RankedScores, RejectionBand
    >>> from aucross.evaluation import promise_ranking
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> ranked = RankedScores.from_labels(y, rng.normal(size=1000) + 1.5 * y)
    >>> print(promise_ranking(ranked, RejectionBand(0.5, 1.1)))
    At least 79.2 % of cases decided automatically, and an AUC of at least .862 among them, with 95 % confidence
    (1,000 test rows; 227 positives and 591 negatives automatic).
    """
    is_selection, asked = isinstance(bands, Selection), coverage
    if asked is None and not is_selection:
        asked = getattr(bands, "coverage", None)
    target = None if asked is None else check_coverage(asked)
    check_ranking(ranked)
    if is_selection:
        part = selected_of(ranked, bands)
    elif target is None:
        raise ValueError("coverage must be given with a rule, got none; pass for instance 0.8")
    else:
        part = next(iter(selected_at(ranked, bands, [target])))
    if ranked.totals[:, 0].sum() == 0:
        raise ValueError("ranked must hold at least one row to promise from, got none")
    selection = RankedSelection(part, np.zeros(4), RankedSelection(ranked, np.zeros(4)))
    about: dict[str, Any] = {"method": "delong", "is_weighted": ranked.is_weighted, "target_coverage": target}
    return _promise(selection, selection.losses, None, promised_coverage, confidence=confidence, **about)


def bound_of(losses: LossSums | None, failure: float) -> float:
    """Return a lower bound that fails with probability `failure`; NaN if there are too few rows."""
    return nan if losses is None else lower_bound(losses, failure)


def _failures(confidence: float) -> tuple[float, float]:
    """Return the failure probability of a bound promised alone, and of each of two bounds promised together."""
    level = check_confidence(confidence)
    return 1.0 - level, 1.0 - sqrt(level)


def _promise(
    selection: RankedSelection,
    losses: Losses,
    auc: Sequence[float] | None,
    promised_coverage: float | None,
    *,
    confidence: float,
    **about: Any,
) -> SelectivePromise:
    """Build the promise of a selection; `auc`, if given, holds its AUC bounds, alone and together with the coverage."""
    if promised_coverage is not None:
        promised_coverage = check_coverage(promised_coverage, "promised_coverage")
    failures = _failures(confidence)
    coverage_alone, coverage_at_least = (bound_of(losses["achieved_coverage"], failure) for failure in failures)
    auc_alone, auc_at_least = auc or [bound_of(losses["selective_auc"], failure) for failure in failures]
    if promised_coverage is not None:
        is_supported = coverage_alone >= promised_coverage
        coverage_at_least = promised_coverage if is_supported else coverage_alone
        auc_at_least = auc_alone if is_supported else nan
    n_positive, n_negative = map(int, selection.selected.totals[:, 0])
    return SelectivePromise(
        coverage_at_least=coverage_at_least,
        auc_at_least=auc_at_least,
        confidence=float(confidence),
        coverage_alone=coverage_alone,
        auc_alone=auc_alone,
        achieved_coverage=selection.estimates(nan)["achieved_coverage"],
        selective_auc=selection.selected.auc(),
        n_rows=int(selection.everything.selected.totals[:, 0].sum()),
        n_selected=n_positive + n_negative,
        n_positive=n_positive,
        n_negative=n_negative,
        promised_coverage=promised_coverage,
        **about,
    )


def check_confidence(confidence: float) -> float:
    """Return the confidence of a promise, checked to be in [0.5, 1)."""
    level = check_probability(confidence, "confidence", ends=False)
    if level < 0.5:
        raise ValueError(
            f"confidence must be at least 0.5, got {level:g}; it is the probability that the promise is kept, as 0.95"
        )
    return level


def share_of_fit(clf: Any, X: Any, rows: ScoredRows, *, allowed: bool) -> float:
    """Return the share of rows that took part in the fit; refuse a share above 0 unless it is allowed."""
    share, doubt = rows_of_fit(clf, X, rows)
    if doubt is not None and not allowed:
        raise ValueError(f"{doubt}, or allow_fit_rows=True for bounds that are marked as no promise")
    return share
