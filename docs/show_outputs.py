"""Run the Python blocks of pages and show below each what it prints: `python docs/show_outputs.py docs/howto/gate.md`.

Output that agrees with what is shown stays as it is. The rest is written whole, sentences broken: cut it to what a
reader needs.
"""

import io
import sys
import textwrap
from contextlib import redirect_stdout
from pathlib import Path

from sybil import Document
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.shown_output import difference


def broken(line: str) -> list[str]:
    """A long sentence in several lines; a line of a table, with spaces between its columns, as it is."""
    return [line] if "  " in line.strip() else textwrap.wrap(line, 110, break_on_hyphens=False) or [""]


def with_outputs(path: Path) -> str:
    """The text of a page with an output block after every block that prints."""
    document = Document.parse(
        str(path), PythonCodeBlockParser(), CodeBlockParser("output", lambda _: None), SkipParser()
    )
    examples = list(document)
    text, end = "", 0
    for example, following in zip(examples, [*examples[1:], None], strict=True):
        with redirect_stdout(io.StringIO()) as printed:
            example.evaluate()
        shown = following if following and document.text[following.start :].lstrip().startswith("```output") else None
        if not printed.getvalue().strip() or (shown and difference(shown.parsed, printed.getvalue()) is None):
            continue
        block = document.text[example.start : example.end]
        indent = block[: -len(block.lstrip(" "))]
        output = [part for line in printed.getvalue().rstrip().splitlines() for part in broken(line)]
        lines = ["```output", *output, "```"]
        text += document.text[end : example.end] + "\n\n" + "\n".join((indent + line).rstrip() for line in lines)
        end = shown.end if shown else example.end
    return text + document.text[end:]


if __name__ == "__main__":  # the tests look for doctests here, with arguments of their own
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(with_outputs(page), encoding="utf-8")
