"""The plan of one training: what each component that takes part in it knows before the first step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.core.errors import PluginError
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossOutput
from ticketlab.training.scoring import Scoring

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@frozen(eq=False)
class TrainingPlan:
    """What ``begin`` of pruners, stop rules, adversaries, losses and sessions gets.

    A pruner may score from training batches, with dropout off: :meth:`gradients`, :meth:`outputs` and :meth:`batches` shuffle the rows by
    ``seed``, start another epoch when all have been used, and take ``batch_size`` rows at a time, by default as many as the stage. The
    model, its gradients and the random generators are left as they were, so the training that follows does not depend on the scoring. A
    pruner that takes no training steps declares ``scores_batches``, since its results then depend on the loss, adversary and batch size.
    All three raise PluginError if there are no batches to score from.
    """

    model: PreTrainedModel
    """The model that is trained, on its device."""
    steps: int
    """The number of optimizer steps at most."""
    seed: int
    """The component's own seed: draw random numbers from a generator of this seed."""
    sparsity: float = 0.0
    """The sparsity of every group of units in the tickets to be drawn; 0 if no ticket is searched for."""
    sparsities: Mapping[str, float] = field(factory=dict)
    """The sparsities of groups (heads, neurons) that differ."""
    _scoring: Callable[[], Scoring] | None = None

    @functools.cached_property
    def backbone(self) -> Backbone:
        """The prunable parts of the model. Raises the errors of :class:`Backbone`: a family without an adapter can still be trained."""
        return Backbone(self.model)

    def sparsity_of(self, group: str) -> float:
        """Return the sparsity of a group of units, such as ``heads``, in the tickets to be drawn."""
        return self.sparsities.get(group, self.sparsity)

    def batches(self, count: int, *, batch_size: int | None = None) -> Iterator[Batch]:
        """Yield ``count`` batches of training examples on the device of the model, prepared as for a training step."""
        return self._data().batches(count, batch_size, self.seed)

    def gradients(self, tensors: Mapping[str, Tensor], *, batches: int, batch_size: int | None = None) -> Iterator[dict[str, Tensor]]:
        """Yield, for each of ``batches`` batches, the gradients of the training loss in ``tensors``, under their names.

        ``tensors`` are leaves of the graph: weights, trained or not, or what a pruner has put into the model. The loss is that of the
        stage, reduced over the batch, under the stage's adversary. A tensor that the loss does not depend on gets zeros.
        """
        return self._data().gradients(tensors, batches, batch_size, self.seed)

    def outputs(self, *, batches: int, batch_size: int | None = None) -> Iterator[tuple[Batch, LossOutput]]:
        """Yield ``batches`` batches, each with the output of an unperturbed pass, without gradients."""
        return self._data().outputs(batches, batch_size, self.seed)

    def _data(self) -> Scoring:
        if self._scoring is None:
            raise PluginError(
                "the plan has no batches to score from; a pruner that takes no training steps declares `scores_batches = True`"
            )
        return self._scoring()
