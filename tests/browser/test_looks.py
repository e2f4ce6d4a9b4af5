"""Accessibility: contrast, colours, width, keys, motion."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.pages import scrolls_sideways, violations
from tests.browser.world import OPERATOR, Site

PATHS = ("/", "/status", "/autoscalers/shop-web", "/autoscalers/search", "/autoscalers/payments")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_pages_are_accessible_and_fit_the_screen(site: Site, opened: Open, path: str, scheme: str, width: int) -> None:
    """375 pixels are a phone: an operator on call may have no other screen."""
    page = opened(site, path, scheme=scheme, width=width)
    if "shop" in path:
        expect(page.locator(".chart").first).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()

    assert violations(page) == []
    assert not scrolls_sideways(page)


def test_the_page_follows_the_browser_s_colour_scheme(site: Site, opened: Open) -> None:
    """A white page dazzles at night."""
    brightness = """() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"""

    light = opened(site).evaluate(brightness)
    dark = opened(site, scheme="dark").evaluate(brightness)

    assert min(light) > 200
    assert max(dark) < 60


def test_an_operator_pauses_an_autoscaler_with_the_keyboard(with_users: Site, opened: Open) -> None:
    page = opened(with_users, user=OPERATOR)
    keys = page.keyboard

    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    keys.press("/")
    expect(page.get_by_label("Name or target")).to_be_focused()
    keys.type("thumb")
    expect(page.locator("#count")).to_have_text("1 autoscaler; 2 failing")
    while page.evaluate("document.activeElement.id") != "row-thumbnails":
        keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("thumbnails")
    summary = page.locator("#pause-override summary").first
    while not summary.evaluate("each => each === document.activeElement"):
        keys.press("Tab")
    for key in ("Enter", "Tab", "Tab", "Tab"):
        keys.press(key)
    keys.type("keys only")
    keys.press("Enter")

    expect(page.locator("#steering")).to_contain_text("Paused by robin: keys only")
    expect(summary).to_be_focused()


def test_there_are_no_animations_if_the_browser_asks_for_none(site: Site, opened: Open) -> None:
    page = opened(site)
    page.emulate_media(reduced_motion="reduce")

    assert page.evaluate("document.getAnimations().length") == 0
    assert page.locator(".states a").first.evaluate("each => getComputedStyle(each).transitionDuration") == "0s"
