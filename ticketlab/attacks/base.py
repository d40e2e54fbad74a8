"""The contract of a text attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import frozen

from ticketlab.component import Component
from ticketlab.options import setting

if TYPE_CHECKING:
    import textattack

    from ticketlab.attacks.resources import Resources
    from ticketlab.attacks.victim import Victim


@frozen
class Attack(Component):
    """Settings of an attack. Heavy objects it needs are kept in :class:`~ticketlab.attacks.resources.Resources`."""

    kind: ClassVar[str] = "attack"

    query_budget: int | None = setting(None, at_least=1, help="give up on an example after this many queries of the victim", unit="queries")

    def prepare(self, resources: Resources) -> dict[str, str]:
        """Load what the attack needs before anything runs; return each resource's name and where it was found.

        :raises ResourceError: something is missing; the message says how to get it.
        """
        return {}

    def build(self, victim: Victim, resources: Resources) -> textattack.Attack:
        """Compose the attack on ``victim``. Cheap: it is called once for each example."""
        raise NotImplementedError
