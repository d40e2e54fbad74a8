"""The number of threads that stages are planned and computed with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ticketlab.backbone.device import threads
from ticketlab.executors.base import Executor


@contextlib.contextmanager
def threads_of_a_stage(executor: Executor, jobs: int | None) -> Iterator[None]:
    """Use as many threads as each of an executor's stages while the block runs: stages are planned with the number they are computed with.

    :raises UsageError: the executor cannot compute ``jobs`` stages at a time.
    """
    with threads(executor.threads(jobs)):
        yield
