"""Scoring from batches: values worked out by hand on a linear model, and that the training that follows does not notice it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.adversaries.base import Adversary, AdversaryRun, plain_step
from ticketlab.adversaries.none import Clean
from ticketlab.core.errors import PluginError
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.loss_function import LossOutput
from ticketlab.training.plan import TrainingPlan
from ticketlab.training.scoring import Scoring


class Linear(nn.Module):
    """Two weights and dropout, which would double or remove what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.other = nn.Parameter(torch.tensor(5.0))
        self.dropout = nn.Dropout(0.5)


class LinearLoss:
    """The loss of a row with the ids (a, b) is w1 a + w2 b, so its gradient is (a, b)."""

    embedding_dim = 1

    def __init__(self, model: Linear) -> None:
        self.model = model

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Return the batch."""
        return batch

    def with_model(self, model: Any) -> LinearLoss:
        """Return the loss of another model."""
        return LinearLoss(model)

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run a pass."""
        losses = (self.model.dropout(batch.input_ids.float()) * self.model.weight).sum(dim=1)
        return LossOutput(losses.mean(), losses, torch.ones_like(losses), losses.unsqueeze(1))


ROWS = TokenizedRows([[1, 3], [5, 7]], None, [0, 1], 0, 0)


def plan_of(model: Linear, run: AdversaryRun | None = None, *, batch_size: int = 1, start_step: int = 0) -> TrainingPlan:
    adversary = run or AdversaryRun(Clean())
    scoring = Scoring(LinearLoss(model), adversary, [adversary], ROWS, batch_size, start_step=start_step)
    return TrainingPlan(model, steps=9, seed=4, scoring=lambda: scoring)  # type: ignore[arg-type]


def gradients(plan: TrainingPlan, model: Linear, **options: Any) -> list[list[float]]:
    return [found["w"].tolist() for found in plan.gradients({"w": model.weight}, **options)]


def test_gradients_are_those_of_each_batch_without_dropout() -> None:
    model = Linear()
    assert sorted(gradients(plan_of(model), model, batches=2)) == [[1, 3], [5, 7]]


def test_a_larger_batch_has_the_mean_and_batches_start_over() -> None:
    model = Linear()
    assert gradients(plan_of(model), model, batches=3, batch_size=2) == [[3, 5]] * 3


def test_fisher_information_of_a_linear_loss() -> None:
    """The mean of the squared gradients: (1 + 25) / 2 and (9 + 49) / 2."""
    model = Linear()
    squares = [found["w"] ** 2 for found in plan_of(model).gradients({"w": model.weight}, batches=2)]
    assert torch.stack(squares).mean(dim=0).tolist() == [13, 29]


def test_a_weight_that_the_loss_does_not_depend_on_has_the_gradient_0() -> None:
    model = Linear()
    (found,) = plan_of(model).gradients({"w": model.weight, "other": model.other}, batches=1, batch_size=2)
    assert float(found["other"]) == 0


def test_outputs_are_those_of_clean_passes_without_gradients() -> None:
    model = Linear()
    found = {tuple(batch.input_ids[0].tolist()): output for batch, output in plan_of(model).outputs(batches=2)}
    assert {ids: float(output.loss) for ids, output in found.items()} == {(1, 3): 7, (5, 7): 19}
    assert not any(output.loss.requires_grad for output in found.values())


def test_batches_depend_on_the_seed_alone() -> None:
    def order() -> list[list[int]]:
        return [batch.input_ids.tolist() for batch in plan_of(Linear()).batches(7)]

    torch.manual_seed(1)
    first = order()
    torch.manual_seed(2)
    assert order() == first
    assert len({str(ids) for ids in first}) == 2


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "trained"])
def test_the_model_its_gradients_and_the_random_generator_are_left_as_they_were(frozen: bool) -> None:
    model = Linear().train().requires_grad_(not frozen)
    model.other.grad = torch.tensor(3.0)
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    for _ in plan_of(model).gradients({"w": model.weight}, batches=2):
        assert torch.equal(torch.get_rng_state(), state)
        assert model.training  # also between two batches
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert (model.weight.grad, float(model.other.grad)) == (None, 3)
    assert [parameter.requires_grad for parameter in model.parameters()] == [not frozen] * 2
    assert model.dropout.training


@frozen
class Counting(Adversary):
    """An adversary that doubles the loss in its second step, and so on."""

    name = "counting"
    summary = "counts"


class CountingRun(AdversaryRun):
    """Multiplies the loss by the number of its steps."""

    def __init__(self) -> None:
        super().__init__(Counting(start_step=3))
        self.count = torch.tensor(0)

    def backward(self, loss_function: Any, batch: Batch) -> Tensor:
        """Take a step."""
        self.count += 1
        loss: Tensor = loss_function(batch).loss * int(self.count)
        torch.autograd.backward(loss)
        return loss.detach()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the count."""
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the count."""
        self.count = state["count"].clone()


def test_gradients_are_those_under_the_adversary_whose_state_is_left_as_it_was() -> None:
    model, run = Linear(), CountingRun()
    run.load_state_dict({"count": torch.tensor(4)})
    assert gradients(plan_of(model, run, batch_size=2, start_step=3), model, batches=2) == [[15, 25], [18, 30]]
    assert int(run.count) == 4


def test_scoring_that_is_not_read_to_its_end_restores_the_state() -> None:
    model, run = Linear(), CountingRun()
    for _ in plan_of(model, run, start_step=3).gradients({"w": model.weight}, batches=2):
        break
    assert int(run.count) == 0


def test_a_plan_without_batches_says_what_to_declare() -> None:
    with pytest.raises(PluginError, match="declares `scores_batches = True`"):
        TrainingPlan(Linear(), steps=1, seed=0).batches(1)  # type: ignore[arg-type]


def test_a_plain_step_is_the_gradient_of_the_loss() -> None:
    model = Linear().eval()
    plain_step(LinearLoss(model), ROWS.collate([0]))
    assert model.weight.grad is not None
    assert model.weight.grad.tolist() == [1, 3]
