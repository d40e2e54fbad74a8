"""A limit on the time of one example. What it interrupts may be anything: a slow attack, a regular expression, a sleep."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from ticketlab.core.errors import UsageError

T = TypeVar("T")
U = TypeVar("U")
_AGAIN = 0.5


class OutOfTime(BaseException):
    """The time is up. No ``Exception``, so that code in between cannot take it for an error of its own."""


def check(seconds: float | None) -> None:
    """Make sure that a limit can be kept.

    :raises UsageError: it is not above 0, or this is not the main thread of a system with timer signals.
    """
    if seconds is None:
        return
    if not seconds > 0:
        raise UsageError(f"a timeout per example must be above 0 seconds, not {seconds}")
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UsageError("a timeout per example needs the main thread, and a system with timer signals")


class Alarm:
    """Raises :class:`OutOfTime` where the code is when the time set is over, if that is inside :meth:`guard`.

    With ``enabled=False`` it never rings. A context manager: the signal's former handler comes back at the end.
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
        """Ring in so many seconds, at once if there are none left, and again: a finalizer that is interrupted swallows it."""
        if self.enabled:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), _AGAIN)

    def stop(self) -> None:
        """Do not ring."""
        if self.enabled:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def guard(work: Callable[[T], U], item: T) -> U:
        """Do ``work``. Only here it rings: who handles :class:`OutOfTime` outside is not hit by it a second time."""
        return work(item)


def _ring(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is Alarm.guard.__code__:
            raise OutOfTime
        frame = frame.f_back
