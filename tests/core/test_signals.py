"""Signals by name."""

import signal
import subprocess
import sys

from ticketlab.core import signals


def test_numbers_leave_out_what_the_system_lacks() -> None:
    assert signals.numbers("SIGINT", "SIGNOTHING", "SIGTERM") == [signal.SIGINT, signal.SIGTERM]


def test_a_signal_without_a_name_is_called_by_its_number() -> None:
    assert [signals.name_of(number) for number in (9, 200)] == ["SIGKILL", "signal 200"]


def test_an_ignored_signal_does_not_end_a_process() -> None:
    code = """
import os, signal
from ticketlab.core import signals

signals.ignore("SIGTERM")
os.kill(os.getpid(), signal.SIGTERM)
print("alive")
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "alive\n"
