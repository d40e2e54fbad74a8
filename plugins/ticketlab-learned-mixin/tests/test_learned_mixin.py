"""Learned-mixin+H: its loss, its entropy and the gradient of its gate, worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from ticketlab_learned_mixin.learned_mixin import LearnedMixin, LearnedMixinRun, mixin_losses

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
    """P = (3/4, 1/4) and p_b = (4/5, 1/5), whose square is in the proportion 16 : 1."""
    for label, share in ((0, right), (1, 1 - right)):
        found = mixin_losses(LOGITS, torch.tensor([label]), BIAS, torch.tensor([gate]), weight=0.3)
        assert float(found) == pytest.approx(-math.log(share) + 0.3 * entropy, abs=1e-5)


def test_a_set_of_all_labels_leaves_the_entropy() -> None:
    found = mixin_losses(LOGITS, torch.ones(1, 2, dtype=torch.bool), BIAS, torch.zeros(1), weight=2.0)
    assert float(found) == pytest.approx(2 * math.log(2), abs=1e-6)


def test_the_gate_begins_at_log_2_and_is_trained_by_its_gradient() -> None:
    """H = (1, 0) and w = 0: g = log 2 and dg/dw = (1/2, 0). The loss is log(1 + 4^-g / 3), so dL/dg = -log 4 / (1 + 3 x 4^g)."""
    run = running(LearnedMixin(entropy=0.0))
    states = torch.tensor([[[1.0, 0.0], [9.0, 9.0]]])
    inputs = {"hidden_states": (states,), "attention_mask": torch.ones(1, 2, dtype=torch.long), "bias_log_probs": BIAS}
    losses, weights = run(LOGITS, torch.tensor([0]), inputs)
    torch.autograd.backward((losses * weights).sum())
    assert float(losses.detach()) == pytest.approx(math.log(1 + 4 ** -math.log(2) / 3), abs=1e-6)
    assert run.weights.grad is not None
    assert run.weights.grad.tolist() == pytest.approx([-math.log(4) / (1 + 3 * 4 ** math.log(2)) / 2, 0], abs=1e-6)
    assert run.metrics()["gate"] == pytest.approx(math.log(2))


@pytest.mark.parametrize("rate", [None, 0.1])
def test_the_gate_is_trained_at_the_rate_of_the_stage_or_at_its_own(rate: float | None) -> None:
    settings = LearnedMixin(lr=rate)
    (group,) = running(settings).parameter_groups()
    assert group.get("lr") == rate
    assert settings.learns_at_rate is (rate is None)


def running(settings: LearnedMixin) -> LearnedMixinRun:
    """Return a run on a model of two hidden dimensions that classifies from the first token."""
    model: Any = SimpleNamespace(config=SimpleNamespace(model_type="bert"))
    return LearnedMixinRun(settings, model, torch.zeros(2))
