"""SMART: its formulas on a model with one weight, and its place in trainings and checkpoints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from ticketlab_smart.smart import Smart, SmartRun, ascend_in_box, plain_copy, symmetric_kl, weights_seen
from torch import Tensor, nn

from ticketlab.plugin import Backbone, Batch, LossOutput, attach_mask
from ticketlab.testing import tiny_model

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
    """With w = 2, x = 1/2 and radius 1/2, the logits are 1, and 2 or 0 by the sign of the noise: (s(2) - s(1)) 1 or (s(1) - s(0)) 1."""
    loss_function = OneWeightLoss(OneWeight(2.0), x=0.5)
    run = SmartRun(Smart(weight=3.0, proximal=0.0, step_size=9.0, radius=0.5, noise=0.1), loss_function.model, 1)
    total = float(run.step(loss_function, BATCH, 0))
    divergence = {0.5: 0.880797 - 0.731059, -0.5: 0.731059 - 0.5}[loss_function.deltas[-1]]
    assert total == pytest.approx(3 * divergence, abs=1e-5)
    assert run.metrics() == pytest.approx({"smoothness": divergence, "divergence": 0}, abs=1e-5)


def test_the_smoothness_term_has_gradients_of_both_predictions() -> None:
    """R = (s(a) - s(b)) (a - b), a = w (x + d), b = w x. At w = 2, x = d = 1/2, dR/dw = s'(2) - s'(1) / 2 + (s(2) - s(1)) / 2."""
    loss_function = OneWeightLoss(OneWeight(2.0), x=0.5)
    run, found = SmartRun(Smart(proximal=0.0, step_size=9.0, radius=0.5, noise=0.1), loss_function.model, 1), 0.0
    while not found:  # until the noise is positive
        loss_function.model.weight.grad = None
        run.step(loss_function, BATCH, 0)
        gradient = loss_function.model.weight.grad
        assert gradient is not None
        found = float(gradient) if loss_function.deltas[-1] > 0 else 0.0
    assert found == pytest.approx(0.104994 - 0.196612 / 2 + (0.880797 - 0.731059) / 2, abs=1e-5)


def test_each_step_begins_with_other_noise_if_its_passes_share_dropout() -> None:
    loss_function = OneWeightLoss(OneWeight(2.0), x=0.5)  # its passes draw no random numbers
    run = SmartRun(Smart(proximal=0.0, share_dropout=True), loss_function.model, 2)
    for index in range(2):
        run.step(loss_function, BATCH, index)
    noise = loss_function.deltas[::2]
    assert noise[0] != noise[1]


def test_the_proximal_term_follows_the_averaged_weight() -> None:
    """With x = 1: at w = 1 the average is 1; at w = 2 it is 1.5 with beta = 1/2: (s(2) - s(1.5)) 0.5; at w = 0 it is 0.75."""
    assert steps(Smart(weight=0.0, momentum=0.5, early=1.0), (1.0, 2.0, 0.0)) == pytest.approx(
        [0, 0.5 * (0.880797 - 0.817574), 0.75 * (0.679179 - 0.5)], abs=1e-5
    )


def test_the_average_moves_slower_after_the_early_steps() -> None:
    """Of two steps half are early, which is the first update; the second one has the late momentum, here one that averages nothing."""
    terms = steps(Smart(weight=0.0, momentum=0.5, late_momentum=0.0, early=0.5), (1.0, 2.0, 0.0), of=2)
    assert terms == pytest.approx([0, 0.5 * (0.880797 - 0.817574), 0], abs=1e-5)


def test_steps_before_the_start_step_are_plain() -> None:
    """The average then begins at the weight of the first regularised step."""
    assert steps(Smart(weight=0.0, momentum=0.5, early=1.0, start_step=1), (1.0, 2.0, 2.0)) == [0, 0, 0]


def test_the_averaged_weights_are_in_the_checkpoint() -> None:
    model = OneWeight(0.0)
    settings = Smart(weight=0.0, momentum=0.5, early=1.0)
    whole, resumed = (SmartRun(settings, model, 9) for _ in range(2))
    for weight in (1.0, 2.0):
        step(whole, model, weight)
    state = {name: value.clone() for name, value in whole.state_dict().items()}
    assert float(state["averaged/weight"]) == 1.5
    resumed.load_state_dict(state)
    assert {name: float(value) for name, value in resumed.state_dict().items()} == {name: float(value) for name, value in state.items()}
    assert step(resumed, model, 3.0) == step(whole, model, 3.0)


def steps(settings: Smart, weights: tuple[float, ...], of: int = 9) -> list[float]:
    """Return the loss of the first steps of a training with ``of`` steps, one at each weight; x is 1."""
    model = OneWeight(0.0)
    run = SmartRun(settings, model, of)
    return [step(run, model, weight, index) for index, weight in enumerate(weights)]


def step(run: SmartRun, model: OneWeight, weight: float, index: int = 0) -> float:
    model.weight.data.fill_(weight)
    return float(run.step(OneWeightLoss(model, x=1.0), BATCH, index))


def test_a_copy_has_the_masked_weights_and_no_masks(tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    model: Any = AutoModelForSequenceClassification.from_pretrained(tiny_model("bert", tmp_path / "bert"), num_labels=2)
    linear: Any = Backbone(model).layers[0].query
    masked = attach_mask(linear)
    masked.effective = torch.zeros_like(linear.weight).requires_grad_()
    copied: Any = plain_copy(model)
    assert {name for name, _ in copied.named_parameters()} == set(weights_seen(model)) & {name for name, _ in copied.named_parameters()}
    query = copied.bert.encoder.layer[0].attention.self.query
    assert int(query.weight.count_nonzero()) == 0
    assert not hasattr(query, "parametrizations")
    assert int(linear.parametrizations.weight.original.count_nonzero()) > 0
