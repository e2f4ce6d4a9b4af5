"""Requests to AWS. boto3 signs them, the deadline bounds them, each failure is a TargetError."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from botocore.loaders import Loader, create_loader
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay, wait_random_exponential

from adapters.aws.budget import Budget, shared_budget
from adapters.aws.errors import Busy, Throttled
from adapters.aws.failures import failure
from adapters.aws.http_client import HttpClient
from adapters.aws.raw import Raw, next_page, unavailable_if_malformed
from adapters.aws.settings import AwsSettings
from autoscaler.target import AdapterError, Call, Clock, Moment, TargetDeferred
from autoscaler.target.http import USER_AGENT

_ATTEMPTS: Final = 3
"""The attempts of botocore's standard mode. botocore's own retries are off: they ignore the deadline and the budget."""
_PAUSE_SECONDS: Final = 0.2
"""Half of the longest pause before the second attempt. The pause doubles with each attempt."""
_MAX_PAUSE_SECONDS: Final = 5.0
_RENEW_BEFORE: Final = timedelta(minutes=5)
"""A role's credentials are renewed when they expire within this time."""
_SESSION_NAME: Final = "prometheus-autoscaler"


class AwsApi:
    """A connection to one account in one region, for several threads. It sends nothing before the first call."""

    def __init__(self, name: str, settings: AwsSettings, clock: Clock) -> None:
        """Raises AdapterError when the profile does not exist or no region is known."""
        self._settings = settings
        self._clock = clock
        self._of_thread = threading.local()
        """`call`: the call that the thread serves."""
        self._session = _session(name, settings)
        self.region: Final[str] = _region(name, settings, self._session)
        bundle = self._session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")  # as botocore
        self._http_client = HttpClient(bundle or None, self._until_deadline)
        self._session.register("before-send", self._http_client.send)
        self._making = (
            threading.Lock()
        )  # guards the attributes below: boto3's clients are thread-safe, its sessions are not
        self._clients: dict[str, Any] = {}
        self._role: Raw | None = None
        self._assumed: Moment | None = None
        """Time when the role was assumed."""
        self._budgets: dict[str, Budget] = {}

    def ask(
        self, service: str, operation: str, call: Call, parameters: Mapping[str, Any], *, write: bool = False
    ) -> Raw:
        """Return the answer. Wait for the budget and retry while the deadline allows.

        `operation` is boto3's method. A write is retried only when AWS certainly did not perform it. Raises
        TargetError.
        """
        self._of_thread.call = call
        retrying = Retrying(
            retry=retry_if_exception_type(Throttled if write else Busy),
            stop=stop_after_attempt(_ATTEMPTS) | stop_before_delay(max(self._left(), 0.0)),
            wait=wait_random_exponential(multiplier=_PAUSE_SECONDS, max=_MAX_PAUSE_SECONDS),
            reraise=True,
        )
        answer: Raw = retrying(self._once, service, operation, write, parameters)
        return answer

    def pages(
        self, service: str, operation: str, items: str, call: Call, parameters: Mapping[str, Any]
    ) -> Iterator[Any]:
        """Yield the entries under the key `items` of all pages. Raises TargetError."""
        token: Mapping[str, str] | None = {}
        while token is not None:
            page = self.ask(service, operation, call, {**parameters, **token})
            with unavailable_if_malformed(operation):
                found = page[items]
            yield from found
            token = next_page(page)

    def close(self) -> None:
        """Close idle connections."""
        self._http_client.close()

    def _once(self, service: str, operation: str, write: bool, parameters: Mapping[str, Any]) -> Raw:
        client, budget = self._client(service)
        where = f"AWS {self.region}, {service}:{client.meta.method_to_api_mapping[operation]}"  # the IAM action
        self._wait(budget, where)
        try:
            answer: Raw = getattr(client, operation)(**parameters)
        except Exception as error:  # includes errors that urllib3 raises through botocore
            found = failure(where, error, expired=self._until_deadline() <= 0, write=write)
            if isinstance(found, Throttled):
                budget.throttled(self._clock.monotonic())
            raise found from error
        budget.succeeded()
        return answer

    def _wait(self, budget: Budget, where: str) -> None:
        self._refuse_late(where)
        wait = budget.reserve(self._clock.monotonic(), self._until_deadline())
        if wait is None:
            raise TargetDeferred(
                f"{where}: the account's request budget is used up until the cycle's deadline; nothing was sent"
            )
        if wait:
            time.sleep(wait)
            self._refuse_late(where)

    def _refuse_late(self, where: str) -> None:
        if self._left() <= 0:
            raise TargetDeferred(f"{where}: the cycle's deadline has passed; nothing was sent")

    def _client(self, service: str) -> tuple[Any, Budget]:
        """Return a boto3 client with lasting credentials and the service's budget of its account."""
        left = self._left()
        if left <= 0 or not self._making.acquire(timeout=left):
            raise TargetDeferred(f"AWS {self.region}: the cycle's deadline has passed; nothing was sent")
        try:
            if self._settings.role_arn is not None and self._is_old():
                self._clients.clear()
                self._assumed, self._role = self._clock.moment(), self._assume(self._settings.role_arn)
            if service not in self._clients:
                self._clients[service] = self._build(service, self._role)
            if service not in self._budgets:
                endpoint = self._settings.endpoint_url
                self._budgets[service] = shared_budget(service, endpoint, self._account(), self.region)
            return self._clients[service], self._budgets[service]
        finally:
            self._making.release()

    def _is_old(self) -> bool:
        if self._role is None or self._assumed is None:
            return True
        lasts: timedelta = self._role["Expiration"] - self._assumed.now
        return lasts - self._clock.moment().since(self._assumed) < _RENEW_BEFORE

    def _assume(self, role_arn: str) -> Raw:
        where = f"AWS {self.region}, sts:AssumeRole of {role_arn}"
        more = {} if self._settings.external_id is None else {"ExternalId": self._settings.external_id}
        sts = self._build("sts", None)
        try:
            answer = sts.assume_role(RoleArn=role_arn, RoleSessionName=_SESSION_NAME, **more)
        except Exception as error:
            raise failure(where, error, expired=self._until_deadline() <= 0, write=False) from error
        with unavailable_if_malformed(where):
            credentials: Raw = answer["Credentials"]
        return credentials

    def _build(self, service: str, role: Raw | None) -> Any:
        """Return a boto3 client. Its type is Any because only the caller knows which one it is."""
        assumed = (
            {}
            if role is None
            else {
                "aws_access_key_id": role["AccessKeyId"],
                "aws_secret_access_key": role["SecretAccessKey"],
                "aws_session_token": role["SessionToken"],
            }
        )
        factory: Any = boto3.Session(botocore_session=self._session, region_name=self.region)
        try:
            return factory.client(service, endpoint_url=self._settings.endpoint_url, **assumed)
        except (BotoCoreError, ClientError) as error:  # finding credentials may ask the machine's role
            raise failure(f"AWS {self.region}", error, expired=self._until_deadline() <= 0, write=False) from error

    def _account(self) -> str | None:
        """Return the account's number, or None where only a request could tell."""
        if self._settings.role_arn is not None:
            return self._settings.role_arn.split(":")[4]
        credentials = self._session.get_credentials()
        return getattr(credentials, "account_id", None)

    def _left(self) -> float:
        """Return `Call.seconds_left`."""
        call: Call = self._of_thread.call
        return call.seconds_left(self._clock.monotonic())

    def _until_deadline(self) -> float:
        """Return the seconds left for the request in progress."""
        call: Call = self._of_thread.call
        return call.deadline - self._clock.monotonic()


def _session(name: str, settings: AwsSettings) -> Any:
    session = botocore.session.Session(profile=settings.profile)
    session.set_default_client_config(
        Config(retries={"total_max_attempts": 1, "mode": "standard"}, user_agent_extra=USER_AGENT)
    )
    try:
        session.get_scoped_config()
    except ProfileNotFound:
        raise AdapterError(
            f"adapter {name}: profile {session.profile!r} is in no AWS configuration file; "
            "correct `profile` (or AWS_PROFILE), or create it with `aws configure --profile`"
        ) from None
    except BotoCoreError as error:
        raise AdapterError(f"adapter {name}: the AWS configuration files cannot be read: {error}") from None
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    return session


@cache
def _loader(data_path: str | None) -> Loader:
    """Return the reader of AWS' service models. All shards share what it has read, which is large."""
    return create_loader(data_path)


def _region(name: str, settings: AwsSettings, session: Any) -> str:
    region = settings.region or boto3.Session(botocore_session=session).region_name
    if region is None:
        raise AdapterError(
            f"adapter {name}: no region is known; set `region`, AWS_DEFAULT_REGION, or the profile's region"
        )
    return str(region)
