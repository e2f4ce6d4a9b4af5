"""How the daemon authenticates to a source: the settings of a password, a signature, a token, a certificate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, Tag, ValidationInfo, field_validator

from autoscaler.config.server import HeaderValue, TokenParameterName, TokenUrl
from autoscaler.fields.part import Part
from autoscaler.fields.types import Flag, Text, matching, two_forms
from autoscaler.net import limits
from autoscaler.target import ExistingPath


@dataclass(frozen=True, slots=True)
class BasicAuth(Part):
    """HTTP basic authentication."""

    username: Text
    password_file: ExistingPath
    """Read at each use."""


@dataclass(frozen=True, slots=True)
class Tls(limits.Tls, Part):
    """TLS towards the server, and our own certificate."""

    ca_file: ExistingPath | None = None
    """Default: the system's."""
    cert_file: ExistingPath | None = None
    key_file: Annotated[ExistingPath | None, Field(validate_default=True)] = None
    server_name: Text | None = None
    """The name in the server's certificate. Default: the URL's host."""
    insecure_skip_verify: Flag = False

    @field_validator("key_file")
    @classmethod
    def _with_certificate(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if "cert_file" in info.data and (value is None) != (info.data["cert_file"] is None):
            raise ValueError("certFile and keyFile go together; give both or neither")
        return value


@dataclass(frozen=True, slots=True)
class HeaderFile(Part):
    """The value of a header, from a file."""

    value_file: ExistingPath
    """Read at each use."""


Header: TypeAlias = Annotated[
    Annotated[HeaderValue, Tag("a text")] | Annotated[HeaderFile, Tag("a file")],
    two_forms((dict, HeaderFile), "a file", "a text"),
]


RoleArn: TypeAlias = Annotated[
    str,
    matching(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[!-~]+",
        "is not a valid role ARN; write it as in arn:aws:iam::123456789012:role/metrics",
    ),
]


@dataclass(frozen=True, slots=True)
class SigV4(Part):
    """Signs each request with AWS Signature Version 4, as Amazon Managed Service for Prometheus requires."""

    region: Annotated[str, matching(r"[a-z]+(-[a-z]+)+-\d+", "is not a valid region; write it as in eu-west-1")]
    """The region of the workspace."""
    service: Text = "aps"
    """The service that the signature is for."""
    profile: Text | None = None
    """A profile of the AWS configuration files. Default: AWS_PROFILE, else botocore's chain."""
    role_arn: RoleArn | None = None
    """A role to assume with these credentials."""
    external_id: Annotated[str, Field(min_length=2, max_length=1224)] | None = None
    """The external id that the role's trust policy requires."""

    @field_validator("external_id")
    @classmethod
    def _belongs_to_a_role(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("role_arn", "wrong") is None:
            raise ValueError("externalId is for assuming a role; add `roleArn`, or remove it")
        return value


@dataclass(frozen=True, slots=True)
class OAuth2(Part):
    """A token of the OAuth 2.0 client credentials grant (RFC 6749, 4.4), sent with each request."""

    client_id: Text
    client_secret_file: ExistingPath
    """Read each time a token is requested."""
    token_url: TokenUrl
    scopes: tuple[Text, ...] = ()
    endpoint_params: Mapping[TokenParameterName, str] = field(default_factory=dict)
    """Added to the request for a token, such as an audience."""
    tls: Tls | None = None
    """TLS towards the token's server."""
