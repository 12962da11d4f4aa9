"""aucross compare: all methods and base models side by side on the same training and test rows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aucross.cli.base_models import check_installed, is_installed
from aucross.cli.choosing import Choice, Family, Situation, line_for, sentence
from aucross.cli.command_options import Answer, Base, CompareOptions, Method
from aucross.cli.judging import evaluate, n_rows_text, note_if_turned_round, with_interval
from aucross.cli.schema import LabelledRows
from aucross.cli.screen import Screen
from aucross.cli.train import check_training, read_rows, split_text, train
from aucross.evaluation import SelectiveComparison, SelectiveEvaluation, oracle_gap
from aucross.evaluation.selective_evaluation import decimal


@dataclass(frozen=True)
class Contestant:
    """One method with one base model, fitted and judged."""

    method: Method
    answer: Answer
    evaluation: SelectiveEvaluation
    gap_to_oracle: float
    seconds: float

    @property
    def name(self) -> str:
        """Name of the method and of the model, for use in a sentence."""
        return f"{self.method} with {self.answer}"

    @property
    def auc_of_all(self) -> float:
        """AUC of the base model on all test rows."""
        return float(self.evaluation.rows()[0]["selective_auc"])


def run_compare(options: CompareOptions, screen: Screen) -> dict[str, Any]:
    """Fit and judge every method with every base model; return the content of the JSON document."""
    check_training(options)
    score, methods, split = options.given_score, options.method or tuple(Method), split_text(options)
    for base in options.base or ():
        check_installed(base)
    if missing := [] if score or options.base else [base for base in Base if not is_installed(base)]:
        screen.note(f"not compared, because not installed: {', '.join(missing)}")
    answers = [score] if score else options.base or [base for base in Base if base not in missing]
    reads_table = score is None or Method.GATE in methods
    schema, fitted_on, test = read_rows(options, screen, with_other_columns=reads_table)
    pairs = [(answer, method) for answer in answers for method in methods]
    contestants = []
    for number, (answer, method) in enumerate(pairs, start=1):
        what = f"{number} of {len(pairs)}: {method} with {answer}"
        clf, seconds = train(options, method, answer, schema, fitted_on, screen=screen, what=what)
        seen = test.scored_by(clf)
        evaluation = evaluate(clf, seen, sorted({1.0, options.coverage}, reverse=True))
        assert seen.scored is not None
        # How far the automatic rows stay behind those of the best band, which only the labels of the test rows show.
        gap = oracle_gap(seen.y, seen.scored.score, clf.select(seen.scored), sample_weight=seen.weight)
        contestants.append(Contestant(method, answer, evaluation, gap, seconds))
    note_if_turned_round(contestants[0].evaluation, score, screen.note)
    rows = _rows(contestants)
    _show(screen, rows, f"{n_rows_text(test, 'test rows')} ({split}), coverage asked {options.coverage:g}")
    unit = "cases" if test.weight is None else "the weight"
    comparison = SelectiveComparison({each.name: each.evaluation for each in contestants}, contestants[0].name)
    best = contestants[_best(rows)]
    missed = (best.evaluation.missed_sentence([options.coverage]) or "").replace(
        "The coverage", f"By {best.name} the coverage", 1
    )
    said = (comparison.advice(options.coverage, of=unit), missed, test.sentence_on_unscored)
    conclusion = " ".join(filter(None, said))
    rule = _rule(options, contestants, fitted_on)
    screen.say(conclusion)
    screen.say(rule)
    return {
        "command": "compare",
        "data": str(options.data),
        "coverage": options.coverage,
        "n_train": len(fitted_on),
        "n_test": test.n_cases,
        "n_without_score": test.n_without_score,
        "split": split,
        "reference": contestants[0].name,
        "comparison": rows,
        "conclusion": conclusion,
        "rule": rule,
    }


_FAMILIES = {
    **dict.fromkeys((Base.HGB, Base.LIGHTGBM, Base.XGBOOST), Family.BOOSTED_TREES),
    Base.LOGISTIC: Family.LINEAR,
    Base.FOREST: Family.FOREST,
}


# What the rule can name for a table at hand.
_METHODS = {Choice.AUCROSS: Method.AUCROSS, Choice.SCORE_COLUMN: Method.AUCROSS, Choice.GATE: Method.GATE}


def _rule(options: CompareOptions, contestants: Sequence[Contestant], rows: LabelledRows) -> str:
    """Return the rule's advice for the model with the highest AUC, and simpler options if they decide identically."""
    answer = max(contestants, key=lambda contestant: contestant.auc_of_all).answer
    situation = Situation(
        n_rows=len(rows),
        n_positives=int(rows.y.sum()),
        family=_FAMILIES[answer] if isinstance(answer, Base) else None,
        in_time=options.time_column is not None,
        has_customers=options.customer is not None,
        is_given_score=options.score is not None,
        has_second_model=Method.GATE in (options.method or Method),
    )
    method = _METHODS[line_for(situation).use]
    found = {(contestant.answer, contestant.method): contestant for contestant in contestants}
    named, plain = found.get((answer, method)), found.get((answer, Method.AUCROSS))
    is_same = named is not None and plain is not None and named is not plain and _decide_alike(named, plain)
    return sentence(situation, _options(answer, method), _options(answer, Method.AUCROSS) if is_same else None)


def _decide_alike(first: Contestant, second: Contestant) -> bool:
    """Return whether coverage, AUC and the interval of their difference agree to the last digit shown."""
    names = ("difference", "difference_low", "difference_high")
    rows = first.evaluation.minus(second.evaluation).rows()
    shown = [row for row in rows if row["metric"] in ("selective_auc", "achieved_coverage")]
    return all(decimal(row[name]) in (".000", "nan") for row in shown for name in names)


def _options(answer: Answer, method: Method) -> str:
    if isinstance(answer, Base):
        return f"--method {method} --base {answer}"
    threshold = "" if answer.threshold is None else f" --threshold {answer.threshold:g}"
    low = " --low-is-positive" if answer.low_is_positive else ""
    return f"--method {method} --score {shlex.quote(answer.column)}{threshold}{low}"


def _rows(contestants: Sequence[Contestant]) -> list[dict[str, Any]]:
    """Return one row for each contestant, with its paired difference from the first contestant."""
    reference = contestants[0].evaluation
    rows = []
    for contestant in contestants:
        differences = contestant.evaluation.minus(reference).rows()
        paired = [row for row in differences if row["metric"] == "selective_auc"][-1]
        rows.append(
            {
                "base": str(contestant.answer),
                "method": str(contestant.method),
                "auc_of_all": contestant.auc_of_all,
                **contestant.evaluation.rows()[-1],
                **{name: paired[name] for name in ("difference", "difference_low", "difference_high")},
                "share_above_reference": paired["share_above_zero"],
                "coverage_missed": bool(contestant.evaluation.missed[-1]),
                "gap_to_oracle": contestant.gap_to_oracle,
                "seconds": contestant.seconds,
            }
        )
    return rows


def _show(screen: Screen, rows: Sequence[dict[str, Any]], title: str) -> None:
    shown = ("base", "method", "coverage reached", "AUC of all", "AUC of automatic")
    header = [*shown, f"minus {rows[0]['method']} with {rows[0]['base']}", "to Oracle", "seconds"]
    cells = [
        [
            row["base"],
            row["method"],
            decimal(row["achieved_coverage"]) + (" missed" if row["coverage_missed"] else ""),
            decimal(row["auc_of_all"]),
            with_interval(row, "selective_auc"),
            "reference" if number == 0 else with_interval(row, "difference"),
            "undefined" if np.isnan(row["gap_to_oracle"]) else decimal(row["gap_to_oracle"]),
            f"{row['seconds']:.1f}",
        ]
        for number, row in enumerate(rows)
    ]
    screen.table(title, header, cells, _best(rows))


def _best(rows: Sequence[dict[str, Any]]) -> int:
    return int(np.argmax([-1.0 if np.isnan(row["selective_auc"]) else row["selective_auc"] for row in rows]))
