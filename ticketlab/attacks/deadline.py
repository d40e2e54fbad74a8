"""A limit on the time of one example. What it interrupts may be anything: a slow attack, a regular expression, a sleep."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ticketlab.errors import UsageError


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


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise :class:`OutOfTime` inside the block once ``seconds`` have passed; None is no limit. :func:`check` says whether it can."""
    if seconds is None:
        yield
        return

    def ring(_: int, __: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
