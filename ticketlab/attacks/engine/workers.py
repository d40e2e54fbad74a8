"""Attacks in several processes. A process takes an example whenever it has room; one that dies costs the example that killed it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

import attrs
import torch
from attrs import define, field

from ticketlab.core import disk_and_memory, progress
from ticketlab.core.errors import TicketlabError
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.training import interruption

if TYPE_CHECKING:
    from ticketlab.attacks.engine.attacker import Attacker
    from ticketlab.attacks.results.records import Record
    from ticketlab.tasks.base import Example


def run_in_workers(siege: Attacker, examples: Sequence[Example], workers: int) -> Iterator[Record]:
    """Yield the record of each example, in the order in which they finish, from ``workers`` processes.

    On a processor they are forked and share the memory of this one; on GPUs they start anew and take the devices in turn.

    :raises TicketlabError: a process could not be started, or not do its work at all.
    :raises OutOfMemory: there is too little memory for so many; the message has what to lower.
    """
    share = -(-len(examples) // workers)
    shared = attrs.evolve(siege, in_flight=min(siege.in_flight, share))
    team = _Team(siege, deque(examples), shared, f"lower in_flight (now {shared.in_flight} a process) or workers (now {workers})")
    try:
        for _ in range(workers):
            team.start()
        yield from team.records()
    finally:
        team.stop()


@define(eq=False)
class _Worker:
    process: Any
    connection: Connection
    alone: bool
    """It has one example in flight at a time, so that it is known which one ended it."""
    at_work: dict[str, Example] = field(factory=dict)


@define
class _Team:
    siege: Attacker
    todo: deque[Example]
    shared: Attacker
    lower: str
    """What takes less memory."""
    suspects: deque[Example] = field(factory=deque)
    workers: dict[Connection, _Worker] = field(factory=dict)
    started: int = 0

    def start(self) -> None:
        """Start a process: for the examples of one that died, one after the other, if there are such, else for those to do."""
        alone = bool(self.suspects)
        siege = attrs.evolve(self.siege, in_flight=1) if alone else self.shared
        gpu = self.siege.victim.device.type != "cpu"
        context: Any = multiprocessing.get_context("spawn" if gpu or not hasattr(os, "fork") else "fork")
        here, there = context.Pipe()
        others = [here, *self.workers]
        tally = context.RawValue("Q", 0)
        self.siege.victim.tallies.append(tally)
        about = (siege, there, tally, [] if gpu else others, os.getpid(), self.started, self.lower)
        process = context.Process(target=_work, args=about, daemon=True)
        try:
            with interruption.blocked():  # or a signal would meet the process before it has said what it does about it
                process.start()
        except OSError as problem:
            failed = TicketlabError(f"process {len(self.workers) + 1} of the attack cannot be started ({problem.strerror}): {self.lower}")
            raise disk_and_memory.explained(problem, lower=self.lower) or failed from problem
        there.close()
        self.started += 1
        self.workers[here] = _Worker(process, here, alone)

    def records(self) -> Iterator[Record]:
        """Yield records until there is nothing left to do."""
        while self.workers:
            for connection in wait(list(self.workers)):
                assert isinstance(connection, Connection)
                worker = self.workers[connection]
                try:
                    kind, content = connection.recv()
                except (EOFError, ConnectionResetError):
                    yield from self._ended(worker)
                    continue
                if kind == "record":
                    worker.at_work.pop(content.id)
                    yield content
                elif kind == "next":
                    self._give(worker)
                else:
                    raise content

    def _give(self, worker: _Worker) -> None:
        source = self.suspects if worker.alone else self.todo
        example = source.popleft() if source else None
        if example is not None:
            worker.at_work[example.id] = example
        try:
            worker.connection.send(example)
        except (BrokenPipeError, ConnectionResetError):
            return  # it has ended; the next look at its connection says so

    def _ended(self, worker: _Worker) -> Iterator[Record]:
        """Let another process take the place of one that has ended with examples at work, or with some left to do."""
        del self.workers[worker.connection]
        worker.connection.close()
        worker.process.join()
        if worker.process.exitcode == -signal.SIGKILL:
            progress.warn(f"a process of the attack was killed, as happens where memory is short; if so, {self.lower}")
        if worker.alone:
            for example in worker.at_work.values():
                yield self.siege.lost(example, _how(worker.process.exitcode))
        else:
            self.suspects.extend(worker.at_work.values())
        if self.suspects or (self.todo and (worker.alone or worker.at_work)):
            self.start()

    def stop(self) -> None:
        """End every process that is left."""
        for worker in self.workers.values():
            worker.process.terminate()
        for worker in self.workers.values():
            worker.process.join()
            worker.connection.close()
        self.workers.clear()


def _how(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        try:
            return f"signal {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"signal {-exitcode}"
    return f"exit code {exitcode}"


def _work(siege: Attacker, connection: Connection, tally: Any, others: Sequence[Connection], parent: int, number: int, lower: str) -> None:
    """Attack examples until there are no more; the main function of a process."""
    for other in others:
        other.close()  # or the parent's end would stay open in here, and nobody would notice that the parent is gone
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends this process
    for other_signal in interruption.ERRORS.keys() - {signal.SIGINT}:
        signal.signal(other_signal, signal.SIG_DFL)
    interruption.unblock()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    siege.victim.tally = tally
    try:
        import_textattack()  # a process that starts anew has none yet
        _take_device(siege, number)
        for record in siege.run(_examples(connection, parent)):
            connection.send(("record", record))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        sys.exit(0)  # the parent is gone
    except TicketlabError as problem:
        connection.send(("problem", problem))
    except Exception as problem:
        failed = TicketlabError(f"a process of the attack failed: {type(problem).__name__}: {problem}")
        connection.send(("problem", disk_and_memory.explained(problem, lower=lower) or failed))


def _take_device(siege: Attacker, number: int) -> None:
    if siege.victim.device.type == "cuda" and torch.cuda.device_count() > 1:
        siege.victim.model.to(f"cuda:{number % torch.cuda.device_count()}")


def _examples(connection: Connection, parent: int) -> Iterator[Example]:
    while os.getppid() == parent or multiprocessing.get_start_method(allow_none=True) == "spawn":
        connection.send(("next", None))
        example = connection.recv()
        if example is None:
            return
        yield example
