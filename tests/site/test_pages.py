"""The site as a reader sees it: at phone and desktop width, light and dark.

All that is lost at one width and theme is told together.
"""

import pytest

pytestmark = pytest.mark.site

WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}
#: What a page is like once its formulas are set.
_STATE = """
const done = arguments[0];
const look = () => done({
  beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  formulas: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
  unset: window.MathJax ? 0 : document.querySelectorAll(".math").length,
  theme: document.documentElement.dataset.theme,
});
if (window.MathJax && MathJax.startup) MathJax.startup.promise.then(look); else look();
"""

_ALL_HAVE_BUTTONS = """
const blocks = [...document.querySelectorAll("div.highlight")];
return blocks.length && blocks.every(block => block.querySelector("button.copybtn"));
"""


def _look(browser, width, theme):
    wide, high = WIDTHS[width]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": wide, "height": high, "deviceScaleFactor": 1, "mobile": width == "phone"})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": theme}]})


def _wait(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 20).until(condition)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_quiet_and_no_wider_than_the_window(site, pages, browser, width, theme):
    _look(browser, width, theme)
    browser.get_log("browser")
    lost = []
    for page in pages:
        browser.get(f"{site}/{page}")
        seen = browser.execute_async_script(_STATE)
        if seen != {"beyond": 0, "formulas": 0, "unset": 0, "theme": theme}:
            lost.append((page, seen))
        lost += [(page, line["message"]) for line in browser.get_log("browser")
                 if line["level"] == "SEVERE"]
    assert not lost


@pytest.mark.parametrize("width", WIDTHS)
def test_search_finds_an_estimator(site, browser, width):
    _look(browser, width, "light")
    browser.get(f"{site}/index.html")
    button = next(each for each in browser.find_elements("css selector", ".search-button__button")
                  if each.is_displayed())
    button.click()
    field = _wait(browser, lambda _: next((
        each for each in browser.find_elements("css selector", "input[name=q]")
        if each.is_displayed()), None))
    field.send_keys("DPLogisticRegression\n")
    results = _wait(browser, lambda _: browser.find_elements("css selector", "#search-results li"))
    assert any("DPLogisticRegression" in result.text for result in results)


def test_code_blocks_can_be_copied(site, browser):
    from selenium.webdriver import ActionChains

    _look(browser, "desktop", "light")
    browser.execute_cdp_cmd("Browser.grantPermissions", {
        "origin": site, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    browser.get(f"{site}/index.html")
    block = browser.find_element("css selector", "div.highlight-python")
    button = _wait(browser, lambda _: block.find_elements("css selector", "button.copybtn"))[0]
    ActionChains(browser).move_to_element(block).click(button).perform()
    _wait(browser, lambda _: "success" in button.get_attribute("class"))
    copied = browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], arguments[0])")
    assert copied.strip() == block.find_element("tag name", "pre").text.strip()


def test_every_code_block_has_a_button(site, browser):
    _look(browser, "desktop", "light")
    for page in ("index.html", "guide.html", "contribute/index.html"):
        browser.get(f"{site}/{page}")
        _wait(browser, lambda _: browser.execute_script(_ALL_HAVE_BUTTONS))
