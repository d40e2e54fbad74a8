"""An execution on a Ray cluster."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ray
from attrs import define, field, frozen
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ticketlab.core import package_versions, progress, registry, temporary
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.executors import ray_cluster, ray_node, sent_plugins
from ticketlab.executors.base import ExecutorRun, Message, Outcome, Receive, Session, Work, WorkResources
from ticketlab.executors.ray_journal import Journal

SECONDS_BETWEEN_LOOKS = 0.25
"""How often messages are fetched."""
SECONDS_BETWEEN_NODES = 2.0
"""How often it is looked whether nodes have joined or left."""
SECONDS_TO_CHECK = 120.0
"""The time that a node has to answer the check at the start."""
SECONDS_TO_STOP = 60.0
"""The time that tasks have to write a checkpoint and end."""
SECONDS_UNTIL_STALLED = 60.0
SECONDS_BETWEEN_WARNINGS = 600.0
"""How often the warning that no node has room is repeated."""
NODE_ID = "ray.io/node-id"


@frozen
class _Node:
    name: str
    ip: str
    has: dict[str, float]
    """What can be reserved on it, as in ``RayRun.needs``."""


@define
class RayRun(ExecutorRun):
    """Tasks on the nodes of the connected cluster, except those that cannot be used."""

    session: Session
    receive: Receive
    needs: Callable[[WorkResources], dict[str, float]]
    """What a task reserves: ``CPU``, ``GPU`` and ``memory`` in bytes."""
    waiting: int
    """How many works may wait for a node."""
    _closing: contextlib.ExitStack
    _driver: Any
    """What all nodes are told, in Ray's object store."""
    _journal: Any
    _nodes: dict[str, _Node] = field(factory=dict)
    _earlier: dict[str, _Node] = field(factory=dict)
    """All nodes that have been in the cluster, also those that have left."""
    _unsuitable: set[str] = field(factory=set)
    _works: dict[Any, Work] = field(factory=dict)
    _avoided: dict[Any, set[str]] = field(factory=dict)
    """The nodes that tasks must not use, as of when they were submitted."""
    _places: dict[str, str] = field(factory=dict)
    """Where the works are that have begun, by key."""
    _looked: float = 0.0
    _stalled_since: float | None = None
    _lacking: str = ""
    """What no node has at present, for the last work that was not accepted because of it."""
    _idle_since: float | None = None
    _warned: float = 0.0
    _closed: bool = False

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
            packed = sent_plugins.pack(session.plugins.files)
            closing.enter_context(ray_cluster.connected(address, cores))
            driver = {
                "name": os.urandom(8).hex(),
                "session": session.to_table(),
                "plugins": packed,
                "versions": package_versions.computing_versions(),
                "plugin_packages": _plugin_packages(),
                "token": closing.enter_context(_token(session.lab)),
                "directory": str(Path.cwd()),
                "imports_from_directory": bool({"", str(Path.cwd())}.intersection(sys.path)),
            }
            here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            journal = ray.remote(Journal).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()
            run = cls(session, receive, needs, waiting, contextlib.ExitStack(), ray.put(driver), journal)
            run._look_at_nodes()
            run._check_nodes()
            run._closing = closing.pop_all()
        return run

    def accepts(self, resources: WorkResources) -> bool:
        """Return whether a node has room for it, or stages may wait for one; no more than ``session.jobs`` are started.

        :raises TicketlabError: no node of the cluster has or had as much, and stages may not wait for another one.
        """
        needs = self.needs(resources)
        room = self._room(needs, self._nodes)
        if not room and not self.waiting:
            wanted = " and ".join(_amount(what, amount) for what, amount in needs.items() if amount)
            if not self._room(needs, self._earlier):
                raise UsageError(f"no node of the Ray cluster has {wanted} for a stage; see `num_cpus`, `num_gpus`, `memory` and `waiting`")
            self._lacking = wanted  # a node that has left, as for a restart, may join again
            return False
        return len(self._works) < min(room + self.waiting, self.session.jobs or room + self.waiting)

    def start(self, work: Work) -> None:
        """Submit a task."""
        self._lacking, self._idle_since = "", None
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
            self._warn_if_stalled()
            self._warn_if_idle()
            if self._look_at_nodes() or (end is not None and time.monotonic() >= end):
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

    def _room(self, needs: dict[str, float], nodes: dict[str, _Node]) -> int:
        """Return how many works with these needs fit on the nodes at a time."""
        usable = [node for identity, node in nodes.items() if identity not in self._unsuitable]
        return sum(min((int(node.has.get(what, 0) / amount) for what, amount in needs.items() if amount), default=0) for node in usable)

    def _ended(self, seconds: float) -> Any:
        """Wait until a task has ended, at most so many seconds. Return those that have."""
        if not self._works:
            time.sleep(seconds)
            return ()
        return ray.wait(list(self._works), num_returns=1, timeout=seconds)[0]

    def _submit(self, work: Work) -> None:
        needs = self.needs(work.resources)
        unsuitable = sorted(self._unsuitable & self._nodes.keys())
        # a process that has seen one GPU cannot use another one, so it is not used again
        function = ray.remote(max_calls=1)(ray_node.run) if needs["GPU"] else ray.remote(ray_node.run)
        task = function.options(
            name=work.title,
            num_cpus=needs["CPU"],
            num_gpus=needs["GPU"],
            memory=needs["memory"] or None,
            max_retries=0,
            label_selector={NODE_ID: f"!in({','.join(unsuitable)})"} if unsuitable else {},
        ).remote(self._driver, self._journal, work.to_table(), needs["GPU"])
        self._works[task] = work
        self._avoided[task] = set(unsuitable)

    def _outcome(self, task: Any) -> Outcome | None:
        """Return the outcome of a task that has ended; None if its node is unsuitable, and it was submitted again for another one."""
        work, avoided = self._works.pop(task), self._avoided.pop(task)
        place = self._places.pop(work.key, "")
        try:
            answer = ray.get(task)
        except ray.exceptions.RayTaskError as problem:
            if not self._refuse_failing(problem.ip, avoided):
                return Outcome(work.key, error=_last_line(problem), place=place)
            self._submit(work)
            return None
        except ray.exceptions.RayError as problem:
            return Outcome(work.key, error=_why_lost(problem), lost=True, place=place)
        if ray_node.STOPPED in answer:
            return Outcome(work.key, error="its process was asked to stop", lost=True, place=place)
        if ray_node.UNSUITABLE in answer:
            self._look_at_nodes(now=True)
            self._refuse(answer[ray_node.NODE], answer[ray_node.UNSUITABLE])
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

    def _look_at_nodes(self, *, now: bool = False) -> bool:
        """Read the list of nodes now and then. Return whether one has joined."""
        if not now and time.monotonic() - self._looked < SECONDS_BETWEEN_NODES:
            return False
        self._looked = time.monotonic()
        before = set(self._nodes)
        self._nodes = {
            node["NodeID"]: _Node(
                f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})", node["NodeManagerAddress"], node["Resources"]
            )
            for node in ray.nodes()
            if node["Alive"]
        }
        self._earlier |= self._nodes
        return not before.issuperset(self._nodes)

    def _check_nodes(self) -> None:
        """Check the nodes that have cores, all at a time. Those that join later are checked by the first task on them.

        :raises TicketlabError: none can be used.
        """
        nodes = [identity for identity, node in self._nodes.items() if node.has.get("CPU")]
        for identity, problem in self._problems(nodes).items():
            self._refuse(identity, problem)
        if nodes and self._unsuitable.issuperset(nodes):
            raise UsageError("no node of the Ray cluster can be used")

    def _refuse_failing(self, ip: str, avoided: set[str]) -> bool:
        """Check the nodes with an address after a task failed outside of its work there. Return whether one of them is refused now.

        A task fails so on a node that cannot import ticketlab. Ray tells only the address, which several nodes may share. ``avoided``
        are those that it cannot have been on.
        """
        self._look_at_nodes(now=True)
        nodes = {identity for identity, node in self._nodes.items() if node.ip == ip} - avoided
        for identity, problem in self._problems(nodes - self._unsuitable).items():
            self._refuse(identity, problem)
        return not nodes.isdisjoint(self._unsuitable)

    def _problems(self, nodes: Iterable[str]) -> dict[str, str]:
        """Return why nodes cannot be used, for those that cannot. They are checked all at a time."""
        function = ray.remote(ray_node.check)
        checks = {
            identity: function.options(
                num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(identity, soft=False)
            ).remote(self._driver)
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
                problem = _last_line(raised)
            except ray.exceptions.RayError as raised:
                problem = _why_lost(raised)
            if problem:
                problems[identity] = problem
        return problems

    def _refuse(self, identity: str, problem: str) -> None:
        if identity not in self._unsuitable:
            self._unsuitable.add(identity)
            node = self._nodes.get(identity)
            progress.warn(f"the Ray node {node.name if node is not None else identity} is not used: {problem}")

    def _warn_if_stalled(self) -> None:
        """Warn once when tasks wait and none has begun."""
        if not self._works or any(work.key in self._places for work in self._works.values()):
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = time.monotonic()
        elif time.monotonic() - self._stalled_since > SECONDS_UNTIL_STALLED:
            self._stalled_since = float("inf")
            progress.warn(f"{counted(len(self._works), 'stage')} wait for the Ray cluster, whose nodes are in use (`ray status`)")

    def _warn_if_idle(self) -> None:
        """Warn when nothing runs because no node has room at present, and again from time to time."""
        if self._works or not self._lacking:
            return
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        elif now - self._warned < SECONDS_BETWEEN_WARNINGS:
            return
        self._warned = now
        minutes = round((now - self._idle_since) / 60)
        since = f" since {minutes} min" if minutes else ""
        progress.warn(f"no node of the Ray cluster has {self._lacking} any more{since}: nothing can run until one joins (`ray status`)")


@contextlib.contextmanager
def _token(lab: str) -> Any:
    """Write a file into a lab that is a directory, and yield its path: a node that does not find it there has another directory."""
    if "://" in lab:
        yield ""
        return
    place = Path(lab).absolute() / "shared"
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary.sweep_temporaries_of(place)
    token = temporary.temporary_path(place)
    try:
        token.touch()
    except OSError as problem:
        raise TicketlabError(f"{lab}: {problem.strerror}") from None
    try:
        yield str(token)
    finally:
        token.unlink(missing_ok=True)


def _plugin_packages() -> dict[str, str]:
    """Return the names and versions of the packages that plugins have been loaded from."""
    found = [source.code.distribution for source in registry.current().sources]
    return {package.name: package.version for package in found if package is not None}


def _amount(what: str, amount: float) -> str:
    return f"{amount / 10**9:.1f} GB of memory" if what == "memory" else f"{amount:g} {what}s"


def _last_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[-1].strip()


def _why_lost(problem: Exception) -> str:
    if isinstance(problem, ray.exceptions.OutOfMemoryError):
        return "Ray ended the worker process because the memory of its node was used up; see the setting `memory`"
    if isinstance(problem, ray.exceptions.NodeDiedError):
        return "the node that computed it has left the Ray cluster"
    if isinstance(problem, ray.exceptions.WorkerCrashedError):
        return "the worker process has died; is there enough memory?"
    return f"{type(problem).__name__}: {str(problem).strip().splitlines()[0]}"
