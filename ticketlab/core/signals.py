"""Signals by name: those that this system has, and ignoring them."""

from __future__ import annotations

import signal


def numbers(*names: str) -> list[int]:
    """Return the numbers of signals, without those that this system lacks, as Windows lacks SIGHUP."""
    return [int(getattr(signal, name)) for name in names if hasattr(signal, name)]


def ignore(*names: str) -> None:
    """Ignore signals in this process."""
    for number in numbers(*names):
        signal.signal(number, signal.SIG_IGN)


def name_of(number: int) -> str:
    """Return the name of a signal, such as SIGKILL; ``signal N`` if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
