"""The base class of objectives: what training minimises, and on which data.

A training run uses these classes in this order:

1. A stage builds a :class:`TrainingContext` (model, data, loss, seed) and calls :meth:`Objective.start_session` with it.
2. The :class:`TrainingSession` that it returns has loaded the model and tokenised the rows. The stage attaches pruners and other
   callbacks to ``session.model``.
3. :meth:`TrainingSession.loss_function` returns a :class:`~ticketlab.training.loss_function.TrainingLoss`: a function of a batch that
   runs one forward pass.
4. The training loop passes it, with each batch, to the adversary, which calls it as often as it needs to.
"""

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
from ticketlab.core.component import Precision
from ticketlab.core.method_names import check_method_names
from ticketlab.losses.base import Loss, LossRun
from ticketlab.metrics.base import Metric
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.training.batch import TokenizedRows
from ticketlab.training.component import TrainingComponent
from ticketlab.training.loss_function import TrainingLoss
from ticketlab.training.plan import TrainingPlan

Head = Literal["found", "new"]


@frozen
class TrainingContext:
    """What a stage passes to :meth:`Objective.start_session`."""

    start: str
    """The folder or name of the model to start from."""
    data: TaskData
    """The task; empty if the objective uses none."""
    loss: Loss
    """The loss of the stage."""
    max_length: int
    """The maximum length of an input in tokens."""
    precision: Precision
    """The precision to compute in."""
    seed: int
    """The objective's own seed, for all its random numbers."""
    loss_inputs: Mapping[str, Tensor] = field(factory=dict)
    """The inputs of the loss for the training examples by keyword, each (rows, classes) in their order."""
    metrics: Sequence[Metric] = ()
    """The metrics to compute on the development examples."""
    teacher: Any = None
    """The model of the teacher, in evaluation mode on the device, if the loss requires its hidden states."""
    warn: Warn = python_warning
    """Called with problems of the model or its tokenizer."""
    say: Callable[[str], None] = progress.say
    """Called with notices about the texts that the objective reads."""


@frozen
class TrainingParts:
    """The other parts of a training, which its loss function calls or serves. See :meth:`TrainingSession.loss_function`."""

    callbacks: Sequence[Callback] = ()
    """The callbacks of the training: call ``on_pass_start`` of each before a pass."""
    loss: LossRun | None = None
    """The running loss of the stage; None for an objective that does not use the task."""
    outputs: frozenset[str] = frozenset()
    """The outputs that some component requires of each pass."""


class TrainingSession(ABC):
    """The model, tokenizer and rows of one training run."""

    model: Any
    """A transformers model with the objective's head, on the CPU. The stage moves it to the device, trains it and saves it."""
    tokenizer: Any
    """Its tokenizer."""
    rows: TokenizedRows
    """The training examples."""
    head: Head | None = None
    """Whether the head was in the checkpoint (``found``) or is newly initialised (``new``).

    It is for objectives whose head is kept from one training run to the next, and None for all others.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_method_names(cls, {})

    def begin(self, plan: TrainingPlan) -> Sequence[Callback]:
        """Return the objective's own callbacks, such as one with a head that is trained beside the model. By default there are none.

        Their parameters are trained in a search that freezes the model too, and are not kept after the training; their states are in the
        checkpoints. It is called once, before :meth:`loss_function`.
        """
        return ()

    @abstractmethod
    def loss_function(self, parts: TrainingParts) -> TrainingLoss:
        """Return the function that the loop and the adversary call. Before each pass it calls ``on_pass_start`` of the callbacks.

        It computes the loss of the examples with ``parts.loss``, and returns the outputs that are required.
        """

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Return scores on the development rows, including ``dev_accuracy``. The mode of every submodule is restored."""

    def facts(self) -> dict[str, Any]:
        """Return the entries of the result about the rows and their coverage by the model, as JSON values."""
        coverage = self.rows.coverage
        return {"rows": len(self.rows), **(coverage.facts() if coverage.rows else {})}

    def texts(self) -> TrainedOn | None:
        """Return the hashes of the training texts and, of a task, also of those used for selection (``dev``); None if not tracked.

        Evaluations, also those of later commands, report how many of their examples are among them.
        """
        return None

    def provenance(self) -> dict[str, str]:
        """Return the identity of the training data, for results and tickets."""
        return {}


@frozen
class Objective(TrainingComponent):
    """Settings of an objective. One object may start several sessions."""

    kind: ClassVar[str] = "objective"
    uses_task: ClassVar[bool] = False
    """Whether the objective trains on the task's examples and labels. An objective in its settings that does so counts too."""

    @property
    def learns_at_rate(self) -> bool:
        """Whether the session's callbacks have parameters that are trained at the stage's learning rate, having none of their own."""
        return False

    def start_session(self, context: TrainingContext) -> TrainingSession:
        """Load the model, and read and tokenise the rows.

        :raises UsageError: the model cannot be loaded, or does not fit the objective.
        :raises DataError: there are no training rows.
        """
        raise NotImplementedError

    def external_inputs(self) -> Mapping[str, str]:
        """Return the files whose content the result depends on, by name; ``sha256:`` and a hash for content that is not a file.

        :raises DataError: they are missing.
        """
        return {}
