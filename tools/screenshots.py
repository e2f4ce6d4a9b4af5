"""Makes the README's pictures from the running demo: `python -m tools.screenshots`. Takes two to three minutes.

Needs what the demo needs, the development tools, and Debian's Chromium (`apt install chromium`).
"""

import os
import pty
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from demo.stage import ROOT, Stage, StageError
from demo.traffic import traffic
from tools.prometheus import PrometheusNotFound

IMAGES: Final = ROOT / "docs" / "images"
_PLAYED_SECONDS: Final = 128.0
"""Seconds until the first wave has ended and the next one is at its height."""
_WIDTH: Final = 1200
_HEIGHT: Final = 1560
"""The height of the page of one autoscaler, down to the reason for the last decision."""
_SHARPNESS: Final = 1.5
"""Pixels of the picture for each pixel of the page."""
_COLUMNS: Final = 132
_CHROMIUM: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
_TERMINAL: Final = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #12181d; }}
pre {{ display: inline-block; margin: 0; padding: 22px 26px; color: #dfe6ea; }}
pre {{ font: 14px/1.45 "DejaVu Sans Mono", monospace; }}
{stylesheet}</style><pre>{code}</pre>"""


def play(stage: Stage) -> None:
    """Run the demo's traffic for this time. Raises StageError."""
    started = time.monotonic()
    while (elapsed := time.monotonic() - started) < _PLAYED_SECONDS:
        stage.set_traffic(traffic(elapsed))
        stage.check_running()
        time.sleep(0.25)


def photograph_page(browser: Browser, address: str, file: Path, scheme: str) -> None:
    """Take a picture of a page, after its charts are drawn."""
    page = browser.new_page(
        viewport={"width": _WIDTH, "height": _HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=_SHARPNESS,
    )
    page.goto(address)
    page.locator(".chart canvas").first.wait_for()
    page.screenshot(path=file)
    page.close()


def photograph_terminal(browser: Browser, prompt: str, said: str, file: Path) -> None:
    """Take a picture of a command and its output, in a terminal's colours."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere)
        console.print(Text.assemble(("$ ", "bold green"), (prompt, "bold")))
        console.print(Text.from_ansi(said.rstrip()))
    page = browser.new_page(viewport={"width": _WIDTH, "height": 400}, device_scale_factor=_SHARPNESS)
    page.set_content(console.export_html(code_format=_TERMINAL, theme=MONOKAI))
    page.locator("pre").screenshot(path=file)
    page.close()


def describe(stage: Stage) -> str:
    """Return what `autoscaler describe` prints on a terminal, with its colours. Raises StageError."""
    command = (sys.executable, "-m", "autoscaler", "describe", "shop", "--server", stage.page_url)
    ours, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(  # noqa: S603 - our own program
        command, cwd=ROOT, env=environment, stdout=terminal, stderr=subprocess.STDOUT
    ) as process:
        os.close(terminal)
        with open(ours, encoding="utf-8", newline="") as screen:  # noqa: PTH123 - it is not a path
            said = _until_closed(screen).replace("\r\n", "\n")
    if process.returncode != 0:
        raise StageError(f"{' '.join(command)} ended with exit code {process.returncode}: {said}")
    return said


def _until_closed(screen: TextIO) -> str:
    said = ""
    with suppress(OSError):  # how Linux says that nobody has the terminal open any more
        while line := screen.readline():
            said += line
    return said


def main() -> int:
    """Return the exit code: 0 fine, 1 no pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("chromium is not on the PATH; apt install chromium\n")
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    try:
        with Stage() as stage, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(_CHROMIUM))
            stage.start_prometheus()
            stage.set_traffic(traffic(0))
            stage.start_daemon()
            play(stage)
            address = f"{stage.page_url}/autoscalers/shop"
            photograph_page(browser, address, IMAGES / "page.png", "light")
            photograph_page(browser, address, IMAGES / "page-dark.png", "dark")
            photograph_terminal(browser, "autoscaler describe shop", describe(stage), IMAGES / "describe.png")
            browser.close()
    except (StageError, PrometheusNotFound) as error:
        sys.stderr.write(f"No pictures: {error}\n")
        return 1
    for name in ("page.png", "page-dark.png", "describe.png"):
        sys.stdout.write(f"{IMAGES / name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
