"""Departures from the paper carry a mark in the code; on a page they start with words."""

MARK, WORDS = "NOTE[DIFF]:", "**Differs from the paper:**"


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")  # which makes the event known
    app.connect("autodoc-process-docstring", write_words)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def write_words(*event):
    lines = event[-1]
    lines[:] = [line.replace(MARK, WORDS) for line in lines]
