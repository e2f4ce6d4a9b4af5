"""The one place that knows prometheus-api-client: an instant query, complete or a MetricError.

That client has no deadline of its own, retries behind our back, forgets the result's type and the warnings, and puts
a POST's parameters into the URL. This one sends by a bounded session and decodes the answer itself.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from prometheus_api_client import PrometheusConnect
from requests import Response

from autoscaler.config.settings import PrometheusSource
from autoscaler.config.settings import Tls as TlsSettings
from autoscaler.errors import MetricError
from autoscaler.observe.credentials import Credentials, without_login
from autoscaler.observe.result import QueryResult, parse_result
from autoscaler.target.http import HttpError, Late, Tls, TooLarge
from autoscaler.target.http.session import Session

_LONGEST_URL_QUERY: Final = 2000
"""Characters of parameters that go into a URL: proxies commonly refuse URLs of a few KiB."""
LARGEST_ANSWER: Final = 64 * 2**20
"""Bytes, decompressed: some 400,000 samples."""


class PrometheusClient(PrometheusConnect):  # type: ignore[misc] # the library ships no types
    """A connection to one Prometheus, for one thread at a time."""

    def __init__(self, source: PrometheusSource) -> None:
        tls = source.tls or TlsSettings()
        at = Tls(tls.ca_file, tls.cert_file, tls.key_file, tls.server_name, verify=not tls.insecure_skip_verify)
        session = Session(at, largest=LARGEST_ANSWER, environment=True)
        super().__init__(without_login(source.url), headers=dict(source.headers), session=session)
        session.auth = Credentials(source)
        session.mount(self.url, session.transport)  # in place of the library's, which retries and knows no deadline

    def custom_query(self, query: str, params: Mapping[str, str] | None = None, timeout: float = 30.0) -> QueryResult:
        """The answer to an instant query, within `timeout` seconds. Raises MetricError.

        `params` do not replace the query. Long ones are posted.
        """
        form = {**(params or {}), "query": query}
        long = len(urlencode(form)) > _LONGEST_URL_QUERY
        try:
            response = self._session.request(
                "POST" if long else "GET",
                f"{self.url}/api/v1/query",
                headers=self.headers,
                timeout=timeout,
                **{"data" if long else "params": form},
            )
        except HttpError as error:
            raise _metric_error(error) from None
        return _decode(response)


def _metric_error(error: HttpError) -> MetricError:
    match error:
        case Late():
            return MetricError(str(error))
        case TooLarge():
            return MetricError(f"{error}; aggregate in the expression")
    return MetricError(f"cannot be asked: {error}")


def _decode(response: Response) -> QueryResult:
    """The result, or a MetricError that says what came instead."""
    status, body = f"HTTP {response.status_code}", response.content
    if response.is_redirect:
        raise MetricError(f"answered {status}, a redirect; put the address it leads to into its url")
    try:
        answer: Any = json.loads(body)
        if answer["status"] == "success":
            return parse_result(answer["data"], answer.get("warnings") or [])
        error = f"{answer['errorType']}: {answer['error']}"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        kind = response.headers.get("Content-Type", "no content type")
        hint = "check its credentials" if response.status_code in (401, 403) else "check its url"
        raise MetricError(f"answered {status} with {len(body)} bytes of {kind}, not with a result; {hint}") from None
    raise MetricError(f"answered {status}: {error}")
