"""Reports next to models, where what they need is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aucross.cli.errors import CommandError, UsageError
from aucross.cli.output import check_writable
from aucross.cli.schema import LabelledRows, Schema
from aucross.cli.screen import Screen
from aucross.report import build_summary, render_html, write_report
from aucross.report.files import RENDERERS

INSTALL = 'pip install "aucross[report]"'


def check_report(path: Path, option: str) -> None:
    """Refuse, before any work is done, a report that could not be written at its end."""
    if path.suffix.lower() not in RENDERERS:
        raise UsageError(f"{option}: the report {path.name} must end in {', '.join(RENDERERS)}; for PDF print the page")
    check_writable(path, option)


def check_libraries(path: Path) -> None:
    """Refuse, before any work is done, a report for which a library is missing."""
    missing = [name for name in ("jinja2", "plotly") if find_spec(name) is None]
    if missing and RENDERERS[path.suffix.lower()] is render_html:
        raise CommandError(
            f"a report in HTML needs {' and '.join(missing)}: {INSTALL}; .md and .json need nothing more"
        )


def report_path(report: Path | None, model: Path) -> Path:
    """Where the report of a model goes by default: beside it."""
    if report is not None:
        return report
    # Other endings are part of the name: model.v1 and model.v2 must not share a report.
    is_known_ending = model.suffix in (".aucross", ".html")
    return model.with_suffix(".html") if is_known_ending else model.with_name(f"{model.name}.html")


def write_model_report(
    clf: Any,
    schema: Schema,
    rows: LabelledRows,
    path: Path,
    screen: Screen,
    *,
    data_name: str,
    command: str | None,
    **options: Any,
) -> None:
    """Write the report of labelled rows."""
    with screen.progress.wait("writing the report"):
        summary = build_summary(
            clf,
            rows.scored,
            rows.y,
            features=rows.X,
            by=rows.by,
            sample_weight=rows.weight,
            customers=rows.groups,
            unscored=rows.unscored,
            class_names=schema.labels,
            title=f"Automatic decisions and review: {schema.roles.target}",
            data_name=data_name,
            command=command,
            **options,
        )
        write_report(summary, path)
