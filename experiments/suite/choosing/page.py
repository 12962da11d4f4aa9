"""The parts of the page "Choosing a method", written from its tables alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from aucross.cli.choosing import ADVICE, Choice
from experiments import markdown
from experiments.markdown import figure, share
from experiments.suite.choosing.measured import METHODS
from experiments.suite.choosing.rules import CONDITIONS, STANDARD_ERRORS
from experiments.suite.choosing.tables import CLEARLY_BEHIND
from experiments.suite.methods import DEFAULT, PLUG_IN_AUC
from experiments.suite.tables import MAX_PROBABILITY

Evidence = Mapping[str, pd.DataFrame]
N_WRONG = 12


class Done(NamedTuple):
    """How many cells and situations the figures are made of, and how many cells were planned."""

    n_cells: int
    n_planned: int
    n_situations: int


SHOWN = (DEFAULT, "AUCross judged", PLUG_IN_AUC, "AUCGate", MAX_PROBABILITY)


def parts(evidence: Evidence, finding: list[str], checking: list[str], done: Done) -> dict[str, list[str]]:
    """Each part by the name of its file; a situation is a set with a family of models."""
    return {
        "choosing_done": list(_done(done)),
        "choosing_rule": list(_rule(evidence["choosing_lines"])),
        "choosing_methods": list(_methods(evidence["choosing_methods"], evidence["choosing_gate"])),
        "choosing_table": list(_table(evidence["choosing_situations"])),
        "choosing_every": list(_every(evidence["choosing_situations"], evidence["choosing_every"])),
        "choosing_halves": list(_halves(finding, checking)),
        "choosing_check": list(_check(evidence["choosing_check"])),
        "choosing_again": list(_again(evidence["choosing_again"])),
        "choosing_wrong": list(
            _wrong(evidence["choosing_wrong"], evidence["choosing_check"].loc[0, "allowed"], done.n_situations)
        ),
    }


def _done(done: Done) -> Iterator[str]:
    if done.n_cells == done.n_planned:
        yield f"Behind the figures are {done.n_planned:,} runs, each of one set, one family of models and one split.\n"
        return
    yield (
        f"**Not complete:** {done.n_cells:,} of {done.n_planned:,} cells are done, a cell being one set, one family of "
        "models and one split. `make suite` goes on from there and writes this page's figures again.\n"
    )


def _rule(lines: pd.DataFrame) -> Iterator[str]:
    for for_accuracy, aim in ((False, "The ranking counts (AUC)"), (True, "Errors at the cut-off count (accuracy)")):
        yield f"**{aim}**\n"
        yield from (_line(row) for row in lines[lines["for_accuracy"] == for_accuracy].itertuples())
        yield ""
    yield "**Whatever the line**\n"
    yield "".join(f"- If {advice.when}: {advice.do}.\n" for advice in ADVICE)


def _line(row: Any) -> str:
    use = row.use if " of " in row.use else f"`{row.use}`"
    if pd.isna(row.gained):
        return f"{row.line}. {_capital(row.when)}: {use}."
    cost = "one training" if row.trainings == 1 else f"{row.trainings} trainings"
    kept = "one model kept" if row.kept == 1 else f"{row.kept} models kept"
    return (
        f"{row.line}. {_capital(row.when)}: {use}. {signed(row.gained)} of {row.of}{_where_less(row)}, coverage off by "
        f"{figure(row.miss)}, {cost}, {kept}."
    )


def _where_less(row: Any) -> str:
    """What the default gains where the line can apply, if that is not everywhere."""
    return "" if pd.isna(row.default_gained) else f" (`{Choice.AUCROSS}` there: {signed(row.default_gained)})"


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign; one that rounds to zero has none."""
    return figure(0.0, digits) if round(value, digits) == 0 else markdown.signed(value, digits)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _methods(methods: pd.DataFrame, gate: pd.DataFrame) -> Iterator[str]:
    rows = [
        [
            row.method,
            signed(row.gain),
            "0" if row.method == DEFAULT else signed(row.lead),
            figure(row.miss),
            figure(row.oracle_distance),
            signed(row.accuracy_gain),
            f"{row.trainings}, {row.kept}, {row.seconds:.1f}",
        ]
        for row in methods.itertuples()
    ]
    header = ["method", "AUC gained", "against AUCross", "coverage off by", "below the Oracle", "accuracy gained"]
    yield markdown.table([*header, "trainings, models kept, time"], rows)
    gated = methods.set_index("method").loc["AUCGate"]
    yield (
        "Means over sets, families, splits and coverages. *AUC gained* is over answering every row, at the coverage "
        "reached; *against AUCross* is at the same coverage. AUCGate answers with logistic regression alone "
        f"({gated['n_sets']:.0f} sets); a negative distance to the Oracle says that it is above the best band on that "
        "score. *Time* is the processor time of a fit in those of PlugIn, which trains once. "
        f"{_capital(MAX_PROBABILITY)} ranks the rows that it decides on, so its coverage is exact and it cannot decide "
        "on one row.\n"
    )
    told = ", ".join(f"{figure(row.auc)} for {row.who}" for row in gate.itertuples())
    yield (
        "If the better model may answer, let it answer. AUC of the automatic rows, mean over "
        f"{gate['n_sets'].max()} sets and all coverages: {told}.\n"
    )


def _table(situations: pd.DataFrame) -> Iterator[str]:
    """AUC gained and coverage error of the methods between which one chooses."""
    rows = []
    for (name, n_sets), found in situations.groupby(["situation", "n_sets"], sort=False):
        by_method = found.set_index("method")
        rows.append([name, n_sets, *(_gain_and_miss(by_method, method) for method in SHOWN)])
    yield markdown.table(["", "sets", *SHOWN], rows)


def _gain_and_miss(by_method: pd.DataFrame, method: str) -> str:
    if method not in by_method.index or pd.isna(by_method.loc[method, "gain"]):
        return "-"
    return f"{signed(by_method.loc[method, 'gain'])} / {figure(by_method.loc[method, 'miss'])}"


def _every(situations: pd.DataFrame, every: pd.DataFrame) -> Iterator[str]:
    """All methods by situation, measure by measure, and the choice between methods in every situation."""
    for column, title, show in (
        ("gain", "AUC gained, at the coverage reached", signed),
        ("miss", "Distance of the coverage reached from the one asked for", figure),
        ("oracle_distance", "AUC below the Oracle", figure),
        ("accuracy_gain", "Accuracy gained, at the coverage reached", signed),
    ):
        yield f"**{title}**\n"
        wide = situations.pivot_table(column, ["situation", "n_sets"], "method", sort=False)
        rows = [
            [name, n_sets, *(_or_dash(values.get(method), show) for method in METHODS)]
            for (name, n_sets), values in wide.iterrows()
        ]
        yield markdown.table(["", "sets", *METHODS], rows)
    yield "**AUC gained / coverage off by, for each family of models**\n"
    rows = []
    for where, found in every.groupby(["family", "rows", "positive", "n_sets"], sort=False):
        by_method = found.set_index("method")
        shown = (_gain_and_miss(by_method, method) for method in SHOWN)
        rows.append([*(str(part).removesuffix(" positive") for part in where), *shown])
    yield markdown.table(["family", "training rows", "positive", "sets", *SHOWN], rows)


def _or_dash(value: float | None, show: Callable[[float], str]) -> str:
    return "-" if value is None or pd.isna(value) else show(value)


def _halves(finding: list[str], checking: list[str]) -> Iterator[str]:
    yield f"- Found on {len(finding)} sets: {', '.join(finding)}."
    yield f"- Checked on {len(checking)} sets: {', '.join(checking)}.\n"


def _check(checks: pd.DataFrame) -> Iterator[str]:
    yield _verdict(checks)
    rows = [
        [
            row.allowed,
            row.rule,
            _signed_interval(row, "over_aucross"),
            f"{signed(-row.below_best)} [{signed(-row.below_best_high)}, {signed(-row.below_best_low)}]",
            _signed_interval(row, "over_max_probability"),
        ]
        for row in checks.itertuples()
    ]
    header = ["allowed", "rule found on the first half", "against always AUCross"]
    yield markdown.table([*header, "against the best in hindsight", f"against {MAX_PROBABILITY}"], rows)
    yield (
        f"Differences of AUC (of accuracy in the lines on accuracy) on the {checks['n_sets'].max():.0f} sets that the "
        "rule was not found on, with 95 % intervals of a bootstrap of sets. AUC is compared at the same coverage, "
        "accuracy at the coverage asked for. The best in hindsight is the highest of several noisy means, so no rule "
        "can reach it. How far the coverage is off on the same sets:\n"
    )
    rows = [
        [
            row.allowed,
            figure(row.miss),
            figure(row.miss_of_aucross),
            _signed_interval(row, "further_off"),
            _signed_interval(row, "further_off_than_best"),
        ]
        for row in checks.itertuples()
    ]
    header = ["allowed", "coverage off by", "always AUCross", "rule less AUCross", "rule less the lowest in hindsight"]
    yield markdown.table(header, rows)
    yield (
        f"Below zero the rule is closer. {_capital(MAX_PROBABILITY)} is off by no more than a row, because it ranks "
        "the rows that it decides on.\n"
    )
    yield from _where_they_differ(checks)


def _where_they_differ(checks: pd.DataFrame) -> Iterator[str]:
    for row in checks[checks["same_as_library"] < 1].itertuples():
        ahead = row.library_over_aucross
        auc = f"is {signed(ahead, 4)} from always AUCross" if ahead else f"has the {row.measure} of always AUCross"
        yield (
            f"With *{row.allowed}* the library's rule {auc} on the second half, and its coverage is off by "
            f"{figure(row.library_miss, 4)}; with the rule found it is off by {figure(row.miss, 4)}.\n"
        )


def _verdict(checks: pd.DataFrame) -> str:
    n_plain = int(checks["rule"].str.startswith("always").sum())
    n_same = int((checks["same_as_library"] == 1).sum())
    plain = (
        "In all of them it finds one method and no exception"
        if n_plain == len(checks)
        else f"In {n_plain} of them it finds one method and no exception"
    )
    same = (
        "the library names the same method everywhere"
        if n_same == len(checks)
        else f"in {n_same} of them the library names the same method everywhere"
    )
    return f"The search was made for {len(checks)} situations, each with something that is allowed. {plain}; {same}.\n"


def _signed_interval(row: object, name: str) -> str:
    mean, low, high = (getattr(row, key) for key in (name, f"{name}_low", f"{name}_high"))
    if low == high == 0:
        return "the same"
    return f"{signed(mean)} [{signed(low)}, {signed(high)}]"


def _again(again: pd.DataFrame) -> Iterator[str]:
    rows = []
    for allowed, found in again.groupby("allowed", sort=False):
        counts = found["rule"].value_counts()
        most = "; ".join(f"{rule} ({count})" for rule, count in counts.head(2).items())
        rows.append([allowed, most, len(counts) - min(2, len(counts)), signed(found["over_library"].mean(), 4)])
    n_halves = again.groupby("allowed").size().max()
    yield markdown.table(
        ["allowed", f"found most often in {n_halves} draws", "other rules", "against the library"], rows
    )
    yield (
        "The last column is the mean difference between the rule found and the library's rule, on the half that the "
        f"rule was not found on. {len(CONDITIONS)} conditions were tried for exceptions, and an exception counts if it "
        f"adds more than {STANDARD_ERRORS:g} standard errors over sets.\n"
    )


def _wrong(wrong: pd.DataFrame, allowed: str, n_all: int) -> Iterator[str]:
    here = wrong[wrong["allowed"] == allowed]
    yield (
        "Where the model may be trained several times and one model is kept, the library names AUCross. Another method "
        f"has a higher AUC by over {CLEARLY_BEHIND:g} in {len(here)} of {n_all} combinations of a set and a family "
        "of models. The largest:\n"
    )
    rows = [
        [
            row.dataset,
            row.family,
            f"{row.n_train:,.0f}",
            share(row.prevalence, 1),
            row.kind,
            row.method_best,
            figure(row.behind),
        ]
        for row in here.head(N_WRONG).itertuples()
    ]
    yield markdown.table(["set", "family", "training rows", "positive", "split", "better", "AUC lost"], rows)
    ahead = ", ".join(f"{name} {count}" for name, count in here["method_best"].value_counts().items())
    yield f"Which method was ahead, and how often: {ahead or 'none'}.\n"
