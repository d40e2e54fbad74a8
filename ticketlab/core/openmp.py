"""How the threads of OpenMP, in which torch computes on a CPU, wait for work."""

from __future__ import annotations

import os

WAIT_POLICY = "OMP_WAIT_POLICY"
DECIDED_BY = (WAIT_POLICY, "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Environment variables by which a user decides how threads wait: of OpenMP, of GNU's runtime and of LLVM's."""


def let_threads_sleep() -> None:
    """Let threads sleep while they wait, in this process and those that it starts, unless the environment says how they wait.

    A thread that spins keeps a core from the thread that it waits for if other programs use the cores, too: two threads then take several
    times as long as one. The OpenMP runtime reads the variable when torch is imported, so this must be called before.
    """
    if not any(name in os.environ for name in DECIDED_BY):
        os.environ[WAIT_POLICY] = "passive"
