"""Configuration of the documentation: `python -m docs` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent / "_extensions")]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_slstm.version import __version__  # noqa: E402

project = "keras_slstm"
author = "The keras_slstm authors"
copyright = "2026, the keras_slstm authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "markdown_docstrings",
    "mathml",
]
exclude_patterns = ["_build", ".jupyter_cache", "README.md"]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
# `python -m docs` runs the notebooks and caches their output; with `--no-notebooks`, the pages show only the code.
nb_execution_mode = "cache" if os.environ.get("KERAS_SLSTM_NOTEBOOKS") else "off"
nb_execution_cache_path = str(Path(__file__).parent / ".jupyter_cache")
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_output_stderr = "remove"

html_theme = "furo"
html_title = f"keras_slstm {version}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_theme_options: dict[str, Any] = {"footer_icons": []}

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings describe the types
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "build, call, compute_mask, compute_output_shape, get_config"}
napoleon_google_docstring = True
napoleon_custom_sections = [("Call arguments", "params_style"), "Weights", "Speed", "Reference"]
templates_path = ["_templates"]


def fill_tables(app: Any, name: str, source: list[str]) -> None:
    """Replace each `<!-- table: NAME -->` with the table made from the recorded runs."""
    from benchmarks.tables import fill

    source[0] = fill(source[0])


def setup(app: Any) -> None:
    """Register `fill_tables` with Sphinx."""
    app.connect("source-read", fill_tables)
