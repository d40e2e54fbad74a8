"""Handles Ctrl-C, SIGTERM and SIGHUP: each ends the command with a one-line message and its exit code, whatever is running.

By default Python raises KeyboardInterrupt at whatever point it has reached. Inside an import that leaves a partly initialised module,
which a library may report as a missing package and a C extension may abort on; inside a finalizer the exception is dropped. In these
two cases the process exits at once instead. Nothing is lost, because files in a lab are written atomically.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

from ticketlab.core import signals

IMPORTING = "<frozen importlib._bootstrap"
SHOW_CURSOR = "\x1b[?25h"
RESUME = "run the same command again to resume"
MESSAGES = {"SIGINT": f"interrupted; {RESUME}", "SIGTERM": f"terminated; {RESUME}", "SIGHUP": f"the terminal was closed; {RESUME}"}


class SignalReceived(KeyboardInterrupt):
    """Raised when a signal ends the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def install() -> None:
    """Install the handlers. Signals that are ignored (under nohup, or in a background job) stay ignored."""
    for number in signals.numbers(*MESSAGES):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    sys.unraisablehook = _exit_if_unraisable


def exit_without_message() -> None:
    """Let further signals end the process at once and silently: the command has reported its outcome, and torch is slow to shut down."""
    for number in signals.numbers(*MESSAGES):
        if signal.getsignal(number) is _handle:
            signal.signal(number, lambda received, _: os._exit(128 + received))


def message(number: int) -> str:
    """Return the message for a signal that ends a command."""
    return MESSAGES.get(signal.Signals(number).name, MESSAGES["SIGINT"])


_stopping = False


def _handle(number: int, frame: FrameType | None) -> None:
    """Raise :class:`SignalReceived`; exit at once on a second signal, or inside an import."""
    global _stopping
    if _stopping or _is_importing(frame):
        _exit_now(number)
    _stopping = True
    raise SignalReceived(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTING):
            return True
        frame = frame.f_back
    return False


def _exit_now(number: int) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, f"{SHOW_CURSOR if os.isatty(2) else ''}{message(number)}\n".encode())
    os._exit(128 + number)


def _exit_if_unraisable(unraisable: Any) -> None:
    """Exit if the signal arrived in a finalizer or a callback, whose exceptions Python prints and ignores."""
    if isinstance(unraisable.exc_value, SignalReceived):
        _exit_now(unraisable.exc_value.number)
    sys.__unraisablehook__(unraisable)
