"""Tickets for tiny models, and the logits of exported models."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.tickets.draw import draw, group_of
from ticketlab.tickets.ticket import Ticket

LABELS = ("bad", "good")
TEXTS = ["a wonderful film", "the worst movie of all time , really , and it never ends", "why"]
MISSING = [name for name in ("onnx", "onnxruntime", "onnxscript") if importlib.util.find_spec(name) is None]
needs_onnx = pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed")


def ticket_for(model: Any, kind: str = "uneven", seed: int = 0) -> Ticket:
    """Return a random ticket: ``uneven`` heads and neurons, the same with ``empty`` layers, or single ``weights``."""
    backbone = Backbone(model)
    generator = torch.Generator().manual_seed(seed)
    groups = ("weights",) if kind == "weights" else ("heads", "neurons")
    units = {name: shape for name, shape in backbone.units().items() if group_of(name) in groups}
    masks = draw({name: torch.rand(shape, generator=generator) for name, shape in units.items()}, 0.5)
    if kind == "empty":
        masks["heads/0"][:] = False
        masks["neurons/1"][:] = False
    provenance = {"pruner": "random", "task": "demo"}
    return Ticket(masks, backbone.fingerprint(), backbone.weights_hash(), backbone.weights_hash(), provenance)


@torch.inference_mode()
def logits(model: Any, tokenizer: Any, texts: list[str] = TEXTS) -> Tensor:
    outputs: Tensor = model.eval()(**tokenizer(texts, padding=True, return_tensors="pt")).logits
    return outputs


def onnx_logits(folder: Path, tokenizer: Any, texts: list[str] = TEXTS) -> Tensor:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    inputs = tokenizer(texts, padding=True, return_tensors="np")
    (outputs,) = session.run(None, {node.name: inputs[node.name].astype("int64") for node in session.get_inputs()})
    return torch.from_numpy(outputs)
