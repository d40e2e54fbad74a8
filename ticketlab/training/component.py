"""The base class of components that take part in a training, and what they may ask a forward pass for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.core.component import Component, check_names, with_components

OUTPUTS = ("hidden_states",)
"""The outputs of a forward pass, in addition to the logits, that are kept if a component requires them."""


@frozen
class TrainingComponent(Component):
    """A component that takes part in a training: a pruner, an adversary, a loss, a stop rule or an objective."""

    required_outputs: ClassVar[tuple[str, ...]] = ()
    """What the component reads of a forward pass in addition to the loss and the logits: ``hidden_states``, or nothing.

    It is then in the :class:`~ticketlab.training.loss_function.LossOutput` of each pass of the training: the output of the embeddings and
    of each layer, layers + 1 tensors (rows, length, width). Nothing is kept where no component asks for it.
    """

    whole_batch: ClassVar[bool] = False
    """Whether it needs all rows of a batch at once, because it compares them with each other, or keeps a state that depends on them.

    It is then refused where a batch is computed in parts: with several processes, or in micro-batches (``accumulate``). What is a mean over
    the rows, or a number of each row, needs no such declaration.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_names(cls, "required_outputs", OUTPUTS)


def outputs_of(components: Iterable[Component]) -> frozenset[str]:
    """Return the outputs that components, or those in their settings, require."""
    parts = (part for component in components for part in with_components(component) if isinstance(part, TrainingComponent))
    return frozenset(name for part in parts for name in part.required_outputs)
