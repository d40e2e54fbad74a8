"""What runs on the nodes of a Ray cluster: the check of a node, and the tasks. Arguments and answers are JSON values.

The plugins, torch and transformers are imported only after the check.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict

from ticketlab.core import openmp, package_versions

if TYPE_CHECKING:
    from ticketlab.executors.base import Message
    from ticketlab.executors.worker import Worker

STARTED = "ray: started"
"""The kind of the message that a task sends first. It is not passed on."""
UNSUITABLE, NODE, STOPPED, OUTCOME = "unsuitable", "node", "stopped", "outcome"
"""The keys of answers: why a node cannot be used, and which; that the process was asked to stop; the outcome of the work."""
GPUS = "CUDA_VISIBLE_DEVICES"


def check(driver: dict[str, Any]) -> str:
    """Return why this node cannot do work for the driver; empty if it can. ``driver`` is what ``ray_driver`` tells all nodes."""
    wrong = package_versions.differences(package_versions.computing_versions(), driver["versions"])
    wrong += package_versions.differences(
        {name: package_versions.version(name) or "not installed" for name in driver["plugin_packages"]}, driver["plugin_packages"]
    )
    if wrong:
        return f"it has {', '.join(wrong)}"
    token = driver["token"]
    if token and not Path(token).is_file():
        return f"the lab {driver['session']['lab']} is not the same directory there; put it on a shared file system, or in an object store"
    return ""


def run(driver: dict[str, Any], journal: Any, table: dict[str, Any], gpus: float) -> dict[str, Any]:
    """Run a work, and return one of the answers. The process keeps its plugins and what it has read for the next one."""
    from ticketlab.core.errors import Interrupted, TicketlabError
    from ticketlab.executors.base import Outcome, Work

    problem = check(driver)
    if problem:
        import ray

        return {UNSUITABLE: problem, NODE: ray.get_runtime_context().get_node_id()}
    work = Work.from_table(table)
    sent = _Sender(journal)
    sent.say(work.key, STARTED)
    try:
        try:
            from ticketlab.executors.worker import run_work

            outcome = run_work(work, _worker(driver, sent, work.key, gpus))
        except (Interrupted, KeyboardInterrupt):
            return {STOPPED: True}
        except TicketlabError as problem:
            outcome = Outcome(work.key, error=str(problem), place=sent.place)
        return {OUTCOME: asdict(outcome, recurse=False)}
    finally:
        sent.wait()


class _Sender:
    """Sends messages to the driver. They have all arrived in the journal after :meth:`wait`, and after one that is not only shown."""

    def __init__(self, journal: Any) -> None:
        import socket

        self.place = f"{socket.gethostname()} {os.getpid()}"
        self._journal = journal
        self._last: Any = None

    def __call__(self, message: Message) -> None:
        from ticketlab.executors.messages import SHOWN

        self._last = self._journal.add.remote(asdict(message, recurse=False))
        if message.kind not in SHOWN:
            self.wait()  # Ray sends it in the background, and it would be lost if the process died before

    def say(self, key: str, kind: str, payload: Any = None) -> None:
        from ticketlab.executors.base import Message

        self(Message(key, self.place, kind, payload))

    def wait(self) -> None:
        import ray

        if self._last is not None:
            with contextlib.suppress(ray.exceptions.RayError):  # the driver is gone
                ray.get(self._last)


_workers: dict[str, Worker] = {}
"""The worker of the session that this process has worked for last, by the session's name."""


def _worker(driver: dict[str, Any], send: _Sender, key: str, gpus: float) -> Worker:
    """Return the worker of the driver's session, and prepare this process for it if it has not worked for it.

    :raises TicketlabError: a plugin cannot be loaded.
    """
    known = _workers.get(driver["name"])
    if known is not None:
        known.send = send
        return known
    _workers.clear()
    if not gpus:
        os.environ[GPUS] = ""  # Ray leaves them visible
    os.environ["OMP_NUM_THREADS"] = str(driver["session"]["threads"])
    openmp.let_threads_sleep()
    os.environ.setdefault("TICKETLAB_START_METHOD", "spawn")  # a process of Ray has threads that do not survive a fork
    _set_paths(driver)

    import platformdirs
    from attrs import evolve

    from ticketlab.core import progress
    from ticketlab.executors import sent_plugins
    from ticketlab.executors.base import Session
    from ticketlab.executors.worker import set_up

    session = Session.from_table(driver["session"])
    files = sent_plugins.unpack(driver["plugins"], platformdirs.user_cache_path("ticketlab") / "sent-plugins")
    with progress.sent_to(lambda kind, payload: send.say(key, kind, payload)):
        worker = set_up(evolve(session, plugins=evolve(session.plugins, files=files)), send)
    _workers[driver["name"]] = worker
    return worker


def _set_paths(driver: dict[str, Any]) -> None:
    """Work in the driver's directory if it is here. It is not searched for modules, as Ray does, unless the driver does so.

    A user's ``datasets.py`` in it must not replace a library.
    """
    folder = driver["directory"]
    if not driver["imports_from_directory"]:
        sys.path[:] = [path for path in sys.path if path not in ("", folder)]
    if Path(folder).is_dir():
        os.chdir(folder)
