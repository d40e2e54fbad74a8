"""Attacks in several processes. A worker fetches an example when it has capacity; if it dies, only the example that killed it is lost."""

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

from ticketlab.attacks.engine.late_pickle import LatePickle
from ticketlab.core import disk_and_memory, plugin_errors, progress, registry
from ticketlab.core.errors import TicketlabError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.training import interruption

if TYPE_CHECKING:
    from ticketlab.attacks.engine.attacker import Attacker
    from ticketlab.attacks.engine.failure import Failure
    from ticketlab.attacks.results.record import Record
    from ticketlab.tasks.base import Example


def run_in_workers(attacker: Attacker, examples: Sequence[Example], workers: int) -> Iterator[Record | Failure]:
    """Yield the record or failure of each example, in the order in which they finish, from ``workers`` processes.

    On the CPU workers are forked and share this process's memory; on GPUs they are spawned, load the plugins of this process, and are
    distributed over the devices.

    :raises TicketlabError: a worker could not be started, or failed outside of an example.
    :raises OutOfMemory: there is too little memory for that many workers; the message names what to lower.
    """
    share = -(-len(examples) // workers)
    attacker = attrs.evolve(attacker, in_flight=min(attacker.in_flight, share))
    pool = _Pool(attacker, deque(examples), f"lower in_flight (now {attacker.in_flight} per process) or workers (now {workers})")
    try:
        for _ in range(workers):
            pool.start()
        yield from pool.records()
    finally:
        pool.stop()


@define(eq=False)
class _Worker:
    process: Any
    connection: Connection
    one_by_one: bool
    """It attacks one example at a time, so that it is known which one killed it."""
    began: bool = False
    """It has requested an example."""
    active: dict[str, Example] = field(factory=dict)


@define
class _Pool:
    attacker: Attacker
    todo: deque[Example]
    lower: str
    """What to lower to save memory."""
    suspects: deque[Example] = field(factory=deque)
    """Examples that were active in a worker that died; one of them killed it."""
    workers: dict[Connection, _Worker] = field(factory=dict)
    started: int = 0

    def start(self) -> None:
        """Start a worker: for the suspects, one at a time, if there are any, otherwise for the remaining examples."""
        one_by_one = bool(self.suspects)
        attacker = attrs.evolve(self.attacker, in_flight=1) if one_by_one else self.attacker
        gpu = self.attacker.victim.device.type != "cpu"
        context: Any = multiprocessing.get_context("spawn" if gpu or not hasattr(os, "fork") else "fork")
        ours, theirs = context.Pipe()
        inherited = [ours, *self.workers]
        tally = context.RawValue("Q", 0)
        self.attacker.victim.tallies.append(tally)
        plugins = None if context.get_start_method() == "fork" else registry.current().selection
        arguments = (plugins, LatePickle((attacker, tally)), theirs, [] if gpu else inherited, os.getpid(), self.started, self.lower)
        process = context.Process(target=_work, args=arguments, daemon=True)
        try:
            with interruption.blocked():  # so that no signal reaches the process before it has set its handlers
                process.start()
        except OSError as problem:
            failed = TicketlabError(f"process {len(self.workers) + 1} of the attack cannot be started ({problem.strerror}): {self.lower}")
            raise disk_and_memory.explained(problem, lower=self.lower) or failed from problem
        theirs.close()
        self.started += 1
        self.workers[ours] = _Worker(process, ours, one_by_one)

    def records(self) -> Iterator[Record | Failure]:
        """Yield records and failures until every example is done."""
        while self.workers:
            for connection in wait(list(self.workers)):
                assert isinstance(connection, Connection)
                worker = self.workers[connection]
                try:
                    kind, content = connection.recv()
                except (EOFError, ConnectionResetError):
                    yield from self._replace(worker)
                    continue
                if kind == "record":
                    worker.active.pop(content.id)
                    yield content
                elif kind == "next":
                    worker.began = True
                    self._send_next(worker)
                else:
                    raise content

    def _send_next(self, worker: _Worker) -> None:
        source = self.suspects if worker.one_by_one else self.todo
        example = source.popleft() if source else None
        if example is not None:
            worker.active[example.id] = example
        try:
            worker.connection.send(example)
        except (BrokenPipeError, ConnectionResetError):
            return  # it has died, which the next receive from its connection reports

    def _replace(self, worker: _Worker) -> Iterator[Record]:
        """Start a new worker in place of one that has ended, if it left active examples or there are more to do.

        :raises TicketlabError: it ended before it requested an example, as all others would.
        """
        del self.workers[worker.connection]
        worker.connection.close()
        worker.process.join()
        if worker.process.exitcode == -signal.SIGKILL:
            progress.warn(f"a process of the attack was killed, possibly because memory ran out; if so, {self.lower}")
        if not worker.began:
            raise TicketlabError(f"a process of the attack ended before its first example: {_exit_reason(worker.process.exitcode)}")
        if worker.one_by_one:
            for example in worker.active.values():
                yield self.attacker.crash_record(example, _exit_reason(worker.process.exitcode))
        else:
            self.suspects.extend(worker.active.values())
        if self.suspects or (self.todo and (worker.one_by_one or worker.active)):
            self.start()

    def stop(self) -> None:
        """Terminate all workers."""
        for worker in self.workers.values():
            worker.process.terminate()
        for worker in self.workers.values():
            worker.process.join()
            worker.connection.close()
        self.workers.clear()


def _exit_reason(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        try:
            return f"signal {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"signal {-exitcode}"
    return f"exit code {exitcode}"


def _work(
    plugins: PluginSelection | None,
    pickled: LatePickle[tuple[Attacker, Any]],
    connection: Connection,
    inherited: Sequence[Connection],
    parent: int,
    number: int,
    lower: str,
) -> None:
    """Attack examples until there are no more; the main function of a worker. ``plugins`` are to be loaded in a spawned one."""
    for parents in inherited:
        parents.close()  # a copy of the parent's end left open in here would hide that the parent is gone
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and terminates this process
    for other_signal in interruption.ERRORS.keys() - {signal.SIGINT}:
        signal.signal(other_signal, signal.SIG_DFL)
    interruption.unblock()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import_textattack()  # a spawned process has not imported it
        if plugins is not None:
            registry.use(registry.load_selection(plugins))
        attacker, tally = pickled.value()
        attacker.victim.tally = tally
        _move_to_device(attacker, number)
        for record in attacker.run(_examples(connection, parent)):
            connection.send(("record", record))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        sys.exit(0)  # the parent is gone
    except TicketlabError as problem:
        connection.send(("problem", problem))
    except Exception as problem:
        failed = plugin_errors.explained(problem) or TicketlabError(f"a process of the attack failed: {type(problem).__name__}: {problem}")
        connection.send(("problem", disk_and_memory.explained(problem, lower=lower) or failed))


def _move_to_device(attacker: Attacker, number: int) -> None:
    if attacker.victim.device.type == "cuda" and torch.cuda.device_count() > 1:
        attacker.victim.model.to(f"cuda:{number % torch.cuda.device_count()}")


def _examples(connection: Connection, parent: int) -> Iterator[Example]:
    while os.getppid() == parent or multiprocessing.get_start_method(allow_none=True) == "spawn":
        connection.send(("next", None))
        example = connection.recv()
        if example is None:
            return
        yield example
