"""The settings and the search that hard and soft movement pruning share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.plugin import Backbone, Pruner, Search, SettingError, TrainingPlan, ratio, setting, weight_units
from ticketlab_movement.schedule import Schedule
from ticketlab_movement.scored_matrix import ScoredMatrix


@frozen
class MovementPruner(Pruner):
    """What both have: scores of the encoder's weights, trained together with the weights, and a schedule of three parts."""

    trains_weights: ClassVar[bool] = True
    needs_sparsity: ClassVar[bool] = True
    leaves_model: ClassVar[bool] = True

    lr: float = setting(1e-2, above=0, help="learning rate of the scores")
    warmup: float = ratio(0.1, help="part of the search before the first weight is removed (t_i), as a fraction of the steps")
    cooldown: float = ratio(0.2, help="part of the search after the schedule has ended (t_f), as a fraction of the steps")
    freeze_embeddings: bool = setting(True, help="do not train the embedding tables, as in the paper")

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def check(self, sparsity: float) -> None:
        """Check that the schedule fits into the search; see :meth:`Pruner.check`."""
        if self.warmup + self.cooldown > 1:
            raise SettingError(f"cooldown: {self.cooldown:g} and a warmup of {self.warmup:g} are longer than the search; lower one of them")


class MovementSearch(Search):
    """Trains the scores of matrices with their weights. A subclass sets the masks at the start of a step.

    The classifier and all that is in no masked matrix, apart from frozen embeddings, is trained as in fine-tuning.
    """

    def __init__(self, settings: MovementPruner, plan: TrainingPlan, final: float) -> None:
        settings.check(plan.sparsity_of("weights"))
        self._rate = settings.lr
        self._schedule = Schedule.of(plan.steps, settings.warmup, settings.cooldown, final)
        self._step = 0
        self._frozen = [table for table in embeddings(plan.backbone) if table.requires_grad] if settings.freeze_embeddings else []
        for table in self._frozen:
            table.requires_grad_(False)
        self.matrices = {name: ScoredMatrix(plan.backbone.module(name)) for name in weight_units(plan.backbone)}

    def update(self, step: int) -> None:
        """Set the masks of a step."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether the schedule has ended, so that the masks have been those of the final sparsity or threshold."""
        return self._step + 1 >= self._schedule.end

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the scores as one optimizer group without weight decay."""
        return [{"params": [matrix.scores for matrix in self.matrices.values()], "lr": self._rate, "weight_decay": 0.0}]

    def on_step_start(self, step: int) -> None:
        """Mask the weights for all passes of the step."""
        self._step = step
        self.update(step)
        for matrix in self.matrices.values():
            matrix.apply()

    def on_after_backward(self) -> None:
        """Pass the gradients of the masked weights to the weights and the scores."""
        for matrix in self.matrices.values():
            matrix.collect()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the masks. The weights and the scores are in the optimizer's groups."""
        return {name: matrix.mask for name, matrix in self.matrices.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the masks."""
        for name, matrix in self.matrices.items():
            matrix.mask.copy_(state[name])

    def metrics(self) -> dict[str, float]:
        """Return ``sparsity``, the fraction of the weights that the masks of the last step removed."""
        return {"sparsity": removed_fraction([matrix.mask for matrix in self.matrices.values()])}

    def scores(self) -> Mapping[str, Tensor]:
        """Return the scores S, copied."""
        return {name: matrix.scores.detach().to("cpu", copy=True) for name, matrix in self.matrices.items()}

    def close(self) -> None:
        """Remove the masks, and let the embeddings be trained again. The weights stay as trained."""
        for matrix in self.matrices.values():
            matrix.remove()
        for table in self._frozen:
            table.requires_grad_()


def embeddings(backbone: Backbone) -> list[nn.Parameter]:
    """Return the embedding tables outside the layers: those of words, and those of positions and types that the family has."""
    inside = {id(module) for layer in backbone.layers for module in backbone.base.get_submodule(layer.path).modules()}
    tables = [module for module in backbone.base.modules() if isinstance(module, nn.Embedding) and id(module) not in inside]
    return [parameter for table in tables for parameter in table.parameters()]


@torch.no_grad()
def scores_of(matrices: Mapping[str, ScoredMatrix]) -> dict[str, Tensor]:
    """Return the scores by the names of their matrices, detached."""
    return {name: matrix.scores.detach() for name, matrix in matrices.items()}


def removed_fraction(masks: Collection[Tensor]) -> float:
    """Return the fraction of weights that masks remove."""
    return 1 - sum(int(mask.count_nonzero()) for mask in masks) / sum(mask.numel() for mask in masks)
