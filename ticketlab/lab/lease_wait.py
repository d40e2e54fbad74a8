"""Waiting for a lease that another process holds, on a file system or in a store."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from attrs import frozen

from ticketlab.lab.holder import Holder

T = TypeVar("T")


@frozen
class Waits:
    """The seconds between two looks at a lease: ``first`` ones, that grow to the ``longest``.

    A process that waits is told who holds the lease once the seconds exceed ``quiet``.
    """

    first: float
    longest: float
    quiet: float = 0.0

    def until_acquired(self, attempt: Callable[[], T | Holder], waiting: Callable[[Holder], None] | None) -> T:
        """Return what ``attempt`` acquires, repeated while it returns a holder; ``waiting`` is called once with each."""
        told = ""
        seconds = self.growing()
        while isinstance(held := attempt(), Holder):
            now = next(seconds)
            if waiting is not None and told != held.nonce and now > self.quiet:
                told = held.nonce
                waiting(held)
            sleep_about(now)
        return held

    def growing(self) -> Iterator[float]:
        """Yield the seconds of each wait."""
        seconds = self.first
        while True:
            yield seconds
            seconds = min(seconds * 1.5, self.longest)


def sleep_about(seconds: float) -> None:
    """Sleep for half to all of ``seconds``, so that many processes do not look at the same moment."""
    time.sleep(seconds * random.SystemRandom().uniform(0.5, 1))
