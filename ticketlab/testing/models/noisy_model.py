"""Tiny classifiers in which every weight and bias affects the logits, and the comparisons of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.slices import Slices

LABELS = ("no", "maybe", "yes")
NOISE = 0.05
FIRST_WORD = 10
"""All special tokens have smaller ids."""
SHARE = 1e-3
"""The largest allowed difference of a logit, relative to the effect that is compared."""
ROUNDING = 1e-5


def noisy_classifier(folder: Path) -> Any:
    """Return a classifier of the tiny model in a folder, with noise on every parameter: biases and layer norms count too."""
    model, _ = load_classifier(str(folder), LABELS, 0, lambda _: None)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=NOISE)
    return model


def token_ids(model: Any, rows: int = 3, length: int = 7) -> Tensor:
    """Return ids of words, (rows, length), without padding."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(FIRST_WORD, model.get_input_embeddings().num_embeddings, (rows, length), generator=generator)


def logits(model: Any) -> Tensor:
    """Return the logits of the rows of :func:`token_ids`, (rows, labels), with gradients if they are enabled."""
    ids = token_ids(model)
    found: Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    return found


def quiet_logits(model: Any) -> Tensor:
    """Return :func:`logits` without gradients."""
    with torch.inference_mode():
        return logits(model)


def same(one: Tensor, other: Tensor, whole: Tensor) -> bool:
    """Return whether two results of removing units are the same; ``whole`` is that of the model before."""
    effect = float((whole - other).abs().max())
    return bool(float((one - other).abs().max()) <= SHARE * effect + ROUNDING)  # false for NaN


def loss_gradients(model: Any) -> dict[str, Tensor]:
    """Return the gradients of a loss by the name of the parameter, zeros where there is none."""
    model.zero_grad()
    torch.autograd.backward(nn.functional.cross_entropy(logits(model), torch.tensor([0, 1, 2])))
    found = {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    return found


@contextmanager
def gated(gates: list[tuple[nn.Module, Slices, Tensor]]) -> Iterator[None]:
    """Multiply what matrices read by gates, one for each unit, inside the block."""
    handles = [module.register_forward_pre_hook(_multiply(part.spread(gate))) for module, part, gate in gates]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _multiply(gate: Tensor) -> Any:
    return lambda _, inputs: (inputs[0] * gate, *inputs[1:])


def differing_tensor(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> str:
    """Return the name of the first tensor that is in one of two states only, or has other bits; empty if there is none."""
    names = sorted(one.keys() ^ other.keys()) or [name for name in one if not torch.equal(one[name], other[name])]
    return names[0] if names else ""
