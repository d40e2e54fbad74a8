"""Many examples under attack in one process: while one waits for a model, others go on, and what they ask is answered together.

Each example's attack runs in a greenlet. When it asks a model it is put aside; once all wait, the model with most to do runs on as many
rows as go together, and whoever has all answers goes on.
"""

from __future__ import annotations

import contextvars
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import torch
from attrs import define, field
from greenlet import GreenletExit, getcurrent, greenlet

from ticketlab.attacks.engine.deadline import Alarm, OutOfTime
from ticketlab.inference import batch_invariant
from ticketlab.inference.batch_invariant import BatchInvariantModel, merging
from ticketlab.inference.packing import Row
from ticketlab.inference.random_state import RandomState

T = TypeVar("T")
Group = tuple[BatchInvariantModel, Hashable]
_NOTHING = object()


@define(eq=False)
class _Request:
    """Rows that a flight waits for."""

    flight: ActiveExample[Any]
    answers: list[Any]
    missing: int
    problem: Exception | None = None


@define(eq=False)
class _Question:
    """A row, and who asked about it."""

    row: Row
    asked: list[tuple[_Request, int]] = field(factory=list)


@define(eq=False)
class _Waiting:
    """Rows of one group that wait for their model, by what tells one from another."""

    questions: dict[Any, _Question] = field(factory=dict)
    tokens: int = 0

    def add(self, row: Row, request: _Request, index: int) -> None:
        name = batch_invariant.key(row)
        if name not in self.questions:
            self.questions[name] = _Question(row)
            self.tokens += batch_invariant.length(row)
        self.questions[name].asked.append((request, index))

    def pop(self, name: Any) -> _Question:
        question = self.questions.pop(name)
        self.tokens -= batch_invariant.length(question.row)
        return question


@define(eq=False)
class ActiveExample(Generic[T]):
    """One example's attack, on its way."""

    greenlet: Any
    random: RandomState
    gradients: bool = True
    seconds: float = 0.0
    """Time spent on it so far: its own code, and its rows' share of what the models took. Waiting for others does not count."""
    result: list[T] = field(factory=list)


class Scheduler(Generic[T]):
    """Runs ``work`` on many items, ``in_flight`` at a time; what each gives does not depend on the others.

    ``timeout`` is a limit on each item's :attr:`ActiveExample.seconds`: its work is then interrupted, and its result is what ``late`` says.
    Random states are each flight's own, and start from what they are when it starts.
    """

    def __init__(
        self, work: Callable[[Any], T], *, in_flight: int, timeout: float | None = None, late: Callable[[Any], T] | None = None
    ) -> None:
        self.work = work
        self.late = late or work
        self.in_flight = in_flight
        self.timeout = timeout
        self.model_seconds = 0.0
        self._alarm = Alarm(timeout is not None)
        self._hub = getcurrent()
        self._running: ActiveExample[T] | None = None
        self._active: set[ActiveExample[T]] = set()
        self._waiting: dict[Group, _Waiting] = {}
        self._ready: deque[_Request] = deque()

    def run(self, items: Iterable[Any]) -> Iterator[T]:
        """Yield the result of each item, in the order in which they finish."""
        self._hub = getcurrent()
        source = iter(items)
        more = True
        with self._alarm:
            try:
                while more or self._active:
                    while more and len(self._active) < self.in_flight:
                        item = next(source, _NOTHING)
                        more = item is not _NOTHING
                        if more:
                            yield from self._start(item)
                    if self._active:
                        self._answer()
                    while self._ready:
                        yield from self._answered(self._ready.popleft())
            finally:
                self._abandon()

    def _start(self, item: Any) -> Iterator[T]:
        def fly() -> None:
            try:
                flight.result.append(self._alarm.guard(self.work, item))
            except OutOfTime:
                self._alarm.stop()
                flight.result.append(self.late(item))

        context = contextvars.copy_context()
        context.run(merging.set, self._ask)
        flight: ActiveExample[T] = ActiveExample(greenlet(fly, parent=self._hub), RandomState.now())
        flight.greenlet.gr_context = context
        self._active.add(flight)
        yield from self._go_on(flight, flight.greenlet.switch)

    def _answered(self, request: _Request) -> Iterator[T]:
        flight = request.flight
        if request.problem is not None:
            yield from self._go_on(flight, flight.greenlet.throw, request.problem)
        elif self._late_by(flight):
            yield from self._go_on(flight, flight.greenlet.throw, OutOfTime)
        else:
            yield from self._go_on(flight, flight.greenlet.switch, request.answers)

    def _late_by(self, flight: ActiveExample[T]) -> bool:
        return self.timeout is not None and flight.seconds >= self.timeout

    def _go_on(self, flight: ActiveExample[T], enter: Callable[..., Any], *given: Any) -> Iterator[T]:
        """Let a flight go on until it asks again or is over; yield its result in the second case."""
        outside, gradients = RandomState.now(), torch.is_grad_enabled()
        flight.random.restore()
        torch.set_grad_enabled(flight.gradients)
        begin = time.perf_counter()
        self._running = flight
        try:
            if self.timeout is not None and not self._late_by(flight):
                self._alarm.start(self.timeout - flight.seconds)
            enter(*given)
        finally:
            self._running = None
            self._alarm.stop()
            flight.seconds += time.perf_counter() - begin
            flight.random, flight.gradients = RandomState.now(), torch.is_grad_enabled()
            outside.restore()
            torch.set_grad_enabled(gradients)
        if flight.greenlet.dead:
            self._active.discard(flight)
            yield from flight.result

    def _ask(self, model: BatchInvariantModel, rows: Sequence[Row]) -> list[Any]:
        """Put rows on the waiting list and the flight that runs aside; called inside it."""
        self._alarm.stop()
        flight = self._running
        assert flight is not None
        if not rows:
            return []
        request = _Request(flight, [None] * len(rows), len(rows))
        for index, row in enumerate(rows):
            self._waiting.setdefault((model, model.group(row)), _Waiting()).add(row, request, index)
        answers: list[Any] = self._hub.switch()
        return answers

    def _answer(self) -> None:
        """Run the group with most tokens, or the first rows of it."""
        group = max(self._waiting, key=lambda group: self._waiting[group].tokens)
        model, _ = group
        waiting = self._waiting[group]
        count = model.fit(batch_invariant.length(question.row) for question in waiting.questions.values())
        questions = [waiting.pop(name) for name in list(waiting.questions)[:count]]
        if not waiting.questions:
            del self._waiting[group]
        try:
            self._run(model, questions)
        except Exception:
            for question in questions:  # one row that the model cannot take does not spoil the others
                try:
                    self._run(model, [question])
                except Exception as problem:
                    for request, _ in question.asked:
                        self._fail(request, problem)

    def _run(self, model: BatchInvariantModel, questions: Sequence[_Question]) -> None:
        begin = time.perf_counter()
        results = model.batch([question.row for question in questions])
        seconds = time.perf_counter() - begin
        self.model_seconds += seconds
        per_token = seconds / max(1, sum(batch_invariant.length(question.row) for question in questions))
        for question, result in zip(questions, results, strict=True):
            for request, index in question.asked:
                request.answers[index] = result
                request.missing -= 1
                request.flight.seconds += per_token * batch_invariant.length(question.row) / len(question.asked)
                if not request.missing:
                    self._ready.append(request)
                elif self._late_by(request.flight):
                    self._fail(request, None)

    def _fail(self, request: _Request, problem: Exception | None) -> None:
        """Let a flight go on without its answers, and drop what it still waits for."""
        if request.missing <= 0:
            return
        request.missing, request.problem = 0, problem
        for group, waiting in list(self._waiting.items()):
            for name, question in list(waiting.questions.items()):
                question.asked = [(asking, index) for asking, index in question.asked if asking is not request]
                if not question.asked:
                    waiting.pop(name)
            if not waiting.questions:
                del self._waiting[group]
        self._ready.append(request)

    def _abandon(self) -> None:
        """End what is still on its way."""
        for flight in self._active:
            flight.greenlet.throw(GreenletExit)
        self._active.clear()
        self._waiting.clear()
        self._ready.clear()
