"""Signals that end a training: the first lets the current step end, so that the loop writes a checkpoint and stops."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from ticketlab.core.errors import HungUp, Interrupted, Terminated

ERRORS: dict[int, type[Interrupted]] = {
    getattr(signal, name): error
    for name, error in (("SIGINT", Interrupted), ("SIGTERM", Terminated), ("SIGHUP", HungUp))
    if hasattr(signal, name)
}
"""What each signal ends a command with: Ctrl-C, a scheduler's request, a closed terminal."""


def error(number: int, message: str) -> Interrupted:
    """Return the error for a signal of :data:`ERRORS`."""
    return ERRORS.get(number, Interrupted)(message)


def heeded() -> dict[int, object]:
    """Return the handlers of the signals of :data:`ERRORS`, less those that are ignored: under nohup, or in a script's background."""
    handlers = {number: signal.getsignal(number) for number in ERRORS}
    return {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}


@contextlib.contextmanager
def delayed() -> Iterator[Callable[[], int]]:
    """Hold the first signal of :data:`ERRORS` back inside the block and yield a function that returns it, or 0 where none came.

    A second signal does what it would have done outside.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    came = 0
    before = heeded()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what getsignal returned

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = number
        restore()

    for number in before:
        signal.signal(number, remember)
    try:
        yield lambda: came
    finally:
        restore()


@contextlib.contextmanager
def blocked() -> Iterator[None]:
    """Let the signals of :data:`ERRORS` wait until the block ends; a process that starts inside lets them wait until :func:`unblock`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ERRORS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unblock() -> None:
    """Let the signals of :data:`ERRORS` through, those that have been waiting first."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ERRORS)
