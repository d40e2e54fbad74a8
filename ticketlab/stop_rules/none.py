"""No stop rule: the search takes all its epochs."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.stop_rules.base import Look, StopRule, Watch


@frozen
class Never(StopRule):
    """Look at nothing."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "take all the epochs"
    waits: ClassVar[bool] = False
    judges: ClassVar[bool] = False

    def begin(self) -> Watch:
        """Start watching a search."""
        return _Blind()


class _Blind(Watch):
    def look(self, look: Look) -> bool:
        return False
