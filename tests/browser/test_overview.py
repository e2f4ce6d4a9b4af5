"""The list of all autoscalers."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.world import Served


def names(page: Page) -> list[str]:
    return page.locator("table.list tbody th a").all_inner_texts()


def row(page: Page, name: str) -> str:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True)).inner_text()


def test_the_list_shows_every_autoscaler_with_its_state(site: Served, opened: Open) -> None:
    """One look tells who is in trouble and who is not."""
    page = opened(site)

    assert names(page) == sorted(site.world.parts)
    assert "Failing" in row(page, "payments")
    assert "Paused" in row(page, "search")
    assert "dana: sale starts at noon" in row(page, "search")
    assert "dry run" in row(page, "thumbnails")
    assert "shadow 5" in row(page, "thumbnails")


def test_a_row_says_what_limits_the_size(site: Served, opened: Open) -> None:
    """The commonest question, answered without opening anything."""
    page = opened(site)

    assert re.search(r"Limited.*cpu\s+8\d%.of 60%.*maxReplicas is 6", row(page, "checkout"), re.DOTALL)
    assert "returned no sample" in row(page, "payments")
    assert "deployment 4f2a" in row(page, "mailer")


def test_typing_filters_at_once(site: Served, opened: Open) -> None:
    """Whoever looks for one autoscaler among thousands should not have to reach for a button."""
    page = opened(site)

    page.get_by_label("Name or target").press_sequentially("shop")

    expect(page.locator("#count")).to_contain_text("2 autoscalers")
    assert names(page) == ["shop-api", "shop-web"]
    assert page.url.endswith("?q=shop&sort=name"), "the address can be sent to a colleague"
    expect(page.get_by_label("Name or target")).to_be_focused()


def test_what_fits_nothing_says_so(site: Served, opened: Open) -> None:
    """An empty page would look like a broken one."""
    page = opened(site, "/?q=nosuch")

    expect(page.locator("#count")).to_contain_text("No autoscaler fits")
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("#count")).to_contain_text("9 autoscalers")


def test_a_state_leaves_those_that_are_in_it(site: Served, opened: Open) -> None:
    """On a bad day only the failing ones matter."""
    page = opened(site)

    page.get_by_role("link", name=re.compile("^Failing")).click()

    expect(page.locator("#count")).to_contain_text("2 autoscalers")
    assert names(page) == ["payments", "reports"]


def test_the_connection_filters(site: Served, opened: Open) -> None:
    """One platform's operators look after one back end."""
    page = opened(site)

    page.get_by_label("Connection").select_option("swarm")

    expect(page.locator("#count")).to_contain_text("3 autoscalers")
    assert names(page) == ["recommendations", "search", "thumbnails"]


def test_the_columns_sort(site: Served, opened: Open) -> None:
    """The one farthest above its target comes first; the column says so to a screen reader too."""
    page = opened(site)

    page.get_by_role("link", name="Metrics and their targets").click()

    header = page.get_by_role("columnheader", name="Metrics and their targets")
    expect(header).to_have_attribute("aria-sort", "descending")
    assert names(page)[0] == "mailer"
    page.get_by_role("link", name="State", exact=True).click()
    expect(page.get_by_role("columnheader", name="State")).to_have_attribute("aria-sort", "descending")
    assert names(page)[:2] == ["payments", "reports"]


def test_it_works_without_scripts(site: Served, opened: Open) -> None:
    """Scripts add comfort; what the page is for must not depend on them."""
    page = opened(site, scripts=False)

    page.get_by_label("Name or target").fill("search")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="search").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("search")
    expect(page.locator("#decision")).to_contain_text("The size is 3 and stays.")


def test_two_thousand_come_in_pages(crowded: Served, opened: Open) -> None:
    """A browser must not have to lay out two thousand rows, and every one of them can be reached."""
    page = opened(crowded)

    expect(page.locator("#count")).to_have_text("1 to 100 of 2000 autoscalers")
    assert len(names(page)) == 100
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#count")).to_have_text("101 to 200 of 2000 autoscalers")
    assert names(page)[0] == "service-0100"
    page.get_by_label("Name or target").fill("1999")
    expect(page.locator("#count")).to_have_text("1 autoscaler")
    assert names(page) == ["service-1999"]


def test_five_and_twenty_fit_a_laptop(crowded: Served, opened: Open) -> None:
    """What has to be scrolled to is not seen at a glance."""
    page = opened(crowded, width=1366, height=768)

    bottoms = page.locator("table.list tbody tr").evaluate_all(
        "rows => rows.map(row => row.getBoundingClientRect().bottom)"
    )

    assert sum(bottom <= 768 for bottom in bottoms) >= 25


def test_a_row_draws_how_the_size_moved_in_the_last_hour(site: Served, opened: Open) -> None:
    """Whether a size is on its way or has always been so is the second question."""
    page = opened(site)

    moved = page.get_by_role("row").filter(has_text="shop-web").locator(".spark path").get_attribute("d") or ""
    stayed = page.get_by_role("row").filter(has_text="recommendations").locator(".spark path").get_attribute("d") or ""

    assert moved.count("V") >= 10
    assert stayed.count("V") == 0
    assert "3 to 9" in row(page, "shop-web")


def test_the_top_line_says_what_is_wrong_with_the_daemon_and_leads_to_it(site: Served, opened: Open) -> None:
    """One broken connection explains a screen full of failing autoscalers."""
    page = opened(site)

    page.get_by_role("link", name="Connection nomad fails").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Status")
    connection = page.locator("#connections").get_by_role("row").filter(has_text="nomad")
    expect(connection).to_contain_text("Fails")
    expect(connection).to_contain_text("nomad at http://10.0.0.5:4646 did not answer")
    expect(page.locator("#sources")).to_contain_text(re.compile("default.*Healthy"))
    expect(page.locator("#daemon-facts")).to_contain_text("1.2.3")


def test_a_size_of_which_not_all_are_ready_says_how_many_are(site: Served, opened: Open) -> None:
    """Three that crash are not three that run."""
    page = opened(site)

    assert re.search(r"3\s+1 ready", row(page, "payments"))
    assert "ready" not in row(page, "shop-web")
    page.get_by_role("link", name="payments").click()
    expect(page.locator("#instances tbody tr").first).to_contain_text("Not ready")
    expect(page.locator("#instances tbody tr").first).to_contain_text("GET /healthz: 503")
    expect(page.locator(".head")).to_contain_text("2 instances answer 503")
