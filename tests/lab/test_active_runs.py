"""Runs in progress are known to other processes, until their process ends, however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ticketlab.lab.active_runs import active_runs, lab_lock, registered

HOLD = """
import sys, time
from pathlib import Path
from ticketlab.lab.active_runs import lab_lock, registered
lab = Path(sys.argv[1])
with lab_lock(lab):
    entered = registered(lab, "other", ["ab" * 32])
    entered.__enter__()
print("ready", flush=True)
time.sleep(60)
"""


def test_a_run_is_active_while_its_block_runs(tmp_path: Path) -> None:
    with lab_lock(tmp_path):
        first = registered(tmp_path, "mine", ["ab" * 32])
        first.__enter__()
    with registered(tmp_path, "mine", ["cd" * 32]):
        assert [(run.run, run.keys) for run in active_runs(tmp_path)].count(("mine", frozenset(["ab" * 32]))) == 1
        assert len(active_runs(tmp_path)) == 2
    first.__exit__(None, None, None)
    assert active_runs(tmp_path) == []
    assert [path.name for path in (tmp_path / "active").iterdir() if path.name != ".lock"] == []


def test_the_run_of_a_killed_process_is_not_active(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert [run.run for run in active_runs(tmp_path)] == ["other"]
    process.kill()
    process.wait()
    process.stdout.close()
    assert active_runs(tmp_path) == []
    assert not list((tmp_path / "active").glob("*.json"))
