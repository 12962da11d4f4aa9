"""The table of metrics in the reference, read from the metrics themselves: ``.. metrics-table::``."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from aucross.evaluation import METRICS

READS = {
    "scores": "labels and scores",
    "labels": "labels and predicted labels",
    "outcomes": "labels",
    "selection": "the selection alone",
    "class_scores": "labels and a score per class",
    "losses": "losses and confidences of all rows",
}
BETTER = {"higher": "higher", "lower": "lower", "zero": "near 0", None: "neither"}


def table_lines():
    """The table as reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 40 20 10", ""]
    rows = [("Metric", "In words", "Reads", "Better")]
    rows += [
        (f":func:`~aucross.evaluation.{name}`", metric.words(), READS[metric.reads], BETTER[metric.better])
        for name, metric in METRICS.items()
    ]
    for row in rows:
        lines += [f"   {'*' if cell is row[0] else ' '} - {cell}" for cell in row]
    return lines


class MetricsTable(SphinxDirective):
    def run(self):
        container = nodes.container()
        self.state.nested_parse(StringList(table_lines(), source="aucross.evaluation"), self.content_offset, container)
        return container.children


def setup(app):
    app.add_directive("metrics-table", MetricsTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
