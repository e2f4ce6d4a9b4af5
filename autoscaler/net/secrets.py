"""Replaces the secrets of a request in the texts of its peer, which may repeat the request."""

import base64
import binascii
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote_plus, urlsplit

HIDDEN: Final = "<secret>"
"""What stands in a text in place of a secret."""
_MIN_CHARACTERS: Final = 4
"""Characters. A shorter value is in too many words to be hidden, and is no secret."""
_IN_DATA: Final = 16
"""Characters of a secret that is replaced in data too: a shorter one may be a label's value, such as `prometheus`."""
_SIGNED: Final = re.compile(r"(?:Credential|Signature)=([^/,\s]+)")
"""The access key and the signature in AWS's header."""
_ORDINARY: Final = frozenset({"true", "false"})
_PERCENT: Final = re.compile("%[0-9A-F]{2}")
_GO_JSON: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&"}
"""What Go's encoding/json escapes besides, as Prometheus, Nomad and Docker have it."""
_GO_HTML: Final = {ord('"'): "&#34;", ord("'"): "&#39;"}
"""The quotes of Go's html/template, and of Python's markupsafe."""
_URL_BASE64: Final = str.maketrans("+/", "-_")


class Secrets:
    """Values that no text may show."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        fit = {each for each in values if len(each) >= _MIN_CHARACTERS and each.lower() not in _ORDINARY}
        self._values: Final = sorted(fit, key=len, reverse=True)

    def hidden(self, text: str) -> str:
        """Return the text without the secrets, also where they are encoded: for URLs, in JSON, in HTML, in base64."""
        for value in self._values:
            for form in _forms(value):
                text = text.replace(form, HIDDEN)
        return text

    def hidden_in(self, body: bytes, *, data: bool = False) -> bytes:
        """Return the body of an answer without the secrets. `data`: only long ones are replaced."""
        for value in self._values:
            if not data or len(value) >= _IN_DATA:
                for form in _forms(value):
                    body = body.replace(form.encode(errors="surrogatepass"), HIDDEN.encode())
                if "\x7f" < max(value) <= "\xff":  # a header's value may be sent, and repeated, as latin-1
                    body = body.replace(value.encode("latin-1"), HIDDEN.encode())
        return body


def of_headers(values: Iterable[str | bytes]) -> Iterator[str]:
    """Yield the secrets in the values of headers: the value, what follows its scheme, and a login's password."""
    for each in values:
        value = each.decode("latin-1") if isinstance(each, bytes) else each
        scheme, _, rest = value.partition(" ")
        yield value
        yield from rest.split()
        yield from _SIGNED.findall(rest)
        if scheme.lower() == "basic":
            yield from _login(rest)


def of_url(url: str) -> Iterator[str]:
    """Yield the secrets in a URL of which no part but the host may be shown."""
    parts = urlsplit(url)
    target = url.partition(parts.netloc)[2]
    yield from (url, target, *re.split(r"[/?&=#;]", target), parts.username or "", parts.password or "")


def of_proxies(proxies: Mapping[str, str]) -> Iterator[str]:
    """Yield the passwords in the URLs of proxies, which the environment gives."""
    for url in proxies.values():
        yield unquote_plus(urlsplit(url).password or "")


def _login(encoded: str) -> Iterator[str]:
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode(errors="replace").partition(":")
    except binascii.Error:
        return
    yield password or user  # a token may stand in the user's place
    yield unquote_plus(password)  # OAuth 2.0 encodes it before


@lru_cache(maxsize=256)
def _forms(value: str) -> tuple[str, ...]:
    """Return the value as servers write it: as it is, quoted in a URL, in JSON and in HTML, and in base64."""
    raw = value.encode(errors="surrogatepass")
    urls = [quote(raw, safe=""), quote(raw), quote_plus(raw)]
    texts = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]
    encoded = base64.b64encode(raw).decode().rstrip("=")
    forms = [
        value,
        *urls,
        *[_PERCENT.sub(lambda found: found[0].lower(), url) for url in urls],
        *texts,
        *[text.translate(_GO_JSON) for text in texts],
        *[text.replace("/", "\\/") for text in texts],
        html.escape(value),
        html.escape(value, quote=False).translate(_GO_HTML),
        encoded,
        encoded.translate(_URL_BASE64),
    ]
    return tuple(sorted(set(forms), key=len, reverse=True))
