"""Coverage that the bands can reach: what to expect of new rows, and a warning if it is not what was asked for.

A band takes all rows of a score or none. So a model that gives many rows one score (a small tree, ten rating grades,
rows without a bureau record) can reach few coverages. The band reaches the lowest of them that is at least the
one asked for, so that no more rows go to review than was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.band_rule import BandRule
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.scored_rows import RuleInput
from aucross.system.text import warn_user

BoolArray = NDArray[np.bool_]

# A coverage that is missed by less is not worth a sentence.
_LEAST_GAP = 0.02
# An AUC that falls by less is not worth one either.
_LEAST_LOSS = 0.002
# Fewer scores than this share of the rows are few; the models of folds that have many differ by less than a tie.
_FEW_SCORES = 0.1
# A variance of shares this much above that of chance is rare: one in a hundred for five folds.
_FAR_FROM_CHANCE = 3.3
# A standard deviation between models that is not worth a sentence.
_LARGEST_DEVIATION = 0.03


def error_of_coverage(
    rule: BandRule,
    coverage: float,
    group: Any,
    *,
    n_rows: float,
    held_out: RuleInput | None,
    folds: IndexArray | None,
) -> float:
    """Return the standard error of the expected coverage; `held_out` is None if the rule was placed after the fit.

    It covers the sampling of the placing rows and the differences between fold models. It is 0 only for the empty band.
    """
    share, n_rows = rule.expected_coverage(coverage, group), max(n_rows, 1.0)
    if share in (0.0, 1.0) and not rule.band(coverage, group).is_empty:
        # No row of few is not the same as no row at all: at least one of n + 2, as Laplace has it.
        share = min(max(share, 1.0 / (n_rows + 2.0)), 1.0 - 1.0 / (n_rows + 2.0))
    variance = share * (1.0 - share) / n_rows
    if held_out is not None and folds is not None:
        variance += _variance_between_models(rule, coverage, group, held_out, folds)
    return sqrt(variance)


def _variance_between_models(
    rule: BandRule, coverage: float, group: Any, held_out: RuleInput, folds: IndexArray
) -> float:
    if group is not None and held_out.groups is not None:
        of_group = np.flatnonzero(held_out.groups == group)
        held_out, folds = held_out.take(of_group), folds[of_group]
    return variance_between_folds(rule.bands_of(held_out, coverage).selected, folds)


def variance_between_folds(counted: BoolArray, folds: IndexArray) -> float:
    """Return the variance between fold models of a share of rows, without sampling error."""
    share, count = _share_of_each_fold(counted, folds)
    if len(share) < 2:
        return 0.0
    by_chance = float(np.mean(share * (1.0 - share) / count))
    return max(float(np.var(share, ddof=1)) - by_chance, 0.0)


def _share_of_each_fold(counted: BoolArray, folds: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the share of the rows of each fold that count, and the size of each fold."""
    _, fold, count = np.unique(folds, return_inverse=True, return_counts=True)
    return np.bincount(fold, weights=counted) / count, count


def warn_if_models_differ(rule: BandRule, coverage: float, held_out: RuleInput, folds: IndexArray | None) -> None:
    """Warn if the fold models have few distinct scores, on different sides of the band.

    The refitted model may then differ as much, which held-out scores cannot show.
    """
    if folds is None or coverage == 1.0 or len(np.unique(held_out.score)) > _FEW_SCORES * len(held_out):
        return
    share, count = _share_of_each_fold(rule.bands_of(held_out, coverage).selected, folds)
    by_chance = coverage * (1.0 - coverage) / count.min()
    if len(share) > 1 and np.var(share, ddof=1) > max(_FAR_FROM_CHANCE * by_chance, _LARGEST_DEVIATION**2):
        warn_user(
            f"the models of the folds select from {_shown(share.min())} to {_shown(share.max())} of their rows at a "
            f"coverage of {coverage:g}, because they have few scores, and so may the model trained on all rows; pass "
            'ensemble="judge" or ties="split", with which these models judge new rows, too'
        )


def warn_if_out_of_reach(rule: BandRule, coverage: float, n_rows: float, *, ties_are_split: bool) -> None:
    """Warn if a coverage cannot be reached, with the reason, the coverage to expect and the remedy."""
    if coverage == 1.0 or n_rows < 2:  # one row is selected
        return
    for group, part in rule.rules_by_group.items():
        of_group = "" if group is None else f" for the group {group!r}"
        expected = part.expected_coverage(coverage)
        if part.ranking is not None and len(part.ranking) < 2:
            continue  # a constant score is said to be one
        if coverage * n_rows < 1.0:
            warn_user(
                f"a coverage of {coverage:g} is less than one of the {n_rows:.0f} rows that place the band, so that "
                f"about {_shown(expected)} is selected{of_group}; pass a higher coverage, or fit on more rows"
            )
        elif _is_out_of_reach(part, coverage, expected, n_rows):
            warn_user(_sentence(part, coverage, expected, of_group, ties_are_split=ties_are_split))
        if not ties_are_split and (gain := part.expected_auc_gain(coverage)) is not None and gain < -_LEAST_LOSS:
            warn_user(
                f"a coverage of {coverage:g} lowers the AUC{of_group} by {_shown(-gain)} on the rows that place the "
                f"band: it takes all rows of a score or none{_clump(part.ranking)}; pass "
                'ties="split" to cut through ties by a hash of the row, or coverage=1.0'
            )


def warn_if_nothing_can_be_rejected(rule: BandRule, coverage: float, n_rows: float) -> None:
    """Warn if the coverage in force leaves less than one of the placing rows for review."""
    for (group, part), share in zip(rule.rules_by_group.items(), _share_of_each_group(rule), strict=True):
        n_own = n_rows * share
        if part.ranking is not None and len(part.ranking) < 2:
            continue  # a constant score is said to be one
        if coverage < 1.0 and n_own >= 2.0 and _rejects_less_than_a_row(part, coverage, n_own):
            of_group = "" if group is None else f" for the group {group!r}"
            warn_user(
                f"a coverage of {coverage:g} leaves less than one of the {n_own:.0f} rows that place the band for "
                f"review{of_group}, so that the band is empty and every row is selected; fit on more rows, hold out "
                "more of them (a larger holdout_size, or AUCross or SCross, which hold out every row), or pass a lower "
                "coverage"
            )


def _share_of_each_group(rule: BandRule) -> list[float]:
    """Return each group's share of the rows, by weight; 1 if the rules do not tell."""
    rankings = [part.ranking for part in rule.rules_by_group.values()]
    totals = [0.0 if ranked is None else ranked.total for ranked in rankings]
    return [total / sum(totals) if min(totals) > 0 else 1.0 for total in totals]


def _rejects_less_than_a_row(rule: BandRule, coverage: float, n_rows: float) -> bool:
    """Return whether there are too few rows to reject one; a promise with confidence has its own warning."""
    is_less = (1.0 - coverage) * n_rows < 1.0 - 1e-9  # 0.1 of 10 rows is one, whatever 1 - 0.9 is
    return is_less and rule.expected_coverage(coverage) == 1.0 and rule.too_few_rows(coverage) is None


def _is_out_of_reach(rule: BandRule, coverage: float, expected: float, n_rows: float) -> bool:
    """Return whether ties keep a band from its coverage by more than one row; promises with confidence do not count."""
    aimed_at, ranked = rule.coverage_aimed_at(coverage), rule.ranking
    gap = abs(expected - aimed_at)
    if aimed_at == 1.0 or gap <= max(_LEAST_GAP, 2.0 / max(n_rows, 1.0)):
        return False
    # What is missed for another reason, as by a centred band that ends at the last row, is not for ties to mend.
    return ranked is None or bool((ranked.positives + ranked.negatives).max(initial=0.0) > gap / 2 * ranked.total)


def _sentence(rule: BandRule, coverage: float, expected: float, of_group: str, *, ties_are_split: bool) -> str:
    remedy = (
        "give X a column that tells such rows apart, an id for instance, which the model does not read"
        if ties_are_split
        else 'pass ties="split" to cut through ties by a hash of the row'
    )
    lower = next((reached for reached in _lower_coverages(rule, coverage) if reached < min(coverage, expected)), None)
    other = f", or a coverage that can be reached, such as {_shown(lower)}" if lower else ""
    return (
        f"a coverage of {coverage:g} cannot be reached{of_group}, {_shown(expected)} is expected: a band takes all "
        f"rows of a score or none{_clump(rule.ranking)}; {remedy}{other}"
    )


def _clump(ranked: RankedScores | None) -> str:
    """Name the score that most rows have."""
    if ranked is None or not ranked.total > 0:
        return ""
    weight = ranked.positives + ranked.negatives
    heaviest = int(np.argmax(weight))
    return f", and {_shown(weight[heaviest] / ranked.total)} of the rows have the score {ranked.scores[heaviest]:.6g}"


def _lower_coverages(rule: BandRule, coverage: float) -> Iterator[float]:
    """Yield the coverages reached at lower targets, in steps of 0.02; none for rules without a ranking."""
    if rule.ranking is not None:
        yield from (rule.expected_coverage(at) for at in np.arange(coverage - 0.02, 0.0, -0.02).round(6).tolist())


def _shown(share: float) -> str:
    return f"{share:.3g}"
