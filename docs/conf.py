"""Sphinx configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import discreet

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discreet"
author = "the discreet contributors"
copyright = author
release = version = discreet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "cli_reference",
]
exclude_patterns = ["_build", "_ext"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_custom_sections = [("Privacy", "notes_style")]
napoleon_use_rtype = False

# the list of contents names pages and headings: thousands of methods in it are a page to load and a minute to build
toc_object_entries = False

html_theme = "furo"
html_title = "discreet"
html_static_path = ["_static"]
html_show_sourcelink = False
