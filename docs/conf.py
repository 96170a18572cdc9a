"""How Sphinx builds the site: `make docs`, without the web."""

import importlib.util
import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE / "_ext"), str(_HERE.parent)]

from inventories import write_inventories  # noqa: E402  # its folder is now on the path

from dpsk._version import __version__  # noqa: E402

project = "dpsk"
author = "the dpsk developers"
copyright = author
version = ".".join(__version__.split(".")[:2])
release = __version__

extensions = [
    "charts",
    "displayed",
    "docstring_types",
    "myst_parser",
    "numpydoc",
    "redirects",
    "root_pages",
    "search_words",
    "solver_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "_templates", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
# Pages that sphinx-gallery and autosummary write carry a suffix of their own.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Markdown that a code host shows as well.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# "5 $ and 6 $" is no formula.
myst_dmath_allow_space = False

# The docstrings; what they set in single backticks is a name, a link where it has a page.
default_role = "py:obj"
autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"

# Names of other libraries, from inventories of what is installed: a build needs no web.
intersphinx_mapping = write_inventories(_HERE / "_build" / "inventories")

# Formulas, by a MathJax that the site brings along.
_MATHJAX = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static"
mathjax_path = "mathjax/tex-chtml.js"
# Newer Sphinx writes the settings of MathJax 4; these are of 3.
mathjax3_config = {"options": {"enableMenu": False}}
myst_update_mathjax = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"^(?!plot_)",
    "within_subsection_order": "gallery_order.ReadingOrder",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("dpsk",),
    "reference_url": {"dpsk": None},
    "capture_repr": ("_repr_html_", "__repr__"),
    "matplotlib_animations": False,
    "show_memory": False,
    "write_computation_times": False,
    # As many at once as Sphinx has processes (-j).
    "parallel": True,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}

# Blocks in no language are pseudo-code.
highlight_language = "none"
html_theme = "pydata_sphinx_theme"
html_title = f"dpsk {release}"
html_static_path = ["_static", str(_MATHJAX)]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 2,
    "logo": {"text": "dpsk", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
}
# How results of a search are ranked.
html_search_scorer = str(_HERE / "_ext" / "scorer.js")
html_favicon = "_static/logo.svg"
# What the reader's system says.
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
