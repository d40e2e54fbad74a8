"""The base classes of pruners, which score the prunable units of a backbone, and of their searches."""

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
    """What a search knows before its first step. ``sparsity`` is the sparsity of every group of units in the tickets to be drawn."""

    steps: int
    seed: int
    sparsity: float = 0.0


def weight_units(backbone: Backbone, *, pooler: bool = False, classifier: bool = False) -> dict[str, tuple[int, ...]]:
    """Return the units of an unstructured pruner: every single weight, as matrix names and shapes."""
    return {name: shape for name, shape in backbone.units(pooler=pooler, classifier=classifier).items() if name.startswith("weights/")}


def structured_units(backbone: Backbone) -> dict[str, tuple[int, ...]]:
    """Return the units of a structured pruner: heads and neurons, as names and shapes per layer."""
    return {name: shape for name, shape in backbone.units().items() if not name.startswith("weights/")}


class Search(Callback):
    """One running search, a callback of the training loop. When it ends, ``draw`` ranks its :meth:`scores`."""

    def scores(self) -> Mapping[str, Tensor]:
        """Return a float tensor on the CPU for each group of units. Units with the lowest scores are removed first.

        The names and shapes are those of :meth:`ticketlab.backbone.backbone.Backbone.units`.
        """
        raise NotImplementedError

    def metrics(self) -> dict[str, float]:
        """Return numbers about the search for the history of its result, at each evaluation: finite, under names of the pruner's own.

        The names ``step`` and ``loss`` and those of development scores, ``dev_...``, are taken.
        """
        return {}

    @property
    def ready(self) -> bool:
        """Whether an evaluation may select the ticket that would be drawn now. False until iterative pruning has done its last pruning."""
        return True

    def close(self) -> None:
        """Remove every hook and parametrization from the model. The search stage calls it once, after it has read the scores."""


@frozen
class Pruner(Component):
    """Settings of a pruner.

    - ``trains_weights``: whether the weights are trained during the search.
    - ``searches``: False for a pruner that needs no training steps.
    - ``needs_sparsity``: whether the search itself depends on the sparsity to be drawn.
    - ``leaves_model``: whether the weights at the end of the search, with the ticket applied, are a model to use without further training.
    - ``has_penalty``: whether the search adds a penalty to the loss.
    """

    kind: ClassVar[str] = "pruner"
    trains_weights: ClassVar[bool] = False
    searches: ClassVar[bool] = True
    needs_sparsity: ClassVar[bool] = False
    leaves_model: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = True

    @property
    def learns_at_rate(self) -> bool:
        """Whether anything is trained at the stage's learning rate. False if weights are frozen and the pruner has its own rate."""
        return True

    @property
    def restarts_after(self) -> float | None:
        """The fraction of the steps after which the learning rate schedule restarts, each time; None if it never does."""
        return None

    def groups(self) -> tuple[str, ...]:
        """Return the groups of units that are scored (heads, neurons, weights), or nothing if only the search knows them.

        Draw stages with settings for other groups are refused before anything is computed.
        """
        return ()

    def ranks(self) -> Scope | None:
        """Return the scope in which the search itself ranks units, which its tickets are then drawn with; None if it ranks none."""
        return None

    def check(self, sparsity: float) -> None:
        """Check, before anything is computed, that these settings can reach a sparsity.

        :raises SettingError: they cannot; the message begins with the name of the setting.
        """

    def attach(self, backbone: Backbone, plan: SearchPlan) -> Search:
        """Start a search on a backbone."""
        raise NotImplementedError
