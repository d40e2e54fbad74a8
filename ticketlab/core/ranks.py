"""The environment of a process that trains together with others, as ``torchrun``, ``accelerate launch`` and ``--processes`` set it."""

from __future__ import annotations

import os

RANK, NUMBER, LOCAL_RANK, ADDRESS = "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"
MEETING_FILE = "TICKETLAB_MEETING_FILE"
"""The variable with the file in which the processes of ``--processes`` find each other."""


def number() -> int:
    """Return the number of processes that train together; 1 if this one is alone."""
    found = all(name in os.environ for name in (RANK, NUMBER)) and (ADDRESS in os.environ or MEETING_FILE in os.environ)
    return int(os.environ[NUMBER]) if found else 1


def rank() -> int:
    """Return the number of this process among them, from 0."""
    return int(os.environ[RANK]) if number() > 1 else 0


def local_rank() -> int:
    """Return its number among those on this machine."""
    return int(os.environ.get(LOCAL_RANK, rank()))


def follows() -> bool:
    """Return whether this process only takes part in trainings, which process 0 tells it about."""
    return rank() > 0


def is_supervised() -> bool:
    """Return whether ``--processes`` started this process, and reports how it ends."""
    return MEETING_FILE in os.environ
