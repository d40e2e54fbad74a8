"""Component: a named set of settings. Components are immutable; state belongs to the objects that they create for one training."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen


@frozen
class Component:
    """A named set of settings: a frozen attrs class whose fields are made by :func:`ticketlab.core.settings.setting`.

    ``version`` is part of the keys of cached results: increment it when the same settings give different results. ``variant`` is the name
    of the setting, if any, that ``NAME:VALUE`` sets where a component is named.
    """

    kind: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    version: ClassVar[int] = 1
    variant: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """The name that distinguishes it from others of its kind: its name, or ``NAME:VALUE`` if it has variants."""
        value = getattr(self, self.variant) if self.variant else None
        return self.name if value is None else f"{self.name}:{value}"
