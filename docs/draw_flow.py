"""Draw how rows pass through the library, for light and dark pages: ``python docs/draw_flow.py``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "images"


class Colours(NamedTuple):
    """Colours of one kind of page."""

    text: str
    muted: str
    line: str
    box: str
    noun: str


THEMES = {
    "light": Colours(text="#222832", muted="#5a6470", line="#6b7280", box="#f3f4f5", noun="#d9ecf7"),
    "dark": Colours(text="#e6e8eb", muted="#aab3bf", line="#9aa4b2", box="#29313d", noun="#1d4560"),
}


class Box(NamedTuple):
    """A step of the flow; the nouns of the library have a colour of their own."""

    column: int
    row: int
    title: str
    text: str
    is_noun: bool


BOXES = (
    Box(0, 0, "X, y", "rows with labels", False),
    Box(1, 0, "held-out scores", "by models new to the row", False),
    Box(2, 0, "RankedScores", "sorted, with their labels", True),
    Box(3, 0, "BandRule", "a coverage becomes a band", True),
    Box(0, 1, "X", "new rows", False),
    Box(1, 1, "clf.scored(X)", "each model runs once", False),
    Box(2, 1, "ScoredRows", "score, label, weight, group", True),
    Box(3, 1, "Decisions", "selected, band, rank, reason", True),
    Box(0, 2, "people", "review_queue, capacity", False),
    Box(1, 2, "numbers", "evaluate, compare, promise", False),
    Box(2, 2, "pages", "displays, report", False),
    Box(3, 2, "systems", "files, record, monitor, SQL", False),
)
WIDTH, HEIGHT, GAP_X, GAP_Y, LEFT, TOP = 208, 58, 34, 62, 96, 14


def place(column: int, row: int) -> tuple[int, int]:
    """Left upper corner of a box."""
    return LEFT + column * (WIDTH + GAP_X), TOP + row * (HEIGHT + GAP_Y)


def drawing(colours: Colours) -> str:
    width, height = place(4, 0)[0] - GAP_X + 4, place(0, 3)[1] - GAP_Y + TOP
    lanes = "".join(
        f'<text x="4" y="{place(0, row)[1] + HEIGHT / 2 + 5}" fill="{colours.muted}">{name}</text>'
        for row, name in enumerate(("fit", "new rows", "for"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="16" stroke-linejoin="round">'
        "<title>Rows with labels become held-out scores, a ranking and a rule, which decides on new rows</title>"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{colours.line}"/></marker></defs>'
        f"{lanes}{arrows(colours)}{''.join(drawn_box(each, colours) for each in BOXES)}</svg>\n"
    )


def drawn_box(box: Box, colours: Colours) -> str:
    x, y = place(box.column, box.row)
    fill = colours.noun if box.is_noun else colours.box
    centred = f'<text x="{x + WIDTH / 2}" text-anchor="middle"'
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="{colours.line}"/>'
        f'{centred} y="{y + 25}" font-weight="600" fill="{colours.text}">{box.title}</text>'
        f'{centred} y="{y + 45}" font-size="13" fill="{colours.muted}">{box.text}</text>'
    )


def arrows(colours: Colours) -> str:
    """Along both lanes, from the rule down to the decisions, and from these to everybody who reads them."""
    paths = [
        f"M{place(column, row)[0] + WIDTH} {place(column, row)[1] + HEIGHT / 2}h{GAP_X - 2}"
        for row in (0, 1)
        for column in range(3)
    ]
    x, y = place(3, 1)
    paths.append(f"M{x + WIDTH / 2} {y - GAP_Y}v{GAP_Y - 2}")
    bus = y + HEIGHT + GAP_Y / 2
    for column in range(4):
        to = place(column, 2)[0] + WIDTH / 2
        paths.append(f"M{x + WIDTH / 2} {y + HEIGHT}V{bus}H{to}V{place(column, 2)[1] - 2}")
    label = f'<text x="{x + WIDTH / 2 + 10}" y="{y - GAP_Y / 2 + 5}" fill="{colours.muted}">clf.decide</text>'
    lines = "".join(f'<path d="{path}" fill="none" stroke="{colours.line}" marker-end="url(#head)"/>' for path in paths)
    return lines + label


if __name__ == "__main__":
    for name, colours in THEMES.items():
        (FOLDER / f"flow-{name}.svg").write_text(drawing(colours), encoding="utf-8")
