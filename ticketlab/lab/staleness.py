"""When a lease counts as left by a process that has died: nothing has changed in it for the stale time of its holder."""

from __future__ import annotations

import time
from collections.abc import Hashable

from attrs import define, field

ABANDONED = 10
"""How many stale times ago the last heartbeat was, by the clock of the file system or store, of leases that are free for a single look.
"""


@define
class Observations:
    """Since when this process has seen each lease as it is now, by its own monotonic clock: the clocks of machines need not agree."""

    _since: dict[Hashable, tuple[Hashable, float]] = field(factory=dict)

    def is_stale(self, lease: Hashable, state: Hashable, stale: float, looked: float) -> bool:
        """Return whether a lease has been in the same ``state`` for more than ``stale`` seconds. The state changes with each heartbeat.

        ``looked`` is the time before the state was read: a process that is stopped after reading it must not see more time pass than did.
        """
        known, since = self._since.get(lease, (None, 0.0))
        if known != state:
            self._since[lease] = state, time.monotonic()
            return False
        return looked - since > stale

    def forget(self, lease: Hashable) -> None:
        """Forget a lease that is free."""
        self._since.pop(lease, None)
