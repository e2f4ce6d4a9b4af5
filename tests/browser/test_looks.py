"""Accessibility: contrast, colours, width, keys, motion."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Open, watch
from tests.browser.pages import scrolls_sideways, switch, violations
from tests.browser.world import OPERATOR, Site

pytestmark = pytest.mark.slow
PATHS = ("/", "/status", "/autoscalers/shop-web", "/autoscalers/search", "/autoscalers/payments")


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_accessible_and_fit_the_screen(site: Site, opened: Open, path: str) -> None:
    """375 pixels are a phone: an operator on call may have no other screen, and a white page dazzles at night."""
    page = opened(site, path)
    if "shop" in path:
        expect(page.locator(".chart").first).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()

    for scheme, width, darkest, brightest in (("light", 1280, 200, 255), ("dark", 375, 0, 60)):
        switch(page, scheme, width)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert darkest <= min(colour) <= max(colour) <= brightest
        assert violations(page) == []
        assert not scrolls_sideways(page)


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
    reason = page.get_by_label("Reason")
    while not reason.evaluate("each => each === document.activeElement"):
        keys.press("Tab")
    keys.type("keys only")
    keys.press("Enter")

    expect(page.locator("#steering")).to_contain_text("Paused by robin: keys only")
    expect(reason).to_be_focused()


def test_there_are_no_animations_if_the_browser_asks_for_none(site: Site, opened: Open) -> None:
    page = opened(site)
    page.emulate_media(reduced_motion="reduce")

    assert page.evaluate("document.getAnimations().length") == 0
    assert page.locator(".states a").first.evaluate("each => getComputedStyle(each).transitionDuration") == "0s"


def test_every_breach_of_the_page_s_policy_is_noticed(browser: Browser, site: Site) -> None:
    """The tests with `opened` fail for any, so a library that needs a looser policy would be found."""
    problems: list[str] = []
    with browser.new_context() as context:
        page = context.new_page()
        watch(page, problems)
        page.goto(f"{site.url}/autoscalers/shop-web")
        expect(page.locator(".chart").first).to_be_visible()
        assert problems == []
        breaches: list[str] = []
        for script, directive in (
            ("append(Object.assign(document.createElement('style'), {textContent: 'p {}'}))", "style-src"),
            ("setAttribute('style', 'color: red')", "style-src"),
            ("append(Object.assign(document.createElement('script'), {textContent: '1'}))", "script-src"),
            ("append(Object.assign(document.createElement('img'), {src: 'http://example.org/'}))", "img-src"),
        ):
            page.evaluate(f"() => {{ document.body.{script} }}")
            before = len(breaches)
            while len(breaches) == before:
                page.wait_for_timeout(20)
                breaches = [each for each in problems if each.startswith("error: policy: ")]
            assert breaches[-1].startswith(f"error: policy: {directive}")
