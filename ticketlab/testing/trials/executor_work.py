"""Work that the conformance tests of executors run: functions that do what their arguments say, in whichever process runs them."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticketlab.core import progress, registry
from ticketlab.core.errors import Interrupted, TicketlabError
from ticketlab.executors.base import Work, WorkResources
from ticketlab.executors.worker import Worker, place
from ticketlab.training import interruption

MODULE = "ticketlab.testing.trials.executor_work"
SAID = 3
SECONDS = 60.0
"""How long a work waits for what another one does."""


def work(key: str, function: str, **arguments: Any) -> Work:
    """Return the work of a function of this module, which needs one core."""
    return Work(key, f"work {key}", f"{MODULE}:{function}", arguments, WorkResources())


def answer(arguments: Mapping[str, Any], worker: Worker) -> dict[str, Any]:
    """Say some messages, write a line to the file ``done``, and return what the process is like."""
    import torch

    for number in range(SAID):
        worker.say("number", number)
    progress.warn(f"a warning of {worker.key}")
    with Path(arguments["done"]).open("a", encoding="utf-8") as file:
        file.write(f"{worker.key}\n")
    plugins = registry.current().names("adversary")
    return {"place": place(), "pid": os.getpid(), "threads": torch.get_num_threads(), "adversaries": plugins, "said": arguments.get("text")}


def meet(arguments: Mapping[str, Any], worker: Worker) -> bool:
    """Wait until ``number`` of these works run at a time: each has a file in ``folder``. Return whether they do."""
    folder = Path(arguments["folder"])
    (folder / worker.key).touch()
    until = time.monotonic() + SECONDS
    while len(list(folder.iterdir())) < arguments["number"]:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def fail(arguments: Mapping[str, Any], worker: Worker) -> None:
    """Raise an error of ours, or another one with two lines."""
    if arguments["ours"]:
        raise TicketlabError("it is missing")
    raise ValueError("two\nlines")


def fill_disk(arguments: Mapping[str, Any], worker: Worker) -> None:
    """Raise what writing to a full disk raises."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")


def die(arguments: Mapping[str, Any], worker: Worker) -> str:
    """Kill this process, unless it is that of the driver."""
    if os.getpid() == arguments["driver"]:
        return "driver"
    os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    return "alive"


def train(arguments: Mapping[str, Any], worker: Worker) -> None:
    """Create the file ``begun``, and take steps as a training does. When it is interrupted, it writes the file ``saved``, and stops."""
    with interruption.delayed() as received:
        Path(arguments["begun"]).write_text(place(), encoding="utf-8")
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(0.05)
            if received():
                time.sleep(0.5)  # a checkpoint takes some time
                Path(arguments["saved"]).touch()
                raise Interrupted("interrupted")
