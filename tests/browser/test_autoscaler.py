"""The page of one autoscaler: charts, and the explanation of any decision."""

import re
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.world import Served

SHOP = "/autoscalers/shop-web"


def chart(page: Page, title: str) -> Locator:
    return page.get_by_role("slider", name=re.compile(f"^{title} over time"))


def colours(drawn: Locator) -> int:
    """How many distinct colours its canvas holds."""
    counted: int = drawn.locator("canvas").evaluate(
        """canvas => {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    return counted


def moment(page: Page) -> str:
    return page.locator("#decision time").first.get_attribute("datetime") or ""


def test_a_name_in_the_list_opens_its_page(site: Served, opened: Open) -> None:
    """One click from the list to everything known about one."""
    page = opened(site)

    page.get_by_role("link", name="shop-web").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("shop-web")
    expect(page.locator("#conditions")).to_contain_text("ScalingActive True")
    expect(page.locator("#events")).to_contain_text("SuccessfulRescale New size: 9")
    expect(page.locator(".facts")).to_contain_text("rate(process_cpu_seconds_total")


def test_size_and_every_metric_have_a_chart(site: Served, opened: Open) -> None:
    """An empty canvas would pass for a chart."""
    page = opened(site, SHOP)

    for title in ("Size", "cpu, percent of request", "orders_waiting, average per instance"):
        expect(chart(page, title)).to_be_visible()
        assert colours(chart(page, title)) > 5, f"nothing is drawn in {title}"


def test_a_dry_run_shows_its_shadow_beside_the_target(site: Served, opened: Open) -> None:
    """Both sizes, marked, in the head, the chart and the explanation; and not that the size has changed."""
    page = opened(site, "/autoscalers/thumbnails")

    expect(page.locator("#head")).to_contain_text("shadow 5")
    expect(page.locator("#state")).to_contain_text("The target's size is 3; its shadow stays at 5")
    expect(page.locator("#head")).to_contain_text("more may be asked for than shows")
    expect(chart(page, "Size, and the shadow's")).to_be_visible()
    expect(page.locator("#decision")).to_contain_text("was the shadow's size, the target's 3")
    page.locator("#table summary").click()
    expect(page.locator("#points").get_by_role("columnheader", name="Shadow")).to_be_visible()


def test_a_click_in_a_chart_explains_the_decision_of_that_moment(site: Served, opened: Open) -> None:
    """Why did it scale then? The question that sends people to the page."""
    page = opened(site, SHOP)
    expect(page.locator("#decision")).to_contain_text("Last decision")
    last = moment(page)
    over = chart(page, "Size").locator(".u-over")
    box = over.bounding_box()
    assert box is not None

    over.click(position={"x": box["width"] / 2, "y": box["height"] / 2})

    expect(page.locator("#decision")).to_contain_text("Decision of")
    assert moment(page) < last
    assert "at=" in page.url
    expect(page.locator("#why")).to_be_focused()
    page.get_by_role("link", name="Latest").click()
    expect(page.locator("#decision")).to_contain_text("Last decision")


def test_a_chart_can_be_read_and_used_with_keys_alone(site: Served, opened: Open) -> None:
    """To a screen reader a chart is its values at a moment that is chosen."""
    page = opened(site, SHOP)
    slider = chart(page, "Size")
    slider.focus()

    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")

    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^\d{4}-.*: max 12, min 1, wanted \d+, size \d+$"))
    chosen = (slider.get_attribute("aria-valuetext") or "").split(": ")[0]
    page.keyboard.press("Enter")
    expect(page.locator("#decision")).to_contain_text(f"Decision of {chosen}")


def test_the_table_beside_the_charts_leads_to_the_same_explanation(site: Served, opened: Open) -> None:
    """Whoever cannot see a chart gets its numbers, and the way from them to the reason."""
    page = opened(site, SHOP)
    page.get_by_text("The same as a table").click()
    out = page.locator("#points tbody tr").filter(has=page.locator("td:nth-of-type(1)", has_text=re.compile("^3$")))
    grew = out.filter(has=page.locator("td:nth-of-type(2)", has_text=re.compile("^4$"))).first

    grew.get_by_role("link").click()

    expect(page.locator(".lead")).to_have_text("The size was 3 and was set to 4.")
    expect(page.locator(".road")).to_contain_text("cpu asks for it")


def test_a_time_can_be_typed(site: Served, opened: Open) -> None:
    """From a colleague's message or a log line to the decision of that time."""
    page = opened(site, SHOP)
    half_past = site.world.start + timedelta(minutes=30, seconds=7)

    page.get_by_label("Another time (UTC)").fill(f"{half_past:%Y-%m-%dT%H:%M:%S}")
    page.get_by_role("button", name="Explain").click()

    made = site.world.start + timedelta(minutes=30)
    expect(page.locator("#decision")).to_contain_text(f"Decision of {made:%Y-%m-%d %H:%M:%S}")


def test_earlier_goes_one_decision_back(site: Served, opened: Open) -> None:
    """Step by step through what led to it."""
    page = opened(site, SHOP)
    last = moment(page)

    page.get_by_role("link", name="Earlier").click()

    expect(page.locator("#decision")).to_contain_text("Decision of")
    before = moment(page)
    page.get_by_role("link", name="Earlier").click()
    expect(page.locator("#decision time").first).not_to_have_attribute("datetime", before)
    assert moment(page) < before < last


def test_a_time_before_the_first_decision_says_so(site: Served, opened: Open) -> None:
    """An honest sentence, and a page that still stands."""
    page = opened(site, f"{SHOP}?at=2001-01-01T00:00:00Z")

    expect(page.locator("#decision")).to_contain_text("had no decision at 2001-01-01")
    expect(chart(page, "Size")).to_be_visible()


def test_a_time_that_is_none_says_so(site: Served, opened: Open) -> None:
    """What stands in an address may be anything."""
    page = opened(site, f"{SHOP}?at=<b>noon</b>")

    expect(page.locator("#decision")).to_contain_text("'<b>noon</b>' is not a valid time")


def test_another_range_is_shown(site: Served, opened: Open) -> None:
    """The last minutes while it happens, the last days when looking for a pattern."""
    page = opened(site, SHOP)

    page.get_by_role("link", name="15m").click()

    expect(page.get_by_role("link", name="15m")).to_have_attribute("aria-current", "true")
    page.get_by_text("The same as a table").click()
    expect(page.locator("#points caption")).to_contain_text(re.compile(r"of (5\d|6\d) decisions"))


def test_a_failed_metric_says_why(site: Served, opened: Open) -> None:
    """The remedy stands where the failure is seen."""
    page = opened(site, "/autoscalers/payments")

    expect(page.locator(".head")).to_contain_text("check that the exporter is scraped")
    expect(page.locator(".road")).to_contain_text("orders_waiting has no value")


def test_each_instance_is_listed_with_its_readiness_and_its_value(site: Served, opened: Open) -> None:
    """The average says that something is hot; this says which."""
    page = opened(site, SHOP)

    expect(page.locator("#instances")).to_contain_text("9 of 9 ready")
    expect(
        page.locator("#instances").get_by_role("row", name=re.compile(r"10.0.4.20:8080 Ready for \d+h"))
    ).to_be_visible()
    expect(page.locator("#instances thead")).to_contain_text("cpu")


def test_each_query_leads_to_prometheus(site: Served, opened: Open) -> None:
    """To where browsers reach it, which is not where the daemon does."""
    page = opened(site, SHOP)

    link = page.get_by_role("link", name="Show in Prometheus default").last

    expect(link).to_have_attribute("href", re.compile("^https://prometheus.example.org/graph\\?g0.expr=sum%28queue_"))


def test_events_have_clock_times_and_marks_of_their_kind(site: Served, opened: Open) -> None:
    """Out, in and gone wrong are told apart without reading."""
    page = opened(site, SHOP)

    out = page.locator("#events li").filter(has_text="above target").first
    expect(out).to_contain_text(re.compile(r"\d\d:\d\d:\d\d UTC"))
    expect(out.locator(".mark.out")).to_be_visible()
    expect(page.locator("#events li").filter(has_text="below target").first.locator(".mark.in")).to_be_visible()
    failed = opened(site, "/autoscalers/payments")
    expect(failed.locator("#events .mark.warning").first).to_be_visible()


def test_the_headline_says_what_it_came_to_and_why(site: Served, opened: Open) -> None:
    """The reason stands where the number does."""
    page = opened(site, "/autoscalers/checkout")

    expect(page.locator("#state")).to_contain_text("Stays at 6: maxReplicas is 6")


def test_times_are_shown_in_the_readers_own_zone_too(site: Served, opened: Open) -> None:
    """The log is in UTC, the reader's lunch is not. Where it is another day already, that day is said."""
    page = opened(site, SHOP, zone="Asia/Kolkata")
    made = page.locator("#decision time").first
    at = datetime.fromisoformat(made.get_attribute("datetime") or "")
    own = at + timedelta(hours=5, minutes=30)
    other_day = f"{own:%Y-%m-%d} " if own.date() != at.date() else ""

    expect(made).to_have_text(f"{at:%Y-%m-%d %H:%M:%S} UTC · {other_day}{own:%H:%M:%S} local")
    expect(page.locator("#zone")).to_contain_text("UTC+05:30")


@pytest.mark.parametrize(
    ("at", "own"),
    [("2026-05-01T18:29:59Z", " · 23:59:59 local"), ("2026-05-01T18:30:00Z", " · 2026-05-02 00:00:00 local")],
)
def test_a_time_on_another_day_of_the_readers_says_which(site: Served, opened: Open, at: str, own: str) -> None:
    """Half past midnight would be read as this morning's."""
    page = opened(site, SHOP, zone="Asia/Kolkata")

    written = page.evaluate(
        """async at => {
            const {localize} = await import("/static/times.js");
            const root = document.createElement("p");
            root.innerHTML = `<time data-local="full" datetime="${at}"></time>`;
            localize(root);
            return root.textContent;
        }""",
        at,
    )

    assert written == own


def test_who_lives_by_utc_reads_each_time_once(site: Served, opened: Open) -> None:
    """The same twice is noise."""
    page = opened(site, SHOP)
    expect(page.locator(".chart").first).to_be_visible()  # the scripts have run

    expect(page.locator(".local")).to_have_count(0)
