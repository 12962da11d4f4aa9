"""Collects the departures from the paper, which stand as comments in the code, on one page.

A comment that begins with ``NOTE[DIFF]:`` says what the paper does, what the code does, and why. The directive
``differs-from-paper`` lists them all, each with the function or class that it stands in.
"""

import ast
import re
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

NOTE = re.compile(r"^ *# NOTE\[DIFF\]: (.*\n(?: *# .*\n)*)", re.MULTILINE)


class DiffersFromPaper(SphinxDirective):
    def run(self):
        package = Path(self.env.srcdir).parent / "src" / "aucross"
        return self.parse_text_to_nodes("\n".join(f"- `{name}`: {note}" for name, note in departures(package)))


def departures(package):
    """Yield each note with the dotted name of what it stands in."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for found in NOTE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            words = re.sub(r"\s*\n *# ", " ", found[1]).strip()
            yield ".".join([module, *names_around(ast.parse(text), line)]), words


def names_around(tree, line):
    """Return the names of the classes and functions around a line, the outermost first."""
    kinds = ast.ClassDef | ast.FunctionDef
    around = [node for node in ast.walk(tree) if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno]
    return [node.name for node in sorted(around, key=lambda node: node.lineno)]


def setup(app):
    app.add_directive("differs-from-paper", DiffersFromPaper)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
