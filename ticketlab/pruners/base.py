"""The contract of a pruner: a way to score the prunable units of a backbone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.core.callback import Callback
from ticketlab.core.component import Component
from ticketlab.tickets.draw import Scope


@frozen
class SearchPlan:
    """What a search knows before its first step. ``sparsity`` is what tickets will be drawn at, of each group of units."""

    steps: int
    seed: int
    sparsity: float = 0.0


def weight_units(backbone: Backbone, *, pooler: bool = False, classifier: bool = False) -> dict[str, tuple[int, ...]]:
    """Return the units of an unstructured pruner: every single weight, as matrix name and shape."""
    return {name: shape for name, shape in backbone.units(pooler=pooler, classifier=classifier).items() if name.startswith("weights/")}


def structured_units(backbone: Backbone) -> dict[str, tuple[int, ...]]:
    """Return the units of a structured pruner: heads and neurons, as layer and shape."""
    return {name: shape for name, shape in backbone.units().items() if not name.startswith("weights/")}


class Search(Callback):
    """One search under way. The training loop drives it; when it ends, :meth:`scores` is what ``draw`` ranks."""

    def scores(self) -> Mapping[str, Tensor]:
        """Return a float tensor for each prunable group of units, on the CPU; units with the lowest scores are removed first.

        The names and shapes are those of :meth:`ticketlab.backbone.backbone.Backbone.units`.
        """
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether a look may keep what would be drawn now as the best; not so before iterative pruning has done its last pruning."""
        return True


@frozen
class Pruner(Component):
    """Settings of a way to score units.

    ``trains_weights`` says whether the weights move during the search; ``searches`` is False for a search of no steps;
    ``needs_sparsity`` says whether the search itself depends on the sparsity that will be drawn. ``leaves_model`` says whether the weights
    at the end of the search are, under the ticket, a model to be used as it is. ``has_penalty`` is False for one that adds nothing to the
    loss.
    """

    kind: ClassVar[str] = "pruner"
    trains_weights: ClassVar[bool] = False
    searches: ClassVar[bool] = True
    needs_sparsity: ClassVar[bool] = False
    leaves_model: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = True

    @property
    def learns_at_rate(self) -> bool:
        """Whether anything learns at the learning rate of the stage; not so where weights are frozen and the pruner has its own."""
        return True

    @property
    def restarts_after(self) -> float | None:
        """The part of the steps after which learning rates begin anew, again and again; None where they never do."""
        return None

    def groups(self) -> tuple[str, ...]:
        """Return the groups of units that are scored (heads, neurons, weights), or nothing where only the search knows.

        Draw stages that ask for others are then refused before anything is computed.
        """
        return ()

    def ranks(self) -> Scope | None:
        """Return how the search itself compares units, which is then how its tickets are drawn; None where it does not."""
        return None

    def check(self, sparsity: float) -> None:
        """Refuse settings that cannot lead to the sparsity that is asked for, before anything is computed.

        :raises SettingError: it begins with the name of the setting.
        """

    def attach(self, backbone: Backbone, plan: SearchPlan) -> Search:
        """Start a search on a backbone."""
        raise NotImplementedError
