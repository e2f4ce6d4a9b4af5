"""What a failed request to AWS means to the caller.

Sources: Auto Scaling API Reference, "Common Errors"; EC2 API, "Error codes"; ECS API Reference, errors of each action;
botocore's own list of throttling codes.
"""

from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    RefreshWithMFAUnsupportedError,
    SSOError,
)

from adapters.aws.errors import Busy, InProgress, OutcomeUnknown, Throttled
from autoscaler.target import TargetError, TargetForbidden, TargetNotFound, TargetRefused, TargetUnavailable
from autoscaler.target.http import HttpError, Interrupted, TlsFailed, Unreachable

_THROTTLED: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_FORBIDDEN: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "Blocked",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
_NO_CREDENTIALS: Final = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    RefreshWithMFAUnsupportedError,
    SSOError,
)
_NOT_FOUND_CODES: Final = frozenset({"ClusterNotFoundException", "ServiceNotFoundException"})
_REFUSED: Final = frozenset(
    {
        "ClientException",
        "InvalidParameterException",
        "InvalidParameterValue",
        "ServiceNotActiveException",
        "ValidationError",
    }
)
_NOT_FOUND: Final = ("not found", "No active Lifecycle Action")
"""Parts of the messages for a group, an instance and a lifecycle action that do not exist."""
_DETAIL_LENGTH: Final = 300


def failure(where: str, error: Exception, *, expired: bool, write: bool) -> TargetError:
    """Return the TargetError for a botocore error. `where` begins its message; `write`: the request changes a size."""
    if isinstance(error, ClientError):
        return _answered(where, error, write=write)
    nothing = "; nothing was changed" if write else ""
    if isinstance(error, _NO_CREDENTIALS):
        return TargetForbidden(
            f"{where}: no usable credentials ({type(error).__name__}); give the daemon some, by a profile, the "
            f"environment or the machine's role{nothing}"
        )
    if isinstance(error, Unreachable | TlsFailed):
        return Busy(f"{where}: {error}{nothing}")
    if write:
        return OutcomeUnknown(
            f"{where}: no usable answer came; whether the size was set is unknown until the next cycle"
        )
    if expired:
        return TargetUnavailable(f"{where}: no answer before the cycle's deadline")
    if isinstance(error, Interrupted):  # also an idle connection, which a load balancer ends
        return Busy(f"{where}: {error}")
    if isinstance(error, HttpError):
        return TargetUnavailable(f"{where}: {error}; is there an AWS endpoint behind `endpointUrl`?")
    if isinstance(error, BotoCoreError):
        return Busy(f"{where}: {_first_line(str(error))}")
    return TargetUnavailable(  # botocore's parser fails in several ways; their texts repeat the answer
        f"{where}: the answer cannot be parsed ({type(error).__name__}); is there an AWS endpoint behind `endpointUrl`?"
    )


def _answered(where: str, error: ClientError, *, write: bool) -> TargetError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    detail = f"{code}: {_first_line(str(error.response.get('Error', {}).get('Message', '')))}"
    nothing = "; nothing was changed" if write else ""
    message = f"{where}: {detail}{nothing}"
    if code in _THROTTLED or status == 429:
        return Throttled(message)
    if code == "ScalingActivityInProgress":
        return InProgress(message)
    if code in _FORBIDDEN or status in (401, 403):
        return TargetForbidden(f"{message}; docs/aws-asg.md and aws-ecs.md list the permissions that are needed")
    if status >= 500:
        if write and code != "ResourceContention":  # this code says that another change is in progress instead
            return OutcomeUnknown(f"{where}: {detail}; whether the size was set is unknown until the next cycle")
        return Busy(message)
    if code in _NOT_FOUND_CODES or (code == "ValidationError" and any(words in detail for words in _NOT_FOUND)):
        return TargetNotFound(message)
    if write and code in _REFUSED:
        return TargetRefused(message)
    return TargetUnavailable(f"{where}: {detail or 'an answer'} (HTTP {status}){nothing}")


def _first_line(text: str) -> str:
    """Return the first line. Further lines of a refused signature repeat the request's headers and a session token."""
    return text.strip().partition("\n")[0][:_DETAIL_LENGTH]
