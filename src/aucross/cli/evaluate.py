"""aucross evaluate and aucross report: a model and labelled rows in, a table or a page out."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aucross.cli.errors import UsageError
from aucross.cli.models import strange_values
from aucross.cli.numbers import NumberFormat
from aucross.cli.reports import check_libraries, check_report, report_path, write_model_report
from aucross.cli.results import conclusion, coverages_with, evaluate, n_rows_text, show_evaluation, show_groups
from aucross.cli.schema import LabelledRows, Schema
from aucross.cli.screen import Screen
from aucross.cli.storage import load_model
from aucross.cli.tables import check_table
from aucross.cli.training import check_coverage_option, read_test_rows
from aucross.evaluation.inputs import TrainingRowsWarning, rows_of_fit


@dataclass(frozen=True)
class EvaluateOptions:
    """What `aucross evaluate` or `aucross report` was asked for."""

    model: Path
    data: Path
    coverage: float | None = None
    by: str | None = None
    out: Path | None = None
    command: str | None = None
    separator: str | None = None
    numbers: NumberFormat | None = None
    group: str | None = None


def run_evaluate(options: EvaluateOptions, screen: Screen) -> dict[str, Any]:
    """Judge a model on labelled rows that it was not fitted on; return what the JSON document says."""
    started = time.perf_counter()
    clf, _, rows, coverage = _read(options, screen)
    evaluation = evaluate(clf, rows, coverages_with([coverage]))
    sentence = conclusion(
        evaluation, coverage, is_weighted=rows.weight is not None, on_unscored=rows.sentence_on_unscored
    )
    show_evaluation(screen, evaluation, n_rows_text(rows, f"rows of {options.data.name}"), coverage)
    groups = show_groups(screen, clf, rows, options.by, coverage=coverage)
    screen.say(sentence)
    return {
        "command": "evaluate",
        "model": str(options.model),
        "data": str(options.data),
        "n_rows": rows.n_cases,
        "n_without_score": rows.n_without_score,
        "coverage": coverage,
        "evaluation": evaluation.rows(),
        "groups": groups,
        "conclusion": sentence,
        "seconds": time.perf_counter() - started,
    }


def run_report(options: EvaluateOptions, screen: Screen) -> dict[str, Any]:
    """Write the report of a model on labelled rows; return what the JSON document says."""
    path = report_path(options.out, options.model)
    check_report(path, "--out")
    check_libraries(path)
    check_table(options.data)
    if path.resolve() in (options.model.resolve(), options.data.resolve()):
        raise UsageError(f"--out: {path} is a file to read; name another one for the report")
    clf, schema, rows, coverage = _read(options, screen)
    write_model_report(
        clf,
        schema,
        rows,
        path,
        screen,
        coverage=coverage,
        data_name=options.data.name,
        command=options.command,
    )
    screen.say(f"Report: {path}")
    return {"command": "report", "model": str(options.model), "data": str(options.data), "report": str(path)}


def _read(options: EvaluateOptions, screen: Screen) -> tuple[Any, Schema, LabelledRows, float]:
    check_coverage_option(options.coverage)
    clf, schema = load_model(options.model, options.numbers)
    rows = read_test_rows(
        options.data, schema, screen, by=options.by, group=options.group, separator=options.separator
    ).scored_by(clf)
    strange = strange_values(clf, schema)
    strange.add(rows.X)
    for note in strange.notes():
        screen.note(note)
    if (doubt := rows_of_fit(clf, rows.X)[1]) is not None:
        warnings.warn(doubt, TrainingRowsWarning, stacklevel=2)
    return clf, schema, rows, clf.coverage if options.coverage is None else options.coverage
