"""The base classes of pruners, which score the prunable units of a backbone, and of their searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.core.callback import Callback
from ticketlab.core.errors import SettingError
from ticketlab.tickets.draw import Scope, removed_count, removed_share
from ticketlab.training.component import TrainingComponent
from ticketlab.training.plan import TrainingPlan


def weight_units(backbone: Backbone, *, pooler: bool = False, classifier: bool = False) -> dict[str, tuple[int, ...]]:
    """Return the units of an unstructured pruner: every single weight, as matrix names and shapes."""
    return {name: shape for name, shape in backbone.units(pooler=pooler, classifier=classifier).items() if name.startswith("weights/")}


def structured_units(backbone: Backbone) -> dict[str, tuple[int, ...]]:
    """Return the units of a structured pruner: heads and neurons, as names and shapes per layer."""
    return {name: shape for name, shape in backbone.units().items() if not name.startswith("weights/")}


def check_heads_remain(backbone: Backbone, sparsity: float, scope: Scope) -> None:
    """Check that a sparsity of the heads leaves one in each layer.

    :raises SettingError: it does not.
    """
    counts = [shape[0] for name, shape in structured_units(backbone).items() if name.startswith("heads/")]
    for part in [counts] if scope == "global" else [[count] for count in counts]:
        removed, most = removed_count(sparsity, sum(part)), sum(count - 1 for count in part if count)
        if removed > most:
            raise SettingError(
                f"sparsity: {removed} of {sum(part)} heads would be removed, but the search keeps one in each layer, so at most {most} can "
                "be; lower it (--heads)"
            )


def sparsity_metrics(kept: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the removed fraction of each group of units as metrics of a search: ``sparsity``, or ``heads_sparsity`` and so on."""
    return {"sparsity" if group == "weights" else f"{group}_sparsity": share for group, share in removed_share(kept).items()}


class Search(Callback):
    """One running search, a callback of the training loop. When it ends, ``draw`` ranks its :meth:`scores`."""

    of_kind: ClassVar[str] = "pruner"

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

    def unmet(self) -> str | None:
        """Return what the search should have reached and has not, for a warning when it ends; None if there is nothing."""
        return None

    def close(self) -> None:
        """Remove every hook, parametrization and module that the search added to the model. Called once, after the scores were read.

        Weights that the search does not train must then have the same bits as before.
        """


@frozen
class Pruner(TrainingComponent):
    """Settings of a pruner."""

    kind: ClassVar[str] = "pruner"
    trains_weights: ClassVar[bool] = False
    """Whether the weights are trained during the search. If not, they are frozen, and must have the same bits after it."""
    searches: ClassVar[bool] = True
    """False for a pruner that needs no training steps."""
    needs_sparsity: ClassVar[bool] = False
    """Whether the search itself depends on the sparsity to be drawn."""
    leaves_model: ClassVar[bool] = False
    """Whether the weights at the end of the search, with the ticket applied, are a model to use without further training."""
    has_penalty: ClassVar[bool] = True
    """Whether the search adds a penalty to the loss."""
    scores_batches: ClassVar[bool] = False
    """Whether a pruner that takes no training steps scores from training examples, by methods of its plan."""

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

    def unused(self) -> dict[str, str]:
        """Return why settings cannot change the result given the other settings of this pruner, by name.

        They are left out of the key of the search, refused on the command line and reported in recipes.
        """
        return {}

    def begin(self, plan: TrainingPlan) -> Search:
        """Start a search on the backbone of a plan."""
        raise NotImplementedError
