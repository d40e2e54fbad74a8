"""A plugin whose attack ends its process on texts with the word ``exits``, and naps on those with ``naps``."""

from __future__ import annotations

import os
import time
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.plugin import Component, DataError, Resources, Victim, hookimpl


@frozen
class Deadly(DeepWordBug):
    """DeepWordBug, except on some texts."""

    name: ClassVar[str] = "deadly"
    summary: ClassVar[str] = "ends its process on some texts"

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Return DeepWordBug's attack with the traps."""
        built = super().build(victim, resources)
        attack = built.attack

        def deadly(text: Any, label: int) -> Any:
            victim(["fine"])  # so that other examples run in between
            if "exits" in text.text:
                os._exit(7)
            if "naps" in text.text:
                time.sleep(0.2)
            if "raises" in text.text:
                raise DataError("broken example")
            return attack(text, label)

        built.attack = deadly
        return built


@hookimpl
def ticketlab_attacks() -> list[type[Component]]:
    """Register the attack."""
    return [Deadly]
