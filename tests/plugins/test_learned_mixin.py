"""Learned-mixin+H as a third party would write it: its formula by hand, and its gate on every family."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.families import FAMILIES
from third_party.learned_mixin import LearnedMixin, LearnedMixinRun, mixin_losses

from ticketlab.backbone.loading import load_classifier
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.plugin import Batch, Example, TrainingPlan, tokenize

LOGITS = torch.tensor([[math.log(3), 0.0]])
BIAS = torch.tensor([[0.8, 0.2]]).log()


@pytest.mark.parametrize(
    ("gate", "right", "entropy"),
    [
        pytest.param(0.0, 3 / 4, math.log(2), id="no bias model"),
        pytest.param(1.0, 12 / 13, 0.8 * math.log(5 / 4) + 0.2 * math.log(5), id="product of experts"),
        pytest.param(2.0, 48 / 49, math.log(17) - 16 / 17 * math.log(16), id="twice as sure"),
    ],
)
def test_the_loss_of_one_example(gate: float, right: float, entropy: float) -> None:
    """p = (3/4, 1/4) and p_b = (4/5, 1/5), whose square is in the proportion 16 : 1."""
    for label, share in ((0, right), (1, 1 - right)):
        found = mixin_losses(LOGITS, torch.tensor([label]), BIAS, torch.tensor([gate]), weight=0.3)
        assert float(found) == pytest.approx(-math.log(share) + 0.3 * entropy, abs=1e-5)


def test_a_set_of_all_labels_leaves_the_entropy() -> None:
    found = mixin_losses(LOGITS, torch.ones(1, 2, dtype=torch.bool), BIAS, torch.zeros(1), weight=2.0)
    assert float(found) == pytest.approx(2 * math.log(2), abs=1e-6)


def test_the_gate_begins_at_log_2_and_is_trained_by_its_gradient() -> None:
    """h = (1, 0) and w = 0: g = log 2 and dg/dw = (1/2, 0). The loss is log(1 + 4^-g / 3), so dL/dg = -log 4 / (1 + 3 x 4^g)."""
    model: Any = SimpleNamespace(config=SimpleNamespace(model_type="bert"))
    run = LearnedMixinRun(LearnedMixin(entropy=0.0), model, torch.zeros(2))
    states = torch.tensor([[[1.0, 0.0], [9.0, 9.0]]])
    inputs = {"hidden_states": (states,), "attention_mask": torch.ones(1, 2, dtype=torch.long), "bias_log_probs": BIAS}
    losses, weights = run(LOGITS, torch.tensor([0]), inputs)
    (losses * weights).sum().backward()
    assert float(losses.detach()) == pytest.approx(math.log(1 + 4 ** -math.log(2) / 3), abs=1e-6)
    assert run.weights.grad is not None
    assert run.weights.grad.tolist() == pytest.approx([-math.log(4) / (1 + 3 * 4 ** math.log(2)) / 2, 0], abs=1e-6)
    assert run.metrics()["gate"] == pytest.approx(math.log(2))


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
