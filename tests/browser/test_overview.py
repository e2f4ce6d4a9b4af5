"""The list of all autoscalers."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.pages import as_opened
from tests.browser.world import Site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def listed(site: Site, opened_once: Open) -> Page:
    return opened_once(site)


@pytest.fixture
def page(site: Site, listed: Page) -> Page:
    """The list."""
    return as_opened(listed, f"{site.url}/")


@pytest.fixture(scope="module")
def long(crowded: Site, opened_once: Open) -> Page:
    """A long list on a laptop."""
    return opened_once(crowded, width=1366, height=768)


def names(page: Page) -> list[str]:
    return page.locator("table.list tbody th a").all_inner_texts()


def row(page: Page, name: str) -> str:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True)).inner_text()


def test_the_list_shows_every_autoscaler_with_its_state(site: Site, page: Page) -> None:
    """It also says what limits the size, which is the most frequent question."""
    assert names(page) == sorted(site.world.parts)
    assert re.search("Failing.*returned no sample", row(page, "payments"), re.DOTALL)
    assert re.search("Paused.*dana.*sale starts at noon", row(page, "search"), re.DOTALL)
    assert "dry run" in row(page, "thumbnails")
    assert re.search(r"Limited.*cpu\s+8\d%.of 60%.*maxReplicas is 6", row(page, "checkout"), re.DOTALL)
    assert "deployment 4f2a" in row(page, "mailer")


def test_the_list_is_filtered_while_the_user_types(page: Page) -> None:
    """The filter needs no button."""
    page.get_by_label("Name or target").press_sequentially("shop")

    expect(page.locator("#count")).to_contain_text("2 autoscalers")
    assert names(page) == ["shop-api", "shop-web"]
    assert page.url.endswith("?q=shop&sort=name"), "the address can be sent to a colleague"
    expect(page.get_by_label("Name or target")).to_be_focused()


def test_the_list_is_filtered_by_state_and_by_connection(page: Page) -> None:

    page.get_by_role("link", name=re.compile("^Failing")).click()

    expect(page.locator("#count")).to_contain_text("2 autoscalers")
    assert names(page) == ["payments", "reports"]
    page.get_by_role("link", name=re.compile("^All")).click()
    expect(page.locator("#count")).to_contain_text("9 autoscalers")  # else the selection goes to the page that is left
    expect(page.get_by_role("button", name="Live")).to_be_visible()  # else no script of the new page sees it
    page.get_by_label("Connection").select_option("swarm")
    expect(page.locator("#count")).to_contain_text("3 autoscalers")
    assert names(page) == ["recommendations", "search", "thumbnails"]


def test_a_click_on_a_column_sorts_the_list(page: Page) -> None:
    """The autoscaler farthest above its target comes first. A screen reader announces the order."""
    page.get_by_role("link", name="Metrics and their targets").click()

    header = page.get_by_role("columnheader", name="Metrics and their targets")
    expect(header).to_have_attribute("aria-sort", "descending")
    assert names(page)[0] == "thumbnails"
    page.get_by_role("link", name="State", exact=True).click()
    expect(page.get_by_role("columnheader", name="State")).to_have_attribute("aria-sort", "descending")
    assert names(page)[:2] == ["payments", "reports"]


def test_the_page_works_without_scripts(site: Site, opened: Open) -> None:
    page = opened(site, scripts=False)

    page.get_by_label("Name or target").fill("search")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="search").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("search")
    expect(page.locator("#decision")).to_contain_text("Last decision")


def test_a_laptop_shows_25_rows(long: Page) -> None:
    bottoms = long.locator("table.list tbody tr").evaluate_all(
        "rows => rows.map(row => row.getBoundingClientRect().bottom)"
    )

    assert sum(bottom <= 768 for bottom in bottoms) >= 25


def test_a_long_list_has_pages_of_a_hundred_rows(long: Page) -> None:
    """A browser would take long to lay out thousands of rows."""
    expect(long.locator("#count")).to_have_text("1 to 100 of 300 autoscalers")
    assert len(names(long)) == 100
    long.get_by_role("link", name="Next").click()
    expect(long.locator("#count")).to_have_text("101 to 200 of 300 autoscalers")
    assert names(long)[0] == "service-0100"
    long.get_by_label("Name or target").fill("0299")
    expect(long.locator("#count")).to_have_text("1 autoscaler")
    assert names(long) == ["service-0299"]


def test_the_top_line_links_to_the_daemon_s_problem(page: Page) -> None:
    """One connection that fails may be the cause of many failing autoscalers."""
    page.get_by_role("link", name="Connection nomad fails").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Status")
    connection = page.locator("#connections").get_by_role("row").filter(has_text="nomad")
    expect(connection).to_contain_text("Fails")
    expect(connection).to_contain_text("nomad at http://10.0.0.5:4646 did not answer")
    expect(page.locator("#sources")).to_contain_text(re.compile("default.*Healthy"))
    expect(page.locator("#daemon-facts")).to_contain_text("1.2.3")
