"""The messages of all workers of a Ray cluster, on their way to the driver."""

from __future__ import annotations

from typing import Any


class Journal:
    """An actor, in a process on the driver's node. Calls of one process are answered in their order, so its messages keep theirs."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []

    def add(self, message: dict[str, Any]) -> None:
        """Add a message, as JSON values."""
        self._messages.append(message)

    def take(self) -> list[dict[str, Any]]:
        """Return the messages since the last call."""
        messages, self._messages = self._messages, []
        return messages
