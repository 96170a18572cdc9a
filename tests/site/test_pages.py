"""The site as a reader sees it: at phone and desktop width, light and dark.

All that is lost at one width and theme is told together.
"""

import pytest

from tests.site.browsing import WIDTHS, look

pytestmark = pytest.mark.site

#: What a page is like once its formulas are set and its scripts are done.
_STATE = """
const done = arguments[0], theme = document.documentElement.dataset.theme;
// The theme lets some of its boxes scroll sideways: what sticks out of these counts as well.
const boxes = [...document.querySelectorAll(
  "html, body, header, .bd-main, .bd-content, .bd-article-container, .bd-article, .bd-footer")];
const state = () => ({
  beyond: Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth)),
  formulas: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
  unset: window.MathJax ? 0 : document.querySelectorAll(".math").length,
  theme: theme,
  unbuttoned: [...document.querySelectorAll("div.highlight pre")].filter(
    (block) => !block.parentElement.querySelector("button.copybtn")).length,
  diagrams: document.querySelectorAll(".sk-global:not(." + theme + ")").length,
});
// Buttons may come a moment after the page.
const look = (rounds) => {
  const seen = state();
  if (seen.unbuttoned && rounds) setTimeout(look, 100, rounds - 1); else done(seen);
};
(window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve())
  .then(() => look(50));
"""


def _wait(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 20).until(condition)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_quiet_and_no_wider_than_the_window(site, pages, browser, width, theme):
    look(browser, width, theme)
    browser.get_log("browser")
    lost = []
    for page in pages:
        browser.get(f"{site}/{page}")
        seen = browser.execute_async_script(_STATE)
        if seen.pop("theme") != theme or any(seen.values()):
            lost.append((page, seen))
        lost += [(page, line["message"]) for line in browser.get_log("browser")
                 if line["level"] == "SEVERE"]
    assert not lost


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_too_wide_is_seen(site, browser, width):
    look(browser, width, "light")
    browser.get(f"{site}/index.html")
    browser.execute_script("document.querySelector('.bd-article').insertAdjacentHTML("
                           "'beforeend', '<div style=\"width: 2000px\">wide</div>')")
    assert browser.execute_async_script(_STATE)["beyond"] > 0


@pytest.mark.parametrize("width", WIDTHS)
def test_search_finds_an_estimator(site, browser, width):
    look(browser, width, "light")
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

    look(browser, "desktop", "light")
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
