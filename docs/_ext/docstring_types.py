"""What Sphinx would take for links in docstrings: attributes, and galleries of scikit-learn.

numpydoc compiles its template anew for every docstring; here it is compiled once.
"""

import re
from functools import partial

from jinja2 import BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx

# Such as ``n_features_in_``.
_NAME = re.compile(r"(?<![\w`])(\w+)_(?![\w`])")
# Methods that are inherited name examples of their own site.
_EXAMPLE = re.compile(r":ref:`sphx_glr_auto_examples_([\w.]+)`")


class _Compiled(BytecodeCache):
    """Templates that were compiled in this process."""

    def __init__(self):
        self._code = {}

    def load_bytecode(self, bucket):
        """Read a template, if it was compiled before."""
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket):
        """Keep a template."""
        self._code[bucket.key] = bucket.bytecode_to_string()


def _plain(app, what, name, obj, options, lines):
    for place, line in enumerate(lines):
        line = lines[place] = _EXAMPLE.sub(r"``\1`` of scikit-learn's examples", line)
        head, colon, kind = line.partition(" : ")
        if colon:
            lines[place] = head + colon + _NAME.sub(r"\1\\_", kind)


def setup(app):
    """Connect to the reading of docstrings, before numpydoc."""
    app.setup_extension("sphinx.ext.autodoc")
    docscrape_sphinx.SandboxedEnvironment = partial(SandboxedEnvironment,
                                                    bytecode_cache=_Compiled())
    app.connect("autodoc-process-docstring", _plain, priority=400)
    return {"parallel_read_safe": True}
