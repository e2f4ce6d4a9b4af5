"""The page refreshes itself."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from autoscaler.model import Failure
from tests.browser.conftest import Open
from tests.browser.world import Site, served, shop

pytestmark = pytest.mark.slow


SHORT = partial(shop, minutes=3)


@pytest.fixture(scope="module")
def fresh(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site whose autoscalers decide again when a test wants it."""
    with served(tmp_path_factory.mktemp("fresh"), SHORT) as site:
        yield site


def test_a_new_decision_appears_by_itself(fresh: Site, opened: Open) -> None:
    """A page on a wall screen is never reloaded by hand."""
    page = opened(fresh, "/autoscalers/recommendations")
    expect(page.locator("#state")).to_contain_text("Steady")
    fresh.world.parts["recommendations"].broken = Failure("query cpu timed out; see Prometheus")

    fresh.world.cycle(datetime.now(UTC))

    expect(page.locator("#state")).to_contain_text("Failing")
    expect(page.locator("#state")).to_have_attribute(
        "aria-live", "polite"
    )  # a screen reader says what has changed in it


def test_a_refresh_keeps_the_focus(site: Site, opened: Open) -> None:
    """Users of a keyboard or a screen reader would lose their place."""
    page = opened(site)
    link = page.get_by_role("link", name="search")
    link.focus()
    before = page.locator("#fresh").inner_text()

    expect(page.locator("#fresh")).not_to_have_text(before)

    expect(link).to_be_focused()


def test_a_button_stops_the_refresh(site: Site, opened: Open) -> None:
    """WCAG 2.2.2 requires it."""
    page = opened(site)
    requests: list[str] = []
    live = page.get_by_role("button", name="Live")

    live.click()
    page.on("request", lambda request: requests.append(request.url))
    page.wait_for_timeout(6_000)  # longer than the period: a request that is not sent has no event to wait for

    expect(live).to_have_attribute("aria-pressed", "false")
    assert requests == []
    live.click()
    expect(live).to_have_attribute("aria-pressed", "true")
    assert requests != []


def test_the_page_says_while_the_daemon_does_not_answer(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Old numbers must not look current. The refresh resumes when the daemon answers."""
    with browser.new_context() as context:
        with served(tmp_path_factory.mktemp("gone"), SHORT) as site:
            page = context.new_page()
            page.goto(site.url)
            expect(page.locator("#fresh")).to_contain_text("As of")
            last = page.locator("#fresh time").inner_text()
            listen = site.url.removeprefix("http://")

        expect(page.get_by_role("status")).to_have_text(
            f"Not refreshed since {last}: the daemon does not answer. What is shown is old."
        )
        live = page.get_by_role("button", name="Live")
        expect(live).to_have_attribute("aria-pressed", "false")
        with served(tmp_path_factory.mktemp("back"), SHORT, listen):
            expect(live).to_have_attribute("aria-pressed", "true")
            expect(page.get_by_role("status")).to_have_text("")


def test_a_daemon_that_takes_too_long_counts_as_not_answering(browser: Browser, site: Site) -> None:
    """A suspended process accepts connections and does not answer."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(site.url)

        page.route("**/", lambda route: None)  # no answer

        expect(page.get_by_role("status")).to_contain_text("the daemon does not answer")
        expect(page.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "false")
        page.unroute_all(behavior="ignoreErrors")
        expect(page.get_by_role("status")).to_have_text("")


def test_a_text_that_the_reader_has_selected_stays(fresh: Site, opened: Open) -> None:
    """It is about to be copied into a message."""
    page = opened(fresh, "/autoscalers/payments")
    page.locator("#state").select_text()
    chosen = page.evaluate("getSelection().toString()")
    fresh.world.parts["payments"].broken = Failure("another failure")
    fresh.world.cycle(datetime.now(UTC))

    expect(page.locator("#conditions")).to_contain_text("another failure")

    assert page.evaluate("getSelection().toString()") == chosen
    page.evaluate("getSelection().removeAllRanges()")
    expect(page.locator("#state")).to_contain_text("another failure")
