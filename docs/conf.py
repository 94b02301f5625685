"""Settings of the site; ``make docs`` builds it."""

import os
import re
import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "lspin"
author = "The lspin developers"
copyright = "The lspin developers"
version = release = version_of("lspin")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_index",
    "reference",
    "results_page",
]
exclude_patterns = [
    "_build",
    "_ext",
    "conf.py",
    "check_links.py",
    "gallery/*.py",
    "gallery/*.ipynb",
    "gallery/backreferences",
    "results",
]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "lspin"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # pages on a disk cannot be fetched
html_theme_options = {
    "show_prev_next": True,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "results": [], "changelog": []}

default_role = "code"  # a name in single backticks
smartquotes_action = "De"  # dashes and ellipses; quotes stay as they are, since defaults are code
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"  # stand behind each parameter, see _ext/reference.py
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_timeout = 600  # of a cell; a busy machine takes ten times as long
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "warn"

# `make docs` shows scripts with this mark without running them; `make docs-full` runs all. The tests always do.
LONG = re.compile(r"^# Long: ", re.MULTILINE)
scripts = Path(__file__).resolve().parents[1].joinpath("examples").glob("plot_*.py")
long_scripts = [path.stem for path in scripts if LONG.search(path.read_text("utf-8"))]
left_out = [] if os.environ.get("LSPIN_DOCS_FULL") else long_scripts

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/(?!(?:" + "|".join([*left_out, "_"]) + r")\.py)plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "min_reported_time": 1e6,
    "write_computation_times": False,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("lspin",),
}
