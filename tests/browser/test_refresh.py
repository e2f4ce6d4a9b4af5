"""The page keeps itself fresh, and does so politely."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, expect

from autoscaler.errors import MetricError
from tests.browser.conftest import Open
from tests.browser.world import Served, served, shop
from tests.test_quantity import AGES


@pytest.fixture
def fresh(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("fresh"), shop) as site:
        yield site


def test_a_new_decision_appears_by_itself(fresh: Served, opened: Open) -> None:
    """A page on a wall must not show yesterday's numbers."""
    page = opened(fresh, "/autoscalers/recommendations")
    expect(page.locator("#state")).to_contain_text("Steady")
    fresh.world.parts["recommendations"].broken = MetricError("query cpu timed out; see Prometheus")

    fresh.world.cycle(datetime.now(UTC))

    expect(page.locator("#state")).to_contain_text("Failing")
    expect(page.get_by_role("status")).to_contain_text("Failing")


def test_the_focus_stays_where_it_was(site: Served, opened: Open) -> None:
    """With keys or a screen reader, a table that is replaced under one's hands must not throw one out."""
    page = opened(site)
    link = page.get_by_role("link", name="search")
    link.focus()
    before = page.locator("#fresh").inner_text()

    expect(page.locator("#fresh")).not_to_have_text(before)

    expect(link).to_be_focused()


def test_it_can_be_told_to_stand_still(site: Served, opened: Open) -> None:
    """What moves by itself must be stoppable (WCAG 2.2.2)."""
    page = opened(site)
    asked: list[str] = []
    live = page.get_by_role("button", name="Live")

    live.click()
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(6_000)  # longer than its period: what must not happen has no event to wait for

    expect(live).to_have_attribute("aria-pressed", "false")
    assert asked == []
    live.click()
    expect(live).to_have_attribute("aria-pressed", "true")
    assert asked != []


def test_live_goes_off_with_the_daemon_and_on_again_when_it_is_back(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Old numbers that look fresh are worse than none."""
    with browser.new_context() as context:
        with served(tmp_path_factory.mktemp("gone"), shop) as site:
            page = context.new_page()
            page.goto(site.url)
            expect(page.locator("#fresh")).to_contain_text("As of")
            last = page.locator("#fresh time").inner_text()
            listen = site.url.removeprefix("http://")

        expect(page.locator("#fresh")).to_have_text(re.compile(r"No answer since .* UTC, \d+s ago"))
        live = page.get_by_role("button", name="Live")
        expect(live).to_have_attribute("aria-pressed", "false")
        expect(page.get_by_role("status")).to_contain_text("does not answer")
        assert page.locator("#fresh time").inner_text() >= last
        with served(tmp_path_factory.mktemp("back"), shop, listen):
            expect(live).to_have_attribute("aria-pressed", "true")
            expect(page.locator("#fresh")).to_contain_text("As of")


def test_a_daemon_that_takes_too_long_counts_as_gone(site: Served, opened: Open) -> None:
    """One that is stopped takes connections, and answers none of them."""
    page = opened(site)

    page.route("**/", lambda route: None)  # it is never answered

    expect(page.locator("#fresh")).to_contain_text("it takes too long")
    expect(page.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "false")
    page.unroute_all(behavior="ignoreErrors")
    expect(page.locator("#fresh")).to_contain_text("As of")


def test_the_script_writes_ages_as_the_terminal_does(site: Served, opened: Open) -> None:
    """A reader who sees 90s in the one and 1m in the other looks for a difference."""
    page = opened(site)
    written = page.evaluate(
        "seconds => import('/static/times.js').then(({age}) => seconds.map(age))", [seconds for seconds, _ in AGES]
    )
    assert written == [text for _, text in AGES]
