"""Replaces the secrets of a request in the texts of its peer, which may repeat the request in any encoding."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html.entities import codepoint2name
from typing import Final, NamedTuple
from urllib.parse import unquote_plus, urlsplit

HIDDEN: Final = "<secret>"
"""What stands in a text in place of a secret."""
_SHORTEST: Final = 4
"""Characters. A shorter value is in too many words to be hidden, and is no secret."""
_IN_DATA: Final = 16
"""Characters of a secret that is replaced in data too: a shorter one may be a label's value, such as `prometheus`."""
_SIGNED: Final = re.compile(r"(?:Credential|Signature)=([^/,\s]+)")
"""The access key and the signature in AWS's header."""
_WORD: Final = re.compile(r"[0-9A-Za-z]+")
_ORDINARY: Final = frozenset({"true", "false"})


class _Form(NamedTuple):
    """A secret or its base64, which may be encoded further."""

    text: str
    word: str
    """Its longest run of letters and digits, which no further encoding changes: a quick test for most texts."""


class Secrets:
    """Values that no text may show."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        fit = {each for each in values if len(each) >= _SHORTEST and each.lower() not in _ORDINARY}
        self._values: Final = sorted(fit, key=len, reverse=True)

    def hidden(self, text: str) -> str:
        """Return the text without the secrets, also where they are encoded: for URLs, in JSON, in HTML, in base64."""
        return self._hidden(text, self._values)

    def hidden_in(self, body: bytes, *, data: bool = False) -> bytes:
        """Return the body of an answer without the secrets. `data`: only long ones are replaced."""
        values = [each for each in self._values if not data or len(each) >= _IN_DATA]
        words = [form.word.encode() for value in values for form in _forms(value)]
        if not any(word in body for word in words):  # the usual case
            return body
        return self._hidden(body.decode("latin-1"), values).encode("latin-1")

    def _hidden(self, text: str, values: Iterable[str]) -> str:
        for value in values:
            for form in _forms(value):
                if form.word in text:
                    text = _pattern(form.text).sub(HIDDEN, text)
        return text


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
def _forms(value: str) -> tuple[_Form, ...]:
    forms = dict.fromkeys((value, *_in_base64(value.encode(errors="surrogatepass"))))
    return tuple([_Form(text, max(_WORD.findall(text), key=len, default="")) for text in forms])


def _in_base64(value: bytes) -> Iterator[str]:
    """Yield what base64 makes of the value in a longer text, for each of the three places where it may begin."""
    for skipped in range(3):
        encoded = base64.b64encode(bytes(skipped) + value)
        whole = encoded[(0, 2, 3)[skipped] : (skipped + len(value)) * 8 // 6].decode()  # without its neighbours' bits
        if len(whole) >= _SHORTEST:
            yield whole
            yield whole.translate({ord("+"): "-", ord("/"): "_"})


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join(map(_spelled, text)))


def _spelled(character: str) -> str:
    """Return an expression for a character and its encodings. Repetitions have a bound: an answer can be hostile."""
    if _WORD.fullmatch(character):
        return character
    code, utf8 = ord(character), character.encode(errors="surrogatepass")
    units = character.encode("utf-16-be", errors="surrogatepass").hex()
    name = f"|{codepoint2name[code]}" if code in codepoint2name else ""
    ways = [
        r"\\{0,3}" + re.escape(character),
        re.escape(utf8.decode("latin-1")),  # as it is in an answer's bytes
        "(?i:" + "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in utf8) + ")",
        "(?i:" + "".join(rf"\\{{1,3}}u{units[at : at + 4]}" for at in range(0, len(units), 4)) + ")",
        "(?i:" + "".join(rf"\\{{1,3}}x{byte:02x}" for byte in utf8) + ")",
        f"(?i:&(?:amp;){{0,2}}(?:#0{{0,4}}{code}|#x0{{0,4}}{code:x}{name});)",
        *([r"\+"] if character == " " else ()),
    ]
    return f"(?:{'|'.join(ways)})"
