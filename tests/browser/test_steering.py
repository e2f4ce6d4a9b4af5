"""Pauses and overrides by clicks."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from autoscaler.model import Direction
from tests.browser.conftest import Open
from tests.browser.world import OPERATOR, Site

pytestmark = pytest.mark.slow


def pause(page: Page, reason: str) -> None:
    form = page.locator("form.steer")
    form.get_by_label("Direction").select_option("in")
    form.get_by_label("Reason").fill(reason)
    form.get_by_role("button", name="Pause").click()


def test_a_pause_is_shown_on_both_pages_until_it_is_resumed(with_users: Site, opened: Open) -> None:
    """Other operators see who paused it, and why."""
    page = opened(with_users, "/autoscalers/shop-web", user=OPERATOR)

    pause(page, "load test")

    expect(page.locator("#state")).to_contain_text("Paused")
    expect(page.locator("#steering")).to_contain_text(re.compile("by robin: load test.*until 20", re.DOTALL))
    kept = with_users.world.state.archive.steering()["shop-web"].pause
    assert kept is not None
    assert (kept.direction, kept.by, kept.reason) == (Direction.IN, "robin", "load test")
    other = opened(with_users, "/?state=paused", user=OPERATOR)
    expect(other.get_by_role("row", name=re.compile("shop-web"))).to_contain_text(
        re.compile("paused by robin.*load test")
    )

    page.get_by_role("button", name="Resume").click()

    expect(page.locator("#steering .inforce")).to_have_count(0)
    expect(page.get_by_label("Reason")).to_be_focused()  # the button has gone
    assert "shop-web" not in with_users.world.state.archive.steering()
    other.reload()
    expect(other.locator("#rows")).not_to_contain_text("shop-web")


def test_bounds_are_overridden_for_a_time(with_users: Site, opened: Open) -> None:
    """An operator raises the maximum for a sale without changing the configuration."""
    page = opened(with_users, "/autoscalers/checkout", user=OPERATOR)
    page.get_by_text("Override the bounds").click()
    form = page.locator("form.steer")

    form.get_by_label("Maximum").fill("40")
    form.get_by_label("For how long").select_option("1d")
    form.get_by_label("Reason").fill("sale")
    form.get_by_role("button", name="Override").click()

    expect(page.locator("#steering")).to_contain_text(re.compile("max 40\\s+by robin: sale.*until 20", re.DOTALL))
    kept = with_users.world.state.archive.steering()["checkout"].override
    assert kept is not None
    assert (kept.minimum, kept.maximum) == (None, 40)
    page.get_by_role("button", name="End the override").click()
    expect(page.locator("#steering .inforce")).to_have_count(0)


def test_a_refused_change_says_why_and_keeps_the_form(with_users: Site, opened: Open) -> None:
    """The operator corrects a field, and does not type the reason again. Other operators need a reason to decide
    whether they may end a pause. In an incident, nobody scrolls past charts to the buttons.
    """
    page = opened(with_users, "/autoscalers/payments", user=OPERATOR, width=1366, height=768)
    for button in (page.get_by_role("button", name="Pause"), page.get_by_text("Override the bounds")):
        assert bottom(button) < 768

    pause(page, "")

    expect(page.get_by_label("Reason")).to_be_focused()
    assert "payments" not in with_users.world.state.archive.steering()
    page.get_by_text("Override the bounds").click()

    page.get_by_label("Minimum").fill("30")
    page.get_by_label("Reason").fill("sale")
    page.get_by_role("button", name="Override").click()

    expect(page.get_by_role("alert")).to_have_text(
        "Not done: the minimum 30 is above the configured maxReplicas 12; lower the minimum, or raise the maximum."
    )
    expect(page.get_by_label("Reason")).to_have_value("sale")
    expect(page.get_by_label("Minimum")).to_have_value("30")
    said = page.get_by_role("alert").bounding_box()
    assert said is not None
    assert said["y"] > bottom(page.get_by_label("Minimum")) + 8, "it stands apart from the fields"


def bottom(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box is not None
    return box["y"] + box["height"]
