"""Blocks marked `output` on documentation pages: what the block of Python before them prints, compared with it.

Words must be the same. Numbers may move as far as other versions of libraries and other machines move them. White
space, dashes and rules do not count, so that a long line can be broken, and `...` on a line of its own stands for lines
that are left out.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from typing import NamedTuple

from sybil import Document, Example, Region
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.typing import Evaluator

# Numbers agree if they differ by no more than the larger of the two.
RELATIVE_TOLERANCE = 0.05
ABSOLUTE_TOLERANCE = 0.02

LEFT_OUT = "..."

# A sign belongs to a number unless something stands right before it, as in 2023-07.
NUMBER = r"(?:(?<![\w.)])[-+])?(?:\d+(?:,\d{3})*(?:\.\d+)?|(?<![\w.])\.\d+)(?:e[-+]?\d+)?"
RULE = r"-+|[\u2500-\u257f]+|={3,}|_{3,}"
TOKEN = re.compile(rf"(?P<number>{NUMBER})|(?P<rule>{RULE})|[^\W\d_]+|\S")


class Token(NamedTuple):
    """A word, a sign or a number, and where the line stands from which it comes."""

    text: str
    line: int
    number: float | None

    def agrees(self, other: Token) -> bool:
        """Whether both are the same word, or numbers that are near each other."""
        if self.number is None or other.number is None:
            return self.text == other.text
        room = max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * max(abs(self.number), abs(other.number)))
        return abs(self.number - other.number) <= room + 1e-12


def tokens_of(lines: Iterable[str]) -> list[Token]:
    """Words and numbers of lines, without white space and rules."""
    return list(_each_token(lines))


def _each_token(lines: Iterable[str]) -> Iterator[Token]:
    for number, line in enumerate(lines):
        for match in TOKEN.finditer(line.replace("\N{MINUS SIGN}", "-")):
            if match["number"]:
                yield Token(match[0], number, float(match[0].replace(",", "")))
            elif not match["rule"]:
                yield Token(match[0], number, None)


def parts_of(shown: str) -> list[list[Token]]:
    """The parts between lines that are left out; the first and the last may be empty."""
    parts: list[list[str]] = [[]]
    for line in shown.splitlines():
        if line.strip() == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return [tokens_of(lines) for lines in parts]


def difference(shown: str, printed: str) -> str | None:
    """A sentence about the first place where the shown text is not what was printed, None if there is no such place."""
    found = tokens_of(printed.splitlines())
    first, *others = parts_of(shown)
    if not others:
        return _difference_of_part(first, found)
    place = len(first)
    if said := _difference_of_part(first, found[:place]):
        return said
    if not _begins_a_line(found, place):
        return f"{_quoted(found[place:])} is printed in the last line before {LEFT_OUT} and not shown"
    for part in others[:-1]:
        start = _where(part, found, place)
        if start is None:
            return f"{_quoted(part)} is shown and not printed"
        place = start + len(part)
    last = others[-1]
    if last and not _stands_at(last, found, max(place, len(found) - len(last))):
        return f"{_quoted(last)} is shown and is not the end of what is printed"
    return None


def _difference_of_part(shown: list[Token], printed: list[Token]) -> str | None:
    for token, other in zip(shown, printed, strict=False):
        if not token.agrees(other):
            return f"{token.text!r} is shown and {other.text!r} is printed, in line {other.line + 1} of the output"
    if len(shown) > len(printed):
        return f"{_quoted(shown[len(printed) :])} is shown and not printed"
    if len(printed) > len(shown):
        return f"{_quoted(printed[len(shown) :])} is printed and not shown"
    return None


def _where(part: list[Token], printed: list[Token], place: int) -> int | None:
    """The first place from which a part is printed: a part has a fixed length, so a later one is never needed."""
    return next((start for start in range(place, len(printed)) if _stands_at(part, printed, start)), None)


def _stands_at(part: list[Token], printed: list[Token], start: int) -> bool:
    """Whether a part is printed from here on, in whole lines."""
    end = start + len(part)
    whole_lines = _begins_a_line(printed, start) and _begins_a_line(printed, end)
    return whole_lines and end <= len(printed) and all(map(Token.agrees, part, printed[start:end]))


def _begins_a_line(printed: list[Token], place: int) -> bool:
    return place in {0, len(printed)} or (place < len(printed) and printed[place].line != printed[place - 1].line)


def _quoted(part: list[Token]) -> str:
    return repr(" ".join(token.text for token in part[:8]))


class ShownOutputParser:
    """Runs blocks of Python as :class:`PythonCodeBlockParser` does, and tests the `output` block that follows one.

    An output block that follows no block of Python is an error: nothing would test it. One that follows a block that
    was skipped is skipped too.
    """

    def __init__(self) -> None:
        self._python = PythonCodeBlockParser()
        self._output = CodeBlockParser("output", self._compare)
        self._printed: dict[tuple[Document, int], str] = {}

    def __call__(self, document: Document) -> Iterator[Region]:
        ends = []
        for region in self._python(document):
            region.evaluator = self._keeping_what_it_prints(region.evaluator)
            ends.append(region.end)
            yield region
        for region in self._output(document):
            if _end_of_block_before(document, region) not in ends:
                line = document.text.count("\n", 0, region.start) + 1
                raise ValueError(f"an output block must follow a python block: {document.path}, line {line}")
            yield region

    def _keeping_what_it_prints(self, evaluate: Evaluator) -> Evaluator:
        def evaluated(example: Example) -> str | None:
            with redirect_stdout(io.StringIO()) as printed:
                result = evaluate(example)
            print(printed.getvalue(), end="")  # noqa: T201 - pytest shows it beside a failure
            self._printed[example.document, example.end] = printed.getvalue()
            return result

        return evaluated

    def _compare(self, example: Example) -> str | None:
        printed = self._printed.get((example.document, _end_of_block_before(example.document, example.region)))
        said = None if printed is None else difference(example.parsed, printed)
        return said and f"{said}; all that is printed:\n{printed}"


def _end_of_block_before(document: Document, region: Region) -> int:
    """Where the text before a block ends, blank lines aside."""
    return len(document.text[: region.start].rstrip())
