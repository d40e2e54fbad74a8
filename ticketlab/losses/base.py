"""The base classes of losses: a loss returns one number and one weight per example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.component import Component, check_names, with_components
from ticketlab.core.errors import PluginError
from ticketlab.core.formatting import counted
from ticketlab.core.settings import setting
from ticketlab.training.component import TrainingComponent, outputs_of
from ticketlab.training.plan import TrainingPlan

INPUTS = ("bias", "teacher", "teacher_hidden_states", "attention_mask", "progress")
"""What a loss may require in addition to logits and labels."""
SOURCES: Mapping[str, str] = {"bias": "bias", "teacher": "teacher", "teacher_hidden_states": "teacher"}
"""The reference of a training stage that an input comes from."""
KEYWORDS: Mapping[str, str] = {"bias": "bias_log_probs", "teacher": "teacher_probs"}
"""The keyword of each input, where it is not its name."""


@frozen
class Loss(TrainingComponent):
    """Settings of a loss, which gives each example of a batch a loss and a weight.

    A loss with parameters or state of its own returns a :class:`LossRun` from :meth:`begin`; any other only computes :meth:`per_example`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_names(cls, "required_inputs", INPUTS)

    kind: ClassVar[str] = "loss"
    required_inputs: ClassVar[tuple[str, ...]] = ()
    """The inputs that the loss takes in addition to logits and labels. They are passed by keyword.

    - ``bias``: ``bias_log_probs``, the log-probabilities of a bias model, (rows, classes);
    - ``teacher``: ``teacher_probs``, the probabilities of a teacher, (rows, classes);
    - ``teacher_hidden_states``: ``teacher_hidden_states``, the teacher's, layers + 1 tensors (rows, length, width). The teacher runs in
      every step, on the tokens of the student, so both must have the same vocabulary;
    - ``attention_mask``: ``attention_mask``, 1 for tokens and 0 for padding, (rows, length);
    - ``progress``: ``progress``, the fraction of the training steps that are done, from 0 to 1.

    What ``required_outputs`` names is passed by keyword too: ``hidden_states``, layers + 1 tensors (rows, length, width).
    """

    reduction: Literal["weights", "batch"] = setting(
        "weights", choices=("weights", "batch"), help="divide the sum of weight x loss by the sum of weights, or by the batch size"
    )

    @property
    def learns_at_rate(self) -> bool:
        """Whether the run has parameters that are trained at the stage's learning rate, because their group has none of its own."""
        return False

    def begin(self, plan: TrainingPlan) -> LossRun:
        """Return the loss of one training. By default it has no state."""
        return LossRun(self)

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Return the loss and the weight of each example, both (rows,), from logits (rows, classes) and labels.

        Labels are (rows,), or boolean (rows, classes) if an example may have several correct classes. :func:`log_likelihood` takes both.
        """
        raise NotImplementedError

    def batch_weights(self, labels: Tensor, **loss_inputs: Tensor) -> Tensor | None:
        """Return the weights that :meth:`per_example` will give to the rows of a whole batch, (rows,); None if all are 1.

        It is called where the batch is computed in parts, because the sum of its weights must be known before. ``loss_inputs`` are those
        with values for each example. A loss whose weights depend on the outputs of the model cannot tell them: it is refused there.
        """
        return None

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        """Return the scalar to minimise. It is 0 if all weights are 0."""
        divisor = weights.sum() if self.reduction == "weights" else torch.tensor(float(len(weights)), device=weights.device)
        return (losses * weights).sum() / divisor.clamp(min=torch.finfo(torch.float32).tiny)


class LossRun(Callback):
    """A loss during one training: a callback of the training loop.

    A subclass overrides :meth:`per_example`. Its parameters (:meth:`parameter_groups`) are trained with those of the model or the pruner,
    whatever a search freezes, and are not part of the model: they are dropped when the training ends.
    """

    of_kind: ClassVar[str] = "loss"
    settings: Loss
    """The settings that the run was made with."""

    def __init__(self, settings: Loss) -> None:
        self.settings = settings
        self._keywords = {KEYWORDS.get(name, name) for name in inputs_of(settings)} | outputs_of([settings])
        self._finite = False

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Return the loss and the weight of each example, both (rows,). See :meth:`Loss.per_example`.

        ``loss_inputs`` also has the inputs of losses in the settings; pass them all on to the inner run by calling it.
        """
        return self.settings.per_example(logits, labels, **loss_inputs)

    def batch_weights(self, labels: Tensor, **loss_inputs: Tensor) -> Tensor | None:
        """Return the weights of the rows of a whole batch. See :meth:`Loss.batch_weights`."""
        return self.settings.batch_weights(labels, **loss_inputs)

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        """Return the scalar to minimise. See :meth:`Loss.reduce`."""
        return self.settings.reduce(losses, weights)

    def __call__(self, logits: Tensor, labels: Tensor, loss_inputs: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Return :meth:`per_example` with those of ``loss_inputs`` that the loss requires, after checking what it returns.

        :raises PluginError: an input is missing; losses or weights are not one floating-point number per example; the losses do not
            depend on the logits; or, in the first pass, a weight is negative, or something is not finite although the logits are.
        """
        missing = self._keywords - loss_inputs.keys()
        if missing:
            raise PluginError(f"the loss `{self.settings.name}` is called without its input {', '.join(sorted(missing))}")
        result: Any = self.per_example(logits, labels, **{name: loss_inputs[name] for name in self._keywords})
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            found = counted(len(result), "value") if isinstance(result, (tuple, list)) else type(result).__name__
            raise PluginError(f"the loss `{self.settings.name}` returned {found}, not losses and weights; per_example returns these two")
        losses, weights = result
        for what, values in (("losses", losses), ("weights", weights)):
            self._check(what, values, len(logits))
        if torch.is_grad_enabled() and logits.requires_grad and not losses.requires_grad:
            raise PluginError(f"the losses of `{self.settings.name}` do not depend on the logits: compute them without detach or no_grad")
        if not self._finite and bool(logits.isfinite().all()):  # once: on a GPU the check waits for the result
            for what, values in (("losses", losses), ("weights", weights)):
                if not bool(values.isfinite().all()):
                    raise PluginError(f"the loss `{self.settings.name}` returned {what} that are not finite for finite logits")
            if bool((weights < 0).any()):
                raise PluginError(f"the loss `{self.settings.name}` returned negative weights, which would maximise the losses")
            self._finite = True
        return losses, weights

    def _check(self, what: str, values: Any, rows: int) -> None:
        if isinstance(values, Tensor) and values.shape == (rows,) and values.is_floating_point():
            return
        found = f"{str(values.dtype).removeprefix('torch.')} {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise PluginError(
            f"the loss `{self.settings.name}` returned {what} of {found}; per_example returns floating-point losses and weights, "
            f"one of each per example: ({rows},)"
        )


def inputs_of(loss: Component | None) -> frozenset[str]:
    """Return the inputs that a loss, or a loss in its settings, requires; nothing for None."""
    parts = [] if loss is None else [part for part in with_components(loss) if isinstance(part, Loss)]
    return frozenset(name for part in parts for name in part.required_inputs)


def sources_of(loss: Component | None) -> frozenset[str]:
    """Return the references (bias, teacher) that a loss, or a loss in its settings, needs; nothing for None."""
    return frozenset(SOURCES[name] for name in inputs_of(loss) if name in SOURCES)


def log_likelihood(log_probs: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probability of the labels, (rows,). For sets of labels it is the log of the summed probability.

    ``log_probs`` is (rows, classes); ``labels`` is (rows,), or boolean (rows, classes).
    """
    if labels.ndim == 1:
        return log_probs.gather(1, labels.unsqueeze(1)).squeeze(1)
    return log_probs.masked_fill(~labels, -torch.inf).logsumexp(dim=1)
