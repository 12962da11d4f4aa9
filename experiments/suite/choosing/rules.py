"""Short rules: a method, and exceptions by rows, positives, model and time; how they are found, and what they reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aucross.cli.choosing import Family, Situation

Choose = Callable[[Situation], str]
Situations = Mapping[tuple[str, str], Situation]
# An exception is kept if it adds more than so many standard errors over sets: many are tried, and some win by chance.
STANDARD_ERRORS = 2.0
MOST_EXCEPTIONS = 2


@dataclass(frozen=True)
class Condition:
    """A readable condition on what is known before a method is chosen."""

    text: str
    holds: Callable[[Situation], bool]


def _of_family(family: Family) -> Condition:
    return Condition(str(family), lambda now: now.family is family)


def _fewer_rows(number: int) -> Condition:
    return Condition(f"under {number:,} training rows", lambda now: now.n_rows < number)


def _fewer_positives(number: int) -> Condition:
    return Condition(f"under {number:,} positive training rows", lambda now: now.n_positives < number)


def _rarer(share: float) -> Condition:
    return Condition(f"under {100 * share:.0f} % positive", lambda now: now.n_positives < share * now.n_rows)


CONDITIONS: Sequence[Condition] = (
    _fewer_rows(3_000),
    _fewer_rows(5_500),
    _fewer_positives(300),
    _fewer_positives(1_000),
    _rarer(0.1),
    _rarer(0.25),
    *(_of_family(family) for family in Family),
    Condition("rows in time", lambda now: now.in_time),
)


@dataclass(frozen=True)
class Rule:
    """A method with exceptions; the first exception that holds counts."""

    otherwise: str
    exceptions: tuple[tuple[Condition, str], ...] = ()

    def method(self, situation: Situation) -> str:
        """The method that it names."""
        return next((method for condition, method in self.exceptions if condition.holds(situation)), self.otherwise)

    def __str__(self) -> str:
        exceptions = "; ".join(f"{method} with {condition.text}" for condition, method in self.exceptions)
        return f"{self.otherwise}, but {exceptions}" if exceptions else f"always {self.otherwise}"


def halves(rows: Mapping[str, int], in_time: set[str], seed: int) -> tuple[list[str], list[str]]:
    """Two halves of the sets: of each two neighbours in size one is drawn; sets in time and others apart."""
    rng, found, checked = np.random.default_rng(seed), [], []
    by_size = sorted(rows, key=lambda name: (rows[name], name))  # by name where sets have as many rows
    for of_kind in ([name for name in by_size if name not in in_time], [name for name in by_size if name in in_time]):
        for first in range(0, len(of_kind), 2):
            pair = of_kind[first : first + 2]
            drawn = pair if rng.random() < 0.5 else pair[::-1]
            found += drawn[:1]
            checked += drawn[1:]
    return sorted(found), sorted(checked)


def named_by(choose: Choose, values: pd.DataFrame, situations: Situations) -> pd.DataFrame:
    """Rows of the methods that are named, one for each set and family."""
    named = [(*where, choose(situation)) for where, situation in situations.items()]
    return values.merge(pd.DataFrame(named, columns=["dataset", "family", "method"]))


def by_set(rows: pd.DataFrame, column: str) -> pd.Series:
    """Mean of each set over its families."""
    return rows.groupby("dataset")[column].mean()


@dataclass(frozen=True, eq=False)
class Contest:
    """What every method reached in every situation, as arrays: thousands of rules are tried.

    Attributes
    ----------
    methods : sequence of str
        Methods that compete.
    measure, miss : ndarray of shape (n_situations, n_methods)
        What should be high, and the coverage error.
    dataset : ndarray of str of shape (n_situations,)
        The set of each situation.
    holds : ndarray of shape (n_situations, n_conditions)
        Which conditions hold.
    situation : ndarray of Situation of shape (n_situations,)
        For rules that are no conditions of this file.
    """

    methods: Sequence[str]
    measure: NDArray[np.float64]
    miss: NDArray[np.float64]
    dataset: NDArray[np.str_]
    holds: NDArray[np.bool_]
    situation: NDArray[np.object_]

    @classmethod
    def of(cls, values: pd.DataFrame, situations: Situations, methods: Sequence[str], measure: str) -> Contest:
        """Set up the arrays from what each method reached."""
        by_method = values[values["method"].isin(methods)].pivot_table(
            [measure, "miss"], ["dataset", "family"], "method"
        )
        # Where a method could not be compared at its coverage, it counts as the worst of those that could.
        reached = by_method[measure].reindex(columns=list(methods)).apply(lambda row: row.fillna(row.min()), axis=1)
        holds = [[condition.holds(situations[where]) for condition in CONDITIONS] for where in by_method.index]
        return cls(
            methods,
            reached.to_numpy(),
            by_method["miss"].reindex(columns=list(methods)).to_numpy(),
            by_method.index.get_level_values(0).to_numpy(dtype=str),
            np.array(holds),
            np.array([situations[where] for where in by_method.index], dtype=object),
        )

    def among(self, datasets: Sequence[str]) -> Contest:
        """The same on some of the sets."""
        inside = np.isin(self.dataset, list(datasets))
        parts = (self.measure, self.miss, self.dataset, self.holds, self.situation)
        return Contest(self.methods, *(part[inside] for part in parts))

    def best_rule(self, price: float) -> Rule:
        """The best single method, with the exceptions that add most, as long as what they add is beyond chance.

        Parameters
        ----------
        price : float
            How much of the measure one unit of coverage is worth; so much is taken off for each unit that it is off.
        """
        worth = self.measure - price * self.miss
        best = max((Rule(method) for method in self.methods), key=lambda rule: self.reached(rule, worth).mean())
        while len(best.exceptions) < MOST_EXCEPTIONS:
            longer = max(self._longer(best), key=lambda rule: self.reached(rule, worth).mean(), default=best)
            added = self.reached(longer, worth) - self.reached(best, worth)
            if len(added) < 2 or not added.mean() > STANDARD_ERRORS * added.std(ddof=1) / np.sqrt(len(added)):
                break
            best = longer
        return best

    def reached(self, rule: Rule, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean over the families of each set of the methods that a rule names."""
        chosen = np.full(len(values), self.methods.index(rule.otherwise))
        for condition, method in reversed(rule.exceptions):
            chosen[self.holds[:, CONDITIONS.index(condition)]] = self.methods.index(method)
        return self._by_set(chosen, values)

    def reached_by(self, choose: Choose) -> NDArray[np.float64]:
        """The measure of the methods that any rule names, for each set."""
        chosen = np.array([self.methods.index(choose(situation)) for situation in self.situation])
        return self._by_set(chosen, self.measure)

    def _by_set(self, chosen: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.float64]:
        _, number = np.unique(self.dataset, return_inverse=True)
        return np.bincount(number, values[np.arange(len(chosen)), chosen]) / np.bincount(number)

    def _longer(self, rule: Rule) -> list[Rule]:
        return [
            Rule(rule.otherwise, (*rule.exceptions, (condition, method)))
            for condition, holds in zip(CONDITIONS, self.holds.T, strict=True)
            for method in self.methods
            if method != rule.otherwise and holds.any()
        ]
