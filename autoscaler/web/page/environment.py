"""The templates of the page with their filters."""

import re
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autoscaler.view.verdict import MEANINGS
from autoscaler.web.page import words

_CODE: Final = re.compile("`([^`]+)`")


@cache
def environment() -> Environment:
    """Return the process' environment, which compiles each template once.

    It escapes all values; an unknown name is an error.
    """
    made = Environment(
        loader=PackageLoader("autoscaler.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {**words.FILTERS, "code": _code}
    made.globals["meanings"] = MEANINGS
    return made


def _code(text: str) -> Markup:
    """Return a message with what stands in backticks, such as a command, as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - it is escaped
