"""Worker processes of the executor `local`: what becomes of a work whose process ends, and how cores, GPUs and memory are shared out."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors import processes
from ticketlab.executors.base import Message, Outcome, Session, Work, WorkResources

GB = 10**9
WORKER = """
import json, os, signal, sys
session = json.loads(sys.stdin.readline())
for line in sys.stdin:
    work = json.loads(line)
    key, asked = work["key"], work["arguments"]
    if "say" in asked:
        print(json.dumps({"message": {"key": key, "place": "here", "kind": "own", "payload": asked["say"]}}), flush=True)
    if "dies" in asked:
        os.kill(os.getpid(), signal.SIGKILL)
    if "ends" in asked:
        print("it cannot be imported", file=sys.stderr)
        sys.exit(3)
    known = {"session": session, "gpu": os.environ.get("CUDA_VISIBLE_DEVICES"), "threads": os.environ["OMP_NUM_THREADS"]}
    answer = {"key": key, "answer": {name: known[name] for name in asked.get("tell", ())}, "error": asked.get("error", "")}
    if "waits" in asked:
        sys.stdin.readline()
    print(json.dumps({"outcome": answer}), flush=True)
    if "last" in asked:
        break
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are a program that does what the arguments of a work say."""
    (tmp_path / "answering_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(processes, "MODULE", "answering_worker")


def pool(**more: Any) -> tuple[processes.Processes, list[Message]]:
    """Return an execution of two processes, and the list that it puts messages into."""
    messages: list[Message] = []
    session = Session("lab", Path("log.jsonl"), 2, 3, PluginSelection(("plugin.py",), True, ("other",)))
    return processes.Processes(session, messages.append, 2, **more), messages


def work(key: str, resources: WorkResources | None = None, **arguments: Any) -> Work:
    return Work(key, key, "module:function", arguments, resources or WorkResources())


@pytest.mark.usefixtures("worker")
def test_a_work_is_answered_by_its_key_after_its_messages() -> None:
    running, messages = pool()
    with running:
        running.start(work("a", say=[1, 2]))
        running.start(work("b", error="it failed"))
        found = {outcome.key: outcome for outcome in (running.wait(), running.wait()) if outcome is not None}
        assert (found["a"].error, found["b"].error) == ("", "it failed")
        assert messages == [Message("a", "here", "own", [1, 2])]
        assert running.wait(0.01) is None


@pytest.mark.usefixtures("worker")
def test_a_work_whose_process_is_killed_is_lost_and_others_are_not() -> None:
    running, _ = pool()
    with running:
        running.start(work("a", dies=True))
        lost = running.wait()
        assert lost is not None
        assert (lost.key, lost.lost) == ("a", True)
        assert signal.SIGKILL.name in lost.error
        running.start(work("b"))
        assert running.wait() == Outcome("b", answer={})


@pytest.mark.usefixtures("worker")
def test_the_last_line_of_a_process_that_ends_is_part_of_the_error() -> None:
    running, messages = pool()
    with running:
        running.start(work("a", ends=True))
        lost = running.wait()
    assert lost is not None
    assert lost.lost
    assert lost.error == "the worker process ended with status 3: it cannot be imported"
    assert [message.payload for message in messages] == ["it cannot be imported"]


@pytest.mark.usefixtures("worker")
def test_a_process_that_ends_between_two_works_is_replaced() -> None:
    running, _ = pool()
    with running:
        running.start(work("a", last=True))
        assert running.wait() == Outcome("a", answer={})
        running._processes[0].process.wait()
        running.start(work("b"))
        outcome = running.wait()
        assert outcome is not None
        if outcome.lost:  # it was given the work before its end was noticed
            running.start(work("b"))
            outcome = running.wait()
        assert outcome == Outcome("b", answer={})


@pytest.mark.usefixtures("worker")
def test_files_in_the_working_directory_replace_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "json.py").write_text("raise SystemExit('not the library')")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("sys.path", [path for path in sys.path if path not in ("", str(tmp_path / "here"))])
    running, _ = pool()
    with running:
        running.start(work("a"))
        assert running.wait() == Outcome("a", answer={})


@pytest.mark.usefixtures("worker")
def test_workers_get_the_session_and_each_sees_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5ab")
    running, _ = pool(gpus=("3", "GPU-5ab"))
    with running:
        running.start(work("a", tell=["session", "gpu", "threads"]))
        running.start(work("b", tell=["gpu"]))
        answers = {outcome.key: outcome.answer for outcome in (running.wait(), running.wait()) if outcome is not None}
    assert {answers["a"]["gpu"], answers["b"]["gpu"]} == {"3", "GPU-5ab"}
    assert answers["a"]["threads"] == "3"
    assert Session.from_table(answers["a"]["session"]) == running.session


@pytest.mark.usefixtures("worker")
def test_no_more_run_than_there_are_slots_and_memory_for() -> None:
    running, messages = pool(memory=10 * GB)
    small, large = WorkResources(memory=3 * GB), WorkResources(memory=12 * GB)
    with running:
        assert running.accepts(large)  # it runs alone, with a warning
        running.start(work("large", large))
        assert "needs about 12 GB, and the limit is 10 GB" in messages[0].payload
        assert not running.accepts(small)
        running.wait()
        running.start(work("a", small, waits=True))
        assert not running.accepts(large)
        assert running.accepts(small)
        running.start(work("b", small, waits=True))
        assert not running.accepts(WorkResources())


@pytest.mark.usefixtures("worker")
def test_closing_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "SECONDS_TO_STOP", 10.0)
    running, _ = pool()
    with running:
        running.start(work("a", waits=True))
        running.start(work("b"))
        running.wait()
        started = [process.process for process in running._processes]
        begun = time.monotonic()
    assert all(process.poll() is not None for process in started)
    assert time.monotonic() - begun < 5


class Hung:
    """A process that does not end by itself. Time passes only while it is waited for."""

    stdin = None
    now = 0.0

    def __init__(self) -> None:
        self.is_killed = False

    def send_signal(self, number: int) -> None:
        assert number == signal.SIGTERM

    def kill(self) -> None:
        self.is_killed = True

    def wait(self, timeout: float | None = None) -> None:
        if timeout is not None:
            Hung.now += timeout
            raise subprocess.TimeoutExpired("worker", timeout)
        assert self.is_killed


def test_processes_that_do_not_stop_have_one_minute_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: Hung.now))
    running, _ = pool()
    hung: list[Any] = [Hung() for _ in range(3)]
    running._processes.extend(processes._Process(process, work=work("a")) for process in hung)
    running.close()
    assert all(process.is_killed for process in hung)
    assert Hung.now == pytest.approx(60)


@pytest.mark.parametrize("selection", [PluginSelection(), PluginSelection(("a.py",), False), PluginSelection((), True, ("x", "y"))])
def test_a_session_survives_being_sent(selection: PluginSelection) -> None:
    session = Session("s3://bucket/lab", Path("/x/log.jsonl"), None, 1, selection)
    assert Session.from_table(session.to_table()) == session
