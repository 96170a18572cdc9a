"""A directive that runs a snippet and shows what a notebook would show of its last line."""

import ast
import contextlib
import io
import warnings

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def displayed(code):
    """Run code; return the HTML of its last expression."""
    *body, last = ast.parse(code).body
    namespace = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        exec(compile(ast.Module(body, []), "<page>", "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace)
    return value._repr_html_()


class Displayed(SphinxDirective):
    """Python code, and the HTML representation of what its last line is."""

    has_content = True

    def run(self):
        """Return the code and the representation."""
        code = "\n".join(self.content)
        shown = nodes.literal_block(code, code, language="python")
        html = f'<div class="output_html sd-mb-3" style="overflow-x:auto">{displayed(code)}</div>'
        return [shown, nodes.raw("", html, format="html")]


def setup(app):
    """Add the directive."""
    app.add_directive("displayed", Displayed)
    return {"parallel_read_safe": True}
