"""Random states of one example: seeded from the run's seed and the example's id, and put back afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from attrs import frozen


def seed_of(seed: int, example_id: str) -> int:
    """Return 32 bits that depend on the run's seed and the example's id, and on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{example_id}".encode()).digest()[:4], "big")


@frozen
class RandomState:
    """The states of Python, numpy and torch (CPU)."""

    python: Any
    legacy: Any
    tensors: torch.Tensor

    @classmethod
    def now(cls) -> RandomState:
        """Return the states as they are."""
        return cls(random.getstate(), np.random.get_state(), torch.random.get_rng_state())

    def restore(self) -> None:
        """Make these the states."""
        random.setstate(self.python)
        np.random.set_state(self.legacy)
        torch.random.set_rng_state(self.tensors)


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Put the random states back when the block ends."""
    before = RandomState.now()
    try:
        yield
    finally:
        before.restore()


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run the block on random states that start from ``seed``; they are put back when it ends."""
    with preserved():
        start(seed)
        yield


def start(seed: int) -> None:
    """Let every random state start from ``seed``."""
    random.seed(seed)
    np.random.seed(seed)  # the legacy state, because textattack draws from it
    torch.default_generator.manual_seed(seed)
