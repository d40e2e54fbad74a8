"""A limit on the time of one example. What it interrupts may be anything: a slow attack, a regular expression, a sleep."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from ticketlab.errors import UsageError

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
    """Raises :class:`OutOfTime` where the code is when the time set is over, if ``may_interrupt`` says that it may.

    With ``enabled=False`` it never rings. A context manager: the signal's former handler comes back at the end.
    """

    def __init__(self, enabled: bool, may_interrupt: Callable[[], bool]) -> None:
        self.enabled = enabled
        self._may_interrupt = may_interrupt
        self._before: Any = None
        self._rang = -math.inf

    def __enter__(self) -> Alarm:
        if self.enabled:
            self._before = signal.signal(signal.SIGALRM, self._ring)
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

    def _ring(self, _: int, __: FrameType | None) -> None:
        now = time.monotonic()
        if self._may_interrupt() and now - self._rang >= _AGAIN / 2:  # one that waited behind another would hit who handles that
            self._rang = now
            raise OutOfTime
