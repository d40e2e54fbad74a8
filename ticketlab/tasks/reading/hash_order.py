"""Orders examples by a hash of their ids, independently of everything else."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol


class Labelled(Protocol):
    """An object with an id and a label."""

    @property
    def id(self) -> str:
        """Unique in the data set."""

    @property
    def label(self) -> Any:
        """The class."""


def hash_rank(identity: str) -> bytes:
    """Return the sort key of an id: its SHA-256 hash."""
    return hashlib.sha256(identity.encode()).digest()
