"""The built site on a loopback port, and a headless Chromium that looks at it."""

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

_SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
#: No window, and nothing of the browser's own that would ask the web.
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
          "--disable-background-networking", "--disable-component-update", "--disable-sync")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def site():
    """Yield the address of the site."""
    if not (_SITE / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=_SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def pages(site):
    """Return the pages, relative to the site."""
    return sorted(path.relative_to(_SITE).as_posix() for path in _SITE.rglob("*.html")
                  if "_static" not in path.parts)


def _found(*names):
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Yield Chromium under selenium, with its console recorded."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is of the docs extra")
    binary = _found("chromium", "chromium-browser", "google-chrome")
    driver = _found("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no Chromium with its chromedriver on the path")
    options = selenium.ChromeOptions()
    options.binary_location = binary
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = selenium.Chrome(options, selenium.ChromeService(driver))
    yield opened
    opened.quit()
