"""One server and one browser for all tests of the site."""

import pytest

from tests.site.browsing import SITE, missing, opened, served


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
    """Return the pages, relative to the site."""
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")
                  if "_static" not in path.parts)


@pytest.fixture(scope="session")
def browser(site, tmp_path_factory):
    """Yield the browser."""
    with opened(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
