"""Moments of an autoscaler's life, each as the terminal, the page, the log and the API show it."""

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from autoscaler.cli.explain import explanation as explanation_lines
from autoscaler.layout import Screen
from autoscaler.log import line
from autoscaler.log.configure import Format, configure
from autoscaler.model import Decision
from autoscaler.view.explanation import Explanation
from tests.view.lives import open_state
from tests.view.moment_lives import MOMENTS, Life
from tests.web.serving import Daemon, Served, serving


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
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())
