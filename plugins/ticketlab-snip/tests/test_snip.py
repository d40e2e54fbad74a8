# ruff: noqa: D103
"""Connection sensitivity on a tiny model: its values, and that the model does not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from ticketlab_snip.snip import Snip, SnipSearch
from torch.nn import functional

from ticketlab.plugin import Backbone, SearchPlan
from ticketlab.testing import tiny_model

BATCHES = (torch.tensor([[1, 2, 3, 4]]), torch.tensor([[4, 3, 2, 1]]))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(0)
    folder: Path = tiny_model("bert", tmp_path_factory.mktemp("tiny") / "bert")
    return AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).eval().requires_grad_(False)


def loss(model: Any, batch: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(input_ids=batch).logits, torch.tensor([1]))


def search(model: Any, settings: Snip) -> SnipSearch:
    found = settings.attach(Backbone(model), SearchPlan(steps=len(BATCHES), seed=0))
    assert isinstance(found, SnipSearch)
    for step, batch in enumerate(BATCHES):
        found.on_step_start(step)
        loss(model, batch).backward()
        found.on_after_backward()
        done = found.on_step_end(step)
    assert done is (settings.batches <= len(BATCHES))
    return found


@pytest.mark.parametrize("aggregate", ["sum", "sizes"])
def test_a_score_is_gradient_times_weight(model: Any, aggregate: Any) -> None:
    found = search(model, Snip(batches=2, aggregate=aggregate)).scores()
    name = "weights/encoder.layer.1.attention.self.value.weight"
    weight = Backbone(model).weight(name).requires_grad_()
    parts = [torch.autograd.grad(loss(model, batch), weight)[0] * weight.detach() for batch in BATCHES]
    weight.requires_grad_(False)
    expected = sum(parts[1:], parts[0]).abs() if aggregate == "sum" else sum(part.abs() for part in parts)
    assert torch.allclose(found[name] / found[name].sum(), expected.double() / expected.double().sum(), atol=1e-7)
    assert sum(float(score.sum()) for score in found.values()) == pytest.approx(1)


def test_the_model_does_not_change(model: Any) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    search(model, Snip())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in model.parameters())


def test_an_interrupted_search_resumes(model: Any) -> None:
    whole = search(model, Snip())
    again = Snip().attach(Backbone(model), SearchPlan(steps=2, seed=0))
    again.load_state_dict(whole.state_dict())
    assert all(torch.equal(score, again.scores()[name]) for name, score in whole.scores().items())
