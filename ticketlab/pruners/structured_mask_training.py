"""Structured mask training: a real-valued mask for each attention head and FFN neuron, trained while the weights are frozen.

:mod:`ticketlab.pruners.mask_training` has the algorithm, which is that of masks of single weights (Mallya et al., 2018; Zhao et al., 2020).
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import setting
from ticketlab.pruners.base import check_heads_remain
from ticketlab.pruners.gates import unit_gates
from ticketlab.pruners.mask_training import MaskTrainingPruner, MaskTrainingSearch
from ticketlab.pruners.sizes import unit_sizes
from ticketlab.tickets.draw import SCOPES, Scope
from ticketlab.training.plan import TrainingPlan


@frozen
class StructuredMaskTraining(MaskTrainingPruner):
    """A head or neuron is kept if its mask is at least the threshold of its group.

    The gradient of a mask is that of a factor on the unit's output, whose magnitude Michel et al. (2019) call the importance of a head.
    Masks start from the units' magnitudes, the root mean squares of their weights. Heads and neurons have a sparsity each, and every
    update of the thresholds keeps the best head of each layer. The ticket drawn at the end has the exact counts.
    """

    name: ClassVar[str] = "structured-mask-training"
    summary: ClassVar[str] = "train a mask of the heads and neurons, with the weights frozen"
    paper: ClassVar[str] = "Liu et al., 2022, https://arxiv.org/abs/2210.05211"

    scope: Scope = setting("global", choices=SCOPES, help="one threshold for all heads and one for all neurons, or own ones in each layer")

    def groups(self) -> tuple[str, ...]:
        """Return heads and neurons."""
        return ("heads", "neurons")

    def begin(self, plan: TrainingPlan) -> MaskTrainingSearch:
        """Put a mask on each head and neuron of the backbone.

        :raises SettingError: the sparsity would have to fall, or leaves a layer without a head.
        """
        check_heads_remain(plan.backbone, plan.sparsity_of("heads"), self.scope)
        sizes = unit_sizes(plan.backbone)
        return MaskTrainingSearch(self, plan, unit_gates(plan.backbone), sizes)
