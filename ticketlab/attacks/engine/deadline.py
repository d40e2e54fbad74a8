"""The time limit of an example: an alarm that interrupts whatever runs, be it a slow attack, a regular expression or a sleep.

:mod:`ticketlab.attacks.engine.scheduler` counts the seconds of each example, and starts and stops the alarm whenever it resumes or
suspends one. The alarm is a timer signal, which needs the main thread and a system that has them. A worker process also reports its
deadlines to its parent (:class:`ReportedDeadline`), which ends it if it exceeds one: :mod:`ticketlab.attacks.engine.run` attacks in worker
processes where there are no timer signals.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from attrs import frozen

from ticketlab.core.errors import UsageError

T = TypeVar("T")
U = TypeVar("U")
_REPEAT_EVERY = 0.5
GRACE = 2.0
"""Seconds after its deadline in which a worker process may give up on an example by itself; it stops at the next query at the latest."""


class OutOfTime(BaseException):
    """The time limit is exceeded. Not an ``Exception``, so that the interrupted code does not handle it as one of its errors."""


def check(seconds: float | None) -> None:
    """Check a time limit.

    :raises UsageError: it is not above 0.
    """
    if seconds is not None and not seconds > 0:
        raise UsageError(f"a timeout per example must be above 0 seconds, not {seconds}")


def has_timer() -> bool:
    """Return whether this thread can be interrupted by a timer: it is the main thread of a system with timer signals."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@frozen
class ReportedDeadline:
    """The deadline of the example that a worker process runs, in memory that it shares with its parent.

    Both read :func:`time.monotonic`, which all processes of a machine share.
    """

    at: Any
    """The time of the deadline, infinity if there is none: a shared ``double``."""
    number: Any
    """The example, counted in the order in which the worker started them: a shared ``int``."""

    @classmethod
    def shared(cls, context: Any) -> ReportedDeadline:
        """Return one in shared memory of a :mod:`multiprocessing` context, without a deadline."""
        return cls(context.RawValue("d", math.inf), context.RawValue("q", 0))

    def set(self, seconds: float, number: int) -> None:
        """Report that example ``number`` has ``seconds`` left."""
        self.at.value = math.inf  # so that the parent never reads the old deadline with the new number
        self.number.value = number
        self.at.value = time.monotonic() + seconds

    def clear(self) -> None:
        """Report that no example is running."""
        self.at.value = math.inf

    def exceeded(self) -> int | None:
        """Return the number of the example whose deadline is :data:`GRACE` seconds ago; None if there is none."""
        number = int(self.number.value)
        is_late = time.monotonic() - float(self.at.value) > GRACE
        return number if is_late and number == self.number.value else None


class Alarm:
    """Raises :class:`OutOfTime` in the running code when the time is up, if that code runs inside :meth:`guard`.

    It goes off only where :func:`has_timer` is true. With ``enabled=False`` it never does. ``reported`` is told the deadlines. A context
    manager: the signal's previous handler is restored at the end.
    """

    def __init__(self, enabled: bool, reported: ReportedDeadline | None = None) -> None:
        self._has_timer = enabled and has_timer()
        self._reported = reported if enabled else None
        self._before: Any = None

    def __enter__(self) -> Alarm:
        if self._has_timer:
            self._before = signal.signal(signal.SIGALRM, _ring)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._has_timer:
            signal.signal(signal.SIGALRM, self._before)

    def start(self, seconds: float, number: int = 0) -> None:
        """Go off in ``seconds``, immediately if there are none left, and repeatedly: an interrupted finalizer swallows the exception.

        ``number`` is that of the example, for the report.
        """
        if self._reported is not None:
            self._reported.set(seconds, number)
        if self._has_timer:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), _REPEAT_EVERY)

    def stop(self) -> None:
        """Cancel the alarm."""
        if self._has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if self._reported is not None:
            self._reported.clear()

    @staticmethod
    def guard(work: Callable[[T], U], item: T) -> U:
        """Call ``work(item)``. The alarm raises only in here, so that the handler of :class:`OutOfTime` is not interrupted again."""
        return work(item)


def _ring(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is Alarm.guard.__code__:
            raise OutOfTime
        frame = frame.f_back
