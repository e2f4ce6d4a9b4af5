"""The lower limit: a client that sends the one shared query and decodes the answer into typed structs."""

import http.client
import time
from statistics import median
from urllib.parse import urlencode, urlsplit

import msgspec


class Series(msgspec.Struct, gc=False):
    """One element of a vector."""

    metric: dict[str, str]
    value: tuple[float, str]


class Data(msgspec.Struct):
    """A vector."""

    resultType: str  # noqa: N815 - the API's name
    result: list[Series]


class Answer(msgspec.Struct):
    """An answer of the API."""

    status: str
    data: Data


def seconds(url: str, expr: str, times: int = 5) -> float:
    """Return the median seconds of several queries, decoding included."""
    decoder, parts = msgspec.json.Decoder(Answer), urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    took = []
    for _ in range(times):
        began = time.perf_counter()
        connection.request("GET", "/api/v1/query?" + urlencode({"query": expr}))
        decoder.decode(connection.getresponse().read())
        took.append(time.perf_counter() - began)
    connection.close()
    return median(took)
