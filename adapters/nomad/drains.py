"""Drains of the nodes that are instances of a cloud.

A client reports its own attributes and address, so neither alone says which node an instance is. Nomad has no
compare-and-set for a drain: a drain that another client begins between the last read and the write gets this one's
deadline.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from ipaddress import ip_address
from typing import Final

from adapters.nomad.client import NomadClient, NomadRefusal, refusals_as_target_errors
from adapters.nomad.entries import LongNode, NodeAllocation, NodeEntry
from autoscaler.target import Call, Logger, NodeDrain, TargetUnavailable

_INSTANCE_ID: Final = "unique.platform.aws.instance-id"
_ADDRESS: Final = "unique.network.ip-address"
_MARK: Final = "autoscaler_instance"
"""Key of a drain's Meta: the instance that this adapter drains."""
_ALIVE: Final = 'ClientStatus == "running" or ClientStatus == "pending" or ClientStatus == "unknown"'
_NO_SUCH_NODE: Final = "00000000-0000-0000-0000-000000000000"
"""No node has this id: Nomad's ids are random UUIDs."""
_MICROSECOND: Final = timedelta(microseconds=1)


class NodeDrains:
    """Drains by one connection, in its region."""

    def __init__(self, client: NomadClient, region: str | None, connection: str, logger: Logger) -> None:
        """`connection`: its name in the log."""
        self._client = client
        self._region = {"region": region}
        self._connection = connection
        self._logger = logger
        self._told: set[tuple[str, str]] = set()
        """Event and instance of each warning, which is logged once."""

    def drain(self, instance: str, addresses: Collection[str], deadline: timedelta, call: Call) -> NodeDrain:
        """Begin or follow the drain of a node, as `Adapter.drain_node` says."""
        with refusals_as_target_errors():
            return self._drain(instance, addresses, deadline, call)

    def try_drain(self, call: Call) -> str:
        """Ask Nomad to end the drain of a node that cannot exist: Nomad checks the token's rights first.

        Returns in words what Nomad answered. Raises TargetError.
        """
        with refusals_as_target_errors():
            found = self._write(_NO_SUCH_NODE, {"DrainSpec": None}, call)
        if found:
            raise TargetUnavailable(f"Nomad found a node {_NO_SUCH_NODE}; is this address an agent's?")
        return "permitted: Nomad looked for a node that does not exist, to end its drain; no node is changed"

    def _drain(self, instance: str, addresses: Collection[str], deadline: timedelta, call: Call) -> NodeDrain:
        nodes = [one for one in self._nodes_of(instance, call) if _is_at(one, addresses)]
        up = [one for one in nodes if one.status != "down"]
        if not nodes:
            return NodeDrain.NO_NODE
        if not up:
            return NodeDrain.DONE
        if len(up) > 1:
            self._warn("instance_has_several_nodes", instance, nodes=", ".join(sorted(one.id for one in up)))
            return NodeDrain.NO_NODE
        (node,) = up
        last = node.last_drain
        if node.drain is not None:
            return NodeDrain.DRAINING
        if last is not None and last.status == "canceled" and (last.meta or {}).get(_MARK) == instance:
            self._warn("node_drain_canceled", instance, node=node.id)  # an operator's decision: it is not begun again
            return self._rest(node, call, stopped_only=False)
        if last is not None and last.status == "complete" and node.eligibility == "ineligible":
            return self._rest(node, call, stopped_only=True)
        return self._begin(node, instance, deadline, call)

    def _nodes_of(self, instance: str, call: Call) -> list[LongNode]:
        """Return the nodes that report to be the instance. A client that is gone meanwhile is none."""
        if not instance.replace("-", "").isalnum():  # no filter can hold any text, and EC2 has no such id
            return []
        query = {**self._region, "filter": f'Attributes["{_INSTANCE_ID}"] == "{instance}"'}
        found = []
        for page in self._client.pages("/v1/nodes", query, list[NodeEntry], call):
            for entry in page.entries:
                try:
                    found.append(self._client.get(f"/v1/node/{entry.id}", self._region, call, LongNode))
                except NomadRefusal as refusal:
                    if not _no_node(refusal):
                        raise
        return found

    def _rest(self, node: LongNode, call: Call, *, stopped_only: bool) -> NodeDrain:
        """Return DONE when no allocation runs on the node. `stopped_only`: none that its drain has stopped.

        A drain ends at its deadline, while allocations still have their `kill_timeout`, and before system jobs have
        ended. The scheduler stops an allocation a moment after the drain marked it.
        """
        query = {
            **self._region,
            "namespace": "*",
            "task_states": "false",
            "filter": f'NodeID == "{node.id}" and ({_ALIVE})',
        }
        for page in self._client.pages("/v1/allocations", query, list[NodeAllocation], call):
            if any(not stopped_only or one.desired_status != "run" or one.transition.migrate for one in page.entries):
                return NodeDrain.DRAINING
        return NodeDrain.DONE

    def _begin(self, node: LongNode, instance: str, deadline: timedelta, call: Call) -> NodeDrain:
        body = {
            "DrainSpec": {"Deadline": deadline // _MICROSECOND * 1000, "IgnoreSystemJobs": False},
            "Meta": {"message": f"prometheus-autoscaler: the instance {instance} is about to end", _MARK: instance},
        }
        return NodeDrain.DRAINING if self._write(node.id, body, call) else NodeDrain.DONE

    def _write(self, node: str, body: Mapping[str, object], call: Call) -> bool:
        """Set a node's drain; return whether there is such a node."""
        try:
            self._client.post(f"/v1/node/{node}/drain", self._region, body, call)
        except NomadRefusal as refusal:
            if _no_node(refusal):
                return False
            raise
        return True

    def _warn(self, event: str, instance: str, **keys: str) -> None:
        if (event, instance) not in self._told:
            self._told.add((event, instance))
            self._logger.warning(event, connection=self._connection, instance=instance, **keys)


def _no_node(refusal: NomadRefusal) -> bool:
    """Return whether there is no such node. A read answers it with 404, a drain with 500."""
    return refusal.status in (404, 500) and "node not found" in refusal.text


def _is_at(node: LongNode, addresses: Collection[str]) -> bool:
    """Return whether the node's address, or that of its HTTP API, is one of these."""
    host = node.http_address.rpartition(":")[0].strip("[]")
    known = {_canonical(one) for one in addresses}
    return bool(known & {_canonical(node.attributes.get(_ADDRESS, "")), _canonical(host)} - {""})


def _canonical(address: str) -> str:
    """Return the one form of an IP address; of other text, the text."""
    try:
        return str(ip_address(address))
    except ValueError:
        return address
