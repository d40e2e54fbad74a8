"""Attacks by the workers of an executor: the examples are handed out in chunks, and the records come back one by one.

A chunk is a :class:`~ticketlab.executors.base.Work`, which :mod:`ticketlab.attacks.engine.chunk` runs. The victim and the attack are loaded
once in each worker. If a worker dies, the examples of its chunk that have no records are attacked again one by one, which shows the one
that killed it. Only a chunk that is known to have begun its examples can have died of one.
"""

from __future__ import annotations

import itertools
import os
import queue
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from attrs import define, field, frozen

from ticketlab.attacks.engine.chunk_work import BEGUN, FAILURE, FUNCTION, RECORD, arguments_of, memory_of, to_plain
from ticketlab.attacks.engine.failure import Failure
from ticketlab.attacks.results.record import Record
from ticketlab.core import progress, registry
from ticketlab.core.errors import OutOfSpace, TicketlabError
from ticketlab.executors.base import Executor, ExecutorRun, Message, Outcome, Session, Work, WorkResources
from ticketlab.executors.messages import print_line
from ticketlab.lab.lab import Lab

if TYPE_CHECKING:
    from ticketlab.attacks.engine.attacker import Attacker
    from ticketlab.tasks.base import Example

FIRST_CHUNK = 4
"""Examples in the chunks that are handed out until all workers have one: how many there are is not known before."""
LARGEST_CHUNK = 64
CHUNKS_PER_WORKER = 2
"""Of the examples that are left, each worker gets this fraction of its share at a time, so that all are done at about the same time."""
SECONDS_BETWEEN_LOOKS = 0.2
SUSPECTS = 8
"""Examples in the chunks that are attacked one by one after a worker died."""
_DEATHS = 2
"""How often workers must die with the same example: a machine may die for another reason while it attacks it."""


@define
class AttackExecution:
    """An execution that attacks share. It begins when the first of them needs it, so that results from the lab need no workers.

    ``jobs`` is the number of workers, for executors that let the user choose it. Used as a context manager: at its end the workers are
    stopped.
    """

    executor: Executor
    lab: Lab
    jobs: int | None = None
    _run: ExecutorRun | None = None
    _messages: queue.SimpleQueue[Message] = field(factory=queue.SimpleQueue)
    _numbers: Iterator[int] = field(factory=itertools.count)

    def run(self) -> ExecutorRun:
        """Return the execution, which begins with the first call. Raises the errors of :meth:`Executor.open`."""
        if self._run is None:
            threads, plugins = self.executor.threads(self.jobs), registry.current().selection
            no_log = Path(os.devnull)  # chunks send no records of a log
            self._run = self.executor.open(Session(self.lab.place, no_log, self.jobs, threads, plugins), self._receive)
        return self._run

    def messages(self) -> Iterator[Message]:
        """Yield the messages about chunks that have come since the last call."""
        while not self._messages.empty():
            yield self._messages.get()

    def new_key(self) -> str:
        """Return a key for a work."""
        return f"attack-{next(self._numbers)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the workers, if there are any."""
        if self._run is not None:
            self._run.close()

    def _receive(self, message: Message) -> None:
        if message.kind in (BEGUN, RECORD, FAILURE):
            self._messages.put(message)
        else:
            print_line(message.kind, str(message.payload))


@frozen
class SharedVictim:
    """The victim of an attack as workers find it, and the execution that they belong to.

    ``model`` is what :func:`~ticketlab.attacks.engine.chunk_work.model_reference` returns.
    """

    execution: AttackExecution
    model: Mapping[str, str]


@define(eq=False)
class _Chunk:
    left: dict[str, Example]
    """Its examples without a record."""
    is_suspect: bool
    """A worker has died with one of its examples, so they are attacked one at a time, in order."""
    begun: bool = False
    """Its worker has said that the attack is loaded and its examples begin."""
    losses: int = 0
    """How often it was lost before it had begun."""


@define
class _Tally:
    """The number of rows that the workers have computed."""

    value: int = 0


def run_on_executor(attacker: Attacker, examples: Sequence[Example], shared: SharedVictim) -> Iterator[Record | Failure]:
    """Yield the record or failure of each example, as they come from the workers of an executor.

    :raises TicketlabError: the executor cannot be used, a worker cannot load the attack or the model, or the workers of a chunk die
        before they have loaded them.
    :raises OutOfSpace: a disk is full.
    """
    tally = _Tally()
    attacker.victim.tallies.append(tally)
    yield from _Sharing(attacker, shared, deque(examples), tally).records()


@define
class _Sharing:
    attacker: Attacker
    shared: SharedVictim
    todo: deque[Example]
    tally: _Tally
    suspects: deque[_Chunk] = field(factory=deque)
    running: dict[str, _Chunk] = field(factory=dict)
    workers: int = 0
    """The most chunks that have been running at a time."""
    deaths: Counter[str] = field(factory=Counter)
    """How often a worker died while it attacked an example that was suspected, by its id."""
    arguments: dict[str, Any] = field(init=False)
    resources: WorkResources = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.arguments = arguments_of(self.attacker, self.shared.model)
        cpus = self.shared.execution.executor.cpus(self.shared.execution.jobs)
        self.resources = WorkResources(cpus, int(self.attacker.victim.device.type == "cuda"), memory_of(self.attacker))

    def records(self) -> Iterator[Record | Failure]:
        """Yield the outcomes of all examples."""
        run = self.shared.execution.run()
        while self.todo or self.suspects or self.running:
            while (self.todo or self.suspects) and run.accepts(self.resources):
                self._start(run)
            outcome = run.wait(SECONDS_BETWEEN_LOOKS)
            yield from self._received()
            if outcome is not None:
                yield from self._end(outcome)

    def _start(self, run: ExecutorRun) -> None:
        chunk = self.suspects.popleft() if self.suspects else self._next_chunk()
        key = self.shared.execution.new_key()
        self.running[key] = chunk
        self.workers = max(self.workers, len(self.running))
        examples = to_plain(list(chunk.left.values()))
        in_flight = 1 if chunk.is_suspect else self.attacker.in_flight
        arguments = {**self.arguments, "examples": examples, "in_flight": in_flight}
        run.start(Work(key, f"attack {self.attacker.attack.label}", FUNCTION, arguments, self.resources))

    def _next_chunk(self) -> _Chunk:
        """Take a chunk of examples: few while workers without work are found, then a fraction of each worker's share of those left."""
        is_new = len(self.running) >= self.workers
        size = FIRST_CHUNK if is_new else len(self.todo) // (CHUNKS_PER_WORKER * self.workers)
        taken = [self.todo.popleft() for _ in range(min(len(self.todo), LARGEST_CHUNK, max(1, size)))]
        return _Chunk({example.id: example for example in taken}, is_suspect=False)

    def _received(self) -> Iterator[Record | Failure]:
        for message in self.shared.execution.messages():
            chunk = self.running.get(message.key)
            if chunk is None:  # of a chunk that was lost
                continue
            chunk.begun = True
            if message.kind == BEGUN:
                continue
            found = Failure(**message.payload["failure"]) if message.kind == FAILURE else Record(**message.payload["record"])
            self.tally.value += int(message.payload["rows"])
            if chunk.left.pop(found.id, None) is not None:
                yield found

    def _end(self, outcome: Outcome) -> Iterator[Record]:
        """Account for the end of a chunk.

        :raises TicketlabError: it failed outside of an example, as it would in all workers.
        """
        chunk = self.running.pop(outcome.key, None)
        if chunk is None:  # of an attack that ended before
            return
        if outcome.lost:
            yield from self._end_lost(chunk, outcome)
        elif outcome.error:
            raise (OutOfSpace if outcome.out_of_space else TicketlabError)(f"{outcome.place}: {outcome.error}".removeprefix(": "))
        elif chunk.left:
            raise TicketlabError(f"{outcome.place}: the worker returned no record of the example {next(iter(chunk.left))}")

    def _end_lost(self, chunk: _Chunk, outcome: Outcome) -> Iterator[Record]:
        """Attack the examples of a lost chunk again, one by one: the first that has no record when the worker dies has killed it.

        A chunk that had not begun is started again as it is.

        :raises TicketlabError: it has been lost too often before it began.
        """
        progress.warn(f"{outcome.place}: {outcome.error}; the examples that it had are attacked again".removeprefix(": "))
        if not chunk.begun:
            chunk.losses += 1
            if chunk.losses > self.shared.execution.executor.retries:
                raise TicketlabError(f"a worker of the attack ended before its first example: {outcome.error}")
            self.suspects.appendleft(chunk)
            return
        examples = list(chunk.left.values())
        if chunk.is_suspect and examples:
            killer = examples.pop(0)
            self.deaths[killer.id] += 1
            if self.deaths[killer.id] == _DEATHS:
                yield self.attacker.crash_record(killer, "also with this example alone")
            else:
                self._add_suspects([killer])
        self._add_suspects(examples)

    def _add_suspects(self, examples: Sequence[Example]) -> None:
        for start in range(0, len(examples), SUSPECTS):
            self.suspects.append(_Chunk({example.id: example for example in examples[start : start + SUSPECTS]}, is_suspect=True))
