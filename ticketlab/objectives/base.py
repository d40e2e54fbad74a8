"""The contract of an objective: what a training minimises, and on what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from attrs import field, frozen
from torch import Tensor

from ticketlab.backbone.loading import python_warning
from ticketlab.backbone.weights import Warn
from ticketlab.core import progress
from ticketlab.core.callback import Callback
from ticketlab.core.component import Component
from ticketlab.losses.base import Loss
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.training.batch import TokenizedRows
from ticketlab.training.loss_function import Precision, TrainingLoss

Head = Literal["found", "new"]


@frozen
class TrainingContext:
    """What a stage gives an objective to begin with. ``start`` is a model folder or name; ``data`` is empty where no task is used.

    ``loss_inputs`` has what the loss needs of each training example, (rows, classes) in their order, by the name it takes it by. ``warn``
    is called with what is doubtful about the model or its tokenizer, ``say`` with what is worth knowing of texts that the objective reads.
    """

    start: str
    data: TaskData
    loss: Loss
    max_length: int
    precision: Precision
    seed: int
    loss_inputs: Mapping[str, Tensor] = field(factory=dict)
    warn: Warn = python_warning
    say: Callable[[str], None] = progress.say


class TrainingSession(ABC):
    """What one training works on: a model under the right head, on the CPU when it is made, its tokenizer and its rows.

    ``head`` is for an objective whose head is worth keeping from one training to the next: whether it was in the checkpoint (``found``)
    or is ``new``. Others leave it none.
    """

    model: Any
    tokenizer: Any
    rows: TokenizedRows
    head: Head | None = None

    @abstractmethod
    def loss_function(self, callbacks: Sequence[Callback]) -> TrainingLoss:
        """Return what the loop and the adversary call; it calls ``callbacks`` before each pass."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Return scores on the development rows; ``dev_accuracy`` among them is what selection maximises. Modes are restored."""

    def facts(self) -> dict[str, Any]:
        """Return what results say of the rows and of what the model sees of them, JSON values only."""
        sight = self.rows.sight
        return {"rows": len(self.rows), **(sight.facts() if sight.rows else {})}

    def texts(self) -> TrainedOn | None:
        """Return the hashes of what is learnt from, and of what selection goes by (``dev``); None where nobody counts them.

        Evaluations say how many of their examples are among them, in later commands too.
        """
        return None

    def provenance(self) -> dict[str, str]:
        """Return what results and tickets say of the data that was learnt from."""
        return {}


@frozen
class Objective(Component):
    """Settings of what a training minimises."""

    kind: ClassVar[str] = "objective"
    uses_task: ClassVar[bool] = False
    """Whether the task's examples and labels are learnt from."""

    def start_session(self, context: TrainingContext) -> TrainingSession:
        """Load the model, and read and tokenise the rows.

        :raises UsageError: the model cannot be loaded, or does not fit.
        :raises DataError: there is nothing to learn from.
        """
        raise NotImplementedError

    def external_inputs(self) -> Mapping[str, str]:
        """Return the files whose content the result depends on, or the ``sha256:`` of what is no file, by what they are.

        :raises DataError: they are not there.
        """
        return {}
