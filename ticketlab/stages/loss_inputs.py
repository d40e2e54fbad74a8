"""Loss inputs: what a loss needs for each training example in addition to its label, from a bias model and a teacher."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device
from ticketlab.bias_models import probabilities
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.lab.layout import BIAS
from ticketlab.losses.base import Loss
from ticketlab.stages import input_warnings
from ticketlab.stages.base import PRETRAINED, Context
from ticketlab.tasks import label_map
from ticketlab.tasks.base import TaskData
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict

SOURCES = {
    "bias": "a [bias] stage, or a file of probabilities",
    "teacher": "a train stage with plain cross-entropy, or a classifier",
}
"""The references that loss inputs come from, and what each may refer to."""


def check_source(loss: Loss, name: str, value: str | None) -> None:
    """Refuse a loss whose reference ``name`` is not set.

    :raises SettingError: it is not set; the message says what it may refer to.
    """
    if value in (None, PRETRAINED):
        raise SettingError(f"{name}: the loss `{loss.name}` needs it; name {SOURCES[name]} (`{name} = ...`)")


def read_loss_inputs(context: Context, data: TaskData, needed: Collection[str], teacher_labels: Sequence[str]) -> dict[str, Tensor]:
    """Return what the loss needs for each training example of ``data``, joined by id. Each tensor is (rows, classes).

    ``needed`` are the inputs that the loss requires, and ``teacher_labels`` are ``TEACHER_LABEL=TASK_LABEL``.
    """
    loss_inputs: dict[str, Tensor] = {}
    if "bias" in context.inputs:
        file = context.inputs["bias"].file(BIAS)
        loss_inputs["bias_log_probs"] = probabilities.read(file, data.examples("train"), data.label_names)
    if "teacher" in context.inputs and "teacher" in needed:
        loss_inputs["teacher_probs"] = _teacher_probabilities(context, data, teacher_labels)
    return loss_inputs


def load_teacher(context: Context) -> tuple[Any, Any]:
    """Return the model and the tokenizer of a teacher whose hidden states the loss requires, on the device and without gradients."""
    model, tokenizer, _ = loading.load_finished(
        context.inputs["teacher"].model, lambda message: context.warn_of_input(f"teacher: {message}"), any_outputs=True
    )
    return model.to(pick_device()).requires_grad_(False), tokenizer


def check_vocabularies(context: Context, teacher: Any, student: Any) -> None:
    """Check that two tokenizers have the same vocabulary.

    :raises UsageError: they do not.
    """
    if teacher.get_vocab() != student.get_vocab():
        raise UsageError(
            f"{context.name}.teacher: its vocabulary is not that of the model, and the loss requires its hidden states of the same tokens; "
            "use a teacher of the same family"
        )


def _teacher_probabilities(context: Context, data: TaskData, teacher_labels: Sequence[str]) -> Tensor:
    """Return the teacher's probabilities of the training examples, (rows, classes) in the order of the task's labels."""
    model, tokenizer, names = loading.load_finished(
        context.inputs["teacher"].model, lambda message: context.warn_of_input(f"teacher: {message}")
    )
    order = label_map.match_labels(names, data.label_names, teacher_labels, flag=f"{context.name}.teacher_labels")
    rows = tokenize(data.examples("train"), tokenizer, context.max_length)
    input_warnings.warn_of_texts(context, f"{data.name}, train, as the teacher sees it", rows)
    logits = predict(model.to(pick_device()), rows, precision=context.precision, title=f"{context.name}: teacher")
    probs: Tensor = logits[:, torch.tensor(order)].softmax(dim=1)
    return probs
