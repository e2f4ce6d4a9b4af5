"""Twenty moments of an autoscaler's life, each as the terminal, the page, the log and the API show it.

`python -m tests.view.moments FILE` writes them side by side into one page. tests/view/test_moments.py checks that all
four have the same words.
"""

import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from autoscaler.cli.explain import explanation as explanation_lines
from autoscaler.layout import Screen
from autoscaler.log import line
from autoscaler.log.configure import Format, configure
from autoscaler.model import (
    Decision,
)
from autoscaler.view.explanation import Explanation
from tests.view.lives import open_state
from tests.view.moment_lives import MOMENTS, Life
from tests.web.serving import Daemon, Served, serving

_CSS: Final = Path(__file__).parents[2] / "autoscaler" / "web" / "page" / "static" / "page.css"

_LAYOUT: Final = (
    "main { max-width: none } .four { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem } "
    "pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem }"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One moment as people and programs see it."""

    name: str
    summary: Mapping[str, Any]
    """Of the list in the API."""
    explanation: Mapping[str, Any]
    terminal: str
    """What `explain` prints."""
    page: str
    """The HTML of the autoscaler's page."""
    log: Mapping[str, Any]
    """The keys of the log's line in JSON."""
    console: str
    """The log's line on a terminal."""


@contextmanager
def shown_moments() -> Iterator[Sequence[Shown]]:
    """Return all moments, from a real server on a real state."""
    with TemporaryDirectory() as folder, open_state(Path(folder)) as opened:
        lives = {name: live(opened, name) for name, live in MOMENTS.items()}
        daemon = Daemon(opened, [each.autoscaler for each in lives.values()])
        with serving(daemon) as served:
            yield [_shown(name, life, served) for name, life in lives.items()]


def _shown(name: str, life: Life, served: Served) -> Shown:
    assert life.last is not None
    served.daemon.clock.wall = life.now + timedelta(seconds=3)
    explained = served.data(f"/api/v1/autoscalers/{name}/explain")
    return Shown(
        name,
        served.data(f"/api/v1/autoscalers/{name}")["summary"],
        explained,
        "\n".join(explanation_lines(Explanation.model_validate(explained), served.daemon.clock.wall, Screen(100))),
        served.get(f"/autoscalers/{name}").text,
        line.keys(life.last),
        _console(life.last),
    )


def _console(decision: Decision) -> str:
    out = io.StringIO()
    with patch.dict(os.environ, COLUMNS="300"):  # so that no line is cut
        line.log(configure(style=Format.CONSOLE, stream=out), decision)
    return out.getvalue().rstrip()


def words_of_page(html: str) -> str:
    """Return a page's text."""
    return _plain(re.sub(r"<[^>]+>", "", html))


def _plain(text: str) -> str:
    for name, character in (("&gt;", ">"), ("&lt;", "<"), ("&#39;", "'"), ("&#34;", '"'), ("&amp;", "&")):
        text = text.replace(name, character)
    return " ".join(text.split())


def _part(html: str, begin: str, end: str) -> str:
    return html[html.index(begin) : html.index(end, html.index(begin))]


def page_of(moments: Sequence[Shown]) -> str:
    """Return one page with all moments side by side."""
    parts = [
        "<!doctype html><meta charset=utf-8><title>Moments</title>",
        f"<style>{_CSS.read_text()}</style>",
        f"<style>{_LAYOUT}</style><main>",
    ]
    for each in moments:
        said = {"why": each.summary["why"], "story": [line["text"] for line in each.explanation["story"]]}
        logged = {key: each.log[key] for key in ("current", "desired", "written", "reason", "why")}
        head = _part(each.page, '<section class="head"', "</section>") + "</section>"
        why = _part(each.page, '<div id="decision"', "<form").rpartition("</div>")[0] + "</div>"
        parts.append(
            f"<h2>{each.name}</h2><div class=four>"
            f"<section class=card><h3>Terminal</h3><pre>{escape(each.terminal)}</pre></section>"
            f"<section class=card><h3>Page</h3>{head}{why}</section>"
            f"<section class=card><h3>Log</h3><pre>{escape(each.console)}\n\n"
            f"{escape(json.dumps(logged, indent=1))}</pre></section>"
            f"<section class=card><h3>API</h3><pre>{escape(json.dumps(said, indent=1))}</pre></section></div>"
        )
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    with shown_moments() as moments:
        Path(sys.argv[1]).write_text(page_of(moments))


if __name__ == "__main__":
    main()
