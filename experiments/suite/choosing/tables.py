"""Decision tables: what every method reached by rows, positives, model and time, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from aucross.cli.choosing import RULE, Choice
from experiments.suite.choosing.check import ALLOWED, AUC, Study
from experiments.suite.choosing.measured import (
    FAMILY_OF,
    KEPT,
    METHODS,
    NAME_OF,
    TRAININGS,
    seconds_per_training,
)
from experiments.suite.choosing.rules import by_set, named_by
from experiments.suite.methods import DEFAULT
from experiments.suite.protocol import GATE, GATED

ROWS = (("under 3,000 rows", 0, 3_000), ("3,000 to 7,999 rows", 3_000, 8_000), ("8,000 rows", 8_000, np.inf))
POSITIVE = (("under 10 % positive", 0, 0.1), ("10 to 25 % positive", 0.1, 0.25), ("over 25 % positive", 0.25, 1.01))
FIGURES = ("gain", "miss", "oracle_distance", "accuracy_gain")
# A rule is called wrong in a situation where another method that was allowed is ahead of it by more.
CLEARLY_BEHIND = 0.003


def overview(values: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """One row per method over all sets and families, with trainings, models to keep and processor time."""
    seconds = seconds_per_training(cells)
    rows = []
    for method in METHODS:
        found = values[values["method"] == method]
        means = {column: by_set(found, column).mean() for column in (*FIGURES, "lead")}
        rows.append(
            {
                "method": method,
                "n_sets": found["dataset"].nunique(),
                **means,
                "trainings": TRAININGS[method],
                "kept": KEPT[method],
                "seconds": seconds.get(method, np.nan),
            }
        )
    return pd.DataFrame(rows)


def gate_or_better_model(values: pd.DataFrame) -> pd.DataFrame:
    """AUC of the automatic rows: a linear model alone, with a gate, and the model of the gate if it may answer."""
    who = (
        ("logistic regression with AUCross", GATED, DEFAULT),
        ("logistic regression with AUCGate", GATED, "AUCGate"),
        (f"{GATE} with AUCross", GATE, DEFAULT),
    )
    found = {
        name: values[(values["family"] == family) & (values["method"] == method)].set_index("dataset")["auc"]
        for name, family, method in who
    }
    together = pd.DataFrame(found).dropna()
    return pd.DataFrame({"who": list(together), "n_sets": len(together), "auc": together.mean().to_numpy()})


def by_situation(values: pd.DataFrame) -> pd.DataFrame:
    """Means over sets in each situation: rows with the share of positives, then families, then time."""
    rows = []
    for name, found in _situations(values):
        for method in METHODS:
            of_method = found[found["method"] == method]
            means = {column: by_set(of_method, column).mean() for column in FIGURES}
            rows.append({"situation": name, "n_sets": found["dataset"].nunique(), "method": method, **means})
    return pd.DataFrame(rows)


def _situations(values: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Parts of the values that have sets in them; drift is kept apart from size."""
    in_time = values["kind"] == "time"
    parts = [
        (f"{rows}, {positive}", _inside(values, "n_train", *limits) & _inside(values, "prevalence", *shares) & ~in_time)
        for rows, *limits in ROWS
        for positive, *shares in POSITIVE
    ]
    parts += [(family, (values["family"] == family) & ~in_time) for family in FAMILY_OF]
    parts += [("rows in time", in_time)]
    yield from ((name, values[inside]) for name, inside in parts if inside.any())


def every_situation(values: pd.DataFrame) -> pd.DataFrame:
    """Rows with the share of positives with the family, sets in time apart."""
    rows = []
    for when, kinds in (("", ("random", "groups")), (", in time", ("time",))):
        for family in FAMILY_OF:
            found = values[(values["family"] == family) & values["kind"].isin(kinds)]
            for size, *limits in ROWS:
                for positive, *shares in POSITIVE:
                    part = found[_inside(found, "n_train", *limits) & _inside(found, "prevalence", *shares)]
                    for method in METHODS:
                        of_method = part[part["method"] == method]
                        if of_method.empty:
                            continue
                        rows.append(
                            {
                                "family": family,
                                "rows": f"{size}{when}",
                                "positive": positive,
                                "n_sets": part["dataset"].nunique(),
                                "method": method,
                                **{column: of_method[column].mean() for column in (*FIGURES, "lead")},
                            }
                        )
    return pd.DataFrame(rows)


def _inside(values: pd.DataFrame, column: str, low: float, high: float) -> pd.Series:
    return (values[column] >= low) & (values[column] < high)


def lines(study: Study) -> pd.DataFrame:
    """One row per line of the library's rule: what the method that it names reached wherever the line can apply."""
    rows = []
    for number, line in enumerate(RULE, start=1):
        allowed = next((allowed for allowed in ALLOWED if allowed.line is line), None)
        row: dict[str, object] = {
            "line": number,
            "when": line.when,
            "use": str(line.use),
            "for_accuracy": line.for_accuracy,
        }
        if allowed is not None:
            named = named_by(study.library(allowed), *study.situations(allowed, list(study.kinds)))
            gained = "gain" if allowed.measure == AUC else "accuracy_gain"
            row |= {"gained": by_set(named, gained).mean(), "miss": by_set(named, "miss").mean()}
            row |= {"of": "AUC" if allowed.measure == AUC else "accuracy"}
            if allowed.family is not None:  # other lines were measured with all families
                values = study.taken(allowed, list(study.kinds))
                row["default_gained"] = by_set(values[values["method"] == DEFAULT], gained).mean()
        name = NAME_OF[line.use]
        row |= {"trainings": TRAININGS[name], "kept": KEPT[name]}
        rows.append({**row, "trainings": 0, "kept": 0} if line.use is Choice.SCORE_COLUMN else row)
    return pd.DataFrame(rows)


def wrong(study: Study, datasets: Sequence[str]) -> pd.DataFrame:
    """Situations in which another method that was allowed is clearly ahead of the one that the library names."""
    rows = []
    for allowed in ALLOWED:
        if allowed.measure != AUC:
            continue
        named = named_by(study.library(allowed), *study.situations(allowed, datasets))
        both = named.merge(study.best(allowed, datasets), on=["dataset", "family"], suffixes=("", "_best"))
        both = both.assign(allowed=allowed.text, behind=both["lead_best"] - both["lead"])
        rows.append(both[both["behind"] > CLEARLY_BEHIND])
    columns = ["allowed", "dataset", "family", "n_train", "prevalence", "kind", "method", "method_best", "behind"]
    return pd.concat(rows)[columns].sort_values("behind", ascending=False, ignore_index=True)
