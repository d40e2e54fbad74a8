"""The head of a classifier (everything outside the encoder, and the pooler): extract it, copy it, save it and load it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ticketlab.backbone.adapters import adapter_of, has_adapter
from ticketlab.backbone.original_state import original_state
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LABELS = "labels"


def is_head(model: PreTrainedModel, key: str) -> bool:
    """Return whether a parameter belongs to the head: everything outside the base model, and the pooler."""
    prefix = "" if model.base_model is model else f"{model.base_model_prefix}."
    kind = model.config.model_type
    pooler = adapter_of(kind).pooler.partition(".")[0] if has_adapter(kind) else ""
    return not key.startswith(prefix) or bool(pooler and key.removeprefix(prefix).startswith(f"{pooler}."))


def head_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """Return the tensors of a classifier's head by name, on the CPU."""
    return {key: value.detach().cpu().clone() for key, value in original_state(model).items() if is_head(model, key)}


@torch.no_grad()
def put_head(model: PreTrainedModel, head: Mapping[str, Tensor]) -> None:
    """Copy a head into a classifier of the same family and labels, in place.

    :raises UsageError: it does not fit the model, or has values that are not finite.
    """
    state: dict[str, Any] = model.state_dict()
    own = {key: value.shape for key, value in state.items() if is_head(model, key)}
    if not all(value.is_floating_point() and bool(value.isfinite().all()) for value in head.values()):
        raise UsageError("the classifier of the ticket has values that are not finite numbers")
    if {name: value.shape for name, value in head.items()} != own:
        raise UsageError(f"the classifier of the ticket ({', '.join(sorted(head))}) does not fit this model ({', '.join(sorted(own))})")
    for name, value in head.items():
        state[name].copy_(value)


def save_head(model: PreTrainedModel, path: Path) -> None:
    """Write the head of a classifier with its label names, atomically."""
    names = [str(model.config.id2label[index]) for index in range(model.config.num_labels)]
    files.write_atomic(path, lambda temporary: save_file(head_of(model), temporary, metadata={LABELS: json.dumps(names)}))


def load_head(path: Path) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Return the tensors and the label names that :func:`save_head` wrote; both empty if the file does not exist.

    :raises UsageError: the file is not a saved head.
    :raises Damaged: it was changed after the stage wrote it.
    """
    integrity.check(path)
    if not path.is_file():
        return {}, ()
    try:
        with safe_open(path, "pt") as file:
            names = json.loads(file.metadata()[LABELS])
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("its labels are not a list of names")
            return {name: file.get_tensor(name) for name in file.keys()}, tuple(names)  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as problem:
        raise UsageError(f"{path}: not the head of a classifier, or damaged ({problem})") from None
