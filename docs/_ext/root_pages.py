"""Files of the repository's root on the site: pages that include them, and links that lead there.

A page includes a file by MyST's own directive; its links, relative to the file, become relative to
the page. Links from any page to such a file lead to the page that shows it, those to an example to
its page in the gallery, and links to a folder lead to its index.
"""

import os
import re
from pathlib import Path

_INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
#: Where the site shows what lies outside of docs/, relative to docs/.
_PAGES = {
    "../README.md": "index.md",
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contribute/index.md",
    "../SECURITY.md": "contribute/security.md",
}


def _shown(target, docs):
    """Return the file of the site that stands for `target`."""
    page = _PAGES.get(os.path.relpath(target, docs))
    if page is not None:
        return docs / page
    if target.match("examples/plot_*.py"):
        return docs / "auto_examples" / f"{target.stem}.rst"
    return target / "index.md" if (target / "index.md").exists() else target


def _led(text, read_from, page, docs):
    def lead(match):
        target = _shown((read_from / match[1]).resolve(), docs)
        return f"]({os.path.relpath(target, page.parent)}{match[2] or ''})"

    return _LINK.sub(lead, text)


def _included(text, page, docs):
    def include(match):
        file = (page.parent / match[1]).resolve()
        return _led(file.read_text(encoding="utf-8"), file.parent, page, docs)

    return _INCLUDE.sub(include, text)


def _on_source_read(app, docname, content):
    page, docs = Path(app.env.doc2path(docname)), Path(app.srcdir)
    if page.suffix == ".md":
        content[0] = _included(_led(content[0], page.parent, page, docs), page, docs)


def setup(app):
    """Connect to the reading of pages."""
    app.connect("source-read", _on_source_read)
    return {"parallel_read_safe": True}
