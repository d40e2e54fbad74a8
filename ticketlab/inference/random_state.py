"""Seeds and states of random generators, for attacked examples and for checkpoints of training runs."""

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
    """Return a 63-bit seed for one purpose, so that a run's seed does not give the same random numbers everywhere."""
    text = "/".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def example_seed(seed: int, example_id: str) -> int:
    """Return a 32-bit seed that depends only on the run's seed and the example's id."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{example_id}".encode()).digest()[:4], "big")


def capture() -> dict[str, Tensor]:
    """Return the states of the CPU generator and of those of all GPUs."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda{index}": state for index, state in enumerate(torch.cuda.get_rng_state_all())}
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore(states: dict[str, Tensor]) -> None:
    """Restore captured states. Those of GPUs that this machine does not have are left out."""
    torch.set_rng_state(states["cpu"].cpu())
    for name, state in states.items():
        if name.startswith("cuda") and (index := int(name.removeprefix("cuda"))) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state.cpu(), index)
        elif name == "mps" and torch.backends.mps.is_available():
            torch.mps.set_rng_state(state.cpu())


@frozen
class RandomState:
    """The states of the random generators of Python, numpy and torch (CPU)."""

    python: Any
    legacy: Any
    tensors: Tensor

    @classmethod
    def now(cls) -> RandomState:
        """Return the current states."""
        return cls(random.getstate(), np.random.get_state(), torch.random.get_rng_state())

    def restore(self) -> None:
        """Restore these states."""
        random.setstate(self.python)
        np.random.set_state(self.legacy)
        torch.random.set_rng_state(self.tensors)


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Restore the random states when the block ends."""
    before = RandomState.now()
    try:
        yield
    finally:
        before.restore()


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the generators of Python, numpy and torch on the CPU during the block, and restore their states when it ends."""
    with preserved():
        seed_all(seed)
        yield


@contextlib.contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Like :func:`seeded`, with a seed of up to 63 bits, and seed and restore the generators of GPUs too."""
    devices = capture()
    with seeded(seed % 2**32):
        seed_tensors(seed)
        try:
            yield
        finally:
            restore(devices)


def seed_tensors(seed: int) -> None:
    """Seed torch's generators, also those of GPUs.

    Without a GPU, ``torch.manual_seed`` would format the stack of the caller several times, for GPUs that may appear later.
    """
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def seed_all(seed: int) -> None:
    """Seed the generators of Python, numpy and torch on the CPU."""
    random.seed(seed)
    np.random.seed(seed)  # the legacy generator, which textattack uses
    torch.default_generator.manual_seed(seed)
