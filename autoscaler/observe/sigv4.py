"""AWS Signature Version 4 for queries. The only user of botocore here; imported when a source has `sigv4`.

Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
"""

from typing import Any, Final

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.exceptions import ConnectionError as NotConnected
from requests import PreparedRequest

from autoscaler.config.authentication import SigV4
from autoscaler.errors import MetricError
from autoscaler.net.errors import words
from autoscaler.net.secrets import Secrets
from autoscaler.text import plain
from autoscaler.version import USER_AGENT

_READ_AGAIN_SECONDS: Final = 300.0
"""How long keys are used before botocore is asked again. It renews keys that end when 15 minutes are left."""
_ROLE_SECONDS: Final = 3600
"""How long an assumed role's keys last: STS's default, which every role allows."""
_STS: Final = Config(
    retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=30, user_agent_extra=USER_AGENT
)
_SESSION_NAME: Final = "prometheus-autoscaler"
_MAX_ERROR_BYTES: Final = 300
"""Bytes of an error of AWS."""


class Signer:
    """Signs requests with the keys of one moment."""

    def __init__(self, settings: SigV4, keys: ReadOnlyCredentials) -> None:
        self._auth = SigV4Auth(keys, settings.service, settings.region)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign the URL, the body, its type and the host. Other headers may be changed on the way."""
        path, mark, query = (request.url or "").partition("?")
        request.url = path + mark + query.replace("+", "%20")  # AWS takes a + for a plus sign
        body = request.body.encode() if isinstance(request.body, str) else request.body
        headers = {name: request.headers[name] for name in ("Content-Type", "Host") if name in request.headers}
        signed = AWSRequest(request.method, request.url, headers, body)
        self._auth.add_auth(signed)
        request.headers.update(signed.headers.items())
        return request


class Keys:
    """Finds the keys of a source. Used by one thread at a time."""

    def __init__(self, settings: SigV4) -> None:
        self._settings = settings
        self._renewing: RefreshableCredentials | None = None
        """Keys that botocore renews. Other keys are read again from their files or variables."""
        self._secrets = Secrets()
        """The keys with which a role is assumed, which AWS' answer may repeat."""

    def __call__(self) -> tuple[Signer, float]:
        """Return a signer, and the seconds until other keys are to be used. Raises MetricError."""
        role = self._settings.role_arn
        try:
            keys = self._own()
            if role is None:
                return Signer(self._settings, keys), _READ_AGAIN_SECONDS
            return Signer(self._settings, self._assumed(role, keys)), _ROLE_SECONDS
        except Exception as error:  # noqa: BLE001 - botocore raises errors of any type for what it cannot read
            self._renewing = None
            raise MetricError(f"cannot be asked: sigv4: {_described(error, self._secrets)}; {_remedy(error)}") from None

    def _own(self) -> ReadOnlyCredentials:
        found = self._renewing or self._session().get_credentials()
        if found is None:
            raise NoCredentialsError
        if isinstance(found, RefreshableCredentials):
            self._renewing = found
        return found.get_frozen_credentials()

    def _assumed(self, role: str, keys: ReadOnlyCredentials) -> ReadOnlyCredentials:
        self._secrets = Secrets(filter(None, (keys.access_key, keys.secret_key, keys.token)))
        sts: Any = self._session().create_client(  # its stubs do not know the operations of one service
            "sts",
            region_name=self._settings.region,
            aws_access_key_id=keys.access_key,
            aws_secret_access_key=keys.secret_key,
            aws_session_token=keys.token,
            config=_STS,
        )
        external = {} if self._settings.external_id is None else {"ExternalId": self._settings.external_id}
        try:
            answer = sts.assume_role(
                RoleArn=role, RoleSessionName=_SESSION_NAME, DurationSeconds=_ROLE_SECONDS, **external
            )
        finally:
            sts.close()
        given = answer["Credentials"]
        return ReadOnlyCredentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])

    def _session(self) -> botocore.session.Session:
        return botocore.session.Session(profile=self._settings.profile)


def _described(error: Exception, secrets: Secrets) -> str:
    """Return the first line of an error of AWS or botocore, the system's message about a file, or another error's type.

    Further lines of a refused signature repeat the request with its session token. Other errors may repeat the keys.
    """
    match error:
        case BotoCoreError() | ClientError() | RuntimeError():  # keys that have ended are a RuntimeError
            return plain(secrets.hidden(str(error)).strip().partition("\n")[0].rstrip("."), _MAX_ERROR_BYTES)
        case OSError() if error.filename:
            return plain(f"{words(error)}: {error.filename}", _MAX_ERROR_BYTES)
    return f"the keys cannot be read ({type(error).__name__})"


def _remedy(error: Exception) -> str:
    match error:
        case ClientError():
            return "check roleArn, externalId and the role's trust policy"
        case NotConnected() | HTTPClientError():
            return "check the network between the daemon and AWS"
    return "give the daemon keys, by `profile`, the environment or the machine's role"
