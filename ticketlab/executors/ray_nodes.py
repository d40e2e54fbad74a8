"""The nodes of a Ray cluster: which have joined, how much room they have, and which cannot be used."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import ray
from attrs import define, field, frozen
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.executors import ray_node
from ticketlab.executors.ray_errors import last_line, why_lost

SECONDS_BETWEEN_LOOKS = 2.0
"""How often it is looked whether nodes have joined or left."""
SECONDS_TO_CHECK = 120.0
"""The time that a node has to answer the check."""
NODE_ID = "ray.io/node-id"


@frozen
class _Node:
    name: str
    ip: str
    has: dict[str, float]
    """What can be reserved on it: ``CPU``, ``GPU`` and ``memory`` in bytes."""


@define
class Nodes:
    """The nodes of the connected cluster."""

    driver: Any
    """What all nodes are told (:mod:`ticketlab.executors.ray_driver`), in Ray's object store."""
    unsuitable: set[str] = field(factory=set, init=False)
    """The nodes that cannot be used."""
    _present: dict[str, _Node] = field(factory=dict, init=False)
    _earlier: dict[str, _Node] = field(factory=dict, init=False)
    """All nodes that have been in the cluster, also those that have left."""
    _looked: float = field(default=0.0, init=False)

    def look(self, *, now: bool = False) -> bool:
        """Read the list of nodes, now or now and then. Return whether one has joined."""
        if not now and time.monotonic() - self._looked < SECONDS_BETWEEN_LOOKS:
            return False
        self._looked = time.monotonic()
        before = set(self._present)
        self._present = {
            node["NodeID"]: _Node(
                f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})", node["NodeManagerAddress"], node["Resources"]
            )
            for node in ray.nodes()
            if node["Alive"]
        }
        self._earlier |= self._present
        return not before.issuperset(self._present)

    def room(self, needs: Mapping[str, float]) -> int:
        """Return how many works with these needs fit on the nodes at a time."""
        return self._room(needs, self._present)

    def had_room(self, needs: Mapping[str, float]) -> bool:
        """Return whether a node has room for these needs, or had before it left."""
        return self._room(needs, self._earlier) > 0

    def _room(self, needs: Mapping[str, float], nodes: Mapping[str, _Node]) -> int:
        usable = [node for identity, node in nodes.items() if identity not in self.unsuitable]
        return sum(min((int(node.has.get(what, 0) / amount) for what, amount in needs.items() if amount), default=0) for node in usable)

    def avoided(self) -> list[str]:
        """Return the nodes of the cluster that a task must not use."""
        return sorted(self.unsuitable & self._present.keys())

    def check(self) -> None:
        """Check the nodes that have cores, all at a time. Those that join later are checked by the first task on them.

        :raises UsageError: none can be used.
        """
        nodes = [identity for identity, node in self._present.items() if node.has.get("CPU")]
        for identity, problem in self._problems(nodes).items():
            self.refuse(identity, problem)
        if nodes and self.unsuitable.issuperset(nodes):
            raise UsageError("no node of the Ray cluster can be used")

    def refuse(self, identity: str, problem: str) -> None:
        """Use a node no more, with a warning that tells the problem."""
        if identity not in self.unsuitable:
            self.unsuitable.add(identity)
            node = self._present.get(identity)
            progress.warn(f"the Ray node {node.name if node is not None else identity} is not used: {problem}")

    def refuse_failing(self, ip: str, avoided: Collection[str]) -> bool:
        """Check the nodes with an address after a task failed outside of its work there. Return whether one of them is refused.

        A task fails so on a node that cannot import ticketlab. Ray tells only the address, which several nodes may share. ``avoided``
        are those that it cannot have been on.
        """
        self.look(now=True)
        nodes = {identity for identity, node in self._present.items() if node.ip == ip}.difference(avoided)
        for identity, problem in self._problems(nodes - self.unsuitable).items():
            self.refuse(identity, problem)
        return not nodes.isdisjoint(self.unsuitable)

    def _problems(self, nodes: Iterable[str]) -> dict[str, str]:
        """Return why nodes cannot be used, for those that cannot. They are checked all at a time."""
        function = ray.remote(ray_node.check)
        checks = {
            identity: function.options(
                num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(identity, soft=False)
            ).remote(self.driver)
            for identity in nodes
        }
        if checks:
            ray.wait(list(checks.values()), num_returns=len(checks), timeout=SECONDS_TO_CHECK)
        problems = {}
        for identity, check in checks.items():
            try:
                problem = ray.get(check, timeout=0)
            except ray.exceptions.GetTimeoutError:
                problem = f"it has not answered for {SECONDS_TO_CHECK:.0f} s"
            except ray.exceptions.RayTaskError as raised:
                problem = last_line(raised)
            except ray.exceptions.RayError as raised:
                problem = why_lost(raised)
            if problem:
                problems[identity] = problem
        return problems
