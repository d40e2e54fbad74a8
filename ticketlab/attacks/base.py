"""The base class of text attacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.core.component import Component, check_names
from ticketlab.core.settings import setting
from ticketlab.resources.resources import ENGINE, RESOURCES, Resources

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim


@frozen
class Attack(Component):
    """Settings of a text attack."""

    kind: ClassVar[str] = "attack"
    required_resources: ClassVar[tuple[str, ...]] = ()
    """The settings that are resources: large objects that are loaded once and shared by all examples.

    They are some of ``word_vectors``, ``encoder``, ``mlm``, ``tagger`` and ``wordnet``, the fields of
    :class:`~ticketlab.resources.resources.Resources`. :func:`~ticketlab.resources.settings.resource_setting` declares each.
    """
    languages: ClassVar[str] = ""
    """The languages of the texts that the attack is meant for, as one line."""

    query_budget: int | None = setting(None, at_least=1, help="give up on an example after this many queries to the victim", unit="queries")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_names(cls, "required_resources", RESOURCES)
        for name in cls.required_resources:
            if not hasattr(cls, name):
                raise TypeError(f"{cls.__name__} requires `{name}`, and has no such setting: `{name} = resource_setting({name!r})`")

    def prepare(self) -> Resources:
        """Return the attack's resources, after checking that they and textattack are available.

        :raises ResourceError: textattack or a resource is missing; the message says how to get it.
        """
        return self._checked(ENGINE)

    def find(self) -> Resources:
        """Return the attack's resources without checking for textattack, which a result from the lab does not need.

        :raises ResourceError: a resource is missing.
        """
        return self._checked(())

    def _checked(self, engine: Sequence[str]) -> Resources:
        resources = self.resources()
        resources.check(self.resource_names(), engine=engine, attack=self.label)
        return resources

    def resources(self) -> Resources:
        """Return the attack's resources, without checking that they are available."""
        return Resources(**{name: getattr(self, name) for name in self.required_resources})

    def resource_names(self) -> tuple[str, ...]:
        """Return the names of the resources that the attack needs as configured; ``required_resources`` by default."""
        return self.required_resources

    def about(self) -> dict[str, str]:
        """Return what to show in addition to the settings: ``paper``, ``languages``, and other facts of the attack."""
        return {"paper": self.paper, "languages": self.languages}

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Precompute what all examples share, such as the neighbours of the words in ``texts``; nothing by default."""

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Return the ``textattack.Attack`` on ``victim``. It must be cheap, since it is called once per example.

        ``resources`` is the result of :meth:`prepare`. textattack has been imported. An attack that cannot process a text raises
        :class:`~ticketlab.core.errors.DataError` when it is given it, which becomes the record of this example. Any other error in the code
        of a plugin is one of the attack: the stage fails.
        """
        raise NotImplementedError

    def goal(self, victim: Victim) -> Any:
        """Return textattack's goal function of an untargeted attack: any label but the correct one, within the query budget."""
        from ticketlab.attacks.components.goal_function import another_label

        return another_label(victim, float("inf") if self.query_budget is None else self.query_budget)
