"""Who holds a lease: a process, which other processes of its machine can look up, and others know by its heartbeat alone."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import asdict, field, frozen

from ticketlab.core import processes
from ticketlab.core.errors import UsageError

SECONDS = "TICKETLAB_STALE_SECONDS"
"""The environment variable for the time after which a lease without a heartbeat is free."""
STALE_SECONDS = 60.0
"""Its default."""


def stale_seconds() -> float:
    """Return the time in seconds after which the leases of this process are free if it renews them no more.

    :raises UsageError: the environment variable is not such a time.
    """
    given = os.environ.get(SECONDS, "").strip()
    if not given:
        return STALE_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{SECONDS}={given}: give a number of seconds above 0, such as {STALE_SECONDS:g}")
    return seconds


@frozen
class Holder:
    """The process that holds a lease.

    ``machine`` tells machines with equal host names apart, and ``started`` processes with equal ids; ``nonce`` is that of the lease.
    ``stale`` is the time in seconds without a heartbeat after which the lease is free. ``about`` says what the lease is for.
    """

    nonce: str
    host: str = ""
    machine: str = ""
    pid: int = 0
    started: str = ""
    since: str = ""
    stale: float = STALE_SECONDS
    about: Mapping[str, Any] = field(factory=dict)

    @classmethod
    def here(cls, about: Mapping[str, Any]) -> Holder:
        """Return this process as the holder of a new lease."""
        pid = os.getpid()
        state = processes.state_of(pid)
        return cls(
            nonce=os.urandom(8).hex(),
            host=platform.node(),
            machine=processes.machine(),
            pid=pid,
            started="" if state is None else state.started,
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            stale=stale_seconds(),
            about=about,
        )

    @classmethod
    def parse(cls, nonce: str, text: str) -> Holder:
        """Return the holder that :meth:`to_json` wrote. If it cannot be read, as after a crash of the machine, everything is unknown."""
        try:
            content = json.loads(text)
            return cls(
                nonce,
                str(content["host"]),
                str(content["machine"]),
                int(content["pid"]),
                str(content["started"]),
                str(content["since"]),
                float(content["stale"]),
                dict(content["about"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            return cls(nonce)

    def to_json(self) -> str:
        """Return the holder as one line of JSON."""
        return json.dumps(asdict(self))

    @property
    def is_here(self) -> bool:
        """Whether it is a process of this machine."""
        return self.machine == processes.machine()

    @property
    def is_gone(self) -> bool:
        """Whether it is known to have ended."""
        return self.is_here and processes.is_gone(self.pid, self.started)

    def computed(self) -> str:
        """Return the time that it has computed if it is a process of this machine; empty for others.

        While that grows the process lives, even if its heartbeat waits for a library that holds Python's global lock.
        """
        state = processes.state_of(self.pid) if self.is_here else None
        return "" if state is None else state.computed

    def __str__(self) -> str:
        if not self.host:
            return "an unknown process"
        return f"process {self.pid} on {self.host} (since {self.since[11:19]} UTC)"
