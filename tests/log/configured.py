"""A configured log, and its lines."""

import io
import json
from typing import Any

from autoscaler.log.configure import Format, Level, configure
from autoscaler.target import Logger


def configured(level: Level = Level.INFO, style: Format = Format.JSON) -> tuple[Logger, io.StringIO]:
    out = io.StringIO()
    return configure(level, style, out), out


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]
