"""Which requests have come through a proxy: it lends its own address to whoever asks it."""

import re
from typing import Final

_WORD: Final = re.compile(
    r"""
    forward.* | .*proxy.* | via | hops? | loop | request | connecting | origina(l|ting)
    | (client|real|remote|source|user|peer|connecting|visitor|origin|original)?(ip|addr(ess)?|host|port|url)
    | client | real | remote | source | user | visitor | country | geo
    | proto(col)? | scheme | ssl | tls | https
    | trace.* | span | b3 | correlation | ray | cluster | edge | lb | cdn | cloud
    | cf | fastly | akamai | envoy | amzn? | arr | azure | appengine | varnish | vercel | sucuri | incap
    """,
    re.VERBOSE,
)
"""What the names of headers are made of that proxies add: X-Forwarded-Port, True-Client-IP, CF-Ray, X-Original-Host."""


def is_of_proxy(header: str) -> bool:
    """Whether a header, its name in lower case, tells of a proxy. No list has them all, so it goes by words."""
    if header in ("host", "user-agent") or header.startswith("sec-"):  # of browsers; a page cannot set them
        return False
    return any(_WORD.fullmatch(word) for word in re.split("[-_]", header))
