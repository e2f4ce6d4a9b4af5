"""What tests look at in a page, on every kind of page."""

import re

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Locator, Page


def chart(page: Page, title: str) -> Locator:
    """The chart with this title."""
    return page.get_by_role("slider", name=re.compile(f"^{title}.* over time")).first


def colours(drawn: Locator) -> int:
    """The number of distinct colours in the chart's canvas."""
    counted: int = drawn.locator("canvas").evaluate(
        """canvas => {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    return counted


def click(drawn: Locator, share: float) -> None:
    """Click into the chart at this share of its width."""
    over = drawn.locator(".u-over")
    box = over.bounding_box()
    assert box is not None
    over.click(position={"x": box["width"] * share, "y": box["height"] / 2})


def switch(page: Page, scheme: str, width: int) -> None:
    """Give the page another colour scheme and another width, as an operator does at night with a phone."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})


def violations(page: Page) -> list[object]:
    """The rules of axe that the page breaks. They cover WCAG 2.2 A and AA as far as a program can check them."""
    found = Axe().run(page).response["violations"]
    return [(each["id"], each["impact"], [node["html"][:120] for node in each["nodes"]]) for each in found]


def as_opened(page: Page, url: str) -> Page:
    """Return the page of this address, opened anew if a test before has left it."""
    if page.url != url:
        page.goto(url)
    return page


def scrolls_sideways(page: Page) -> bool:
    root = "document.documentElement"
    return bool(page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"))
