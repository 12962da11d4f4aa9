"""A small copy of a fitted classifier for workers: it decides at one coverage and keeps no training rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from aucross.core.band_rule import BandRule, GroupBands
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.scored_rows import RuleInput


@dataclass(frozen=True)
class PlacedBand(BandRule):
    """One band that was placed elsewhere, returned for every coverage."""

    fixed_band: RejectionBand

    def place(self, coverage: float) -> RejectionBand:  # noqa: ARG002
        """Return the band."""
        return self.fixed_band

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:  # noqa: ARG002
        """Refuse: the rows that placed the band are not here."""
        raise ValueError("a light copy cannot be placed on other rows; recalibrate the classifier that it is a copy of")


def light_copy(clf: Any, coverage: float | None = None) -> Any:
    """Copy a fitted classifier for deciding at one coverage."""
    light = copy(clf)
    light.coverage = check_coverage(clf.coverage if coverage is None else coverage)
    held_out, rule = clf.held_out_.without_rows(), _placed(clf.band_rule_, light.coverage)
    light.fitted_ = replace(clf.fitted_, held_out=held_out, rule=rule, rule_of_fit=None, marks=None)
    return light


def _placed(rule: BandRule, coverage: float) -> BandRule:
    if isinstance(rule, GroupBands):
        return GroupBands({group: _placed(part, coverage) for group, part in rule.rules.items()})
    # On another axis the selection score itself takes the rule to compute.
    return rule if rule.axis == "other" else PlacedBand(rule.band(coverage))
