"""Fragments of docstrings by name, and the decorator that fills them in."""

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
    """Return a class or a function, with the fragments put where its docstrings name them.

    A line of placeholders alone, such as ``%(epsilon)s %(delta)s``, stands for the fragments of
    those names; lines that follow, further indented, add to the last of them. Docstrings of
    the methods that the class itself defines are filled in as well. The solvers that a class
    offers follow from what they require and what it minimizes: its `_offered_solvers`.
    """
    offered = getattr(thing, "_offered_solvers", list)
    methods = (getattr(each, "__func__", each) for each in vars(thing).values())
    for each in (thing, *filter(inspect.isfunction, methods)):
        # There are none under ``python -OO``.
        if each.__doc__ and _LINE.search(each.__doc__):
            each.__doc__ = _filled(each.__doc__, inspect.signature(each).parameters, offered)
    return thing


def _filled(text, parameters, offered):
    """Return a text with the fragments that its lines name."""
    return _LINE.sub(
        lambda line: textwrap.indent(
            "\n".join(_entry(key, parameters, offered)
                      for key in re.findall(r"\w+(?=\)s)", line[2])),
            line[1]),
        text)


def _entry(key, parameters, offered):
    """Return the text of a fragment, with the default that the parameters have."""
    names, kind, body = FRAGMENTS[key]
    if not names:
        return _filled(body, parameters, offered)
    if "%(offered)s" in kind:
        kind = kind.replace("%(offered)s", ", ".join(f'"{name}"' for name in offered()))
    head = f"{names} : {kind}"
    given = parameters.get(names.split(",")[0])
    if given is not None and given.default is not given.empty:
        head += f", default={given.default!r}".replace("'", '"')
    # On one line, however long: what tells a type from its description is the indentation.
    return head + ("\n" + textwrap.indent(body, "    ") if body else "")
