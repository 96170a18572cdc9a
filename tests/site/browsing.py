"""The built site on a loopback port, and a headless Chromium to look at it with."""

import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
#: What pages of old addresses have, and no others.
REDIRECT = 'http-equiv="refresh"'
WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}
#: No window, and nothing of the browser's own that would ask the web.
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
          "--disable-background-networking", "--disable-component-update", "--disable-sync")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def served():
    """Serve the site; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _found(*names):
    return next(filter(None, map(shutil.which, names)), None)


def missing():
    """Return what keeps a browser from looking, or None."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium, of the docs extra, is not installed"
    if not (SITE / "index.html").exists():
        return "the site is not built: make docs"
    if _found("chromium", "chromium-browser", "google-chrome") is None:
        return "no Chromium on the path"
    return None if _found("chromedriver") else "no chromedriver on the path"


@contextmanager
def opened(profile):
    """Open Chromium with its data in the empty folder `profile`, its console recorded."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = _found("chromium", "chromium-browser", "google-chrome")
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(_found("chromedriver")))
    try:
        yield browser
    finally:
        browser.quit()


def look(browser, width, theme, *, high=None, scale=1):
    """Give the browser the window of a phone or a desktop, and what its system prefers."""
    wide, usual = WIDTHS[width]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": wide, "height": high or usual, "deviceScaleFactor": scale,
        "mobile": width == "phone"})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": theme}]})
