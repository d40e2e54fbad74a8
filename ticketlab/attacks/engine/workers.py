"""Attacks in several processes. A worker fetches an example when it has capacity; if it dies, only the example that killed it is lost.

A worker that exceeds the time limit of an example and does not stop is terminated; the other examples that it had are attacked again.
"""

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

from ticketlab.attacks.engine.deadline import ReportedDeadline, has_timer
from ticketlab.attacks.engine.late_pickle import LatePickle
from ticketlab.core import disk_and_memory, platforms, plugin_errors, progress, registry, signals
from ticketlab.core.errors import TicketlabError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.training import interruption

if TYPE_CHECKING:
    from ticketlab.attacks.engine.attacker import Attacker
    from ticketlab.attacks.engine.failure import Failure
    from ticketlab.attacks.results.record import Record
    from ticketlab.tasks.base import Example


_KILLED = 9
"""The number of SIGKILL, which is not defined on every system."""
_SHARED_BY_PROCESSES = ("cpu", "cuda")
"""Devices whose tensors can be handed to another process. A model on another device is copied through the CPU."""
_SECONDS_BETWEEN_LOOKS = 0.2
"""How often the time limits of the examples are checked."""


def attack_examples(attacker: Attacker, examples: Sequence[Example]) -> Iterator[Record | Failure]:
    """Yield the record or failure of each example, in the order in which they finish.

    They are attacked in this process, or in a worker process if there is a time limit that only the end of a process enforces here.
    """
    if attacker.timeout is None or has_timer():
        return attacker.run(examples)
    return run_in_workers(attacker, examples, 1)


def run_in_workers(attacker: Attacker, examples: Sequence[Example], workers: int) -> Iterator[Record | Failure]:
    """Yield the record or failure of each example, in the order in which they finish, from ``workers`` processes.

    On the CPU workers are started as :func:`ticketlab.core.platforms.start_method` says; forked ones share this process's memory. On GPUs
    they are spawned and distributed over the devices. Spawned ones load the plugins of this process.

    :raises TicketlabError: a worker could not be started, or failed outside of an example.
    :raises OutOfMemory: there is too little memory for that many workers; the message names what to lower.
    """
    share = -(-len(examples) // workers)
    attacker = attrs.evolve(attacker, in_flight=min(attacker.in_flight, share))
    device = attacker.victim.device
    pool = _Pool(attacker, device, deque(examples), f"lower in_flight (now {attacker.in_flight} per process) or workers (now {workers})")
    is_shared = device.type in _SHARED_BY_PROCESSES
    if not is_shared:
        attacker.victim.model.to("cpu")
    try:
        for _ in range(workers):
            pool.start()
        yield from pool.records()
    finally:
        pool.stop()
        if not is_shared:
            attacker.victim.model.to(device)


@define(eq=False)
class _Worker:
    process: Any
    connection: Any
    one_by_one: bool
    """It attacks one example at a time, so that it is known which one killed it."""
    deadline: ReportedDeadline
    began: bool = False
    """It has requested an example."""
    active: dict[str, Example] = field(factory=dict)
    requested: list[Example] = field(factory=list)
    """Its examples in the order in which it started them."""
    late: Example | None = None
    """The example whose time limit it exceeded, for which it was terminated."""


@define
class _Pool:
    attacker: Attacker
    device: torch.device
    todo: deque[Example]
    lower: str
    """What to lower to save memory."""
    suspects: deque[Example] = field(factory=deque)
    """Examples that were active in a worker that died; one of them killed it."""
    workers: dict[Any, _Worker] = field(factory=dict)
    started: int = 0

    def start(self) -> None:
        """Start a worker: for the suspects, one at a time, if there are any, otherwise for the remaining examples."""
        one_by_one = bool(self.suspects)
        attacker = attrs.evolve(self.attacker, in_flight=1) if one_by_one else self.attacker
        gpu = self.device.type != "cpu"
        context: Any = multiprocessing.get_context("spawn" if gpu else platforms.start_method())
        is_forked = context.get_start_method() == "fork"
        ours, theirs = context.Pipe()
        inherited = [ours, *self.workers] if is_forked else []
        tally = context.RawValue("Q", 0)
        self.attacker.victim.tallies.append(tally)
        plugins = None if is_forked else registry.current().selection
        deadline = ReportedDeadline.shared(context)
        parent = os.getpid() if is_forked else None
        arguments = (
            plugins,
            LatePickle((attacker, tally, deadline)),
            theirs,
            inherited,
            parent,
            self.started,
            str(self.device),
            self.lower,
        )
        process = context.Process(target=_work, args=arguments, daemon=True)
        try:
            with interruption.blocked():  # so that no signal reaches the process before it has set its handlers
                process.start()
        except OSError as problem:
            for end in (ours, theirs):
                end.close()
            self.attacker.victim.tallies.remove(tally)
            failed = TicketlabError(f"process {len(self.workers) + 1} of the attack cannot be started ({problem.strerror}): {self.lower}")
            raise disk_and_memory.explained(problem, lower=self.lower) or failed from problem
        theirs.close()
        self.started += 1
        self.workers[ours] = _Worker(process, ours, one_by_one, deadline)

    def records(self) -> Iterator[Record | Failure]:
        """Yield records and failures until every example is done."""
        while self.workers:
            self._terminate_late()
            for connection in wait(list(self.workers), None if self.attacker.timeout is None else _SECONDS_BETWEEN_LOOKS):
                worker = self.workers[connection]
                try:
                    kind, content = worker.connection.recv()
                except (EOFError, OSError):  # it has ended, perhaps in the middle of a message
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

    def _terminate_late(self) -> None:
        """Terminate the workers that have not given up on an example in time: its code cannot be interrupted, or not on this system."""
        for worker in self.workers.values():
            number = worker.deadline.exceeded()
            if number is not None and worker.late is None:
                worker.late = worker.requested[number]
                worker.process.terminate()

    def _send_next(self, worker: _Worker) -> None:
        source = self.suspects if worker.one_by_one else self.todo
        example = source.popleft() if source else None
        if example is not None:
            worker.active[example.id] = example
            worker.requested.append(example)
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
        if worker.process.exitcode == -_KILLED:
            progress.warn(f"a process of the attack was killed, possibly because memory ran out; if so, {self.lower}")
        if not worker.began:
            raise TicketlabError(f"a process of the attack ended before its first example: {_exit_reason(worker.process.exitcode)}")
        if worker.late is not None:
            if worker.active.pop(worker.late.id, None) is not None:
                yield self.attacker.timeout_record(worker.late)
            (self.suspects if worker.one_by_one else self.todo).extendleft(reversed(worker.active.values()))
            worker.active.clear()
        elif worker.one_by_one:
            for example in worker.active.values():
                yield self.attacker.crash_record(example, _exit_reason(worker.process.exitcode))
        else:
            self.suspects.extend(worker.active.values())
        if self.suspects or (self.todo and (worker.one_by_one or worker.active or worker.late)):
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
        return signals.name_of(-exitcode)
    return f"exit code {exitcode}"


def _work(
    plugins: PluginSelection | None,
    pickled: LatePickle[tuple[Attacker, Any, ReportedDeadline]],
    connection: Connection,
    inherited: Sequence[Connection],
    parent: int | None,
    number: int,
    device: str,
    lower: str,
) -> None:
    """Attack examples until there are no more; the main function of a worker.

    ``plugins`` are to be loaded in a spawned one, and ``parent`` is the process id of the parent of a forked one.
    """
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
        attacker, tally, deadline = pickled.value()
        attacker.victim.tally = tally
        _move_to_device(attacker, torch.device(device), number)
        for record in attacker.run(_examples(connection, parent), deadline):
            connection.send(("record", record))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        sys.exit(0)  # the parent is gone
    except TicketlabError as problem:
        connection.send(("problem", problem))
    except Exception as problem:
        failed = plugin_errors.explained(problem) or TicketlabError(f"a process of the attack failed: {type(problem).__name__}: {problem}")
        connection.send(("problem", disk_and_memory.explained(problem, lower=lower) or failed))


def _move_to_device(attacker: Attacker, device: torch.device, number: int) -> None:
    several = device.type == "cuda" and torch.cuda.device_count() > 1
    own = torch.device("cuda", number % torch.cuda.device_count()) if several else device
    if attacker.victim.device != own:
        attacker.victim.model.to(own)


def _examples(connection: Connection, parent: int | None) -> Iterator[Example]:
    """Request examples until there are no more, or the parent has ended.

    A connection of a spawned process reports that itself; copies of one end may be open in other forked processes.
    """
    while parent is None or os.getppid() == parent:
        connection.send(("next", None))
        example = connection.recv()
        if example is None:
            return
        yield example
