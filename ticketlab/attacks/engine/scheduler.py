"""Schedules many examples under attack in one process, and merges their requests to a model into common batches.

Each example's attack runs in a greenlet. When it sends a request to a model, it is suspended. Once all active examples are suspended, the
model with the most pending tokens runs on as many rows as fit into a batch, and every example whose request is complete is resumed.

The time limit of an example is enforced here: :class:`~ticketlab.attacks.engine.deadline.Alarm` interrupts the example's own code, and an
example whose share of the models' time exceeds the limit is stopped instead of resumed.
"""

from __future__ import annotations

import contextvars
import itertools
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import torch
from attrs import define, field
from greenlet import GreenletExit, getcurrent, greenlet

from ticketlab.attacks.engine.deadline import Alarm, OutOfTime, ReportedDeadline
from ticketlab.inference import batch_invariant
from ticketlab.inference.batch_invariant import BatchInvariantModel, submit_request
from ticketlab.inference.packing import Row
from ticketlab.inference.random_state import RandomState

T = TypeVar("T")
Group = tuple[BatchInvariantModel, Hashable]
_EXHAUSTED = object()


@define(eq=False)
class _Request:
    """The rows that an active example waits for."""

    example: ActiveExample[Any]
    results: list[Any]
    missing: int
    error: Exception | None = None


@define(eq=False)
class _PendingRow:
    """A row that is to be computed, and the requests that it belongs to, with its index in each."""

    row: Row
    requests: list[tuple[_Request, int]] = field(factory=list)


@define(eq=False)
class _PendingGroup:
    """The pending rows of one group, by key; rows of one group may form a batch."""

    rows: dict[Any, _PendingRow] = field(factory=dict)
    tokens: int = 0

    def add(self, row: Row, request: _Request, index: int) -> None:
        key = batch_invariant.key(row)
        pending = self.rows.get(key)
        if pending is None:
            pending = self.rows[key] = _PendingRow(row)
            self.tokens += batch_invariant.length(row)
        pending.requests.append((request, index))

    def pop(self, key: Any) -> _PendingRow:
        pending = self.rows.pop(key)
        self.tokens -= batch_invariant.length(pending.row)
        return pending


@define(eq=False)
class ActiveExample(Generic[T]):
    """An example whose attack has started and not finished."""

    greenlet: Any
    random: RandomState
    number: int
    """Its number in the order in which examples are started, from 0."""
    gradients: bool = True
    seconds: float = 0.0
    """Time spent on it so far: its own code, and its rows' share of the models' time. Waiting for other examples does not count."""
    result: list[T] = field(factory=list)


class Scheduler(Generic[T]):
    """Runs ``work`` on many items, ``in_flight`` at a time; each result is independent of the other items.

    ``timeout`` limits each item's :attr:`ActiveExample.seconds`: when it is exceeded, the item's work is interrupted, and its result is
    that of ``on_timeout``. Each active example has its own random states, which start from the states at the time it is started.
    In a worker process, ``deadline`` reports the running item's time limit to the parent process.
    """

    def __init__(
        self,
        work: Callable[[Any], T],
        *,
        in_flight: int,
        timeout: float | None = None,
        on_timeout: Callable[[Any], T] | None = None,
        deadline: ReportedDeadline | None = None,
    ) -> None:
        self.work = work
        self.on_timeout = on_timeout or work
        self.in_flight = in_flight
        self.timeout = timeout
        self._alarm = Alarm(timeout is not None, deadline)
        self._started = 0
        self._hub = getcurrent()
        self._running: ActiveExample[T] | None = None
        self._active: set[ActiveExample[T]] = set()
        self._pending: dict[Group, _PendingGroup] = {}
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
                        item = next(source, _EXHAUSTED)
                        more = item is not _EXHAUSTED
                        if more:
                            yield from self._start(item)
                    if self._active:
                        self._compute_batch()
                    while self._ready:
                        yield from self._deliver(self._ready.popleft())
            finally:
                self._cancel_all()

    def _start(self, item: Any) -> Iterator[T]:
        def attack() -> None:
            try:
                example.result.append(self._alarm.guard(self.work, item))
            except OutOfTime:
                self._alarm.stop()
                example.result.append(self.on_timeout(item))

        context = contextvars.copy_context()
        context.run(submit_request.set, self._submit)
        example: ActiveExample[T] = ActiveExample(greenlet(attack, parent=self._hub), RandomState.now(), self._started)
        self._started += 1
        example.greenlet.gr_context = context
        self._active.add(example)
        yield from self._resume(example, example.greenlet.switch)

    def _deliver(self, request: _Request) -> Iterator[T]:
        """Resume an example with the results of its request or an error, or stop it if its time is over."""
        example = request.example
        if request.error is not None:
            yield from self._resume(example, example.greenlet.throw, request.error)
        elif self._is_late(example):
            yield from self._resume(example, example.greenlet.throw, OutOfTime)
        else:
            yield from self._resume(example, example.greenlet.switch, request.results)

    def _is_late(self, example: ActiveExample[T]) -> bool:
        return self.timeout is not None and example.seconds >= self.timeout

    def _resume(self, example: ActiveExample[T], switch: Callable[..., Any], *arguments: Any) -> Iterator[T]:
        """Run an example until its next request or its end, under its time limit; yield its result if it has finished."""
        random, gradients = RandomState.now(), torch.is_grad_enabled()
        example.random.restore()
        torch.set_grad_enabled(example.gradients)
        begin = time.perf_counter()
        self._running = example
        try:
            if self.timeout is not None and not self._is_late(example):
                self._alarm.start(self.timeout - example.seconds, example.number)
            switch(*arguments)
        finally:
            self._running = None
            self._alarm.stop()
            example.seconds += time.perf_counter() - begin
            example.random, example.gradients = RandomState.now(), torch.is_grad_enabled()
            random.restore()
            torch.set_grad_enabled(gradients)
        if example.greenlet.dead:
            self._active.discard(example)
            yield from example.result

    def _submit(self, model: BatchInvariantModel, rows: Sequence[Row]) -> list[Any]:
        """Queue a request and suspend the running example; called from within its greenlet."""
        example = self._running
        assert example is not None
        if not rows:
            return []
        self._alarm.stop()
        request = _Request(example, [None] * len(rows), len(rows))
        for index, row in enumerate(rows):
            self._pending.setdefault((model, model.group(row)), _PendingGroup()).add(row, request, index)
        results: list[Any] = self._hub.switch()
        return results

    def _compute_batch(self) -> None:
        """Run a batch of the group with the most pending tokens."""
        group = max(self._pending, key=lambda group: self._pending[group].tokens)
        model, _ = group
        pending = self._pending[group]
        count = model.batch_size(batch_invariant.length(row.row) for row in pending.rows.values())
        batch = [pending.pop(key) for key in list(itertools.islice(pending.rows, count))]
        if not pending.rows:
            del self._pending[group]
        try:
            self._run(model, batch)
        except Exception:
            for row in batch:  # a row that the model cannot process must not fail the others
                try:
                    self._run(model, [row])
                except Exception as error:
                    for request, _ in row.requests:
                        self._fail(request, error)

    def _run(self, model: BatchInvariantModel, batch: Sequence[_PendingRow]) -> None:
        begin = time.perf_counter()
        results = model.run_batch([pending.row for pending in batch])
        seconds = time.perf_counter() - begin
        per_token = seconds / max(1, sum(batch_invariant.length(pending.row) for pending in batch))
        for pending, result in zip(batch, results, strict=True):
            for request, index in pending.requests:
                request.results[index] = result
                request.missing -= 1
                request.example.seconds += per_token * batch_invariant.length(pending.row) / len(pending.requests)
                if not request.missing:
                    self._ready.append(request)
                elif self._is_late(request.example):
                    self._fail(request, None)

    def _fail(self, request: _Request, error: Exception | None) -> None:
        """Mark a request as ready without its results, and drop its pending rows."""
        if request.missing <= 0:
            return
        request.missing, request.error = 0, error
        for group, pending in list(self._pending.items()):
            for key, row in list(pending.rows.items()):
                row.requests = [(other, index) for other, index in row.requests if other is not request]
                if not row.requests:
                    pending.pop(key)
            if not pending.rows:
                del self._pending[group]
        self._ready.append(request)

    def _cancel_all(self) -> None:
        """Stop every active example."""
        for example in self._active:
            example.greenlet.throw(GreenletExit)
        self._active.clear()
        self._pending.clear()
        self._ready.clear()
