"""Random seeds and the states of random generators: of one attacked example, and of a training, for its checkpoints."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from attrs import frozen
from torch import Tensor


def derive_seed(seed: int, *parts: object) -> int:
    """Return a seed of 63 bits for one purpose, so that equal run seeds do not mean equal random numbers everywhere."""
    text = "/".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def example_seed(seed: int, example_id: str) -> int:
    """Return 32 bits that depend on the run's seed and the example's id, and on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{example_id}".encode()).digest()[:4], "big")


def capture() -> dict[str, Tensor]:
    """Return the states of the CPU generator and of every CUDA generator in use."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda{index}": state for index, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def restore(states: dict[str, Tensor]) -> None:
    """Put the generators back into captured states."""
    torch.set_rng_state(states["cpu"].cpu())
    for name, state in states.items():
        if name.startswith("cuda"):
            torch.cuda.set_rng_state(state.cpu(), int(name.removeprefix("cuda")))


@frozen
class RandomState:
    """The states of Python, numpy and torch (CPU)."""

    python: Any
    legacy: Any
    tensors: Tensor

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
        seed_all(seed)
        yield


def seed_all(seed: int) -> None:
    """Let every random state start from ``seed``."""
    random.seed(seed)
    np.random.seed(seed)  # the legacy state, because textattack draws from it
    torch.default_generator.manual_seed(seed)
