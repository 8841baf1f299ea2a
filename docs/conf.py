"""How the site is built: ``python -m sphinx -W --keep-going -b html docs docs/_build``."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

# One thread of linear algebra: the build shares its machine, and the matrices are small. It must be
# said before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib as mpl
from sphinx.application import Sphinx

import spdatoms

mpl.use("Agg")

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE / "_ext"))

project = "spdatoms"
author = "The spdatoms developers"
copyright = "the spdatoms developers"
version = release = spdatoms.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "benchmark_figures",
    "result_figures",
    "dark_figures",
    "command_reference",
    "mathml",
    "thumbnails",
    "plain_formulas",
]
exclude_patterns = ["_build", "_templates", "paper/joss"]  # a manuscript for a journal
templates_path = ["_templates"]
default_role = "py:obj"

# --- text ---------------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# --- API reference ------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def _skip(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    """Leave out what scikit-learn adds to every estimator: methods of metadata routing and of its mixins."""
    routing = name.startswith("set_") and name.endswith("_request")
    return skip or routing or (getattr(obj, "__module__", None) == "sklearn.base")


def _whole_numbers(app: Sphinx, docname: str, source: list[str]) -> None:
    """Keep a value and its deviation, or the seconds of two steps, on one line of a table."""

    def unbroken(row: re.Match[str]) -> str:
        return re.sub(r"(?<=[\d*]) ([±+]) (?=[\d*])", "\u00a0\\1\u00a0", row[0])

    source[0] = re.sub(r"^\|.*$", unbroken, source[0], flags=re.M)


def setup(app: Sphinx) -> None:
    """Register what this file defines."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("source-read", _whole_numbers)


# --- gallery ------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": str(_HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("spdatoms",),
    "inspect_global_variables": False,
    "image_scrapers": ("dark_figures.scraper",),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 5,
    "thumbnail_size": (480, 320),
    "subsection_order": ["../examples/five_minutes", "../examples/method"],
    "matplotlib_animations": False,
}


def _sentence(message: Warning | str, category: type[Warning], *_: object) -> str:
    """Return a warning as the page of an example shows it: without the path of a file."""
    return f"{category.__name__}: {message}\n"


warnings.formatwarning = _sentence

# --- HTML ---------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "spdatoms"
html_static_path = ["_static"]
html_css_files = ["spdatoms.css"]
# A default such as "auto" is code: it keeps its quotes.
smartquotes = False
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_search_scorer = str(_HERE / "_ext" / "scorer.js")
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_theme_options = {
    "logo": {"text": "spdatoms", "alt_text": "spdatoms, the first page"},
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"]},
    "footer_start": ["copyright"],
    "footer_end": [],
    "github_url": "https://github.com/spdatoms/spdatoms",
}
html_sidebars = {"index": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
