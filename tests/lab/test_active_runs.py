"""Runs in progress are known to other processes, until their process ends, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from ticketlab.lab.active_runs import ActiveRun, active_runs, lab_lock, registered

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
    assert [path.name for path in (tmp_path / "active").iterdir()] == []


def test_the_run_of_a_killed_process_is_not_active(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert [run.run for run in active_runs(tmp_path)] == ["other"]
    process.kill()
    process.wait()
    process.stdout.close()
    assert active_runs(tmp_path) == []
    assert not list((tmp_path / "active").iterdir())


def test_registrations_of_earlier_versions_count_for_a_day(tmp_path: Path) -> None:
    active = tmp_path / "active"
    active.mkdir()
    (active / ".lock").touch()
    os.utime(active / ".lock", (0, 0))
    for name, days in (("now", 0), ("old", 2)):
        for end, content in ((".json", f'{{"run": "{name}", "keys": ["{"ab" * 32}"]}}'), (".lock", "")):
            path = active / f"abcdef-1-{name}{end}"
            path.write_text(content)
            os.utime(path, (time.time() - days * 24 * 3600,) * 2)
    assert active_runs(tmp_path) == [ActiveRun("now", frozenset(["ab" * 32]))]
    assert sorted(path.name for path in active.iterdir()) == ["abcdef-1-now.json", "abcdef-1-now.lock"]
    with lab_lock(tmp_path), registered(tmp_path, "mine", []):
        assert {run.run for run in active_runs(tmp_path)} == {"now", "mine"}
