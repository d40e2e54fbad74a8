"""Ctrl-C, SIGTERM and SIGHUP from the first line on: each ends the command with one line and its exit code, whatever is running.

Python would raise KeyboardInterrupt wherever it is. Inside an import that leaves half a module, which a library may report as a package
that is missing, or a C extension as a reason to abort; inside a finalizer it is dropped. There the process ends at once instead, which
loses nothing: what a lab holds is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

IMPORTING = "<frozen importlib._bootstrap"
SHOW_CURSOR = "\x1b[?25h"
RESUME = "the same command resumes from there"
LINES = {"SIGINT": f"interrupted; {RESUME}", "SIGTERM": f"terminated; {RESUME}", "SIGHUP": f"the terminal was closed; {RESUME}"}


class Stopped(KeyboardInterrupt):
    """A signal that ends the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def install() -> None:
    """Handle the signals from here on; those that are ignored (nohup, a script's background) stay ignored."""
    for name in LINES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    sys.unraisablehook = _unraisable


def end() -> None:
    """Let a signal end the process at once, without a word: the command has said how it ended, and torch takes a while to leave."""
    for name in LINES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _stop:
            signal.signal(number, lambda came, _: os._exit(128 + came))


def line(number: int) -> str:
    """Return what is said when the signal ends a command."""
    return LINES.get(signal.Signals(number).name, LINES["SIGINT"])


_stopping = False


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise :class:`Stopped`, or end the process: a second signal, and one that arrives inside an import, do so at once."""
    global _stopping
    if _stopping or _is_importing(frame):
        _leave(number)
    _stopping = True
    raise Stopped(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTING):
            return True
        frame = frame.f_back
    return False


def _leave(number: int) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, f"{SHOW_CURSOR if os.isatty(2) else ''}{line(number)}\n".encode())
    os._exit(128 + number)


def _unraisable(found: Any) -> None:
    """End the process where the signal was raised in a finalizer or a callback, which Python would report and forget."""
    if isinstance(found.exc_value, Stopped):
        _leave(found.exc_value.number)
    sys.__unraisablehook__(found)
