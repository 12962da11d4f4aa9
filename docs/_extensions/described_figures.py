"""Figures of the galleries in words, for readers who cannot see them: what stands on their axes and in their legends.

Without this sphinx-gallery takes the titles of the panels, or the name of the script where there are none.
"""

import re

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import matplotlib_scraper


def describe_panel(axes):
    """Title and axes of one panel, as "title: vertical against horizontal"."""
    vertical, horizontal = axes.get_ylabel(), axes.get_xlabel()
    if axes.get_label() == "<colorbar>":
        return f"colour: {vertical}"
    labels = " against ".join(label for label in (vertical, horizontal) if label)
    return ": ".join(text for text in (axes.get_title(), labels) if text)


def legend_labels(figure):
    """What the legends of the figure and of its panels name, each once."""
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    texts = [text.get_text() for legend in legends if legend is not None for text in legend.get_texts()]
    return list(dict.fromkeys(texts))


def describe(figure):
    """One line of text for a figure."""
    panels = [description for axes in figure.axes if (description := describe_panel(axes))]
    labels = legend_labels(figure)
    shown = f". Shown: {', '.join(labels)}" if labels else ""
    return " ".join(f"{'; '.join(panels)}{shown}".split())


def scraper(block, block_vars, gallery_conf):
    """The pictures of a block as sphinx-gallery makes them, with descriptions in place of titles."""
    descriptions = iter([describe(plt.figure(number)) for number in plt.get_fignums()])
    pictures = matplotlib_scraper(block, block_vars, gallery_conf)
    return re.sub(r"(:alt: ).*", lambda option: option[1] + next(descriptions), pictures)
