"""The report of a replay, opened from a file in Chromium."""

import re
from datetime import timedelta
from math import sin

import pytest
from playwright.sync_api import Locator, Page, expect

from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.replay.replay import Candidate
from autoscaler.whatif.report import report
from tests.browser.conftest import Address, Open
from tests.browser.pages import chart, colours, scrolls_sideways, switch, violations
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.pasts import compared, shop, shop_past

pytestmark = pytest.mark.slow
HOSTILE = "</script><script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">'&"


def load(minutes: float) -> float:
    """A wave of two hours, with a step every four hours."""
    return 4 + 3 * sin(minutes / 20) + (3 if 100 < minutes % 240 < 130 else 0)


def document(name: str, label: str = "new.yaml") -> ReplayDocument:
    """Four hours with a gap and an outage. The candidate has another maximum and HPA's default behavior."""
    past = shop_past(load, 960, name, silent=range(300, 340), failing=range(500, 520))
    other = replace(shop(name), max_replicas=6, behavior=None)
    return compared(past, Candidate("old.yaml", shop(name)), Candidate(label, other))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Address:
    """The report of one autoscaler."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report([document("shop-web")], NOW + timedelta(hours=5), "1.2.3"), "utf-8")
    return Address(file.as_uri())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Address:
    """The report of two autoscalers. The name of one contains a script."""
    file = tmp_path_factory.mktemp("report") / "hostile.html"
    file.write_text(report([document(HOSTILE, HOSTILE), document("other")], NOW + timedelta(hours=5), "1.2.3"), "utf-8")
    return Address(file.as_uri())


@pytest.fixture(scope="module")
def page(written: Address, opened_once: Open) -> Page:
    """The report of one autoscaler in a browser."""
    return opened_once(written, "")


def picture(drawn: Locator) -> str:
    shown: str = drawn.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    return shown


def test_the_sizes_and_the_load_are_drawn(page: Page) -> None:
    """An empty canvas has one colour."""
    expect(chart(page, "Replicas")).to_be_visible()
    assert colours(chart(page, "Replicas")) > 5
    for label in ("load", "as it was", "old.yaml", "new.yaml"):
        expect(chart(page, "Replicas").locator(".u-legend")).to_contain_text(label)


def test_a_chart_works_with_the_keyboard(page: Page) -> None:
    slider = chart(page, "Replicas")
    slider.focus()

    for key in ("End", "PageDown", "ArrowLeft"):
        page.keyboard.press(key)
    expect(slider).to_have_attribute(
        "aria-valuetext", re.compile(r"^\d{4}-.*: load \S+, as it was \S+, old.yaml \S+, new.yaml \S+$")
    )


def test_a_drag_enlarges_a_time(page: Page) -> None:
    """A minute of a week is a tenth of a pixel. A button shows the whole time again."""
    whole = page.get_by_role("button", name="Show all of the time")
    expect(whole).to_be_hidden()
    over = chart(page, "Replicas").locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    before = picture(chart(page, "Replicas"))

    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60, steps=5)
    page.mouse.up()

    expect(whole).to_be_visible()
    assert picture(chart(page, "Replicas")) != before
    whole.click()
    expect(whole).to_be_hidden()


def test_a_report_is_accessible_and_fits_the_screen(page: Page) -> None:
    assert_fits(page)


def test_a_script_in_a_name_does_not_run(hostile: Address, opened: Open) -> None:
    """Users send reports to others. A long name fits the screen, too."""
    page = opened(hostile, "")

    expect(page.locator("#name-0")).to_have_text(HOSTILE)
    expect(chart(page, "Replicas").locator(".u-legend")).to_contain_text("document.title")
    assert "owned" not in page.title().replace(HOSTILE, "")
    assert_fits(page)


def assert_fits(page: Page) -> None:
    for scheme, width in (("light", 1280), ("dark", 375)):
        switch(page, scheme, width)
        expect(chart(page, "Replicas")).to_be_visible()
        assert violations(page) == []
        assert not scrolls_sideways(page)
