"""Types in docstrings name attributes such as ``n_features_in_``, which Sphinx takes for links."""

import re

_NAME = re.compile(r"(?<![\w`])(\w+)_(?![\w`])")


def _plain(app, what, name, obj, options, lines):
    for place, line in enumerate(lines):
        head, colon, kind = line.partition(" : ")
        if colon:
            lines[place] = head + colon + _NAME.sub(r"\1\\_", kind)


def setup(app):
    """Connect to the reading of docstrings, before numpydoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _plain, priority=400)
    return {"parallel_read_safe": True}
