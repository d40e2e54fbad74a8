"""What workers say: records go to the log with their place, lines to stderr, and how far they are to the terminal."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import progress
from ticketlab.core.live import LiveLines
from ticketlab.executors.base import Message
from ticketlab.runs.log import LogFile
from ticketlab.studies.monitor import MessageMonitor


class Lines(LiveLines):
    """Remembers what it is to show."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Any] = []

    def update(self, key: str, title: str, *, done: int, total: int, note: str = "") -> None:
        self.shown.append((key, title, done, total, note))


def test_messages_of_other_threads_wait_for_the_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, lines = tmp_path / "log.jsonl", Lines()
    monitor = MessageMonitor(LogFile(log), {"a": "sst2 seed 0 finetune"}.__getitem__, lines)
    state = {"title": "epoch 1", "total": 9, "done": 3, "note": "loss 0.5"}
    messages = [
        Message("a", "host 7", "log", {"event": "start"}),
        Message("a", "host 7", "warn", "take care"),
        Message("a", "host 7", "bar", state),
        Message("a", "host 7", "unknown", None),
    ]

    def send() -> None:
        for message in messages:
            monitor.receive(message)

    sender = threading.Thread(target=send)
    sender.start()
    sender.join()
    assert not log.exists()
    monitor.handle()
    monitor.receive(Message("a", "host 8", "log", {"event": "epoch"}))  # from the driver's own thread: at once
    assert [json.loads(line) for line in log.read_text().splitlines()] == [
        {"event": "start", "place": "host 7"},
        {"event": "epoch", "place": "host 8"},
    ]
    assert capsys.readouterr().err == "warning: take care\n"
    assert lines.shown == [("a", "sst2 seed 0 finetune: epoch 1", 3, 9, "loss 0.5")]


def test_what_a_worker_would_print_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    sent: list[Any] = []
    with progress.sent_to(lambda kind, payload: sent.append((kind, payload))):
        progress.say("a line")
        progress.notice("about inputs")
        with progress.warnings_once():
            progress.warn("take care")
            progress.warn("take care")
        with progress.bar("epoch 1", 3, done=1) as bar:
            bar.advance()  # too early for another message
        with progress.silent():
            progress.say("nothing")
    state = {"title": "epoch 1", "total": 3, "done": 1, "note": ""}
    assert sent == [("say", "a line"), ("notice", "about inputs"), ("warn", "take care"), ("bar", state)]
    assert capsys.readouterr().err == ""
