"""The HTTP session that prometheus-api-client is given: what that client lacks, and no secret in any message."""

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlencode

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource, Tls
from autoscaler.errors import MetricError
from autoscaler.observe.result import QueryResult, parse_result

_LONGEST_URL_QUERY: Final = 2000
"""Characters of parameters that go into a URL: proxies commonly refuse URLs of a few KiB."""
_LARGEST_ANSWER: Final = 64 * 2**20
"""Bytes, decompressed: some 400,000 samples."""
_CHUNK: Final = 2**16


class Session(requests.Session):
    """Has complete answers alone: read to their end in time, successful, decoded. All else is a MetricError."""

    def __init__(self, source: PrometheusSource, login: tuple[str, str] | None, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._credentials = _Credentials(source, login)
        tls = source.tls or Tls()
        self.verify = False if tls.insecure_skip_verify else str(tls.ca_file) if tls.ca_file else True
        if tls.insecure_skip_verify:  # the configuration asks for it: no reminder at every query
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        if tls.cert_file:
            self.cert = (str(tls.cert_file), str(tls.key_file or tls.cert_file))

    def request(  # type: ignore[override]  # called by prometheus-api-client alone, and in this one way
        self, method: str, url: str, *, params: Mapping[str, str], timeout: float, **options: Any
    ) -> "Answer":
        """The answer, within `timeout` seconds. Long queries are posted, whatever `method` says."""
        end = self._clock.monotonic() + timeout
        options |= {"auth": self._credentials, "timeout": timeout, "stream": True, "allow_redirects": False}
        long = len(urlencode(params)) > _LONGEST_URL_QUERY
        options |= {"data": params} if long else {"params": params}
        try:
            with super().request("POST" if long else method, url, **options) as response:
                body = self._read(response, end, timeout)
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:  # an OSError: requests' own, too
            cause = _innermost(error)
            late = isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError)
            raise _late(timeout) if late else MetricError(f"cannot be asked: {_words(cause)}") from None
        return Answer(_decode(response, body))

    def _read(self, response: requests.Response, end: float, timeout: float) -> bytes:
        """The body. A server that sends byte by byte never meets a socket's timeout, so the clock is asked too."""
        body = bytearray()
        while chunk := response.raw.read1(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > _LARGEST_ANSWER:
                raise MetricError(f"answered with more than {_LARGEST_ANSWER >> 20} MiB; aggregate in the expression")
            if self._clock.monotonic() > end:
                raise _late(timeout)
        return bytes(body)


class Answer(requests.Response):
    """A successful answer that holds a QueryResult where `PrometheusConnect.custom_query` looks for its samples."""

    def __init__(self, result: QueryResult) -> None:
        super().__init__()
        self.status_code = 200
        self._result = result

    def json(self, **_: Any) -> Any:
        """What custom_query takes its return value from."""
        return {"data": {"result": self._result}}


class Transport(HTTPAdapter):
    """Checks the server's certificate against another name than the URL's (`tls.serverName`)."""

    def __init__(self, server_name: str) -> None:
        self._names: dict[str, Any] = {"server_hostname": server_name, "assert_hostname": server_name}
        super().__init__()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        """Pools of connections, called by HTTPAdapter."""
        super().init_poolmanager(connections, maxsize, block, **options, **self._names)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """The same through a proxy, called by HTTPAdapter."""
        return super().proxy_manager_for(proxy, **options, **self._names)


class _Credentials(AuthBase):
    """Reads secrets from their files at each use, so that a rotated one is taken up.

    Always set: without it, requests would look into ~/.netrc.
    """

    def __init__(self, source: PrometheusSource, login: tuple[str, str] | None) -> None:
        self._source = source
        self._login = login

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if basic := self._source.basic_auth:
            password = _secret(basic.password_file, "basicAuth.passwordFile")
            HTTPBasicAuth(basic.username.encode(), password.encode())(request)
        elif self._source.bearer_token_file:
            token = _secret(self._source.bearer_token_file, "bearerTokenFile")
            request.headers["Authorization"] = f"Bearer {token}"
        elif self._login:
            HTTPBasicAuth(*(unquote(part).encode() for part in self._login))(request)
        return request


def _secret(file: Path, key: str) -> str:
    try:
        secret = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise MetricError(f"cannot be asked: {key} {file}: {_words(error)}") from None
    if not secret or not secret.isprintable():
        raise MetricError(f"cannot be asked: {key} {file} does not hold one line with the secret")
    return secret


def _decode(response: requests.Response, body: bytes) -> QueryResult:
    """The result, or a MetricError that says what came instead."""
    status = f"HTTP {response.status_code}"
    if response.is_redirect:
        raise MetricError(f"answered {status}, a redirect; put the address it leads to into its url")
    try:
        answer = json.loads(body)
        if answer["status"] == "success":
            return parse_result(answer["data"], answer.get("warnings") or [])
        error = f"{answer['errorType']}: {answer['error']}"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        kind = response.headers.get("Content-Type", "no content type")
        hint = "check its credentials" if response.status_code in (401, 403) else "check its url"
        raise MetricError(f"answered {status} with {len(body)} bytes of {kind}, not with a result; {hint}") from None
    raise MetricError(f"answered {status}: {error}")


def _late(timeout: float) -> MetricError:
    return MetricError(f"did not answer within {timeout:.3g} s")


def _innermost(error: BaseException) -> BaseException:
    """What began it. The outer errors quote the request, which may carry secrets.

    Each library hands on what it caught in its own way: as the cause, as the context, or as an argument.
    """
    nested = (error.__cause__, error.__context__, *error.args)
    inner = next((each for each in nested if isinstance(each, BaseException)), None)
    return error if inner is None else _innermost(inner)


def _words(error: BaseException) -> str:
    """An innermost error in the system's own words."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not accepted: {error.verify_message}"
        case ssl.SSLError() if error.reason:
            return f"TLS: {error.reason}"
        case OSError() if error.strerror:
            return error.strerror
        case OSError() if type(error) is OSError:
            return str(error)  # requests' word on a certificate file that is not there
    return type(error).__name__
