"""Drains an instance by requests to it, until it answers with the status that the configuration names."""

import ipaddress
from typing import Final
from urllib.parse import quote

from autoscaler.drain.attempt import ActionContext, Attempt
from autoscaler.net.errors import HttpError
from autoscaler.net.session import Session
from autoscaler.rules.drain import HttpDrainRule

TIMEOUT_SECONDS: Final = 5.0
"""Limit of one request."""
_MAX_ANSWER: Final = 2**16


def ask(rule: HttpDrainRule, now: ActionContext, *, local: bool) -> Attempt:
    """Post to the instance once. It follows no redirect, uses no proxy, and reads at most 64 KiB.

    `local`: the instances are processes of this machine, and only its loopback addresses are asked. Otherwise these and
    link-local addresses, which the metadata service of a cloud has, are never asked.
    """
    waiting = now.waiting
    if not waiting.addresses:
        return Attempt(done=False, detail="its back end tells no address of it")
    address = waiting.addresses[0]
    if problem := _refused(address, local=local):
        return Attempt(done=False, detail=problem)
    url = rule.url.replace("{address}", address).replace("{instance}", quote(waiting.instance, safe=""))
    with Session(largest=_MAX_ANSWER) as session:
        try:
            answer = session.post(url, timeout=max(0.1, min(TIMEOUT_SECONDS, now.seconds_left)))
        except HttpError as error:
            return Attempt(done=False, detail=f"{address}: {error}")
    status = answer.status_code
    return Attempt(done=status == rule.until, detail="" if status == rule.until else f"{address} answered {status}")


def _refused(address: str, *, local: bool) -> str | None:
    host = address.rpartition(":")[0] if local and ":" in address else address
    try:
        ip = ipaddress.IPv4Address(host)
    except ValueError:
        return f"{address[:64]!r} is no IPv4 address, so it is not asked"
    if ip.is_loopback is local and not (ip.is_link_local or ip.is_multicast or ip.is_unspecified):
        return None
    return f"{address} is not the address of {'a process here' if local else 'another machine'}, so it is not asked"
