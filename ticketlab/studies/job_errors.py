"""Errors of the stages of a study as one-line messages, in this process and in the answers of workers."""

from __future__ import annotations

from ticketlab.core import debugging, disk_and_memory, plugin_errors
from ticketlab.core.errors import OutOfSpace, TicketlabError

OUT_OF_SPACE = "out_of_space"
"""Key of a worker's answer: the disk is full, so no other stage can be computed either."""


def message_of(problem: Exception) -> str:
    """Return the one-line message of an error. Its traceback is printed if tracebacks are requested.

    :raises OutOfSpace: the disk is full.
    """
    debugging.print_traceback(problem)
    problem = disk_and_memory.explained(problem) or plugin_errors.explained(problem) or problem
    if isinstance(problem, OutOfSpace):
        raise problem
    text = " ".join(str(problem).split())
    return text if isinstance(problem, TicketlabError) else f"{type(problem).__name__}: {text}"
