"""A replay's report, opened from a file in a real Chromium."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from math import sin
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from autoscaler.whatif.compare.comparison import Candidate, compare
from autoscaler.whatif.documents.replay import explanations, replay_document
from autoscaler.whatif.report import ExplainedReplay, report
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.lived import LivedPast, shop

HOSTILE = "</script><script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">'&"
OpenReport = Callable[..., Page]
"""The file, scheme="light" or "dark", width=1280, scripts=True, at="" (of the address) -> the opened report."""


def load(minutes: float) -> float:
    """A wave of two hours with a step on it."""
    return 4 + 3 * sin(minutes / 20) + (3 if 100 < minutes % 240 < 130 else 0)


def explained(name: str, label: str = "new.yaml") -> ExplainedReplay:
    """Four hours with a gap and an outage; the candidate has another maximum and HPA's own rules."""
    past = LivedPast(shop(name), load, 960, silent=[range(300, 340)], failing=[range(500, 520)])
    other = replace(shop(name), max_replicas=6, behavior=None)
    found = compare(past, [Candidate("old.yaml", shop(name)), Candidate(label, other)], NOW, NOW + past.until)
    return ExplainedReplay(replay_document(found), explanations(found))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of one autoscaler."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report([explained("shop-web")], NOW + timedelta(hours=5), "1.2.3"), "utf-8")
    return file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two, of which one has a name that would like to be a script."""
    file = tmp_path_factory.mktemp("report") / "hostile.html"
    file.write_text(
        report([explained(HOSTILE, HOSTILE), explained("other")], NOW + timedelta(hours=5), "1.2.3"), "utf-8"
    )
    return file


@pytest.fixture
def opened(browser: Browser) -> Iterator[OpenReport]:
    """Opens reports from their files; fails the test for any error in the console, or a request for anything else."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.type}: {message.text}")

    def asked(request: Request) -> None:
        if not request.url.startswith("file:") or not request.is_navigation_request():
            problems.append(f"asked for {request.url}")

    def open_report(
        file: Path, *, scheme: str = "light", width: int = 1280, scripts: bool = True, at: str = ""
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            timezone_id="UTC",
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=scripts,
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", said)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", asked)
        page.goto(file.as_uri() + at)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert problems == []


def chart(page: Page, title: str = "Replicas") -> Locator:
    return page.get_by_role("slider", name=re.compile(f"^{title}.* over time")).first


def colours(drawn: Locator) -> int:
    """How many distinct colours its canvas holds."""
    counted: int = drawn.locator("canvas").evaluate(
        """canvas => {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    return counted


def click(page: Page, share: float) -> None:
    """In the chart of sizes, at a share of its width."""
    over = chart(page).locator(".u-over")
    box = over.bounding_box()
    assert box is not None
    over.click(position={"x": box["width"] * share, "y": box["height"] / 2})


def test_sizes_and_metrics_are_drawn(written: Path, opened: OpenReport) -> None:
    """An empty canvas would pass for a chart."""
    page = opened(written)

    for title in ("Replicas", "Demand for each ready replica"):
        expect(chart(page, title)).to_be_visible()
        assert colours(chart(page, title)) > 5, f"nothing is drawn in {title}"
    expect(chart(page).locator(".u-legend")).to_contain_text("needed")
    expect(chart(page).locator(".u-legend")).to_contain_text("new.yaml")


def test_a_click_in_the_chart_explains_the_change_before_it(written: Path, opened: OpenReport) -> None:
    """Why did it scale then? The question that a replay is read with."""
    page = opened(written)
    expect(page.locator(".explained:visible")).to_have_count(0)

    click(page, 0.3)

    shown = page.locator(".explained:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_be_focused()
    expect(shown.locator(".lead")).to_contain_text(re.compile("^The (size|target's size) "))
    expect(shown.locator(".road li.end")).to_be_visible()
    expect(page.locator("a.change[aria-current]")).to_have_count(1)
    first = page.url
    click(page, 0.9)
    expect(shown).to_have_count(1)
    assert page.url != first


def test_a_change_in_the_list_leads_to_its_explanation(written: Path, opened: OpenReport) -> None:
    page = opened(written)
    link = page.locator("a.change").nth(2)
    at = link.locator("time").get_attribute("datetime")

    link.click()

    expect(page.locator(".explained:visible time").first).to_have_attribute("datetime", at or "")


def test_without_a_script_the_same_links_work(written: Path, opened: OpenReport) -> None:
    page = opened(written, scripts=False)

    page.locator("a.change").first.click()

    expect(page.locator(".explained:visible .road")).to_be_visible()


def test_an_address_with_a_change_opens_at_its_explanation(written: Path, opened: OpenReport) -> None:
    """A colleague is sent a file and what to look at in it."""
    page = opened(written, at="#why-0-1-1")

    expect(page.locator(".explained:visible")).to_have_attribute("id", "why-0-1-1")


def test_a_chart_is_used_with_keys_alone(written: Path, opened: OpenReport) -> None:
    page = opened(written)
    slider = chart(page)
    slider.focus()

    for key in ("End", "PageDown", "ArrowLeft"):
        page.keyboard.press(key)
    expect(slider).to_have_attribute(
        "aria-valuetext", re.compile(r"^\d{4}-.*: needed \S+, as it was \S+, old.yaml \S+, new.yaml \S+$")
    )
    page.keyboard.press("Enter")

    expect(page.locator(".explained:visible")).to_have_count(1)


def test_a_time_is_enlarged_by_a_drag_in_every_chart_and_shown_whole_again(written: Path, opened: OpenReport) -> None:
    """A week is a thousand pixels wide; what matters happened in two minutes of it."""
    page = opened(written)
    whole = page.get_by_role("button", name="Show all of the time")
    expect(whole).to_be_hidden()
    over = chart(page).locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    before = [picture(chart(page, title)) for title in ("Replicas", "Demand")]

    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60, steps=5)
    page.mouse.up()

    expect(whole).to_be_visible()
    assert all(one != picture(chart(page, title)) for one, title in zip(before, ("Replicas", "Demand"), strict=True))
    assert page.url.endswith("report.html"), "a drag is no click"
    whole.click()
    expect(whole).to_be_hidden()


def picture(drawn: Locator) -> str:
    shown: str = drawn.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    return shown


def test_a_name_that_would_be_a_script_is_a_name(hostile: Path, opened: OpenReport) -> None:
    """Reports are sent around and opened where nobody thinks of a script."""
    page = opened(hostile)

    expect(page.locator("#name-0")).to_have_text(HOSTILE)
    expect(chart(page).locator(".u-legend")).to_contain_text("document.title")
    click(page, 0.5)
    expect(page.locator(".explained:visible")).to_have_count(1)
    assert "owned" not in page.title().replace(HOSTILE, "")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_the_scan_finds_nothing_serious(written: Path, opened: OpenReport, scheme: str, width: int) -> None:
    page = opened(written, scheme=scheme, width=width)
    expect(chart(page)).to_be_visible()
    page.locator("a.change").first.click()
    expect(page.locator(".explained:visible")).to_have_count(1)

    found = Axe().run(page).response["violations"]

    told = [(each["id"], each["impact"], [node["html"][:120] for node in each["nodes"]]) for each in found]
    assert told == []


@pytest.mark.parametrize("which", ["written", "hostile"])
def test_a_phone_needs_no_sideways_scrolling(which: str, request: pytest.FixtureRequest, opened: OpenReport) -> None:
    page = opened(request.getfixturevalue(which), width=375)
    expect(chart(page)).to_be_visible()
    page.locator("a.change").first.click()

    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    assert widths[0] <= widths[1]
