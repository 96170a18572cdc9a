"""Syntax trees of the package, each made once in a process, and none where none is looked at."""

import ast
from functools import cache
from pathlib import Path

import dpsk

__all__ = ["PACKAGE", "tree"]

PACKAGE = Path(dpsk.__file__).parent


@cache
def tree(path):
    """Return the syntax tree of a file, whose path may be relative to the package."""
    return ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
