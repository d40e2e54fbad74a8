"""What Ray's errors mean, in a line."""

from __future__ import annotations

import ray


def last_line(problem: Exception) -> str:
    """Return the last line of the message: the error itself, after its traceback."""
    return str(problem).strip().splitlines()[-1].strip()


def why_lost(problem: Exception) -> str:
    """Return why a task has no answer."""
    if isinstance(problem, ray.exceptions.OutOfMemoryError):
        return "Ray ended the worker process because the memory of its node was used up; see the setting `memory`"
    if isinstance(problem, ray.exceptions.NodeDiedError):
        return "the node that computed it has left the Ray cluster"
    if isinstance(problem, ray.exceptions.WorkerCrashedError):
        return "the worker process has died; is there enough memory?"
    return f"{type(problem).__name__}: {str(problem).strip().splitlines()[0]}"
