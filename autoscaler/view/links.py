"""Links from documents to other servers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from autoscaler.model import Query

if TYPE_CHECKING:  # the command line reads the daemon's documents without the configuration's loader
    from autoscaler.config.settings import PrometheusSource

_MAX_CHARACTERS: Final = 8_000
"""Characters of an address. Servers and proxies refuse longer ones."""


def query_address(query: Query, sources: "Mapping[str, PrometheusSource]") -> str | None:
    """Return the address where the source's own page draws the expression over the last hour.

    None: the source is no longer configured, or the address would be too long.
    Source of the parameters: Prometheus' expression browser; version 3 redirects its `/graph` to `/query`.
    """
    source = sources.get(query.prometheus)
    if source is None:
        return None
    asked = urlencode({"g0.expr": query.expr, "g0.tab": "0", "g0.range_input": "1h"})
    address = f"{source.browser_url.strip().rstrip('/')}/graph?{asked}"
    return address if len(address) <= _MAX_CHARACTERS else None
