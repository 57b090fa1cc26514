"""Sphinx configuration of the documentation: ``make docs``."""

import os
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "_ext")]

import sk_anyloss  # noqa: E402

project = "sk_anyloss"
author = "The sk_anyloss developers"
project_copyright = "The sk_anyloss developers, BSD-3-Clause"
version = release = sk_anyloss.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_pages",  # docs/_ext
]
templates_path = ["_templates"]
exclude_patterns = [
    "search.md",  # Part of guide/search: search.html is Sphinx's own page.
    "_build",
    "_templates",
    "auto_examples/*.ipynb",
    "auto_examples/*.py",
]
# A name in backquotes is looked up; what is not found (of other libraries) stays code.
default_role = "autolink"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"  # fit(), not AnyLossClassifier.fit().
autodoc_typehints = "none"  # numpydoc docstrings have them.
numpydoc_show_class_members = False
numpydoc_use_plots = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

#: Examples of more than about five seconds, which QUICK=1 shows but does not run.
LONG_EXAMPLES = ("distributed",)
_quick = bool(os.environ.get("QUICK"))
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": (
        rf"plot_(?!({'|'.join(LONG_EXAMPLES)})\.py)" if _quick else "plot_"
    ),
    "within_subsection_order": "site_pages.ReadingOrder",
    "download_all_examples": False,
    "copyfile_regex": r".*\.rst",
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 0,
    "default_thumb_file": str(DOCS / "losses.png"),
    "doc_module": ("sk_anyloss",),
    "backreferences_dir": "api/examples",
    "plot_gallery": "True",
    "abort_on_example_error": False,
}
#: For the links of estimators in the gallery.
os.environ.setdefault("SK_ANYLOSS_DOCS", "..")
# Small data sets and extreme parameters are there to be seen, warnings are not.
warnings.filterwarnings("ignore", module="sklearn|sk_anyloss|skorch")

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}
html_title = "sk_anyloss"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["wide_pictures.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "sk_anyloss"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
# Pages without neighbours need no column for them.
_ALONE = "quick_start questions changelog compared pitfalls how_it_works glossary"
html_sidebars = {page: [] for page in [*_ALONE.split(), "contributing"]}
