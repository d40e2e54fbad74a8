"""An execution on a Ray cluster: works are tasks of Ray, and a journal collects their messages."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import ray
from attrs import define, field
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ticketlab.core.errors import UsageError
from ticketlab.executors import ray_cluster, ray_driver, ray_node, sent_plugins
from ticketlab.executors.base import ExecutorRun, Message, Outcome, Receive, Session, Work, WorkResources
from ticketlab.executors.ray_errors import last_line, why_lost
from ticketlab.executors.ray_journal import Journal
from ticketlab.executors.ray_nodes import NODE_ID, Nodes
from ticketlab.executors.ray_warnings import WaitWarnings

SECONDS_BETWEEN_LOOKS = 0.25
"""How often messages are fetched."""
SECONDS_TO_STOP = 60.0
"""The time that tasks have to write a checkpoint and end."""


@define
class RayRun(ExecutorRun):
    """Tasks on the nodes of the connected cluster, except those that cannot be used."""

    session: Session
    receive: Receive
    needs: Callable[[WorkResources], dict[str, float]]
    """What a task reserves: ``CPU``, ``GPU`` and ``memory`` in bytes."""
    waiting: int
    """How many works may wait for a node."""
    nodes: Nodes
    _journal: Any
    _closing: contextlib.ExitStack = field(factory=contextlib.ExitStack)
    _warnings: WaitWarnings = field(factory=WaitWarnings, init=False)
    _works: dict[Any, Work] = field(factory=dict, init=False)
    _avoided: dict[Any, list[str]] = field(factory=dict, init=False)
    """The nodes that tasks must not use, as of when they were submitted."""
    _places: dict[str, str] = field(factory=dict, init=False)
    """Where the works are that have begun, by key."""
    _closed: bool = field(default=False, init=False)

    @classmethod
    def begin(
        cls,
        session: Session,
        receive: Receive,
        needs: Callable[[WorkResources], dict[str, float]],
        waiting: int,
        address: str | None,
        cores: int,
    ) -> RayRun:
        """Connect to the cluster at ``address``, or to a new one of ``cores`` cores, and check its nodes.

        :raises TicketlabError: there is no such cluster, or none of its nodes can be used.
        """
        with contextlib.ExitStack() as closing:
            plugins = sent_plugins.pack(session.plugins.files)
            closing.enter_context(ray_cluster.connected(address, cores))
            driver = closing.enter_context(ray_driver.described(session, plugins))
            here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            journal = ray.remote(Journal).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()
            nodes = Nodes(ray.put(driver))
            nodes.look()
            nodes.check()
            return cls(session, receive, needs, waiting, nodes, journal, closing.pop_all())

    def accepts(self, resources: WorkResources) -> bool:
        """Return whether a node has room for it, or stages may wait for one; no more than ``session.jobs`` are started.

        :raises UsageError: no node of the cluster has or had as much, and stages may not wait for another one.
        """
        needs = self.needs(resources)
        room = self.nodes.room(needs)
        if not room and not self.waiting:
            wanted = " and ".join(_amount(what, amount) for what, amount in needs.items() if amount)
            if not self.nodes.had_room(needs):
                raise UsageError(f"no node of the Ray cluster has {wanted} for a stage; see `num_cpus`, `num_gpus`, `memory` and `waiting`")
            self._warnings.lacking = wanted  # a node that has left, as for a restart, may join again
            return False
        return len(self._works) < min(room + self.waiting, self.session.jobs or room + self.waiting)

    def start(self, work: Work) -> None:
        """Submit a task."""
        self._warnings.end()
        self._submit(work)

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Wait for a work to end, or without one for a node. Returns None also when a node has joined, which may have room for a work."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SECONDS_BETWEEN_LOOKS if end is None else min(SECONDS_BETWEEN_LOOKS, max(0.0, end - time.monotonic()))
            ended = self._ended(left)
            self._deliver()
            for task in ended:
                outcome = self._outcome(task)
                if outcome is not None:
                    return outcome
            running = sum(work.key in self._places for work in self._works.values())
            self._warnings.warn(len(self._works) - running, running)
            if self.nodes.look() or (end is not None and time.monotonic() >= end):
                return None

    def close(self) -> None:
        """Ask the tasks to write a checkpoint and stop, and leave the cluster; end it if it was made for this execution."""
        if self._closed:
            return
        self._closed = True
        with self._closing:
            if ray.is_initialized():  # otherwise others have disconnected, and any call would make a new cluster
                self._stop()

    def _stop(self) -> None:
        tasks = list(self._works)
        for task in tasks:
            ray.cancel(task)
        _, running = ray.wait(tasks, num_returns=len(tasks), timeout=SECONDS_TO_STOP) if tasks else ([], [])
        for task in running:
            ray.cancel(task, force=True)
        self._works.clear()
        self._avoided.clear()
        self._deliver()
        ray.kill(self._journal)

    def _ended(self, seconds: float) -> Any:
        """Wait until a task has ended, at most so many seconds. Return those that have."""
        if not self._works:
            time.sleep(seconds)
            return ()
        return ray.wait(list(self._works), num_returns=1, timeout=seconds)[0]

    def _submit(self, work: Work) -> None:
        needs, avoided = self.needs(work.resources), self.nodes.avoided()
        # a process that has seen one GPU cannot use another one, so it is not used again
        function = ray.remote(max_calls=1)(ray_node.run) if needs["GPU"] else ray.remote(ray_node.run)
        task = function.options(
            name=work.title,
            num_cpus=needs["CPU"],
            num_gpus=needs["GPU"],
            memory=needs["memory"] or None,
            max_retries=0,
            label_selector={NODE_ID: f"!in({','.join(avoided)})"} if avoided else {},
        ).remote(self.nodes.driver, self._journal, work.to_table(), needs["GPU"])
        self._works[task] = work
        self._avoided[task] = avoided

    def _outcome(self, task: Any) -> Outcome | None:
        """Return the outcome of a task that has ended; None if its node is unsuitable, and it was submitted again for another one."""
        work, avoided = self._works.pop(task), self._avoided.pop(task)
        place = self._places.pop(work.key, "")
        try:
            answer = ray.get(task)
        except ray.exceptions.RayTaskError as problem:
            if not self.nodes.refuse_failing(problem.ip, avoided):
                return Outcome(work.key, error=last_line(problem), place=place)
            self._submit(work)
            return None
        except ray.exceptions.RayError as problem:
            return Outcome(work.key, error=why_lost(problem), lost=True, place=place)
        if ray_node.STOPPED in answer:
            return Outcome(work.key, error="its process was asked to stop", lost=True, place=place)
        if ray_node.UNSUITABLE in answer:
            self.nodes.look(now=True)
            self.nodes.refuse(answer[ray_node.NODE], answer[ray_node.UNSUITABLE])
            self._submit(work)
            return None
        return Outcome(**answer[ray_node.OUTCOME])

    def _deliver(self) -> None:
        """Pass on the messages that have arrived in the journal."""
        try:
            messages = ray.get(self._journal.take.remote())
        except ray.exceptions.RayError:  # its process died, and is started again
            return
        for message in (Message(**table) for table in messages):
            if message.kind == ray_node.STARTED:
                self._places[message.key] = message.place
            else:
                self.receive(message)


def _amount(what: str, amount: float) -> str:
    return f"{amount / 10**9:.1f} GB of memory" if what == "memory" else f"{amount:g} {what}s"
