"""The contract of a text attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.core.component import Component
from ticketlab.core.settings import setting
from ticketlab.resources.resources import ENGINE, Resources

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim


@frozen
class Attack(Component):
    """Settings of an attack.

    ``needs`` names those of its settings that are resources (fields of :class:`~ticketlab.resources.resources.Resources`):
    heavy objects, loaded once and shared by all examples. ``languages`` says which texts it is meant for.
    """

    kind: ClassVar[str] = "attack"
    needs: ClassVar[tuple[str, ...]] = ()
    languages: ClassVar[str] = ""

    query_budget: int | None = setting(None, at_least=1, help="give up on an example after this many queries of the victim", unit="queries")

    def prepare(self) -> Resources:
        """Find everything the attack needs, before anything runs.

        :raises ResourceError: textattack or a resource is missing; the message says how to get it.
        """
        return self._found(ENGINE)

    def find(self) -> Resources:
        """Find the resources alone: an attack whose result is there already needs no textattack.

        :raises ResourceError: one is missing.
        """
        return self._found(())

    def _found(self, engine: Sequence[str]) -> Resources:
        resources = self.resources()
        resources.check(self.needed(), engine=engine, attack=self.label)
        return resources

    def resources(self) -> Resources:
        """Return what the attack needs, found or not."""
        return Resources(**{name: getattr(self, name) for name in self.needs})

    def needed(self) -> tuple[str, ...]:
        """Return the names of the resources that it needs as it is set; ``needs`` by default."""
        return self.needs

    def about(self) -> dict[str, str]:
        """Return what to say of it beside its settings: its ``paper``, ``languages``, and what else it wants to be known."""
        return {"paper": self.paper, "languages": self.languages}

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Compute what every example would compute again, such as the neighbours of the words in ``texts``; nothing by default."""

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Compose the ``textattack.Attack`` on ``victim``. Cheap: it is called once for each example.

        ``resources`` is what :meth:`prepare` returned. textattack is imported already.
        """
        raise NotImplementedError

    def goal(self, victim: Victim) -> Any:
        """Return textattack's goal of an untargeted attack: another label than the right one, within the query budget."""
        from ticketlab.attacks.components.goal_function import another_label

        return another_label(victim, float("inf") if self.query_budget is None else self.query_budget)
