"""One notice as a request: a CloudEvent with a signature.

Source: CloudEvents 1.0.2, JSON event format and HTTP protocol binding (structured content mode); Standard Webhooks 1.0,
whose libraries verify the signature.
"""

import base64
import binascii
import hmac
import json
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from autoscaler.config.settings import Webhook
from autoscaler.model import Notice
from autoscaler.net.errors import HttpError
from autoscaler.net.files import read_secret
from autoscaler.net.secrets import of_url
from autoscaler.net.session import Session
from autoscaler.times import rfc3339

SOURCE: Final = "prometheus-autoscaler"
TIMEOUT_SECONDS: Final = 5.0
"""Limit of one request, from connecting to the last byte of the answer."""
_MAX_ANSWER: Final = 2**16
_MIN_KEY: Final = 24
"""Bytes. Source: Standard Webhooks, "Signature scheme"."""
_TRY_AGAIN: Final = (408, 429)
"""Statuses of 4xx that are no verdict on the notice."""


class Result(StrEnum):
    """What became of a request."""

    DELIVERED = "delivered"
    """The receiver answered 2xx."""
    REFUSED = "refused"
    """It answered 4xx: it will not take this notice."""
    FAILED = "failed"
    """It is to be sent again."""


class Answer(NamedTuple):
    """The result of one request."""

    result: Result
    detail: str
    """What was answered, or why nothing was; without the URL, which may hold a secret."""


def post(webhook: Webhook, event_id: str, at: datetime, notice: Notice, now: datetime) -> Answer:
    """Send a notice of `at` once. It follows no redirect, and reads at most 64 KiB of the answer."""
    try:
        key = read_key(webhook.secret_file)
    except ValueError as error:
        return Answer(Result.FAILED, str(error))
    body = cloud_event(event_id, at, notice)
    headers = {"Content-Type": "application/cloudevents+json; charset=UTF-8", **signature(key, event_id, now, body)}
    with Session(largest=_MAX_ANSWER, environment=True, secrets=of_url(webhook.url)) as session:
        try:
            status = session.post(webhook.url, data=body, headers=headers, timeout=TIMEOUT_SECONDS).status_code
        except HttpError as error:
            return Answer(Result.FAILED, str(error))
    if 200 <= status < 300:
        return Answer(Result.DELIVERED, f"answered {status}")
    if 300 <= status < 400:
        return Answer(Result.FAILED, f"answered {status}; a redirect is not followed, so write the address it leads to")
    refused = 400 <= status < 500 and status not in _TRY_AGAIN
    return Answer(Result.REFUSED if refused else Result.FAILED, f"answered {status}")


def cloud_event(event_id: str, at: datetime, notice: Notice) -> bytes:
    """Return the body: the notice as a CloudEvent in JSON."""
    fields = ("message", "target", "size", "desired", "reason")
    data = {name: value for name in fields if (value := getattr(notice, name)) is not None}
    event = {
        "specversion": "1.0",
        "id": event_id,
        "source": SOURCE,
        "type": f"{SOURCE}.{notice.type}",
        "subject": notice.subject,
        "time": rfc3339(at),
        "datacontenttype": "application/json",
        "data": data,
    }
    return json.dumps(event, ensure_ascii=True).encode()


def signature(key: bytes, event_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """Return the headers with id, time of this request, and the HMAC of both and the body."""
    time = str(int(now.timestamp()))
    mac = hmac.new(key, f"{event_id}.{time}.".encode() + body, sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": time,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


def read_key(file: Path) -> bytes:
    """Return the key in a file: base64, with or without `whsec_` in front. Raises ValueError."""
    remedy = "write what `openssl rand -base64 32` prints"
    try:
        key = base64.b64decode(read_secret(file).removeprefix("whsec_"), validate=True)
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, binascii.Error):
        raise ValueError(f"{file} does not hold base64; {remedy}") from None
    if len(key) < _MIN_KEY:
        raise ValueError(f"the key in {file} has {len(key)} bytes, and at least {_MIN_KEY} are needed; {remedy}")
    return key
