"""Types of fields for requests to a server: addresses, headers and parameters."""

import re
from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator

from autoscaler.fields.types import matching

_OWN_PARAMS: Final = dict.fromkeys(("query", "time", "timeout"), "remove it")
"""Parameters of Prometheus' instant queries that the daemon sets, with the remedy."""
_OWN_TOKEN_PARAMS: Final = {
    "grant_type": "remove it",
    "scope": "write it under scopes",
    "client_id": "write it as clientId",
    "client_secret": "write its file as clientSecretFile",
}
"""Parameters of a request for a token that the daemon sets, with the remedy."""


def _url(without_user: str, without_parameters: str | None = None) -> AfterValidator:
    """Return what checks a URL. It never shows one: it may hold a password or, at many receivers, a token."""

    def check(url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not url.split()[1:]
        except ValueError:
            usable = False
        if not usable:
            raise ValueError('this is not a valid server URL; expected a URL such as "http://localhost:9090"')
        if parts.username is not None or parts.password is not None:
            raise ValueError(f"the URL holds a user or password; {without_user}")
        if without_parameters is not None and (parts.query or parts.fragment):
            raise ValueError(f"the URL holds parameters; {without_parameters}")
        return url

    return AfterValidator(check)


def check_header_value(value: str) -> str:
    """Return a header's value. Raises ValueError, which never shows it, because it may be a secret."""
    if not re.fullmatch(r"(?:[!-~\xa0-\xff](?:[\t -~\xa0-\xff]*[!-~\xa0-\xff])?)?", value):  # RFC 9110, 5.5
        raise ValueError("expected one line of Latin-1 characters; remove others, and spaces around them")
    return value


def _not_set_by(who: str, own: Mapping[str, str]) -> AfterValidator:
    """Return what checks the name of a parameter. `own`: names that are set already, with the remedy."""

    def check(name: str) -> str:
        if name in own:
            raise ValueError(f"{name} is set by {who} itself; {own[name]}")
        return name

    return AfterValidator(check)


ServerUrl: TypeAlias = Annotated[str, _url("write basicAuth with a passwordFile instead", "write them under params")]
ExternalUrl: TypeAlias = Annotated[str, _url("remove it, because the page shows the URL", "remove them")]
"""The address for browsers."""
WebhookUrl: TypeAlias = Annotated[str, _url("remove it, because requests are signed")]
"""The address of a receiver of notices, which may have parameters."""
TokenUrl: TypeAlias = Annotated[
    str, _url("write clientId and clientSecretFile instead", "write them under endpointParams")
]
TokenParameterName: TypeAlias = Annotated[str, _not_set_by("oauth2", _OWN_TOKEN_PARAMS)]
HeaderName: TypeAlias = Annotated[
    str,
    matching(
        r"[!#$%&'*+.^_`|~0-9A-Za-z-]+",
        "is not a valid header name; use letters, digits and `-`, as in X-Scope-OrgID",
    ),
]
"""RFC 9110, 5.6.2: token."""
HeaderValue: TypeAlias = Annotated[str, AfterValidator(check_header_value)]
ParameterName: TypeAlias = Annotated[str, _not_set_by("each query", _OWN_PARAMS)]
"""A parameter of an instant query's URL."""
