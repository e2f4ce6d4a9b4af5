"""A query in one line."""

import re
from typing import Final

from autoscaler.document import QueryDocument
from autoscaler.text import clean

_LINE_BREAK: Final = re.compile(r"\s*\n\s*")
_DEFAULT: Final = "default"
"""The source whose name is not shown."""


def query_text(query: QueryDocument) -> str:
    """Return the expression, the condition on its samples, and the Prometheus if that is not the default."""
    chosen = ", ".join(f'{label}="{value}"' for label, value in query.match.items())
    where = f", those with {chosen}" if chosen else ""
    source = "" if query.prometheus == _DEFAULT else f" (Prometheus {query.prometheus})"
    return clean(f"{_LINE_BREAK.sub(' ', query.expr.strip())}{where}{source}")
