"""Connection sensitivity on a tiny model: its values, and that the model does not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from ticketlab_snip.snip import Snip
from torch import Tensor
from torch.nn import functional

from ticketlab.plugin import Backbone, TrainingPlan
from ticketlab.testing import tiny_model

BATCHES = (torch.tensor([[1, 2, 3, 4]]), torch.tensor([[4, 3, 2, 1]]))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(0)
    folder: Path = tiny_model("bert", tmp_path_factory.mktemp("tiny") / "bert")
    return AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).eval()


def gradients(model: Any, batch: Tensor, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    loss = functional.cross_entropy(model(input_ids=batch).logits, torch.tensor([1]))
    return dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))


@attrs.frozen(eq=False)
class TwoBatches(TrainingPlan):
    """A plan whose training examples are two fixed batches."""

    def gradients(self, tensors: Mapping[str, Tensor], *, batches: int, batch_size: int | None = None) -> Iterator[dict[str, Tensor]]:
        """Yield the gradients of each."""
        return (gradients(self.model, batch, tensors) for batch in BATCHES[:batches])


@pytest.mark.parametrize("aggregate", ["sum", "sizes"])
def test_a_score_is_gradient_times_weight(model: Any, aggregate: Any) -> None:
    found = Snip(batches=2, aggregate=aggregate).begin(TwoBatches(model, steps=0, seed=0)).scores()
    name = "weights/encoder.layer.1.attention.self.value.weight"
    weight = Backbone(model).weight(name)
    parts = [gradients(model, batch, {name: weight})[name] * weight.detach() for batch in BATCHES]
    parts_of = torch.stack(parts)
    expected = parts_of.sum(dim=0).abs() if aggregate == "sum" else parts_of.abs().sum(dim=0)
    assert torch.allclose(found[name] / found[name].sum(), expected.double() / expected.double().sum(), atol=1e-7)
    assert sum(float(score.sum()) for score in found.values()) == pytest.approx(1)


def test_the_model_does_not_change(model: Any) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    Snip().begin(TwoBatches(model, steps=0, seed=0))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
