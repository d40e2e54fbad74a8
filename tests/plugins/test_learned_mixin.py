"""plugins/ticketlab-learned-mixin on every family of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from support.families import FAMILIES
from ticketlab_learned_mixin.learned_mixin import LearnedMixin, LearnedMixinRun

from ticketlab.backbone.loading import load_classifier
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.plugin import Batch, Example, TrainingPlan, tokenize


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_finite_on_every_family(tiny: dict[str, Path], family: str) -> None:
    loss_function, run, batch = on_family(tiny[family])
    loss_function(batch).loss.backward()
    gradient = run.weights.grad
    assert gradient is not None
    assert bool(gradient.isfinite().all())
    assert bool(gradient.any())


def on_family(folder: Path) -> tuple[ClassificationLoss, LearnedMixinRun, Batch]:
    """Return the loss function of a model, its run, and a batch of pairs, one of which has no words."""
    model, tokenizer = load_classifier(str(folder), ("no", "yes"), 0)
    run = LearnedMixin().begin(TrainingPlan(model, 1, 0))
    assert isinstance(run, LearnedMixinRun)
    texts = (("a good film", "a film"), ("", ""), ("this is a long and terrible story", "it is good"))
    rows = tokenize([Example(str(index), pair, index % 2) for index, pair in enumerate(texts)], tokenizer, 24)
    batch = rows.collate([0, 2, 1] if family_pads(model) else [0])
    bias = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])[: len(batch)].log()
    batch = Batch(batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.labels, {"bias_log_probs": bias})
    return ClassificationLoss(model, run, outputs=("hidden_states",)), run, batch


def family_pads(model: Any) -> bool:
    return model.config.pad_token_id is not None
