"""ticketlab-infobert on the loss function of the library and every model family."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support.families import FAMILIES
from ticketlab_infobert.infobert import InfoBert

from ticketlab.backbone.loading import load_classifier
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.plugin import Example, TrainingPlan, plain_step, tokenize


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_finite_on_every_family(tiny: dict[str, Path], family: str) -> None:
    """Also with a row of special tokens alone; and without weights the gradients are those of the plain loss."""
    model, tokenizer = load_classifier(str(tiny[family]), ("no", "yes"), 0)
    model.eval()
    pairs = (("a good film", "a film"), ("", ""), ("this is a long and terrible story", "it is good"))
    rows = tokenize([Example(str(index), pair, index % 2) for index, pair in enumerate(pairs)], tokenizer, 24)
    batch = rows.collate([0, 1, 2] if model.config.pad_token_id is not None else [0])
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()), outputs=("hidden_states",))
    plain_step(loss_function, batch)
    plain = [parameter.grad for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    run = InfoBert(inner="none", alpha=0.0, beta=0.0, width=5).begin(TrainingPlan(model, 1, 0))
    run.step(loss_function, batch, 0)
    for parameter, gradient in zip(model.parameters(), plain, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        assert gradient is None or torch.allclose(parameter.grad, gradient, atol=1e-6)
    run = InfoBert(inner="freelb", width=5).begin(TrainingPlan(model, 1, 0))
    run.step(loss_function, batch, 0)
    trained = [parameter.grad for parameter in (*model.parameters(), *run.parameter_groups()[0]["params"])]
    assert all(bool(gradient.isfinite().all()) for gradient in trained if gradient is not None)
    assert run.parameter_groups()[0]["params"][0].grad is not None
