"""aucross fit: read a table; write a model, its evaluation on test rows, and a report."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aucross.cli import judging
from aucross.cli.base_models import check_installed, models_of
from aucross.cli.command_options import Base, FitOptions, Method, Ties
from aucross.cli.errors import UsageError
from aucross.cli.judging import coverages_with
from aucross.cli.schema import Schema, save_model
from aucross.cli.screen import Screen
from aucross.cli.table_files import check_table, check_writable
from aucross.cli.train import check_training, read_rows, split_text, train
from aucross.estimators.strange_values import familiar_values
from aucross.evaluation import SelectiveEvaluation
from aucross.files.signing import signing_key
from aucross.report.rows import GRID


def run_fit(options: FitOptions, screen: Screen) -> dict[str, Any]:
    """Fit, evaluate, save and report; return the content of the JSON document."""
    if options.uses_engine("score", "by", "report", "positive", "band_group"):
        from aucross.cli.engines import run_engine_fit  # noqa: PLC0415  (it imports this module)

        return run_engine_fit(options, screen)
    started = time.perf_counter()
    report = _checked(options, screen)
    method, answer, split = options.method, options.answer, split_text(options)
    reads_table = options.score is None or options.ties is Ties.SPLIT or method is Method.GATE
    schema, fitted_on, test = read_rows(options, screen, with_other_columns=reads_table, by=options.by)
    what = f"fitting {method} with {answer} on {len(fitted_on):,} rows"
    clf, seconds = train(options, method, answer, schema, fitted_on, screen=screen, what=what, ties=options.ties)
    test = test.scored_by(clf)
    coverages = coverages_with([options.coverage])
    # The report shows more coverages. They are evaluated together, because ranking the rows takes time.
    everywhere = judging.evaluate(clf, test, coverages_with([*coverages, *(GRID if report is not None else ())]))
    evaluation = everywhere.at(coverages)
    judging.note_if_turned_round(evaluation, options.given_score, screen.note)
    band = _review_band(options, clf)
    sentence = judging.conclusion(
        evaluation, options.coverage, is_weighted=test.weight is not None, on_unscored=test.sentence_on_unscored
    )
    base = None if options.score else str(answer)
    counted: dict[str, Any] = {"base": base, "n_train": len(fitted_on), "n_test": test.n_cases}
    counted |= {"n_without_score": test.n_without_score, "split": split, "seconds_of_fit": seconds}
    facts = facts_of_fit(options, screen, evaluation, **counted, conclusion=sentence, review_band=band)
    numbers, categories = (
        [name for name, kind in schema.columns.items() if kind == wanted] for wanted in ("number", "category")
    )
    # How many different values each has; which ones is nobody's business who has the file.
    n_categories = {name: int(fitted_on.X[name].nunique()) for name in categories}
    schema = replace(schema, familiar=familiar_values(models_of(clf), fitted_on.X, numbers))
    save_model(clf, options.model, schema, **facts, n_categories=n_categories)
    title = f"{judging.n_rows_text(test, 'test rows')} ({split})"
    judging.show_evaluation(screen, evaluation, title, options.coverage)
    groups = judging.show_groups(screen, clf, test, options.by, coverage=options.coverage)
    if report is not None:
        named = f"{options.data.name}, {split}"
        training = f"{len(fitted_on):,} rows of {options.data.name}, fitted {dt.date.today().isoformat()}"
        told: dict[str, Any] = {"data_name": named, "training": training, "evaluation": everywhere}
        judging.write_model_report(clf, schema, test, report, screen, **told)
    screen.say(sentence)
    if band is not None:
        screen.say(f"For review: {schema.score} from {band[0]:g} to {band[1]:g}.")
    screen.say(f"Model: {options.model}" + (f"   Report: {report}" if report else ""))
    return document_of_fit(options, schema, facts, started, report=report, score=schema.score, groups=groups)


def facts_of_fit(options: FitOptions, screen: Screen, evaluation: SelectiveEvaluation, **facts: Any) -> dict[str, Any]:
    """Return the facts about a fit that the model file stores and the JSON document shows."""
    return {
        "method": str(options.method),
        "coverage": options.coverage,
        "seed": options.seed,
        "data": options.data.name,
        "fit_command": screen.command,
        "evaluation": evaluation.rows(),
        **facts,
    }


def document_of_fit(
    options: FitOptions, schema: Schema, facts: dict[str, Any], started: float, report: Path | None, **further: Any
) -> dict[str, Any]:
    """Return the content of the JSON document."""
    return {
        "command": "fit",
        "model": str(options.model),
        "report": None if report is None else str(report),
        "columns": dict(schema.columns),
        **facts,
        **further,
        "seconds": time.perf_counter() - started,
    }


def _checked(options: FitOptions, screen: Screen) -> Path | None:
    """Refuse options that cannot work; return the path of the report, or None for no report."""
    check_training(options)
    model, tables = options.model, [options.data, *([options.test] if options.test else [])]
    for table in tables:
        check_table(table)
    if isinstance(options.answer, Base):
        check_installed(options.answer)
    signing_key()
    check_writable(model)
    if model.resolve() in [table.resolve() for table in tables]:
        raise UsageError(f"--out: {model} is the table to read; name another file")
    if options.no_report:
        return None
    if options.report is None and find_spec("jinja2") is None:
        screen.note(f"no report will be written: {judging.NEEDS_JINJA}")
        return None
    report = judging.report_path(options.report, model, "--report")
    if report.resolve() == model.resolve():
        raise UsageError(f"--out: {model} is the name of the report; end the name of the model in .aucross")
    return report


def _review_band(options: FitOptions, clf: Any) -> list[float] | None:
    """Return the review band of a given score, in the unit of its column; None if there is no band."""
    is_on_score = options.score is not None and options.method in (Method.AUCROSS, Method.PLUGIN_AUC)
    if not is_on_score or options.band_group is not None or (band := clf.band()).is_empty:
        return None
    return sorted(clf.estimator_.column_value([band.lower, band.upper]).tolist())
