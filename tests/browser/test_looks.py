"""For every eye, hand and screen: accessibility, colours, width, keys."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.world import OPERATOR, Served

PATHS = ("/", "/status", "/autoscalers/shop-web", "/autoscalers/search", "/autoscalers/payments")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_the_scan_finds_nothing_serious(site: Served, opened: Open, path: str, scheme: str, width: int) -> None:
    """The rules of axe hold WCAG 2.2 A and AA as far as a machine can tell: contrast, names, roles, order."""
    page = opened(site, path, scheme=scheme, width=width)
    if "shop" in path:
        expect(page.locator(".chart").first).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()

    found = Axe().run(page).response["violations"]

    told = [(each["id"], each["impact"], [node["html"][:120] for node in each["nodes"]]) for each in found]
    assert told == []


@pytest.mark.parametrize("path", PATHS)
def test_a_phone_needs_no_sideways_scrolling(site: Served, opened: Open, path: str) -> None:
    """Whoever is on call looks at it on a phone first."""
    page = opened(site, path, width=375)
    for summary in page.locator("summary").all():
        summary.click()

    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    assert widths[0] <= widths[1]


def test_it_follows_the_colours_that_the_reader_has_chosen(site: Served, opened: Open) -> None:
    """A white page in a dark room at night hurts."""
    brightness = """() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"""

    light = opened(site).evaluate(brightness)
    dark = opened(site, scheme="dark").evaluate(brightness)

    assert min(light) > 200
    assert max(dark) < 60


def test_from_the_list_to_a_pause_with_keys_alone(with_users: Served, opened: Open) -> None:
    """Not everybody has a mouse, or a hand to spare for one."""
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


def test_what_moves_can_be_asked_not_to(site: Served, opened: Open) -> None:
    """Nothing may be shown by an animation alone; there is none where the reader wants none."""
    page = opened(site)
    page.emulate_media(reduced_motion="reduce")

    assert page.evaluate("document.getAnimations().length") == 0
    assert page.locator(".states a").first.evaluate("each => getComputedStyle(each).transitionDuration") == "0s"
