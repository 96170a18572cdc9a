"""Build the examples of a page: files from its blocks with a path, lines from its diffs."""

import re
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["apply_examples", "examples", "module_of"]

_ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(python|diff) (\S+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def examples(page):
    """Return the (language, path, text) of all blocks of a page that have a path."""
    return _BLOCK.findall((_ROOT / page).read_text(encoding="utf-8"))


def apply_examples(page, root):
    """Write the files of a page below `root`, and add the lines of its diffs to those there."""
    for language, path, text in examples(page):
        target = root / path
        if language == "python":
            assert not target.exists(), f"{page} writes {path} anew"
            target.write_text(text, encoding="utf-8")
        else:
            target.write_text(_with_lines(target.read_text(encoding="utf-8"), text, path),
                              encoding="utf-8")


def module_of(page, path):
    """Return the module that a block of a page makes, without a file of it."""
    (text,) = (text for language, name, text in examples(page)
               if (language, name) == ("python", path))
    module = ModuleType(path.removesuffix(".py").replace("/", "."))
    # Dataclasses look for the module of their class.
    sys.modules[module.__name__] = module
    exec(compile(text, path, "exec"), vars(module))
    return module


def _with_lines(before, diff, path):
    """Return a text after a diff, whose lines need not be all that lie between its first and last.
    """
    lines, place = before.splitlines(), 0
    for line in diff.splitlines():
        sign, content = line[0], line[1:]
        assert sign in " +-", f"{path}: {line!r} is no line of a diff"
        if sign == "+":
            lines.insert(place, content)
        else:
            assert content in lines[place:], f"{path} has no line {content!r} further on"
            place = lines.index(content, place)
        if sign == "-":
            del lines[place]
        else:
            place += 1
    return "\n".join(lines) + "\n"
