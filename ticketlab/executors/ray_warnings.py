"""Warnings that works wait for the nodes of a Ray cluster: nodes in use, or none with enough room."""

from __future__ import annotations

import time

from attrs import define, field

from ticketlab.core import progress
from ticketlab.core.formatting import counted

SECONDS_UNTIL_STALLED = 60.0
"""After how long it is said that all nodes are in use."""
SECONDS_BETWEEN_WARNINGS = 600.0
"""How often the warning that no node has room is repeated."""


@define
class WaitWarnings:
    """How long works have waited. :meth:`warn` is called again and again."""

    lacking: str = field(default="", init=False)
    """What no node has at present, for the last work that was not accepted because of it."""
    _stalled_since: float | None = field(default=None, init=False)
    _idle_since: float | None = field(default=None, init=False)
    _warned: float = field(default=0.0, init=False)

    def end(self) -> None:
        """A work has found a node."""
        self.lacking, self._idle_since = "", None

    def warn(self, waiting: int, running: int) -> None:
        """Warn if nothing has run for long, given the numbers of submitted works that have not and that have begun."""
        self._warn_if_stalled(waiting, running)
        if not waiting and not running and self.lacking:
            self._warn_of_lack()

    def _warn_if_stalled(self, waiting: int, running: int) -> None:
        """Warn once when works wait and none has begun."""
        if running or not waiting:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = time.monotonic()
        elif time.monotonic() - self._stalled_since > SECONDS_UNTIL_STALLED:
            self._stalled_since = float("inf")
            progress.warn(f"{counted(waiting, 'stage')} wait for the Ray cluster, whose nodes are in use (`ray status`)")

    def _warn_of_lack(self) -> None:
        """Warn that no node has room at present, and again from time to time."""
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        elif now - self._warned < SECONDS_BETWEEN_WARNINGS:
            return
        self._warned = now
        minutes = round((now - self._idle_since) / 60)
        since = f" since {minutes} min" if minutes else ""
        progress.warn(f"no node of the Ray cluster has {self.lacking} any more{since}: nothing can run until one joins (`ray status`)")
