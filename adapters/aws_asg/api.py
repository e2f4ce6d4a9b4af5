"""Requests to Auto Scaling, EC2 and STS: signed by boto3, ended by the deadline, each failure a TargetError."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay, wait_random_exponential

from adapters.aws_asg.budget import Budget, shared_budget
from adapters.aws_asg.failures import failure
from adapters.aws_asg.http_client import HttpClient
from adapters.aws_asg.raw import Raw, unavailable_if_malformed
from adapters.aws_asg.refusals import Busy, Throttled
from adapters.aws_asg.settings import AwsSettings
from autoscaler.target import AdapterError, Call, Clock, Moment, TargetDeferred
from autoscaler.target.http import USER_AGENT

_ATTEMPTS: Final = 3
"""As in botocore's standard mode, whose own retries are off: they know no deadline and no shared budget."""
_PAUSE_SECONDS: Final = 0.2
"""Half of the longest pause before the second attempt; it doubles with each."""
_LONGEST_PAUSE_SECONDS: Final = 5.0
_RENEW_BEFORE: Final = timedelta(minutes=5)
"""A role's credentials are renewed when they have no longer to live."""
_SESSION_NAME: Final = "prometheus-autoscaler"


class AwsApi:
    """One connection to one account in one region, for several threads. Nothing is sent before the first call."""

    def __init__(self, name: str, settings: AwsSettings, clock: Clock) -> None:
        """Raises AdapterError for a profile that does not exist and where no region is known."""
        self._settings = settings
        self._clock = clock
        self._of_thread = threading.local()
        """`call`: the one that the thread is at."""
        self._session = _session(name, settings)
        self.region: Final[str] = _region(name, settings, self._session)
        bundle = self._session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")  # as botocore
        self._http_client = HttpClient(bundle or True, self._until_deadline)
        self._session.register("before-send", self._http_client.send)
        self._making = (
            threading.Lock()
        )  # guards all that follows: boto3's clients serve any thread, its sessions do not
        self._clients: dict[str, Any] = {}
        self._role: Raw | None = None
        self._assumed: Moment | None = None
        """When the role was."""
        self._budget: Budget | None = None

    def ask(
        self, service: str, operation: str, call: Call, parameters: Mapping[str, Any], *, write: bool = False
    ) -> Raw:
        """The answer. Waits for the budget, and tries again what is worth it, while the deadline allows.

        `operation` is boto3's method. A write is tried again only where it was certainly not done. Raises TargetError.
        """
        self._of_thread.call = call
        retrying = Retrying(
            retry=retry_if_exception_type(Throttled if write else Busy),
            stop=stop_after_attempt(_ATTEMPTS) | stop_before_delay(max(self._left(), 0.0)),
            wait=wait_random_exponential(multiplier=_PAUSE_SECONDS, max=_LONGEST_PAUSE_SECONDS),
            reraise=True,
        )
        answer: Raw = retrying(self._once, service, operation, write, parameters)
        return answer

    def pages(
        self, service: str, operation: str, items: str, call: Call, parameters: Mapping[str, Any]
    ) -> Iterator[Raw]:
        """What is listed under the key `items`, of all pages. Raises TargetError."""
        token: str | None = None
        while True:
            page = self.ask(service, operation, call, {**parameters, **({"NextToken": token} if token else {})})
            with unavailable_if_malformed(operation):
                found = page[items]
            yield from found
            token = page.get("NextToken")
            if not token:
                return

    def close(self) -> None:
        """Close idle connections."""
        self._http_client.close()

    def _once(self, service: str, operation: str, write: bool, parameters: Mapping[str, Any]) -> Raw:
        where = f"AWS {self.region}, {operation}"
        client, budget = self._client(service)
        self._wait(budget, where)
        try:
            answer: Raw = getattr(client, operation)(**parameters)
        except Exception as error:  # also what urllib3 raises through botocore
            found = failure(where, error, expired=self._until_deadline() <= 0, write=write)
            if isinstance(found, Throttled):
                budget.throttled(self._clock.monotonic())
            raise found from error
        budget.succeeded()
        return answer

    def _wait(self, budget: Budget, where: str) -> None:
        call: Call = self._of_thread.call
        self._refuse_late(where)
        wait = budget.reserve(self._clock.monotonic(), self._until_deadline(), call.members)
        if wait is None:
            raise TargetDeferred(
                f"{where}: the account's budget of requests leaves none before the cycle's deadline; nothing was sent"
            )
        if wait:
            time.sleep(wait)
            self._refuse_late(where)

    def _refuse_late(self, where: str) -> None:
        if self._left() <= 0:
            raise TargetDeferred(f"{where}: the cycle's deadline has passed; nothing was sent")

    def _client(self, service: str) -> tuple[Any, Budget]:
        """A boto3 client with credentials that last, and the budget of their account."""
        left = self._left()
        if left <= 0 or not self._making.acquire(timeout=left):
            raise TargetDeferred(f"AWS {self.region}: the cycle's deadline has passed; nothing was sent")
        try:
            if self._settings.role_arn is not None and self._is_old():
                self._clients.clear()
                self._assumed, self._role = self._clock.moment(), self._assume(self._settings.role_arn)
            if service not in self._clients:
                self._clients[service] = self._build(service, self._role)
            if self._budget is None:
                self._budget = shared_budget(self._settings.endpoint_url, self._account(), self.region)
            return self._clients[service], self._budget
        finally:
            self._making.release()

    def _is_old(self) -> bool:
        if self._role is None or self._assumed is None:
            return True
        lasts: timedelta = self._role["Expiration"] - self._assumed.now
        return lasts - self._clock.moment().since(self._assumed) < _RENEW_BEFORE

    def _assume(self, role_arn: str) -> Raw:
        where = f"AWS {self.region}, assuming {role_arn}"
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
        """A boto3 client; Any, because which one is known only to the caller."""
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
        except (BotoCoreError, ClientError) as error:  # finding credentials may ask the machine's role for them
            raise failure(f"AWS {self.region}", error, expired=self._until_deadline() <= 0, write=False) from error

    def _account(self) -> str | None:
        """The account's number where it is known without asking."""
        if self._settings.role_arn is not None:
            return self._settings.role_arn.split(":")[4]
        credentials = self._session.get_credentials()
        return getattr(credentials, "account_id", None)

    def _left(self) -> float:
        """As `Call.seconds_left`."""
        call: Call = self._of_thread.call
        return call.seconds_left(self._clock.monotonic())

    def _until_deadline(self) -> float:
        """What a request that is under way has left."""
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
    return session


def _region(name: str, settings: AwsSettings, session: Any) -> str:
    region = settings.region or boto3.Session(botocore_session=session).region_name
    if region is None:
        raise AdapterError(
            f"adapter {name}: no region is known; set `region`, AWS_DEFAULT_REGION, or the profile's region"
        )
    return str(region)
