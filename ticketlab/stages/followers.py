"""The followers of a training by several processes: they run the stages that process 0 trains, without writing anything to the lab."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from ticketlab.backbone.device import be_deterministic, remember_shapes
from ticketlab.core import disk_and_memory
from ticketlab.core.errors import TicketlabError
from ticketlab.training import interruption
from ticketlab.training.parallel import Group, LostProcess


class Followed(Exception):
    """Raised in a follower at the end of a training. What follows in the stage is for process 0."""


def ignored(record: Mapping[str, Any]) -> None:
    """Take a record of the log of a follower, which has none."""


def follow(group: Group) -> int:
    """Take part in the trainings of process 0 until it ends, and return the exit code of this process.

    Nothing is printed: process 0 prints the message of a failure here. Signals are for process 0, which tells this one to end.
    """
    for number in interruption.ERRORS:
        signal.signal(number, signal.SIG_IGN)
    be_deterministic()
    remember_shapes()
    try:
        while (work := group.share()) is not None:
            stage, context = work
            with tempfile.TemporaryDirectory(prefix="ticketlab-follower-") as folder:
                try:
                    stage.run(evolve(context, directory=Path(folder), warnings=[], input_warnings=[]))
                except Followed:
                    continue
                raise TicketlabError(f"the stage {context.name} ended without a training, which process 0 has begun")
    except LostProcess:
        return 1
    except Exception as problem:
        group.report_failure(str(disk_and_memory.explained(problem) or problem) or type(problem).__name__)
        return 1
    return 0
