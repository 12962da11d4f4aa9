"""Add to pages of plain Markdown, which read well as files on a code host, what only built pages can have.

- A link to a script of a gallery, `../tutorials/ten_minutes.py`, leads to the page that sphinx-gallery makes of it.
- A picture whose name ends with `-light.svg` is shown with its dark twin, by the theme of the reader.
"""

import re

SCRIPT = re.compile(r"\]\(((?:\.\./)*)(tutorials|examples)/([\w/]+)\.py\)")
HEADER = re.compile(r"\]\(((?:\.\./)*)(tutorials|examples)/GALLERY_HEADER\.rst\)")
PICTURE = re.compile(r"^!\[([^\]]*)\]\((\S+)-light\.svg\)$", re.MULTILINE)


def as_built(text):
    """The page with links to gallery pages and with both pictures of a pair."""
    text = SCRIPT.sub(r"](\1auto_\2/\3.rst)", text)
    text = HEADER.sub(r"](\1auto_\2/index.rst)", text)
    pair = "\n".join(
        f"```{{image}} \\2-{theme}.svg\n:class: only-{theme}\n:alt: \\1\n```" for theme in ("light", "dark")
    )
    return PICTURE.sub(pair, text)


def setup(app):
    app.connect("source-read", lambda _app, _page, source: source.__setitem__(0, as_built(source[0])))
    return {"parallel_read_safe": True}
