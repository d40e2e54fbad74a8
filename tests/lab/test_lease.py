"""Leases: one holder at a time, whatever happens to the processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import files
from ticketlab.core.errors import LeaseLost, TicketlabError, UsageError
from ticketlab.lab import lease
from ticketlab.lab.holder import Holder
from ticketlab.lab.lease import FILE, Lease

HOLD = """
import sys
from pathlib import Path
from ticketlab.core import files
from ticketlab.core.errors import LeaseLost
from ticketlab.lab import lease
folder = Path(sys.argv[1])
held = lease.acquire(folder / ".lease", {}, title="mine", waiting=print)
print("ready", flush=True)
sys.stdin.readline()
try:
    with files.guarded(folder, held):
        files.write_text(folder / "result.json", "theirs")
    print("written")
except LeaseLost as lost:
    print(lost)
held.release()
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process that acquires the lease in a folder, writes ``result.json`` there after a line on stdin, and releases it."""
    started = []

    def begin(folder: Path, script: str = HOLD) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def take(folder: Path) -> Lease | None:
    return lease.try_acquire(folder / ".lease", {"stage": "x"}, title="x")


def test_a_lease_is_exclusive_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    held = take(folder)
    assert held is not None
    assert take(folder) is None
    found = lease.held_by(folder / ".lease")
    assert found == held.holder
    assert (found.pid, found.is_gone, found.about) == (os.getpid(), False, {"stage": "x"})
    held.release()
    held.release()
    assert lease.held_by(folder / ".lease") is None
    assert list(folder.iterdir()) == []


def test_a_waiting_process_is_told_who_holds_it_and_continues_when_it_is_free(tmp_path: Path, start: Start) -> None:
    process = start(tmp_path)
    ready(process)
    told: list[Holder] = []

    def waiting(holder: Holder) -> None:
        told.append(holder)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()

    held = lease.acquire(tmp_path / ".lease", {}, waiting=waiting)
    assert held is not None
    assert [holder.pid for holder in told] == [process.pid]
    assert str(told[0]).startswith(f"process {process.pid} on {told[0].host} (since ")
    held.release()
    assert process.communicate()[0] == "written\n"


def test_the_lease_of_a_killed_process_is_free_at_once(tmp_path: Path, start: Start) -> None:
    process = start(tmp_path)
    ready(process)
    assert take(tmp_path) is None
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and its parent has not waited for it
    held = take(tmp_path)
    assert held is not None
    held.release()


def rewrite(path: Path, **changes: Any) -> None:
    (file,) = path.glob(f"*/{FILE}")
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.fixture
def dead(tmp_path: Path) -> Path:
    """The lease of a process of this machine that renews it no more."""
    held = take(tmp_path)
    assert held is not None
    lease.heartbeat.stop(held.holder.nonce)
    return tmp_path / ".lease"


def test_a_process_with_the_id_of_an_earlier_one_does_not_hold_its_lease(dead: Path) -> None:
    rewrite(dead, started="0")
    assert lease.held_by(dead) is None


@pytest.mark.parametrize("changes", [{"machine": "another"}, {"host": "other", "machine": "another", "pid": 2**22 + 1}, None])
def test_the_lease_of_another_machine_or_a_damaged_one_is_free_after_its_stale_time(
    dead: Path, changes: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if changes is None:
        next(dead.glob(f"*/{FILE}")).write_text("")
    else:
        rewrite(dead, **changes)
    now = 1000.0
    monkeypatch.setattr(lease.time, "monotonic", lambda: now)
    for now, free in ((1000.0, False), (1059.0, False), (1061.0, True)):  # noqa: B007  # read by the clock
        assert (lease.held_by(dead) is None) == free
    os.utime(next(dead.glob(f"*/{FILE}")))  # a heartbeat
    assert lease.held_by(dead) is not None


def test_a_process_that_computes_holds_its_lease_without_heartbeats(dead: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(lease.time, "monotonic", lambda: now)
    assert lease.held_by(dead) is not None
    begun = time.process_time()
    while time.process_time() - begun < 0.05:
        pass
    now = 2000.0
    assert lease.held_by(dead) is not None


def test_an_abandoned_lease_of_another_machine_is_swept(dead: Path) -> None:
    rewrite(dead, machine="another")
    assert lease.sweep(dead) is not None
    (file,) = dead.glob(f"*/{FILE}")
    os.utime(file, (file.stat().st_mtime - 601,) * 2)
    assert lease.sweep(dead) is None
    assert not dead.exists()


def test_a_process_that_was_stopped_for_too_long_writes_nothing_over_the_next_holder(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TICKETLAB_STALE_SECONDS", "0.5")
    process = start(tmp_path)
    ready(process)
    process.send_signal(signal.SIGSTOP)
    held = lease.acquire(tmp_path / ".lease", {})
    assert held is not None
    with files.guarded(tmp_path, held):
        files.write_text(tmp_path / "result.json", "mine")
    process.send_signal(signal.SIGCONT)
    output, _ = process.communicate("\n")
    assert output == (
        f"mine: this process was stopped, or could not write, for more than 0.5 s, and {held.holder} took it over; nothing more was "
        "written; run the same command again\n"
    )
    assert (tmp_path / "result.json").read_text() == "mine"
    held.check()
    held.release()
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_what_a_lost_lease_has_staged_is_not_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, source, target = take(tmp_path), tmp_path / "source", tmp_path / "target"
    assert held is not None
    replace = Path.replace

    def stop_in_between(self: Path, to: Path) -> Path:
        done = replace(self, to)
        if self == source:
            rewrite(held.path, started="0")  # as if this process were gone
            second = take(tmp_path)
            assert second is not None
            second.release()
        return done

    monkeypatch.setattr(Path, "replace", stop_in_between)
    source.touch()
    with pytest.raises(LeaseLost):
        held.move(source, target)
    assert not target.exists()
    held.release()


def test_a_forked_process_neither_releases_nor_renews_nor_guards(tmp_path: Path) -> None:
    held = take(tmp_path)
    assert held is not None
    with files.guarded(tmp_path, held):
        pid = os.fork()
        if pid == 0:
            held.release()
            is_alone = not lease.heartbeat._beats and not files._guards
            beating = any(thread.name == "lease heartbeat" for thread in threading.enumerate())
            os._exit(0 if is_alone and not beating else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    held.check()
    held.release()


@pytest.mark.parametrize("given", ["soon", "0", "-1", "inf", "nan"])
def test_a_stale_time_that_is_none_is_an_error(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_STALE_SECONDS", given)
    with pytest.raises(UsageError, match=f"^TICKETLAB_STALE_SECONDS={given}: give a number of seconds above 0, such as 60$"):
        take(tmp_path)
    assert list(tmp_path.iterdir()) == []


COUNT = """
import sys
from collections import Counter
from pathlib import Path
from ticketlab.core import files
from ticketlab.lab import lease
folder = Path(sys.argv[1])
counts, counting = Counter(), False
def count(event, arguments):
    if counting and arguments and str(arguments[0]).startswith(str(folder)):
        counts[event] += 1
sys.addaudithook(count)
counting = True
held = lease.try_acquire(folder / ".lease", {})
held.release()
print(sum(counts.values()), counts)
counts.clear()
lease.held_by(folder / ".lease")
print(sum(counts.values()), counts)
"""


def test_a_lease_takes_few_operations_of_the_file_system(tmp_path: Path) -> None:
    output = subprocess.run([sys.executable, "-c", COUNT, tmp_path], capture_output=True, text=True, check=True).stdout
    whole, look = (int(line.split()[0]) for line in output.splitlines())
    assert whole <= 10, output
    assert look == 1, output


def test_a_dead_lease_of_another_account_is_an_error(dead: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite(dead, started="0")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    expected = rf"^{dead}: left by process {os.getpid()} on .* of another account, which has ended, .*\(umask 002\)$"
    with pytest.raises(TicketlabError, match=expected):
        take(dead.parent)


def test_heartbeats_are_frequent_and_end_with_the_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_STALE_SECONDS", "0.6")
    held = take(tmp_path)
    assert held is not None
    file = held.folder / FILE
    times = set()
    begun = time.monotonic()
    while len(times) < 4:
        times.add(file.stat().st_mtime_ns)
        time.sleep(0.01)
        assert time.monotonic() - begun < 10
    held.release()
    assert held.holder.nonce not in lease.heartbeat._beats


def test_other_files_at_its_place_end_an_attempt_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LONGEST_ATTEMPT", 0.1)
    (tmp_path / ".lease" / "note").mkdir(parents=True)
    with pytest.raises(OSError, match="holds files that are not of a lease"):
        lease.try_acquire(tmp_path / ".lease", {})
    assert [path.name for path in tmp_path.iterdir()] == [".lease"]


SECTIONS = """
import os, sys, time
from pathlib import Path
from ticketlab.core import files, processes
from ticketlab.core.errors import LeaseLost
from ticketlab.lab import lease
folder = Path(sys.argv[1])
if sys.argv[2] == "many":
    processes.machine = lambda: str(os.getpid())
number = 0
while True:
    section = f"{os.getpid()}-{number}"
    held = lease.acquire(folder / ".lease", {})
    try:
        with files.guarded(folder, held):
            sections = files.read_json(folder / "sections.json")
            time.sleep(0.02)
            files.write_json(folder / "sections.json", [*sections, section])
        print(section, flush=True)
    except LeaseLost:
        pass
    finally:
        held.release()
    number += 1
"""


@pytest.mark.system
@pytest.mark.timeout(180)
@pytest.mark.parametrize("machines", ["one", "many"])
def test_no_section_is_lost_while_processes_are_killed_and_stopped(machines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import random

    monkeypatch.setenv("TICKETLAB_STALE_SECONDS", "0.5")
    files.write_json(tmp_path / "sections.json", [])
    done = (tmp_path / "done").open("ab")

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", SECTIONS, tmp_path, machines], stdout=done)

    running = [begin() for _ in range(5)]
    kills, stopped = 0, {}
    chance = random.Random(seed := int.from_bytes(os.urandom(4)))
    end = time.monotonic() + 20
    try:
        while time.monotonic() < end:
            time.sleep(0.05)
            holder = lease.held_by(tmp_path / ".lease")
            for process, until in list(stopped.items()):
                if time.monotonic() > until:
                    process.send_signal(signal.SIGCONT)
                    del stopped[process]
            chosen = next((process for process in running if holder is not None and process.pid == holder.pid), running[0])
            if chosen not in stopped and chance.random() < 0.2:
                if chance.random() < 0.5:
                    chosen.kill()
                    running[running.index(chosen)] = begin()
                    kills += 1
                elif len(stopped) < 3:
                    chosen.send_signal(signal.SIGSTOP)
                    stopped[chosen] = time.monotonic() + chance.uniform(0, 2)
    finally:
        for process in running:
            process.kill()
            process.wait()
    sections = Counter(files.read_json(tmp_path / "sections.json"))
    completed = set((tmp_path / "done").read_text().split())
    assert set(sections.values()) == {1}, f"seed {seed}"
    assert completed <= set(sections), f"seed {seed}"
    assert len(sections) - len(completed) <= kills + len(running), f"seed {seed}"  # killed between the write and the report
    assert len(completed) > 10
