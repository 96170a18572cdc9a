"""What Sphinx would take for links in docstrings: attributes, and galleries of scikit-learn."""

import re

# Such as ``n_features_in_``.
_NAME = re.compile(r"(?<![\w`])(\w+)_(?![\w`])")
# Methods that are inherited name examples of their own site.
_EXAMPLE = re.compile(r":ref:`sphx_glr_auto_examples_([\w.]+)`")


def _plain(app, what, name, obj, options, lines):
    for place, line in enumerate(lines):
        line = lines[place] = _EXAMPLE.sub(r"``\1`` of scikit-learn's examples", line)
        head, colon, kind = line.partition(" : ")
        if colon:
            lines[place] = head + colon + _NAME.sub(r"\1\\_", kind)


def setup(app):
    """Connect to the reading of docstrings, before numpydoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _plain, priority=400)
    return {"parallel_read_safe": True}
