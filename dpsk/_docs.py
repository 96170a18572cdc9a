"""Named fragments of docstrings, and the decorator that fills them in."""

import inspect
import re
import textwrap

from dpsk._fragments import TEXT
from dpsk._fragments_of_fits import MORE_TEXT
from dpsk._tool_fragments import TOOL_TEXT

__all__ = ["FRAGMENTS", "documented"]


def _parsed(text):
    """Return (names, kind, body) by the name of the fragment."""
    fragments = {}
    for block in re.split(r"\n(?=\S)", text.strip()):
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        names, _, variant = names.partition("|")
        key = "_".join(filter(None, (names.split(",")[0], variant)))
        if key in fragments:
            raise RuntimeError(f"The fragment {key!r} is written twice.")
        fragments[key] = names, kind, textwrap.dedent(body)
    return fragments


FRAGMENTS = _parsed("\n".join(text.strip() for text in (TEXT, MORE_TEXT, TOOL_TEXT)))
_LINE = re.compile(r"^( *)(%\(\w+\)s(?: %\(\w+\)s)*)$", re.MULTILINE)


def documented(thing):
    """Fill fragments into the docstrings of a class or a function, and return it.

    A line of placeholders alone, such as ``%(epsilon)s %(delta)s``, is replaced by the fragments
    of those names; more indented lines below it extend the last fragment. Methods that the class
    itself defines are filled in as well. The solvers that are listed, `_offered_solvers`, follow
    from what the class minimizes and what each solver requires.
    """
    offered = getattr(thing, "_offered_solvers", list)
    methods = (getattr(each, "__func__", each) for each in vars(thing).values())
    for each in (thing, *filter(inspect.isfunction, methods)):
        # Docstrings are removed under ``python -OO``.
        if each.__doc__ and _LINE.search(each.__doc__):
            each.__doc__ = _filled(each.__doc__, inspect.signature(each).parameters, offered)
    return thing


def _filled(text, parameters, offered):
    """Return a text with its placeholders replaced by fragments."""
    return _LINE.sub(
        lambda line: textwrap.indent(
            "\n".join(_entry(key, parameters, offered)
                      for key in re.findall(r"\w+(?=\)s)", line[2])),
            line[1]),
        text)


def _entry(key, parameters, offered):
    """Return the text of a fragment, with the default value of the parameter."""
    names, kind, body = FRAGMENTS[key]
    if not names:
        return _filled(body, parameters, offered)
    if "%(offered)s" in kind:
        kind = kind.replace("%(offered)s", ", ".join(f'"{name}"' for name in offered()))
    head = f"{names} : {kind}"
    given = parameters.get(names.split(",")[0])
    if given is not None and given.default is not given.empty:
        head += f", default={given.default!r}".replace("'", '"')
    # On one line, however long: numpydoc tells a type from its description by indentation.
    return head + ("\n" + textwrap.indent(body, "    ") if body else "")
