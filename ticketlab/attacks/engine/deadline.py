"""The time limit of an example: an alarm that interrupts whatever runs, be it a slow attack, a regular expression or a sleep.

:mod:`ticketlab.attacks.engine.scheduler` counts the seconds of each example, and starts and stops the alarm whenever it resumes or
suspends one. :mod:`ticketlab.attacks.engine.run` refuses a limit that cannot be enforced, before the attack.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from ticketlab.core.errors import UsageError

T = TypeVar("T")
U = TypeVar("U")
_REPEAT_EVERY = 0.5


class OutOfTime(BaseException):
    """The time limit is exceeded. Not an ``Exception``, so that the interrupted code does not handle it as one of its errors."""


def check(seconds: float | None) -> None:
    """Check that a time limit can be enforced.

    :raises UsageError: it is not above 0, or this is not the main thread of a system with timer signals.
    """
    if seconds is None:
        return
    if not seconds > 0:
        raise UsageError(f"a timeout per example must be above 0 seconds, not {seconds}")
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UsageError("a timeout per example requires the main thread and a system with timer signals")


class Alarm:
    """Raises :class:`OutOfTime` in the running code when the time is up, if that code runs inside :meth:`guard`.

    With ``enabled=False`` it never goes off. A context manager: the signal's previous handler is restored at the end.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._before: Any = None

    def __enter__(self) -> Alarm:
        if self.enabled:
            self._before = signal.signal(signal.SIGALRM, _ring)
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            self.stop()
            signal.signal(signal.SIGALRM, self._before)

    def start(self, seconds: float) -> None:
        """Go off in ``seconds``, immediately if there are none left, and repeatedly: an interrupted finalizer swallows the exception."""
        if self.enabled:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), _REPEAT_EVERY)

    def stop(self) -> None:
        """Cancel the alarm."""
        if self.enabled:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def guard(work: Callable[[T], U], item: T) -> U:
        """Call ``work(item)``. The alarm raises only in here, so that the handler of :class:`OutOfTime` is not interrupted again."""
        return work(item)


def _ring(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is Alarm.guard.__code__:
            raise OutOfTime
        frame = frame.f_back
