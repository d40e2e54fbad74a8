"""A cache of the most recently used entries, for results that are computed in batches, which ``functools.lru_cache`` cannot serve."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The ``most`` entries that were used last."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return an entry, or None if it is unknown."""
        return self._entries.get(key)

    def use(self, entries: Mapping[K, V]) -> None:
        """Keep these entries, new and known ones, as the last that were used, and drop the oldest ones if there are too many."""
        for key, value in entries.items():
            self._entries[key] = value
            self._entries.move_to_end(key)
        while len(self._entries) > self.most:
            self._entries.popitem(last=False)
