"""The templates of the page with their filters."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from autoscaler.view.verdict import MEANINGS
from autoscaler.web.page import words


def environment() -> Environment:
    """Return a new environment. It escapes all values; an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("autoscaler.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= words.FILTERS
    made.globals["meanings"] = MEANINGS
    return made
