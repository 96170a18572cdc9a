"""One server and one browser for all tests of the site."""

import pytest

from tests.site.browsing import REDIRECT, SITE, missing, opened, served


@pytest.fixture(scope="session")
def site():
    """Yield the address of the site."""
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    with served() as address:
        yield address


@pytest.fixture(scope="session")
def pages(site):
    """Return the pages, relative to the site, without those that only lead to others."""
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")
                  if "_static" not in path.parts and REDIRECT not in path.read_text("utf-8"))


@pytest.fixture(scope="session")
def browser(site, tmp_path_factory):
    """Yield the browser."""
    with opened(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
