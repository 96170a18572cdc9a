"""Links inside of the site lead to pages and to places on them."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.browsing import REDIRECT, SITE

pytestmark = pytest.mark.site


class _Page(HTMLParser):
    """The places of a page, and what it points to."""

    def __init__(self, path):
        super().__init__()
        self.places, self.targets = {""}, set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places |= {attrs.get("id"), attrs.get("name")} - {None}
        self.targets |= {attrs.get("href"), attrs.get("src")} - {None}


def test_links_lead_to_pages_and_places(pages):
    read = {page: _Page(SITE / page) for page in pages}
    lost = []
    for page, content in read.items():
        for target in content.targets:
            link = urlsplit(target)
            # The menu button of the theme is a link to nothing but "#".
            if link.scheme or link.netloc or target == "#":
                continue
            path = (SITE / page).parent.joinpath(unquote(link.path)) if link.path else SITE / page
            path = path.resolve()
            there = path.exists()
            name = path.relative_to(SITE.resolve()).as_posix() if there else None
            if not there or (name in read and unquote(link.fragment) not in read[name].places):
                lost.append((page, target))
    assert not lost


def test_old_addresses_lead_to_pages():
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    moved = {path: re.findall('href="([^"]+)"', path.read_text("utf-8"))
             for path in SITE.rglob("*.html") if REDIRECT in path.read_text("utf-8")}
    assert moved
    for path, targets in moved.items():
        assert len(set(targets)) == 1 and (path.parent / targets[0]).exists(), path
