"""What a worker does on any machine: it loads the plugins of the driver, runs work, and sends what the driver shows and writes."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from ticketlab.backbone.device import be_deterministic, remember_shapes
from ticketlab.core import debugging, disk_and_memory, plugin_errors, progress, registry, signals
from ticketlab.core.errors import Interrupted, LeaseLost, OutOfSpace, TicketlabError
from ticketlab.executors.base import Message, Outcome, Receive, Session, Work


def place() -> str:
    """Return the host and the number of this process: ``"HOST PID"``."""
    return f"{socket.gethostname()} {os.getpid()}"


@define
class Worker:
    """What the function of a work gets besides its arguments. ``send`` passes a message to the driver."""

    session: Session
    """The execution that it belongs to."""
    send: Receive
    """Sends a message to the driver; may be called from any thread."""
    key: str = ""
    """The key of the work that it computes now."""
    kept: dict[str, Any] = field(factory=dict)
    """What functions keep for later work in this process, such as data that has been read."""

    def say(self, kind: str, payload: Any) -> None:
        """Send a JSON value to the driver, which knows what to do with this kind of message (:mod:`ticketlab.executors.messages`).

        A message of a kind that the function and its driver have agreed on has left the process when this returns: the driver gets it
        even if the process dies then.
        """
        self.send(Message(self.key, place(), kind, payload))


def set_up(session: Session, send: Receive) -> Worker:
    """Prepare this process for the work of a session: its plugins, its threads and deterministic algorithms.

    :raises TicketlabError: a plugin cannot be loaded.
    """
    import torch

    registry.use(registry.load_selection(session.plugins))
    be_deterministic()
    remember_shapes()
    torch.set_num_threads(session.threads)
    return Worker(session, send)


def compute_work(session: Mapping[str, Any], work: Mapping[str, Any], send: Callable[[Message | Outcome], None]) -> None:
    """Run one work in a process that was started for it: send its messages, and then its outcome.

    ``session`` and ``work`` are tables (``to_table``). When the process gets SIGTERM, what runs writes a checkpoint, and nothing is sent.

    :raises TicketlabError: a plugin cannot be loaded.
    """
    signals.ignore("SIGINT", "SIGHUP")  # the driver gets them too, and stops its workers
    worker = set_up(Session.from_table(session), send)
    with contextlib.suppress(Interrupted):
        send(run_work(Work.from_table(work), worker))


def run_work(work: Work, worker: Worker) -> Outcome:
    """Run a work in a worker process, and return its outcome. What it would print is sent to the driver.

    :raises Interrupted: the process was asked to stop, and has written a checkpoint.
    """
    worker.key = work.key
    with progress.without_details(), progress.sent_to(worker.say):
        return call(work, worker)


def call(work: Work, worker: Worker) -> Outcome:
    """Like :func:`run_work`, in the driver itself, which prints what the work prints."""
    worker.key = work.key
    try:
        answer = _function(work.function)(work.arguments, worker)
    except (Interrupted, KeyboardInterrupt):
        raise
    except LeaseLost as lost:
        return Outcome(work.key, error=str(lost), lost=True, place=place())
    except Exception as problem:
        try:
            return Outcome(work.key, error=message_of(problem), place=place())
        except OutOfSpace as full:
            return Outcome(work.key, error=str(full), out_of_space=True, place=place())
    return Outcome(work.key, answer, place=place())


def message_of(problem: Exception) -> str:
    """Return the one-line message of an error. Its traceback is printed if tracebacks are requested.

    :raises OutOfSpace: the disk is full.
    """
    debugging.print_traceback(problem)
    problem = disk_and_memory.explained(problem) or plugin_errors.explained(problem) or problem
    if isinstance(problem, OutOfSpace):
        raise problem
    text = " ".join(str(problem).split())
    return text if isinstance(problem, TicketlabError) else f"{type(problem).__name__}: {text}"


def _function(name: str) -> Callable[[Any, Worker], Any]:
    module, _, attribute = name.partition(":")
    found: Callable[[Any, Worker], Any] = getattr(importlib.import_module(module), attribute)
    return found
