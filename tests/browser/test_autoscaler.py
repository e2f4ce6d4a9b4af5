"""The page of one autoscaler: charts, and explanations of decisions."""

import re
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.pages import as_opened, chart, click, colours
from tests.browser.world import Site

pytestmark = pytest.mark.slow
SHOP = "/autoscalers/shop-web"


@pytest.fixture(scope="module")
def shop_web(site: Site, opened_once: Open) -> Page:
    return opened_once(site, SHOP)


@pytest.fixture
def page(site: Site, shop_web: Page) -> Page:
    """The page of shop-web."""
    return as_opened(shop_web, site.url + SHOP)


@pytest.fixture(scope="module")
def in_india(site: Site, opened_once: Open) -> Page:
    """The same in a browser that is five hours and a half ahead."""
    return opened_once(site, SHOP, zone="Asia/Kolkata")


def decided_at(page: Page) -> str:
    return page.locator("#decision time").first.get_attribute("datetime") or ""


def test_a_click_on_a_name_in_the_list_opens_its_page(site: Site, opened: Open) -> None:
    page = opened(site)

    page.get_by_role("link", name="shop-web").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("shop-web")
    expect(page.locator("#conditions")).to_contain_text("ScalingActive True")
    expect(page.locator("#events")).to_contain_text("SuccessfulRescale New size: 9")
    expect(page.locator(".facts")).to_contain_text("rate(process_cpu_seconds_total")


def test_size_and_every_metric_have_a_chart(page: Page) -> None:
    """An empty canvas has one colour."""
    for title in ("Size", "cpu, percent of request", "orders_waiting, average per instance"):
        expect(chart(page, title)).to_be_visible()
        assert colours(chart(page, title)) > 5, f"nothing is drawn in {title}"


def test_a_dry_run_shows_the_size_that_it_would_write(site: Site, opened: Open) -> None:
    page = opened(site, "/autoscalers/thumbnails")

    expect(page.locator("#state")).to_contain_text(" -> 5; a dry run writes nothing")
    expect(page.locator("#decision")).to_contain_text("What would change it")


def test_a_click_in_a_chart_explains_the_decision_of_that_time(page: Page) -> None:
    expect(page.locator("#decision")).to_contain_text("Last decision")
    last = decided_at(page)

    click(chart(page, "Size"), 0.5)

    expect(page.locator("#decision")).to_contain_text("Decision of")
    assert decided_at(page) < last
    assert "at=" in page.url
    expect(page.locator("#why")).to_be_focused()
    page.get_by_role("link", name="Latest").click()
    expect(page.locator("#decision")).to_contain_text("Last decision")


def test_a_chart_works_with_the_keyboard(page: Page) -> None:
    """A screen reader reads the values at the selected time."""
    slider = chart(page, "Size")
    slider.focus()

    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")

    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^\d{4}-.*: max 12, min 1, desired \d+, size \d+$"))
    chosen = (slider.get_attribute("aria-valuetext") or "").split(": ")[0]
    page.keyboard.press("Enter")
    expect(page.locator("#decision")).to_contain_text(f"Decision of {chosen}")


def test_the_table_has_the_charts_numbers_and_links_to_explanations(page: Page) -> None:
    """Users who cannot see a chart read the table."""
    page.get_by_text("The same as a table").click()
    out = page.locator("#points tbody tr").filter(has=page.locator("td:nth-of-type(1)", has_text=re.compile("^3$")))
    grew = out.filter(has=page.locator("td:nth-of-type(2)", has_text=re.compile("^4$"))).first

    grew.get_by_role("link").click()

    expect(page.locator(".lead")).to_contain_text(" -> 4")
    expect(page.locator(".road")).to_contain_text("cpu")


def test_the_decision_of_a_typed_time_is_explained(site: Site, page: Page) -> None:
    """The time may come from a message or a log line."""
    half_past = site.world.start + timedelta(minutes=30, seconds=7)

    page.get_by_label("Another time").fill(f"{half_past:%Y-%m-%dT%H:%M:%S}")
    page.get_by_role("button", name="Explain").click()

    made = site.world.start + timedelta(minutes=30)
    expect(page.locator("#decision")).to_contain_text(f"Decision of {made:%Y-%m-%d %H:%M:%S}")


@pytest.mark.parametrize(
    ("path", "part", "text"),
    [
        (f"{SHOP}?at=2001-01-01T00:00:00Z", "#decision", "had no decision at 2001-01-01"),
        (f"{SHOP}?at=<b>noon</b>", "#decision", "'<b>noon</b>' is not a valid time"),
        ("/autoscalers/checkout", "#state", "; maxReplicas is 6"),
    ],
)
def test_the_page_says_why(site: Site, opened: Open, path: str, part: str, text: str) -> None:
    """Each reason is beside the result. The charts are shown even if there is no decision to explain."""
    page = opened(site, path)

    expect(page.locator(part)).to_contain_text(text)
    expect(chart(page, "Size")).to_be_visible()


def test_the_page_says_why_an_autoscaler_fails(site: Site, opened: Open) -> None:
    """In its head, in the explanation and as an event."""
    page = opened(site, "/autoscalers/payments")

    expect(page.locator(".head")).to_contain_text("check that the exporter is scraped")
    expect(page.locator(".road")).to_contain_text("orders_waiting has no value")
    expect(page.locator("#events .mark.warning").first).to_be_visible()
    expect(chart(page, "Size")).to_be_visible()


def test_a_click_on_a_range_shows_it(page: Page) -> None:

    page.get_by_role("link", name="15m").click()

    expect(page.get_by_role("link", name="15m")).to_have_attribute("aria-current", "true")
    page.get_by_text("The same as a table").click()
    expect(page.locator("#points caption")).to_contain_text(
        re.compile(r"of \d\d? decisions")  # of an hour there are 240, and of 15 minutes fewer the longer the tests run
    )


def test_each_query_links_to_prometheus(page: Page) -> None:
    """The link has the URL for browsers (`externalUrl`), not the daemon's."""
    link = page.get_by_role("link", name="Show in Prometheus default").last

    expect(link).to_have_attribute("href", re.compile("^https://prometheus.example.org/graph\\?g0.expr=sum%28queue_"))


def test_events_have_times_and_marks_of_their_kind(page: Page) -> None:

    out = page.locator("#events li").filter(has_text="above target").first
    expect(out).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(out.locator(".mark.out")).to_be_visible()
    expect(page.locator("#events li").filter(has_text="below target").first.locator(".mark.in")).to_be_visible()


def test_times_are_those_of_the_browser_s_zone(in_india: Page) -> None:
    """The log is in UTC, which a time's title says."""
    made = in_india.locator("#decision time").first
    at = datetime.fromisoformat(made.get_attribute("datetime") or "")
    own = at + timedelta(hours=5, minutes=30)

    expect(made).to_have_text(f"{own:%Y-%m-%d %H:%M:%S}")
    expect(made).to_have_attribute("title", f"{at:%Y-%m-%d %H:%M:%S} UTC")
    expect(in_india.locator(".zone")).to_contain_text("UTC+05:30")


def test_a_time_has_the_date_of_the_browser_s_zone(in_india: Page) -> None:
    for at, own in (("29:59Z", "2026-05-01 23:59:59"), ("30:00Z", "2026-05-02 00:00:00")):
        write = "at => import('/static/times.js').then(({local}) => local(Date.parse(at) / 1000))"
        assert in_india.evaluate(write, f"2026-05-01T18:{at}") == own


def test_a_typed_time_is_that_of_the_browser_s_zone(site: Site, in_india: Page) -> None:
    made = site.world.start + timedelta(minutes=30)
    own = made + timedelta(hours=5, minutes=30, seconds=7)

    in_india.get_by_label("Another time").fill(f"{own:%Y-%m-%dT%H:%M:%S}")
    in_india.get_by_role("button", name="Explain").click()

    of = re.compile(f"^{made:%Y-%m-%dT%H:%M:%S}")
    expect(in_india.locator("#decision time").first).to_have_attribute("datetime", of)


def test_a_legend_has_the_last_values_until_the_pointer_is_in_the_chart(page: Page) -> None:
    """They stay when the page is refreshed."""
    legend = chart(page, "Size").locator(".u-legend")
    size = re.compile(r"max:?\s*12\s*min:?\s*1\s*desired:?\s*\d+\s*size:?\s*\d+")

    expect(legend).to_have_text(size)
    before = page.locator("#fresh").inner_text()
    expect(page.locator("#fresh")).not_to_have_text(before)
    expect(legend).to_have_text(size)


def test_the_browser_s_back_button_returns_to_the_last_decision(page: Page) -> None:
    page.get_by_role("link", name="Earlier").click()
    expect(page.locator("#decision")).to_contain_text("Decision of")

    page.go_back()

    expect(page.locator("#decision")).to_contain_text("Last decision")
    expect(chart(page, "Size")).to_be_visible()
