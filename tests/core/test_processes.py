"""Whether a process of this machine still runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ticketlab.core import processes


@pytest.mark.parametrize("has_proc", [True, False])
def test_the_state_of_a_process_is_known_with_and_without_proc(has_proc: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not has_proc:
        monkeypatch.setattr(processes, "PROC", tmp_path)
    state = processes.state_of(os.getpid())
    assert state is not None
    assert state.started == processes.state_of(os.getpid()).started  # type: ignore[union-attr]
    assert not processes.is_gone(os.getpid(), state.started)
    assert processes.is_gone(os.getpid(), "earlier")
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.is_gone(child.pid)
    child.wait()
    assert processes.is_gone(child.pid)
