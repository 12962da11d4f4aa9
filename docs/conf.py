"""Sphinx configuration; the build needs no network and the pages load nothing from elsewhere."""

import os
import sys
from pathlib import Path

# Before scikit-learn is imported: on shared machines its thread pools cost more than they gain on small data.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib as mpl

import aucross

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
mpl.use("Agg")

project = "aucross"
author = "aucross developers"
copyright = "aucross developers"
version = release = aucross.__version__

extensions = [
    "differs_from_paper",
    "mathml",
    "metrics_table",
    "myst_parser",
    "numpydoc",
    "plain_markdown",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# conftest.py is for pytest; the sources of the galleries become pages of docs/auto_examples and docs/auto_tutorials.
exclude_patterns = ["_build", "examples", "tutorials", "auto_examples/*.ipynb", "auto_tutorials/*.ipynb"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
# Metric and metric would share a file where the case of names does not count.
autosummary_filename_map = {"aucross.evaluation.metric": "aucross.evaluation.metric-decorator"}
autodoc_typehints = "none"  # numpydoc says the types in words
autodoc_member_order = "bysource"
# The pages show what we say of our classes. Installing these for it would take longer than building the site.
autodoc_mock_imports = ["mlflow", "py4j", "pyspark", "skops"]
numpydoc_show_class_members = False  # the template of autosummary lists them

sphinx_gallery_conf = {
    "examples_dirs": ["examples", "tutorials"],
    "gallery_dirs": ["auto_examples", "auto_tutorials"],
    "filename_pattern": r"/(plot_|tutorials/)",
    "within_subsection_order": "reading_order.ReadingOrder",
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,  # that page would load scripts from elsewhere
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "backreferences_dir": None,
    "image_scrapers": ("described_figures.scraper",),
    "image_srcset": ["2x"],
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "aucross"
html_static_path = ["_static"]
html_css_files = ["aucross.css"]
html_favicon = "_static/logo-light.svg"
html_show_sourcelink = False
html_math_renderer = "mathml"
# Pages without pages below them would show an empty list beside the text.
html_sidebars = {page: [] for page in ("index", "choosing", "limits", "glossary", "changelog")}
html_theme_options = {
    "logo": {"text": "aucross", "image_light": "_static/logo-light.svg", "image_dark": "_static/logo-dark.svg"},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,  # more would wrap on a screen of 1,100 pixels
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["version"],
}
