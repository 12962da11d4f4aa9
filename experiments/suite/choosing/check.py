"""Find a rule on half of the sets and check it on the other half, for each thing that may or may not be allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from aucross.cli.choosing import Line, Situation, line_for
from experiments.suite.choosing.measured import FAMILY_OF, NAME_OF, situations_of, values_of, worth_of_coverage
from experiments.suite.choosing.rules import Choose, Contest, Rule, Situations, by_set, halves, named_by
from experiments.suite.methods import DEFAULT, PLUG_IN_AUC
from experiments.suite.protocol import GATED
from experiments.suite.tables import MAX_PROBABILITY

SEED = 18  # of the halves that the page shows
AUC, ACCURACY = "lead", "accuracy_lead"
N_OTHER_HALVES = 100
N_BOOTSTRAP = 2_000


@dataclass(frozen=True)
class Allowed:
    """What is allowed, and therefore which methods compete.

    Attributes
    ----------
    text : str
        For tables.
    methods : sequence of str
        Methods that compete.
    limits : mapping of str to bool
        Parameters of `Situation` that say the same to the rule of the library.
    family : str, optional
        The only family in which all methods were run.
    measure : {"lead", "accuracy_lead"}
        What should be high.
    """

    text: str
    methods: Sequence[str]
    limits: Mapping[str, bool] = field(default_factory=dict)
    family: str | None = None
    measure: str = AUC

    @property
    def line(self) -> Line:
        """The line of the library's rule that applies to a large table with what is allowed."""
        family = None if self.family is None else FAMILY_OF[self.family]
        return line_for(Situation(n_rows=8_000, n_positives=2_000, family=family, **self.limits))


ONE_TRAINING = (PLUG_IN_AUC, "PlugIn")
ONE_MODEL = (DEFAULT, "AUCross published", *ONE_TRAINING, "SCross")
# Max probability ranks the rows that it decides on, so it competes only where whole batches can be ranked.
ALLOWED: Sequence[Allowed] = (
    Allowed("several trainings, one model is kept", ONE_MODEL),
    Allowed("the fold models are kept, too", (*ONE_MODEL, "AUCross judged"), {"keeps_fold_models": True}),
    Allowed("a second model decides for a linear one", (*ONE_MODEL, "AUCGate"), {"has_second_model": True}, GATED),
    Allowed("one training", ONE_TRAINING, {"trains_once": True}),
    Allowed("whole batches are ranked", (*ONE_MODEL, MAX_PROBABILITY), {"ranks_batches": True}),
    Allowed("accuracy is the aim", ONE_MODEL, {"wants_accuracy": True}, None, ACCURACY),
    Allowed("accuracy, one training", ONE_TRAINING, {"wants_accuracy": True, "trains_once": True}, None, ACCURACY),
    Allowed(
        "accuracy, whole batches",
        (*ONE_MODEL, MAX_PROBABILITY),
        {"wants_accuracy": True, "ranks_batches": True},
        None,
        ACCURACY,
    ),
)


class Study:
    """The sets of the suite with what every method reached on them.

    Parameters
    ----------
    cells : DataFrame
        Cells with differences.
    kinds : mapping of str to (str, int)
        How each set is split, and its rows.
    """

    def __init__(self, cells: pd.DataFrame, kinds: Mapping[str, tuple[str, int]]) -> None:
        self.kinds = kinds
        self.values = values_of(cells, kinds)
        self._by_coverage = cells.pivot_table(["gain", "accuracy"], ["method", "dataset"], "target_coverage")

    def halves(self, seed: int = SEED) -> tuple[list[str], list[str]]:
        """Sets to find a rule on, and sets to check it on."""
        rows = {name: self.kinds[name][1] for name in self.values["dataset"].unique()}
        in_time = {name for name in rows if self.kinds[name][0] == "time"}
        return halves(rows, in_time, seed)

    def taken(self, allowed: Allowed, datasets: Sequence[str]) -> pd.DataFrame:
        """Values of the methods that are allowed, on some of the sets."""
        values = self.values[self.values["dataset"].isin(datasets)]
        return values if allowed.family is None else values[values["family"] == allowed.family]

    def situations(self, allowed: Allowed, datasets: Sequence[str]) -> tuple[pd.DataFrame, Situations]:
        """The same with the situation of each set and family."""
        values = self.taken(allowed, datasets)
        return values, situations_of(values)

    def price(self, allowed: Allowed, datasets: Sequence[str]) -> float:
        """What one unit of coverage is worth on these sets."""
        method, column = (DEFAULT, "gain") if allowed.measure == AUC else ("SCross", "accuracy")
        return worth_of_coverage(self._by_coverage.loc[method, column].loc[list(datasets)].mean())

    def contest(self, allowed: Allowed) -> Contest:
        """All methods that compete, on all sets."""
        return Contest.of(*self.situations(allowed, list(self.kinds)), allowed.methods, allowed.measure)

    def find(self, allowed: Allowed, datasets: Sequence[str]) -> Rule:
        """The rule that a search on these sets finds."""
        return self.contest(allowed).among(datasets).best_rule(self.price(allowed, datasets))

    def check(self, allowed: Allowed, datasets: Sequence[str], choose: Choose) -> dict[str, float]:
        """What a rule reaches on these sets, beside always AUCross, max probability and the best in hindsight."""
        values, situations = self.situations(allowed, datasets)
        named, measure = named_by(choose, values, situations), allowed.measure
        always, confident = (values[values["method"] == name] for name in (DEFAULT, MAX_PROBABILITY))
        best = self.best(allowed, datasets)
        reached, missed = by_set(named, measure), by_set(named, "miss")
        return {
            "n_sets": len(reached),
            **_with_interval("over_aucross", reached - by_set(always, measure)),
            **_with_interval("over_max_probability", reached - by_set(confident, measure)),
            **_with_interval("below_best", by_set(best, measure) - reached),
            "miss": missed.mean(),
            "miss_of_aucross": by_set(always, "miss").mean(),
            "miss_of_best": by_set(best, "miss").mean(),
            **_with_interval("further_off", missed - by_set(always, "miss")),
            **_with_interval("further_off_than_best", missed - by_set(best, "miss")),
        }

    def best(self, allowed: Allowed, datasets: Sequence[str]) -> pd.DataFrame:
        """In each situation the highest measure and the lowest coverage error of the methods allowed, in hindsight."""
        values = self.taken(allowed, datasets)
        competing = values[values["method"].isin(allowed.methods)]
        best = competing.groupby(["dataset", "family"]).agg({allowed.measure: "max", "miss": "min"}).reset_index()
        highest = competing.sort_values(allowed.measure).groupby(["dataset", "family"])["method"].last()
        return best.join(highest.rename("method"), on=["dataset", "family"])

    def library(self, allowed: Allowed) -> Choose:
        """The rule of the library with what is allowed."""
        return lambda situation: NAME_OF[line_for(replace(situation, **allowed.limits)).use]

    def agreement(self, allowed: Allowed, rule: Rule) -> float:
        """In which share of situations a rule and the library name the same method."""
        situations = situations_of(self.taken(allowed, list(self.kinds))).values()
        library = self.library(allowed)
        return float(np.mean([rule.method(situation) == library(situation) for situation in situations]))


def checks(study: Study) -> pd.DataFrame:
    """One row for each thing that is allowed: the rule found on one half, and what it reaches on the other."""
    finding, checking = study.halves()
    rows = []
    for allowed in ALLOWED:
        rule = study.find(allowed, finding)
        library = study.check(allowed, checking, study.library(allowed))
        rows.append(
            {
                "allowed": allowed.text,
                "measure": "AUC" if allowed.measure == AUC else "accuracy",
                "rule": str(rule),
                "same_as_library": study.agreement(allowed, rule),
                **study.check(allowed, checking, rule.method),
                "over_aucross_where_found": study.check(allowed, finding, rule.method)["over_aucross"],
                "library_over_aucross": library["over_aucross"],
                "library_miss": library["miss"],
            }
        )
    return pd.DataFrame(rows)


def other_halves(study: Study, n_halves: int = N_OTHER_HALVES) -> pd.DataFrame:
    """Draw the halves again and again: which rule is found, and what it reaches on the half it was not found on."""
    rows = []
    for allowed in ALLOWED:
        contest = study.contest(allowed)
        for seed in range(n_halves):
            finding, checking = study.halves(SEED + 1 + seed)
            rule = contest.among(finding).best_rule(study.price(allowed, finding))
            other = contest.among(checking)
            ahead = other.reached_by(rule.method) - other.reached_by(study.library(allowed))
            rows.append({"allowed": allowed.text, "rule": str(rule), "over_library": ahead.mean()})
    return pd.DataFrame(rows)


def _with_interval(name: str, differences: pd.Series) -> dict[str, float]:
    """Mean over sets with the 95 % interval of a bootstrap of sets."""
    known = differences.dropna().to_numpy()
    if not len(known):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), float("nan"))
    drawn = np.random.default_rng(0).integers(len(known), size=(N_BOOTSTRAP, len(known)))
    low, high = np.quantile(known[drawn].mean(axis=1), [0.025, 0.975])
    return {name: known.mean(), f"{name}_low": low, f"{name}_high": high}
