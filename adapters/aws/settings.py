"""The settings that all connections to AWS have."""

from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator, model_validator

from autoscaler.target import AdapterSettings


class AwsSettings(AdapterSettings):
    """One account in one region. Omitted settings come from boto3's own sources."""

    region: Annotated[str, StringConstraints(pattern=r"^[a-z]+(-[a-z]+)+-\d+$")] | None = None
    """The region, for example `eu-west-1`. Default: AWS_DEFAULT_REGION, else the profile's."""
    profile: Annotated[str, Field(min_length=1)] | None = None
    """A profile of the AWS configuration files. Default: AWS_PROFILE, else boto3's chain."""
    role_arn: Annotated[str, StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/[!-~]+$")] | None = None
    """A role to assume with these credentials."""
    external_id: Annotated[str, Field(min_length=2, max_length=1224)] | None = None
    """The external id that the role's trust policy requires."""
    endpoint_url: str | None = Field(default=None, examples=["http://127.0.0.1:5000"])
    """One URL for all services of AWS instead of AWS's own."""

    def place(self, environment: Mapping[str, str]) -> str:
        """Return what tells the account and its region: the keys of this section, else boto3's variables.

        The account's number is not known offline.
        """
        region = self.region or environment.get("AWS_DEFAULT_REGION")
        parts = self.endpoint_url, self.role_arn, self.profile or environment.get("AWS_PROFILE"), region
        return " ".join(part or "-" for part in parts)

    @field_validator("endpoint_url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "http://nobody")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ValueError("this is not a valid endpoint URL; write it as http://127.0.0.1:5000, without credentials")
        return url

    @model_validator(mode="after")
    def _an_external_id_belongs_to_a_role(self) -> Self:
        if self.external_id is not None and self.role_arn is None:
            raise ValueError("externalId is for assuming a role; add `roleArn`, or remove it")
        return self
