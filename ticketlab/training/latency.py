"""The latency of a classifier: the seconds of a forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ticketlab.backbone.device import wait_for
from ticketlab.backbone.onnx_classifier import OnnxClassifier
from ticketlab.inference.random_state import derive_seed
from ticketlab.training.evaluation import evaluating

WARM_UP = 3
"""Forward passes before the first one that is timed: they allocate memory and choose kernels."""


def seconds_per_pass(model: Any, tokenizer: Any, *, batch_size: int, length: int, repeats: int) -> list[float]:
    """Return the seconds of each of ``repeats`` forward passes of a batch of random tokens, ``length`` in each row and no padding.

    The whole batch is computed at once, on the device of the model, in evaluation mode without gradients.
    """
    device = next(model.parameters()).device
    batch = {name: tensor.to(device) for name, tensor in _batch(model, tokenizer, batch_size, length).items()}
    compute: Callable[[Mapping[str, Tensor]], object] = model.run if isinstance(model, OnnxClassifier) else lambda inputs: model(**inputs)
    seconds = []
    with evaluating(model):
        for number in range(WARM_UP + repeats):
            started = time.perf_counter()
            compute(batch)
            wait_for(device)
            if number >= WARM_UP:
                seconds.append(time.perf_counter() - started)
    return seconds


def _batch(model: Any, tokenizer: Any, rows: int, length: int) -> dict[str, Tensor]:
    """Return random tokens, none of them padding, as the inputs that the tokenizer makes."""
    generator = torch.Generator().manual_seed(derive_seed(0, "latency"))
    special = torch.tensor(sorted(set(tokenizer.all_special_ids)), dtype=torch.long)
    plain = torch.arange(len(tokenizer))
    plain = plain[~torch.isin(plain, special)]
    ids = plain[torch.randint(len(plain), (rows, length), generator=generator)]
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    return {name: inputs[name] for name in inputs if name in tokenizer.model_input_names}
