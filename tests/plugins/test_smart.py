"""SMART as a third party would write it: its formulas on a model with one weight, and its place in trainings and checkpoints."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from third_party.smart import Smart, SmartRun, ascend_in_box, plain_copy, symmetric_kl, weights_seen
from torch import Tensor, nn

from ticketlab.backbone.loading import load_classifier
from ticketlab.plugin import Backbone, Batch, LossOutput, attach_mask

BATCH = Batch(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.long), None, torch.zeros(1, dtype=torch.long))


class OneWeight(nn.Module):
    """The logits of an input x are (w x, 0)."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight))


class OneWeightLoss:
    """The loss is 0 whatever the logits, so that only regularisers remain. The input is ``x`` and its perturbation."""

    embedding_dim = 1

    def __init__(self, model: OneWeight, x: float) -> None:
        self.model, self.x = model, x
        self.deltas: list[float] = []

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Return the batch."""
        return batch

    def with_model(self, model: Any) -> OneWeightLoss:
        """Return the loss of another model."""
        return OneWeightLoss(model, self.x)

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run a pass."""
        shift = torch.zeros(1) if delta is None else delta.flatten()
        self.deltas += [] if delta is None else [float(shift.detach())]
        logits = torch.stack([self.model.weight * (self.x + shift), torch.zeros(1)], dim=1)
        loss = 0 * logits.sum()
        return LossOutput(loss, loss.view(1), torch.ones(1), logits)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param([0.0, 0.0], [math.log(3), 0.0], 0.25 * math.log(3), id="1/2 and 3/4"),
        pytest.param([2.0, 1.0, 0.0], [7.0, 6.0, 5.0], 0.0, id="logits that differ by a constant"),
    ],
)
def test_the_divergence_is_symmetric(first: list[float], second: list[float], expected: float) -> None:
    """KL(1/2 || 3/4) = log(4/3) / 2 and KL(3/4 || 1/2) = 3/4 log 3 - log 2, which sum to log(3) / 4."""
    one, other = torch.tensor([first]), torch.tensor([second])
    assert float(symmetric_kl(one, other)) == pytest.approx(expected, abs=1e-6)
    assert torch.equal(symmetric_kl(one, other), symmetric_kl(other, one))


def test_an_ascent_step_has_the_length_of_its_largest_element_and_stays_in_the_box() -> None:
    gradient = torch.tensor([[[2.0, -4.0]], [[0.0, 0.0]]])
    moved = ascend_in_box(torch.tensor([[[0.1, 0.0]], [[0.3, 0.0]]]), gradient, step_size=0.2, radius=0.15)
    assert torch.allclose(moved, torch.tensor([[[0.15, -0.15]], [[0.15, 0.0]]]))


def test_the_smoothness_term_is_that_of_the_perturbation_on_the_edge_of_the_box() -> None:
    """w = 2, x = 1/2, radius 1/2: logits 1 and 2 or 0, by the side of the noise. (sigma(2) - sigma(1)) 1 or (sigma(1) - sigma(0)) 1."""
    loss_function = OneWeightLoss(OneWeight(2.0), x=0.5)
    settings = Smart(weight=3.0, proximal=0.0, step_size=9.0, radius=0.5, noise=0.1)
    total = float(SmartRun(settings, loss_function.model).backward(loss_function, BATCH))
    divergence = {0.5: 0.880797 - 0.731059, -0.5: 0.731059 - 0.5}[loss_function.deltas[-1]]
    assert total == pytest.approx(3 * divergence, abs=1e-5)
    assert loss_function.model.weight.grad is not None


def test_the_proximal_term_follows_the_averaged_weight() -> None:
    """x = 1. At w = 1 the average is 1; at w = 2 it is 1.5 with beta = 1/2: (sigma(2) - sigma(1.5)) 0.5; at w = 0 it is 0.75."""
    model = OneWeight(1.0)
    run, loss_function = SmartRun(Smart(weight=0.0, momentum=0.5), model), OneWeightLoss(model, x=1.0)
    found = []
    for weight in (1.0, 2.0, 0.0):
        model.weight.data.fill_(weight)
        found.append(float(run.backward(loss_function, BATCH)))
    assert found == pytest.approx([0, 0.5 * (0.880797 - 0.817574), 0.75 * (0.679179 - 0.5)], abs=1e-5)


def test_the_averaged_weights_are_in_the_checkpoint() -> None:
    def steps(run: SmartRun, model: OneWeight, weights: tuple[float, ...]) -> list[float]:
        found = []
        for weight in weights:
            model.weight.data.fill_(weight)
            found.append(float(run.backward(OneWeightLoss(model, x=1.0), BATCH)))
        return found

    settings, model = Smart(weight=0.0, momentum=0.5), OneWeight(0.0)
    whole = SmartRun(settings, model)
    steps(whole, model, (1.0, 2.0))
    resumed = SmartRun(settings, model)
    resumed.load_state_dict({name: value.clone() for name, value in whole.state_dict().items()})
    assert {name: value.tolist() for name, value in resumed.state_dict().items()} == {"weight": 1.5}
    assert steps(resumed, model, (3.0,)) == steps(whole, model, (3.0,))


def test_a_copy_has_the_masked_weights_and_no_masks(tiny: Any) -> None:
    model, _ = load_classifier(str(tiny["bert"]), ("no", "yes"), 0)
    linear = Backbone(model).layers[0].query
    masked = attach_mask(linear)
    masked.effective = torch.zeros_like(linear.weight).requires_grad_()
    copied = plain_copy(model)
    assert {name for name, _ in copied.named_parameters()} == set(weights_seen(model)) & {name for name, _ in copied.named_parameters()}
    query = copied.bert.encoder.layer[0].attention.self.query
    assert int(query.weight.count_nonzero()) == 0
    assert not hasattr(query, "parametrizations")
    assert int(linear.parametrizations.weight.original.count_nonzero()) > 0
