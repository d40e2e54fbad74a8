"""A worker process of this machine: reads a session and then works as JSON lines on stdin, and writes messages and outcomes on stdout.

It ends when its stdin is closed, or when the process that started it has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from typing import Any

from attrs import asdict

from ticketlab.core import openmp, signals
from ticketlab.core.child_processes import end_with_parent

MESSAGE, OUTCOME = "message", "outcome"


def main() -> None:
    """Run works until stdin is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not be taken for an answer
    signals.ignore("SIGINT", "SIGHUP")  # the driver gets them too, and stops its workers
    end_with_parent()  # another worker may compute its stage then
    openmp.let_threads_sleep()

    from ticketlab.core.errors import Interrupted
    from ticketlab.executors.base import Message, Session, Work
    from ticketlab.executors.worker import run_work, set_up

    writing = threading.Lock()

    def write(kind: str, value: dict[str, Any]) -> None:
        with writing:
            answers.write(f"{json.dumps({kind: value})}\n")
            answers.flush()

    def send(message: Message) -> None:
        write(MESSAGE, asdict(message, recurse=False))

    worker = set_up(Session.from_table(json.loads(sys.stdin.readline())), send)
    with contextlib.suppress(Interrupted, KeyboardInterrupt):
        for line in sys.stdin:
            write(OUTCOME, asdict(run_work(Work.from_table(json.loads(line)), worker), recurse=False))


if __name__ == "__main__":
    main()
