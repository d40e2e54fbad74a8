"""Random states of one example: seeded from the run's seed and the example's id, and put back afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator

import numpy as np
import torch


def seed_of(seed: int, example_id: str) -> int:
    """Return 32 bits that depend on the run's seed and the example's id, and on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{example_id}".encode()).digest()[:4], "big")


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Put the random states of Python, numpy and torch (CPU) back when the block ends."""
    python, legacy, tensors = random.getstate(), np.random.get_state(), torch.random.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)
        torch.random.set_rng_state(tensors)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run the block on random states that start from ``seed``; they are put back when it ends."""
    with preserved():
        random.seed(seed)
        np.random.seed(seed)  # the legacy state, because textattack draws from it
        torch.default_generator.manual_seed(seed)
        yield
