"""The state of torch's random generators, as tensors that a checkpoint can hold."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


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


def derive(seed: int, *parts: object) -> int:
    """Return a seed of 63 bits for one purpose, so that equal run seeds do not mean equal random numbers everywhere."""
    text = "/".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
