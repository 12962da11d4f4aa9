"""aucross fit: a table in, a model, its evaluation on rows kept apart and a report out."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aucross.cli.base_models import check_installed, models_of
from aucross.cli.errors import CommandError, UsageError
from aucross.cli.judging import (
    check_libraries,
    check_report,
    conclusion,
    coverages_with,
    evaluate,
    n_rows_text,
    note_if_turned_round,
    report_path,
    show_evaluation,
    show_groups,
    write_model_report,
)
from aucross.cli.names import Answer, Base, Method
from aucross.cli.output import check_writable
from aucross.cli.schema import save_model, signing_key
from aucross.cli.screen import Screen
from aucross.cli.table_files import check_table
from aucross.cli.train import TrainingOptions, read_rows, train
from aucross.estimators.familiar import familiar_values
from aucross.report.rows import GRID


@dataclass(frozen=True, kw_only=True)
class FitOptions(TrainingOptions):
    """Options of `aucross fit`."""

    out: Path
    base: Base | None = None
    method: Method = Method.AUCROSS
    report: Path | None = None
    with_report: bool = True
    command: str | None = None

    @property
    def answer(self) -> Answer:
        """The score or the base model asked for; by default logistic regression with a gate, else boosted trees."""
        return self.score or self.base or (Base.LOGISTIC if self.method is Method.GATE else Base.HGB)

    @property
    def reads_other_columns(self) -> bool:
        """Whether some model reads more than a given score."""
        return super().reads_other_columns or self.method is Method.GATE

    def check(self) -> None:
        """Refuse options that cannot work, before any file is read."""
        super().check()
        for table in (self.data, *([self.test] if self.test else [])):
            check_table(table)
        if self.score is not None and self.base is not None:
            raise UsageError("--score and --base both say what answers; give one of them")
        if isinstance(self.answer, Base):
            check_installed(self.answer)
        signing_key()
        check_writable(self.out)
        if self.out.resolve() in (self.data.resolve(), self.test and self.test.resolve()):
            raise UsageError(f"--out: {self.out} is the table to read; name another file")
        if self.with_report:
            report = report_path(self.report, self.out)
            check_report(report, "--report")
            if report.resolve() == self.out.resolve():
                raise UsageError(f"--out: {self.out} is the name of the report; end the name of the model in .aucross")


def run_fit(options: FitOptions, screen: Screen) -> dict[str, Any]:
    """Fit, evaluate, save and report; return the content of the JSON document."""
    started = time.perf_counter()
    options.check()
    report = _report_to_write(options, screen)
    schema, fitted_on, test = read_rows(options, screen)
    what = f"fitting {options.method} with {options.answer} on {len(fitted_on):,} rows"
    clf, seconds = train(options, options.method, options.answer, schema, fitted_on, screen=screen, what=what)
    test = test.scored_by(clf)
    coverages = coverages_with([options.coverage])
    # The report shows more coverages. They are evaluated together, because ranking the rows takes time.
    everywhere = evaluate(clf, test, coverages_with([*coverages, *(GRID if report is not None else ())]))
    evaluation = everywhere.at(coverages)
    note_if_turned_round(evaluation, options.score, screen.note)
    facts: dict[str, Any] = {
        "method": str(options.method),
        "base": None if options.score else str(options.answer),
        "coverage": options.coverage,
        "seed": options.seed,
        "data": options.data.name,
        "fit_command": options.command,
        "n_train": len(fitted_on),
        "n_test": test.n_cases,
        "n_without_score": test.n_without_score,
        "split": options.split,
        "seconds_of_fit": seconds,
        "evaluation": evaluation.rows(),
        "conclusion": conclusion(
            evaluation, options.coverage, is_weighted=test.weight is not None, on_unscored=test.sentence_on_unscored
        ),
        "review_band": _review_band(options, clf),
    }
    numbers, categories = (
        [name for name, kind in schema.columns.items() if kind == wanted] for wanted in ("number", "category")
    )
    # How many different values each has; which ones is nobody's business who has the file.
    n_categories = {name: int(fitted_on.X[name].nunique()) for name in categories}
    schema = replace(schema, familiar=familiar_values(models_of(clf), fitted_on.X, numbers))
    save_model(clf, options.out, schema, **facts, n_categories=n_categories)
    show_evaluation(screen, evaluation, f"{n_rows_text(test, 'test rows')} ({options.split})", options.coverage)
    groups = show_groups(screen, clf, test, options.by, coverage=options.coverage)
    if report is not None:
        write_model_report(
            clf,
            schema,
            test,
            report,
            screen,
            data_name=f"{options.data.name}, {options.split}",
            command=options.command,
            evaluation=everywhere,
        )
    screen.say(facts["conclusion"])
    if facts["review_band"] is not None:
        low, high = facts["review_band"]
        screen.say(f"For review: {schema.score} from {low:g} to {high:g}.")
    screen.say(f"Model: {options.out}" + (f"   Report: {report}" if report else ""))
    return {
        "command": "fit",
        "model": str(options.out),
        "report": None if report is None else str(report),
        "columns": dict(schema.columns),
        "score": schema.score,
        **facts,
        "groups": groups,
        "seconds": time.perf_counter() - started,
    }


def _review_band(options: FitOptions, clf: Any) -> list[float] | None:
    """Return the band of a given score that goes to review, in the unit of its column; None if there is no band."""
    is_on_score = options.score is not None and options.method in (Method.AUCROSS, Method.PLUGIN_AUC)
    if not is_on_score or options.roles.band_group is not None or (band := clf.band()).is_empty:
        return None
    return sorted(clf.estimator_.column_value([band.lower, band.upper]).tolist())


def _report_to_write(options: FitOptions, screen: Screen) -> Path | None:
    """Return the path of the report; None if none is to be written, with a note if its libraries are missing."""
    if not options.with_report:
        return None
    path = report_path(options.report, options.out)
    try:
        check_libraries(path)
    except CommandError as error:
        if options.report is not None:
            raise
        screen.note(f"no report will be written: {error}")
        return None
    return path
