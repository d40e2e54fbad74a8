"""Signals that interrupt training. After the first one the current step is finished, a checkpoint is written, and the loop stops."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from ticketlab.core import signals
from ticketlab.core.errors import HungUp, Interrupted, Terminated

ERRORS: dict[int, type[Interrupted]] = {
    number: error
    for name, error in (("SIGINT", Interrupted), ("SIGTERM", Terminated), ("SIGHUP", HungUp))
    for number in signals.numbers(name)
}
"""The error that each signal ends a command with: Ctrl-C, a request of a scheduler, a closed terminal."""


def error(number: int, message: str) -> Interrupted:
    """Return the error for a signal of :data:`ERRORS`."""
    return ERRORS.get(number, Interrupted)(message)


def active_handlers() -> dict[int, object]:
    """Return the handlers of the signals of :data:`ERRORS`, except ignored signals, as under nohup or in a background job of a script."""
    handlers = {number: signal.getsignal(number) for number in ERRORS}
    return {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}


@contextlib.contextmanager
def delayed() -> Iterator[Callable[[], int]]:
    """Defer the first signal of :data:`ERRORS` inside the block. Yields a function that returns its number, or 0 if there was none.

    A second signal has its usual effect, and so has the first if the block ends without an error.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    received = 0
    before = active_handlers()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what getsignal returned

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal received
        received = number
        restore()

    for number in before:
        signal.signal(number, remember)
    try:
        yield lambda: received
    finally:
        restore()
    if received:  # the block has ended without an error for it
        signal.raise_signal(received)


@contextlib.contextmanager
def blocked() -> Iterator[None]:
    """Block the signals of :data:`ERRORS` until the end of the block. A process started inside keeps them blocked until :func:`unblock`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ERRORS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unblock() -> None:
    """Unblock the signals of :data:`ERRORS`. Pending ones are delivered at once."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ERRORS)
