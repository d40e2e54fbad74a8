"""The number of threads that stages are planned and computed with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from ticketlab.executors.base import Executor


@contextlib.contextmanager
def threads_of_a_stage(executor: Executor, jobs: int | None) -> Iterator[None]:
    """Use as many threads as each of an executor's stages while the block runs: stages are planned with the number they are computed with.

    :raises UsageError: the executor cannot compute ``jobs`` stages at a time.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(executor.threads(jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)
