"""Judge a model on labelled rows: tables by coverage and by group, a sentence, a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from math import inf, isnan
from pathlib import Path
from typing import Any

import numpy as np

from aucross.cli.base_models import strange_values
from aucross.cli.command_options import EvaluateOptions, GivenScore, JudgingOptions, ReportOptions
from aucross.cli.errors import CommandError, UsageError
from aucross.cli.schema import LabelledRows, Schema, load_model
from aucross.cli.screen import Screen
from aucross.cli.table_files import check_table, check_writable
from aucross.cli.train import check_coverage_option, read_test_rows
from aucross.evaluation import SelectiveEvaluation, evaluate_selective
from aucross.evaluation.inputs import rows_of_fit
from aucross.evaluation.selective_evaluation import decimal
from aucross.evaluation.unscored import count_unscored, evaluate_groups_of_all
from aucross.files.model_file import read_header
from aucross.files.signing import signing_key
from aucross.report import build_summary, render_html, write_report
from aucross.report.contents import RENDERERS
from aucross.report.coverage_numbers import hidden_groups_sentence
from aucross.system.text import exact_percent, percent

# The paper's coverages, and all rows to compare with.
COVERAGES = (1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
CONFIDENCE = 0.95

# Automatic test rows of a class under which an AUC is a matter of chance.
FEWEST_ROWS_TO_CONCLUDE = 10

# In a title: its shares are not those of rows.
BY_WEIGHT = ", shares by weight"

_HEADER = ("coverage", "reached", "AUC of automatic", "gain over all", "accuracy", "positive rate")

_GROUP_COLUMNS = {
    "achieved_coverage": "reached",
    "selective_auc": "AUC of automatic",
    "positives_for_review": "positives for review",
}


def coverages_with(asked: Iterable[float]) -> list[float]:
    """Return the usual coverages and the requested ones, highest first."""
    return sorted({*COVERAGES, *asked}, reverse=True)


def evaluate(clf: Any, rows: LabelledRows, coverages: Sequence[float]) -> SelectiveEvaluation:
    """Return the metrics of labelled rows at each coverage, with intervals; coverages count unscored rows, too."""
    counted: dict[str, Any] = {"sample_weight": rows.weight, "customers": rows.customers}
    evaluation = evaluate_selective(clf, rows.scored, rows.y, coverages, **counted, confidence_level=CONFIDENCE)
    if rows.unscored is None:
        return evaluation
    rule, scored = clf.band_rule_, clf.scored(rows.scored)
    selected = [rule.bands_of(scored.rule_input, coverage).selected for coverage in coverages]
    return count_unscored(evaluation, selected, rows.y == 1, rows.unscored, **counted)


def n_rows_text(rows: LabelledRows, what: str) -> str:
    """Format the number of rows of a table, for its title."""
    without = f", {rows.n_without_score:,} of them without a score" if rows.unscored is not None else ""
    return f"{rows.n_cases:,} {what}{without}{BY_WEIGHT if rows.weight is not None else ''}"


def show_evaluation(screen: Screen, evaluation: SelectiveEvaluation, title: str, asked: float) -> None:
    """Print the table by coverage, and mark the coverage in use."""
    rows = [
        [
            f"{row['target_coverage']:g}",
            with_interval(row, "achieved_coverage") + (" missed" if is_missed else ""),
            with_interval(row, "selective_auc"),
            with_interval(row, "auc_gain"),
            decimal(row["selective_accuracy"]),
            decimal(row["positive_rate"]),
        ]
        for row, is_missed in zip(evaluation.rows(), evaluation.missed, strict=True)
    ]
    marked = int(np.flatnonzero(evaluation.target_coverage == asked)[0])
    screen.table(title, _HEADER, rows, marked)


def with_interval(row: Mapping[str, Any], name: str) -> str:
    """Return a metric with its interval for a cell of a table."""
    if isnan(row[name]):
        return "undefined"
    text = decimal(row[name])
    low, high = row.get(f"{name}_low", float("nan")), row.get(f"{name}_high", float("nan"))
    return text if isnan(low) or low == high else f"{text} [{decimal(low)}, {decimal(high)}]"


def conclusion(
    evaluation: SelectiveEvaluation, asked: float, *, is_weighted: bool = False, on_unscored: str | None = None
) -> str:
    """Return a sentence on how review changes the AUC of the automatic rows, and on cases without a score."""
    at, everyone = (int(np.flatnonzero(evaluation.target_coverage == coverage)[0]) for coverage in (asked, 1.0))
    auc, coverage = evaluation.estimates["selective_auc"], evaluation.estimates["achieved_coverage"]
    positive, negative = evaluation.n_positive, evaluation.n_negative
    cases, fewest = "the weight" if is_weighted else "cases", (FEWEST_ROWS_TO_CONCLUDE, "")
    if positive is not None and negative is not None:
        fewest = min((int(positive[at]), "positive"), (int(negative[at]), "negative"))
        automatic, n_rows = ((positive + negative)[place] for place in (at, everyone))
        if is_weighted and on_unscored is None:
            cases += f" ({n_rows - automatic:,} of {n_rows:,} rows)"
    said = f"Sending {percent(1 - coverage[at])} of {cases} to review"
    if coverage[at] == coverage[everyone]:
        who = "No case" if coverage[at] == 1 else "No case that has a score"
        said = f"{who} goes to review at coverage {asked:g}; the AUC of all is {decimal(auc[everyone])}"
    elif isnan(auc[at]) or isnan(auc[everyone]):
        said += " leaves a single class; no AUC of the rest can be stated"
    elif fewest[0] < FEWEST_ROWS_TO_CONCLUDE:
        said += f" leaves {fewest[0]} {fewest[1]} test rows, too few to tell what it does to the AUC"
    else:
        said += f" {_effect_on_auc(evaluation, at, everyone)}"
    return " ".join(filter(None, (f"{said}.", evaluation.missed_sentence([asked]), on_unscored)))


def note_if_turned_round(
    evaluation: SelectiveEvaluation, score: GivenScore | None, note: Callable[[str], None]
) -> None:
    """Write a note that a given score seems to be reversed, if its AUC is clearly below one half."""
    everyone = int(np.flatnonzero(evaluation.target_coverage == 1.0)[0])
    if score is None or not evaluation.spread("selective_auc")["selective_auc_high"][everyone] < 0.5:
        return
    auc = decimal(evaluation.estimates["selective_auc"][everyone])
    remedy = "leave out --low-is-positive" if score.low_is_positive else "pass --low-is-positive"
    note(
        f"--score: the AUC of {score.column!r} is {auc} on the test rows, below one half, so that high values speak "
        f"against the positive class; {remedy}, or name the other class with --positive"
    )


def _effect_on_auc(evaluation: SelectiveEvaluation, at: int, everyone: int) -> str:
    """Return in words whether the AUC rises or falls, with the interval of the change."""
    auc, spread = evaluation.estimates["selective_auc"], evaluation.spread("auc_gain")
    change = f"from {decimal(auc[everyone])} to {decimal(auc[at])}"
    low, high = float(spread["auc_gain_low"][at]), float(spread["auc_gain_high"][at])
    if isnan(low):
        return f"changes the AUC of the rest {change}"
    level = f"{exact_percent(evaluation.confidence_level)} interval of the"
    if low > 0:
        return f"raises the AUC of the rest {change} ({level} rise {decimal(low)} to {decimal(high)})"
    if high < 0:
        return f"lowers the AUC of the rest {change} ({level} fall {decimal(-high)} to {decimal(-low)})"
    return (
        f"moves the AUC of the rest {change}, which is no clear rise ({level} change {decimal(low)} to {decimal(high)})"
    )


def show_groups(
    screen: Screen, clf: Any, rows: LabelledRows, by: str | None, *, coverage: float
) -> list[dict[str, Any]] | None:
    """Print and return the metrics of each group of a column, if a column was named."""
    if by is None:
        return None
    assert rows.scored is not None
    counted: dict[str, Any] = {"sample_weight": rows.weight, "customers": rows.customers, "unscored": rows.unscored}
    evaluation = evaluate_groups_of_all(
        *(rows.y == 1, rows.scored.score, rows.scored.predicted == 1),
        {coverage: clf.select(rows.scored, coverage)},
        rows.by if rows.unscored is None else rows.unscored.part_after(rows.by, "by"),
        **counted,
        confidence_level=CONFIDENCE,
    ).without_small_groups()
    if hidden := hidden_groups_sentence(evaluation):
        screen.note(f"--by: {hidden}")
    found = evaluation.rows()
    cells = [
        [str(row["group"]), f"{row['n']:,}", *(with_interval(row, name) for name in _GROUP_COLUMNS)] for row in found
    ]
    title = f"By {by}, coverage {coverage:g}{BY_WEIGHT if rows.weight is not None else ''}"
    screen.table(title, [by, "rows", *_GROUP_COLUMNS.values()], cells)
    return found


# ---- reports, where what they need is installed ----

NEEDS_JINJA = 'a report in HTML needs jinja2: pip install "aucross[report]"; .md and .json need nothing more'


def report_path(report: Path | None, model: Path, option: str) -> Path:
    """Return the path of the report, by default beside the model; refuse a path that cannot be written."""
    # Other endings are part of the name: model.v1 and model.v2 must not share a report.
    is_known_ending = model.suffix in (".aucross", ".html")
    path = report or (model.with_suffix(".html") if is_known_ending else model.with_name(f"{model.name}.html"))
    if path.suffix.lower() not in RENDERERS:
        raise UsageError(f"{option}: the report {path.name} must end in {', '.join(RENDERERS)}; for PDF print the page")
    check_writable(path, option)
    if find_spec("jinja2") is None and RENDERERS[path.suffix.lower()] is render_html:
        raise CommandError(NEEDS_JINJA)
    return path


def write_model_report(
    clf: Any, schema: Schema, rows: LabelledRows, path: Path, screen: Screen, **options: Any
) -> None:
    """Write the report of labelled rows; `options` go to `build_summary`."""
    with screen.working("writing the report"):
        told: dict[str, Any] = {"title": f"Automatic decisions and review: {schema.roles.target}"}
        told |= {"features": rows.X, "by": rows.by, "sample_weight": rows.weight, "customers": rows.customers}
        told |= {"unscored": rows.unscored, "class_names": schema.labels, "command": screen.command, **options}
        write_report(build_summary(clf, rows.scored, rows.y, **told), path)


# ---- aucross evaluate and aucross report ----


def run_evaluate(options: EvaluateOptions, screen: Screen) -> dict[str, Any]:
    """Judge a model on labelled rows that it was not fitted on; return the content of the JSON document."""
    if options.uses_engine("by", "customer"):
        from aucross.cli.engines import run_engine_evaluate  # noqa: PLC0415  (it imports this module)

        return run_engine_evaluate(options, screen)
    started = time.perf_counter()
    clf, _, rows, coverage = _read(options, screen)
    evaluation = evaluate(clf, rows, coverages_with([coverage]))
    sentence = conclusion(
        evaluation, coverage, is_weighted=rows.weight is not None, on_unscored=rows.sentence_on_unscored
    )
    show_evaluation(screen, evaluation, n_rows_text(rows, f"rows of {options.data.name}"), coverage)
    groups = show_groups(screen, clf, rows, options.by, coverage=coverage)
    screen.say(sentence)
    facts = {"n_rows": rows.n_cases, "n_without_score": rows.n_without_score, "coverage": coverage, "groups": groups}
    return document_of_evaluation(options, started, evaluation, **facts, conclusion=sentence)


def document_of_evaluation(
    options: EvaluateOptions, started: float, evaluation: SelectiveEvaluation, **facts: Any
) -> dict[str, Any]:
    """Return the content of the JSON document."""
    return {
        "command": "evaluate",
        "model": str(options.model),
        "data": str(options.data),
        "evaluation": evaluation.rows(),
        **facts,
        "seconds": time.perf_counter() - started,
    }


def run_report(options: ReportOptions, screen: Screen) -> dict[str, Any]:
    """Write the report of a model on labelled rows; return the content of the JSON document."""
    path = report_path(options.out, options.model, "--out")
    check_table(options.data)
    if path.resolve() in (options.model.resolve(), options.data.resolve()):
        raise UsageError(f"--out: {path} is a file to read; name another one for the report")
    if options.cases_a_month is not None and not 0 < options.cases_a_month < inf:
        raise UsageError(f"--cases-a-month must be a positive number of cases, got {options.cases_a_month:g}")
    told: dict[str, Any] = {"data_name": options.data.name, "cases_a_month": options.cases_a_month}
    if options.costs is not None:
        missed, alarm, review = options.costs
        if not all(0 <= cost < inf for cost in options.costs):
            raise UsageError(f"--costs must be three numbers of 0 or more, got {missed:g} {alarm:g} {review:g}")
        told |= {"cost_matrix": ((0.0, alarm), (missed, 0.0)), "review_cost": review}
    clf, schema, rows, coverage = _read(options, screen)
    header = read_header(options.model, key=signing_key())
    n_rows, data = header.metadata.get("n_train"), header.metadata.get("data")
    known = f"{n_rows:,} rows of {data}; " if isinstance(n_rows, int) and isinstance(data, str) else ""
    told["training"] = f"{known}model file of {header.saved_at[:10]}"
    told |= {} if options.title is None else {"title": options.title}
    write_model_report(clf, schema, rows, path, screen, coverage=coverage, **told)
    screen.say(f"Report: {path}")
    return {"command": "report", "model": str(options.model), "data": str(options.data), "report": str(path)}


def _read(options: JudgingOptions, screen: Screen) -> tuple[Any, Schema, LabelledRows, float]:
    check_coverage_option(options.coverage)
    clf, schema = load_model(options.model, options.numbers)
    rows = read_test_rows(
        options.data, schema, screen, by=options.by, customer=options.customer, separator=options.separator
    ).scored_by(clf)
    strange = strange_values(clf, schema)
    strange.add(rows.X)
    for note in strange.notes():
        screen.note(note)
    if (doubt := rows_of_fit(clf, rows.X)[1]) is not None:
        screen.note(doubt)
    return clf, schema, rows, clf.coverage if options.coverage is None else options.coverage
