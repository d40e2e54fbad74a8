"""Functions that workers call in tests of executors."""

import os
import time
from pathlib import Path

import torch

from ticketlab.core import registry
from ticketlab.training import interruption


def describe(arguments, worker):
    """Return what a work finds where it runs, after as many messages as requested."""
    for number in range(arguments.get("messages", 0)):
        worker.say("say", number)
    time.sleep(arguments.get("seconds", 0))
    return {"threads": torch.get_num_threads(), "node": os.environ.get("NODE", ""), "gpus": os.environ.get("CUDA_VISIBLE_DEVICES")}


def fail(arguments, worker):
    raise ValueError("the value\nis wrong")


def train(arguments, worker):
    """Write the process id to a file, and after an interruption a checkpoint beside it."""
    place = Path(arguments["place"])
    place.write_text(str(os.getpid()))
    with interruption.delayed() as interrupted:
        while not interrupted():
            time.sleep(0.05)
        place.with_suffix(".checkpoint").write_text("")
        raise interruption.error(interrupted(), "stopped")


def version_of(arguments, worker):
    """Return the version of a component, which is part of keys."""
    known = registry.current()
    component = known.get(arguments["kind"], arguments["name"])()
    return known.version(component)
