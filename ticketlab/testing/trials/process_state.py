"""Finding out whether code changes the state of the process that other code depends on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ticketlab.inference import random_state
from ticketlab.inference.random_state import RandomState

SEEDS = (11, 12)
RESEEDED = "seeds the global generator of {}, so that whatever comes after it draws the same numbers every time"


def changes_to_process(call: Callable[[int], object]) -> str:
    """Call ``call(seed)`` under two seeds of the global random generators. Return what it does to the process; empty if nothing.

    What is found is a generator in the same state after both calls, which the call has seeded, and another working directory, which is
    restored. Random numbers that are drawn leave two states that differ.
    """
    states, directory = [], Path.cwd()
    for seed in SEEDS:
        with random_state.seeded(seed):
            try:
                call(seed)
                moved = Path.cwd() != directory
            finally:
                os.chdir(directory)
            states.append(RandomState.now())
        if moved:
            return "changes the working directory, which relative paths depend on"
    one, other = states
    same = {
        "Python": one.python == other.python,
        "numpy": bool((one.legacy[1] == other.legacy[1]).all()) and one.legacy[2:] == other.legacy[2:],
        "torch": bool((one.tensors == other.tensors).all()),
    }
    return next((RESEEDED.format(name) for name, equal in same.items() if equal), "")
