"""Reports for people who decide: one dictionary, rendered as a page, a model card or JSON.

The page needs the extra ``report`` (jinja2); the model card and JSON need nothing more.
"""

from aucross.report.contents import SCHEMA_VERSION, build_summary, render_json, write_report
from aucross.report.html import render_html
from aucross.report.markdown import render_markdown
from aucross.report.oversight import build_oversight
from aucross.report.oversight_page import render_oversight, write_oversight

__all__ = [
    "SCHEMA_VERSION",
    "build_oversight",
    "build_summary",
    "render_html",
    "render_json",
    "render_markdown",
    "render_oversight",
    "write_oversight",
    "write_report",
]
