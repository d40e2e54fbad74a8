"""Processes of this machine: which machine it is, whether a process still runs, and when it started."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from attrs import frozen

PROC = Path("/proc")
ENDED = ("Z", "X", "x")
"""States of processes that have ended and that their parents have not waited for yet."""


@frozen
class ProcessState:
    """What the system says about a running process. The values are only compared with earlier ones of the same machine.

    ``started`` tells it from a later process with the same id, and ``computed`` is the time that it has computed.
    """

    started: str
    computed: str


@functools.cache
def machine() -> str:
    """Return an id of this machine since its last boot, and of its process id namespace: each container has its own namespace.

    Machines whose host names are equal have different ids.
    """
    import hashlib

    facts = [os.uname().nodename] if hasattr(os, "uname") else [os.environ.get("COMPUTERNAME", "")]
    for source in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id"):
        with contextlib.suppress(OSError):
            facts.append(Path(source).read_text(encoding="ascii").strip())
    if len(facts) == 1:
        import uuid

        facts.append(f"{uuid.getnode():x}")
    with contextlib.suppress(OSError, AttributeError):
        facts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115  # the link does not point to a path
    return hashlib.blake2b("/".join(facts).encode(), digest_size=8).hexdigest()


def is_gone(pid: int, started: str = "") -> bool:
    """Return whether a process of this machine has ended; False if that is unknown. ``started`` is from :func:`state_of`."""
    if os.name != "posix":
        return False  # os.kill would send a signal
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # a process of another account
        pass
    found = _look_up(pid)
    if found is None:
        return False
    state, now = found
    return state in ENDED or (bool(started) and now.started != started)


def state_of(pid: int) -> ProcessState | None:
    """Return the state of a running process of this machine; None if the system does not tell."""
    found = _look_up(pid)
    return None if found is None else found[1]


def _look_up(pid: int) -> tuple[str, ProcessState] | None:
    """Return the state letter of a process, and the rest."""
    if PROC.joinpath("self", "stat").exists():
        with contextlib.suppress(OSError, LookupError):
            # the command in parentheses may contain anything; the numbers of the fields are those of proc(5)
            fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            return fields[3 - 3], ProcessState(fields[22 - 3], f"{fields[14 - 3]}+{fields[15 - 3]}")
        return None
    import subprocess  # every command imports this module

    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        command = ["ps", "-o", "state=", "-o", "time=", "-o", "lstart=", "-p", str(pid)]
        state, computed, started = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split(None, 2)
        return state[:1], ProcessState(started.strip(), computed)
    return None
