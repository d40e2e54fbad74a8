"""Structured IMP: iterative pruning of attention heads and FFN neurons by the magnitude of their weights.

:mod:`ticketlab.pruners.imp` has the algorithm. The norm of its weights as the score of a unit is that of Li et al. (2017), for filters.
"""

from __future__ import annotations

import functools
from typing import ClassVar, Literal

from attrs import frozen

from ticketlab.core.settings import setting
from ticketlab.pruners.base import check_heads_remain
from ticketlab.pruners.imp import IterativePruner, IterativeSearch, Rewinding
from ticketlab.pruners.sizes import unit_sizes
from ticketlab.tickets.draw import SCOPES, Scope
from ticketlab.training.plan import TrainingPlan


@frozen
class StructuredIMP(IterativePruner):
    """Train all weights, and at every interval permanently remove some of the smallest heads and of the smallest neurons.

    The magnitude of a unit is the root mean square of its weights. A head has its rows of the query, key and value matrices and its
    columns of the attention output; a neuron its row of the first and its column of the second FFN matrix. Prunings are those of ``imp``:
    each removes ``amount`` of the original heads and of the original neurons, until each group has its own sparsity. The best head of
    each layer is kept. Prasanna et al. (2020) prune heads iteratively too, but by their importance (Michel et al., 2019).

    ``rewind`` resets weights to their initial values, as ``imp-rewind`` does: those of the encoder after each pruning (``"rounds"``), or
    all weights once, at the end (``"end"``). The search then ends at the last pruning, because only the mask is wanted; without rewinding
    it ends one interval later, and leaves a trained model.
    """

    name: ClassVar[str] = "structured-imp"
    summary: ClassVar[str] = "train the weights, and remove the smallest heads and neurons step by step"
    paper: ClassVar[str] = "Li et al., 2017, https://arxiv.org/abs/1608.08710"

    scope: Scope = setting("global", choices=SCOPES, help="rank all heads together, and all neurons, or each layer separately")
    rewind: Literal["never", "rounds", "end"] = setting(
        "never", choices=("never", "rounds", "end"), help="rewind the encoder at each pruning, all weights at the end, or none"
    )

    @property
    def rewinding(self) -> Rewinding:
        """When the weights are rewound."""
        return self.rewind

    def groups(self) -> tuple[str, ...]:
        """Return heads and neurons."""
        return ("heads", "neurons")

    def begin(self, plan: TrainingPlan) -> IterativeSearch:
        """Start a search, and prune the backbone for the first time.

        :raises SettingError: the prunings do not fit into the training, or the sparsity leaves a layer without a head.
        """
        check_heads_remain(plan.backbone, plan.sparsity_of("heads"), self.scope)
        return IterativeSearch(self, plan, functools.partial(unit_sizes, plan.backbone))
